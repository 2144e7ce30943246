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

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn an_outcome_that_is_given_is_taken_modulo_the_number_of_outcomes() {
        let mut choice = Choice::new(Seed::new(1).stream("choice", "test"));
        let drawn: Vec<u64> = (0..50).map(|_| choice.below(3)).collect();
        assert!((0..3).all(|outcome| drawn.contains(&outcome)), "{drawn:?}");
        choice.give(7);
        assert_eq!([3, 4, 7, 8].map(|n| choice.below(n)), [1, 3, 0, 7]);
    }
}
