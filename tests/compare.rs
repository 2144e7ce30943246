//! `iosonar compare` and `iosonar calibrate`.

mod scratch;

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

const SCENARIO: &str = "seed = 3\n[load]\nrequests = 40000\narrivals = { poisson_per_s = 30.0 }\nblock = \"4KiB\"\n\
    size = { blocks = 2 }\nread_share = 0.6\n[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"1MiB\"\n\
    [disk]\nprofile = \"seagate-st3500630ns\"\nmodel = \"positional\"\n";

/// The records of a simulation with one value changed.
fn recorded(scratch: &Scratch, name: &str, set: &str) -> PathBuf {
    let scenario = scratch.file("scenario.toml", SCENARIO);
    let records = scratch.path(name);
    let run = scratch::sim(
        &scenario,
        &["--set", set, "--records", records.to_str().unwrap(), "-q"],
    );
    assert!(run.status.success(), "{}", err(&run));
    records
}

fn run(command: &str, files: &[&PathBuf], options: &[&str]) -> Output {
    iosonar()
        .arg(command)
        .args(files)
        .args(options)
        .output()
        .unwrap()
}

/// A figure of JSON output.
fn figure(output: &Output, name: &str, label: (&str, &str)) -> f64 {
    let json: serde_json::Value = serde_json::from_str(&out(output)).unwrap();
    let metrics = json["metrics"].as_array().unwrap().iter();
    let found = metrics.filter(|m| m["name"] == name && m["labels"][label.0] == label.1);
    let values: Vec<f64> = found.map(|m| m["value"].as_f64().unwrap()).collect();
    assert_eq!(values.len(), 1, "{name} {label:?}");
    values[0]
}

#[test]
fn a_difference_without_an_interval_is_said_to_be_perhaps_chance() {
    let scratch = Scratch::new();
    let scenario = scratch.file("scenario.toml", SCENARIO);
    let records = |name: &str, requests: u32, scheduler: &str| {
        let records = scratch.path(name);
        let (requests, scheduler) = (
            format!("load.requests={requests}"),
            format!("disk.scheduler={scheduler}"),
        );
        let rate = "load.arrivals.poisson_per_s=60";
        let options = [
            "--set",
            &requests,
            "--set",
            &scheduler,
            "--set",
            rate,
            "--records",
        ];
        let run = scratch::sim(
            &scenario,
            &[&options[..], &[records.to_str().unwrap()]].concat(),
        );
        assert!(run.status.success(), "{}", err(&run));
        records
    };
    let chance = "There is no confidence interval for this difference";
    let (slow, fast) = (
        records("slow.ios", 6000, "fcfs"),
        records("fast.ios", 6000, "sptf"),
    );
    let text = out(&run("compare", &[&slow, &fast], &[]));
    assert!(text.contains(chance), "{text}");
    // Request by request there is one.
    let text = out(&run("compare", &[&slow, &fast], &["--paired"]));
    assert!(
        text.contains("times that of slow") && !text.contains(chance),
        "{text}"
    );
    let (slow, fast) = (
        records("slow-long.ios", 40_000, "fcfs"),
        records("fast-long.ios", 40_000, "sptf"),
    );
    let text = out(&run("compare", &[&slow, &fast], &[]));
    assert!(
        text.contains("times that of slow-long") && !text.contains(chance),
        "{text}"
    );
}

#[test]
fn the_same_records_are_at_no_distance_and_others_are_told_apart() {
    let scratch = Scratch::new();
    let (one, same, other) = (
        recorded(&scratch, "one.ios", "seed=1"),
        recorded(&scratch, "same.ios", "seed=1"),
        recorded(&scratch, "other.ios", "load.arrivals.poisson_per_s=45"),
    );
    let plot = scratch.path("pictures");
    let text = run(
        "compare",
        &[&one, &same, &other],
        &["--plot", plot.to_str().unwrap()],
    );
    assert!(text.status.success(), "{}", err(&text));
    assert!(
        out(&text).contains("one to same: mean +0 s"),
        "{}",
        out(&text)
    );
    for picture in ["cdf.png", "qq.png", "sonar.png"] {
        assert!(
            fs::metadata(plot.join(picture)).unwrap().len() > 1000,
            "{picture}"
        );
    }
    let json = run("compare", &[&one, &same], &["--json"]);
    assert_eq!(figure(&json, "ks_distance", ("class", "all")), 0.0);
    assert_eq!(figure(&json, "ks_p_value", ("class", "all")), 1.0);
    let json = run("compare", &[&one, &other], &["--json"]);
    assert!(figure(&json, "ks_distance", ("class", "reads")) > 0.05);
    assert!(figure(&json, "ks_p_value", ("class", "all")) < 1e-4);
}

