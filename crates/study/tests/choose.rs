//! What `choose` says, against simulations of its own.

use std::path::Path;

use iosonar_analysis::objective::Judgement;
use iosonar_scenario::{Overrides, Prepared, System};
use iosonar_study::choose::{ChooseError, ChooseSpec, Conclusion, Considered, GrowthSpec, choose};
use iosonar_study::objective::Judge;
use iosonar_study::plan::GrowBy;
use iosonar_trace::Requests;

/// Some 75 requests/s, two thirds of them reads of 4 KiB, over 20 GB, in bursts.
fn trace(directory: &Path, requests: u64) {
    let mut text = String::from("time_ns,sector,sectors,op\n");
    let (mut time, mut mixed) = (0_u64, 1_u64);
    for i in 0..requests {
        mixed = mixed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let random = mixed >> 33;
        time += if i % 10 == 0 {
            100_000_000
        } else {
            random % 8_000_000
        };
        let op = if random.is_multiple_of(3) {
            "write"
        } else {
            "read"
        };
        text += &format!("{time},{},8,{op}\n", random % 5_000_000 * 8);
    }
    std::fs::write(directory.join("load.csv"), text).unwrap();
}

fn spec(load: &Path, candidates: &[&str], targets: &[&str]) -> ChooseSpec {
    let candidates = candidates.iter().map(|name| System::named(name).unwrap());
    ChooseSpec {
        load: load.to_owned(),
        candidates: candidates.collect(),
        targets: targets.iter().map(|t| t.parse().unwrap()).collect(),
        growth: None,
        overrides: Overrides::default(),
        prices: Vec::new(),
    }
}

fn by_speed(within: f64) -> GrowthSpec {
    let by = GrowBy::Speed;
    GrowthSpec { by, within }
}

fn run(spec: &ChooseSpec) -> Vec<Considered> {
    choose(spec, 2, &|_| ()).unwrap()
}

fn verdict(of: &Considered) -> Judgement {
    of.outcome.as_ref().unwrap().verdict()
}

#[test]
fn each_verdict_is_that_of_a_simulation_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 3_000);
    let load = directory.path().join("load.csv");
    let spec = spec(
        &load,
        &["raid10:4xexos-x18", "nvme-gen4-tlc"],
        &["read p99 < 5ms"],
    );
    let all = run(&spec);
    assert_eq!(
        [verdict(&all[0]), verdict(&all[1])],
        [Judgement::Misses, Judgement::Meets]
    );
    for (considered, system) in all.iter().zip([
        "[array]\nlevel = 'raid10'\ndisks = 4\n[disk]\nprofile = 'seagate-exos-x18-18tb'\n",
        "[ssd]\nprofile = 'nvme-gen4-tlc'\n",
    ]) {
        let overrides = Overrides {
            trace: Some(load.clone()),
            ..Overrides::default()
        };
        let alone = Prepared::from_toml(system, Path::new("alone.toml"), &overrides).unwrap();
        let simulation = alone.with_replications(5);
        let alone = simulation.run(1, None).unwrap();
        let evaluation = considered.outcome.as_ref().unwrap();
        assert_eq!(
            evaluation.quantile_ms(Requests::Reads, 0.99).unwrap(),
            alone.quantile_of_ms(Requests::Reads, 0.99)
        );
        assert_eq!(
            evaluation.now.outcomes[0].attained().copied(),
            Judge::of(&simulation, &alone).judged(&spec.targets[0])
        );
        assert_eq!(evaluation.result.as_ref().unwrap().hash, alone.hash);
        assert!(evaluation.growth.is_none());
    }
    assert_eq!(
        all[0].outcome.as_ref().unwrap().capacity.get() / 1_000_000_000_000,
        36
    );
    let conclusion = Conclusion::of(&all, &spec.targets[0]);
    assert_eq!((conclusion.meet, conclusion.miss), (vec![1], vec![0]));
}

