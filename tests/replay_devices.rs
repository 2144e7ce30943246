//! Replays, recordings and checks on loop devices, and what happens when things break. Where there is no
//! root, no loop device or no tracefs, a test says so and skips.

mod scratch;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use scratch::{Loop, Scratch, iosonar};

/// `n` requests of 8 sectors over `sectors`, so many microseconds apart.
fn load(
    scratch: &Scratch,
    name: &str,
    n: u64,
    distance_us: u64,
    sectors: u64,
    op: char,
) -> PathBuf {
    let rows: String = (0..n)
        .map(|i| {
            let start = (i * distance_us) as f64 / 1e6;
            format!("{start:.6} ; {} ; 8 ; {op}\n", i * 7919 % (sectors / 8) * 8)
        })
        .collect();
    scratch.file(name, rows)
}

/// A loop device over a file without holes.
fn device(scratch: &Scratch, mib: usize) -> Option<Loop> {
    let backing = scratch.file("disk.img", vec![1; mib << 20]);
    let device = Loop::over(&backing);
    if device.is_none() {
        eprintln!("skipped: no loop device can be set up here");
    }
    device
}

fn json_of(assert: &assert_cmd::assert::Assert) -> serde_json::Value {
    let output = assert.get_output();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn figure(json: &serde_json::Value, name: &str) -> f64 {
    let metrics = json["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|m| m["name"] == name);
    metric.unwrap_or_else(|| panic!("no {name}"))["value"]
        .as_f64()
        .unwrap()
}

fn start(arguments: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// A path as an argument.
fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_kernel_sees_each_request_once_as_the_replay_tells() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch, 16) else {
        return;
    };
    if !Path::new("/sys/kernel/tracing/instances").exists()
        && !Path::new("/sys/kernel/debug/tracing/instances").exists()
    {
        eprintln!("skipped: tracefs is not mounted here");
        return;
    }
    let wanted = load(&scratch, "x.load", 2000, 300, 32_768, 'R');
    let (done, recorded) = (scratch.path("done.ios"), scratch.path("recorded.ios"));
    let name = text(&device.0);
    let recorder = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(["record", &name, "-q", "--duration", "30s", "-o"])
        .arg(&recorded)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let number = recorder.id();
    std::thread::sleep(Duration::from_millis(700));
    let assert = iosonar()
        .args(["replay", "-q", "--target", &name, "-o"])
        .args([&done, &wanted])
        .assert();
    assert!(matches!(assert.get_output().status.code(), Some(0 | 3)));
    std::thread::sleep(Duration::from_millis(200));
    signal(&recorder, "-INT");
    let recorder = recorder.wait_with_output().unwrap();
    assert!(recorder.status.success());
    // -q leaves out notes, not results.
    let report = String::from_utf8(recorder.stdout).unwrap();
    assert!(report.contains(" requests ("), "{report}");
    assert_eq!(String::from_utf8(recorder.stderr).unwrap(), "");

    for (wanted, done) in [(&wanted, &done), (&wanted, &recorded), (&done, &recorded)] {
        let assert = iosonar()
            .args(["check", "--json"])
            .args([wanted, done])
            .assert()
            .code(0);
        let json = json_of(&assert);
        assert_eq!(figure(&json, "matched"), 2000.0, "{json}");
    }
    let instances = fs::read_dir("/sys/kernel/tracing/instances")
        .into_iter()
        .flatten()
        .flatten();
    let mine = format!("iosonar-{number}");
    assert!(
        !instances
            .map(|e| e.file_name())
            .any(|n| n.to_string_lossy() == mine)
    );

    // What is missing or too much is told.
    let other = load(&scratch, "y.load", 1999, 300, 32_768, 'R');
    let assert = iosonar()
        .args(["check", "--json"])
        .args([&other, &done])
        .assert()
        .code(3);
    assert_eq!(figure(&json_of(&assert), "extra"), 1.0);
}

#[test]
fn a_read_error_is_told_with_its_reason_and_ends_the_replay() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch, 8) else {
        return;
    };
    // Reads behind the end of the file behind the device fail.
    let backing = fs::File::options()
        .write(true)
        .open(scratch.path("disk.img"))
        .unwrap();
    backing.set_len(4 << 20).unwrap();
    let reads = load(&scratch, "x.load", 500, 200, 16_384, 'R');
    let run = |more: &[&str]| {
        iosonar()
            .args(["replay", "--json", "--target"])
            .args([&device.0, &reads])
            .args(more)
            .assert()
    };
    let json = json_of(&run(&[]).code(1));
    assert!(figure(&json, "errors") >= 1.0 && figure(&json, "missed") > 0.0);
    let json = json_of(&run(&["--max-errors", "1000"]).code(3));
    let (errors, completed) = (figure(&json, "errors"), figure(&json, "completed"));
    assert_eq!(errors + completed, 500.0);
    assert!(
        (200.0..300.0).contains(&errors),
        "half of it is gone: {errors}"
    );
}

