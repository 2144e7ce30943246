//! What the tests of several modules need.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iosonar_units::{Nanos, Sectors};

use crate::{Batch, Metadata, Op, Outcome, Record, Request, Status, TraceError, TraceReader};

/// A reader of given batches, of a trace with the device `sda`.
pub(crate) struct Given {
    batches: VecDeque<Batch>,
    pub(crate) metadata: Metadata,
    /// The last time that it was to skip to.
    pub(crate) skipped_before: Arc<AtomicU64>,
}

impl Given {
    pub(crate) fn new(batches: impl IntoIterator<Item = Batch>) -> Self {
        Self {
            batches: batches.into_iter().collect(),
            metadata: Metadata {
                devices: vec!["sda".to_owned()],
                ..Metadata::default()
            },
            skipped_before: Arc::default(),
        }
    }

    /// Reads that start at these times and end so.
    pub(crate) fn reads(rows: impl IntoIterator<Item = (u64, Status)>) -> Batch {
        let mut batch = Batch::default();
        for (start, status) in rows {
            let request = Request {
                start: Nanos::new(start),
                sectors: Sectors::new(1),
                op: Op::Read,
                ..Request::default()
            };
            let outcome = Outcome::untimed(status);
            batch.push(&Record { request, outcome });
        }
        batch
    }
}

impl TraceReader for Given {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        *batch = self.batches.pop_front().unwrap_or_default();
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        self.skipped_before.store(start.get(), Relaxed);
        Ok(())
    }

    fn none_before(&mut self) -> Nanos {
        Nanos::new(3)
    }
}
