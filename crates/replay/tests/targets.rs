//! Several targets: what goes wrong is said of the one that it went wrong on.

use std::path::{Path, PathBuf};

use iosonar_replay::safety::Host;
use iosonar_replay::verify::{Verification, Verify};
use iosonar_replay::{
    AccessKind, ConstantLatency, EngineKind, Intent, Load, Options, Progress, ReplayError,
    SimulatedDevice, Stop, Summary, Target, Writes, replay,
};
use iosonar_trace::Reading;
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
        &Stop::default(),
        &Progress::default(),
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
        text.starts_with(&format!("{second}: cannot keep tables")),
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
