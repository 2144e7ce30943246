//! Parquet files.

use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;
use iosonar_trace::output::Output;
use iosonar_trace::{Batch, Metadata, Sink, TraceError, TraceWriter};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask, encode_arrow_schema};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnPath;

use crate::columns::Columns;
use crate::formats::Holdable;
use crate::positioned::{Positioned, Tail, read_error};
use crate::schema::{columns, said, schema};
use crate::table::{Layout, RecordBatchSource};

/// What such a file begins and ends with.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// What a file ends with whose index is encrypted.
const ENCRYPTED: &[u8; 4] = b"PARE";

/// The rows of a row group: the writer keeps one in memory.
const ROW_GROUP: usize = 1 << 19;

/// The rows that are handed to the encoder, and come out of the decoder, together.
const ROWS: usize = 1 << 14;

/// Writes a Parquet file.
pub(crate) struct Writer {
    encoder: ArrowWriter<Box<dyn Output>>,
    path: PathBuf,
    columns: Columns,
    schema: Arc<Schema>,
    metadata: Metadata,
    holdable: Holdable,
}

/// How the columns are encoded: random numbers by their differences, words and what has few values by dictionaries.
fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("iosonar {}", env!("CARGO_PKG_VERSION")))
        .set_max_row_group_row_count(Some(ROW_GROUP));
    for name in ["time_ns", "sector", "delay_ns", "latency_ns", "think_ns"] {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

impl Writer {
    pub(crate) fn new(
        sink: Sink,
        metadata: &Metadata,
        holdable: Holdable,
    ) -> Result<Self, TraceError> {
        let Sink { output, path } = sink;
        // What the trace says of itself is written at the end, when all of it is known.
        let schema = Arc::new(columns());
        // So is the Arrow schema: readers take what the trace says of itself from there.
        let options = ArrowWriterOptions::new()
            .with_properties(properties())
            .with_skip_arrow_metadata(true);
        let encoder = ArrowWriter::try_new_with_options(output, Arc::clone(&schema), options);
        let encoder = encoder.map_err(|error| write_error(&path, error))?;
        Ok(Self {
            encoder,
            path,
            columns: Columns::default(),
            schema,
            metadata: metadata.clone(),
            holdable,
        })
    }

    /// Hands the rows so far to the encoder.
    fn encode(&mut self) -> Result<(), TraceError> {
        let batch = self.columns.take(&self.schema, &self.metadata);
        let batch = batch.map_err(ParquetError::from);
        let written = batch.and_then(|batch| self.encoder.write(&batch));
        written.map_err(|error| write_error(&self.path, error))
    }
}

fn write_error(path: &std::path::Path, error: ParquetError) -> TraceError {
    TraceError::Io {
        path: path.to_owned(),
        action: "write",
        source: io_error(error),
    }
}

/// What the system said, if that is why it failed.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let left = self.holdable.without_others(batch, &self.path)?;
        let batch = left.as_ref().unwrap_or(batch);
        let rows = (0, batch.len());
        let extended = self.columns.extend(batch, rows, &self.metadata.devices);
        extended
            .map_err(|error| write_error(&self.path, ParquetError::General(error.to_string())))?;
        if self.columns.len() >= ROWS {
            self.encode()?;
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        if self.metadata != *metadata {
            self.metadata.clone_from(metadata);
        }
    }

    fn left_out(&self) -> u64 {
        self.holdable.left_out()
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        if !self.columns.is_empty() {
            self.encode()?;
        }
        for (key, value) in said(&self.metadata) {
            self.encoder
                .append_key_value_metadata(KeyValue::new(key, value));
        }
        let arrow_schema = encode_arrow_schema(&schema(&self.metadata));
        self.encoder.append_key_value_metadata(KeyValue::new(
            ARROW_SCHEMA_META_KEY.to_owned(),
            arrow_schema,
        ));
        let Self { encoder, path, .. } = *self;
        let output = encoder.into_inner();
        let mut output = output.map_err(|error| write_error(&path, error))?;
        let closed = output.flush().and_then(|()| output.close());
        closed.map_err(|source| TraceError::Io {
            path,
            action: "complete",
            source,
        })
    }
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        Positioned::len(self)
    }
}

