//! `iosonar model` and `iosonar plan` from the outside.

mod scratch;

use std::path::Path;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

const SCENARIO: &str = "\
seed = 3
replications = 5
warmup_requests = 1_000
[load]
requests = 20_000
arrivals = { poisson_per_s = 20.0 }
size = { blocks = 1 }
[array]
level = 'raid0'
disks = 1
stripe_unit = '128KiB'
[disk]
profile = 'seagate-st3500630ns'
";

const PAPER: &str = include_str!("../examples/networked-raid/paper.toml");

fn run(command: &str, file: &Path, options: &[&str]) -> Output {
    let mut iosonar = iosonar();
    iosonar
        .arg(command)
        .arg(file)
        .args(options)
        .output()
        .unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {}", err(output)))
}

/// The value of a plain figure, or the mean of a metric, whose labels hold all of these.
fn figure(json: &serde_json::Value, name: &str, labels: &[(&str, &str)]) -> f64 {
    let metrics = json["metrics"].as_array().unwrap();
    let holds = |metric: &&serde_json::Value| {
        let label = |(key, value): &(&str, &str)| {
            let seen = &metric["labels"][key];
            seen.as_str()
                .map_or_else(|| seen.to_string(), str::to_owned)
                == *value
        };
        metric["name"] == name && labels.iter().all(label)
    };
    let metric = metrics
        .iter()
        .find(holds)
        .unwrap_or_else(|| panic!("no {name} {labels:?}"));
    metric["value"]
        .as_f64()
        .or(metric["mean"].as_f64())
        .unwrap()
}

#[test]
fn theory_and_simulation_of_a_disk_agree() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    let picture = scratch.path("cdf.png");
    let table = scratch.path("table.csv");
    let options = [
        "--with-sim",
        "--json",
        "--cdf",
        picture.to_str().unwrap(),
        "--csv",
        table.to_str().unwrap(),
    ];
    let seen = run("model", &scenario, &options);
    assert!(seen.status.success(), "{}", err(&seen));
    let json = json(&seen);
    let theory = figure(
        &json,
        "response_time_theory",
        &[("kind", "under load"), ("standing", "exact")],
    );
    let simulated = figure(&json, "response_time", &[("scenario", "disk")]);
    // M/G/1 at 20 reads/s: 15.510578 + 0.02 259.350099 / (2 (1 - 0.31021156)) = 19.270428 ms.
    assert!((theory - 19.270_428).abs() < 1e-5, "{theory}");
    assert!((simulated / theory - 1.0).abs() < 0.02, "{simulated}");
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    let table = std::fs::read_to_string(&table).unwrap();
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("disk,exact,19.270"),
        "{table}"
    );
    let text = out(&run("model", &scenario, &[]));
    for words in [
        "read of 256 sectors",
        "disk/0",
        "under load, exact",
        "stable below 64.5 requests/s",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let quiet = run("model", &scenario, &["-q"]);
    assert_eq!(out(&quiet), text, "-q leaves out notes, not results");
    assert!(err(&quiet).is_empty());
}

#[test]
fn recorded_response_times_lie_beside_theory() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    let records = scratch.path("records.ios");
    let sim = run(
        "sim",
        &scenario,
        &["--records", records.to_str().unwrap(), "-q"],
    );
    assert!(sim.status.success(), "{}", err(&sim));
    let seen = run(
        "model",
        &scenario,
        &["--measured", records.to_str().unwrap()],
    );
    assert!(
        out(&seen).contains("measured: records.ios"),
        "{}",
        out(&seen)
    );
    let load = scratch.file("load.txt", "0.0 ; 0 ; 8 ; R\n");
    let seen = run("model", &scenario, &["--measured", load.to_str().unwrap()]);
    assert_eq!(seen.status.code(), Some(1));
    assert!(
        err(&seen).contains("the requests have no response times"),
        "{}",
        err(&seen)
    );
}

#[test]
fn what_is_unstable_says_by_how_much_and_what_would_help() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    let seen = run(
        "model",
        &scenario,
        &["--set", "load.arrivals.poisson_per_s=100.0"],
    );
    assert_eq!(seen.status.code(), Some(2));
    let text = err(&seen);
    assert!(
        text.contains("1.551 times") && text.contains("below 64.5 requests/s"),
        "{text}"
    );
    assert!(out(&seen).is_empty());
}

