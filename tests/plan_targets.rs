//! `plan` with several targets: the answer meets all of them, and says which is missed first.

mod scratch;

use std::path::Path;
use std::process::Output;

use scratch::{Scratch, assert_refused, err, iosonar, out};
use serde_json::Value;

const LOAD: &str = "[load]\nrequests = 2000\nrate = 20.0\nsize = \"16KiB\"\nread_share = 0.7\n";
const USERS: &str =
    "[load]\nrequests = 3000\nclosed = { outstanding = 4 }\nsize = \"8KiB\"\nread_share = 0.7\n";
const RAID5: &str =
    "[array]\nlevel = \"raid5\"\ndisks = 5\n[disk]\nprofile = \"seagate-st3500630ns\"\n";
const RAID10: &str =
    "[array]\nlevel = \"raid10\"\ndisks = 4\n[disk]\nprofile = \"seagate-st3500630ns\"\n";

fn plan(scratch: &Scratch, [load, array]: [&str; 2], target: &str, options: &[&str]) -> Output {
    let file = scratch.file("array.toml", format!("{load}{array}"));
    let mut command = iosonar();
    command.arg("plan").arg(file).args(["--target", target]);
    command.args(options).output().unwrap()
}

fn json(system: [&str; 2], target: &str, options: &[&str]) -> Value {
    let output = plan(
        &Scratch::new(),
        system,
        target,
        &[options, &["--json"]].concat(),
    );
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(&output)))
}

/// The best answers for two targets each alone, and for both together.
fn bests(system: [&str; 2], targets: [&str; 2], options: &[&str]) -> ([f64; 2], Value) {
    let alone = targets.map(|target| {
        let best = json(system, target, options)["best"].as_f64();
        best.unwrap_or_else(|| panic!("{target} is met alone"))
    });
    (alone, json(system, &targets.join(", "), options))
}

#[test]
fn the_highest_rate_for_two_targets_is_the_lower_of_those_for_each() {
    let within = ["--within", "0.05"];
    for (targets, first) in [
        (["read p90 < 60ms", "write p90 < 90ms"], 1),
        (["read p90 < 60ms", "write p90 < 200ms"], 0),
    ] {
        let (alone, both) = bests([LOAD, RAID5], targets, &within);
        let of_binding = alone[first];
        assert!(of_binding < alone[1 - first], "{alone:?}");
        // Both searches begin at the same rate, so they try the same ones.
        assert_eq!(both["best"].as_f64(), Some(of_binding), "{both}");
        let named = both["missed_first"].as_str().unwrap();
        assert_eq!(named.replace(' ', ""), targets[first].replace(' ', ""));
    }
}

#[test]
fn the_fewest_disks_for_two_targets_are_the_more_of_those_for_each() {
    let options = [
        "--find",
        "disks",
        "--most",
        "16",
        "--set",
        "load.rate=100.0",
    ];
    let targets = ["read p90 < 40ms", "write p90 < 90ms"];
    let (alone, both) = bests([LOAD, RAID5], targets, &options);
    assert!(alone[0] > alone[1], "{alone:?}");
    assert_eq!(both["best"].as_f64(), Some(alone[0]));
    assert_eq!(both["missed_first"], "read p90 < 40 ms");
}

#[test]
fn jobs_have_to_be_few_for_a_time_and_many_for_a_throughput() {
    let system = [USERS, RAID10];
    let (alone, both) = bests(system, ["mean < 40ms", "throughput > 170"], &[]);
    let [most, fewest] = alone;
    assert!(fewest < most, "{alone:?}");
    assert_eq!(both["best"].as_f64(), Some(most));
    assert_eq!(both["missed_first"], "mean < 40 ms");
}

#[test]
fn where_no_number_of_jobs_meets_both_targets_that_is_the_answer() {
    let targets = ["mean < 40ms", "throughput > 200"];
    let (alone, both) = bests([USERS, RAID10], targets, &[]);
    assert!(alone[0] < alone[1], "{alone:?}");
    assert!(both["best"].is_null());
    // As many as the time allows, which are too few.
    assert_eq!(both["next"].as_f64(), Some(alone[0]));
    assert_eq!(both["missed_first"], "throughput > 200/s");
    let scratch = Scratch::new();
    let printed = plan(&scratch, [USERS, RAID10], &targets.join(","), &["-q"]);
    assert_eq!(printed.status.code(), Some(3));
    let text = out(&printed);
    assert!(
        text.contains("none of the tested loads meets all targets"),
        "{text}"
    );
    let met = format!(
        "each is met on its own: mean < 40 ms at 1 to {} jobs and throughput > 200/s at ",
        alone[0]
    );
    assert!(text.contains(&met), "{text}");
    // No number of jobs reaches this.
    let printed = plan(
        &scratch,
        [USERS, RAID10],
        "mean < 40ms, throughput > 1000",
        &["-q"],
    );
    let text = out(&printed);
    assert!(
        text.contains("met on its own: mean < 40 ms at 1 to "),
        "{text}"
    );
    assert!(
        text.contains("not met at all: throughput > 1000/s"),
        "{text}"
    );
}

