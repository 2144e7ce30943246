//! The session: each request in its time.
//!
//! Its thread goes round: submit what is due, take what is done, and if there is neither, wait.
//! Requests that are due together are submitted together. Waiting is sleeping until shortly
//! before the next deadline (a completion wakes it), then spinning.

use iosonar_units::Nanos;

use self::relay::{Help, relay};
use crate::bounds::lane_and_slot;
use crate::engine::{Done, Engine};
use crate::error::Failure;
use crate::lane::{Completed, Lane, Next, Together};
use crate::note::{Note, ThreadNote};
use crate::os::channel::RecvTimeoutError;
use crate::os::thread;
use crate::pacing::{self, Clock, Interference, Pacing, ThreadPriority, Waiter};
use crate::results::Records;
use crate::self_check::{self, Round, SelfCheck, SelfCheckPoint};
use crate::shared::{Arrival, EndedEarly, Shared};

mod relay;

/// The longest sleep: how soon a signal is noticed at the latest, and how often the spin margin
/// learns when there is little to do.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);
/// How long a load that is not there yet is waited for at a time.
const LOAD_INTERVAL: Nanos = Nanos::from_micros(50);
/// How long requests that were cancelled may take to come back.
const CANCEL_TIME: Nanos = Nanos::from_secs(2);

/// What a session leaves behind.
pub(crate) struct Ended<'a> {
    pub(crate) engine: &'static str,
    pub(crate) notes: Vec<Note>,
    pub(crate) lanes: Vec<Lane<'a>>,
    /// When it ended, on its own clock.
    pub(crate) at: Nanos,
    pub(crate) early: Option<EndedEarly>,
    pub(crate) abandoned: bool,
    pub(crate) record_stalls: u64,
    pub(crate) processor_time: Nanos,
    pub(crate) priority: ThreadPriority,
    pub(crate) interference: Interference,
    pub(crate) self_check: Vec<SelfCheckPoint>,
}

/// What a round leaves to do.
enum After {
    /// The next one.
    Round,
    /// To wait until this time of the replay, or until something is done.
    Until(Nanos),
    /// To wait so long, or until something is done.
    For(Nanos),
    /// Nothing more is started.
    End {
        /// Whether it came to the end of the load, or was ended; if not, it lasted longer than it may.
        all: bool,
    },
}

/// How a session ended.
struct Finished {
    outcome: Result<(), Failure>,
    early: Option<EndedEarly>,
}

pub(crate) struct Session<'s, 'a> {
    shared: &'s Shared<'a>,
    pacing: Pacing,
    lanes: Vec<Lane<'a>>,
    /// Whether a load goes on after the part of it that is replayed.
    goes_on: bool,
    records: Records,
    clock: Clock,
    /// How many requests of its lanes are at their devices, as others may see.
    shown_in_flight: u64,
    /// By how much it began later than requested.
    late: Nanos,
    /// The lane that comes first in this round.
    first: usize,
    check: SelfCheck,
    /// How many threads may take turns with its own.
    helpers: usize,
    /// What was prepared in this round, by the numbers that the engine knows.
    prepared: Vec<u32>,
    /// How late the last request was.
    behind: Nanos,
    done: Vec<Done>,
}

impl<'s, 'a> Session<'s, 'a> {
    pub(crate) fn new(
        shared: &'s Shared<'a>,
        pacing: Pacing,
        lanes: Vec<Lane<'a>>,
        goes_on: bool,
        records: Records,
        helpers: usize,
    ) -> Self {
        Self {
            shared,
            pacing,
            lanes,
            goes_on,
            records,
            clock: Clock::starting(shared.options.begin_at, shared.options.start_grace),
            shown_in_flight: 0,
            late: Nanos::ZERO,
            first: 0,
            check: SelfCheck::default(),
            helpers,
            prepared: Vec::with_capacity(64),
            behind: Nanos::ZERO,
            done: Vec::with_capacity(1024),
        }
    }

