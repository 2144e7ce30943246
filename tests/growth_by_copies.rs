//! Loads that grow by copies: what `plan --find copies` and `choose --growth-by copies` find is what `sim --scale-load`
//! says on both sides of it.

mod scratch;

use std::path::PathBuf;

use scratch::{Scratch, assert_refused, err, iosonar, out};
use serde_json::Value;

const SYSTEM: &str =
    "[array]\nlevel = \"raid10\"\ndisks = 4\n[disk]\nprofile = \"seagate-cheetah-15k7-600gb\"\n";

/// Half a minute of it has 86 requests/s, two thirds of them reads.
fn recording() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/database-server.load.gz")
}

/// A command on half a minute of the recording, and its result.
fn json(scratch: &Scratch, command: &str, options: &[&str]) -> Value {
    let file = scratch.file("a.toml", SYSTEM);
    let mut run = iosonar();
    run.arg(command);
    match command {
        "choose" => run.arg(recording()).arg(file),
        _ => run.arg(file).arg("--trace").arg(recording()),
    };
    run.args(["--duration", "30s", "--replications", "5", "--json"]);
    let run = run.args(options).output().unwrap();
    serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&run)))
}

/// Whether this many copies meet the target by a simulation of their own.
fn meets(scratch: &Scratch, copies: u64, target: &str, options: &[&str]) -> bool {
    let copies = copies.to_string();
    let own = ["--scale-load", &copies, "--target", target];
    let sim = json(scratch, "sim", &[options, &own].concat());
    sim["targets"][0]["verdict"] == "meets"
}

#[test]
fn the_most_copies_are_those_that_simulations_of_their_own_find() {
    let scratch = Scratch::new();
    // More than four copies of the second reach beyond the end, so that they are scaled by where the last one ends.
    for options in [&[][..], &["--fit", "--scatter", "500000000"]] {
        let target = "p95 < 40ms";
        let find = ["--find", "copies", "--target", target];
        let plan = json(&scratch, "plan", &[options, &find].concat());
        assert_eq!(plan["load_unit"], "copies");
        let [best, next] = ["best", "next"].map(|key| plan[key].as_f64().unwrap());
        assert!(best > 1.0 && next == best + 1.0, "{best} {next}");
        assert!(meets(&scratch, best as u64, target, options), "{best}");
        assert!(!meets(&scratch, next as u64, target, options), "{next}");
    }
}

#[test]
fn copies_that_would_be_clipped_are_not_counted() {
    let scratch = Scratch::new();
    let find = ["--find", "copies", "--target", "p95 < 10s"];
    // A copy and a half of what is scattered lies within the array.
    let options = ["--scatter", "1600000000", "--clip"];
    let plan = json(&scratch, "plan", &[&options[..], &find].concat());
    assert_eq!(plan["best"].as_f64(), Some(1.0), "{plan}");
}

#[test]
fn choose_finds_the_same_copies_as_plan() {
    let scratch = Scratch::new();
    let target = ["--target", "p95 < 40ms"];
    let plan = json(
        &scratch,
        "plan",
        &[&target[..], &["--find", "copies"]].concat(),
    );
    let growth = ["--growth", "--growth-by", "copies"];
    let chosen = json(&scratch, "choose", &[&target[..], &growth].concat());
    let metrics = chosen["metrics"].as_array().unwrap();
    let figure = |name: &str| {
        let metric = metrics.iter().find(|metric| metric["name"] == name);
        metric.unwrap()["value"].as_f64()
    };
    assert_eq!(figure("growth"), plan["best"].as_f64());
    assert_eq!(figure("breaks_at"), plan["next"].as_f64());
    let said = chosen["conclusion"].as_str().unwrap();
    let copies = format!(
        "up to {} copies of this load",
        plan["best"].as_f64().unwrap()
    );
    assert!(said.contains(&copies), "{said}");
    // A faster load has no more data, so that it grows by another factor.
    let by_speed = json(
        &scratch,
        "choose",
        &[&target[..], &["--growth", "--within", "0.2"]].concat(),
    );
    let said = by_speed["conclusion"].as_str().unwrap();
    assert!(said.contains("times this load"), "{said}");
}

#[test]
fn what_bounds_the_number_of_copies_is_said() {
    let scratch = Scratch::new();
    scratch.file("a.toml", SYSTEM);
    let end = 1_000_000;
    let row = |i: u64| format!("{},{},8,read\n", i * 40_000_000, i * 7919 % end * 8);
    let rows: String = (0..1000).map(row).collect();
    let trace = scratch.file("load.csv", format!("time_ns,sector,sectors,op\n{rows}"));
    // 3.8 GiB of a drive of 18 GB.
    let small = "[array]\nlevel = \"raid0\"\ndisks = 1\n[disk]\nprofile = \"ibm-18es\"\n";
    let file = scratch.file("small.toml", small);
    let plan = |options: &[&str]| {
        let mut run = iosonar();
        run.arg("plan").arg(&file).arg("--trace").arg(&trace);
        let find = ["-q", "--find", "copies", "--target", "p50 < 150ms"];
        out(&run.args(find).args(options).output().unwrap())
    };
    let text = plan(&[]);
    assert!(
        text.contains("most copies that meet it: >= 2 copies"),
        "{text}"
    );
    assert!(text.contains("beyond the end of the array"), "{text}");
    let text = plan(&["--most", "1"]);
    assert!(text.contains("--most N raises the limit"), "{text}");
    assert!(!text.contains("beyond the end"), "{text}");
}

#[test]
fn what_is_no_trace_has_no_copies() {
    let scratch = Scratch::new();
    let load = "[load]\nrequests = 100\nrate = 5.0\nsize = \"4KiB\"\n";
    let file = scratch.file("load.toml", format!("{load}{SYSTEM}"));
    let mut plan = iosonar();
    plan.arg("plan").arg(&file);
    let plan = plan.args(["--find", "copies", "--target", "p99 < 1s"]);
    assert_refused(&plan.output().unwrap(), "only traces can be copied");
    let mut choose = iosonar();
    choose.arg("choose").arg(&file).arg("intel-d7");
    let choose = choose.args(["--target", "p99 < 1s", "--growth", "--growth-by", "copies"]);
    let refused = choose.output().unwrap();
    assert_refused(&refused, "only traces can be copied");
    assert!(!err(&refused).contains("candidate"), "{}", err(&refused));
}
