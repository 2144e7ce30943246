//! Histograms of times with bounded relative error.
//!
//! Values below 512 ns are counted exactly; above, each power of two is cut into 512 equal bins,
//! so a bin is at most 1/512 of its value wide. A quantile is interpolated within its bin by its rank,
//! limited to the extremes, which are exact. Memory: a counter for each bin between the extremes, at most 56 * 512
//! counters, 229 KiB, however many samples.

use iosonar_units::Nanos;

const SUB_BITS: u32 = 9;
const SUB_BINS: u64 = 1 << SUB_BITS;
/// Memory grows by this many bins, 4 KiB, at either end.
const BLOCK: usize = 512;

/// Any number of times in bounded memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The counts of the bins from `first` on, as far as there are samples, in whole blocks of 512.
    bins: Vec<u64>,
    first: usize,
    count: u64,
    min: u64,
    max: u64,
}

/// A [`Histogram`] without its empty bins: for many of them that are kept, and added up later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// Bins with their counts, in their order. There are 28 672 bins.
    bins: Vec<(u16, u64)>,
    count: u64,
    min: u64,
    max: u64,
}

/// A step of the empirical distribution function: the share of samples that are at most `value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdfPoint {
    /// A time; the upper edge of a bin, or an exact extreme.
    pub value: Nanos,
    /// The share of samples not above it, 0 to 1.
    pub share: f64,
}

