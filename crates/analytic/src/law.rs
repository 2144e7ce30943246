//! Service times as expressions.

use std::sync::Arc;

use num_complex::Complex64;

/// The distribution of a time, at least 0.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceLaw {
    /// Always the same.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Uniform between two times.
    Uniform(f64, f64),
    /// One of these times, each with its probability (probability, time): a table, or the points of a
    /// quadrature rule of a density.
    Points(Arc<[(f64, f64)]>),
    /// The sum of independent times.
    Sum(Vec<ServiceLaw>),
    /// The sum of this number of independent times.
    Times(u32, Box<ServiceLaw>),
    /// One of several laws, each with its probability.
    Mixture(Vec<(f64, ServiceLaw)>),
}

impl ServiceLaw {
    /// Always 0.
    pub const ZERO: Self = Self::Constant(0.0);

    /// Erlang: the sum of `phases` exponential times, with this mean altogether.
    pub fn erlang(phases: u32, mean: f64) -> Self {
        Self::Times(
            phases,
            Box::new(Self::Exponential(mean / f64::from(phases))),
        )
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.cumulants()[0]
    }

    /// The variance.
    pub fn variance(&self) -> f64 {
        self.cumulants()[1]
    }

    /// The squared coefficient of variation: variance over squared mean; NaN of a law that is always 0.
    pub fn scv(&self) -> f64 {
        let [mean, variance, _] = self.cumulants();
        variance / (mean * mean)
    }

    /// Mean, variance, third central moment: of a sum they are the sums of its parts'.
    pub fn cumulants(&self) -> [f64; 3] {
        match self {
            Self::Constant(t) => [*t, 0.0, 0.0],
            Self::Exponential(m) => [*m, m * m, 2.0 * m * m * m],
            Self::Uniform(a, b) => [f64::midpoint(*a, *b), (b - a) * (b - a) / 12.0, 0.0],
            Self::Sum(parts) => parts.iter().fold([0.0; 3], |sum, part| {
                let part = part.cumulants();
                std::array::from_fn(|i| sum[i] + part[i])
            }),
            Self::Times(n, law) => law.cumulants().map(|c| f64::from(*n) * c),
            Self::Points(points) => {
                let moment = |power: i32, centre: f64| -> f64 {
                    let terms = points.iter().map(|(p, t)| p * (t - centre).powi(power));
                    terms.sum()
                };
                let mean = moment(1, 0.0);
                [mean, moment(2, mean), moment(3, mean)]
            }
            Self::Mixture(parts) => {
                // Each part around the common mean.
                let laws: Vec<(f64, [f64; 3])> =
                    parts.iter().map(|(p, law)| (*p, law.cumulants())).collect();
                let mean = laws.iter().map(|(p, c)| p * c[0]).sum();
                let (mut second, mut third) = (0.0, 0.0);
                for (p, [m, v, k]) in &laws {
                    let off = m - mean;
                    second += p * (v + off * off);
                    third += p * (k + 3.0 * v * off + off * off * off);
                }
                [mean, second, third]
            }
        }
    }

    /// The first three moments: the means of the time, of its square, of its cube.
    pub fn moments(&self) -> [f64; 3] {
        let [mean, variance, third] = self.cumulants();
        let square = variance + mean * mean;
        [
            mean,
            square,
            third + 3.0 * mean * square - 2.0 * mean * mean * mean,
        ]
    }

