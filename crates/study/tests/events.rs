//! Planning with disks that fail during a run.

use std::path::Path;

use iosonar_scenario::Overrides;
use iosonar_study::plan::{Find, PlanSpec, plan_scenario};

const SCENARIO: &str = "[load]\nrequests = 500\narrivals = { poisson_per_s = 40.0 }\nsize = { blocks = 1 }\n\
    [array]\nlevel = \"raid6\"\ndisks = 6\nplacement = \"addressed\"\n\
    [disk]\nprofile = \"seagate-st3500630ns\"\n";

fn plan(more: &str, find: Option<Find>) -> Result<(), String> {
    let targets = ["mean < 200ms".parse().unwrap()];
    let spec = PlanSpec {
        find,
        most: Some(7),
        within: 0.1,
        threads: 1,
        around: false,
        curve: false,
    };
    let (text, path) = (format!("{SCENARIO}{more}"), Path::new("x.toml"));
    let overrides = Overrides::default();
    let plan = plan_scenario((&text, path), &overrides, &targets, &spec, &mut |_, _| ());
    plan.map(|_| ()).map_err(|error| error.to_string())
}

/// At a lower rate the same requests take longer, and less of the run is after the failure.
#[test]
fn the_highest_rate_with_a_failure_at_a_time_is_refused() {
    let event = "[[event]]\nat = \"2s\"\nfail = 1\n";
    let error = plan(event, None).unwrap_err();
    assert!(
        error.contains("[[event]] happens at a fixed time"),
        "{error}"
    );
    // The number of disks does not change that.
    assert_eq!(plan(event, Some(Find::Disks)), Ok(()));
    assert_eq!(plan("", None), Ok(()));
}
