//! Distances between distributions.

use crate::Histogram;

/// The Kolmogorov-Smirnov distance: the largest vertical distance between the distribution
/// functions of `a` and `b`, 0 to 1. Taken at the bins' borders, so a shift by less than a bin
/// (0.2 %) is not seen. NaN if either is empty.
pub fn ks_distance(a: &Histogram, b: &Histogram) -> f64 {
    if a.count() == 0 || b.count() == 0 {
        return f64::NAN;
    }
    let (bins_a, bins_b) = (a.counts(), b.counts());
    let (mut below_a, mut below_b, mut largest) = (0_u64, 0_u64, 0.0_f64);
    for bin in 0..bins_a.len().max(bins_b.len()) {
        below_a += bins_a.get(bin).copied().unwrap_or(0);
        below_b += bins_b.get(bin).copied().unwrap_or(0);
        let distance = below_a as f64 / a.count() as f64 - below_b as f64 / b.count() as f64;
        largest = largest.max(distance.abs());
    }
    largest
}

/// The demerit (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 1994): the
/// root mean square of the horizontal distance between the distribution functions of `a` and `b`, in
/// nanoseconds, over 1 000 quantiles. NaN if either is empty.
pub fn demerit(a: &Histogram, b: &Histogram) -> f64 {
    const QUANTILES: u32 = 1000;
    let distance = |i| {
        let p = (f64::from(i) + 0.5) / f64::from(QUANTILES);
        let (a, b) = (a.quantile(p)?, b.quantile(p)?);
        Some((a.get() as f64 - b.get() as f64).powi(2))
    };
    let squares: Option<f64> = (0..QUANTILES).map(distance).sum();
    squares.map_or(f64::NAN, |sum| (sum / f64::from(QUANTILES)).sqrt())
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
    use iosonar_units::Nanos;

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
    fn nothing_is_at_no_distance_from_anything() {
        assert!(ks_distance(&of([]), &of([1])).is_nan());
    }
}
