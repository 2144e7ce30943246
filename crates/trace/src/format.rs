//! What a format is: how it is recognised, read and written.

use std::io::Read;
use std::path::Path;

use crate::whole_file::Output;
use crate::{Batch, TraceError};

/// What a trace says about itself besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Lines of comment above the first row (a licence, the origin), without line ends.
    pub notices: Vec<String>,
}

/// A kind of trace file.
pub trait Format: Sync {
    /// Its name, as `--format` takes it.
    fn name(&self) -> &'static str;

    /// File name endings (without compression) that suggest it, most usual first.
    fn extensions(&self) -> &'static [&'static str];

    /// What it is, in a line.
    fn description(&self) -> &'static str;

    /// Whether `head`, the first kilobytes of a file, looks like this format.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Reads from `input`; `path` is for messages.
    ///
    /// # Errors
    /// If the beginning cannot be read.
    fn reader(
        &self,
        input: Box<dyn Read + Send>,
        path: &Path,
    ) -> Result<Box<dyn TraceReader>, TraceError>;

    /// Writes to `output`; `path` is for messages.
    ///
    /// # Errors
    /// If the beginning cannot be written.
    fn writer(
        &self,
        output: Box<dyn Output>,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<Box<dyn TraceWriter>, TraceError>;
}

/// A source of batches.
pub trait TraceReader: Send {
    /// Empties `batch` and fills it with the next rows; returns how many, 0 at the end.
    ///
    /// # Errors
    /// If the input is damaged; the error names the place.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError>;

    /// What the trace says about itself, as far as it has been read.
    fn metadata(&self) -> &Metadata;
}

impl<R: TraceReader + ?Sized> TraceReader for Box<R> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        (**self).next_batch(batch)
    }

    fn metadata(&self) -> &Metadata {
        (**self).metadata()
    }
}

/// A sink of batches that becomes a whole file, or none, when it is finished.
pub trait TraceWriter: Send {
    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// If the output cannot be written, or the format cannot hold a row.
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError>;

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the output cannot be written; no file of that name appears then.
    fn finish(self: Box<Self>) -> Result<(), TraceError>;
}
