//! Moments and histogram of the same times.

use iosonar_units::Nanos;

use crate::{Histogram, Moments};

/// The distribution of some kind of time: exact moments, and quantiles with bounded error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Count, mean, variance, extremes.
    pub moments: Moments,
    /// Quantiles and the distribution function.
    pub histogram: Histogram,
}

impl Distribution {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, t: Nanos) {
        self.moments.push(t);
        self.histogram.push(t);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.moments.count()
    }
}