    /// Runs to the end.
    pub(crate) fn run<E: Engine + Send>(
        mut self,
        mut engine: E,
        mut arrival: Arrival<'_, '_>,
    ) -> (Result<(), Failure>, Ended<'a>) {
        let (mut waiter, refused) = Waiter::on_this_thread(&self.pacing);
        let mut helped = Help::default();
        let finished = match self.await_load(&mut arrival) {
            Ok(()) if self.helpers > 0 => relay(&mut self, &mut engine, &mut waiter, &mut helped),
            loaded => {
                let outcome = loaded.and_then(|()| self.start_all(&mut engine, &mut waiter));
                self.finish(&mut engine, outcome)
            }
        };
        let Finished { outcome, early } = finished;
        let mut notes: Vec<Note> = refused.into_iter().map(Note::from).collect();
        notes.extend(engine.notes().into_iter().map(Note::from));
        notes.extend(waiter.note().map(Note::from));
        if self.late > Nanos::ZERO {
            notes.push(ThreadNote::BeganLate { by: self.late }.into());
        }
        let at = self.clock.now();
        let processor_time = waiter.times().processor_time() + helped.processor_time;
        let interference = waiter.times().interference();
        let interference = helped
            .interference
            .map_or(interference, |of| interference.and(of));
        let name = engine.name();
        // What did not come back stays in memory, as the kernel may still write to it.
        drop(engine);
        let abandoned = self.lanes.iter().any(|lane| !lane.is_empty());
        for lane in &mut self.lanes {
            lane.free();
            if abandoned {
                lane.abandon(&mut self.records);
            }
        }
        if early.is_some() {
            // How long that takes does not matter to any latency.
            self.records.measures_no_more();
            let measured = self.shared.options.warmup..at;
            for lane in &mut self.lanes {
                let give_up = || self.shared.stop.is_urgent();
                lane.miss_the_rest(&mut self.records, &measured, give_up);
            }
        }
        let ended = Ended {
            engine: name,
            notes,
            at,
            early,
            abandoned,
            // What broke off is not whole, so it stays under its temporary name.
            record_stalls: self
                .records
                .end(outcome.is_ok() && !self.shared.is_broken()),
            lanes: self.lanes,
            processor_time,
            priority: waiter.priority(),
            interference,
            self_check: self.check.into_points(),
        };
        (outcome, ended)
    }

