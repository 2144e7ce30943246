//! The records of arrays that share a trace, round by round.

use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use iosonar_trace::{Batch, Metadata, Record, TraceError, TraceWriter};
use iosonar_units::Nanos;

use crate::ScenarioError;

/// How many requests are a round.
const ROUND: u64 = 1 << 16;

/// The records of one array on their way to the file.
///
/// They are shared by the run, which adds to them, and by the source of its requests, which knows when a round ends. Both
/// are on one thread, so the lock is always free.
#[derive(Clone)]
pub(super) struct ToFile {
    records: Arc<Mutex<Batch>>,
    /// No array is more than two rounds ahead of what is collected.
    rounds: Sender<Batch>,
}

impl ToFile {
    /// Sends the records since the last round to the file.
    pub(super) fn end_round(&self) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        // No receiver: the run has ended, and its other end says why.
        let _ = self.rounds.send(mem::take(&mut records));
    }
}

impl TraceWriter for ToFile {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        for row in 0..batch.len() {
            records.push_row(batch, row);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}

/// The records of all arrays.
pub(super) struct Rounds<'w> {
    writer: &'w mut dyn TraceWriter,
    arrays: Vec<Receiver<Batch>>,
    /// Requests of this round.
    requests: u64,
    /// Whether a round has been sent whose records are not collected.
    is_waited_for: bool,
}

impl<'w> Rounds<'w> {
    pub(super) fn new(writer: &'w mut dyn TraceWriter) -> Self {
        Self {
            writer,
            arrays: Vec::new(),
            requests: 0,
            is_waited_for: false,
        }
    }

    /// Where the records of the next array go.
    pub(super) fn of_array(&mut self) -> ToFile {
        let (rounds, received) = channel();
        self.arrays.push(received);
        ToFile {
            records: Arc::default(),
            rounds,
        }
    }

    /// Counts a request; `true` if it is the last of a round.
    pub(super) fn is_last_of_round(&mut self) -> bool {
        self.requests += 1;
        self.requests == ROUND
    }

    /// All arrays have been sent the end of a round: the records of the one before are collected.
    pub(super) fn ended(&mut self, metadata: &Metadata) -> Result<(), ScenarioError> {
        self.requests = 0;
        if mem::replace(&mut self.is_waited_for, true) {
            self.collect(metadata)?;
        }
        Ok(())
    }

    /// Collects all records that are left.
    pub(super) fn finish(&mut self, metadata: &Metadata) -> Result<(), ScenarioError> {
        if mem::take(&mut self.is_waited_for) {
            self.collect(metadata)?;
        }
        self.collect(metadata)
    }

    /// Writes the records that the arrays have sent, in the order of completion.
    fn collect(&mut self, metadata: &Metadata) -> Result<(), ScenarioError> {
        let mut records = Vec::new();
        for array in &self.arrays {
            // No sender: the array has failed, and says why.
            let of_round = array.recv().unwrap_or_default();
            records.extend(of_round.records());
        }
        let completed = |record: &Record| {
            let latency = record.outcome.latency.unwrap_or(Nanos::ZERO);
            record.request.start.saturating_add(latency)
        };
        records.sort_by_key(completed);
        self.writer.update(metadata);
        let mut batch = Batch::default();
        for some in records.chunks(Batch::ROWS) {
            batch.clear();
            some.iter().for_each(|record| batch.push(record));
            self.writer.write(&batch)?;
        }
        Ok(())
    }
}
