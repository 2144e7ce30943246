//! Whether a simulation has a result that does not depend on how long it runs.

use std::path::Path;

use iosonar_scenario::{NoSteadyState, Outputs, Overrides, Prepared, Watch};

fn disk(arrivals: &str) -> Prepared {
    let text = format!(
        "[load]\nrequests = 3_000\n{arrivals}\nsize = {{ blocks = 1 }}\n[array]\nlevel = \"raid0\"\ndisks = 1\n\
         [disk]\nprofile = \"seagate-st3500630ns\"\n"
    );
    Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default()).unwrap()
}

#[test]
fn what_can_only_grow_is_not_run() {
    let run = |of: &Prepared| of.run_steady(1, Outputs::default(), &Watch::default());
    let steady = disk("arrivals = { poisson_per_s = 10.0 }");
    assert_eq!(steady.check_stability(), Ok(None));
    assert!(run(&steady).unwrap().is_ok());
    let unstable = steady.at_rate(500.0);
    let why = run(&unstable).unwrap().unwrap_err();
    assert!(matches!(&why, NoSteadyState::Unstable(offered) if offered.lower > 1.0));
    assert!(
        why.to_string()
            .starts_with("unstable: the offered load of disk/0 is ")
    );
}

#[test]
fn a_pilot_estimates_how_long_runs_take_and_changes_nothing() {
    let closed = disk("closed = { outstanding = 4 }").with_replications(2);
    assert_eq!(closed.requests_of_all_runs(), Some(6_000));
    assert!(closed.estimate_duration().is_some());
    assert_eq!(closed.replications(), 2);
    assert_eq!(closed.load().requests(), Some(3_000));
}
