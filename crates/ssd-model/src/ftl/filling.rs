//! What a plane holds at the beginning.
//!
//! The state that a drive reaches under uniform random writes is known without simulating its years:
//!
//! - greedy cleaning: a block loses valid pages at a rate in proportion to those it has, and goes when it
//!   has come down to m of b. The flow through all levels is the same, so the share of blocks with i
//!   valid pages is in proportion to 1/i for m < i <= b, and m follows from the mean, the logical
//!   pages of a block. The write amplification is b / (b - m).
//! - FIFO: the valid share of a block falls as exp(-c q) while its place in the queue goes from q = 0 to
//!   1; c follows from the mean, (1 - exp(-c)) / c. The write amplification is 1 / (1 - exp(-c))
//!   (Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012).

use serde::{Deserialize, Serialize};

use super::{Cleaning, Plane, PlaneShape};

/// What a plane holds at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filling {
    /// Nothing: reads of it need no flash.
    #[serde(rename = "none")]
    Empty,
    /// Every logical page, written once in order.
    #[default]
    Sequential,
    /// Every logical page, as after uniform random writes for ever.
    SteadyState,
}

impl Plane {
    pub(super) fn fill(&mut self, filling: Filling) {
        let per_block = self.shape.slots_per_block;
        let valid = match filling {
            Filling::Empty => return,
            Filling::Sequential => {
                let pages = self.shape.logical_pages;
                let full = (pages / per_block) as usize;
                let mut valid = vec![per_block as u16; full];
                if !pages.is_multiple_of(per_block) {
                    valid.push((pages % per_block) as u16);
                }
                valid
            }
            Filling::SteadyState => steady_state(&self.shape),
        };
        let mut first_page = 0;
        for &valid in &valid {
            let block = self.free.take().expect("no more blocks than there are");
            self.first_page.push(first_page);
            first_page += u32::from(valid);
            self.valid[block as usize] = valid;
            let slot = block as usize * per_block as usize;
            set_bits(&mut self.valid_bits, slot, usize::from(valid));
            self.seals += 1;
            self.victims.add(block, valid, self.seals);
        }
        self.first_page.push(first_page);
    }
}

/// Sets `count` bits from `from` on.
fn set_bits(words: &mut [u64], from: usize, count: usize) {
    for_masks(words, from, count, |word, mask| *word |= mask);
}

/// Clears `count` bits from `from` on.
pub(super) fn clear_bits(words: &mut [u64], from: usize, count: usize) {
    for_masks(words, from, count, |word, mask| *word &= !mask);
}

/// Gives each word in which some of `count` bits from `from` on lie, with a mask of these bits.
fn for_masks(words: &mut [u64], from: usize, count: usize, each: impl Fn(&mut u64, u64)) {
    if count == 0 {
        return;
    }
    let last = from + count - 1;
    let (head, tail) = (u64::MAX << (from % 64), u64::MAX >> (63 - last % 64));
    let (first_word, last_word) = (from / 64, last / 64);
    if first_word == last_word {
        each(&mut words[first_word], head & tail);
        return;
    }
    each(&mut words[first_word], head);
    for word in &mut words[first_word + 1..last_word] {
        each(word, u64::MAX);
    }
    each(&mut words[last_word], tail);
}

impl PlaneShape {
    /// How many pages are written for one of the host's, in the steady state of uniform random writes: see above. That
    /// of cost-benefit cleaning is near the one of greedy cleaning then.
    pub fn steady_write_amplification(&self) -> f64 {
        let most = f64::from(self.slots_per_block);
        let full = f64::from(self.blocks - self.reserve);
        let mean = f64::from(self.logical_pages) / full;
        match self.cleaning {
            Cleaning::Fifo => -1.0 / libm::expm1(-fifo_decay(mean / most)),
            Cleaning::Greedy | Cleaning::CostBenefit => {
                let levels = GreedyLevels::new(self.slots_per_block, mean);
                // Of the flow through the lowest level, the share that it has of its full width 1/i ends there.
                let lowest = f64::from(levels.lowest);
                most / (most - lowest + levels.at_lowest * lowest)
            }
        }
    }
}

