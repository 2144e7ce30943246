//! Moments and transforms of laws, in closed form.

use iosonar_units::Nanos;

use super::{Law, ns};

impl Law {
    /// The mean in nanoseconds; `None` where it is not known: of a custom law.
    pub fn mean_ns(&self) -> Option<f64> {
        let weighted = |table: &[(f64, Nanos)]| table.iter().map(|(p, t)| p * ns(*t)).sum();
        Some(match self {
            Self::Constant(t) | Self::Exponential(t) | Self::Erlang { mean: t, .. } => ns(*t),
            Self::Uniform(from, to) => f64::midpoint(ns(*from), ns(*to)),
            Self::HyperExponential(table) | Self::Table(table) => weighted(table),
            Self::Pareto { least, shape } if *shape > 1.0 => ns(*least) * shape / (shape - 1.0),
            Self::Pareto { .. } => f64::INFINITY,
            Self::LogNormal { median, sigma } => ns(*median) * libm::exp(0.5 * sigma * sigma),
            Self::Gamma { mean, .. } => ns(*mean),
            Self::Weibull { shape, scale } => ns(*scale) * libm::tgamma(1.0 + 1.0 / shape),
            Self::Empirical(times) => {
                times.iter().copied().map(ns).sum::<f64>() / times.len() as f64
            }
            Self::Truncated { .. } => return self.moment(1),
            Self::Custom(_) => return None,
        })
    }

    /// The mean of the time, in nanoseconds, to the power of `order`; `None` where it is not known: of a custom law, and of
    /// a truncated one that has hardly any times within its bounds. Infinite for a Pareto law whose shape is at most `order`.
    ///
    /// ```
    /// use iosonar_sim_core::Law;
    /// use iosonar_units::Nanos;
    ///
    /// let law = Law::Gamma { shape: 4.0, mean: Nanos::new(100) };
    /// let variance = law.moment(2).unwrap() - law.moment(1).unwrap().powi(2);
    /// assert!((variance.sqrt() / 100.0 - 0.5).abs() < 1e-12, "1 / sqrt(4)");
    /// ```
    pub fn moment(&self, order: u32) -> Option<f64> {
        let moment = self.partial_moment(order, f64::INFINITY)?;
        let Self::Truncated { least, most, .. } = self else {
            return Some(moment);
        };
        // Where hardly anything lies within the bounds, only rounding errors are left.
        let power = |t: f64| libm::pow(t, f64::from(order));
        let possible = power(ns(*least) - 0.5)..=power(ns(*most) + 0.5);
        possible.contains(&moment).then_some(moment)
    }

