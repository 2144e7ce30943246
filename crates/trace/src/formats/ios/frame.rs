//! Frames: what a file is made of, each with its kind, length and checksum.

use crate::Metadata;

/// How a file begins: a transfer that changes line ends or cuts off the eighth bit is found out.
pub(super) const MAGIC: [u8; 8] = [0x89, b'I', b'O', b'S', b'\r', b'\n', 0x1a, b'\n'];
/// How a whole file ends.
pub(super) const END: [u8; 8] = *b"IOS-END\n";
/// The version that is written; another major version cannot be read.
pub(super) const MAJOR: u16 = 1;
pub(super) const MINOR: u16 = 0;
/// Magic, version, four bytes of zero.
pub(super) const FILE_HEADER: usize = 16;
/// Kind, three bytes of zero, length, checksum.
pub(super) const FRAME_HEADER: usize = 12;
/// Where the index begins, and the end mark.
pub(super) const TRAILER: usize = 16;
/// Offset, count, smallest and largest start of a block in the index.
pub(super) const INDEX_ENTRY: usize = 28;
/// No frame is longer: a block of records of which nothing could be packed has 8 MiB.
pub(super) const LONGEST: usize = 1 << 26;

/// How long a frame of this kind can be: metadata takes many times its length in memory.
pub(super) const fn longest(kind: u8) -> usize {
    match kind {
        METADATA => Metadata::MOST_JSON,
        _ => LONGEST,
    }
}

pub(super) const METADATA: u8 = b'M';
pub(super) const DATA: u8 = b'D';
pub(super) const INDEX: u8 = b'I';

/// A frame's header for this payload.
pub(super) fn header(kind: u8, payload: &[u8]) -> [u8; FRAME_HEADER] {
    let mut header = [0; FRAME_HEADER];
    header[0] = kind;
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let checksum = checksum(&header[..8], payload);
    header[8..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// CRC-32 (IEEE) over the first eight bytes of the header and the payload.
pub(super) fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    // Hardly any of the fuzzer's inputs would get further.
    if cfg!(fuzzing) {
        return 0;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

/// The block at `offset` of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub(super) offset: u64,
    pub(super) count: u32,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl IndexEntry {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.min.to_le_bytes());
        out.extend_from_slice(&self.max.to_le_bytes());
    }

    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            offset: number(0)?,
            count: u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?),
            min: number(12)?,
            max: number(20)?,
        })
    }
}
