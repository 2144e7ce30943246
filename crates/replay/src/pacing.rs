//! The clock of a replay: absolute deadlines from one epoch, so that nothing drifts.

use std::num::NonZeroU64;

use iosonar_units::Nanos;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

/// Time since the replay's epoch, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Nanos,
}

/// The monotonic clock itself.
#[inline]
pub(crate) fn monotonic() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

impl Clock {
    /// A clock whose zero lies `grace` in the future.
    pub(crate) fn starting_in(grace: Nanos) -> Self {
        Self {
            epoch: monotonic() + grace,
        }
    }

    /// The time now; zero until the epoch.
    #[inline]
    pub(crate) fn now(self) -> Nanos {
        self.at(monotonic())
    }

    /// An instant of the monotonic clock on this clock.
    #[inline]
    pub(crate) fn at(self, monotonic: Nanos) -> Nanos {
        monotonic.saturating_sub(self.epoch)
    }

    /// Whether the epoch has come.
    #[inline]
    pub(crate) fn has_started(self) -> bool {
        monotonic() >= self.epoch
    }

    /// How long until `deadline` on this clock; zero if it has passed.
    #[inline]
    pub(crate) fn until(self, deadline: Nanos) -> Nanos {
        (self.epoch + deadline).saturating_sub(monotonic())
    }
}

/// Asks the kernel to wake this thread when it asked to be woken: by default it may come 50 us
/// late. A refusal costs accuracy, which the replay measures and reports.
pub(crate) fn sharpen_timers() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}
