//! What a target holds that a write would destroy.
//!
//! Zeros, and the ones that erased flash shows, are no data; nor are sectors that carry a tag of iosonar's
//! ([`tag`](crate::tag)) at their own place. Of a regular file only what is allocated is looked at (`SEEK_DATA`).
//!
//! ```text
//!  signatures ─► both ends (1 MiB each) ─► up to 256 MiB (of a file 1 GiB): all of it
//!                                          more: 256 places of 64 KiB: copies of superblocks, and one at
//!                                          random in each of as many equal parts as are left
//! ```
//!
//! Data that fill the share f of a larger device at random are missed with a probability of (1 - f) to the power of the
//! random places, which are about 190: 15 % for f = 1 %, less than 1 in 10 000 for 5 %. A contiguous range of 1/90 of the
//! device always covers one of the parts, and with it its place.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, SeekFrom};

use crate::signature::{backup, read_fully, signature};
use crate::tag;

/// How many places are looked at, besides both ends.
const PLACES: usize = 256;
/// How much is read at each of them.
const PIECE: u64 = 64 << 10;
/// How much is read at both ends, and at once where all is.
const END: u64 = 1 << 20;
/// Up to this much of a device is looked at whole, which takes as long as the places of a larger one on a disk.
pub(crate) const WHOLE_DEVICE: u64 = 256 << 20;
/// Up to this much of a file is looked at whole, the price of one that needs no consent.
pub(crate) const WHOLE_FILE: u64 = 1 << 30;
/// A file of more separate parts than this counts as one from there to its end.
const MOST_EXTENTS: usize = 1 << 16;
const SECTOR: u64 = 512;

/// Data that may be needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// What it is, as words.
    pub(crate) what: &'static str,
    /// The byte where it was found.
    pub(crate) at: u64,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// How much of a target was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// All that is allocated: no data anywhere.
    Everywhere,
    /// Some places: no data there.
    InPlaces,
}

/// What is in a target of `size` bytes, all of which is looked at if its data are at most `whole`.
pub(crate) fn contents(
    file: &File,
    size: u64,
    extents: &[Range<u64>],
    whole: u64,
) -> Result<Looked, Content> {
    let read_at = |buffer: &mut [u8], offset| file.read_at(buffer, offset);
    if let Some((what, at)) = signature(size, read_at) {
        return Err(Content { what, at });
    }
    let found = look(size, extents, whole, read_at);
    // What was read here would slow down direct accesses, which have to look for it in the page cache. A hint; no more.
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    found
}

/// The parts of a regular file that are allocated and were written to.
pub(crate) fn allocated(file: &File, size: u64) -> Vec<Range<u64>> {
    let mut extents = Vec::new();
    let mut from = 0;
    while from < size && extents.len() < MOST_EXTENTS {
        let begin = match rustix::fs::seek(file, SeekFrom::Data(from)) {
            Ok(begin) => begin,
            Err(rustix::io::Errno::NXIO) => return extents,
            // The file system does not say, so everything may be data.
            Err(_) => break,
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(begin)).unwrap_or(size);
        extents.push(begin..end.min(size));
        from = end;
    }
    if from < size {
        extents.push(from..size);
    }
    extents
}

/// How many bytes these are.
pub(crate) fn length(extents: &[Range<u64>]) -> u64 {
    extents.iter().map(|extent| extent.end - extent.start).sum()
}

