//! The simplest station: one server, and a queue without limit of jobs that are all alike.
//!
//! It keeps its jobs itself, with the one in service, and returns the end of a service to whatever plans its event. So a
//! job needs no place anywhere else, and no event has to carry it.

use std::collections::VecDeque;

use iosonar_units::Nanos;

use super::context::Record;
use super::job::Job;
use super::{NodeId, Probe, StationStatistics};
use crate::law::Draws;

#[derive(Clone)]
pub(crate) struct Single {
    service: Draws,
    waiting: VecDeque<Job>,
    /// The job in service, or the last one that was.
    in_service: Job,
    /// When its service began.
    started: Nanos,
    /// Whether the server has a job, or has just ended a service and may take another one.
    taken: bool,
    pub(crate) statistics: StationStatistics,
}

impl Single {
    pub(crate) fn new(service: Draws) -> Self {
        Self {
            service,
            waiting: VecDeque::new(),
            in_service: Job::new(0, super::Class::default(), Nanos::ZERO),
            started: Nanos::ZERO,
            taken: false,
            statistics: StationStatistics {
                servers: 1,
                ..StationStatistics::default()
            },
        }
    }

    /// The jobs that are here.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        let in_service = self.taken.then_some(&self.in_service);
        self.waiting.iter().chain(in_service)
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
            .arrived(NodeId(me), job.id, job.class, number, now);
        self.statistics.number.increase(now);
        job.at = now;
        if self.taken {
            self.waiting.push_back(job);
            return None;
        }
        self.taken = true;
        self.statistics.busy.increase(now);
        Some(self.begin(me, job, now, record))
    }

    #[inline(always)]
    fn begin<P: Probe>(&mut self, me: u32, job: Job, now: Nanos, record: &mut Record<P>) -> Nanos {
        (self.in_service, self.started) = (job, now);
        self.statistics.wait.push(now - job.at);
        record.probe.started(NodeId(me), job.id, now);
        now.saturating_add(self.service.draw())
    }

    /// The service has ended: its job leaves, and the server waits until it has gone on.
    #[inline(always)]
    pub(crate) fn end<P: Probe>(&mut self, me: u32, now: Nanos, record: &mut Record<P>) -> Job {
        let mut job = self.in_service;
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
        if let Some(job) = self.waiting.pop_front() {
            return Some(self.begin(me, job, now, record));
        }
        self.taken = false;
        self.statistics.busy.decrease(now);
        None
    }
}