#[test]
fn the_table_has_a_row_for_each_target_and_says_which_is_missed_first() {
    let scratch = Scratch::new();
    let picture = scratch.path("plan.svg");
    let target = "read p90 < 60ms, write p90 < 90ms";
    let options = [
        "-q",
        "--within",
        "0.2",
        "--curve",
        picture.to_str().unwrap(),
    ];
    let printed = plan(&scratch, [LOAD, RAID5], target, &options);
    let text = out(&printed);
    assert_eq!(printed.status.code(), Some(0), "{text}{}", err(&printed));
    let rows = |name: &str| {
        let of = |line: &&str| line.contains(name) && line.contains(" ms to ");
        text.lines().filter(of).count()
    };
    assert!(rows("read p90 < 60 ms") > 1, "{text}");
    assert_eq!(
        rows("read p90 < 60 ms"),
        rows("write p90 < 90 ms"),
        "{text}"
    );
    assert!(text.contains("requests/s: write p90 < 90 ms"), "{text}");
    // The picture is about that target.
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.contains("target: write p90"), "{drawn}");
    assert!(!drawn.contains("target: read p90"));
}

#[test]
fn a_varied_plan_takes_several_targets() {
    let target = "read p90 < 60ms, write p90 < 90ms";
    let options = ["--within", "0.2"];
    let vary = ["--vary", "array.disks=5,8"];
    let all = json([LOAD, RAID5], target, &[&options[..], &vary].concat());
    let varied = all["varied"].as_array().unwrap();
    assert_eq!(varied.len(), 2);
    for (of, disks) in varied.iter().zip(["5", "8"]) {
        let set = format!("array.disks={disks}");
        let set = ["--set", &set];
        let alone = json([LOAD, RAID5], target, &[&options[..], &set].concat());
        for key in ["best", "next", "missed_first"] {
            assert_eq!(of[key], alone[key], "{disks} disks: {key}");
        }
        assert_eq!(of["missed_first"], "write p90 < 90 ms");
    }
}

#[test]
fn a_target_that_is_never_met_is_named() {
    let scratch = Scratch::new();
    // A request that waits for no other takes longer.
    let printed = plan(
        &scratch,
        [LOAD, RAID5],
        "p90 < 60ms, read mean < 1s, mean < 1ms",
        &[],
    );
    assert_refused(&printed, "mean < 1 ms cannot be met at any rate");
    let printed = plan(&scratch, [LOAD, RAID5], "p90 < 60ms, throughput > 5", &[]);
    assert_refused(&printed, "the throughput is the arrival rate");
    let printed = plan(&scratch, [LOAD, RAID5], "p90 < 60ms, delay p99 < 5ms", &[]);
    assert_refused(
        &printed,
        "not with 'latency' or 'delay': write \"p99 < 5 ms\"",
    );
}

/// More jobs do not raise a throughput beyond the capacity, and neither do more runs.
#[test]
fn a_throughput_beyond_the_capacity_of_a_closed_loop_is_named_as_such() {
    // The disks of RAID 10 serve about 300 requests of 8 KiB per second.
    for target in ["throughput > 5000", "throughput > 500"] {
        let output = plan(
            &Scratch::new(),
            [USERS, RAID10],
            target,
            &["-q", "--most", "8"],
        );
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
        let text = out(&output);
        assert!(
            text.contains("is beyond the capacity of this system, which is "),
            "{text}"
        );
        assert!(text.contains("use more disks (--find disks)"), "{text}");
        assert!(!text.contains("raise --replications"), "{text}");
    }
    let reached = plan(
        &Scratch::new(),
        [USERS, RAID10],
        "throughput > 100",
        &["-q"],
    );
    assert!(
        !out(&reached).contains("beyond the capacity"),
        "{}",
        out(&reached)
    );
}

#[test]
fn blocks_that_wait_until_they_are_full_need_as_many_users() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/block-queue/static.toml");
    let mut plan = iosonar();
    plan.args(["plan", "-q"]).arg(&file);
    plan.args(["--set", "load.requests=20000", "--target", "mean < 500us"]);
    let output = plan.output().unwrap();
    let text = out(&output);
    // With 1 user, nothing ever begins.
    assert!(text.contains("no steady state"), "{text}");
    assert!(!text.contains("none of the tested loads"), "{text}");
    let most = "most jobs that meet it: >= 64 jobs";
    assert!(text.contains(most), "{text}");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}
