//! Disks that fail or slow down during a run: `[[event]]`.

use std::path::Path;

use iosonar_scenario::theory::TheoryRemark;
use iosonar_scenario::{NoInterval, Overrides, Prepared, SimulationResult};

const SCENARIO: &str = "seed = 7\n\
    [load]\nrequests = 12000\narrivals = { poisson_per_s = 40.0 }\nsize = { blocks = 1 }\nread_share = 0.6\n\
    [array]\nlevel = \"raid6\"\ndisks = 6\nplacement = \"addressed\"\n\
    [disk]\nprofile = \"seagate-st3500630ns\"\n";

fn prepared(more: &str) -> Result<Prepared, String> {
    let text = format!("{SCENARIO}{more}");
    let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
    prepared.map_err(|error| error.to_string())
}

fn run(more: &str) -> SimulationResult {
    prepared(more).unwrap().run(1, None).unwrap()
}

#[test]
fn a_disk_that_fails_at_once_is_as_one_that_failed_before() {
    let before = {
        let text = SCENARIO.replace("disks = 6", "disks = 6\nfailed = [2]");
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        prepared.unwrap().run(1, None).unwrap()
    };
    let at_once = run("[[event]]\nat = '0s'\nfail = 2\n");
    assert_eq!(at_once.hash, before.hash);
    assert_eq!(at_once.response_time, before.response_time);
    assert_eq!(at_once.device_events.happened, 1);
    let late = run("[[event]]\nat = '20s'\nfail = 2\n");
    assert_ne!(late.hash, before.hash, "the disk works until then");
}

#[test]
fn what_does_not_happen_changes_nothing() {
    let plain = run("");
    let never = run("[[event]]\nat = '10h'\nfail = 2\n");
    assert_eq!(never.hash, plain.hash);
    let events = &never.device_events;
    assert_eq!(
        (events.planned, events.happened, events.missed()),
        (1, 0, 1)
    );
    assert_eq!(never.no_interval(), None, "the run is stationary");
}

#[test]
fn a_single_run_in_which_something_happens_has_no_interval() {
    let events = "[[event]]\nat = '20s'\nslow = { disk = 1, factor = 3, for = '30s' }\n\
                  [[event]]\nat = '50s'\nfail = 1\nnoticed_after = '2s'\n";
    let one = run(events);
    assert_eq!(one.no_interval(), Some(NoInterval::Events));
    assert!(one.sections.is_empty() && one.mean_ms.stderr.is_nan());
    assert!(run("").mean_ms.stderr > 0.0, "without events there is one");
    let several = prepared(events).unwrap().with_replications(5);
    let several = several.run(2, None).unwrap();
    assert!(several.mean_ms.stderr > 0.0);
    let of_all = &several.device_events;
    assert_eq!((of_all.planned, of_all.happened), (10, 10));
    // Whatever waits at the disk is planned again, and nothing fails.
    assert!(several.device_events.reissued > 0);
    assert_eq!(several.failed, 0);
    let on_one_thread = prepared(events).unwrap().with_replications(5);
    assert_eq!(on_one_thread.run(1, None).unwrap().hash, several.hash);
}

#[test]
fn a_failure_is_rebuilt_on_a_spare_from_then_on() {
    let result = run(
        "[rebuild]\nstripes_per_s = 5.0\n[[event]]\nat = '20s'\nfail = 1\nnoticed_after = '10s'\n",
    );
    let rebuild = result.rebuild[0];
    assert_eq!(rebuild.began.as_secs_f64(), 30.0);
    let seconds = result.measured_s() - 30.0;
    let expected = 5.0 * seconds;
    assert!(
        (rebuild.stripes as f64 - expected).abs() < 0.05 * expected,
        "{rebuild:?}"
    );
    // Six disks and the spare, which has work from then on only.
    assert_eq!(result.usage.len(), 7);
    assert!(result.usage[6].jobs_done >= rebuild.stripes);
}

#[test]
fn a_third_failure_of_raid_6_loses_data() {
    let fail = |at: u32, disk: u32| format!("[[event]]\nat = '{at}s'\nfail = {disk}\n");
    let two = run(&(fail(10, 0) + &fail(20, 1)));
    assert_eq!(two.failed, 0);
    let three = run(&(fail(10, 0) + &fail(20, 1) + &fail(30, 2)));
    assert!(three.failed > 0);
    assert_eq!(
        three.failed + three.response_time.count(),
        12_000,
        "each is counted once"
    );
}

#[test]
fn there_is_no_theory_for_it() {
    let theory = prepared("[[event]]\nat = '20s'\nfail = 1\n")
        .unwrap()
        .theory();
    assert_eq!(theory.remarks, [TheoryRemark::Events]);
    assert!(theory.response.is_none() && theory.capacity_per_s.is_none());
}

#[test]
fn explained_it_is_the_same_scenario() {
    let prepared = prepared(
        "[rebuild]\n[[event]]\nat = '90s'\nslow = { disk = 3, factor = 2.5, for = '1500ms' }\n\
         [[event]]\nat = '2min'\nfail = 3\nnoticed_after = '7s'\n",
    );
    let prepared = prepared.unwrap();
    let text = prepared.explain();
    let again = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default()).unwrap();
    assert_eq!(again.array().events, prepared.array().events);
    assert_eq!(again.explain(), text);
}

