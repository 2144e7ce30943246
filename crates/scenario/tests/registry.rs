//! Devices and levels that a program registers, in scenario files.

use std::path::Path;

use iosonar_device::{Job, Mechanism, Pace, ServiceTime, Station, Waiting};
use iosonar_raid::Striped;
use iosonar_scenario::{NoOptions, Overrides, Prepared, Registry, ScenarioError, SimulationResult};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::Nanos;
use serde::Deserialize;

/// Services with an exponential distribution.
struct Exponential {
    mean: Nanos,
    times: Stream,
}

impl Mechanism for Exponential {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        ServiceTime {
            positioning: self.times.exponential(self.mean),
            transfer: Nanos::ZERO,
            pace: Pace(0.0),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    mean_ms: f64,
}

/// Half of the disks, which says that it is all of them, or not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    disks: usize,
}

fn registry() -> Registry {
    Registry::new()
        .with_mechanism("exponential", |options: &Options, place| {
            if options.mean_ms <= 0.0 {
                return Err(format!("mean_ms is {}, expected more than 0", options.mean_ms).into());
            }
            Ok(Exponential {
                mean: Nanos::nearest(options.mean_ms * 1e6),
                times: place.stream("service"),
            })
        })
        .with_device("queued", |options: &Options, place| {
            Ok(Station::new(Exponential {
                mean: Nanos::nearest(options.mean_ms * 1e6),
                times: place.stream("service"),
            }))
        })
        .with_level("plain", |_: &NoOptions, shape| {
            Ok(Striped::new(shape.array, &Seed::new(1))?)
        })
        .with_level("short", |options: &Short, shape| {
            let mut array = shape.array;
            array.disks = options.disks;
            Ok(Striped::new(array, &Seed::new(1))?)
        })
}

fn prepared(text: &str) -> Result<Prepared, ScenarioError> {
    let overrides = Overrides {
        registry: registry(),
        ..Overrides::default()
    };
    Prepared::from_toml(text, Path::new("s.toml"), &overrides)
}

fn run(text: &str, threads: usize) -> SimulationResult {
    prepared(text).unwrap().run(threads, None).unwrap()
}

const LOAD: &str = "warmup_requests = 1000\n[load]\nrequests = 100_000\nrate_per_s = 50.0\nblock = \"4KiB\"\n\
                    size = { blocks = 1 }\n";

fn scenario(level: &str, model: &str) -> String {
    let (disks, mean_ms) = if level == "jbod" { (1, 10) } else { (4, 60) };
    format!(
        "{LOAD}[array]\nlevel = \"{level}\"\ndisks = {disks}\n[device]\nmodel = \"{model}\"\ncapacity = \"1GiB\"\n\
         options = {{ mean_ms = {mean_ms}.0 }}\n"
    )
}

#[test]
fn a_registered_mechanism_is_the_queue_that_it_describes() {
    // M/M/1 at half load: the mean response time is twice that of a service.
    let text = format!("replications = 20\n{}", scenario("jbod", "exponential"));
    let result = run(&text, 2);
    let mean = result.mean_ms;
    let (low, high) = (mean.mean - 4.0 * mean.stderr, mean.mean + 4.0 * mean.stderr);
    assert!(low < 20.0 && 20.0 < high, "{mean:?}, M/M/1 has 20 ms");
    assert!(mean.stderr < 0.5, "{mean:?}");
}

#[test]
fn mechanisms_and_devices_levels_and_threads_give_the_same_bytes() {
    let built_in = run(&scenario("raid0", "exponential"), 1);
    for (level, model) in [
        ("raid0", "queued"),
        ("plain", "exponential"),
        ("plain", "queued"),
    ] {
        let other = run(&scenario(level, model), 1);
        assert_eq!(built_in.hash, other.hash, "{level} of {model}");
    }
    let replicated = format!("replications = 4\n{}", scenario("plain", "exponential"));
    assert_eq!(run(&replicated, 1).hash, run(&replicated, 2).hash);
    let seeded = format!("seed = 2\n{}", scenario("plain", "exponential"));
    assert_ne!(built_in.hash, run(&seeded, 1).hash);
}

#[test]
fn parity_of_registered_devices_survives_a_disk() {
    let text = scenario("raid5", "exponential");
    let whole = run(&text, 1);
    let degraded = run(&text.replace("disks = 4", "disks = 4\nfailed = [1]"), 1);
    assert!(degraded.mean_ms.mean > whole.mean_ms.mean);
}

#[test]
fn the_explanation_means_the_same_simulation() {
    for (level, model) in [("plain", "exponential"), ("raid5", "queued")] {
        let text = scenario(level, model);
        let explained = prepared(&text).unwrap().explain();
        assert_eq!(run(&text, 1).hash, run(&explained, 1).hash, "{explained}");
    }
    let nested = "[array]\nlevel = \"short\"\ndisks = 4\noptions = { disks = 4 }\n[device]\nmodel = \"queued\"\n\
                  capacity = \"1953125000s\"\n[device.options]\nmean_ms = 0.5\n";
    let text = format!("{LOAD}{nested}");
    let explained = prepared(&text).unwrap().explain();
    assert!(
        explained.contains("[array.options]\ndisks = 4\n"),
        "{explained}"
    );
    assert_eq!(run(&text, 1).hash, run(&explained, 1).hash, "{explained}");
}

