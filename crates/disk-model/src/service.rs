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
    use crate::{DiskLaws, DiskProfile};
    use iosonar_device::{Access, Device, InOrder, Observable, Priority, RequestId, Station};
    use iosonar_sim_core::Seed;
    use iosonar_units::{Sector, Sectors};
    use std::path::Path;

    fn job(tag: u64, priority: Priority) -> Job {
        Job {
            request: RequestId(tag),
            tag,
            access: Access::Read,
            priority,
            positioning: Positioning::Fresh,
            pace: PaceOf::NewPlace,
            sector: Sector::new(0),
            sectors: Sectors::new(256),
            class: 0,
        }
    }

    fn station() -> Station<SampledDisk> {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let disk = SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(1), "disk/0");
        Station::new(disk)
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

    #[test]
    fn high_priority_overtakes_but_never_interrupts() {
        let mut station = station();
        station.submit(job(0, Priority::Normal), Nanos::ZERO);
        let mut end = station.start_next(Nanos::ZERO).unwrap();
        station.submit(job(1, Priority::Normal), Nanos::ZERO);
        station.submit(job(2, Priority::High), Nanos::ZERO);
        station.submit(job(4, Priority::Low), Nanos::ZERO);
        station.submit(job(3, Priority::High), Nanos::ZERO);
        assert_eq!(station.start_next(Nanos::ZERO), None, "it is busy");
        let in_service = station.occupancy().in_service;
        assert_eq!(in_service.map(|(request, _)| request), Some(RequestId(0)));
        let mut order = vec![station.complete(end, end).unwrap().job.tag];
        while let Some(next) = station.start_next(end) {
            end = next;
            order.push(station.complete(end, end).unwrap().job.tag);
        }
        assert_eq!(order, [0, 2, 3, 1, 4]);
        assert_eq!(station.occupancy().last_served, Some(RequestId(4)));
        assert_eq!(station.usage().busy, end, "work is conserved");
    }

    #[test]
    fn announced_at_once_or_event_by_event_services_are_the_same() {
        let arrivals: Vec<Nanos> = (0..50)
            .map(|i| Nanos::from_millis(i * i % 90 + 12 * i))
            .collect();
        let mut sorted = arrivals;
        sorted.sort_unstable();
        let warm = sorted[20];
        let mut at_once = station();
        let mut services = Vec::new();
        for (i, &at) in sorted.iter().enumerate() {
            if i == 20 {
                at_once.measure_from(at);
            }
            services.push(at_once.serve(job(i as u64, Priority::Normal), at));
        }
        // Some announced services are not over by then.
        let ends = sorted[49];
        assert!(services[49].ended() > ends);
        at_once.end_measurement(ends);
        let mut by_event = station();
        let (mut announced, mut next, mut end) = (Vec::new(), 0, None);
        while announced.len() < sorted.len() {
            match end {
                Some(at) if next == sorted.len() || at <= sorted[next] => {
                    announced.push(by_event.complete(at, at).unwrap());
                    end = by_event.start_next(at);
                }
                _ => {
                    if next == 20 {
                        by_event.measure_from(warm);
                    }
                    by_event.submit(job(next as u64, Priority::Normal), sorted[next]);
                    end = end.or(by_event.start_next(sorted[next]));
                    next += 1;
                    if next == sorted.len() {
                        by_event.end_measurement(ends);
                    }
                }
            }
        }
        assert_eq!(announced, services);
        let usage = by_event.usage();
        assert_eq!(usage, at_once.usage());
        assert_eq!(
            usage.jobs_time as i128,
            usage.stay_time as i128 + usage.stay_edge
        );
        assert_eq!(
            i128::from(usage.busy.get()),
            usage.service_time as i128 + usage.service_edge
        );
    }
}
