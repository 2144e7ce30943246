//! Files for the tests of this format, byte by byte as in `docs/src/ios.md`.

use super::block::{BlockColumns, Encoder};
use super::frame::{self, DATA, INDEX, IndexEntry, METADATA};
use crate::Status;
use crate::testing::Given;

/// Magic, version, zeros.
pub(super) fn file_header(major: u16) -> Vec<u8> {
    let mut header = frame::MAGIC.to_vec();
    header.extend(major.to_le_bytes());
    header.resize(frame::FILE_HEADER, 0);
    header
}

pub(super) fn frame_of(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&frame::header(kind, payload)[..], payload].concat()
}

/// The payload of a block of reads that start at these times.
pub(super) fn block(starts: &[u64]) -> Vec<u8> {
    let batch = Given::reads(starts.iter().map(|start| (*start, Status::Done)));
    let (mut columns, mut bytes) = (BlockColumns::default(), Vec::new());
    columns.extend(&batch, 0, batch.len());
    columns.encode(&mut Encoder::default(), &mut bytes);
    bytes
}

/// A whole file with these blocks, and where each frame begins: that of the metadata, those of the blocks, and the index; then
/// where the end mark begins.
pub(super) fn file_of(blocks: &[&[u64]]) -> (Vec<u8>, Vec<usize>) {
    let mut file = file_header(frame::MAJOR);
    let (mut frames, mut index) = (vec![file.len()], Vec::new());
    let mut entry = |offset: usize, starts: &[u64]| {
        let entry = IndexEntry {
            offset: offset as u64,
            count: starts.len() as u32,
            min: starts.iter().copied().min().unwrap_or_default(),
            max: starts.iter().copied().max().unwrap_or_default(),
        };
        entry.put(&mut index);
    };
    entry(file.len(), &[]);
    file.extend(frame_of(METADATA, b"{}"));
    for starts in blocks {
        frames.push(file.len());
        entry(file.len(), starts);
        file.extend(frame_of(DATA, &block(starts)));
    }
    let at = file.len();
    frames.push(at);
    file.extend(frame_of(INDEX, &index));
    frames.push(file.len());
    file.extend((at as u64).to_le_bytes());
    file.extend(frame::END);
    (file, frames)
}
