//! Batches of records as record batches.

use std::error::Error;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use iosonar_trace::{Batch, Metadata, TraceError, TraceReader};

use crate::columns::Columns;
use crate::schema::schema;

/// The records of a batch as columns.
///
/// # Errors
/// If a time of a record is too long.
pub fn record_batch(batch: &Batch, metadata: &Metadata) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::default();
    columns.extend(batch, (0, batch.len()), &metadata.devices)?;
    columns.take(&schema(metadata), metadata)
}

/// A trace as record batches of a number of rows, the last one with fewer.
pub struct RecordBatches<R> {
    reader: R,
    rows: usize,
    batch: Batch,
    /// How many rows of the batch have been taken.
    taken: usize,
    columns: Columns,
}

impl<R: TraceReader> RecordBatches<R> {
    /// Of a reader; `rows` is at least 1.
    pub fn new(reader: R, rows: usize) -> Self {
        Self {
            reader,
            rows: rows.max(1),
            batch: Batch::default(),
            taken: 0,
            columns: Columns::default(),
        }
    }

    /// What the trace says of itself, as far as it has been read.
    pub fn metadata(&self) -> &Metadata {
        self.reader.metadata()
    }

    fn filled(&mut self) -> Result<RecordBatch, RecordBatchError> {
        while self.columns.len() < self.rows {
            if self.taken == self.batch.len() {
                self.taken = 0;
                if self.reader.next_batch(&mut self.batch)? == 0 {
                    break;
                }
            }
            let to = (self.taken + self.rows - self.columns.len()).min(self.batch.len());
            let devices = &self.reader.metadata().devices;
            let taken = self.columns.extend(&self.batch, (self.taken, to), devices);
            taken.map_err(ArrowError::from)?;
            self.taken = to;
        }
        let metadata = self.reader.metadata();
        Ok(self.columns.take(&schema(metadata), metadata)?)
    }
}

/// Why there is no next record batch.
#[derive(Debug)]
pub enum RecordBatchError {
    /// The trace cannot be read.
    Trace(TraceError),
    /// A record cannot be held.
    Arrow(ArrowError),
}

impl fmt::Display for RecordBatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Arrow(error) => error.fmt(f),
        }
    }
}

impl Error for RecordBatchError {}

impl From<TraceError> for RecordBatchError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<ArrowError> for RecordBatchError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl<R: TraceReader> Iterator for RecordBatches<R> {
    type Item = Result<RecordBatch, RecordBatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let filled = self.filled();
        if filled.as_ref().is_ok_and(|batch| batch.num_rows() == 0) {
            return None;
        }
        Some(filled)
    }
}
