//! Means with their standard errors.

/// The two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean, and how far it may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub mean: f64,
    /// Its standard error; NaN if it rests on fewer than two independent values.
    pub stderr: f64,
    /// How many independent values it rests on.
    pub values: usize,
}

impl Estimate {
    /// From independent values: one per replication, or one per batch.
    pub fn from_independent(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let stderr = if values.len() < 2 {
            f64::NAN
        } else {
            (squares / (n - 1.0) / n).sqrt()
        };
        Self {
            mean,
            stderr,
            values: values.len(),
        }
    }

    /// The ratio of two sums, such as completions by time, from the parts of both in independent runs: (numerator,
    /// denominator). The standard error is that of the linearised ratio (Asmussen and Glynn, "Stochastic Simulation",
    /// 2007, III.4).
    pub fn of_ratio(parts: &[(f64, f64)]) -> Self {
        let sum = |of: fn(&(f64, f64)) -> f64| parts.iter().map(of).sum::<f64>();
        let (above, below) = (sum(|part| part.0), sum(|part| part.1));
        let ratio = above / below;
        let residuals = parts.iter().map(|part| (part.0 - ratio * part.1).powi(2));
        let n = parts.len() as f64;
        let stderr = if parts.len() < 2 {
            f64::NAN
        } else {
            (residuals.sum::<f64>() * n / (n - 1.0)).sqrt() / below
        };
        Self {
            mean: ratio,
            stderr,
            values: parts.len(),
        }
    }

    /// Half the width of the 95 % confidence interval (Student's t); NaN if not known.
    pub fn half_width_95(&self) -> f64 {
        let degrees = self.values.saturating_sub(1);
        let t = match degrees {
            0 => f64::NAN,
            1..=30 => T_95[degrees - 1],
            // Cornish-Fisher, within 0.001 from 30 degrees on.
            _ => 1.959_964 + 2.372_271 / degrees as f64 + 2.822_498 / (degrees * degrees) as f64,
        };
        t * self.stderr
    }
}

impl Estimate {
    /// The 95 % confidence interval of something that is above zero, such as a mean time: symmetric, or, where that
    /// would reach zero, symmetric on a logarithmic scale. `None` without a standard error.
    pub fn positive_interval_95(&self) -> Option<(f64, f64)> {
        let half = self.half_width_95();
        if !half.is_finite() {
            return None;
        }
        if half == 0.0 {
            return Some((self.mean, self.mean));
        }
        if half < self.mean {
            return Some((self.mean - half, self.mean + half));
        }
        let factor = (half / self.mean).exp();
        Some((self.mean / factor, self.mean * factor))
    }
}

/// Batch means of one run, for a standard error where there are no replications.
///
/// The run is cut into 32 to 64 consecutive batches of equal length, and these are merged until
/// neighbours are no longer alike. Their means are nearly independent then although the samples are
/// not. Near saturation even that comes out too small: prefer replications there.
#[derive(Clone, Debug)]
pub struct BatchMeans {
    batch_length: u64,
    in_batch: u64,
    sum: f64,
    means: Vec<f64>,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self {
            batch_length: 1,
            in_batch: 0,
            sum: 0.0,
            means: Vec::with_capacity(Self::MOST),
        }
    }
}

impl BatchMeans {
    const MOST: usize = 64;