#[test]
fn a_networked_system_has_bounds_ranks_and_curves() {
    let scratch = Scratch::new();
    let system = scratch.file("paper.toml", PAPER);
    let points = scratch.file(
        "measured.csv",
        "jobs,response_s,stderr_s\n1,121.0,0.5\n5,190,2\n",
    );
    let picture = scratch.path("curve.svg");
    let options = [
        "--with-sim",
        "--budget",
        "2500",
        "--measured",
        points.to_str().unwrap(),
        "--curve",
        picture.to_str().unwrap(),
    ];
    let seen = run("model", &system, &options);
    assert!(seen.status.success(), "{}", err(&seen));
    let text = out(&seen);
    for words in [
        "central/nic",
        "bottleneck",
        "196.28 s",
        "1259.18 s",
        "160.0 to 219.8 s",
        "190.00 s",
        "best within 2500: Gigabit Ethernet + central cache, half of all hits, at a cost of 2500",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(std::fs::read_to_string(&picture).unwrap().contains("<svg"));
    let varied = run(
        "model",
        &system,
        &["--vary", "network.mbit_per_s=10.0,1000.0", "-q"],
    );
    assert!(varied.status.success(), "{}", err(&varied));
    // One object, with what was varied and what could be bought.
    let options = [
        "--json",
        "--vary",
        "network.mbit_per_s=10.0,1000.0",
        "--budget=2500",
    ];
    let all = json(&run("model", &system, &options));
    let slow = figure(
        &all,
        "response_time_varied",
        &[("network.mbit_per_s", "10.0"), ("jobs", "50")],
    );
    assert!(slow > 10_000.0, "{slow}");
    assert_eq!(all["purchases"][0]["upgrades"][0], "Gigabit Ethernet");
    let json = json(&run("model", &system, &["--json", "--at", "1"]));
    let elasticity = figure(&json, "elasticity", &[("parameter", "central CPU speed")]);
    assert!((elasticity + 0.079_814_3).abs() < 1e-6, "{elasticity}");
}

#[test]
fn the_highest_rate_is_found_and_confirmed() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    let picture = scratch.path("plan.png");
    let options = [
        "--target",
        "mean < 24ms",
        "--json",
        "--curve",
        picture.to_str().unwrap(),
    ];
    let seen = run("plan", &scenario, &options);
    assert!(seen.status.success(), "{}", err(&seen));
    let json = json(&seen);
    let rate = |key: &str| json[key].as_f64().unwrap();
    // M/G/1: the mean is 24 ms at 32.45 requests/s; the simulation is surely below a little earlier.
    assert!(
        (rate("by_theory") - 32.45).abs() < 0.1,
        "{}",
        rate("by_theory")
    );
    assert!(
        rate("best") < 32.6 && rate("best") > 31.0,
        "{}",
        rate("best")
    );
    assert!(rate("next") > rate("best"));
    assert!((rate("capacity") - 64.472).abs() < 0.01);
    assert!(picture.exists());
}

#[test]
fn disks_and_jobs_can_be_looked_for() {
    let scratch = Scratch::new();
    let array = SCENARIO
        .replace("disks = 1", "disks = 2")
        .replace("20.0", "60.0");
    let scenario = scratch.file("array.toml", &array);
    let seen = json(&run(
        "plan",
        &scenario,
        &["--target", "mean < 20ms", "--find", "disks", "--json"],
    ));
    // 60 / n reads/s at each disk: 23 ms at two, 19.3 ms at three.
    assert_eq!(seen["best"], 3.0, "{seen}");
    let closed = SCENARIO.replace(
        "arrivals = { poisson_per_s = 20.0 }",
        "closed = { outstanding = 4, think_ms = 100.0 }",
    );
    let scenario = scratch.file("closed.toml", &closed);
    let seen = json(&run(
        "plan",
        &scenario,
        &["--target", "throughput > 25", "--json"],
    ));
    assert_eq!(seen["load_unit"], "jobs");
    let fewest = seen["best"].as_f64().unwrap();
    // Each job needs 115.5 ms when it is alone: two make 17, three at most 26 in a second.
    assert!((3.0..5.0).contains(&fewest), "{seen}");
    let system = scratch.file("paper.toml", PAPER);
    let seen = json(&run(
        "plan",
        &system,
        &["--target", "mean < 300s", "--json"],
    ));
    assert_eq!(seen["best"], 9.0, "{seen}");
}

