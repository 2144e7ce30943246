//! Parquet and Arrow files on the command line, and in the libraries that read them. Where Python lacks a library, its
//! test says so and skips.

mod scratch;

use std::fs;
use std::path::Path;
use std::process::Command;

use scratch::python::python_with;
use scratch::{Scratch, err};
use serde_json::Value;

fn iosonar(scratch: &Scratch, arguments: &str) -> assert_cmd::assert::Assert {
    let mut command = scratch::iosonar();
    command.current_dir(scratch.path("."));
    command.args(arguments.split_whitespace()).assert()
}

fn complaint(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

/// Records of all kinds, in all tables.
fn records() -> Scratch {
    let scratch = Scratch::new();
    let ops = ["read", "write", "discard", "flush", "write-zeroes"];
    let statuses = [
        "done",
        "done",
        "error:5",
        "short",
        "dropped",
        "skipped",
        "missed",
        "cancelled",
        "verify",
    ];
    let flags = ["", "sync", "sync+fua", "meta+read-ahead"];
    let mut text = "time_ns,sector,sectors,op,flags,device,class,group,delay_ns,latency_ns,think_ns,status,pushed_back\n"
        .to_owned();
    for i in 0..70_000_u64 {
        let status = statuses[(i % 9) as usize];
        let (delay, latency) = match status {
            "dropped" | "skipped" | "missed" => (String::new(), String::new()),
            _ => ((i % 13).to_string(), (i * 7919 % 1_000_003).to_string()),
        };
        text += &format!(
            "{},{},{},{},{},{},{},{},{delay},{latency},{},{status},{}\n",
            i * 1_001,
            i * 104_729 % 1_000_003,
            1 + i % 9,
            ops[(i % 5) as usize],
            flags[(i % 4) as usize],
            ["sda", "sdb"][usize::from(i > 66_000)],
            i % 3,
            i % 4,
            if i % 7 == 0 { "5" } else { "" },
            if i % 11 == 0 { "1" } else { "" },
        );
    }
    scratch.file("all.csv", text);
    iosonar(&scratch, "convert all.csv -o records.ios").success();
    for name in ["csv", "parquet", "arrow", "feather"] {
        iosonar(&scratch, &format!("convert records.ios -o records.{name}")).success();
    }
    scratch
}

/// Runs the script's part; false if it was skipped.
fn python(scratch: &Scratch, libraries: &str, part: &str) -> bool {
    let Some(python) = python_with(libraries) else {
        eprintln!("skipped: no python3 with {libraries} here");
        return false;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arrow/same_as_csv.py");
    let run = Command::new(python)
        .args([&script, Path::new(part)])
        .current_dir(scratch.path("."))
        .output()
        .unwrap();
    assert!(run.status.success(), "{part}: {}", err(&run));
    assert!(run.stdout.ends_with(b"same\n"));
    true
}

#[test]
fn pyarrow_reads_what_the_csv_file_has() {
    python(&records(), "pyarrow", "pyarrow");
}

#[test]
fn pandas_reads_what_the_csv_file_has() {
    python(&records(), "pandas, pyarrow", "pandas");
}

#[test]
fn polars_reads_what_the_csv_file_has() {
    python(&records(), "polars", "polars");
}

#[test]
fn duckdb_reads_what_the_csv_file_has() {
    python(&records(), "duckdb", "duckdb");
}

#[test]
fn what_pyarrow_and_polars_write_is_read() {
    let scratch = records();
    let same = |name: &str| {
        // Not as .ios, which says at which row a device turned up.
        iosonar(&scratch, &format!("convert {name} -o back.csv")).success();
        let [a, b] = ["records.csv", "back.csv"].map(|name| fs::read(scratch.path(name)).unwrap());
        assert!(a == b, "{name}");
    };
    if python(&scratch, "pyarrow", "write") {
        same("back.parquet");
        same("back.feather");
        let columns = "--columns time=Timestamp,offset_bytes=Offset,length_bytes=Size,op=Type";
        iosonar(
            &scratch,
            &format!("convert plain.parquet {columns} -o plain.csv"),
        )
        .success();
        let text = fs::read_to_string(scratch.path("plain.csv")).unwrap();
        assert_eq!(
            text.lines().nth(2),
            Some("1001,104729,2,write,,,,,,,,done,")
        );
    }
    if python(&scratch, "polars", "write-polars") {
        same("back.parquet");
        same("back.arrow");
    }
}

#[test]
fn tables_are_written_whatever_the_name() {
    let scratch = records();
    for (format, magic) in [
        ("parquet", "PAR1"),
        ("arrow", "ARROW1"),
        ("feather", "ARROW1"),
    ] {
        iosonar(
            &scratch,
            &format!("convert records.ios --to {format} -o x.bin"),
        )
        .success();
        let bytes = fs::read(scratch.path("x.bin")).unwrap();
        assert!(bytes.starts_with(magic.as_bytes()) && bytes.ends_with(magic.as_bytes()));
        // To a pipe as well.
        let piped = iosonar(&scratch, &format!("convert records.ios --to {format} -o -")).success();
        assert!(piped.get_output().stdout == bytes);
    }
}

#[test]
fn standard_input_is_refused() {
    let scratch = records();
    let bytes = fs::read(scratch.path("records.parquet")).unwrap();
    let mut command = scratch::iosonar();
    let run = command.args(["info", "-"]).write_stdin(bytes).assert();
    let text = complaint(&run.failure().code(2));
    assert!(
        text.contains("standard input: the index of a Parquet file is at its end"),
        "{text}"
    );
}

#[test]
fn formats_lists_them() {
    let scratch = Scratch::new();
    let listed = iosonar(&scratch, "formats --json").success();
    let listed: Value = serde_json::from_slice(&listed.get_output().stdout).unwrap();
    let listed = listed["formats"].as_array().unwrap();
    for name in ["parquet", "arrow", "feather"] {
        let format = listed.iter().find(|format| format["name"] == name);
        assert_eq!(format.unwrap()["write"], true, "{name}");
    }
}
