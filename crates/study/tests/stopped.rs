//! Studies end when they are stopped.

use std::sync::atomic::Ordering::Relaxed;

use iosonar_analysis::objective::Objective;
use iosonar_scenario::{Overrides, Prepared, ScenarioError};
use iosonar_study::plan::{PlanError, PlanSpec, plan_scenario};

const SCENARIO: &str = "seed = 3\n\
    [load]\nrequests = 2000\nrate_per_s = 50.0\nsize = { blocks = 1 }\n\
    [array]\nlevel = \"raid5\"\ndisks = 4\n\
    [disk]\nprofile = \"seagate-st3500630ns\"\n";

/// A plan that is stopped once this number of loads has been simulated, and how many were.
fn plan(stopped_after: usize) -> (Result<(), PlanError>, usize) {
    let targets: Vec<Objective> = vec!["mean < 30ms".parse().unwrap()];
    let overrides = Overrides::default();
    let spec = PlanSpec {
        find: None,
        within: 0.01,
        most: None,
        threads: 2,
        around: false,
        curve: false,
    };
    let mut simulated = 0;
    let stop = || overrides.stop.store(true, Relaxed);
    if stopped_after == 0 {
        stop();
    }
    let source = (SCENARIO, "s.toml".as_ref());
    let planned = plan_scenario(source, &overrides, &targets, &spec, &mut |_, _| {
        simulated += 1;
        if simulated == stopped_after {
            stop();
        }
    });
    (planned.map(|_| ()), simulated)
}

#[test]
fn a_plan_ends_at_the_load_at_which_it_is_stopped() {
    let (planned, all) = plan(usize::MAX);
    assert!(planned.is_ok() && all > 2, "{planned:?} {all}");
    for n in [0, 1] {
        let (planned, simulated) = plan(n);
        let interrupted = PlanError::Scenario(ScenarioError::Interrupted);
        let error = planned.unwrap_err();
        assert_eq!(error.to_string(), interrupted.to_string());
        assert_eq!(simulated, n);
    }
}

#[test]
fn a_scenario_is_watched_with_the_stop_that_it_was_read_with() {
    let overrides = Overrides::default();
    let prepared = Prepared::from_toml(SCENARIO, "s.toml".as_ref(), &overrides).unwrap();
    let watch = prepared.clone().with_replications(3).watch();
    assert!(!watch.stop.load(Relaxed));
    overrides.stop.store(true, Relaxed);
    assert!(watch.stop.load(Relaxed));
}