#[test]
fn a_full_disk_behind_the_device_is_a_write_error() {
    let scratch = Scratch::new();
    let folder = scratch.path("small");
    fs::create_dir(&folder).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "none"])
        .arg(&folder)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let backing = folder.join("disk.img");
    fs::File::create(&backing)
        .unwrap()
        .set_len(8 << 20)
        .unwrap();
    if let Some(device) = Loop::over(&backing) {
        let writes = load(&scratch, "x.load", 1000, 100, 16_384, 'W');
        let assert = iosonar()
            .args([
                "replay",
                "--json",
                "--write",
                "--max-errors",
                "10000",
                "--target",
            ])
            .args([&device.0, &writes])
            .assert();
        let json = json_of(&assert);
        assert!(figure(&json, "errors") > 100.0, "{json}");
        assert_eq!(figure(&json, "errors") + figure(&json, "completed"), 1000.0);
    } else {
        eprintln!("skipped: no loop device can be set up here");
    }
    let _ = Command::new("umount").arg(&folder).status();
}

#[test]
fn a_killed_replay_leaves_readable_records_and_no_lock() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch, 8) else {
        return;
    };
    let reads = load(&scratch, "x.load", 200_000, 50, 16_384, 'R');
    let out = scratch.path("out.ios");
    let mut child = start(&[
        "replay",
        "-q",
        "--target",
        &text(&device.0),
        "-o",
        &text(&out),
        &text(&reads),
    ]);
    std::thread::sleep(Duration::from_millis(2500));
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert!(!out.exists(), "half a result never looks whole");
    let parts: Vec<PathBuf> = fs::read_dir(scratch.path("."))
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|x| x == "part"))
        .collect();
    assert_eq!(parts.len(), 1);
    // What was written as whole blocks is there.
    let assert = iosonar()
        .args(["info", "--json", "--lenient", "--format", "ios"])
        .arg(&parts[0])
        .assert()
        .success();
    assert!(!assert.get_output().stdout.is_empty());
    // The device is free again, as soon as the kernel has taken the dead ring apart.
    let short = load(&scratch, "y.load", 10, 100, 16_384, 'R');
    let again = || {
        let assert = iosonar()
            .args(["replay", "-q", "--target"])
            .args([&device.0, &short])
            .assert();
        matches!(assert.get_output().status.code(), Some(0 | 3))
    };
    let tries = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        again()
    });
    assert!(tries, "still claimed after five seconds");
}

#[test]
fn interrupted_at_any_moment_every_request_is_accounted_for() {
    let scratch = Scratch::new();
    let reads = load(&scratch, "x.load", 20_000, 100, 2_000, 'R');
    let target = scratch.file("target", vec![7; 1 << 20]);
    for (i, wait_ms) in [0, 150, 310, 700, 1200].into_iter().enumerate() {
        let out = scratch.path(&format!("out{i}.ios"));
        let mut child = start(&[
            "replay",
            "-q",
            "--no-direct",
            "--target",
            &text(&target),
            "-o",
            &text(&out),
            &text(&reads),
        ]);
        std::thread::sleep(Duration::from_millis(wait_ms));
        signal(&child, "-TERM");
        let code = child.wait().unwrap().code();
        if code.is_none() || !out.exists() {
            assert!(wait_ms < 200, "killed before it watched for signals");
            continue;
        }
        assert_eq!(code, Some(143));
        let assert = iosonar()
            .args(["info", "--json"])
            .arg(&out)
            .assert()
            .success();
        let json = json_of(&assert);
        let reads = &json["traces"][0]["ops"]["read"]["requests"];
        assert_eq!(reads, 20_000, "done or missed: {json}");
    }
}

