//! Which block is cleaned next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How a victim is chosen among the full blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cleaning {
    /// The one with the fewest valid pages; of several the one that has waited for longest.
    #[default]
    Greedy,
    /// The one that was filled first.
    Fifo,
    /// The one with the most of (1 - u) / 2u x age, u being the valid share (Rosenblum, Ousterhout,
    /// "The design and implementation of a log-structured file system", TOCS 1992; the form with 2u is
    /// that of Kawaguchi et al., "A flash-memory based file system", USENIX 1995).
    CostBenefit,
}

/// The full blocks, by what the choice of a victim looks at.
#[derive(Clone, Debug)]
pub(super) enum Victims {
    Greedy(Greedy),
    Fifo(VecDeque<u32>),
    CostBenefit {
        /// By block: when it was sealed; [`NOT_FULL`] where it is not.
        sealed_at: Vec<u32>,
        slots_per_block: u32,
    },
}

const NOT_FULL: u32 = u32::MAX;

impl Victims {
    pub(super) fn new(cleaning: Cleaning, blocks: u32, slots_per_block: u32) -> Self {
        match cleaning {
            Cleaning::Greedy => Self::Greedy(Greedy::new(blocks)),
            Cleaning::Fifo => Self::Fifo(VecDeque::new()),
            Cleaning::CostBenefit => Self::CostBenefit {
                sealed_at: vec![NOT_FULL; blocks as usize],
                slots_per_block,
            },
        }
    }

    /// A block is full now.
    pub(super) fn add(&mut self, block: u32, valid: u16, sealed: u32) {
        match self {
            Self::Greedy(greedy) => greedy.insert(block, valid),
            Self::Fifo(queue) => queue.push_back(block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] = sealed & !(1 << 31),
        }
    }

    /// A block, full or not, has fewer valid pages.
    #[inline]
    pub(super) fn lost_pages(&mut self, block: u32, valid: u16) {
        if let Self::Greedy(greedy) = self {
            greedy.lost_pages(block, valid);
        }
    }

    /// Takes out the next victim.
    pub(super) fn choose(&mut self, valid: &[u16], now: u32) -> Option<u32> {
        match self {
            Self::Greedy(greedy) => greedy.take_least(),
            Self::Fifo(queue) => queue.pop_front(),
            Self::CostBenefit {
                sealed_at,
                slots_per_block,
            } => {
                let all = f64::from(*slots_per_block);
                let now = now & !(1 << 31);
                let worth = |&(block, &sealed): &(usize, &u32)| {
                    let valid = f64::from(valid[block]);
                    let age = f64::from(now.wrapping_sub(sealed) & !(1 << 31)) + 1.0;
                    (all - valid) / (2.0 * valid) * age
                };
                let full = sealed_at
                    .iter()
                    .enumerate()
                    .filter(|(_, s)| **s != NOT_FULL);
                let best = full.max_by(|a, b| worth(a).total_cmp(&worth(b)))?.0;
                sealed_at[best] = NOT_FULL;
                Some(best as u32)
            }
        }
    }

    /// Whether a block is full, and may be cleaned.
    pub(super) fn holds(&self, block: u32) -> bool {
        match self {
            Self::Greedy(greedy) => greedy.holds(block),
            Self::Fifo(queue) => queue.contains(&block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] != NOT_FULL,
        }
    }

    /// A block is cleaned although it was not chosen.
    pub(super) fn remove(&mut self, block: u32) {
        match self {
            Self::Greedy(greedy) => greedy.remove(block),
            Self::Fifo(queue) => queue.retain(|&b| b != block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] = NOT_FULL,
        }
    }

    /// The full block with the fewest erases.
    pub(super) fn least_worn(&self, erases: &[u32]) -> Option<u32> {
        let of = |&block: &u32| (erases[block as usize], block);
        let all = 0..erases.len() as u32;
        match self {
            Self::Greedy(greedy) => all.filter(|&block| greedy.holds(block)).min_by_key(of),
            Self::Fifo(queue) => queue.iter().copied().min_by_key(of),
            Self::CostBenefit { sealed_at, .. } => {
                let full = all.filter(|&block| sealed_at[block as usize] != NOT_FULL);
                full.min_by_key(of)
            }
        }
    }
}

