//! Parquet files.

mod encoding;
mod page_header;
mod writer;

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;
use iosonar_trace::TraceError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
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

/// The pages of a file: the library takes memory for what is in their headers, which are checked first.
#[derive(Clone)]
struct Pages(Positioned);

impl Length for Pages {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Pages {
    type T = FromHeader;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(FromHeader {
            bytes: BufReader::new(self.0.from(start)),
            to_check: Some((self.0.clone(), start)),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// The bytes from the header of a page on. It is checked when they are read: the library also asks for those behind a
/// header, and reads none.
struct FromHeader {
    bytes: BufReader<Tail>,
    to_check: Option<(Positioned, u64)>,
}

impl Read for FromHeader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((file, start)) = self.to_check.take() {
            page_header::check(BufReader::new(file.from(start)), file.len())?;
        }
        self.bytes.read(buffer)
    }
}

/// The row groups of a Parquet file.
pub(crate) struct RowGroups {
    file: Positioned,
    builder: Option<ParquetRecordBatchReaderBuilder<Pages>>,
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
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
        let metadata = metadata.map_err(|error| at_reading(&file, "the index", error))?;
        let pages = Pages(file.clone());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata);
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
                "row group {i}: the column '{}' is compressed with {name}, which this build cannot read: write it \
                 with snappy, gzip, lz4 or no compression{way_out}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::{CutOff, ReadOptions, Source};
    use std::fs::File;

    #[test]
    fn the_header_of_a_page_is_checked_when_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        // A page of 2^31 - 1 bytes from 10: its kind, these lengths, and the end.
        let header = [0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 20, 0];
        std::fs::write(&path, header).unwrap();
        let source = Source {
            input: Box::new(io::empty()),
            path: path.clone(),
            file: Some(File::open(&path).unwrap()),
            cut: CutOff::default(),
        };
        let file = Positioned::of(source, "Parquet", &ReadOptions::default()).unwrap();
        let pages = Pages(file);
        let mut bytes = Vec::new();
        let mut from_header = pages.get_read(0).unwrap();
        let error = from_header.read_to_end(&mut bytes).unwrap_err().to_string();
        assert!(error.contains("a page of 2147483647 bytes"), "{error}");
        assert!(bytes.is_empty());
        // The library asks for what is behind a header, too.
        assert!(pages.get_read(3).is_ok());
    }
}