#[test]
fn what_cannot_be_is_refused() {
    for (more, expected) in [
        (
            "[[event]]\nat = 'soon'\nfail = 1\n",
            "x.toml:14: 'event.at' is 'soon', expected a time such as 30s, 1.5ms or 2h",
        ),
        (
            "[[event]]\nat = '1s'\nfail = 6\n",
            "x.toml:15: 'event.fail' is 6, expected a disk from 0 to 5",
        ),
        (
            "[[event]]\nat = '1s'\n",
            "each [[event]] needs either 'fail' or 'slow'",
        ),
        (
            "[[event]]\nat = '1s'\nfail = 1\nslow = { disk = 1, factor = 2, for = '1s' }\n",
            "each [[event]] needs either 'fail' or 'slow'",
        ),
        (
            "[[event]]\nat = '1s'\nslow = { disk = 1, factor = 0.5, for = '1s' }\n",
            "x.toml:15: 'event.slow.factor' is 0.5, expected a factor above 1, at most 1000000",
        ),
        (
            "[[event]]\nat = '1s'\nslow = { disk = 1, factor = nan, for = '1s' }\n",
            "'event.slow.factor' is NaN",
        ),
        (
            "[[event]]\nat = '1s'\nslow = { disk = 1, factor = 2, for = '0s' }\n",
            "'event.slow.for' is 0s, expected more than 0 s",
        ),
        (
            "[[event]]\nat = '1s'\nslow = { disk = 1, factor = 2, for = '1s' }\nnoticed_after = '1s'\n",
            "x.toml:16: 'event.noticed_after' is 1s, expected no value, as the key applies only to 'fail'",
        ),
        (
            "[[event]]\nat = '1s'\nfail = 1\n[[event]]\nat = '2s'\nfail = 1\n",
            "x.toml:18: 'event.fail' is 1, expected a disk that no other [[event]] fails",
        ),
        (
            "[[event]]\nat = '1s'\nslow = { disk = 1, factor = 2, for = '5s' }\n\
             [[event]]\nat = '5s'\nslow = { disk = 1, factor = 3, for = '5s' }\n",
            "x.toml:18: 'event.slow.disk' is 1, expected a disk that no other [[event]] slows down at the same time",
        ),
        (
            "[[event]]\nat = '1s'\nfails = 1\n",
            "x.toml:15: 'event.fails' is not a key, expected one of 'at', 'fail'",
        ),
        (
            "[rebuild]\n",
            "name it in 'array.failed', or in an [[event]] with 'fail'",
        ),
    ] {
        let error = prepared(more).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{more}\n{error}");
    }
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    let change = |from: &str, to: &str, more: &str| {
        let text = SCENARIO.replace(from, to) + more;
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        prepared
            .map(|_| ())
            .map_err(|error| error.to_string())
            .unwrap_err()
    };
    let event = "[[event]]\nat = '1s'\nfail = 1\n";
    let error = change("disks = 6", "disks = 6\nfailed = [1]", event);
    assert!(
        error.contains("'event.fail' is 1, expected a disk that is not listed in 'array.failed'"),
        "{error}"
    );
    let error = change("\"raid6\"", "\"raid0\"", &format!("[rebuild]\n{event}"));
    assert!(
        error.contains("[rebuild] needs a level with redundancy"),
        "{error}"
    );
    let error = change("{ poisson_per_s = 40.0 }", "\"alone\"", event);
    assert!(error.contains("which has no clock"), "{error}");
    let slow = "[[event]]\nat = '1s'\nslow = { disk = 1, factor = 2, for = '1s' }\n";
    let error = change(
        "[disk]\nprofile = \"seagate-st3500630ns\"",
        "[ssd]\nprofile = \"nvme-gen4-tlc\"",
        slow,
    );
    assert!(
        error.contains("with 'slow' supports only [disk]") || error.contains("profile"),
        "{error}"
    );
}

#[test]
fn the_spare_of_a_disk_that_fails_may_be_another_drive() {
    let other = "[[disk.other]]\ndisks = [6]\nprofile = \"hp-c2247a\"\n";
    let event = "[rebuild]\n[[event]]\nat = '1s'\nfail = 1\n";
    let with_spare = prepared(&format!("{other}{event}"));
    assert!(with_spare.is_ok(), "{:?}", with_spare.err());
    let error = prepared(other).map(|_| ()).unwrap_err();
    assert!(
        error.contains("disks from 0 to 5, each at most once"),
        "{error}"
    );
}

/// Devices of every kind can fail.
#[test]
fn an_ssd_fails_as_well() {
    let text = "[load]\nrequests = 2000\narrivals = { poisson_per_s = 4000.0 }\nsize = '8KiB'\nread_share = 0.5\n\
        [array]\nlevel = 'raid1'\ndisks = 2\n[ssd]\nprofile = 'nvme-gen4-tlc'\n\
        [[event]]\nat = '200ms'\nfail = 0\nnoticed_after = '50ms'\n";
    let prepared = Prepared::from_toml(text, Path::new("x.toml"), &Overrides::default()).unwrap();
    let result = prepared.run(1, None).unwrap();
    assert_eq!((result.response_time.count(), result.failed), (2000, 0));
    assert!(result.device_events.reissued > 0);
    assert!(result.response_time.moments.max().unwrap().as_secs_f64() >= 0.045);
}
