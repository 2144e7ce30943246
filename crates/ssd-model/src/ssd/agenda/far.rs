//! Events much later than now.
//!
//! Those of flash dies come after one of a few times each: a read of each kind of page, a program, an erase. What is
//! scheduled later by the same time comes later, so a few *lanes* hold them all in order, each a queue: an event goes
//! to the back of the first lane whose last event comes no later (patience sorting). The next event is at the front of
//! some lane. What finds no lane is in a heap.

use std::collections::{BinaryHeap, VecDeque};

use super::Entry;

const LANES: usize = 8;
/// The place of the heap among the lanes.
const HEAP: usize = LANES;
const NONE: (u64, u64) = (u64::MAX, u64::MAX);

#[derive(Clone, Debug)]
pub(super) struct Far<E> {
    lanes: [VecDeque<Entry<E>>; LANES],
    /// When the last event of each lane comes, or came: no later than that of the lane before.
    last: [u64; LANES],
    heap: BinaryHeap<Entry<E>>,
    /// The key of the first event of each lane, and of the heap.
    first: [(u64, u64); LANES + 1],
    /// Where the next event is, if there is any, and its key.
    next: usize,
    next_key: (u64, u64),
}

impl<E> Default for Far<E> {
    fn default() -> Self {
        Self {
            lanes: Default::default(),
            last: [0; LANES],
            heap: BinaryHeap::new(),
            first: [NONE; LANES + 1],
            next: HEAP,
            next_key: NONE,
        }
    }
}

impl<E: Copy> Far<E> {
    /// Adds the event that was scheduled last of all.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        let lane = self.last.iter().filter(|&&last| last > entry.at).count();
        let Some(queue) = self.lanes.get_mut(lane) else {
            self.push_to_heap(entry);
            return;
        };
        if queue.is_empty() {
            self.first[lane] = entry.key();
            if entry.key() < self.next_key {
                (self.next, self.next_key) = (lane, entry.key());
            }
        }
        queue.push_back(entry);
        self.last[lane] = entry.at;
    }

    /// Adds an event that others may have been scheduled after.
    pub(super) fn push_to_heap(&mut self, entry: Entry<E>) {
        self.heap.push(entry);
        self.find_next(HEAP);
    }

    /// The key of the next event; without one, the largest of all keys.
    #[inline]
    pub(super) fn next_key(&self) -> (u64, u64) {
        self.next_key
    }

    #[inline(never)]
    pub(super) fn pop(&mut self) -> Option<E> {
        let lane = self.next;
        let entry = match self.lanes.get_mut(lane) {
            Some(queue) => queue.pop_front(),
            None => self.heap.pop(),
        };
        self.find_next(lane);
        entry.map(|entry| entry.event)
    }

    /// The first event of a lane has changed.
    #[inline]
    fn find_next(&mut self, changed: usize) {
        let first = match self.lanes.get(changed) {
            Some(queue) => queue.front(),
            None => self.heap.peek(),
        };
        self.first[changed] = first.map_or(NONE, Entry::key);
        let (mut next, mut least) = (0, self.first[0]);
        for (lane, &first) in self.first.iter().enumerate().skip(1) {
            if first < least {
                (next, least) = (lane, first);
            }
        }
        (self.next, self.next_key) = (next, least);
    }
}
