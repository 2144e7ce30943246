//! Arrivals whose intervals are independent of each other and follow one law: renewal processes.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iosonar_sim_core::{Law, LawError};
use iosonar_units::Nanos;

/// The shape of the law of the intervals. Their mean follows from the rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Intervals {
    /// Gamma, with this coefficient of variation: 1 is a Poisson process, more is burstier.
    Gamma {
        /// The standard deviation divided by the mean.
        cv: f64,
    },
    /// Log-normal, with this coefficient of variation.
    LogNormal {
        /// The standard deviation divided by the mean.
        cv: f64,
    },
    /// Weibull: 1 is a Poisson process, a smaller shape is burstier.
    Weibull {
        /// The exponent.
        shape: f64,
    },
    /// Pareto: with a shape of at most 2 the variance is infinite.
    Pareto {
        /// The exponent of the tail, above 1.
        shape: f64,
    },
    /// Those of a recording, each as likely as the others.
    Empirical {
        /// Its file.
        trace: PathBuf,
        /// Its intervals.
        times: Arc<[Nanos]>,
    },
}

/// A renewal process: independent intervals from one law.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// The rate that was asked for.
    asked_per_s: f64,
    /// That of the law, whose times are whole nanoseconds.
    per_s: f64,
    intervals: Intervals,
    bounds: Option<(Nanos, Nanos)>,
    between: Law,
}

/// Why intervals make no renewal process.
#[derive(Clone, Debug, PartialEq)]
pub enum RenewalError {
    /// The law has no times, or no mean.
    Law(LawError),
    /// All intervals of a recording are zero.
    NoTime,
    /// No law of the shape has this mean.
    OutOfReach {
        /// The mean interval.
        mean: Nanos,
        /// The shortest and the longest interval, if there are bounds.
        bounds: Option<(Nanos, Nanos)>,
    },
}

impl fmt::Display for RenewalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law(error) => error.fmt(f),
            Self::NoTime => write!(f, "all requests of the recording start at the same time"),
            Self::OutOfReach { mean, bounds: None } => {
                write!(f, "times in whole nanoseconds cannot have the mean {mean}")
            }
            Self::OutOfReach {
                mean,
                bounds: Some((least, most)),
            } => write!(
                f,
                "times from {least} to {most} cannot have the mean {mean}"
            ),
        }
    }
}

impl Error for RenewalError {}

/// The mean of a law whose times are whole nanoseconds may be off by this share.
const ROUNDED: f64 = 1e-3;

impl Renewal {
    /// Arrivals with `per_s` a second on average and these intervals, of which only those within the bounds are taken.
    ///
    /// # Errors
    /// If there is no such law.
    pub fn new(
        per_s: f64,
        intervals: Intervals,
        bounds: Option<(Nanos, Nanos)>,
    ) -> Result<Self, RenewalError> {
        let mean_ns = 1e9 / per_s;
        let between = match bounds {
            None => intervals.law(mean_ns)?,
            Some(bounds) => intervals.law_within(mean_ns, bounds)?,
        };
        let found = between.mean_ns().unwrap_or(f64::NAN);
        let off = (found / mean_ns - 1.0).abs();
        if off.is_nan() || off > ROUNDED {
            let mean = Nanos::nearest(mean_ns);
            return Err(RenewalError::OutOfReach { mean, bounds });
        }
        between.check().map_err(RenewalError::Law)?;
        Ok(Self {
            asked_per_s: per_s,
            per_s: 1e9 / found,
            intervals,
            bounds,
            between,
        })
    }

    /// Mean arrivals per second. They differ from those that were asked for by at most a thousandth, as intervals are whole
    /// nanoseconds.
    pub fn per_s(&self) -> f64 {
        self.per_s
    }

    /// The rate that was asked for.
    pub fn asked_per_s(&self) -> f64 {
        self.asked_per_s
    }

    /// The shape of the law of the intervals, before any bounds.
    pub fn intervals(&self) -> &Intervals {
        &self.intervals
    }

    /// The shortest and the longest interval, if there are any.
    pub fn bounds(&self) -> Option<(Nanos, Nanos)> {
        self.bounds
    }

