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

/// A load for a system that is typed, as keys of a scenario.
const TYPED_LOAD: [&str; 6] = [
    "--set",
    "load.requests=2000",
    "--set",
    "load.rate_per_s=20",
    "--set",
    "load.size=4KiB",
];

#[test]
fn a_system_is_typed_as_for_choose_and_is_the_same_as_in_a_file() {
    let scratch = Scratch::new();
    let array = "[array]\nlevel = 'raid5'\ndisks = 6\n[disk]\nprofile = 'seagate-exos-x18-18tb'\n";
    let cache = "[controller]\ncache = '1GiB'\n";
    let scenario = scratch.file("s.toml", format!("{array}{cache}"));
    let typed = std::path::Path::new("raid5:6xexos-x18+cache=1GiB");
    assert_eq!(
        hash(&sim(typed, &TYPED_LOAD)),
        hash(&sim(&scenario, &TYPED_LOAD))
    );
    // --set changes the system that was typed, and --explain writes its scenario.
    let more = [&TYPED_LOAD[..], &["--set", "array.disks=8"]].concat();
    assert!(out(&sim(typed, &more)).contains("RAID 5 of 8 x"));
    let explained = sim(typed, &[&TYPED_LOAD[..], &["--explain"]].concat());
    let saved = scratch.file("saved.toml", out(&explained));
    assert_eq!(hash(&sim(&saved, &[])), hash(&sim(&scenario, &TYPED_LOAD)));
}

#[test]
fn a_system_that_cannot_be_simulated_is_refused_with_the_way() {
    let scratch = Scratch::new();
    for (typed, options, problem) in [
        (
            "raid5:6xexos-x18",
            &[][..],
            "raid5:6xexos-x18: the system has no load: add a trace with --set load.trace=FILE",
        ),
        (
            "raid5:6xseagate",
            &TYPED_LOAD,
            "raid5:6xseagate: no such file, and not a system: 'seagate' is ambiguous: it matches seagate-st3500630ns",
        ),
        (
            "raid5:2xexos-x18",
            &TYPED_LOAD,
            "raid5:2xexos-x18: 'array.disks' is 2, expected",
        ),
        (
            "absent.toml",
            &TYPED_LOAD,
            "absent.toml: cannot read the scenario",
        ),
        (
            "absent",
            &TYPED_LOAD,
            "absent: no such file, and not a system: unknown profile 'absent'",
        ),
        (
            "exos",
            &TYPED_LOAD,
            "'exos' is ambiguous: it matches seagate-exos-7e8-8tb, seagate-exos-x18-18tb",
        ),
        (
            "exos-x19",
            &TYPED_LOAD,
            "unknown profile 'exos-x19': did you mean seagate-exos-x18-18tb?",
        ),
        (
            "raid5:99999999999xexos-x18",
            &TYPED_LOAD,
            "the number of devices is 99999999999, expected a whole number from 1 to 1024",
        ),
        (
            "raid5:6x",
            &TYPED_LOAD,
            "the profile after '6x' is missing, expected a name such as exos-x18",
        ),
        (
            "raid5:6xexos-x18+",
            &TYPED_LOAD,
            "'+' has no value, expected +KEY=VALUE such as +cache=1GiB",
        ),
    ] {
        let mut command = scratch::iosonar();
        command.current_dir(scratch.path("")).arg("sim").arg(typed);
        let refused = command.args(options).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{typed}");
        assert!(
            err(&refused).contains(problem),
            "{typed}: {}",
            err(&refused)
        );
    }
}

#[test]
fn a_key_without_its_table_is_refused_with_its_full_name() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", SCENARIO);
    for (key, full) in [
        ("disks=12", "'array.disks'"),
        ("cache=1GiB", "'controller.cache'"),
        ("level=raid5", "'array.level'"),
        ("scheduler=look", "'disk.scheduler'"),
        ("unit=64KiB", "'array.stripe_unit'"),
        ("profile=exos-x18", "'disk.profile' or 'ssd.profile'"),
        ("load.disks=12", "'array.disks'"),
    ] {
        let refused = sim(&scenario, &["--set", key]);
        assert_eq!(refused.status.code(), Some(2), "{key}");
        let written = format!("is not a key of a scenario: write {full}\n");
        assert!(err(&refused).contains(&written), "{key}: {}", err(&refused));
    }
    // A table of disks is another mistake.
    let tables = scratch.file("t.toml", SCENARIO.replace("[disk]", "[disks]"));
    let refused = sim(&tables, &[]);
    assert!(err(&refused).contains("write [disk]"), "{}", err(&refused));
}
