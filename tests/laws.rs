//! The laws that every output of `iosonar sim` obeys, whatever is simulated: flow balance, conservation of requests,
//! Little's law in the system and at each station, the utilisation law, and quantiles in order.
//!
//! The window of the measurement has edges: requests that are there when it begins or ends. The output has their time
//! too, so the laws hold exactly, for any load; that they hold without it in a steady state is checked where one is.

mod scratch;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use scratch::{Scratch, iosonar};
use serde_json::Value;

/// The figures of a scenario in the output of `sim --json`.
struct Figures<'a> {
    scenario: &'a str,
    metrics: Vec<&'a Value>,
}

impl<'a> Figures<'a> {
    fn of(json: &'a Value, scenario: &'a str) -> Self {
        let metrics = json["metrics"].as_array().unwrap().iter();
        let metrics = metrics
            .filter(|m| m["labels"]["scenario"] == scenario)
            .collect();
        Self { scenario, metrics }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        let named = self.metrics.iter().filter(move |m| m["name"] == name);
        named.copied().collect::<Vec<_>>().into_iter()
    }

    /// The metric that has exactly these labels besides the scenario's name.
    fn metric(&self, name: &str, labels: &[(&str, &str)]) -> &'a Value {
        let fits = |m: &&Value| {
            m["labels"].as_object().unwrap().len() == labels.len() + 1
                && labels
                    .iter()
                    .all(|(key, value)| m["labels"][*key] == *value)
        };
        let found = self.all(name).find(fits);
        found.unwrap_or_else(|| panic!("{}: no {name} of {labels:?}", self.scenario))
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let value = self.metric(name, labels)["value"].as_f64();
        value.unwrap_or_else(|| panic!("{}: no value of {name} of {labels:?}", self.scenario))
    }

    #[track_caller]
    fn same(&self, law: &str, one: f64, other: f64) {
        let scale = one.abs().max(other.abs()).max(1e-6);
        assert!(
            (one - other).abs() <= 1e-9 * scale,
            "{}: {law}: {one} against {other}",
            self.scenario
        );
    }

    /// All laws that hold for any load.
    fn obey_the_laws(&self) {
        let window = self.value("window", &[]);
        assert!(window > 0.0, "{}: an empty window", self.scenario);
        let requests = |kind| self.value("window_requests", &[("kind", kind)]);
        self.same(
            "flow balance",
            requests("present-at-start") + requests("arrived"),
            requests("completed") + requests("present-at-end"),
        );
        let throughput = self.value("throughput", &[]);
        self.same("throughput", throughput * window, requests("served"));
        assert!(requests("served") <= requests("completed"));

        let time = |part| self.value("time_in_system", &[("part", part)]);
        let response = self.metric("response_time", &[]);
        let n = response["n"].as_f64().unwrap();
        let mean = response["mean"].as_f64().unwrap() / 1e3;
        self.same("the sum of response times", time("measured"), n * mean);
        self.same(
            "Little's law in the system",
            self.value("number_in_system", &[]) * window,
            n * mean + time("other") + time("edge"),
        );
        self.stations_obey(window);
        self.distributions_are_in_order();
        for metric in &self.metrics {
            let name = &metric["name"];
            if metric.get("value").is_some() {
                let value = metric["value"].as_f64();
                assert!(
                    value.is_some_and(f64::is_finite),
                    "{}: {metric}",
                    self.scenario
                );
            }
            let stderr = metric["stderr"].as_f64().unwrap_or(0.0);
            assert!(stderr >= 0.0, "{}: {name}", self.scenario);
        }
    }

    fn stations_obey(&self, window: f64) {
        for station in self.all("queue_length") {
            let station = station["labels"]["station"].as_str().unwrap();
            let at = [("station", station)];
            let jobs = self.value("queue_length", &at);
            let rate = self.value("job_rate", &at);
            let law = |name, of: f64, what| {
                let at = [("station", station), ("of", what)];
                let mean = self.value("job_time", &at) / 1e3;
                let edge = self.value("job_edge_time", &at);
                self.same(name, of * window, rate * window * mean + edge);
            };
            law("Little's law at a station", jobs, "stay");
            // A disk serves one job at a time; what an SSD works on at once has no service time of one.
            let busy = self.value("busy", &at);
            assert!(
                (0.0..=1.0 + 1e-12).contains(&busy) && busy <= jobs + 1e-9,
                "{}: {station} is busy {busy} with {jobs} jobs",
                self.scenario
            );
            if self
                .all("job_time")
                .any(|m| m["labels"]["station"] == station && m["labels"]["of"] == "service")
            {
                law("the utilisation law", busy, "service");
            }
        }
        for station in self.all("utilisation") {
            let busy = station["value"].as_f64().unwrap();
            assert!(
                (0.0..=1.0 + 1e-12).contains(&busy),
                "{}: {station}",
                self.scenario
            );
        }
    }

    fn distributions_are_in_order(&self) {
        for metric in &self.metrics {
            let Some(quantiles) = metric["quantiles"].as_object() else {
                continue;
            };
            if metric["n"] == 0 {
                continue;
            }
            let number = |key: &str| metric[key].as_f64().unwrap();
            let names = [
                "0.01", "0.1", "0.5", "0.9", "0.95", "0.99", "0.999", "0.9999",
            ];
            let mut values = vec![number("min")];
            values.extend(names.map(|p| quantiles[p].as_f64().unwrap()));
            values.push(number("max"));
            assert!(
                values.windows(2).all(|pair| pair[0] <= pair[1]),
                "{}: {metric}",
                self.scenario
            );
            let (mean, sd) = (number("mean"), number("sd"));
            assert!(number("min") <= mean + 1e-9 && mean <= number("max") + 1e-9);
            // No distribution between two bounds varies more (Popoviciu).
            assert!((0.0..=(number("max") - number("min")) * 0.7072 + 1e-9).contains(&sd));
            for (p, interval) in metric["quantile_intervals_95"]
                .as_object()
                .into_iter()
                .flatten()
            {
                let (lower, upper) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
                let value = quantiles[p].as_f64().unwrap();
                assert!(
                    0.0 <= lower && lower <= value && value <= upper,
                    "{}: p{p} {value} {interval}",
                    self.scenario
                );
            }
        }
    }
}

