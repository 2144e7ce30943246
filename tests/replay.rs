//! `iosonar replay` from the outside. What needs root or a loop device says so and skips.

mod scratch;

use std::path::Path;
use std::process::Command;

use scratch::{Loop, Mounted, Scratch, iosonar};

const READS: &str = "0 ; 0 ; 8 ; R\n0.001 ; 64 ; 16 ; R\n0.002 ; 8 ; 8 ; R\n";
const MIXED: &str = "0 ; 0 ; 8 ; R\n0.001 ; 64 ; 16 ; W\n0.002 ; 8 ; 8 ; R\n";

fn stderr_of(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Done, or done but flagged: on a busy machine requests may start late, which is told.
fn is_done(assert: &assert_cmd::assert::Assert) -> bool {
    matches!(assert.get_output().status.code(), Some(0 | 3))
}

#[test]
fn a_created_target_is_replayed_on_and_the_results_are_told_as_json() {
    let scratch = Scratch::new();
    let (load, target) = (scratch.file("x.load", MIXED), scratch.path("target"));
    let out = scratch.path("out.replay");
    let assert = iosonar()
        .args([
            "replay",
            "--write",
            "--create",
            "1MiB",
            "--no-direct",
            "--json",
            "--target",
        ])
        .arg(&target)
        .arg("-o")
        .args([&out, &load])
        .assert();
    assert!(is_done(&assert), "{}", stderr_of(&assert));
    let json: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let value = |name: &str| {
        let metrics = json["metrics"].as_array().unwrap();
        metrics.iter().find(|m| m["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(
        (value("completed").as_f64(), value("errors").as_f64()),
        (Some(3.0), Some(0.0))
    );
    assert!(json["fakes"][0].as_str().unwrap().contains("page cache"));
    let records = std::fs::read_to_string(&out).unwrap();
    assert_eq!(records.lines().filter(|l| l.contains(" ; R ; ")).count(), 2);
    assert_eq!(records.lines().filter(|l| l.contains(" ; W ; ")).count(), 1);
}

#[test]
fn refusals_have_exit_code_two_and_name_the_way_out() {
    let scratch = Scratch::new();
    let (reads, mixed) = (scratch.file("r.load", READS), scratch.file("m.load", MIXED));
    let target = scratch.file("target", vec![7; 64 * 1024]);
    let small = scratch.file("small", vec![7; 8 * 1024]);
    let run = |args: &[&str], load: &Path, target: &Path| {
        let assert = iosonar()
            .args(["replay", "--no-direct"])
            .args(args)
            .arg("--target")
            .args([target, load])
            .assert()
            .code(2);
        stderr_of(&assert)
    };
    for (args, load, target, complaint) in [
        (&[] as &[&str], &mixed, &target, "--skip-writes"),
        (&["--write"], &mixed, &target, "--destroy"),
        (
            &["--write", "--skip-writes"],
            &mixed,
            &target,
            "cannot be used with",
        ),
        (
            &[],
            &reads,
            &small,
            "use a target with at least 40960 bytes",
        ),
        (&["--create", "1MiB"], &reads, &target, "already exists"),
        (
            &["--create", "0"],
            &reads,
            &target,
            "must be greater than 0",
        ),
        (
            &["--from", "5s"],
            &reads,
            &target,
            "no requests in the selected window",
        ),
        (
            &["--from", "5s", "--until", "4s"],
            &reads,
            &target,
            "is empty",
        ),
        (
            &["--duration", "soon"],
            &reads,
            &target,
            "'soon' is not a time",
        ),
        (&["--speed", "0"], &reads, &target, "expected a number"),
    ] {
        let stderr = run(args, load, target);
        assert!(stderr.contains(complaint), "{args:?}: {stderr}");
    }
    assert_eq!(
        std::fs::read(&target).unwrap(),
        vec![7; 64 * 1024],
        "nothing was written"
    );
}

#[test]
fn bad_loads_have_exit_code_one() {
    let scratch = Scratch::new();
    let target = scratch.file("target", vec![7; 64 * 1024]);
    for (rows, complaint) in [
        ("0 ; -8 ; 8 ; R\n", "x.load:1:5: field 'sector' is '-8'"),
        (
            "1 ; 8 ; 8 ; R\n0 ; 8 ; 8 ; R\n",
            "x.load:2: this request starts at 0.0",
        ),
        ("0 ; 8 ; 0 ; R\n", "x.load:1:9: field 'sectors' is '0'"),
        (
            "start ; sector ; length ; op ; hue\n0 ; 8 ; 8 ; R\n",
            "field 'header' is 'hue'",
        ),
        ("", "the file is empty"),
    ] {
        let load = scratch.file("x.load", rows);
        let assert = iosonar()
            .args(["replay", "--no-direct", "--target"])
            .args([&target, &load])
            .assert()
            .code(1);
        let stderr = stderr_of(&assert);
        assert!(stderr.contains(complaint), "{stderr}");
    }
}

#[test]
fn a_loop_device_is_replayed_on_and_guarded() {
    let scratch = Scratch::new();
    let backing = scratch.file("disk.img", vec![0; 8 << 20]);
    let Some(device) = Loop::over(&backing) else {
        eprintln!("skipped: no loop device can be set up here");
        return;
    };
    let (reads, mixed) = (scratch.file("r.load", READS), scratch.file("m.load", MIXED));
    let replay = |args: &[&str], load: &Path, target: &Path| {
        let mut command = iosonar();
        command
            .arg("replay")
            .args(args)
            .arg("--target")
            .args([target, load]);
        command.assert()
    };
    assert!(is_done(&replay(&[], &reads, &device.0)));

    // The file behind it is in use as long as the loop device is there.
    let assert = replay(&["--no-direct"], &reads, &backing).code(2);
    assert!(stderr_of(&assert).contains("it is the backing storage of /dev/loop"));

    // Nor is it one's own as long as another loop device has the same file.
    if let Some(second) = Loop::over(&backing) {
        let assert = replay(&[], &reads, &device.0).code(2);
        let stderr = stderr_of(&assert);
        assert!(stderr.contains(second.0.to_str().unwrap()), "{stderr}");
    }

    // An empty device may be written to; one with a file system only if it is named.
    assert!(is_done(&replay(&["--write"], &mixed, &device.0)));
    let made = Command::new("mkfs.ext4")
        .arg("-q")
        .arg("-F")
        .arg(&device.0)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped the rest: there is no mkfs.ext4");
        return;
    }
    let assert = replay(&["--write"], &mixed, &device.0).code(2);
    assert!(stderr_of(&assert).contains("holds an ext2, ext3 or ext4 file system"));

    // A mounted one not even to read, and not even if it is named.
    let at = scratch.path("mounted");
    std::fs::create_dir(&at).unwrap();
    let name = device.0.to_str().unwrap();
    if let Some(_mounted) = Mounted::at(&device.0, &at) {
        for (args, load) in [
            (&[] as &[&str], &reads),
            (&["--write", "--destroy", name], &mixed),
        ] {
            let assert = replay(args, load, &device.0).code(2);
            assert!(stderr_of(&assert).contains("is mounted at"));
        }
    }
    assert!(is_done(&replay(
        &["--write", "--destroy", name],
        &mixed,
        &device.0
    )));
}

#[test]
fn an_interrupted_replay_keeps_its_results() {
    let scratch = Scratch::new();
    let rows: String = (0..5000)
        .map(|i| format!("{} ; 0 ; 8 ; R\n", f64::from(i) * 0.01))
        .collect();
    let load = scratch.file("long.load", rows);
    let target = scratch.file("target", vec![7; 64 * 1024]);
    let out = scratch.path("out.replay");
    let child = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["replay", "-q", "--no-direct", "--target"])
        .arg(&target)
        .arg("-o")
        .args([&out, &load])
        .arg("--json")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let signalled = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signalled.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    // Most of the load was never submitted, so that it cannot have kept up with it.
    let json: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let verdict = json["verdict"].as_str().unwrap();
    let is_honest = |text: &str| text.contains("ended early") || text.contains("limited");
    assert!(is_honest(verdict), "{verdict}");
    for name in [&json["limited"], &json["targets"][0]["verdict"]] {
        assert!(is_honest(name.as_str().unwrap()), "{name}");
    }
    let records = std::fs::read_to_string(&out).unwrap();
    let rows = records
        .lines()
        .filter(|line| line.contains(" ; R ; "))
        .count();
    assert!(rows > 10 && rows < 5000, "{rows}");
}

#[test]
fn a_replays_account_of_itself_stands_beside_its_records_and_is_drawn() {
    let scratch = Scratch::new();
    let rows: String = (0..2000)
        .map(|i| format!("{} ; {} ; 8 ; R\n", f64::from(i) * 5e-4, i * 8))
        .collect();
    let load = scratch.file("x.load", rows);
    let (target, out) = (
        scratch.file("disk", vec![7; 16 << 20]),
        scratch.path("out.ios"),
    );
    let first = iosonar()
        .arg("replay")
        .arg(&load)
        .args(["--engine", "dry", "--self-check", "-q", "--target"])
        .arg(&target)
        .arg("-o")
        .arg(&out)
        .assert();
    assert!(is_done(&first), "{}", stderr_of(&first));
    let account = std::fs::read_to_string(scratch.path("out.ios.selfcheck.csv")).unwrap();
    let rows: Vec<Vec<f64>> = account
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .map(|field| field.parse().unwrap())
                .collect()
        })
        .collect();
    assert!(
        (5..=15).contains(&rows.len()),
        "a second, by tenths: {account}"
    );
    assert!(
        rows.windows(2).all(|pair| pair[0][0] < pair[1][0]),
        "{account}"
    );
    for chart in [
        "submit-ahead",
        "input-wait",
        "input-wait-cumulated",
        "answer-wait-cumulated",
    ] {
        let picture = scratch.path(&format!("{chart}.png"));
        iosonar()
            .args(["plot", chart, "-q", "-o"])
            .arg(&picture)
            .arg(&out)
            .assert()
            .success();
        assert!(picture.metadata().unwrap().len() > 1000);
    }
    // Another replay's account beside new records would mislead: that is told.
    let again = iosonar()
        .arg("replay")
        .arg(&load)
        .args(["--engine", "dry", "--target"])
        .arg(&target)
        .arg("-o")
        .arg(&out)
        .assert();
    let told = stderr_of(&again);
    assert!(
        told.contains("is left over from an earlier replay"),
        "{told}"
    );
    scratch.file("out.ios.selfcheck.csv", "end_s\n");
    let damaged = iosonar()
        .args(["plot", "sonar", "-o", "x.png"])
        .arg(&out)
        .assert()
        .code(1);
    let told = stderr_of(&damaged);
    assert!(told.contains("selfcheck.csv: line 1"), "{told}");
}
