//! Replays on regular files, as any user may do them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iosonar_guard::Host;
use iosonar_replay::{
    Control, EndedEarly, EngineKind, Intent, Load, Options, Pacing, Progress, ReplayError,
    StopRequest, Summary, Target, ThreadPriority, Verdict, Writes, create_file, replay,
};
use iosonar_trace::transform::Change;
use iosonar_trace::{
    Batch, Metadata, Reading, Record, Status, TraceError, TraceReader, TraceWriter, input, output,
};
use iosonar_units::{Bytes, Nanos};

struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        // Beside the build: the system's directory for temporary files may be in memory.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load(&self, text: &str) -> PathBuf {
        let path = self.path("x.load");
        fs::write(&path, text).unwrap();
        path
    }

    fn target(&self, sectors: u64) -> PathBuf {
        let path = self.path("target");
        create_file(&path, Bytes::new(sectors * 512), |_| true).unwrap();
        path
    }
}

/// Opens for `O_DIRECT` where the file system can, else through the page cache.
fn open(path: &Path, intent: Intent) -> Result<Target, ReplayError> {
    Target::open(path, &intent, &Host::default()).or_else(|e| {
        if e.to_string().contains("--no-direct") {
            let buffered = Intent {
                buffered: true,
                ..intent
            };
            return Target::open(path, &buffered, &Host::default());
        }
        Err(e)
    })
}

fn run(
    scratch: &Scratch,
    load: &Path,
    target: &Path,
    options: &Options,
) -> Result<(Summary, Vec<Record>), ReplayError> {
    run_part(scratch, load, &Reading::default(), target, options)
}

fn run_part(
    scratch: &Scratch,
    load: &Path,
    reading: &Reading,
    target: &Path,
    options: &Options,
) -> Result<(Summary, Vec<Record>), ReplayError> {
    let write = options.writes == Writes::Do;
    let destroy = if write {
        vec![target.to_owned()]
    } else {
        vec![]
    };
    let target = open(
        target,
        Intent {
            write,
            destroy,
            ..Intent::default()
        },
    )?;
    let load = Load::scanned(load, reading, options.writes)?;
    load.scan.fits(&target, options.fit)?;
    let out = scratch.path("out.ios");
    let writer = output::create(&out, &Metadata::default())?;
    let summary = replay(
        &[load],
        &[target],
        Vec::new(),
        options,
        Some(writer),
        Control {
            stop: &StopRequest::default(),
            progress: &Progress::default(),
        },
    )?;
    let mut reader = input::open(&out)?;
    let (mut records, mut batch) = (Vec::new(), Batch::default());
    while reader.next_batch(&mut batch)? > 0 {
        records.extend(batch.records());
    }
    Ok((summary, records))
}

/// One load on one target.
fn go(
    load: Load,
    target: Target,
    options: &Options,
    records: Option<Box<dyn TraceWriter>>,
    stop: &StopRequest,
    progress: &Progress,
) -> Result<Summary, ReplayError> {
    let control = Control { stop, progress };
    replay(&[load], &[target], Vec::new(), options, records, control)
}

/// Reads of 8 sectors, `n` of them, `distance_us` apart, all over 1 024 sectors.
fn reads(n: u64, distance_us: u64) -> String {
    (0..n)
        .map(|i| {
            let t = Nanos::from_micros(i * distance_us).as_secs_f64();
            format!("{t:.9} ; {} ; 8 ; R\n", i * 37 % 128 * 8)
        })
        .collect()
}

#[test]
fn every_request_is_done_once_with_its_times_on_either_engine() {
    for engine in [EngineKind::Auto, EngineKind::Threads] {
        let scratch = Scratch::new();
        let (load, target) = (scratch.load(&reads(500, 200)), scratch.target(1024));
        let options = Options {
            engine,
            ..Options::default()
        };
        let (summary, mut records) = run(&scratch, &load, &target, &options).unwrap();
        assert_eq!(
            (summary.completed, summary.missed, summary.errors),
            (500, 0, 0)
        );
        assert!(summary.elapsed >= summary.intended, "never early");
        assert_eq!(summary.intended, Nanos::from_micros(499 * 200));
        records.sort_by_key(|r| r.request.start);
        for (i, record) in records.iter().enumerate() {
            assert_eq!(record.request.start, Nanos::from_micros(i as u64 * 200));
            assert_eq!(record.outcome.status, Status::Done);
            assert!(record.outcome.latency.unwrap() > Nanos::ZERO);
        }
    }
}

