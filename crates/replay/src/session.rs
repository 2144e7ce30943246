//! The session: each request in its time.
//!
//! One thread goes round: hand over what is due, take what is done, and if there is neither, wait.
//! Requests that are due together are handed over together. Waiting is sleeping until shortly
//! before the next deadline (a completion wakes it), then spinning.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use crossbeam_channel::TryRecvError;
use iosonar_stats::Distribution;
use iosonar_trace::{Batch, Op, Outcome, Record, Request, Status, TraceError, TraceWriter};
use iosonar_units::Nanos;

use crate::buffers::Buffers;
use crate::engine::{self, Access, AccessKind, Chosen, Done, Engine, ThreadPool};
use crate::feeder::{Feed, feeder};
use crate::in_flight::InFlight;
use crate::pacing::{self, Clock, SpinMargin};
use crate::recorder::{Records, recorder};
use crate::summary::{Summary, Verdict};
use crate::{EngineKind, Options, ReplayError, Scan, Target, Writes};

/// Time to fill the queues before time zero.
const START_GRACE: Nanos = Nanos::from_millis(200);
/// The most requests that are handed over together.
const MOST_TOGETHER: usize = 64;
/// The longest sleep: how soon a signal is noticed at the latest, and how often the spin margin
/// learns when there is little to do.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);

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
    let in_flight = match options.engine {
        EngineKind::Threads => options.in_flight.min(ThreadPool::MOST_THREADS),
        _ => options.in_flight,
    };
    let io_error = |action| {
        move |source| ReplayError::Io {
            path: target.path().to_owned(),
            action,
            source,
        }
    };
    let longest = scan.longest.bytes().get() as usize;
    let (engine, engine_note) = engine::choose(options.engine, target.file(), in_flight)
        .map_err(io_error("set up the engine"))?;
    let in_flight = match &engine {
        Chosen::Threads(_) => in_flight.min(ThreadPool::MOST_THREADS),
        Chosen::Uring(_) => in_flight,
    };
    let buffers = || Buffers::new(in_flight as usize, longest);
    let read_buffers = buffers().map_err(io_error("allocate memory for reads"))?;
    let write_buffers = buffers().map_err(io_error("allocate memory for writes"))?;

    let (feeder, feed) = feeder();
    let (recorder, sender) = recorder();
    thread::scope(|scope| {
        scope.spawn(move || feeder.run(path, &options.selection));
        let recording = scope.spawn(move || recorder.run(records));
        let session = Session {
            feed,
            batch: Batch::default(),
            row: 0,
            table: InFlight::new(in_flight),
            read_buffers,
            write_buffers,
            records: sender,
            clock: Clock::starting_in(START_GRACE),
            margin: SpinMargin::at_least(options.spin),
            path,
            scan,
            zero: scaled(options.selection.from, options.selection.speed),
            options,
            stop,
            progress,
            state: State::default(),
        };
        let (name, outcome, state) = match engine {
            Chosen::Uring(engine) => session.run(engine),
            Chosen::Threads(engine) => session.run(engine),
        };
        let (counts, written) = recording
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match outcome {
            Err(Failure::Engine(e)) => return Err(io_error("go on with the replay")(e)),
            Err(Failure::Load(e)) => return Err(e.into()),
            Ok(()) => written?,
        }
        let completed = counts.reads.latency.count() + counts.writes.latency.count();
        let ended = completed + counts.skipped + counts.errors + counts.short;
        let zero = scaled(options.selection.from, options.selection.speed);
        Ok(Summary {
            engine: name,
            engine_note,
            fakes: target.fakes().to_vec(),
            requests: scan.requests,
            completed,
            skipped: counts.skipped,
            errors: counts.errors,
            first_errno: counts.first_errno,
            short: counts.short,
            missed: scan.requests - ended,
            interrupted: state.interrupted,
            on_time: counts.on_time,
            elapsed: state.last_completion,
            intended: scan.last_start.saturating_sub(zero),
            sectors: counts.sectors,
            most_in_flight: state.most_in_flight,
            verdict: state.verdict(in_flight as usize),
            own_lateness: state.own_lateness,
            reads: counts.reads,
            writes: counts.writes,
        })
    })
}

/// The window's beginning after the change of speed, rounded as the load's times are.
fn scaled(from: Nanos, speed: f64) -> Nanos {
    Nanos::new((from.get() as f64 / speed).round() as u64)
}

enum Failure {
    Engine(std::io::Error),
    Load(TraceError),
}

/// What the session finds out about itself.
#[derive(Default)]
struct State {
    own_lateness: Distribution,
    /// How many of those were more than 100 us, more than 1 ms late.
    late: [u64; 2],
    most_in_flight: usize,
    last_completion: Nanos,
    interrupted: bool,
    errors: u64,
    /// Since when a due request waits for a place.
    blocked_since: Option<Nanos>,
    /// Until when requests waited for a place: what was planned earlier is not late by our fault.
    blocked_until: Nanos,
    blocked_time: Nanos,
    first_blocked: Option<Nanos>,
    first_second_late: Option<Nanos>,
}

