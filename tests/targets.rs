//! What must hold, with `sim --target`: the grammar of `choose` and `plan`, judged by the interval.

mod scratch;

use std::path::PathBuf;
use std::process::Output;

use scratch::{Scratch, assert_refused, err, iosonar, out, sim};
use serde_json::Value;

/// Reads and writes on two disks.
const SCENARIO: &str = "[load]\nrequests = 4000\nrate = 20.0\nsize = \"4KiB\"\nread_share = \"70%\"\n\
                        [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n";

fn scenario(scratch: &Scratch) -> PathBuf {
    scratch.file("load.toml", SCENARIO)
}

fn with(options: &[&str]) -> Output {
    let scratch = Scratch::new();
    sim(&scenario(&scratch), options)
}

/// The lines on targets.
fn lines(output: &Output) -> Vec<String> {
    let text = out(output);
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("target"));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn targets_are_met_missed_or_unclear_by_the_interval() {
    let runs = ["--replications", "5", "--target"];
    let target = |text: &str| with(&[&runs[..], &[text]].concat());
    let output = target("read p99 < 1s, mean < 1s");
    let both = lines(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(both[0].starts_with("read p99 < 1 s: meets, "), "{both:?}");
    assert!(both[1].starts_with("mean < 1 s: meets, "), "{both:?}");
    assert!(both[1].ends_with("% below the limit"), "{both:?}");

    let output = target("read p99 < 1s, mean < 1ms");
    assert_eq!(output.status.code(), Some(3));
    let both = lines(&output);
    assert!(
        both[0].contains(": meets, ") && both[1].contains(": misses, "),
        "{both:?}"
    );
    assert!(both[1].ends_with("15.0 times the limit"), "{both:?}");

    // The limit in the middle of the interval, as the run itself has it.
    let json: Value =
        serde_json::from_slice(&with(&[&runs[..], &["write p90 < 1s", "--json"]].concat()).stdout)
            .unwrap();
    let judged = &json["targets"][0];
    let value = judged["value"].as_f64().unwrap();
    let ends: Vec<f64> = serde_json::from_value(judged["interval_95"].clone()).unwrap();
    assert!(ends[0] < value && value < ends[1], "{judged}");
    let metrics = json["metrics"].as_array().unwrap();
    let writes = metrics
        .iter()
        .find(|of| of["labels"]["op"] == "write")
        .unwrap();
    assert_eq!(judged["requests"], writes["n"]);
    let output = target(&format!("write p90 < {value:.4}ms"));
    assert_eq!(output.status.code(), Some(0));
    assert!(
        lines(&output)[0].contains(": unclear, "),
        "{:?}",
        lines(&output)
    );
    for (limit, verdict) in [(ends[0] * 0.99, "misses"), (ends[1] * 1.01, "meets")] {
        let of = lines(&target(&format!("write p90 < {limit:.4}ms")));
        assert!(of[0].contains(verdict), "{of:?}");
    }
}

#[test]
fn one_run_of_few_reads_is_unclear() {
    let few = with(&["--set", "load.requests=200", "--target", "read p99 < 1s"]);
    assert!(lines(&few)[0].contains(": unclear, "), "{:?}", lines(&few));
    assert!(
        lines(&few)[0].contains("no 95 % interval"),
        "{:?}",
        lines(&few)
    );
}

#[test]
fn a_percentile_of_few_requests_a_run_is_judged_by_the_share_within_the_limit() {
    let of = |requests: &str, target: &str| {
        let requests = format!("load.requests={requests}");
        let runs = ["--replications", "5", "--set", &requests, "--target"];
        lines(&with(&[&runs[..], &[target]].concat()))[0].clone()
    };
    let met = of("300", "p99 < 1s");
    assert!(met.contains(": meets, "), "{met}");
    assert!(
        met.contains("judged by the share of 1 500 requests"),
        "{met}"
    );
    let missed = of("300", "p50 < 10ms");
    assert!(missed.contains(": misses, "), "{missed}");
    let too_few = of("300", "p99.9 < 1s");
    assert!(too_few.contains(": unclear, "), "{too_few}");
    let too_short = of("20", "p99 < 1s");
    assert!(too_short.contains(": runs too short, "), "{too_short}");
}

#[test]
fn what_is_not_there_is_refused() {
    let no_writes = with(&["--set", "load.read_share=1.0", "--target", "write p99 < 1s"]);
    assert_refused(&no_writes, "the load has no writes");
    assert_refused(&with(&["--target", "p999 < 1s"]), "write p99.9");
    assert_refused(&with(&["--target", "p99 < 1"]), "has no unit");
}

#[test]
fn a_queue_that_grows_meets_no_target() {
    let rate = ["--set", "load.rate=400.0", "--unstable"];
    let of = |requests: &str, target: &str| {
        let requests = format!("load.requests={requests}");
        let more = [
            "--replications",
            "5",
            "--set",
            &requests,
            "--target",
            target,
        ];
        lines(&with(&[&rate[..], &more].concat()))
    };
    let grows = of("2000", "mean < 1000s");
    assert!(grows[0].contains(": unstable, "), "{grows:?}");
    assert!(grows[0].contains("as the queue only grows"), "{grows:?}");
    let missed = of("2000", "mean < 1ms");
    assert!(missed[0].contains(": misses, "), "{missed:?}");
    assert!(missed[0].contains("as the queue only grows"), "{missed:?}");
}

#[test]
fn the_result_file_holds_the_verdicts() {
    let scratch = Scratch::new();
    let result = scratch.path("result.json");
    let output = iosonar()
        .arg("sim")
        .arg(scenario(&scratch))
        .args(["--replications", "5", "--target", "mean < 1ms", "--result"])
        .arg(&result)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap();
    assert_eq!(json["targets"][0]["verdict"], "misses");
    assert!(json["targets"][0]["beyond"].as_f64().unwrap() > 1.0);
}

#[test]
fn each_varied_value_has_its_verdict() {
    let vary = ["--vary", "load.rate=20,60,100", "--replications", "5"];
    let with_target = |target: &str| with(&[&vary[..], &["--target", target]].concat());
    // Alone a request takes some 14 ms.
    let output = with_target("mean < 20ms");
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    assert!(
        text.lines().next().unwrap().contains("mean < 20 ms"),
        "{text}"
    );
    let row = |rate: &str| {
        let row = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(rate));
        row.unwrap().to_owned()
    };
    assert!(row("20").contains("meets: "), "{text}");
    assert!(row("100").contains("misses: "), "{text}");
    // None is left.
    let output = with_target("mean < 2ms");
    assert_eq!(output.status.code(), Some(3));
    assert!(!out(&output).contains("meets"), "{}", out(&output));

    let scratch = Scratch::new();
    let csv = scratch.path("varied.csv");
    let options = ["--target", "write p90 < 25ms", "--json", "--csv"];
    let mut command = iosonar();
    command.arg("sim").arg(scenario(&scratch));
    let output = command.args(vary).args(options).arg(&csv).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts: Vec<&str> = json["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts.len(), 3);
    assert!(verdicts.contains(&"misses"), "{verdicts:?}");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with(",failed_requests,hash")
    );
    let column: Vec<&str> = csv
        .lines()
        .map(|line| line.rsplit(',').nth(2).unwrap())
        .collect();
    assert_eq!(column[0], "write p90 < 25 ms");
    assert_eq!(column[1..], verdicts);
    let no_writes = ["--set", "load.read_share=1.0", "--target", "write p99 < 1s"];
    let refused = with(&[&vary[..], &no_writes].concat());
    assert_refused(&refused, "the load has no writes");
}