/// How often the threads that help in a session have been given a processor.
fn turns_of_helpers() -> u64 {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter(|task| {
            let name = fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.trim() == "relay")
        })
        .filter_map(|task| {
            let counts = fs::read_to_string(task.path().join("schedstat")).ok()?;
            counts.split_whitespace().nth(2)?.parse::<u64>().ok()
        })
        .sum()
}

#[test]
fn threads_that_take_turns_on_a_busy_machine_do_every_request_once_and_in_order() {
    let scratch = Scratch::new();
    let (load, target) = (scratch.load(&reads(3000, 200)), scratch.target(1024));
    let options = Options {
        engine: EngineKind::Sync,
        pacing: Pacing {
            priority: ThreadPriority::Slice,
            ..Pacing::default()
        },
        ..Options::default()
    };
    // Kernels without these counts see no rivals. Whether helpers are needed is up to the other load of the machine.
    let mut took_turns = !Path::new("/proc/self/schedstat").exists();
    for _ in 0..5 {
        let (summary, records, turns) =
            beside_busy_threads(|| run(&scratch, &load, &target, &options).unwrap());
        assert_eq!((summary.completed, summary.missed), (3000, 0));
        let starts = records.iter().map(|r| r.request.start.get() / 1000);
        assert!(starts.eq((0..3000).map(|i| i * 200)));
        // One after the other, as with one thread.
        let ends = records.windows(2).map(|pair| {
            let [first, second] =
                [pair[0], pair[1]].map(|r| r.request.start + r.outcome.delay.unwrap());
            first + pair[0].outcome.latency.unwrap() <= second
        });
        assert_eq!(ends.filter(|in_order| !in_order).count(), 0);
        took_turns |= turns > 0;
        if took_turns {
            break;
        }
    }
    assert!(took_turns);
}

/// What a replay returns beside twice as many busy threads as there are processors, and the most turns of its helpers.
fn beside_busy_threads(
    replay: impl FnOnce() -> (Summary, Vec<Record>),
) -> (Summary, Vec<Record>, u64) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().unwrap();
        for _ in 0..2 * processors.get() {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let turns = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Relaxed) {
                most = most.max(turns_of_helpers());
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            most
        });
        let (summary, records) = replay();
        over.store(true, Relaxed);
        (summary, records, turns.join().unwrap())
    })
}

#[test]
fn speed_and_window_set_the_pace() {
    let scratch = Scratch::new();
    let (load, target) = (scratch.load(&reads(1000, 1000)), scratch.target(1024));
    let reading = Reading {
        changes: vec![
            Change::Select {
                from: Nanos::from_millis(500),
                until: Nanos::from_millis(900),
            },
            Change::Speed("4".parse().unwrap()),
        ],
        ..Reading::default()
    };
    let (summary, records) =
        run_part(&scratch, &load, &reading, &target, &Options::default()).unwrap();
    assert_eq!(records.len(), 400);
    // The window's beginning is the replay's zero: 399 ms, four times as fast.
    assert_eq!(summary.intended, Nanos::from_micros(99_750));
}

#[test]
fn a_load_with_writes_is_refused_unless_told_otherwise() {
    let scratch = Scratch::new();
    let load = scratch.load("0 ; 0 ; 8 ; R\n0 ; 8 ; 8 ; W\n");
    let target = scratch.target(1024);
    let before = fs::read(&target).unwrap();
    let error = run(&scratch, &load, &target, &Options::default()).unwrap_err();
    assert!(error.is_refusal());
    let message = error.to_string();
    assert!(
        message.contains("--skip-writes") && message.contains("--write"),
        "{message}"
    );

    let skip = Options {
        writes: Writes::Skip,
        ..Options::default()
    };
    let (summary, records) = run(&scratch, &load, &target, &skip).unwrap();
    assert_eq!((summary.completed, summary.skipped), (1, 1));
    assert!(records.iter().any(|r| r.outcome.status == Status::Skipped));
    assert_eq!(fs::read(&target).unwrap(), before, "nothing was written");

    let write = Options {
        writes: Writes::Do,
        ..Options::default()
    };
    let (summary, _) = run(&scratch, &load, &target, &write).unwrap();
    assert_eq!((summary.completed, summary.skipped), (2, 0));
    let after = fs::read(&target).unwrap();
    assert_eq!(after[..4096], before[..4096]);
    assert_ne!(after[4096..8192], before[4096..8192]);
    assert_eq!(after[8192..], before[8192..]);
}

