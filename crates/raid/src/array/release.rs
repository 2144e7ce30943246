//! Completions of one instant, in the order of their arrival.

use iosonar_units::Nanos;

use super::{Completion, CompletionSink};

/// Holds back the completions of an instant until it is over, so that their order does not depend on
/// that of the events within it.
#[derive(Debug, Default)]
pub(super) struct Release {
    at: Nanos,
    held: Vec<Completion>,
}

impl Release {
    #[inline]
    pub(super) fn push<S: CompletionSink>(
        &mut self,
        completion: Completion,
        now: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        if self.at != now {
            self.flush(sink)?;
            self.at = now;
        }
        self.held.push(completion);
        Ok(())
    }

    #[inline]
    pub(super) fn flush<S: CompletionSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.held.len() > 1 {
            self.held.sort_unstable_by_key(|completion| completion.id.0);
        }
        self.held.drain(..).try_for_each(|c| sink.completed(&c))
    }
}
