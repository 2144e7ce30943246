//! Traces as streams of the Arrow C data interface, in capsules: what `pyarrow`, `polars`, `duckdb` and `pandas` take.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use iosonar::arrow::{RecordBatchError, RecordBatches, schema};
use iosonar::trace::{Metadata, TraceReader};
use iosonar::units::with_causes;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::raised;
use crate::trace::Trace;

/// The records of a batch, but for the last one.
const ROWS: usize = 1 << 16;

/// A trace as a reader of record batches.
struct Reader {
    batches: RecordBatches<Box<dyn TraceReader>>,
    schema: SchemaRef,
    /// The trace, whose file may go with it.
    _trace: Trace,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.batches.next()?;
        Some(next.map_err(|error| match error {
            RecordBatchError::Trace(error) => ArrowError::ParseError(with_causes(&error)),
            RecordBatchError::Arrow(error) => error,
        }))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// The columns of a trace, read as they are asked for.
pub(crate) fn stream(
    py: Python<'_>,
    reader: Box<dyn TraceReader>,
    trace: Trace,
) -> PyResult<Bound<'_, PyCapsule>> {
    let reader = Reader {
        schema: schema(reader.metadata()),
        batches: RecordBatches::new(reader, ROWS),
        _trace: trace,
    };
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The types of the columns, with what the trace says of itself.
pub(crate) fn schema_of<'py>(
    py: Python<'py>,
    metadata: &Metadata,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&*schema(metadata)).map_err(raised)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
