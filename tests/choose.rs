//! From a recording to a decision: what `choose` answers is what simulations of their own say.

mod scratch;

use std::path::PathBuf;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};
use serde_json::Value;

/// 86 requests/s, two thirds of them reads.
fn recording() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/database-server.load.gz")
}

/// A minute of the recording.
fn choose(arguments: &[&str]) -> Output {
    let mut command = iosonar();
    command.arg("choose").arg(recording());
    command.args(["--duration", "60s", "--fit"]);
    command.args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(output)))
}

/// The value of a metric with these labels.
fn value(json: &Value, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let metrics = json["metrics"].as_array().unwrap().iter();
    let mut found = metrics.filter(|metric| {
        let is = |(key, value): &(&str, &str)| metric["labels"][*key] == *value;
        metric["name"] == name && labels.iter().all(is)
    });
    let metric = found.next()?;
    metric["value"].as_f64().or(metric["mean"].as_f64())
}

#[test]
fn keys_of_disks_are_set_for_the_candidates_that_have_disks() {
    let answer = |candidates: &[&str], set: &[&str]| {
        let options = ["--target", "p99 < 1s", "--json", "-q"];
        choose(&[candidates, &options, set].concat())
    };
    let mean = |run: &Output, candidate: &str| {
        let labels = [("candidate", candidate)];
        value(&json(run), "response_time", &labels).unwrap()
    };
    let (disks, ssd) = ("raid10:4xexos-x18", "nvme-gen4-tlc");
    let positional = "disk.model=\"positional\"";
    let set = ["--set", positional, "--set", "disk.write_back=false"];
    let [usual, without] = [answer(&[disks, ssd], &[]), answer(&[disks, ssd], &set)];
    assert!(mean(&without, disks) > 1.2 * mean(&usual, disks));
    assert_eq!(mean(&without, ssd), mean(&usual, ssd));
    // Where it is meant for none of them, it is an error.
    let refused = answer(&[ssd], &set);
    assert!(
        !refused.status.success() && err(&refused).contains("disk"),
        "{}",
        err(&refused)
    );
}

#[test]
fn the_administrator_has_the_answer_after_one_command() {
    let scratch = Scratch::new();
    let page = scratch.path("answer.html");
    let candidates = ["raid10:8xexos-x18", "raid6:8xexos-x18", "intel-d7"];
    let printed = choose(
        &[
            &candidates[..],
            &[
                "--target",
                "read p99 < 5ms",
                "-q",
                "--page",
                page.to_str().unwrap(),
            ],
        ]
        .concat(),
    );
    assert!(printed.status.success(), "{}", err(&printed));
    let text = out(&printed);
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("intel-d7 meets read p99 < 5 ms ("),
        "{text}"
    );
    let missed = first.split(". ").nth(1).unwrap();
    assert!(missed.contains("raid10:8xexos-x18 (read p99 "), "{text}");
    assert!(missed.contains("raid6:8xexos-x18 (read p99 "), "{text}");
    assert!(missed.ends_with("ms) do not."), "{text}");
    for candidate in candidates {
        let assuming = format!("  {candidate}: drives from a data sheet");
        assert!(text.contains(&assuming), "{text}");
    }
    // The recording lies within 512 MiB: that is said of the disks, and not of the SSD.
    let reaches: Vec<_> = text
        .lines()
        .filter(|line| line.contains(": the load spans only "))
        .collect();
    assert!(
        reaches.len() == 2 && reaches.iter().all(|line| line.contains("8xexos-x18")),
        "{text}"
    );
    // The page, which the boss gets, begins with the same sentence.
    let page = std::fs::read_to_string(page).unwrap();
    let body = &page[page.find("<main>").unwrap()..];
    let begin = body
        .find("<p>intel-d7 meets read p99 &lt; 5 ms (")
        .expect(body);
    let table = body.find("<table").unwrap();
    assert!(begin < table);
    // Its best candidate was given last, and is the first row.
    let row = |name: &str| body[table..].find(name).expect(name);
    assert!(row("intel-d7 (best)") < row("raid10:8xexos-x18"));
}

#[test]
fn the_load_is_spread_over_what_all_candidates_hold() {
    let candidates = ["raid10:8xexos-x18", "raid6:8xexos-x18", "intel-d7"];
    let run = |options: &[&str]| {
        let mut command = iosonar();
        command.arg("choose").arg(recording()).args(candidates);
        command.args(["--duration", "20s", "-q", "--target", "p99 < 1s"]);
        out(&command.args(options).output().unwrap())
    };
    let text = run(&[]);
    let mut advice = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("--scatter ")?;
        rest.split(' ').next()
    });
    let over = advice.next().expect("a line on --scatter").to_owned();
    assert_eq!(advice.next(), None, "{text}");
    // The number of the larger candidates would lie beyond the end of the smallest.
    let spread = run(&["--scatter", &over]);
    assert!(!spread.contains("cannot be simulated"), "{spread}");
    assert!(!spread.contains("  --scatter"), "{spread}");
}