#[inline]
fn bin_of(value: u64) -> usize {
    if value < SUB_BINS {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The smallest and the largest value that fall into `bin`.
fn edges_of(bin: usize) -> (u64, u64) {
    let bin = bin as u64;
    if bin < 2 * SUB_BINS {
        return (bin, bin);
    }
    let shift = (bin >> SUB_BITS) - 1;
    let low = (bin - (shift << SUB_BITS)) << shift;
    (low, low + ((1 << shift) - 1))
}

impl Histogram {
    /// How far a reported quantile may be from the sample it stands for, relative to it. Where the
    /// samples of a bin are spread evenly it is much nearer.
    pub const RELATIVE_ERROR: f64 = 1.0 / SUB_BINS as f64;

    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, t: Nanos) {
        let value = t.get();
        let bin = bin_of(value);
        // A bin before the first one wraps round, to a large number.
        let mut at = bin.wrapping_sub(self.first);
        if at >= self.bins.len() {
            self.cover(bin, bin + 1);
            at = bin - self.first;
        }
        self.bins[at] += 1;
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        } else {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
        self.count += 1;
    }

    /// Makes room for the bins from `from` up to `end`.
    #[inline(never)]
    fn cover(&mut self, from: usize, end: usize) {
        let from = from - from % BLOCK;
        if self.bins.is_empty() {
            self.first = from;
        } else if from < self.first {
            let before = std::iter::repeat_n(0, self.first - from);
            drop(self.bins.splice(..0, before));
            self.first = from;
        }
        let needed = end.next_multiple_of(BLOCK) - self.first;
        if self.bins.len() < needed {
            self.bins.resize(needed, 0);
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.cover(other.first, other.first + other.bins.len());
        let mine = &mut self.bins[other.first - self.first..];
        for (mine, theirs) in mine.iter_mut().zip(&other.bins) {
            *mine += theirs;
        }
        self.add_extremes(other.count, other.min, other.max);
    }

    /// Removes all samples; the memory stays.
    pub fn clear(&mut self) {
        self.bins.fill(0);
        (self.count, self.min, self.max) = (0, 0, 0);
    }

    /// The same without the empty bins.
    pub fn sparse(&self) -> SparseHistogram {
        let bins = self.counts().filter(|(_, n)| *n > 0);
        SparseHistogram {
            bins: bins.map(|(bin, n)| (bin as u16, n)).collect(),
            count: self.count,
            min: self.min,
            max: self.max,
        }
    }

    /// Adds all samples of `other`.
    pub fn merge_sparse(&mut self, other: &SparseHistogram) {
        let (Some((first, _)), Some((last, _))) = (other.bins.first(), other.bins.last()) else {
            return;
        };
        self.cover(usize::from(*first), usize::from(*last) + 1);
        for &(bin, n) in &other.bins {
            self.bins[usize::from(bin) - self.first] += n;
        }
        self.add_extremes(other.count, other.min, other.max);
    }

    /// Takes over the extremes and the number of further samples.
    fn add_extremes(&mut self, count: u64, min: u64, max: u64) {
        self.min = match self.count {
            0 => min,
            _ => self.min.min(min),
        };
        self.max = self.max.max(max);
        self.count += count;
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest time with at least a share `p` of all samples at or below it, within
    /// [`Histogram::RELATIVE_ERROR`]; `p` = 0 and 1 give the exact extremes. `None` without samples.
    pub fn quantile(&self, p: f64) -> Option<Nanos> {
        if self.count == 0 {
            return None;
        }
        let rank = ((p.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(Nanos::new(self.max));
        }
        if p <= 0.0 {
            return Some(Nanos::new(self.min));
        }
        let mut below = 0;
        for (bin, n) in self.counts() {
            if below + n >= rank {
                return Some(self.within(bin, n, rank - below));
            }
            below += n;
        }
        unreachable!("the counts of the bins add up to the count of the histogram")
    }

    /// Sample `rank`, from 1, of the `n` in a bin: as if they were spread evenly over it.
    fn within(&self, bin: usize, n: u64, rank: u64) -> Nanos {
        let (low, high) = edges_of(bin);
        let part = (rank as f64 - 0.5) / n as f64;
        let value = low + ((high - low) as f64 * part) as u64;
        Nanos::new(value.clamp(self.min, self.max))
    }

    /// The quantiles 1 / `parts`, 2 / `parts`, ... 1, as [`Histogram::quantile`] has them, in one go. None without
    /// samples.
    pub fn quantiles(&self, parts: u32) -> impl Iterator<Item = Nanos> + '_ {
        let (mut at, mut below) = (0, 0);
        let parts = if self.count == 0 { 0 } else { parts };
        (1..=parts).map(move |i| {
            let share = f64::from(i) / f64::from(parts);
            let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
            if rank == self.count {
                return Nanos::new(self.max);
            }
            while below + self.bins[at] < rank {
                below += self.bins[at];
                at += 1;
            }
            self.within(self.first + at, self.bins[at], rank - below)
        })
    }

    /// The share of samples at most `t`, 0 to 1; samples in its own bin count as not above it. NaN
    /// without samples.
    pub fn share_up_to(&self, t: Nanos) -> f64 {
        let bins = (bin_of(t.get()) + 1).saturating_sub(self.first);
        let bins = bins.min(self.bins.len());
        self.bins[..bins].iter().sum::<u64>() as f64 / self.count as f64
    }

    /// Whether a quantile is based on enough samples to be printed without a flag: at least
    /// 10 / min(p, 1 - p) of them.
    pub fn supports_quantile(&self, p: f64) -> bool {
        // 1 - 0.9 is a little less than 0.1.
        self.count as f64 * p.min(1.0 - p) >= 10.0 - 1e-6
    }

    /// The distribution function: one point per non-empty bin, ascending, the last with share 1.
    pub fn cdf(&self) -> impl Iterator<Item = CdfPoint> + '_ {
        let mut below = 0;
        self.counts().filter(|&(_, n)| n > 0).map(move |(bin, n)| {
            below += n;
            CdfPoint {
                value: Nanos::new(edges_of(bin).1.min(self.max)),
                share: below as f64 / self.count as f64,
            }
        })
    }

    /// Bins with how many samples each holds, in ascending order; of those that are not there, none.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let bins = self.bins.iter().enumerate();
        bins.map(|(at, &n)| (self.first + at, n))
    }

    /// How many samples a bin holds.
    pub(crate) fn count_of(&self, bin: usize) -> u64 {
        let at = bin.checked_sub(self.first);
        at.and_then(|at| self.bins.get(at)).copied().unwrap_or(0)
    }

    /// The first bin behind those that hold samples, and perhaps some more.
    pub(crate) fn end(&self) -> usize {
        self.first + self.bins.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_distribution_function_has_a_step_for_each_bin_with_samples() {
        let mut h = Histogram::default();
        for value in [5, 5, 7, 4097, 4100] {
            h.push(Nanos::new(value));
        }
        let steps: Vec<(u64, f64)> = h.cdf().map(|step| (step.value.get(), step.share)).collect();
        // The last bin ends at 4103, but no sample is above 4100.
        assert_eq!(steps, [(5, 0.4), (7, 0.6), (4100, 1.0)]);
        for (t, share) in [
            (4, 0.0),
            (5, 0.4),
            (6, 0.4),
            (7, 0.6),
            (4095, 0.6),
            (4096, 1.0),
        ] {
            assert_eq!(h.share_up_to(Nanos::new(t)), share, "{t}");
        }
        assert_eq!(h.share_up_to(Nanos::SECOND), 1.0);
        assert!(Histogram::default().share_up_to(Nanos::SECOND).is_nan());
    }

    #[test]
    fn samples_of_a_bin_are_spread_evenly_over_it() {
        // From 4096 on, bins have 8 values: the four samples of one are at its eighths 1, 3, 5 and 7.
        assert_eq!(edges_of(bin_of(4096)), (4096, 4103));
        let mut h = Histogram::default();
        for value in [0, 4096, 4096, 4103, 4103, 5000] {
            h.push(Nanos::new(value));
        }
        let found: Vec<u64> = (2..=5)
            .map(|rank| h.quantile(f64::from(rank) / 6.0).unwrap().get())
            .collect();
        assert_eq!(found, [4096, 4098, 4100, 4102]);
    }

    #[test]
    fn what_is_sparse_is_merged_wherever_it_begins() {
        let of = |values: &[u64]| {
            let mut h = Histogram::default();
            values.iter().for_each(|value| h.push(Nanos::new(*value)));
            h
        };
        for (mine, theirs) in [
            (&[1_000_000_u64][..], &[3_u64, 70][..]),
            (&[5], &[1 << 40, 1 << 41]),
            (&[], &[127, 128, 129]),
            (&[64], &[128]),
        ] {
            let (mut merged, theirs) = (of(mine), of(theirs));
            let sparse = theirs.sparse();
            assert!(sparse.bins.iter().all(|(_, n)| *n > 0));
            merged.merge_sparse(&sparse);
            let mut expected = of(mine);
            expected.merge(&theirs);
            let steps = |h: &Histogram| h.cdf().collect::<Vec<_>>();
            assert_eq!(steps(&merged), steps(&expected));
            assert_eq!(merged.count(), expected.count());
        }
    }

    #[test]
    fn the_widest_bins_are_those_of_the_relative_error() {
        let widths = (0..5_000).map(edges_of).filter(|(low, high)| high > low);
        let widest = widths.map(|(low, high)| (high - low + 1) as f64 / low as f64);
        assert_eq!(widest.fold(0.0, f64::max), Histogram::RELATIVE_ERROR);
    }

    #[test]
    fn bins_tile_the_numbers_without_gap_or_overlap() {
        let mut next = 0;
        for bin in 0..56 * 512 {
            let (low, high) = edges_of(bin);
            assert_eq!(low, next, "bin {bin}");
            assert_eq!((bin_of(low), bin_of(high)), (bin, bin));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bin ends with the largest number");
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn memory_reaches_from_the_first_sample_to_the_last() {
        let mut h = Histogram::default();
        for (value, blocks) in [
            (10_000_000, 1),
            (12_000_000, 1),
            (20_000_000, 2),
            (3_000_000, 4),
        ] {
            h.push(Nanos::new(value));
            assert_eq!(h.bins.len(), blocks * BLOCK, "after {value}");
        }
        assert_eq!(h.quantile(0.0), Some(Nanos::new(3_000_000)));
        assert_eq!(h.share_up_to(Nanos::new(1_000)), 0.0);
        assert_eq!(h.share_up_to(Nanos::new(11_000_000)), 0.5);
        assert_eq!(h.share_up_to(Nanos::MAX), 1.0);
    }

    #[test]
    fn few_samples_do_not_support_far_quantiles() {
        let mut h = Histogram::default();
        (0..100).for_each(|i| h.push(Nanos::new(i)));
        assert!(h.supports_quantile(0.9));
        assert!(!h.supports_quantile(0.99));
    }

    proptest! {
        #[test]
        fn quantiles_keep_their_promised_error(
            mut values in prop::collection::vec(0_u64..u64::MAX / 2, 1..200),
            p in 0.0..=1.0_f64,
        ) {
            let mut h = Histogram::default();
            values.iter().for_each(|&v| h.push(Nanos::new(v)));
            values.sort_unstable();
            let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let told = h.quantile(p).unwrap().get() as f64;
            prop_assert!((told - exact).abs() <= exact * Histogram::RELATIVE_ERROR + 1e-9);
        }

        #[test]
        fn merging_equals_pushing_all(
            a in prop::collection::vec(0_u64..1 << 40, 0..50),
            b in prop::collection::vec(0_u64..1 << 40, 0..50),
        ) {
            let of = |values: &[u64]| {
                let mut h = Histogram::default();
                values.iter().for_each(|&v| h.push(Nanos::new(v)));
                h
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let mut sparse = of(&a);
            sparse.merge_sparse(&of(&b).sparse());
            prop_assert_eq!(&sparse, &merged);
            prop_assert_eq!(&merged, &of(&[a.clone(), b.clone()].concat()));
            sparse.clear();
            sparse.merge_sparse(&of(&b).sparse());
            prop_assert_eq!(sparse.quantile(0.5), of(&b).quantile(0.5));
            let all = of(&[a, b].concat());
            prop_assert_eq!(merged.cdf().collect::<Vec<_>>(), all.cdf().collect::<Vec<_>>());
            prop_assert_eq!(merged.quantile(0.0), all.quantile(0.0));
        }
    }
}
