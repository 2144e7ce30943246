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

    #[inline]
    fn serve_all(
        &mut self,
        jobs: impl Iterator<Item = Job> + Clone,
        durations: &mut Vec<Nanos>,
    ) -> bool {
        let is_at_new_place = |job: Job| {
            job.positioning == Positioning::Fresh && matches!(job.pace, PaceOf::NewPlace)
        };
        if self.scheduler != Scheduler::Fcfs || !jobs.clone().all(is_at_new_place) {
            return false;
        }
        self.times_at_new_places(jobs.map(|job| (job.access, job.sectors)), durations);
        true
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
    use std::path::Path;

    use iosonar_device::{Access, InOrder, RequestId, Station};
    use iosonar_sim_core::Seed;
    use iosonar_units::{Sector, Sectors};

    use super::*;
    use crate::{DiskLaws, DiskProfile};

    #[test]
    fn jobs_in_blocks_take_as_long_as_one_by_one() {
        // The seek times of the second drive are measured ones, in a table.
        for profile in ["seagate-st3500630ns", "ibm-18es"] {
            let profile = DiskProfile::load(profile, Path::new(".")).unwrap();
            let laws = DiskLaws::new(&profile);
            let disk = || SampledDisk::new(&laws, &Seed::new(1), "disk/0");
            let (mut in_blocks, mut one_by_one) = (Station::new(disk()), Station::new(disk()));
            let job = |i: u64| {
                let access = if i.is_multiple_of(3) {
                    Access::Write
                } else {
                    Access::Read
                };
                let sectors = Sectors::new(1 + (i * i % 300) as u32);
                let mut job = Job::new(RequestId(i), access, Sector::new(0), sectors);
                // Some blocks have a job that does not come to a new place.
                if i.is_multiple_of(250) {
                    job.positioning = Positioning::RotationOnly;
                } else if i.is_multiple_of(251) {
                    job.pace = PaceOf::Request;
                }
                (job, Nanos::from_millis(8 * i))
            };
            let mut first = 1;
            for size in [1, 2, 5, 63, 64, 65, 200, 3, 128, 70] {
                let mut seen = Vec::new();
                in_blocks.serve_each(
                    (first..first + size).map(job),
                    Nanos::MAX,
                    |id, from, to| {
                        seen.push((id, from, to));
                    },
                );
                let expected = (first..first + size).map(|i| {
                    let (job, at) = job(i);
                    let service = one_by_one.serve(job, at);
                    (service.job.request, service.started, service.ended())
                });
                assert_eq!(seen, expected.collect::<Vec<_>>(), "from {first} on");
                first += size;
            }
        }
    }

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
