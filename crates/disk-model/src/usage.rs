//! What a disk was used for, from a given instant on.

use std::collections::VecDeque;

use iosonar_device::{Service, Usage};
use iosonar_units::Nanos;

/// Sums up services. Of a service that began before the measurement, the part after it counts; the
/// services may be told before they happen.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter {
    from: Nanos,
    usage: Usage,
    /// Until the measurement begins: services that are not over yet. They are told in order, so
    /// those that end before the next one is submitted are at the front.
    unfinished: VecDeque<(Nanos, Nanos)>,
    measuring: bool,
}

impl UsageMeter {
    /// Adds a service that ends (or will end) at `end`.
    #[inline]
    pub(crate) fn add(&mut self, service: &Service, end: Nanos) {
        self.count(service.arrived, service.started, end);
        if !self.measuring {
            while self
                .unfinished
                .front()
                .is_some_and(|&(_, earlier)| earlier <= service.arrived)
            {
                self.unfinished.pop_front();
            }
            self.unfinished.push_back((service.started, end));
        }
    }

    #[inline]
    fn count(&mut self, arrived: Nanos, started: Nanos, end: Nanos) {
        self.usage.busy += end - started.max(self.from);
        self.usage.jobs_time += u128::from((end - arrived.max(self.from)).get());
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.from = now;
        self.usage = Usage::default();
        self.measuring = true;
        for (started, end) in std::mem::take(&mut self.unfinished) {
            if end > now {
                self.count(now, started, end);
            }
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }
}
