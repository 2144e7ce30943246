//! Ranges in the order of their places, which finds the first one that ends behind a sector in logarithmic time.
//!
//! A treap (Seidel and Aragon 1996): a search tree by key, and a heap by random priorities, so that no order of
//! insertions makes it deep. Each node knows the highest end in its subtree, of the ranges that were issued and of those
//! that were not.

use std::hash::{BuildHasher, RandomState};

use super::in_flight::{Of, Range};

const NIL: u32 = u32::MAX;

/// The place of a range: its first sector, then the number of its request.
pub(super) type Key = (u64, u64);

struct Node {
    key: Key,
    /// The end of the range, at the index of its kind: not issued, issued. The other one is 0.
    end: [u64; 2],
    /// The highest ends in the subtree.
    highest: [u64; 2],
    priority: u64,
    left: u32,
    right: u32,
}

/// Ranges by place.
pub(super) struct InOrder {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    random: RandomState,
}

impl InOrder {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            root: NIL,
            random: RandomState::new(),
        }
    }

    pub(super) fn insert(&mut self, range: Range, issued: bool) {
        let mut end = [0; 2];
        end[usize::from(issued)] = range.end;
        let key = (range.sector, range.number);
        let node = Node {
            key,
            end,
            highest: end,
            priority: self.random.hash_one(key),
            left: NIL,
            right: NIL,
        };
        let at = if let Some(at) = self.free.pop() {
            *self.node_mut(at) = node;
            at
        } else {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 requests in flight")
        };
        let (below, above) = self.split(self.root, key);
        let left = self.join(below, at);
        self.root = self.join(left, above);
    }

    pub(super) fn remove(&mut self, key: Key) {
        let (below, rest) = self.split(self.root, key);
        let (itself, above) = self.split(rest, (key.0, key.1 + 1));
        assert!(
            itself != NIL && self.node(itself).key == key,
            "a range is removed once"
        );
        self.free.push(itself);
        self.root = self.join(below, above);
    }

    /// The first range at or behind sector `from` of this kind that ends behind sector `behind`.
    pub(super) fn first(&self, from: u64, behind: u64, of: Of) -> Option<(Key, u64)> {
        self.first_below(self.root, from, behind, of)
    }

    fn first_below(&self, at: u32, from: u64, behind: u64, of: Of) -> Option<(Key, u64)> {
        if at == NIL {
            return None;
        }
        let node = self.node(at);
        if of.highest(node.highest) <= behind {
            return None;
        }
        if node.key.0 >= from {
            if let Some(found) = self.first_below(node.left, from, behind, of) {
                return Some(found);
            }
            let end = of.highest(node.end);
            if end > behind {
                return Some((node.key, end));
            }
        }
        self.first_below(node.right, from, behind, of)
    }

    /// The trees of the keys below `key`, and of the others.
    fn split(&mut self, at: u32, key: Key) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        if self.node(at).key < key {
            let (below, above) = self.split(self.node(at).right, key);
            self.node_mut(at).right = below;
            self.refresh(at);
            (at, above)
        } else {
            let (below, above) = self.split(self.node(at).left, key);
            self.node_mut(at).left = above;
            self.refresh(at);
            (below, at)
        }
    }

    /// The tree of both, of which all keys of `left` are below those of `right`.
    fn join(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL || right == NIL {
            return if left == NIL { right } else { left };
        }
        if self.node(left).priority > self.node(right).priority {
            let inner = self.node(left).right;
            self.node_mut(left).right = self.join(inner, right);
            self.refresh(left);
            left
        } else {
            let inner = self.node(right).left;
            self.node_mut(right).left = self.join(left, inner);
            self.refresh(right);
            right
        }
    }

    fn refresh(&mut self, at: u32) {
        let node = self.node(at);
        let mut highest = node.end;
        for child in [node.left, node.right] {
            if child != NIL {
                let child = self.node(child).highest;
                highest = [highest[0].max(child[0]), highest[1].max(child[1])];
            }
        }
        self.node_mut(at).highest = highest;
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}
