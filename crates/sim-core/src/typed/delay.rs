//! Delays, with as many servers as there are jobs.

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Plan, Run, Running, connect};
use crate::law::Draws;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::{Builder, NodeId, Probe, StationStatistics};
use crate::{Calendar, Law, Seed, Slab};

/// A delay: as many servers as there are jobs.
#[derive(Clone, Debug)]
pub struct Delay {
    name: String,
    law: Law,
    restarts: bool,
}

impl Delay {
    /// A delay of a time with this law.
    pub fn new(name: impl Into<String>, law: impl Into<Law>) -> Self {
        Self {
            name: name.into(),
            law: law.into(),
            restarts: false,
        }
    }

    /// A delay after which a job's response time begins anew: the think time of a closed chain.
    pub fn think(name: impl Into<String>, law: impl Into<Law>) -> Self {
        Self {
            restarts: true,
            ..Self::new(name, law)
        }
    }
}

impl Plan for Delay {
    type Running = Delaying;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let delay = match self.restarts {
            true => b.think(&self.name, self.law.clone()),
            false => b.delay(&self.name, self.law.clone()),
        };
        connect(b, before, delay)
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Delaying {
        numbers.next();
        let stream = seed.stream(&self.name, "delay");
        Delaying {
            next: Next::NEVER,
            times: Draws::new(self.law, stream),
            restarts: self.restarts,
            ends: Calendar::default(),
            jobs: Slab::default(),
        }
    }
}

/// A [`Delay`] in the middle of a run.
#[derive(Clone)]
pub struct Delaying {
    next: Next,
    times: Draws,
    restarts: bool,
    /// The ends of all: each with its place in the order of all events, and the place of its job.
    ends: Calendar<(u64, u32)>,
    jobs: Slab<Job>,
}

impl Running for Delaying {
    const SLOTS: u32 = 1;

    #[inline(always)]
    fn next(&self) -> Next {
        self.next
    }

    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let at = run.now.saturating_add(self.times.draw());
        let end = run.plan(at);
        self.ends.schedule(at, (end.order(), self.jobs.insert(job)));
        self.next = end.or(self.next);
        None
    }

    fn end<P: Probe>(&mut self, _: u32, run: &mut Run<P>) -> Option<Job> {
        let (_, (_, place)) = self.ends.pop().expect("a job is here");
        let next = self.ends.peek();
        self.next = next.map_or(Next::NEVER, |(at, (order, _))| Next::new(at, order));
        let mut job = self.jobs[place];
        self.jobs.release(place);
        if self.restarts {
            job.since = run.now;
        }
        Some(job)
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, _: u32, _: &mut Run<P>) {}

    fn jobs(&self) -> usize {
        self.jobs.len()
    }

    fn station(&self, _: u32) -> Option<&StationStatistics> {
        None
    }

    fn lap(&self, _: u32) -> Option<&Sink> {
        None
    }

    fn restart(&mut self, _: Nanos) {}
}
