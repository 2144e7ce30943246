//! How uneven arrivals are: peak to mean, index of dispersion, Hurst parameter.

use iosonar_stats::Histogram;
use iosonar_units::Nanos;

/// A variance of fewer counts says little, and of one nothing.
const FEWEST: u64 = 10;

/// The variance of the counts of fewer requests follows from their number, not from how they arrive.
const FEWEST_FOR_HURST: u128 = 100;

/// Counts per slot, at slots of base, 2 base, 4 base ...: sums and squares of each level.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    slot: Nanos,
    current: u64,
    count: u64,
    levels: Vec<Level>,
    begun: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    n: u64,
    sum: u128,
    squares: u128,
    most: u64,
    /// The first of a pair that goes up together.
    pending: Option<u64>,
}

/// Whole slots from the first request, the last begun one included.
impl Counts {
    pub(crate) fn new(slot: Nanos) -> Self {
        Self {
            slot,
            current: 0,
            count: 0,
            levels: vec![Level::default(); 40],
            begun: None,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, time: Nanos) {
        let begun = *self.begun.get_or_insert(time);
        let slot = time.saturating_sub(begun).get() / self.slot.get();
        if slot != self.current {
            self.end_slots(slot);
        }
        self.count += 1;
    }

    fn end_slots(&mut self, to: u64) {
        self.up(0, self.count);
        self.count = 0;
        let empty = to - self.current - 1;
        self.skip(empty);
        self.current = to;
    }

    /// Adds this number of empty slots, in time logarithmic in the number.
    fn skip(&mut self, mut empty: u64) {
        for level in 0..self.levels.len() {
            if empty == 0 {
                return;
            }
            if self.levels[level].pending.is_some() {
                self.up(level, 0);
                empty -= 1;
            }
            // Pairs of nothing go up as one; an odd one waits for its second.
            let this = &mut self.levels[level];
            this.n += empty;
            if empty % 2 == 1 {
                this.pending = Some(0);
            }
            empty /= 2;
        }
    }

    fn up(&mut self, level: usize, count: u64) {
        let Some(this) = self.levels.get_mut(level) else {
            return;
        };
        this.n += 1;
        this.sum += u128::from(count);
        this.squares += u128::from(count) * u128::from(count);
        this.most = this.most.max(count);
        match this.pending.take() {
            None => this.pending = Some(count),
            Some(first) => self.up(level + 1, first + count),
        }
    }

    /// Ends the last slot.
    pub(crate) fn finish(mut self) -> Self {
        if self.begun.is_some() {
            self.up(0, self.count);
        }
        self
    }

    /// Variance over mean of the counts of level 0; NaN with too few slots.
    pub(crate) fn dispersion(&self) -> f64 {
        if self.levels[0].n < FEWEST {
            return f64::NAN;
        }
        let (mean, variance) = self.levels[0].moments();
        variance / mean
    }

    /// The most in a slot of level 0.
    pub(crate) fn most(&self) -> u64 {
        self.levels[0].most
    }

    /// The most in a slot, over the mean.
    pub(crate) fn peak_to_mean(&self) -> f64 {
        self.most() as f64 / self.levels[0].moments().0
    }

    /// Variance over mean at each level with enough slots, with the length of its slots.
    pub(crate) fn dispersions(&self) -> Vec<(Nanos, f64)> {
        let enough = self
            .levels
            .iter()
            .enumerate()
            .take_while(|(_, l)| l.n >= FEWEST);
        enough
            .map(|(i, level)| {
                let (mean, variance) = level.moments();
                (Nanos::new(self.slot.get() << i), variance / mean)
            })
            .collect()
    }

    /// The Hurst parameter by the variance-time plot: the variance of means over blocks of m slots falls
    /// like `m^(2H - 2)`. Least squares over the levels with at least 16 blocks. `None` with fewer than four
    /// of them, without variance, or with few requests: slots of one request or none look independent.
    pub(crate) fn hurst(&self) -> Option<Hurst> {
        if self.levels[0].sum < FEWEST_FOR_HURST {
            return None;
        }
        let points: Vec<(f64, f64)> = self
            .levels
            .iter()
            .enumerate()
            .take_while(|(_, level)| level.n >= 16)
            .filter_map(|(i, level)| {
                let (_, variance) = level.moments();
                let m = 2_f64.powi(i as i32);
                (variance > 0.0).then(|| (m.ln(), (variance / (m * m)).ln()))
            })
            .collect();
        if points.len() < 4 {
            return None;
        }
        let n = points.len() as f64;
        let (mx, my) = (
            points.iter().map(|p| p.0).sum::<f64>() / n,
            points.iter().map(|p| p.1).sum::<f64>() / n,
        );
        let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let syy: f64 = points.iter().map(|p| (p.1 - my).powi(2)).sum();
        let slope = sxy / sxx;
        let residual = (syy - slope * sxy).max(0.0);
        Some(Hurst {
            value: 1.0 + slope / 2.0,
            stderr: (residual / (n - 2.0) / sxx).sqrt() / 2.0,
        })
    }
}

impl Level {
    /// Mean and variance (over n).
    fn moments(&self) -> (f64, f64) {
        let n = self.n as f64;
        let mean = self.sum as f64 / n;
        // Sums of squares are exact, their difference is taken in integers.
        let scaled = u128::from(self.n) * self.squares - self.sum * self.sum;
        (mean, scaled as f64 / (n * n))
    }
}

/// An estimate of the Hurst parameter: 0.5 for independent arrivals, towards 1 for bursts at all scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hurst {
    /// The estimate.
    pub value: f64,
    /// The standard error of the fit; the levels are not independent, so the true one is larger.
    pub stderr: f64,
}

