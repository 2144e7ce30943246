//! Writing.
//!
//! ```text
//! batch ─► columns ─► a page of each column, encoded ─► row group ─► file
//! ```
//!
//! Pages are encoded here, and put together by the `parquet` crate. They are not compressed: differences in as few bits as
//! they need leave little to compress.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use bytes::Bytes;
use iosonar_trace::output::Output;
use iosonar_trace::{Batch, Metadata, Sink, TraceError, TraceWriter};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, encode_arrow_schema};
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use super::encoding::{put_deltas, put_keys, put_levels};
use crate::columns::{Columns, Held, Words};
use crate::formats::Holdable;
use crate::results::of_parquet;
use crate::schema::{columns, said, schema};

/// The rows of a row group: the writer keeps one in memory, encoded.
const ROW_GROUP: usize = 1 << 19;

/// The rows of a page.
const PAGE: usize = 1 << 15;

/// The pages of a column in a row group.
#[derive(Default)]
struct Chunk {
    pages: Option<TrackedWrite<Vec<u8>>>,
    /// Those that its pages have.
    encodings: Vec<Encoding>,
    /// The smallest and the largest time.
    extremes: Option<(i64, i64)>,
}

/// Writes a Parquet file.
pub(crate) struct Writer {
    file: SerializedFileWriter<Box<dyn Output>>,
    descriptor: SchemaDescriptor,
    path: PathBuf,
    columns: Columns,
    chunks: Vec<Chunk>,
    /// How many rows the row group has so far.
    rows: usize,
    metadata: Metadata,
    holdable: Holdable,
}

impl Chunk {
    /// Appends a page; `values` has what is in it behind its levels.
    fn put(
        &mut self,
        values: Vec<u8>,
        rows: usize,
        encoding: Encoding,
    ) -> Result<(), ParquetError> {
        let size = values.len();
        let page = Page::DataPage {
            buf: Bytes::from(values),
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let pages = self
            .pages
            .get_or_insert_with(|| TrackedWrite::new(Vec::new()));
        SerializedPageWriter::new(pages).write_page(CompressedPage::new(page, size))?;
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        Ok(())
    }

    /// The whole of it, behind the dictionary that it may have.
    fn end(
        &mut self,
        column: &ColumnDescPtr,
        rows: usize,
        words: Option<&Words>,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let chunk = std::mem::take(self);
        let mut bytes = match words {
            None => Vec::new(),
            Some(words) => dictionary(words)?,
        };
        let data_at = bytes.len() as i64;
        let pages = chunk.pages.map(TrackedWrite::into_inner).transpose()?;
        let pages = pages.unwrap_or_default();
        match bytes.is_empty() {
            true => bytes = pages,
            false => bytes.extend_from_slice(&pages),
        }
        let mut encodings = chunk.encodings;
        encodings.push(Encoding::RLE);
        encodings.extend(words.map(|_| Encoding::PLAIN));
        let size = bytes.len() as i64;
        let mut metadata = ColumnChunkMetaData::builder(Arc::clone(column))
            .set_encodings(encodings)
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(rows as i64)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .set_data_page_offset(data_at)
            .set_dictionary_page_offset(words.map(|_| 0));
        if let Some((least, most)) = chunk.extremes {
            let statistics = Statistics::int64(Some(least), Some(most), None, Some(0), false);
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: size as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), close))
    }
}

