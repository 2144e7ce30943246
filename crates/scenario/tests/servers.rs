//! Devices whose services follow a law, against Pollaczek and Khinchine.

use std::fmt::Write;
use std::path::Path;

use iosonar_scenario::theory::{ServerRemark, Standing, TheoryRemark};
use iosonar_scenario::{Overrides, Prepared, ScenarioError, SimulationResult};

fn prepared(text: &str) -> Result<Prepared, ScenarioError> {
    Prepared::from_toml(text, Path::new("s.toml"), &Overrides::default())
}

fn scenario(array: &str, rate: f64, service: &str) -> String {
    format!(
        "replications = 20\nwarmup_requests = 2000\n[load]\nrequests = 50_000\nrate_per_s = {rate}\nsize = \"4KiB\"\n\
         [array]\n{array}\nstripe_unit = \"4KiB\"\n[device]\ncapacity = \"1GiB\"\nservice = {service}\n"
    )
}

fn run(text: &str) -> SimulationResult {
    prepared(text).unwrap().run(2, None).unwrap()
}

const ONE: &str = "level = \"jbod\"\ndisks = 1";

#[test]
fn one_server_is_a_queue_with_a_general_service() {
    // Half busy: the wait is (1 + cv^2) / 2 services of 5 ms.
    for (service, squared_cv) in [
        ("{ exponential_ms = 5.0 }", 1.0),
        ("{ constant_ms = 5.0 }", 0.0),
        ("{ gamma = { mean_ms = 5.0, cv = 2.0 } }", 4.0),
        ("{ log_normal = { mean_ms = 5.0, cv = 0.5 } }", 0.25),
        // Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1 of k = 2 is 4 / pi - 1.
        (
            "{ weibull = { mean_ms = 5.0, shape = 2.0 } }",
            4.0 / std::f64::consts::PI - 1.0,
        ),
        // 1 / (k (k - 2)) of k = 4.
        ("{ pareto = { mean_ms = 5.0, shape = 4.0 } }", 0.125),
    ] {
        let text = scenario(ONE, 100.0, service);
        let expected = 5.0 + 5.0 * f64::midpoint(1.0, squared_cv);
        let theory = prepared(&text).unwrap().theory();
        let answer = theory.response.expect("there is theory");
        assert_eq!(answer.standing, Standing::Exact);
        let found = answer.mean_ms();
        assert!(
            (found - expected).abs() < 1e-3,
            "{service}: {found}, not {expected}"
        );
        let result = run(&text).mean_ms;
        let off = (result.mean - expected).abs();
        assert!(
            off < 4.0 * result.stderr,
            "{service}: {result:?}, not {expected}"
        );
        assert!(result.stderr < 0.03 * expected, "{service}: {result:?}");
    }
}

#[test]
fn requests_that_choose_one_of_several_share_the_load() {
    let text = scenario(
        "level = \"raid0\"\ndisks = 4",
        400.0,
        "{ gamma = { mean_ms = 5.0, cv = 0.5 } }",
    );
    let expected = 5.0 + 5.0 * f64::midpoint(1.0, 0.25);
    let theory = prepared(&text).unwrap().theory();
    let answer = theory.response.expect("there is theory");
    assert!(
        (answer.mean_ms() - expected).abs() < 1e-3,
        "{}",
        answer.mean_ms()
    );
    assert_eq!(theory.capacity_per_s.map(f64::round), Some(800.0));
    let result = run(&text).mean_ms;
    assert!(
        (result.mean - expected).abs() < 4.0 * result.stderr,
        "{result:?}, not {expected}"
    );
}

#[test]
fn reads_are_exact_only_where_all_servers_have_as_much_data() {
    // 262,144 stripes: the parity comes round on four disks, and not on three.
    for (disks, standing) in [(3, Standing::Approximation), (4, Standing::Exact)] {
        let array = format!("level = \"raid5\"\ndisks = {disks}");
        let text = scenario(&array, 300.0, "{ constant_ms = 5.0 }");
        let answer = prepared(&text).unwrap().theory().response.unwrap();
        assert_eq!(answer.standing, standing, "{disks} disks");
        // Where it is not exact it is near.
        let result = run(&text).mean_ms;
        assert!(
            (result.mean - answer.mean_ms()).abs() < 4.0 * result.stderr,
            "{result:?}, not {}",
            answer.mean_ms()
        );
    }
}

#[test]
fn requests_to_all_have_exact_waits_but_no_response() {
    let text = scenario(
        "level = \"raid0\"\ndisks = 2",
        100.0,
        "{ constant_ms = 5.0 }",
    )
    .replace("size = \"4KiB\"", "size = \"8KiB\"\nblock = \"8KiB\"");
    let theory = prepared(&text).unwrap().theory();
    assert!(theory.response.is_none());
    assert_eq!(theory.remarks, [TheoryRemark::Server(ServerRemark::Join)]);
    assert_eq!(theory.stations[0].mean_wait_ms, 2.5);
    // All servers do the same at the same time, so that the response is that of one.
    let result = run(&text).mean_ms;
    assert!(
        (result.mean - 7.5).abs() < 4.0 * result.stderr,
        "{result:?}"
    );
}

