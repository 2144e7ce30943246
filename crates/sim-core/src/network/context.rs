//! What nodes need of the network besides themselves.

use iosonar_units::Nanos;

use super::Class;
use super::agenda::Agenda;
use super::job::{Job, NONE, Placed};
use crate::{CompletionHash, Slab};

/// What comes next: an arrival at a source, or the end of a service or delay at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) node: u32,
    pub(super) job: u32,
}

impl Event {
    /// Of a node that knows itself which job it is, or of a source.
    pub(super) fn of(node: u32) -> Self {
        Self { node, job: NONE }
    }

    pub(super) fn end(node: u32, job: u32) -> Self {
        Self { node, job }
    }
}

/// What is recorded of a run as a whole.
#[derive(Clone)]
pub(crate) struct Record<P> {
    pub(crate) hash: CompletionHash,
    pub(crate) probe: P,
    pub(crate) created: u64,
    pub(crate) departures: u64,
}

impl<P> Record<P> {
    pub(crate) fn new(probe: P) -> Self {
        Self {
            hash: CompletionHash::default(),
            probe,
            created: 0,
            departures: 0,
        }
    }

    #[inline]
    pub(crate) fn create(&mut self, class: Class, now: Nanos) -> Job {
        let job = Job::new(self.created, class, now);
        self.created += 1;
        job
    }
}

/// What nodes need of the network besides themselves.
#[derive(Clone)]
pub(super) struct Context<P> {
    pub(super) agenda: Agenda,
    /// The jobs that are kept by their places.
    pub(super) jobs: Slab<Placed>,
    pub(super) record: Record<P>,
}

impl<P> Context<P> {
    /// Gives a job a place.
    #[inline]
    pub(super) fn place(&mut self, job: Job) -> u32 {
        self.jobs.insert(Placed::new(job))
    }

    /// Takes a job from its place.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Job {
        let Placed {
            mut job, started, ..
        } = self.jobs[place];
        self.jobs.release(place);
        job.at = started;
        job
    }
}