#[test]
fn records_are_compared_by_their_targets() {
    let scratch = Scratch::new();
    let file = scenario(&scratch);
    let record = |name: &str, rate: &str| {
        let records = scratch.path(name);
        let rate = format!("load.rate={rate}");
        let size = ["--set", "load.requests=20000", "--set", &rate, "--records"];
        let mut command = iosonar();
        let command = command.arg("sim").arg(&file).args(size).arg(&records);
        assert!(command.output().unwrap().status.success());
        records
    };
    let (light, heavy) = (record("light.load", "20"), record("heavy.load", "100"));
    let compare = |options: &[&str]| {
        let mut command = iosonar();
        let named = format!("before={}", light.display());
        command.args(["compare", &named]).arg(&heavy).args(options);
        command.output().unwrap()
    };
    let target = ["--target", "read p50 < 20ms, throughput > 1"];
    let output = compare(&target);
    assert_eq!(output.status.code(), Some(3));
    let text = out(&output);
    assert!(text.contains("before: read p50 < 20 ms: meets, "), "{text}");
    assert!(text.contains("heavy: read p50 < 20 ms: misses, "), "{text}");
    let json: Value =
        serde_json::from_slice(&compare(&[&target[..], &["--json"]].concat()).stdout).unwrap();
    let judged = json["targets"].as_array().unwrap();
    assert_eq!(judged.len(), 4);
    assert_eq!(judged[0]["verdict"], "meets");
    assert_eq!(judged[2]["labels"]["input"], "heavy");
    assert_eq!(judged[2]["verdict"], "misses");
    // Without a target nothing is judged.
    let without = compare(&[]);
    assert_eq!(without.status.code(), Some(0));
    assert!(!out(&without).contains("meets"), "{}", out(&without));

    let picture = scratch.path("cdf.svg");
    let mut plot = iosonar();
    plot.args(["plot", "cdf"])
        .arg(&heavy)
        .args(["--target", "p50 < 20ms", "-o"]);
    let drawn = plot.arg(&picture).output().unwrap();
    assert!(drawn.status.success(), "{}", err(&drawn));
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("target p50 &lt; 20 ms: misses"), "{svg}");
}

