//! Exact first and second moments of times.

use iosonar_units::Nanos;

/// Count, mean, variance and extremes of times, accumulated in integers.
///
/// Sums are exact, so that merging partial results gives the same bits in any order. The sum of
/// squares saturates only beyond 2^128 ns^2 (a million million samples of five hours).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    n: u64,
    sum: u128,
    sum_of_squares: u128,
    min: Nanos,
    max: Nanos,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            n: 0,
            sum: 0,
            sum_of_squares: 0,
            min: Nanos::MAX,
            max: Nanos::ZERO,
        }
    }
}

impl Moments {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, t: Nanos) {
        let value = u128::from(t.get());
        self.n += 1;
        self.sum += value;
        self.sum_of_squares = self.sum_of_squares.saturating_add(value * value);
        self.min = self.min.min(t);
        self.max = self.max.max(t);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The sum of all samples, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean in nanoseconds; NaN without samples.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.n as f64
    }

    /// The unbiased sample variance in ns^2; zero for fewer than two samples.
    pub fn variance(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        // Sum of squares about the whole part of the mean, in integers: nothing cancels.
        let n = u128::from(self.n);
        let (q, r) = (self.sum / n, self.sum % n);
        let about_q = self
            .sum_of_squares
            .wrapping_sub(q.wrapping_mul(2 * self.sum - n * q));
        let r = r as f64;
        (about_q as f64 - r * r / n as f64) / (self.n - 1) as f64
    }

    /// The standard deviation in nanoseconds.
    pub fn sd(&self) -> f64 {
        self.variance().max(0.0).sqrt()
    }

    /// The smallest sample; `None` without samples.
    pub fn min(&self) -> Option<Nanos> {
        (self.n > 0).then_some(self.min)
    }

    /// The largest sample; `None` without samples.
    pub fn max(&self) -> Option<Nanos> {
        (self.n > 0).then_some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Moments {
        let mut m = Moments::default();
        values.iter().for_each(|&v| m.push(Nanos::new(v)));
        m
    }

    #[test]
    fn mean_and_variance_of_known_samples() {
        let m = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(m.mean(), 5.0);
        assert!((m.variance() - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(
            (m.min(), m.max()),
            (Some(Nanos::new(2)), Some(Nanos::new(9)))
        );
    }

    #[test]
    fn a_tiny_variance_on_a_huge_mean_survives() {
        let base = 3_600_000_000_000;
        assert_eq!(of(&[base, base + 2]).variance(), 2.0);
    }

    #[test]
    fn merging_is_exactly_the_same_as_pushing_all() {
        let mut a = of(&[1, 10, 100]);
        a.merge(&of(&[7, 1_000_000]));
        assert_eq!(a, of(&[7, 1, 1_000_000, 100, 10]));
    }

    #[test]
    fn nothing_has_no_extremes() {
        assert_eq!(Moments::default().min(), None);
        assert_eq!(Moments::default().max(), None);
        assert!(Moments::default().mean().is_nan());
    }

    #[test]
    fn a_mean_that_is_no_whole_number_has_the_variance_of_its_samples() {
        let m = of(&[1, 2, 4]);
        // 21 - 49 / 3, by 2.
        assert!((m.variance() - 7.0 / 3.0).abs() < 1e-12);
        assert!((m.sd() - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((m.sum(), of(&[1, 2]).variance()), (7, 0.5));
    }
}
