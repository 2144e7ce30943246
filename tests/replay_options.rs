//! Options of a replay that do not go together or have no effect, its outputs, and how a search for the highest rate ends.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use scratch::{Scratch, assert_refused, err, iosonar, out};

/// Reads of 4 KiB for some seconds.
fn reads(scratch: &Scratch, per_s: u32, seconds: u32) -> PathBuf {
    let row = |i: u32| {
        let start = f64::from(i) / f64::from(per_s);
        format!("{start:.6} ; {} ; 8 ; R\n", i % 200 * 8)
    };
    let rows: String = (0..per_s * seconds).map(row).collect();
    scratch.file("x.load", rows)
}

fn target(scratch: &Scratch) -> PathBuf {
    scratch.file("target", vec![7; 1 << 20])
}

/// Replays on a file through the page cache, which always works.
fn replay(load: &Path, target: &Path, options: &[&str]) -> Output {
    let mut command = iosonar();
    command.args(["replay", "--no-direct", "--target"]);
    command.args([target, load]).args(options).output().unwrap()
}

/// A replay that takes a while, without a device.
fn start(load: &Path, out: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("iosonar"))
        .args(["replay", "-q", "--engine", "simulate", "-o"])
        .args([out, load])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

fn wait_for(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn of_two_replays_with_one_output_the_second_is_refused() {
    let scratch = Scratch::new();
    let load = reads(&scratch, 100, 60);
    let records = scratch.path("out.load");
    let mut first = start(&load, &records);
    wait_for("no records appear", || scratch.holds_a_part());
    let second = start(&load, &records).wait_with_output().unwrap();
    let writer = format!("process {} is writing it", first.id());
    assert_refused(&second, &writer);
    // What it leaves behind is in nobody's way.
    signal(&first, "KILL");
    first.wait().unwrap();
    assert!(scratch.holds_a_part());
    let short = scratch.file("short.load", "0 ; 0 ; 8 ; R\n");
    let third = start(&short, &records).wait_with_output().unwrap();
    assert!(
        matches!(third.status.code(), Some(0 | 3)),
        "{}",
        err(&third)
    );
    assert!(records.exists());
}

#[test]
fn options_that_the_engine_has_no_use_for_are_refused() {
    let scratch = Scratch::new();
    let (load, target) = (reads(&scratch, 100, 1), target(&scratch));
    for (options, why) in [
        (
            &["--engine", "sync", "--sqpoll"][..],
            "--sqpoll needs --engine io_uring, passthrough or auto (got sync)",
        ),
        (
            &[
                "--engine",
                "threads",
                "--engine-opt",
                "task-work=interrupt",
                "--engine-opt",
                "buffers=plain",
            ],
            "--engine-opt task-work, --engine-opt buffers=plain need --engine io_uring, passthrough or auto (got threads)",
        ),
        (
            &["--engine", "simulate", "--iopoll"],
            "--iopoll needs --engine io_uring, passthrough or auto (got simulate)",
        ),
        (
            &["--engine", "io_uring", "--latency", "1ms"],
            "--latency needs --engine simulate (got io_uring)",
        ),
        (
            &["--model", "seagate-st3500630ns", "--seed", "2"],
            "--model, --seed need --engine simulate (got auto)",
        ),
        (&["--iopoll"], "--iopoll cannot be used with --no-direct"),
        (
            &["--engine", "simulate", "--latency", "2h"],
            "at most 1h (got 7200 s)",
        ),
    ] {
        assert_refused(&replay(&load, &target, options), why);
    }
    // No block device is behind it.
    if let Ok(folder) = tempfile::tempdir_in("/dev/shm") {
        let target = folder.path().join("target");
        fs::write(&target, vec![7; 1 << 20]).unwrap();
        let mut command = iosonar();
        command.args(["replay", "--iopoll", "--target"]);
        let polled = command.args([&target, &load]).output().unwrap();
        assert_refused(&polled, "--iopoll needs");
    }
}

#[test]
fn a_real_time_limit_is_not_run_into() {
    let scratch = Scratch::new();
    let (load, target) = (reads(&scratch, 1000, 1), target(&scratch));
    let limited = |options: &[&str]| {
        Command::new("prlimit")
            .arg("--rttime=200000:200000")
            .arg(assert_cmd::cargo::cargo_bin("iosonar"))
            .args(["replay", "-q", "--no-direct", "--target"])
            .args([&target, &load])
            .args(options)
            .output()
    };
    let Ok(forced) = limited(&["--priority", "fifo"]) else {
        return eprintln!("skipped: no prlimit here");
    };
    assert_refused(
        &forced,
        "after 200 ms without sleeping the kernel would kill this process",
    );
    let automatic = limited(&[]).unwrap();
    let text = out(&automatic);
    assert!(matches!(automatic.status.code(), Some(0 | 3)), "{text}");
    assert!(!text.contains("priority fifo"), "{text}");
    let free = out(&replay(&load, &target, &["-q"]));
    assert_eq!(
        text.contains("SCHED_FIFO was not used"),
        free.contains("priority fifo"),
        "{text}{free}"
    );
}

#[test]
fn a_search_that_the_user_ends_says_so() {
    let scratch = Scratch::new();
    let (load, target) = (reads(&scratch, 1000, 2), target(&scratch));
    let search = Command::new(assert_cmd::cargo::cargo_bin("iosonar"))
        .args(["replay", "-q", "--no-direct", "--find-time", "20s"])
        .args(["--find-rate", "latency p99<1s", "--target"])
        .args([&target, &load])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&search, "INT");
    let ended = search.wait_with_output().unwrap();
    let text = out(&ended);
    assert_eq!(ended.status.code(), Some(130), "{text}{}", err(&ended));
    assert!(text.contains("stopped by the user"), "{text}");
    assert!(!text.contains("requests failed"), "{text}");
}

