//! Recorded loads that grow: faster, as copies side by side, or both, by options and by keys of a scenario.

mod scratch;

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use scratch::{Scratch, assert_refused, err, hash, out, sim};
use serde_json::Value;

/// 400 requests of 4 KiB, 20 ms apart, within 19.5 MiB.
fn load() -> String {
    let line = |i: u64| {
        let op = if i.is_multiple_of(3) { "W" } else { "R" };
        let sector = i * 7919 % 5000 * 8;
        format!("{}.{:03} ; {sector} ; 8 ; {op}\n", i / 50, i % 50 * 20)
    };
    (0..400).map(line).collect()
}

fn scenario(scratch: &Scratch) -> PathBuf {
    scratch.file("x.load", load());
    scratch.file(
        "s.toml",
        "[load]\ntrace = 'x.load'\n[array]\nlevel = 'raid5'\ndisks = 4\n\
         [disk]\nprofile = 'seagate-st3500630ns'\n",
    )
}

fn run(scratch: &Scratch, arguments: &str) -> Output {
    let mut command = scratch::iosonar();
    command.current_dir(scratch.path("."));
    let run = command.args(arguments.split_whitespace()).output();
    run.unwrap()
}

fn info(scratch: &Scratch, arguments: &str) -> Value {
    let json: Value = serde_json::from_str(&out(&run(scratch, arguments))).unwrap();
    json["traces"][0].clone()
}

/// The mean response times that a run prints as JSON, in ms.
fn response_times(run: &Output) -> Vec<f64> {
    let json: Value = serde_json::from_str(&out(run)).unwrap();
    let metrics = json["metrics"].as_array().unwrap().iter();
    let all = metrics.filter(|m| m["name"] == "response_time" && m["labels"]["op"].is_null());
    all.map(|m| m["mean"].as_f64().unwrap()).collect()
}

#[test]
fn a_scaled_load_has_more_requests_and_space_in_the_same_time() {
    let scratch = Scratch::new();
    scenario(&scratch);
    let one = info(&scratch, "info --json x.load");
    let three = info(&scratch, "info --json x.load --scale-load 3");
    assert_eq!(three["records"], 1200);
    assert_eq!(three["ops"]["write"]["requests"], 3 * 134);
    assert_eq!(three["sorted"], true);
    for same in ["first_start_ns", "last_start_ns", "lowest_sector"] {
        assert_eq!(three[same], one[same], "{same}");
    }
    // The load ends within its 20th MiB.
    let end = one["end_sector"].as_u64().unwrap();
    assert_eq!(three["end_sector"], 2 * 20 * 2048 + end);
}

#[test]
fn a_scaled_load_is_the_same_in_memory_and_in_a_file() {
    let scratch = Scratch::new();
    scenario(&scratch);
    for (name, memory) in [("a.csv", "64MiB"), ("b.csv", "1KiB"), ("c.csv", "0")] {
        let options = format!("convert x.load -o {name} --scale-load 7 --spill-memory {memory}");
        assert!(run(&scratch, &options).status.success());
    }
    let read = |name| fs::read_to_string(scratch.path(name)).unwrap();
    assert_eq!(read("a.csv").lines().count(), 1 + 7 * 400);
    assert_eq!(read("a.csv"), read("b.csv"));
    assert_eq!(read("a.csv"), read("c.csv"));
}

#[test]
fn options_keys_and_a_converted_load_are_the_same_growth() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    let options = "convert x.load -o grown.ios --speed 1.5 --scale-load 3";
    assert!(run(&scratch, options).status.success());
    let grown = scratch.path("grown.ios").display().to_string();
    let converted = hash(&sim(&scenario, &["--trace", &grown]));
    for options in [
        &["--speed", "1.5", "--scale-load", "3"][..],
        &["--set", "load.speed=1.5", "--set", "load.copies=3"],
        &["--set", "load.speed=1.5", "--scale-load", "3"],
    ] {
        assert_eq!(hash(&sim(&scenario, options)), converted, "{options:?}");
    }
    assert_ne!(hash(&sim(&scenario, &["--speed", "1.5"])), converted);
}