#[test]
fn pairs_of_the_same_requests_know_their_difference_much_better() {
    let scratch = Scratch::new();
    let slow = recorded(&scratch, "slow.ios", "disk.scheduler=\"fcfs\"");
    let fast = recorded(&scratch, "fast.ios", "disk.scheduler=\"sptf\"");
    let json = run("compare", &[&slow, &fast], &["--paired", "--json"]);
    assert!(json.status.success(), "{}", err(&json));
    assert_eq!(figure(&json, "pairs", ("input", "fast")), 40000.0);
    let paired = figure(&json, "paired_difference", ("input", "fast"));
    let apart = figure(&json, "mean_difference", ("class", "all"));
    assert!(
        (paired - apart).abs() < 1e-6 * apart.abs() && paired < 0.0,
        "{paired} {apart}"
    );
    let other = recorded(&scratch, "other.ios", "seed=9");
    let refused = run("compare", &[&slow, &other], &["--paired"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("--paired needs simulations of the same requests"),
        "{}",
        err(&refused)
    );
}

#[test]
fn a_profile_that_is_calibrated_can_be_used_at_once() {
    let scratch = Scratch::new();
    let records = recorded(&scratch, "records.ios", "disk.model=\"positional\"");
    let profile = scratch.path("mine.toml");
    let options = [
        "--profile",
        "seagate-st3500630ns",
        "--json",
        "-o",
        profile.to_str().unwrap(),
    ];
    let fitted = run("calibrate", &[&records], &options);
    assert!(fitted.status.success(), "{}", err(&fitted));
    assert!((figure(&fitted, "track_to_track", ("op", "read")) / 0.8 - 1.0).abs() < 0.02);
    // 20 000 against 20 000: one case in a hundred is farther apart by chance.
    assert!(figure(&fitted, "ks_distance", ("half", "held-out")) < 1.63 * (2.0_f64 / 2e4).sqrt());
    let text = fs::read_to_string(&profile).unwrap();
    assert!(
        text.starts_with("# Fitted by iosonar") && text.contains("On the other half: demerit"),
        "{text}"
    );
    let again = scratch.file(
        "again.toml",
        SCENARIO.replace("seagate-st3500630ns", "mine.toml"),
    );
    assert!(scratch::sim(&again, &[]).status.success());
    let ssd = scratch.path("ssd.toml");
    let fitted = run(
        "calibrate",
        &[&records],
        &["--profile", "ssd", "-o", ssd.to_str().unwrap()],
    );
    assert!(
        matches!(fitted.status.code(), Some(0 | 3)),
        "{}",
        err(&fitted)
    );
    let scenario = scratch.file(
        "on-it.toml",
        format!(
            "[load]\ntrace = \"{}\"\n[ssd]\nprofile = \"ssd.toml\"\n",
            records.display()
        ),
    );
    assert!(scratch::sim(&scenario, &[]).status.success());
}

/// A request of a few that come every 0.1 ms.
fn row(i: u32, latency: f64) -> String {
    format!(
        "{:.4} ; {} ; 8 ; R ; 0 ; {latency}\n",
        f64::from(i) * 1e-4,
        i * 8
    )
}

#[test]
fn standard_input_is_for_one_input_only() {
    let commands: [&[&str]; 6] = [
        &["compare"],
        &["check"],
        &["info"],
        &["analyze"],
        &["plot", "sonar", "-o", "x.png"],
        &["report", "-o", "x.html"],
    ];
    for command in commands {
        let run = iosonar().args(command).args(["-", "-"]).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{command:?}: {}", err(&run));
        let expected = "standard input can be read only once";
        assert!(err(&run).contains(expected), "{command:?}: {}", err(&run));
    }
}

#[test]
fn times_of_nothing_have_no_share_of_their_mean() {
    let scratch = Scratch::new();
    let records = |name: &str, latency_ns: u64| {
        let rows = (0..300).map(|i| format!("{i}000000000,{},8,read,{latency_ns}\n", 8 * i));
        let header = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
        scratch.file(name, header + &rows.collect::<String>())
    };
    let (none, some) = (records("none.csv", 0), records("some.csv", 6_000_000));
    for (one, other) in [(&none, &some), (&some, &none), (&none, &none)] {
        let run = iosonar()
            .arg("compare")
            .args([one, other])
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", err(&run));
        let text = out(&run);
        assert!(!text.contains("NaN") && !text.contains("inf %"), "{text}");
    }
}

#[test]
fn records_that_are_complete_after_a_hundred_years_are_refused() {
    let scratch = Scratch::new();
    let endless = scratch.file(
        "endless.load",
        (0..300)
            .map(|i| {
                format!(
                    "{} ; {} ; 8 ; R ; 0.1 ; 9200000000.5\n",
                    9_200_000_000_u64 + i,
                    8 * i
                )
            })
            .collect::<String>(),
    );
    for profile in ["ssd", "exos-x18"] {
        let run = iosonar()
            .args(["calibrate", "--profile", profile])
            .arg(&endless)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(1), "{}", err(&run));
        let expected = "expected at most 100 years";
        assert!(err(&run).contains(expected), "{}", err(&run));
    }
}

