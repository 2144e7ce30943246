//! What the threads of a replay share: when it starts, and why it ends.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use iosonar_units::Nanos;

use crate::os::sync::{Condvar, Mutex, OnceLock};
use crate::pacing::{self, Clock};
use crate::{Options, Progress};

/// How a replay is asked to end.
#[derive(Debug, Default)]
pub struct StopRequest(AtomicU8);

impl StopRequest {
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

/// Why a session came to its end before the load did. The later in this order, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndedEarly {
    /// It lasted longer than it may.
    Runtime,
    /// The user asked for it.
    Interrupted,
    /// More requests failed than are tolerated.
    Errors,
    /// The device is not there any more.
    DeviceGone,
}

/// What others do with a replay while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Control<'a> {
    /// Ends it early.
    pub stop: &'a StopRequest,
    /// How far it has come.
    pub progress: &'a Progress,
}

/// What all threads of a replay see.
pub(crate) struct Shared<'a> {
    pub(crate) options: &'a Options,
    pub(crate) stop: &'a StopRequest,
    pub(crate) progress: &'a Progress,
    /// How many threads are not ready yet.
    missing: Mutex<usize>,
    all_ready: Condvar,
    start: OnceLock<Start>,
    errors: AtomicU64,
    gone: AtomicBool,
    broken: AtomicBool,
}

/// Time zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) clock: Clock,
    /// By how much it is later than was asked for.
    pub(crate) late: Nanos,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(
        options: &'a Options,
        stop: &'a StopRequest,
        progress: &'a Progress,
        threads: usize,
    ) -> Self {
        Self {
            options,
            stop,
            progress,
            missing: Mutex::new(threads),
            all_ready: Condvar::new(),
            start: OnceLock::new(),
            errors: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }

    /// A thread's part in the start. If it is dropped unused, the replay breaks off for all of them.
    pub(crate) fn arrival(&self) -> Arrival<'_, 'a> {
        Arrival {
            shared: self,
            has_arrived: false,
        }
    }

    /// Requests of any target failed.
    pub(crate) fn failed(&self, requests: u64, is_gone: bool) {
        if requests > 0 {
            self.errors.fetch_add(requests, Relaxed);
            self.progress.add_errors(requests);
        }
        if is_gone {
            self.gone.store(true, Relaxed);
        }
    }

    /// When time zero was, on the monotonic clock, if the clock was set.
    pub(crate) fn began_at(&self) -> Option<Nanos> {
        self.start.get().map(|start| start.clock.epoch())
    }

    /// A thread cannot go on, so the others should not.
    pub(crate) fn break_off(&self) {
        self.broken.store(true, Relaxed);
    }

    /// If the calling thread panics before this is dropped, the replay breaks off.
    pub(crate) fn breaks_off_on_panic(&self) -> BreaksOff<'_, 'a> {
        BreaksOff(self)
    }

    /// Whether a thread could not go on.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Whether nothing more is to be started.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_asked()
            || self.errors.load(Relaxed) > self.options.max_errors
            || self.gone.load(Relaxed)
            || self.is_broken()
    }

    /// Why it ends early, if it does; `not_all` if only because not all of the load may be done.
    pub(crate) fn why_early(&self, not_all: bool) -> Option<EndedEarly> {
        if self.gone.load(Relaxed) {
            Some(EndedEarly::DeviceGone)
        } else if self.errors.load(Relaxed) > self.options.max_errors {
            Some(EndedEarly::Errors)
        } else if self.stop.is_asked() {
            Some(EndedEarly::Interrupted)
        } else {
            not_all.then_some(EndedEarly::Runtime)
        }
    }
}

/// Breaks a replay off if the thread panics.
pub(crate) struct BreaksOff<'s, 'a>(&'s Shared<'a>);

impl Drop for BreaksOff<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_off();
        }
    }
}

/// A thread's part in the start.
pub(crate) struct Arrival<'s, 'a> {
    shared: &'s Shared<'a>,
    has_arrived: bool,
}

impl Arrival<'_, '_> {
    fn arrive(&mut self) {
        let missing = self.shared.missing.lock();
        *missing.unwrap_or_else(PoisonError::into_inner) -= 1;
        self.shared.all_ready.notify_all();
        self.has_arrived = true;
    }

    /// Waits until all threads are ready, and sets the clock for all of them.
    pub(crate) fn start(&mut self) -> Start {
        self.arrive();
        let missing = self.shared.missing.lock();
        let missing = missing.unwrap_or_else(PoisonError::into_inner);
        let all_ready = self
            .shared
            .all_ready
            .wait_while(missing, |missing| *missing > 0);
        drop(all_ready);
        *self.shared.start.get_or_init(|| {
            let options = self.shared.options;
            let late = options
                .begin_at
                .map_or(Nanos::ZERO, |at| pacing::since_1970().saturating_sub(at));
            Start {
                clock: Clock::starting(options.begin_at, options.start_grace),
                late,
            }
        })
    }
}

impl Drop for Arrival<'_, '_> {
    fn drop(&mut self) {
        if !self.has_arrived || std::thread::panicking() {
            self.shared.break_off();
        }
        if !self.has_arrived {
            self.arrive();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_start_keeps_no_other_waiting() {
        let (options, stop, progress) = (
            Options::default(),
            StopRequest::default(),
            Progress::default(),
        );
        let shared = Shared::new(&options, &stop, &progress, 3);
        std::thread::scope(|scope| {
            let others = [(); 2].map(|()| scope.spawn(|| shared.arrival().start().clock));
            drop(shared.arrival());
            let [a, b] = others.map(|other| other.join().unwrap());
            // One clock for all of them.
            assert_eq!(a.at(Nanos::MAX), b.at(Nanos::MAX));
        });
        assert!(shared.is_over());
        assert_eq!(shared.why_early(false), None, "it did not end, it broke");
    }

    #[test]
    fn what_is_asked_twice_is_urgent() {
        let stop = StopRequest::default();
        for (is_asked, is_urgent) in [(false, false), (true, false), (true, true), (true, true)] {
            assert_eq!((stop.is_asked(), stop.is_urgent()), (is_asked, is_urgent));
            stop.ask();
        }
        (0..300).for_each(|_| stop.ask());
        assert!(stop.is_urgent(), "however often");
    }

    #[test]
    fn a_replay_breaks_off_if_a_thread_of_it_panics() {
        let (options, stop, progress) = (
            Options::default(),
            StopRequest::default(),
            Progress::default(),
        );
        for panics in [false, true] {
            let shared = Shared::new(&options, &stop, &progress, 1);
            let ended = std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let _breaks_off = shared.breaks_off_on_panic();
                    if panics {
                        // Without a message.
                        std::panic::resume_unwind(Box::new(()));
                    }
                });
                thread.join()
            });
            assert_eq!(ended.is_err(), panics);
            assert_eq!((shared.is_broken(), shared.is_over()), (panics, panics));
        }
    }
}
