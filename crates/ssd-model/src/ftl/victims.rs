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
    Greedy(Buckets),
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
            Cleaning::Greedy => Self::Greedy(Buckets::new(blocks, slots_per_block)),
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
            Self::Greedy(buckets) => buckets.insert(block, valid),
            Self::Fifo(queue) => queue.push_back(block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] = sealed & !(1 << 31),
        }
    }

    /// A block, full or not, has one valid page fewer.
    #[inline]
    pub(super) fn lost_a_page(&mut self, block: u32, valid: u16) {
        if let Self::Greedy(buckets) = self {
            buckets.lost_a_page(block, valid);
        }
    }

    /// Takes out the next victim.
    pub(super) fn choose(&mut self, valid: &[u16], now: u32) -> Option<u32> {
        match self {
            Self::Greedy(buckets) => buckets.take_least(),
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
            Self::Greedy(buckets) => buckets.holds(block),
            Self::Fifo(queue) => queue.contains(&block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] != NOT_FULL,
        }
    }

    /// A block is cleaned although it was not chosen.
    pub(super) fn remove(&mut self, block: u32) {
        match self {
            Self::Greedy(buckets) => buckets.unlink(block),
            Self::Fifo(queue) => queue.retain(|&b| b != block),
            Self::CostBenefit { sealed_at, .. } => sealed_at[block as usize] = NOT_FULL,
        }
    }

    /// The full block with the fewest erases.
    pub(super) fn least_worn(&self, erases: &[u32]) -> Option<u32> {
        let of = |&block: &u32| (erases[block as usize], block);
        let all = 0..erases.len() as u32;
        match self {
            Self::Greedy(buckets) => all.filter(|&block| buckets.holds(block)).min_by_key(of),
            Self::Fifo(queue) => queue.iter().copied().min_by_key(of),
            Self::CostBenefit { sealed_at, .. } => {
                let full = all.filter(|&block| sealed_at[block as usize] != NOT_FULL);
                full.min_by_key(of)
            }
        }
    }
}

/// Blocks in lists by their number of valid pages. All steps take constant time.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// By block, then by number of valid pages (the ends of the lists): next and previous.
    links: Vec<(u32, u32)>,
    blocks: u32,
    /// No list below is filled.
    least: u32,
    most: u32,
}

const UNLINKED: u32 = u32::MAX;

impl Buckets {
    fn new(blocks: u32, slots_per_block: u32) -> Self {
        let end = |count| (blocks + count, blocks + count);
        let links = std::iter::repeat_n((UNLINKED, UNLINKED), blocks as usize)
            .chain((0..=slots_per_block).map(end))
            .collect();
        Self {
            links,
            blocks,
            least: slots_per_block,
            most: slots_per_block,
        }
    }

    fn holds(&self, block: u32) -> bool {
        self.links[block as usize].0 != UNLINKED
    }

    #[inline]
    fn insert(&mut self, block: u32, valid: u16) {
        let end = self.blocks + u32::from(valid);
        let last = self.links[end as usize].1;
        self.links[block as usize] = (end, last);
        self.links[last as usize].0 = block;
        self.links[end as usize].1 = block;
        self.least = self.least.min(u32::from(valid));
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let (next, last) = self.links[block as usize];
        self.links[last as usize].0 = next;
        self.links[next as usize].1 = last;
        self.links[block as usize] = (UNLINKED, UNLINKED);
    }

    #[inline]
    fn lost_a_page(&mut self, block: u32, valid: u16) {
        if self.holds(block) {
            self.unlink(block);
            self.insert(block, valid);
        }
    }

    fn take_least(&mut self) -> Option<u32> {
        loop {
            let end = self.blocks + self.least;
            let first = self.links[end as usize].0;
            if first != end {
                self.unlink(first);
                return Some(first);
            }
            if self.least == self.most {
                return None;
            }
            self.least += 1;
        }
    }
}