#[test]
fn what_cannot_be_calibrated_or_compared_is_refused() {
    let scratch = Scratch::new();
    let records = recorded(&scratch, "records.ios", "seed=1");
    let few = scratch.file(
        "few.replay",
        (0..199).map(|i| row(i, 0.001)).collect::<String>(),
    );
    let slow = scratch.file(
        "slow.replay",
        (0..300).map(|i| row(i, 11.0)).collect::<String>(),
    );
    for (file, options, code, complaint) in [
        (
            &few,
            &["--profile", "ssd"][..],
            1,
            "few.replay: the records contain 199 reads and writes with a latency, expected at least 200",
        ),
        (
            &slow,
            &["--profile", "ssd"],
            1,
            "slow.replay: a request took 11 s, but times in a profile are limited to 10 s",
        ),
        (
            &records,
            &["--profile", "nvme-gen4-tlc"],
            1,
            "of 40000 requests are writes, expected at least 95 %",
        ),
        (
            &records,
            &["--profile", "block-queue-gen2x4"],
            2,
            "the profile has no flash; use --profile ssd",
        ),
        (
            &records,
            &["--profile", "none"],
            2,
            "unknown disk profile 'none'",
        ),
        (
            &records,
            &["--profile", "ssd", "--capacity", "1MiB"],
            2,
            "--capacity must be at least",
        ),
        (
            &records,
            &["--profile", "ssd", "-o", "x.json"],
            2,
            "the name of a profile must end in .toml",
        ),
    ] {
        let refused = run("calibrate", &[file], options);
        assert_eq!(
            refused.status.code(),
            Some(code),
            "{options:?}: {}",
            err(&refused)
        );
        assert!(
            err(&refused).contains(complaint),
            "{options:?}: {}",
            err(&refused)
        );
    }
}

#[test]
fn records_too_short_for_a_rotation_are_called_poor() {
    let scratch = Scratch::new();
    let short = scratch.file(
        "short.replay",
        (0..400).map(|i| row(i, 0.0001)).collect::<String>(),
    );
    // It is no disk at all: it comes to an end, and says so.
    let poor = run(
        "calibrate",
        &[&short],
        &[
            "--profile",
            "seagate-st3500630ns",
            "-o",
            scratch.path("p.toml").to_str().unwrap(),
        ],
    );
    assert_eq!(poor.status.code(), Some(3), "{}", err(&poor));
}

#[test]
fn an_input_of_a_comparison_is_no_output() {
    let scratch = Scratch::new();
    let records = recorded(&scratch, "records.ios", "seed=1");
    let few = scratch.file("few.replay", row(0, 0.001));
    // By whatever name.
    fs::create_dir_all(scratch.path("pictures")).unwrap();
    std::os::unix::fs::symlink(&records, scratch.path("pictures/cdf.png")).unwrap();
    let refused = run(
        "compare",
        &[&records, &few],
        &["--plot", scratch.path("pictures").to_str().unwrap()],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("would overwrite its own input"),
        "{}",
        err(&refused)
    );
}

