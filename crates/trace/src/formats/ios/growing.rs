//! Reading a file that is being written, frame by frame as they become whole.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::frame::{self, FRAME_HEADER, INDEX};
use super::reader::Reader;
use crate::decompress::read_error;
use crate::{Batch, CutOff, Metadata, ReadOptions, Source, TraceError};

/// The blocks of a file that may not be whole yet.
pub(crate) struct Growing {
    file: File,
    reader: Reader,
}

impl Growing {
    /// Begins at the beginning. `None` if the file does not begin as one of this format, or not yet.
    pub(crate) fn of(file: File, path: &Path) -> Result<Option<Self>, TraceError> {
        let error = |e| read_error(path, e);
        let mut header = [0; frame::FILE_HEADER];
        if file.read_exact_at(&mut header, 0).is_err() || header[..8] != frame::MAGIC {
            return Ok(None);
        }
        let mut input = file.try_clone().map_err(error)?;
        input.seek(SeekFrom::Start(0)).map_err(error)?;
        let source = Source {
            input: Box::new(input),
            path: path.to_owned(),
            file: None,
            cut: CutOff::default(),
        };
        let options = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let reader = Reader::without_metadata(source, &options)?;
        Ok(Some(Self { file, reader }))
    }

    /// Whether this is the file, with all that was read of it.
    pub(crate) fn is_of(&self, other: &fs::Metadata) -> bool {
        let own = self.file.metadata();
        own.is_ok_and(|own| (own.dev(), own.ino()) == (other.dev(), other.ino()))
            && other.len() >= self.reader.offset()
    }

    /// Whether the next frame is there, or will never be.
    fn has_frame(&self) -> bool {
        let (at, size) = (self.reader.offset(), self.file.metadata());
        let size = size.map_or(0, |metadata| metadata.len());
        let mut header = [0; FRAME_HEADER];
        if self.file.read_exact_at(&mut header, at).is_err() {
            return false;
        }
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let behind = match header[0] {
            INDEX => frame::TRAILER,
            _ => 0,
        };
        let end = at + (FRAME_HEADER + behind) as u64 + u64::from(length);
        // The reader refuses a length that no frame has.
        end <= size || length as usize > frame::longest(header[0])
    }

    /// The next records; 0 if there are no others at present.
    pub(crate) fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        loop {
            if self.reader.take_block(batch) {
                return Ok(batch.len());
            }
            if self.reader.has_ended() || !self.has_frame() {
                return Ok(0);
            }
            self.reader.step()?;
        }
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        self.reader.known()
    }

    /// Whether its index was reached: all blocks were there.
    pub(crate) fn is_complete(&self) -> bool {
        self.reader.has_ended() && self.reader.has_index()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.reader.has_ended()
    }
}
