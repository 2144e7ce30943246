//! What all parts of a network that is a type have in common.

use iosonar_units::Nanos;

use super::Then;
use crate::Seed;
use crate::network::context::Record;
use crate::network::job::Job;
use crate::network::node::Sink;
use crate::network::{Builder, NodeId, Probe, StationStatistics};

/// A part of a network: jobs come to its beginning, and go on at its end.
pub trait Part: Plan {
    /// This part, and behind it another one.
    fn then<N: Part>(self, next: N) -> Then<Self, N>
    where
        Self: Sized,
    {
        Then { first: self, next }
    }
}

impl<T: Plan> Part for T {}

/// A part before the run.
pub trait Plan {
    /// The same in a run.
    type Running: Running;

    /// Adds the same nodes to a builder, behind those in `before`; returns the last ones.
    fn add(&self, b: &mut Builder, before: &[NodeId]) -> Vec<NodeId>;

    /// Begins a run. The nodes take the numbers that [`add`](Self::add) gives them.
    fn start(self, seed: &Seed, numbers: &mut Numbers) -> Self::Running;
}

/// Connects the nodes in `before` with `node`.
pub(super) fn connect(b: &mut Builder, before: &[NodeId], node: NodeId) -> Vec<NodeId> {
    for &from in before {
        b.chain(&[from, node]);
    }
    vec![node]
}

/// The numbers of nodes.
#[derive(Debug, Default)]
pub struct Numbers(u32);

impl Numbers {
    pub(super) fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0 - 1
    }
}

/// A part in the middle of a run.
///
/// Each of its nodes with an event to come has a *slot*, a number from 0 on. What happens there takes two steps: the
/// event [ends](Self::end) something, and its job goes on as far as it can; then the node
/// [resumes](Self::resume) its work.
pub trait Running: Clone {
    /// How many slots it has.
    const SLOTS: u32;

    /// The first of its events to come.
    fn next(&self) -> Next;

    /// A job comes. It is returned if it goes on at once.
    fn enter<P: Probe>(&mut self, job: Job, run: &mut Run<P>) -> Option<Job>;

    /// The event of a slot happens. Returns the job that goes on behind this part.
    fn end<P: Probe>(&mut self, slot: u32, run: &mut Run<P>) -> Option<Job>;

    /// The job of the last event has gone.
    fn resume<P: Probe>(&mut self, slot: u32, run: &mut Run<P>);

    /// How many jobs are here.
    fn jobs(&self) -> usize;

    /// The statistics of the station with this number, if it is here.
    fn station(&self, number: u32) -> Option<&StationStatistics>;

    /// The lap with this number, if it is here.
    fn lap(&self, number: u32) -> Option<&Sink>;

    /// Forgets all statistics.
    fn restart(&mut self, now: Nanos);
}

/// An event to come.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// Its time in the upper half, and below the number that decides between events of one instant.
    key: u128,
    pub(super) slot: u32,
}

impl Next {
    /// No event.
    pub(super) const NEVER: Self = Self {
        key: u128::MAX,
        slot: 0,
    };

    #[inline(always)]
    pub(super) fn new(at: Nanos, order: u64) -> Self {
        Self {
            key: u128::from(at.get()) << 64 | u128::from(order),
            slot: 0,
        }
    }

    #[inline(always)]
    pub(super) fn is_never(self) -> bool {
        self.key == u128::MAX
    }

    #[inline(always)]
    pub(super) fn at(self) -> Nanos {
        Nanos::new((self.key >> 64) as u64)
    }

    /// The number that decides between events of one instant.
    #[inline(always)]
    pub(super) fn order(self) -> u64 {
        self.key as u64
    }

    #[inline(always)]
    pub(super) fn comes_before(self, other: Self) -> bool {
        self.key < other.key
    }

    /// Of two events, the one that comes first.
    #[inline(always)]
    pub(super) fn or(self, other: Self) -> Self {
        let first = self.comes_before(other);
        Self {
            key: if first { self.key } else { other.key },
            slot: if first { self.slot } else { other.slot },
        }
    }

    /// The same, where `slots` slots lie before those that it is one of.
    #[inline(always)]
    pub(super) fn behind(self, slots: u32) -> Self {
        Self {
            slot: self.slot + slots,
            ..self
        }
    }
}

/// What is known of a run as a whole.
#[derive(Clone)]
pub struct Run<P> {
    pub(super) record: Record<P>,
    pub(super) now: Nanos,
    /// How many events have been planned, and have happened.
    pub(super) planned: u64,
    pub(super) happened: u64,
}

impl<P> Run<P> {
    pub(super) fn new(probe: P) -> Self {
        Self {
            record: Record::new(probe),
            now: Nanos::ZERO,
            planned: 0,
            happened: 0,
        }
    }

    /// An event happens, if there is one and it happens until `end`; returns whether it does.
    #[inline(always)]
    pub(super) fn begin(&mut self, next: Next, end: Nanos) -> bool {
        if next.is_never() || next.at() > end {
            return false;
        }
        self.now = next.at();
        self.happened += 1;
        true
    }

    /// Plans an event.
    #[inline(always)]
    pub(super) fn plan(&mut self, at: Nanos) -> Next {
        self.planned += 1;
        Next::new(at, self.planned - 1)
    }
}
