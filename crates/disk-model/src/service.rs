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

    fn disk() -> SampledDisk {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(1), "disk/0")
    }

    #[test]
    fn rpo_draws_once_for_each_job_that_it_counts() {
        let rpo = |count, most| Scheduler::Rpo { count, most };
        for (scheduler, waiting, draws) in [
            (Scheduler::Fcfs, 7, 1),
            (rpo(RpoCount::Including, 9), 1, 1),
            (rpo(RpoCount::Including, 9), 7, 7),
            (rpo(RpoCount::Including, 9), 12, 9),
            (rpo(RpoCount::Excluding, 9), 1, 1),
            (rpo(RpoCount::Excluding, 9), 2, 1),
            (rpo(RpoCount::Excluding, 9), 7, 6),
            (rpo(RpoCount::Excluding, 9), 12, 9),
        ] {
            assert_eq!(scheduler.candidates(waiting), draws, "{scheduler:?}");
        }
    }

    #[test]
    fn only_fcfs_serves_without_regard_to_those_that_wait() {
        let rpo = Scheduler::Rpo {
            count: RpoCount::Including,
            most: 9,
        };
        for (scheduler, in_order) in [(Scheduler::Fcfs, true), (rpo, false)] {
            let mut disk = disk().with_scheduler(scheduler);
            assert_eq!(disk.serves_in_order(), in_order);
            assert!(disk.takes_first(), "jobs are served as they come");
            let job = Job::new(RequestId(0), Access::Read, Sector::new(0), Sectors::new(8));
            let mut times = Vec::new();
            assert_eq!(disk.serve_all([job; 3].into_iter(), &mut times), in_order);
            assert_eq!(times.len(), if in_order { 3 } else { 0 });
        }
    }

    #[test]
    fn a_job_comes_to_its_place_and_has_its_pace_as_it_says() {
        let mut disk = disk();
        let mut serve = |positioning, pace| {
            let job = Job {
                positioning,
                pace,
                ..Job::new(
                    RequestId(5),
                    Access::Read,
                    Sector::new(0),
                    Sectors::new(100),
                )
            };
            let waiting = Waiting {
                job,
                arrived: Nanos::ZERO,
                place: (),
            };
            disk.serve(&waiting, Nanos::ZERO, 1)
        };
        // 100 sectors in 1 ms of a revolution of 8.33 ms.
        let track = PaceOf::Track(iosonar_device::Pace(10_000.0));
        let follows = serve(Positioning::None, track);
        assert_eq!(follows.positioning, Nanos::ZERO);
        assert_eq!(follows.transfer, Nanos::from_millis(1));
        let again = serve(Positioning::TurnLessTransfer, track);
        assert_eq!(again.positioning, Nanos::new(7_330_000));
        assert_eq!(again.transfer, Nanos::from_millis(1));
        let turn = serve(Positioning::FullTurn, track);
        assert_eq!(turn.positioning, Nanos::new(8_330_000));
        // What belongs to one request is on one track; otherwise no two paces are the same.
        let of_request = serve(Positioning::None, PaceOf::Request).pace;
        assert_eq!(serve(Positioning::Fresh, PaceOf::Request).pace, of_request);
        let new = serve(Positioning::None, PaceOf::NewPlace).pace;
        assert_ne!(new, of_request);
        assert_ne!(serve(Positioning::None, PaceOf::NewPlace).pace, new);
    }
}
