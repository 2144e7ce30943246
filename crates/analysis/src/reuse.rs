//! Reuse distance: how many other pages were accessed since the last access to a page, and with it the
//! miss ratio of an LRU cache of any size (Mattson, Gecsei, Slutz, Traiger 1970).

/// Positions of last accesses, and what distances there were.
#[derive(Debug)]
pub(crate) struct Reuse {
    positions: Positions,
    next: u32,
    live: u32,
    counts: Counts,
    cold: f64,
    rate: f64,
    sampled: u64,
    /// The position behind the last access that was looked up, and the distance then: if its page is accessed next, the
    /// distance is the same, as one page moved from before it to behind it.
    run: Option<(u32, u64)>,
}

/// How often each distance was seen.
#[derive(Clone, Debug)]
enum Counts {
    /// By distance.
    Exact(Vec<u64>),
    /// By bin of [`bin_of`], scaled by the sampling rate.
    Scaled(Vec<f64>),
}

const FEWEST: usize = 1 << 12;
const SUB_BITS: u32 = 9;

/// Exact below 1024, then 512 bins for each power of two.
fn bin_of(distance: u64) -> usize {
    if distance < 1 << SUB_BITS {
        return distance as usize;
    }
    let shift = distance.ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (distance >> shift)) as usize
}

/// The smallest distance of a bin.
fn lowest_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 << SUB_BITS {
        return bin;
    }
    let shift = (bin >> SUB_BITS) - 1;
    (bin - (shift << SUB_BITS)) << shift
}

/// A set of positions that counts those up to a given one: a bit for each, and counts of blocks of bits and
/// of blocks of blocks. Sums over neighbours are faster here than the jumps of a Fenwick tree.
#[derive(Debug)]
struct Positions {
    bits: Vec<u64>,
    /// Of each block of positions.
    blocks: Vec<u32>,
    /// Of each group of blocks.
    large: Vec<u32>,
}

/// Positions of a block.
const BLOCK: u32 = 512;
/// Blocks of a group: of a million positions, about as many groups.
const GROUP: u32 = 64;
/// Words of a block.
const WORDS: u32 = BLOCK / 64;

impl Positions {
    /// Room for `size` positions, a multiple of [`BLOCK`], of which the first `taken` are in it.
    fn new(size: usize, taken: usize) -> Self {
        let blocks = size / BLOCK as usize;
        let mut positions = Self {
            bits: vec![0; size / 64],
            blocks: vec![0; blocks],
            large: vec![0; blocks / GROUP as usize + 1],
        };
        (0..taken).for_each(|position| positions.insert(position as u32));
        positions
    }

    fn len(&self) -> usize {
        64 * self.bits.len()
    }

    #[inline]
    fn insert(&mut self, position: u32) {
        self.bits[(position / 64) as usize] |= 1 << (position % 64);
        self.blocks[(position / BLOCK) as usize] += 1;
        self.large[(position / BLOCK / GROUP) as usize] += 1;
    }

    #[inline]
    fn remove(&mut self, position: u32) {
        self.bits[(position / 64) as usize] &= !(1 << (position % 64));
        self.blocks[(position / BLOCK) as usize] -= 1;
        self.large[(position / BLOCK / GROUP) as usize] -= 1;
    }

    /// How many lie at `position` or before.
    #[inline]
    fn up_to(&self, position: u32) -> u32 {
        let (word, block, large) = (position / 64, position / BLOCK, position / BLOCK / GROUP);
        let larges: u32 = self.large[..large as usize].iter().sum();
        let blocks: u32 = self.blocks[(large * GROUP) as usize..block as usize]
            .iter()
            .sum();
        let words = &self.bits[(block * WORDS) as usize..word as usize];
        let words: u32 = words.iter().map(|w| w.count_ones()).sum();
        let within = self.bits[word as usize] & (u64::MAX >> (63 - position % 64));
        larges + blocks + words + within.count_ones()
    }

    /// How many lie before each word.
    fn before_words(&self) -> Vec<u32> {
        let mut before = 0;
        let words = self.bits.iter().map(|word| {
            let here = before;
            before += word.count_ones();
            here
        });
        words.collect()
    }
}

/// The positions in their order, without gaps.
pub(crate) struct Ranks<'a> {
    positions: &'a Positions,
    before_words: Vec<u32>,
}

