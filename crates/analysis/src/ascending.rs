//! A priority queue for what comes nearly in order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Takes things in any order and gives them back in ascending order. What comes in order costs little.
#[derive(Clone, Debug)]
pub(crate) struct Ascending<T> {
    /// In order.
    tail: VecDeque<T>,
    /// What came when the tail was beyond it.
    late: BinaryHeap<Reverse<T>>,
}

impl<T> Default for Ascending<T> {
    fn default() -> Self {
        Self {
            tail: VecDeque::new(),
            late: BinaryHeap::new(),
        }
    }
}

impl<T: Ord> Ascending<T> {
    pub(crate) fn push(&mut self, item: T) {
        if self.tail.back().is_none_or(|last| *last <= item) {
            self.tail.push_back(item);
        } else {
            self.late.push(Reverse(item));
        }
    }

    fn is_late_first(&self) -> bool {
        let late = self.late.peek().map(|Reverse(item)| item);
        late.is_some_and(|late| self.tail.front().is_none_or(|first| late < first))
    }

    pub(crate) fn first(&self) -> Option<&T> {
        match self.is_late_first() {
            true => self.late.peek().map(|Reverse(item)| item),
            false => self.tail.front(),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        match self.is_late_first() {
            true => self.late.pop().map(|Reverse(item)| item),
            false => self.tail.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_comes_in_any_order_leaves_in_ascending_order(
            steps in prop::collection::vec((0_u64..40, 0_usize..3), 1..500),
        ) {
            let (mut ascending, mut sorted) = (Ascending::default(), Vec::new());
            for ((late, pops), number) in steps.into_iter().zip(0_u64..) {
                // Some are in order, as records are.
                let item = (number + late / 2 * (late % 2), number);
                ascending.push(item);
                sorted.push(item);
                sorted.sort_unstable_by_key(|&item| Reverse(item));
                for _ in 0..pops {
                    prop_assert_eq!(ascending.first().copied(), sorted.last().copied());
                    prop_assert_eq!(ascending.pop(), sorted.pop());
                }
            }
        }
    }
}
