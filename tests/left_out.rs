//! Requests that a replay left out are not part of the load that its records are, nor of what was done.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

/// Of 600 requests every third is a read.
const REQUESTS: u64 = 600;
const READS: u64 = 200;

/// The records of a replay that left the writes out, in the order of their starts.
fn records(scratch: &Scratch) -> PathBuf {
    let rows: String = (0..REQUESTS)
        .map(|i| {
            let op = if i % 3 == 0 { 'R' } else { 'W' };
            format!("{:.4} ; {} ; 8 ; {op}\n", i as f64 * 5e-4, i * 8)
        })
        .collect();
    let load = scratch.file("mixed.load", rows);
    let records = scratch.path("reads-only.ios");
    let replay = iosonar()
        .args(["replay", "--engine", "simulate", "--skip-writes", "-q"])
        .arg(&load)
        .arg("-o")
        .arg(&records)
        .output()
        .unwrap();
    // The machine may be busy: what is looked at is which requests were done.
    assert!(
        matches!(replay.status.code(), Some(0 | 3)),
        "{}",
        err(&replay)
    );
    records
}

fn scenario(scratch: &Scratch) -> PathBuf {
    scratch.file("ssd.toml", "[ssd]\nprofile = \"nvme-gen4-tlc\"\n")
}

fn run(command: &str, file: &Path, options: &[&str]) -> Output {
    let run = iosonar().arg(command).arg(file).args(options).output();
    run.unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {}", err(output)))
}

/// A figure without labels other than the input's.
fn figure(json: &serde_json::Value, name: &str) -> f64 {
    let metrics = json["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|m| m["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn a_simulation_of_records_leaves_out_what_the_replay_left_out_and_says_so() {
    let scratch = Scratch::new();
    let (records, scenario) = (records(&scratch), scenario(&scratch));
    let trace = records.to_str().unwrap();
    let requests = |options: &[&str]| {
        let done = scratch.path("done.ios");
        let options = [
            &[
                "--sort",
                "--trace",
                trace,
                "--records",
                done.to_str().unwrap(),
            ],
            options,
        ]
        .concat();
        let sim = run("sim", &scenario, &options);
        assert!(sim.status.success(), "{}", err(&sim));
        let info = json(&run("info", &done, &["--json"]));
        (info["traces"][0]["records"].as_u64().unwrap(), sim)
    };
    let (some, sim) = requests(&[]);
    assert_eq!(some, READS);
    assert!(
        err(&sim).contains("400 requests were skipped by the recorded replay and are left out"),
        "{}",
        err(&sim)
    );
    let (_, sim) = requests(&["--json"]);
    let remark = json(&sim)["scenarios"][0]["remarks"][0].to_string();
    assert!(remark.contains("400 requests were skipped"), "{remark}");
    let (all, sim) = requests(&["--include-skipped"]);
    assert_eq!(all, REQUESTS);
    assert!(!err(&sim).contains("skipped"), "{}", err(&sim));
}

#[test]
fn a_replay_of_records_leaves_out_what_was_left_out_before() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    // No writes are left, so that nothing must be allowed.
    let options = ["--engine", "simulate", "--sort", "--json"];
    let summary = json(&run("replay", &records, &options));
    assert_eq!(figure(&summary, "completed") as u64, READS);
    assert_eq!(figure(&summary, "requests") as u64, READS);
    let remark = summary["targets"][0]["remarks"][0].to_string();
    assert!(remark.contains("400 requests were skipped"), "{remark}");
    let all = run(
        "replay",
        &records,
        &[&options[..], &["--include-skipped"]].concat(),
    );
    assert_eq!(figure(&json(&all), "completed") as u64, 600);
    let target = scratch.path("target");
    std::fs::File::create(&target)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let on_a_file = [
        "--sort",
        "--include-skipped",
        "--target",
        target.to_str().unwrap(),
    ];
    let refused = run("replay", &records, &on_a_file);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("the load has 400 requests that change data (of 600 requests)"),
        "{}",
        err(&refused)
    );
}

#[test]
fn a_load_like_records_is_like_what_was_done() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    let made = scratch.path("like.load");
    let like = iosonar()
        .args(["generate", "like", "--sort"])
        .arg(&records)
        .arg("-o")
        .arg(&made)
        .output()
        .unwrap();
    assert!(like.status.success(), "{}", err(&like));
    assert!(
        err(&like).contains("400 requests were skipped"),
        "{}",
        err(&like)
    );
    let text = std::fs::read_to_string(&made).unwrap();
    assert!(
        text.contains("; R") && !text.contains("; W"),
        "no writes: {text}"
    );
}

