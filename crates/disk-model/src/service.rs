//! How a sampled disk serves its jobs: in the order of their arrival, each at a place drawn at random.

use iosonar_device::{Job, Mechanism, PaceOf, Positioning, ServiceTime, Waiting};
use iosonar_units::Nanos;

use crate::SampledDisk;

/// What a disk does with the jobs that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Rotational positioning optimisation, as the papers model it: in the order of arrival, but
    /// a fresh positioning is the smallest of as many draws as jobs wait, of both priorities, the
    /// one that starts included.
    Rpo {
        /// Whether the job that starts is counted (at least one is).
        count: RpoCount,
        /// No more draws than this.
        most: usize,
    },
}

/// Which jobs the draws of RPO are counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpoCount {
    /// All that wait, the one that starts included.
    #[default]
    Including,
    /// Those that go on waiting, at least one.
    Excluding,
}

impl Scheduler {
    /// How many draws a fresh positioning has when `waiting` jobs wait.
    #[inline]
    fn candidates(self, waiting: usize) -> usize {
        match self {
            Self::Fcfs => 1,
            Self::Rpo { count, most } => match count {
                RpoCount::Including => waiting,
                RpoCount::Excluding => (waiting - 1).max(1),
            }
            .min(most),
        }
    }
}

impl Mechanism for SampledDisk {
    type Place = ();

    #[inline]
    fn place(&self, _: &Job) {}

    fn serves_in_order(&self) -> bool {
        self.scheduler == Scheduler::Fcfs
    }

    #[inline]
    fn takes_first(&self) -> bool {
        true
    }

    #[inline]
    fn serve(&mut self, waiting: &Waiting<()>, _: Nanos, queue: usize) -> ServiceTime {
        let job = &waiting.job;
        let candidates = self.scheduler.candidates(queue);
        let mut positioning = self.positioning(job.positioning, job.access, candidates);
        let pace = match job.pace {
            PaceOf::NewPlace => self.pace(),
            PaceOf::Track(pace) => pace,
            PaceOf::Request => self.pace_of_request(job.request),
        };
        let transfer = pace.time(job.sectors);
        if job.positioning == Positioning::TurnLessTransfer {
            positioning = until_the_beginning(positioning, transfer);
        }
        ServiceTime {
            positioning,
            transfer,
            pace,
        }
    }
}

/// How long a head that has just passed over data for `transfer` waits until their beginning comes round again:
/// the rest of the revolution that it is in.
fn until_the_beginning(revolution: Nanos, transfer: Nanos) -> Nanos {
    let into_the_last = transfer.get() % revolution.get();
    match into_the_last {
        0 => Nanos::ZERO,
        into => revolution - Nanos::new(into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_waits_for_the_rest_of_the_revolution_that_it_is_in() {
        let ms = Nanos::from_millis;
        for (transfer, wait) in [(2, 6), (8, 0), (9, 7), (15, 1), (16, 0), (17, 7)] {
            let seen = until_the_beginning(ms(8), ms(transfer));
            assert_eq!(
                seen,
                ms(wait),
                "a transfer of {transfer} ms in turns of 8 ms"
            );
        }
    }
}