#[test]
fn what_was_written_is_verified_at_the_end_and_after_a_crash() {
    let scratch = Scratch::new();
    let target = scratch.file("target", vec![7; 1 << 20]);
    let mut rows = String::new();
    for i in 0..600 {
        let start = f64::from(i) * 0.0005;
        let sector = i * 37 % 200 * 8;
        rows += &format!("{start:.6} ; {sector} ; 8 ; W\n");
        // A third is covered by a flush.
        if i == 200 {
            rows += &format!("{start:.6} ; 0 ; 0 ; F\n");
        }
    }
    let writes = scratch.file("w.load", rows);
    let tables = scratch.path("x.tables");
    let replay = |more: &[&str]| {
        let _ = fs::remove_file(&tables);
        iosonar()
            .args([
                "replay",
                "--json",
                "--no-direct",
                "--write",
                "--verify",
                "final",
            ])
            .args(["--destroy", &text(&target), "--target", &text(&target)])
            .args(["--keep-tables", &text(&tables)])
            .arg(&writes)
            .args(more)
            .assert()
    };
    let json = json_of(&replay(&[]));
    let contents = &json["targets"][0]["contents"];
    assert_eq!(contents["wrong"], 0, "{contents}");
    assert_eq!(contents["checked"], 1600, "200 places of 8 sectors");

    let verify = |code: i32, more: &[&str]| {
        let assert = iosonar()
            .args(["verify", "--json", "--no-direct", "--target"])
            .arg(&target)
            .args(more)
            .arg(&tables)
            .assert()
            .code(code);
        json_of(&assert)
    };
    verify(0, &[]);
    verify(0, &["--after-crash"]);
    // One place is zeroed, another holds what belongs elsewhere.
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&target)
        .unwrap();
    file.write_all_at(&[0; 4096], 0).unwrap();
    let mut other = [0; 4096];
    file.read_exact_at(&mut other, 80 * 512).unwrap();
    file.write_all_at(&other, 160 * 512).unwrap();
    let json = verify(3, &[]);
    let ranges = json["contents"]["ranges"].as_array().unwrap();
    let kinds: Vec<_> = ranges
        .iter()
        .map(|r| (r["kind"].as_str().unwrap(), r["sector"].as_u64().unwrap()))
        .collect();
    assert_eq!(kinds, [("zeros", 0), ("tag of another sector", 160)]);
    // A log that lost its end claims less, and is believed so far.
    let whole = fs::read(&tables).unwrap();
    // The flush is in what is left, however late it came on a busy machine.
    fs::write(&tables, &whole[..whole.len() - 5]).unwrap();
    let json = verify(3, &["--after-crash"]);
    assert!(figure(&json, "cut_off_bytes") > 0.0);
    // Another target is none of ours.
    let small = scratch.file("small", vec![0; 4096]);
    iosonar()
        .args(["verify", "--no-direct", "--target"])
        .args([&small, &tables])
        .assert()
        .code(2);
}

#[test]
fn targets_are_listed_and_prepared() {
    let scratch = Scratch::new();
    iosonar().args(["targets", "--json"]).assert().code(0);
    let Some(device) = device(&scratch, 4) else {
        return;
    };
    let name = text(&device.0);
    let json = json_of(
        &iosonar()
            .args(["targets", "--json", &name])
            .assert()
            .code(0),
    );
    let listed = &json["targets"][0];
    assert_eq!(listed["size_bytes"], 4 << 20);
    assert!(listed["no_reads"].is_null(), "{listed}");
    assert!(
        listed["no_writes"]
            .as_str()
            .unwrap()
            .contains("unrecognised data")
    );
    iosonar()
        .args(["prepare", "fill", "--target", &name])
        .assert()
        .code(2);
    iosonar()
        .args(["prepare", "fill", "--write", "--target", &name])
        .assert()
        .code(2);
    let filled = iosonar()
        .args([
            "prepare",
            "fill",
            "--write",
            "--json",
            "--destroy",
            &name,
            "--target",
            &name,
        ])
        .assert()
        .code(0);
    assert_eq!(figure(&json_of(&filled), "bytes"), f64::from(4 << 20));
    let content = fs::read(scratch.path("disk.img")).unwrap();
    assert!(
        content
            .chunks(512)
            .all(|sector| sector.iter().any(|&b| b != sector[0]))
    );
    let read = iosonar()
        .args(["prepare", "slurp", "--json", "--target", &name])
        .assert()
        .code(0);
    assert_eq!(figure(&json_of(&read), "bytes"), f64::from(4 << 20));
}