#[test]
fn verdicts_are_those_of_simulations_of_their_own() {
    let scratch = Scratch::new();
    let target = "write p99 < 2ms";
    let printed = choose(&[
        "raid10:4xexos-x18",
        "intel-d7",
        "--target",
        target,
        "--json",
    ]);
    let all = json(&printed);
    let mut expected = Vec::new();
    for (name, system) in [
        (
            "raid10:4xexos-x18",
            "[array]\nlevel = \"raid10\"\ndisks = 4\n[disk]\nprofile = \"seagate-exos-x18-18tb\"\n",
        ),
        ("intel-d7", "[ssd]\nprofile = \"intel-d7-p5500-3840gb\"\n"),
    ] {
        let file = scratch.file("alone.toml", system);
        let trace = recording();
        let alone = scratch::sim(
            &file,
            &[
                "--trace",
                trace.to_str().unwrap(),
                "--duration",
                "60s",
                "--fit",
                "--replications",
                "5",
                "--json",
            ],
        );
        assert!(alone.status.success(), "{}", err(&alone));
        let alone = json(&alone);
        let metrics = alone["metrics"].as_array().unwrap().iter();
        let mut writes =
            metrics.filter(|m| m["labels"]["op"] == "write" && m["quantiles"].is_object());
        let p99 = writes.next().unwrap()["quantiles"]["0.99"]
            .as_f64()
            .unwrap();
        let labels = [("candidate", name), ("op", "write"), ("quantile", "0.99")];
        assert_eq!(
            value(&all, "response_time_quantile", &labels),
            Some(p99),
            "{name}"
        );
        let labels = [("candidate", name), ("target", "write p99 < 2 ms")];
        assert_eq!(value(&all, "value", &labels), Some(p99), "{name}");
        if p99 < 2.0 {
            expected.push(name);
        }
    }
    let meet: Vec<_> = all["meet"].as_array().unwrap().iter().collect();
    assert_eq!(meet, expected);
    assert_eq!(
        printed.status.code(),
        Some(if expected.is_empty() { 3 } else { 0 })
    );
}

/// The p99 of a minute of the recording at this speed, in milliseconds.
fn p99_at(scratch: &Scratch, system: &str, factor: f64) -> f64 {
    let file = scratch.file("grown.toml", system);
    let run = iosonar()
        .arg("sim")
        .arg(file)
        .arg("--trace")
        .arg(recording())
        .args("--duration 60s --fit --replications 5 --json --speed".split(' '))
        .arg(format!("{factor:.6}"))
        .output()
        .unwrap();
    let sim = json(&run);
    let metrics = sim["metrics"].as_array().unwrap().iter();
    let mut all = metrics.filter(|m| m["labels"]["op"].is_null() && m["quantiles"].is_object());
    all.next().unwrap()["quantiles"]["0.99"].as_f64().unwrap()
}

const RAID: &str =
    "[array]\nlevel = \"raid10\"\ndisks = 4\n[disk]\nprofile = \"seagate-cheetah-15k7-600gb\"\n";
const VOLUME: &str = "[ssd]\nprofile = \"aws-gp3-500gib\"\n";

#[test]
fn the_buyer_learns_how_far_each_goes_and_what_it_costs() {
    let scratch = Scratch::new();
    let [csv, picture] = ["table.csv", "growth.svg"].map(|name| scratch.path(name));
    let asked = "raid10:4xcheetah-15k7 aws-gp3 --growth --within 0.1 --price cheetah-15k7=250 --price aws-gp3=40 -q --threads";
    let of = |more: &[&str]| {
        let words: Vec<_> = asked.split(' ').chain(more.iter().copied()).collect();
        choose(&[&words[..], &["--target", "p99 < 40ms"]].concat())
    };
    let (table, curve) = (csv.to_str().unwrap(), picture.to_str().unwrap());
    let printed = of(&["2", "--csv", table, "--curve", curve]);
    let text = out(&printed);
    assert!(printed.status.success(), "{text}{}", err(&printed));
    assert!(text.contains("growth") && text.contains("price"), "{text}");
    let table = std::fs::read_to_string(&csv).unwrap();
    let mut rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|of| *of == name).unwrap();
    for (system, price) in [(RAID, "1000"), (VOLUME, "40")] {
        let row = rows.next().unwrap();
        assert_eq!(row[column("price")], price);
        let growth: f64 = row[column("growth")].parse().unwrap();
        // It is only known where the next larger growth certainly misses.
        let breaks = match row[column("breaks_at")] {
            "" => 1.1 * growth,
            breaks => breaks.parse().unwrap(),
        };
        assert!(growth < breaks && breaks / growth < 1.101, "{row:?}");
        // At either end as simulations of their own say.
        assert!(p99_at(&scratch, system, growth) < 40.0, "{row:?}");
        assert!(p99_at(&scratch, system, 1.1 * breaks) > 40.0, "{row:?}");
    }
    let drawn = std::fs::read_to_string(&picture).unwrap();
    assert!(drawn.contains("target: p99 &lt; 40 ms") || drawn.contains("target: p99 < 40 ms"));
    // The same whatever the number of threads.
    assert_eq!(out(&of(&["1"])), text);
}