impl ChunkReader for Positioned {
    type T = BufReader<Tail>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        Ok(self.bytes(start, length as u64)?.into())
    }
}

/// The row groups of a Parquet file.
pub(crate) struct RowGroups {
    file: Positioned,
    builder: Option<ParquetRecordBatchReaderBuilder<Positioned>>,
    reader: Option<ParquetRecordBatchReader>,
    /// How many rows have been read, and how many the row groups so far have.
    done: u64,
    groups: Vec<u64>,
}

impl RowGroups {
    /// Opens a file.
    pub(crate) fn open(file: Positioned) -> Result<Self, TraceError> {
        let end = file.len().checked_sub(MAGIC.len() as u64);
        let mark = end.and_then(|at| file.bytes(at, MAGIC.len() as u64).ok());
        if mark.as_deref() == Some(ENCRYPTED) {
            return Err(file.damaged("the file is encrypted: write it without encryption"));
        }
        file.check_end("Parquet", MAGIC)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone());
        let builder = builder.map_err(|error| at_reading(&file, "the index", error))?;
        let counts = builder.metadata().row_groups().iter();
        let counts = counts.map(|group| u64::try_from(group.num_rows()).unwrap_or_default());
        let groups = counts.scan(0_u64, |sum, rows| {
            *sum = sum.saturating_add(rows);
            Some(*sum)
        });
        Ok(Self {
            groups: groups.collect(),
            file,
            builder: Some(builder),
            reader: None,
            done: 0,
        })
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        match &self.builder {
            Some(builder) => Arc::clone(builder.schema()),
            None => Arc::new(Schema::empty()),
        }
    }

    /// Begins to read the columns of the layout.
    pub(crate) fn begin(&mut self, layout: &Layout) -> Result<(), TraceError> {
        let Some(builder) = self.builder.take() else {
            return Ok(());
        };
        let columns = layout.columns.iter().map(|column| column.index);
        let columns: Vec<usize> = columns.collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        check_compression(&self.file, builder.metadata(), &mask)?;
        let reader = builder
            .with_projection(mask)
            .with_batch_size(ROWS)
            .build()
            .map_err(|error| at_reading(&self.file, "the columns", error))?;
        self.reader = Some(reader);
        Ok(())
    }

    /// Where the next row is.
    fn place(&self) -> String {
        let group = self.groups.partition_point(|rows| *rows <= self.done);
        format!("row group {group}, at row {} or after it", self.done + 1)
    }
}

/// Refuses columns in a compression that is not in this build.
fn check_compression(
    file: &Positioned,
    metadata: &ParquetMetaData,
    mask: &ProjectionMask,
) -> Result<(), TraceError> {
    for (i, group) in metadata.row_groups().iter().enumerate() {
        let columns = group.columns().iter().enumerate();
        for (_, column) in columns.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            let name = match column.compression() {
                Compression::ZSTD(_) if !cfg!(feature = "zstd") => "zstd",
                Compression::BROTLI(_) => "brotli",
                Compression::LZO => "lzo",
                _ => continue,
            };
            let way_out = match name {
                "zstd" => ", or build iosonar with the feature c-codecs",
                _ => "",
            };
            return Err(file.damaged(format!(
                "row group {i}: the column '{}' is compressed with {name}, which this build does not read, expected \
                 snappy, gzip, lz4 or none: write it with another compression{way_out}",
                column.column_path().string()
            )));
        }
    }
    Ok(())
}

fn at_reading(file: &Positioned, place: &str, error: ParquetError) -> TraceError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => read_error(file.path(), *error),
            Err(other) => file.damaged(format!("{place}: {other}")),
        },
        other => file.damaged(format!("{place}: {other}: the file is damaged")),
    }
}

impl RecordBatchSource for RowGroups {
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError> {
        let batch = self.reader.as_mut().and_then(Iterator::next);
        match batch {
            None => Ok(None),
            Some(Ok(batch)) => {
                self.done += batch.num_rows() as u64;
                Ok(Some(batch))
            }
            Some(Err(error)) => {
                // Nothing is known of what follows.
                self.reader = None;
                let error = match error {
                    ArrowError::ParquetError(text) => ParquetError::General(text),
                    other => other.into(),
                };
                Err(at_reading(&self.file, &self.place(), error))
            }
        }
    }
}
