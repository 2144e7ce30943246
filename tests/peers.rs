//! Other tools read what we write, and we read what they write, where they are installed.

mod scratch;

use std::fs::{self, File};
use std::process::{Command, Stdio};

use scratch::Scratch;

/// The command under test, in the scratch folder.
fn iosonar(scratch: &Scratch) -> assert_cmd::Command {
    let mut command = scratch::iosonar();
    command.current_dir(scratch.path("."));
    command
}

/// Whether a tool can be run here.
fn is_installed(tool: &str, argument: &str) -> bool {
    let found = Command::new(tool)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        eprintln!("skipped: {tool} is not installed");
    }
    found
}

/// A load of a second on 64 MiB.
fn load(scratch: &Scratch) {
    iosonar(scratch)
        .args([
            "generate",
            "poisson",
            "--rate",
            "300",
            "--duration",
            "1s",
            "--space",
            "64MiB",
            "-o",
            "x.load",
        ])
        .assert()
        .success();
}

fn data_rows(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| {
            // Sector, length, operation: the peer counts starts from the first request.
            let fields: Vec<&str> = line.split(';').skip(1).take(3).map(str::trim).collect();
            fields.join(";").to_ascii_uppercase()
        })
        .collect()
}

#[test]
fn blkreplay_accepts_our_loads_and_we_its_results() {
    if !is_installed("blkreplay", "--help") {
        return;
    }
    let scratch = Scratch::new();
    load(&scratch);
    let target = File::create(scratch.path("target")).unwrap();
    target.set_len(64 << 20).unwrap();
    let text = fs::read_to_string(scratch.path("x.load")).unwrap();
    // The peer takes no header and no comment.
    let rows: String = text
        .lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(scratch.path("rows"), &rows).unwrap();
    let output = Command::new("blkreplay")
        .args([
            "--dry-run",
            "--no-o-direct",
            "--start-grace=1",
            "--threads=4",
        ])
        .arg(scratch.path("target"))
        .stdin(File::open(scratch.path("rows")).unwrap())
        .output()
        .unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{answer}");
    assert!(!answer.contains("ERROR"), "{answer}");
    let (mut theirs, mut ours) = (data_rows(&answer), data_rows(&text));
    theirs.sort();
    ours.sort();
    assert!(theirs == ours, "the peer did other requests");
    fs::write(scratch.path("theirs.replay"), answer).unwrap();
    let assert = iosonar(&scratch)
        .args(["convert", "theirs.replay", "-o", "-"])
        .assert()
        .success();
    let back = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert_eq!(data_rows(&back).len(), ours.len());
}

#[test]
fn fio_replays_our_logs_and_we_read_its_own() {
    if !is_installed("fio", "--version") {
        return;
    }
    let scratch = Scratch::new();
    load(&scratch);
    let target = scratch.path("target");
    File::create(&target).unwrap().set_len(64 << 20).unwrap();
    let name = target.to_str().unwrap();
    iosonar(&scratch)
        .args(["convert", "x.load", "-o", "x.fio", "--fio-file", name])
        .assert()
        .success();
    let fio = |arguments: &[&str]| {
        let output = Command::new("fio")
            .current_dir(scratch.path("."))
            .args(["--name=x", "--ioengine=sync", "--output-format=json"])
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let json: serde_json::Value =
            serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let job = json["jobs"][0].clone();
        let of = |op: &str| {
            (
                job[op]["total_ios"].as_u64().unwrap(),
                job[op]["io_bytes"].as_u64().unwrap(),
            )
        };
        (of("read"), of("write"))
    };
    let summary = |file: &str| {
        let assert = iosonar(&scratch)
            .args(["info", "--json", file])
            .assert()
            .success();
        let json: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        let ops = json["traces"][0]["ops"].clone();
        let of = |op: &str| {
            let requests = ops[op]["requests"].as_u64().unwrap();
            (requests, ops[op]["sectors"].as_u64().unwrap() * 512)
        };
        (of("read"), of("write"))
    };
    assert_eq!(fio(&["--read_iolog=x.fio"]), summary("x.load"));
    let filename = format!("--filename={name}");
    let theirs = fio(&[
        &filename,
        "--rw=randrw",
        "--bs=4k",
        "--size=1m",
        "--write_iolog=w.fio",
    ]);
    assert_eq!(theirs, summary("w.fio"));
}

#[test]
fn our_reading_of_a_recording_is_that_of_blkparse() {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/traces/blktrace/sample.blktrace.0"
    );
    if !is_installed("blkparse", "-V") {
        return;
    }
    let Ok(file) = File::open(sample) else {
        eprintln!("skipped: {sample} is not there");
        return;
    };
    let scratch = Scratch::new();
    let output = Command::new("blkparse")
        .args(["-q", "-i", "-"])
        .stdin(file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let actions = |action: &str| {
        let is = |line: &&str| line.split_whitespace().nth(5) == Some(action);
        text.lines().filter(is).count()
    };
    assert_eq!(["Q", "D", "C"].map(actions), [963; 3]);
    fs::write(scratch.path("text"), &text).unwrap();
    for event in ["q", "g", "d", "c"] {
        let rows = |input: &str| {
            let assert = iosonar(&scratch)
                .args([
                    "convert",
                    "-q",
                    input,
                    "--start-event",
                    event,
                    "-o",
                    "-",
                    "--to",
                    "csv",
                ])
                .assert()
                .success();
            let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
            let rows: Vec<Vec<String>> = text
                .lines()
                .skip(1)
                .map(|line| line.split(',').map(str::to_owned).collect())
                .collect();
            // Both begin at zero, the text with an event that we leave aside.
            let first: i64 = rows[0][0].parse().unwrap();
            rows.into_iter()
                .map(|mut row| {
                    row[0] = (row[0].parse::<i64>().unwrap() - first).to_string();
                    row
                })
                .collect::<Vec<_>>()
        };
        let ours = rows(sample);
        assert_eq!(ours.len(), 963);
        assert!(ours == rows("text"), "--start-event {event}");
    }
}
