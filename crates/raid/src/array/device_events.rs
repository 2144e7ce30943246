//! What happens to devices during a run.

use iosonar_units::Nanos;

/// Something that happens to a device at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceEvent {
    /// When, from the beginning of the run; warm-up included.
    pub at: Nanos,
    /// To which device, from 0.
    pub device: usize,
    /// What happens.
    pub kind: DeviceEventKind,
}

impl DeviceEvent {
    /// Whether the device fails.
    pub fn is_failure(&self) -> bool {
        matches!(self.kind, DeviceEventKind::Failure { .. })
    }
}

/// What happens to a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceEventKind {
    /// It fails: it no longer answers. The array waits for it until `noticed` has passed, and then does without it:
    ///
    /// - requests that were waiting for something to be read from it are planned again, and issued as a whole;
    /// - what was to be written to it is in the redundancy of what was written to the others;
    /// - if the level does not tolerate the loss, requests that need the device fail.
    ///
    /// With a [`Rebuild`](super::Rebuild), the rebuild to a spare begins then; one in progress begins again with its
    /// first stripe, and rebuilds what has been lost since.
    Failure {
        /// For how long the array waits for an answer.
        noticed: Nanos,
    },
    /// Services that begin in the next `lasts` take `factor` times as long.
    Slowness {
        /// At least 1.
        factor: f64,
        /// For how long.
        lasts: Nanos,
    },
}

/// What came of the events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceEventCounts {
    /// How many were planned.
    pub planned: u64,
    /// How many happened before the run ended.
    pub happened: u64,
    /// How many of them happened before the measured window began.
    pub before_window: u64,
    /// Requests that were planned and issued again after a device had failed, each time counted; the warm-up included.
    pub reissued: u64,
    /// Measured requests that failed because the level could not do without a device.
    pub failed: u64,
    /// Writes that had been complete in the cache, and were lost with a device.
    pub lost_from_cache: u64,
}

impl DeviceEventCounts {
    /// How many did not happen, as the run ended first.
    ///
    /// # Panics
    /// If more happened than were planned.
    pub fn missed(&self) -> u64 {
        let missed = self.planned.checked_sub(self.happened);
        missed.expect("only planned events happen")
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.happened += other.happened;
        self.before_window += other.before_window;
        self.reissued += other.reissued;
        self.failed += other.failed;
        self.lost_from_cache += other.lost_from_cache;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_several_runs_are_sums() {
        let counts = |by: u64| DeviceEventCounts {
            planned: 6 * by,
            happened: by,
            before_window: 2 * by,
            reissued: 3 * by,
            failed: 4 * by,
            lost_from_cache: 5 * by,
        };
        let mut sum = counts(2);
        sum.merge(&counts(5));
        assert_eq!(sum, counts(7));
    }

    #[test]
    fn only_a_device_that_answers_no_more_has_failed() {
        let event = |kind| DeviceEvent {
            at: Nanos::ZERO,
            device: 0,
            kind,
        };
        let (noticed, lasts) = (Nanos::ZERO, Nanos::MAX);
        assert!(event(DeviceEventKind::Failure { noticed }).is_failure());
        let factor = f64::INFINITY;
        assert!(!event(DeviceEventKind::Slowness { factor, lasts }).is_failure());
    }
}