/// What is refused: the command, its file, its options, and words of the error.
const REFUSED: [(&str, &str, &[&str], &str); 18] = [
    ("model", "disk.toml", &["--curve", "x.png"], "networked"),
    ("model", "disk.toml", &["--set", "array.disks=0"], "disks"),
    (
        "model",
        "paper.toml",
        &["--cdf", "x.png"],
        "--cdf needs a scenario",
    ),
    ("model", "paper.toml", &["--at", "51"], "at most 50 jobs"),
    (
        "model",
        "paper.toml",
        &["--set", "central.cache_hit=1.5"],
        "a probability, 0 to 1",
    ),
    (
        "model",
        "paper.toml",
        &["--set", "jobs.most=0"],
        "1 to 10000",
    ),
    (
        "model",
        "paper.toml",
        &["--budget=-1"],
        "--budget must be at least 0",
    ),
    (
        "plan",
        "disk.toml",
        &["--target", "p99 < 5ms"],
        "cannot be met at any rate",
    ),
    ("plan", "disk.toml", &["--target", "p99"], "neither < nor >"),
    (
        "plan",
        "disk.toml",
        &["--target", "p99 < 80"],
        "has no unit",
    ),
    (
        "plan",
        "paper.toml",
        &["--target", "mean < 100s"],
        "the best possible is 120 s",
    ),
    (
        "plan",
        "paper.toml",
        &["--target", "throughput > 1"],
        "the best possible is 0.04007/s",
    ),
    (
        "model",
        "paper.toml",
        &["--vary", "network.mbit_per_s=10.0,abc"],
        "network.mbit_per_s",
    ),
    (
        "plan",
        "disk.toml",
        &["--target", "throughput > 5"],
        "closed loop",
    ),
    (
        "plan",
        "disk.toml",
        &["--target", "mean < 20ms", "--find", "jobs"],
        "needs a closed loop",
    ),
    (
        "plan",
        "paper.toml",
        &["--target", "p99 < 20s"],
        "quantiles are not available",
    ),
    (
        "plan",
        "paper.toml",
        &["--target", "mean < 20s", "--find", "rate"],
        "jobs",
    ),
    (
        "plan",
        "disk.toml",
        &["--target", "mean < 20ms", "--curve", "/nowhere/x.png"],
        "does not exist",
    ),
];

#[test]
fn what_cannot_be_is_refused() {
    let scratch = Scratch::new();
    scratch.file("disk.toml", SCENARIO);
    let system = scratch.file("paper.toml", PAPER);
    let bad = scratch.file("bad.csv", "jobs,response_s\n1,fast\n");
    let empty = scratch.file("empty.csv", "jobs,response_s\n");
    let bad = bad.to_str().unwrap();
    for (command, file, options, words) in REFUSED {
        let seen = run(command, &scratch.path(file), options);
        assert_eq!(seen.status.code(), Some(2), "{options:?}: {}", err(&seen));
        assert!(err(&seen).contains(words), "{options:?}: {}", err(&seen));
    }
    let seen = run("model", &system, &["--measured", bad]);
    assert_eq!(seen.status.code(), Some(1));
    assert!(
        err(&seen).contains("bad.csv:2: 'response_s' is 'fast'"),
        "{}",
        err(&seen)
    );
    let seen = run("model", &system, &["--measured", empty.to_str().unwrap()]);
    assert_eq!(seen.status.code(), Some(1));
    assert!(!scratch.holds_a_part());
}

#[test]
fn nothing_is_confirmed_by_runs_that_are_too_short() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    // 20 000 requests are a hundred relaxations at a load of 0.93; 10 s are met until 0.999.
    let seen = json(&run(
        "plan",
        &scenario,
        &["--target", "mean < 10s", "--json"],
    ));
    let best = seen["best"].as_f64().unwrap() / seen["capacity"].as_f64().unwrap();
    assert!(best < 0.94, "{best}");
    let verdicts = seen["metrics"].to_string();
    assert!(verdicts.contains("runs too short"), "{verdicts}");
}

#[test]
fn plans_do_not_depend_on_threads() {
    let scratch = Scratch::new();
    let scenario = scratch.file("disk.toml", SCENARIO);
    let at = |threads: &str| {
        let options = ["--target", "p90 < 40ms", "--json", "--threads", threads];
        out(&run("plan", &scenario, &options))
    };
    assert_eq!(at("1"), at("2"));
    let system = scratch.file("paper.toml", PAPER);
    let at = |threads: &str| {
        out(&run(
            "model",
            &system,
            &["--with-sim", "--threads", threads],
        ))
    };
    assert_eq!(at("1"), at("2"));
}

