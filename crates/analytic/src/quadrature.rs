//! Integrals by Gauss-Legendre rules.

use std::f64::consts::PI;

/// Points and weights on [-1, 1] of the rule that is exact for polynomials up to the degree 2 `n` - 1.
///
/// The points are the roots of the Legendre polynomial of degree `n`, by Newton's method (Davis and
/// Rabinowitz, "Methods of Numerical Integration", 2.7).
#[derive(Clone, Debug)]
pub struct GaussLegendre(Vec<(f64, f64)>);

impl GaussLegendre {
    /// The rule of `n` points, at least 1.
    ///
    /// # Panics
    /// If there are no points.
    pub fn new(n: usize) -> Self {
        assert!(n > 0, "a rule has points");
        let point = |i: usize| {
            let mut x = libm::cos(PI * (i as f64 + 0.75) / (n as f64 + 0.5));
            let mut slope = 1.0;
            for _ in 0..100 {
                // The polynomials of degrees n and n - 1 by their recurrence.
                let (mut last, mut value) = (1.0, x);
                for k in 2..=n {
                    let k = k as f64;
                    (last, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * last) / k);
                }
                slope = n as f64 * (x * value - last) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        };
        if n == 1 {
            return Self(vec![(0.0, 2.0)]);
        }
        Self((0..n).rev().map(point).collect())
    }

    /// Points and weights on the interval from `low` to `high`, in ascending order.
    pub fn on(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
        let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
        let points = self.0.iter();
        points.map(move |(x, weight)| (middle + half * x, half * weight))
    }

    /// The integral of `f` from `low` to `high`.
    pub fn integral(&self, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
        self.on(low, high).map(|(x, weight)| weight * f(x)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for n in [1, 2, 5, 16, 64, 200] {
            let rule = GaussLegendre::new(n);
            let degree = (2 * n - 1).min(40) as i32;
            let seen = rule.integral(0.0, 1.0, |x| x.powi(degree));
            assert!(
                (seen * f64::from(degree + 1) - 1.0).abs() < 1e-13,
                "{n}: {seen}"
            );
        }
    }
}
