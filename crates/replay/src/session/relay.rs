//! Several threads that take turns in one session.
//!
//! A thread without a priority that wakes up on a busy machine sometimes waits for milliseconds until a processor is
//! its, however seldom it asks: the one that runs keeps it until the end of its slice, which ends with a tick of the clock.
//! It is unlikely that several threads have to wait at once. So, while others want the processors, some threads sleep:
//! one until the next deadline, another until a little later, and so on. Whichever is given a processor does what is
//! due by then. They do not wake up together, because they would preempt whose turn it is.
//!
//! This is for engines that complete accesses where they are submitted: what one thread has started, no other has to
//! wait for. Without rivals the session's own thread runs alone, and keeps the turn while it waits.

use iosonar_units::Nanos;

use super::{After, Finished, Session, sleep_and_learn};
use crate::engine::Engine;
use crate::error::Failure;
use crate::os::sync::{Condvar, Mutex, MutexGuard};
use crate::os::thread;
use crate::pacing::{self, Interference, ThreadTimes, Waiter, prepare_thread};

/// The least time between two threads that wake up: several times as long as a round takes.
const STAGGER: Nanos = Nanos::from_micros(50);

/// What the helpers used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Help {
    pub(super) processor_time: Nanos,
    pub(super) interference: Option<Interference>,
}

/// Whose turn it is holds this.
struct Turn<'r, 's, 'a, E> {
    session: &'r mut Session<'s, 'a>,
    engine: &'r mut E,
    waiter: &'r mut Waiter,
    /// Whether helpers take turns.
    is_shared: bool,
    /// When each of the threads will wake up, on the monotonic clock; zero of those that do not sleep.
    alarms: Vec<Nanos>,
    /// How starting everything ended.
    outcome: Option<Result<bool, Failure>>,
    is_over: bool,
}

struct Relay<'r, 's, 'a, E> {
    turn: Mutex<Turn<'r, 's, 'a, E>>,
    changed: Condvar,
}

/// Starts everything in its time, and waits for it.
pub(super) fn relay<E: Engine + Send>(
    session: &mut Session<'_, '_>,
    engine: &mut E,
    waiter: &mut Waiter,
    help: &mut Help,
) -> Finished {
    let (helpers, pacing) = (session.helpers, session.pacing.clone());
    let relay = Relay {
        turn: Mutex::new(Turn {
            session,
            engine,
            waiter,
            is_shared: false,
            alarms: vec![Nanos::ZERO; helpers + 1],
            outcome: None,
            is_over: false,
        }),
        changed: Condvar::new(),
    };
    thread::scope(|scope| {
        let help_out = |number| {
            prepare_thread(&pacing);
            let times = ThreadTimes::start();
            drop(relay.take_turns(number));
            Help {
                processor_time: times.processor_time(),
                interference: Some(times.interference()),
            }
        };
        let builder = || thread::Builder::new().name("relay".to_owned());
        // One more or less makes no difference but to the pace.
        let helpers: Vec<_> = (1..=helpers)
            .filter_map(|number| builder().spawn_scoped(scope, move || help_out(number)).ok())
            .collect();
        let Some(mut turn) = relay.take_turns(OWNER) else {
            for helper in helpers {
                if let Err(panic) = helper.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            unreachable!("a helper has panicked in its turn");
        };
        let outcome = turn.outcome.take().unwrap_or(Ok(true));
        let Turn {
            session, engine, ..
        } = &mut *turn;
        let finished = session.finish(*engine, outcome);
        drop(turn);
        for helper in helpers {
            let used = helper
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            help.processor_time += used.processor_time;
            let both = help.interference.into_iter().chain(used.interference);
            help.interference = both.reduce(Interference::and);
        }
        finished
    })
}

/// The number of the session's own thread.
const OWNER: usize = 0;

type Guard<'g, 'r, 's, 'a, E> = MutexGuard<'g, Turn<'r, 's, 'a, E>>;

/// Wakes those who wait for a turn, so that they see it.
struct WhenPanicking<'c>(&'c Condvar);

impl Drop for WhenPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.notify_all();
        }
    }
}

