//! Several arrays: `array.count`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use iosonar_scenario::{
    Fleet, NoInterval, OutputFiles, Outputs, Overrides, Prepared, Records, SimulationResult, Watch,
};
use iosonar_trace::{Batch, Record, TraceError, TraceWriter, input};

const ARRAY: &str = "[array]\nlevel = \"raid5\"\ndisks = 4\nplacement = \"addressed\"\n";
const DISK: &str = "[disk]\nprofile = \"seagate-st3500630ns\"\n";
const LAWS: &str = "[load]\nrequests = 3000\narrivals = { poisson_per_s = 40.0 }\nsize = { blocks = 1 }\nread_share = 0.6\n";

fn prepared(load: &str, count: u32, more: &str) -> Result<Prepared, String> {
    let text = format!("seed = 3\n{more}{load}{ARRAY}count = {count}\n{DISK}");
    let overrides = Overrides {
        several_arrays: true,
        ..Overrides::default()
    };
    Prepared::from_toml(&text, Path::new("x.toml"), &overrides).map_err(|error| error.to_string())
}

fn run(load: &str, count: u32, threads: usize) -> Result<SimulationResult, String> {
    let prepared = prepared(load, count, "")?;
    prepared
        .run(threads, None)
        .map_err(|error| error.to_string())
}

/// A trace of requests to some devices, by a congruential generator; and how many each has.
fn trace(name: &str, devices: &[u16], requests: usize) -> (PathBuf, Vec<u64>) {
    let (mut x, mut time) = (1_u64, 0);
    let mut draw = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        x >> 33
    };
    let mut text = "time_ns,device,sector,sectors,op\n".to_owned();
    let mut counts = vec![0; 1 + usize::from(*devices.iter().max().unwrap())];
    // Devices are numbered in the order in which they turn up.
    for device in 0..counts.len() {
        let _ = writeln!(text, "0,{device},0,8,flush");
    }
    for _ in 0..requests {
        time += draw() % 8_000_000;
        let device = devices[draw() as usize % devices.len()];
        counts[usize::from(device)] += 1;
        let op = if draw() % 3 == 0 { "write" } else { "read" };
        let sector = draw() % 1_000_000 * 8;
        let _ = writeln!(text, "{time},{device},{sector},16,{op}");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    (path, counts)
}

fn of_trace(path: &Path) -> String {
    format!("[load]\ntrace = \"{}\"\n", path.display())
}

#[test]
fn arrays_with_the_same_laws_are_replications_of_one() {
    let fleet = run(LAWS, 5, 2).unwrap();
    let one = prepared(LAWS, 1, "").unwrap().with_replications(5);
    let one = one.run(1, None).unwrap();
    assert_eq!(fleet.hash, one.hash);
    assert_eq!(fleet.response_time, one.response_time);
    assert_eq!(fleet.mean_ms.stderr.to_bits(), one.mean_ms.stderr.to_bits());
    let arrays = fleet.fleet.unwrap();
    assert_eq!((arrays.arrays.len(), arrays.idle), (5, 0));
    assert!(one.fleet.is_none());
    let mean = arrays.arrays.iter().map(|of| of.mean_ms).sum::<f64>() / 5.0;
    assert!((mean / fleet.mean_ms.mean - 1.0).abs() < 1e-9);
    for (i, of) in (0..).zip(&arrays.arrays) {
        assert_eq!((of.number, of.requests, of.failed), (i, 3000, 0));
        assert!(of.mean_ms < of.p99_ms.unwrap() && of.p99_ms.unwrap() <= of.max_ms);
        assert!(of.utilisation > 0.0 && of.utilisation < 1.0);
        // Little's law, roughly: it is not overloaded.
        assert!((of.throughput_per_s / 40.0 - 1.0).abs() < 0.1, "{of:?}");
    }
}

