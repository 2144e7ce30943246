//! Distributions on a grid.

mod waits;

use crate::convolution::{OnlineConvolution, convolution};

/// The distribution function of a time at 0, h, 2 h, ..., straight between, and with an exponential tail
/// behind the last point where the time is not bounded.
///
/// Sums, maxima and waiting times are computed on the grid, with errors of the order of h squared: a
/// thousand points over the support of a service keep six digits of means. All operands of an operation
/// have the same step.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    step: f64,
    below: Vec<f64>,
    /// The rate of the tail behind the last point; `None`: there is nothing.
    tail: Option<f64>,
}

/// What is left of a distribution that counts as nothing.
const NOTHING: f64 = 1e-8;
/// The most points of a table.
const MOST_POINTS: usize = 1 << 17;
/// The most products that a recursion may take: a second or so.
const MOST_WORK: usize = 2_000_000_000;
/// The number of points of a service that is sufficient for the recursion of D/G/1.
const COARSE_POINTS: usize = 1500;

impl Table {
    /// From the distribution function `below` of a time that is at most `most`.
    ///
    /// # Panics
    /// If the step is not above zero.
    pub fn new(step: f64, most: f64, below: impl Fn(f64) -> f64) -> Self {
        assert!(step > 0.0, "a grid has a step");
        let last = (most / step).ceil() as usize;
        let mut values: Vec<f64> = (0..=last).map(|i| below(i as f64 * step)).collect();
        values[last] = 1.0;
        Self {
            step,
            below: values,
            tail: None,
        }
    }

    /// A time that is always 0.
    pub fn zero(step: f64) -> Self {
        Self {
            step,
            below: vec![1.0],
            tail: None,
        }
    }

    /// The distance of its points.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The values at its points.
    pub fn values(&self) -> &[f64] {
        &self.below
    }

    fn at(&self, i: usize) -> f64 {
        match self.below.get(i) {
            Some(value) => *value,
            None => self.beyond_the_end(i as f64 * self.step),
        }
    }

    fn end(&self) -> f64 {
        (self.below.len() - 1) as f64 * self.step
    }

    fn left(&self) -> f64 {
        1.0 - self.below[self.below.len() - 1]
    }

    fn beyond_the_end(&self, t: f64) -> f64 {
        match self.tail {
            None => 1.0,
            Some(rate) => 1.0 - self.left() * libm::exp(-rate * (t - self.end())),
        }
    }

    /// The probability of a time up to `t`.
    pub fn within(&self, t: f64) -> f64 {
        if t < 0.0 {
            return 0.0;
        }
        let at = t / self.step;
        let i = at as usize;
        if i + 1 >= self.below.len() {
            return self.beyond_the_end(t.max(self.end()));
        }
        let part = at - i as f64;
        self.below[i] + (self.below[i + 1] - self.below[i]) * part
    }

    /// The quantile of the probability `p`, 0 < p < 1.
    pub fn quantile(&self, p: f64) -> f64 {
        let i = self.below.partition_point(|&value| value < p);
        if i == 0 {
            return 0.0;
        }
        if i == self.below.len() {
            return match self.tail {
                Some(rate) => self.end() + libm::log(self.left() / (1.0 - p)) / rate,
                None => self.end(),
            };
        }
        let (low, high) = (self.below[i - 1], self.below[i]);
        ((i - 1) as f64 + (p - low) / (high - low)) * self.step
    }

    /// The mean: the integral of what is above.
    pub fn mean(&self) -> f64 {
        let n = self.below.len();
        let inner: f64 = self.below.iter().map(|value| 1.0 - value).sum();
        let ends = f64::midpoint(1.0 - self.below[0], 1.0 - self.below[n - 1]);
        let tail = self.tail.map_or(0.0, |rate| self.left() / rate);
        (inner - ends) * self.step + tail
    }

