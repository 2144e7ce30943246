//! What is said at the end of a command holds: each verdict where it is true, and where it is false.

mod scratch;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out, replay_on_file};

fn run(arguments: &[&str]) -> Output {
    iosonar().args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// One read a millisecond.
fn rows(n: u64) -> String {
    (0..n)
        .map(|i| format!("{:.3} ; {} ; 8 ; R\n", i as f64 * 1e-3, i * 8))
        .collect()
}

#[test]
fn a_check_says_the_same_only_of_the_same() {
    let scratch = Scratch::new();
    let wanted = scratch.file("wanted.load", rows(100));
    let same = run(&["check", text(&wanted), text(&wanted)]);
    assert_eq!(same.status.code(), Some(0), "{}", err(&same));
    assert!(
        !out(&same).contains("MISSING") && !out(&same).contains("EXTRA"),
        "{}",
        out(&same)
    );
    let fewer = scratch.file("fewer.load", rows(99));
    for (wanted, done, says) in [
        (
            &wanted,
            &fewer,
            "1             MISSING: wanted but not done",
        ),
        (&fewer, &wanted, "1             EXTRA: done but not wanted"),
    ] {
        let other = run(&["check", text(wanted), text(done)]);
        assert_eq!(other.status.code(), Some(3), "{}", err(&other));
        assert!(out(&other).contains(says), "{}", out(&other));
    }
}

/// Two hundred reads of fifty places, a few of them once: those that begin before `from_ms` are left out.
fn repeated(from_ms: u64) -> String {
    let row = |i: u64| {
        let place = if i % 10 == 9 { 1000 + i } else { i * 7 % 50 };
        format!("{:.3} ; {} ; 8 ; R\n", i as f64 * 0.1, place * 8)
    };
    let rows = (0..200).filter(|i| i * 100 >= from_ms);
    rows.map(row).collect()
}

#[test]
fn requests_cut_off_from_one_of_two_equal_traces_make_no_difference_in_time() {
    let scratch = Scratch::new();
    let whole = scratch.file("whole.load", repeated(0));
    let cut = scratch.file("cut.load", repeated(5_000));
    let (whole, cut) = (text(&whole), text(&cut));
    let cases: [&[&str]; 4] = [
        &[whole, whole, "--from", "5s"],
        &[whole, whole, "--until", "5s"],
        &[whole, cut],
        &[cut, whole],
    ];
    for arguments in cases {
        let run = run(&[&["check", "--json"], arguments].concat());
        assert_eq!(run.status.code(), Some(3), "{}", err(&run));
        let json: serde_json::Value = serde_json::from_str(&out(&run)).unwrap();
        let metrics = json["metrics"].as_array().unwrap();
        let of = |name: &str| metrics.iter().find(|m| m["name"] == name).unwrap();
        let quantiles = of("start_difference")["quantiles"].as_object().unwrap();
        assert_eq!(quantiles.len(), 7, "{arguments:?}");
        for difference in quantiles.values() {
            assert_eq!(difference.as_f64(), Some(0.0), "{arguments:?}");
        }
        let figure = |name: &str| of(name)["value"].as_f64().unwrap();
        assert!(figure("ambiguous") > 0.0, "{arguments:?}");
        let n = of("start_difference")["n"].as_f64().unwrap();
        assert_eq!(figure("matched"), figure("ambiguous") + n, "{arguments:?}");
    }
    let words = out(&run(&["check", whole, whole, "--from", "5s"]));
    assert!(
        words.contains("excluded from the differences below"),
        "{words}"
    );
    let same = out(&run(&["check", whole, whole]));
    assert!(
        !same.contains("excluded from the differences below"),
        "{same}"
    );
}

#[test]
fn contents_are_all_right_only_where_they_are() {
    let scratch = Scratch::new();
    let target = scratch.file("target", vec![7; 1 << 20]);
    let writes = |name: &str, flush: &str| {
        let rows: String = (0..100)
            .map(|i| format!("{:.3} ; {} ; 8 ; W\n", f64::from(i) * 1e-3, i * 8))
            .collect();
        scratch.file(name, rows + flush)
    };
    // The flush comes when everything else is long done.
    let (durable, volatile) = (
        writes("durable.load", "0.5 ; 0 ; 0 ; F\n"),
        writes("volatile.load", ""),
    );
    let tables = scratch.path("x.tables");
    let replay = |load: &Path| {
        let _ = fs::remove_file(&tables);
        let options = [
            "--write",
            "--verify",
            "final",
            "--keep-tables",
            text(&tables),
        ];
        let replay = replay_on_file(load, &target, &options);
        let text = out(&replay);
        assert!(text.contains("800 sectors checked, passed"), "{text}");
    };
    let verify = |code: i32, more: &[&str]| {
        let arguments = [
            "verify",
            "--no-direct",
            "--target",
            text(&target),
            text(&tables),
        ];
        let verified = run(&[&arguments, more].concat());
        assert_eq!(verified.status.code(), Some(code), "{}", err(&verified));
        out(&verified)
    };
    let overwrite = |byte: u8| {
        let file = fs::File::options().write(true).open(&target).unwrap();
        file.write_all_at(&[byte; 4096], 8 * 512).unwrap();
    };
    let survived = "no durable data was lost";

    replay(&durable);
    assert!(verify(0, &[]).contains("passed"));
    assert!(verify(0, &["--after-crash"]).contains(survived));
    overwrite(0);
    let wrong = verify(3, &[]);
    assert!(
        wrong.contains("8 WRONG") && !wrong.contains("passed"),
        "{wrong}"
    );
    let lost = verify(3, &["--after-crash"]);
    assert!(
        lost.contains("8 sectors are LOST") && !lost.contains(survived),
        "{lost}"
    );

    // Where nothing was durable, nothing can be vouched for; and what no write put there is damage all the same.
    replay(&volatile);
    overwrite(0);
    let unknown = verify(0, &["--after-crash"]);
    let nothing_durable = "no verdict: no flush had made any sector durable";
    assert!(
        unknown.contains(nothing_durable)
            && unknown.contains("8 sectors of zeros")
            && !unknown.contains(survived),
        "{unknown}"
    );
    overwrite(0xa5);
    let damaged = verify(3, &["--after-crash"]);
    assert!(
        damaged.contains(nothing_durable)
            && damaged
                .contains("8 sectors that no flush had made durable contained data that no write"),
        "{damaged}"
    );
}

#[test]
fn a_fit_is_called_poor_only_where_it_is() {
    let scratch = Scratch::new();
    // Latencies that repeat, in both halves the same; or ten times as long in the second half.
    let records = |name: &str, second: f64| {
        let rows: String = (0..1000_u32)
            .map(|i| {
                let factor = if i < 500 { 1.0 } else { second };
                let latency = (100e-6 + f64::from(i * 7 % 97) * 1e-6) * factor;
                format!(
                    "{:.3} ; {} ; 8 ; R ; 0 ; {latency:.9}\n",
                    f64::from(i) * 1e-2,
                    i * 8
                )
            })
            .collect();
        scratch.file(name, rows)
    };
    for (records, is_poor) in [
        (records("alike.replay", 1.0), false),
        (records("other.replay", 10.0), true),
    ] {
        let profile = scratch.path("mine.toml");
        let fitted = run(&[
            "calibrate",
            text(&records),
            "--profile",
            "ssd",
            "-o",
            text(&profile),
        ]);
        let code = if is_poor { 3 } else { 0 };
        assert_eq!(fitted.status.code(), Some(code), "{}", err(&fitted));
        assert_eq!(
            err(&fitted).contains("poor fit"),
            is_poor,
            "{}",
            err(&fitted)
        );
    }
}

#[test]
fn how_long_a_failure_took_is_compared_with_nothing() {
    let scratch = Scratch::new();
    let records = |name: &str, failure: &str| {
        let rows: String = (0..300)
            .map(|i| {
                format!(
                    "{:.3},{},8,read,0,100000,done\n",
                    f64::from(i) * 1e-3,
                    i * 8
                )
            })
            .collect();
        let header = "time_s,sector,sectors,op,delay_ns,latency_ns,status\n";
        scratch.file(name, format!("{header}{rows}{failure}"))
    };
    let good = records("good.csv", "");
    let failing = records("fail.csv", "0.9,8,8,read,0,9000000000,error:5\n");
    let compared = run(&["compare", text(&good), text(&failing)]);
    assert!(compared.status.success(), "{}", err(&compared));
    let said = out(&compared);
    assert!(
        said.contains("mean +0 s") && !said.contains("9 s"),
        "{said}"
    );

    let scenario = scratch.file(
        "array.toml",
        "[load]\nrequests = 1000\narrivals = { poisson_per_s = 10.0 }\nsize = { blocks = 1 }\n[array]\nlevel = \
         \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n",
    );
    let measured = |records: &Path, name: &str| {
        let model = run(&["model", text(&scenario), "--measured", text(records)]);
        assert!(model.status.success(), "{}", err(&model));
        out(&model).replace(name, "records")
    };
    assert_eq!(measured(&good, "good.csv"), measured(&failing, "fail.csv"));
}

#[test]
fn a_run_is_unsteady_only_where_its_queue_grows() {
    let scratch = Scratch::new();
    let simulate = |load: &str| {
        let text = format!(
            "seed = 1\n[load]\n{load}\n[array]\nlevel = 'raid0'\ndisks = 4\n\
             [disk]\nprofile = 'seagate-st3500630ns'\n"
        );
        let scenario = scratch.file("s.toml", text);
        let run = run(&["sim", crate::text(&scenario), "--unstable", "-q"]);
        assert!(run.status.success(), "{}", err(&run));
        out(&run)
    };
    let batches = |per_s: f64| {
        simulate(&format!(
            "requests = 1000\narrivals = {{ constant_per_s = {per_s} }}\nbatch = {{ requests = 100 }}\n\
             size = {{ blocks = 1 }}"
        ))
    };
    // Requests at equal distances, and a burst of others at the end.
    let trace = |burst: u32, every: f64| {
        let rows: String = (0..2000_u32)
            .map(|i| f64::from(i) * every)
            .chain((0..burst).map(|i| 2000.0 * every + f64::from(i) * 1e-5))
            .zip(0_u64..)
            .map(|(start, i)| format!("{start:.6} ; {} ; 8 ; R\n", i * 79_190 % 900_000 * 8))
            .collect();
        let load = scratch.file("x.load", rows);
        simulate(&format!("trace = '{}'", load.display()))
    };
    for (run, grows) in [
        (batches(0.2), false),
        (batches(2.0), false),
        (batches(20.0), true),
        (trace(1000, 0.03), false),
        (trace(0, 0.03), false),
        (trace(0, 0.001), true),
    ] {
        assert_eq!(run.contains("[W062]"), grows, "{run}");
    }
}

#[test]
fn what_a_closed_loop_drains_is_every_request_that_was_left_at_the_end() {
    let scratch = Scratch::new();
    let closed = |warmup: u32| {
        let text = format!(
            "seed = 1\nwarmup_requests = {warmup}\n[load]\nrequests = 600\nclosed = {{ outstanding = 32 }}\n\
             size = {{ blocks = 1 }}\n[array]\nlevel = 'raid0'\ndisks = 4\n\
             [disk]\nprofile = 'seagate-st3500630ns'\n"
        );
        let scenario = scratch.file("s.toml", text);
        out(&run(&["sim", crate::text(&scenario), "-q"]))
    };
    for warmup in [0, 10, 100] {
        let text = closed(warmup);
        assert!(
            text.contains("  31 requests completed while the closed loop drained"),
            "{warmup}: {text}"
        );
    }
}

/// A replay that is stopped for a while in the middle, on each engine: its verdict and exit code.
#[test]
fn a_replay_that_stood_still_did_not_keep_up() {
    let scratch = Scratch::new();
    // 2,000 reads a second for three seconds.
    let rows: String = (0..6_000)
        .map(|i| format!("{:.4} ; {} ; 8 ; R\n", f64::from(i) * 5e-4, i % 256 * 8))
        .collect();
    let load = scratch.file("steady.load", rows);
    let target = scratch.file("target", vec![7; 1 << 20]);
    for engine in ["sync", "io_uring"] {
        let replay = std::process::Command::new(assert_cmd::cargo::cargo_bin("iosonar"))
            .args([
                "replay",
                "--no-direct",
                "--engine",
                engine,
                "--start-grace",
                "10ms",
            ])
            .args(["--target", text(&target), text(&load)])
            .env("NO_COLOR", "1")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let signal = |name: &str| {
            let status = std::process::Command::new("kill")
                .args([name, &replay.id().to_string()])
                .status();
            assert!(status.unwrap().success());
        };
        std::thread::sleep(std::time::Duration::from_millis(1500));
        signal("-STOP");
        std::thread::sleep(std::time::Duration::from_millis(400));
        signal("-CONT");
        let replay = replay.wait_with_output().unwrap();
        if err(&replay).contains("the kernel does not permit") {
            continue;
        }
        let printed = out(&replay);
        assert_eq!(replay.status.code(), Some(3), "{printed}{}", err(&replay));
        assert!(
            printed.contains("replayer-limited") && !printed.contains("kept up"),
            "{printed}"
        );
    }
}

#[test]
fn what_other_threads_cost_a_replay_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let load = dir.path().join("x.load");
    std::fs::write(&load, rows(200)).unwrap();
    let output = run(&["replay", text(&load), "--engine", "dry", "--json"]);
    // Whether it kept up does not matter.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let has = |name: &str| metrics.iter().any(|metric| metric["name"] == name);
    assert!(has("preemptions"));
    // Some kernels do not count it.
    assert_eq!(has("run_delay"), Path::new("/proc/self/schedstat").exists());
}

#[test]
fn a_target_that_did_nothing_has_not_kept_up() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", rows(100));
    let (large, small) = (scratch.path("large"), scratch.path("small"));
    fs::write(&large, vec![1; 1 << 20]).unwrap();
    // Every request lies behind its end.
    let far = scratch.file("far.load", "0.001 ; 4096 ; 8 ; R\n");
    fs::write(&small, vec![1; 4096]).unwrap();
    let output = run(&[
        "replay",
        text(&load),
        text(&far),
        "--target",
        text(&large),
        "--target",
        text(&small),
        "--clip",
        "--no-direct",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let targets = json["targets"].as_array().unwrap();
    let of = |name: &str| targets.iter().map(|t| t[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("done"), [100, 0]);
    assert_eq!(of("verdict")[1], "not judged");
}

#[test]
fn a_search_for_the_highest_rate_ends_its_tries_itself() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", rows(100));
    let target = scratch.path("target");
    fs::write(&target, vec![1; 1 << 20]).unwrap();
    let search = ["--find-rate", "latency p99<1s", "--max-runtime", "1"];
    let output = run(&[
        &["replay", text(&load), "--target", text(&target)][..],
        &search,
    ]
    .concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(err(&output).contains("--find-time"), "{}", err(&output));
}
