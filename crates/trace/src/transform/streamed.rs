//! Changes that need no more than the batch at hand.

use std::path::{Path, PathBuf};

use crate::{Batch, Metadata, Place, TraceError, TraceReader};

/// A change to a trace, batch by batch.
pub(super) trait Stream: Send {
    /// Changes the rows of `batch`, and notes in `metadata` what the user should know. Returns whether
    /// later rows can still pass.
    ///
    /// # Errors
    /// If a row cannot be changed so.
    fn apply(&mut self, batch: &mut Batch, metadata: &mut Metadata) -> Result<bool, TraceError>;

    /// Whether rows that start before some time are dropped first of all.
    fn skips_before(&self) -> Option<iosonar_units::Nanos> {
        None
    }
}

/// A trace with a change.
pub(super) struct Streamed<S> {
    inner: Box<dyn TraceReader>,
    path: PathBuf,
    change: S,
    metadata: Metadata,
    /// Only its remarks.
    own: Metadata,
    begun: bool,
    ended: bool,
}

impl<S: Stream> Streamed<S> {
    pub(super) fn new(inner: Box<dyn TraceReader>, path: &Path, change: S) -> Self {
        Self {
            metadata: inner.metadata().clone(),
            inner,
            path: path.to_owned(),
            change,
            own: Metadata::default(),
            begun: false,
            ended: false,
        }
    }
}

impl<S: Stream> TraceReader for Streamed<S> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if !std::mem::replace(&mut self.begun, true)
            && let Some(from) = self.change.skips_before()
        {
            self.inner.skip_before(from)?;
        }
        batch.clear();
        while !self.ended {
            if self.inner.next_batch(batch)? == 0 {
                self.ended = true;
                break;
            }
            let outcome = self.change.apply(batch, &mut self.own);
            self.ended = !outcome.map_err(|error| match error {
                TraceError::Option(problem) => TraceError::Request {
                    place: Place::of(&self.path, 0),
                    problem,
                },
                other => other,
            })?;
            if !batch.is_empty() {
                break;
            }
        }
        self.metadata.follow(self.inner.metadata(), &self.own);
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
