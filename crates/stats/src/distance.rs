//! Distances between distributions.

use iosonar_units::Nanos;

use crate::Histogram;

/// The Kolmogorov-Smirnov distance: the largest vertical distance between the distribution
/// functions of `a` and `b`, 0 to 1. Taken at the bins' borders, so a shift by less than a bin
/// (0.2 %) is not seen. NaN if either is empty.
pub fn ks_distance(a: &Histogram, b: &Histogram) -> f64 {
    if a.count() == 0 || b.count() == 0 {
        return f64::NAN;
    }
    let (mut below_a, mut below_b, mut largest) = (0_u64, 0_u64, 0.0_f64);
    for bin in 0..a.end().max(b.end()) {
        below_a += a.count_of(bin);
        below_b += b.count_of(bin);
        let distance = below_a as f64 / a.count() as f64 - below_b as f64 / b.count() as f64;
        largest = largest.max(distance.abs());
    }
    largest
}

/// The demerit (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 1994): the
/// root mean square of the horizontal distance between the distribution functions of `a` and `b`, in
/// nanoseconds, at p = 0.0001, 0.0002, ... 1. NaN if either is empty.
///
/// These are the quantiles themselves, to the width of a bin (0.2 %); [`RmsCurve`] takes them from the curves of
/// DiskSim's program `rms`. Of validated drives the two differ by less than 0.005 ms.
pub fn demerit(a: &Histogram, b: &Histogram) -> f64 {
    const QUANTILES: u32 = 10_000;
    if a.count() == 0 || b.count() == 0 {
        return f64::NAN;
    }
    let pairs = a.quantiles(QUANTILES).zip(b.quantiles(QUANTILES));
    let squares: f64 = pairs
        .map(|(a, b)| (a.get() as f64 - b.get() as f64).powi(2))
        .sum();
    (squares / f64::from(QUANTILES)).sqrt()
}

/// A distribution function as DiskSim's program `rms` computes it, for comparison with the figures that were published for
/// its validated drives: in memory that does not grow with the number of values.
///
/// It is taken at edges 1 us apart at first, then 1 %, rounded to six decimals, and straight in between.
#[derive(Clone, Debug, Default)]
pub struct RmsCurve {
    /// In microseconds, up to the first above all values.
    edges: Vec<u64>,
    /// How many values lie below each edge, and not below the one before.
    below: Vec<u64>,
    count: u64,
}

impl RmsCurve {
    /// Adds a value.
    pub fn push(&mut self, time: Nanos) {
        let us = time.get() / 1_000;
        while self.edges.last().is_none_or(|&last| last <= us) {
            let next = self.edges.last().map_or(0, |last| last + 1 + last / 100);
            self.edges.push(next);
            self.below.push(0);
        }
        let edge = self.edges.partition_point(|&edge| edge <= us);
        self.below[edge] += 1;
        self.count += 1;
    }

    /// The root mean square of the horizontal distances of two curves at p = 0.0001, 0.0002, ... 1, in milliseconds.
    /// NaN if either has no values.
    pub fn demerit(&self, other: &Self) -> f64 {
        const QUANTILES: u32 = 10_000;
        if self.count == 0 || other.count == 0 {
            return f64::NAN;
        }
        let (a, b) = (self.shares(), other.shares());
        let squares: f64 = (1..=QUANTILES)
            .map(|i| {
                let p = f64::from(i) / f64::from(QUANTILES);
                (inverse(&a, p) - inverse(&b, p)).powi(2)
            })
            .sum();
        (squares / f64::from(QUANTILES)).sqrt()
    }

    /// Up to where it is 1: milliseconds and shares.
    fn shares(&self) -> Vec<(f64, f64)> {
        let mut all = 0;
        let pairs = self.edges.iter().zip(&self.below);
        pairs
            .map(|(&edge, below)| {
                all += below;
                let share = all as f64 / self.count as f64;
                (edge as f64 / 1e3, (share * 1e6).round() / 1e6)
            })
            .collect()
    }
}

/// Where a distribution function reaches `p`.
fn inverse(curve: &[(f64, f64)], p: f64) -> f64 {
    let reached = curve.partition_point(|&(_, share)| share < p);
    let at = reached.clamp(1, curve.len() - 1);
    let ((x0, f0), (x1, f1)) = (curve[at - 1], curve[at]);
    x0 + (x1 - x0) * (p - f0) / (f1 - f0)
}