    /// Waits for the first requests to come from the files (a window may lie far in them) and for the other threads,
    /// then sets the clock.
    fn await_load(&mut self, arrival: &mut Arrival<'_, '_>) -> Result<(), Failure> {
        for lane in &mut self.lanes {
            while !self.shared.is_over() {
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
        let start = arrival.start();
        (self.clock, self.late) = (start.clock, start.late);
        Ok(())
    }

    /// Starts everything in its time; whether it came to the end of the load.
    fn start_all<E: Engine>(
        &mut self,
        engine: &mut E,
        waiter: &mut Waiter,
    ) -> Result<bool, Failure> {
        loop {
            match self.round(engine)? {
                After::Round => {}
                After::Until(due) => match self.sleep_before(due, waiter) {
                    Nanos::ZERO => thread::spin_loop(),
                    sleep => sleep_and_learn(sleep, engine, waiter)?,
                },
                After::For(time) => engine.wait(time).map_err(Failure::Engine)?,
                After::End { all } => return Ok(all),
            }
        }
    }

    /// How long to sleep before `due`; zero to spin.
    #[inline]
    fn sleep_before(&self, due: Nanos, waiter: &mut Waiter) -> Nanos {
        let sleep = waiter.sleep(due, self.clock.until(due), pacing::monotonic());
        sleep.min(LONGEST_SLEEP)
    }

    /// Waits for what is in flight, and for nothing else.
    fn finish<E: Engine>(&mut self, engine: &mut E, outcome: Result<bool, Failure>) -> Finished {
        if outcome.is_err() {
            self.shared.break_off();
        }
        let not_all = outcome.as_ref().is_ok_and(|all| !all || self.goes_on);
        let ends_early = self.shared.is_broken() || self.shared.why_early(not_all).is_some();
        let mut outcome = outcome.map(|_| ());
        for lane in &mut self.lanes {
            lane.watch.end_of_load(ends_early);
            if ends_early {
                lane.give_up_waiting(&mut self.records, self.shared.options.warmup);
            }
        }
        if let Err(e) = self.drain(engine) {
            self.shared.break_off();
            outcome = outcome.and(Err(e));
        }
        // The last requests may be those that fail.
        let early = self.shared.why_early(not_all);
        Finished { outcome, early }
    }

    /// Submits what is due, and takes what is done.
    fn round<E: Engine>(&mut self, engine: &mut E) -> Result<After, Failure> {
        if self.shared.is_over() {
            return Ok(After::End { all: true });
        }
        let now = self.clock.now();
        let most = self.shared.options.max_runtime;
        if most.is_some_and(|most| now >= most) {
            return Ok(After::End { all: false });
        }
        let has_started = now > Nanos::ZERO || self.clock.has_started();
        if self.check.begin(now) {
            let ahead = self.lanes.iter().map(Lane::ahead).sum();
            let in_flight: u32 = self.lanes.iter().map(Lane::in_flight).sum();
            self.check.sample(now, ahead, in_flight.into());
        }
        let mut together = Together {
            numbers: &mut self.prepared,
            most: engine.together(self.behind),
        };
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
                &mut together,
                &mut self.records,
                self.shared.progress,
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
        let started = self.prepared.len();
        if started > 0 {
            // Whatever was prepared is submitted, also if the load has failed meanwhile.
            self.behind = self.submit(engine)?;
        }
        if let Some(failure) = failed {
            return Err(failure);
        }
        engine.reap(&mut self.done);
        let idle = started == 0 && self.done.is_empty();
        let round = match (idle, not_yet) {
            (true, true) if has_started => Round::Input,
            (false, _) if self.lanes.iter().any(|lane| lane.in_flight() > 0) => Round::Busy,
            _ => Round::Other,
        };
        self.check.end(now, round);
        self.complete(engine)?;
        self.records.tick(now);
        if ended {
            return Ok(After::End { all: true });
        }
        if !idle {
            return Ok(After::Round);
        }
        let soon = self.clock.now().saturating_add(LOAD_INTERVAL);
        Ok(match (wake, not_yet) {
            (Some(at), false) => After::Until(at),
            (Some(at), true) => After::Until(at.min(soon)),
            (None, true) => After::For(LOAD_INTERVAL),
            (None, false) => After::For(LONGEST_SLEEP),
        })
    }

    /// Submits what was prepared. Each gets the time of its own submission: of several in one system call, these are
    /// taken as equally far from each other. Returns how late the last was.
    #[inline]
    fn submit<E: Engine>(&mut self, engine: &mut E) -> Result<Nanos, Failure> {
        let began = self.clock.now();
        let outcome = engine.submit().map_err(Failure::Engine);
        let taken_after = engine.taken_after();
        let first = began.saturating_add(taken_after);
        let each = match self.prepared.len() as u64 {
            // All of them have been taken by then.
            _ if taken_after > Nanos::ZERO => Nanos::ZERO,
            1 => Nanos::ZERO,
            n => Nanos::new(self.clock.now().saturating_sub(first).get() / n),
        };
        let (mut at, mut behind) = (first, Nanos::ZERO);
        for number in self.prepared.drain(..) {
            let (lane, slot) = lane_and_slot(number);
            let at_once = engine.began_with(number);
            behind = self.lanes[lane].handed_over(slot, if at_once { began } else { at });
            at += each;
        }
        outcome.map(|()| behind)
    }

    /// Waits for what is in flight.
    fn drain<E: Engine>(&mut self, engine: &mut E) -> Result<(), Failure> {
        let mut given_up = None;
        while self.lanes.iter().any(|lane| lane.in_flight() > 0) {
            if self.shared.stop.is_urgent() && given_up.is_none() {
                given_up = Some(pacing::monotonic() + CANCEL_TIME);
                engine.cancel();
            }
            if given_up.is_some_and(|end| pacing::monotonic() > end) {
                return Ok(());
            }
            // If the ring is broken, its buffers may still be written to: they are kept.
            engine.wait(LONGEST_SLEEP).map_err(Failure::Engine)?;
            engine.reap(&mut self.done);
            self.complete(engine)?;
            self.records.tick(self.clock.now());
        }
        Ok(())
    }

    #[inline]
    fn complete<E: Engine>(&mut self, engine: &mut E) -> Result<(), Failure> {
        if self.done.is_empty() {
            return Ok(());
        }
        let (mut completed, mut errors, mut is_gone) = (0, 0, false);
        let mut outcome = Ok(());
        for done in self.done.drain(..) {
            let (lane, slot) = lane_and_slot(done.slot);
            let lane = &mut self.lanes[lane];
            match lane.complete(engine, Done { slot, ..done }, &mut self.records, self.clock) {
                Ok(Completed::ReadsBack) => continue,
                Ok(Completed::Done) => {}
                Ok(Completed::Failed { gone }) => {
                    errors += 1;
                    is_gone |= gone;
                }
                // All others are still completed.
                Err(e) => outcome = outcome.and(Err(e)),
            }
            completed += 1;
        }
        self.shared.failed(errors, is_gone);
        let progress = self.shared.progress;
        progress.add_done(completed);
        let in_flight = self.lanes.iter().map(|lane| u64::from(lane.in_flight()));
        let before = std::mem::replace(&mut self.shown_in_flight, in_flight.sum());
        progress.change_in_flight(before, self.shown_in_flight);
        outcome
    }
}

/// Sleeps so long, or until something is done.
#[inline]
fn sleep_and_learn<E: Engine>(
    sleep: Nanos,
    engine: &mut E,
    waiter: &mut Waiter,
) -> Result<(), Failure> {
    let end = pacing::monotonic() + sleep;
    engine.wait(sleep).map_err(Failure::Engine)?;
    let now = pacing::monotonic();
    // A sleep that a completion ended earlier teaches nothing.
    if let Some(overslept) = now.checked_sub(end) {
        waiter.learn(overslept, now);
    }
    Ok(())
}

/// What all threads of a replay leave behind together.
///
/// # Panics
/// Without threads.
pub(crate) fn together(threads: Vec<Ended<'_>>) -> Ended<'_> {
    let several = threads.len() > 1;
    let mut threads = threads.into_iter();
    let mut all = threads.next().expect("a replay has a thread");
    let mut checks = vec![std::mem::take(&mut all.self_check)];
    for thread in threads {
        // What concerns the machine, each of them says.
        let new = thread.notes.into_iter();
        let new: Vec<_> = new.filter(|note| !all.notes.contains(note)).collect();
        all.notes.extend(new);
        all.lanes.extend(thread.lanes);
        all.at = all.at.max(thread.at);
        all.early = all.early.max(thread.early);
        all.abandoned |= thread.abandoned;
        all.record_stalls += thread.record_stalls;
        all.processor_time += thread.processor_time;
        all.interference = all.interference.and(thread.interference);
        checks.push(thread.self_check);
    }
    if several {
        all.lanes.sort_by_key(Lane::target);
        all.self_check = self_check::of_all(&checks);
    } else {
        all.self_check = checks.swap_remove(0);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use iosonar_trace::{Batch, Reading, TraceError, TraceWriter};
    use iosonar_units::Bytes;

    use super::*;
    use crate::{
        ConstantLatency, Control, EngineKind, Load, Options, Progress, SimulatedDevice,
        StopRequest, Summary, Target, Writes, replay,
    };

    /// Notes whether the file of records was completed.
    struct Finishes(Arc<AtomicBool>);

    impl TraceWriter for Finishes {
        fn write(&mut self, _: &Batch) -> Result<(), TraceError> {
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), TraceError> {
            self.0.store(true, Relaxed);
            Ok(())
        }
    }

    /// Replays this load, on a device that takes this number of milliseconds; whether the file of records was completed.
    fn replayed(text: &str, latency: Option<u64>, options: &Options) -> (Summary, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("x.load");
        std::fs::write(&path, text).unwrap();
        let load = Load::scanned(&path, &Reading::default(), options.writes).unwrap();
        let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        let latency = latency.map(Nanos::from_millis).map(ConstantLatency::new);
        let devices = latency.map(|latency| Box::new(latency) as Box<dyn SimulatedDevice>);
        let is_finished = Arc::new(AtomicBool::new(false));
        let writer = Finishes(Arc::clone(&is_finished));
        let summary = replay(
            &[load],
            &[target],
            devices.into_iter().collect(),
            options,
            Some(Box::new(writer)),
            Control {
                stop: &StopRequest::default(),
                progress: &Progress::default(),
            },
        );
        (summary.unwrap(), is_finished.load(Relaxed))
    }

    fn at_once(engine: EngineKind, writes: Writes) -> Options {
        let mut options = Options {
            engine,
            writes,
            start_grace: Nanos::ZERO,
            ..Options::default()
        };
        options.pacing.priority = ThreadPriority::Normal;
        options
    }

    #[test]
    fn a_replay_that_began_in_time_is_not_said_to_have_been_late() {
        for (begin_at, is_late) in [(None, false), (Some(Nanos::SECOND), true)] {
            let options = Options {
                begin_at,
                ..at_once(EngineKind::Dry, Writes::Refuse)
            };
            let (summary, _) = replayed("0 ; 0 ; 8 ; R\n", None, &options);
            let by = |note: &Note| match note {
                Note::Thread(ThreadNote::BeganLate { by }) => Some(*by),
                _ => None,
            };
            let late: Vec<Nanos> = summary.notes.iter().filter_map(by).collect();
            // A second after 1970 is over for long.
            let long_ago = Nanos::from_secs(1 << 30);
            assert_eq!(late.len(), usize::from(is_late), "{late:?}");
            assert!(late.iter().all(|by| *by > long_ago), "{late:?}");
        }
    }

    #[test]
    fn a_replay_that_leaves_everything_out_still_has_a_file_of_records() {
        let text = "0 ; 0 ; 8 ; W\n0.001 ; 8 ; 8 ; W\n";
        for (writes, completed, skipped) in [(Writes::Do, 2, 0), (Writes::Skip, 0, 2)] {
            let options = at_once(EngineKind::Dry, writes);
            let (summary, is_finished) = replayed(text, None, &options);
            let counts = (summary.completed, summary.skipped);
            assert_eq!(counts, (completed, skipped));
            assert!(is_finished, "{writes:?}");
        }
    }

    #[test]
    fn what_waits_for_another_when_the_replay_is_ended_is_missed_and_nothing_is_abandoned() {
        // The second write waits for the first, which takes longer than the replay may.
        let text = "0 ; 0 ; 8 ; W\n0 ; 0 ; 8 ; W\n";
        let options = Options {
            max_runtime: Some(Nanos::from_millis(10)),
            ..at_once(EngineKind::Simulate, Writes::Do)
        };
        let (summary, is_finished) = replayed(text, Some(60), &options);
        assert_eq!(summary.early, Some(EndedEarly::Runtime));
        assert!(!summary.abandoned && is_finished);
        // On a machine so slow that nothing began in its time, both are missed.
        assert!(summary.missed >= 1 && summary.missed + summary.completed == 2);
    }

    fn ended(
        milliseconds: u64,
        notes: &[ThreadNote],
        self_check: &[SelfCheckPoint],
    ) -> Ended<'static> {
        let ms = Nanos::from_millis(milliseconds);
        Ended {
            engine: "an engine",
            notes: notes.iter().cloned().map(Note::from).collect(),
            lanes: Vec::new(),
            at: ms,
            early: None,
            abandoned: false,
            record_stalls: milliseconds,
            processor_time: ms,
            priority: ThreadPriority::Normal,
            interference: Interference {
                preemptions: milliseconds,
                ..Interference::default()
            },
            self_check: self_check.to_vec(),
        }
    }

    #[test]
    fn what_threads_leave_behind_is_added_up_and_what_each_of_them_says_is_said_once() {
        let late = |by| ThreadNote::BeganLate { by: Nanos::new(by) };
        let point = |at, ahead| SelfCheckPoint {
            at: Nanos::from_millis(at),
            ahead,
            ..SelfCheckPoint::default()
        };
        let first = || ended(3, &[late(1)], &[point(100, 5)]);
        let mut second = ended(5, &[late(1), late(2)], &[point(100, 7)]);
        (second.early, second.abandoned) = (Some(EndedEarly::Errors), true);
        let all = together(vec![first(), second]);
        let notes: Vec<Note> = [1, 2].map(late).into_iter().map(Note::from).collect();
        assert_eq!(all.notes, notes);
        assert_eq!(
            (all.at, all.processor_time),
            (Nanos::from_millis(5), Nanos::from_millis(8))
        );
        assert_eq!((all.record_stalls, all.interference.preemptions), (8, 8));
        assert_eq!((all.early, all.abandoned), (Some(EndedEarly::Errors), true));
        assert_eq!(all.self_check, [point(100, 12)]);
        // One thread's points stay as they are.
        let one = together(vec![first()]);
        assert_eq!(
            (one.record_stalls, one.self_check),
            (3, vec![point(100, 5)])
        );
        assert_eq!((one.early, one.abandoned), (None, false));
    }
}
