//! Jobs that wait at a device.

use std::collections::VecDeque;

use iosonar_units::Nanos;

use crate::{Job, Priority};

/// A job that waits, and the place that its mechanism found for it.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<P> {
    /// The job.
    pub job: Job,
    /// When it came.
    pub arrived: Nanos,
    /// Where the mechanism has to go.
    pub place: P,
}

/// Waiting jobs from the highest priority to the lowest, in the order of arrival within a priority.
#[derive(Clone, Debug)]
pub(crate) struct WaitingJobs<P>([VecDeque<Waiting<P>>; 3]);

impl<P> Default for WaitingJobs<P> {
    fn default() -> Self {
        Self([const { VecDeque::new() }; 3])
    }
}

impl<P> WaitingJobs<P> {
    #[inline]
    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        let queue = match waiting.job.priority {
            Priority::High => 0,
            Priority::Normal => 1,
            Priority::Low => 2,
        };
        self.0[queue].push_back(waiting);
    }

    /// Takes the job of the highest priority that `choose` points out.
    #[inline]
    pub(crate) fn take(
        &mut self,
        choose: impl FnOnce(&VecDeque<Waiting<P>>) -> usize,
    ) -> Option<Waiting<P>> {
        let queue = self.0.iter_mut().find(|queue| !queue.is_empty())?;
        match choose(queue) {
            0 => queue.pop_front(),
            index => queue.remove(index),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.0.iter().flatten()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(VecDeque::len).sum()
    }
}
