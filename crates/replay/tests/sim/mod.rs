//! A deterministic simulator of the replay.
//!
//! The whole replay runs: feeder, lanes, conflicts, verification, engines, sessions that take turns, collector, records and
//! logs of tables. Only the system below it is simulated ([`os`]): time, threads, locks, queues, rings, files and disks.
//! Everything follows from one seed: the load, the options, what fails, and which thread runs when. So a failure happens
//! again, and can be made smaller.
//!
//! ```text
//!  seed ─► Scenario ─► World (threads one at a time, clock, events) ◄─ os ◄─ replay
//!                        └─ Kernel (disks, rings), Files ─► invariants, at each step and at the end
//! ```
//!
//! ```sh
//! IOSONAR_SEEDS=0..100000 cargo test -p iosonar-replay --lib sim::seeds -- --ignored --nocapture
//! ```

pub(crate) mod os;

mod crash;
mod disk;
mod files;
mod found;
mod invariants;
mod kernel;
mod outcome;
mod random;
mod records;
mod scenario;
mod shrink;
mod world;

use std::any::Any;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, PoisonError, mpsc};

use iosonar_trace::Reading;
use iosonar_units::Bytes;

use self::outcome::{Ended, Ending};
use self::records::Written;
use self::scenario::Scenario;
use self::world::{Outcome, PLANNED_PANIC, World, current};
use crate::{
    Control, Load, Progress, ReplayError, Scan, ScanFigures, StopRequest, Summary, Target, replay,
};

/// More seeds that fail are not looked for.
const MOST_FAILURES: usize = 20;

/// Where the tables and the records are kept.
pub(crate) const LOG: &str = "tables";
pub(crate) const RECORDS: &str = "records.ios";

/// The path of a disk's log.
pub(crate) fn log_path(disk: usize) -> PathBuf {
    match disk {
        0 => LOG.into(),
        n => format!("{LOG}.{n}").into(),
    }
}

/// What happened in a simulation, so that it is known what the seeds cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) pushed_back: u64,
    pub(crate) dropped: u64,
    pub(crate) held: u64,
    pub(crate) missed: u64,
    pub(crate) cancelled: u64,
    pub(crate) abandoned: u64,
    pub(crate) record_stalls: u64,
    pub(crate) read_back: u64,
    pub(crate) lies_found: u64,
    pub(crate) crashes: u64,
    pub(crate) logs: u64,
    pub(crate) panics: u64,
    pub(crate) errors: u64,
}

impl Seen {
    fn of(ended: &Ended) -> Self {
        match ended {
            Ended::Panic(_) => Self {
                panics: 1,
                ..Self::default()
            },
            Ended::Error(_) => Self {
                errors: 1,
                ..Self::default()
            },
            Ended::Summary(summary) => Self {
                done: summary.completed,
                failed: summary.errors + summary.short,
                pushed_back: summary.pushed_back,
                dropped: summary.dropped,
                held: summary.ordered_waits,
                missed: summary.missed,
                cancelled: summary.cancelled,
                abandoned: summary.abandoned.into(),
                record_stalls: summary.record_stalls,
                lies_found: summary.verify_failed,
                ..Self::default()
            },
        }
    }

    fn add(&mut self, other: &Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.pushed_back += other.pushed_back;
        self.dropped += other.dropped;
        self.held += other.held;
        self.missed += other.missed;
        self.cancelled += other.cancelled;
        self.abandoned += other.abandoned;
        self.record_stalls += other.record_stalls;
        self.read_back += other.read_back;
        self.lies_found += other.lies_found;
        self.crashes += other.crashes;
        self.logs += other.logs;
        self.panics += other.panics;
        self.errors += other.errors;
    }
}

/// What a panic says.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

/// Panics of simulated threads are kept, with their places, not printed.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match current() {
            None => print(panic),
            Some(_) if panic.payload().downcast_ref::<&str>() == Some(&PLANNED_PANIC) => {}
            Some(_) if std::env::var_os("IOSONAR_SEED_TRACE").is_some() => print(panic),
            Some(_) => {}
        }));
    });
}

