//! The columns of a trace and what the file says of it.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use iosonar_trace::fields::WRITTEN;
use iosonar_trace::{Metadata, Place, TraceError};

/// The key of the version of the table.
pub const VERSION_KEY: &str = "iosonar.version";

/// The key of what the trace says of itself, as JSON.
pub const TRACE_KEY: &str = "iosonar.trace";

/// The version of the table that is written, and the last one that is read.
pub const VERSION: u32 = 1;

/// A dictionary of words with keys of this type.
fn words(key: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8))
}

/// The columns, in their order.
pub(crate) fn columns() -> Schema {
    let ns = DataType::Duration(TimeUnit::Nanosecond);
    let types = [
        (ns.clone(), false),
        (DataType::UInt64, false),
        (DataType::UInt32, false),
        (words(DataType::Int8), false),
        (words(DataType::Int8), false),
        (words(DataType::Int32), true),
        (DataType::UInt16, false),
        (DataType::UInt32, false),
        (ns.clone(), true),
        (ns.clone(), true),
        (ns, true),
        (words(DataType::Int32), false),
        (DataType::Boolean, false),
    ];
    let fields = WRITTEN.iter().zip(types);
    let fields = fields.map(|(name, (data_type, nullable))| Field::new(*name, data_type, nullable));
    Schema::new(fields.collect::<Vec<_>>())
}

/// What the file says of the trace: keys and values.
pub(crate) fn said(metadata: &Metadata) -> [(String, String); 2] {
    let trace = metadata.to_json().expect("texts and numbers become JSON");
    [
        (VERSION_KEY.to_owned(), VERSION.to_string()),
        (TRACE_KEY.to_owned(), trace),
    ]
}

/// The columns of a trace, and in their metadata what it says of itself.
pub fn schema(metadata: &Metadata) -> Arc<Schema> {
    Arc::new(columns().with_metadata(arrow_schema::Metadata::from_iter(said(metadata))))
}

/// What a file says of the trace in it, if iosonar wrote it.
pub(crate) fn trace_of(path: &Path, schema: &Schema) -> Result<Option<Metadata>, TraceError> {
    let damaged = |key: &str, seen: &str, expected: String| TraceError::Field {
        place: Place::of(path, 0),
        field: key.to_owned(),
        seen: excerpt(seen),
        expected,
    };
    let Some(version) = schema.metadata().get(VERSION_KEY) else {
        return Ok(None);
    };
    let known = 1..=VERSION;
    if !version
        .parse()
        .is_ok_and(|version| known.contains(&version))
    {
        return Err(damaged(
            VERSION_KEY,
            version,
            format!(
                "at most {VERSION} in the schema's metadata: read it with the version of iosonar that wrote it"
            ),
        ));
    }
    let Some(trace) = schema.metadata().get(TRACE_KEY) else {
        return Ok(Some(Metadata::default()));
    };
    let metadata = Metadata::of_json(trace.as_bytes()).map_err(|error| {
        let expected =
            format!("JSON with the keys 'notices', 'origin_ns', 'devices' and 'about': {error}");
        damaged(TRACE_KEY, trace, expected)
    })?;
    Ok(Some(metadata))
}

/// The beginning of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain("...".chars()).collect()
}
