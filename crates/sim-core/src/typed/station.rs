//! Stations with one server.

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Plan, Run, Running, connect};
use crate::law::Draws;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::single::Single;
use crate::network::{Builder, NodeId, Probe, Queue, StationStatistics};
use crate::{Law, Seed};

/// One server, first come first served, with an unlimited queue.
#[derive(Clone, Debug)]
pub struct Station {
    name: String,
    service: Law,
}

impl Station {
    /// A server whose services have this law.
    pub fn new(name: impl Into<String>, service: impl Into<Law>) -> Self {
        Self {
            name: name.into(),
            service: service.into(),
        }
    }
}

impl Plan for Station {
    type Running = Serving;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let station = b.station(&self.name, Queue::fcfs(1, self.service.clone()));
        connect(b, before, station)
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Serving {
        let stream = seed.stream(&self.name, "service");
        Serving {
            next: Next::NEVER,
            number: numbers.next(),
            single: Single::new(Draws::new(self.service, stream)),
        }
    }
}

/// A [`Station`] in the middle of a run.
#[derive(Clone)]
pub struct Serving {
    next: Next,
    number: u32,
    single: Single,
}

impl Running for Serving {
    const SLOTS: u32 = 1;

    #[inline(always)]
    fn next(&self) -> Next {
        self.next
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let (now, record) = (run.now, &mut run.record);
        if let Some(end) = self.single.enter(self.number, job, now, record) {
            self.next = run.plan(end);
        }
        None
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, _: u32, run: &mut Run<P>) -> Option<Job> {
        self.next = Next::NEVER;
        Some(self.single.end(self.number, run.now, &mut run.record))
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, _: u32, run: &mut Run<P>) {
        let (now, record) = (run.now, &mut run.record);
        if let Some(end) = self.single.resume(self.number, now, record) {
            self.next = run.plan(end);
        }
    }

    fn jobs(&self) -> usize {
        self.single.statistics.number.value() as usize
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        (number == self.number).then_some(&self.single.statistics)
    }

    fn lap(&self, _: u32) -> Option<&Sink> {
        None
    }

    fn restart(&mut self, now: Nanos) {
        self.single.statistics.restart(now);
    }
}