    /// The law of the intervals.
    pub fn between(&self) -> &Law {
        &self.between
    }

    /// `factor` times as many arrivals in the same time: all intervals shrink, and the bounds with them.
    ///
    /// # Panics
    /// If intervals of whole nanoseconds cannot be that short.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let between = self.between.scaled(1.0 / factor);
        let mean_ns = between.mean_ns().unwrap_or(f64::NAN);
        let is_fine = between.check().is_ok() && mean_ns.is_finite() && mean_ns > 0.0;
        assert!(is_fine, "{factor} times as many arrivals of {self:?}");
        let shrunk = |t: Nanos| Nanos::nearest(t.get() as f64 / factor);
        Self {
            asked_per_s: self.asked_per_s * factor,
            per_s: 1e9 / mean_ns,
            intervals: self.intervals.clone(),
            bounds: self.bounds.map(|(a, b)| (shrunk(a), shrunk(b))),
            between,
        }
    }
}

impl Intervals {
    /// The recording that they are drawn from, if there is one.
    pub fn trace(&self) -> Option<&Path> {
        match self {
            Self::Empirical { trace, .. } => Some(trace),
            Self::Gamma { .. }
            | Self::LogNormal { .. }
            | Self::Weibull { .. }
            | Self::Pareto { .. } => None,
        }
    }

