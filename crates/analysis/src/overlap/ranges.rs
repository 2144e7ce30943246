//! Ranges of sectors, and whether one of them overlaps with another range, in logarithmic time however many do.
//!
//! An AVL tree (Adelson-Velsky and Landis 1962) of the distinct ranges in the order of (device, first sector, end), each node
//! knowing the highest end below it: an interval tree (Cormen et al., section 14.3). A search goes down one path. The
//! depth is at most 1.44 log2 of the number of ranges, whatever their order: a trace cannot make it degenerate.

use std::cmp::Ordering;

use iosonar_trace::Request;

/// The sectors of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub(super) device: u16,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Range {
    /// `None` if the request has no sectors, or begins at the largest number.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let (from, to) = (request.sector.get(), request.end().get());
        let device = request.device;
        (from < to).then_some(Self { device, from, to })
    }

    pub(super) fn new(device: u16, from: u64, to: u64) -> Self {
        Self { device, from, to }
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.device == other.device && self.from < other.to && other.from < self.to
    }

    fn begin(self) -> Place {
        (self.device, self.from)
    }

    fn end(self) -> Place {
        (self.device, self.to)
    }
}

/// A device, and a sector on it.
type Place = (u16, u64);

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    range: Range,
    /// How many ranges are equal to this one, itself included.
    count: u64,
    highest_end: Place,
    left: u32,
    right: u32,
    height: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Ranges {
    nodes: Vec<Node>,
    /// Nodes that are not in the tree.
    free: Vec<u32>,
    root: u32,
    /// How many nodes the searches have visited.
    #[cfg(test)]
    pub(super) visited: std::cell::Cell<u64>,
}

impl Default for Ranges {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            root: NIL,
            #[cfg(test)]
            visited: std::cell::Cell::default(),
        }
    }
}

impl Ranges {
    pub(super) fn insert(&mut self, range: Range) {
        self.root = self.insert_below(self.root, range);
    }

    /// Takes out one that has been inserted.
    pub(super) fn remove(&mut self, range: Range) {
        self.root = self.remove_below(self.root, range);
    }

    /// Whether one of them overlaps with this one.
    pub(super) fn overlap(&self, range: Range) -> bool {
        let (begin, end) = (range.begin(), range.end());
        let mut at = self.root;
        while at != NIL {
            #[cfg(test)]
            self.visited.set(self.visited.get() + 1);
            let node = self.node(at);
            let begins_before = node.range.begin() < end;
            if begins_before && node.range.end() > begin {
                return true;
            }
            // If one on the left ends behind `begin` and yet none there overlaps, then it begins behind `end`, as do all
            // on the right.
            at = if node.left != NIL && self.node(node.left).highest_end > begin {
                node.left
            } else if begins_before {
                node.right
            } else {
                NIL
            };
        }
        false
    }

    fn insert_below(&mut self, at: u32, range: Range) -> u32 {
        if at == NIL {
            return self.new_node(range);
        }
        let Node { left, right, .. } = *self.node(at);
        match range.cmp(&self.node(at).range) {
            Ordering::Equal => {
                self.node_mut(at).count += 1;
                return at;
            }
            Ordering::Less => self.node_mut(at).left = self.insert_below(left, range),
            Ordering::Greater => self.node_mut(at).right = self.insert_below(right, range),
        }
        self.balance(at)
    }

    fn remove_below(&mut self, at: u32, range: Range) -> u32 {
        assert!(at != NIL, "what is removed has been inserted");
        let Node { left, right, .. } = *self.node(at);
        match range.cmp(&self.node(at).range) {
            Ordering::Less => self.node_mut(at).left = self.remove_below(left, range),
            Ordering::Greater => self.node_mut(at).right = self.remove_below(right, range),
            Ordering::Equal => {
                self.node_mut(at).count -= 1;
                if self.node(at).count > 0 {
                    return at;
                }
                self.free.push(at);
                if left == NIL {
                    return right;
                }
                if right == NIL {
                    return left;
                }
                let (next, right) = self.split_first(right);
                let node = self.node_mut(next);
                (node.left, node.right) = (left, right);
                return self.balance(next);
            }
        }
        self.balance(at)
    }

    /// The first node of a tree, and the rest.
    fn split_first(&mut self, at: u32) -> (u32, u32) {
        let Node { left, right, .. } = *self.node(at);
        if left == NIL {
            return (at, right);
        }
        let (first, rest) = self.split_first(left);
        self.node_mut(at).left = rest;
        (first, self.balance(at))
    }