#[test]
fn an_interval_of_more_than_a_factor_of_ten_is_not_printed_as_one() {
    let scratch = Scratch::new();
    let records = |name: &str, latency: fn(u32) -> f64| {
        let rows: String = (0..20_000).map(|i| row(i, latency(i))).collect();
        scratch.file(name, rows)
    };
    // The median is that of the fast times, but by turns all of several hundred requests are slow.
    let uneven = records("uneven.load", |i| {
        let turn = i / 300;
        let is_slow = (7 * turn * turn + 3 * turn) % 11 < 3;
        f64::from(i % 13) * 1e-6 + if is_slow { 0.3 } else { 0.0001 }
    });
    let steady = records("steady.load", |i| 0.001 + f64::from(i % 7) * 0.0001);
    let text = out(&run("compare", &[&uneven, &steady], &[]));
    assert!(text.contains("×/÷ >10"), "{text}");
    assert!(text.contains("too uneven, or too short"), "{text}");
    for factor in text.split("×/÷ ").skip(1) {
        let factor = factor.split_whitespace().next().unwrap();
        let number: Option<f64> = factor.parse().ok();
        assert!(number.is_none_or(|factor| factor <= 10.0), "{text}");
    }
    let text = out(&run("compare", &[&steady, &steady], &[]));
    assert!(!text.contains(">10") && text.contains('±'), "{text}");
    assert!(
        text.contains("±<0.01 %") && !text.contains("±0.000"),
        "{text}"
    );
}

#[test]
fn loads_that_differ_are_named_and_equal_loads_are_not() {
    let scratch = Scratch::new();
    let slow = recorded(&scratch, "slow.ios", "load.arrivals.poisson_per_s=10");
    let fast = recorded(&scratch, "fast.ios", "load.arrivals.poisson_per_s=40");
    let text = out(&run("compare", &[&slow, &fast], &[]));
    assert!(
        text.contains(
            "The loads of slow and fast differ in the rate (10.1/s and 40.5/s) and the duration ("
        ),
        "{text}"
    );
    let scheduler = recorded(&scratch, "scheduler.ios", "disk.scheduler=sptf");
    let usual = recorded(&scratch, "usual.ios", "disk.scheduler=fcfs");
    let text = out(&run("compare", &[&usual, &scheduler], &[]));
    assert!(!text.contains("The loads"), "{text}");
    assert!(!text.contains("The replay"), "{text}");
}

#[test]
fn options_without_an_effect_on_a_comparison_are_refused() {
    let scratch = Scratch::new();
    let row = "time_us,sector,sectors,op,latency_us\n0,0,8,read,100\n";
    let (one, two) = (scratch.file("one.csv", row), scratch.file("two.csv", row));
    for option in [
        &["--window", "1s"][..],
        &["--group", "1min"],
        &["--ws", "sliding"],
        &["--device-size", "1GiB"],
        &["--merge"],
    ] {
        let refused = run("compare", &[&one, &two], option);
        assert_eq!(refused.status.code(), Some(2), "{option:?}");
        assert!(err(&refused).contains(option[0]), "{}", err(&refused));
    }
    let compared = run("compare", &[&one, &two], &["--quantity", "latency"]);
    assert!(compared.status.success(), "{}", err(&compared));
}

