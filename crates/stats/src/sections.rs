//! How sure one can be of quantiles and of a distribution function.
//!
//! The samples of one run are not independent: a long wait comes with other long waits. So the run is
//! cut into consecutive sections that are long enough to be nearly independent, or there are
//! independent replications, each a section. A figure of the whole then has a standard error from how
//! far the sections' figures lie around it (Asmussen and Glynn, "Stochastic Simulation", 2007, III.5:
//! sectioning). Unlike the mean of the sections' quantiles, the quantile of the whole has hardly a
//! bias.

use iosonar_units::Nanos;

use crate::{Distribution, Estimate};

/// What a section holds.
pub trait Section: Clone + Default {
    /// Adds all samples of `other`.
    fn merge(&mut self, other: &Self);

    /// The mean of all samples in nanoseconds.
    fn mean(&self) -> f64;
}

impl Section for Distribution {
    fn merge(&mut self, other: &Self) {
        Distribution::merge(self, other);
    }

    fn mean(&self) -> f64 {
        self.moments.mean()
    }
}

/// Two kinds of samples, such as reads and writes, in sections that are cut at the same places.
#[derive(Clone, Debug, Default)]
pub struct TwoKinds(pub [Distribution; 2]);

impl TwoKinds {
    /// Both kinds together.
    pub fn both(&self) -> Distribution {
        let mut both = self.0[0].clone();
        both.merge(&self.0[1]);
        both
    }
}

impl Section for TwoKinds {
    fn merge(&mut self, other: &Self) {
        self.0[0].merge(&other.0[0]);
        self.0[1].merge(&other.0[1]);
    }

    fn mean(&self) -> f64 {
        let mut moments = self.0[0].moments;
        moments.merge(&self.0[1].moments);
        moments.mean()
    }
}

/// A distribution in sections of equal size. Memory is bounded: there are at most 64, and sections
/// are merged in pairs when there would be more.
#[derive(Clone, Debug)]
pub struct Sections<S = Distribution> {
    parts: Vec<S>,
    /// How many samples, or replications, a part has.
    size: u64,
    replications: bool,
    current: S,
    filled: u64,
}

/// A point of a distribution function with its 95 % band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// The time.
    pub value: Nanos,
    /// The share of samples not above it.
    pub share: f64,
    /// Half the width of the 95 % confidence interval of the share, at this time alone.
    pub half_width: f64,
}

impl<S: Section> Sections<S> {
    const MOST: usize = 64;
    /// With fewer, a single run has no standard error.
    const FEWEST: usize = 8;
    const SHORTEST: u64 = 1024;

    /// Sections of one run, to be filled sample by sample.
    pub fn of_a_run() -> Self {
        Self::with_size(Self::SHORTEST, false)
    }

    /// Sections that are replications.
    pub fn of_replications() -> Self {
        Self::with_size(1, true)
    }

    fn with_size(size: u64, replications: bool) -> Self {
        Self {
            parts: Vec::new(),
            size,
            replications,
            current: S::default(),
            filled: 0,
        }
    }

    /// Adds the next sample of a run, which `add` puts where it belongs.
    #[inline]
    pub fn push_with(&mut self, add: impl FnOnce(&mut S)) {
        add(&mut self.current);
        self.one_more();
    }

    /// Adds the next replication.
    pub fn push_replication(&mut self, samples: &S) {
        self.current.merge(samples);
        self.one_more();
    }

    #[inline]
    fn one_more(&mut self) {
        self.filled += 1;
        if self.filled == self.size {
            self.close();
        }
    }

    fn close(&mut self) {
        self.parts.push(std::mem::take(&mut self.current));
        self.filled = 0;
        if self.parts.len() == Self::MOST {
            self.parts = in_pairs(std::mem::take(&mut self.parts));
            self.size *= 2;
        }
    }

    /// All samples.
    pub fn whole(&self) -> S {
        let mut whole = self.current.clone();
        self.parts.iter().for_each(|part| whole.merge(part));
        whole
    }

    /// The sections that may be taken as independent: those of a run are merged until the means of
    /// neighbours are no longer alike. Empty if there are too few.
    pub fn independent(&self) -> Vec<S> {
        self.clone().into_independent()
    }

