//! What nodes need of the network besides themselves.

use iosonar_units::Nanos;

use super::Class;
use super::job::{Job, NONE};
use crate::{Calendar, CompletionHash, Slab};

/// What comes next: an arrival at a source, or the end of a service or delay at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) node: u32,
    pub(super) job: u32,
}

impl Event {
    pub(super) fn arrival(source: u32) -> Self {
        Self {
            node: source,
            job: NONE,
        }
    }

    pub(super) fn end(node: u32, job: u32) -> Self {
        Self { node, job }
    }
}

/// What nodes need of the network besides themselves.
#[derive(Clone)]
pub(super) struct Context<P> {
    pub(super) calendar: Calendar<Event>,
    pub(super) jobs: Slab<Job>,
    pub(super) hash: CompletionHash,
    pub(super) probe: P,
    pub(super) created: u64,
    pub(super) departures: u64,
}

impl<P> Context<P> {
    #[inline]
    pub(super) fn create(&mut self, class: Class, now: Nanos) -> u32 {
        let job = Job::new(self.created, class, now);
        self.created += 1;
        let slot = self.jobs.claim(|| job);
        self.jobs[slot] = job;
        slot
    }
}
