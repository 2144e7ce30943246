//! Requests that nobody recorded, on their way to a file.

use std::path::Path;

use iosonar_trace::{Batch, Metadata, Record, Request, TraceError, WriteOptions, output};

/// Writes `requests` as a load; tells how many there were.
pub(crate) fn write(
    requests: impl Iterator<Item = Request>,
    path: &Path,
    notice: String,
    options: &WriteOptions,
) -> Result<u64, TraceError> {
    let metadata = Metadata {
        notices: vec![notice],
        ..Metadata::default()
    };
    let mut writer = output::create_with(path, &metadata, options)?;
    let (mut batch, mut written) = (Batch::default(), 0);
    for request in requests {
        written += 1;
        batch.push(&Record {
            request,
            ..Record::default()
        });
        if batch.len() == Batch::ROWS {
            writer.write(&batch)?;
            batch.clear();
        }
    }
    writer.write(&batch)?;
    writer.finish()?;
    Ok(written)
}