#[test]
fn distributions_are_those_of_closed_forms() {
    // Of M/M/1 the response time is exponential.
    let text = scenario(ONE, 100.0, "{ exponential_ms = 5.0 }");
    let theory = prepared(&text).unwrap().theory();
    let (response, alone) = (theory.response.unwrap(), theory.alone.unwrap());
    assert_eq!(response.standing, Standing::Exact);
    assert!(theory.remarks.is_empty(), "{:?}", theory.remarks);
    for p in [0.1, 0.5, 0.9, 0.99, 0.999] {
        let of_mean_1 = -(1.0_f64 - p).ln();
        for (answer, mean) in [(&response, 10.0), (&alone, 5.0)] {
            let found = answer.quantile_ms(p);
            assert!(
                (found / (mean * of_mean_1) - 1.0).abs() < 1e-3,
                "{p}: {found}"
            );
        }
    }
    // Of M/D/1 (Erlang 1909): P(W <= t) = (1 - rho) exp(lambda t) for times shorter than a service.
    let text = scenario(ONE, 100.0, "{ constant_ms = 5.0 }");
    let response = prepared(&text).unwrap().theory().response.unwrap();
    for t in [1.0_f64, 2.5, 4.0] {
        let expected = 0.5 * (0.1 * t).exp();
        let found = response.within_ms(5.0 + t);
        assert!(
            (found - expected).abs() < 1e-3,
            "{t}: {found}, not {expected}"
        );
    }
    // A service that never waits has the quantiles of its law.
    let cv = 1.5_f64;
    let text = scenario(ONE, 10.0, "{ log_normal = { mean_ms = 5.0, cv = 1.5 } }");
    let alone = prepared(&text).unwrap().theory().alone.unwrap();
    let median = 5.0 / (1.0 + cv * cv).sqrt();
    assert!((alone.quantile_ms(0.5) - median).abs() < 5e-3);
    assert!((alone.mean_ms() - 5.0).abs() < 1e-5, "{}", alone.mean_ms());
}

#[test]
fn a_tail_that_is_too_long_for_a_distribution_leaves_the_mean() {
    let service = "{ pareto = { mean_ms = 5.0, shape = 2.5 } }";
    let theory = prepared(&scenario(ONE, 100.0, service)).unwrap().theory();
    let response = theory.response.unwrap();
    assert!(response.quantile_ms(0.5).is_nan() && response.mean_ms() > 5.0);
    assert_eq!(
        theory.remarks,
        [TheoryRemark::Server(ServerRemark::MeanOnly)]
    );
}

#[test]
fn users_who_wait_are_a_network_in_product_form_where_services_are_exponential() {
    let open = scenario(
        "level = \"raid0\"\ndisks = 2",
        100.0,
        "{ exponential_ms = 5.0 }",
    );
    let closed = |think: &str| format!("closed = {{ outstanding = 6, think = {think} }}");
    for think in ["{ exponential_ms = 8.0 }", "{ constant_ms = 8.0 }"] {
        let text = open.replace("rate_per_s = 100", &closed(think));
        let theory = prepared(&text).unwrap().theory();
        let answer = theory.response.unwrap();
        assert_eq!(answer.standing, Standing::Exact, "{think}");
        // Mean value analysis: R(n) = 2 * D * (1 + Q(n - 1)), X(n) = n / (Z + R(n)), Q(n) = X(n) * R(n) / 2.
        let (mut queue, mut response) = (0.0, 0.0);
        for n in 1..=6 {
            response = 5.0 * (1.0 + queue);
            queue = f64::from(n) / (8.0 + response) * response / 2.0;
        }
        assert!((answer.mean_ms() - response).abs() < 1e-9);
        let result = run(&text).mean_ms;
        assert!(
            (result.mean - response).abs() < 4.0 * result.stderr,
            "{think}: {result:?}, not {response}"
        );
    }
    let regular = open
        .replace("rate_per_s = 100", &closed("{ exponential_ms = 8.0 }"))
        .replace("exponential_ms = 5.0", "constant_ms = 5.0");
    let theory = prepared(&regular).unwrap().theory();
    let answer = theory.response.unwrap();
    assert_eq!(answer.standing, Standing::Approximation);
    assert_eq!(theory.remarks, [TheoryRemark::LessVariable]);
    assert!(run(&regular).mean_ms.mean < answer.mean_ms());
}

