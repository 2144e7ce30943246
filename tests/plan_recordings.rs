//! `plan` with a recording: how many times as fast it may be, against a grid of simulations of its own.

mod scratch;

use std::path::PathBuf;

use scratch::{Scratch, err, iosonar, out};
use serde_json::Value;

fn recording() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/database-server.load.gz")
}

const SYSTEM: &str =
    "[array]\nlevel = \"raid10\"\ndisks = 4\n[disk]\nprofile = \"seagate-cheetah-15k7-600gb\"\n";

/// A command on a minute of the recording, and its result.
fn json(command: &str, scratch: &Scratch, options: &[&str]) -> (Option<i32>, Value) {
    let file = scratch.file("a.toml", SYSTEM);
    let run = iosonar()
        .arg(command)
        .arg(file)
        .arg("--trace")
        .arg(recording())
        .args([
            "--duration",
            "60s",
            "--fit",
            "--replications",
            "5",
            "--json",
        ])
        .args(options)
        .output()
        .unwrap();
    let value =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&run)));
    (run.status.code(), value)
}

/// In milliseconds.
fn p99_of_reads(sim: &Value) -> f64 {
    let metrics = sim["metrics"].as_array().unwrap().iter();
    let mut reads = metrics.filter(|m| m["labels"]["op"] == "read" && m["quantiles"].is_object());
    reads.next().unwrap()["quantiles"]["0.99"].as_f64().unwrap()
}

#[test]
fn a_recording_is_planned_as_a_grid_of_simulations_has_it() {
    let scratch = Scratch::new();
    let slo = ["--target", "read p99 < 40ms", "--within", "0.05"];
    let (code, plan) = json("plan", &scratch, &slo);
    assert_eq!(code, Some(0));
    assert_eq!(plan["load_unit"], "times this load");
    let [best, next] = ["best", "next"].map(|key| plan[key].as_f64().unwrap());
    assert!(next > best && next / best <= 1.0501, "{best} {next}");
    let p99 = |factor: f64| {
        let speed = format!("{factor:.6}");
        let (_, sim) = json("sim", &scratch, &["--speed", &speed]);
        p99_of_reads(&sim)
    };
    for share in [0.25, 0.5, 0.75, 1.0] {
        let value = p99(share * best);
        assert!(value < 40.0, "{value} at {share} of {best}");
    }
    for times in [1.25, 1.5, 2.0] {
        let value = p99(times * next);
        assert!(value > 40.0, "{value} at {times} times {next}");
    }
}

#[test]
fn a_target_that_no_speed_meets_is_an_answer_of_its_own() {
    let scratch = Scratch::new();
    let (code, plan) = json("plan", &scratch, &["--target", "p99 < 1us"]);
    assert_eq!(code, Some(3));
    assert!(plan["best"].is_null());
    // What comes nearest is the least load that was tried, whose runs go to their end.
    let metrics = plan["metrics"].as_array().unwrap().iter();
    let simulated = metrics.filter(|metric| metric["name"] == "simulated");
    let loads = simulated.map(|metric| metric["labels"]["load"].as_f64().unwrap());
    assert_eq!(loads.collect::<Vec<_>>(), [0.001, 1.0]);
}

#[test]
fn the_fewest_disks_for_a_recording_are_found() {
    let scratch = Scratch::new();
    let options = [
        "--target",
        "read p99 < 8ms",
        "--find",
        "disks",
        "--most",
        "12",
        "--set",
        "array.level=raid0",
    ];
    let (code, plan) = json("plan", &scratch, &options);
    assert_eq!(code, Some(0), "{plan}");
    let best = plan["best"]
        .as_u64()
        .unwrap_or_else(|| plan["best"].as_f64().unwrap() as u64);
    let verdict = |disks: u64| {
        let disks = format!("array.disks={disks}");
        let options = ["--set", "array.level=raid0", "--set", &disks];
        let (_, sim) = json("sim", &scratch, &options);
        p99_of_reads(&sim) < 8.0
    };
    assert!(best > 1 && verdict(best), "{plan}");
    assert!(!verdict(best - 1), "{plan}");
}