/// The probability that two samples of `n_a` and `n_b` independent values of the same distribution are at least
/// this far apart (Stephens 1970, as in "Numerical Recipes" 14.3). Of values that are not independent their
/// effective number counts: their variance over that of their mean. NaN if one is not known.
pub fn ks_significance(distance: f64, n_a: f64, n_b: f64) -> f64 {
    let root = (n_a * n_b / (n_a + n_b)).sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    if lambda.is_nan() {
        return f64::NAN;
    }
    // Below this the sum is 1 to twelve digits, and converges slowly.
    if lambda < 0.2 {
        return 1.0;
    }
    let term = |j: i32| {
        let sign = if j % 2 == 0 { -1.0 } else { 1.0 };
        sign * (-2.0 * f64::from(j * j) * lambda * lambda).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demerit_of_a_shift_is_the_shift() {
        let (a, b) = (of(0..400), of(100..500));
        assert!((demerit(&a, &b) - 100.0).abs() < 1e-9);
        assert_eq!(demerit(&a, &a), 0.0);
        assert!(demerit(&a, &of([])).is_nan());
    }

    #[test]
    fn the_demerit_of_rms_is_that_of_quantiles_to_the_width_of_its_edges() {
        let of = |values: &mut dyn Iterator<Item = u64>| {
            let mut curve = RmsCurve::default();
            values.for_each(|value| curve.push(Nanos::new(value)));
            curve
        };
        let spread = |shift: u64| of(&mut (0..5000).map(|i| 3_000_000 + i * 1_717 + shift));
        let found = spread(0).demerit(&spread(250_000));
        assert!((found - 0.25).abs() < 0.02, "{found}");
        assert_eq!(spread(0).demerit(&spread(0)), 0.0);
        assert!(spread(0).demerit(&RmsCurve::default()).is_nan());
        // All in one edge, and none below the first.
        let zero = || of(&mut std::iter::once(0));
        assert_eq!(zero().demerit(&zero()), 0.0);
    }

    #[test]
    fn a_curve_of_rms_is_that_of_the_sorted_sample_in_bounded_memory() {
        let mut curve = RmsCurve::default();
        let mut us: Vec<u64> = (0..40_000_u64).map(|i| i * i % 1_000_003 * 7).collect();
        us.iter().for_each(|&us| curve.push(Nanos::from_micros(us)));
        us.sort_unstable();
        let shares = curve.shares();
        for &(edge_ms, share) in &shares {
            let edge = (edge_ms * 1e3).round() as u64;
            let expected = us.partition_point(|&value| value < edge) as f64 / us.len() as f64;
            assert_eq!(share, (expected * 1e6).round() / 1e6, "{edge}");
        }
        assert_eq!(shares.iter().filter(|(_, share)| *share >= 1.0).count(), 1);
        // A century has 3 500 edges.
        curve.push(Nanos::from_secs(100 * 365 * 86_400));
        assert!(curve.edges.len() < 4_000, "{}", curve.edges.len());
    }

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut h = Histogram::default();
        values.into_iter().for_each(|v| h.push(Nanos::new(v)));
        h
    }

    #[test]
    fn a_distribution_is_at_distance_zero_from_itself_and_one_from_a_disjoint_one() {
        assert_eq!(ks_distance(&of(0..100), &of(0..100)), 0.0);
        assert_eq!(ks_distance(&of(0..10), &of(1000..1010)), 1.0);
    }

    #[test]
    fn a_quarter_of_the_mass_moved_is_a_distance_of_a_quarter() {
        assert_eq!(ks_distance(&of([1, 2, 3, 4]), &of([1, 2, 3, 400])), 0.25);
    }

    #[test]
    fn all_quantiles_at_once_are_those_one_by_one() {
        let h = of((0..5000).map(|i| i * i));
        for (i, quantile) in (1..=777).zip(h.quantiles(777)) {
            assert_eq!(Some(quantile), h.quantile(f64::from(i) / 777.0));
        }
        assert_eq!(of([]).quantiles(10).count(), 0);
    }

    #[test]
    fn significance_is_that_of_kolmogorovs_tables() {
        // 1.36 sqrt(2 / n) and 1.63 sqrt(2 / n) are exceeded in 5 and 1 cases of a hundred.
        let n = 1e6;
        for (factor, p) in [(1.358, 0.05), (1.628, 0.01)] {
            let found = ks_significance(factor * (2.0_f64 / n).sqrt(), n, n);
            assert!((found - p).abs() < 0.001, "{factor}: {found}");
        }
        assert_eq!(ks_significance(0.0, 100.0, 100.0), 1.0);
        assert!(ks_significance(0.1, f64::NAN, 100.0).is_nan());
    }

    #[test]
    fn significance_of_few_values_has_the_corrections_of_stephens() {
        // Kolmogorov's distribution at 0.5, 0.8, 1 and 1.2 (Smirnov 1948, table 1).
        for (lambda, p) in [
            (0.5, 0.963_945),
            (0.8, 0.544_142),
            (1.0, 0.269_999_7),
            (1.2, 0.112_249_7),
        ] {
            for (n_a, n_b) in [(100.0, 100.0), (12.0, 30.0), (9.0, 4.0)] {
                let root = f64::sqrt(n_a * n_b / (n_a + n_b));
                let distance = lambda / (root + 0.12 + 0.11 / root);
                let found = ks_significance(distance, n_a, n_b);
                assert!((found - p).abs() < 1e-6, "{lambda}, {n_a}, {n_b}: {found}");
            }
        }
    }

    #[test]
    fn a_curve_is_reached_between_its_points_in_proportion() {
        let curve = [(1.0, 0.0), (2.0, 0.5), (6.0, 0.75), (8.0, 1.0)];
        for (p, x) in [
            (0.1, 1.2),
            (0.5, 2.0),
            (0.6, 3.6),
            (0.75, 6.0),
            (0.875, 7.0),
            (1.0, 8.0),
        ] {
            assert!((inverse(&curve, p) - x).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn nothing_is_at_no_distance_from_anything() {
        assert!(ks_distance(&of([]), &of([1])).is_nan());
    }
}