#[test]
fn theory_says_nothing_where_it_does_not_hold() {
    let good = scenario(
        "level = \"raid10\"\ndisks = 4",
        100.0,
        "{ constant_ms = 5.0 }",
    );
    assert!(prepared(&good).unwrap().theory().response.is_some());
    for change in [
        (
            "rate_per_s = 100",
            "arrivals = { gamma = { per_s = 100.0, cv = 2.0 } }\n# ",
        ),
        ("disks = 4", "disks = 4\nmirror_read = \"shorter-queue\""),
        ("disks = 4", "disks = 4\nfailed = [1]"),
        ("disks = 4", "disks = 4\nmode = \"split-merge\""),
        ("size =", "batch = { requests = 2 }\nsize ="),
        ("size =", "read_share = 0.5\nsize ="),
        ("size =", "addresses = { zipf = 0.9 }\nsize ="),
    ] {
        let text = good.replace(change.0, change.1);
        assert_ne!(text, good);
        let theory = prepared(&text).expect(&text).theory();
        assert!(theory.response.is_none(), "{change:?}");
        assert_eq!(
            theory.remarks,
            [TheoryRemark::Server(ServerRemark::Load)],
            "{change:?}"
        );
    }
    let heavy = scenario(ONE, 100.0, "{ pareto = { mean_ms = 5.0, shape = 1.5 } }");
    let theory = prepared(&heavy).unwrap().theory();
    assert_eq!(
        (theory.response.is_none(), theory.remarks),
        (
            true,
            vec![TheoryRemark::Server(ServerRemark::InfiniteVariance)]
        )
    );
}

#[test]
fn a_server_with_too_much_to_do_is_unstable() {
    let text = scenario(ONE, 210.0, "{ gamma = { mean_ms = 5.0, cv = 2.0 } }");
    let prepared = prepared(&text).unwrap();
    assert!((prepared.theory().unstable.unwrap() - 1.05).abs() < 1e-6);
    let unstable = prepared
        .check_stability()
        .expect_err("it is offered too much");
    assert!(unstable.to_string().contains("device/0"), "{unstable}");
}

#[test]
fn latencies_of_a_recording_are_services() {
    let folder = std::env::temp_dir().join(format!("iosonar-servers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut csv = String::from("start_s,sector,sectors,op,latency_ms\n");
    for (i, latency) in [2.0, 4.0, 6.0].iter().cycle().take(30).enumerate() {
        let _ = writeln!(csv, "{i}.0,0,8,R,{latency}");
    }
    std::fs::write(folder.join("alone.csv"), csv).unwrap();
    let text = scenario(ONE, 125.0, "{ empirical = { trace = \"alone.csv\" } }");
    let path = folder.join("s.toml");
    std::fs::write(&path, &text).unwrap();
    let simulation = Prepared::read(&path, &Overrides::default()).unwrap();
    // Half busy, E[S^2] = 56 / 3: 0.125 * 56 / 3 / (2 * 0.5).
    let expected = 4.0 + 0.125 * 56.0 / 3.0;
    let answer = simulation.theory().response.unwrap();
    assert!(
        (answer.mean_ms() - expected).abs() < 1e-3,
        "{}",
        answer.mean_ms()
    );
    let result = simulation.run(2, None).unwrap().mean_ms;
    assert!(
        (result.mean - expected).abs() < 4.0 * result.stderr,
        "{result:?}, not {expected}"
    );
    let explained = folder.join("explained.toml");
    std::fs::write(&explained, simulation.explain()).unwrap();
    let again = Prepared::read(&explained, &Overrides::default()).unwrap();
    assert_eq!(
        again.run(1, None).unwrap().hash,
        simulation.run(2, None).unwrap().hash
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_services_are_refused_with_their_line() {
    let good = scenario(ONE, 100.0, "{ exponential_ms = 5.0 }");
    for (service, message) in [
        (
            "{ exponential_ms = -5.0 }",
            "s.toml:13: 'device.service' is exponential_ms = -5.0, expected a mean of 0 to 1e9 ms",
        ),
        (
            "{ constant_ms = 0.0 }",
            "'device.service' is no time, expected a mean of at least 1e-6 ms",
        ),
        (
            "{ gamma = { mean_ms = 5.0, cv = -1.0 } }",
            "'device.service' is cv = -1",
        ),
        ("{ normal = { mean_ms = 5.0 } }", "'device.service"),
        ("5.0", "'device.service'"),
        (
            "{ exponential_ms = 5.0 }\nmodel = \"flash\"",
            "[device] has both 'service' and 'model'",
        ),
        (
            "{ exponential_ms = 5.0 }\noptions = { a = 1 }",
            "'device.options' apply only to registered models",
        ),
    ] {
        let text = good.replace("{ exponential_ms = 5.0 }", service);
        let error = prepared(&text).expect_err(&text).to_string();
        assert!(error.contains(message), "{error}\ninstead of\n{message}");
    }
    let neither = good.replace("service = { exponential_ms = 5.0 }\n", "");
    let error = prepared(&neither).unwrap_err().to_string();
    assert!(
        error.contains("[device] has neither 'service' nor 'model'"),
        "{error}"
    );
}
