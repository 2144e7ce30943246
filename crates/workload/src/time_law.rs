//! Laws of times: how long users of a closed loop think, how long services take.

use std::path::Path;

use iosonar_sim_core::Law;
use iosonar_units::Nanos;

use crate::Renewal;

/// The law of a time.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeLaw {
    /// Exponential with this mean; none if it is 0.
    Exponential(Nanos),
    /// Always the same.
    Constant(Nanos),
    /// Another law.
    Other {
        /// The mean that was asked for, in milliseconds.
        mean_ms: f64,
        /// The times, as the intervals of arrivals that follow one upon the other.
        times: Renewal,
    },
}

impl TimeLaw {
    /// The mean, rounded to nanoseconds.
    pub fn mean(&self) -> Nanos {
        match self {
            Self::Exponential(mean) | Self::Constant(mean) => *mean,
            Self::Other { times, .. } => Nanos::from_secs_f64(1.0 / times.per_s()),
        }
    }

    /// The law to draw from.
    pub fn law(&self) -> Law {
        match self {
            Self::Exponential(Nanos::ZERO) => Law::Constant(Nanos::ZERO),
            Self::Exponential(mean) => Law::Exponential(*mean),
            Self::Constant(time) => Law::Constant(*time),
            Self::Other { times, .. } => times.between().clone(),
        }
    }

    /// The recording that its times are drawn from, if there is one.
    pub fn trace(&self) -> Option<&Path> {
        match self {
            Self::Other { times, .. } => times.intervals().trace(),
            Self::Exponential(_) | Self::Constant(_) => None,
        }
    }

    /// Whether it is exponential, or no time at all.
    pub fn is_exponential(&self) -> bool {
        matches!(self, Self::Exponential(_)) || self.mean() == Nanos::ZERO
    }
}
