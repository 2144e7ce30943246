//! Think times of closed loads from laws other than the exponential one, and from recordings.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use iosonar_scenario::theory::TheoryRemark;
use iosonar_scenario::{Overrides, Prepared, ScenarioError};

/// A recording in which users think for 4 ms and 16 ms in turn.
fn recording() -> &'static Path {
    // Tests read it at the same time.
    static WRITTEN: LazyLock<PathBuf> = LazyLock::new(write_recording);
    &WRITTEN
}

fn write_recording() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let rows: String = (0..200)
        .map(|i| format!("{},{},8,read,{}\n", i * 30, i * 8, [4, 16][i % 2]))
        .collect();
    let path = folder.join("thinking.csv");
    std::fs::write(&path, format!("time_ms,sector,sectors,op,think_ms\n{rows}")).unwrap();
    std::fs::write(
        folder.join("open.csv"),
        "time_ms,sector,sectors,op\n0,0,8,read\n9,0,8,read\n",
    )
    .unwrap();
    folder.join("scenario.toml")
}

fn read(closed: &str) -> Result<Prepared, ScenarioError> {
    let text = format!(
        "seed = 3\nreplications = 5\nwarmup_requests = 500\n[load]\nrequests = 8000\nclosed = {closed}\n\
         size = {{ blocks = 1 }}\n[array]\nlevel = \"raid0\"\ndisks = 2\nplacement = \"random\"\n\
         stripe_unit = \"128KiB\"\n[disk]\nprofile = \"seagate-st3500630ns\"\n"
    );
    Prepared::from_toml(&text, recording(), &Overrides::default())
}

/// Laws with a mean of 10 ms.
const LAWS: [&str; 9] = [
    "think_ms = 10.0",
    "think = { exponential_ms = 10.0 }",
    "think = { constant_ms = 10.0 }",
    "think = { gamma = { mean_ms = 10.0, cv = 2.0 } }",
    "think = { log_normal = { mean_ms = 10.0, cv = 0.5 } }",
    "think = { weibull = { mean_ms = 10.0, shape = 0.7, at_most_ms = 200.0 } }",
    "think = { pareto = { mean_ms = 10.0, shape = 2.5 } }",
    "think = { empirical = { trace = \"thinking.csv\" } }",
    "think = { empirical = { trace = \"open.csv\", mean_ms = 10.0 } }",
];

fn laws() -> impl Iterator<Item = (&'static str, String)> {
    let known = LAWS[..8].iter();
    known.map(|law| (*law, format!("{{ outstanding = 4, {law} }}")))
}

#[test]
fn what_is_explained_is_the_same_load() {
    let mut hashes = Vec::new();
    for (law, closed) in laws() {
        let prepared = read(&closed).unwrap();
        let text = prepared.explain();
        let again = Prepared::from_toml(&text, recording(), &Overrides::default()).unwrap();
        assert_eq!(again.explain(), text, "{law}");
        let hash = prepared.run(2, None).unwrap().hash;
        assert_eq!(again.run(1, None).unwrap().hash, hash, "{law}");
        hashes.push(hash);
    }
    // The two ways of writing an exponential law are the same, all others differ.
    assert_eq!(hashes[0], hashes[1]);
    for (i, hash) in hashes.iter().enumerate().skip(1) {
        assert!(!hashes[i + 1..].contains(hash), "{}", LAWS[i]);
    }
}

#[test]
fn theory_needs_only_the_mean() {
    let exponential = read("{ outstanding = 4, think_ms = 10.0 }")
        .unwrap()
        .theory();
    let expected = exponential.response.unwrap().mean_ms();
    for (law, closed) in laws() {
        let prepared = read(&closed).unwrap();
        let theory = prepared.theory();
        let mean = theory.response.unwrap().mean_ms();
        // The mean of a law of whole nanoseconds is not quite 10 ms.
        assert!(
            (mean / expected - 1.0).abs() < 1e-6,
            "{law}: {mean}, {expected}"
        );
        let is_exponential = law.contains("think_ms") || law.contains("exponential");
        let said = theory.remarks.contains(&TheoryRemark::AnyThinkTimes);
        assert_eq!(said, !is_exponential, "{law}");
        // Services of disks are less variable than exponential ones, so it is an approximation.
        let seen = prepared.run(2, None).unwrap().mean_ms;
        let (low, high) = (
            theory.lower_bound_ms.unwrap(),
            theory.upper_bound_ms.unwrap(),
        );
        assert!(low < seen.mean && seen.mean < high, "{law}: {seen:?}");
        assert!(
            (seen.mean / mean - 1.0).abs() < 0.15,
            "{law}: {mean} {seen:?}"
        );
    }
    let other = read("{ outstanding = 4, think_ms = 30.0 }")
        .unwrap()
        .theory();
    assert!(other.response.unwrap().mean_ms() < 0.9 * expected);
}

#[test]
fn the_headline_names_the_law() {
    let headline = |law: &str| {
        read(&format!("{{ outstanding = 4, {law} }}"))
            .unwrap()
            .headline()
    };
    assert!(headline(LAWS[0]).ends_with("4 users, think time 10 ms"));
    assert!(headline(LAWS[2]).ends_with("think time 10 ms (constant)"));
    assert!(headline(LAWS[4]).ends_with("think time 10 ms (log-normal)"));
}

#[test]
fn think_times_that_cannot_be_are_refused() {
    for (law, named) in [
        (LAWS[8], "think_ms"),
        ("think_ms = -1.0", "think_ms = -1"),
        (
            "think = { constant_ms = 1e12 }",
            "constant_ms = 1000000000000",
        ),
        ("think = { gamma = { mean_ms = 10.0, cv = 0.0 } }", "cv = 0"),
        (
            "think = { gamma = { mean_ms = 0.0, cv = 1.0 } }",
            "mean_ms = 0",
        ),
        ("think = { gamma = { per_s = 10.0, cv = 1.0 } }", "per_s"),
        (
            "think = { pareto = { mean_ms = 1.0, shape = 1.0 } }",
            "shape = 1",
        ),
        (
            "think = { weibull = { mean_ms = 1.0, shape = 2.0, at_least_ms = 2.0 } }",
            "cannot have the mean 1 ms",
        ),
        ("think = { normal = { mean_ms = 1.0 } }", "normal"),
        (
            "think_ms = 1.0, think = { constant_ms = 1.0 }",
            "remove one",
        ),
    ] {
        let error = read(&format!("{{ outstanding = 4, {law} }}"));
        let text = error.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains(named), "{law}: {text}");
    }
}