#[test]
fn requests_that_failed_are_named_beside_the_times_of_the_others() {
    let scratch = Scratch::new();
    let records = |name: &str, failed: u64| {
        let mut rows = "time_ms,sector,sectors,op,latency_us,status\n".to_owned();
        for i in 0..1_000_u64 {
            let status = if i < failed { "error:5" } else { "done" };
            rows += &format!("{i},8,8,read,{},{status}\n", 900 + i % 200);
        }
        scratch.file(name, rows)
    };
    let (healthy, lost) = (records("healthy.csv", 0), records("lost.csv", 400));
    let options = ["--target", "p99 < 200ms"];
    let compared = run("compare", &[&healthy, &lost], &options);
    let text = out(&compared);
    let line = "Of lost, 400 of 1 000 requests failed, and are not in its times.";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("misses: too many requests failed"), "{text}");
    let json = out(&run("compare", &[&healthy, &lost], &["--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let failed = serde_json::json!([{ "input": "lost", "failed": 400, "submitted": 1000 }]);
    assert_eq!(json["failed"], failed, "{json:#}");
    let alike = out(&run("compare", &[&healthy, &healthy], &options));
    assert!(!alike.contains("failed"), "{alike}");
}

#[test]
fn times_of_no_storage_are_called_fake() {
    let scratch = Scratch::new();
    let rows = |op: &str| -> String {
        (0..300)
            .map(|i| {
                format!(
                    "{}.{:03} ; {} ; 8 ; {op} ; 0 ; 0.001\n",
                    i / 1000,
                    i % 1000,
                    8 * i
                )
            })
            .collect()
    };
    let real = scratch.file("real.replay", rows("R"));
    let dry = scratch.path("dry.ios");
    let options = ["--engine", "dry", "-q", "--out", dry.to_str().unwrap()];
    let replayed = run("replay", &[&real], &options);
    assert!(replayed.status.success(), "{}", err(&replayed));
    let compared = run("compare", &[&real, &dry], &[]);
    let text = out(&compared);
    assert!(text.contains("The times of dry are FAKE: "), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&out(&run("compare", &[&real, &dry], &["--json"]))).unwrap();
    assert_eq!(json["fakes"][0]["input"], "dry", "{json}");
    let real_only = out(&run("compare", &[&real, &real], &[]));
    assert!(!real_only.contains("FAKE"), "{real_only}");
    for command in ["info", "analyze"] {
        for (file, is_fake) in [(&dry, true), (&real, false)] {
            let said = err(&run(command, &[file], &[]));
            assert_eq!(said.contains("FAKE: no target was accessed"), is_fake);
        }
    }
    // The times of another run of the load are its own.
    let simulated = scratch.path("simulated.ios");
    let trace = format!("--trace={}", dry.display());
    let records = format!("--records={}", simulated.display());
    let again = iosonar()
        .args(["sim", "-q", "ibm-18es", &trace, &records])
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", err(&again));
    let text = out(&run("compare", &[&real, &simulated], &[]));
    assert!(!text.contains("FAKE"), "{text}");
}

#[test]
fn quantiles_that_differ_are_named_where_the_means_do_not() {
    let scratch = Scratch::new();
    let records = |name: &str, latency_us: fn(u64) -> u64| {
        let mut rows = "time_ns,sector,sectors,op,latency_ns\n".to_owned();
        for i in 0..20_000_u64 {
            rows += &format!("{},8,8,read,{}\n", i * 1_000_000, latency_us(i) * 1_000);
        }
        scratch.file(name, rows)
    };
    let constant = records("constant.csv", |_| 2_000);
    let two = records("two.csv", |i| 1_000 + i % 2 * 2_000);
    let compare = |other: &std::path::Path| {
        let run = iosonar()
            .args(["compare", "-q"])
            .args([&constant, other])
            .output()
            .unwrap();
        out(&run)
    };
    let differ = compare(&two);
    assert!(
        differ.contains("does not differ significantly from that of constant, but the p50 is 0.5"),
        "{differ}"
    );
    assert!(differ.contains("the p99 is 1.50 times"), "{differ}");
    let equal = compare(&records("again.csv", |_| 2_000));
    assert!(
        equal.contains("does not differ significantly from that of constant.\n"),
        "{equal}"
    );
}

#[test]
fn a_recording_of_another_drive_is_reported_as_one() {
    let scratch = Scratch::new();
    let calibrate = |records: &std::path::Path| {
        let run = iosonar()
            .args(["calibrate", "--profile", "seagate-st3500630ns", "-o"])
            .arg(scratch.path("fitted.toml"))
            .arg(records)
            .output()
            .unwrap();
        err(&run)
    };
    // A drive of 7 200 revolutions per minute, and one of 14 400.
    let same = recorded(&scratch, "same.ios", "load.requests=4000");
    assert!(!calibrate(&same).contains("another drive"));
    let path = "crates/disk-model/profiles/seagate-st3500630ns.toml";
    let profile = fs::read_to_string(path).unwrap();
    let faster = profile.replace("revolution_ms = 8.33", "revolution_ms = 4.16");
    assert_ne!(faster, profile);
    let faster = scratch.file("faster.toml", faster);
    let set = format!("disk.profile={}", faster.to_str().unwrap());
    let other = recorded(&scratch, "other.ios", &set);
    let said = calibrate(&other);
    assert!(
        said.contains("another drive than seagate-st3500630ns"),
        "{said}"
    );
    // The fit holds with this model only.
    assert!(
        said.contains("profile = \"fitted.toml\"\n  model = \""),
        "{said}"
    );
    let fitted = fs::read_to_string(scratch.path("fitted.toml")).unwrap();
    let named = fitted.lines().find(|line| line.starts_with("description"));
    assert!(named.unwrap().contains("with the geometry of"), "{named:?}");
}
