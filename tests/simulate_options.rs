//! The options of `iosonar sim` from the outside.

mod scratch;

use scratch::{Scratch, err, hash, out, sim};

const SCENARIO: &str = "\
seed = 3
replications = 2
[load]
requests = 2_000
arrivals = { poisson_per_s = 20.0 }
size = { blocks = 2 }
[array]
level = 'raid10'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

#[test]
fn what_is_explained_can_be_run_and_is_the_same() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let explained = sim(&scenario, &["--explain", "--set", "array.copies=2"]);
    assert!(explained.status.success());
    assert!(out(&explained).contains("Offered load of each station"));
    assert!(
        !out(&explained).contains("response time"),
        "nothing is simulated"
    );
    let again = scratch.file("again.toml", out(&explained));
    assert_eq!(hash(&sim(&again, &[])), hash(&sim(&scenario, &[])));
}

#[test]
fn an_output_of_a_simulation_that_is_only_explained_is_refused() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    for option in [
        "--records=r.ios",
        "--load-out=l.ios",
        "--stages=s.csv",
        "--result=-",
        "--cdf=c.png",
        "--cdf-data=c.csv",
        "--plot=p",
    ] {
        let refused = sim(&scenario, &["--explain", option]);
        assert_eq!(refused.status.code(), Some(2), "{option}");
        let (name, _) = option.split_once('=').unwrap();
        let message = err(&refused);
        assert!(
            message.contains("'--explain' cannot be used with") && message.contains(name),
            "{message}"
        );
    }
}

#[test]
fn a_value_can_be_set_and_a_wrong_key_suggests_the_right_one() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let raid5 = sim(&scenario, &["--set", "array.level=raid5"]);
    assert!(out(&raid5).contains("RAID 5 of 4"));
    let wrong = sim(&scenario, &["--set", "array.dissk=8"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        err(&wrong).contains("did you mean 'disks'?"),
        "{}",
        err(&wrong)
    );
    let no_value = sim(&scenario, &["--set", "array.disks"]);
    assert_eq!(no_value.status.code(), Some(2));
}

#[test]
fn overload_is_refused_unless_it_is_asked_for() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let flood = ["--set", "load.arrivals.poisson_per_s=1000.0"];
    let refused = sim(&scenario, &flood);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("unstable") && err(&refused).contains("disk/"));
    let run = sim(&scenario, &[&flood[..], &["--unstable"]].concat());
    assert!(run.status.success());
    assert!(out(&run).contains("OVERLOADED"), "{}", out(&run));
    let doubtful = [
        "--set",
        "array.level=raid5",
        "--set",
        "load.read_share=0.0",
        "--set",
        "load.arrivals.poisson_per_s=75.0",
    ];
    let warned = sim(&scenario, &doubtful);
    assert!(warned.status.success());
    assert!(err(&warned).contains("may be unstable"), "{}", err(&warned));
}

#[test]
fn the_load_of_a_scenario_can_be_simulated_as_a_trace() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let load = scratch.path("s.load");
    let addressed = ["--set", "array.placement=addressed", "--replications", "1"];
    let options = [&addressed[..], &["--load-out", load.to_str().unwrap()]].concat();
    let written = sim(&scenario, &options);
    assert!(written.status.success(), "{}", err(&written));
    let options = [&addressed[..], &["--trace", load.to_str().unwrap()]].concat();
    assert_eq!(hash(&sim(&scenario, &options)), hash(&written));
    let both = [
        "--load-out",
        load.to_str().unwrap(),
        "--records",
        load.to_str().unwrap(),
    ];
    assert_eq!(sim(&scenario, &both).status.code(), Some(2));
}

#[test]
fn each_scenario_is_drawn_with_its_band() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let dir = scratch.path("pictures");
    let plot = format!("--plot={}", dir.display());
    let drawn = sim(&scenario, &[&plot, "--replications", "4"]);
    assert!(drawn.status.success(), "{}", err(&drawn));
    let picture = std::fs::read(dir.join("s.png")).unwrap();
    assert_eq!(&picture[1..4], b"PNG");
}

#[test]
fn the_parts_of_response_times_are_told_on_demand() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    let split = sim(&scenario, &["--split", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out(&split)).unwrap();
    let mean = |name: &str| {
        let metrics = json["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|m| m["name"] == name);
        metric.map_or(f64::NAN, |m| m["mean"].as_f64().unwrap())
    };
    // All requests have two sub-requests, so the parts add up to the mean.
    let parts = mean("wait") + mean("positioning") + mean("transfer") + mean("join_delay");
    assert!(
        (parts / mean("response_time") - 1.0).abs() < 1e-9,
        "{parts}"
    );
    assert!(!out(&sim(&scenario, &["--json"])).contains("join_delay"));
}

#[test]
fn the_long_way_gives_the_same_result() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    assert_eq!(
        out(&sim(&scenario, &["--events"])),
        out(&sim(&scenario, &[]))
    );
}
