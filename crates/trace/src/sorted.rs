//! A load must be sorted by intended start; here it is checked, while it streams.

use std::path::PathBuf;

use iosonar_units::Nanos;

use crate::{Batch, Metadata, Place, TraceError, TraceReader};

/// Passes a trace through and fails at the first request that starts before its predecessor.
pub struct SortedByStart<R> {
    inner: R,
    path: PathBuf,
    last: Nanos,
}

impl<R: TraceReader> SortedByStart<R> {
    /// Checks the rows of `inner`, which come from `path`.
    pub fn new(inner: R, path: PathBuf) -> Self {
        Self {
            inner,
            path,
            last: Nanos::ZERO,
        }
    }
}

impl<R: TraceReader> TraceReader for SortedByStart<R> {
    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let rows = self.inner.next_batch(batch)?;
        for (row, &start) in batch.starts().iter().enumerate() {
            if start < self.last {
                return Err(TraceError::Unsorted {
                    place: Place::line(&self.path, batch.place(row)),
                    start: start.as_secs_f64(),
                    previous: self.last.as_secs_f64(),
                });
            }
            self.last = start;
        }
        Ok(rows)
    }
}