#[test]
fn each_array_serves_one_device_of_a_trace() {
    // Devices 1 and 4 have no reads or writes.
    let (path, counts) = trace("fleet.csv", &[0, 2, 3, 5], 20_000);
    let fleet = run(&of_trace(&path), 6, 2).unwrap();
    assert_eq!(fleet.response_time.count(), 20_000, "each request once");
    let figures = fleet.fleet.clone().unwrap();
    // Their flushes cost nothing, but they have come.
    let all: u64 = figures.arrays.iter().map(|of| of.requests).sum();
    assert_eq!(all, 20_000);
    for of in &figures.arrays {
        assert_eq!(of.requests, counts[of.number as usize], "{of:?}");
    }
    // The mean is that of all requests, not of the arrays.
    let sum: f64 = figures
        .arrays
        .iter()
        .map(|of| of.requests as f64 * of.mean_ms)
        .sum();
    assert!((sum / 20_000.0 / fleet.mean_ms.mean - 1.0).abs() < 1e-9);
    // They are not samples of one distribution.
    assert!(fleet.mean_ms.stderr.is_nan() && fleet.sections.is_empty());
    assert!(fleet.throughput_per_s.stderr.is_nan());
    assert_eq!(fleet.no_interval(), Some(NoInterval::Unlike));
    for threads in [1, 3, 16] {
        let again = run(&of_trace(&path), 6, threads).unwrap();
        assert_eq!(again.hash, fleet.hash, "{threads} threads");
        assert_eq!(again.fleet.as_ref(), Some(&figures));
        assert_eq!(figures.devices, ["0", "1", "2", "3", "4", "5"]);
    }
}

#[test]
fn an_array_serves_its_device_as_if_there_were_no_others() {
    let (path, counts) = trace("fleet-of-3.csv", &[0, 1, 2], 6000);
    let fleet = run(&of_trace(&path), 3, 2).unwrap();
    let of_0 = fleet.fleet.unwrap().arrays[0];
    // The requests of device 0 alone, for the only array.
    let text = std::fs::read_to_string(&path).unwrap();
    let alone = text
        .lines()
        .filter(|line| line.contains("time_ns") || line.contains(",0,"));
    let is_of_0 = |line: &&str| line.contains("time_ns") || line.split(',').nth(1) == Some("0");
    let alone: String = alone
        .filter(is_of_0)
        .map(|line| format!("{line}\n"))
        .collect();
    let only = path.with_file_name("fleet-only.csv");
    std::fs::write(&only, alone).unwrap();
    let one = run(&of_trace(&only), 1, 1).unwrap();
    assert_eq!(one.response_time.count(), counts[0]);
    assert_eq!(
        of_0.mean_ms.to_bits(),
        (one.response_time.moments.mean() / 1e6).to_bits()
    );
    assert_eq!(of_0.requests, counts[0]);
}

/// The records that a simulation of this load writes, its file's bytes and the devices that it names.
fn records(load: &str, count: u32, threads: usize) -> (Vec<Record>, Vec<u8>, Vec<String>) {
    let name = format!("fleet-{count}-{threads}.ios");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = OutputFiles {
        records: Some(&path),
        headline: "a fleet",
        ..OutputFiles::default()
    };
    let prepared = prepared(load, count, "").unwrap();
    prepared
        .run_into(threads, &files, &Watch::default())
        .unwrap();
    let (mut reader, mut batch) = (input::open(&path).unwrap(), Batch::default());
    let mut records = Vec::new();
    while reader.next_batch(&mut batch).unwrap() > 0 {
        records.extend(batch.records());
    }
    let metadata = reader.metadata();
    assert_eq!(metadata.about["simulated"], "a fleet");
    let devices = metadata.devices.clone();
    (records, std::fs::read(&path).unwrap(), devices)
}

#[test]
fn the_records_of_all_arrays_are_those_of_each_alone() {
    // Two rounds and a half. Device 2 falls silent after the first requests.
    let (path, _) = trace("fleet-records.csv", &[0, 1, 3], 160_000);
    let (fleet, bytes, devices) = records(&of_trace(&path), 4, 2);
    assert_eq!(fleet.len(), 160_000 + 4);
    assert_eq!(devices, ["0", "1", "2", "3"]);
    for threads in [1, 16] {
        assert!(records(&of_trace(&path), 4, threads).1 == bytes);
    }
    // Each of the three rounds is in the order of completion.
    let completed = |of: &Record| of.request.start + of.outcome.latency.unwrap_or_default();
    let is_ordered = |pair: &&[Record]| completed(&pair[0]) <= completed(&pair[1]);
    let breaks = fleet.windows(2).filter(|pair| !is_ordered(pair)).count();
    assert!(breaks <= 2, "{breaks}");

    let text = std::fs::read_to_string(&path).unwrap();
    for device in [0, 1, 3] {
        let is_of = |line: &&str| line.split(',').nth(1) == Some(&device.to_string());
        let mut alone = "time_ns,device,sector,sectors,op\n".to_owned();
        for line in text.lines().filter(is_of) {
            let _ = writeln!(alone, "{line}");
        }
        let path = path.with_file_name("fleet-records-alone.csv");
        std::fs::write(&path, alone).unwrap();
        // Other arrays have other seeds than the only one.
        let (mut one, _, _) = records(&of_trace(&path), 1, 1);
        let mut same: Vec<Record> = fleet
            .iter()
            .filter(|of| of.request.device == device)
            .copied()
            .collect();
        let by_request = |of: &Record| (of.request.start, of.request.sector);
        one.sort_by_key(by_request);
        same.sort_by_key(by_request);
        assert_eq!(one.len(), same.len());
        for (one, same) in one.iter().zip(&same) {
            assert_eq!(one.request.start, same.request.start);
            assert_eq!(one.request.sector, same.request.sector);
            if device == 0 {
                assert_eq!(one.outcome, same.outcome);
            }
        }
    }
}