#[test]
fn writing_to_a_file_that_holds_data_needs_its_name() {
    let scratch = Scratch::new();
    let (target, other) = (scratch.target(1024), scratch.path("other"));
    fs::write(&other, "x").unwrap();
    for destroy in [vec![], vec![other], vec![scratch.path("absent")]] {
        let intent = Intent {
            write: true,
            destroy,
            ..Intent::default()
        };
        let message = open(&target, intent).unwrap_err().to_string();
        assert!(message.contains("holds 524288 bytes of data"), "{message}");
    }
}

#[test]
fn a_target_too_small_is_refused_with_the_size_that_would_do() {
    let scratch = Scratch::new();
    let (load, target) = (scratch.load("0 ; 1020 ; 8 ; R\n"), scratch.target(1024));
    let error = run(&scratch, &load, &target, &Options::default()).unwrap_err();
    assert!(error.is_refusal());
    assert!(
        error.to_string().contains("at least 526336 bytes"),
        "{error}"
    );
}

#[test]
fn what_is_no_target_is_refused() {
    let scratch = Scratch::new();
    for path in [scratch.dir.path(), Path::new("/dev/null")] {
        let error = open(path, Intent::default()).unwrap_err();
        assert!(error.is_refusal(), "{error}");
    }
    let error = open(&scratch.path("absent"), Intent::default()).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
}

#[test]
fn the_device_of_the_root_file_system_is_refused() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let device = mounts
        .lines()
        .filter(|line| line.split(' ').nth(4) == Some("/"))
        .find_map(|line| {
            line.split_once(" - ")?
                .1
                .split(' ')
                .nth(1)
                .map(PathBuf::from)
        })
        .filter(|path| fs::File::open(path).is_ok());
    let Some(device) = device else {
        eprintln!("skipped: the device of the root file system cannot be opened here");
        return;
    };
    let message = open(&device, Intent::default()).unwrap_err().to_string();
    assert!(message.contains("is mounted at"), "{message}");
}

#[test]
fn a_failing_device_ends_the_run_and_the_rest_is_missed() {
    let scratch = Scratch::new();
    // The kernel fails reads behind the end of a file with zero bytes: cut the file after the scan.
    let (load, path) = (scratch.load(&reads(2000, 500)), scratch.target(1024));
    let options = Options::default();
    let target = open(&path, Intent::default()).unwrap();
    let load = Load::scanned(&load, &Reading::default(), options.writes).unwrap();
    load.scan.fits(&target, options.fit).unwrap();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    let (stop, progress) = (StopRequest::default(), Progress::default());
    let summary = go(load, target, &options, None, &stop, &progress).unwrap();
    assert!(summary.short > 0 && summary.missed > 1000, "{summary:?}");
    assert_eq!(summary.completed + summary.short + summary.missed, 2000);
    assert!(summary.is_flagged());
}

#[test]
fn a_stopped_replay_keeps_what_it_measured() {
    let scratch = Scratch::new();
    let (load, path) = (scratch.load(&reads(20_000, 1000)), scratch.target(1024));
    let options = Options::default();
    let target = open(&path, Intent::default()).unwrap();
    let load = Load::scanned(&load, &Reading::default(), options.writes).unwrap();
    load.scan.fits(&target, options.fit).unwrap();
    let (stop, progress) = (StopRequest::default(), Progress::default());
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(400));
            stop.ask();
        });
        go(load, target, &options, None, &stop, &progress).unwrap()
    });
    assert_eq!(summary.early, Some(EndedEarly::Interrupted));
    assert!(summary.completed > 0 && summary.missed > 0);
    assert_eq!(summary.completed + summary.missed, 20_000);
}