impl Ranks<'_> {
    /// How many positions lie before this one, which is taken.
    #[inline]
    pub(crate) fn of(&self, position: u32) -> u32 {
        let word = (position / 64) as usize;
        let within = self.positions.bits[word] & ((1 << (position % 64)) - 1);
        self.before_words[word] + within.count_ones()
    }
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            positions: Positions::new(FEWEST, 0),
            next: 0,
            live: 0,
            counts: Counts::Exact(Vec::new()),
            cold: 0.0,
            rate: 1.0,
            sampled: 0,
            run: None,
        }
    }
}

impl Reuse {
    /// A page is accessed whose last access was at position `before`, if there was one. Returns the new
    /// position.
    #[inline]
    pub(crate) fn access(&mut self, before: Option<u32>) -> u32 {
        self.sampled += 1;
        if let Some(before) = before {
            let distance = match self.run {
                Some((next, distance)) if next == before => distance,
                _ => u64::from(self.live - self.positions.up_to(before)),
            };
            self.run = Some((before + 1, distance));
            self.count(distance);
            self.positions.remove(before);
        } else {
            self.run = None;
            self.cold += 1.0;
            self.live += 1;
        }
        let position = self.next;
        self.next += 1;
        self.positions.insert(position);
        position
    }

    /// Whether positions must be given anew, by [`restart`](Self::restart).
    pub(crate) fn is_full(&self) -> bool {
        self.next as usize >= self.positions.len()
    }

    /// A page leaves the sample whose last access was at this position.
    pub(crate) fn forget(&mut self, last: u32) {
        self.run = None;
        self.live -= 1;
        self.positions.remove(last);
    }

    /// The new positions of the last accesses, for [`restart`](Self::restart).
    pub(crate) fn ranks(&self) -> Ranks<'_> {
        Ranks {
            positions: &self.positions,
            before_words: self.positions.before_words(),
        }
    }

    /// The `pages` last accesses have the positions from 0 on, in their order.
    pub(crate) fn restart(&mut self, pages: usize) {
        debug_assert_eq!(pages, self.live as usize, "a position for each page");
        self.run = None;
        let size = (3 * pages).next_multiple_of(BLOCK as usize).max(FEWEST);
        self.positions = Positions::new(size, pages);
        self.next = pages as u32;
        self.live = pages as u32;
    }

    #[inline]
    fn count(&mut self, distance: u64) {
        match &mut self.counts {
            Counts::Exact(counts) => {
                let index = distance as usize;
                if index >= counts.len() {
                    counts.resize((index + 1).next_power_of_two(), 0);
                }
                counts[index] += 1;
            }
            Counts::Scaled(counts) => {
                let bin = bin_of((distance as f64 / self.rate) as u64);
                if bin >= counts.len() {
                    counts.resize(bin + 1, 0.0);
                }
                counts[bin] += 1.0;
            }
        }
    }

    /// The sampling rate becomes `rate`, `factor` of what it was.
    pub(crate) fn lower_rate(&mut self, factor: f64, rate: f64) {
        if let Counts::Exact(exact) = &self.counts {
            let mut scaled = vec![0.0; bin_of(exact.len() as u64) + 1];
            for (distance, count) in exact.iter().enumerate() {
                scaled[bin_of(distance as u64)] += *count as f64;
            }
            self.counts = Counts::Scaled(scaled);
        }
        if let Counts::Scaled(counts) = &mut self.counts {
            counts.iter_mut().for_each(|count| *count *= factor);
        }
        self.cold *= factor;
        self.rate = rate;
    }

    /// The results, for this total number of accesses.
    pub(crate) fn curve(&self, accesses: u64) -> MissRatioCurve {
        let (mut points, mut hits): (Vec<(u64, f64)>, f64) = (Vec::new(), 0.0);
        let mut add = |distance: u64, count: f64| {
            if count > 0.0 {
                points.push((distance, count));
                hits += count;
            }
        };
        match &self.counts {
            Counts::Exact(counts) => {
                for (distance, count) in counts.iter().enumerate() {
                    add(distance as u64, *count as f64);
                }
            }
            Counts::Scaled(counts) => {
                for (bin, count) in counts.iter().enumerate() {
                    add(lowest_of(bin), *count);
                }
                // SHARDS-adj: a sample that has more or fewer accesses than it should, by chance, has
                // them in the hottest pages.
                let expected = accesses as f64 * self.rate;
                if let Some((_, first)) = points.first_mut() {
                    *first = (*first + expected - (hits + self.cold)).max(0.0);
                }
                hits = points.iter().map(|(_, count)| count).sum();
            }
        }
        MissRatioCurve {
            total: hits + self.cold,
            cold: self.cold,
            points,
        }
    }
}