    /// Adds the next sample of the run.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.sum += value;
        self.in_batch += 1;
        if self.in_batch == self.batch_length {
            self.means.push(self.sum / self.batch_length as f64);
            (self.in_batch, self.sum) = (0, 0.0);
            if self.means.len() == Self::MOST {
                self.pair_up();
            }
        }
    }

    /// Halves the number of batches and doubles their length: memory stays bounded.
    fn pair_up(&mut self) {
        for i in 0..Self::MOST / 2 {
            self.means[i] = f64::midpoint(self.means[2 * i], self.means[2 * i + 1]);
        }
        self.means.truncate(Self::MOST / 2);
        self.batch_length *= 2;
    }

    /// The fewest samples of which batch means have a standard error.
    pub const FEWEST_SAMPLES: u64 = Self::SHORTEST * (Self::MOST / 2) as u64;
    /// A power of two, as the length of batches is.
    const SHORTEST: u64 = 128;

    /// The mean of the whole batches with its standard error, which is NaN where the run is too short
    /// for one: fewer than 32 batches of 128 samples, or batches whose neighbours are alike however
    /// long one makes them (a lag-1 correlation above 0.25 with 8 batches).
    pub fn estimate(&self) -> Estimate {
        const FEWEST: usize = 8;
        let mut means = self.means.clone();
        let long_enough = self.means.len() >= Self::MOST / 2 && self.batch_length >= Self::SHORTEST;
        while long_enough && means.len() >= FEWEST {
            if lag_1_correlation(&means) < 0.25 {
                return Estimate::from_independent(&means);
            }
            means = means
                .chunks_exact(2)
                .map(|pair| f64::midpoint(pair[0], pair[1]))
                .collect();
        }
        Estimate {
            stderr: f64::NAN,
            ..Estimate::from_independent(&self.means)
        }
    }
}

