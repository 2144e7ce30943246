//! The logs of writes that replays keep (`--keep-tables`), and what `verify` makes of them.

mod scratch;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use scratch::{Scratch, err, iosonar, out};

const MIB: u64 = 1 << 20;
const HEADER: u64 = 64;

/// A file that holds nothing.
fn target(scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.path(name);
    File::create(&path).unwrap().set_len(8 * MIB).unwrap();
    path
}

/// Writes of 8 sectors one after the other, `distance_us` apart.
fn writes(scratch: &Scratch, n: u64, distance_us: u64) -> PathBuf {
    let row = |i: u64| {
        let start = (i * distance_us) as f64 / 1e6;
        format!("{start:.6} ; {} ; 8 ; W\n", i * 8)
    };
    scratch.file("writes.load", (0..n).map(row).collect::<String>())
}

fn start(load: &Path, target: &Path, log: &Path, options: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "-q", "--no-direct", "--engine", "sync", "--write"])
        .args(["--verify", "reads", "--pacing", "sleep"])
        .args(options)
        .arg("--target")
        .arg(target)
        .arg("--keep-tables")
        .args([log, load])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn verify(log: &Path, target: &Path, options: &[&str]) -> Output {
    iosonar()
        .args(["verify", "--no-direct", "--target"])
        .arg(target)
        .args(options)
        .arg(log)
        .output()
        .unwrap()
}

fn assert_code(output: &Output, code: i32) {
    let text = format!("{}{}", out(output), err(output));
    assert_eq!(output.status.code(), Some(code), "{text}");
}

#[test]
fn a_replay_that_is_killed_leaves_a_log_of_all_but_its_last_second() {
    let scratch = Scratch::new();
    let load = writes(&scratch, 1600, 5000);
    let mut replays: Vec<_> = [("plain", &[][..]), ("durable", &["--durable-tables"])]
        .into_iter()
        .map(|(name, options)| {
            let (target, log) = (target(&scratch, name), scratch.path(&format!("{name}.log")));
            let replay = start(&load, &target, &log, options);
            (replay, target, log)
        })
        .collect();
    let began = Instant::now();
    for (_, _, log) in &replays {
        while !log.exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "no log");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    std::thread::sleep(Duration::from_millis(2500));
    for (replay, target, log) in &mut replays {
        replay.kill().unwrap();
        replay.wait().unwrap();
        // 500 writes are due; a second may be lost, and the rest is for a busy machine.
        let verified = verify(log, target, &["--json", "-q"]);
        assert_code(&verified, 0);
        let json: serde_json::Value = serde_json::from_str(&out(&verified)).unwrap();
        assert_eq!(json["log_closed"], false);
        let checked = json["contents"]["checked"].as_u64().unwrap();
        assert!(checked >= 150 * 8, "{checked} sectors");
        for options in [&[][..], &["--after-crash"]] {
            let verified = verify(log, target, options);
            assert_code(&verified, 0);
            let text = out(&verified);
            assert!(
                text.contains("passed") && text.contains("not closed"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_check_of_no_sector_is_no_success() {
    let scratch = Scratch::new();
    let load = writes(&scratch, 10, 1000);
    let (target, log) = (target(&scratch, "target"), scratch.path("log"));
    let replayed = start(&load, &target, &log, &[]).wait().unwrap();
    assert!(matches!(replayed.code(), Some(0 | 3)));
    let whole = verify(&log, &target, &[]);
    assert_code(&whole, 0);
    assert!(!out(&whole).contains("not closed"), "{}", out(&whole));
    // All that a kill at the beginning leaves.
    let file = File::options().write(true).open(&log).unwrap();
    file.set_len(HEADER).unwrap();
    for options in [&[][..], &["--after-crash"]] {
        let verified = verify(&log, &target, options);
        assert_code(&verified, 3);
        let text = out(&verified);
        assert!(text.contains("NOT CHECKED"), "{text}");
    }
    let text = out(&verify(&log, &target, &["--after-crash"]));
    assert!(
        text.contains("verdict       no verdict: no sector was checked"),
        "{text}"
    );
    assert!(fs::metadata(&log).unwrap().len() == HEADER);
}

/// A replay of `load` on two targets, which keeps its logs as `log` and `log.1`.
fn replay_on_two(targets: [&Path; 2], load: &Path, log: &Path) -> Output {
    iosonar()
        .args(["replay", "--no-direct", "--engine", "sync", "--write"])
        .args(["--verify", "reads", "--target"])
        .arg(targets[0])
        .arg("--target")
        .arg(targets[1])
        .arg("--keep-tables")
        .args([log, load])
        .output()
        .unwrap()
}

#[test]
fn a_replay_that_is_refused_leaves_no_log() {
    let scratch = Scratch::new();
    let load = writes(&scratch, 10, 1000);
    let (first, second) = (target(&scratch, "first"), target(&scratch, "second"));
    let (log, other) = (scratch.path("log"), scratch.file("log.1", "a letter"));
    let replay = || replay_on_two([&first, &second], &load, &log);
    let refused = replay();
    assert_code(&refused, 2);
    assert!(
        err(&refused).contains("log.1 already exists"),
        "{}",
        err(&refused)
    );
    assert!(!log.exists());
    assert_eq!(fs::read(&other).unwrap(), b"a letter");
    fs::remove_file(&other).unwrap();
    assert!(matches!(replay().status.code(), Some(0 | 3)));
    assert!(log.exists() && other.exists());
}

#[test]
fn what_belongs_on_another_target_is_found() {
    let scratch = Scratch::new();
    let load = writes(&scratch, 200, 500);
    let (first, second) = (target(&scratch, "first"), target(&scratch, "second"));
    let log = scratch.path("log");
    let replayed = replay_on_two([&first, &second], &load, &log);
    assert!(matches!(replayed.status.code(), Some(0 | 3)));
    assert_code(&verify(&log, &first, &[]), 0);
    assert_code(&verify(&scratch.path("log.1"), &second, &[]), 0);
    for options in [&[][..], &["--after-crash"]] {
        let verified = verify(&log, &second, options);
        assert_code(&verified, 3);
        let text = out(&verified);
        assert!(
            text.contains("1 600 sectors: tag of another target"),
            "{text}"
        );
    }
}

#[test]
fn a_log_and_the_records_are_not_written_to_the_same_file() {
    let scratch = Scratch::new();
    let load = writes(&scratch, 10, 100);
    let target = scratch.file("target", vec![0_u8; 1 << 20]);
    let one = scratch.path("one");
    let again = scratch.path(".").join("one");
    for (log, records, options) in [
        (&one, &one, &[][..]),
        (&again, &one, &[]),
        (&scratch.path("one.selfcheck.csv"), &one, &["--self-check"]),
    ] {
        let run = iosonar()
            .args([
                "replay",
                "-q",
                "--no-direct",
                "--engine",
                "sync",
                "--write",
                "--target",
            ])
            .arg(&target)
            .arg("--keep-tables")
            .arg(log)
            .arg("-o")
            .arg(records)
            .args(options)
            .arg(&load)
            .output()
            .unwrap();
        assert_code(&run, 2);
        assert!(err(&run).contains("E011"), "{}", err(&run));
        assert!(!one.exists() && fs::read(&target).unwrap().iter().all(|&byte| byte == 0));
    }
}