    /// The standard deviation divided by the mean; `None` where it is not known, or where the mean is zero or infinite. An
    /// exponential law has 1.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let (mean, square) = (self.moment(1)?, self.moment(2)?);
        let squared = square / (mean * mean) - 1.0;
        (!squared.is_nan()).then(|| squared.max(0.0).sqrt())
    }

    /// The Laplace transform: the mean of exp(-`per_ns` T). `None` where it has no closed form: of log-normal,
    /// Weibull, Pareto, truncated and custom laws.
    pub fn transform(&self, per_ns: f64) -> Option<f64> {
        let s = per_ns;
        let of_constant = |t: Nanos| libm::exp(-s * ns(t));
        let of_exponential = |t: Nanos| 1.0 / (1.0 + s * ns(t));
        Some(match self {
            Self::Constant(t) => of_constant(*t),
            Self::Exponential(mean) => of_exponential(*mean),
            Self::Uniform(from, to) if from == to || s == 0.0 => of_constant(*from),
            Self::Uniform(from, to) => {
                let width = s * (ns(*to) - ns(*from));
                of_constant(*from) * -libm::expm1(-width) / width
            }
            Self::Erlang { phases, mean } => {
                let phases = f64::from(*phases);
                libm::pow(1.0 + s * ns(*mean) / phases, -phases)
            }
            Self::Gamma { shape, mean } => libm::pow(1.0 + s * ns(*mean) / shape, -shape),
            Self::HyperExponential(table) => {
                table.iter().map(|(p, t)| p * of_exponential(*t)).sum()
            }
            Self::Table(table) => table.iter().map(|(p, t)| p * of_constant(*t)).sum(),
            Self::Empirical(times) => {
                times.iter().map(|t| of_constant(*t)).sum::<f64>() / times.len() as f64
            }
            Self::LogNormal { .. }
            | Self::Weibull { .. }
            | Self::Pareto { .. }
            | Self::Truncated { .. }
            | Self::Custom(_) => return None,
        })
    }

    /// The mean of the `order`-th power of the times up to `end`, in nanoseconds, where longer ones count as 0: of order 0
    /// the probability of a time up to `end`. `None` of custom laws.
    ///
    /// ```
    /// use iosonar_sim_core::Law;
    /// use iosonar_units::Nanos;
    ///
    /// let law = Law::Exponential(Nanos::from_millis(5));
    /// let within_5_ms = law.partial_moment(0, 5e6).unwrap();
    /// assert!((within_5_ms - (1.0 - (-1.0_f64).exp())).abs() < 1e-12);
    /// ```
    pub fn partial_moment(&self, order: u32, end: f64) -> Option<f64> {
        let n = f64::from(order);
        let power = |t: f64| libm::pow(t, n);
        let of_constant = |t: Nanos| if ns(t) <= end { power(ns(t)) } else { 0.0 };
        // A gamma law: Γ(shape + n) / Γ(shape), of which the times up to `end` have the incomplete part.
        let of_gamma = |shape: f64, scale: f64| {
            let whole: f64 = (0..order).map(|i| (shape + f64::from(i)) * scale).product();
            whole * lower_gamma(shape + n, end / scale)
        };
        Some(match self {
            Self::Truncated { law, least, most } => {
                // Times are rounded to whole nanoseconds before they are compared with the bounds.
                let least = ns(*least) - 0.5;
                let within = |n, end: f64| {
                    Some(law.partial_moment(n, end.max(least))? - law.partial_moment(n, least)?)
                };
                within(order, end.min(ns(*most) + 0.5))? / within(0, ns(*most) + 0.5)?
            }
            Self::Custom(_) => return None,
            _ if end < 0.0 => 0.0,
            Self::Constant(t) => of_constant(*t),
            Self::Table(table) => table.iter().map(|(p, t)| p * of_constant(*t)).sum(),
            Self::Empirical(times) => {
                times.iter().map(|t| of_constant(*t)).sum::<f64>() / times.len() as f64
            }
            Self::Uniform(from, to) if from == to => of_constant(*from),
            Self::Uniform(from, to) => {
                let (from, to) = (ns(*from), ns(*to));
                let end = end.clamp(from, to);
                (power(end) * end - power(from) * from) / ((n + 1.0) * (to - from))
            }
            Self::Exponential(mean) => of_gamma(1.0, ns(*mean)),
            Self::HyperExponential(table) => {
                table.iter().map(|(p, t)| p * of_gamma(1.0, ns(*t))).sum()
            }
            Self::Erlang { phases, mean } => {
                of_gamma(f64::from(*phases), ns(*mean) / f64::from(*phases))
            }
            Self::Gamma { shape, mean } => of_gamma(*shape, ns(*mean) / shape),
            Self::Weibull { shape, scale } => {
                // (T / scale)^shape is exponential.
                let a = 1.0 + n / shape;
                let end = libm::pow(end / ns(*scale), *shape);
                power(ns(*scale)) * libm::tgamma(a) * lower_gamma(a, end)
            }
            Self::LogNormal { median, sigma: 0.0 } => of_constant(*median),
            Self::LogNormal { median, sigma } => {
                let z = libm::log(end / ns(*median)) / sigma - n * sigma;
                let below = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
                power(ns(*median)) * libm::exp(0.5 * n * n * sigma * sigma) * below
            }
            Self::Pareto { least, .. } if end <= ns(*least) => 0.0,
            Self::Pareto { least, shape } if *shape == n => {
                power(ns(*least)) * shape * libm::log(end / ns(*least))
            }
            Self::Pareto { least, shape } => {
                let tail = libm::pow(ns(*least) / end, shape - n);
                power(ns(*least)) * shape / (shape - n) * (1.0 - tail)
            }
        })
    }

    /// The same law with all times multiplied by `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let by = |t: Nanos| Nanos::nearest(ns(t) * factor);
        let all = |table: &[(f64, Nanos)]| table.iter().map(|(p, t)| (*p, by(*t))).collect();
        match self {
            Self::Constant(t) => Self::Constant(by(*t)),
            Self::Exponential(mean) => Self::Exponential(by(*mean)),
            Self::Uniform(from, to) => Self::Uniform(by(*from), by(*to)),
            Self::Erlang { phases, mean } => Self::Erlang {
                phases: *phases,
                mean: by(*mean),
            },
            Self::HyperExponential(table) => Self::HyperExponential(all(table)),
            Self::Table(table) => Self::Table(all(table)),
            Self::Pareto { least, shape } => Self::Pareto {
                least: by(*least),
                shape: *shape,
            },
            Self::LogNormal { median, sigma } => Self::LogNormal {
                median: by(*median),
                sigma: *sigma,
            },
            Self::Gamma { shape, mean } => Self::Gamma {
                shape: *shape,
                mean: by(*mean),
            },
            Self::Weibull { shape, scale } => Self::Weibull {
                shape: *shape,
                scale: by(*scale),
            },
            Self::Truncated { law, least, most } => Self::Truncated {
                law: Box::new(law.scaled(factor)),
                least: by(*least),
                most: by(*most),
            },
            Self::Empirical(times) => Self::Empirical(times.iter().map(|t| by(*t)).collect()),
            Self::Custom(sampler) => {
                let sampler = sampler.clone();
                Self::from_fn(move |stream| Nanos::nearest(ns(sampler.draw(stream)) * factor))
            }
        }
    }
}