#[test]
fn the_file_of_a_candidate_is_no_output() {
    let scratch = Scratch::new();
    let profile = iosonar()
        .args(["profiles", "intel-d7-p5500-3840gb"])
        .output()
        .unwrap();
    let file = scratch.file("mine.toml", &profile.stdout);
    let name = format!("calibrated:{}", file.display());
    let printed = choose(&[
        &name,
        "--target",
        "p99 < 1s",
        "--csv",
        file.to_str().unwrap(),
    ]);
    assert_eq!(printed.status.code(), Some(2), "{}", err(&printed));
    assert_eq!(std::fs::read(&file).unwrap(), profile.stdout);
}

#[test]
fn where_none_is_known_to_meet_the_target_nothing_is_recommended() {
    let printed = choose(&["raid10:4xexos-x18", "--target", "p99 < 1us", "-q"]);
    assert_eq!(printed.status.code(), Some(3));
    let text = out(&printed);
    assert!(
        text.starts_with("No candidate meets p99 < 1 µs. raid10:4xexos-x18 (p99 "),
        "{text}"
    );
}

/// Arguments, a target, and what the message has.
const REFUSED: [(&str, &str, &str); 20] = [
    (
        "intel-d7 --growth --csv a.png --curve a.png",
        "p99 < 1s",
        "two outputs have this name",
    ),
    (
        "intel-d7+load.speed=2",
        "p99 < 1s",
        "the load is not part of the system: use --set load.speed=2",
    ),
    ("", "p99 < 1s", "<CANDIDATE>"),
    ("intel-d7", "p99 < 20", "has no unit"),
    (
        "intel-d7",
        "throughput > 200",
        "the throughput is the arrival rate",
    ),
    (
        "intel-d7",
        "latency p99 < 20ms",
        "remove 'latency' or 'delay'",
    ),
    ("floppy", "p99 < 1s", "unknown profile 'floppy'"),
    (
        "raid99:4xexos-x18",
        "p99 < 1s",
        "candidate 'raid99:4xexos-x18'",
    ),
    ("intel-d7 intel-d7", "p99 < 1s", "given twice"),
    ("intel-d7 --price intel-d7", "p99 < 1s", "NAME=COST"),
    (
        "intel-d7 --price floppy=1",
        "p99 < 1s",
        "unknown profile 'floppy'",
    ),
    ("intel-d7 --page a.txt", "p99 < 1s", "end in .html"),
    ("intel-d7 --curve a.png", "p99 < 1s", "--growth"),
    ("intel-d7 --csv no/folder/a.csv", "p99 < 1s", "folder"),
    (
        "raid5:4xexos-x18+array.foo=3",
        "p99 < 1s",
        "candidate 'raid5:4xexos-x18+array.foo=3': 'array.foo' is not a key",
    ),
    (
        "raid5:2xexos-x18",
        "p99 < 1s",
        "candidate 'raid5:2xexos-x18': 'array.disks' is 2, expected 3",
    ),
    (
        "raid5:4xexos-x18+unit=7",
        "p99 < 1s",
        "candidate 'raid5:4xexos-x18+unit=7': 'array.stripe_unit' is '7'",
    ),
    (
        "intel-d7 --set load.speed=0",
        "p99 < 1s",
        "--set: 'load.speed' is 0",
    ),
    (
        "intel-d7 --price intel-d7=1e308",
        "p99 < 1s",
        "at most 1e15",
    ),
    (
        "raid10:4xexos-x18 --set array.disks=8",
        "p99 < 1s",
        "the short form of a candidate already sets this key",
    ),
];

