//! Jobs that wait at a device.

use std::collections::VecDeque;
use std::mem;

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

impl<P: Copy> WaitingJobs<P> {
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
            index if cfg!(target_env = "musl") => remove(queue, index),
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

/// As `VecDeque::remove`, which calls `memmove`: for a few jobs, that of musl takes longer than this, that of glibc less.
#[inline]
fn remove<P: Copy>(queue: &mut VecDeque<Waiting<P>>, index: usize) -> Option<Waiting<P>> {
    // The job goes to the nearer end, and those in between make room.
    let mut carried = *queue.get(index)?;
    if index < queue.len() / 2 {
        for place in queue.range_mut(..=index) {
            mem::swap(place, &mut carried);
        }
        queue.pop_front()
    } else {
        for place in queue.range_mut(index..).rev() {
            mem::swap(place, &mut carried);
        }
        queue.pop_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, RequestId};
    use iosonar_units::{Sector, Sectors};

    #[test]
    fn the_others_keep_their_order_wherever_a_job_is_taken() {
        let waiting = |id: u64| Waiting {
            job: Job::new(
                RequestId(id),
                Access::Read,
                Sector::new(id),
                Sectors::new(8),
            ),
            arrived: Nanos::new(id),
            place: id,
        };
        let places = |queue: &VecDeque<Waiting<u64>>| -> Vec<u64> {
            queue.iter().map(|waiting| waiting.place).collect()
        };
        for len in 0..9 {
            for index in 0..=len {
                // Its first half lies at the end of the memory.
                let mut queue: VecDeque<_> = (len as u64 / 2..len as u64).map(waiting).collect();
                (0..len as u64 / 2)
                    .rev()
                    .for_each(|id| queue.push_front(waiting(id)));
                let mut expected = queue.clone();
                let taken = remove(&mut queue, index).map(|taken| (taken.job, taken.place));
                assert_eq!(
                    taken,
                    expected.remove(index).map(|taken| (taken.job, taken.place))
                );
                assert_eq!(places(&queue), places(&expected), "{index} of {len}");
            }
        }
    }
}