#[test]
fn the_scheduler_is_set_and_restored() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch, 4) else {
        return;
    };
    let file = format!(
        "/sys/block/{}/queue/scheduler",
        device.0.file_name().unwrap().to_str().unwrap()
    );
    let before = fs::read_to_string(&file).unwrap();
    let reads = load(&scratch, "x.load", 10, 100, 8_192, 'R');
    let run = |name: &str| {
        iosonar()
            .args([
                "replay",
                "-q",
                "--scheduler",
                name,
                "--merges",
                "forbid",
                "--target",
            ])
            .args([&device.0, &reads])
            .assert()
    };
    run("nonsense").code(2);
    if before.contains("mq-deadline") {
        assert!(matches!(
            run("mq-deadline").get_output().status.code(),
            Some(0 | 3)
        ));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn loads_that_do_not_fit_are_made_to_fit_and_the_changes_told() {
    let scratch = Scratch::new();
    let target = scratch.file("target", vec![7; 512 * 1024]);
    // Two of the four lie beyond 1024 sectors, one spans the end.
    let reads = scratch.file(
        "x.load",
        "0 ; 0 ; 8 ; R\n0.001 ; 1020 ; 8 ; R\n0.002 ; 1100 ; 8 ; R\n0.003 ; 5000 ; 8 ; R\n",
    );
    let run = |option: &str| {
        let assert = iosonar()
            .args(["replay", "--json", "--no-direct", option, "--target"])
            .args([&target, &reads])
            .assert();
        // On a busy machine it may be flagged.
        assert!(matches!(assert.get_output().status.code(), Some(0 | 3)));
        assert
    };
    iosonar()
        .args(["replay", "--no-direct", "--target"])
        .args([&target, &reads])
        .assert()
        .code(2);
    for (option, told, completed) in [
        ("--wrap", "wrapped", 4.0),
        ("--clip", "left_out", 2.0),
        ("--fit", "scaled", 4.0),
    ] {
        let json = json_of(&run(option));
        assert_eq!(figure(&json, "completed"), completed, "{option}");
        assert!(
            json["targets"][0]["fitted"][told].as_u64().unwrap() >= 2,
            "{option}: {json}"
        );
    }
}

#[test]
fn dry_and_simulated_replays_need_no_target_and_say_that_they_are_fake() {
    let scratch = Scratch::new();
    let writes = load(&scratch, "x.load", 200, 100, 8_192, 'W');
    for engine in ["dry", "simulate"] {
        let assert = iosonar()
            .args(["replay", "--json", "--write", "--engine", engine])
            .arg(&writes)
            .assert();
        let json = json_of(&assert);
        assert_eq!(figure(&json, "completed"), 200.0);
        assert!(json["fakes"][0].as_str().unwrap().contains("no target"));
    }
    iosonar().arg("replay").arg(&writes).assert().code(2);
}

/// Seconds of the drift test; five minutes take `IOSONAR_DRIFT_SECONDS=300`.
fn drift_seconds() -> u64 {
    std::env::var("IOSONAR_DRIFT_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10)
}

#[test]
fn starts_do_not_drift() {
    let scratch = Scratch::new();
    let seconds = drift_seconds();
    let (reads, out) = (scratch.path("x.ios"), scratch.path("out.csv"));
    let duration = format!("{seconds}s");
    iosonar()
        .args([
            "generate",
            "constant",
            "--rate",
            "10000",
            "--space",
            "64MiB",
            "--duration",
        ])
        .args([&duration, "-o", &text(&reads)])
        .assert()
        .success();
    let assert = iosonar()
        .args(["replay", "-q", "--engine", "dry", "--write", "-o"])
        .args([&out, &reads])
        .assert();
    assert!(matches!(assert.get_output().status.code(), Some(0 | 3)));
    // Medians of the delays of each second: a relative delay would make each later than the one before.
    let table = fs::read_to_string(&out).unwrap();
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|c| *c == name).unwrap();
    let (start, delay) = (column("time_ns"), column("delay_ns"));
    let mut delays = vec![Vec::new(); seconds as usize];
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<u64>().unwrap();
        let second = (number(start) / 1_000_000_000) as usize;
        if let Some(of) = delays.get_mut(second) {
            of.push(number(delay));
        }
    }
    let medians: Vec<u64> = delays
        .iter_mut()
        .map(|of| {
            of.sort_unstable();
            of[of.len() / 2]
        })
        .collect();
    // fio is half a second late after ten.
    let last = medians[medians.len() - 1];
    assert!(last < 20_000_000, "{last} ns late at the end: {medians:?}");
    let all = delays.iter().map(Vec::len).sum::<usize>() as u64;
    assert!(all + 1 >= seconds * 10_000, "{all}");
}

#[test]
fn a_pipe_that_nobody_fills_does_not_hold_up_the_end() {
    let scratch = Scratch::new();
    let (pipe, target) = (
        scratch.path("pipe"),
        scratch.file("target", vec![7; 1 << 20]),
    );
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no named pipe can be made here");
        return;
    }
    let mut child = start(&[
        "replay",
        "-q",
        "--no-direct",
        "--target",
        &text(&target),
        &text(&pipe),
    ]);
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-TERM");
    let ended = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap()
    });
    if ended.is_none() {
        child.kill().unwrap();
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
}