impl State {
    /// A request was handed over this late although nothing was in the way.
    #[inline]
    fn started_late(&mut self, lateness: Nanos) {
        self.own_lateness.push(lateness);
        self.late[0] += u64::from(lateness > Nanos::from_micros(100));
        self.late[1] += u64::from(lateness > Nanos::MILLISECOND);
    }

    fn block(&mut self, now: Nanos) {
        self.blocked_since.get_or_insert(now);
        self.first_blocked.get_or_insert(now);
    }

    fn unblock(&mut self, now: Nanos) {
        if let Some(since) = self.blocked_since.take() {
            self.blocked_time += now.saturating_sub(since);
            // What was planned up to now waited for a place, or behind one that did.
            self.blocked_until = now + Nanos::new(1);
        }
    }

    fn verdict(&self, places: usize) -> Verdict {
        let full_for_long = self.most_in_flight >= places
            && self.blocked_time.get() * 100 > self.last_completion.get();
        let n = self.own_lateness.count();
        if is_more_than(self.late[0], n, 0.01) || is_more_than(self.late[1], n, 0.001) {
            return Verdict::ReplayerLimited {
                late: self.late.map(|late| late as f64 / n as f64),
            };
        }
        let blocked = self.first_blocked.filter(|_| full_for_long);
        match self.first_second_late.into_iter().chain(blocked).min() {
            Some(from) => Verdict::DeviceLimited { from },
            None => Verdict::KeptUp,
        }
    }
}

/// Whether `count` of `n` is more than this share, beyond what chance explains: by three standard
/// deviations of the count. One late start of a hundred proves nothing.
fn is_more_than(count: u64, n: u64, share: f64) -> bool {
    let expected = share * n as f64;
    count as f64 > expected + 3.0 * expected.sqrt()
}

struct Session<'a> {
    feed: Feed,
    batch: Batch,
    row: usize,
    table: InFlight,
    read_buffers: Buffers,
    write_buffers: Buffers,
    records: Records,
    clock: Clock,
    margin: SpinMargin,
    path: &'a Path,
    scan: &'a Scan,
    zero: Nanos,
    options: &'a Options,
    stop: &'a AtomicBool,
    progress: &'a Progress,
    state: State,
}

/// What the feeder has for us.
enum Next {
    Request(Request),
    NotYet,
    End,
}