#[test]
fn a_varied_value_without_a_steady_state_is_unstable_and_not_blank() {
    let vary = [
        "--vary",
        "load.rate=20,2000",
        "--target",
        "p99 < 1s, mean < 1s",
    ];
    let printed = with(&vary);
    let text = out(&printed);
    let row = |rate: &str| {
        let mut lines = text.lines();
        let row = lines.find(|line| line.trim_start().starts_with(rate));
        row.expect("a row for each rate").to_owned()
    };
    assert_eq!(row("2000").matches("unstable").count(), 2, "{text}");
    assert_eq!(row("20 ").matches("unstable").count(), 0, "{text}");
    let json = with(&[&vary[..], &["--json"]].concat());
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let verdicts = json["targets"].as_array().unwrap().iter();
    let of_fast = verdicts.filter(|of| of["labels"]["load.rate"] == "2000");
    let of_fast: Vec<_> = of_fast.map(|of| &of["verdict"]).collect();
    assert_eq!(of_fast, ["unstable", "unstable"]);
}

#[test]
fn a_varied_value_that_may_be_unstable_is_named() {
    let scratch = Scratch::new();
    // How much a disk that orders its queue can do is not known exactly.
    let text = format!("{SCENARIO}model = \"positional\"\nscheduler = \"sptf\"\n");
    let file = scratch.file("load.toml", text);
    let vary = sim(&file, &["--vary", "load.rate=20,400"]);
    let notes = err(&vary);
    assert!(
        notes.contains("load.rate=400: may be unstable: the offered load of disk/"),
        "{notes}"
    );
    assert!(!notes.contains("load.rate=20:"), "{notes}");
    // As one simulation says it.
    let one = err(&sim(&file, &["--set", "load.rate=400.0"]));
    assert!(one.contains("may be unstable"), "{one}");
}

/// A value that several combinations share belongs to none of them alone.
#[test]
fn the_best_of_several_equal_combinations_is_not_named_alone() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch);
    let vary = |values: &str| {
        let key = format!("--vary={values}");
        let options = [
            "--set",
            "load.requests=2000",
            "--set",
            "replications=1",
            "-q",
            &key,
        ];
        let text = out(&sim(&scenario, &options));
        text.lines().last().unwrap().to_owned()
    };
    let all = vary("load.rate=20,20.0000001");
    assert!(all.ends_with(" for all 2 combinations."), "{all}");
    let two = vary("load.rate=20,20.0000001,60");
    assert!(two.contains("(2 combinations, such as load."), "{two}");
}
