//! A researcher's questions from outside: distributions of partial-stripe writes against load, theory beside them, and a
//! table of disks by stripe units for a data frame. Every answer is that of a separate simulation.

mod scratch;

use std::path::{Path, PathBuf};

use scratch::{Scratch, err, iosonar, out, sim};
use serde_json::Value;

/// A RAID 5 of 15,000 rpm drives under reads of 8 KiB and writes of 64 KiB, which are parts of a stripe.
const RAID: &str = "seed = 7\nreplications = 4\nwarmup_requests = 50\n\
    [load]\nrequests = 800\nrate_per_s = 150.0\nread_share = \"70%\"\n\
    size = { read = \"8KiB\", write = \"64KiB\" }\n\
    [array]\nlevel = \"raid5\"\ndisks = 8\nstripe_unit = \"64KiB\"\n\
    [disk]\nprofile = \"seagate-cheetah-15k7-600gb\"\nmodel = \"sampled\"\n";

fn raid(scratch: &Scratch) -> PathBuf {
    scratch.file("raid.toml", RAID)
}

/// Rows of a CSV file by the names of their columns.
struct Frame {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Frame {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let mut rows = text.lines().map(fields);
        let names = rows.next().unwrap();
        let rows: Vec<_> = rows.collect();
        assert!(rows.iter().all(|row| row.len() == names.len()), "{names:?}");
        Self { names, rows }
    }

    fn column(&self, name: &str) -> Vec<&str> {
        let at = self.names.iter().position(|known| known == name);
        let at = at.unwrap_or_else(|| panic!("no {name} in {:?}", self.names));
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }

    /// The numbers of a column, NaN where it is empty.
    fn numbers(&self, name: &str) -> Vec<f64> {
        let number = |text: &str| match text {
            "" => f64::NAN,
            text => text.parse().unwrap_or_else(|_| panic!("{name}: {text}")),
        };
        self.column(name).into_iter().map(number).collect()
    }

    /// The rows with these values.
    fn filtered(&self, values: &[(&str, &str)]) -> Self {
        let is_meant = |row: &&Vec<String>| {
            values.iter().all(|(name, value)| {
                let at = self.names.iter().position(|known| known == name).unwrap();
                row[at] == *value
            })
        };
        Self {
            names: self.names.clone(),
            rows: self.rows.iter().filter(is_meant).cloned().collect(),
        }
    }
}

/// The fields of a row, some of which may be in quotes.
fn fields(row: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in row.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

fn done(scenario: &Path, options: &[&str]) -> String {
    let run = sim(scenario, options);
    assert!(run.status.success(), "{}", err(&run));
    out(&run)
}

/// A metric of the response times that a command found.
fn response_time(command: &str, scenario: &Path, set: &str, labels: &[(&str, &str)]) -> Value {
    let run = iosonar()
        .args([
            command,
            scenario.to_str().unwrap(),
            "--json",
            "-q",
            "--set",
            set,
        ])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| {
        let name = metric["name"].as_str().unwrap();
        name.starts_with("response_time")
            && labels
                .iter()
                .all(|(key, value)| metric["labels"][key] == *value)
            && (metric["labels"]["op"].is_null() || labels.iter().any(|(key, _)| *key == "op"))
    });
    found.expect("response times").clone()
}