    /// The same without a copy.
    pub fn into_independent(self) -> Vec<S> {
        let mut parts = self.parts;
        if self.replications {
            // Replications are independent as they are.
            return if parts.len() < 2 { Vec::new() } else { parts };
        }
        while parts.len() >= Self::FEWEST {
            let means: Vec<f64> = parts.iter().map(S::mean).collect();
            if crate::estimate::lag_1_correlation(&means) < 0.25 {
                return parts;
            }
            parts = in_pairs(parts);
        }
        Vec::new()
    }
}

impl Sections {
    /// Adds the next sample of a run.
    #[inline]
    pub fn push(&mut self, t: Nanos) {
        self.push_with(|current| current.push(t));
    }
}

/// An odd one at the end is left out.
fn in_pairs<S: Section>(parts: Vec<S>) -> Vec<S> {
    let mut parts = parts.into_iter();
    let merged = std::iter::from_fn(|| {
        let (mut first, second) = (parts.next()?, parts.next()?);
        first.merge(&second);
        Some(first)
    });
    merged.collect()
}

/// The standard error of a figure of the whole, from the figures of independent sections.
fn sectioned(whole: f64, parts: impl Iterator<Item = f64>) -> Estimate {
    let (mut squares, mut values) = (0.0, 0);
    for part in parts {
        squares += (part - whole).powi(2);
        values += 1;
    }
    let m = values as f64;
    Estimate {
        mean: whole,
        stderr: if values < 2 {
            f64::NAN
        } else {
            (squares / (m * (m - 1.0))).sqrt()
        },
        values,
    }
}

/// The mean of all samples in nanoseconds, with its standard error from independent sections.
pub fn mean_of(whole: &Distribution, sections: &[Distribution]) -> Estimate {
    sectioned(
        whole.moments.mean(),
        sections.iter().map(|part| part.moments.mean()),
    )
}

/// The share of all samples up to a time, with its standard error from independent sections.
pub fn share_of(whole: &Distribution, sections: &[Distribution], up_to: Nanos) -> Estimate {
    sectioned(
        whole.histogram.share_up_to(up_to),
        sections.iter().map(|s| s.histogram.share_up_to(up_to)),
    )
}

/// The standard deviation of all samples in nanoseconds, with its standard error from independent sections.
pub fn sd_of(whole: &Distribution, sections: &[Distribution]) -> Estimate {
    sectioned(
        whole.moments.sd(),
        sections.iter().map(|part| part.moments.sd()),
    )
}

/// A quantile of all samples in nanoseconds, with its standard error from independent sections; NaN if
/// the sections have too few samples to support it.
pub fn quantile_of(whole: &Distribution, sections: &[Distribution], p: f64) -> Estimate {
    let of = |d: &Distribution| d.histogram.quantile(p).map_or(f64::NAN, |t| t.get() as f64);
    let supported = sections.iter().all(|s| s.histogram.supports_quantile(p));
    let mut estimate = sectioned(of(whole), sections.iter().map(of));
    if !supported {
        estimate.stderr = f64::NAN;
    }
    estimate
}

/// The 95 % interval of a quantile, between two order statistics: the quantiles of the whole at p less and p plus the
/// half width of the interval of the share of samples up to it (Woodruff, "Confidence Intervals for Medians and Other
/// Position Measures", 1952), here from independent sections. It is not symmetric, and like the times it lies among,
/// never below zero. `None` if the sections are too few, or the samples do not reach beyond its upper end.
pub fn quantile_interval(
    whole: &Distribution,
    sections: &[Distribution],
    p: f64,
) -> Option<(Nanos, Nanos)> {
    let quantile = |p| whole.histogram.quantile(p);
    let value = quantile(p)?;
    let share = share_of(whole, sections, value);
    let half = share.half_width_95();
    if !half.is_finite() || p + half >= 1.0 || !whole.histogram.supports_quantile(p + half) {
        return None;
    }
    let lower = if p - half > 0.0 {
        quantile(p - half)?
    } else {
        Nanos::ZERO
    };
    Some((lower.min(value), quantile(p + half)?.max(value)))
}

