//! Jobs that wait at a disk.

use std::collections::VecDeque;

use iosonar_device::{Job, Priority};
use iosonar_units::Nanos;

/// Waiting jobs with the time of their arrival: by priority, and in order within a priority.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingJobs {
    high: VecDeque<(Job, Nanos)>,
    normal: VecDeque<(Job, Nanos)>,
    low: VecDeque<(Job, Nanos)>,
}

impl WaitingJobs {
    #[inline]
    pub(crate) fn push(&mut self, job: Job, now: Nanos) {
        match job.priority {
            Priority::High => self.high.push_back((job, now)),
            Priority::Normal => self.normal.push_back((job, now)),
            Priority::Low => self.low.push_back((job, now)),
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Job, Nanos)> {
        self.high
            .pop_front()
            .or_else(|| self.normal.pop_front())
            .or_else(|| self.low.pop_front())
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.high.len() + self.normal.len() + self.low.len()
    }
}
