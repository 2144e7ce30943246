//! One name for one thing: what `sim` and `model` say of the same system is called the same, and is the same.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, iosonar, out};
use serde_json::Value;

fn json(arguments: &[&str], scenario: &Path) -> Value {
    let run = iosonar()
        .args(arguments)
        .arg(scenario)
        .args(["--json", "-q"])
        .output();
    let run = run.unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    serde_json::from_str(&out(&run)).unwrap()
}

/// The metric with this name and these labels.
fn metric<'a>(of: &'a Value, name: &str, labels: &[(&str, &str)]) -> &'a Value {
    let fits = |metric: &&Value| {
        let has = |(key, value): &(&str, &str)| metric["labels"][key] == *value;
        metric["name"] == name && labels.iter().all(has)
    };
    let all = of["metrics"].as_array().unwrap();
    all.iter()
        .find(fits)
        .unwrap_or_else(|| panic!("{name} {labels:?}: {of:#}"))
}

const QUEUE: &str = "\
seed = 5
replications = 20
warmup_requests = 1_000
[load]
requests = 4_000
arrivals = { poisson_per_s = 20_000.0 }
size = { blocks = 1 }
read_share = 1.0
[ssd]
profile = 'abstract'
block_queue.dispatch = 'static'
block_queue.block = 4
";

#[test]
fn an_ssd_is_used_and_busy_to_the_same_degree_in_sim_and_model() {
    let scratch = Scratch::new();
    for (dispatch, load) in [("static", 0.5), ("dynamic", 0.5)] {
        let scenario = scratch.file(
            "s.toml",
            QUEUE.replace("'static'", &format!("'{dispatch}'")),
        );
        let (sim, model) = (json(&["sim"], &scenario), json(&["model"], &scenario));
        let station = [("station", "ssd/0")];
        for name in ["utilisation", "busy"] {
            let simulated = metric(&sim, name, &station);
            let theory = metric(&model, name, &station)["value"].as_f64().unwrap();
            let stderr = simulated["stderr"].as_f64().unwrap();
            let value = simulated["value"].as_f64().unwrap();
            assert!(
                (value - theory).abs() < 4.0 * stderr && stderr < 0.01,
                "{dispatch} {name}: {value} ± {stderr}, theory {theory}"
            );
            if name == "utilisation" {
                assert!((theory - load).abs() < 1e-9);
            } else {
                assert!(theory > 0.7, "waiting for others is not idle");
            }
        }
    }
}

#[test]
fn the_stations_of_disks_are_called_the_same_too() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "s.toml",
        "replications = 10\n[load]\nrequests = 2_000\narrivals = { poisson_per_s = 30.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = 'raid0'\ndisks = 2\n[disk]\nprofile = 'seagate-st3500630ns'\n",
    );
    let (sim, model) = (json(&["sim"], &scenario), json(&["model"], &scenario));
    for (station, name) in [("disk/0", "utilisation"), ("disk/1", "busy")] {
        let simulated = metric(&sim, name, &[("station", station)]);
        let theory = metric(&model, name, &[("station", station)])["value"]
            .as_f64()
            .unwrap();
        let off = (simulated["value"].as_f64().unwrap() - theory).abs();
        assert!(
            off < 4.0 * simulated["stderr"].as_f64().unwrap(),
            "{station} {off}"
        );
    }
}

#[test]
fn measured_storage_is_headed_as_what_it_is() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "s.toml",
        "[load]\nrequests = 1_000\narrivals = { poisson_per_s = 100.0 }\nsize = { blocks = 1 }\nread_share = 1.0\n\
         [ssd]\nprofile = 'abstract'\ninterface = 'nvme'\nstorage = 'measured'\n\
         [ssd.measured]\ncapacity = '1GiB'\nchannels = 2\n\
         read_quantiles = [[0.0, 50.0], [1.0, 150.0]]\nwrite_quantiles = [[0.0, 50.0], [1.0, 150.0]]\n",
    );
    let run = iosonar().arg("sim").arg(&scenario).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let first = out(&run).lines().next().unwrap().to_owned();
    assert!(
        first.contains("measured service times of commands, 2 channels"),
        "{first}"
    );
    assert!(!first.contains("exponential"), "{first}");
}