#[test]
fn what_is_said_of_a_recording_is_in_its_words() {
    let scratch = Scratch::new();
    let file = scratch.file("a.toml", SYSTEM);
    let run = iosonar()
        .arg("plan")
        .arg(file)
        .arg("--trace")
        .arg(recording())
        .args([
            "--duration",
            "20s",
            "--fit",
            "--target",
            "p99 < 150ms",
            "--within",
            "0.2",
            "-q",
        ])
        .output()
        .unwrap();
    let text = out(&run);
    assert!(
        text.contains("largest growth that meets it: "),
        "{text}{}",
        err(&run)
    );
    assert!(text.contains("times this load"), "{text}");
    assert!(!text.contains("no steady state"), "{text}");
}

#[test]
fn which_of_several_targets_stops_a_run_does_not_depend_on_threads() {
    let scratch = Scratch::new();
    let target = "read p99 < 40ms, write p99 < 60ms";
    let with = |threads: &str| {
        let options = ["--target", target, "--within", "0.3", "--threads", threads];
        json("plan", &scratch, &options).1
    };
    let one = with("1");
    assert_eq!(one, with("3"));
    let verdicts = one["verdicts"].as_array().unwrap();
    let stopped = verdicts.iter().filter(|of| of["stopped_early"] == true);
    let of_stopped: Vec<_> = stopped.map(|of| &of["verdict"]).collect();
    assert!(
        of_stopped.iter().any(|verdict| *verdict == "misses"),
        "{verdicts:?}"
    );
    assert!(
        of_stopped.iter().any(|verdict| verdict.is_null()),
        "{verdicts:?}"
    );
}

#[test]
fn answers_for_programs_have_the_remarks_of_the_text() {
    let scratch = Scratch::new();
    let far = 400_000_000_000_u64;
    let row = |i: u64| format!("{},{},8,read\n", i * 20_000_000, i * far / 40 / 8 * 8);
    let rows: String = (0..200).map(row).collect();
    scratch.file("far.csv", format!("time_ns,sector,sectors,op\n{rows}"));
    scratch.file("a.toml", SYSTEM);
    let plan = "plan a.toml --trace far.csv --wrap --target p90<1s --replications 5 --within 0.5";
    let varied = format!("{plan} --vary array.stripe_unit=64KiB,128KiB");
    let choose = "choose far.csv a.toml --wrap --target p90<1s";
    for (command, prefix) in [(plan, ""), (varied.as_str(), ""), (choose, "a.toml: ")] {
        let run = |more: &[&str]| {
            let mut run = iosonar();
            run.current_dir(scratch.path(""));
            run.args(command.split(' ')).args(more).output().unwrap()
        };
        let text = err(&run(&[]));
        let printed = run(&["--json", "-q"]);
        let json: Value = serde_json::from_slice(&printed.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", err(&printed)));
        let remarks = json["remarks"].as_array().unwrap();
        let [remark] = remarks.as_slice() else {
            panic!("{command}: {remarks:?}")
        };
        let remark = remark.as_str().unwrap();
        assert!(
            remark.starts_with(prefix) && remark.contains("requests wrapped"),
            "{command}: {remark}"
        );
        assert!(text.contains(remark), "{command}: {text}");
    }
}

#[test]
fn arrays_that_are_too_small_for_a_recording_are_passed_over() {
    let scratch = Scratch::new();
    // Six disks of 18 TB with a parity disk hold this sector, and five do not.
    let rows: String = (0..500_u64)
        .map(|i| {
            let sector = if i == 250 { 156_000_000_000 } else { i * 8000 };
            format!("{:.6} ; {sector} ; 8 ; R\n", i as f64 * 0.1)
        })
        .collect();
    let load = scratch.file("large.load", rows);
    let plan = |most: &str| {
        iosonar()
            .args(["plan", "-q", "raid5:7xexos-x18", "--find", "disks"])
            .args(["--target", "read mean < 50ms", "--most", most, "--trace"])
            .arg(&load)
            .output()
            .unwrap()
    };
    let run = plan("7");
    assert!(run.status.success(), "{}", err(&run));
    let text = out(&run);
    assert!(text.contains("too small for the load"), "{text}");
    assert!(
        text.contains("fewest disks that meet it: 6 disks"),
        "{text}"
    );
    assert!(
        text.contains("at 5 disks: the load reaches beyond"),
        "{text}"
    );
    // No number that was tried holds it.
    let run = plan("4");
    assert_eq!(run.status.code(), Some(3), "{}{}", out(&run), err(&run));
    assert!(
        out(&run).contains("the load reaches beyond"),
        "{}",
        out(&run)
    );
}
