//! What planners choose at random.

use iosonar_sim_core::Stream;

/// A uniform choice: drawn from a stream, or given, so that all outcomes can be gone through.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    stream: Stream,
    given: Option<u64>,
}

impl Choice {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            given: None,
        }
    }

    /// From now on it is this one.
    pub(crate) fn give(&mut self, outcome: u64) {
        self.given = Some(outcome);
    }

    /// A number below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        match self.given {
            None => self.stream.below(n),
            Some(outcome) => outcome % n,
        }
    }
}
