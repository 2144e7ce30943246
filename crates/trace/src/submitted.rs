//! Records as a load: the requests that were submitted when they were recorded.
//!
//! A replay keeps a record of every request of its load, also of those that it left out: writes of a replay that only
//! reads, requests that conflicted with others, what was left when it was interrupted. As a load, and in counts of what
//! the device did, only the requests that the device saw are meant.

use std::path::{Path, PathBuf};

use iosonar_units::{Nanos, counted};

use crate::{Batch, Metadata, Place, RemarkKind, Status, TraceError, TraceReader};

/// Passes only the requests that were submitted; the others are counted in the remarks.
pub(crate) struct OnlySubmitted {
    inner: Box<dyn TraceReader>,
    path: PathBuf,
    metadata: Metadata,
    /// Only its remarks.
    own: Metadata,
    passed: bool,
}

impl OnlySubmitted {
    pub(crate) fn new(inner: Box<dyn TraceReader>, path: &Path) -> Self {
        Self {
            metadata: inner.metadata().clone(),
            inner,
            path: path.to_owned(),
            own: Metadata::default(),
            passed: false,
        }
    }
}

/// What is remarked of requests that were not submitted.
const fn remark_of(status: Status) -> [&'static str; 2] {
    match status {
        Status::Skipped => [
            "request was skipped by the recorded replay and is left out (--include-skipped includes it)",
            "requests were skipped by the recorded replay and are left out (--include-skipped includes them)",
        ],
        Status::Dropped => [
            "request was dropped by the recorded replay because of conflicts, and is left out (--include-skipped \
             includes it)",
            "requests were dropped by the recorded replay because of conflicts, and are left out (--include-skipped \
             includes them)",
        ],
        _ => [
            "request was not submitted by the recorded replay and is left out (--include-skipped includes it)",
            "requests were not submitted by the recorded replay and are left out (--include-skipped includes them)",
        ],
    }
}

impl TraceReader for OnlySubmitted {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        while self.inner.next_batch(batch)? > 0 {
            if !batch.are_all_done() {
                let (own, path) = (&mut self.own, &self.path);
                for row in 0..batch.len() {
                    let status = batch.outcome(row).status;
                    if !status.was_submitted() {
                        own.remark(RemarkKind::NotSubmitted, remark_of(status), || {
                            let request = batch.request(row);
                            format!(
                                "{} of {} at sector {}, {}",
                                request.op.name(),
                                counted(request.sectors.get().into(), ["sector", "sectors"]),
                                request.sector,
                                Place::of(path, batch.place(row))
                            )
                        });
                    }
                }
                batch.retain(|record| record.outcome.status.was_submitted());
            }
            if !batch.is_empty() {
                self.passed = true;
                self.metadata.follow(self.inner.metadata(), &self.own);
                return Ok(batch.len());
            }
        }
        self.metadata.follow(self.inner.metadata(), &self.own);
        let left_out: u64 = self.own.remarks.iter().map(|remark| remark.count).sum();
        if !self.passed && left_out > 0 {
            return Err(TraceError::Option(format!(
                "{}: none of its {left_out} requests was submitted during the recording, so the load is empty; use \
                 --include-skipped to include them",
                self.path.display()
            )));
        }
        Ok(0)
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn none_before(&mut self) -> Nanos {
        self.inner.none_before()
    }

    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        self.inner.skip_before(start)
    }
}