/// The regularised lower incomplete gamma function P(a, x): the share of a gamma law with shape `a` that lies below `x`
/// scales. By its series below a + 1, else by its continued fraction (Abramowitz and Stegun 6.5.29 and 6.5.31).
fn lower_gamma(a: f64, x: f64) -> f64 {
    /// Far more terms than either needs for shapes below a million.
    const MOST_TERMS: u32 = 1_000_000;
    if x <= 0.0 {
        return 0.0;
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for i in 1..MOST_TERMS {
            term *= x / (a + f64::from(i));
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return front * sum;
    }
    // Lentz's method.
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut fraction = d;
    for i in 1..MOST_TERMS {
        let i = f64::from(i);
        let numerator = i * (a - i);
        b += 2.0;
        let unless_zero = |v: f64| if v.abs() < tiny { tiny } else { v };
        d = 1.0 / unless_zero(numerator * d + b);
        c = unless_zero(b + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 - front * fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn ms(t: u64) -> Nanos {
        Nanos::from_millis(t)
    }

    /// Moments in milliseconds.
    fn moment_ms(law: &Law, order: u32) -> f64 {
        law.moment(order).unwrap() / 1e6_f64.powi(order.cast_signed())
    }

    fn laws() -> [Law; 5] {
        [
            Law::Gamma {
                shape: 0.5,
                mean: ms(3),
            },
            Law::Weibull {
                shape: 0.7,
                scale: ms(3),
            },
            Law::LogNormal {
                median: ms(3),
                sigma: 1.0,
            },
            Law::Pareto {
                least: ms(2),
                shape: 1.5,
            },
            Law::Erlang {
                phases: 4,
                mean: ms(3),
            },
        ]
    }

    #[test]
    fn moments_are_those_of_scipy() {
        // scipy.stats 1.17: gamma(0.5, scale=6), weibull_min(0.7, scale=3), lognorm(1, scale=3), gamma(4, scale=0.75);
        // .moment(1), .moment(2), .moment(3).
        let [gamma, weibull, log_normal, pareto, erlang] = laws();
        for (law, expected) in [
            (gamma, [3.0, 27.0, 405.0]),
            (
                weibull,
                [
                    3.797_470_518_171_851,
                    45.262_302_319_262_766,
                    1_005.318_511_181_881,
                ],
            ),
            (
                log_normal,
                [
                    4.946_163_812_100_385,
                    66.501_504_890_375_84,
                    2_430.462_545_114_088,
                ],
            ),
            (erlang, [3.0, 11.25, 50.625]),
        ] {
            for (order, expected) in (1..).zip(expected) {
                let found = moment_ms(&law, order);
                let off = (found / expected - 1.0).abs();
                assert!(off < 1e-9, "{law:?}, {order}: {found}, expected {expected}");
            }
            let mean = law.mean_ns().unwrap();
            assert!(
                (mean / law.moment(1).unwrap() - 1.0).abs() < 1e-9,
                "{law:?}"
            );
        }
        assert_eq!(pareto.moment(2), Some(f64::INFINITY));
    }

    #[test]
    fn truncated_moments_are_those_of_scipy() {
        // The first two moments of the densities above within the bounds, by scipy.integrate.quad; from zero by mpmath.quad.
        let [gamma, weibull, log_normal, pareto, erlang] = laws();
        let square = Law::Pareto {
            least: ms(2),
            shape: 2.0,
        };
        for (law, (least, most), expected) in [
            (gamma, (1.0, 10.0), [3.694_605_566_146, 18.962_995_163_650]),
            (erlang, (2.0, 20.0), [3.608_798_826_766, 14.750_589_116_967]),
            (
                weibull,
                (0.5, 20.0),
                [4.251_301_452_268, 34.194_464_228_311],
            ),
            (
                log_normal,
                (1.0, 30.0),
                [5.133_581_822_321, 48.153_127_596_827],
            ),
            (
                pareto,
                (3.0, 100.0),
                [7.480_021_605_576, 129.557_774_625_701],
            ),
            (
                square,
                (3.0, 100.0),
                [5.825_242_718_447, 63.174_899_561_365],
            ),
            // Three with a lower bound that is not above the least that is possible.
            (
                Law::Weibull {
                    shape: 0.7,
                    scale: ms(3),
                },
                (0.0, 20.0),
                [3.220_497_919_075, 25.522_681_783_541],
            ),
            (
                Law::LogNormal {
                    median: ms(3),
                    sigma: 1.0,
                },
                (0.0, 30.0),
                [4.517_678_489_579, 41.600_672_227_999],
            ),
            (
                Law::Pareto {
                    least: ms(2),
                    shape: 1.5,
                },
                (1.0, 100.0),
                [5.166_083_753_995, 73.059_457_092_545],
            ),
            (
                Law::Exponential(ms(3)),
                (1.0, 5.0),
                [2.568_190_582_849, 7.818_286_994_187],
            ),
            (
                Law::Uniform(ms(1), ms(5)),
                (2.0, 4.0),
                [3.0, 9.333_333_333_333],
            ),
        ] {
            let at = |ms: f64| Nanos::nearest(ms * 1e6);
            let law = law.truncated(at(least), at(most));
            for (order, expected) in (1..).zip(expected) {
                let found = moment_ms(&law, order);
                // Bounds are half a nanosecond wider.
                let off = (found / expected - 1.0).abs();
                assert!(off < 1e-6, "{law:?}, {order}: {found}, expected {expected}");
            }
            let again = law.clone().truncated(at(least), at(most));
            let off = again.moment(1).unwrap() / law.moment(1).unwrap() - 1.0;
            assert!(off.abs() < 1e-12, "the same bounds twice: {law:?}");
        }
    }

    #[test]
    fn a_moment_may_be_that_of_a_bound() {
        let constant = Law::Constant(ms(5));
        for (least, most) in [(5, 9), (1, 5), (5, 5)] {
            let moment = constant.clone().truncated(ms(least), ms(most)).moment(1);
            assert_eq!(moment, Some(5e6), "{least} to {most}");
        }
    }

    #[test]
    fn a_transform_has_the_moments_as_its_derivatives() {
        for law in [
            Law::Constant(ms(3)),
            Law::Exponential(ms(3)),
            Law::Uniform(ms(1), ms(5)),
            Law::Erlang {
                phases: 4,
                mean: ms(3),
            },
            Law::Gamma {
                shape: 0.5,
                mean: ms(3),
            },
            Law::HyperExponential(vec![(0.9, ms(1)), (0.1, ms(21))]),
            Law::Table(vec![(0.25, ms(6)), (0.75, ms(2))]),
            Law::empirical([ms(1), ms(1), ms(7)]),
        ] {
            // For small s, 1 - s m1 + s² m2 / 2.
            let s = 1e-3 / law.mean_ns().unwrap();
            let found = law.transform(s).unwrap();
            let [m1, m2, m3] = [1, 2, 3].map(|order| law.moment(order).unwrap());
            let expected = 1.0 - s * m1 + s * s * m2 / 2.0;
            let rest = s.powi(3) * m3 / 6.0;
            assert!(
                (found - expected).abs() <= 1.1 * rest,
                "{law:?}: {found}, {expected}"
            );
            assert_eq!(law.transform(0.0), Some(1.0), "{law:?}");
            let tiny = law.transform(1e-23).unwrap();
            assert!((tiny - 1.0).abs() < 1e-12, "{law:?}: {tiny}");
        }
        assert_eq!(Law::log_normal(ms(3), 1.0).transform(1.0), None);
    }

    #[test]
    fn scaled_laws_have_scaled_means() {
        for law in laws() {
            let law = law.truncated(ms(2), ms(40));
            let found = law.scaled(2.5).mean_ns().unwrap() / law.mean_ns().unwrap();
            assert!((found - 2.5).abs() < 1e-5, "{law:?}: {found}");
        }
        let custom = Law::from_fn(|_| ms(3)).scaled(2.0);
        assert_eq!(custom.draw(&mut Seed::new(1).stream("a", "b")), ms(6));
        assert_eq!(Law::from_fn(|_| Nanos::ZERO).moment(1), None);
    }

    #[test]
    fn what_is_unknown_or_extreme_is_no_number_out_of_rounding() {
        let endless = Law::Pareto {
            least: ms(1),
            shape: 0.9,
        };
        assert_eq!(endless.coefficient_of_variation(), None);
        let many = Law::Erlang {
            phases: 100_000_000,
            mean: ms(3),
        };
        let cv = many.coefficient_of_variation().unwrap();
        assert!((cv / 1e-4 - 1.0).abs() < 1e-3, "{cv}");
        let nothing = Law::Exponential(Nanos::new(1)).truncated(ms(1), ms(2));
        assert_eq!(nothing.moment(1), None);
    }

    #[test]
    fn few_and_many_phases_keep_to_the_normal_limit() {
        // P(a, a) tends to 1/2 + 1 / (3 sqrt(2 pi a)).
        for a in [0.5, 20.0, 1e4, 1e6] {
            let found = lower_gamma(a, a);
            let limit = 0.5 + 1.0 / (3.0 * (std::f64::consts::TAU * a).sqrt());
            assert!((found - limit).abs() < 0.05 / a, "{a}: {found}, {limit}");
        }
        assert!((lower_gamma(1.0, 2.0) - (1.0 - (-2.0_f64).exp())).abs() < 1e-15);
    }

    #[test]
    fn small_shares_of_a_gamma_law_are_exact_as_well() {
        for x in [1e-12, 1e-6, 1e-3, 0.1, 1.0, 1.9, 2.1, 10.0, 30.0] {
            // Of shapes 1 and 1/2 they are the exponential and the error function.
            for (a, expected) in [(1.0, -libm::expm1(-x)), (0.5, libm::erf(x.sqrt()))] {
                let found = lower_gamma(a, x);
                assert!((found / expected - 1.0).abs() < 1e-13, "{a} {x}: {found}");
            }
        }
        let (none, all) = (lower_gamma(2.0, 0.0), lower_gamma(2.0, f64::INFINITY));
        assert_eq!((none, all), (0.0, 1.0));
    }

    #[test]
    fn a_mean_is_infinite_from_a_shape_of_one_on_down() {
        let mean = |shape| {
            let law = Law::Pareto {
                least: ms(2),
                shape,
            };
            law.mean_ns().unwrap()
        };
        for shape in [0.5, 1.0] {
            assert_eq!(mean(shape), f64::INFINITY);
        }
        assert!((mean(1.25) / 10e6 - 1.0).abs() < 1e-12);
    }
}
