//! The session: each request in its time.
//!
//! One thread goes round: hand over what is due, take what is done, and if there is neither, wait.
//! Requests that are due together are handed over together. Waiting is sleeping until shortly
//! before the next deadline (a completion wakes it), then spinning.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crossbeam_channel::RecvTimeoutError;
use iosonar_units::Nanos;

use crate::engine::{Done, Engine};
use crate::error::Failure;
use crate::lane::{Completed, Lane, Next, lane_and_slot};
use crate::pacing::{self, Clock, SpinMargin, Style};
use crate::results::Records;
use crate::self_check::{Round, SelfCheck, SelfCheckPoint};
use crate::{Options, Progress};

/// The longest sleep: how soon a signal is noticed at the latest, and how often the spin margin
/// learns when there is little to do.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);
/// How long a load that is not there yet is waited for at a time.
const LOAD_INTERVAL: Nanos = Nanos::from_micros(50);
/// How long requests that were cancelled may take to come back.
const CANCEL_TIME: Nanos = Nanos::from_secs(2);

/// How a replay is asked to end.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    /// Nothing more is started; what is in flight is waited for. Asked again, it is cancelled.
    pub fn ask(&self) {
        let _ = self
            .0
            .fetch_update(Relaxed, Relaxed, |level| Some(level.saturating_add(1)));
    }

    /// Whether the replay should end.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    /// Whether what is in flight should be given up.
    pub fn is_urgent(&self) -> bool {
        self.0.load(Relaxed) > 1
    }
}

/// Why a session came to its end before the load did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedEarly {
    /// The user asked for it.
    Interrupted,
    /// More requests failed than are borne.
    Errors,
    /// The device is not there any more.
    DeviceGone,
    /// It lasted longer than it may.
    Runtime,
}

/// What a session leaves behind.
pub(crate) struct Ended<'a> {
    pub(crate) engine: &'static str,
    pub(crate) remarks: Vec<String>,
    pub(crate) lanes: Vec<Lane<'a>>,
    /// When it ended, on its own clock.
    pub(crate) at: Nanos,
    pub(crate) early: Option<EndedEarly>,
    pub(crate) abandoned: bool,
    pub(crate) record_stalls: u64,
    pub(crate) processor_time: Nanos,
    pub(crate) self_check: Vec<SelfCheckPoint>,
}

