//! The events of all processors, merged by time.

use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

use iosonar_trace::LiveEvent;

use crate::monotonic;
use crate::tracefs::{Filter, Instance};

/// How often the kernel's buffers are emptied.
pub(crate) const ROUND: Duration = Duration::from_millis(20);

/// An event in the order of time; of equal times, in the order in which they were read.
#[derive(PartialEq, Eq)]
struct Waiting {
    event: LiveEvent,
    read: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |w: &Self| (w.event.time, w.read);
        // The heap gives the greatest first.
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Buffers that are emptied round by round. What happened before a round began has been read when it ends.
#[derive(Default)]
pub(crate) struct Rounds {
    waiting: BinaryHeap<Waiting>,
    read: u64,
    begun: u64,
    settled: u64,
}

impl Rounds {
    /// Empties all buffers once. Returns how many events were lost.
    pub(crate) fn read(&mut self, instance: &mut Instance, filters: &[Filter]) -> io::Result<u64> {
        // An event may have been begun and not be readable yet: it has a round's time.
        self.settled = std::mem::replace(&mut self.begun, monotonic().get());
        instance.read_all(|event| {
            if filters.iter().any(|filter| filter.is_of(&event)) {
                self.read += 1;
                let read = self.read;
                self.waiting.push(Waiting { event, read });
            }
        })
    }

    /// The time up to which events are complete and in order.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// The next event before that time; of all events in the `last` round.
    pub(crate) fn next(&mut self, last: bool) -> Option<LiveEvent> {
        let next = self.waiting.peek()?;
        (last || next.event.time < self.settled)
            .then(|| self.waiting.pop())
            .flatten()
            .map(|waiting| waiting.event)
    }
}