#[test]
fn a_chart_of_what_was_demanded_has_what_was_left_out_where_it_is_included() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    // The mean of a series of the chart, in requests per second; `None` if it is not there.
    let mean = |series: &str, options: &[&str]| {
        let plot = iosonar()
            .args(["plot", "throughput-intended", "--sort", "-q", "--data", "-"])
            .arg(&records)
            .args(options)
            .output()
            .unwrap();
        assert!(plot.status.success(), "{}", err(&plot));
        let csv = out(&plot);
        let rows = csv.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let values: Vec<f64> = rows
            .filter(|fields| fields[1] == series)
            .filter_map(|fields| fields[3].parse().ok())
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    // 200 reads and 400 writes in 0.3 s.
    assert_eq!(mean("writes", &[]), None);
    let writes = mean("writes", &["--include-skipped"]).unwrap();
    assert!((writes / 1333.0 - 1.0).abs() < 0.1, "{writes}");
    let reads = mean("reads", &["--include-skipped"]).unwrap();
    assert!((reads / 667.0 - 1.0).abs() < 0.1, "{reads}");
}

#[test]
fn rates_are_of_what_was_done() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    let rate = |options: &[&str]| {
        let analysis = json(&run("analyze", &records, &[&["--json"], options].concat()));
        (
            figure(&analysis, "requests_per_second"),
            figure(&analysis, "not_submitted") as u64,
        )
    };
    // The first and the last read are 597 * 0.5 ms apart, the first and the last request 599.
    let (done, left_out) = rate(&[]);
    assert!((done - 200.0 / 0.2985).abs() < 1.0, "{done}");
    assert_eq!(left_out, 400);
    let (all, none) = rate(&["--include-skipped"]);
    assert!((all - 600.0 / 0.2995).abs() < 1.0, "{all}");
    assert_eq!(none, 0);
    let text = out(&run("analyze", &records, &[]));
    assert!(
        text.contains("left out      400 requests were not submitted"),
        "{text}"
    );

    let page = scratch.path("page.html");
    let report = run("report", &records, &["-q", "-o", page.to_str().unwrap()]);
    assert!(report.status.success(), "{}", err(&report));
    let page = std::fs::read_to_string(page).unwrap();
    let at = page.find("requests per second, on average").unwrap();
    let shown: String = page[at..].chars().take(60).collect();
    assert!(shown.contains(&format!("{done:.1}")), "{shown}");
    let at = page.find(">writes<").unwrap();
    let shown: String = page[at..].chars().take(40).collect();
    assert!(shown.contains(">0, "), "{shown}");
}

#[test]
fn records_without_a_submitted_request_are_no_load() {
    let scratch = Scratch::new();
    let records = scratch.file(
        "none.csv",
        "time_s,sector,sectors,op,status\n0.1,8,8,write,skipped\n0.2,16,8,read,missed\n",
    );
    let sim = run(
        "sim",
        &scenario(&scratch),
        &["--trace", records.to_str().unwrap()],
    );
    assert_eq!(sim.status.code(), Some(1), "{}", err(&sim));
    for sim in [sim, run("analyze", &records, &[])] {
        assert!(
            err(&sim).contains("none of its 2 requests was submitted"),
            "{}",
            err(&sim)
        );
    }
}

#[test]
fn a_calibration_has_no_times_of_what_was_not_observed() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    let profile = scratch.path("mine.toml");
    let options = ["--profile", "ssd", "-o", profile.to_str().unwrap()];
    let fitted = run("calibrate", &records, &options);
    let words = out(&fitted);
    assert!(words.contains("  reads: median"), "{words}");
    assert!(
        words.contains(
            "  writes: the training half has no writes, so their times are unknown; the profile uses the times of reads"
        ),
        "{words}"
    );
    let text = std::fs::read_to_string(&profile).unwrap();
    assert!(
        text.contains("# The training half has no writes: these are the times of reads."),
        "{text}"
    );
    let json = json(&run(
        "calibrate",
        &records,
        &[&options[..], &["--json"]].concat(),
    ));
    let metrics = json["metrics"].as_array().unwrap().iter();
    let of = |name: &str| -> Vec<&str> {
        let named = metrics.clone().filter(|m| m["name"] == name);
        named.map(|m| m["labels"]["op"].as_str().unwrap()).collect()
    };
    assert_eq!(of("learned_from"), ["read", "write"]);
    // All reads have one size.
    assert!(of("us_per_kib").is_empty());
}

