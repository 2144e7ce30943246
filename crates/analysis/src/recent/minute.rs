//! The latencies of the last minute, second by second.

use std::collections::VecDeque;

use iosonar_stats::{Distribution, Moments, SparseHistogram};
use iosonar_units::Nanos;

use super::MINUTE;

/// The latencies of the last seconds.
#[derive(Default)]
pub(super) struct Minute {
    /// Those of the second under way.
    now: Distribution,
    /// Those of the seconds before, the last one at the end.
    past: VecDeque<(Moments, SparseHistogram)>,
}

impl Minute {
    pub(super) fn push(&mut self, latency: Nanos) {
        self.now.push(latency);
    }

    /// A second is over.
    pub(super) fn turn(&mut self) {
        if self.past.len() == MINUTE as usize {
            self.past.pop_front();
        }
        let histogram = self.now.histogram.sparse();
        self.past.push_back((self.now.moments, histogram));
        self.now.moments = Moments::default();
        self.now.histogram.clear();
    }

    /// All of the last minute: 60 full seconds, or if one is under way, its part and 59 before it.
    pub(super) fn sum(&self, is_partial: bool) -> Distribution {
        let mut sum = self.now.clone();
        let skip = usize::from(is_partial && self.past.len() == MINUTE as usize);
        for (moments, histogram) in self.past.iter().skip(skip) {
            sum.moments.merge(moments);
            sum.histogram.merge_sparse(histogram);
        }
        sum
    }
}
