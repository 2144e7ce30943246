//! A program with devices and levels of its own has all commands of iosonar, and scenario files name them.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use iosonar::raid::RequestPlan;
use iosonar::scenario::{Overrides, Prepared, Registry, SimulationResult};
use scratch::{Scratch, err, out};

#[path = "../examples/custom_device.rs"]
#[allow(dead_code, reason = "its main function is not called")]
mod custom_device;
#[path = "../examples/custom_topology.rs"]
#[allow(dead_code, reason = "its main function is not called")]
mod custom_topology;

/// Set, the test [`the_command_line`] is such a program, with these arguments.
const ARGUMENTS: &str = "IOSONAR_TEST_OWN_MODELS";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name)
}

fn run(name: &str, registry: Registry, set: &[(&str, &str)]) -> SimulationResult {
    let overrides = Overrides {
        registry,
        set: set
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..Overrides::default()
    };
    let prepared = Prepared::read(&example(name), &overrides).unwrap();
    prepared.run(2, None).unwrap()
}

/// This program again, as a command line.
fn own_command(arguments: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "the_command_line",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(ARGUMENTS, arguments).output().unwrap()
}

/// Not a test but, where the variable is set, the program that [`own_command`] runs.
#[test]
fn the_command_line() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    custom_device::registry().install();
    let words = std::iter::once("iosonar").chain(arguments.split(' '));
    let code = iosonar::cli::run(words.map(Into::into), &iosonar::ASSETS);
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

#[test]
fn a_device_of_ones_own_is_what_it_says() {
    let pauses = run("own/device.toml", custom_device::registry(), &[]);
    // A request of 128 KiB is a sub-request of 32 KiB on each of the four devices: 80 us and 64 sectors of 100 ns.
    let least = pauses.response_time.histogram.quantile(0.0).unwrap();
    assert!((least.as_micros_f64() - 86.4).abs() < 0.5, "{least}");
    let none = [("device.options.pause_share", "0")];
    let steady = run("own/device.toml", custom_device::registry(), &none);
    // Without pauses each device is an M/D/1 queue, and all four do the same at the same time: Pollaczek and Khinchine.
    let (service_ms, per_ms) = (0.0864, 1.5);
    let load = per_ms * service_ms;
    let mean_ms = service_ms * (1.0 + load / (2.0 * (1.0 - load)));
    let error = (steady.mean_ms.mean - mean_ms).abs();
    assert!(
        error < 4.0 * steady.mean_ms.stderr,
        "{:?}, M/D/1 has {mean_ms}",
        steady.mean_ms
    );
    assert!(steady.mean_ms.stderr < 0.01 * mean_ms);
    // A request in 26 waits for a pause of its own, besides those that wait for others'.
    let own = 1.0 - 0.99_f64.powi(4);
    let p = |q| {
        pauses
            .response_time
            .histogram
            .quantile(q)
            .unwrap()
            .as_millis_f64()
    };
    assert!(
        p(1.0 - own) >= 3.0 && p(0.5) < 1.0,
        "{} {}",
        p(1.0 - own),
        p(0.5)
    );
}

#[test]
fn a_level_of_ones_own_balances_a_hot_spot() {
    let three = run("own/level.toml", custom_topology::registry(), &[]);
    let one = [("array.options.copies", "1")];
    let one = run("own/level.toml", custom_topology::registry(), &one);
    let raid0 = [("array.level", "raid0"), ("array.placement", "addressed")];
    let text = std::fs::read_to_string(example("own/level.toml")).unwrap();
    let text = text.replace("options = { copies = 3 }\n", "");
    let scratch = Scratch::new();
    let path = scratch.path("raid0.toml");
    std::fs::write(&path, text).unwrap();
    let set = raid0.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let built_in = Prepared::read(&path, &overrides)
        .unwrap()
        .run(2, None)
        .unwrap();
    assert_eq!(one.hash, built_in.hash, "with one copy it is RAID 0");
    let (three, one) = (three.mean_ms, one.mean_ms);
    assert!(
        three.mean + 4.0 * three.stderr < one.mean - 4.0 * one.stderr,
        "{three:?} {one:?}"
    );
}

/// No two copies, and no two sectors, share a place.
#[test]
fn its_copies_lie_apart() {
    use iosonar::trace::{Op, Request};
    use iosonar::units::{Sector, Sectors};
    let set = [(
        "disk.profile".to_owned(),
        "\"seagate-st3500630ns\"".to_owned(),
    )];
    let overrides = Overrides {
        registry: custom_topology::registry(),
        set: set.to_vec(),
        ..Overrides::default()
    };
    let prepared = Prepared::read(&example("own/level.toml"), &overrides).unwrap();
    let seed = iosonar::sim_core::Seed::new(1);
    let mut planner = prepared.array().planner(&seed).unwrap();
    let unit = 256;
    let all = prepared.array().data_sectors().unwrap();
    assert!(all > 0 && all.is_multiple_of(unit));
    let mut seen = std::collections::HashSet::new();
    let units = (0..200).chain(all / unit - 200..all / unit);
    for number in units {
        let request = Request {
            op: Op::Write,
            sector: Sector::new(number * unit),
            sectors: Sectors::new(unit as u32),
            ..Request::default()
        };
        let mut plan = RequestPlan::default();
        iosonar::raid::Planner::plan(&mut planner, &request, &[const { Idle }; 6], &mut plan);
        assert_eq!(plan.len(), 3);
        for part in plan.sub_requests() {
            assert!(seen.insert((part.disk, part.sector)), "{part:?} holds two");
            let end = part.sector.get() + u64::from(part.sectors.get());
            assert!(end <= prepared.array().disk_sectors());
        }
    }
}

struct Idle;

impl iosonar::device::Observable for Idle {
    fn occupancy(&self) -> iosonar::device::Occupancy {
        iosonar::device::Occupancy::default()
    }
}

#[test]
fn all_commands_know_the_model() {
    let path = example("own/device.toml");
    let path = path.display();
    let ran = own_command(&format!("sim {path} --set replications=2"));
    assert!(ran.status.success(), "{}", err(&ran));
    assert!(out(&ran).contains("RAID 0 of 4 x flash"), "{}", out(&ran));
    let model = own_command(&format!("model {path}"));
    assert!(
        out(&model).contains("no theory for registered devices and levels"),
        "{}",
        out(&model)
    );
    let vary = own_command(&format!(
        "sim {path} --vary array.disks=2,4 --set load.requests=5000"
    ));
    assert!(vary.status.success(), "{}", err(&vary));
    let other = Command::new(env!("CARGO_BIN_EXE_iosonar"))
        .args(["sim", &path.to_string()])
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(
        err(&other).contains("'device.model' is \"flash\", expected a registered model"),
        "{}",
        err(&other)
    );
}

#[test]
fn a_wrong_option_names_its_line() {
    let registry = || custom_topology::registry();
    let overrides = |copies: &str| Overrides {
        registry: registry(),
        set: vec![("array.options.copies".to_owned(), copies.to_owned())],
        ..Overrides::default()
    };
    for (copies, message) in [
        (
            "0",
            "'array.options' are invalid for the level \"chained\": copies is 0, expected at least 1",
        ),
        ("7", "7 copies need as many disks"),
        ("\"x\"", "'array.options'"),
    ] {
        let error = Prepared::read(&example("own/level.toml"), &overrides(copies)).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}
