//! Whether a simulation has a result that does not depend on how long it runs.

use std::path::Path;

use iosonar_scenario::{
    NoInterval, NoSteadyState, NotSteady, Outputs, Overrides, Prepared, Stability, Watch,
};
use iosonar_stats::Metric;
use iosonar_stats::metric::Measure;

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

/// A scenario that is run as it is, and why its result depends on how long that took.
fn not_steady(text: &str) -> Option<NotSteady> {
    let simulation = Prepared::from_toml(text, Path::new("x.toml"), &Overrides::default()).unwrap();
    let result = simulation.run(1, None).unwrap();
    simulation.not_steady(&result)
}

#[test]
fn a_run_is_long_enough_by_its_offered_load() {
    let of = |rate: f64, requests: u64| {
        not_steady(&format!(
            "[load]\nrequests = {requests}\nrate_per_s = {rate}\nsize = \"4KiB\"\n[array]\nlevel = \"raid0\"\n\
             disks = 1\n[device]\ncapacity = \"1TB\"\nservice = {{ exponential_ms = 10.0 }}\n"
        ))
    };
    // 100 / (1 - rho)^2 requests.
    assert_eq!(of(50.0, 20_000), None);
    assert_eq!(of(90.0, 10_001), None);
    for (rate, needed) in [(90.0, 10_000), (99.0, 1_000_000)] {
        match of(rate, needed - 100) {
            Some(NotSteady::NearSaturation {
                offered,
                requests: Some(requests),
                warmup: Some(warmup),
            }) => {
                assert!((5 * warmup).abs_diff(needed) <= 5, "{warmup}");
                assert!((offered - rate / 100.0).abs() < 1e-9, "{offered}");
                assert!(requests.abs_diff(needed) <= 1, "{requests}");
            }
            other => panic!("{rate}: {other:?}"),
        }
    }
    assert!(matches!(of(101.0, 2_000), Some(NotSteady::Unstable { .. })));
    // Runs of more than 10^10 requests are not advised.
    let endless = of(99.9999, 2_000);
    let no_advice = matches!(
        endless,
        Some(NotSteady::NearSaturation { requests: None, .. })
    );
    assert!(no_advice, "{endless:?}");
}

#[test]
fn replications_that_begin_in_the_steady_state_may_be_short() {
    let of = |replications: u32, warmup: u64| {
        not_steady(&format!(
            "replications = {replications}\nwarmup_requests = {warmup}\n[load]\nrequests = 1000\nrate_per_s = 90.0\n\
             size = \"4KiB\"\n[array]\nlevel = \"raid0\"\ndisks = 1\n[device]\ncapacity = \"1TB\"\n\
             service = {{ exponential_ms = 10.0 }}\n"
        ))
    };
    // 20 / (1 - rho)^2 requests.
    assert_eq!(of(5, 2_001), None);
    assert!(of(5, 1_900).is_some());
    assert!(of(1, 2_001).is_some());
}

#[test]
fn a_result_that_is_not_steady_has_errors_of_rates_alone() {
    let of = |rate: f64| {
        let text = format!(
            "replications = 5\n[load]\nrequests = 2000\nrate_per_s = {rate}\nsize = \"4KiB\"\n[array]\n\
             level = \"raid0\"\ndisks = 1\n[device]\ncapacity = \"1TB\"\nservice = {{ exponential_ms = 10.0 }}\n"
        );
        let simulation = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        let simulation = simulation.unwrap();
        let result = simulation.run(1, None).unwrap();
        let not_steady = simulation.not_steady(&result);
        let result = result.assessed(not_steady);
        (result.metrics("x", &simulation), result.no_interval())
    };
    let (steady, no_interval) = of(50.0);
    let has_error = |of: &Metric| match &of.measure {
        Measure::Times(times) => {
            let errors = times.errors.as_ref();
            let quantiles = errors.and_then(|of| of.quantile_intervals_95.as_ref());
            times.stderr.is_some()
                || !times.quantile_stderrs.is_empty()
                || errors.is_some_and(|of| of.sd_stderr.is_some() || of.interval_95.is_some())
                || quantiles.is_some_and(|of| !of.is_empty())
        }
        Measure::Figure { stderr, .. } => stderr.is_finite(),
        _ => false,
    };
    let with_errors = |metrics: &[Metric]| -> Vec<String> {
        let all = metrics.iter().filter(|of| has_error(of));
        all.map(|of| of.name.to_string()).collect()
    };
    let rates = ["utilisation", "busy", "throughput", "megabytes_per_second"];
    let of_steady = with_errors(&steady);
    for name in rates
        .iter()
        .chain(&["response_time", "queue_length", "number_in_system"])
    {
        assert!(
            of_steady.iter().any(|of| of == name),
            "{name}: {of_steady:?}"
        );
    }
    assert_eq!(no_interval, None);
    let (unsteady, no_interval) = of(95.0);
    assert!(matches!(
        no_interval,
        Some(NoInterval::NotSteady(NotSteady::NearSaturation { .. }))
    ));
    assert_eq!(with_errors(&unsteady), rates);
}

