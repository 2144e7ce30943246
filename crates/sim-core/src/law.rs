//! Laws of random times: service times, think times, distances between arrivals.

use iosonar_units::Nanos;

use crate::Stream;

/// The distribution of a time.
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
}

/// Why a distribution is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LawError {
    /// Uniform between two times of which the first is the later.
    #[error("uniform from {0} to {1}: the first bound must not exceed the second")]
    Range(Nanos, Nanos),
    /// An Erlang distribution or a modulated process without phases.
    #[error("at least one phase is required")]
    Phases,
    /// Arrivals between which no time passes.
    #[error("the time between arrivals and the length of a phase must be greater than 0")]
    NoTime,
    /// Invalid probabilities, or ones that do not sum to 1.
    #[error("probabilities must lie between 0 and 1 and sum to 1, these sum to {0}")]
    Probabilities(f64),
    /// A Pareto distribution without a tail exponent.
    #[error("the shape of a Pareto distribution must be above 0, not {0}")]
    Shape(f64),
}

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

/// The index of the alternative that a uniform number falls on.
#[inline]
pub(crate) fn choose(p: impl ExactSizeIterator<Item = f64>, u: f64) -> usize {
    let last = p.len() - 1;
    let mut left = u;
    for (i, p) in p.enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
    }
    last
}

impl Law {
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
            Self::Pareto { shape, .. } if shape.is_nan() || *shape <= 0.0 => {
                Err(LawError::Shape(*shape))
            }
            _ => Ok(()),
        }
    }

    /// The mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        let weighted = |table: &[(f64, Nanos)]| table.iter().map(|(p, t)| p * ns(*t)).sum();
        match self {
            Self::Constant(t) | Self::Exponential(t) | Self::Erlang { mean: t, .. } => ns(*t),
            Self::Uniform(from, to) => f64::midpoint(ns(*from), ns(*to)),
            Self::HyperExponential(table) | Self::Table(table) => weighted(table),
            Self::Pareto { least, shape } if *shape > 1.0 => ns(*least) * shape / (shape - 1.0),
            Self::Pareto { .. } => f64::INFINITY,
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
        ] {
            law.check().unwrap();
            let mut stream = Seed::new(1).stream("test", "law");
            let mut sample = iosonar_stats::Moments::default();
            (0..400_000).for_each(|_| sample.push(law.draw(&mut stream)));
            let stderr = sample.sd() / (sample.count() as f64).sqrt();
            let off = (sample.mean() - law.mean_ns()).abs();
            assert!(
                off <= 3.5 * stderr,
                "{law:?}: {} off by {off}",
                sample.mean()
            );
        }
    }

    #[test]
    fn what_means_no_distribution_is_refused() {
        let (a, b) = (Nanos::new(1), Nanos::new(2));
        for (law, complaint) in [
            (Law::Uniform(b, a), "must not exceed the second"),
            (Law::Erlang { phases: 0, mean: a }, "at least one phase"),
            (Law::Table(vec![(0.5, a)]), "sum to 0.5"),
            (
                Law::HyperExponential(vec![(1.5, a), (-0.5, b)]),
                "between 0 and 1",
            ),
            (
                Law::Pareto {
                    least: a,
                    shape: f64::NAN,
                },
                "above 0, not NaN",
            ),
        ] {
            let message = law.check().unwrap_err().to_string();
            assert!(message.contains(complaint), "{message}");
        }
    }
}
