//! `plan --vary`: the same question for several stripe units or caches, each answered as by a plan of its own.

mod scratch;

use std::process::Output;

use scratch::{Scratch, assert_refused, iosonar, out};
use serde_json::Value;

/// Reads of 256 KiB: of a small stripe unit they keep several disks busy.
const SCENARIO: &str = "[load]\nrequests = 1500\nrate = 20.0\nsize = \"256KiB\"\n\
                        [array]\nlevel = \"raid0\"\ndisks = 4\nstripe_unit = \"64KiB\"\n\
                        [disk]\nprofile = \"seagate-st3500630ns\"\n";

fn plan(options: &[&str]) -> Output {
    let scratch = Scratch::new();
    let file = scratch.file("array.toml", SCENARIO);
    let mut command = iosonar();
    command
        .arg("plan")
        .arg(file)
        .args(options)
        .output()
        .unwrap()
}

fn json(options: &[&str]) -> Value {
    let output = plan(
        &[
            options,
            &["--json", "--target", "p90 < 60ms", "--within", "0.1"],
        ]
        .concat(),
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_value_has_the_answer_of_a_plan_of_its_own() {
    let all = json(&["--vary", "array.stripe_unit=64KiB,256KiB,1MiB"]);
    let varied = all["varied"].as_array().unwrap();
    assert_eq!(varied.len(), 3);
    let mut highest: f64 = 0.0;
    for of in varied {
        let unit = of["values"]["array.stripe_unit"].as_str().unwrap();
        let alone = json(&["--set", &format!("array.stripe_unit={unit}")]);
        assert_eq!((&of["best"], &of["next"]), (&alone["best"], &alone["next"]));
        highest = highest.max(of["best"].as_f64().unwrap());
    }
    assert_eq!(all["best"].as_f64().unwrap(), highest);
    let of_best: Vec<&Value> = varied
        .iter()
        .filter(|of| of["best"] == all["best"])
        .map(|of| &of["values"])
        .collect();
    let said: Vec<&Value> = all["best_values"].as_array().unwrap().iter().collect();
    assert_eq!(said, of_best);
    // A request of 256 KiB waits for the slowest of four disks, or for one.
    assert_ne!(varied[0]["best"], varied[1]["best"]);
}

#[test]
fn the_fewest_disks_are_the_best() {
    let options = [
        "--find",
        "disks",
        "--set",
        "load.rate=60.0",
        "--vary",
        "array.stripe_unit=256KiB,1MiB",
    ];
    let all = json(&options);
    let loads = all["varied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["best"].as_f64().unwrap());
    assert_eq!(
        all["best"].as_f64().unwrap(),
        loads.fold(f64::INFINITY, f64::min)
    );
}

#[test]
fn the_table_ends_with_the_answer_and_has_none_where_none_meets_it() {
    let vary = ["--vary", "array.stripe_unit=256KiB,1MiB", "--quiet"];
    let met = plan(&[&vary[..], &["--target", "p90 < 60ms"]].concat());
    assert_eq!(met.status.code(), Some(0));
    let last = out(&met).lines().last().unwrap().trim().to_owned();
    assert!(
        last.starts_with("highest rate confirmed to meet it: "),
        "{last}"
    );
    assert!(last.contains("with array.stripe_unit="), "{last}");
    // Less than a request takes that waits for no other.
    let never = plan(&[&vary[..], &["--target", "p90 < 6ms"]].concat());
    assert_eq!(never.status.code(), Some(3));
    assert!(
        out(&never).contains("none of the tested loads meets the target"),
        "{}",
        out(&never)
    );
}

#[test]
fn equal_answers_are_all_named_and_none_is_the_winner() {
    // Seeds of the same system: the most disks that are tried are too few for all of them.
    let options = [
        "--set",
        "load.rate=1.0",
        "--find",
        "disks",
        "--vary",
        "array.stripe_unit=1MiB,2MiB",
        "--quiet",
    ];
    let output = plan(&[&options[..], &["--target", "p90 < 1s"]].concat());
    let last = out(&output).lines().last().unwrap().to_owned();
    let both = "with array.stripe_unit=1MiB, or array.stripe_unit=2MiB";
    assert!(last.ends_with(both), "{last}");
}

#[test]
fn what_cannot_be_varied_is_refused() {
    let target = ["--target", "p90 < 60ms", "--vary"];
    let refused = |vary: &str| plan(&[&target[..], &[vary]].concat());
    assert_refused(&refused("array.stripes=1,2"), "array.stripes");
    assert_refused(&refused("load.requests=1..1000"), "at most 100");
    assert_refused(&refused("array.level=raid0,raid7"), "raid7");
    assert_refused(&refused("array.disks=3,0"), "--vary: 'array.disks' is 0");
    assert_refused(
        &refused("array.stripe_unit=1MiB,1024KiB"),
        "1MiB and 1024KiB are the same value",
    );
    assert_refused(&refused("array.disks=3,4,3"), "3 is given twice");
    let twice = [&target[..], &["array.disks=3,4", "--vary", "array.disks=5"]].concat();
    assert_refused(&plan(&twice), "'array.disks' is given twice");
    let set = [&target[..], &["array.disks=3,4", "--set", "array.disks=5"]].concat();
    assert_refused(&plan(&set), "--set array.disks would have no effect");
    let of_disks = [
        "--find",
        "disks",
        "--target",
        "p90 < 60ms",
        "--vary",
        "array.disks=2,3",
    ];
    assert_refused(&plan(&of_disks), "plan itself searches over");
}
