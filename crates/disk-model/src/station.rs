//! A disk with its queue.

use iosonar_device::{Device, Job, Pace, PaceOf, Positioning, RequestId, Service, Usage};
use iosonar_units::Nanos;

use crate::SampledDisk;
use crate::usage::UsageMeter;
use crate::waiting::WaitingJobs;

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

/// One server; three priorities, non-preemptive.
#[derive(Clone, Debug)]
pub struct DiskStation {
    disk: SampledDisk,
    scheduler: Scheduler,
    /// With the time of their arrival.
    waiting: WaitingJobs<(Job, Nanos)>,
    current: Option<Service>,
    last_served: Option<RequestId>,
    usage: UsageMeter,
    /// When all jobs so far are done, where each is announced its service at once.
    free_at: Nanos,
}

impl DiskStation {
    /// An idle disk.
    pub fn new(disk: SampledDisk, scheduler: Scheduler) -> Self {
        Self {
            disk,
            scheduler,
            waiting: WaitingJobs::default(),
            current: None,
            last_served: None,
            usage: UsageMeter::default(),
            free_at: Nanos::ZERO,
        }
    }

    #[inline]
    fn service(&mut self, job: Job, arrived: Nanos, now: Nanos, waiting: usize) -> Service {
        let candidates = self.scheduler.candidates(waiting);
        let mut positioning = self
            .disk
            .positioning(job.positioning, job.access, candidates);
        let pace = match job.pace {
            PaceOf::NewPlace => self.disk.pace(),
            PaceOf::Track(pace) => pace,
            PaceOf::Request => self.disk.pace_of_request(job.request),
        };
        let transfer = pace.time(job.sectors);
        if job.positioning == Positioning::TurnLessTransfer {
            positioning = until_the_beginning(positioning, transfer);
        }
        Service {
            job,
            arrived,
            started: now,
            positioning,
            transfer,
            pace,
            failed: false,
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

impl Device for DiskStation {
    #[inline]
    fn submit(&mut self, job: Job, now: Nanos) {
        self.usage.arrive(now);
        self.waiting.push((job, now), job.priority);
    }

    #[inline]
    fn start_next(&mut self, now: Nanos) -> Option<Nanos> {
        if self.current.is_some() {
            return None;
        }
        let waiting = self.waiting.len();
        let (job, arrived) = self.waiting.pop()?;
        let service = self.service(job, arrived, now, waiting);
        self.current = Some(service);
        Some(service.ended())
    }

    #[inline]
    fn complete(&mut self, now: Nanos, _: Nanos) -> Option<Service> {
        let service = self.current.take().expect("a job is in service");
        debug_assert_eq!(
            service.ended(),
            now,
            "a service ends when it was said to end"
        );
        self.last_served = Some(service.job.request);
        self.usage.leave(&service);
        Some(service)
    }

    #[inline]
    fn busy_with(&self) -> Option<RequestId> {
        self.current.map(|service| service.job.request)
    }

    #[inline]
    fn pace_in_service(&self) -> Option<Pace> {
        self.current.map(|service| service.pace)
    }

    #[inline]
    fn last_served(&self) -> Option<RequestId> {
        self.last_served
    }

    #[inline]
    fn queue_length(&self) -> usize {
        self.waiting.len()
    }

    fn measure_from(&mut self, now: Nanos) {
        self.usage.measure_from(now);
    }

    fn end_measurement(&mut self, now: Nanos) {
        let waiting = self.waiting.iter().map(|&(_, arrived)| arrived);
        self.usage.end(now, self.current.as_ref(), waiting);
    }

    fn usage(&self) -> Usage {
        self.usage.usage()
    }

    fn serves_in_order(&self) -> bool {
        self.scheduler == Scheduler::Fcfs
    }

    #[inline]
    fn serve(&mut self, job: Job, now: Nanos) -> Service {
        let service = self.service(job, now, now.max(self.free_at), 1);
        self.free_at = service.ended();
        self.usage.announce(&service);
        service
    }

    #[inline]
    fn has_come_to(&mut self, now: Nanos) {
        self.usage.has_come_to(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskLaws, DiskProfile};
    use iosonar_device::{Access, Priority};
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
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let disk = SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(1), "disk/0");
        let mut station = DiskStation::new(disk, Scheduler::Fcfs);
        station.submit(job(0, Priority::Normal), Nanos::ZERO);
        let mut end = station.start_next(Nanos::ZERO).unwrap();
        station.submit(job(1, Priority::Normal), Nanos::ZERO);
        station.submit(job(2, Priority::High), Nanos::ZERO);
        station.submit(job(4, Priority::Low), Nanos::ZERO);
        station.submit(job(3, Priority::High), Nanos::ZERO);
        assert_eq!(station.start_next(Nanos::ZERO), None, "it is busy");
        assert_eq!(station.busy_with(), Some(RequestId(0)));
        let mut order = vec![station.complete(end, end).unwrap().job.tag];
        while let Some(next) = station.start_next(end) {
            end = next;
            order.push(station.complete(end, end).unwrap().job.tag);
        }
        assert_eq!(order, [0, 2, 3, 1, 4]);
        assert_eq!(station.last_served(), Some(RequestId(4)));
        assert_eq!(station.usage().busy, end, "work is conserved");
    }

    #[test]
    fn announced_at_once_or_event_by_event_services_are_the_same() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let station = || {
            let disk = SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(1), "disk/0");
            DiskStation::new(disk, Scheduler::Fcfs)
        };
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