/// The distribution function at this number of its quantiles, with a 95 % band from independent sections.
pub fn cdf_band(whole: &Distribution, sections: &[Distribution], points: u32) -> Vec<BandPoint> {
    let quantiles = (0..points).filter_map(|i| {
        let p = (f64::from(i) + 0.5) / f64::from(points);
        whole.histogram.quantile(p)
    });
    let mut values: Vec<Nanos> = quantiles.collect();
    values.dedup();
    let at = |value| {
        let share = share_of(whole, sections, value);
        BandPoint {
            value,
            share: share.mean,
            half_width: share.half_width_95(),
        }
    };
    values.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keep_all_samples_in_bounded_memory() {
        let mut sections = Sections::of_a_run();
        let mut whole = Distribution::default();
        for i in 0..1_000_000_u64 {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let t = Nanos::new(mixed >> 40);
            sections.push(t);
            whole.push(t);
        }
        assert!(sections.parts.len() < Sections::<Distribution>::MOST);
        assert_eq!(sections.whole(), whole);
        let independent = sections.independent();
        assert!(independent.len() >= 32);
        // Uniform on 2^24: the standard error of the median is 1/2 / sqrt(n) of the range.
        let median = quantile_of(&whole, &independent, 0.5);
        let expected = 0.5 / 1000.0 * f64::from(1 << 24);
        assert!((median.stderr / expected - 1.0).abs() < 0.5, "{median:?}");
    }

    #[test]
    fn a_run_that_only_rises_has_no_independent_sections() {
        let mut sections = Sections::of_a_run();
        (0..200_000).for_each(|i| sections.push(Nanos::new(i)));
        assert!(sections.independent().is_empty());
        assert!(mean_of(&sections.whole(), &[]).stderr.is_nan());
    }

    #[test]
    fn many_replications_are_merged_in_pairs() {
        let mut sections = Sections::of_replications();
        for i in 0..200_u64 {
            let mut replication = Distribution::default();
            replication.push(Nanos::new(1000 + i));
            sections.push_replication(&replication);
        }
        assert_eq!(sections.whole().count(), 200);
        assert_eq!(sections.independent().len(), 50);
    }

    #[test]
    fn far_quantiles_of_short_sections_have_no_standard_error() {
        let part = |from: u64| {
            let mut d = Distribution::default();
            (from..from + 500).for_each(|i| d.push(Nanos::new(i)));
            d
        };
        let parts = [part(0), part(100)];
        let mut whole = parts[0].clone();
        whole.merge(&parts[1]);
        assert!(quantile_of(&whole, &parts, 0.5).stderr > 0.0);
        assert!(quantile_of(&whole, &parts, 0.99).stderr.is_nan());
    }

    #[test]
    fn the_interval_of_a_quantile_is_asymmetric_and_above_zero() {
        // Exponential times, in runs that are far apart: 1 : 2 : 4 : 8.
        let run = |scale: f64| {
            let mut d = Distribution::default();
            for i in 0..2000 {
                let u = (f64::from(i) + 0.5) / 2000.0;
                d.push(Nanos::nearest(-(1.0 - u).ln() * scale * 1e6));
            }
            d
        };
        let runs = [run(1.0), run(2.0), run(4.0), run(8.0)];
        let mut whole = Distribution::default();
        runs.iter().for_each(|run| whole.merge(run));
        let median = quantile_of(&whole, &runs, 0.5);
        assert!(
            median.half_width_95() > median.mean,
            "the symmetric interval would reach below zero: {median:?}"
        );
        let (lower, upper) = quantile_interval(&whole, &runs, 0.5).unwrap();
        let (lower, upper) = (lower.get() as f64, upper.get() as f64);
        assert!(0.0 < lower && lower < median.mean && median.mean < upper);
        assert!(upper - median.mean > median.mean - lower);
        // Where the samples end the interval has no upper end.
        assert_eq!(quantile_interval(&whole, &runs, 0.99), None);
        assert_eq!(quantile_interval(&whole, &[], 0.5), None);
    }

    #[test]
    fn the_interval_of_a_quantile_holds_it_as_often_as_it_says() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (trials, mut held) = (400, 0);
        for _ in 0..trials {
            let mut run = || {
                let mut d = Distribution::default();
                (0..400).for_each(|_| d.push(Nanos::nearest(-uniform().ln() * 1e6)));
                d
            };
            let runs: Vec<Distribution> = (0..10).map(|_| run()).collect();
            let mut whole = Distribution::default();
            runs.iter().for_each(|run| whole.merge(run));
            let (lower, upper) = quantile_interval(&whole, &runs, 0.9).unwrap();
            let exact = Nanos::nearest(10.0_f64.ln() * 1e6);
            held += i32::from(lower <= exact && exact <= upper);
        }
        // 95 %, three standard errors of a share below it: 3 sqrt(0.05 * 0.95 / 400) = 3.3 %.
        assert!(f64::from(held) / f64::from(trials) > 0.917, "{held}");
    }

    #[test]
    fn the_band_is_wider_where_sections_differ_more() {
        let part = |spread: u64| {
            let mut d = Distribution::default();
            (0..1000).for_each(|i| d.push(Nanos::new(10_000 + i * spread)));
            d
        };
        let parts = [part(5), part(6), part(7)];
        let mut whole = Distribution::default();
        parts.iter().for_each(|p| whole.merge(p));
        let band = cdf_band(&whole, &parts, 20);
        assert!(band.windows(2).all(|w| w[0].share <= w[1].share));
        assert!(band[10].half_width > band[0].half_width);
    }

    fn of(times: impl IntoIterator<Item = u64>) -> Distribution {
        let mut d = Distribution::default();
        times.into_iter().for_each(|t| d.push(Nanos::new(t)));
        d
    }

    #[test]
    fn two_kinds_are_merged_kind_by_kind_and_have_one_mean() {
        let mut kinds = TwoKinds([of([10, 20]), of([60])]);
        assert_eq!((kinds.mean(), kinds.both()), (30.0, of([10, 20, 60])));
        kinds.merge(&TwoKinds([of([30]), of([80, 100])]));
        assert_eq!(kinds.0, [of([10, 20, 30]), of([60, 80, 100])]);
    }

    #[test]
    fn one_replication_is_not_independent_of_another() {
        let parts = [of([1]), of([2]), of([3])];
        for (n, independent) in [0, 0, 2, 3].into_iter().enumerate() {
            let mut sections = Sections::of_replications();
            parts[..n]
                .iter()
                .for_each(|part| sections.push_replication(part));
            assert_eq!(sections.independent().len(), independent, "{n}");
        }
    }

    #[test]
    fn the_error_of_the_mean_is_that_of_the_means_of_sections() {
        // 10, 20 and 60 about 30: 400 + 100 + 900, by 3 * 2.
        let parts = [of([10]), of([20]), of([60])];
        let mean = mean_of(&of([10, 20, 60]), &parts);
        assert_eq!((mean.mean, mean.values), (30.0, 3));
        assert!((mean.stderr - (1400.0_f64 / 6.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_a_quantile_lies_between_those_of_the_ends_of_its_share() {
        // Not quite alike, so that the share up to a time differs a little.
        let parts: Vec<_> = (0..8)
            .map(|i| of((0..500).map(|at| 1_000_000 + 8_000 * at + 20_000 * i)))
            .collect();
        let mut whole = Distribution::default();
        parts.iter().for_each(|part| whole.merge(part));
        for p in [0.1, 0.5, 0.9] {
            let value = whole.histogram.quantile(p).unwrap();
            let half = share_of(&whole, &parts, value).half_width_95();
            assert!(0.001 < half && half < 0.09, "{half}");
            assert_eq!(
                quantile_interval(&whole, &parts, p),
                whole
                    .histogram
                    .quantile(p - half)
                    .zip(whole.histogram.quantile(p + half))
            );
        }
        // Where the share of samples up to it may be zero, nothing is known of its lower end.
        let apart = [of([1_000; 100]), of([2_000; 100]), of([3_000; 100])];
        let mut whole = Distribution::default();
        apart.iter().for_each(|part| whole.merge(part));
        let low = quantile_interval(&whole, &apart, 0.1);
        assert!(low.is_none_or(|(lower, _)| lower == Nanos::ZERO), "{low:?}");
    }

    #[test]
    fn a_band_has_the_middles_of_equal_shares() {
        let whole = of((1..=1000).map(|i| i * 1_000_000));
        let band = cdf_band(&whole, std::slice::from_ref(&whole), 4);
        let middles = [0.125, 0.375, 0.625, 0.875].map(|p| whole.histogram.quantile(p).unwrap());
        assert_eq!(
            band.iter().map(|point| point.value).collect::<Vec<_>>(),
            middles
        );
    }
}
