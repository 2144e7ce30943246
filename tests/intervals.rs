//! Intervals that `iosonar sim` prints: those of times are above zero, and a missing one comes with its reason.

mod scratch;

use scratch::{Scratch, iosonar};

fn sim(scenario: &str) -> String {
    let scratch = Scratch::new();
    let path = scratch.file("s.toml", scenario);
    let output = iosonar()
        .args(["sim", "--unstable"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn line<'a>(text: &'a str, label: &str) -> &'a str {
    let mut lines = text.lines().map(str::trim_start);
    lines
        .find(|line| line.starts_with(label))
        .unwrap_or_else(|| panic!("no {label} in {text}"))
}

/// A load that comes in rare, heavy bursts, or does not: some runs wait for seconds, others hardly at all.
fn bursts(replications: u32) -> String {
    format!(
        "seed = 4\nreplications = {replications}\n[load]\nrequests = 3000\n\
         arrivals = {{ on_off = {{ per_s = 300.0, on_s = 2.0, off_s = 20.0, pareto_shape = 1.2 }} }}\n\
         size = {{ blocks = 1 }}\n[array]\nlevel = 'raid0'\ndisks = 1\n[disk]\nprofile = 'seagate-st3500630ns'\n"
    )
}

#[test]
fn intervals_of_times_stay_above_zero() {
    let mut asymmetric = 0;
    for replications in [2, 3, 5] {
        let text = sim(&bursts(replications));
        for row in text.lines().filter(|line| line.contains("(95 %")) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let number = |i: usize| words[i].parse::<f64>().unwrap();
            let at = |word: &str| words.iter().position(|&w| w == word);
            if let Some(half) = at("±") {
                assert!(number(half + 1) < number(half - 1), "{row}");
            } else {
                let to = at("to").unwrap();
                let (lower, value, upper) = (number(to - 1), number(1), number(to + 1));
                assert!(0.0 <= lower && lower <= value && value <= upper, "{row}");
                asymmetric += 1;
            }
        }
    }
    assert!(asymmetric > 0, "the quantiles have intervals of their own");
}

#[test]
fn a_missing_interval_is_explained() {
    let one_run = |requests: u32, per_s: f64| {
        sim(&format!(
            "[load]\nrequests = {requests}\narrivals = {{ poisson_per_s = {per_s:?} }}\nsize = {{ blocks = 1 }}\n\
             [array]\nlevel = 'raid0'\ndisks = 1\n[disk]\nprofile = 'seagate-st3500630ns'\n"
        ))
    };
    // More arrive than the disk serves, and almost as many.
    let text = one_run(20_000, 129.0);
    assert!(
        line(&text, "mean ").contains("no confidence interval, as the queue grew"),
        "{text}"
    );
    let text = one_run(20_000, 60.0);
    assert!(
        line(&text, "mean ").contains("the run is too short"),
        "{text}"
    );
    // Requests of a burst wait for those before: not few, but dependent.
    let text = sim(&bursts(1).replace("requests = 3000", "requests = 8000"));
    let mean = line(&text, "mean ");
    assert!(
        mean.contains("too strongly correlated") && mean.contains("--replications"),
        "{mean}"
    );
    assert!(!mean.contains("too few"), "{mean}");
    let text = one_run(500, 30.0);
    let mean = line(&text, "mean ");
    assert!(
        mean.contains("needs at least 4 096 requests, or --replications"),
        "{mean}"
    );
}

#[test]
fn times_of_a_column_have_one_unit() {
    let scratch = Scratch::new();
    let path = scratch.file("s.toml", bursts(2));
    let output = iosonar()
        .args(["sim", "--unstable", "--split"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().skip(2).take(6);
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.split("  ").filter(|c| !c.is_empty()).collect())
        .collect();
    assert_eq!(rows[0][0].trim(), "response time", "{text}");
    for column in 2..rows[0].len() {
        let units: Vec<&str> = rows[1..]
            .iter()
            .map(|row| row[column].rsplit(' ').next().unwrap())
            .collect();
        assert!(
            units.windows(2).all(|pair| pair[0] == pair[1]),
            "{units:?}\n{text}"
        );
    }
}

#[test]
fn a_run_that_takes_no_time_has_no_rates() {
    let scratch = Scratch::new();
    let text = "[load]\nrequests = 100\nclosed = { outstanding = 1 }\nsize = { blocks = 1 }\nread_share = 0.0\n\
                [array]\nlevel = 'raid0'\ndisks = 2\n[controller]\ncache = '64MiB'\ncommand_us = 0.0\nhost_mb_per_s = 1e9\n[disk]\n\
                profile = 'seagate-st3500630ns'\n";
    let path = scratch.file("cached.toml", text);
    for runs in ["1", "2"] {
        let run = |more: &[&str]| {
            let output = iosonar()
                .args(["sim", "--replications", runs])
                .args(more)
                .arg(&path)
                .output()
                .unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        };
        let printed = run(&[]);
        assert!(printed.contains("no time passed"), "{printed}");
        assert!(
            !printed.contains("NaN") && !printed.contains("inf"),
            "{printed}"
        );
    }
}
