//! The mark on every sector that a verified replay has written.
//!
//! | bytes | meaning (little-endian) |
//! |---|---|
//! | 0..8 | `iosonarT` |
//! | 8..16 | the run, of which the lowest 16 bits are the number of the target |
//! | 16..24 | the number of the write, from 1 |
//! | 24..32 | the sector |
//! | 32..36 | CRC-32 of the whole sector, these four bytes taken as zero |
//! | 36..504 | random data, often the same as of an earlier write |
//! | 504..512 | the run and the number again, combined by XOR: the end of one write never passes for that of another |

const MAGIC: [u8; 8] = *b"iosonarT";
/// In bytes: each has a tag of its own.
pub const SECTOR: usize = 512;
const CHECKSUM: std::ops::Range<usize> = 32..36;
const TAIL: std::ops::Range<usize> = 504..512;

/// What a tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The run, of which the lowest 16 bits are the number of the target.
    pub run: u64,
    /// The number of the write in its run, from 1.
    pub number: u64,
    /// Where it was written.
    pub sector: u64,
}

/// What a sector holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A whole sector with its tag.
    Tagged(Tag),
    /// A tag on a sector whose checksum is wrong.
    Damaged(Tag),
    /// Nothing but zeros.
    Zeros,
    /// Data without a tag.
    Other,
}

/// Tags all sectors of `data`, the first of which is `sector`.
pub fn write(data: &mut [u8], run: u64, number: u32, sector: u64) {
    for (data, sector) in data.chunks_exact_mut(SECTOR).zip(sector..) {
        data[..8].copy_from_slice(&MAGIC);
        data[8..16].copy_from_slice(&run.to_le_bytes());
        data[16..24].copy_from_slice(&u64::from(number).to_le_bytes());
        data[24..32].copy_from_slice(&sector.to_le_bytes());
        data[TAIL].copy_from_slice(&(run ^ u64::from(number)).to_le_bytes());
        data[CHECKSUM].fill(0);
        let sum = crc32fast::hash(data);
        data[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    }
}

/// What a sector holds.
pub fn read(data: &[u8]) -> Found {
    if data[..8] != MAGIC {
        return match data.iter().all(|&byte| byte == 0) {
            true => Found::Zeros,
            false => Found::Other,
        };
    }
    let word = |at: usize| {
        data[at..at + 8]
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    let tag = Tag {
        run: word(8),
        number: word(16),
        sector: word(24),
    };
    let mut sum = crc32fast::Hasher::new();
    sum.update(&data[..CHECKSUM.start]);
    sum.update(&[0; 4]);
    sum.update(&data[CHECKSUM.end..]);
    match data[CHECKSUM] == sum.finalize().to_le_bytes() {
        true => Found::Tagged(tag),
        false => Found::Damaged(tag),
    }
}

/// Whether `data` are a sector that a verified replay wrote, undamaged and at its place.
pub(crate) fn is_at(data: &[u8], sector: u64) -> bool {
    data.len() == SECTOR && matches!(read(data), Found::Tagged(tag) if tag.sector == sector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_reads_as_it_was_written_and_a_flipped_bit_shows() {
        let mut data = vec![7; 1024];
        write(&mut data, 9, 3, 100);
        let tag = |sector| Tag {
            run: 9,
            number: 3,
            sector,
        };
        assert_eq!(read(&data[..512]), Found::Tagged(tag(100)));
        assert_eq!(read(&data[512..]), Found::Tagged(tag(101)));
        for at in [40, 511] {
            data[at] ^= 1;
            assert_eq!(read(&data[..512]), Found::Damaged(tag(100)));
            data[at] ^= 1;
        }
        assert_eq!(read(&[0; 512]), Found::Zeros);
        assert_eq!(read(&[1; 512]), Found::Other);
    }

    #[test]
    fn a_sector_of_two_versions_is_damaged_wherever_it_is_torn() {
        // The rest of both is the same, as when they were written from the same buffer.
        let (mut older, mut newer) = (vec![7; 512], vec![7; 512]);
        write(&mut older, 9, 3, 100);
        write(&mut newer, 9, 4, 100);
        for at in [64, 256, 448] {
            let torn = [&newer[..at], &older[at..]].concat();
            assert!(matches!(read(&torn), Found::Damaged(_)), "torn at {at}");
        }
    }
}