#[test]
fn a_target_within_the_interval_is_not_met() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 2_000);
    let load = directory.path().join("load.csv");
    let of = |target: &str| {
        let all = run(&spec(&load, &["raid10:4xexos-x18"], &[target]));
        let now = &all[0].outcome.as_ref().unwrap().now;
        (
            verdict(&all[0]),
            now.outcomes[0].attained().unwrap().estimate,
        )
    };
    let (_, estimate) = of("p99 < 1ms");
    assert!(estimate.half_width_95() > 0.0);
    let at = |ms: f64| of(&format!("p99 < {ms:.6}ms")).0;
    assert_eq!(at(estimate.mean), Judgement::Unclear);
    assert_eq!(
        at(estimate.mean + 2.0 * estimate.half_width_95()),
        Judgement::Meets
    );
    assert_eq!(
        at(estimate.mean - 2.0 * estimate.half_width_95()),
        Judgement::Misses
    );
}

#[test]
fn growth_lies_where_a_grid_of_simulations_has_it() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 3_000);
    let load = directory.path().join("load.csv");
    let mut spec = spec(
        &load,
        &["exos-x18"],
        &["write p99 < 60ms", "read p99 < 60ms"],
    );
    spec.growth = Some(by_speed(0.02));
    let all = run(&spec);
    let evaluation = all[0].outcome.as_ref().unwrap();
    let growth = evaluation.growth.as_ref().unwrap();
    let next = growth.found.next.as_ref().unwrap().load;
    let best = growth.factor().unwrap();
    assert!(best > 1.0 && next / best <= 1.0201, "{best} {next}");
    // Simulations of the whole load, without giving up.
    let met = |factor: f64| {
        let grown = evaluation.simulation.clone().grown(factor).unwrap();
        let result = grown.run(2, None).unwrap();
        let judge = Judge::of(&grown, &result);
        spec.targets
            .iter()
            .all(|target| judge.judged(target).unwrap().verdict == Judgement::Meets)
    };
    assert!(met(best));
    assert!(!met(next));
    for share in [0.25, 0.5, 0.75, 0.9] {
        assert!(met(share * best), "{share} of {best}");
    }
    for times in [1.1, 1.5, 2.0, 4.0] {
        assert!(!met(times * next), "{times} times {next}");
    }
}

#[test]
fn a_load_that_is_too_large_already_has_to_shrink() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 2_000);
    let mut spec = spec(
        &directory.path().join("load.csv"),
        &["exos-x18"],
        &["p99 < 25ms"],
    );
    spec.growth = Some(by_speed(0.02));
    let all = run(&spec);
    assert_eq!(verdict(&all[0]), Judgement::Misses);
    let factor = all[0].growth().unwrap().factor().unwrap();
    assert!(factor < 1.0 && factor > 0.1, "{factor}");
    // No load is small enough for this.
    spec.targets = vec!["p99 < 1us".parse().unwrap()];
    assert_eq!(run(&spec)[0].growth().unwrap().factor(), None);
}

#[test]
fn a_scenario_gives_its_load_and_keeps_its_trace() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 500);
    let of_trace = run(&spec(
        &directory.path().join("load.csv"),
        &["nvme-gen4-tlc"],
        &["p99 < 1s"],
    ));
    let scenario = directory.path().join("load.toml");
    std::fs::write(&scenario, "[load]\ntrace = 'load.csv'\n").unwrap();
    let of_scenario = run(&spec(&scenario, &["nvme-gen4-tlc"], &["p99 < 1s"]));
    let hash = |all: &[Considered]| {
        all[0]
            .outcome
            .as_ref()
            .unwrap()
            .result
            .as_ref()
            .unwrap()
            .hash
    };
    assert_eq!(hash(&of_trace), hash(&of_scenario));
    // A closed loop cannot grow.
    let closed = "[load]\nclosed = { outstanding = 4 }\nrequests = 1000\nsize = { blocks = 1 }\nread_share = 1.0\n";
    std::fs::write(&scenario, closed).unwrap();
    let mut spec = spec(&scenario, &["nvme-gen4-tlc"], &["p99 < 1s"]);
    assert_eq!(verdict(&run(&spec)[0]), Judgement::Meets);
    spec.growth = Some(by_speed(0.1));
    let error = choose(&spec, 1, &|_| ()).unwrap_err().to_string();
    assert!(error.contains("sets its own pace"), "{error}");
}

