//! A disk with its queue.

use std::collections::VecDeque;

use iosonar_device::{Device, Job, Positioning, Priority, RequestId, Service};
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

/// One server; two priorities, non-preemptive.
#[derive(Clone, Debug)]
pub struct DiskStation {
    disk: SampledDisk,
    scheduler: Scheduler,
    normal: VecDeque<(Job, Nanos)>,
    high: VecDeque<(Job, Nanos)>,
    current: Option<Service>,
    last_served: Option<RequestId>,
    measured_from: Nanos,
    busy_time: Nanos,
}

impl DiskStation {
    /// An idle disk.
    pub fn new(disk: SampledDisk, scheduler: Scheduler) -> Self {
        Self {
            disk,
            scheduler,
            normal: VecDeque::new(),
            high: VecDeque::new(),
            current: None,
            last_served: None,
            measured_from: Nanos::ZERO,
            busy_time: Nanos::ZERO,
        }
    }
}

impl Device for DiskStation {
    #[inline]
    fn submit(&mut self, job: Job, now: Nanos) {
        match job.priority {
            Priority::Normal => self.normal.push_back((job, now)),
            Priority::High => self.high.push_back((job, now)),
        }
    }

    #[inline]
    fn start_next(&mut self, now: Nanos) -> Option<Nanos> {
        if self.current.is_some() {
            return None;
        }
        let waiting = self.queue_length();
        let (job, arrived) = self.high.pop_front().or_else(|| self.normal.pop_front())?;
        let candidates = self.scheduler.candidates(waiting);
        let mut positioning = self
            .disk
            .positioning(job.positioning, job.access, candidates);
        let pace = job.pace.unwrap_or_else(|| self.disk.pace());
        let transfer = pace.time(job.sectors);
        if job.positioning == Positioning::TurnLessTransfer {
            positioning = positioning.saturating_sub(transfer);
        }
        let service = Service {
            job,
            arrived,
            started: now,
            positioning,
            transfer,
            pace,
        };
        self.current = Some(service);
        Some(service.ended())
    }

    #[inline]
    fn complete(&mut self, now: Nanos) -> Service {
        let service = self.current.take().expect("a job is in service");
        debug_assert_eq!(
            service.ended(),
            now,
            "a service ends when it was said to end"
        );
        self.last_served = Some(service.job.request);
        self.busy_time += now - service.started.max(self.measured_from);
        service
    }

    #[inline]
    fn busy_with(&self) -> Option<RequestId> {
        self.current.map(|service| service.job.request)
    }

    #[inline]
    fn last_served(&self) -> Option<RequestId> {
        self.last_served
    }

    #[inline]
    fn queue_length(&self) -> usize {
        self.normal.len() + self.high.len()
    }

    fn measure_from(&mut self, now: Nanos) {
        self.measured_from = now;
        self.busy_time = Nanos::ZERO;
    }

    fn busy_time(&self) -> Nanos {
        self.busy_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskProfile;
    use iosonar_device::Access;
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
            pace: None,
            sector: Sector::new(0),
            sectors: Sectors::new(256),
        }
    }

    #[test]
    fn high_priority_overtakes_but_never_interrupts() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let disk = SampledDisk::new(&profile, &Seed::new(1), "disk/0");
        let mut station = DiskStation::new(disk, Scheduler::Fcfs);
        station.submit(job(0, Priority::Normal), Nanos::ZERO);
        let mut end = station.start_next(Nanos::ZERO).unwrap();
        station.submit(job(1, Priority::Normal), Nanos::ZERO);
        station.submit(job(2, Priority::High), Nanos::ZERO);
        station.submit(job(3, Priority::High), Nanos::ZERO);
        assert_eq!(station.start_next(Nanos::ZERO), None, "it is busy");
        assert_eq!(station.busy_with(), Some(RequestId(0)));
        let mut order = vec![station.complete(end).job.tag];
        while let Some(next) = station.start_next(end) {
            end = next;
            order.push(station.complete(end).job.tag);
        }
        assert_eq!(order, [0, 2, 3, 1]);
        assert_eq!(station.last_served(), Some(RequestId(1)));
        assert_eq!(station.busy_time(), end, "work is conserved");
    }
}
