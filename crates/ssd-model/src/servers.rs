//! A queue in front of servers, first come, first served.

use std::collections::VecDeque;

use iosonar_units::Nanos;

/// The integral over time of how many servers are busy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusyTime {
    busy: u64,
    since: Nanos,
    area: u128,
}

impl BusyTime {
    #[inline]
    pub(crate) fn change(&mut self, by: i64, now: Nanos) {
        self.area += u128::from(self.busy) * u128::from((now - self.since).get());
        self.since = now;
        self.busy = self.busy.wrapping_add_signed(by);
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.change(0, now);
        self.area = 0;
    }

    /// Until `now`, in nanoseconds times servers.
    pub(crate) fn until(&self, now: Nanos) -> u128 {
        self.area + u128::from(self.busy) * u128::from(now.saturating_sub(self.since).get())
    }
}

/// Servers with one queue of tasks.
#[derive(Clone, Debug)]
pub(crate) struct Servers<T> {
    pub(crate) count: u32,
    free: u32,
    waiting: VecDeque<T>,
    pub(crate) busy: BusyTime,
}

/// One server.
impl<T> Default for Servers<T> {
    fn default() -> Self {
        Self::new(1)
    }
}

impl<T> Servers<T> {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            count,
            free: count,
            waiting: VecDeque::new(),
            busy: BusyTime::default(),
        }
    }

    /// A task comes. Returns it to be started if a server is free; else it waits.
    #[inline]
    pub(crate) fn arrive(&mut self, task: T, now: Nanos) -> Option<T> {
        if self.free > 0 {
            self.free -= 1;
            self.busy.change(1, now);
            return Some(task);
        }
        self.waiting.push_back(task);
        None
    }

    /// Whether a server is busy.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.busy > 0
    }

    /// A task is done. Returns the next one to be started.
    #[inline]
    pub(crate) fn depart(&mut self, now: Nanos) -> Option<T> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.free += 1;
            self.busy.change(-1, now);
        }
        next
    }
}
