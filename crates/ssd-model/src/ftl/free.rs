//! Erased blocks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The blocks that can be written, the least worn first: never used ones, then those with the fewest
/// erases.
#[derive(Clone, Debug)]
pub(super) struct FreeBlocks {
    /// From here on blocks were never used.
    unused: u32,
    blocks: u32,
    erased: BinaryHeap<Reverse<(u32, u32)>>,
}

impl FreeBlocks {
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            unused: 0,
            blocks,
            erased: BinaryHeap::new(),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.blocks - self.unused + self.erased.len() as u32
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        if self.unused < self.blocks {
            self.unused += 1;
            return Some(self.unused - 1);
        }
        self.erased.pop().map(|Reverse((_, block))| block)
    }

    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self.erased.push(Reverse((erases, block)));
    }
}
