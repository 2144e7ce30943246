//! What the scheduler did to a pacing thread.

use iosonar_units::Nanos;

use crate::os::fs::{self, File};
use crate::os::time::of_processor;

/// Being given a processor that no other thread has takes less.
pub(super) const WAKE_UP_TIME: Nanos = Nanos::from_micros(15);

/// What other threads of the machine cost the pacing threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// How often one was made to leave its processor to another thread (involuntary context switches).
    pub preemptions: u64,
    /// How long they could run and waited for a processor, in all; `None` where the kernel does not count it.
    pub run_delay: Option<Nanos>,
    /// How often they were given a processor.
    pub timeslices: u64,
}

impl Interference {
    /// That of two threads.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            preemptions: self.preemptions + other.preemptions,
            run_delay: self
                .run_delay
                .zip(other.run_delay)
                .map(|(a, b)| a.saturating_add(b)),
            timeslices: self.timeslices + other.timeslices,
        }
    }

    /// How long they waited for a processor that other threads had, rather than to be woken; zero where it is not known.
    pub fn contended(&self) -> Nanos {
        let waited = self.run_delay.unwrap_or_default();
        match waited.get() > self.timeslices.saturating_mul(WAKE_UP_TIME.get()) {
            true => waited,
            false => Nanos::ZERO,
        }
    }
}

/// What the scheduler counts of a thread (`schedstat`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) processor_time: Nanos,
    /// How long it could run and waited for a processor.
    pub(super) run_delay: Nanos,
    /// How often it was given one.
    pub(super) timeslices: u64,
}

impl Usage {
    /// What was counted since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            processor_time: self.processor_time.saturating_sub(before.processor_time),
            run_delay: self.run_delay.saturating_sub(before.run_delay),
            timeslices: self.timeslices.saturating_sub(before.timeslices),
        }
    }

    /// Of `schedstat`, three numbers: processor time, run delay (both in nanoseconds), time slices.
    fn read(schedstat: &File) -> Option<Self> {
        let mut text = [0; 96];
        let n = fs::read_beginning(schedstat, &mut text).ok()?;
        let text = std::str::from_utf8(&text[..n]).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            processor_time: Nanos::new(next()?),
            run_delay: Nanos::new(next()?),
            timeslices: next()?,
        })
    }
}

/// What the kernel counts of the calling thread.
#[derive(Debug)]
pub(crate) struct ThreadTimes {
    schedstat: Option<File>,
    processor_time: Nanos,
    preemptions: u64,
    usage: Option<Usage>,
}

impl ThreadTimes {
    /// From now on, of the calling thread.
    pub(crate) fn start() -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        Self {
            processor_time: of_processor(),
            preemptions: preemptions(),
            usage: schedstat.as_ref().and_then(Usage::read),
            schedstat,
        }
    }

    /// How much processor time the thread has used since.
    pub(crate) fn processor_time(&self) -> Nanos {
        of_processor().saturating_sub(self.processor_time)
    }

    /// What the scheduler has counted of the thread, where it does.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.schedstat.as_ref().and_then(Usage::read)
    }

    /// What others cost it since.
    pub(crate) fn interference(&self) -> Interference {
        let usage = self.usage().zip(self.usage);
        let since = usage.map(|(usage, before)| usage.since(&before));
        Interference {
            preemptions: preemptions().saturating_sub(self.preemptions),
            run_delay: since.map(|since| since.run_delay),
            timeslices: since.map_or(0, |since| since.timeslices),
        }
    }
}

fn preemptions() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_shares_a_processor_waits_for_it() {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let allowed = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set(
            (0..CpuSet::MAX_CPU)
                .find(|&cpu| allowed.is_set(cpu))
                .unwrap(),
        );
        let pinned = || sched_setaffinity(None, &one).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pinned();
                while !done.load(std::sync::atomic::Ordering::Relaxed)
                    && std::time::Instant::now() < deadline
                {
                    std::hint::spin_loop();
                }
            });
            let watched = scope.spawn(|| {
                pinned();
                let times = ThreadTimes::start();
                while times.processor_time() < Nanos::from_millis(50) {
                    std::hint::spin_loop();
                }
                done.store(true, std::sync::atomic::Ordering::Relaxed);
                times.interference()
            });
            let interference = watched.join().unwrap();
            assert!(interference.preemptions > 0);
            // Kernels may be built without these counts.
            assert!(
                interference
                    .run_delay
                    .is_none_or(|waited| waited > Nanos::from_millis(5))
            );
        });
    }

    #[test]
    fn being_woken_is_not_waiting_for_others() {
        let us = |n| Some(Nanos::from_micros(n));
        for (run_delay, timeslices, contended) in [
            (None, 0, None),
            // 15 us each are usual.
            (us(150), 10, None),
            (us(151), 10, us(151)),
            (us(1), 0, us(1)),
            (us(100), 1000, None),
        ] {
            let interference = Interference {
                preemptions: 0,
                run_delay,
                timeslices,
            };
            assert_eq!(
                interference.contended(),
                contended.unwrap_or_default(),
                "{interference:?}"
            );
        }
    }

    #[test]
    fn what_others_cost_two_threads_is_added_up() {
        let of = |preemptions, run_delay: Option<u64>, timeslices| Interference {
            preemptions,
            run_delay: run_delay.map(Nanos::new),
            timeslices,
        };
        let both = of(3, Some(70), 5).and(of(4, Some(30), 6));
        assert_eq!(both, of(7, Some(100), 11));
        // What is not known of one is not known of both.
        assert_eq!(of(3, None, 5).and(of(4, Some(30), 6)), of(7, None, 11));
        assert_eq!(of(0, Some(1), 0).and(of(4, None, 6)), of(4, None, 6));
    }
}
