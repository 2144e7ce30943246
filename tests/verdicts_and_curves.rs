//! What stands on charts from the outside: verdicts, what was varied, the legend of a terminal.

mod scratch;

use std::fs;
use std::path::Path;

use scratch::{Scratch, iosonar};

const RECORDS: &str = "0 ; 8 ; 8 ; R ; 0 ; 0.001\n\
    1 ; 800 ; 8 ; W ; 0.00005 ; 0\n\
    2 ; 80 ; 8 ; R ; 0 ; 0.5\n";

/// The words of a chart of [`RECORDS`].
fn words(chart: &str, options: &[&str], name: &str) -> String {
    words_of(RECORDS, chart, options, name)
}

/// The words of a chart of these records.
fn words_of(records: &str, chart: &str, options: &[&str], name: &str) -> String {
    let scratch = Scratch::new();
    let records = scratch.file(name, records);
    let out = scratch.path("x.svg");
    let mut plot = iosonar();
    plot.args(["plot", chart]).arg(&records).args(options);
    plot.args(["-q", "-o"]).arg(&out).assert().success();
    fs::read_to_string(out).unwrap()
}

#[test]
fn there_is_no_verdict_without_a_limit() {
    for chart in [
        "sonar",
        "sonar-intended",
        "sonar-completed",
        "sonar-number",
        "delay",
        "delay-number",
    ] {
        let svg = words(chart, &[], "x.replay");
        assert!(
            !svg.contains("passed") && !svg.contains("failed:"),
            "{chart}"
        );
    }
}

#[test]
fn a_verdict_is_that_of_the_limit_that_was_given() {
    let svg = words("sonar", &["--bad-latency", "600ms"], "x.replay");
    assert!(svg.contains("passed: none above 600 ms (max 500 ms)"));
    let svg = words("sonar", &["--bad-latency", "100ms"], "x.replay");
    assert!(svg.contains("failed: 1 above 100 ms, first at 2 s"));
    let svg = words("delay", &["--bad-delay", "10us"], "x.replay");
    assert!(svg.contains("failed: 1 above 10 µs, first at 1 s"));
    let svg = words("delay", &["--bad-delay", "1ms"], "x.replay");
    assert!(svg.contains("passed: none above 1 ms"));
}

#[test]
fn a_failed_request_passes_no_limit_however_short_the_others_were() {
    let rows: String = (0..999)
        .map(|i| format!("{i} ; 8 ; 8 ; R ; 0.000001 ; 0.001\n"))
        .collect();
    let failed =
        "INFO: failing block=80 len=8 mode=R start=999.0 delay=0.000001 latency=30.0 errno=5\n";
    let verdict = |records: &str| {
        let svg = words_of(records, "sonar", &["--bad-latency", "100ms"], "x.replay");
        let line = svg.lines().find(|line| line.contains("passed: "));
        line.unwrap().trim().to_owned()
    };
    assert_eq!(verdict(&rows), "passed: none above 100 ms (max 1 ms)");
    assert_eq!(
        verdict(&(rows + failed)),
        "not passed: 1 failed; none of the others above 100 ms (max 1 ms)"
    );
}

#[test]
fn varied_simulations_have_markers_bars_and_the_name_of_all_of_them() {
    let scratch = Scratch::new();
    let scenario =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/zoned-raid/figure-4-read.toml");
    let out = scratch.path("x.svg");
    iosonar()
        .arg("sim")
        .arg(scenario)
        .args(["-q", "--replications", "3", "--set", "load.requests=400"])
        .args([
            "--set",
            "warmup_requests=50",
            "--vary",
            "array.disks=4,8,12",
        ])
        .args(["--curve-of", "latency", "--curve"])
        .arg(&out)
        .assert()
        .success();
    let svg = fs::read_to_string(out).unwrap();
    assert!(
        svg.contains("RAID 01 of 4 to 12 x Seagate"),
        "the array of the first point alone"
    );
    assert!(svg.contains("bars are 95 % intervals"));
    // The curve; of each point a bar, its two caps, and a marker beside the swatch of the legend.
    let count = |element: &str| svg.lines().filter(|line| line.contains(element)).count();
    assert!(count("stroke-width=\"2\"") == 1 + 3 * 3, "{svg}");
    assert!(count("fill=\"#026BAC\"") > 3, "{svg}");
    // No disk is a fifth of one.
    assert!(!svg.lines().any(|line| line == "4.5"), "{svg}");
}

#[test]
fn the_legend_of_a_terminal_is_whole() {
    let scratch = Scratch::new();
    let long =
        "a-name-of-a-run-that-is-as-long-as-names-of-runs-are-when-they-say-what-was-changed";
    let inputs = ["1", "2"].map(|i| scratch.file(&format!("{long}-{i}.replay"), RECORDS));
    let run = iosonar()
        .args(["plot", "cdf", "--terminal"])
        .args(&inputs)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .assert()
        .success();
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    let joined: String = text.split_whitespace().collect();
    for i in [1, 2] {
        assert!(joined.contains(&format!("{long}-{i}")), "{text}");
    }
}
