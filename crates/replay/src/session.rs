//! The session: each request in its time.
//!
//! One thread goes round: hand over what is due, take what is done, and if there is neither, wait.
//! Requests that are due together are handed over together. Waiting is sleeping until shortly
//! before the next deadline (a completion wakes it), then spinning.

use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crossbeam_channel::{RecvTimeoutError, TryRecvError};
use iosonar_trace::{Batch, Flags, Op, Outcome, Record, Request, Status, TraceError};
use iosonar_units::Nanos;

use crate::buffers::Buffers;
use crate::engine::{Access, AccessKind, Done, Engine};
use crate::feeder::Feed;
use crate::in_flight::InFlight;
use crate::pacing::{self, Clock, SpinMargin};
use crate::recorder::Records;
use crate::verdict::Watch;
use crate::{Options, Progress, Scan, Writes};

/// Time between the first requests' arrival from the file and time zero, to fill the queues.
const START_GRACE: Nanos = Nanos::from_millis(200);
/// The most requests that are handed over together.
const MOST_TOGETHER: usize = 64;
/// The longest sleep: how soon a signal is noticed at the latest, and how often the spin margin
/// learns when there is little to do.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);

/// Why a session broke off.
pub(crate) enum Failure {
    Engine(io::Error),
    Load(TraceError),
}

/// What a session leaves behind.
pub(crate) struct Ended {
    pub(crate) engine: &'static str,
    pub(crate) watch: Watch,
    /// When it ended, on its own clock.
    pub(crate) at: Nanos,
    pub(crate) interrupted: bool,
    pub(crate) too_many_errors: bool,
    pub(crate) record_stalls: u64,
}

pub(crate) struct Session<'a> {
    path: &'a Path,
    scan: &'a Scan,
    options: &'a Options,
    feed: Feed,
    batch: Batch,
    row: usize,
    fed: u64,
    table: InFlight,
    /// Freed only when nothing is in flight any more: the kernel may write to them until then, even
    /// if this thread panics.
    read_buffers: ManuallyDrop<Buffers>,
    write_buffers: ManuallyDrop<Buffers>,
    records: Records,
    clock: Clock,
    margin: SpinMargin,
    /// The load's time that is time zero of the replay.
    zero: Nanos,
    started: u64,
    errors: u64,
    watch: Watch,
}

/// What the feeder has for us.
enum Next {
    Request(Request),
    NotYet,
    End,
}

impl<'a> Session<'a> {
    /// Allocates all that is needed for `in_flight` requests at once.
    pub(crate) fn new(
        path: &'a Path,
        scan: &'a Scan,
        options: &'a Options,
        in_flight: u32,
        zero: Nanos,
        feed: Feed,
        records: Records,
    ) -> io::Result<Self> {
        let longest = scan.longest.bytes().get() as usize;
        let places = |needed| if needed { in_flight as usize } else { 1 };
        let writes = options.writes == Writes::Do && scan.harmless < scan.requests;
        Ok(Self {
            read_buffers: ManuallyDrop::new(Buffers::new(places(true), longest)?),
            write_buffers: ManuallyDrop::new(Buffers::new(places(writes), longest)?),
            path,
            scan,
            options,
            feed,
            batch: Batch::default(),
            row: 0,
            fed: 0,
            table: InFlight::new(in_flight),
            records,
            clock: Clock::starting_in(START_GRACE),
            margin: SpinMargin::at_least(options.spin),
            zero,
            started: 0,
            errors: 0,
            watch: Watch::default(),
        })
    }

