//! Parquet files.

mod encoding;
mod writer;

use std::io::{self, BufReader};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;
use iosonar_trace::TraceError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

pub(crate) use self::writer::Writer;
use crate::positioned::{Positioned, Tail, read_error};
use crate::table::{Layout, RecordBatchSource};

/// What such a file begins and ends with.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// What a file ends with whose index is encrypted.
const ENCRYPTED: &[u8; 4] = b"PARE";

/// The rows that come out of the decoder together.
const ROWS: usize = 1 << 14;

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
        format!("row group {group}, at or after row {}", self.done + 1)
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
                 snappy, gzip, lz4 or none: write it with a different compression{way_out}",
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