#[test]
fn what_cannot_be_chosen_is_refused() {
    for (arguments, target, expected) in REFUSED {
        let words = arguments.split_whitespace().chain(["--target", target]);
        let printed = choose(&words.collect::<Vec<_>>());
        let text = format!("{}{}", out(&printed), err(&printed));
        assert_eq!(printed.status.code(), Some(2), "{arguments}: {text}");
        assert!(text.contains(expected), "{arguments}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

#[test]
fn a_load_that_cannot_be_read_or_fits_nothing_is_an_error() {
    let scratch = Scratch::new();
    let of = |load: &str| {
        let mut command = iosonar();
        command.args([
            "choose",
            load,
            "hp-c2247a",
            "ibm-18es",
            "--target",
            "p99 < 1s",
        ]);
        command.output().unwrap()
    };
    let far = "time_ns,sector,sectors,op\n0,99999999999,8,read\n";
    let far = scratch.file("far.csv", far);
    let absent = scratch.path("absent.csv");
    for (load, expected) in [(&far, "100000000007"), (&absent, "absent.csv")] {
        let printed = of(load.to_str().unwrap());
        assert_eq!(printed.status.code(), Some(1), "{}", err(&printed));
        assert!(err(&printed).contains(expected), "{}", err(&printed));
        assert_eq!(out(&printed), "");
    }
}

#[test]
fn a_calibrated_device_is_a_candidate() {
    let scratch = Scratch::new();
    let profile = iosonar()
        .args(["profiles", "intel-d7-p5500-3840gb"])
        .output()
        .unwrap();
    let file = scratch.file("mine.toml", &profile.stdout);
    let name = format!("calibrated:{}", file.display());
    let printed = choose(&[&name, "intel-d7", "--target", "p99 < 1s", "--json"]);
    assert!(printed.status.success(), "{}", err(&printed));
    let all = json(&printed);
    let p99 = |name: &str| value(&all, "value", &[("candidate", name)]);
    assert!(p99("intel-d7").is_some());
    assert_eq!(p99(&name), p99("intel-d7"));
}

#[test]
fn a_mistake_in_the_load_has_its_own_file_and_line() {
    let scratch = Scratch::new();
    let of = |text: &str, candidate: &str| {
        let load = scratch.file("load.toml", text);
        let mut command = iosonar();
        command.arg("choose").arg(load);
        let printed = command
            .args([candidate, "--target", "p99 < 1s"])
            .output()
            .unwrap();
        assert_eq!(printed.status.code(), Some(2), "{}", err(&printed));
        err(&printed)
    };
    let right = "[load]\nrequests = 100\nrate = 5.0\nsize = \"4KiB\"\n";
    let wrong = right.replace("rate =", "ratee =");
    for text in [&wrong, &format!("{wrong}[disk]\nprofile = \"ibm-18es\"\n")] {
        let error = of(text, "hp-c2247a");
        assert!(error.contains("load.toml:3: 'load.ratee'"), "{error}");
        assert!(!error.contains("candidate"), "{error}");
    }
    // The candidate is at fault.
    let error = of(right, "raid5:2xibm-18es");
    assert!(error.contains("candidate 'raid5:2xibm-18es'"), "{error}");
}

#[test]
fn a_growth_that_is_only_a_lower_bound_has_its_reason_beside_its_candidate() {
    let printed = choose(&[
        "raid10:4xexos-x18",
        "intel-d7",
        "--growth",
        "--target",
        "p99 < 40ms",
    ]);
    let text = out(&printed);
    assert!(text.contains(">= "), "{text}");
    let why: Vec<_> = text
        .lines()
        .filter(|line| line.contains("growth >= ") || line.contains("growth from "))
        .collect();
    let [disks, ssd] = why.as_slice() else {
        panic!("{text}")
    };
    assert!(
        disks.starts_with("  raid10:4xexos-x18: growth from ")
            && disks.contains("too close to call"),
        "{text}"
    );
    assert!(ssd.starts_with("  intel-d7: growth >= "), "{text}");
    assert!(!text.contains("\n  >=:"), "{text}");
    // Of the disks it is known what is too much, of the SSD it is not.
    let json = choose(&[
        "raid10:4xexos-x18",
        "intel-d7",
        "--growth",
        "--target",
        "p99 < 40ms",
        "--json",
    ]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let of = |name: &str| -> Vec<&Value> {
        let named = metrics.iter().filter(|of| of["name"] == name);
        named.map(|of| &of["labels"]["candidate"]).collect()
    };
    assert_eq!(of("ruled_out"), ["raid10:4xexos-x18"]);
    assert!(of("breaks_at").is_empty());
}
