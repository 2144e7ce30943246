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

/// A small system, simulated twice.
const SCENARIO: &str = "seed = 7\nreplications = 2\n[load]\nrequests = 300\n[load.arrivals]\npoisson_per_s = 60.0\n\
                        [load.size]\nblocks = 2\n[array]\nlevel = 'raid5'\ndisks = 4\n[disk]\n\
                        profile = 'seagate-st3500630ns'\n";

/// All tables of results, in all formats; their names without endings.
fn tables(scratch: &Scratch) -> Vec<&'static str> {
    scratch.file("system.toml", SCENARIO);
    let system = "sim system.toml -q";
    iosonar(scratch, &format!("{system} --records records.ios")).success();
    let vary = format!("{system} --vary array.disks=4,5 --vary load.size.blocks=1,2");
    for ending in ["csv", "parquet", "arrow", "feather"] {
        for command in [
            format!("{system} --stages stages.{ending} --cdf-data cdf.{ending}"),
            format!(
                "{vary} --csv varied.{ending} --curve x.png --data curves.{ending} --cdf-data cdfs.{ending}"
            ),
            format!("model system.toml -q --with-sim --csv theory.{ending}"),
            format!("plot cdf records.ios -q --data chart.{ending} -o chart.png"),
            format!("analyze records.ios -q --csv . --tables {ending}"),
        ] {
            iosonar(scratch, &command).success();
        }
    }
    scratch.file(
        "sweep.toml",
        "scenario = 'system.toml'\nreplications = 2\n[vary]\n'array.disks' = [4, 5]\n'array.stripe_unit' = ['64KiB', '128KiB']\n",
    );
    iosonar(
        scratch,
        "sweep sweep.toml -q --dir tree --jobs 1 --tables parquet",
    )
    .success();
    iosonar(scratch, "sweep tree -q --replot --tables arrow").success();
    vec![
        "stages",
        "cdf",
        "varied",
        "curves",
        "cdfs",
        "theory",
        "chart",
        "load",
        "sizes",
        "positions",
        "miss-ratio",
        "outcome",
        "activity",
        "response-by-size",
        "latency-by-load",
        "tree/points",
        "tree/runs",
    ]
}

#[test]
fn tables_of_results_have_the_values_of_the_csv_files() {
    let scratch = Scratch::new();
    let stems = tables(&scratch);
    for library in ["pyarrow", "polars", "duckdb"] {
        let Some(python) = python_with(library) else {
            eprintln!("skipped: no python3 with {library} here");
            continue;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arrow/tables.py");
        let run = Command::new(python)
            .arg(&script)
            .arg(library)
            .args(&stems)
            .current_dir(scratch.path("."))
            .output()
            .unwrap();
        assert!(run.status.success(), "{library}: {}", err(&run));
        assert!(run.stdout.ends_with(b"same\n"));
    }
}

#[test]
fn a_table_is_that_of_its_name_and_stays_csv_otherwise() {
    let scratch = Scratch::new();
    scratch.file("system.toml", SCENARIO);
    for (name, magic) in [
        ("x.parquet", "PAR1"),
        ("x.arrow", "ARROW1"),
        ("x.txt", "scenario,"),
    ] {
        iosonar(&scratch, &format!("sim system.toml -q --cdf-data {name}")).success();
        let bytes = fs::read(scratch.path(name)).unwrap();
        assert!(bytes.starts_with(magic.as_bytes()), "{name}");
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
        text.contains("standard input: a Parquet file has its index at the end"),
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