/// How many pages are valid in each full block, in the steady state of uniform random writes, from the
/// oldest block to the newest. All blocks but the reserve are full.
fn steady_state(shape: &PlaneShape) -> Vec<u16> {
    let blocks = (shape.blocks - shape.reserve) as usize;
    let most = f64::from(shape.slots_per_block);
    let mean = f64::from(shape.logical_pages) / blocks as f64;
    let mut valid: Vec<u16> = match shape.cleaning {
        Cleaning::Fifo => {
            let c = fifo_decay(mean / most);
            let share = |block: usize| 1.0 - (block as f64 + 0.5) / blocks as f64;
            (0..blocks)
                .map(|block| libm::round(most * libm::exp(-c * share(block))) as u16)
                .collect()
        }
        // Under uniform writes the oldest block is nearly the emptiest one too.
        Cleaning::Greedy | Cleaning::CostBenefit => {
            GreedyLevels::new(shape.slots_per_block, mean).of_blocks(blocks, shape.slots_per_block)
        }
    };
    // Rounding has left a few pages over, or taken a few too many.
    let mut missing =
        i64::from(shape.logical_pages) - valid.iter().map(|&v| i64::from(v)).sum::<i64>();
    let mut block = 0;
    while missing != 0 {
        let step = missing.signum();
        let changed = i64::from(valid[block]) + step;
        if (0..=i64::from(shape.slots_per_block)).contains(&changed) {
            valid[block] = changed as u16;
            missing -= step;
        }
        block = (block + 1) % blocks;
    }
    valid
}

/// The c of (1 - exp(-c)) / c = share.
fn fifo_decay(share: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1e6);
    for _ in 0..200 {
        let c = f64::midpoint(low, high);
        if -libm::expm1(-c) / c > share {
            low = c;
        } else {
            high = c;
        }
    }
    low
}

/// The shares of blocks by their valid pages: in proportion to 1/i down to where the mean is right.
struct GreedyLevels {
    lowest: u32,
    /// How many blocks are at that level, in the same proportion.
    at_lowest: f64,
    /// And at all levels above it.
    above: f64,
}

impl GreedyLevels {
    fn new(most: u32, mean: f64) -> Self {
        // Weights and pages of the levels above the lowest, and the lowest with its weight.
        let (mut weight, mut pages, mut lowest, mut at_lowest) = (0.0, 0.0, 0, 0.0);
        for level in (0..=most).rev() {
            let full = if level == 0 {
                f64::INFINITY
            } else {
                1.0 / f64::from(level)
            };
            // weight w at this level: (pages + level w) / (weight + w) = mean
            let w = (pages - mean * weight) / (mean - f64::from(level));
            (lowest, at_lowest) = (level, w.max(0.0));
            if mean > f64::from(level) && w <= full {
                break;
            }
            weight += full;
            pages += full * f64::from(level);
        }
        Self {
            lowest,
            at_lowest,
            above: weight,
        }
    }