#[test]
fn distributions_against_load_have_bands_and_are_those_of_separate_runs() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let [svg, data, cdf, alone] =
        ["a.svg", "data.csv", "cdf.csv", "alone.csv"].map(|n| scratch.path(n));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    done(
        &scenario,
        &[
            "-q",
            "--vary",
            "load.rate_per_s=300,50..250 step 50",
            "--cdf",
            &text(&svg),
            "--data",
            &text(&data),
            "--cdf-data",
            &text(&cdf),
        ],
    );
    let picture = std::fs::read_to_string(&svg).unwrap();
    let rates = ["50", "100", "150", "200", "250", "300"];
    let places: Vec<_> = rates
        .iter()
        .map(|r| picture.find(&format!("rate = {r}/s")))
        .collect();
    assert!(places[0].is_some() && places.is_sorted(), "{places:?}");
    assert!(
        picture.matches("<polygon").count() >= rates.len(),
        "a band for each"
    );
    let drawn = Frame::read(&data);
    let known = Frame::read(&cdf);
    for rate in rates {
        let drawn = drawn.filtered(&[("curve", &format!("rate = {rate}/s"))]);
        let known = known.filtered(&[("load.rate_per_s", rate)]);
        // Both files hold exactly what is drawn.
        assert_eq!(drawn.column("x_s"), known.column("response_time_s"));
        assert_eq!(drawn.column("y_share"), known.column("share"));
        assert_eq!(drawn.column("y_low_95_share"), known.column("share_low_95"));
        assert!(drawn.column("count").iter().all(|count| *count == "3200"));
        let shares = known.numbers("share");
        assert!(shares.len() > 100 && shares.is_sorted(), "{rate}");
        assert_eq!((shares[0], *shares.last().unwrap()), (0.0, 1.0));
        let ends = known
            .numbers("share_low_95")
            .into_iter()
            .zip(known.numbers("share_high_95"));
        let within = shares.iter().zip(ends).filter(|(share, (low, high))| {
            assert!(!(low > *share || high < *share), "{rate}: {share}");
            low < high
        });
        assert!(within.count() > 90, "{rate}: no band");
    }
    // The more load, the fewer requests are complete within 10 ms.
    let within_10_ms = |rate: &str| {
        let known = known.filtered(&[("load.rate_per_s", rate)]);
        let times = known.numbers("response_time_s");
        let last = times.iter().rposition(|time| *time <= 0.01).unwrap();
        known.numbers("share")[last]
    };
    let shares: Vec<f64> = rates.iter().map(|rate| within_10_ms(rate)).collect();
    assert!(shares.is_sorted_by(|a, b| a > b), "{shares:?}");
    // The same simulation alone.
    done(
        &scenario,
        &[
            "-q",
            "--set",
            "load.rate_per_s=200",
            "--cdf-data",
            &text(&alone),
        ],
    );
    let alone = Frame::read(&alone);
    let known = known.filtered(&[("load.rate_per_s", "200")]);
    let inner = 1..=alone.rows.len();
    for column in ["response_time_s", "share", "share_low_95", "share_high_95"] {
        assert_eq!(
            known.column(column)[inner.clone()],
            alone.column(column),
            "{column}"
        );
    }
}

#[test]
fn percentiles_and_theory_against_load_are_those_of_sim_and_model() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let [svg, data, csv] = ["a.svg", "data.csv", "all.csv"].map(|n| scratch.path(n));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let options = [
        "-q",
        "--vary",
        "load.rate_per_s=100,200,300",
        "--curve",
        &text(&svg),
        "--curve-of",
        "mean,read p99,write p50",
        "--theory",
        "--data",
        &text(&data),
        "--csv",
        &text(&csv),
    ];
    done(&scenario, &options);
    let (drawn, all) = (Frame::read(&data), Frame::read(&csv));
    let picture = std::fs::read_to_string(&svg).unwrap();
    for label in [
        "mean",
        "read p99",
        "write p50",
        "dashed: theory",
        "bars are 95 % intervals",
    ] {
        assert!(picture.contains(label), "{label}");
    }
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    for (i, rate) in ["100", "200", "300"].into_iter().enumerate() {
        let set = format!("load.rate_per_s={rate}");
        let at = |curve: &str, kind: &str| {
            let rows = drawn.filtered(&[("curve", curve), ("kind", kind), ("x", rate)]);
            assert_eq!(rows.rows.len(), 1, "{curve} {kind}");
            rows.numbers("y_s")[0]
        };
        let every = response_time("sim", &scenario, &set, &[]);
        let reads = response_time("sim", &scenario, &set, &[("op", "read")]);
        let writes = response_time("sim", &scenario, &set, &[("op", "write")]);
        let model = response_time("model", &scenario, &set, &[("kind", "under load")]);
        let ms = |value: &Value| value.as_f64().unwrap();
        assert!(close(at("mean", "simulation") * 1e3, ms(&every["mean"])));
        assert!(close(
            at("read p99", "simulation") * 1e3,
            ms(&reads["quantiles"]["0.99"])
        ));
        assert!(close(
            at("write p50", "simulation") * 1e3,
            ms(&writes["quantiles"]["0.5"])
        ));
        assert!(close(at("mean", "theory") * 1e3, ms(&model["mean"])));
        assert!(close(all.numbers("theory_mean_ms")[i], ms(&model["mean"])));
        assert!(close(
            all.numbers("read_p99_ms")[i],
            ms(&reads["quantiles"]["0.99"])
        ));
        assert_eq!(all.numbers("write_requests")[i], ms(&writes["n"]));
        let interval = &every["quantile_intervals_95"]["0.5"];
        assert!(close(all.numbers("p50_low_95_ms")[i], ms(&interval[0])));
        assert!(close(all.numbers("p50_high_95_ms")[i], ms(&interval[1])));
        // Theory stands beside the simulation, and not on it.
        let (simulated, theory) = (at("mean", "simulation"), at("mean", "theory"));
        assert!(
            (theory / simulated - 1.0).abs() < 0.3,
            "{simulated} {theory}"
        );
    }
    // Theory is about all requests: of reads alone it says nothing.
    assert!(
        drawn
            .filtered(&[("curve", "read p99"), ("kind", "theory")])
            .rows
            .is_empty()
    );
    assert_has_bars(&drawn);
}