    /// The variance.
    pub fn variance(&self) -> f64 {
        let n = self.below.len();
        let weighted = |i: usize| (1.0 - self.below[i]) * i as f64;
        let inner: f64 = (0..n).map(weighted).sum();
        let ends = weighted(n - 1) / 2.0;
        let tail = self.tail.map_or(0.0, |rate| {
            self.left() * (self.end() / rate + 1.0 / (rate * rate))
        });
        let square = 2.0 * ((inner - ends) * self.step * self.step + tail);
        // The first term of the Euler-Maclaurin formula: t (1 - F(t)) rises from 0 at once.
        let rise = self.step * self.step / 6.0 * (1.0 - self.below[0]);
        let mean = self.mean();
        square + rise - mean * mean
    }

    /// The probability mass of each interval of the grid: the distribution function in the middle of it, the mass, and
    /// the time there. Of an exponential tail there is one piece, at its mean.
    pub fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let first = (self.below[0] > 0.0).then(|| (self.below[0] / 2.0, self.below[0], 0.0));
        let inner = self.below.windows(2).enumerate().map(|(i, pair)| {
            let middle = (i as f64 + 0.5) * self.step;
            (f64::midpoint(pair[0], pair[1]), pair[1] - pair[0], middle)
        });
        let last = self.tail.map(|rate| {
            let left = self.left();
            (1.0 - left / 2.0, left, self.end() + 1.0 / rate)
        });
        first.into_iter().chain(inner).chain(last)
    }

    /// The distribution in which what is at the time t with the distribution function p is at `to`(p, t), which must
    /// not fall in t; the tail, where there is one, is `tail` times as long.
    #[must_use]
    pub fn moved(&self, tail: f64, to: impl Fn(f64, f64) -> f64) -> Self {
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(self.below.len());
        let mut latest = 0.0_f64;
        for (i, &p) in self.below.iter().enumerate() {
            latest = latest.max(to(p, i as f64 * self.step));
            points.push((latest, p));
        }
        let last = ((latest / self.step).ceil() as usize).clamp(1, MOST_POINTS - 1);
        let mut below = Vec::with_capacity(last + 1);
        let mut next = 0;
        for i in 0..=last {
            let t = i as f64 * self.step;
            while next < points.len() && points[next].0 <= t {
                next += 1;
            }
            below.push(
                match (next.checked_sub(1).map(|i| points[i]), points.get(next)) {
                    (None, _) => 0.0,
                    (Some((_, p)), None) => p,
                    (Some((from, p)), Some(&(to, q))) => p + (q - p) * (t - from) / (to - from),
                },
            );
        }
        let moved = self.tail.map(|rate| rate / tail);
        if moved.is_none() {
            below[last] = 1.0;
        }
        Self {
            step: self.step,
            below,
            tail: moved,
        }
    }

    /// One of several times, each with its probability.
    ///
    /// # Panics
    /// If it is empty.
    pub fn mixture(parts: &[(f64, &Self)]) -> Self {
        let step = parts.first().expect("a mixture has parts").1.step;
        let points = parts.iter().map(|(_, t)| t.below.len()).max().unwrap_or(1);
        let value = |i: usize| parts.iter().map(|(p, table)| p * table.at(i)).sum();
        let below = (0..points).map(value).collect();
        let tails = parts.iter().filter_map(|(_, table)| table.tail);
        Self {
            step,
            below,
            tail: tails.reduce(f64::min),
        }
    }

    /// The same of parts that come one after the other, and need not be kept; their probabilities sum to 1.
    ///
    /// # Panics
    /// If it is empty.
    pub fn mixture_of(parts: impl IntoIterator<Item = (f64, Self)>) -> Self {
        let (mut sum, mut total): (Option<Self>, f64) = (None, 0.0);
        for (probability, part) in parts {
            total += probability;
            sum = Some(match sum {
                None => part,
                Some(sum) if probability == 0.0 => sum,
                Some(sum) => {
                    let share = probability / total;
                    Self::mixture(&[(1.0 - share, &sum), (share, &part)])
                }
            });
        }
        sum.expect("a mixture has parts")
    }

    /// The sum of a geometric number (1, 2, ...) of such times, `mean` of them on average: the first, and with the
    /// probability q = 1 - 1 / `mean` another such sum: G = (1 - q) F + q (F * G), forward in t.
    #[must_use]
    pub fn geometric_sum(&self, mean: f64) -> Self {
        let q = 1.0 - 1.0 / mean;
        let masses: Vec<f64> = self.below.windows(2).map(|w| q * (w[1] - w[0])).collect();
        let none = self.below[0];
        // What is 0 with some probability stays in the equation at t itself.
        Self::forward(self.step, q * none, &masses, |n| (1.0 - q) * self.at(n))
    }

    /// Solves F(t) = g(t) + `at_once` F(t) + (F * m)(t) forward in t until nothing is left; `masses` are those of m in
    /// each interval.
    fn forward(step: f64, at_once: f64, masses: &[f64], given: impl Fn(usize) -> f64) -> Self {
        let support = masses.len() + 1;
        // The first interval holds half of the value that is sought.
        let first = at_once + masses.first().copied().unwrap_or(0.0) / 2.0;
        let mut below = vec![(given(0) / (1.0 - at_once)).min(1.0)];
        let mut middles = OnlineConvolution::new(masses);
        loop {
            let n = below.len();
            let half = below[n - 1] / 2.0;
            let sum = middles.push(half);
            let value = ((given(n) + sum) / (1.0 - first)).clamp(below[n - 1], 1.0);
            middles.correct(half + value / 2.0);
            below.push(value);
            if n >= support && (1.0 - value < NOTHING || n + 1 >= MOST_POINTS) {
                break;
            }
        }
        Self::with_tail(step, below, support / 2)
    }

    /// A table whose tail is exponential with the rate of the last `back` points.
    fn with_tail(step: f64, mut below: Vec<f64>, back: usize) -> Self {
        let n = below.len();
        let back = back.clamp(1, n - 1);
        let (a, b) = (1.0 - below[n - 1 - back], 1.0 - below[n - 1]);
        let tail = (b > 1e-13 && a > b).then(|| libm::log(a / b) / (back as f64 * step));
        if tail.is_none() {
            below[n - 1] = 1.0;
        }
        Self { step, below, tail }
    }

    /// The larger of two independent times.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        let points = self.below.len().max(other.below.len());
        let below = (0..points).map(|i| self.at(i) * other.at(i)).collect();
        let tail = match (self.tail, other.tail) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            step: self.step,
            below,
            tail,
        }
    }

    /// The largest of `n` independent times with this distribution.
    #[must_use]
    pub fn max_of(&self, n: u32) -> Self {
        let value = |value: &f64| value.powi(n as i32);
        Self {
            below: self.below.iter().map(value).collect(),
            ..self.clone()
        }
    }

    /// The smallest of `n` independent times with this distribution.
    #[must_use]
    pub fn min_of(&self, n: u32) -> Self {
        let value = |value: &f64| 1.0 - libm::pow(1.0 - value, f64::from(n));
        Self {
            below: self.below.iter().map(value).collect(),
            tail: self.tail.map(|rate| rate * f64::from(n)),
            step: self.step,
        }
    }

    /// The sum of two independent times: the mass of each interval of the second lies in its middle.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        // The longer one is the function that is shifted.
        let (long, short) = if self.below.len() >= other.below.len() {
            (self, other)
        } else {
            (other, self)
        };
        if short.below.len() == 1 && short.tail.is_none() {
            return long.clone();
        }
        let points = (long.below.len() + short.below.len() - 1).min(MOST_POINTS);
        // In the middle of an interval, so between two points of the other.
        let middles: Vec<f64> = (0..points)
            .map(|n| f64::midpoint(long.at(n), long.at(n + 1)))
            .collect();
        let masses: Vec<f64> = short.below.windows(2).map(|w| w[1] - w[0]).collect();
        let sums = convolution(&masses, &middles[..points - 1], points - 1);
        let mut below = vec![short.below[0] * long.at(0)];
        for (n, sum) in (1..).zip(sums) {
            let value = short.below[0] * long.at(n) + sum;
            // Rounding must not let it fall.
            below.push(value.clamp(below[n - 1], 1.0));
        }
        let mut table = Self {
            step: self.step,
            below,
            tail: long.tail.or(short.tail),
        };
        table.trim();
        table
    }

    /// The sum of `n` independent times with this distribution.
    #[must_use]
    pub fn times(&self, n: u32) -> Self {
        let (mut sum, mut power, mut left) = (Self::zero(self.step), self.clone(), n);
        while left > 0 {
            if left % 2 == 1 {
                sum = sum.plus(&power);
            }
            left /= 2;
            if left > 0 {
                power = power.plus(&power);
            }
        }
        sum
    }

    /// The time, given that it is not 0.
    #[must_use]
    pub fn given_some(&self) -> Self {
        let none = self.below[0];
        if none >= 1.0 {
            return self.clone();
        }
        let value = |value: &f64| (value - none) / (1.0 - none);
        Self {
            step: self.step,
            below: self.below.iter().map(value).collect(),
            tail: self.tail,
        }
    }

    /// Cuts off points that say nothing.
    fn trim(&mut self) {
        let keep = self.below.partition_point(|&value| value < 1.0 - 1e-13) + 1;
        if keep < self.below.len() {
            self.below.truncate(keep);
            self.below[keep - 1] = 1.0;
            self.tail = None;
        }
    }

    /// The same distribution on another grid.
    fn on_step(&self, step: f64) -> Self {
        let points = (self.end() / step).ceil() as usize + 1;
        let mut below: Vec<f64> = (0..points.min(MOST_POINTS))
            .map(|i| self.within(i as f64 * step))
            .collect();
        if self.tail.is_none()
            && let Some(last) = below.last_mut()
        {
            *last = 1.0;
        }
        Self {
            step,
            below,
            tail: self.tail,
        }
    }

    /// The same distribution of times that are `factor` times as long.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        // As on a finer grid, whose steps are stretched to those of this one.
        let fine = self.on_step(self.step / factor);
        Self {
            step: self.step,
            below: fine.below,
            tail: self.tail.map(|rate| rate / factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnalyticError;
    use crate::ServiceLaw;
    use crate::open::Mg1;

    fn uniform(step: f64, most: f64) -> Table {
        Table::new(step, most, |t| (t / most).min(1.0))
    }

    fn exponential(step: f64) -> Table {
        Table::new(step, 30.0, |t| 1.0 - libm::exp(-t))
    }

    #[test]
    fn moments_and_quantiles_of_what_is_known() {
        let table = uniform(0.01, 2.0);
        assert!((table.mean() - 1.0).abs() < 1e-12);
        assert!(
            (table.variance() - 1.0 / 3.0).abs() < 1e-4,
            "{}",
            table.variance()
        );
        assert!((table.quantile(0.25) - 0.5).abs() < 1e-12);
        let table = exponential(0.01);
        assert!((table.mean() - 1.0).abs() < 1e-5);
        assert!((table.variance() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn sums_and_extremes_are_as_they_should_be() {
        let table = uniform(0.005, 1.0);
        let sum = table.plus(&table);
        // A triangle.
        for (t, f) in [(0.5, 0.125), (1.0, 0.5), (1.5, 0.875)] {
            assert!((sum.within(t) - f).abs() < 1e-5, "{t}: {}", sum.within(t));
        }
        let five = table.times(5);
        assert!((five.mean() - 2.5).abs() < 1e-5);
        assert!((five.variance() - 5.0 / 12.0).abs() < 1e-4);
        assert!((table.max_of(4).mean() - 0.8).abs() < 1e-4);
        assert!((table.min_of(4).mean() - 0.2).abs() < 1e-4);
        assert!((table.max(&sum).mean() - sum.max(&table).mean()).abs() < 1e-12);
        let half = Table::mixture(&[(0.5, &table), (0.5, &sum)]);
        assert!((half.mean() - 0.75).abs() < 1e-5);
        assert!((table.stretched(3.0).mean() - 1.5).abs() < 1e-5);
    }

    #[test]
    fn the_wait_of_m_g_1_is_as_the_transform_has_it() {
        for rate in [0.4, 1.0, 1.6, 1.9] {
            // A triangle: transforms of times with corners in their distribution are inverted less well.
            let service = ServiceLaw::Times(2, Box::new(ServiceLaw::Uniform(0.0, 0.5)));
            let table = uniform(1e-3, 0.5).times(2);
            let queue = Mg1::new(rate, service).unwrap();
            let wait = Table::wait_mg1(rate, &table).unwrap();
            assert!((wait.mean() / queue.mean_wait() - 1.0).abs() < 1e-5);
            let variance = queue.variance_of_wait();
            assert!((wait.variance() / variance - 1.0).abs() < 1e-4, "{rate}");
            let response = wait.plus(&table);
            for p in [0.5, 0.9, 0.99, 0.999] {
                let (seen, exact) = (response.quantile(p), queue.response_quantile(p));
                assert!(
                    (seen / exact - 1.0).abs() < 1e-4,
                    "{rate} {p}: {seen} {exact}"
                );
            }
        }
    }

    #[test]
    fn geometric_sums_are_as_they_should_be() {
        // Of exponential times exponential; of a time that is mostly 0 as its transform has it.
        let sum = exponential(5e-3).geometric_sum(4.0);
        assert!((sum.mean() / 4.0 - 1.0).abs() < 1e-4, "{}", sum.mean());
        assert!((sum.quantile(0.99) / (4.0 * 4.605_170) - 1.0).abs() < 1e-3);
        let seldom = Table::mixture(&[(0.7, &Table::zero(5e-3)), (0.3, &uniform(5e-3, 1.0))]);
        let sum = seldom.geometric_sum(3.0);
        assert!((sum.mean() - 0.45).abs() < 1e-4, "{}", sum.mean());
        // Nothing: 1/3 0.7 / (1 - 2/3 0.7).
        assert!((sum.within(0.0) - 0.7 / 3.0 / (1.0 - 1.4 / 3.0)).abs() < 1e-9);
        let parts = [
            (0.5, uniform(0.01, 1.0)),
            (0.25, uniform(0.01, 2.0)),
            (0.25, uniform(0.01, 3.0)),
        ];
        assert!((Table::mixture_of(parts).mean() - 0.875).abs() < 1e-5);
    }

    #[test]
    fn what_is_too_near_to_saturation_says_so() {
        let service = uniform(1e-3, 1.0);
        let near = |result: Result<Table, AnalyticError>| {
            matches!(result, Err(AnalyticError::NearSaturation { .. }))
        };
        assert!(near(Table::wait_mg1(1.999, &service)));
        assert!(near(Table::wait_dg1(0.5001, &service)));
    }

    #[test]
    fn the_high_class_waits_as_cobham_says() {
        let (high, low) = (uniform(2e-3, 1.0), exponential(2e-3));
        let wait = Table::wait_of_high_class((0.5, &high), (0.3, &low)).unwrap();
        let remaining = f64::midpoint(0.5 / 3.0, 0.3 * 2.0);
        assert!(
            (wait.mean() / (remaining / 0.75) - 1.0).abs() < 1e-4,
            "{}",
            wait.mean()
        );
        assert!((wait.within(0.0) - 0.45).abs() < 1e-6);
    }

    #[test]
    fn regular_arrivals_wait_less() {
        // D/M/1: W = sigma / (1 - sigma), sigma = exp(-(1 - sigma) / rho); 0.2032 at rho = 0.5.
        let service = exponential(5e-3);
        let wait = Table::wait_dg1(2.0, &service).unwrap();
        let sigma = 0.203_187_869_979_98_f64;
        assert!(
            (wait.mean() / (sigma / (1.0 - sigma)) - 1.0).abs() < 1e-4,
            "{}",
            wait.mean()
        );
        assert!(Table::wait_dg1(1.0, &service).is_err());
        assert!(Table::wait_mg1(1.0, &service).is_err());
    }

    /// Exponential with mean 1: a tail from 2 on.
    fn with_a_tail() -> Table {
        let below = (0..=200).map(|i| -libm::expm1(-0.01 * f64::from(i)));
        Table {
            step: 0.01,
            below: below.collect(),
            tail: Some(1.0),
        }
    }

    #[test]
    fn a_tail_is_part_of_the_distribution() {
        let table = with_a_tail();
        assert!((table.end() - 2.0).abs() < 1e-12);
        for t in [0.5, 2.0, 3.0, 7.0] {
            assert!((table.within(t) + libm::expm1(-t)).abs() < 1e-12, "{t}");
        }
        for p in [0.9, 0.999] {
            let exact = -libm::log1p(-p);
            assert!((table.quantile(p) / exact - 1.0).abs() < 1e-12, "{p}");
        }
        assert!((table.mean() - 1.0).abs() < 1e-5, "{}", table.mean());
        assert!(
            (table.variance() - 1.0).abs() < 2e-5,
            "{}",
            table.variance()
        );
        // Nothing is lost between the pieces, whose middles are those of the intervals.
        let pieces: Vec<_> = table.pieces().collect();
        let total: f64 = pieces.iter().map(|(_, mass, _)| mass).sum();
        let mean: f64 = pieces.iter().map(|(_, mass, at)| mass * at).sum();
        assert!(
            (total - 1.0).abs() < 1e-12 && (mean - 1.0).abs() < 1e-4,
            "{mean}"
        );
        for (below, mass, at) in pieces {
            assert!((0.0..=1.0).contains(&(below - mass / 2.0)), "{at}");
            assert!(at > 2.0 || (below + libm::expm1(-at)).abs() < 1e-4, "{at}");
        }
    }

    #[test]
    fn what_is_moved_keeps_its_probability() {
        let table = with_a_tail();
        let twice = table.moved(2.0, |_, t| 2.0 * t);
        let stretched = table.stretched(2.0);
        let later = table.moved(1.0, |_, t| t + 1.5);
        for p in [0.1, 0.5, 0.8, 0.99] {
            let exact = -libm::log1p(-p);
            assert!((twice.quantile(p) - 2.0 * exact).abs() < 1e-4, "{p}");
            assert!((stretched.quantile(p) - 2.0 * exact).abs() < 1e-4, "{p}");
            assert!((later.quantile(p) - 1.5 - exact).abs() < 1e-4, "{p}");
        }
        assert!((twice.mean() - 2.0).abs() < 1e-3, "{}", twice.mean());
        assert!((later.mean() - 2.5).abs() < 1e-2, "{}", later.mean());
        assert_eq!(
            (later.within(1.4), Table::zero(0.01).given_some()),
            (0.0, Table::zero(0.01))
        );
    }

    #[test]
    fn what_may_be_zero_has_a_piece_there_and_a_distribution_without_it() {
        // Zero in one of four cases; otherwise exponential with mean 2.
        let below = (0..=200).map(|i| 1.0 - 0.75 * libm::exp(-0.01 * f64::from(i) / 2.0));
        let table = Table {
            step: 0.01,
            below: below.collect(),
            tail: Some(0.5),
        };
        assert!((table.mean() - 1.5).abs() < 1e-4, "{}", table.mean());
        // 0.75 * 8 - 1.5^2.
        assert!(
            (table.variance() - 3.75).abs() < 1e-3,
            "{}",
            table.variance()
        );
        let pieces: Vec<_> = table.pieces().collect();
        assert_eq!(pieces[0], (0.125, 0.25, 0.0));
        let (middle, mass, at) = pieces[pieces.len() - 1];
        let left = 0.75 * libm::exp(-1.0);
        assert!((mass - left).abs() < 1e-12 && (middle - 1.0 + left / 2.0).abs() < 1e-12);
        assert!((at - 4.0).abs() < 1e-12, "{at}");
        let some = table.given_some();
        assert!((some.mean() - 2.0).abs() < 1e-4, "{}", some.mean());
        assert!((some.quantile(0.3) + 2.0 * libm::log1p(-0.3)).abs() < 1e-4);
        // Where one table ends, the other goes on in its tail.
        let longer = Table::new(0.01, 10.0, |t| (t / 10.0).min(1.0));
        let larger = longer.max(&table);
        assert!((larger.within(6.0) - 0.6 * (1.0 - 0.75 * libm::exp(-3.0))).abs() < 1e-9);
    }
}
