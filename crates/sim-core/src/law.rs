//! Laws of random times: service times, think times, distances between arrivals.

mod draws;
mod moments;
mod sampler;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

pub(crate) use draws::Draws;
use iosonar_units::Nanos;
pub use sampler::Sampler;

use crate::{Seed, Stream};

/// The distribution of a time.
///
/// What is missing here can be any distribution of the `rand` crates ([`Law::sampled`]) or a closure
/// ([`Law::from_fn`]). The laws that have names are drawn without a virtual call, and are the same to the bit on every
/// machine: their logarithms and powers are those of the `libm` crate, whereas `rand_distr` takes those of the system
/// as soon as any crate of a program enables `num-traits/std`.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Constant(Nanos),
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Uniform between two times.
    Uniform(Nanos, Nanos),
    /// The sum of `phases` exponential times, with this mean altogether: less variable than one.
    Erlang {
        /// How many.
        phases: u32,
        /// The mean of the sum.
        mean: Nanos,
    },
    /// An exponential time with a mean that is drawn first: more variable than one.
    HyperExponential(Vec<(f64, Nanos)>),
    /// One of these times, each with its probability.
    Table(Vec<(f64, Nanos)>),
    /// Pareto: P(T > t) = (`least` / t)^`shape` from `least` on. The mean is infinite for a shape of
    /// at most 1, the variance for one of at most 2.
    Pareto {
        /// The smallest time.
        least: Nanos,
        /// The exponent of the tail.
        shape: f64,
    },
    /// Log-normal: the logarithm of the time is normal. [`Law::log_normal`] makes one from its mean.
    LogNormal {
        /// Half of the times are shorter.
        median: Nanos,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Gamma: an Erlang distribution whose number of phases is any number, with coefficient of variation
    /// 1 / sqrt(`shape`).
    Gamma {
        /// Above 0.
        shape: f64,
        /// The mean.
        mean: Nanos,
    },
    /// Weibull: P(T > t) = exp(-(t / `scale`)^`shape`). A shape below 1 has a long tail.
    Weibull {
        /// Above 0.
        shape: f64,
        /// P(T > `scale`) = 1/e.
        scale: Nanos,
    },
    /// Another law, of whose times only those within bounds are taken.
    Truncated {
        /// The law.
        law: Box<Law>,
        /// The shortest time.
        least: Nanos,
        /// The longest time.
        most: Nanos,
    },
    /// One of these times, each as likely as the others: those of a recording.
    Empirical(Arc<[Nanos]>),
    /// Times from a function.
    Custom(Sampler),
}

impl From<Nanos> for Law {
    fn from(time: Nanos) -> Self {
        Self::Constant(time)
    }
}

/// Why a distribution is invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum LawError {
    /// Uniform between two times of which the first is the later.
    Range(Nanos, Nanos),
    /// An Erlang distribution or a modulated process without phases.
    Phases,
    /// Arrivals between which no time passes.
    NoTime,
    /// Invalid probabilities, or ones that do not sum to 1.
    Probabilities(f64),
    /// A Pareto distribution without a tail exponent.
    Shape(f64),
    /// A log-normal distribution without a spread.
    Sigma(f64),
    /// An empirical distribution of nothing.
    NoTimes,
    /// Bounds that hardly any time of a law keeps.
    Bounds {
        /// The shortest time.
        least: Nanos,
        /// The longest time.
        most: Nanos,
        /// The number of times drawn.
        tried: u32,
    },
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(from, to) => write!(
                f,
                "times from {from} to {to}: the lower bound must not exceed the upper bound"
            ),
            Self::Phases => write!(f, "at least one phase is required"),
            Self::NoTime => write!(
                f,
                "the time between arrivals and the length of a phase must be greater than 0"
            ),
            Self::Probabilities(sum) => write!(
                f,
                "probabilities must lie between 0 and 1 and sum to 1, but these sum to {sum}"
            ),
            Self::Shape(shape) => write!(
                f,
                "the shape of a distribution must be greater than 0, not {shape}"
            ),
            Self::Sigma(sigma) => write!(
                f,
                "the standard deviation of the logarithm must be at least 0, not {sigma}"
            ),
            Self::NoTimes => write!(f, "an empirical distribution needs at least one time"),
            Self::Bounds { least, most, tried } => write!(
                f,
                "fewer than one time in {tried} lies between {least} and {most}: widen the bounds"
            ),
        }
    }
}

