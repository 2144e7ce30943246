//! What a disk was used for, from a given instant on.

use std::collections::VecDeque;

use iosonar_device::{Service, Usage};
use iosonar_units::Nanos;

/// Sums up services. Of a service that began before the measurement, the part after it counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsageMeter {
    from: Nanos,
    usage: Usage,
    /// Until the measurement begins: services that were told before they end.
    told: VecDeque<Service>,
    measuring: bool,
}

impl UsageMeter {
    /// Adds a service that has ended.
    #[inline]
    pub(crate) fn add(&mut self, service: &Service) {
        let end = service.ended();
        self.usage.busy += end - service.started.max(self.from);
        self.usage.jobs_time += u128::from((end - service.arrived.max(self.from)).get());
    }

    /// Adds a service that ends after all that were added before, at any time to come.
    #[inline]
    pub(crate) fn add_told(&mut self, service: &Service) {
        self.add(service);
        if !self.measuring {
            self.told.push_back(*service);
        }
    }

    /// The measurement will not begin before `now`.
    pub(crate) fn forget_before(&mut self, now: Nanos) {
        while self.told.front().is_some_and(|s| s.ended() <= now) {
            self.told.pop_front();
        }
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.forget_before(now);
        self.from = now;
        self.usage = Usage::default();
        self.measuring = true;
        for service in std::mem::take(&mut self.told) {
            self.add(&service);
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }
}
