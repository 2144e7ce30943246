//! The event calendar: an implicit 4-ary heap.
//!
//! Four children a node make the heap half as deep as a binary one, and a node's children lie in
//! one or two cache lines. The order is total: by time, then by order of scheduling. Keys are exact
//! (64 bits of time, 64 bits of sequence).

use iosonar_units::Nanos;

const ARITY: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: Nanos,
    sequence: u64,
    event: T,
}

impl<T> Entry<T> {
    #[inline]
    fn key(&self) -> u128 {
        (u128::from(self.at.get()) << 64) | u128::from(self.sequence)
    }
}

/// The events to come, earliest first; those of one instant in the order of their scheduling.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    heap: Vec<Entry<T>>,
    now: Nanos,
    scheduled: u64,
    popped: u64,
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            now: Nanos::ZERO,
            scheduled: 0,
            popped: 0,
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// The time of the last event that was popped.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// How many events have been popped so far.
    pub fn events(&self) -> u64 {
        self.popped
    }

    /// How many events are to come.
    pub fn pending(&self) -> usize {
        self.heap.len()
    }

    /// Plans `event` for the instant `at`.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now): the clock never goes back.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: T) {
        assert!(
            at >= self.now,
            "an event for {at} was scheduled at {}",
            self.now
        );
        let entry = Entry {
            at,
            sequence: self.scheduled,
            event,
        };
        self.scheduled += 1;
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the next event out and sets the clock to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        let last = self.heap.pop()?;
        let first = match self.heap.first_mut() {
            Some(root) => {
                let first = std::mem::replace(root, last);
                self.sift_down();
                first
            }
            None => last,
        };
        self.now = first.at;
        self.popped += 1;
        Some((first.at, first.event))
    }

    fn sift_up(&mut self, mut child: usize) {
        let entry = self.heap[child];
        while child > 0 {
            let parent = (child - 1) / ARITY;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.heap[child] = self.heap[parent];
            child = parent;
        }
        self.heap[child] = entry;
    }

    fn sift_down(&mut self) {
        let entry = self.heap[0];
        let mut parent = 0;
        loop {
            let first = ARITY * parent + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(child) = (first..last).min_by_key(|&i| self.heap[i].key()) else {
                break;
            };
            if self.heap[child].key() >= entry.key() {
                break;
            }
            self.heap[parent] = self.heap[child];
            parent = child;
        }
        self.heap[parent] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn events_of_one_instant_come_in_the_order_of_scheduling() {
        let mut calendar = Calendar::default();
        for event in 0..100 {
            calendar.schedule(Nanos::new(7), event);
        }
        let order: Vec<i32> = std::iter::from_fn(|| calendar.pop().map(|(_, e)| e)).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "was scheduled at")]
    fn the_clock_never_goes_back() {
        let mut calendar = Calendar::default();
        calendar.schedule(Nanos::new(10), ());
        calendar.pop();
        calendar.schedule(Nanos::new(9), ());
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_heap(steps in prop::collection::vec((0_u64..20, any::<bool>()), 1..300)) {
            let mut ours = Calendar::default();
            let mut theirs = BinaryHeap::new();
            for (i, (delay, pop)) in steps.into_iter().enumerate() {
                let at = ours.now() + Nanos::new(delay);
                ours.schedule(at, i);
                theirs.push(Reverse((at, i)));
                if pop {
                    prop_assert_eq!(ours.pop(), theirs.pop().map(|Reverse(x)| x));
                }
            }
            while let Some(Reverse(expected)) = theirs.pop() {
                prop_assert_eq!(ours.pop(), Some(expected));
            }
            prop_assert_eq!(ours.pop(), None);
        }
    }
}