fn sim(arguments: &[&str], scenarios: &[PathBuf]) -> Value {
    let output = iosonar()
        .args(["sim", "--json", "--quiet", "--unstable"])
        .args(arguments)
        .args(scenarios)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn name_of(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// Knuth's linear congruential generator.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A scenario, and what the test must know of it.
struct Random {
    text: String,
    requests: u64,
    replications: u64,
    closed: bool,
}

/// A disk array under any load: idle, busy, overloaded, closed.
fn random_disks(draws: &mut Draws) -> Random {
    let (level, disks) = draws.of(&[
        ("raid0", 1),
        ("raid0", 4),
        ("raid1", 2),
        ("raid10", 4),
        ("raid01", 4),
        ("raid5", 3),
        ("raid5", 5),
        ("raid6", 6),
        ("raid50", 6),
        ("jbod", 3),
    ]);
    let mut array = format!("level = '{level}'\ndisks = {disks}\n");
    let mut disk = String::from("profile = 'seagate-st3500630ns'\n");
    match draws.below(5) {
        0 => {
            let scheduler = draws.of(&["fcfs", "sstf", "look", "sptf"]);
            let _ = writeln!(disk, "model = 'positional'\nscheduler = '{scheduler}'");
        }
        1 => disk.push_str("scheduler = 'rpo'\n"),
        _ => {}
    }
    if draws.below(6) == 0 {
        array.push_str("mode = 'split-merge'\n");
    }
    let mut more = String::new();
    match draws.below(8) {
        0 => more.push_str("[controller]\ncommand_us = 200.0\nbus_mb_per_s = 100.0\n"),
        1 => more
            .push_str("[controller]\ncache = '8MiB'\ndestage_above = 0.5\ndestage_below = 0.2\n"),
        _ => {}
    }
    with_load(
        draws,
        &format!("[array]\n{array}[disk]\n{disk}{more}"),
        &[5.0, 30.0, 80.0, 600.0],
    )
}

fn random_ssds(draws: &mut Draws) -> Random {
    let ssd = match draws.below(4) {
        0 => "profile = 'block-queue-gen2x4'\n[ssd.block_queue]\ndispatch = 'dynamic'\nblock = 8\n",
        1 => "profile = 'block-queue-gen2x4'\ninterface = 'nvme'\n",
        2 => "profile = 'nvme-gen4-tlc'\n[ssd.flash]\nblocks = 64\npages = 16\n",
        _ => {
            "profile = 'nvme-gen4-tlc'\n[ssd.controller]\nerror_probability = 0.01\n\
             [ssd.flash]\nblocks = 64\npages = 16\nprecondition = 'steady-state'\n"
        }
    };
    let array = draws.of(&[
        "",
        "",
        "[array]\nlevel = 'raid5'\ndisks = 3\nstripe_unit = '64KiB'\n",
    ]);
    with_load(
        draws,
        &format!("{array}[ssd]\n{ssd}"),
        &[1e3, 2e4, 1e5, 5e6],
    )
}

fn with_load(draws: &mut Draws, system: &str, rates: &[f64]) -> Random {
    let requests = draws.of(&[40, 150, 600]);
    let replications = draws.of(&[1, 1, 3]);
    let warmup = draws.of(&[0, 0, 30, 300]);
    let closed = draws.below(3) == 0;
    let mut load = format!("requests = {requests}\n");
    if closed {
        // Each user must have a request.
        let outstanding = draws.of(&[1, 7, 30, 256]).min(requests + warmup);
        let think = draws.of(&[0.0, 0.0, 20.0]);
        let _ = writeln!(
            load,
            "closed = {{ outstanding = {outstanding}, think_ms = {think:?} }}"
        );
    } else {
        let rate = draws.of(rates);
        let law = draws.of(&["poisson_per_s", "constant_per_s"]);
        let _ = writeln!(load, "arrivals = {{ {law} = {rate:?} }}");
        if draws.below(4) == 0 {
            load.push_str("batch = { geometric_mean = 3.0 }\n");
        }
    }
    load.push_str(draws.of(&[
        "size = { blocks = 1 }\n",
        "size = { blocks = 6 }\n",
        "size = { geometric_mean_blocks = 4.0 }\n",
    ]));
    let _ = writeln!(load, "read_share = {:?}", draws.of(&[1.0, 0.5, 0.0]));
    let seed = draws.below(1000);
    let text = format!(
        "seed = {seed}\nreplications = {replications}\nwarmup_requests = {warmup}\n[load]\n{load}{system}"
    );
    Random {
        text,
        requests,
        replications,
        closed,
    }
}

#[test]
fn random_scenarios_obey_the_laws() {
    let scratch = Scratch::new();
    let mut draws = Draws(20);
    let all: Vec<(String, Random)> = (0..200)
        .map(|i| {
            let random = match i % 4 {
                0 => random_ssds(&mut draws),
                _ => random_disks(&mut draws),
            };
            (format!("random-{i}"), random)
        })
        .collect();
    let paths: Vec<PathBuf> = all
        .iter()
        .map(|(name, random)| scratch.file(&format!("{name}.toml"), &random.text))
        .collect();
    let json = sim(&["--split"], &paths);
    for (name, random) in &all {
        let figures = Figures::of(&json, name);
        figures.obey_the_laws();
        let scenarios = json["scenarios"].as_array().unwrap();
        let scenario = scenarios.iter().find(|of| of["name"] == name.as_str());
        let is_steady = scenario.unwrap()["not_steady"].is_null();
        let n = figures.metric("response_time", &[])["n"].as_u64().unwrap();
        let requests = |kind| figures.value("window_requests", &[("kind", kind)]) as u64;
        let wanted = random.requests * random.replications;
        let failed = figures
            .all("failed_commands")
            .any(|m| m["value"].as_f64().unwrap() > 0.0);
        if random.closed {
            assert!(
                0 < n && n <= wanted,
                "{name}: {n} of {wanted}\n{}",
                random.text
            );
        } else if !failed {
            assert_eq!(n, wanted, "{name}: every request is measured");
            assert_eq!(requests("arrived"), wanted, "{name}");
        }
        if random.replications > 1 {
            for metric in [
                "throughput",
                "megabytes_per_second",
                "number_in_system",
                "queue_length",
            ] {
                let of = figures.all(metric).next().unwrap();
                assert!(of["stderr"].is_f64() || !is_steady, "{name}: {of}");
            }
            let response = figures.metric("response_time", &[]);
            assert_eq!(
                response["sd_stderr"].is_f64(),
                is_steady,
                "{name}: {response}"
            );
            // With a write-back cache few sub-requests are of requests that wait for them.
            let wait = figures.metric("wait", &[]);
            if is_steady && wait["n"].as_u64().unwrap() >= wanted {
                assert!(wait["stderr"].is_f64(), "{name}: {wait}");
                assert!(wait["quantile_stderrs"]["0.5"].is_f64(), "{name}: {wait}");
            }
        }
    }
}

#[test]
fn every_example_obeys_the_laws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut synthetic, mut of_traces) = (Vec::new(), Vec::new());
    for folder in [
        "examples",
        "examples/block-queue",
        "examples/zoned-raid",
        "examples/studies",
    ] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // The others are studies.
            if text.contains("[array]") || text.contains("[ssd]") {
                let list = if text.contains("[load]") {
                    &mut synthetic
                } else {
                    &mut of_traces
                };
                list.push(path);
            }
        }
    }
    assert!(
        synthetic.len() >= 28 && of_traces.len() == 2,
        "{synthetic:?}"
    );
    synthetic.sort();
    let small = [
        "--set",
        "load.requests=400",
        "--set",
        "warmup_requests=100",
        "--replications",
        "2",
    ];
    // A drive of a terabyte takes seconds to precondition.
    let drive = |path: &PathBuf| name_of(path) == "ssd-steady-state";
    let (drives, others): (Vec<_>, Vec<_>) = synthetic.into_iter().partition(drive);
    let json = sim(&small, &others);
    others
        .iter()
        .for_each(|path| Figures::of(&json, name_of(path)).obey_the_laws());
    let smaller = [
        &small[..],
        &[
            "--set",
            "ssd.flash.blocks=64",
            "--set",
            "ssd.flash.pages=16",
        ],
    ]
    .concat();
    let json = sim(&smaller, &drives);
    drives
        .iter()
        .for_each(|path| Figures::of(&json, name_of(path)).obey_the_laws());

    let trace = root.join("fixtures/database-server.load.gz");
    let trace = trace.to_str().unwrap();
    for options in [
        &[][..],
        &["--ops", "read"],
        &["--set", "warmup_requests=500"],
    ] {
        let json = sim(&[&["--trace", trace][..], options].concat(), &of_traces);
        of_traces
            .iter()
            .for_each(|path| Figures::of(&json, name_of(path)).obey_the_laws());
    }
}

