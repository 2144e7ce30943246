//! What a first replay reports to a user who knows only the manual.

mod scratch;

use std::fs;
use std::process::Output;

use scratch::{Scratch, Zram, err, iosonar, out};

/// So many reads of 4 KiB, one every 100 us.
fn reads(n: u64) -> String {
    (0..n)
        .map(|i| format!("{:.6} ; {} ; 8 ; R\n", i as f64 * 1e-4, i % 100 * 8))
        .collect()
}

#[test]
fn a_driver_without_a_scheduler_is_explained_in_plain_words() {
    let scratch = Scratch::new();
    let Some(zram) = Zram::new(1 << 20) else {
        return eprintln!("skipped: no zram here");
    };
    let load = scratch.file("x.load", reads(200));
    let replay = iosonar()
        .args(["replay", "--target"])
        .arg(zram.path())
        .arg(&load)
        .output()
        .unwrap();
    let (text, notes) = (out(&replay), err(&replay));
    assert!(!notes.contains("scheduler"), "{notes}");
    assert!(
        text.contains(
            "this driver completes requests during submission and does not support NOWAIT"
        ),
        "{text}"
    );
    assert!(
        text.contains("µs of CPU time per request, including busy-waiting"),
        "{text}"
    );
}

#[test]
fn few_places_in_flight_are_the_users_limit_and_not_the_devices() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", reads(100));
    // Each takes a hundred times as long as there is between two.
    let replay = |options: &[&str]| {
        let mut command = iosonar();
        command.args(["replay", "-q", "--engine", "simulate", "--latency", "10ms"]);
        command.args(options).arg(&load);
        // A machine that is busy with something else is late itself now and then.
        let mut outputs = (0..10).map(|_| command.output().unwrap());
        let in_time = |output: &Output| !out(output).contains("replayer-limited");
        outputs.find(in_time).expect("one of ten is in time")
    };
    let limited = replay(&["--in-flight", "1"]);
    let text = out(&limited);
    assert_eq!(limited.status.code(), Some(3), "{text}");
    assert!(
        text.contains("limited by --in-flight 1, starting "),
        "{text}"
    );
    assert!(text.contains(" into the load: "), "{text}");
    assert!(!text.contains("device-limited"), "{text}");
    let json = replay(&["--in-flight-total", "2", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["limited"], "in-flight-limited", "{json}");
    assert!(
        json["verdict"]
            .as_str()
            .unwrap()
            .contains("--in-flight-total 2")
    );
    assert!(json["targets"][0]["limited_from_s"].as_f64().unwrap() < 1.0);
    let free = out(&replay(&[]));
    assert!(!free.contains("limited by"), "{free}");
}

#[test]
fn auto_says_that_one_at_a_time_has_no_use_for_places_in_flight() {
    let scratch = Scratch::new();
    let Some(zram) = Zram::new(1 << 20) else {
        return eprintln!("skipped: no zram here");
    };
    let load = scratch.file("x.load", reads(200));
    let replay = |options: &[&str]| {
        let mut command = iosonar();
        command.args(["replay", "-q", "--target"]).arg(zram.path());
        out(&command.args(options).arg(&load).output().unwrap())
    };
    let unused = replay(&["--in-flight", "4", "--in-flight-total", "8"]);
    let note = "--in-flight, --in-flight-total had no effect: engine auto chose sync";
    assert!(unused.contains(note), "{unused}");
    assert!(!unused.contains("limited by"), "{unused}");
    assert!(!replay(&["--in-flight", "1024"]).contains("had no effect"));
}

#[test]
fn records_of_a_killed_replay_are_found_by_the_name_they_would_have_got() {
    let scratch = Scratch::new();
    let whole = scratch.path("whole.ios");
    let load = scratch.file("x.load", reads(5000));
    let convert = iosonar()
        .args(["convert", "-o"])
        .args([&whole, &load])
        .output();
    assert!(convert.unwrap().status.success());
    let missing = scratch.path("k.ios");
    let alone = iosonar().arg("info").arg(&missing).output().unwrap();
    assert!(!err(&alone).contains("there is"), "{}", err(&alone));
    let bytes = fs::read(&whole).unwrap();
    // Cut off within its last block or index, and before its first.
    for length in [bytes.len() - 30, 100] {
        let part = scratch.file("k.ios.4194305-0.part", &bytes[..length]);
        for command in ["info", "analyze", "replay --engine dry"] {
            let output = iosonar()
                .args(command.split(' '))
                .arg(&missing)
                .output()
                .unwrap();
            assert_ne!(output.status.code(), Some(0), "{command}");
            let hint = "k.ios.4194305-0.part, left behind by a process that was killed: --lenient reads it";
            assert!(err(&output).contains(hint), "{command}: {}", err(&output));
        }
        let lenient = iosonar().args(["info", "--lenient"]).arg(&part).output();
        let said = err(&lenient.unwrap());
        assert!(said.contains("truncated"), "{said}");
        assert!(!said.contains("--lenient"), "{said}");
    }
}

