//! Reading, also of files that are cut off.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iosonar_units::Nanos;

use super::block::{BlockDecoder, block_header};
use super::frame::{self, DATA, FRAME_HEADER, INDEX, IndexEntry, METADATA};
use crate::decompress::read_error;
use crate::error::{Place, byte_offset};
use crate::text::skipped;
use crate::{Batch, CutOff, Metadata, ReadOptions, RemarkKind, Source, TraceError, TraceReader};

/// The offset of each block, and the smallest start of it and of all blocks behind it; nothing without an index.
struct NoneBefore(Vec<(u64, Nanos)>);

impl NoneBefore {
    fn of(index: &[IndexEntry]) -> Self {
        let mut least = u64::MAX;
        let blocks = index.iter().rev().filter(|entry| entry.count > 0);
        let mut starts: Vec<_> = blocks
            .map(|entry| {
                least = least.min(entry.min);
                (entry.offset, Nanos::new(least))
            })
            .collect();
        starts.reverse();
        Self(starts)
    }

    /// The smallest start of the blocks that begin at `offset` or behind it.
    fn from(&self, offset: u64) -> Nanos {
        let Self(starts) = self;
        let at = starts.partition_point(|(begin, _)| *begin < offset);
        match starts.get(at) {
            Some((_, least)) => *least,
            None if starts.is_empty() => Nanos::ZERO,
            None => Nanos::MAX,
        }
    }
}

pub(super) struct Reader {
    input: Box<dyn Read + Send>,
    file: Option<File>,
    path: PathBuf,
    /// Where the next byte of the input stands in the file.
    offset: u64,
    /// The header of a frame that has not been read yet.
    header: Option<[u8; FRAME_HEADER]>,
    decoder: BlockDecoder,
    block_at: u64,
    metadata: Metadata,
    lenient: bool,
    skip_before: u64,
    ended: bool,
    /// Whether the index has been read: all blocks were there.
    has_index: bool,
    /// What the index says of starts, once that has been asked for.
    none_before: Option<NoneBefore>,
    cut: CutOff,
}

impl Reader {
    pub(super) fn new(source: Source, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut reader = Self::without_metadata(source, options)?;
        reader.read_metadata()?;
        Ok(reader)
    }

    /// Stands before the first frame.
    pub(super) fn without_metadata(
        source: Source,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let mut reader = Self {
            input: source.input,
            file: source.file,
            path: source.path,
            offset: 0,
            header: None,
            decoder: BlockDecoder::default(),
            block_at: 0,
            metadata: Metadata::default(),
            lenient: options.lenient,
            skip_before: 0,
            ended: false,
            has_index: false,
            none_before: None,
            cut: source.cut,
        };
        let mut header = [0; frame::FILE_HEADER];
        let n = reader.fill(&mut header)?;
        if n < header.len() {
            let error = reader.damaged(
                0,
                format!(
                    "the file has {n} bytes, expected at least {}: it is truncated",
                    header.len()
                ),
            );
            if !reader.lenient {
                return Err(error);
            }
            reader.ended = true;
            reader.leave_out(&error);
            return Ok(reader);
        }
        if header[..8] != frame::MAGIC {
            return Err(reader.damaged(
                0,
                format!(
                    "field 'magic' is {:02x?}, expected {:02x?}: this is not an .ios file",
                    &header[..8],
                    frame::MAGIC
                ),
            ));
        }
        let major = u16::from_le_bytes([header[8], header[9]]);
        if major != frame::MAJOR {
            return Err(reader.damaged(
                8,
                format!(
                    "field 'version' is {major}, expected {}: the file was written by a newer version of iosonar; read \
                     it with that version",
                    frame::MAJOR
                ),
            ));
        }
        Ok(reader)
    }