#[test]
fn a_search_ends_where_even_the_lowest_rate_is_too_slow() {
    let scratch = Scratch::new();
    let (load, target) = (reads(&scratch, 10_000, 1), target(&scratch));
    let searched = replay(
        &load,
        &target,
        &[
            "-q",
            "--find-time",
            "100ms",
            "--find-rate",
            "latency p99<1ns",
        ],
    );
    let text = out(&searched);
    assert_eq!(searched.status.code(), Some(3), "{text}{}", err(&searched));
    // 1,100 requests in ten times the time of a try.
    assert!(
        text.contains("latency p99 < 1 ns is missed even at 1099.")
            || text.contains("latency p99 < 1 ns is missed even at 1100."),
        "{text}"
    );
    let tables = scratch.path("x.tables");
    let logged = replay(
        &load,
        &target,
        &[
            "--find-rate",
            "latency p99<1ms",
            "--keep-tables",
            tables.to_str().unwrap(),
        ],
    );
    assert_refused(&logged, "--keep-tables");
    assert!(!tables.exists());
}

#[test]
fn a_check_reads_what_is_left_of_both_traces() {
    let scratch = Scratch::new();
    let whole = fs::read(reads(&scratch, 100, 1)).unwrap();
    let cut = &whole[..whole.len() - 3];
    let wanted = scratch.file("wanted.load", cut);
    let done = scratch.file("done.load.4194305-0.part", cut);
    let check = |options: &[&str]| {
        let mut command = iosonar();
        command.arg("check").args([&wanted, &done]).args(options);
        command.output().unwrap()
    };
    let strict = check(&[]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(err(&strict).contains("--lenient"), "{}", err(&strict));
    for options in [&["--lenient"][..], &["--lenient", "--both"]] {
        let lenient = check(options);
        let text = out(&lenient);
        assert!(
            matches!(lenient.status.code(), Some(0 | 3)),
            "{}",
            err(&lenient)
        );
        assert!(text.contains("identical     99"), "{text}{}", err(&lenient));
        let remark = "done.load.4194305-0.part: 99 records were read from a truncated file";
        assert!(err(&lenient).contains(remark), "{}", err(&lenient));
    }
}

#[test]
fn a_check_of_the_records_of_several_targets_says_how_to_take_one() {
    let scratch = Scratch::new();
    let load = reads(&scratch, 100, 1);
    let records = scratch.path("both.csv");
    let targets = ["one", "two"].map(|name| scratch.file(name, vec![7; 1 << 20]));
    let mut command = iosonar();
    command
        .args(["replay", "-q", "--no-direct", "-o"])
        .arg(&records);
    for target in &targets {
        command.arg("--target").arg(target);
    }
    let replayed = command.arg(&load).output().unwrap();
    assert!(
        matches!(replayed.status.code(), Some(0 | 3)),
        "{}",
        err(&replayed)
    );
    let checked = iosonar()
        .arg("check")
        .args([&load, &records])
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(3));
    assert!(
        err(&checked).contains("convert DONE --device"),
        "{}",
        err(&checked)
    );
    let one = scratch.path("one.csv");
    let mut command = iosonar();
    command
        .args(["convert", "--device"])
        .args([&targets[0], &records]);
    let converted = command.arg("-o").arg(&one).output().unwrap();
    assert!(converted.status.success(), "{}", err(&converted));
    let checked = iosonar().arg("check").args([&load, &one]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", out(&checked));
}

/// A figure of the summary of a replay without labels.
fn figure(output: &Output, name: &str) -> f64 {
    let json: serde_json::Value = serde_json::from_str(&out(output)).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    metrics.iter().find(|m| m["name"] == name).unwrap()["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn rates_are_those_of_the_time_after_the_warm_up() {
    let scratch = Scratch::new();
    let (load, target) = (reads(&scratch, 1000, 1), target(&scratch));
    let replayed = |warmup: &str, format: &str| {
        let options = ["--engine", "dry", "--warmup", warmup, format];
        replay(&load, &target, &options)
    };
    // The last 10 of 1000, in 9 ms.
    let rate = figure(&replayed("989.5ms", "--json"), "throughput");
    assert!((200.0..2500.0).contains(&rate), "{rate}");
    let text = out(&replayed("5s", "-q"));
    assert!(text.contains("no rates were measured"), "{text}");
    assert!(
        text.contains("none, as no completed request was measured"),
        "{text}"
    );
    assert!(!text.contains("kept up"), "{text}");
}

#[test]
fn a_replay_that_ends_in_a_pause_lasted_until_its_end() {
    let scratch = Scratch::new();
    let mut rows: String = (0..100)
        .map(|i| format!("{:.3} ; {} ; 8 ; R\n", f64::from(i) / 1000.0, i * 8))
        .collect();
    rows += "60 ; 0 ; 8 ; R\n";
    let load = scratch.file("pause.load", rows);
    let options = ["--engine", "dry", "--max-runtime", "1s"];
    let target = target(&scratch);
    let json = replay(&load, &target, &[&options[..], &["--json"]].concat());
    let (elapsed, rate) = (figure(&json, "elapsed"), figure(&json, "throughput"));
    assert!(elapsed >= 1.0, "{elapsed}");
    assert!((rate * elapsed - 100.0).abs() < 1e-6, "{rate} {elapsed}");
    let text = out(&replay(&load, &target, &[&options[..], &["-q"]].concat()));
    let demanded = text.split("(demanded: ").nth(1).unwrap();
    let demanded: f64 = demanded.split(')').next().unwrap().parse().unwrap();
    assert!((10.0..=100.0).contains(&demanded), "{text}");
}

#[test]
fn prepare_reports_what_it_can_and_cannot_reach() {
    let scratch = Scratch::new();
    let slurp = |name: &str, options: &[&str]| {
        let run = iosonar()
            .args(["prepare", "slurp", "--no-direct", "--target"])
            .arg(scratch.path(name))
            .args(options)
            .output()
            .unwrap();
        (run.status.success(), out(&run), err(&run))
    };
    // It has no option --create.
    let (_, _, missing) = slurp("missing.img", &[]);
    assert!(
        missing.contains("does not exist") && !missing.contains("--create"),
        "{missing}"
    );
    scratch.file("full.img", "x".repeat(8192));
    let fill = iosonar()
        .args(["prepare", "fill", "--write", "--no-direct", "--target"])
        .arg(scratch.path("full.img"))
        .output()
        .unwrap();
    assert!(
        err(&fill).contains("--destroy") && !err(&fill).contains("--create"),
        "{}",
        err(&fill)
    );
    scratch.file("empty.img", "");
    let (is_done, _, empty) = slurp("empty.img", &[]);
    assert!(!is_done && empty.contains("less than one block"), "{empty}");
    scratch.file("odd.img", "x".repeat(1000));
    let (is_done, text, note) = slurp("odd.img", &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(is_done && json["whole"] == false, "{json}");
    assert!(
        note.contains("reading 512 B") && note.contains("last 488 B"),
        "{note}"
    );
}

/// A load from standard input, of a request every 10 ms.
fn streamed(rows: String, out: &Path) -> Output {
    iosonar()
        .args(["replay", "-", "-q", "--json", "--engine", "dry", "--out"])
        .arg(out)
        .write_stdin(rows)
        .output()
        .unwrap()
}

#[test]
fn a_stream_lasts_as_long_as_its_load_and_its_records_are_whole_only_if_it_is() {
    let scratch = Scratch::new();
    let mut rows = "time_ms,sector,sectors,op\n".to_owned();
    for i in 0..30 {
        rows += &format!("{},8,8,read\n", 10 * i);
    }
    let whole = scratch.path("whole.ios");
    let run = streamed(rows.clone(), &whole);
    assert_eq!(figure(&run, "intended"), 0.29);
    assert!(whole.exists());
    let broken = scratch.path("broken.ios");
    let run = streamed(rows + "0,8,8,read\n", &broken);
    assert!(!run.status.success());
    assert!(err(&run).contains("E006"), "{}", err(&run));
    assert!(!broken.exists());
}

#[test]
fn devices_without_a_target_are_named_whatever_the_format() {
    let scratch = Scratch::new();
    let rows = "time_ms,sector,sectors,op,device\n0,8,8,read,sda\n1,8,8,read,sdb\n";
    let load = scratch.file("two.csv", rows);
    let target = target(&scratch);
    let run = |maps: &[&str]| {
        let mut command = iosonar();
        command.arg("replay").arg(&load).args(["--engine", "dry"]);
        for name in maps {
            command.arg(format!("--map={name}={}", target.display()));
        }
        err(&command.output().unwrap())
    };
    let said = run(&["sda"]);
    assert!(said.contains("W047"), "{said}");
}