/// Requests of a recording that were never submitted take no part, unless they are asked for.
#[test]
fn skipped_requests_are_conserved() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "skipped.toml",
        format!(
            "[load]\nrequests = 400\narrivals = {{ poisson_per_s = 50.0 }}\nread_share = 0.6\n{ONE_DISK}"
        ),
    );
    let made = scratch.path("made.csv");
    sim(
        &["--records", made.to_str().unwrap()],
        std::slice::from_ref(&scenario),
    );
    let text = std::fs::read_to_string(&made).unwrap();
    let mut reads = 0;
    let lines = text.lines().map(|line| {
        if line.contains(",write,") {
            return line.replace(",done,", ",skipped,") + "\n";
        }
        reads += u64::from(line.contains(",read,"));
        line.to_owned() + "\n"
    });
    let skipping: String = lines.collect();
    let trace = scratch.file("skipping.csv", skipping);
    let trace = trace.to_str().unwrap();
    for (options, n) in [(&[][..], reads), (&["--include-skipped"], 400)] {
        let arguments = [&["--trace", trace][..], options].concat();
        let json = sim(&arguments, std::slice::from_ref(&scenario));
        let figures = Figures::of(&json, "skipped");
        figures.obey_the_laws();
        assert_eq!(figures.metric("response_time", &[])["n"], n);
        assert_eq!(
            figures.value("window_requests", &[("kind", "arrived")]),
            n as f64
        );
    }
}

