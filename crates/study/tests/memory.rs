//! Plans whose search ends where memory does.

use std::path::Path;

use iosonar_analysis::objective::Objectives;
use iosonar_scenario::{Overrides, ScenarioError};
use iosonar_study::plan::{Bound, Find, PlanError, PlanSpec, plan_scenario};
use iosonar_units::Bytes;

#[test]
fn memory_bounds_the_disks_that_are_tried_and_says_so() {
    let text = "[load]\nrequests = 200\narrivals = { poisson_per_s = 10.0 }\nsize = \"4KiB\"\n\
                [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n";
    let plan = |target: &str, disks: u64, most: u32| {
        let overrides = Overrides {
            memory: Bytes::new(disks * 8192),
            ..Overrides::default()
        };
        let spec = PlanSpec {
            find: Some(Find::Disks),
            within: 0.1,
            most: Some(most),
            threads: 1,
            around: false,
            curve: false,
        };
        let targets: Objectives = target.parse().unwrap();
        let source = (text, Path::new("x.toml"));
        plan_scenario(source, &overrides, &targets.0, &spec, &mut |_, _| ())
            .map(|(_, answer)| (answer.found.bound, answer.found.best.map(|best| best.load)))
    };
    // No number of disks is fast enough.
    let never = "mean < 1us";
    assert_eq!(plan(never, 3, 4).unwrap(), (Some(Bound::Memory), None));
    assert_eq!(plan(never, 4, 4).unwrap(), (Some(Bound::Number), None));
    // One is, whatever memory there is for more.
    assert_eq!(plan("mean < 1s", 3, 4).unwrap(), (None, Some(1.0)));
    let base = plan(never, 1, 4).unwrap_err();
    assert!(
        matches!(base, PlanError::Scenario(ScenarioError::NeedsMemory(_))),
        "{base}"
    );
}
