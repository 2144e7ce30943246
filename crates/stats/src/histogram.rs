//! Histograms of times with bounded relative error.
//!
//! Values below 512 ns are counted exactly; above, each power of two is cut into 512 equal bins,
//! so a bin is at most 1/512 of its value wide. A quantile is interpolated within its bin by its rank,
//! limited to the extremes, which are exact. Memory: at most 56 * 512 counters, 229 KiB, however
//! many samples.

use iosonar_units::Nanos;

const SUB_BITS: u32 = 9;
const SUB_BINS: u64 = 1 << SUB_BITS;

/// Any number of times in bounded memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<u64>,
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
        if bin >= self.bins.len() {
            self.bins.resize((bin + 1).next_multiple_of(512), 0);
        }
        self.bins[bin] += 1;
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        } else {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
        self.count += 1;
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
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
        let bins = self.bins.iter().enumerate();
        let bins = bins.filter(|(_, n)| **n > 0);
        SparseHistogram {
            bins: bins.map(|(bin, &n)| (bin as u16, n)).collect(),
            count: self.count,
            min: self.min,
            max: self.max,
        }
    }

    /// Adds all samples of `other`.
    pub fn merge_sparse(&mut self, other: &SparseHistogram) {
        let Some(&(last, _)) = other.bins.last() else {
            return;
        };
        let needed = (usize::from(last) + 1).next_multiple_of(512);
        if self.bins.len() < needed {
            self.bins.resize(needed, 0);
        }
        for &(bin, n) in &other.bins {
            self.bins[usize::from(bin)] += n;
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
        for (bin, &n) in self.bins.iter().enumerate() {
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
        let (mut bin, mut below) = (0, 0);
        let parts = if self.count == 0 { 0 } else { parts };
        (1..=parts).map(move |i| {
            let share = f64::from(i) / f64::from(parts);
            let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
            if rank == self.count {
                return Nanos::new(self.max);
            }
            while below + self.bins[bin] < rank {
                below += self.bins[bin];
                bin += 1;
            }
            self.within(bin, self.bins[bin], rank - below)
        })
    }

    /// The share of samples at most `t`, 0 to 1; samples in its own bin count as not above it. NaN
    /// without samples.
    pub fn share_up_to(&self, t: Nanos) -> f64 {
        let bins = (bin_of(t.get()) + 1).min(self.bins.len());
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
        self.bins
            .iter()
            .enumerate()
            .filter(|&(_, &n)| n > 0)
            .map(move |(bin, &n)| {
                below += n;
                CdfPoint {
                    value: Nanos::new(edges_of(bin).1.min(self.max)),
                    share: below as f64 / self.count as f64,
                }
            })
    }

    /// How many samples each bin holds, in ascending order of the bins.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            sparse.clear();
            sparse.merge_sparse(&of(&b).sparse());
            prop_assert_eq!(sparse.quantile(0.5), of(&b).quantile(0.5));
            let all = of(&[a, b].concat());
            prop_assert_eq!(merged.cdf().collect::<Vec<_>>(), all.cdf().collect::<Vec<_>>());
            prop_assert_eq!(merged.quantile(0.0), all.quantile(0.0));
        }
    }
}
