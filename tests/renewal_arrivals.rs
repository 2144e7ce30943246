//! Arrivals with independent intervals from laws other than the exponential one, and from recordings.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, hash, iosonar, out, sim};

const REQUESTS: usize = 20_000;

fn scenario(arrivals: &str) -> String {
    format!(
        "seed = 3\n[load]\nrequests = {REQUESTS}\narrivals = {arrivals}\nsize = {{ blocks = 1 }}\n\
         [array]\nlevel = 'raid0'\ndisks = 8\n[disk]\nprofile = 'seagate-st3500630ns'\n"
    )
}

/// Times between the requests of a simulation, in milliseconds.
fn intervals(scratch: &Scratch, scenario: &Path) -> Vec<f64> {
    let records = scratch.path("records.csv");
    let run = sim(scenario, &["-q", "--records", records.to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    let text = std::fs::read_to_string(&records).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let column = (lines.next().unwrap().split(','))
        .position(|name| name == "time_ns")
        .unwrap();
    let start = |line: &str| line.split(',').nth(column).unwrap().parse::<u64>().unwrap();
    let mut starts: Vec<u64> = lines.map(start).collect();
    starts.sort_unstable();
    let pairs = starts.windows(2);
    pairs.map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect()
}

/// The mean, and the standard deviation divided by it.
fn mean_and_cv(times: &[f64]) -> (f64, f64) {
    let n = times.len() as f64;
    let mean = times.iter().sum::<f64>() / n;
    let variance = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt() / mean)
}

#[test]
fn requests_come_at_the_rate_and_as_irregularly_as_the_scenario_says() {
    let scratch = Scratch::new();
    // The coefficients of variation of Weibull and of the cut laws are those of scipy.stats 1.17.
    for (arrivals, cv) in [
        ("{ gamma = { per_s = 100.0, cv = 2.0 } }", Some(2.0)),
        ("{ gamma = { per_s = 100.0, cv = 0.3 } }", Some(0.3)),
        ("{ log_normal = { per_s = 100.0, cv = 1.2 } }", Some(1.2)),
        (
            "{ weibull = { per_s = 100.0, shape = 0.7 } }",
            Some(1.462_2),
        ),
        ("{ pareto = { per_s = 100.0, shape = 2.5 } }", None),
        (
            "{ log_normal = { per_s = 100.0, cv = 3.0, at_least_ms = 1.0, at_most_ms = 50.0 } }",
            None,
        ),
    ] {
        let times = intervals(&scratch, &scratch.file("s.toml", scenario(arrivals)));
        let (mean, found) = mean_and_cv(&times);
        let error = mean * found / (REQUESTS as f64).sqrt();
        assert!(
            (mean - 10.0).abs() < 4.0 * error,
            "{arrivals}: {mean}, {error}"
        );
        if let Some(cv) = cv {
            assert!((found / cv - 1.0).abs() < 0.1, "{arrivals}: {found}");
        }
        if arrivals.contains("at_most_ms") {
            assert!(times.iter().all(|t| (1.0..=50.0).contains(t)), "{arrivals}");
        }
    }
}

#[test]
fn intervals_of_a_recording_are_drawn_as_they_are() {
    let scratch = Scratch::new();
    // 4 ms and 20 ms in turn.
    let rows: String = (0..200)
        .map(|i| {
            format!(
                "{},{},8,read\n",
                f64::from(i / 2 * 24 + i % 2 * 4) / 1e3,
                i * 8
            )
        })
        .collect();
    scratch.file("twice.csv", format!("time_s,sector,sectors,op\n{rows}"));
    let same = scratch.file(
        "s.toml",
        scenario("{ empirical = { trace = 'twice.csv' } }"),
    );
    let times = intervals(&scratch, &same);
    let short = times.iter().filter(|t| (**t - 4.0).abs() < 1e-9).count();
    let long = times.iter().filter(|t| (**t - 20.0).abs() < 1e-9).count();
    assert_eq!(short + long, times.len());
    // 100 of the 199 are short.
    let error = (REQUESTS as f64 * 0.25).sqrt();
    let expected = times.len() as f64 * 100.0 / 199.0;
    assert!((short as f64 - expected).abs() < 4.0 * error, "{short}");

    let faster = scenario("{ empirical = { trace = 'twice.csv', per_s = 200.0 } }");
    let (mean, _) = mean_and_cv(&intervals(&scratch, &scratch.file("f.toml", faster)));
    assert!((mean - 5.0).abs() < 0.1, "{mean}");

    let none = scratch.file("n.toml", scenario("{ empirical = { trace = 'no.csv' } }"));
    let refused = sim(&none, &[]);
    assert!(!refused.status.success());
    assert!(err(&refused).contains("no.csv"), "{}", err(&refused));
}

#[test]
fn what_is_explained_is_the_same_load() {
    let scratch = Scratch::new();
    scratch.file(
        "t.csv",
        "time_s,sector,sectors,op\n0,0,8,read\n1,0,8,read\n4,0,8,read\n",
    );
    for arrivals in [
        "{ gamma = { per_s = 7.5, cv = 2.0 } }",
        "{ log_normal = { per_s = 100.0, cv = 1.2, at_most_ms = 80.0 } }",
        "{ weibull = { per_s = 100.0, shape = 0.7, at_least_ms = 0.5 } }",
        "{ pareto = { per_s = 100.0, shape = 2.5 } }",
        "{ empirical = { trace = 't.csv', per_s = 33.0 } }",
    ] {
        let text = scenario(arrivals).replace(&REQUESTS.to_string(), "500");
        let file = scratch.file("s.toml", text);
        let explained = sim(&file, &["--explain"]);
        let again = scratch.file("again.toml", out(&explained));
        assert_eq!(
            hash(&sim(&again, &[])),
            hash(&sim(&file, &[])),
            "{arrivals}"
        );
        let threads = sim(&file, &["--threads", "1"]);
        assert_eq!(hash(&threads), hash(&sim(&file, &["--threads", "2"])));
    }
}

#[test]
fn laws_that_cannot_be_are_refused() {
    let scratch = Scratch::new();
    for (arrivals, named) in [
        ("{ gamma = { per_s = 100.0, cv = 0.0 } }", "cv = 0"),
        ("{ gamma = { per_s = -1.0, cv = 1.0 } }", "per_s = -1"),
        ("{ gamma = { per_s = 100.0 } }", "cv"),
        ("{ pareto = { per_s = 100.0, shape = 1.0 } }", "shape = 1"),
        (
            "{ weibull = { per_s = 100.0, shape = 0.1 } }",
            "shape = 0.1",
        ),
        (
            "{ gamma = { per_s = 100.0, cv = 1.0, at_most_ms = 9.0 } }",
            "cannot have the mean 10 ms",
        ),
        (
            "{ gamma = { per_s = 100.0, cv = 1.0, at_least_ms = -1.0 } }",
            "at_least_ms = -1",
        ),
        (
            "{ log_normal = { per_s = 100.0, cv = 1.0, at_least_ms = 20.0, at_most_ms = 5.0 } }",
            "times from 20 ms to 5 ms",
        ),
    ] {
        let refused = sim(&scratch.file("s.toml", scenario(arrivals)), &[]);
        assert_eq!(refused.status.code(), Some(2), "{arrivals}");
        assert!(
            err(&refused).contains(named),
            "{arrivals}: {}",
            err(&refused)
        );
        assert!(err(&refused).contains("s.toml"), "{}", err(&refused));
    }
}

#[test]
fn theory_has_no_waits_for_them_and_says_why() {
    let scratch = Scratch::new();
    let answer = |arrivals: &str| {
        let text = scenario(arrivals).replace("disks = 8", "disks = 1");
        let file = scratch.file("m.toml", text);
        let run = iosonar().arg("model").arg(file).output().unwrap();
        assert!(run.status.success(), "{}", err(&run));
        out(&run) + &err(&run)
    };
    let poisson = answer("{ poisson_per_s = 20.0 }");
    let gamma = answer("{ gamma = { per_s = 20.0, cv = 2.0 } }");
    let has_reason = |text: &str| text.contains("Poisson");
    assert!(has_reason(&gamma), "{gamma}");
    assert!(!has_reason(&poisson), "{poisson}");
}

#[test]
fn no_output_replaces_the_recording_of_a_law() {
    let scratch = Scratch::new();
    let recording = "time_ns,op,offset_bytes,length_bytes,latency_ns\n0,read,0,4096,100\n5000000,read,0,4096,300\n";
    let trace = scratch.file("recorded.csv", recording);
    let empirical = "{ empirical = { trace = 'recorded.csv' } }";
    let served = format!(
        "[load]\nrate_per_s = 10\nrequests = 100\nsize = '4KiB'\n[array]\nlevel = 'jbod'\ndisks = 1\n[device]\n\
         capacity = '1GiB'\nservice = {empirical}\n"
    );
    let laws = [scenario(empirical), served];
    let out_of = trace.to_str().unwrap();
    for text in &laws {
        let file = scratch.file("s.toml", text);
        let fine = sim(&file, &["-q"]);
        assert!(fine.status.success(), "{}", err(&fine));
        for option in ["--records", "--cdf-data", "--stages", "--load-out"] {
            let run = sim(&file, &["-q", option, out_of]);
            assert_eq!(run.status.code(), Some(2), "{option}: {}", err(&run));
            assert!(err(&run).contains("E010"), "{option}: {}", err(&run));
            assert_eq!(std::fs::read_to_string(&trace).unwrap(), recording);
        }
        let vary = ["-q", "--vary", "array.disks=1..2", "--csv", out_of];
        let run = sim(&file, &vary);
        assert!(err(&run).contains("E010"), "{}", err(&run));
        let model = iosonar()
            .args(["model", file.to_str().unwrap(), "--csv", out_of])
            .output();
        assert!(err(&model.unwrap()).contains("E010"));
        assert_eq!(std::fs::read_to_string(&trace).unwrap(), recording);
    }
}