    /// Runs to the end. Dropping the session afterwards tells the feeder that it is over.
    pub(crate) fn run<E: Engine>(
        mut self,
        mut engine: E,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> (Result<(), Failure>, Ended) {
        pacing::sharpen_timers();
        let mut outcome = self
            .await_load(stop)
            .and_then(|()| self.start_all(&mut engine, stop, progress));
        let mut done = Vec::new();
        while !self.table.is_empty() {
            if let Err(e) = engine.wait(LONGEST_SLEEP) {
                // The ring is broken: its buffers may still be written to, so they are kept.
                outcome = outcome.and(Err(Failure::Engine(e)));
                break;
            }
            engine.reap(&mut done);
            self.complete(&mut done, progress);
        }
        if self.table.is_empty() {
            // SAFETY: nothing is in flight any more, and the session is not used again.
            unsafe {
                ManuallyDrop::drop(&mut self.read_buffers);
                ManuallyDrop::drop(&mut self.write_buffers);
            }
        }
        let ended = Ended {
            engine: engine.name(),
            at: self.clock.now(),
            interrupted: stop.load(Relaxed),
            too_many_errors: self.errors > self.options.max_errors,
            record_stalls: self.records.end(outcome.is_ok() || self.started > 0),
            watch: self.watch,
        };
        (outcome, ended)
    }

    /// Waits for the first requests to come from the file (a window may lie far in it), then sets
    /// the clock.
    fn await_load(&mut self, stop: &AtomicBool) -> Result<(), Failure> {
        while !stop.load(Relaxed) {
            match self.feed.batches.recv_timeout(LONGEST_SLEEP.into()) {
                Ok(batch) => {
                    batch.and_then(|b| self.take(b)).map_err(Failure::Load)?;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.clock = Clock::starting_in(START_GRACE);
        Ok(())
    }

    fn start_all<E: Engine>(
        &mut self,
        engine: &mut E,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let mut done: Vec<Done> = Vec::with_capacity(1024);
        let mut prepared: Vec<u32> = Vec::with_capacity(MOST_TOGETHER);
        while !stop.load(Relaxed) && self.errors <= self.options.max_errors {
            let next = self.prepare_due(engine, &mut prepared, progress);
            let started = prepared.len();
            if started > 0 {
                // Whatever was prepared is handed over, also if the load has failed meanwhile.
                let now = self.clock.now();
                for slot in prepared.drain(..) {
                    let planned = self.table.handed_over(slot, now);
                    self.watch.handed_over(planned, now);
                }
                engine.submit().map_err(Failure::Engine)?;
                self.watch.most_in_flight = self.watch.most_in_flight.max(self.table.len());
                let in_flight = self.table.len() as u64;
                progress.in_flight.store(in_flight, Relaxed);
            }
            let next = next?;
            engine.reap(&mut done);
            let idle = started == 0 && done.is_empty();
            self.complete(&mut done, progress);
            match next {
                Next::End => return Ok(()),
                Next::NotYet if idle => engine
                    .wait(Nanos::from_micros(50))
                    .map_err(Failure::Engine)?,
                Next::Request(request) if idle => self.wait_for(&request, engine)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Prepares what is due, in the order of the load, as far as there are places. Returns the
    /// request that comes next.
    #[inline]
    fn prepare_due<E: Engine>(
        &mut self,
        engine: &mut E,
        prepared: &mut Vec<u32>,
        progress: &Progress,
    ) -> Result<Next, Failure> {
        let now = self.clock.now();
        let has_started = self.clock.has_started();
        loop {
            let request = match self.peek().map_err(Failure::Load)? {
                Next::Request(request) => request,
                other => return Ok(other),
            };
            let planned = self.planned(&request);
            if !has_started || planned > now || prepared.len() == MOST_TOGETHER {
                return Ok(Next::Request(request));
            }
            if !request.op.is_harmless() && self.options.writes != Writes::Do {
                self.row += 1;
                self.records.push(&Record {
                    request,
                    outcome: Outcome::untimed(Status::Skipped),
                });
                progress.done.fetch_add(1, Relaxed);
                continue;
            }
            let Some(slot) = self.table.claim(request, planned) else {
                self.watch.block(now);
                return Ok(Next::Request(request));
            };
            self.row += 1;
            self.watch.unblock(now);
            let access = self.access(slot, &request);
            prepared.push(slot);
            engine.prepare(slot, access).map_err(Failure::Engine)?;
        }
    }

    /// The next request, which stays where it is.
    #[inline]
    fn peek(&mut self) -> Result<Next, TraceError> {
        while self.row == self.batch.len() {
            match self.feed.batches.try_recv() {
                Ok(batch) => self.take(batch?)?,
                Err(TryRecvError::Empty) => return Ok(Next::NotYet),
                Err(TryRecvError::Disconnected) => return Ok(Next::End),
            }
        }
        Ok(Next::Request(self.batch.request(self.row)))
    }

    fn take(&mut self, batch: Batch) -> Result<(), TraceError> {
        let used = std::mem::replace(&mut self.batch, batch);
        self.row = 0;
        // If the feeder has enough empty batches, this one is not needed.
        let _ = self.feed.used.try_send(used);
        self.fed += self.batch.len() as u64;
        self.scan
            .still_holds(&self.batch, self.fed, self.path, self.options)
    }

    #[inline]
    fn planned(&self, request: &Request) -> Nanos {
        request.start.saturating_sub(self.zero)
    }

    #[inline]
    fn access(&mut self, slot: u32, request: &Request) -> Access {
        let length = request.sectors.bytes().get() as u32;
        self.started += 1;
        let (kind, buffer) = match request.op {
            Op::Read => (AccessKind::Read, self.read_buffers.address(slot)),
            Op::Flush => (AccessKind::Flush, self.read_buffers.address(slot)),
            Op::Write => {
                let stamp = self.started ^ request.start.get() << 20;
                self.write_buffers.make_unique(slot, length as usize, stamp);
                let durable = request.flags.contains(Flags::FUA);
                (
                    AccessKind::Write { durable },
                    self.write_buffers.address(slot),
                )
            }
            Op::Discard | Op::WriteZeroes => {
                unreachable!("the scan refuses them, and every batch is held against the scan")
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
    fn complete(&mut self, done: &mut Vec<Done>, progress: &Progress) {
        if done.is_empty() {
            return;
        }
        let (completed, mut errors) = (done.len() as u64, 0);
        for Done { slot, result, at } in done.drain(..) {
            let entry = self.table.release(slot);
            let at = self.clock.at(at);
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
            self.watch.last_completion = self.watch.last_completion.max(at);
            let delay = entry.handed.saturating_sub(entry.planned);
            self.records.push(&Record {
                request: entry.request,
                outcome: Outcome {
                    status,
                    ..Outcome::done(delay, at.saturating_sub(entry.handed))
                },
            });
        }
        self.errors += errors;
        progress.done.fetch_add(completed, Relaxed);
        progress.errors.fetch_add(errors, Relaxed);
        let in_flight = self.table.len() as u64;
        progress.in_flight.store(in_flight, Relaxed);
    }
}