/// Runs a scenario to its end.
fn run(scenario: &Arc<Scenario>) -> Outcome {
    keep_panics_quiet();
    let stop = Arc::new(StopRequest::default());
    let (report, outcome) = mpsc::channel();
    let world = World::new(scenario, &stop, report);
    let root = world.register("root");
    let scenario = Arc::clone(scenario);
    let thread = std::thread::Builder::new().name("root".to_owned());
    let thread = thread.spawn(move || {
        world.set_handle(root, std::thread::current());
        world.enter(root);
        let written = Written::default();
        let replayed = catch_unwind(AssertUnwindSafe(|| {
            replayed(&world, &scenario, &stop, &written)
        }));
        let ended = match replayed {
            Ok(Ok(summary)) => Ended::Summary(Box::new(summary)),
            Ok(Err(e)) => Ended::Error(e),
            Err(panic) => Ended::Panic(text_of(panic.as_ref())),
        };
        world.lock().end_all();
        world.join_all(root);
        let records = std::mem::take(&mut *written.lock().unwrap_or_else(PoisonError::into_inner));
        let mut seen = Seen::of(&ended);
        let ending = Ending {
            world: &world,
            scenario: &scenario,
            ended: &ended,
            records: &records,
        };
        let checked = catch_unwind(AssertUnwindSafe(|| ending.check(&mut seen)));
        let seen_by = |disk: &disk::Disk| disk.seen.iter().filter(|seen| seen.is_read_back).count();
        seen.read_back = world
            .lock()
            .kernel
            .disks
            .iter()
            .map(|disk| seen_by(disk) as u64)
            .sum();
        let problem = match checked {
            Ok(checked) => checked.err(),
            Err(panic) => Some(format!("a check panicked: {}", text_of(panic.as_ref()))),
        };
        if let Some(problem) = problem {
            world.lock().fail(|| problem);
        }
        world.report(seen);
        world.leave(root);
    });
    let thread = thread.expect("there are threads");
    let outcome = outcome.recv().expect("a simulation reports");
    if outcome.failure.is_none() {
        thread.join().expect("it has reported without a failure");
    }
    outcome
}

fn replayed(
    world: &Arc<World>,
    scenario: &Scenario,
    stop: &StopRequest,
    written: &Written,
) -> Result<Summary, ReplayError> {
    let (mut loads, mut targets) = (Vec::new(), Vec::new());
    for (number, plan) in scenario.disks.iter().enumerate() {
        let path = PathBuf::from(format!("load.{number}"));
        let requests = plan.requests.iter().map(|planned| planned.request);
        let (mut figures, mut end) = (nothing(), 0);
        for request in requests {
            figures.requests += 1;
            figures.harmless += u64::from(request.op.is_harmless());
            figures.discards += u64::from(request.op == iosonar_trace::Op::Discard);
            end = end.max(request.end().get());
            if request.op.moves_data() {
                figures.longest = figures.longest.max(request.sectors.get());
            }
            figures.last_start_ns = request.start.get();
        }
        figures.end = end;
        let mut scan = Scan::with_figures(&figures);
        scan.is_known = !plan.is_stream;
        if plan.is_stream {
            scan.longest = iosonar_units::Sectors::new(64);
        }
        loads.push(Load {
            path,
            reading: Reading::default(),
            scan,
            arriving: None,
        });
        let file = File::open("/dev/null").expect("there is a null device");
        world.lock().kernel.disks[number].descriptor = file.as_raw_fd();
        let (size, block) = (Bytes::new(plan.sectors * 512), Bytes::new(plan.block * 512));
        targets.push(Target::simulated(file, size, block, plan.write_through));
    }
    let records = records::writer(Path::new(RECORDS), written)?;
    let control = Control {
        stop,
        progress: &Progress::default(),
    };
    replay(
        &loads,
        &targets,
        Vec::new(),
        &scenario.options,
        Some(Box::new(records)),
        control,
    )
}