#[test]
fn records_that_cannot_be_written_end_a_run_early() {
    struct Full(u32);
    impl TraceWriter for Full {
        fn write(&mut self, _: &Batch) -> Result<(), TraceError> {
            self.0 += 1;
            Err(TraceError::Io {
                path: "full".into(),
                action: "write",
                source: std::io::ErrorKind::StorageFull.into(),
            })
        }

        fn finish(self: Box<Self>) -> Result<(), TraceError> {
            Ok(())
        }
    }
    let (path, _) = trace("fleet-full.csv", &[0, 1, 2], 200_000);
    let prepared = prepared(&of_trace(&path), 3, "").unwrap();
    let (mut full, watch) = (Full(0), Watch::default());
    let outputs = Outputs {
        records: Records::OfFirst(&mut full),
        stages: None,
    };
    let error = prepared.run_watched(2, outputs, &watch).unwrap_err();
    // The first round is written when the second has been read.
    let completed = watch.completed.into_inner();
    assert!(completed < 170_000, "{completed}");
    assert!(error.to_string().contains("full: cannot write"), "{error}");
    assert_eq!(full.0, 1);
}

#[test]
fn devices_without_requests_are_counted_and_those_without_an_array_refused() {
    let (path, _) = trace("fleet-of-2.csv", &[0, 1], 500);
    let fleet = run(&of_trace(&path), 7, 2).unwrap().fleet.unwrap();
    assert_eq!((fleet.arrays.len(), fleet.idle), (2, 5));
    let (path, _) = trace("fleet-too-few.csv", &[0, 1, 2], 500);
    let error = run(&of_trace(&path), 2, 2).unwrap_err();
    assert!(
        error.contains("at least 3 devices, but 'array.count' is only 2"),
        "{error}"
    );
}

#[test]
fn the_rates_of_arrays_are_over_the_whole_trace() {
    // Device 1 has one request, which is all of its measurement.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet-sparse.csv");
    let mut text =
        "time_ns,device,sector,sectors,op\n0,0,0,8,read\n5000000,1,0,8,read\n".to_owned();
    for i in 1..=1000 {
        let _ = writeln!(text, "{},0,{},8,read", i * 50_000_000_u64, i * 4096);
    }
    std::fs::write(&path, text).unwrap();
    let fleet = run(&of_trace(&path), 2, 2).unwrap().fleet.unwrap();
    let [busy, sparse] = &fleet.arrays[..] else {
        panic!("{fleet:?}");
    };
    assert!(
        (busy.throughput_per_s / 20.0 - 1.0).abs() < 0.01,
        "{busy:?}"
    );
    assert!(sparse.throughput_per_s <= 0.021, "{sparse:?}");
    assert!(
        sparse.utilisation < 0.001 && busy.utilisation > 0.01,
        "{fleet:?}"
    );
    assert_eq!(fleet.busiest().unwrap().number, 0);
}