#[test]
fn keys_of_the_file_come_before_changes_of_the_command_line() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    let key_and_window = sim(&scenario, &["--set", "load.speed=2", "--from", "1s"]);
    let window_last = hash(&sim(&scenario, &["--speed", "2", "--from", "1s"]));
    let window_first = hash(&sim(&scenario, &["--from", "1s", "--speed", "2"]));
    assert_eq!(hash(&key_and_window), window_last);
    assert_ne!(window_first, window_last);
}

#[test]
fn growth_is_varied() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    for (key, option) in [("load.speed", "--speed"), ("load.copies", "--scale-load")] {
        let vary = format!("{key}=1,2,4");
        let varied = sim(&scenario, &["--vary", &vary, "--json"]);
        let means = response_times(&varied);
        assert!(means.len() == 3 && means.is_sorted_by(|a, b| a < b));
        for (factor, mean) in ["1", "2", "4"].iter().zip(&means) {
            let single = sim(&scenario, &[option, factor, "--json"]);
            assert_eq!(response_times(&single), [*mean], "{key}={factor}");
        }
    }
}

#[test]
fn growth_is_swept() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    scratch.file(
        "sweep.toml",
        "scenario = 's.toml'\n[set]\nload.copies = 2\n[vary]\nload.speed = [1, 2.5]\n",
    );
    let swept = run(&scratch, "sweep sweep.toml");
    assert!(swept.status.success(), "{}", err(&swept));
    let entries = fs::read_dir(scratch.path("sweep")).unwrap().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|e| e.path().join("result.json")).collect();
    runs.retain(|run| run.exists());
    runs.sort();
    assert_eq!(runs.len(), 2);
    for (run, speed) in runs.iter().zip(["1", "2.5"]) {
        let single = sim(&scenario, &["--speed", speed, "--scale-load", "2"]);
        let result = fs::read_to_string(run).unwrap();
        assert!(result.contains(&hash(&single)), "{}", run.display());
    }
}

#[test]
fn what_is_explained_grows_as_much() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    let keys = ["--set", "load.speed=2", "--set", "load.copies=3"];
    let explained = out(&sim(&scenario, &[&keys[..], &["--explain"]].concat()));
    assert!(explained.contains("speed = 2 "), "{explained}");
    assert!(explained.contains("copies = 3 "), "{explained}");
    let again = scratch.file("again.toml", explained);
    assert_eq!(hash(&sim(&again, &[])), hash(&sim(&scenario, &keys)));
    let plain = out(&sim(&scenario, &["--explain", "--speed", "2"]));
    assert!(!plain.contains("speed"), "an option is not a key: {plain}");
}

#[test]
fn growth_that_is_none_is_refused_with_what_to_write() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    for copies in ["0", "1001", "2.5", "many"] {
        let refused = sim(&scenario, &["--scale-load", copies]);
        assert_refused(&refused, "a whole number of copies from 1 to 1000");
    }
    for (set, why) in [
        (
            "load.copies=0",
            "'load.copies' is 0, expected 1 to 1000 copies",
        ),
        ("load.copies=1001", "expected 1 to 1000 copies of the trace"),
        (
            "load.speed=0",
            "'load.speed' is 0, expected a number from 0.000001",
        ),
        ("load.speed=nan", "'load.speed' is NaN, expected a number"),
    ] {
        assert_refused(&sim(&scenario, &["--set", set]), why);
    }
    let too_far = scratch.file(
        "far.load",
        "0 ; 9000000000000000000 ; 8 ; R\n1 ; 0 ; 8 ; R\n",
    );
    let refused = run(&scratch, "info far.load --scale-load 2");
    assert!(!refused.status.success(), "{}", too_far.display());
    let why = "2 copies of this load (--scale-load, load.copies) are too many (at most 1)";
    assert!(err(&refused).contains(why), "{}", err(&refused));
}

#[test]
fn a_synthetic_load_grows_by_its_rate() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "s.toml",
        "[load]\nspeed = 2\nrequests = 100\narrivals = { poisson_per_s = 10.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = 'raid0'\ndisks = 4\n[disk]\nprofile = 'seagate-st3500630ns'\n",
    );
    let why =
        "to scale a synthetic load, change its arrival rate (load.rate_per_s or load.arrivals)";
    let refused = sim(&scenario, &[]);
    assert_refused(&refused, why);
    assert!(err(&refused).contains("s.toml:2"), "{}", err(&refused));
    let refused = sim(
        &scenario,
        &["--set", "load.speed=", "--set", "load.copies=2"],
    );
    assert_refused(&refused, why);
}