/// The blocks that may be cleaned, by a key: the number of valid pages, and how late the block came to have it. So the
/// least key is that of the victim. A block that loses a page gets a smaller key, which costs two accesses; the search
/// for the least one, rare against these, goes through groups of blocks.
#[derive(Clone, Debug)]
pub(super) struct Greedy {
    /// By block; [`NO_KEY`] where it is not full.
    keys: Vec<u64>,
    /// By group of blocks: the least of their keys.
    least: Vec<u64>,
    /// A group has 2 to this power of blocks.
    group_bits: u32,
    /// How many keys there were.
    turns: u64,
}

const NO_KEY: u64 = u64::MAX;
/// Below the number of valid pages, the rest of a key is its turn.
const TURN_BITS: u32 = 48;

impl Greedy {
    fn new(blocks: u32) -> Self {
        // As many groups as blocks in each.
        let group_bits = blocks.ilog2() / 2;
        Self {
            keys: vec![NO_KEY; blocks as usize],
            least: vec![NO_KEY; (blocks as usize).div_ceil(1 << group_bits)],
            group_bits,
            turns: 0,
        }
    }

    fn holds(&self, block: u32) -> bool {
        self.keys[block as usize] != NO_KEY
    }

    /// Gives a block a key that is smaller than its last one.
    #[inline]
    fn insert(&mut self, block: u32, valid: u16) {
        self.turns += 1;
        debug_assert!(self.turns < 1 << TURN_BITS, "turns last for ever");
        let key = u64::from(valid) << TURN_BITS | self.turns;
        debug_assert!(key < self.keys[block as usize], "pages are only lost");
        self.keys[block as usize] = key;
        let least = &mut self.least[(block >> self.group_bits) as usize];
        *least = key.min(*least);
    }

    #[inline]
    fn lost_pages(&mut self, block: u32, valid: u16) {
        if self.holds(block) {
            self.insert(block, valid);
        }
    }

    fn remove(&mut self, block: u32) {
        self.keys[block as usize] = NO_KEY;
        let group = (block >> self.group_bits) as usize;
        self.least[group] = self.blocks_of(group).min().unwrap_or(NO_KEY);
    }

    fn blocks_of(&self, group: usize) -> impl Iterator<Item = u64> {
        let first = group << self.group_bits;
        let end = (first + (1 << self.group_bits)).min(self.keys.len());
        self.keys[first..end].iter().copied()
    }

    fn take_least(&mut self) -> Option<u32> {
        let (group, &least) = self.least.iter().enumerate().min_by_key(|(_, key)| **key)?;
        if least == NO_KEY {
            return None;
        }
        let within = self.blocks_of(group).position(|key| key == least);
        let within = within.expect("the least key is that of a block");
        let block = ((group << self.group_bits) + within) as u32;
        self.remove(block);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_blocks_with_as_few_valid_pages_the_one_that_has_waited_for_longest_goes() {
        let mut greedy = Greedy::new(9);
        for (block, valid) in [(4, 7), (2, 7), (7, 9), (0, 7), (8, 7)] {
            greedy.insert(block, valid);
        }
        // One that is not full does not count; one comes down to the others; one is cleaned for another reason.
        greedy.lost_pages(5, 3);
        greedy.lost_pages(7, 8);
        greedy.lost_pages(7, 7);
        greedy.remove(0);
        let order: Vec<u32> = std::iter::from_fn(|| greedy.take_least()).collect();
        assert_eq!(order, [4, 2, 8, 7]);
        greedy.insert(4, 9);
        greedy.insert(5, 2);
        assert!(greedy.holds(4) && !greedy.holds(2));
        assert_eq!(
            (greedy.take_least(), greedy.take_least()),
            (Some(5), Some(4))
        );
    }
}
