//! The log of dm-log-writes: every write in the order in which flushes and FUA made them durable, so that what a loss
//! of power leaves at any of its entries can be built. QEMU (`blklogwrites`) writes the same format, in the order of
//! submission.
//!
//! The format is that of the kernel's `drivers/md/dm-log-writes.c`: a block with the magic number, the version, the number
//! of entries and the block size; then, for each entry, a block with sector, length, flags and the length of inline data,
//! followed by the data (not of a discard).

use std::fs;
use std::path::Path;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// A write, a flush, a discard or a mark.
pub(crate) struct Entry {
    /// The first sector.
    sector: usize,
    data: Vec<u8>,
    flags: u64,
    /// The text of a mark.
    pub(crate) mark: Option<String>,
}

impl Entry {
    /// Whether it writes tagged sectors.
    pub(crate) fn is_tagged(&self) -> bool {
        self.data.chunks_exact(512).any(|s| tagged(s).is_some())
    }

    /// Applies it to the contents of the device. A discard may leave what is there, and does.
    ///
    /// The driver logs a write with FUA when it is complete, and older ones, which no flush had covered, after it. A device
    /// that has the newer version of a sector never puts back the older one from its cache, and neither does this.
    pub(crate) fn apply(&self, device: &mut [u8]) {
        self.apply_where(device, || true);
    }

    /// As [`apply`](Self::apply), of the sectors for which `is_kept` is true.
    fn apply_where(&self, device: &mut [u8], mut is_kept: impl FnMut() -> bool) {
        let sectors = self.data.chunks_exact(512);
        for (new, old) in sectors.zip(device[self.sector * 512..].chunks_exact_mut(512)) {
            let overtaken =
                matches!((tagged(old), tagged(new)), (Some(old), Some(new)) if old > new);
            if !overtaken && is_kept() {
                old.copy_from_slice(new);
            }
        }
    }
}

/// How many entries are durable after a loss of power, for a flush came after them.
pub(crate) fn durable(entries: &[Entry]) -> usize {
    let flush = entries.iter().rposition(|entry| entry.flags & FLUSH != 0);
    flush.map_or(0, |at| at + 1)
}

/// Applies what a loss of power leaves of entries behind the last flush: writes with FUA; of each other one all sectors,
/// none, or any of them. `random` returns a number below its argument.
pub(crate) fn apply_in_part(
    entries: &[Entry],
    device: &mut [u8],
    mut random: impl FnMut(u64) -> u64,
) {
    for entry in entries {
        match random(3) {
            _ if entry.flags & FUA != 0 => entry.apply(device),
            0 => entry.apply(device),
            1 => entry.apply_where(device, || random(2) == 0),
            _ => {}
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
    let (entries, missing) = read_up_to_gap(path);
    assert_eq!(missing, 0, "entries that are not whole");
    entries
}

/// Reads the entries before the first one that was not written: the writer may have been killed, and counts an entry before
/// it is there. Also returns how many are missing.
pub(crate) fn read_up_to_gap(path: &Path) -> (Vec<Entry>, u64) {
    let log = fs::read(path).unwrap();
    let word = |at: usize| {
        let bytes = log.get(at..at + 8);
        bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
    };
    assert_eq!(word(0), MAGIC, "no log of dm-log-writes");
    assert_eq!(word(8), 1, "version");
    let block = u32::from_le_bytes(log[24..28].try_into().unwrap()) as usize;
    let count = word(16);
    let mut at = block;
    let mut entries = Vec::new();
    for i in 0..count {
        let (sector, sectors, flags, inline) =
            (word(at), word(at + 8), word(at + 16), word(at + 24));
        let mark = (flags & MARK != 0)
            .then(|| String::from_utf8_lossy(&log[at + 32..][..inline as usize]).into_owned());
        at += block;
        let length = match flags & DISCARD {
            0 => sectors as usize * block,
            _ => 0,
        };
        // A hole, or the end of the file.
        let is_written = sectors > 0 || flags != 0;
        let Some(data) = log.get(at..at + length).filter(|_| is_written) else {
            return (entries, count - i);
        };
        at += length;
        entries.push(Entry {
            sector: sector as usize * (block / 512),
            data: data.to_vec(),
            flags,
            mark,
        });
    }
    (entries, 0)
}