#[test]
fn records_in_the_order_of_completion_are_no_cause_for_alarm() {
    let scratch = Scratch::new();
    // The second is left out when it is due, before the first is complete.
    let load = scratch.file("x.load", "0 ; 0 ; 8 ; R\n0.0001 ; 8 ; 8 ; W\n");
    for name in ["done.ios", "done.load"] {
        let done = scratch.path(name);
        let replay = iosonar()
            .args(["replay", "-q", "--engine", "simulate", "--latency", "50ms"])
            .args(["--skip-writes", "-o"])
            .args([&done, &load])
            .output()
            .unwrap();
        assert!(done.exists(), "{}", err(&replay));
        let text = out(&iosonar().arg("info").arg(&done).output().unwrap());
        assert!(!text.contains("NOT sorted"), "{text}");
        let order = "sorted by completion, like all records of a replay or simulation (1 step back in start time)";
        assert!(text.contains(order), "{text}");
    }
    let other = scratch.file("other.load", "1 ; 0 ; 8 ; R\n0 ; 8 ; 8 ; R\n");
    let text = out(&iosonar().arg("info").arg(&other).output().unwrap());
    assert!(
        text.contains("NOT sorted by start: 1 step back ("),
        "{text}"
    );
}

#[test]
fn a_search_counts_only_the_requests_that_are_done() {
    let scratch = Scratch::new();
    // One of eight is a read.
    let rows: String = (0..4000)
        .map(|i| {
            let op = if i % 8 == 0 { 'R' } else { 'W' };
            format!("{:.6} ; {} ; 8 ; {op}\n", f64::from(i) * 1e-4, i % 100 * 8)
        })
        .collect();
    let load = scratch.file("x.load", rows);
    let target = scratch.file("target", vec![1; 1 << 20]);
    let search = |limit: &str| {
        let mut command = iosonar();
        command.args(["replay", "--no-direct", "--skip-writes", "--target"]);
        command
            .arg(&target)
            .args(["--speed", "2", "--find-time", "50ms"]);
        command.args(["--json", "--find-rate", limit]).arg(&load);
        command.output().unwrap()
    };
    let found = search("latency p50 < 1ns");
    let json: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(json["answer"], "at no speed", "{json}");
    let tries = json["tries"].as_array().unwrap();
    assert!(
        tries.iter().all(|t| t["outcome"] != "too few requests"),
        "{json}"
    );
    assert!(
        tries.iter().all(|t| t["completed"].as_u64() >= Some(1000)),
        "{json}"
    );
    // What to type, beside what was typed.
    assert_eq!(tries[0]["speed"], 2.0, "{json}");
    let none = search("write latency p50 < 1ms");
    assert_eq!(none.status.code(), Some(2), "{}", err(&none));
    assert!(err(&none).contains("left out"), "{}", err(&none));
}

#[test]
fn an_empty_device_answers_without_its_medium() {
    let scratch = Scratch::new();
    let Some(zram) = Zram::new(1 << 20) else {
        return eprintln!("skipped: no zram here");
    };
    let load = scratch.file("x.load", reads(200));
    let replay = || {
        let mut command = iosonar();
        command
            .args(["replay", "--json", "--target"])
            .arg(zram.path());
        let json = command.arg(&load).output().unwrap().stdout;
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        json["fakes"].to_string()
    };
    let empty = replay();
    assert!(
        empty.contains("reads returned only zeros, at 32 or more locations"),
        "{empty}"
    );
    // One place that was written is enough.
    let block = fs::OpenOptions::new().write(true).open(zram.path());
    let mut file = block.unwrap();
    std::io::Write::write_all(&mut file, &vec![7; 100 * 4096]).unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert_eq!(replay(), "[]");
}

#[test]
fn a_model_that_cannot_keep_up_is_the_limit_and_no_device_is() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", reads(100));
    let replay = |options: &[&str]| {
        let mut command = iosonar();
        command.args(["replay", "-q", "--engine", "simulate"]);
        command.args(["--model", "exos-x18"]);
        command.args(options).arg(&load);
        // A machine that is busy with something else is late itself now and then.
        let mut outputs = (0..10).map(|_| command.output().unwrap());
        let in_time = |output: &Output| !out(output).contains("replayer-limited");
        outputs.find(in_time).expect("one of ten is in time")
    };
    let limited = replay(&[]);
    let text = out(&limited);
    assert_eq!(limited.status.code(), Some(0), "{text}");
    assert!(
        text.contains("model-limited, starting ")
            && text.contains("the model completed requests more slowly"),
        "{text}"
    );
    let json = replay(&["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["limited"], "model-limited", "{json}");
    assert_eq!(json["targets"][0]["verdict"], "model-limited", "{json}");
    assert!(json["targets"][0]["limited_from_s"].is_number(), "{json}");
}

#[test]
fn engines_that_access_no_target_need_no_consent_to_writes() {
    let scratch = Scratch::new();
    let load = scratch.file("x.load", "0.0 ; 0 ; 8 ; W\n0.001 ; 8 ; 8 ; R\n");
    for engine in ["dry", "simulate"] {
        let mut command = iosonar();
        let run = command
            .args(["replay", "--engine", engine])
            .arg(&load)
            .output()
            .unwrap();
        let said = err(&run);
        assert!(matches!(run.status.code(), Some(0 | 3)), "{said}");
        let line = format!("with engine {engine} and no target; nothing is read or written");
        assert!(said.contains(&line), "{said}");
        assert!(
            !said.contains("(none)") && !said.contains("WRITE"),
            "{said}"
        );
        assert!(out(&run).contains("writes"), "{}", out(&run));
    }
}
