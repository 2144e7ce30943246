//! The simplest station: one server, and a queue without limit of jobs that are all alike.
//!
//! It keeps its jobs itself, with the one in service, and returns the end of a service to whatever plans its event. So a
//! job needs no place anywhere else, and no event has to carry it.

use iosonar_units::Nanos;

use super::context::Record;
use super::job::Job;
use super::line::Line;
use super::{NodeId, Probe, StationStatistics};
use crate::law::Draws;

#[derive(Clone)]
pub(crate) struct Single {
    service: Draws,
    /// The job in service, or the one whose service has just ended, and behind it those that wait.
    jobs: Line<Job>,
    /// When the service began.
    started: Nanos,
    pub(crate) statistics: StationStatistics,
}

impl Single {
    pub(crate) fn new(service: Draws) -> Self {
        Self {
            service,
            jobs: Line::default(),
            started: Nanos::ZERO,
            statistics: StationStatistics {
                servers: 1,
                ..StationStatistics::default()
            },
        }
    }

    /// The jobs that are here.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter()
    }

    /// A job comes. If its service begins, returns when it ends.
    #[inline(always)]
    pub(crate) fn enter<P: Probe>(
        &mut self,
        me: u32,
        mut job: Job,
        now: Nanos,
        record: &mut Record<P>,
    ) -> Option<Nanos> {
        let number = self.statistics.number.value();
        record
            .probe
            .arrived(NodeId(me), job.id, job.class(), number, now);
        self.statistics.number.increase(now);
        job.at = now;
        let idle = self.jobs.is_empty();
        self.jobs.push(job);
        if !idle {
            return None;
        }
        self.statistics.busy.increase(now);
        Some(self.begin(me, &job, now, record))
    }

    #[inline(always)]
    fn begin<P: Probe>(&mut self, me: u32, job: &Job, now: Nanos, record: &mut Record<P>) -> Nanos {
        self.started = now;
        self.statistics.wait.push(now - job.at);
        record.probe.started(NodeId(me), job.id, now);
        now.saturating_add(self.service.draw())
    }

    /// The service has ended: its job leaves, and the server waits until it has gone on.
    #[inline(always)]
    pub(crate) fn end<P: Probe>(&mut self, me: u32, now: Nanos, record: &mut Record<P>) -> Job {
        let mut job = *self.jobs.first().expect("a job is in service");
        record.hash.add(job.id, me, self.started, now);
        record.probe.ended(NodeId(me), job.id, now);
        self.statistics.number.decrease(now);
        self.statistics.response_time.push(now - job.at);
        job.at = self.started;
        job
    }

    /// The server goes on with the next job, and returns when its service ends. If there is one, it has not been idle.
    #[inline(always)]
    pub(crate) fn resume<P: Probe>(
        &mut self,
        me: u32,
        now: Nanos,
        record: &mut Record<P>,
    ) -> Option<Nanos> {
        self.jobs.remove_first();
        if let Some(&job) = self.jobs.first() {
            return Some(self.begin(me, &job, now, record));
        }
        self.statistics.busy.decrease(now);
        None
    }
}
