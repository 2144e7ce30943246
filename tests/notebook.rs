//! The manual's page on notebooks: its commands make the files that its scripts read, and data frames show what iosonar's
//! own JSON says. Where Python lacks a library, its test says so and skips.

mod scratch;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use scratch::python::python_with;
use scratch::{Scratch, err, out};
use serde_json::Value;

const MANUAL: &str = include_str!("../docs/src/notebook.md");

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The blocks of the manual in this language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let opening = format!("```{language}\n");
    let after = MANUAL.match_indices(&opening).map(|(at, _)| at);
    let after: Vec<usize> = after.map(|at| at + opening.len()).collect();
    after
        .into_iter()
        .map(|at| MANUAL[at..].split("```").next().unwrap())
}

/// A folder in which the manual's commands were run.
fn files() -> Scratch {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink(repository().join("examples"), scratch.path("examples")).unwrap();
    let binary = assert_cmd::cargo::cargo_bin!("iosonar");
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let commands = blocks("sh").flat_map(str::lines);
    let mut run = 0;
    for command in commands.filter(|line| line.starts_with("iosonar ")) {
        let output = Command::new("sh")
            .args(["-c", command])
            .env("PATH", &path)
            .current_dir(scratch.path("."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", err(&output));
        run += 1;
    }
    assert_eq!(run, 6, "commands of the manual");
    scratch
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The metric of this name whose labels besides the scenario are these.
fn metric<'a>(json: &'a Value, name: &str, op: Option<&str>) -> &'a Value {
    let mut all = json["metrics"].as_array().unwrap().iter();
    let is_it = |m: &&Value| m["name"] == name && m["labels"]["op"].as_str() == op;
    all.find(is_it)
        .unwrap_or_else(|| panic!("no {name} of {op:?}"))
}

/// The means of the response times of a point's runs, by their own results.
fn means_of_runs(point: &Path) -> Vec<f64> {
    let runs = fs::read_dir(point).unwrap();
    runs.map(|run| {
        let result = json(&run.unwrap().path().join("result.json"));
        metric(&result, "response_time", None)["mean"]
            .as_f64()
            .unwrap()
    })
    .collect()
}

/// Runs the script for a library, and compares its figures with iosonar's.
fn the_script_shows_what_iosonar_says(library: &str) {
    let Some(python) = python_with(library) else {
        eprintln!("skipped: no python3 with {library} here");
        return;
    };
    let files = files();
    let script = repository().join(format!("examples/notebook/with_{library}.py"));
    let run: Output = Command::new(python)
        .arg(script)
        .current_dir(files.path("."))
        .output()
        .unwrap();
    assert!(run.status.success(), "{library}: {}", err(&run));
    let said = out(&run);
    let figures: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let figure = |name: &str| {
        let value = figures[name].as_f64();
        value.unwrap_or_else(|| panic!("{library}: no {name}: {figures}"))
    };
    let is_near = |name: &str, expected: f64, share: f64| {
        let off = (figure(name) - expected).abs();
        assert!(
            off <= share * expected,
            "{library}: {name} is {}, expected {expected}",
            figure(name)
        );
    };
    let result = json(&files.path("result.json"));
    let all = metric(&result, "response_time", None);
    let reads = metric(&result, "response_time", Some("read"));
    let exactly = 1e-9;
    is_near("requests", all["n"].as_f64().unwrap(), 0.0);
    is_near("reads", reads["n"].as_f64().unwrap(), 0.0);
    is_near("mean_ms", all["mean"].as_f64().unwrap(), exactly);
    is_near("json_mean_ms", all["mean"].as_f64().unwrap(), exactly);
    // The histogram's bins, and how a library interpolates.
    is_near("p99_ms", all["quantiles"]["0.99"].as_f64().unwrap(), 0.01);
    // The first combination is the scenario itself.
    let p99 = all["quantiles"]["0.99"].as_f64().unwrap();
    is_near("vary_p99_ms", p99, exactly);
    let means = means_of_runs(&files.path("tree/disks=6/stripe_unit=128KiB"));
    assert_eq!(means.len(), 3);
    let mean = means.iter().sum::<f64>() / 3.0;
    is_near("point_mean_ms", mean, exactly);
    is_near("mean_of_runs_ms", mean, exactly);
    let choice = json(&files.path("choose.json"));
    is_near("candidates", 3.0, 0.0);
    let meet = choice["meet"].as_array().unwrap().len();
    assert!((1..3).contains(&meet), "{choice}");
    is_near("meet", meet as f64, 0.0);
}

#[test]
fn pandas_shows_what_iosonar_says() {
    the_script_shows_what_iosonar_says("pandas");
}

#[test]
fn polars_shows_what_iosonar_says() {
    the_script_shows_what_iosonar_says("polars");
}

#[test]
fn duckdb_shows_what_iosonar_says() {
    the_script_shows_what_iosonar_says("duckdb");
}

#[test]
fn what_the_manual_shows_is_in_the_scripts() {
    let scripts: Vec<String> = ["pandas", "polars", "duckdb"]
        .iter()
        .map(|library| {
            let script = repository().join(format!("examples/notebook/with_{library}.py"));
            fs::read_to_string(script).unwrap()
        })
        .collect();
    let mut shown = 0;
    for block in blocks("python").chain(blocks("sql")) {
        assert!(scripts.iter().any(|s| s.contains(block)), "{block}");
        shown += 1;
    }
    assert_eq!(shown, 9);
    let mut lines = blocks("sh").flat_map(str::lines);
    for library in ["pandas", "polars", "duckdb"] {
        let run = format!("python3 examples/notebook/with_{library}.py");
        assert!(lines.any(|line| line == run), "{run}");
    }
}