    /// How many pages are valid in each of `blocks` blocks of `most` pages, from the emptiest to the fullest.
    fn of_blocks(&self, blocks: usize, most: u32) -> Vec<u16> {
        let total = self.above + self.at_lowest;
        let mut valid = Vec::with_capacity(blocks);
        let mut below = 0.0;
        for level in self.lowest..=most {
            below += if level == self.lowest {
                self.at_lowest
            } else {
                1.0 / f64::from(level)
            };
            let until = libm::round(below / total * blocks as f64) as usize;
            valid.resize(until.min(blocks).max(valid.len()), level as u16);
        }
        valid.resize(blocks, most as u16);
        valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_across_words() {
        for (from, end) in [
            (60, 160),
            (0, 64),
            (64, 128),
            (3, 9),
            (63, 65),
            (7, 7),
            (0, 256),
        ] {
            let mut words = [0; 4];
            set_bits(&mut words, from, end - from);
            for at in 0..256 {
                let set = words[at / 64] >> (at % 64) & 1 == 1;
                assert_eq!(set, (from..end).contains(&at), "{at} of {from} to {end}");
            }
        }
    }

    #[test]
    fn levels_have_the_mean_that_they_shall_have() {
        for (per_block, alpha) in [(64, 1.07), (64, 1.28), (16, 1.15), (128, 3.0), (8, 20.0)] {
            for cleaning in [Cleaning::Greedy, Cleaning::Fifo] {
                let blocks = 4_000;
                let shape = PlaneShape {
                    blocks,
                    slots_per_block: per_block,
                    slots_per_page: 1,
                    logical_pages: (f64::from(blocks * per_block) / alpha) as u32,
                    reserve: 0,
                    cleaning,
                    wear_levelling: None,
                };
                let valid = steady_state(&shape);
                assert_eq!(valid.len(), blocks as usize);
                assert_eq!(
                    valid.iter().map(|&v| u32::from(v)).sum::<u32>(),
                    shape.logical_pages
                );
                assert!(
                    valid.is_sorted_by(|a, b| a <= &(b + 1)),
                    "the oldest are the emptiest"
                );
            }
        }
    }

    fn shape(cleaning: Cleaning, blocks: u32, per_block: u32, logical_pages: u32) -> PlaneShape {
        PlaneShape {
            blocks,
            slots_per_block: per_block,
            slots_per_page: 1,
            logical_pages,
            reserve: 0,
            cleaning,
            wear_levelling: None,
        }
    }

    #[test]
    fn greedy_levels_are_in_proportion_to_one_by_their_height() {
        let levels = |blocks, per_block, logical, expected: &[(u16, usize)]| {
            let valid = steady_state(&shape(Cleaning::Greedy, blocks, per_block, logical));
            let expected = expected.iter().flat_map(|&(level, n)| vec![level; n]);
            assert_eq!(valid, expected.collect::<Vec<_>>());
        };
        // 1/2, 1/3 and 1/4 are 6, 4 and 3 twelfths, with 12 pages each.
        levels(13, 4, 36, &[(2, 6), (3, 4), (4, 3)]);
        // Of level 2 only half of that is there: a mean of 3.
        levels(10, 4, 30, &[(2, 3), (3, 4), (4, 3)]);
        // With room for empty blocks, too: a mean of 1 of 2.
        levels(4, 2, 4, &[(0, 1), (1, 2), (2, 1)]);
        // Hardly any: all are full but for one page.
        levels(10, 4, 39, &[(3, 1), (4, 9)]);
    }

    #[test]
    fn a_reserve_holds_nothing_in_the_steady_state() {
        let mut shape = shape(Cleaning::Greedy, 15, 4, 36);
        shape.reserve = 2;
        let valid = steady_state(&shape);
        assert_eq!((valid.len(), valid[0], valid[12]), (13, 2, 4));
    }

    #[test]
    fn fifo_blocks_lose_pages_exponentially() {
        // The share of valid pages falls to e^-2 while its mean is (1 - e^-2) / 2.
        let mean = (1.0 - (-2.0_f64).exp()) / 2.0;
        assert!((fifo_decay(mean) - 2.0).abs() < 1e-9);
        let logical = (1e6 * mean) as u32;
        let valid = steady_state(&shape(Cleaning::Fifo, 1_000, 1_000, logical));
        for (block, power) in [(0, -2.0_f64), (250, -1.5), (500, -1.0), (999, 0.0)] {
            let expected = 1_000.0 * power.exp();
            assert!((f64::from(valid[block]) - expected).abs() < 3.0, "{block}");
        }
    }
}