impl Error for LawError {}

/// The number of times that are drawn of a truncated law to see whether any lies within the bounds. If fewer than one in
/// this number does, drawing would take too long.
const TRIED: u32 = 10_000;

/// Whether the probabilities are some.
pub(crate) fn check_probabilities(p: impl Iterator<Item = f64>) -> Result<(), LawError> {
    let (mut sum, mut all) = (0.0, true);
    for p in p {
        sum += p;
        all &= (0.0..=1.0).contains(&p);
    }
    if all && (sum - 1.0_f64).abs() < 1e-9 {
        Ok(())
    } else {
        Err(LawError::Probabilities(sum))
    }
}

/// The index of the alternative that a uniform number falls on. What rounding leaves over is of the last one that is
/// possible at all.
#[inline]
pub(crate) fn choose(
    mut p: impl ExactSizeIterator<Item = f64> + DoubleEndedIterator + Clone,
    u: f64,
) -> usize {
    let mut left = u;
    for (i, p) in p.clone().enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
    }
    p.rposition(|p| p > 0.0)
        .expect("probabilities that sum to 1 are not all 0")
}

impl Law {
    /// The log-normal law with this mean, and standard deviation `cv` times the mean.
    pub fn log_normal(mean: Nanos, cv: f64) -> Self {
        let spread = cv.mul_add(cv, 1.0);
        Self::LogNormal {
            median: Nanos::nearest(ns(mean) / spread.sqrt()),
            sigma: libm::log(spread).sqrt(),
        }
    }

    /// Times from a distribution of the `rand` crates, in units of `unit`; they are rounded to nanoseconds.
    ///
    /// ```
    /// use iosonar_sim_core::Law;
    /// use iosonar_units::Nanos;
    ///
    /// let service = Law::sampled(Nanos::MILLISECOND, rand_distr::Triangular::new(1.0, 9.0, 2.0)?);
    /// # Ok::<(), rand_distr::TriangularError>(())
    /// ```
    ///
    /// # Panics
    /// Drawing does, if the distribution gives less than 0 or no number.
    pub fn sampled(
        unit: Nanos,
        distribution: impl rand::distr::Distribution<f64> + Send + Sync + 'static,
    ) -> Self {
        let unit = ns(unit);
        Self::from_fn(move |stream| {
            let time = distribution.sample(stream);
            assert!(
                time >= 0.0,
                "a distribution of times gave {time}, expected at least 0"
            );
            Nanos::nearest(time * unit)
        })
    }

    /// Times from a function, which draws from the stream and from nothing else, so that runs can be repeated.
    pub fn from_fn(draw: impl Fn(&mut Stream) -> Nanos + Send + Sync + 'static) -> Self {
        Self::Custom(Sampler::new(draw))
    }

    /// The times of a recording, each as likely as the others.
    pub fn empirical(times: impl IntoIterator<Item = Nanos>) -> Self {
        Self::Empirical(times.into_iter().collect())
    }

    /// Only the times of this law from `least` to `most`.
    #[must_use]
    pub fn truncated(self, least: Nanos, most: Nanos) -> Self {
        Self::Truncated {
            law: Box::new(self),
            least,
            most,
        }
    }

    /// Whether times can be drawn from it.
    ///
    /// # Errors
    /// If its parameters mean no distribution.
    pub fn check(&self) -> Result<(), LawError> {
        match self {
            Self::Uniform(from, to) if from > to => Err(LawError::Range(*from, *to)),
            Self::Erlang { phases: 0, .. } => Err(LawError::Phases),
            Self::HyperExponential(table) | Self::Table(table) => {
                check_probabilities(table.iter().map(|(p, _)| *p))
            }
            Self::Pareto { shape, .. }
            | Self::Gamma { shape, .. }
            | Self::Weibull { shape, .. }
                if !shape.is_finite() || *shape <= 0.0 =>
            {
                Err(LawError::Shape(*shape))
            }
            Self::LogNormal { sigma, .. } if !sigma.is_finite() || *sigma < 0.0 => {
                Err(LawError::Sigma(*sigma))
            }
            Self::Empirical(times) if times.is_empty() => Err(LawError::NoTimes),
            Self::Truncated { law, least, most } => law.check_bounds(*least, *most),
            _ => Ok(()),
        }
    }