    fn new_node(&mut self, range: Range) -> u32 {
        let node = Node {
            range,
            count: 1,
            highest_end: range.end(),
            left: NIL,
            right: NIL,
            height: 1,
        };
        if let Some(at) = self.free.pop() {
            *self.node_mut(at) = node;
            return at;
        }
        let at = self.nodes.len() as u32;
        assert!(at != NIL, "fewer than 2^32 - 1 ranges");
        self.nodes.push(node);
        at
    }

    /// The root of a tree whose halves are balanced, and differ in height by at most two.
    fn balance(&mut self, at: u32) -> u32 {
        let Node { left, right, .. } = *self.node(at);
        let (of_left, of_right) = (self.height(left), self.height(right));
        if of_left > of_right + 1 {
            let Node {
                left: outer,
                right: inner,
                ..
            } = *self.node(left);
            if self.height(inner) > self.height(outer) {
                self.node_mut(at).left = self.rotate_left(left);
            }
            return self.rotate_right(at);
        }
        if of_right > of_left + 1 {
            let Node {
                left: inner,
                right: outer,
                ..
            } = *self.node(right);
            if self.height(inner) > self.height(outer) {
                self.node_mut(at).right = self.rotate_right(right);
            }
            return self.rotate_left(at);
        }
        self.refresh(at);
        at
    }

    fn rotate_left(&mut self, at: u32) -> u32 {
        let root = self.node(at).right;
        self.node_mut(at).right = self.node(root).left;
        self.node_mut(root).left = at;
        self.refresh(at);
        self.refresh(root);
        root
    }

    fn rotate_right(&mut self, at: u32) -> u32 {
        let root = self.node(at).left;
        self.node_mut(at).left = self.node(root).right;
        self.node_mut(root).right = at;
        self.refresh(at);
        self.refresh(root);
        root
    }

    fn refresh(&mut self, at: u32) {
        let Node {
            range, left, right, ..
        } = *self.node(at);
        let (mut end, mut height) = (range.end(), 0);
        for child in [left, right] {
            if child != NIL {
                let child = self.node(child);
                end = end.max(child.highest_end);
                height = height.max(child.height);
            }
        }
        let node = self.node_mut(at);
        (node.highest_end, node.height) = (end, height + 1);
    }

    fn height(&self, at: u32) -> u8 {
        if at == NIL { 0 } else { self.node(at).height }
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Ranges {
        /// The ranges below a node in order, after checks of its height, the balance and the highest end.
        fn checked_below(&self, at: u32) -> Vec<Range> {
            if at == NIL {
                return Vec::new();
            }
            let node = self.node(at);
            let (left, right) = (self.height(node.left), self.height(node.right));
            assert_eq!(node.height, 1 + left.max(right));
            assert!(left.abs_diff(right) <= 1, "heights {left} and {right}");
            let mut ranges = self.checked_below(node.left);
            ranges.extend((0..node.count).map(|_| node.range));
            ranges.extend(self.checked_below(node.right));
            let highest = ranges.iter().map(|range| range.end()).max();
            assert_eq!(Some(node.highest_end), highest);
            ranges
        }
    }

    fn ranges() -> impl Strategy<Value = Range> {
        let length = prop_oneof![1..10_u64, 1..300_u64];
        (0..2_u16, 0..200_u64, length).prop_map(|(device, from, length)| Range {
            device,
            from,
            to: from + length,
        })
    }

    proptest! {
        #[test]
        fn a_tree_stays_balanced_and_has_what_was_inserted_and_not_removed(
            steps in prop::collection::vec((ranges(), any::<prop::sample::Index>(), 0..5_u8), 1..600),
            probe in ranges(),
        ) {
            let (mut tree, mut list) = (Ranges::default(), Vec::new());
            let half = steps.len() / 2;
            for (at, (range, index, kind)) in steps.into_iter().enumerate() {
                // It grows at first, and shrinks later.
                let inserts = kind < if at < half { 4 } else { 1 };
                if inserts || list.is_empty() {
                    tree.insert(range);
                    list.push(range);
                } else {
                    let index = index.index(list.len());
                    tree.remove(list.swap_remove(index));
                }
                let mut sorted = list.clone();
                sorted.sort_unstable();
                prop_assert_eq!(tree.checked_below(tree.root), sorted);
                let overlaps = |r: &Range| r.begin() < probe.end() && probe.begin() < r.end();
                prop_assert_eq!(tree.overlap(probe), list.iter().any(overlaps));
            }
        }
    }
}
