//! Reading.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, CompressionType, Endianness, root_as_footer, root_as_message};
use arrow_schema::Schema;
use iosonar_trace::TraceError;

use super::MAGIC;
use crate::positioned::{Positioned, read_error};
use crate::table::RecordBatchSource;

/// The record batches of an Arrow IPC file.
pub(crate) struct Blocks {
    file: Positioned,
    schema: Arc<Schema>,
    decoder: FileDecoder,
    batches: std::vec::IntoIter<Block>,
    /// How many have been read.
    done: usize,
}

/// The most bytes of a record batch or a dictionary, in the file and unpacked: it is held in memory as a whole.
const LARGEST: u64 = 1 << 31;

/// What stands behind the footer: its length and the mark.
const TRAILER: u64 = 10;

impl Blocks {
    /// Opens a file.
    pub(crate) fn open(file: Positioned) -> Result<Self, TraceError> {
        file.check_end("Arrow", MAGIC)?;
        let damaged = |problem: String| file.damaged(format!("the index: {problem}"));
        let footer_end = file
            .len()
            .checked_sub(TRAILER)
            .ok_or_else(|| damaged("it is missing: the file is truncated".to_owned()))?;
        let bytes = |at, length| {
            let read = file.bytes(at, length);
            read.map_err(|error| read_error(file.path(), error))
        };
        let length = bytes(footer_end, 4)?;
        let length = <[u8; 4]>::try_from(length).map_or(0, u32::from_le_bytes);
        let at = footer_end.checked_sub(u64::from(length)).ok_or_else(|| {
            damaged(format!(
                "its length of {length} bytes exceeds the size of the file"
            ))
        })?;
        let footer = bytes(at, u64::from(length))?;
        let footer = root_as_footer(&footer).map_err(|error| damaged(error.to_string()))?;
        let schema = footer
            .schema()
            .ok_or_else(|| damaged("it has no schema".to_owned()))?;
        if schema.endianness() != Endianness::Little {
            return Err(damaged(
                "the file is big-endian, expected little-endian: write it on a little-endian machine"
                    .to_owned(),
            ));
        }
        let schema = try_fb_to_schema(schema).map_err(|error| damaged(error.to_string()))?;
        let schema = Arc::new(schema);
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let list = footer.dictionaries();
        let dictionaries: Vec<Block> = list.iter().flatten().copied().collect();
        let list = footer.recordBatches();
        let batches: Vec<Block> = list.iter().flatten().copied().collect();
        let mut blocks = Self {
            file,
            schema,
            decoder,
            batches: batches.into_iter(),
            done: 0,
        };
        for (i, block) in dictionaries.iter().enumerate() {
            let name = format!("dictionary {i}");
            let buffer = blocks.buffer(block, &name)?;
            let read = blocks.decoder.read_dictionary(block, &buffer);
            read.map_err(|error| blocks.damaged(&name, error))?;
        }
        Ok(blocks)
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Only these columns.
    pub(crate) fn project(&mut self, columns: Vec<usize>) {
        let empty = FileDecoder::new(Arc::clone(&self.schema), arrow_ipc::MetadataVersion::V5);
        let decoder = std::mem::replace(&mut self.decoder, empty);
        self.decoder = decoder.with_projection(columns);
    }

    fn damaged(&self, name: &str, problem: impl Display) -> TraceError {
        self.file.damaged(format!("{name}: {problem}"))
    }

    /// The bytes of a block, whose lengths make sense.
    fn buffer(&self, block: &Block, name: &str) -> Result<Buffer, TraceError> {
        let numbers = (
            u64::try_from(block.offset()),
            u64::try_from(block.metaDataLength()),
            u64::try_from(block.bodyLength()),
        );
        let (Ok(at), Ok(header @ 8..), Ok(body)) = numbers else {
            return Err(self.damaged(name, "the index has a negative length or offset".to_owned()));
        };
        let length = header.saturating_add(body);
        self.check_size(length, name)?;
        let bytes = self.file.bytes(at, length);
        let bytes = bytes.map_err(|error| read_error(self.file.path(), error))?;
        let (header, body) = bytes.split_at(header as usize);
        self.check_message(header, body, name)?;
        Ok(Buffer::from_vec(bytes))
    }

    /// Refuses what would take too much memory.
    fn check_size(&self, bytes: u64, name: &str) -> Result<(), TraceError> {
        if bytes <= LARGEST {
            return Ok(());
        }
        Err(self.damaged(
            name,
            format!(
                "it takes {bytes} bytes of memory, expected at most {LARGEST}: write the file again with smaller record \
                 batches (pyarrow: write_feather(table, path, chunksize=1_000_000); Polars: write Parquet)"
            ),
        ))
    }

    /// Refuses what the decoder would not understand.
    fn check_message(&self, header: &[u8], body: &[u8], name: &str) -> Result<(), TraceError> {
        let length = body.len() as u64;
        let message = match header {
            [0xff, 0xff, 0xff, 0xff, _, _, _, _, message @ ..] => message,
            [_, _, _, _, message @ ..] => message,
            _ => header,
        };
        let message = root_as_message(message);
        let message = message.map_err(|error| self.damaged(name, error))?;
        if message.bodyLength() != length as i64 {
            return Err(self.damaged(
                name,
                format!(
                    "its message has a body of {} bytes, expected {length} as in the index",
                    message.bodyLength()
                ),
            ));
        }
        let batch = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch()?.data());
        let Some(batch) = batch else {
            return Err(self.damaged(
                name,
                "its message is neither a record batch nor a dictionary".to_owned(),
            ));
        };
        let codec = batch.compression().map(|compression| compression.codec());
        if codec == Some(CompressionType::ZSTD) && !cfg!(feature = "zstd") {
            return Err(self.damaged(
                name,
                "it is compressed with zstd, which this build cannot read: write it with lz4 or without compression, \
                 or build iosonar with the feature c-codecs"
                    .to_owned(),
            ));
        }
        let rows = batch.length();
        // A column of a thousand millions of bits has some bytes; a batch of nulls alone would have none.
        if rows < 0 || rows as u64 > (length + 1).saturating_mul(1 << 16) {
            return Err(self.damaged(
                name,
                format!("it has {rows} rows in {length} bytes: the file is damaged"),
            ));
        }
        let Some(codec) = codec else {
            return Ok(());
        };
        let mut memory = 0_u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let Some(bytes) = unpacked(codec, buffer, body) else {
                let problem = "a compressed buffer has an impossible length: the file is damaged";
                return Err(self.damaged(name, problem));
            };
            memory = memory.saturating_add(bytes);
        }
        self.check_size(memory, name)
    }
}

