//! The log of dm-log-writes: every write in the order in which flushes and FUA made them durable, so that what a loss
//! of power leaves at any of its entries can be built.
//!
//! The format is that of the kernel's `drivers/md/dm-log-writes.c`: a block with the magic number, the version, the number
//! of entries and the block size; then, for each entry, a block with sector, length, flags and the length of inline data,
//! followed by the data (not of a discard).

use std::fs;
use std::path::Path;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// A write, a flush, a discard or a mark.
pub(crate) struct Entry {
    /// The first sector.
    sector: usize,
    data: Vec<u8>,
    /// The text of a mark.
    pub(crate) mark: Option<String>,
}

impl Entry {
    /// Applies it to the contents of the device. A discard may leave what is there, and does.
    ///
    /// The driver logs a write with FUA when it is complete, and older ones, which no flush had covered, after it. A device
    /// that has the newer version of a sector never puts back the older one from its cache, and neither does this.
    pub(crate) fn apply(&self, device: &mut [u8]) {
        let sectors = self.data.chunks_exact(512);
        for (new, old) in sectors.zip(device[self.sector * 512..].chunks_exact_mut(512)) {
            let overtaken =
                matches!((tagged(old), tagged(new)), (Some(old), Some(new)) if old > new);
            if !overtaken {
                old.copy_from_slice(new);
            }
        }
    }
}

/// The number of the write in the tag of a sector of the target, if it bears one.
fn tagged(sector: &[u8]) -> Option<u64> {
    let number = sector[16..24].try_into().unwrap();
    sector
        .starts_with(b"iosonarT")
        .then(|| u64::from_le_bytes(number))
}

/// Reads all entries.
pub(crate) fn read(path: &Path) -> Vec<Entry> {
    let log = fs::read(path).unwrap();
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
    assert_eq!(word(0), MAGIC, "no log of dm-log-writes");
    assert_eq!(word(8), 1, "version");
    let block = u32::from_le_bytes(log[24..28].try_into().unwrap()) as usize;
    let mut at = block;
    let entries = (0..word(16)).map(|_| {
        let (sector, sectors, flags, inline) =
            (word(at), word(at + 8), word(at + 16), word(at + 24));
        let mark = (flags & MARK != 0)
            .then(|| String::from_utf8_lossy(&log[at + 32..][..inline as usize]).into_owned());
        at += block;
        let length = match flags & DISCARD {
            0 => sectors as usize * block,
            _ => 0,
        };
        let data = log[at..][..length].to_vec();
        at += length;
        Entry {
            sector: sector as usize * (block / 512),
            data,
            mark,
        }
    });
    entries.collect()
}
