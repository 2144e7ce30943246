//! Parts beside each other: forks and routers.

use iosonar_units::Nanos;

use super::part::{Next, Numbers, Part, Plan, Run, Running, connect};
use crate::network::job::Job;
use crate::network::node::{Choice, Sink};
use crate::network::{Builder, NodeId, Probe, Route, StationStatistics};
use crate::{Seed, Slab};

/// Parts beside each other: an array of parts of one type, or a tuple of two to six.
pub trait Branches {
    /// The same in a run.
    type Running: RunningBranches;

    /// Adds the nodes of all, behind `from`; returns the last ones of each.
    fn add(&self, b: &mut Builder, from: NodeId) -> Vec<NodeId>;

    /// Begins a run.
    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running;
}

/// [`Branches`] in the middle of a run. The slots of the first come first.
pub trait RunningBranches: Clone {
    /// How many slots all of them have.
    const SLOTS: u32;
    /// How many there are.
    const NUMBER: u32;

    /// The first event to come.
    fn next(&self) -> Next;

    /// See [`Running::enter`].
    fn enter<P: Probe>(&mut self, branch: u32, job: Job, run: &mut Run<P>) -> Option<Job>;

    /// See [`Running::end`].
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job>;

    /// See [`Running::resume`].
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>);

    /// See [`Running::jobs`].
    fn jobs(&self) -> usize;

    /// See [`Running::station`].
    fn station(&self, number: u32) -> Option<&StationStatistics>;

    /// See [`Running::lap`].
    fn lap(&self, number: u32) -> Option<&Sink>;

    /// See [`Running::restart`].
    fn restart(&mut self, now: Nanos);
}

impl<T: Part, const N: usize> Branches for [T; N] {
    type Running = [T::Running; N];

    fn add(&self, b: &mut Builder, from: NodeId) -> Vec<NodeId> {
        self.iter().flat_map(|part| part.add(b, &[from])).collect()
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
        self.map(|part| part.start(seed, numbers))
    }
}

impl<T: Running, const N: usize> RunningBranches for [T; N] {
    const SLOTS: u32 = T::SLOTS * N as u32;
    const NUMBER: u32 = N as u32;

    #[inline(always)]
    fn next(&self) -> Next {
        let mut first = Next::NEVER;
        for (branch, part) in self.iter().enumerate() {
            first = first.or(part.next().behind(branch as u32 * T::SLOTS));
        }
        first
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, branch: u32, job: Job, run: &mut Run<P>) -> Option<Job> {
        self[branch as usize].enter(job, run)
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
        self[(slot / T::SLOTS) as usize].end(slot % T::SLOTS, run)
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
        self[(slot / T::SLOTS) as usize].resume(slot % T::SLOTS, run);
    }

    fn jobs(&self) -> usize {
        self.iter().map(T::jobs).sum()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.iter().find_map(|part| part.station(number))
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        self.iter().find_map(|part| part.lap(number))
    }

    fn restart(&mut self, now: Nanos) {
        self.iter_mut().for_each(|part| part.restart(now));
    }
}

macro_rules! tuple {
    ($($part:ident $index:tt),+) => {
        impl<$($part: Part),+> Branches for ($($part,)+) {
            type Running = ($($part::Running,)+);

            fn add(&self, b: &mut Builder, from: NodeId) -> Vec<NodeId> {
                let mut ends = Vec::new();
                $(ends.extend(self.$index.add(b, &[from]));)+
                ends
            }

            fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
                ($(self.$index.start(seed, numbers),)+)
            }
        }

        impl<$($part: Running),+> RunningBranches for ($($part,)+) {
            const SLOTS: u32 = 0 $(+ $part::SLOTS)+;
            const NUMBER: u32 = [$($index),+].len() as u32;

            #[inline(always)]
            fn next(&self) -> Next {
                let (mut first, mut before) = (Next::NEVER, 0);
                $(
                    first = first.or(self.$index.next().behind(before));
                    before += $part::SLOTS;
                )+
                debug_assert_eq!(before, Self::SLOTS);
                first
            }

            #[inline(always)]
            fn enter<P: Probe>(&mut self, branch: u32, job: Job, run: &mut Run<P>) -> Option<Job> {
                match branch {
                    $($index => self.$index.enter(job, run),)+
                    _ => unreachable!("there is no such branch"),
                }
            }

            #[inline(always)]
            fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
                let mut slot = slot;
                $(
                    if slot < $part::SLOTS {
                        return self.$index.end(slot, run);
                    }
                    slot -= $part::SLOTS;
                )+
                unreachable!("there is no slot {slot} behind the last")
            }

            #[inline(always)]
            fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
                let mut slot = slot;
                $(
                    if slot < $part::SLOTS {
                        return self.$index.resume(slot, run);
                    }
                    slot -= $part::SLOTS;
                )+
                unreachable!("there is no slot {slot} behind the last")
            }

            fn jobs(&self) -> usize {
                0 $(+ self.$index.jobs())+
            }

            fn station(&self, number: u32) -> Option<&StationStatistics> {
                None$(.or_else(|| self.$index.station(number)))+
            }

            fn lap(&self, number: u32) -> Option<&Sink> {
                None$(.or_else(|| self.$index.lap(number)))+
            }

            fn restart(&mut self, now: Nanos) {
                $(self.$index.restart(now);)+
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Where a job becomes several, one for each branch, which become one job again when all have passed theirs.
#[derive(Clone, Debug)]
pub struct Fork<B> {
    name: String,
    join: String,
    branches: B,
}

impl<B: Branches> Fork<B> {
    /// A fork and its join, with branches between them.
    pub fn new(fork: impl Into<String>, join: impl Into<String>, branches: B) -> Self {
        Self {
            name: fork.into(),
            join: join.into(),
            branches,
        }
    }
}

impl<B: Branches> Plan for Fork<B> {
    type Running = Forking<B::Running>;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let fork = b.fork(&self.name);
        connect(b, before, fork);
        let ends = self.branches.add(b, fork);
        let join = b.join(&self.join);
        connect(b, &ends, join)
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
        numbers.next();
        let branches = self.branches.start(seed, numbers);
        numbers.next();
        Forking {
            forked: Slab::default(),
            branches,
        }
    }
}