/// Start and end of each request, in the order of the starts.
fn records(path: &Path) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name| header.iter().position(|&h| h == name).unwrap();
    let (start, latency) = (column("time_ns"), column("latency_ns"));
    let mut all: Vec<(u64, u64)> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |i: usize| cells[i].parse::<u64>().unwrap();
            (number(start), number(start) + number(latency))
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn the_window_is_what_the_records_say() {
    let scratch = Scratch::new();
    let out = scratch.path("out.csv");
    for (load, warmup, outstanding) in [
        ("arrivals = { poisson_per_s = 40.0 }", 100, None),
        ("arrivals = { poisson_per_s = 140.0 }", 0, None),
        ("arrivals = { poisson_per_s = 140.0 }", 200, None),
        ("closed = { outstanding = 64 }", 0, Some(64)),
        ("closed = { outstanding = 64 }", 200, Some(64)),
    ] {
        for (disks, level, events) in [(1, "raid0", false), (1, "raid0", true), (4, "raid5", true)]
        {
            let scenario = scratch.file(
                "window.toml",
                format!(
                    "seed = 3\nwarmup_requests = {warmup}\n[load]\nrequests = 300\n{load}\nsize = {{ blocks = 1 }}\n\
                     read_share = 0.5\n[array]\nlevel = '{level}'\ndisks = {disks}\n\
                     [disk]\nprofile = 'seagate-st3500630ns'\n"
                ),
            );
            let mut arguments = vec!["--records", out.to_str().unwrap()];
            if events {
                arguments.push("--events");
            }
            let json = sim(&arguments, &[scenario]);
            let figures = Figures::of(&json, "window");
            figures.obey_the_laws();
            let all = records(&out);
            assert_eq!(all.len(), warmup + 300);
            let mut ends: Vec<u64> = all.iter().map(|r| r.1).collect();
            ends.sort_unstable();
            let from = all[warmup].0;
            let until = match outstanding {
                None => all[all.len() - 1].0,
                // The first completion that no request follows on.
                Some(users) => ends[all.len() - users],
            };
            let length = (until - from) as f64 / 1e9;
            figures.same("the window", figures.value("window", &[]), length);
            let completed = ends
                .iter()
                .filter(|&&end| from < end && end <= until)
                .count();
            figures.same(
                "completions",
                figures.value("throughput", &[]) * length,
                completed as f64,
            );
            let inside =
                |&(start, end): &(u64, u64)| end.min(until).saturating_sub(start.max(from));
            let time: u64 = all.iter().map(inside).sum();
            figures.same(
                "the number in the system",
                figures.value("number_in_system", &[]) * length,
                time as f64 / 1e9,
            );
        }
    }
}

