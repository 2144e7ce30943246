//! Laps.

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Plan, Run, Running, connect};
use crate::Seed;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::{Builder, NodeId, Probe, StationStatistics};

/// A place that jobs pass; their response times up to here are taken.
#[derive(Clone, Debug)]
pub struct Lap {
    name: String,
}

impl Lap {
    /// A lap.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

impl Plan for Lap {
    type Running = Passing;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let lap = b.lap(&self.name);
        connect(b, before, lap)
    }

    fn start(self, _: &Seed, numbers: &mut Numbers) -> Passing {
        Passing {
            number: numbers.next(),
            sink: Sink::default(),
        }
    }
}

/// A [`Lap`] in the middle of a run.
#[derive(Clone)]
pub struct Passing {
    number: u32,
    sink: Sink,
}

impl Running for Passing {
    const SLOTS: u32 = 0;

    #[inline(always)]
    fn next(&self) -> Next {
        Next::NEVER
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, mut job: Job, run: &mut Run<P>) -> Option<Job> {
        self.sink.take(self.number, &job, run.now, &mut run.record);
        job.since = run.now;
        Some(job)
    }

    fn end<P: Probe>(&mut self, _: u32, _: &mut Run<P>) -> Option<Job> {
        unreachable!("a lap has no events")
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, _: u32, _: &mut Run<P>) {}

    fn jobs(&self) -> usize {
        0
    }

    fn station(&self, _: u32) -> Option<&StationStatistics> {
        None
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        (number == self.number).then_some(&self.sink)
    }

    fn restart(&mut self, _: Nanos) {
        self.sink = Sink::default();
    }
}