    fn check_bounds(&self, least: Nanos, most: Nanos) -> Result<(), LawError> {
        self.check()?;
        if least > most {
            return Err(LawError::Range(least, most));
        }
        let mut stream = Seed::new(0).stream("law", "bounds");
        let mut draws = (0..TRIED).map(|_| self.draw(&mut stream));
        match draws.any(|time| (least..=most).contains(&time)) {
            true => Ok(()),
            false => Err(LawError::Bounds {
                least,
                most,
                tried: TRIED,
            }),
        }
    }

    /// Whether no time of it is longer than zero.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Truncated { law, most, .. } => *most == Nanos::ZERO || law.is_zero(),
            Self::Pareto { least: scale, .. }
            | Self::Weibull { scale, .. }
            | Self::LogNormal { median: scale, .. }
            | Self::Gamma { mean: scale, .. } => *scale == Nanos::ZERO,
            _ => self.mean_ns() == Some(0.0),
        }
    }

    /// Draws a time.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Nanos {
        match self {
            Self::Constant(t) => *t,
            Self::Exponential(mean) => stream.exponential(*mean),
            _ => self.draw_rarer(stream),
        }
    }

    fn draw_rarer(&self, stream: &mut Stream) -> Nanos {
        match self {
            Self::Constant(t) => *t,
            Self::Exponential(mean) => stream.exponential(*mean),
            Self::Uniform(from, to) => {
                let span = (to.get() - from.get()).saturating_add(1);
                Nanos::new(from.get() + stream.below(span))
            }
            Self::Erlang { phases, mean } => {
                let sum: f64 = (0..*phases).map(|_| stream.standard_exponential()).sum();
                Nanos::nearest(sum * ns(*mean) / f64::from(*phases))
            }
            Self::HyperExponential(table) => {
                let i = choose(table.iter().map(|(p, _)| *p), stream.uniform());
                stream.exponential(table[i].1)
            }
            Self::Table(table) => table[choose(table.iter().map(|(p, _)| *p), stream.uniform())].1,
            Self::Pareto { least, shape } => {
                // If E is exponential, exp(E / shape) is Pareto.
                Nanos::nearest(ns(*least) * libm::exp(stream.standard_exponential() / shape))
            }
            Self::LogNormal { median, sigma } => {
                Nanos::nearest(ns(*median) * libm::exp(sigma * stream.standard_normal()))
            }
            Self::Gamma { shape, mean } => {
                Nanos::nearest(ns(*mean) / shape * stream.standard_gamma(*shape))
            }
            Self::Weibull { shape, scale } => {
                // If E is exponential, E^(1 / shape) is Weibull.
                Nanos::nearest(ns(*scale) * libm::pow(stream.standard_exponential(), 1.0 / shape))
            }
            Self::Truncated { law, least, most } => loop {
                let time = law.draw(stream);
                if (*least..=*most).contains(&time) {
                    return time;
                }
            },
            Self::Empirical(times) => times[stream.below(times.len() as u64) as usize],
            Self::Custom(sampler) => sampler.draw(stream),
        }
    }
}

