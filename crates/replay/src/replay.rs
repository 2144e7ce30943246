//! Setting a replay up, and putting together what it found out.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use iosonar_trace::TraceWriter;
use iosonar_trace::transform::beginning;
use iosonar_units::Nanos;

use crate::engine::{self, Chosen, ThreadPool};
use crate::feeder::feeder;
use crate::recorder::{Counts, recorder};
use crate::session::{Ended, Failure, Session};
use crate::{EngineKind, Options, ReplayError, Scan, Summary, Target};

/// What others may see of a replay while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests that are complete or were left out.
    pub done: AtomicU64,
    /// Requests at the device.
    pub in_flight: AtomicU64,
    /// Requests that failed.
    pub errors: AtomicU64,
}

/// Replays the load at `path`, which [`scan.fits`](Scan::fits) has found fit for `target`. Records go to `records`
/// in the order of completion. The replay ends early when `stop` becomes true: what is in flight
/// is waited for, and everything measured is kept.
///
/// # Errors
/// If the engine cannot be set up or fails, the load changed since it was scanned, or the records
/// cannot be written. What was measured until then has been written if it could be.
pub fn replay(
    path: &Path,
    scan: &Scan,
    target: &Target,
    options: &Options,
    records: Option<Box<dyn TraceWriter>>,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<Summary, ReplayError> {
    let io_error = |action| {
        move |source| ReplayError::Io {
            path: target.path().to_owned(),
            action,
            source,
        }
    };
    let most = |kind| match kind {
        EngineKind::Threads => options.in_flight.min(ThreadPool::MOST_THREADS),
        _ => options.in_flight,
    };
    let (engine, engine_note) = engine::choose(options.engine, target.file(), most(options.engine))
        .map_err(io_error("set up the engine"))?;
    let in_flight = most(match &engine {
        Chosen::Threads(_) => EngineKind::Threads,
        Chosen::Uring(_) => EngineKind::IoUring,
    });
    let zero = beginning(&options.reading.changes);

    let (feeder, feed) = feeder();
    let (recorder, sender) = recorder();
    let (outcome, counts, written) = thread::scope(|scope| {
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let no_thread = io_error("start a thread");
        thread("feeder")
            .spawn_scoped(scope, move || feeder.run(path, &options.reading))
            .map_err(&no_thread)?;
        let recording = thread("recorder")
            .spawn_scoped(scope, move || recorder.run(records))
            .map_err(&no_thread)?;
        let outcome = Session::new(path, scan, options, in_flight, zero, feed, sender)
            .map_err(io_error("allocate memory for the requests' data"))
            .map(|session| match engine {
                Chosen::Uring(engine) => session.run(engine, stop, progress),
                Chosen::Threads(engine) => session.run(engine, stop, progress),
            });
        let (counts, written) = recording
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, ReplayError>((outcome, counts, written))
    })?;
    let (outcome, ended) = outcome?;
    match outcome {
        Err(Failure::Engine(e)) => return Err(io_error("go on with the replay")(e)),
        Err(Failure::Load(e)) => return Err(e.into()),
        Ok(()) => {}
    }
    let mut summary = summarise(scan, counts, ended, in_flight, zero);
    summary.engine_note = engine_note;
    summary.fakes = target.fakes().to_vec();
    summary.records_error = written.err().map(|e| e.to_string());
    Ok(summary)
}

fn summarise(scan: &Scan, counts: Counts, ended: Ended, in_flight: u32, zero: Nanos) -> Summary {
    let Ended {
        engine,
        mut watch,
        at,
        interrupted,
        too_many_errors,
        record_stalls,
    } = ended;
    let completed = [&counts.reads, &counts.writes, &counts.flushes]
        .map(|times| times.latency.count())
        .iter()
        .sum::<u64>();
    let not_missed = completed + counts.skipped + counts.errors + counts.short;
    Summary {
        engine,
        engine_note: None,
        fakes: Vec::new(),
        requests: scan.requests,
        completed,
        skipped: counts.skipped,
        errors: counts.errors,
        first_errno: counts.first_errno,
        short: counts.short,
        missed: scan.requests.saturating_sub(not_missed),
        interrupted,
        too_many_errors,
        records_error: None,
        record_stalls,
        on_time: counts.on_time,
        elapsed: watch.last_completion,
        intended: scan.last_start.saturating_sub(zero),
        sectors: counts.sectors,
        most_in_flight: watch.most_in_flight,
        verdict: watch.verdict(at, in_flight as usize),
        own_lateness: watch.own_lateness,
        reads: counts.reads,
        writes: counts.writes,
        flushes: counts.flushes,
    }
}