    /// The Laplace-Stieltjes transform: the mean of exp(-s T), for Re s >= 0.
    pub fn lst(&self, s: Complex64) -> Complex64 {
        let one = Complex64::new(1.0, 0.0);
        match self {
            Self::Constant(t) => (-s * t).exp(),
            Self::Exponential(mean) => one / (one + s * mean),
            Self::Uniform(a, b) => {
                let width = s * (b - a);
                if width.norm() < 1e-4 {
                    // (1 - exp(-x)) / x loses its digits near 0; the series has them.
                    let series =
                        one - width / 2.0 + width * width / 6.0 - width * width * width / 24.0;
                    return (-s * a).exp() * series;
                }
                (-s * a).exp() * (one - (-width).exp()) / width
            }
            Self::Points(points) => points.iter().map(|(p, t)| (-s * t).exp() * p).sum(),
            Self::Sum(parts) => parts.iter().map(|part| part.lst(s)).product(),
            Self::Times(n, law) => law.lst(s).powu(*n),
            Self::Mixture(parts) => parts.iter().map(|(p, law)| law.lst(s) * p).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> Vec<ServiceLaw> {
        let points = ServiceLaw::Points([(0.25, 1.0), (0.75, 3.0)].into());
        let sum = ServiceLaw::Sum(vec![
            ServiceLaw::Uniform(0.5, 2.0),
            ServiceLaw::Exponential(1.5),
            points.clone(),
        ]);
        vec![
            ServiceLaw::Constant(2.0),
            points,
            ServiceLaw::erlang(3, 2.0),
            ServiceLaw::Mixture(vec![
                (0.3, sum.clone()),
                (0.7, ServiceLaw::Exponential(0.5)),
            ]),
            sum,
        ]
    }

    #[test]
    fn moments_are_the_slopes_of_the_transform_at_zero() {
        // By Richardson's extrapolation of central differences.
        for law in laws() {
            let at = |s: f64| law.lst(Complex64::new(s, 0.0)).re;
            let slope = |h: f64| (at(-h) - at(h)) / (2.0 * h);
            let bend = |h: f64| (at(h) - 2.0 + at(-h)) / (h * h);
            let refined = |f: &dyn Fn(f64) -> f64, h: f64| (4.0 * f(h / 2.0) - f(h)) / 3.0;
            let [mean, square, _] = law.moments();
            assert!((refined(&slope, 1e-3) / mean - 1.0).abs() < 1e-8, "{law:?}");
            assert!(
                (refined(&bend, 1e-2) / square - 1.0).abs() < 1e-6,
                "{law:?}"
            );
        }
    }

    #[test]
    fn third_moments_are_known() {
        // E T^3: exponential 6 m^3, uniform on [0, 1] 1/4, Erlang-3 with phases of 1: 3 4 5.
        let third = |law: ServiceLaw| law.moments()[2];
        assert!((third(ServiceLaw::Exponential(2.0)) - 48.0).abs() < 1e-12);
        assert!((third(ServiceLaw::Uniform(0.0, 1.0)) - 0.25).abs() < 1e-15);
        assert!((third(ServiceLaw::erlang(3, 3.0)) - 60.0).abs() < 1e-12);
        let table = ServiceLaw::Points([(0.25, 1.0), (0.75, 3.0)].into());
        assert!((third(table) - (0.25 + 0.75 * 27.0)).abs() < 1e-12);
    }

    #[test]
    fn the_transform_of_a_uniform_time_has_no_step_where_the_series_begins() {
        let law = ServiceLaw::Uniform(0.0, 1.0);
        let at = |x: f64| law.lst(Complex64::new(0.0, x));
        assert!((at(0.999_999e-4) - at(1.000_001e-4)).norm() < 1e-9);
        assert!((at(1e-12).re - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_mixture_has_the_mixed_moments_of_its_parts() {
        // Exponential of mean 1: 1, 2, 6. Uniform from 2 to 4: 3, 28/3, 30.
        let law = ServiceLaw::Mixture(vec![
            (0.25, ServiceLaw::Exponential(1.0)),
            (0.75, ServiceLaw::Uniform(2.0, 4.0)),
        ]);
        let same = |a: f64, b: f64| (a - b).abs() < 1e-12 * b.abs();
        let [mean, variance, third] = law.cumulants();
        assert!(same(mean, 2.5) && same(variance, 1.25) && same(third, -1.0));
        assert!(same(law.scv(), 0.2), "{}", law.scv());
        let [first, second, third] = law.moments();
        assert!(same(first, 2.5) && same(second, 7.5) && same(third, 24.0));
    }

    #[test]
    fn the_transform_of_a_narrow_law_keeps_its_digits() {
        // (1 - exp(-x)) / x without cancellation, on both sides of where the series begins.
        for width in [1e-6, 0.9e-4, 1.1e-4, 1e-2] {
            let exact = -libm::expm1(-width) / width * libm::exp(-3.0);
            let seen = ServiceLaw::Uniform(3.0, 3.0 + width).lst(Complex64::new(1.0, 0.0));
            // Without the series, exp loses what 1 is larger than the width.
            let error = if width < 1e-4 { 1e-15 } else { 1e-16 / width };
            assert!(
                (seen.re / exact - 1.0).abs() < 4.0 * error,
                "{width}: {seen} {exact}"
            );
        }
    }
}