fn ns(t: Nanos) -> f64 {
    t.get() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn every_law_has_its_mean() {
        let ms = Nanos::from_millis;
        for law in [
            Law::Constant(ms(3)),
            Law::Exponential(ms(3)),
            Law::Uniform(ms(1), ms(5)),
            Law::Erlang {
                phases: 4,
                mean: ms(3),
            },
            Law::HyperExponential(vec![(0.9, ms(1)), (0.1, ms(21))]),
            Law::Table(vec![(0.25, ms(6)), (0.75, ms(2))]),
            Law::Pareto {
                least: ms(2),
                shape: 3.0,
            },
            Law::log_normal(ms(3), 0.7),
            Law::Gamma {
                shape: 0.5,
                mean: ms(3),
            },
            Law::Weibull {
                shape: 0.7,
                scale: ms(3),
            },
            Law::empirical([ms(1), ms(1), ms(7)]),
        ] {
            law.check().unwrap();
            let mut stream = Seed::new(1).stream("test", "law");
            let mut sample = iosonar_stats::Moments::default();
            (0..400_000).for_each(|_| sample.push(law.draw(&mut stream)));
            let stderr = sample.sd() / (sample.count() as f64).sqrt();
            let off = (sample.mean() - law.mean_ns().unwrap()).abs();
            assert!(
                off <= 3.5 * stderr,
                "{law:?}: {} off by {off}",
                sample.mean()
            );
        }
    }

    #[test]
    fn what_is_impossible_is_not_chosen() {
        // Ten times 0.1 is 0.9999999999999999, and the largest uniform number is as large.
        let p: Vec<f64> = [0.1; 10].into_iter().chain([0.0]).collect();
        let largest = 1.0 - 1.0 / (1_u64 << 53) as f64;
        assert_eq!(choose(p.iter().copied(), largest), 9);
        assert_eq!(choose(p.iter().copied(), 0.0), 0);
        assert_eq!(choose([0.0, 1.0].into_iter(), 0.0), 1);
    }

    const SHARES: [f64; 5] = [0.01, 0.1, 0.5, 0.9, 0.99];

    /// Laws with their quantiles of these shares in milliseconds, by `ppf` of `scipy.stats` 1.17: `gamma`, `lognorm`,
    /// `weibull_min`, `truncexpon`.
    fn quantiles() -> [(Law, [f64; 5]); 6] {
        let ms = Nanos::from_millis;
        let gamma = |shape| Law::Gamma { shape, mean: ms(3) };
        let weibull = |shape| Law::Weibull {
            shape,
            scale: ms(3),
        };
        let log_normal = Law::LogNormal {
            median: ms(2),
            sigma: 0.8,
        };
        let truncated = Law::Exponential(ms(3)).truncated(ms(1), ms(4));
        [
            (
                gamma(2.5),
                [0.332_579, 0.966_185, 2.610_876, 5.541_814, 9.051_763],
            ),
            (
                gamma(0.5),
                [0.000_471, 0.047_372, 1.364_809, 8.116_630, 19.904_690],
            ),
            (
                log_normal,
                [0.311_010, 0.717_420, 2.0, 5.575_536, 12.861_334],
            ),
            (
                weibull(0.7),
                [0.004_198, 0.120_489, 1.777_170, 9.875_799, 26.583_679],
            ),
            (
                weibull(2.0),
                [0.300_754, 0.973_779, 2.497_664, 4.552_281, 6.437_898],
            ),
            (
                truncated,
                [1.019_024, 1.195_895, 2.139_656, 3.524_305, 3.948_889],
            ),
        ]
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        const N: u32 = 1_000_000;
        for (law, quantiles) in quantiles() {
            law.check().unwrap();
            let mut stream = Seed::new(2).stream("test", "quantiles");
            let mut below = [0_u32; 5];
            for _ in 0..N {
                let time = law.draw(&mut stream).as_millis_f64();
                for (count, quantile) in below.iter_mut().zip(quantiles) {
                    *count += u32::from(time < quantile);
                }
            }
            for (count, share) in below.iter().zip(SHARES) {
                let found = f64::from(*count) / f64::from(N);
                let stderr = (share * (1.0 - share) / f64::from(N)).sqrt();
                assert!(
                    (found - share).abs() < 4.0 * stderr,
                    "{law:?}: {found} at {share}"
                );
            }
        }
    }

    #[test]
    fn a_distribution_of_rand_and_a_closure_are_laws() {
        let mut stream = Seed::new(1).stream("test", "law");
        let same = |law: &Law, stream: &mut Stream| -> Vec<Nanos> {
            (0..100).map(|_| law.draw(stream)).collect()
        };
        let triangular = rand_distr::Triangular::new(1.0, 9.0, 2.0).unwrap();
        let law = Law::sampled(Nanos::MILLISECOND, triangular);
        let mut moments = iosonar_stats::Moments::default();
        (0..100_000).for_each(|_| moments.push(law.draw(&mut stream)));
        // Mean (1 + 9 + 2) / 3 ms.
        let stderr = moments.sd() / (moments.count() as f64).sqrt();
        assert!(
            (moments.mean() - 4e6).abs() < 4.0 * stderr,
            "{}",
            moments.mean()
        );
        assert_eq!(law.mean_ns(), None);
        let closure = Law::from_fn(|stream| Nanos::new(stream.below(6) + 1));
        assert!(
            same(&closure, &mut stream)
                .iter()
                .all(|t| (1..=6).contains(&t.get()))
        );
        // Equal are only clones: functions cannot be compared.
        assert_eq!(closure, closure.clone());
        assert_ne!(
            closure,
            Law::from_fn(|stream| Nanos::new(stream.below(6) + 1))
        );
        let (mut a, mut b) = (stream.clone(), stream);
        assert_eq!(same(&closure, &mut a), same(&closure.clone(), &mut b));
    }

    #[test]
    #[should_panic(expected = "expected at least 0")]
    fn a_distribution_of_times_is_not_negative() {
        let normal = rand_distr::Normal::new(-1.0, 0.1).unwrap();
        Law::sampled(Nanos::MILLISECOND, normal).draw(&mut Seed::new(1).stream("", ""));
    }

    /// The laws are part of the results of a seed: a change is a change of results.
    #[test]
    fn times_of_a_seed_stay_what_they_are() {
        let us = |law: Law| {
            let mut stream = Seed::new(1).stream("golden", "law");
            let drawn: Vec<u64> = (0..3).map(|_| law.draw(&mut stream).get()).collect();
            drawn
        };
        let ms = Nanos::from_millis;
        assert_eq!(us(Law::Exponential(ms(3))), GOLDEN[0]);
        assert_eq!(us(Law::log_normal(ms(3), 0.7)), GOLDEN[1]);
        assert_eq!(
            us(Law::Gamma {
                shape: 0.5,
                mean: ms(3)
            }),
            GOLDEN[2]
        );
        assert_eq!(
            us(Law::Weibull {
                shape: 0.7,
                scale: ms(3)
            }),
            GOLDEN[3]
        );
    }

    const GOLDEN: [[u64; 3]; 4] = [
        [778_533, 4_305_859, 3_830_261],
        [3_045_949, 4_172_954, 1_116_042],
        [8_307_565, 6_240_062, 8_816_075],
        [436_718, 5_027_119, 4_253_074],
    ];

    #[test]
    fn what_means_no_distribution_is_refused() {
        let (a, b) = (Nanos::new(1), Nanos::new(2));
        for (law, complaint) in [
            (Law::Uniform(b, a), "must not exceed the upper bound"),
            (Law::Erlang { phases: 0, mean: a }, "at least one phase"),
            (Law::Table(vec![(0.5, a)]), "sum to 0.5"),
            (
                Law::Gamma {
                    shape: 0.0,
                    mean: a,
                },
                "greater than 0, not 0",
            ),
            (
                Law::LogNormal {
                    median: a,
                    sigma: -1.0,
                },
                "at least 0, not -1",
            ),
            (Law::empirical([]), "at least one time"),
            (Law::Constant(a).truncated(b, b), "widen the bounds"),
            (
                Law::Constant(a).truncated(b, a),
                "must not exceed the upper bound",
            ),
            (
                Law::Uniform(b, a).truncated(a, b),
                "must not exceed the upper bound",
            ),
            (
                Law::HyperExponential(vec![(1.5, a), (-0.5, b)]),
                "between 0 and 1",
            ),
            (
                Law::Pareto {
                    least: a,
                    shape: f64::NAN,
                },
                "greater than 0, not NaN",
            ),
        ] {
            let message = law.check().unwrap_err().to_string();
            assert!(message.contains(complaint), "{message}");
        }
    }
}
