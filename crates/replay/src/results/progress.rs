//! What others may see of a replay while it goes on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use iosonar_stats::Distribution;
use iosonar_trace::Record;
use iosonar_units::Nanos;

use crate::os::time::Instant;

/// What others may see of a replay while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    in_flight: AtomicU64,
    errors: AtomicU64,
    /// Quantiles of delay and latency in the last half second or so, in nanoseconds.
    delay: [AtomicU64; 2],
    latency: [AtomicU64; 2],
}

impl Progress {
    /// Requests that are complete or were left out.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Requests at the device.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    /// Requests that failed.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Median and 99 % quantile of the delays lately.
    pub fn delay(&self) -> [Nanos; 2] {
        [0, 1].map(|i: usize| Nanos::new(self.delay[i].load(Relaxed)))
    }

    /// Median and 99 % quantile of the latencies lately.
    pub fn latency(&self) -> [Nanos; 2] {
        [0, 1].map(|i: usize| Nanos::new(self.latency[i].load(Relaxed)))
    }

    #[inline]
    pub(crate) fn add_done(&self, n: u64) {
        self.done.fetch_add(n, Relaxed);
    }

    #[inline]
    pub(crate) fn add_errors(&self, n: u64) {
        self.errors.fetch_add(n, Relaxed);
    }

    /// A thread that had `before` requests at its devices has `now`.
    #[inline]
    pub(crate) fn change_in_flight(&self, before: u64, now: u64) {
        self.in_flight.fetch_add(now.wrapping_sub(before), Relaxed);
    }
}

/// The times of the last half second.
#[derive(Default)]
pub(super) struct Live {
    delay: Distribution,
    latency: Distribution,
    since: Option<Instant>,
}

impl Live {
    #[inline]
    pub(super) fn add(&mut self, record: &Record) {
        if let (Some(delay), Some(latency)) = (record.outcome.delay, record.outcome.latency) {
            self.delay.push(delay);
            self.latency.push(latency);
        }
    }

    pub(super) fn tell(&mut self, progress: &Progress) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < Duration::from_millis(500) {
            return;
        }
        for (shown, of) in [
            (&progress.delay, &self.delay),
            (&progress.latency, &self.latency),
        ] {
            for (shown, p) in shown.iter().zip([0.5, 0.99]) {
                let quantile = of.histogram.quantile(p).unwrap_or_default();
                shown.store(quantile.get(), Relaxed);
            }
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::Outcome;

    #[test]
    fn what_threads_count_is_added_up() {
        let progress = Progress::default();
        progress.add_done(3);
        progress.add_done(4);
        progress.add_errors(0);
        progress.add_errors(2);
        // One thread has five and then two, another three.
        for (before, now) in [(0, 5), (0, 3), (5, 2)] {
            progress.change_in_flight(before, now);
        }
        let seen = (progress.done(), progress.errors(), progress.in_flight());
        assert_eq!(seen, (7, 2, 5));
    }

    #[test]
    fn times_are_shown_twice_a_second() {
        let progress = Progress::default();
        let mut live = Live::default();
        let us = Nanos::from_micros;
        for i in 0..100 {
            let (delay, latency) = if i < 90 {
                (us(10), us(100))
            } else {
                (us(20), us(900))
            };
            live.add(&Record {
                outcome: Outcome {
                    delay: Some(delay),
                    latency: Some(latency),
                    ..Outcome::default()
                },
                ..Record::default()
            });
        }
        live.tell(&progress);
        assert_eq!(progress.delay(), [Nanos::ZERO; 2], "it is too early");
        live.since = Instant::now().checked_sub(Duration::from_millis(500));
        live.tell(&progress);
        for (shown, expected) in [
            (progress.delay(), [10_000.0, 20_000.0]),
            (progress.latency(), [100_000.0, 900_000.0]),
        ] {
            for (shown, expected) in shown.into_iter().zip(expected) {
                // Quantiles are those of a histogram.
                let error = (shown.get() as f64 - expected).abs() / expected;
                assert!(error < 0.05, "{shown}");
            }
        }
    }
}