#[test]
fn a_kind_that_only_the_held_out_half_holds_was_not_learned() {
    let scratch = Scratch::new();
    let rows: String = (0..2000_u32)
        .map(|i| {
            let op = if i < 1000 { 'R' } else { 'W' };
            let (start, sector) = (f64::from(i) * 0.03, i * 7919 % 90_000 * 8);
            let latency = 4e-3 + f64::from(i * 31 % 97) * 1e-4;
            format!("{start:.9} ; {sector} ; 8 ; {op} ; 0.000000000 ; {latency:.9}\n")
        })
        .collect();
    let records = scratch.file("halves.replay", rows);
    let profile = scratch.path("mine.toml");
    let fit = |of: &str| {
        let options = ["--profile", of, "-o", profile.to_str().unwrap()];
        let fitted = run("calibrate", &records, &options);
        assert!(
            matches!(fitted.status.code(), Some(0 | 3)),
            "{}",
            err(&fitted)
        );
        (out(&fitted), std::fs::read_to_string(&profile).unwrap())
    };
    let (words, text) = fit("ssd");
    assert!(
        words.contains("  writes: the training half has no writes"),
        "{words}"
    );
    assert!(
        text.contains("# The training half has no writes: these are the times of reads."),
        "{text}"
    );
    let (words, _) = fit("seagate-st3500630ns");
    assert!(
        words.contains("seek, reads  ")
            && words.contains("seek, writes not measured: the training half has no writes"),
        "{words}"
    );
}

#[test]
fn what_was_left_out_is_neither_drawn_nor_missing_from_what_was_done() {
    let scratch = Scratch::new();
    let records = records(&scratch);
    let analyzed = out(&run("analyze", &records, &[]));
    assert!(analyzed.contains("\n  left out       400\n"), "{analyzed}");
    for word in [
        "not completed",
        "not measured",
        "damaged",
        "writes and others",
    ] {
        assert!(!analyzed.contains(word), "{word}: {analyzed}");
    }
    let picture = scratch.path("sonar.png");
    let plot = iosonar()
        .args(["plot", "sonar"])
        .arg(&records)
        .arg("-o")
        .arg(&picture)
        .output()
        .unwrap();
    assert!(
        err(&plot).contains(" drawn from 600 requests ("),
        "{}",
        err(&plot)
    );
    let replayed = |options: &[&str]| {
        let load = scratch.file("two.load", "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; W\n");
        out(&run(
            "replay",
            &load,
            &[&["--engine", "simulate", "-q"], options].concat(),
        ))
    };
    let partly = replayed(&["--skip-writes"]);
    // The machine may be busy, so that it did not keep up.
    assert!(
        partly.contains("(1 request was left out)") || !partly.contains("kept up"),
        "{partly}"
    );
    assert!(!replayed(&["--write"]).contains("left out"));
}

#[test]
fn flushes_are_no_writes() {
    let scratch = Scratch::new();
    let rows: String = (0..100)
        .map(|i| format!("{},0,0,flush,5\n", f64::from(i) * 0.01))
        .collect();
    let header = "time_s,offset_bytes,length_bytes,op,latency_us\n";
    let flushes = scratch.file("flush.csv", format!("{header}{rows}"));
    let text = out(&run("analyze", &flushes, &[]));
    assert!(text.contains("others up to"), "{text}");
    assert!(text.contains(" of others."), "{text}");
    assert!(!text.contains("writes up to"), "{text}");
    let both = scratch.file("both.csv", format!("{header}{rows}2,0,4096,write,5\n"));
    let text = out(&run("analyze", &both, &[]));
    assert!(text.contains("writes and others"), "{text}");
    let page = scratch.path("page.html");
    let report = iosonar()
        .arg("report")
        .arg(&flushes)
        .arg("-o")
        .arg(&page)
        .output()
        .unwrap();
    assert!(report.status.success(), "{}", err(&report));
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("latency of others"));
    assert!(!page.contains("latency of writes"));
}

/// A request that was left out has no latency, except in a file that contradicts itself.
#[test]
fn a_latency_of_a_request_that_was_left_out_is_no_missing_one() {
    let scratch = Scratch::new();
    let trace = scratch.file(
        "odd.csv",
        "time_ns,sector,sectors,op,latency_us,status\n0,0,8,read,100,done\n1000000,8,8,read,0,skipped\n\
         2000000,16,8,read,50,skipped\n3000000,24,8,read,,dropped\n",
    );
    let analyzed = iosonar()
        .args(["analyze", "-q"])
        .arg(trace)
        .output()
        .unwrap();
    let text = out(&analyzed);
    assert!(analyzed.status.success(), "{}", err(&analyzed));
    for row in ["left out       2", "not measured   1", "not completed  1"] {
        assert!(text.contains(&format!("\n  {row}\n")), "{row}: {text}");
    }
}