fn look(
    size: u64,
    extents: &[Range<u64>],
    whole: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
) -> Result<Looked, Content> {
    // Whole sectors are looked at, for a tag is one of them.
    let mut piece = vec![0; (END + 2 * SECTOR) as usize];
    let mut look_at = |place: Range<u64>| {
        let start = place.start / SECTOR * SECTOR;
        let end = place.end.next_multiple_of(SECTOR).min(size);
        let piece = &mut piece[..(end - start) as usize];
        match read_fully(&read_at, piece, start) {
            Err((what, at)) => Err(Content { what, at }),
            Ok(read) => first_data(&piece[..read], start).map_or(Ok(()), Err),
        }
    };
    look_at(0..END.min(size))?;
    look_at(size.saturating_sub(END)..size)?;
    if length(extents) <= whole {
        for extent in extents {
            let mut at = extent.start;
            while at < extent.end {
                let end = (at + END).min(extent.end);
                look_at(at..end)?;
                at = end;
            }
        }
        return Ok(Looked::Everywhere);
    }
    for place in places(size, extents) {
        look_at(place..(place + PIECE).min(size))?;
    }
    Ok(Looked::InPlaces)
}

/// The first data in what was read at byte `offset`, a multiple of the sector's length.
fn first_data(data: &[u8], offset: u64) -> Option<Content> {
    let filled = |data: &[u8], with: u8| data.iter().all(|&byte| byte == with);
    if filled(data, 0) {
        return None;
    }
    let sectors = data.chunks(SECTOR as usize).enumerate();
    sectors
        .map(|(i, sector)| (offset + i as u64 * SECTOR, sector))
        .find(|(at, sector)| {
            !(filled(sector, 0) || filled(sector, 0xff) || tag::is_at(sector, at / SECTOR))
        })
        .map(|(at, sector)| Content {
            what: backup(sector).unwrap_or("unrecognised data"),
            at,
        })
}

/// Where a target of `size` bytes is looked at, in ascending order: where file systems keep copies of their superblocks,
/// then at random, the same places each time. Both ends are looked at anyway, which is where GPT, md, ZFS and firmware
/// RAID have theirs.
fn places(size: u64, extents: &[Range<u64>]) -> Vec<u64> {
    let last = size.saturating_sub(PIECE);
    let mut places: Vec<u64> = copies(size).filter(|&at| at <= last).collect();
    places.sort_unstable();
    places.dedup();
    places.truncate(PLACES / 2);
    let random = (PLACES - places.len()) as u64;
    let total = length(extents);
    let mut state = size;
    let mut extents = extents.iter();
    let (mut extent, mut before) = (0..0, 0);
    for i in 0..random {
        let part = |i: u64| (u128::from(total) * u128::from(i) / u128::from(random)) as u64;
        let (from, to) = (part(i), part(i + 1));
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let room = (to - from).saturating_sub(PIECE).max(1);
        let wanted = from + mixed(state) % room;
        // The byte of the file with this amount of allocated data before it.
        while before + (extent.end - extent.start) <= wanted {
            before += extent.end - extent.start;
            let Some(next) = extents.next() else { break };
            extent = next.clone();
        }
        places.push((extent.start + (wanted - before)).min(last) / 4096 * 4096);
    }
    places.sort_unstable();
    places
}

/// Where the superblocks' copies of ext2 to ext4, XFS and Btrfs begin, as their tools place them by default.
fn copies(size: u64) -> impl Iterator<Item = u64> {
    // Groups of 8 blocks' bits each; with sparse superblocks 1 and the powers of 3, 5 and 7 have a copy.
    let ext = [1, 3, 5, 7, 9, 25, 27, 49].into_iter().flat_map(|group| {
        [1024_u64, 2048, 4096].map(|block| {
            let first = if block == 1024 { 1024 } else { 0 };
            first + group * 8 * block * block
        })
    });
    // 4 allocation groups on one device, 16 or 32 on several, and none beyond 1 TiB.
    let xfs =
        (1..32_u64).map(move |k| (u128::from(size) * u128::from(k) / 32) as u64 / 4096 * 4096);
    let xfs_large = (1..16_u64).map(|k| k << 40);
    let btrfs = [64 << 20, 256 << 30, 1 << 50];
    ext.chain(xfs).chain(xfs_large).chain(btrfs)
}