#[test]
fn the_load_of_a_candidate_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 2_000);
    let system = "[array]\nlevel = 'raid0'\ndisks = 1\n[disk]\nprofile = 'seagate-exos-x18-18tb'\n";
    let text = format!("seed = 7\nwarmup_requests = 1000\n[load]\nspeed = 5.0\n{system}");
    let file = directory.path().join("own.toml");
    std::fs::write(&file, text).unwrap();
    let load = directory.path().join("load.csv");
    let all = run(&spec(
        &load,
        &["exos-x18", file.to_str().unwrap()],
        &["p99 < 1s"],
    ));
    let hash = |i: usize| {
        all[i]
            .outcome
            .as_ref()
            .unwrap()
            .result
            .as_ref()
            .unwrap()
            .hash
    };
    assert_eq!(hash(0), hash(1));
}

#[test]
fn the_cheapest_of_those_that_meet_the_target_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 1_000);
    let load = directory.path().join("load.csv");
    let mut spec = spec(
        &load,
        &["raid10:8xexos-x18", "raid10:4xexos-x18", "nvme-gen4-tlc"],
        &["p99 < 10s"],
    );
    spec.prices = vec![
        ("exos-x18".to_owned(), 300.0),
        ("nvme-gen4-tlc".to_owned(), 1500.0),
    ];
    let all = run(&spec);
    let prices: Vec<_> = all.iter().map(|of| of.price).collect();
    assert_eq!(prices, [Some(2400.0), Some(1200.0), Some(1500.0)]);
    assert_eq!(Conclusion::of(&all, &spec.targets[0]).meet, [1, 2, 0]);
    // Without all prices by what they do.
    spec.prices.pop();
    assert_eq!(Conclusion::of(&run(&spec), &spec.targets[0]).meet[0], 2);
    spec.prices.push(("floppy".to_owned(), 1.0));
    assert!(
        matches!(choose(&spec, 1, &|_| ()), Err(ChooseError::Price { name, .. }) if name == "floppy")
    );
}

#[test]
fn a_growth_that_the_load_is_too_short_to_show_is_a_least_one() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 3_000);
    let load = directory.path().join("load.csv");
    let growth = |target: &str| {
        let mut spec = spec(&load, &["nvme-gen4-tlc"], &[target]);
        spec.growth = Some(by_speed(0.05));
        let mut all = run(&spec);
        let evaluation = all.remove(0).outcome.unwrap();
        let length_s = evaluation.result.as_ref().unwrap().windows[0]
            .length()
            .as_secs_f64();
        (evaluation.growth.unwrap(), length_s)
    };
    // Any burst of 3,000 requests takes less than 0.1 s: it would never miss the target, however fast.
    let (of_short, length_s) = growth("p99 < 100ms");
    assert!(of_short.is_at_least() && of_short.breaks_at().is_none());
    let factor = of_short.factor().unwrap();
    assert!(
        factor > 1.0 && length_s / factor >= 10.0,
        "{factor} of {length_s} s"
    );
    // The recording itself is too short for this one.
    let (of_long, _) = growth("p99 < 100s");
    assert_eq!((of_long.factor(), of_long.is_at_least()), (Some(1.0), true));
}

#[test]
fn a_target_of_requests_that_are_not_there_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = "time_ns,sector,sectors,op\n0,0,8,write\n1000000,8,8,write\n";
    std::fs::write(directory.path().join("load.csv"), text).unwrap();
    let spec = spec(
        &directory.path().join("load.csv"),
        &["nvme-gen4-tlc"],
        &["read p99 < 1s"],
    );
    let error = choose(&spec, 1, &|_| ()).unwrap_err().to_string();
    assert_eq!(error, "target 'read p99 < 1 s': the load has no reads");
}

#[test]
fn a_candidate_that_is_too_small_is_named_as_such() {
    let directory = tempfile::tempdir().unwrap();
    trace(directory.path(), 2_000);
    let load = directory.path().join("load.csv");
    let spec = spec(&load, &["hp-c2247a", "nvme-gen4-tlc"], &["p99 < 1s"]);
    let all = run(&spec);
    let error = all[0].outcome.as_ref().unwrap_err().to_string();
    assert!(error.contains("end"), "{error}");
    let conclusion = Conclusion::of(&all, &spec.targets[0]);
    assert_eq!((conclusion.meet, conclusion.unknown), (vec![1], vec![0]));
    // The same whatever the number of threads.
    let hash = |all: &[Considered]| {
        all[1]
            .outcome
            .as_ref()
            .unwrap()
            .result
            .as_ref()
            .unwrap()
            .hash
    };
    assert_eq!(hash(&all), hash(&choose(&spec, 1, &|_| ()).unwrap()));
}
