//! Several targets: what goes wrong is said of the one that it went wrong on.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use iosonar_guard::Host;
use iosonar_replay::verify::{Verification, Verify};
use iosonar_replay::{
    AccessKind, ConstantLatency, Control, EndedEarly, EngineKind, Intent, Load, Options, Progress,
    ReplayError, SimulatedDevice, StopRequest, Summary, Target, Writes, replay,
};
use iosonar_trace::{Batch, Reading, Record, Status, TraceError, TraceWriter};
use iosonar_units::{Bytes, Nanos, Sector, Sectors};

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Twenty requests of one kind.
fn load(op: char) -> String {
    (0..20)
        .map(|i| format!("{:.4} ; {} ; 8 ; {op}\n", f64::from(i) * 1e-3, i * 8))
        .collect()
}

fn go(
    loads: [&Path; 2],
    targets: &[Target],
    devices: Vec<Box<dyn SimulatedDevice>>,
    options: &Options,
) -> Result<Summary, ReplayError> {
    let scanned = |path: &Path| Load::scanned(path, &Reading::default(), options.writes).unwrap();
    replay(
        &loads.map(scanned),
        targets,
        devices,
        options,
        None,
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )
}

#[test]
fn an_error_names_the_target_that_it_is_of() {
    let scratch = Scratch::new();
    let (reads, writes) = (
        scratch.file("reads.load", load('R')),
        scratch.file("writes.load", load('W')),
    );
    let files = ["one", "two"].map(|name| scratch.file(name, vec![0; 1 << 20]));
    let intent = Intent {
        write: true,
        destroy: files.to_vec(),
        buffered: true,
        ..Intent::default()
    };
    let open = |path: &PathBuf| Target::open(path, &intent, &Host::default()).unwrap();
    // Tables of writes are needed on the second target only, and there is no place for them.
    let options = Options {
        engine: EngineKind::Sync,
        writes: Writes::Do,
        start_grace: Nanos::from_millis(10),
        verification: Verification {
            level: Verify::Reads,
            table_dir: scratch.0.path().join("nowhere"),
            table_memory: Bytes::new(0),
            ..Verification::default()
        },
        ..Options::default()
    };
    let targets = [open(&files[0]), open(&files[1])];
    let error = go([&reads, &writes], &targets, Vec::new(), &options).unwrap_err();
    let text = error.to_string();
    let second = files[1].display().to_string();
    assert!(
        text.starts_with(&format!(
            "{second}: cannot create the tables for verification"
        )),
        "{text}"
    );
}

/// Answers everything within 50 us, or fails it.
struct Answers {
    times: ConstantLatency,
    fails: bool,
}

impl Answers {
    fn boxed(fails: bool) -> Box<dyn SimulatedDevice> {
        let times = ConstantLatency::new(Nanos::from_micros(50));
        Box::new(Self { times, fails })
    }
}

impl SimulatedDevice for Answers {
    fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, sectors: Sectors, now: Nanos) {
        self.times.submit(id, kind, sector, sectors, now);
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.times.next_completion()
    }

    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        self.times.complete(now)
    }

    fn data(&mut self, _: u32, _: AccessKind, _: Sector, data: &mut [u8]) -> i32 {
        const INPUT_OUTPUT_ERROR: i32 = 5;
        if self.fails {
            -INPUT_OUTPUT_ERROR
        } else {
            data.len() as i32
        }
    }
}

#[test]
fn the_first_failed_request_is_of_a_target() {
    let scratch = Scratch::new();
    let reads = scratch.file("reads.load", load('R'));
    let options = Options {
        engine: EngineKind::Simulate,
        start_grace: Nanos::from_millis(10),
        max_errors: 100,
        ..Options::default()
    };
    let target = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    let devices = vec![Answers::boxed(false), Answers::boxed(true)];
    let summary = go([&reads, &reads], &[target(), target()], devices, &options).unwrap();
    assert_eq!((summary.completed, summary.errors), (20, 20));
    assert_eq!(summary.first_errno, Some(5));
    assert_eq!(summary.first_error_on, Some(1));
}

/// Keeps what is written to it.
struct Kept(Arc<Mutex<Vec<Record>>>);

impl TraceWriter for Kept {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.0.lock().unwrap().extend(batch.records());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}