/// RAID 5, whose reads have an exact zero-load response.
const ALONE: &str = "\
seed = 7
replications = 20
[load]
requests = 2_000
arrivals = 'alone'
size = { blocks = 3 }
[array]
level = 'raid5'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

#[test]
fn a_load_of_requests_that_never_meet_has_the_zero_load_response() {
    let scratch = Scratch::new();
    for level in ["raid0", "raid5", "raid10"] {
        let scenario = scratch.file("s.toml", ALONE.replace("raid5", level));
        let (sim, model) = (json(&["sim"], &scenario), json(&["model"], &scenario));
        let simulated = metric(&sim, "response_time", &[]);
        let theory = metric(&model, "response_time_theory", &[("kind", "alone")]);
        let of = |v: &Value| v.as_f64().unwrap();
        let off = |p: &str| {
            let difference = of(&simulated["quantiles"][p]) - of(&theory["quantiles"][p]);
            difference / of(&simulated["quantile_stderrs"][p])
        };
        let mean = (of(&simulated["mean"]) - of(&theory["mean"])) / of(&simulated["stderr"]);
        assert!(
            mean.abs() < 4.0,
            "{level}: mean off by {mean} standard errors"
        );
        for p in ["0.1", "0.5", "0.9", "0.95", "0.99"] {
            assert!(
                off(p).abs() < 4.0,
                "{level}: {p} off by {} standard errors",
                off(p)
            );
        }
        // The standard error of a standard deviation is some sd * sqrt((kurtosis - 1) / 4 n).
        let (sd, expected) = (of(&simulated["sd"]), of(&theory["sd"]));
        assert!(
            (sd / expected - 1.0).abs() < 4.0 * (2.0_f64 / 40_000.0).sqrt(),
            "{sd} {expected}"
        );
        assert!((of(&theory["variance"]) / (expected * expected) - 1.0).abs() < 1e-9);
        assert_eq!(metric(&sim, "found_on_arrival", &[])["value"], 0.0);
        assert_eq!(metric(&sim, "most_in_flight", &[])["value"], 1.0);
    }
}

#[test]
fn requests_that_never_meet_do_not_meet_what_a_cache_writes_back() {
    let scratch = Scratch::new();
    let cache = "[controller]\ncommand_us = 100.0\ncache = '1MiB'\ndestage_above = 0.1\n";
    let text = ALONE.replace("[array]", "read_share = 0.5\n[array]") + cache;
    let with = scratch.file("with.toml", &text);
    let reads = json(&["sim"], &with);
    let plain = json(&["model"], &scratch.file("without.toml", ALONE));
    let reads = metric(&reads, "response_time", &[("op", "read")])["mean"]
        .as_f64()
        .unwrap();
    let alone = metric(&plain, "response_time_theory", &[("kind", "alone")])["mean"]
        .as_f64()
        .unwrap();
    // 20,000 reads with a standard deviation of some 6 ms: 4 standard errors are 0.17 ms. Some reads hit the cache.
    assert!(reads < alone + 0.1 + 0.17, "{reads} {alone}");
}

#[test]
fn what_cannot_be_alone_is_refused() {
    let scratch = Scratch::new();
    for (from, to, says) in [
        ("size", "batch = { requests = 2 }\nsize", "batch"),
        ("'alone'", "'lonely'", "lonely"),
    ] {
        let scenario = scratch.file("s.toml", ALONE.replacen(from, to, 1));
        let run = iosonar().arg("sim").arg(&scenario).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{}", out(&run));
        assert!(err(&run).contains(says), "{}", err(&run));
    }
}

#[test]
fn an_explained_scenario_of_requests_alone_is_the_same_scenario() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", ALONE);
    let run = iosonar()
        .args(["sim", "--explain"])
        .arg(&scenario)
        .output()
        .unwrap();
    let again = scratch.file("again.toml", out(&run));
    let hash = |of: &Value| of["hash"].as_str().unwrap().to_owned();
    assert_eq!(
        hash(&json(&["sim"], &scenario)),
        hash(&json(&["sim"], &again))
    );
}