/// Each mean lies within its interval.
fn assert_has_bars(drawn: &Frame) {
    let bars = drawn.filtered(&[("curve", "mean"), ("kind", "simulation")]);
    for (y, (low, high)) in bars.numbers("y_s").iter().zip(
        bars.numbers("y_low_95_s")
            .into_iter()
            .zip(bars.numbers("y_high_95_s")),
    ) {
        assert!(low < *y && *y < high, "{low} {y} {high}");
    }
}

#[test]
fn the_wall_of_a_hockey_stick_has_bars_both_ways() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let data = scratch.path("data.csv");
    let svg = scratch.path("a.svg");
    let paths = [svg.to_str().unwrap(), data.to_str().unwrap()];
    done(
        &scenario,
        &[
            "-q",
            "--vary",
            "load.rate_per_s=100,200,400",
            "--curve",
            paths[0],
            "--curve-of",
            "p99",
            "--against",
            "throughput",
            "--data",
            paths[1],
        ],
    );
    let drawn = Frame::read(&data);
    let (low, x, high) = ("x_low_95", "x", "x_high_95");
    for i in 0..3 {
        assert!(drawn.numbers(low)[i] < drawn.numbers(x)[i]);
        assert!(drawn.numbers(x)[i] < drawn.numbers(high)[i]);
    }
    assert!(
        drawn.numbers("y_s").is_sorted(),
        "{:?}",
        drawn.numbers("y_s")
    );
}

#[test]
fn disks_by_stripe_units_fill_a_data_frame() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let csv = scratch.path("all.csv");
    let vary = ["array.disks=4..12", "array.stripe_unit=1MiB,64KiB,256KiB"];
    let path = csv.to_str().unwrap();
    done(
        &scenario,
        &["-q", "--vary", vary[0], "--vary", vary[1], "--csv", path],
    );
    let frame = Frame::read(&csv);
    assert_eq!(frame.rows.len(), 27);
    let start = [
        "scenario",
        "array.disks",
        "array.stripe_unit",
        "array.stripe_unit_bytes",
        "throughput_per_s",
    ];
    assert_eq!(frame.names[..5], start);
    assert!(frame.column("no_result").iter().all(|why| why.is_empty()));
    let mut names = frame.names.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), frame.names.len(), "a name for each column");
    let words = ["scenario", "array.stripe_unit", "no_result", "hash"];
    for name in frame
        .names
        .iter()
        .filter(|name| !words.contains(&name.as_str()))
    {
        let is_optional = name.contains("_95_ms") || name == "write_amplification";
        let numbers = frame.numbers(name);
        assert!(
            is_optional || numbers.iter().all(|n| n.is_finite()),
            "{name}: {numbers:?}"
        );
    }
    let disks: Vec<f64> = (0..3).flat_map(|_| (4..=12).map(f64::from)).collect();
    assert_eq!(frame.numbers("array.disks"), disks);
    let units = frame.numbers("array.stripe_unit_bytes");
    assert!(
        units.is_sorted() && units[0] == 65_536.0 && units[26] == 1_048_576.0,
        "{units:?}"
    );
    assert_eq!(frame.column("array.stripe_unit")[9], "256KiB");
    for name in ["read_p50", "write_p50"] {
        let [low, value, high] =
            ["_low_95_ms", "_ms", "_high_95_ms"].map(|end| frame.numbers(&format!("{name}{end}")));
        assert!(
            (0..27).all(|i| low[i] <= value[i] && value[i] <= high[i]),
            "{name}"
        );
    }
    assert_cell_is_that_of_sim(&frame, &scenario);
}

/// One of the cells alone.
fn assert_cell_is_that_of_sim(frame: &Frame, scenario: &Path) {
    let row = frame.filtered(&[("array.disks", "6"), ("array.stripe_unit", "256KiB")]);
    let run = sim(
        scenario,
        &[
            "-q",
            "--json",
            "--set",
            "array.disks=6",
            "--set",
            "array.stripe_unit=\"256KiB\"",
        ],
    );
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    let metric = |op: Option<&str>| {
        let metrics = json["metrics"].as_array().unwrap().iter();
        let mut times = metrics.filter(|metric| metric["name"] == "response_time");
        times
            .find(|metric| metric["labels"]["op"].as_str() == op)
            .unwrap()
            .clone()
    };
    let alone = metric(None)["mean"].as_f64().unwrap();
    assert!((row.numbers("mean_ms")[0] / alone - 1.0).abs() < 1e-12);
    for (op, column) in [("read", "read_p99_ms"), ("write", "write_p99_ms")] {
        let alone = metric(Some(op))["quantiles"]["0.99"].as_f64().unwrap();
        assert!(
            (row.numbers(column)[0] / alone - 1.0).abs() < 1e-9,
            "{column}"
        );
    }
}