#[test]
fn a_cache_that_still_fills_is_not_steady() {
    let of = |rate: f64, requests: u64, cache: &str| {
        not_steady(&format!(
            "[load]\nrequests = {requests}\nrate_per_s = {rate}\nsize = \"4KiB\"\nread_share = 0.0\n[array]\n\
             level = \"raid5\"\ndisks = 4\n[controller]\ncache = \"{cache}\"\n[disk]\n\
             profile = \"seagate-st3500630ns\"\n"
        ))
    };
    // The disks sustain about 73 writes per second.
    assert_eq!(of(20.0, 20_000, "1MiB"), None);
    for cache in ["256MiB", "10GiB"] {
        let fills = of(103.1, 20_000, cache);
        assert!(
            matches!(fills, Some(NotSteady::CacheFills { share }) if share > 0.3),
            "{cache}: {fills:?}"
        );
    }
    assert!(of(103.1, 20_000, "1MiB").is_some(), "it is full");
}

#[test]
fn a_cache_that_is_full_early_has_hidden_the_disk_from_the_writes_before() {
    let of = |requests: u64, warmup: u64| {
        not_steady(&format!(
            "warmup_requests = {warmup}\n[load]\nrequests = {requests}\nclosed = {{ outstanding = 1, think_ms = 0.0 }}\n\
             size = \"4KiB\"\nread_share = 0.0\n[array]\nlevel = \"raid0\"\ndisks = 1\n[controller]\n\
             cache = \"2MiB\"\n[device]\ncapacity = \"1TB\"\nservice = {{ exponential_ms = 10.0 }}\n"
        ))
    };
    // 512 writes fill the cache; the others take 10 ms on average.
    for requests in [1_000, 1_300, 2_000, 4_000, 9_000] {
        let fills = of(requests, 0);
        assert!(
            matches!(fills, Some(NotSteady::CacheFills { .. })),
            "{requests}: {fills:?}"
        );
    }
    assert_eq!(of(20_000, 0), None, "under 5 %");
    assert_eq!(of(1_300, 600), None);
}

#[test]
fn a_cache_that_is_emptied_now_and_then_is_steady_whatever_it_holds_at_the_end() {
    let of = |requests: u64, read_share: f64| {
        not_steady(&format!(
            "[load]\nrequests = {requests}\nrate_per_s = 20.0\nsize = \"4KiB\"\nread_share = {read_share}\n[array]\n\
             level = \"raid5\"\ndisks = 4\n[controller]\ncache = \"2MiB\"\ndestage_above = 0.9\n\
             destage_below = 0.1\n[disk]\nprofile = \"seagate-st3500630ns\"\n"
        ))
    };
    // Emptied after every 410 writes or so: the window ends anywhere within that.
    for requests in (2_000..4_000).step_by(100) {
        assert_eq!(of(requests, 0.0), None, "{requests}");
    }
    // Before it is emptied for the first time, no write has waited for a disk.
    for few in [of(400, 0.0), of(1_000, 0.95)] {
        assert!(matches!(few, Some(NotSteady::CacheFills { .. })), "{few:?}");
    }
    // What ten writes leave behind says nothing.
    assert_eq!(of(1_000, 0.99), None);
}

#[test]
fn requests_in_service_at_the_end_of_a_short_run_are_no_queue_that_grows() {
    let of = |disks: u32, rate: f64| {
        not_steady(&format!(
            "[load]\nrequests = 1000\nrate_per_s = {rate}\nsize = \"4KiB\"\n[array]\nlevel = \"jbod\"\n\
             disks = {disks}\n[device]\ncapacity = \"1TB\"\nservice = {{ constant_ms = 20.0 }}\n"
        ))
    };
    let grows = |of| matches!(of, Some(NotSteady::QueueGrows { .. }));
    // 400 devices at half of what they can do: some are always busy in the tenth of a second that this takes.
    assert!(!grows(of(400, 10_000.0)));
    assert!(grows(of(4, 10_000.0)));
}

#[test]
fn the_busiest_of_many_devices_is_not_the_one_with_the_largest_error() {
    let of = |rate: f64| {
        let text = format!(
            "[load]\nrequests = 1000\nrate_per_s = {rate}\nsize = \"4KiB\"\n[array]\nlevel = \"jbod\"\n\
             disks = 400\n[device]\ncapacity = \"1TB\"\nservice = {{ constant_ms = 20.0 }}\n"
        );
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        prepared.unwrap().busiest().unwrap()
    };
    // 400 requests for each device: a standard error of 5 %.
    let (offered, stability) = of(10_000.0);
    assert!((offered.upper - 0.5).abs() < 0.1, "{offered:?}");
    assert_eq!(stability, Stability::Stable);
    assert_eq!(of(26_000.0).1, Stability::Unstable);
}

#[test]
fn a_station_that_is_certainly_overloaded_is_found_beside_one_that_may_be_busier() {
    let of = |host_mb_per_s: f64| {
        let text = format!(
            "[load]\nrequests = 1000\nrate_per_s = 30.0\nsize = \"4KiB\"\nread_share = 0.0\n[array]\n\
             level = \"raid5\"\ndisks = 4\n[controller]\nhost_mb_per_s = {host_mb_per_s}\n[disk]\n\
             profile = \"seagate-st3500630ns\"\n"
        );
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        prepared.unwrap().busiest().unwrap()
    };
    // Partial-stripe writes may or may not wait for full turns.
    let (disks, stability) = of(1000.0);
    assert!(disks.station.starts_with("disk/"), "{disks:?}");
    assert_eq!(stability, Stability::Stable);
    let (link, stability) = of(0.1);
    assert!((link.lower - 1.2288).abs() < 1e-9, "{link:?}");
    assert_eq!(stability, Stability::Unstable);
}
