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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::testing::Given;

    /// The starts of what is passed of these batches, batch by batch, and the reader.
    fn passed(
        batches: impl IntoIterator<Item = Batch>,
    ) -> Result<(Vec<Vec<u64>>, OnlySubmitted), TraceError> {
        let inner = Box::new(Given::new(batches));
        let mut reader = OnlySubmitted::new(inner, Path::new("x"));
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        loop {
            match reader.next_batch(&mut batch)? {
                0 => return Ok((starts, reader)),
                rows => assert_eq!(rows, batch.len()),
            }
            starts.push(batch.starts().iter().map(|start| start.get()).collect());
        }
    }

    #[test]
    fn what_was_not_submitted_is_left_out_and_counted() {
        let batches = [
            vec![(0, Status::Done), (1, Status::Error(5))],
            vec![(2, Status::Skipped), (3, Status::Dropped)],
            vec![
                (4, Status::Skipped),
                (5, Status::Cancelled),
                (6, Status::Missed),
            ],
        ];
        let (starts, reader) = passed(batches.map(Given::reads)).unwrap();
        assert_eq!(starts, [vec![0, 1], vec![5]]);
        let metadata = reader.metadata();
        assert_eq!(metadata.devices, ["sda"]);
        let remarks: Vec<(u64, &str)> = metadata
            .remarks
            .iter()
            .map(|remark| {
                (
                    remark.count,
                    remark.happened().split(" by ").next().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            remarks,
            [
                (2, "requests were skipped"),
                (1, "request was dropped"),
                (1, "request was not submitted"),
            ]
        );
        assert_eq!(
            metadata.remarks[0].example,
            "read of 1 sector at sector 0, x"
        );
    }

    #[test]
    fn a_load_of_which_nothing_was_submitted_is_refused() {
        let (starts, _) = passed([]).unwrap();
        assert!(starts.is_empty(), "an empty load is one");
        let skipped = || Given::reads([(0, Status::Skipped)]);
        let error = passed([skipped(), skipped()]).err().unwrap().to_string();
        assert!(error.contains("none of its 2 requests"), "{error}");
        let (starts, _) = passed([skipped(), Given::reads([(1, Status::Done)])]).unwrap();
        assert_eq!(starts, [[1]]);
    }

    #[test]
    fn what_the_reader_below_knows_of_times_is_passed_on() {
        let inner = Given::new([]);
        let skipped_before = std::sync::Arc::clone(&inner.skipped_before);
        let mut reader = OnlySubmitted::new(Box::new(inner), Path::new("x"));
        assert_eq!(reader.none_before(), Nanos::new(3));
        reader.skip_before(Nanos::new(5)).unwrap();
        assert_eq!(skipped_before.load(Relaxed), 5);
    }
}