/// The correlation of each value with the next; 0 if all are the same.
pub(crate) fn lag_1_correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let product: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_width_is_its_mean() {
        let zero = Estimate::from_independent(&[0.0, 0.0]);
        assert_eq!(zero.positive_interval_95(), Some((0.0, 0.0)));
    }

    #[test]
    fn an_interval_that_would_reach_zero_is_symmetric_in_its_logarithm() {
        let wide = Estimate {
            mean: 2.0,
            stderr: 0.5,
            values: 2,
        };
        let half = 12.706 * 0.5;
        let (lower, upper) = wide.positive_interval_95().unwrap();
        let factor = (half / 2.0_f64).exp();
        assert!((lower * factor / 2.0 - 1.0).abs() < 1e-3, "{lower}");
        assert!((upper / factor / 2.0 - 1.0).abs() < 1e-3, "{upper}");
        let narrow = Estimate {
            stderr: 0.1,
            ..wide
        };
        let (lower, upper) = narrow.positive_interval_95().unwrap();
        assert!((upper - 2.0 - (2.0 - lower)).abs() < 1e-12 && lower > 0.0);
    }

    #[test]
    fn an_interval_that_would_just_reach_zero_does_not() {
        let estimate = Estimate {
            mean: T_95[0],
            stderr: 1.0,
            values: 2,
        };
        let (lower, upper) = estimate.positive_interval_95().unwrap();
        assert!(
            lower > 0.0 && (lower * upper).sqrt() < 1.001 * T_95[0],
            "{lower} {upper}"
        );
    }

    #[test]
    fn batches_are_means_of_neighbours() {
        let mut means = BatchMeans::default();
        (0..256).for_each(|i| means.push(f64::from(i)));
        // 64 batches of one sample became 32 of two, and these 32 of four and of eight.
        assert_eq!(means.batch_length, 8);
        let expected: Vec<f64> = (0..32).map(|i| 8.0 * f64::from(i) + 3.5).collect();
        assert_eq!(means.means, expected);
        assert_eq!(means.estimate().mean, 127.5);
    }

    #[test]
    fn neighbours_that_rise_together_are_alike_and_equal_ones_are_not() {
        assert_eq!(lag_1_correlation(&[3.0, 3.0, 3.0]), 0.0);
        // Deviations -1.5, -0.5, 0.5, 1.5: products 0.75 - 0.25 + 0.75, squares 5.
        assert!((lag_1_correlation(&[1.0, 2.0, 3.0, 4.0]) - 0.25).abs() < 1e-12);
        assert!(lag_1_correlation(&[1.0, 2.0, 1.0, 2.0]) < -0.7);
    }

    #[test]
    fn batch_means_have_a_standard_error_from_the_fewest_samples_on() {
        let of = |n: u64| {
            let mut means = BatchMeans::default();
            let mut state = 1_u64;
            for _ in 0..n {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                means.push((state >> 40) as f64);
            }
            means.estimate().stderr
        };
        assert!(of(BatchMeans::FEWEST_SAMPLES - 1).is_nan());
        assert!(of(BatchMeans::FEWEST_SAMPLES).is_finite());
    }

    #[test]
    fn of_one_run_there_is_no_error_and_of_two_there_is() {
        assert!(Estimate::of_ratio(&[(3.0, 2.0)]).stderr.is_nan());
        let two = Estimate::of_ratio(&[(3.0, 2.0), (1.0, 2.0)]);
        // Residuals 1 and -1: sqrt(2 x 2 / 1) / 4.
        assert!((two.stderr - 0.5).abs() < 1e-12, "{two:?}");
        let alone = Estimate {
            mean: 2.0,
            stderr: 1.0,
            values: 1,
        };
        assert!(alone.half_width_95().is_nan());
    }

    #[test]
    fn an_interval_from_ten_replications_uses_students_t() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let e = Estimate::from_independent(&values);
        assert_eq!(e.mean, 5.5);
        assert!((e.stderr - (55.0_f64 / 6.0 / 10.0).sqrt()).abs() < 1e-12);
        assert!((e.half_width_95() / e.stderr - 2.262).abs() < 1e-9);
    }

    #[test]
    fn the_error_of_a_ratio_is_that_of_a_mean_where_all_denominators_are_equal() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let parts: Vec<(f64, f64)> = values.iter().map(|v| (4.0 * v, 4.0)).collect();
        let (mean, ratio) = (
            Estimate::from_independent(&values),
            Estimate::of_ratio(&parts),
        );
        assert!((mean.mean - ratio.mean).abs() < 1e-12);
        assert!((mean.stderr - ratio.stderr).abs() < 1e-12);
        // What is proportional in every run is known exactly.
        let exact = Estimate::of_ratio(&[(2.0, 1.0), (6.0, 3.0), (10.0, 5.0)]);
        assert_eq!((exact.mean, exact.stderr), (2.0, 0.0));
    }

    #[test]
    fn the_interval_of_a_time_stays_above_zero() {
        let interval = |mean| {
            let estimate = Estimate {
                mean,
                stderr: 1.0,
                values: 1000,
            };
            estimate.positive_interval_95().unwrap()
        };
        let (lower, upper) = interval(10.0);
        assert!((upper - 10.0 - (10.0 - lower)).abs() < 1e-12);
        let (lower, upper) = interval(1.0);
        assert!(0.0 < lower && lower < 1.0 && upper > 1.0 + 1.96);
    }

    #[test]
    fn one_value_has_no_standard_error() {
        assert!(Estimate::from_independent(&[1.0]).stderr.is_nan());
    }

    #[test]
    fn the_t_quantile_is_continuous_where_the_table_ends() {
        let width = |values| {
            Estimate {
                mean: 0.0,
                stderr: 1.0,
                values,
            }
            .half_width_95()
        };
        assert!((width(31) - width(32)).abs() < 0.004);
        assert!((width(100_000) - 1.96).abs() < 1e-3);
    }

    #[test]
    fn batch_means_of_independent_samples_give_the_ordinary_standard_error() {
        // A linear congruential sequence is independent enough here: uniform, sd 1/sqrt(12).
        let mut state = 1_u64;
        let mut batches = BatchMeans::default();
        let n = 1 << 20;
        for _ in 0..n {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            batches.push((state >> 11) as f64 / (1_u64 << 53) as f64);
        }
        let expected = (1.0 / 12.0 / f64::from(n)).sqrt();
        let ratio = batches.estimate().stderr / expected;
        // The ratio's own standard error from 32 batches is 1/sqrt(2*31) = 0.127; 3 of them.
        assert!((ratio - 1.0).abs() < 0.38, "{ratio}");
    }

    #[test]
    fn a_short_run_has_no_standard_error() {
        let mut batches = BatchMeans::default();
        (0..3000).for_each(|i| batches.push(f64::from(i % 7)));
        assert!(batches.estimate().stderr.is_nan());
    }

    #[test]
    fn a_run_that_only_rises_has_no_standard_error() {
        let mut batches = BatchMeans::default();
        (0..100_000).for_each(|i| batches.push(f64::from(i)));
        assert!(batches.estimate().stderr.is_nan());
    }
}