/// How many bytes a compressed buffer has when it is unpacked, as its first eight say; `None` if it cannot have as many.
/// The decoder would ask for that much memory, and end the program where it gets none.
fn unpacked(codec: CompressionType, buffer: &arrow_ipc::Buffer, body: &[u8]) -> Option<u64> {
    /// LZ4 packs at most 255 bytes into one.
    const LZ4_MOST: i64 = 256;
    const ZSTD_MOST: i64 = 1 << 31;
    let from = usize::try_from(buffer.offset()).ok()?;
    let length = usize::try_from(buffer.length()).ok()?;
    if length == 0 {
        return Some(0);
    }
    let prefix = body.get(from..from.checked_add(8)?)?;
    let unpacked = i64::from_le_bytes(prefix.try_into().ok()?);
    let most = match codec {
        CompressionType::LZ4_FRAME => (length as i64).saturating_mul(LZ4_MOST),
        _ => ZSTD_MOST,
    };
    match unpacked {
        // It is not compressed.
        -1 => Some(length as u64),
        0.. if unpacked <= most => Some(unpacked as u64),
        _ => None,
    }
}

impl RecordBatchSource for Blocks {
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError> {
        loop {
            let Some(block) = self.batches.next() else {
                return Ok(None);
            };
            let name = format!("record batch {}", self.done);
            self.done += 1;
            let buffer = self.buffer(&block, &name)?;
            let batch = self.decoder.read_record_batch(&block, &buffer);
            if let Some(batch) = batch.map_err(|error| self.damaged(&name, error))? {
                return Ok(Some(batch));
            }
        }
    }
}
