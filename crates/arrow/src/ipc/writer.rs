//! Writing.
//!
//! Buffers go to the output as they are, without being copied into a message first. The dictionaries stand behind all
//! record batches: names of devices and numbers of errors turn up while a trace is written, and a file can have but one
//! dictionary for a column. The format permits that (readers of files find dictionaries through the index), as it does
//! not in streams.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{
    Block, Buffer, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion,
    RecordBatchBuilder,
};
use arrow_schema::Schema;
use flatbuffers::FlatBufferBuilder;
use iosonar_trace::output::Output;
use iosonar_trace::{Batch, Metadata, Sink, TraceError, TraceWriter};

use super::{ALIGNMENT, CONTINUATION, MAGIC};
use crate::columns::Columns;
use crate::formats::Holdable;
use crate::results::of_arrow;
use crate::schema::schema;

/// The rows of a record batch.
const ROWS: usize = 1 << 16;

/// Writes an Arrow IPC file.
pub(crate) struct Writer {
    output: Option<Box<dyn Output>>,
    path: PathBuf,
    offset: u64,
    columns: Columns,
    schema: Arc<Schema>,
    metadata: Metadata,
    holdable: Holdable,
    batches: Vec<Block>,
    builder: FlatBufferBuilder<'static>,
}

/// The nearest multiple of the alignment that is not below `length`.
fn padded(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT)
}

impl Writer {
    pub(crate) fn new(
        sink: Sink,
        metadata: &Metadata,
        holdable: Holdable,
    ) -> Result<Self, TraceError> {
        let mut writer = Self {
            output: Some(sink.output),
            path: sink.path,
            offset: 0,
            columns: Columns::default(),
            schema: schema(metadata),
            metadata: metadata.clone(),
            holdable,
            batches: Vec::new(),
            builder: FlatBufferBuilder::new(),
        };
        let written = writer.begin();
        written.map_err(|error| writer.error("write", error))?;
        Ok(writer)
    }

    fn error(&self, action: &'static str, source: io::Error) -> TraceError {
        TraceError::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        match &mut self.output {
            Some(output) => output.write_all(bytes),
            None => Err(io::Error::other("the file is complete")),
        }
    }

    /// Writes `bytes`, and zeros up to the next multiple of the alignment.
    fn put_padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes)?;
        self.put(&[0; ALIGNMENT][..padded(bytes.len()) - bytes.len()])
    }

    /// Writes the beginning of a message, with its own length; how long it is.
    fn put_header(&mut self, message: &[u8]) -> io::Result<usize> {
        const PREFIX: usize = 8;
        let whole = padded(message.len() + PREFIX);
        self.put(&CONTINUATION)?;
        self.put(&((whole - PREFIX) as i32).to_le_bytes())?;
        self.put(message)?;
        self.put(&[0; ALIGNMENT][..whole - PREFIX - message.len()])?;
        Ok(whole)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.put_padded(MAGIC)?;
        let schema = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
            &self.schema,
            &mut DictionaryTracker::new(true),
            &IpcWriteOptions::default(),
        );
        self.put_header(&schema.ipc_message)?;
        Ok(())
    }

    /// Writes the rows so far as a record batch.
    fn end_batch(&mut self) -> io::Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        // What is written is what is in memory: no array is made of it.
        let columns = std::mem::take(&mut self.columns);
        let mut nodes = Vec::new();
        let mut buffers = Vec::new();
        let mut bodies: Vec<&[u8]> = Vec::new();
        let mut length = 0;
        for held in columns.held() {
            let (values, known, nulls) = held.bytes();
            nodes.push(FieldNode::new(columns.len() as i64, nulls as i64));
            let known = if nulls > 0 { known } else { &[] };
            // Numbers, bits, or the keys of a dictionary: one buffer each.
            for body in [known, values] {
                buffers.push(Buffer::new(length as i64, body.len() as i64));
                length += padded(body.len());
                bodies.push(body);
            }
        }
        let mut builder = std::mem::take(&mut self.builder);
        builder.reset();
        let nodes = builder.create_vector(&nodes);
        let buffers = builder.create_vector(&buffers);
        let mut header = RecordBatchBuilder::new(&mut builder);
        header.add_length(columns.len() as i64);
        header.add_nodes(nodes);
        header.add_buffers(buffers);
        let header = header.finish().as_union_value();
        let mut message = MessageBuilder::new(&mut builder);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_header(header);
        message.add_bodyLength(length as i64);
        let message = message.finish();
        builder.finish(message, None);
        let offset = self.offset;
        let header = self.put_header(builder.finished_data())?;
        self.builder = builder;
        for body in bodies {
            self.put_padded(body)?;
        }
        self.columns = columns;
        self.columns.clear();
        let block = Block::new(offset as i64, header as i32, length as i64);
        self.batches.push(block);
        Ok(())
    }

    /// Writes the dictionaries of all columns; where they are.
    fn put_dictionaries(&mut self, schema: &Arc<Schema>) -> io::Result<Vec<Block>> {
        let empty = self.columns.take(schema, &self.metadata);
        let empty: RecordBatch = empty.map_err(of_arrow)?;
        let mut tracker = DictionaryTracker::new(true);
        let options = IpcWriteOptions::default();
        let generator = IpcDataGenerator::default();
        // Numbers the dictionaries as in the schema above.
        generator.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
        let mut context = IpcWriteContext::default();
        let encoded = generator.encode(&empty, &mut tracker, &options, &mut context);
        let (dictionaries, _) = encoded.map_err(of_arrow)?;
        let mut blocks = Vec::new();
        for dictionary in dictionaries {
            let offset = self.offset;
            let mut bytes = Vec::new();
            let written = write_message(&mut bytes, dictionary, &options);
            let (header, body) = written.map_err(of_arrow)?;
            self.put(&bytes)?;
            blocks.push(Block::new(offset as i64, header as i32, body as i64));
        }
        Ok(blocks)
    }

    fn end(&mut self) -> io::Result<()> {
        self.end_batch()?;
        // With what has become known since the beginning: readers of files take the schema of the index.
        let schema = schema(&self.metadata);
        let dictionaries = self.put_dictionaries(&schema)?;
        self.put(&CONTINUATION)?;
        self.put(&[0; 4])?;
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(&dictionaries);
        let batches = builder.create_vector(&self.batches);
        let mut tracker = DictionaryTracker::new(true);
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb_offset(&mut builder, &schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        let footer = footer.finish();
        builder.finish(footer, None);
        let footer = builder.finished_data();
        self.put(footer)?;
        self.put(&(footer.len() as i32).to_le_bytes())?;
        self.put(MAGIC)
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let left = self.holdable.without_others(batch, &self.path)?;
        let batch = left.as_ref().unwrap_or(batch);
        let mut from = 0;
        while from < batch.len() {
            let to = batch.len().min(from + ROWS - self.columns.len());
            let devices = &self.metadata.devices;
            let extended = self.columns.extend(batch, (from, to), devices);
            extended.map_err(|error| self.error("write", io::Error::other(error)))?;
            from = to;
            if self.columns.len() == ROWS {
                let written = self.end_batch();
                written.map_err(|error| self.error("write", error))?;
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
        let written = self.end();
        written.map_err(|error| self.error("write", error))?;
        match self.output.take() {
            Some(output) => output
                .close()
                .map_err(|error| self.error("complete", error)),
            None => Ok(()),
        }
    }
}