fn nothing() -> ScanFigures {
    ScanFigures {
        requests: 0,
        harmless: 0,
        discards: 0,
        end: 0,
        longest: 0,
        last_start_ns: 0,
        goes_on: false,
    }
}

/// Runs these seeds; what happened in them, or those that fail, and the first as small as it could be made.
fn run_seeds(
    seeds: std::ops::Range<u64>,
    mut each: impl FnMut(u64) -> bool,
) -> Result<(u64, Seen), String> {
    pin_to_one_processor();
    let (mut all, mut count) = (Seen::default(), 0);
    let mut failed = Vec::new();
    for seed in seeds {
        if !each(seed) {
            break;
        }
        let scenario = Arc::new(Scenario::of(seed));
        let outcome = run(&scenario);
        if let Some(failure) = outcome.failure {
            eprintln!("seed {seed}: {failure}");
            failed.push((seed, failure));
            if failed.len() == MOST_FAILURES {
                break;
            }
        }
        all.add(&outcome.seen);
        count += 1;
    }
    match failed.first() {
        None => Ok((count, all)),
        Some((seed, failure)) => Err(shrink::report(*seed, &Scenario::of(*seed), failure)),
    }
}

/// Threads that take turns change over faster on one processor.
fn pin_to_one_processor() {
    use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    let _ = sched_setaffinity(None, &one);
}

/// The seeds of `IOSONAR_SEEDS`, such as `1000..2000`.
fn wanted_seeds() -> Option<std::ops::Range<u64>> {
    let seeds = std::env::var("IOSONAR_SEEDS").ok()?;
    let (from, until) = seeds.split_once("..")?;
    Some(from.parse().ok()?..until.parse().ok()?)
}

#[test]
fn thousands_of_seeds_break_no_invariant() {
    let began = std::time::Instant::now();
    // On a machine that is busy with other work, fewer are enough.
    let goes_on = |seed| seed < 200 || began.elapsed() < std::time::Duration::from_secs(20);
    match run_seeds(0..4000, goes_on) {
        Ok((count, seen)) => {
            let seconds = began.elapsed().as_secs_f64();
            eprintln!("{count} seeds in {seconds:.1} s: {seen:?}");
            let is_covered = [
                seen.done,
                seen.failed,
                seen.pushed_back,
                seen.dropped,
                seen.held,
            ];
            assert!(is_covered.iter().all(|count| *count > 0), "{seen:?}");
            let is_covered = [seen.read_back, seen.crashes, seen.logs, seen.panics];
            assert!(is_covered.iter().all(|count| *count > 0), "{seen:?}");
        }
        Err(report) => panic!("{report}"),
    }
}

#[test]
fn a_seed_runs_the_same_way_again() {
    pin_to_one_processor();
    for seed in 0..40 {
        let scenario = Arc::new(Scenario::of(seed));
        let [a, b] = [run(&scenario), run(&scenario)];
        assert_eq!(
            (a.fingerprint, a.steps, a.seen),
            (b.fingerprint, b.steps, b.seen),
            "seed {seed}"
        );
    }
}

#[test]
#[ignore = "as long as there are seeds in IOSONAR_SEEDS"]
fn seeds() {
    let seeds = wanted_seeds().expect("IOSONAR_SEEDS is START..END");
    let began = std::time::Instant::now();
    let start = seeds.start;
    let progress = |seed: u64| {
        if seed > start && (seed - start).is_multiple_of(10_000) {
            eprintln!(
                "{} seeds in {:.0} s",
                seed - start,
                began.elapsed().as_secs_f64()
            );
        }
        true
    };
    match run_seeds(seeds, progress) {
        Ok((count, seen)) => println!(
            "{count} seeds in {:.0} s: {seen:?}",
            began.elapsed().as_secs_f64()
        ),
        Err(report) => panic!("{report}"),
    }
}