/// The miss ratio of an LRU cache of whole pages, by its size.
#[derive(Clone, Debug, PartialEq)]
pub struct MissRatioCurve {
    /// Ascending distances, and how many accesses had them.
    points: Vec<(u64, f64)>,
    cold: f64,
    total: f64,
}

impl MissRatioCurve {
    /// The share of accesses that miss a cache of this number of pages: first accesses, and those with as many
    /// other pages in between. NaN without accesses.
    pub fn miss_ratio(&self, pages: u64) -> f64 {
        let below = self
            .points
            .partition_point(|(distance, _)| *distance < pages);
        let hits: f64 = self.points[..below].iter().map(|(_, count)| count).sum();
        (self.total - hits) / self.total
    }

    /// The share of accesses that are the first to their page.
    pub fn cold_share(&self) -> f64 {
        self.cold / self.total
    }

    /// The largest distance.
    pub fn longest(&self) -> u64 {
        self.points.last().map_or(0, |(distance, _)| *distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_below_1024_have_bins_of_their_own_and_larger_ones_share_them_within_a_512th() {
        for distance in 0..1024 {
            assert_eq!(
                (bin_of(distance), lowest_of(distance as usize)),
                (distance as usize, distance)
            );
        }
        // The bins of larger ones are 2, 4, 8 ... wide, and leave no gap.
        for bin in 1024..25_000 {
            let (lowest, next) = (lowest_of(bin), lowest_of(bin + 1));
            assert_eq!((bin_of(lowest), bin_of(next - 1)), (bin, bin));
            assert_eq!(next - lowest, 1 << (bin / 512 - 1), "{bin}");
            assert!(512 * (next - lowest) <= lowest, "{bin}");
        }
        assert_eq!(bin_of(u64::MAX), 512 * 56 - 1);
    }

    #[test]
    fn positions_are_counted_over_words_blocks_and_groups_of_blocks() {
        let size = ((2 * GROUP + 3) * BLOCK) as usize;
        let taken = 700;
        let mut positions = Positions::new(size, taken);
        let mut by_hand: Vec<bool> = (0..size).map(|at| at < taken).collect();
        for at in (taken..size).filter(|at| at * at % 7 < 3 || at % 512 == 511) {
            positions.insert(at as u32);
            by_hand[at] = true;
        }
        for at in (0..size).step_by(5) {
            if std::mem::take(&mut by_hand[at]) {
                positions.remove(at as u32);
            }
        }
        assert_eq!(positions.len(), size);
        let ranks = Ranks {
            positions: &positions,
            before_words: positions.before_words(),
        };
        let mut before = 0;
        for (at, &is_taken) in by_hand.iter().enumerate() {
            if is_taken {
                assert_eq!(ranks.of(at as u32), before, "{at}");
            }
            before += u32::from(is_taken);
            assert_eq!(positions.up_to(at as u32), before, "{at}");
        }
    }

    #[test]
    fn a_lower_rate_scales_what_was_counted_and_the_hottest_pages_make_up_for_chance() {
        let mut reuse = Reuse::default();
        let (a, b) = (reuse.access(None), reuse.access(None));
        let (a, _) = (reuse.access(Some(a)), reuse.access(Some(b)));
        let exact = reuse.curve(4);
        assert_eq!((exact.miss_ratio(1), exact.miss_ratio(2)), (1.0, 0.5));
        assert_eq!((exact.cold_share(), exact.longest()), (0.5, 1));
        // Half of the pages are left out, and half of all that was counted. Then one page is between two accesses to another,
        // which stands for two.
        reuse.lower_rate(0.5, 0.5);
        reuse.access(Some(a));
        // First accesses: 1; distance 1: 1; distance 2: 1. Of ten accesses, five should have been seen.
        let scaled = reuse.curve(10);
        assert_eq!(scaled.points, [(1, 3.0), (2, 1.0)]);
        let ratios = [1, 2, 3].map(|pages| scaled.miss_ratio(pages));
        assert_eq!(ratios, [1.0, 0.4, 0.2]);
        assert_eq!((scaled.cold_share(), scaled.longest()), (0.2, 2));
        assert_eq!(Reuse::default().curve(0).longest(), 0);
    }
}