/// Within four standard errors, which are as small as the test needs.
#[track_caller]
fn near(metric: &Value, value: &str, stderr: &str, expected: f64, most: f64) {
    let (value, stderr) = (
        metric[value].as_f64().unwrap(),
        metric[stderr].as_f64().unwrap(),
    );
    assert!(0.0 < stderr && stderr <= most, "{metric}");
    assert!(
        (value - expected).abs() <= 4.0 * stderr,
        "{value} ± {stderr}, expected {expected}"
    );
}

const ONE_DISK: &str = "size = { blocks = 1 }\n[array]\nlevel = 'raid0'\ndisks = 1\n\
                        [disk]\nprofile = 'seagate-st3500630ns'\n";

/// A disk whose services take 15.51 ms on average serves 64.47 requests/s if it is never idle.
#[test]
fn a_closed_loop_has_the_throughput_of_the_disk_however_long_it_runs() {
    let scratch = Scratch::new();
    for (requests, most) in [(1_000, 0.5), (10_000, 0.15)] {
        let scenario = scratch.file(
            "cap.toml",
            format!(
                "seed = 1\nreplications = 10\nwarmup_requests = 1000\n[load]\nrequests = {requests}\n\
                 closed = {{ outstanding = 256 }}\n{ONE_DISK}"
            ),
        );
        let json = sim(&[], &[scenario]);
        let figures = Figures::of(&json, "cap");
        near(
            figures.metric("throughput", &[]),
            "value",
            "stderr",
            64.47,
            most,
        );
        // All users are always there, and all of them measured.
        figures.same(
            "jobs",
            figures.value("queue_length", &[("station", "disk/0")]),
            256.0,
        );
        assert_eq!(figures.metric("response_time", &[])["n"], 10 * requests);
    }
}

#[test]
fn what_an_overloaded_disk_serves_does_not_depend_on_the_warm_up() {
    let scratch = Scratch::new();
    for warmup in [0, 10_000, 100_000] {
        let scenario = scratch.file(
            "ov.toml",
            format!(
                "seed = 1\nreplications = 4\nwarmup_requests = {warmup}\n[load]\nrequests = 10000\n\
                 arrivals = {{ poisson_per_s = 129.0 }}\n{ONE_DISK}"
            ),
        );
        for events in [&[][..], &["--events"]] {
            let json = sim(events, std::slice::from_ref(&scenario));
            let figures = Figures::of(&json, "ov");
            near(
                figures.metric("throughput", &[]),
                "value",
                "stderr",
                64.47,
                0.5,
            );
        }
    }
}

/// The mean of the best of 24 positionings is 5.303 ms, by quadrature.
#[test]
fn a_closed_loop_is_not_measured_while_it_drains() {
    let scratch = Scratch::new();
    let scenario = scratch.file(
        "rpo.toml",
        format!(
            "seed = 1\nreplications = 400\nwarmup_requests = 100\n[load]\nrequests = 100\n\
             closed = {{ outstanding = 25 }}\n{ONE_DISK}scheduler = 'rpo'\nrpo_most = 24\n"
        ),
    );
    let json = sim(&["--split"], &[scenario]);
    let figures = Figures::of(&json, "rpo");
    near(
        figures.metric("positioning", &[]),
        "mean",
        "stderr",
        5.303,
        0.015,
    );
}