#[test]
fn threads_have_one_clock_and_their_records_come_in_the_order_of_completion() {
    let scratch = Scratch::new();
    // Loads of 20, 30 and 40 requests over a fifth of a second.
    let load = |requests: u32| {
        let step = 0.2 / f64::from(requests);
        let rows =
            (0..requests).map(|i| format!("{:.6} ; {} ; 8 ; R\n", f64::from(i) * step, i * 8));
        let path = scratch.file(&format!("{requests}.load"), rows.collect::<String>());
        Load::scanned(&path, &Reading::default(), Writes::Refuse).unwrap()
    };
    let loads = [load(20), load(30), load(40)];
    let simulated = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    let device =
        |us| -> Box<dyn SimulatedDevice> { Box::new(ConstantLatency::new(Nanos::from_micros(us))) };
    let options = Options {
        engine: EngineKind::Simulate,
        threads: NonZeroU32::new(3),
        start_grace: Nanos::from_millis(10),
        ..Options::default()
    };
    let targets = [simulated(), simulated(), simulated()];
    let kept = Arc::new(Mutex::new(Vec::new()));
    let summary = replay(
        &loads,
        &targets,
        vec![device(50), device(7000), device(300)],
        &options,
        Some(Box::new(Kept(kept.clone()))),
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )
    .unwrap();
    let records = kept.lock().unwrap();
    assert_eq!((summary.completed, records.len()), (90, 90));
    for device in 0..3 {
        let of_device = records.iter().filter(|r| r.request.device == device);
        assert_eq!(of_device.count(), 20 + 10 * usize::from(device));
    }
    let completions = records
        .iter()
        .map(|r| r.request.start + r.outcome.response_time().unwrap());
    assert!(completions.is_sorted());
    // In one order, not one target after the other.
    let changes = records
        .windows(2)
        .filter(|w| w[0].request.device != w[1].request.device);
    assert!(changes.count() > 5);
}

#[test]
fn requests_that_are_left_out_are_those_of_their_target() {
    let scratch = Scratch::new();
    let (reads, writes) = (
        scratch.file("reads.load", load('R')),
        scratch.file("writes.load", load('W')),
    );
    let simulated = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    let device =
        || -> Box<dyn SimulatedDevice> { Box::new(ConstantLatency::new(Nanos::from_micros(50))) };
    let options = Options {
        engine: EngineKind::Simulate,
        writes: Writes::Skip,
        start_grace: Nanos::from_millis(10),
        ..Options::default()
    };
    let targets = [simulated(), simulated()];
    let devices = vec![device(), device()];
    let summary = go([&reads, &writes], &targets, devices, &options).unwrap();
    assert_eq!(summary.skipped, 20);
    let skipped: Vec<u64> = summary.targets.iter().map(|of| of.skipped).collect();
    assert_eq!(skipped, [0, 20]);
}

/// Is gone from its tenth request on.
struct Vanishing(ConstantLatency, u32);

impl SimulatedDevice for Vanishing {
    fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, sectors: Sectors, now: Nanos) {
        self.0.submit(id, kind, sector, sectors, now);
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.0.next_completion()
    }

    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        self.0.complete(now)
    }

    fn data(&mut self, _: u32, _: AccessKind, _: Sector, data: &mut [u8]) -> i32 {
        const NO_DEVICE: i32 = 19;
        self.1 += 1;
        if self.1 < 10 {
            data.len() as i32
        } else {
            -NO_DEVICE
        }
    }
}

#[test]
fn a_device_that_is_gone_ends_the_threads_of_all() {
    let scratch = Scratch::new();
    let short = scratch.file("short.load", load('R'));
    // An hour of it would follow.
    let long = (0..3600)
        .map(|i| format!("{i} ; 0 ; 8 ; R\n"))
        .collect::<String>();
    let long = scratch.file("long.load", long);
    let simulated = || Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
    let latency = ConstantLatency::new(Nanos::from_micros(50));
    let options = Options {
        engine: EngineKind::Simulate,
        threads: NonZeroU32::new(2),
        max_errors: 1000,
        ..Options::default()
    };
    let kept = Arc::new(Mutex::new(Vec::new()));
    let scanned = |path| Load::scanned(path, &Reading::default(), Writes::Refuse).unwrap();
    let summary = replay(
        &[scanned(&long), scanned(&short)],
        &[simulated(), simulated()],
        vec![Answers::boxed(false), Box::new(Vanishing(latency, 0))],
        &options,
        Some(Box::new(Kept(kept.clone()))),
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )
    .unwrap();
    assert_eq!(summary.early, Some(EndedEarly::DeviceGone));
    // Whatever became of them, all are recorded, the rest of the other load as missed.
    let records = kept.lock().unwrap();
    assert_eq!(records.len(), 3620);
    let missed = records
        .iter()
        .filter(|r| r.outcome.status == Status::Missed);
    assert_eq!(missed.count() as u64, summary.missed);
    assert!(summary.missed >= 3590, "{}", summary.missed);
}