#[test]
fn an_array_that_loses_all_of_its_requests_is_counted() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet-lost.csv");
    let load = of_trace(&path);
    let array = ARRAY
        .replace("raid5", "raid0")
        .replace("disks = 4", "disks = 1");
    let text = format!("{load}{array}count = 2\n{DISK}[[event]]\nat = '500ms'\nfail = 0\n");
    let overrides = Overrides {
        several_arrays: true,
        ..Overrides::default()
    };
    let run = |early: &str| {
        let mut trace = format!("time_ns,device,sector,sectors,op\n{early}");
        for i in 0..400 {
            let _ = writeln!(
                trace,
                "{},{},{},8,read",
                1_000_000_000 + i * 1000,
                i % 2,
                i * 8
            );
        }
        std::fs::write(&path, trace).unwrap();
        let prepared = Prepared::from_toml(&text, Path::new("x.toml"), &overrides).unwrap();
        prepared.run(2, None)
    };
    let error = run("").unwrap_err().to_string();
    assert!(
        error.contains("400 returned an error or needed a disk that had failed"),
        "{error}"
    );
    // Array 0 serves one request before its disk fails.
    let result = run("0,0,16,8,read\n").unwrap();
    let fleet = result.fleet.as_ref().unwrap();
    assert_eq!((result.response_time.count(), result.failed), (1, 400));
    assert_eq!((fleet.arrays[0].failed, fleet.arrays[1].failed), (200, 200));
    assert!(fleet.arrays[1].mean_ms.is_nan() && result.loses_data());
    // The disk of each array fails, also that of the one without a result.
    let events = &result.device_events;
    assert_eq!(
        (events.planned, events.happened, events.missed()),
        (2, 2, 0)
    );
}

#[test]
fn a_trace_without_requests_is_an_error() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet-empty.csv");
    for text in ["", "0,0,0,8,flush\n0,1,0,8,flush\n"] {
        std::fs::write(&path, format!("time_ns,device,sector,sectors,op\n{text}")).unwrap();
        let error = run(&of_trace(&path), 2, 2).unwrap_err();
        assert!(
            error.contains("there are no requests to simulate"),
            "{error}"
        );
    }
}

#[test]
fn a_damaged_trace_is_an_error_and_not_a_short_one() {
    let (path, _) = trace("fleet-damaged.csv", &[0, 1], 2000);
    let text = std::fs::read_to_string(&path).unwrap() + "9000000000000,0,8,many,read\n";
    std::fs::write(&path, text).unwrap();
    let error = run(&of_trace(&path), 2, 2).unwrap_err();
    assert!(error.contains("fleet-damaged.csv:2004"), "{error}");
    // Also where records are on their way.
    let (path, _) = trace("fleet-damaged-late.csv", &[0, 1], 140_000);
    let text = std::fs::read_to_string(&path).unwrap() + "9000000000000,0,8,many,read\n";
    std::fs::write(&path, text).unwrap();
    let records = path.with_file_name("fleet-damaged-late.ios");
    let files = OutputFiles {
        records: Some(&records),
        ..OutputFiles::default()
    };
    let error = prepared(&of_trace(&path), 2, "")
        .unwrap()
        .run_into(2, &files, &Watch::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("fleet-damaged-late.csv:140004"),
        "{error}"
    );
    assert!(!records.exists());
    // So is a request that no array has room for.
    let (path, _) = trace("fleet-beyond.csv", &[0, 1], 2000);
    let text = std::fs::read_to_string(&path).unwrap() + "9000000000000,1,9000000000,8,read\n";
    std::fs::write(&path, text).unwrap();
    let error = run(&of_trace(&path), 2, 2).unwrap_err();
    assert!(error.contains("beyond the end of the array"), "{error}");
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    assert_eq!(prepared(LAWS, 2, "").unwrap().fleet(), Some(Fleet::Alike));
    assert_eq!(prepared(LAWS, 1, "").unwrap().fleet(), None);
    let error = prepared(LAWS, 0, "").unwrap_err();
    assert!(
        error.contains("'array.count' is 0, expected 1 to 4096"),
        "{error}"
    );
    let error = prepared(LAWS, 2, "replications = 2\n").unwrap_err();
    assert!(
        error.contains("cannot be combined with replications"),
        "{error}"
    );
    let (path, _) = trace("fleet-auto.csv", &[0, 1], 100);
    let error = prepared(&of_trace(&path), 2, "warmup_requests = \"auto\"\n").unwrap_err();
    assert!(
        error.contains("need a number in 'warmup_requests'"),
        "{error}"
    );
    let text = format!("{LAWS}{ARRAY}count = 2\n{DISK}");
    let error = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("only 'iosonar sim' supports several arrays"),
        "{error}"
    );
}