    /// Their name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gamma { .. } => "gamma",
            Self::LogNormal { .. } => "log_normal",
            Self::Weibull { .. } => "weibull",
            Self::Pareto { .. } => "pareto",
            Self::Empirical { .. } => "empirical",
        }
    }

    /// The law with this mean.
    fn law(&self, mean_ns: f64) -> Result<Law, RenewalError> {
        let mean = Nanos::nearest(mean_ns);
        Ok(match self {
            Self::Gamma { cv } => Law::Gamma {
                shape: 1.0 / (cv * cv),
                mean,
            },
            Self::LogNormal { cv } => Law::log_normal(mean, *cv),
            Self::Weibull { shape } => {
                let unit = Law::Weibull {
                    shape: *shape,
                    scale: Nanos::SECOND,
                };
                Self::with_mean(&unit, mean_ns)?
            }
            Self::Pareto { shape } => {
                let unit = Law::Pareto {
                    least: Nanos::SECOND,
                    shape: *shape,
                };
                Self::with_mean(&unit, mean_ns)?
            }
            Self::Empirical { times, .. } => {
                Self::with_mean(&Law::Empirical(Arc::clone(times)), mean_ns)?
            }
        })
    }

    fn with_mean(law: &Law, mean_ns: f64) -> Result<Law, RenewalError> {
        law.check().map_err(RenewalError::Law)?;
        let now = law.mean_ns().filter(|mean| mean.is_finite() && *mean > 0.0);
        let now = now.ok_or(RenewalError::NoTime)?;
        Ok(law.scaled(mean_ns / now))
    }

    /// The law of this shape whose mean is nearest to this one when only times within the bounds are taken. That mean grows
    /// with the mean of the whole law, but for empirical ones, where the search may end elsewhere; the caller looks at it.
    fn law_within(&self, mean_ns: f64, (least, most): (Nanos, Nanos)) -> Result<Law, RenewalError> {
        /// Far enough beyond where the bounds take nearly all away.
        const WIDEST: f64 = 1e6;
        const HALVINGS: u32 = 100;
        let within = |whole_ns: f64| -> Result<(Law, Option<f64>), RenewalError> {
            let law = self.law(whole_ns)?.truncated(least, most);
            let mean = law.mean_ns().filter(|mean| mean.is_finite());
            Ok((law, mean))
        };
        if !(least.get() as f64..=most.get() as f64).contains(&mean_ns) {
            let mean = Nanos::nearest(mean_ns);
            let bounds = Some((least, most));
            return Err(RenewalError::OutOfReach { mean, bounds });
        }
        let (mut low, mut high) = (mean_ns / WIDEST, mean_ns * WIDEST);
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            // Without a mean, no time lies within the bounds: all are too short or all too long.
            let too_short = within(middle)?.1.map_or(middle < mean_ns, |m| m < mean_ns);
            match too_short {
                true => low = middle,
                false => high = middle,
            }
        }
        // Parameters are whole nanoseconds: the mean has a step between the two.
        let off = |mean: Option<f64>| mean.map_or(f64::INFINITY, |mean| (mean - mean_ns).abs());
        let (below, above) = (within(low)?, within(high)?);
        Ok(match off(below.1) < off(above.1) {
            true => below.0,
            false => above.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use iosonar_sim_core::Seed;

    use super::*;

    fn shapes() -> [Intervals; 5] {
        [
            Intervals::Gamma { cv: 2.0 },
            Intervals::LogNormal { cv: 1.5 },
            Intervals::Weibull { shape: 0.7 },
            Intervals::Pareto { shape: 2.5 },
            Intervals::Empirical {
                trace: PathBuf::from("x.ios"),
                times: [1, 5, 9].map(Nanos::from_millis).into(),
            },
        ]
    }

    /// The mean in seconds of many draws, with its standard error.
    fn drawn(law: &Law) -> (f64, f64) {
        const N: u32 = 400_000;
        let mut stream = Seed::new(5).stream("test", "renewal");
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..N {
            let t = law.draw(&mut stream).as_secs_f64();
            (sum, squares) = (sum + t, squares + t * t);
        }
        let n = f64::from(N);
        (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())
    }

    #[test]
    fn arrivals_come_at_their_rate_with_and_without_bounds() {
        let ms = Nanos::from_millis;
        for intervals in shapes() {
            for bounds in [None, Some((ms(1), ms(60)))] {
                let renewal = Renewal::new(100.0, intervals.clone(), bounds).unwrap();
                for (renewal, per_s) in [(renewal.scaled(4.0), 400.0), (renewal, 100.0)] {
                    let (mean, error) = drawn(renewal.between());
                    let off = (mean - 1.0 / per_s).abs();
                    assert!(off < 3.5 * error, "{renewal:?}: {mean}, off by {off}");
                    assert!((renewal.per_s() / per_s - 1.0).abs() < ROUNDED);
                }
            }
        }
    }

    #[test]
    fn laws_of_whole_nanoseconds_have_nearly_the_rate() {
        for (per_s, shape, most_ms) in [
            (1000.0, 1.5, 100),
            (2000.0, 1.5, 100),
            (5000.0, 1.2, 50),
            (2000.0, 1.1, 100),
        ] {
            let bounds = (Nanos::ZERO, Nanos::from_millis(most_ms));
            let renewal = Renewal::new(per_s, Intervals::Pareto { shape }, Some(bounds)).unwrap();
            let mean_ns = renewal.between().mean_ns().unwrap();
            assert!((1e9 / mean_ns - renewal.per_s()).abs() < 1e-9 * per_s);
            assert!((renewal.per_s() / per_s - 1.0).abs() < 1e-5, "{renewal:?}");
            assert_eq!(renewal.asked_per_s(), per_s);
        }
    }

    #[test]
    fn what_no_law_can_be_is_refused() {
        let ms = Nanos::from_millis;
        for intervals in shapes() {
            // The mean of 10 ms lies outside.
            for bounds in [(ms(11), ms(60)), (ms(1), ms(9))] {
                let error = Renewal::new(100.0, intervals.clone(), Some(bounds)).unwrap_err();
                let expected = matches!(error, RenewalError::OutOfReach { .. });
                assert!(expected, "{intervals:?}: {error}");
            }
        }
        let at_once = Intervals::Empirical {
            trace: PathBuf::from("x.ios"),
            times: [Nanos::ZERO].into(),
        };
        let error = Renewal::new(1.0, at_once, None).unwrap_err();
        assert_eq!(error, RenewalError::NoTime);
        // Most intervals would be a few nanoseconds.
        let fast = Renewal::new(1e7, Intervals::Weibull { shape: 0.2 }, None);
        assert!(matches!(
            fast,
            Err(RenewalError::OutOfReach { bounds: None, .. })
        ));
        let endless = Intervals::Pareto { shape: 1.0 };
        assert!(Renewal::new(1.0, endless, None).is_err());
    }
}