    /// Where the next frame begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn has_index(&self) -> bool {
        self.has_index
    }

    /// What is known of the trace by now.
    pub(super) fn known(&self) -> &Metadata {
        &self.metadata
    }

    /// Takes the next frame, which is there; damage is left out where that is allowed.
    pub(super) fn step(&mut self) -> Result<(), TraceError> {
        match self.next_frame() {
            Ok(_) => Ok(()),
            Err(e) if self.lenient => {
                self.leave_out(&e);
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    /// Takes records of the block that was read; whether there were any.
    pub(super) fn take_block(&mut self, batch: &mut Batch) -> bool {
        if self.decoder.left() == 0 {
            return false;
        }
        batch.set_common_place(byte_offset(self.block_at));
        if self.decoder.next(batch).is_some() {
            return true;
        }
        batch.clear();
        let error = self.nonsense();
        self.decoder = BlockDecoder::default();
        skipped(&mut self.metadata, &error);
        false
    }

    fn damaged(&self, at: u64, problem: String) -> TraceError {
        TraceError::Damaged {
            place: Place::of(&self.path, byte_offset(at)),
            problem,
        }
    }

    /// What to do about damage; nothing, where it is done already.
    fn way_out(&self, way_out: &'static str) -> &'static str {
        if self.lenient { "" } else { way_out }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, TraceError> {
        let mut n = 0;
        while n < bytes.len() {
            match self.input.read(&mut bytes[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&self.path, e)),
            }
        }
        self.offset += n as u64;
        Ok(n)
    }

    /// Reads what stands before the first block: what the trace says about itself.
    fn read_metadata(&mut self) -> Result<(), TraceError> {
        while !self.ended {
            let outcome = self.next_header().and_then(|header| {
                let is_metadata = header[0] == METADATA;
                self.header = Some(header);
                if is_metadata {
                    self.next_frame()?;
                }
                Ok(is_metadata)
            });
            match outcome {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) if self.lenient => self.leave_out(&e),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Goes on after damage.
    fn leave_out(&mut self, error: &TraceError) {
        if self.ended && !self.has_index {
            self.cut.note(|| error.to_string());
            return;
        }
        self.metadata.remark(
            RemarkKind::DamagedBlocks,
            [
                "block was damaged or truncated, and was left out",
                "blocks were damaged or truncated, and were left out",
            ],
            || error.to_string(),
        );
        if !matches!(error, TraceError::Damaged { .. }) {
            self.ended = true;
        }
    }

    /// The header of the next frame.
    fn next_header(&mut self) -> Result<[u8; FRAME_HEADER], TraceError> {
        if let Some(header) = self.header.take() {
            return Ok(header);
        }
        let at = self.offset;
        let mut header = [0; FRAME_HEADER];
        let n = self.fill(&mut header)?;
        if n < FRAME_HEADER {
            self.ended = true;
            return Err(self.damaged(
                at,
                format!(
                    "the file ends here, before its index: it is truncated or still being written{}",
                    self.way_out("; --lenient reads the complete blocks")
                ),
            ));
        }
        Ok(header)
    }

    /// Goes on to the next block that is whole and wanted, or to the end.
    fn go_to_block(&mut self) -> Result<(), TraceError> {
        while !self.ended {
            match self.next_frame() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(e) if self.lenient => self.leave_out(&e),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Takes the next frame. Returns whether it is a block to be read.
    fn next_frame(&mut self) -> Result<bool, TraceError> {
        let header = self.next_header()?;
        let at = self.offset - FRAME_HEADER as u64;
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let longest = frame::longest(header[0]);
        if length > longest || header[1..4] != [0; 3] {
            self.ended = true;
            return Err(self.damaged(
                at,
                format!(
                    "a frame of kind {:#04x} and {length} bytes, expected at most {longest}: the file is damaged here{}",
                    header[0],
                    self.way_out("; --lenient reads the part before it")
                ),
            ));
        }
        let mut bytes = std::mem::take(self.decoder.bytes_mut());
        bytes.clear();
        // Not more than there is: a damaged length must not take the memory.
        let got = io::Read::take(&mut self.input, length as u64)
            .read_to_end(&mut bytes)
            .map_err(|e| read_error(&self.path, e))?;
        self.offset += got as u64;
        *self.decoder.bytes_mut() = bytes;
        if got < length {
            self.ended = true;
            return Err(self.damaged(
                at,
                format!(
                    "the file ends after {got} of the {length} bytes of a block: the file is truncated or still \
                     being written, or the length is wrong{}",
                    self.way_out("; --lenient reads the complete blocks before it")
                ),
            ));
        }
        let bytes = self.decoder.bytes_mut();
        let stated = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let found = frame::checksum(&header[..8], bytes);
        if stated != found {
            return Err(self.damaged(
                at,
                format!(
                    "the checksum of this block is {found:08x}, expected {stated:08x}: the file is damaged here{}",
                    self.way_out("; fetch the file again, or leave the block out with --lenient")
                ),
            ));
        }
        match header[0] {
            METADATA => {
                let remarks = std::mem::take(&mut self.metadata.remarks);
                self.metadata = Metadata::of_json(self.decoder.bytes_mut()).map_err(|e| {
                    self.damaged(
                        at,
                        format!("the metadata is not valid JSON for this format: {e}"),
                    )
                })?;
                self.metadata.remarks = remarks;
                Ok(false)
            }
            DATA if block_header(self.decoder.bytes_mut())
                .is_some_and(|(_, _, max)| max < self.skip_before) =>
            {
                Ok(false)
            }
            DATA => {
                self.block_at = at;
                if self.decoder.begin() {
                    Ok(self.decoder.left() > 0)
                } else {
                    Err(self.nonsense())
                }
            }
            INDEX => {
                self.behind_index()?;
                Ok(false)
            }
            // Kinds of later minor versions.
            _ => Ok(false),
        }
    }

    /// Behind the index stands the end mark, and then nothing, or another file (`cat a.ios b.ios`).
    fn behind_index(&mut self) -> Result<(), TraceError> {
        self.has_index = true;
        let at = self.offset;
        let mut trailer = [0; frame::TRAILER];
        let n = self.fill(&mut trailer)?;
        if n < trailer.len() || trailer[8..] != frame::END {
            self.ended = true;
            return Err(self.damaged(
                at,
                "the end mark is missing: the file is truncated or damaged".to_owned(),
            ));
        }
        let mut header = [0; frame::FILE_HEADER];
        let n = self.fill(&mut header)?;
        if n == 0 {
            self.ended = true;
            self.cut.note_end();
        } else if n < header.len()
            || header[..8] != frame::MAGIC
            || header[8..10] != frame::MAJOR.to_le_bytes()
        {
            self.ended = true;
            return Err(self.damaged(
                at + frame::TRAILER as u64,
                format!(
                    "the data after the end of the trace is not an .ios file{}",
                    self.way_out("; --lenient ignores it")
                ),
            ));
        } else {
            self.has_index = false;
        }
        Ok(())
    }

    fn nonsense(&self) -> TraceError {
        self.damaged(
            self.block_at,
            format!(
                "the columns of this block are invalid, although its checksum is correct: please report this bug{}",
                self.way_out(", or leave the block out with --lenient")
            ),
        )
    }

    /// The payload of the frame at `offset` of a file in which one can jump; `None` unless it is whole and
    /// of this kind.
    fn frame_at(&self, offset: u64, kind: u8) -> Option<Vec<u8>> {
        let file = self.file.as_ref()?;
        let mut header = [0; FRAME_HEADER];
        file.read_exact_at(&mut header, offset).ok()?;
        let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
        if header[0] != kind || length > frame::longest(kind) {
            return None;
        }
        let mut payload = vec![0; length];
        file.read_exact_at(&mut payload, offset + FRAME_HEADER as u64)
            .ok()?;
        let stated = u32::from_le_bytes(header[8..].try_into().ok()?);
        (frame::checksum(&header[..8], &payload) == stated).then_some(payload)
    }

    /// The index of a file in which one can jump; `None` if it is not whole.
    fn index(&self) -> Option<Vec<IndexEntry>> {
        let file = self.file.as_ref()?;
        let size = file.metadata().ok()?.len();
        let end = size.checked_sub(frame::TRAILER as u64)?;
        let mut trailer = [0; frame::TRAILER];
        file.read_exact_at(&mut trailer, end).ok()?;
        if trailer[8..] != frame::END {
            return None;
        }
        let at = u64::from_le_bytes(trailer[..8].try_into().ok()?);
        // Of files one behind the other, the last one's offsets are not those of the whole.
        if at >= end {
            return None;
        }
        let payload = self.frame_at(at, INDEX)?;
        if at + (FRAME_HEADER + payload.len()) as u64 != end {
            return None;
        }
        payload
            .chunks(frame::INDEX_ENTRY)
            .map(IndexEntry::of)
            .collect()
    }
}

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        loop {
            while self.decoder.left() == 0 && !self.ended {
                self.go_to_block()?;
            }
            if self.decoder.left() == 0 {
                break;
            }
            batch.set_common_place(byte_offset(self.block_at));
            if self.decoder.next(batch).is_some() {
                break;
            }
            batch.clear();
            let error = self.nonsense();
            self.decoder = BlockDecoder::default();
            if !self.lenient {
                return Err(error);
            }
            skipped(&mut self.metadata, &error);
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn none_before(&mut self) -> Nanos {
        if self.none_before.is_none() {
            let index = self.index().unwrap_or_default();
            self.none_before = Some(NoneBefore::of(&index));
        }
        let next = match (self.decoder.left(), &self.header) {
            (0, None) => self.offset,
            (0, Some(header)) => self.offset - header.len() as u64,
            _ => self.block_at,
        };
        let known = self.none_before.as_ref();
        known.map_or(Nanos::ZERO, |known| known.from(next))
    }

    fn skip_before(&mut self, start: Nanos) -> Result<(), TraceError> {
        self.skip_before = start.get();
        let Some(index) = self.index() else {
            return Ok(());
        };
        self.none_before = Some(NoneBefore::of(&index));
        let mut blocks = index.iter().filter(|entry| entry.count > 0);
        let first = blocks.clone().find(|entry| entry.max >= start.get());
        let Some(entry) = first.or(blocks.next_back()) else {
            return Ok(());
        };
        // What is known of the trace at its end is known of the whole.
        if let Some(last) = index.iter().rev().find(|entry| entry.count == 0)
            && let Some(payload) = self.frame_at(last.offset, METADATA)
            && let Ok(metadata) = Metadata::of_json(&payload)
        {
            self.metadata = metadata;
        }
        if let Some(mut file) = self.file.take()
            && self.decoder.left() == 0
            && entry.offset > self.offset
        {
            file.seek(SeekFrom::Start(entry.offset))
                .map_err(|e| read_error(&self.path, e))?;
            self.input = Box::new(BufReader::with_capacity(1 << 18, file));
            self.offset = entry.offset;
            self.header = None;
        }
        Ok(())
    }
}
