//! Jobs that wait at a disk.

use std::collections::VecDeque;

use iosonar_device::Priority;

/// Waiting jobs, with what a disk keeps of them: by priority, and in the order of arrival within a priority.
#[derive(Clone, Debug)]
pub(crate) struct WaitingJobs<W> {
    /// From the highest priority to the lowest.
    queues: [VecDeque<W>; 3],
}

impl<W> Default for WaitingJobs<W> {
    fn default() -> Self {
        Self {
            queues: [const { VecDeque::new() }; 3],
        }
    }
}

impl<W> WaitingJobs<W> {
    #[inline]
    pub(crate) fn push(&mut self, waiting: W, priority: Priority) {
        let queue = match priority {
            Priority::High => 0,
            Priority::Normal => 1,
            Priority::Low => 2,
        };
        self.queues[queue].push_back(waiting);
    }

    /// Takes the first of the highest priority.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<W> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Those of the highest priority; `None` if nothing waits.
    pub(crate) fn highest(&self) -> Option<&VecDeque<W>> {
        self.queues.iter().find(|queue| !queue.is_empty())
    }

    /// Takes one of those of the highest priority.
    pub(crate) fn take(&mut self, index: usize) -> Option<W> {
        let queue = self.queues.iter_mut().find(|queue| !queue.is_empty())?;
        queue.remove(index)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &W> {
        self.queues.iter().flatten()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }
}