impl<'r, 's, 'a, E: Engine> Relay<'r, 's, 'a, E> {
    /// Takes turns until nothing more is to be started. `None` if another thread has panicked in its turn: the session
    /// cannot continue, and the panic has said why.
    fn take_turns(&self, number: usize) -> Option<Guard<'_, 'r, 's, 'a, E>> {
        let _wakes_others = WhenPanicking(&self.changed);
        let mut turn = self.lock()?;
        loop {
            if turn.is_over {
                return Some(turn);
            }
            if number != OWNER && !turn.is_shared {
                turn = self.changed.wait(turn).ok()?;
                continue;
            }
            match turn.round() {
                Ok(After::Round) => {}
                Ok(After::Until(due)) => turn = self.wait_until(turn, due, number)?,
                Ok(After::For(time)) => turn = self.wait(turn, time, number)?,
                Ok(After::End { all }) => self.end(&mut turn, Ok(all)),
                Err(failure) => self.end(&mut turn, Err(failure)),
            }
        }
    }

    fn lock(&self) -> Option<Guard<'_, 'r, 's, 'a, E>> {
        self.turn.lock().ok()
    }

    fn end(&self, turn: &mut Guard<'_, 'r, 's, 'a, E>, outcome: Result<bool, Failure>) {
        turn.outcome.get_or_insert(outcome);
        turn.is_over = true;
        self.changed.notify_all();
    }

    fn wait_until<'g>(
        &'g self,
        mut turn: Guard<'g, 'r, 's, 'a, E>,
        due: Nanos,
        number: usize,
    ) -> Option<Guard<'g, 'r, 's, 'a, E>> {
        let Turn {
            session, waiter, ..
        } = &mut *turn;
        let sleep = session.sleep_before(due, waiter);
        let is_shared = turn.waiter.has_rivals();
        if is_shared && !turn.is_shared {
            self.changed.notify_all();
        }
        turn.is_shared = is_shared;
        if sleep == Nanos::ZERO {
            thread::spin_loop();
            return Some(turn);
        }
        self.wait(turn, sleep, number)
    }

    /// Waits so long; if turns are shared, without having it.
    fn wait<'g>(
        &'g self,
        mut turn: Guard<'g, 'r, 's, 'a, E>,
        time: Nanos,
        number: usize,
    ) -> Option<Guard<'g, 'r, 's, 'a, E>> {
        if !turn.is_shared {
            let Turn { engine, waiter, .. } = &mut *turn;
            if let Err(failure) = sleep_and_learn(time, *engine, waiter) {
                self.end(&mut turn, Err(failure));
            }
            return Some(turn);
        }
        let now = pacing::monotonic();
        let alarm = free_alarm(&turn.alarms, now.saturating_add(time), number);
        turn.alarms[number] = alarm;
        drop(turn);
        thread::sleep(alarm.saturating_sub(now).into());
        let mut turn = self.lock()?;
        turn.alarms[number] = Nanos::ZERO;
        Some(turn)
    }
}

impl<E: Engine> Turn<'_, '_, '_, E> {
    #[inline]
    fn round(&mut self) -> Result<After, Failure> {
        self.session.round(self.engine)
    }
}

/// The first time from `wanted` on at which no thread but this one wakes up.
fn free_alarm(alarms: &[Nanos], wanted: Nanos, number: usize) -> Nanos {
    let others = || {
        let alarms = alarms.iter().enumerate();
        alarms
            .filter(|(other, _)| *other != number)
            .map(|(_, alarm)| *alarm)
    };
    let is_taken = |at: Nanos| others().any(|alarm| alarm.get().abs_diff(at.get()) < STAGGER.get());
    let mut alarm = wanted;
    while is_taken(alarm) {
        alarm += STAGGER;
    }
    alarm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_threads_wake_up_within_fifty_microseconds() {
        // Those of three threads; what the last wants, and what it gets.
        for (others, wanted, alarm) in [
            ([0, 0], 1000, 1000),
            ([1000, 0], 1000, 1050),
            ([1001, 0], 1000, 1050 + 50),
            ([1049, 0], 1000, 1100),
            ([1050, 0], 1000, 1000),
            ([951, 0], 1000, 1050),
            ([950, 0], 1000, 1000),
            // Between two others there is too little time.
            ([990, 1060], 1000, 1150),
            ([1060, 990], 1000, 1150),
            ([940, 1060], 1000, 1000),
        ] {
            let us = Nanos::from_micros;
            // Its own is the one before, which does not matter.
            let alarms = [us(others[0]), us(others[1]), us(1000)];
            let free = free_alarm(&alarms, us(wanted), 2);
            assert_eq!(free, us(alarm), "{others:?}");
        }
    }
}
