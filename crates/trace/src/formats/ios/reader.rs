//! Reading, also of files that are cut off.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iosonar_units::Nanos;

use super::block::{BLOCK_HEADER, BlockDecoder, block_header};
use super::frame::{self, DATA, FRAME_HEADER, INDEX, IndexEntry, METADATA};
use crate::decompress::read_error;
use crate::error::{Place, byte_offset};
use crate::limits::Impossible;
use crate::text::{skipped, unreadable_row};
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
            Err(e) if self.lenient => {
                self.leave_out(&e);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Takes records of the block that was read; whether there were any.
    pub(super) fn take_block(&mut self, batch: &mut Batch) -> bool {
        if self.decoder.left() == 0 {
            return false;
        }
        if let Err(error) = self.next_rows(batch) {
            skipped(&mut self.metadata, &error);
        }
        !batch.is_empty()
    }

    /// Takes the next rows of the block that was read, without rows that are not possible if they may be left out. The batch
    /// stays empty only at the end of the block. A block whose columns are not valid is dropped.
    fn next_rows(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        let place = byte_offset(self.block_at);
        let error = loop {
            if !batch.is_empty() || self.decoder.left() == 0 {
                return Ok(());
            }
            batch.set_common_place(place);
            if self.decoder.next(batch).is_none() {
                break self.nonsense();
            }
            let Some(found) = batch.impossible() else {
                continue;
            };
            let error = |found: Impossible| found.error(Place::of(&self.path, place));
            if !self.lenient {
                break unreadable_row(error(found));
            }
            let metadata = &mut self.metadata;
            batch.retain_possible(|found| skipped(metadata, &error(found)));
        };
        batch.clear();
        self.decoder = BlockDecoder::default();
        Err(error)
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

    /// Takes the next frame.
    fn next_frame(&mut self) -> Result<(), TraceError> {
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
                Ok(())
            }
            DATA if block_header(self.decoder.bytes_mut())
                .is_some_and(|(_, _, max)| max < self.skip_before) =>
            {
                Ok(())
            }
            DATA => {
                self.block_at = at;
                match self.decoder.begin() {
                    true => Ok(()),
                    false => Err(self.nonsense()),
                }
            }
            INDEX => self.behind_index(),
            // Kinds of later minor versions.
            _ => Ok(()),
        }
    }

    /// Behind the index stands the end mark, and then nothing, or another file (`cat a.ios b.ios`).
    fn behind_index(&mut self) -> Result<(), TraceError> {
        self.has_index = true;
        let at = self.offset;
        let mut trailer = [0; frame::TRAILER];
        // What is cut off is zero.
        self.fill(&mut trailer)?;
        if trailer[8..] != frame::END {
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

    /// Whether the frames from the beginning to the one at `last` are those of the index, each with as many records as that
    /// says, and the same span: what is jumped over is not read.
    fn describes(&self, index: &[IndexEntry], last: u64) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let mut at = frame::FILE_HEADER as u64;
        for entry in index {
            let mut begin = [0; FRAME_HEADER + BLOCK_HEADER];
            if entry.offset != at || file.read_exact_at(&mut begin, at).is_err() {
                return false;
            }
            let is_it = match begin[0] {
                METADATA => entry.count == 0,
                DATA => {
                    let stated = Some((entry.count, entry.min, entry.max));
                    block_header(&begin[FRAME_HEADER..]) == stated
                }
                _ => false,
            };
            if !is_it || at == last {
                return is_it;
            }
            let length = u32::from_le_bytes([begin[4], begin[5], begin[6], begin[7]]);
            at += FRAME_HEADER as u64 + u64::from(length);
        }
        false
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
                self.step()?;
            }
            if self.decoder.left() == 0 {
                break;
            }
            match self.next_rows(batch) {
                Ok(()) if batch.is_empty() => {}
                Ok(()) => break,
                Err(error) if self.lenient => skipped(&mut self.metadata, &error),
                Err(error) => return Err(error),
            }
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
        // A header is kept only before the first block, where `block_at` is 0.
        let next = match self.decoder.left() == 0 && self.header.is_none() {
            true => self.offset,
            false => self.block_at,
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
        if !self.describes(&index, entry.offset) {
            self.none_before = Some(NoneBefore(Vec::new()));
            return Ok(());
        }
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

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::super::testing::{block, file_header, file_of, frame_of};
    use super::*;

    fn source(bytes: &[u8]) -> Source {
        Source {
            input: Box::new(Cursor::new(bytes.to_vec())),
            path: "x.ios".into(),
            file: None,
            cut: CutOff::default(),
        }
    }

    /// A reader of a file in which it can jump.
    fn of_file(bytes: &[u8]) -> Reader {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        let source = Source {
            input: Box::new(file.try_clone().unwrap()),
            file: Some(file),
            ..source(b"")
        };
        Reader::new(source, &ReadOptions::default()).unwrap()
    }

    fn starts_of(reader: &mut Reader) -> Result<Vec<u64>, (Vec<u64>, String)> {
        let (mut batch, mut starts) = (Batch::default(), Vec::new());
        loop {
            match reader.next_batch(&mut batch) {
                Ok(0) => return Ok(starts),
                Ok(_) => starts.extend(batch.starts().iter().map(|start| start.get())),
                Err(error) => return Err((starts, error.to_string())),
            }
        }
    }

    /// The starts before the first damage with what it is, and all that are read leniently with the number of blocks that are
    /// left out then.
    type Outcome = (Result<Vec<u64>, (Vec<u64>, String)>, (Vec<u64>, u64));

    fn read(bytes: &[u8]) -> Outcome {
        let strictly = match Reader::new(source(bytes), &ReadOptions::default()) {
            Ok(mut reader) => starts_of(&mut reader),
            Err(error) => Err((Vec::new(), error.to_string())),
        };
        let lenient = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let mut reader = Reader::new(source(bytes), &lenient).unwrap();
        let starts = starts_of(&mut reader).unwrap();
        let left_out = reader.metadata().remarks.iter().map(|r| r.count).sum();
        (strictly, (starts, left_out))
    }

    /// Checks what is read before the damage, the place and the words of the error, and what is read leniently.
    fn is_damaged(bytes: &[u8], before: &[u64], at: usize, words: &str, leniently: (&[u64], u64)) {
        let (strictly, (starts, left_out)) = read(bytes);
        let (seen, error) = strictly.expect_err(words);
        let place = format!("x.ios: byte {at}: ");
        assert!(
            error.starts_with(&place) && error.contains(words),
            "{place}{words}: {error}"
        );
        assert_eq!(seen, before, "{error}");
        assert_eq!((&starts[..], left_out), leniently, "{error}");
    }

    const BLOCKS: [&[u64]; 3] = [&[5, 9], &[2, 4], &[7]];
    const STARTS: [u64; 5] = [5, 9, 2, 4, 7];

    #[test]
    fn a_file_that_is_cut_anywhere_is_read_up_to_its_last_whole_block() {
        let (file, frames) = file_of(&BLOCKS);
        assert_eq!(read(&file), (Ok(STARTS.to_vec()), (STARTS.to_vec(), 0)));
        let end_mark = frames[5];
        for cut in 0..file.len() {
            // Blocks begin with the second frame.
            let whole = frames[2..=4].iter().filter(|end| **end <= cut).count();
            let starts = BLOCKS[..whole].concat();
            if cut < frame::FILE_HEADER {
                let words = format!("the file has {cut} bytes, expected at least 16");
                is_damaged(&file[..cut], &[], 0, &words, (&[], 0));
                continue;
            }
            let at = *frames.iter().rfind(|begin| **begin <= cut).unwrap();
            let got = cut - at;
            let words = match got.checked_sub(FRAME_HEADER) {
                _ if at == end_mark => "the end mark is missing".to_owned(),
                None => "the file ends here, before its index".to_owned(),
                Some(got) => format!("the file ends after {got} of the "),
            };
            // All blocks were there where only the end mark is cut.
            let left_out = u64::from(at == end_mark);
            is_damaged(&file[..cut], &starts, at, &words, (&starts, left_out));
        }
    }

    #[test]
    fn behind_a_file_stands_another_or_nothing() {
        let (file, _) = file_of(&BLOCKS);
        let twice = [&file[..], &file].concat();
        let all = [STARTS, STARTS].concat();
        assert_eq!(read(&twice), (Ok(all.clone()), (all.clone(), 0)));
        let (right, later) = (file_header(frame::MAJOR), file_header(frame::MAJOR + 1));
        let mut wrong = right.clone();
        wrong[3] ^= 1;
        for tail in [
            &b"x"[..],
            &right[..15],
            &right[..8],
            &wrong,
            &later,
            &[0; 40],
        ] {
            let bytes = [&file[..], tail].concat();
            let words =
                "the data after the end of the trace is not an .ios file; --lenient ignores it";
            is_damaged(&bytes, &STARTS, file.len(), words, (&STARTS, 1));
        }
        // It may be cut off like the first.
        let words = "before its index";
        let cut = [&file[..], &right].concat();
        is_damaged(&cut, &STARTS, cut.len(), words, (&STARTS, 0));
    }

    #[test]
    fn a_file_of_another_version_or_kind_is_refused_leniently_too() {
        let later = file_header(frame::MAJOR + 1);
        let mut other = file_header(frame::MAJOR);
        other[7] = b'\r';
        for (bytes, words) in [
            (later, "x.ios: byte 8: field 'version' is 2, expected 1"),
            (other, "x.ios: byte 0: field 'magic' is [89, 49"),
        ] {
            for lenient in [false, true] {
                let options = ReadOptions {
                    lenient,
                    ..ReadOptions::default()
                };
                let error = Reader::new(source(&bytes), &options).err().unwrap();
                assert!(error.to_string().starts_with(words), "{error}");
            }
        }
    }

    #[test]
    fn a_frame_is_refused_by_its_length_and_checksum_but_not_by_its_kind() {
        let (begin, data) = (file_header(frame::MAJOR), frame_of(DATA, &block(&[3])));
        let at = begin.len() + data.len();
        let with = |frame: &[u8]| [&begin[..], &data, frame, &data].concat();
        for kind in [METADATA, DATA, b'Z'] {
            // Kinds of later versions are stepped over, and so is an empty block.
            let payload = match kind {
                METADATA => b"{}".to_vec(),
                DATA => block(&[]),
                _ => b"any".to_vec(),
            };
            let fine = frame_of(kind, &payload);
            let end = with(&fine).len();
            let words = "the file ends here, before its index";
            is_damaged(&with(&fine), &[3, 3], end, words, (&[3, 3], 0));
            // A length that no frame has ends the reading, one that only this has not is that of a cut file.
            let longest = frame::longest(kind) as u32;
            for (length, words) in [
                (longest, "the file ends after"),
                (longest + 1, "a frame of kind"),
                (u32::MAX, "a frame of kind"),
            ] {
                let mut long = fine.clone();
                long[4..8].copy_from_slice(&length.to_le_bytes());
                is_damaged(&with(&long), &[3], at, words, (&[3], 0));
            }
            for zero in 1..4 {
                let mut other = fine.clone();
                other[zero] = 1;
                is_damaged(&with(&other), &[3], at, "a frame of kind", (&[3], 0));
            }
            // What has the wrong checksum alone is left out.
            for byte in 8..fine.len() {
                let mut damaged = fine.clone();
                damaged[byte] ^= 0x40;
                is_damaged(&with(&damaged), &[3], at, "the checksum", (&[3, 3], 1));
            }
        }
        let nonsense = with(&frame_of(DATA, &[1, 0, 0]));
        let words = "the columns of this block are invalid";
        is_damaged(&nonsense, &[3], at, words, (&[3, 3], 1));
        let no_json = with(&frame_of(METADATA, b"[]"));
        is_damaged(&no_json, &[3], at, "not valid JSON", (&[3, 3], 1));
    }

    #[test]
    fn rows_to_come_start_no_earlier_than_the_index_says() {
        let (file, _) = file_of(&BLOCKS);
        let mut reader = of_file(&file);
        let mut batch = Batch::default();
        for (least, block) in [2, 2, 7].into_iter().zip(BLOCKS) {
            assert_eq!(reader.none_before(), Nanos::new(least));
            assert_eq!(reader.next_batch(&mut batch).unwrap(), block.len());
        }
        assert_eq!(reader.none_before(), Nanos::MAX);
        // A block of two batches counts until its last row has been read.
        let mut long = vec![9; Batch::ROWS + 1];
        long[0] = 1;
        let (file, _) = file_of(&[&long, &[8]]);
        let mut reader = of_file(&file);
        for (least, rows) in [(1, Batch::ROWS), (1, 1), (8, 1)] {
            assert_eq!(reader.none_before(), Nanos::new(least));
            assert_eq!(reader.next_batch(&mut batch).unwrap(), rows);
        }
        assert_eq!(reader.none_before(), Nanos::MAX);
        // Without an index, and of two files, nothing is known.
        for bytes in [&file[..file.len() - 1], &[&file[..], &file].concat()] {
            assert_eq!(of_file(bytes).none_before(), Nanos::ZERO);
        }
        let pipe = Reader::new(source(&file), &ReadOptions::default());
        assert_eq!(pipe.unwrap().none_before(), Nanos::ZERO);
    }

    #[test]
    fn an_index_that_does_not_fit_the_file_is_not_used() {
        let (file, frames) = file_of(&BLOCKS);
        let (index, end) = (frames[4], frames[5]);
        let is_used = |bytes: &[u8]| of_file(bytes).index().is_some();
        assert!(is_used(&file));
        // The index begins at another place, or has another kind, length or content.
        for at in [
            index - 1,
            index + 1,
            end,
            end + 16,
            usize::MAX >> 1,
            frames[1],
        ] {
            let mut other = file.clone();
            other[end..end + 8].copy_from_slice(&(at as u64).to_le_bytes());
            assert!(!is_used(&other), "{at}");
        }
        for byte in (index..end).chain(end + 8..file.len()) {
            let mut other = file.clone();
            other[byte] ^= 1;
            assert!(!is_used(&other), "{byte}");
        }
        let entries = &file[index + FRAME_HEADER..end];
        let other_kind = frame_of(b'Z', entries);
        let other_kind = [&file[..index], &other_kind, &file[end..]].concat();
        assert!(!is_used(&other_kind));
        let between = [&file[..end], &[0; 4], &file[end..]].concat();
        assert!(!is_used(&between));
        // A part of an entry.
        let mut short = file[..index].to_vec();
        short.extend(frame_of(INDEX, &[0; frame::INDEX_ENTRY + 1]));
        short.extend(&file[end..]);
        assert!(!is_used(&short));
    }

    #[test]
    fn nothing_is_left_out_because_of_an_index_that_contradicts_the_blocks() {
        let (file, frames) = file_of(&BLOCKS);
        let (index, end) = (frames[4], frames[5]);
        let expected = [5, 9, 7];
        let read = |file: &[u8]| {
            let mut reader = of_file(file);
            reader.skip_before(Nanos::new(5)).unwrap();
            starts_of(&mut reader).unwrap()
        };
        assert_eq!(read(&file), expected);
        // The entries are those of the metadata, and of blocks from 5 to 9, from 2 to 4, and at 7.
        let changes: [fn(&mut Vec<IndexEntry>); 8] = [
            |index| index[1].max = 0,
            |index| index[1].count = 0,
            |index| index[1].count = 3,
            |index| index[1].min = 6,
            |index| index[1].offset += 1,
            |index| index.truncate(1),
            |index| index[3].offset = 1 << 63,
            |index| index.swap(1, 2),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let entries = file[index + FRAME_HEADER..end].chunks(frame::INDEX_ENTRY);
            let mut entries: Vec<_> = entries.map(|of| IndexEntry::of(of).unwrap()).collect();
            change(&mut entries);
            let mut payload = Vec::new();
            entries.iter().for_each(|entry| entry.put(&mut payload));
            let other = [&file[..index], &frame_of(INDEX, &payload), &file[end..]].concat();
            assert_eq!(read(&other), expected, "{number}");
        }
    }

    #[test]
    fn blocks_that_end_before_a_time_are_not_read() {
        let (file, _) = file_of(&BLOCKS);
        // What is left of the blocks that have a start at this time or later.
        for (time, starts) in [
            (0, &STARTS[..]),
            (4, &STARTS),
            (5, &[5, 9, 7]),
            (7, &[5, 9, 7]),
            (8, &[5, 9]),
            (9, &[5, 9]),
            (10, &[]),
        ] {
            for can_jump in [false, true] {
                let mut reader = match can_jump {
                    true => of_file(&file),
                    false => Reader::new(source(&file), &ReadOptions::default()).unwrap(),
                };
                reader.skip_before(Nanos::new(time)).unwrap();
                assert_eq!(starts_of(&mut reader).unwrap(), starts, "{time} {can_jump}");
            }
        }
        // A jump reads on where the first block with such a start begins.
        let (file, frames) = file_of(&[&[1], &[2], &[3], &[1], &[4]]);
        for (time, block) in [(2, 2), (3, 3), (4, 5), (5, 5)] {
            let mut reader = of_file(&file);
            reader.skip_before(Nanos::new(time)).unwrap();
            assert_eq!(reader.offset, frames[block] as u64, "{time}");
        }
    }

    #[test]
    fn what_the_end_says_of_the_trace_is_known_after_a_jump() {
        let (mut file, frames) = file_of(&[&[1], &[2]]);
        let end = frames[3];
        file.truncate(end);
        let about = br#"{"devices":["sda"]}"#;
        file.extend(frame_of(METADATA, about));
        let at = file.len() as u64;
        let mut index = Vec::new();
        for (offset, count, start) in [
            (frames[0], 0, 0),
            (frames[1], 1, 1),
            (frames[2], 1, 2),
            (end, 0, 0),
        ] {
            let entry = IndexEntry {
                offset: offset as u64,
                count,
                min: start,
                max: start,
            };
            entry.put(&mut index);
        }
        file.extend(frame_of(INDEX, &index));
        file.extend(at.to_le_bytes());
        file.extend(frame::END);
        let mut reader = of_file(&file);
        assert!(reader.metadata().devices.is_empty());
        reader.skip_before(Nanos::new(2)).unwrap();
        assert_eq!(reader.metadata().devices, ["sda"]);
        assert_eq!(starts_of(&mut reader).unwrap(), [2]);
        // Where nothing is as late, the last block with records is the first that is looked at.
        let mut reader = of_file(&file);
        reader.skip_before(Nanos::new(9)).unwrap();
        assert_eq!(reader.offset, frames[2] as u64);
        assert_eq!(starts_of(&mut reader).unwrap(), [0; 0]);
    }

    #[test]
    fn a_block_whose_values_make_no_sense_is_left_out_leniently() {
        // One record with the operation 99, or with 2^32 sectors; at a time or sector, or with a latency or length, that
        // none has.
        for (column, value, words) in [
            (3, 99_u64, "the columns of this block are invalid"),
            (2, 1 << 32, "the columns of this block are invalid"),
            (0, 1 << 63, "field 'start'"),
            (1, u64::MAX, "field 'sector'"),
            (9, u64::MAX, "field 'latency'"),
            (2, 0, "field 'sectors'"),
        ] {
            let mut nonsense = 1_u32.to_le_bytes().to_vec();
            nonsense.resize(20, 0);
            for (column, value) in [(2, 8_u64), (column, value)] {
                nonsense.extend([column, 0, 0, 0, 8, 0, 0, 0]);
                nonsense.extend(value.to_le_bytes());
            }
            let (begin, fine) = (file_header(frame::MAJOR), frame_of(DATA, &block(&[3])));
            let file = [&begin[..], &fine, &frame_of(DATA, &nonsense), &fine].concat();
            let mut strict = Reader::new(source(&file), &ReadOptions::default()).unwrap();
            let (seen, error) = starts_of(&mut strict).unwrap_err();
            assert_eq!(seen, [3]);
            let at = begin.len() + fine.len();
            let words = format!("x.ios: byte {at}: {words}");
            assert!(error.starts_with(&words), "{error}");
            assert!(error.contains("--lenient"), "{error}");
            let (_, (starts, left_out)) = read(&file);
            assert_eq!((starts, left_out), (vec![3, 3], 1));
        }
    }

    #[test]
    fn of_a_block_with_a_row_that_is_not_possible_the_others_are_read_leniently() {
        // Three batches: of the second all rows are impossible, and of the others one each.
        let mut starts: Vec<u64> = (0..3 * Batch::ROWS as u64).collect();
        starts[Batch::ROWS..2 * Batch::ROWS].fill(1 << 63);
        (starts[7], starts[2 * Batch::ROWS + 7]) = (u64::MAX, 1 << 63);
        let left: Vec<u64> = starts.iter().copied().filter(|s| *s < 1 << 63).collect();
        let left_out = (starts.len() - left.len()) as u64;
        let frames = [&block(&starts)[..], &block(&[3])].map(|block| frame_of(DATA, block));
        let file = [&file_header(frame::MAJOR)[..], &frames.concat()].concat();
        let (strictly, (read, skipped)) = read(&file);
        let (seen, error) = strictly.unwrap_err();
        assert!(seen.is_empty() && error.contains("--lenient"), "{error}");
        assert_eq!(read, [&left[..], &[3]].concat());
        assert_eq!(skipped, left_out);
    }

    /// Gives one result after the other.
    struct Results(std::collections::VecDeque<io::Result<Vec<u8>>>);

    impl Read for Results {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.pop_front().unwrap_or_else(|| Ok(Vec::new()))?;
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn an_interruption_is_no_failure_and_a_failure_is_no_interruption() {
        let (file, _) = file_of(&BLOCKS);
        for at in 0..file.len() {
            for (kind, is_failure) in [
                (io::ErrorKind::Interrupted, false),
                (io::ErrorKind::TimedOut, true),
            ] {
                let bytes = file.iter().map(|byte| Ok(vec![*byte]));
                let mut results: std::collections::VecDeque<_> = bytes.collect();
                results.insert(at, Err(kind.into()));
                let source = Source {
                    input: Box::new(Results(results)),
                    ..source(b"")
                };
                let read = match Reader::new(source, &ReadOptions::default()) {
                    Ok(mut reader) => starts_of(&mut reader).is_err(),
                    Err(_) => true,
                };
                assert_eq!(read, is_failure, "{kind:?} at {at}");
            }
        }
    }
}