#[test]
fn a_networked_plan_takes_replications_and_names_its_limit() {
    let scratch = Scratch::new();
    let system = scratch.file("paper.toml", PAPER);
    let plan = |options: &[&str]| {
        let target = ["--target", "throughput > 0.04"];
        run("plan", &system, &[&target, options].concat())
    };
    let printed = out(&plan(&["-q"]));
    // By theory, 87 jobs reach it, but the file has 50.
    assert!(
        printed.contains("no higher number was tried: --most N raises the limit"),
        "{printed}"
    );
    let stderr = |options: &[&str]| {
        let json = json(&plan(&[options, &["--json"]].concat()));
        let metrics = json["metrics"].as_array().unwrap().iter();
        let mut simulated = metrics.filter(|of| of["name"] == "simulated");
        simulated.next().unwrap()["stderr"].as_f64().unwrap()
    };
    let ten = stderr(&[]);
    assert_eq!(stderr(&["--replications", "10"]).to_bits(), ten.to_bits());
    assert!(stderr(&["--replications", "40"]) < 0.8 * ten);
    let by_key = stderr(&["--set", "replications=40"]);
    let by_option = stderr(&["--replications", "40"]);
    assert_eq!(by_key.to_bits(), by_option.to_bits());
    let one = run("model", &system, &["--with-sim", "--replications", "1"]);
    assert_eq!(one.status.code(), Some(2));
    assert!(err(&one).contains("at least 2"), "{}", err(&one));
}

#[test]
fn what_passes_within_a_run_has_no_highest_load() {
    let scratch = Scratch::new();
    let load = "[load]\nrequests = 2000\nrate = 20.0\nsize = { blocks = 1 }\n";
    let array = "[array]\nlevel = 'raid5'\ndisks = 4\nfailed = [1]\n[disk]\nprofile = 'seagate-st3500630ns'\n";
    let file = |name: &str, rebuild: &str| scratch.file(name, format!("{load}{array}{rebuild}"));
    let part = file("part.toml", "[rebuild]\nstripes = 2000\n");
    let all = file("all.toml", "[rebuild]\n");
    let target = ["--target", "mean < 60ms", "-q"];
    // Its highest rate grew with the length of the run, as the rebuild ended earlier in it.
    let refused = run("plan", &part, &target);
    assert_eq!(refused.status.code(), Some(2), "{}", out(&refused));
    let advice = "remove this key for a load during a rebuild";
    assert!(err(&refused).contains(advice), "{}", err(&refused));
    let grown = iosonar()
        .args(["choose", "--growth"])
        .args([&part, &part])
        .args(target)
        .output()
        .unwrap();
    assert_eq!(grown.status.code(), Some(2), "{}", out(&grown));
    assert!(err(&grown).contains(advice), "{}", err(&grown));
    // One that lasts as long as the load, and numbers of disks for this load.
    let options = [&target[..], &["--within", "0.2"]].concat();
    assert_eq!(run("plan", &all, &options).status.code(), Some(0));
    let disks = [&target[..], &["--find", "disks", "--most", "8"]].concat();
    assert_eq!(run("plan", &part, &disks).status.code(), Some(0));
}

#[test]
fn a_networked_system_is_named_where_a_scenario_is_expected() {
    let scratch = Scratch::new();
    let system = scratch.file("paper.toml", PAPER);
    let disk = scratch.file("disk.toml", SCENARIO);
    let choose = |load: &Path, candidate: &Path| {
        let mut choose = iosonar();
        choose.arg("choose").args([load, candidate]);
        choose.args(["--target", "p99 < 1s"]).output().unwrap()
    };
    for refused in [
        run("sim", &system, &[]),
        run("sim", &system, &["--set", "jobs.most=4"]),
        choose(&disk, &system),
        choose(&system, &disk),
    ] {
        let text = err(&refused);
        assert!(!refused.status.success(), "{text}");
        assert!(text.contains("describes a networked system"), "{text}");
        assert!(text.contains("model --with-sim"), "{text}");
        assert!(!text.contains("is not a key"), "{text}");
    }
}

#[test]
fn a_closed_loop_has_a_largest_throughput_and_is_always_stable() {
    let scratch = Scratch::new();
    let closed = SCENARIO.replace(
        "arrivals = { poisson_per_s = 20.0 }",
        "closed = { outstanding = 8, think_ms = 10.0 }",
    );
    let text = |scenario: &str| out(&run("model", &scratch.file("x.toml", scenario), &["-q"]));
    let (open, closed) = (text(SCENARIO), text(&closed));
    assert!(open.contains("  stable below 64.5 requests/s\n"), "{open}");
    assert!(!closed.contains("stable below"), "{closed}");
    let most = "  at most 64.5 requests/s, with any number of users\n";
    assert!(closed.contains(most), "{closed}");
}