/// A writer on a disk that is full.
struct Full;

impl TraceWriter for Full {
    fn write(&mut self, _: &Batch) -> Result<(), TraceError> {
        Err(TraceError::Io {
            path: "records".into(),
            action: "write",
            source: std::io::Error::from_raw_os_error(28),
        })
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        unreachable!("it failed before")
    }
}

#[test]
fn records_that_cannot_be_written_cost_no_measurement() {
    let scratch = Scratch::new();
    let (load, path) = (scratch.load(&reads(100, 100)), scratch.target(1024));
    let options = Options::default();
    let target = open(&path, Intent::default()).unwrap();
    let load = Load::scanned(&load, &Reading::default(), options.writes).unwrap();
    let (stop, progress) = (StopRequest::default(), Progress::default());
    let writer = Box::new(Full);
    let summary = go(
        load,
        target,
        &options,
        Some(writer as Box<dyn TraceWriter>),
        &stop,
        &progress,
    )
    .unwrap();
    assert_eq!(summary.completed, 100);
    assert!(summary.records_error.unwrap().contains("No space left"));
}

#[test]
fn a_load_that_changes_after_it_was_checked_ends_the_replay() {
    for engine in [EngineKind::Auto, EngineKind::Threads] {
        for changed in [
            // More rows than there were, a request beyond the end, a discard, a damaged row; each
            // in the second batch, while requests of the first are being prepared.
            reads(9000, 0),
            reads(5000, 0) + "1 ; 9999999 ; 8 ; R\n",
            reads(5000, 0) + "1 ; 8 ; 8 ; D\n",
            reads(5000, 0) + "1 ; what ; 8 ; R\n",
        ] {
            let scratch = Scratch::new();
            let (load, path) = (scratch.load(&reads(8000, 0)), scratch.target(1024));
            let options = Options {
                engine,
                ..Options::default()
            };
            let target = open(&path, Intent::default()).unwrap();
            let load = Load::scanned(&load, &Reading::default(), options.writes).unwrap();
            scratch.load(&changed);
            let (stop, progress) = (StopRequest::default(), Progress::default());
            let outcome = go(load, target, &options, None, &stop, &progress);
            assert!(matches!(outcome, Err(ReplayError::Trace(_))), "{outcome:?}");
        }
    }
}

#[test]
fn reads_writes_and_flushes_are_told_apart() {
    let scratch = Scratch::new();
    let load = scratch.load("0 ; 0 ; 8 ; R\n0 ; 8 ; 8 ; W\n0 ; 16 ; 8 ; WF\n0 ; 0 ; 0 ; F\n");
    let target = scratch.target(1024);
    for engine in [EngineKind::Auto, EngineKind::Threads] {
        let options = Options {
            writes: Writes::Do,
            engine,
            ..Options::default()
        };
        let (summary, _) = run(&scratch, &load, &target, &options).unwrap();
        let counts = [
            &summary.times.reads,
            &summary.times.writes,
            &summary.times.flushes,
        ]
        .map(|t| t.latency.count());
        assert_eq!(counts, [1, 2, 1]);
    }
}

#[test]
fn more_requests_than_places_wait_and_start_in_order() {
    let scratch = Scratch::new();
    let (load, target) = (scratch.load(&reads(3000, 0)), scratch.target(1024));
    let options = Options {
        in_flight: 1,
        ..Options::default()
    };
    let (summary, records) = run(&scratch, &load, &target, &options).unwrap();
    assert_eq!((summary.completed, summary.most_in_flight()), (3000, 1));
    // One at a time: they complete in the order in which they start.
    let sectors: Vec<u64> = records.iter().map(|r| r.request.sector.get()).collect();
    let expected: Vec<u64> = (0..3000).map(|i| i * 37 % 128 * 8).collect();
    assert_eq!(sectors, expected);
    assert_ne!(
        summary.verdict,
        Verdict::KeptUp,
        "they were all due at once"
    );
}