/// The finaliser of `SplitMix64`.
fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A device that holds `data` at `at` and `fill` elsewhere.
    fn device(
        size: u64,
        fill: u8,
        data: &[u8],
        at: u64,
    ) -> impl Fn(&mut [u8], u64) -> io::Result<usize> {
        move |buffer, offset| {
            let n = (size.saturating_sub(offset)).min(buffer.len() as u64) as usize;
            buffer[..n].fill(fill);
            let (from, to) = (
                at.max(offset),
                (at + data.len() as u64).min(offset + n as u64),
            );
            if from < to {
                buffer[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&data[(from - at) as usize..(to - at) as usize]);
            }
            Ok(n)
        }
    }

    /// Looks at a device, which is one extent.
    fn look_at_all(
        size: u64,
        read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
    ) -> Result<Looked, Content> {
        look(
            size,
            std::slice::from_ref(&(0..size)),
            WHOLE_DEVICE,
            read_at,
        )
    }

    /// The places of a device that is one extent.
    fn of_device(size: u64) -> Vec<u64> {
        places(size, std::slice::from_ref(&(0..size)))
    }

    #[test]
    fn a_fresh_device_holds_nothing() {
        for fill in [0, 0xff] {
            for (size, looked) in [
                (4096, Looked::Everywhere),
                (8 << 20, Looked::Everywhere),
                (4096 * GIB, Looked::InPlaces),
            ] {
                let found = look_at_all(size, device(size, fill, &[], 0));
                assert_eq!(found, Ok(looked), "{fill} {size}");
            }
        }
    }

    #[test]
    fn one_sector_anywhere_in_a_small_device_is_data() {
        let size = 16 << 20;
        for at in [0, 512, 7 << 20, (9 << 20) + 511 * 512, size - 512] {
            let found = look_at_all(size, device(size, 0, b"letter", at));
            let what = "unrecognised data";
            assert_eq!(found, Err(Content { what, at }));
        }
    }

    #[test]
    fn a_range_of_one_ninetieth_of_a_large_device_is_always_found() {
        for size in [2 * GIB, 100 * GIB, 4001 * GIB, 20_000 * GIB + 4096] {
            let mut last = 0;
            for place in of_device(size).into_iter().chain([size]) {
                let gap = place - last;
                assert!(gap < size / 90, "{size}: {gap} bytes from {last} on");
                last = place;
            }
        }
    }

    #[test]
    fn places_are_256_within_the_device_and_always_the_same() {
        for size in [2 * GIB + 512, 100 * GIB, 30_000 * GIB] {
            let places = of_device(size);
            assert_eq!(places.len(), PLACES);
            assert!(places.is_sorted() && places[PLACES - 1] + PIECE <= size);
            assert_eq!(places, of_device(size));
        }
    }

    #[test]
    fn copies_of_superblocks_are_found_where_the_first_is_gone() {
        let size = 1000 * GIB;
        let ext = {
            let mut block = [0; 64];
            block[56..58].copy_from_slice(&[0x53, 0xef]);
            block
        };
        let btrfs = {
            let mut block = [0; 72];
            block[64..].copy_from_slice(b"_BHRfS_M");
            block
        };
        for (data, at, what) in [
            (&ext[..], 32_768 * 4096, "copy of an ext2"),
            (&ext[..], 3 * 32_768 * 4096, "copy of an ext2"),
            (b"XFSB", size / 4, "an XFS file system"),
            (b"XFSB", 3 * (size / 4), "an XFS file system"),
            (&btrfs[..], 64 << 20, "a Btrfs file system"),
            (&btrfs[..], 256 * GIB, "a Btrfs file system"),
        ] {
            let found = look_at_all(size, device(size, 0, data, at)).unwrap_err();
            assert_eq!(found.at, at);
            assert!(found.what.contains(what), "{}", found.what);
        }
    }

    #[test]
    fn random_places_follow_the_data_of_a_file_with_holes() {
        let size = 1000 * GIB;
        let extents = [10 * GIB..11 * GIB, 500 * GIB..502 * GIB];
        let places = places(size, &extents);
        let inside = |place: &&u64| extents.iter().any(|e| e.contains(*place));
        let random = PLACES - copies(size).filter(|at| *at < size).count();
        assert!(places.iter().filter(inside).count() >= random);
    }

    #[test]
    fn sectors_with_a_tag_of_ours_are_no_data_at_their_own_place_only() {
        let size = 4 << 20;
        let mut data = vec![7; 4096];
        crate::tag::write(&mut data, 9, 3, 2048);
        let at = 2048 * 512;
        let found = look_at_all(size, device(size, 0, &data, at));
        assert_eq!(found, Ok(Looked::Everywhere));
        let found = look_at_all(size, device(size, 0, &data, at + 4096));
        assert_eq!(found.unwrap_err().at, at + 4096);
        data[600] ^= 1;
        let found = look_at_all(size, device(size, 0, &data, at));
        assert_eq!(found.unwrap_err().at, at + 512, "damaged");
    }

    #[test]
    fn tags_are_known_in_a_file_whose_end_is_no_multiple_of_a_sector() {
        let size = (2 << 20) + 100;
        // Two writes: around the first byte of the last MiB, and the last whole sector.
        for (first, sectors) in [(2040, 16), (4095, 1)] {
            let mut data = vec![7; sectors * 512];
            crate::tag::write(&mut data, 9, 3, first);
            let device = device(size, 0, &data, first * 512);
            for extent in [0..size, 100..size - 50] {
                let found = look(size, &[extent], WHOLE_FILE, &device);
                assert_eq!(found, Ok(Looked::Everywhere));
            }
        }
        let found = look_at_all(size, device(size, 0, b"letter", size - 6));
        assert_eq!(found.unwrap_err().at, 2 << 20);
    }

    #[test]
    fn what_cannot_be_read_counts_as_data() {
        let size = 4 << 20;
        let broken = |_: &mut [u8], _| Err(io::Error::from_raw_os_error(5));
        let found = look_at_all(size, broken).unwrap_err();
        assert!(found.what.contains("cannot be read"));
    }

    #[test]
    fn what_stands_behind_a_short_or_interrupted_read_is_looked_at() {
        let size = 4 << 20;
        let bad = (1 << 20) + 300 * 512;
        let zeros = device(size, 0, &[], 0);
        let with_bad_sector = |buffer: &mut [u8], offset: u64| {
            if offset == bad {
                return Err(io::Error::from_raw_os_error(5));
            }
            let room = bad.checked_sub(offset).unwrap_or(size);
            let n = room.min(buffer.len() as u64) as usize;
            zeros(&mut buffer[..n], offset)
        };
        let found = look_at_all(size, with_bad_sector).unwrap_err();
        assert_eq!((found.what, found.at), ("data that cannot be read", bad));

        let calls = std::cell::Cell::new(0);
        let letter = device(size, 0, b"letter", bad);
        let hesitant = |buffer: &mut [u8], offset| {
            calls.set(calls.get() + 1);
            if calls.get() % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = buffer.len().div_ceil(2);
            letter(&mut buffer[..n], offset)
        };
        let found = look_at_all(size, hesitant).unwrap_err();
        let what = "unrecognised data";
        assert_eq!((found.what, found.at), (what, bad));
    }

    #[test]
    fn a_hole_is_not_allocated() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("x")).unwrap();
        file.set_len(256 << 20).unwrap();
        assert_eq!(allocated(&file, 256 << 20), []);
        file.write_all_at(b"letter", 100 << 20).unwrap();
        let extents = allocated(&file, 256 << 20);
        assert!(length(&extents) <= 1 << 20, "{extents:?}");
        assert!(extents.iter().any(|e| e.contains(&(100 << 20))));
    }
}
