//! Delays, with as many servers as there are jobs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Plan, Run, Running, connect};
use crate::law::Draws;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::{Builder, NodeId, Probe, StationStatistics};
use crate::{Law, Seed, Slab};

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
            ends: BinaryHeap::new(),
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
    /// The ends of all, with the places of their jobs.
    ends: BinaryHeap<Reverse<(Next, u32)>>,
    jobs: Slab<Job>,
}

impl Delaying {
    fn first(&self) -> Next {
        let first = self.ends.peek();
        first.map_or(Next::NEVER, |Reverse((next, _))| *next)
    }
}

impl Running for Delaying {
    const SLOTS: u32 = 1;

    #[inline(always)]
    fn next(&self) -> Next {
        self.next
    }

    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let end = run.plan(run.now.saturating_add(self.times.draw()));
        let place = self.jobs.insert(job);
        self.ends.push(Reverse((end, place)));
        self.next = self.first();
        None
    }

    fn end<P: Probe>(&mut self, _: u32, run: &mut Run<P>) -> Option<Job> {
        let Reverse((_, place)) = self.ends.pop().expect("a job is here");
        self.next = self.first();
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
