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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::frame::{DATA, LONGEST, METADATA};
    use super::super::testing::{file_header, file_of, frame_of};
    use super::*;

    fn starts_of(growing: &mut Growing) -> Vec<u64> {
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        while growing.next_batch(&mut batch).unwrap() > 0 {
            starts.extend(batch.starts().iter().map(|start| start.get()));
        }
        starts
    }

    #[test]
    fn a_frame_is_read_when_all_of_it_is_there() {
        const BLOCKS: [&[u64]; 3] = [&[5, 9], &[2, 4], &[7]];
        let (file, frames) = file_of(&BLOCKS);
        for cut in 0..=file.len() {
            let mut growing_file = tempfile::tempfile().unwrap();
            growing_file.write_all(&file[..cut]).unwrap();
            let reader = || Growing::of(growing_file.try_clone().unwrap(), Path::new("x.ios"));
            let Some(mut growing) = reader().unwrap() else {
                assert!(cut < frame::FILE_HEADER, "{cut}");
                continue;
            };
            assert!(cut >= frame::FILE_HEADER, "{cut}");
            let whole = frames[2..=4].iter().filter(|end| **end <= cut).count();
            assert_eq!(starts_of(&mut growing), BLOCKS[..whole].concat(), "{cut}");
            let is_whole = cut == file.len();
            assert_eq!(growing.has_ended(), is_whole, "{cut}");
            assert_eq!(growing.is_complete(), is_whole, "{cut}");
            growing_file.seek(SeekFrom::End(0)).unwrap();
            growing_file.write_all(&file[cut..]).unwrap();
            // The reader has a place in the file of its own.
            let mut input = &growing.file;
            input
                .seek(SeekFrom::Start(growing.reader.offset()))
                .unwrap();
            assert_eq!(starts_of(&mut growing), BLOCKS[whole..].concat(), "{cut}");
            assert!(growing.is_complete(), "{cut}");
            assert!(growing.metadata().remarks.is_empty(), "{cut}");
        }
    }

    #[test]
    fn a_frame_that_is_longer_than_any_ends_the_file() {
        for (kind, longest) in [(DATA, LONGEST), (METADATA, Metadata::MOST_JSON)] {
            for (length, ends) in [
                (longest, false),
                (longest + 1, true),
                (u32::MAX as usize, true),
            ] {
                let mut frame = frame_of(kind, b"{}");
                frame[4..8].copy_from_slice(&(length as u32).to_le_bytes());
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&file_header(frame::MAJOR)).unwrap();
                file.write_all(&frame).unwrap();
                let mut growing = Growing::of(file, Path::new("x.ios")).unwrap().unwrap();
                assert_eq!(starts_of(&mut growing), [0; 0]);
                assert_eq!(growing.has_ended(), ends, "{kind} {length}");
                assert!(!growing.is_complete(), "{kind} {length}");
            }
        }
    }

    #[test]
    fn a_file_is_the_one_that_is_read_until_it_becomes_shorter() {
        let (bytes, frames) = file_of(&[&[5], &[7]]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..frames[3]]).unwrap();
        let mut growing = Growing::of(file.try_clone().unwrap(), Path::new("x.ios"))
            .unwrap()
            .unwrap();
        assert_eq!(starts_of(&mut growing), [5, 7]);
        let other = tempfile::tempfile().unwrap();
        other.set_len(bytes.len() as u64).unwrap();
        assert!(!growing.is_of(&other.metadata().unwrap()));
        for (length, is_it) in [
            (frames[3] + 1, true),
            (frames[3], true),
            (frames[3] - 1, false),
        ] {
            file.set_len(length as u64).unwrap();
            assert_eq!(growing.is_of(&file.metadata().unwrap()), is_it, "{length}");
        }
    }
}