impl Session<'_> {
    /// Runs to the end. Dropping the session afterwards tells feeder and recorder that it is over.
    fn run<E: Engine>(mut self, mut engine: E) -> (&'static str, Result<(), Failure>, State) {
        pacing::sharpen_timers();
        let mut outcome = self.start_all(&mut engine);
        // Nothing is dropped before the kernel is done with the buffers.
        let mut done = Vec::new();
        while !self.table.is_empty() {
            if let Err(e) = engine.wait(LONGEST_SLEEP) {
                outcome = outcome.and(Err(Failure::Engine(e)));
                // The ring is broken: its buffers may still be written to, so they are kept.
                std::mem::forget(self.read_buffers);
                std::mem::forget(self.write_buffers);
                return (engine.name(), outcome, self.state);
            }
            engine.reap(&mut done);
            self.complete(&mut done);
        }
        self.records.flush();
        (engine.name(), outcome, self.state)
    }

    fn start_all<E: Engine>(&mut self, engine: &mut E) -> Result<(), Failure> {
        let mut done: Vec<Done> = Vec::with_capacity(1024);
        let mut prepared: Vec<u32> = Vec::with_capacity(MOST_TOGETHER);
        loop {
            if self.stop.load(Relaxed) {
                self.state.interrupted = true;
                return Ok(());
            }
            if self.state.errors > self.options.max_errors {
                return Ok(());
            }
            let next = self.start_due(engine, &mut prepared)?;
            let started = prepared.len();
            if started > 0 {
                let now = self.clock.now();
                for slot in prepared.drain(..) {
                    let planned = self.table.handed_over(slot, now);
                    if planned >= self.state.blocked_until {
                        self.state.started_late(now - planned);
                    }
                }
                engine.submit().map_err(Failure::Engine)?;
                self.state.most_in_flight = self.state.most_in_flight.max(self.table.len());
            }
            engine.reap(&mut done);
            let idle = started == 0 && done.is_empty();
            self.complete(&mut done);
            match next {
                Next::End => return Ok(()),
                Next::NotYet if idle => engine
                    .wait(Nanos::from_micros(50))
                    .map_err(Failure::Engine)?,
                Next::Request(request) if idle => self.wait_for(&request, engine)?,
                _ => {}
            }
        }
    }

    /// Prepares what is due, in the order of the load, as far as there are places. Returns the
    /// request that comes next.
    #[inline]
    fn start_due<E: Engine>(
        &mut self,
        engine: &mut E,
        prepared: &mut Vec<u32>,
    ) -> Result<Next, Failure> {
        let now = self.clock.now();
        let started = self.clock.has_started();
        loop {
            let request = match self.peek().map_err(Failure::Load)? {
                Next::Request(request) => request,
                other => return Ok(other),
            };
            let planned = self.planned(&request);
            if !started || planned > now || prepared.len() == MOST_TOGETHER {
                return Ok(Next::Request(request));
            }
            if !request.op.is_harmless() && self.options.writes == Writes::Skip {
                self.row += 1;
                self.records.push(&Record {
                    request,
                    outcome: Outcome::untimed(Status::Skipped),
                });
                self.progress.done.fetch_add(1, Relaxed);
                continue;
            }
            let Some(slot) = self.table.claim(request, planned) else {
                self.state.block(now);
                return Ok(Next::Request(request));
            };
            self.row += 1;
            self.state.unblock(now);
            let access = self.access(slot, &request);
            prepared.push(slot);
            engine.prepare(slot, access).map_err(Failure::Engine)?;
        }
    }

    /// The next request, which stays where it is.
    #[inline]
    fn peek(&mut self) -> Result<Next, TraceError> {
        if self.row == self.batch.len() {
            match self.feed.batches.try_recv() {
                Ok(batch) => {
                    let used = std::mem::replace(&mut self.batch, batch?);
                    self.row = 0;
                    self.scan
                        .still_holds(&self.batch, self.path, self.options)?;
                    // If the feeder has enough empty batches, this one is not needed.
                    let _ = self.feed.used.try_send(used);
                }
                Err(TryRecvError::Empty) => return Ok(Next::NotYet),
                Err(TryRecvError::Disconnected) => return Ok(Next::End),
            }
        }
        Ok(Next::Request(self.batch.request(self.row)))
    }

    #[inline]
    fn planned(&self, request: &Request) -> Nanos {
        request.start.saturating_sub(self.zero)
    }

    #[inline]
    fn access(&mut self, slot: u32, request: &Request) -> Access {
        let length = request.sectors.bytes().get() as u32;
        let (kind, buffer) = match request.op {
            Op::Read => (AccessKind::Read, self.read_buffers.address(slot)),
            Op::Flush => (AccessKind::Flush, self.read_buffers.address(slot)),
            Op::Write | Op::Discard | Op::WriteZeroes => {
                let number = self.progress.done.load(Relaxed) + self.table.len() as u64;
                let stamp = number ^ request.start.get() << 20;
                self.write_buffers.make_unique(slot, length as usize, stamp);
                (AccessKind::Write, self.write_buffers.address(slot))
            }
        };
        Access {
            kind,
            offset: request.sector.offset().get(),
            buffer,
            length,
        }
    }

    /// Sleeps until shortly before `request` is due, or until something is done; spins if it is
    /// due soon.
    #[inline]
    fn wait_for<E: Engine>(&mut self, request: &Request, engine: &mut E) -> Result<(), Failure> {
        if self.table.is_full() {
            return engine.wait(LONGEST_SLEEP).map_err(Failure::Engine);
        }
        let due = self.planned(request);
        let sleep = self.clock.until(due).saturating_sub(self.margin.get());
        if sleep == Nanos::ZERO {
            std::hint::spin_loop();
            return Ok(());
        }
        let asked = sleep.min(LONGEST_SLEEP);
        let end = pacing::monotonic() + asked;
        engine.wait(asked).map_err(Failure::Engine)?;
        // A sleep that a completion ended earlier teaches nothing.
        if let Some(overslept) = pacing::monotonic().checked_sub(end) {
            self.margin.learn(overslept);
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, done: &mut Vec<Done>) {
        if done.is_empty() {
            return;
        }
        let mut errors = 0;
        for Done { slot, result, at } in done.drain(..) {
            let entry = self.table.release(slot);
            let at = self.clock.at(at);
            let delay = entry.handed.saturating_sub(entry.planned);
            if delay >= Nanos::SECOND {
                self.state.first_second_late.get_or_insert(entry.planned);
            }
            let wanted = match entry.request.op {
                Op::Flush => 0,
                _ => entry.request.sectors.bytes().get(),
            };
            let status = match u64::try_from(result) {
                Ok(moved) if moved == wanted => Status::Done,
                Ok(_) => Status::Short,
                Err(_) => Status::Error(result.unsigned_abs() as u16),
            };
            errors += u64::from(status != Status::Done);
            self.state.last_completion = self.state.last_completion.max(at);
            self.records.push(&Record {
                request: entry.request,
                outcome: Outcome {
                    status,
                    ..Outcome::done(delay, at.saturating_sub(entry.handed))
                },
            });
            self.progress.done.fetch_add(1, Relaxed);
        }
        self.state.errors += errors;
        self.progress.errors.fetch_add(errors, Relaxed);
        self.progress
            .in_flight
            .store(self.table.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_exceeded_only_beyond_chance() {
        assert!(
            !is_more_than(1, 50, 0.01),
            "one late start of fifty proves nothing"
        );
        assert!(is_more_than(10, 50, 0.01));
        assert!(!is_more_than(1_050, 100_000, 0.01));
        assert!(is_more_than(1_100, 100_000, 0.01));
        assert!(!is_more_than(0, 0, 0.01));
    }
}
