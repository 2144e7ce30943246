//! The clock of a replay: absolute deadlines from one epoch, so that nothing drifts.

use std::num::NonZeroU64;

use iosonar_units::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};

/// How the time of a start is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Sleep until shortly before, then spin; or only one of both.
    pub style: Style,
    /// How long before a start sleeping ends at the latest; it is learnt how much more is needed.
    pub spin: Nanos,
    /// The processors that the pacing thread may run on; all if empty.
    pub cpus: Vec<usize>,
    /// Ahead of everything that is not real-time (`SCHED_FIFO`).
    pub fifo: bool,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            style: Style::SleepThenSpin,
            spin: Nanos::from_micros(20),
            cpus: Vec::new(),
            fifo: false,
        }
    }
}

/// Ways of waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Sleep until shortly before the time, then spin.
    #[default]
    SleepThenSpin,
    /// Spin all the time: a processor is taken.
    Spin,
    /// Sleep only: starts are as late as this machine wakes threads.
    Sleep,
}

impl Pacing {
    /// Prepares the calling thread. What the system refuses costs accuracy, which the replay measures;
    /// it is returned to be told.
    pub(crate) fn prepare_thread(&self) -> Vec<String> {
        let mut refused = Vec::new();
        // By default a thread may be woken 50 us later than it asked for.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        if !self.cpus.is_empty() {
            let mut set = CpuSet::new();
            for &cpu in &self.cpus {
                if cpu < CpuSet::MAX_CPU {
                    set.set(cpu);
                }
            }
            if let Err(e) = sched_setaffinity(None, &set) {
                refused.push(format!(
                    "the thread cannot be pinned to processors {:?}: {e}",
                    self.cpus
                ));
            }
        }
        if self.fifo
            && let Err(e) = schedule_fifo()
        {
            refused.push(format!(
                "SCHED_FIFO is refused: {e} (it needs CAP_SYS_NICE, or ulimit -r)"
            ));
        }
        refused
    }
}

/// The lowest of the real-time priorities is above everything that is none.
fn schedule_fifo() -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is read, and lives during the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

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

/// The time of day, since 1970.
pub(crate) fn since_1970() -> Nanos {
    let t = clock_gettime(ClockId::Realtime);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// How much processor time the calling thread has used.
pub(crate) fn processor_time() -> Nanos {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

impl Clock {
    /// A clock whose zero lies `grace` in the future.
    pub(crate) fn starting_in(grace: Nanos) -> Self {
        Self {
            epoch: monotonic() + grace,
        }
    }

    /// The clock of a replay.
    pub(crate) fn starting(options: &crate::Options) -> Self {
        match options.begin_at {
            None => Self::starting_in(options.start_grace),
            Some(at) => Self::starting_in(at.saturating_sub(since_1970())),
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
        self.epoch
            .saturating_add(deadline)
            .saturating_sub(monotonic())
    }
}

/// How long before a deadline sleeping has to end.
///
/// Nobody is woken at the very moment asked for. How late depends on the machine: a few
/// microseconds on a busy core, 50 to 100 where an idle virtual processor must be started again.
/// So it is learnt: the margin follows the 99 % quantile of what was overslept (a stochastic
/// approximation, Robbins and Monro 1951: by a quarter up after a sleep that was longer, by a 99th of
/// that step down after a shorter one, on a logarithmic axis), between the least that the user wants
/// and [`Self::MOST`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinMargin {
    least: Nanos,
    margin: Nanos,
}

impl SpinMargin {
    const MOST: Nanos = Nanos::from_millis(1);
    const UP: f64 = 1.25;
    /// `UP` to the power of -1/99.
    const DOWN: f64 = 0.997_748_6;

    pub(crate) fn at_least(least: Nanos) -> Self {
        Self {
            least,
            margin: least,
        }
    }

    #[inline]
    pub(crate) fn get(self) -> Nanos {
        self.margin
    }

    /// Learns from a sleep that lasted `overslept` longer than asked for.
    pub(crate) fn learn(&mut self, overslept: Nanos) {
        let factor = if overslept > self.margin {
            Self::UP
        } else {
            Self::DOWN
        };
        let margin = Nanos::new((self.margin.get() as f64 * factor) as u64);
        self.margin = margin.clamp(self.least, Self::MOST.max(self.least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_comes_to_cover_nearly_all_sleeps() {
        let mut margin = SpinMargin::at_least(Nanos::from_micros(20));
        let overslept = |i: u64| {
            Nanos::from_micros(if i.is_multiple_of(500) {
                5000
            } else {
                30 + i % 40
            })
        };
        (0..5000).for_each(|i| margin.learn(overslept(i)));
        let covered = (5000..10_000).filter(|&i| {
            let fits = overslept(i) <= margin.get();
            margin.learn(overslept(i));
            fits
        });
        let share = covered.count() as f64 / 5000.0;
        assert!((0.98..=0.995).contains(&share), "{share}");
        assert!(
            margin.get() < Nanos::from_micros(100),
            "rare long sleeps do not matter"
        );
    }

    #[test]
    fn the_margin_stays_above_what_the_user_wants() {
        let mut margin = SpinMargin::at_least(Nanos::from_micros(20));
        (0..1000).for_each(|_| margin.learn(Nanos::ZERO));
        assert_eq!(margin.get(), Nanos::from_micros(20));
    }
}
