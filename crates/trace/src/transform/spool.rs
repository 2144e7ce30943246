//! A load that is kept: packed in memory up to a limit, in a temporary file beyond it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Spill;
use crate::formats::ios::{BlockColumns, BlockDecoder, Encoder};
use crate::{Batch, TraceError};

/// Where a block is.
#[derive(Clone, Copy, Debug)]
enum Home {
    Memory(usize),
    File { offset: u64, length: usize },
}

/// A file without a name: no other program can open it, and it is gone when it is closed.
fn unnamed_file_in(folder: &Path) -> io::Result<File> {
    const MOST_NAMES: u32 = 1000;
    for attempt in 0..MOST_NAMES {
        let path = folder.join(format!(".iosonar-{}-{attempt}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        match options.create_new(true).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Records that can be read again, from any block on.
pub(super) struct Spool {
    spill: Spill,
    block: BlockColumns,
    encoder: Encoder,
    rows_a_block: usize,
    blocks: Vec<(Home, u32)>,
    memory: Vec<Vec<u8>>,
    in_memory: usize,
    file: Option<(File, u64)>,
    rows: u64,
}

impl Spool {
    pub(super) fn new(spill: &Spill) -> Self {
        Self::with_blocks_of(spill, BlockColumns::MOST)
    }

    /// Small blocks are for many readers at once.
    pub(super) fn with_blocks_of(spill: &Spill, rows: usize) -> Self {
        Self {
            spill: spill.clone(),
            block: BlockColumns::default(),
            encoder: Encoder::default(),
            rows_a_block: rows,
            blocks: Vec::new(),
            memory: Vec::new(),
            in_memory: 0,
            file: None,
            rows: 0,
        }
    }

    fn dir(&self) -> PathBuf {
        self.spill.dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    fn error(&self, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: self.dir(),
            action: "store the load in a temporary file (--spill-dir selects a different folder)",
            source,
        }
    }

    pub(super) fn push(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let mut from = 0;
        while from < batch.len() {
            let to = batch.len().min(from + self.rows_a_block - self.block.len());
            self.block.extend(batch, from, to);
            from = to;
            if self.block.len() == self.rows_a_block {
                self.end_block()?;
            }
        }
        self.rows += batch.len() as u64;
        Ok(())
    }

    /// Ends the block at hand. To be called before reading.
    pub(super) fn end_block(&mut self) -> Result<(), TraceError> {
        if self.block.len() == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.block.encode(&mut self.encoder, &mut bytes);
        let count = self.block.len() as u32;
        self.block.clear();
        if (self.in_memory + bytes.len()) as u64 <= self.spill.memory.get() {
            self.in_memory += bytes.len();
            self.blocks.push((Home::Memory(self.memory.len()), count));
            self.memory.push(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            let file = unnamed_file_in(&self.dir()).map_err(|e| self.error(e))?;
            self.file = Some((file, 0));
        }
        if let Some((file, end)) = &mut self.file {
            let home = Home::File {
                offset: *end,
                length: bytes.len(),
            };
            match file.write_all(&bytes) {
                Ok(()) => *end += bytes.len() as u64,
                Err(e) => return Err(self.error(e)),
            }
            self.blocks.push((home, count));
        }
        Ok(())
    }

    /// How many blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// How many records.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// How many records block `number` has.
    pub(super) fn rows_of(&self, number: usize) -> u32 {
        self.blocks[number].1
    }

    /// Begins to read block `number`.
    pub(super) fn read(&self, number: usize, decoder: &mut BlockDecoder) -> Result<(), TraceError> {
        let bytes = decoder.bytes_mut();
        bytes.clear();
        match self.blocks[number].0 {
            Home::Memory(i) => bytes.extend_from_slice(&self.memory[i]),
            Home::File { offset, length } => {
                bytes.resize(length, 0);
                if let Some((file, _)) = &self.file {
                    file.read_exact_at(bytes, offset)
                        .map_err(|e| self.error(e))?;
                }
            }
        }
        if decoder.begin() {
            Ok(())
        } else {
            Err(self.error(std::io::ErrorKind::InvalidData.into()))
        }
    }
}

/// Goes through a spool from block `next` to block `end`.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    pub(super) next: usize,
    pub(super) end: usize,
    decoder: BlockDecoder,
}

impl Cursor {
    pub(super) fn over(next: usize, end: usize) -> Self {
        Self {
            next,
            end,
            decoder: BlockDecoder::default(),
        }
    }

    /// Empties `batch` and fills it with the next rows; none at the end.
    pub(super) fn next_batch(
        &mut self,
        spool: &Spool,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        batch.clear();
        while self.decoder.left() == 0 && self.next < self.end {
            spool.read(self.next, &mut self.decoder)?;
            self.next += 1;
        }
        let read = self.decoder.next(batch);
        read.ok_or_else(|| spool.error(io::ErrorKind::InvalidData.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_name_takes_no_other_files_place() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<PathBuf> = (0..3)
            .map(|i| format!(".iosonar-{}-{i}", std::process::id()))
            .map(|name| folder.path().join(name))
            .collect();
        names
            .iter()
            .for_each(|name| fs::write(name, "other").unwrap());
        assert!(unnamed_file_in(folder.path()).is_ok());
        for name in &names {
            assert_eq!(fs::read(name).unwrap(), b"other");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        let absent = unnamed_file_in(&folder.path().join("absent")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    fn rows(n: u64) -> Batch {
        let row = |start| (start, crate::Status::Done);
        crate::testing::Given::reads((0..n).map(row))
    }

    #[test]
    fn blocks_beyond_the_memory_are_in_a_file_and_all_are_read_again() {
        // Blocks of equal rows have equal lengths.
        let mut one = Spool::with_blocks_of(&Spill::default(), 10);
        one.push(&rows(10)).unwrap();
        let length = one.in_memory as u64;
        assert!(length > 0 && one.file.is_none());
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill {
            dir: Some(folder.path().to_owned()),
            memory: iosonar_units::Bytes::new(2 * length),
        };
        let mut spool = Spool::with_blocks_of(&spill, 10);
        for blocks in 1..=4 {
            spool.push(&rows(10)).unwrap();
            // Two are as much as there may be.
            let end = spool.file.as_ref().map(|(_, end)| *end);
            let beyond = (blocks > 2).then(|| (blocks - 2) * length);
            assert_eq!((spool.blocks() as u64, end), (blocks, beyond));
            assert_eq!(spool.in_memory as u64, blocks.min(2) * length);
        }
        spool.push(&rows(3)).unwrap();
        assert_eq!(spool.blocks(), 4);
        spool.end_block().unwrap();
        spool.end_block().unwrap();
        let sizes: Vec<u32> = (0..spool.blocks()).map(|i| spool.rows_of(i)).collect();
        assert_eq!(
            (sizes.as_slice(), spool.rows()),
            (&[10, 10, 10, 10, 3][..], 43)
        );
        let (mut cursor, mut batch, mut read) = (Cursor::over(1, 5), Batch::default(), Vec::new());
        loop {
            cursor.next_batch(&spool, &mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            read.extend(batch.starts().iter().map(|start| start.get()));
        }
        let expected: Vec<u64> = [10, 10, 10, 3].into_iter().flat_map(|n| 0..n).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn a_block_that_was_damaged_meanwhile_is_an_error() {
        let mut spool = Spool::new(&Spill::default());
        spool.push(&rows(10)).unwrap();
        spool.end_block().unwrap();
        let (mut cursor, mut batch) = (Cursor::over(0, 1), Batch::default());
        cursor.next_batch(&spool, &mut batch).unwrap();
        assert_eq!(batch.len(), 10);
        // Behind the end there is nothing, and that is no error.
        for _ in 0..2 {
            cursor.next_batch(&spool, &mut batch).unwrap();
            assert!(batch.is_empty());
        }
        // The last column is that of the lengths, which are all 1 and become larger than any.
        *spool.memory[0].last_mut().unwrap() = 1;
        let error = Cursor::over(0, 1).next_batch(&spool, &mut batch);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("temporary file"), "{error}");
    }
}