#[test]
fn there_is_no_theory_for_them() {
    let theory = prepared(&scenario("plain", "exponential"))
        .unwrap()
        .theory();
    assert_eq!(
        theory.remarks,
        [iosonar_scenario::theory::TheoryRemark::Registered]
    );
    assert!(theory.response.is_none());
}

#[test]
fn what_is_wrong_is_refused_with_its_line() {
    let good = scenario("plain", "exponential");
    let disk = good.replace(
        "[device]\nmodel = \"exponential\"\ncapacity = \"1GiB\"\noptions = { mean_ms = 60.0 }\n",
        "[disk]\nmodel = \"sampled\"\nprofile = \"seagate-st3500630ns\"\n",
    );
    assert!(prepared(&disk).is_ok());
    for (text, message) in [
        (
            good.replace("exponential", "exponental"),
            "; did you mean \"exponential\"?",
        ),
        (
            good.replace("exponential", "flash"),
            "s.toml:11: 'device.model' is \"flash\", expected a registered model, one of \"exponential\", \"queued\"",
        ),
        (
            good.replace("\"plain\"", "\"raid7\""),
            "s.toml:8: 'array.level' is \"raid7\", expected one of \"raid0\"",
        ),
        (
            good.replace("\"plain\"", "5"),
            "s.toml:8: 'array.level' is 5, expected one of \"raid0\"",
        ),
        (
            good.replace("mean_ms = 60.0", "mean_s = 60.0"),
            "s.toml:13: 'device.options' is invalid for the model \"exponential\": unknown key 'mean_s'",
        ),
        (
            good.replace("mean_ms = 60.0", "mean_ms = -1.0"),
            "s.toml:13: 'device.options' is invalid for the model \"exponential\": mean_ms is -1, expected more than 0",
        ),
        (
            good.replace("options = { mean_ms = 60.0 }\n", ""),
            "s.toml:11: 'device.model' is invalid for the model \"exponential\": 'mean_ms' is missing",
        ),
        (
            good.replace("\"1GiB\"", "\"1000B\""),
            "s.toml:12: 'device.capacity' is '1000B', expected a whole number of sectors",
        ),
        (
            good.replace("disks = 4", "disks = 4\nfailed = [1]"),
            "s.toml:10: 'array.failed' is [1], expected no more failed disks than a registered level tolerates (the \
             loss of no disk)",
        ),
        (
            good.replace("\"plain\"", "\"short\"")
                .replace("disks = 4", "disks = 4\noptions = { disks = 3 }"),
            "s.toml:10: 'array.options' are invalid for the level \"short\": the level plans for 3 devices, expected 4",
        ),
        (
            good.replace("disks = 4", "disks = 4\nlike = \"linux-md\""),
            "'array.like'",
        ),
        (
            good.replace("disks = 4", "disks = 4\nplacement = \"random\""),
            "the devices in [device] need addresses",
        ),
        (
            good.replace("[device]", "[ssd]\nprofile = \"nvme-gen4-tlc\"\n[device]"),
            "both [ssd] and [device]",
        ),
        (
            disk.replace("\"plain\"", "\"raid0\"")
                .replace("disks = 4", "disks = 4\noptions = { x = 1 }"),
            "s.toml:10: 'array.options' apply only to registered levels",
        ),
    ] {
        let error = prepared(&text).expect_err(&text).to_string();
        assert!(error.contains(message), "{error}\ninstead of\n{message}");
    }
    let overrides = Overrides {
        registry: registry(),
        set: vec![("device.options.mean_ms".to_owned(), "-2".to_owned())],
        ..Overrides::default()
    };
    let error = Prepared::from_toml(&good, Path::new("s.toml"), &overrides).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set: 'device.options' is invalid for the model \"exponential\": mean_ms is -2, expected more than 0"
    );
}

#[test]
fn keys_of_other_levels_are_refused() {
    let good = scenario("plain", "exponential");
    for (text, message) in [
        (
            good.replace("disks = 4", "disks = 4\nlayout = \"left-symmetric\""),
            "'array.layout' needs a level with parity",
        ),
        (
            good.replace("disks = 4", "disks = 4\nmirror_read = \"random\""),
            "'array.mirror_read' needs a mirrored level",
        ),
        (
            good.replace("disks = 4", "disks = 4\ncopies = 2"),
            "no value, as 'copies'",
        ),
        (
            good.replace("disks = 4", "disks = 4\ngroups = 2"),
            "no value, as 'groups'",
        ),
    ] {
        let error = prepared(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_program_that_registers_nothing_says_so() {
    let text = scenario("raid0", "exponential");
    let error = Prepared::from_toml(&text, Path::new("s.toml"), &Overrides::default());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("but this program has none: use [disk] or [ssd] instead"),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "registered twice")]
fn a_name_is_registered_once() {
    let level = |_: &NoOptions, shape: &iosonar_scenario::LevelShape<'_>| {
        Ok(Striped::new(shape.array, &Seed::new(1))?)
    };
    let _ = Registry::new()
        .with_level("own", level)
        .with_level("own", level);
}

#[test]
#[should_panic(expected = "is built in")]
fn built_in_levels_keep_their_names() {
    let _ = Registry::new().with_level("raid5", |_: &NoOptions, shape| {
        Ok(Striped::new(shape.array, &Seed::new(1))?)
    });
}