/// A [`Fork`] in the middle of a run.
#[derive(Clone)]
pub struct Forking<B> {
    /// Jobs that have been forked, and how many of their parts are on their way.
    forked: Slab<(Job, u32)>,
    branches: B,
}

impl<B: RunningBranches> Forking<B> {
    /// A part comes to the join. Returns the whole job if it was the last part.
    #[inline(always)]
    fn join(&mut self, part: Job) -> Option<Job> {
        let (job, parts) = &mut self.forked[part.parent];
        *parts -= 1;
        if *parts > 0 {
            return None;
        }
        let job = *job;
        self.forked.release(part.parent);
        Some(job)
    }
}

impl<B: RunningBranches> Running for Forking<B> {
    const SLOTS: u32 = B::SLOTS;

    #[inline(always)]
    fn next(&self) -> Next {
        self.branches.next()
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let place = self.forked.insert((job, B::NUMBER));
        let mut whole = None;
        for branch in 0..B::NUMBER {
            let mut part = run.record.create(job.class(), run.now);
            part.parent = place;
            if let Some(part) = self.branches.enter(branch, part, run) {
                whole = self.join(part);
            }
        }
        whole
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
        let part = self.branches.end(slot, run)?;
        self.join(part)
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
        self.branches.resume(slot, run);
    }

    fn jobs(&self) -> usize {
        self.forked.len() + self.branches.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.branches.station(number)
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        self.branches.lap(number)
    }

    fn restart(&mut self, now: Nanos) {
        self.branches.restart(now);
    }
}

/// A parting of the ways, which meet again behind it.
#[derive(Clone, Debug)]
pub struct Router<B> {
    name: String,
    route: Route,
    branches: B,
}

impl<B: Branches> Router<B> {
    /// A router that chooses one of the branches for each job.
    pub fn new(name: impl Into<String>, route: Route, branches: B) -> Self {
        Self {
            name: name.into(),
            route,
            branches,
        }
    }
}

impl<B: Branches> Plan for Router<B> {
    type Running = Routing<B::Running>;

    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId> {
        let router = b.router(&self.name, self.route.clone());
        connect(b, before, router);
        self.branches.add(b, router)
    }

    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running {
        numbers.next();
        Routing {
            choice: Choice {
                route: self.route,
                stream: seed.stream(&self.name, "route"),
                turn: 0,
                outputs: (0..B::Running::NUMBER).collect(),
            },
            branches: self.branches.start(seed, numbers),
        }
    }
}

/// A [`Router`] in the middle of a run.
#[derive(Clone)]
pub struct Routing<B> {
    choice: Choice,
    branches: B,
}

impl<B: RunningBranches> Running for Routing<B> {
    const SLOTS: u32 = B::SLOTS;

    #[inline(always)]
    fn next(&self) -> Next {
        self.branches.next()
    }

    #[inline(always)]
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job> {
        let branch = self.choice.output(job.class());
        self.branches.enter(branch, job, run)
    }

    #[inline(always)]
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job> {
        self.branches.end(slot, run)
    }

    #[inline(always)]
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) {
        self.branches.resume(slot, run);
    }

    fn jobs(&self) -> usize {
        self.branches.jobs()
    }

    fn station(&self, number: u32) -> Option<&StationStatistics> {
        self.branches.station(number)
    }

    fn lap(&self, number: u32) -> Option<&Sink> {
        self.branches.lap(number)
    }

    fn restart(&mut self, now: Nanos) {
        self.branches.restart(now);
    }
}