/// The page of a dictionary.
fn dictionary(words: &Words) -> Result<Vec<u8>, ParquetError> {
    let words = words.as_string::<i32>();
    let mut values = Vec::new();
    for word in words.iter().flatten() {
        values.extend_from_slice(&(word.len() as u32).to_le_bytes());
        values.extend_from_slice(word.as_bytes());
    }
    let size = values.len();
    let page = Page::DictionaryPage {
        buf: Bytes::from(values),
        num_values: words.len() as u32,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    let mut written = TrackedWrite::new(Vec::new());
    SerializedPageWriter::new(&mut written).write_page(CompressedPage::new(page, size))?;
    written.into_inner()
}

/// The page of a column, and its encoding.
fn page(held: &Held<'_>, rows: usize) -> (Vec<u8>, Encoding) {
    // Mostly enough: what is longer is moved.
    let mut bytes = Vec::with_capacity(4 * rows);
    let encoding = match held {
        Held::Signed(numbers) => {
            put_deltas(numbers, &mut bytes);
            Encoding::DELTA_BINARY_PACKED
        }
        Held::Unsigned(numbers) => {
            put_deltas(numbers, &mut bytes);
            Encoding::DELTA_BINARY_PACKED
        }
        Held::Short(numbers) => {
            put_deltas(numbers, &mut bytes);
            Encoding::DELTA_BINARY_PACKED
        }
        Held::Shorter(numbers) => {
            put_deltas(numbers, &mut bytes);
            Encoding::DELTA_BINARY_PACKED
        }
        Held::Times {
            values,
            known,
            nulls,
        } => {
            put_levels(known, *nulls, rows, &mut bytes);
            match *nulls {
                0 => put_deltas(values, &mut bytes),
                nulls if nulls == rows => return (bytes, Encoding::PLAIN),
                _ => put_deltas(&those(values, known), &mut bytes),
            }
            Encoding::DELTA_BINARY_PACKED
        }
        Held::Bytes(keys) => {
            put_keys(keys, &mut bytes);
            Encoding::RLE_DICTIONARY
        }
        Held::Keys(keys) => {
            put_keys(keys, &mut bytes);
            Encoding::RLE_DICTIONARY
        }
        Held::NullableKeys { keys, known, nulls } => {
            put_levels(known, *nulls, rows, &mut bytes);
            match *nulls {
                0 => put_keys(keys, &mut bytes),
                nulls if nulls == rows => put_keys::<i32>(&[], &mut bytes),
                _ => put_keys(&those(keys, known), &mut bytes),
            }
            Encoding::RLE_DICTIONARY
        }
        Held::Bits(bits) => {
            bytes.extend_from_slice(bits);
            Encoding::PLAIN
        }
    };
    (bytes, encoding)
}

/// The values that are known.
fn those<T: Copy>(values: &[T], known: &[u8]) -> Vec<T> {
    let is_known = |row: usize| known[row / 8] >> (row % 8) & 1 == 1;
    let values = values.iter().enumerate();
    let known = values.filter_map(|(row, value)| is_known(row).then_some(*value));
    known.collect()
}

impl Writer {
    pub(crate) fn new(
        sink: Sink,
        metadata: &Metadata,
        holdable: Holdable,
    ) -> Result<Self, TraceError> {
        let Sink { output, path } = sink;
        // What the trace says of itself is written at the end, when all of it is known.
        let converted = ArrowSchemaConverter::new().convert(&columns());
        let properties = WriterProperties::builder()
            .set_created_by(format!("iosonar {}", env!("CARGO_PKG_VERSION")))
            .build();
        let descriptor = converted.map_err(|error| write_error(&path, error))?;
        let root = descriptor.root_schema_ptr();
        let file = SerializedFileWriter::new(output, root, Arc::new(properties));
        let file = file.map_err(|error| write_error(&path, error))?;
        let mut chunks = Vec::new();
        chunks.resize_with(columns().fields().len(), Chunk::default);
        Ok(Self {
            file,
            descriptor,
            path,
            columns: Columns::default(),
            chunks,
            rows: 0,
            metadata: metadata.clone(),
            holdable,
        })
    }

    /// Encodes the rows so far, a page of each column.
    fn end_page(&mut self) -> Result<(), ParquetError> {
        let rows = self.columns.len();
        if rows == 0 {
            return Ok(());
        }
        for (chunk, held) in self.chunks.iter_mut().zip(self.columns.held()) {
            let (bytes, encoding) = page(&held, rows);
            chunk.put(bytes, rows, encoding)?;
        }
        // Readers skip row groups by their times.
        if let Some(Held::Signed(starts)) = self.columns.held().first() {
            let (least, most) = self.chunks[0].extremes.unwrap_or((i64::MAX, i64::MIN));
            let least = starts.iter().fold(least, |least, t| least.min(*t));
            let most = starts.iter().fold(most, |most, t| most.max(*t));
            self.chunks[0].extremes = Some((least, most));
        }
        self.columns.clear();
        self.rows += rows;
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        self.end_page()?;
        if self.rows == 0 {
            return Ok(());
        }
        let words = self.columns.words(&self.metadata.devices);
        let mut group = self.file.next_row_group()?;
        for (i, chunk) in self.chunks.iter_mut().enumerate() {
            let words = words[i].as_ref();
            let (bytes, close) = chunk.end(&self.descriptor.column(i), self.rows, words)?;
            group.append_column(&bytes, close)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn write_error(&self, error: ParquetError) -> TraceError {
        write_error(&self.path, error)
    }
}

fn write_error(path: &Path, error: ParquetError) -> TraceError {
    TraceError::Io {
        path: path.to_owned(),
        action: "write",
        source: of_parquet(error),
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let left = self.holdable.without_others(batch, &self.path)?;
        let batch = left.as_ref().unwrap_or(batch);
        let mut from = 0;
        while from < batch.len() {
            let to = batch.len().min(from + PAGE - self.columns.len());
            let devices = &self.metadata.devices;
            let extended = self.columns.extend(batch, (from, to), devices);
            extended.map_err(|error| self.write_error(ParquetError::External(error.into())))?;
            from = to;
            if self.columns.len() == PAGE {
                let ended = match self.rows + PAGE >= ROW_GROUP {
                    true => self.end_row_group(),
                    false => self.end_page(),
                };
                ended.map_err(|error| self.write_error(error))?;
            }
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
        let ended = self.end_row_group();
        ended.map_err(|error| self.write_error(error))?;
        for (key, value) in said(&self.metadata) {
            self.file
                .append_key_value_metadata(KeyValue::new(key, value));
        }
        let arrow_schema = encode_arrow_schema(&schema(&self.metadata));
        let arrow_schema = KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), arrow_schema);
        self.file.append_key_value_metadata(arrow_schema);
        let Self { file, path, .. } = *self;
        let output = file.into_inner();
        let mut output = output.map_err(|error| write_error(&path, error))?;
        let closed = output.flush().and_then(|()| output.close());
        closed.map_err(|source| TraceError::Io {
            path,
            action: "complete",
            source,
        })
    }
}
