//! Writing.

use std::io::Write;
use std::path::PathBuf;

use super::block::{BlockColumns, Encoder};
use super::frame::{self, DATA, INDEX, IndexEntry, METADATA};
use crate::error::Place;
use crate::whole_file::Output;
use crate::{Batch, Metadata, Sink, TraceError, TraceWriter};

pub(super) struct Writer {
    output: Box<dyn Output>,
    path: PathBuf,
    offset: u64,
    block: BlockColumns,
    encoder: Encoder,
    bytes: Vec<u8>,
    index: Vec<IndexEntry>,
    /// What the file says about itself already.
    told: Metadata,
    metadata: Metadata,
}

impl Writer {
    pub(super) fn new(sink: Sink, metadata: &Metadata) -> Result<Self, TraceError> {
        let mut writer = Self {
            output: sink.output,
            path: sink.path,
            offset: 0,
            block: BlockColumns::default(),
            encoder: Encoder::default(),
            bytes: Vec::new(),
            index: Vec::new(),
            told: Metadata::default(),
            metadata: metadata.clone(),
        };
        // Of this reading, not of the trace.
        writer.metadata.remarks.clear();
        let mut header = frame::MAGIC.to_vec();
        header.extend_from_slice(&frame::MAJOR.to_le_bytes());
        header.extend_from_slice(&frame::MINOR.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        writer.put(&header)?;
        writer.tell()?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.offset += bytes.len() as u64;
        self.output
            .write_all(bytes)
            .map_err(|source| TraceError::Io {
                path: self.path.clone(),
                action: "write",
                source,
            })
    }

    fn frame(&mut self, kind: u8, payload: &[u8]) -> Result<(), TraceError> {
        self.put(&frame::header(kind, payload))?;
        self.put(payload)
    }

    fn tell(&mut self) -> Result<(), TraceError> {
        // Texts and numbers always become JSON.
        let json = self.metadata.to_json().unwrap_or_else(|_| "{}".to_owned());
        if json.len() > Metadata::MOST_JSON {
            return Err(TraceError::Damaged {
                place: Place::of(&self.path, 0),
                problem: format!(
                    "the device names and the comments in the input take {} bytes of metadata, but an .ios file can \
                     hold at most {}: shorten them, or write a different format",
                    json.len(),
                    Metadata::MOST_JSON
                ),
            });
        }
        self.told = self.metadata.clone();
        self.index.push(IndexEntry {
            offset: self.offset,
            count: 0,
            min: 0,
            max: 0,
        });
        self.frame(METADATA, json.as_bytes())
    }

    /// Says what has become known since it was said last.
    fn tell_if_new(&mut self) -> Result<(), TraceError> {
        if self.told == self.metadata {
            return Ok(());
        }
        self.tell()
    }

    fn end_block(&mut self) -> Result<(), TraceError> {
        if self.block.len() == 0 {
            return Ok(());
        }
        // The reader of the block must know its devices.
        self.tell_if_new()?;
        let (min, max) = self.block.span();
        self.index.push(IndexEntry {
            offset: self.offset,
            count: self.block.len() as u32,
            min,
            max,
        });
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.block.encode(&mut self.encoder, &mut bytes);
        self.block.clear();
        let outcome = self.frame(DATA, &bytes);
        self.bytes = bytes;
        outcome
    }
}

impl TraceWriter for Writer {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        // What is written can be read again.
        if let Some(found) = batch.impossible() {
            return Err(found.error(Place::of(&self.path, 0)));
        }
        let mut from = 0;
        while from < batch.len() {
            let room = BlockColumns::MOST - self.block.len();
            let to = batch.len().min(from + room);
            self.block.extend(batch, from, to);
            from = to;
            if self.block.len() == BlockColumns::MOST {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        self.metadata.follow(metadata, &Metadata::default());
        self.metadata.remarks.clear();
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.end_block()?;
        self.output.flush().map_err(|source| TraceError::Io {
            path: self.path.clone(),
            action: "write",
            source,
        })
    }

    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        self.end_block()?;
        self.tell_if_new()?;
        let mut index = Vec::with_capacity(self.index.len() * frame::INDEX_ENTRY);
        self.index.iter().for_each(|entry| entry.put(&mut index));
        let at = self.offset;
        // An index of more than two million blocks does without: frames can be followed one by one.
        if index.len() > frame::LONGEST {
            index.clear();
        }
        self.frame(INDEX, &index)?;
        let mut trailer = at.to_le_bytes().to_vec();
        trailer.extend_from_slice(&frame::END);
        self.put(&trailer)?;
        let Self { output, path, .. } = *self;
        output.close().map_err(|source| TraceError::Io {
            path,
            action: "complete",
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use iosonar_units::Nanos;

    use super::*;
    use crate::testing::Given;
    use crate::{Status, WriteOptions};

    #[test]
    fn metadata_may_have_the_most_bytes_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ios");
        let with = |letters: usize| Metadata {
            notices: vec!["n".repeat(letters)],
            ..Metadata::default()
        };
        let others = with(0).to_json().unwrap().len();
        let most = Metadata::MOST_JSON - others;
        let create = |metadata: &Metadata| {
            let output = crate::whole_file::open(&path, &WriteOptions::default()).unwrap();
            let path = path.clone();
            Writer::new(Sink { output, path }, metadata)
        };
        let error = create(&with(most + 1)).err().unwrap().to_string();
        assert!(error.contains("take 1048577 bytes of metadata"), "{error}");
        let mut writer = create(&with(most)).unwrap();
        writer.write(&Given::reads([(7, Status::Done)])).unwrap();
        Box::new(writer).finish().unwrap();
        let mut reader = crate::input::open(&path).unwrap();
        assert_eq!(reader.metadata().notices[0].len(), most);
        reader.skip_before(Nanos::new(7)).unwrap();
        assert_eq!(reader.metadata().notices[0].len(), most);
    }

    #[test]
    fn a_block_ends_when_it_is_full_or_flushed_and_what_is_new_is_said_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ios");
        let rows = |n: usize| Given::reads((0..n as u64).map(|start| (start, Status::Done)));
        let output = crate::whole_file::open(&path, &WriteOptions::default()).unwrap();
        let sink = Sink {
            output,
            path: path.clone(),
        };
        let mut writer = Writer::new(sink, &Metadata::default()).unwrap();
        let counts =
            |writer: &Writer| -> Vec<u32> { writer.index.iter().map(|e| e.count).collect() };
        let most = BlockColumns::MOST as u32;
        writer.write(&rows(BlockColumns::MOST - 1)).unwrap();
        assert_eq!(counts(&writer), [0]);
        writer.write(&rows(3)).unwrap();
        assert_eq!((counts(&writer), writer.block.len()), (vec![0, most], 2));
        let mut metadata = Metadata::default();
        metadata.devices.push("sda".to_owned());
        writer.update(&metadata);
        writer.flush().unwrap();
        writer.flush().unwrap();
        assert_eq!(counts(&writer), [0, most, 0, 2]);
        writer.update(&metadata);
        Box::new(writer).finish().unwrap();
        let mut reader = crate::input::open(Path::new(&path)).unwrap();
        assert!(reader.metadata().devices.is_empty());
        let (mut batch, mut read) = (Batch::default(), 0);
        while reader.next_batch(&mut batch).unwrap() > 0 {
            read += batch.len();
        }
        assert_eq!(read, BlockColumns::MOST + 2);
        assert_eq!(reader.metadata().devices, ["sda"]);
    }
}
