//! Ranges of sectors that may overlap, searched in logarithmic time.
//!
//! A treap (Seidel and Aragon 1996) in the order of (first sector, number), each node knowing the
//! highest end and the lowest number below it (an interval tree, Cormen et al., section 14.3). The
//! nodes are the slots of the requests: nothing is allocated after the beginning.

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    from: u64,
    until: u64,
    number: u64,
    highest_end: u64,
    lowest_number: u64,
    left: u32,
    right: u32,
    priority: u32,
}

const EMPTY: Node = Node {
    from: 0,
    until: 0,
    number: 0,
    highest_end: 0,
    lowest_number: 0,
    left: NIL,
    right: NIL,
    priority: 0,
};

pub(super) struct Intervals {
    nodes: Vec<Node>,
    root: u32,
    random: u32,
}

impl Intervals {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            nodes: vec![EMPTY; slots as usize],
            root: NIL,
            random: 0x9e37_79b9,
        }
    }

    /// Adds the range of `slot`, the `number`th of all.
    pub(super) fn insert(&mut self, slot: u32, from: u64, until: u64, number: u64) {
        // xorshift32 (Marsaglia 2003): the shape of the tree, nothing else.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.nodes[slot as usize] = Node {
            from,
            until,
            number,
            highest_end: until,
            lowest_number: number,
            left: NIL,
            right: NIL,
            priority: self.random,
        };
        self.root = self.insert_below(self.root, slot);
    }

    /// Takes the range of `slot` out, which began at `from`.
    pub(super) fn remove(&mut self, slot: u32, from: u64, number: u64) {
        self.root = self.remove_below(self.root, slot, (from, number));
    }

    /// Among the ranges with a lower number than this one that overlap it, the one that begins last.
    #[inline]
    pub(super) fn overlapping(&self, from: u64, until: u64, number: u64) -> Option<u32> {
        self.overlapping_below(self.root, from, until, number)
    }

    fn overlapping_below(&self, at: u32, from: u64, until: u64, number: u64) -> Option<u32> {
        if at == NIL {
            return None;
        }
        let node = &self.nodes[at as usize];
        if node.highest_end <= from || node.lowest_number >= number {
            return None;
        }
        if node.from < until {
            let right = self.overlapping_below(node.right, from, until, number);
            if right.is_some() {
                return right;
            }
            if node.until > from && node.number < number {
                return Some(at);
            }
        }
        self.overlapping_below(node.left, from, until, number)
    }

    fn key(&self, at: u32) -> (u64, u64) {
        let node = &self.nodes[at as usize];
        (node.from, node.number)
    }

    fn insert_below(&mut self, at: u32, slot: u32) -> u32 {
        if at == NIL {
            return slot;
        }
        if self.nodes[slot as usize].priority > self.nodes[at as usize].priority {
            let (left, right) = self.split(at, self.key(slot));
            let node = &mut self.nodes[slot as usize];
            (node.left, node.right) = (left, right);
            self.refresh(slot);
            return slot;
        }
        if self.key(slot) < self.key(at) {
            let left = self.insert_below(self.nodes[at as usize].left, slot);
            self.nodes[at as usize].left = left;
        } else {
            let right = self.insert_below(self.nodes[at as usize].right, slot);
            self.nodes[at as usize].right = right;
        }
        self.refresh(at);
        at
    }

    fn remove_below(&mut self, at: u32, slot: u32, key: (u64, u64)) -> u32 {
        debug_assert!(at != NIL, "what is removed has been inserted");
        if at == slot {
            let Node { left, right, .. } = self.nodes[at as usize];
            return self.merge(left, right);
        }
        if key < self.key(at) {
            let left = self.remove_below(self.nodes[at as usize].left, slot, key);
            self.nodes[at as usize].left = left;
        } else {
            let right = self.remove_below(self.nodes[at as usize].right, slot, key);
            self.nodes[at as usize].right = right;
        }
        self.refresh(at);
        at
    }

    /// What is below `key`, and the rest.
    fn split(&mut self, at: u32, key: (u64, u64)) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        if self.key(at) < key {
            let (left, right) = self.split(self.nodes[at as usize].right, key);
            self.nodes[at as usize].right = left;
            self.refresh(at);
            (at, right)
        } else {
            let (left, right) = self.split(self.nodes[at as usize].left, key);
            self.nodes[at as usize].left = right;
            self.refresh(at);
            (left, at)
        }
    }

    /// One tree of two; all of `left` is below all of `right`.
    fn merge(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL {
            return right;
        }
        if right == NIL {
            return left;
        }
        if self.nodes[left as usize].priority > self.nodes[right as usize].priority {
            let below = self.merge(self.nodes[left as usize].right, right);
            self.nodes[left as usize].right = below;
            self.refresh(left);
            left
        } else {
            let below = self.merge(left, self.nodes[right as usize].left);
            self.nodes[right as usize].left = below;
            self.refresh(right);
            right
        }
    }

    fn refresh(&mut self, at: u32) {
        let node = self.nodes[at as usize];
        let (mut end, mut number) = (node.until, node.number);
        for child in [node.left, node.right] {
            if child != NIL {
                let child = &self.nodes[child as usize];
                end = end.max(child.highest_end);
                number = number.min(child.lowest_number);
            }
        }
        let node = &mut self.nodes[at as usize];
        (node.highest_end, node.lowest_number) = (end, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Intervals {
        /// The slots below a node in order. Asserts what each node promises of those below it.
        fn checked(&self, at: u32) -> Vec<u32> {
            if at == NIL {
                return Vec::new();
            }
            let node = &self.nodes[at as usize];
            for child in [node.left, node.right].into_iter().filter(|n| *n != NIL) {
                let below = self.nodes[child as usize].priority;
                assert!(below <= node.priority, "a treap is a heap");
            }
            let mut below = self.checked(node.left);
            below.push(at);
            below.extend(self.checked(node.right));
            let of = |slot: &u32| self.nodes[*slot as usize];
            let highest = below.iter().map(|slot| of(slot).until).max();
            let lowest = below.iter().map(|slot| of(slot).number).min();
            assert_eq!(Some(node.highest_end), highest);
            assert_eq!(Some(node.lowest_number), lowest);
            below
        }
    }

    #[test]
    fn a_range_is_found_if_it_overlaps_and_came_before() {
        let mut intervals = Intervals::new(3);
        intervals.insert(0, 10, 20, 5);
        intervals.insert(1, 30, 40, 6);
        intervals.insert(2, 15, 35, 7);
        for (from, until, number, found) in [
            (0, 10, 9, None),
            (0, 11, 9, Some(0)),
            (19, 20, 6, Some(0)),
            (20, 30, 6, None),
            (20, 30, 9, Some(2)),
            // Of several, that which begins last.
            (0, 100, 9, Some(1)),
            (39, 41, 9, Some(1)),
            (40, 50, 9, None),
            // Only those with a lower number.
            (0, 100, 5, None),
            (0, 100, 6, Some(0)),
            (16, 31, 7, Some(1)),
            (20, 30, 7, None),
        ] {
            let overlapping = intervals.overlapping(from, until, number);
            assert_eq!(overlapping, found, "{from}..{until} {number}");
        }
    }

    #[test]
    fn the_tree_is_in_order_and_a_heap_and_finds_what_a_list_finds() {
        const SLOTS: u64 = 64;
        let mut intervals = Intervals::new(SLOTS as u32);
        // By slot: from, until, number.
        let mut all: Vec<Option<(u64, u64, u64)>> = vec![None; SLOTS as usize];
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for number in 0..2000 {
            let slot = next(SLOTS);
            if let Some((from, _, number)) = all[slot as usize].take() {
                intervals.remove(slot as u32, from, number);
            } else {
                let from = next(100);
                let until = from + 1 + next(20);
                all[slot as usize] = Some((from, until, number));
                intervals.insert(slot as u32, from, until, number);
            }
            let in_order = intervals.checked(intervals.root);
            let keys: Vec<_> = in_order.iter().map(|slot| intervals.key(*slot)).collect();
            assert!(keys.is_sorted());
            assert_eq!(keys.len(), all.iter().flatten().count());
            let (from, before) = (next(120), number - next(40).min(number));
            let until = from + 1 + next(5);
            let overlaps =
                |range: &(u64, u64, u64)| range.0 < until && range.1 > from && range.2 < before;
            let listed = (0..)
                .zip(&all)
                .filter(|(_, range)| range.as_ref().is_some_and(overlaps));
            let last =
                listed.max_by_key(|(_, range)| range.map(|(from, _, number)| (from, number)));
            let found = intervals.overlapping(from, until, before);
            assert_eq!(found, last.map(|(slot, _)| slot));
        }
    }
}