/// How uneven arrivals are.
#[derive(Clone, Debug)]
pub struct Burstiness {
    /// Most requests in a second.
    pub most_per_s: u64,
    /// That over the mean per second.
    pub peak_to_mean: f64,
    /// Variance over mean of the counts per second: whole seconds from the first request, empty ones
    /// included. 1 for a Poisson process.
    pub dispersion: f64,
    /// The same for slots of 10 ms and its powers of two.
    pub dispersions: Vec<(Nanos, f64)>,
    /// From the slots of 10 ms on.
    pub hurst: Option<Hurst>,
    /// Times between successive starts.
    pub interarrival: Histogram,
    /// Standard deviation over mean of these times.
    pub interarrival_cv: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_of_all_levels_are_those_of_whole_slots(gaps in prop::collection::vec(0..40_u64, 1..60)) {
            let mut counts = Counts::new(Nanos::new(3));
            let mut now = 100;
            let mut by_hand: Vec<u64> = Vec::new();
            for gap in gaps {
                now += gap;
                counts.push(Nanos::new(now));
                by_hand.push(now);
            }
            let counts = counts.finish();
            let begin = by_hand[0];
            let slots = (by_hand[by_hand.len() - 1] - begin) / 3 + 1;
            for level in 0..6_u32 {
                let width = 3 << level;
                // Only whole slots of the level are counted.
                let n = slots >> level;
                let mut expected = vec![0_u64; n as usize];
                for t in &by_hand {
                    if let Some(slot) = expected.get_mut(((t - begin) / width) as usize) {
                        *slot += 1;
                    }
                }
                let told = counts.levels[level as usize];
                prop_assert_eq!(told.n, n);
                prop_assert_eq!(told.sum, u128::from(expected.iter().sum::<u64>()));
                prop_assert_eq!(told.squares, u128::from(expected.iter().map(|c| c * c).sum::<u64>()));
            }
        }
    }

    /// This number of requests in each slot of 10 ns; there is one in the first and in the last.
    fn of_slots(counts: &[u64]) -> Counts {
        let mut of = Counts::new(Nanos::new(10));
        for (slot, &n) in (0..).zip(counts) {
            (0..n).for_each(|i| of.push(Nanos::new(5 + 10 * slot + i % 10)));
        }
        of.finish()
    }

    /// Least squares over the logarithms of the variances of means over blocks: the slope, and its standard error.
    fn slope_of_variances(counts: &[u64]) -> (f64, f64) {
        let points: Vec<(f64, f64)> = (0..20)
            .map(|level| 1_usize << level)
            .take_while(|m| counts.len() / m >= 16)
            .map(|m| {
                let mean = |block: &[u64]| block.iter().sum::<u64>() as f64 / m as f64;
                let means: Vec<f64> = counts.chunks_exact(m).map(mean).collect();
                let centre = means.iter().sum::<f64>() / means.len() as f64;
                let squares = means.iter().map(|mean| (mean - centre).powi(2));
                let variance = squares.sum::<f64>() / means.len() as f64;
                ((m as f64).ln(), variance.ln())
            })
            .collect();
        let n = points.len() as f64;
        let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let (x, y) = (sum(|p| p.0), sum(|p| p.1));
        let (xx, xy) = (sum(|p| p.0 * p.0), sum(|p| p.0 * p.1));
        let slope = (n * xy - x * y) / (n * xx - x * x);
        let at_zero = (y - slope * x) / n;
        let off = |p: &(f64, f64)| (p.1 - at_zero - slope * p.0).powi(2);
        let residual = points.iter().map(off).sum::<f64>() / (n - 2.0);
        (slope, (residual / (xx - x * x / n)).sqrt())
    }

    #[test]
    fn the_hurst_parameter_is_that_of_the_variance_time_plot() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 61
        };
        // Independent counts, and with slow ups and downs.
        let independent: Vec<u64> = (0..1000).map(|_| 1 + random()).collect();
        let slow: Vec<u64> = (0..1000)
            .map(|i| 1 + random() / 4 + i / 100 % 3 * 5)
            .collect();
        for (counts, range) in [(independent, 0.4..0.6), (slow, 0.8..1.1)] {
            let (slope, stderr) = slope_of_variances(&counts);
            let found = of_slots(&counts).hurst().unwrap();
            assert!(
                (found.value - (1.0 + slope / 2.0)).abs() < 1e-9,
                "{found:?}"
            );
            assert!((found.stderr - stderr / 2.0).abs() < 1e-9, "{found:?}");
            assert!(range.contains(&found.value), "{found:?}");
        }
    }

    #[test]
    fn the_hurst_parameter_takes_100_requests_and_four_levels_of_16_slots_with_a_variance() {
        let mut counts = [0; 128];
        counts[..49].fill(2);
        counts[127] = 2;
        assert!(of_slots(&counts).hurst().is_some());
        counts[127] = 1;
        assert!(of_slots(&counts).hurst().is_none(), "99 requests");
        let mut counts = [0; 127];
        counts[..60].fill(2);
        counts[126] = 2;
        assert!(of_slots(&counts).hurst().is_none(), "three levels");
        assert!(of_slots(&[1; 128]).hurst().is_none(), "no variance");
    }

    #[test]
    fn dispersion_takes_ten_slots_of_a_level() {
        let even = of_slots(&[1; 9]);
        assert!(even.dispersion().is_nan() && even.dispersions().is_empty());
        assert_eq!((even.most(), even.peak_to_mean()), (1, 1.0));
        // Two requests in each second slot: mean and variance are 1, and in each pair of slots there are two.
        let uneven: Vec<u64> = (0..21).map(|slot| (slot + 1) % 2 * 2).collect();
        let of = of_slots(&uneven);
        // 11 of 21 slots have two requests.
        let dispersion = 2.0 - 22.0 / 21.0;
        assert!((of.dispersion() - dispersion).abs() < 1e-12);
        let (slots, values): (Vec<u64>, Vec<f64>) = of
            .dispersions()
            .into_iter()
            .map(|(slot, of)| (slot.get(), of))
            .unzip();
        assert_eq!(slots, [10, 20]);
        assert!((values[0] - dispersion).abs() < 1e-12 && values[1] == 0.0);
        assert!((of.peak_to_mean() - 2.0 / (22.0 / 21.0)).abs() < 1e-12);
    }
}
