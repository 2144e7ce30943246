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
        if n > 0 {
            self.errors.fetch_add(n, Relaxed);
        }
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