#[test]
fn a_second_key_has_panels_and_threads_change_nothing() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let run = |threads: &str, name: &str| {
        let [svg, data] = ["svg", "csv"].map(|ending| scratch.path(&format!("{name}.{ending}")));
        let (svg_path, data_path) = (svg.to_str().unwrap(), data.to_str().unwrap());
        done(
            &scenario,
            &[
                "-q",
                "--threads",
                threads,
                "--vary",
                "load.rate_per_s=100,200",
                "--vary",
                "array.stripe_unit=256KiB,64KiB",
                "--cdf",
                svg_path,
                "--data",
                data_path,
            ],
        );
        (
            std::fs::read_to_string(svg).unwrap(),
            std::fs::read_to_string(data).unwrap(),
        )
    };
    let (one, other) = (run("1", "one"), run("3", "other"));
    assert_eq!(one, other);
    let (svg, data) = one;
    let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("stripe_unit = 64 KiB") < at("stripe_unit = 256 KiB"));
    assert_eq!(svg.matches("rate = 100/s").count(), 1, "one legend");
    let of_one = data.matches("stripe_unit = 64 KiB,rate = 100/s,simulation");
    assert!(of_one.count() > 100);
    let path = scratch.path("panels.csv");
    let curve = scratch.path("panels.svg");
    done(
        &scenario,
        &[
            "-q",
            "--vary",
            "load.rate_per_s=100,200",
            "--vary",
            "array.disks=4,8",
            "--curve",
            curve.to_str().unwrap(),
            "--panels",
            "disks",
            "--curve-of",
            "p50,p99",
            "--data",
            path.to_str().unwrap(),
        ],
    );
    let frame = Frame::read(&path);
    let panels = frame.filtered(&[("panel", "disks = 8")]);
    assert_eq!(panels.column("curve"), ["p50", "p50", "p99", "p99"]);
    assert_eq!(frame.rows.len(), 8);
}

#[test]
fn what_cannot_be_drawn_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let scenario = raid(&scratch);
    let picture = scratch.path("a.png");
    let png = picture.to_str().unwrap();
    let other = scratch.path("b.png");
    let data = scratch.path("data.csv");
    let (other, data) = (other.to_str().unwrap(), data.to_str().unwrap());
    for (options, said) in [
        ("DISKS --cdf PNG", "13 curves in one picture"),
        ("DISKS RATES --cdf PNG --panels disks", "13 panels"),
        ("RATES --curve PNG --panels disks", "'disks' is not varied"),
        ("RATES --curve PNG --panels rate_per_s", "is on the x axis"),
        ("RATES --data DATA", "--data writes the values of a chart"),
        ("RATES --panels x", "--panels needs a picture"),
        ("RATES --theory", "--theory needs --curve"),
        (
            "RATES --curve PNG --cdf OTHER --data DATA",
            "needs a single picture",
        ),
        (
            "RATES --curve PNG --curve-of p99,throughput",
            "different units",
        ),
        ("RATES --curve PNG --curve-of p999", "write p99.9"),
        (
            "RATES --curve PNG --curve-of throughput --against throughput",
            "not a response time",
        ),
        (
            "RATES WRITES --curve PNG --curve-of read_p99",
            "no simulation has requests of this kind",
        ),
    ] {
        let words = options.split(' ').flat_map(|word| match word {
            "DISKS" => vec!["--vary", "array.disks=4..16"],
            "RATES" => vec!["--vary", "load.rate_per_s=100,200"],
            "WRITES" => vec!["--set", "load.read_share=0"],
            "PNG" => vec![png],
            "OTHER" => vec![other],
            "DATA" => vec![data],
            "read_p99" => vec!["read p99"],
            word => vec![word],
        });
        let words: Vec<&str> = words.chain(["-q"]).collect();
        let run = sim(&scenario, &words);
        assert_eq!(run.status.code(), Some(2), "{options}: {}", err(&run));
        assert!(err(&run).contains(said), "{options}: {}", err(&run));
        assert!(!picture.exists(), "{options}");
    }
}
