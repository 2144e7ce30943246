//! Parts behind each other, and ways back.

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Part, Plan, Run, Running, connect};
use crate::law::choose;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::{Builder, NodeId, Probe, Route, StationStatistics};
use crate::{Seed, Stream};

/// A part, and behind it another one.
#[derive(Clone, Debug)]
pub struct Then<A, B> {
    pub(super) first: A,
    pub(super) next: B,
}

impl<A: Part, B: Part> Plan for Then<A, B> {
    type Running = Then<A::Running, B::Running>;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let between = self.first.add(b, before);
        self.next.add(b, &between)
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
        Then {
            first: self.first.start(seed, numbers),
            next: self.next.start(seed, numbers),
        }
    }
}

impl<A: Running, B: Running> Running for Then<A, B> {
    const SLOTS: u32 = A::SLOTS + B::SLOTS;

    #[inline(always)]
    fn next(&self) -> Next {
        // A part without slots has no events, which is known before the run.
        match (A::SLOTS, B::SLOTS) {
            (0, _) => self.next.next(),
            (_, 0) => self.first.next(),
            _ => self.first.next().or(self.next.next().behind(A::SLOTS)),
        }
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let job = self.first.enter(job, run)?;
        self.next.enter(job, run)
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
        if slot < A::SLOTS {
            let job = self.first.end(slot, run)?;
            self.next.enter(job, run)
        } else {
            self.next.end(slot - A::SLOTS, run)
        }
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
        if slot < A::SLOTS {
            self.first.resume(slot, run);
        } else {
            self.next.resume(slot - A::SLOTS, run);
        }
    }

    fn jobs(&self) -> usize {
        self.first.jobs() + self.next.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        let here = self.first.station(number);
        here.or_else(|| self.next.station(number))
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        let here = self.first.lap(number);
        here.or_else(|| self.next.lap(number))
    }

    fn restart(&mut self, now: Nanos) {
        self.first.restart(now);
        self.next.restart(now);
    }
}

/// A part to which jobs return with some probability, as often as chance will have it.
#[derive(Clone, Debug)]
pub struct Feedback<T> {
    name: String,
    probability: f64,
    part: T,
}

impl<T: Part> Feedback<T> {
    /// Jobs that have passed `part` return to its beginning with this probability. The name is that of the router behind
    /// it.
    pub fn new(name: impl Into<String>, probability: f64, part: T) -> Self {
        Self {
            name: name.into(),
            probability,
            part,
        }
    }
}

impl<T: Part> Plan for Feedback<T> {
    type Running = Returning<T::Running>;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let beginning = b.next_node();
        let ends = self.part.add(b, before);
        let route = Route::Probabilities(vec![self.probability, 1.0 - self.probability]);
        let again = b.router(&self.name, route);
        connect(b, &ends, again);
        b.chain(&[again, beginning]);
        vec![again]
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
        let part = self.part.start(seed, numbers);
        numbers.next();
        Returning {
            probability: self.probability,
            stream: seed.stream(&self.name, "route"),
            part,
        }
    }
}

/// A [`Feedback`] in the middle of a run.
#[derive(Clone)]
pub struct Returning<T> {
    probability: f64,
    stream: Stream,
    part: T,
}

impl<T: Running> Returning<T> {
    /// A job has passed the part: it goes on, or returns as often as it may.
    #[inline(always)]
    fn passed<P: Probe>(&mut self, job: Option<Job>, run: &mut Run<P>) -> Option<Job> {
        let mut job = job?;
        loop {
            let probabilities = [self.probability, 1.0 - self.probability];
            if choose(probabilities.into_iter(), self.stream.uniform()) > 0 {
                return Some(job);
            }
            job = self.part.enter(job, run)?;
        }
    }
}

impl<T: Running> Running for Returning<T> {
    const SLOTS: u32 = T::SLOTS;

    #[inline(always)]
    fn next(&self) -> Next {
        self.part.next()
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let job = self.part.enter(job, run);
        self.passed(job, run)
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
        let job = self.part.end(slot, run);
        self.passed(job, run)
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
        self.part.resume(slot, run);
    }

    fn jobs(&self) -> usize {
        self.part.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.part.station(number)
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        self.part.lap(number)
    }

    fn restart(&mut self, now: Nanos) {
        self.part.restart(now);
    }
}