pub(crate) struct Session<'a> {
    options: &'a Options,
    lanes: Vec<Lane<'a>>,
    /// Whether a load goes on after the part of it that is replayed.
    goes_on: bool,
    records: Records,
    clock: Clock,
    margin: SpinMargin,
    errors: u64,
    gone: bool,
    /// By how much it began later than it was told to.
    late: Nanos,
    /// The lane that comes first in this round.
    first: usize,
    check: SelfCheck,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        options: &'a Options,
        lanes: Vec<Lane<'a>>,
        goes_on: bool,
        records: Records,
    ) -> Self {
        Self {
            options,
            lanes,
            goes_on,
            records,
            clock: Clock::starting(options),
            margin: SpinMargin::at_least(options.pacing.spin),
            errors: 0,
            gone: false,
            late: Nanos::ZERO,
            first: 0,
            check: SelfCheck::default(),
        }
    }

    /// Runs to the end.
    pub(crate) fn run<E: Engine>(
        mut self,
        mut engine: E,
        stop: &Stop,
        progress: &Progress,
    ) -> (Result<(), Failure>, Ended<'a>) {
        let mut remarks = self.options.pacing.prepare_thread();
        let mut done = Vec::with_capacity(1024);
        let processor_time = pacing::processor_time();
        let outcome = self
            .await_load(stop)
            .and_then(|()| self.start_all(&mut engine, stop, progress, &mut done));
        for lane in &mut self.lanes {
            lane.watch.end_of_load();
        }
        let not_all = outcome.as_ref().is_ok_and(|all| !all || self.goes_on);
        let ends_early = self.why_early(stop, not_all).is_some();
        let mut outcome = outcome.map(|_| ());
        for lane in &mut self.lanes {
            if ends_early || outcome.is_err() {
                lane.give_up_waiting(&mut self.records);
            }
        }
        if let Err(e) = self.drain(&mut engine, stop, progress, &mut done) {
            outcome = outcome.and(Err(e));
        }
        // The last requests may be those that fail.
        let early = self.why_early(stop, not_all);
        remarks.extend(engine.remarks());
        if self.late > Nanos::ZERO {
            remarks.push(format!(
                "time zero was {} past when everything was ready: it began so much later than it was told to",
                self.late
            ));
        }
        let at = self.clock.now();
        let processor_time = pacing::processor_time().saturating_sub(processor_time);
        let name = engine.name();
        // The ring is taken apart before its buffers are.
        drop(engine);
        let abandoned = self.lanes.iter().any(|lane| !lane.is_empty());
        for lane in &mut self.lanes {
            if abandoned {
                // The kernel may still write to the buffers, so they are kept.
                lane.abandon(&mut self.records);
            } else {
                // SAFETY: nothing is in flight any more, and nothing is started again.
                unsafe { lane.free() };
            }
        }
        if early.is_some() {
            // How long that takes does not matter to any latency.
            self.records.measures_no_more();
            for lane in &mut self.lanes {
                lane.miss_the_rest(&mut self.records, || stop.is_urgent());
            }
        }
        let started = self.lanes.iter().any(|lane| lane.watch.has_started());
        let ended = Ended {
            engine: name,
            remarks,
            at,
            early,
            abandoned,
            record_stalls: self.records.end(outcome.is_ok() || started),
            lanes: self.lanes,
            processor_time,
            self_check: self.check.into_points(),
        };
        (outcome, ended)
    }

    fn why_early(&self, stop: &Stop, not_all: bool) -> Option<EndedEarly> {
        if self.gone {
            Some(EndedEarly::DeviceGone)
        } else if self.errors > self.options.max_errors {
            Some(EndedEarly::Errors)
        } else if stop.is_asked() {
            Some(EndedEarly::Interrupted)
        } else {
            not_all.then_some(EndedEarly::Runtime)
        }
    }

    /// Waits for the first requests to come from the files (a window may lie far in them), then sets
    /// the clock.
    fn await_load(&mut self, stop: &Stop) -> Result<(), Failure> {
        for lane in &mut self.lanes {
            while !stop.is_asked() {
                match lane.await_batch(LONGEST_SLEEP) {
                    Ok(batch) => {
                        lane.take(batch.map_err(Failure::Load)?);
                        break;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        }
        self.late = self.options.begin_at.map_or(Nanos::ZERO, |at| {
            crate::pacing::since_1970().saturating_sub(at)
        });
        self.clock = Clock::starting(self.options);
        Ok(())
    }

    /// Starts everything in its time; whether it came to the end of the load.
    fn start_all<E: Engine>(
        &mut self,
        engine: &mut E,
        stop: &Stop,
        progress: &Progress,
        done: &mut Vec<Done>,
    ) -> Result<bool, Failure> {
        let mut prepared: Vec<u32> = Vec::with_capacity(64);
        let mut behind = Nanos::ZERO;
        while !stop.is_asked() && self.errors <= self.options.max_errors && !self.gone {
            let now = self.clock.now();
            if self.options.max_runtime.is_some_and(|most| now >= most) {
                return Ok(false);
            }
            let has_started = now > Nanos::ZERO || self.clock.has_started();
            if self.check.begin(now) {
                let ahead = self.lanes.iter().map(Lane::ahead).sum();
                let in_flight: u32 = self.lanes.iter().map(Lane::in_flight).sum();
                self.check.sample(now, ahead, in_flight.into());
            }
            let together = engine.together(behind);
            let (mut wake, mut ended, mut not_yet) = (None::<Nanos>, true, false);
            let mut failed = None;
            // Each in turn is the first, so that none starves the others.
            let lanes = self.lanes.len();
            self.first = (self.first + 1) % lanes;
            for i in 0..lanes {
                let lane = &mut self.lanes[(self.first + i) % lanes];
                let now = has_started.then_some(now);
                let next = lane.prepare(
                    engine,
                    now,
                    together,
                    &mut prepared,
                    &mut self.records,
                    progress,
                );
                match next {
                    Ok(Next::End) => continue,
                    Ok(Next::Due(at)) => wake = Some(wake.map_or(at, |wake| wake.min(at))),
                    Ok(Next::Blocked) => {}
                    Ok(Next::NotYet) => not_yet = true,
                    Err(e) => failed = Some(e),
                }
                ended = false;
            }
            let started = prepared.len();
            if started > 0 {
                // Whatever was prepared is submitted, also if the load has failed meanwhile.
                behind = self.submit(engine, &mut prepared)?;
            }
            if let Some(failure) = failed {
                return Err(failure);
            }
            engine.reap(done);
            let idle = started == 0 && done.is_empty();
            let round = match (idle, not_yet) {
                (true, true) if has_started => Round::Input,
                (false, _) if self.lanes.iter().any(|lane| lane.in_flight() > 0) => Round::Busy,
                _ => Round::Other,
            };
            self.check.end(now, round);
            self.complete(engine, done, progress)?;
            self.records.tick(now);
            if ended {
                return Ok(true);
            }
            if idle {
                let soon = self.clock.now().saturating_add(LOAD_INTERVAL);
                match (wake, not_yet) {
                    (Some(at), false) => self.wait_for(at, engine)?,
                    (Some(at), true) => self.wait_for(at.min(soon), engine)?,
                    (None, true) => engine.wait(LOAD_INTERVAL).map_err(Failure::Engine)?,
                    (None, false) => engine.wait(LONGEST_SLEEP).map_err(Failure::Engine)?,
                }
            }
        }
        Ok(true)
    }

    /// Submits what was prepared. Each gets the time of its own submission: of several in one system call, these are
    /// taken as equally far from each other. Returns how late the last was.
    #[inline]
    fn submit<E: Engine>(
        &mut self,
        engine: &mut E,
        prepared: &mut Vec<u32>,
    ) -> Result<Nanos, Failure> {
        let began = self.clock.now();
        let outcome = engine.submit().map_err(Failure::Engine);
        let each = match prepared.len() as u64 {
            1 => Nanos::ZERO,
            n => Nanos::new(self.clock.now().saturating_sub(began).get() / n),
        };
        let (mut at, mut behind) = (began, Nanos::ZERO);
        for number in prepared.drain(..) {
            let (lane, slot) = lane_and_slot(number);
            behind = self.lanes[lane].handed_over(slot, at);
            at += each;
        }
        outcome.map(|()| behind)
    }

    /// Waits for what is in flight.
    fn drain<E: Engine>(
        &mut self,
        engine: &mut E,
        stop: &Stop,
        progress: &Progress,
        done: &mut Vec<Done>,
    ) -> Result<(), Failure> {
        let mut given_up = None;
        while self.lanes.iter().any(|lane| lane.in_flight() > 0) {
            if stop.is_urgent() && given_up.is_none() {
                given_up = Some(pacing::monotonic() + CANCEL_TIME);
                engine.cancel();
            }
            if given_up.is_some_and(|end| pacing::monotonic() > end) {
                return Ok(());
            }
            // If the ring is broken, its buffers may still be written to: they are kept.
            engine.wait(LONGEST_SLEEP).map_err(Failure::Engine)?;
            engine.reap(done);
            self.complete(engine, done, progress)?;
        }
        Ok(())
    }

    /// Sleeps until shortly before `due`, or until something is done; spins if it is due soon.
    #[inline]
    fn wait_for<E: Engine>(&mut self, due: Nanos, engine: &mut E) -> Result<(), Failure> {
        let margin = match self.options.pacing.style {
            Style::SleepThenSpin => self.margin.get(),
            Style::Spin => Nanos::MAX,
            Style::Sleep => Nanos::ZERO,
        };
        let sleep = self.clock.until(due).saturating_sub(margin);
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
    fn complete<E: Engine>(
        &mut self,
        engine: &mut E,
        done: &mut Vec<Done>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        if done.is_empty() {
            return Ok(());
        }
        let (mut completed, mut errors) = (0, 0);
        let mut outcome = Ok(());
        for Done { slot, result, at } in done.drain(..) {
            let (lane, slot) = lane_and_slot(slot);
            let lane = &mut self.lanes[lane];
            match lane.complete(engine, slot, result, at, &mut self.records, self.clock) {
                Ok(Completed::ReadsBack) => continue,
                Ok(Completed::Done) => {}
                Ok(Completed::Failed { gone }) => {
                    errors += 1;
                    self.gone |= gone;
                }
                // All others are completed all the same.
                Err(e) => outcome = outcome.and(Err(e)),
            }
            completed += 1;
        }
        self.errors += errors;
        progress.add_done(completed);
        progress.add_errors(errors);
        let in_flight: u32 = self.lanes.iter().map(Lane::in_flight).sum();
        progress.set_in_flight(in_flight.into());
        outcome
    }
}
