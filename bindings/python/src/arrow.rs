//! Traces as streams of the Arrow C data interface, in capsules: what `pyarrow`, `polars`, `duckdb` and `pandas` take.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use iosonar::trace::TraceReader;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::columns::{self, RecordBatches};
use crate::error::raised;
use crate::trace::Trace;

/// As many records are a batch, or a few more.
const ROWS: usize = 1 << 16;

/// A trace as a reader of record batches.
struct Reader {
    batches: RecordBatches,
    /// The trace, whose file may go with it.
    _trace: Trace,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        columns::schema()
    }
}

/// The columns of a trace, read as they are asked for.
pub(crate) fn stream(
    py: Python<'_>,
    reader: Box<dyn TraceReader>,
    trace: Trace,
) -> PyResult<Bound<'_, PyCapsule>> {
    let reader = Reader {
        batches: RecordBatches::new(reader, ROWS),
        _trace: trace,
    };
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The types of the columns.
pub(crate) fn schema(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&*columns::schema()).map_err(raised)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
