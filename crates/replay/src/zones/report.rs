//! What the kernel says about zones (`linux/blkzoned.h`).

#![allow(unsafe_code)] // A structure that the kernel fills.

use std::fs::File;
use std::io;

use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl, opcode};

use super::{Condition, Writable, Zone};

/// `_IOWR(0x12, 130, struct blk_zone_report)`.
const BLKREPORTZONE: Opcode = opcode::read_write::<[u64; 2]>(0x12, 130);
/// `_IOW(0x12, 131, struct blk_zone_range)`.
const BLKRESETZONE: Opcode = opcode::write::<[u64; 2]>(0x12, 131);
/// `_IOR(0x12, 133, __u32)`.
const BLKGETNRZONES: Opcode = opcode::read::<u32>(0x12, 133);

/// How many are reported at a time.
const MOST: usize = 250;
/// Of `struct blk_zone_report` and `struct blk_zone`.
const HEADER_WORDS: usize = 2;
const ZONE_WORDS: usize = 8;
/// `BLK_ZONE_REP_CAPACITY`: zones have a capacity of their own.
const WITH_CAPACITY: u64 = 1;

type Report = [u64; HEADER_WORDS + MOST * ZONE_WORDS];

/// The zones of a block device; none if it is not zoned.
pub(crate) fn report(file: &File) -> io::Result<Vec<Zone>> {
    // SAFETY: the call fills an unsigned int.
    let count = match unsafe { ioctl(file, Getter::<BLKGETNRZONES, u32>::new()) } {
        Ok(count) => count as usize,
        // It is no block device, or the kernel knows no zones.
        Err(_) => 0,
    };
    let mut zones: Vec<Zone> = Vec::with_capacity(count);
    while zones.len() < count {
        let mut report: Report = [0; HEADER_WORDS + MOST * ZONE_WORDS];
        report[0] = zones.last().map_or(0, |zone| zone.next);
        report[1] = MOST as u64;
        // SAFETY: the call takes a header with the number of zones that there is room for behind it, and fills those.
        unsafe { ioctl(file, Updater::<BLKREPORTZONE, Report>::new(&mut report)) }?;
        let (reported, flags) = (report[1] & 0xffff_ffff, report[1] >> 32);
        let all = report[HEADER_WORDS..].chunks_exact(ZONE_WORDS);
        let before = zones.len();
        zones.extend(
            all.take(reported as usize)
                .map(|words| decode(words, flags & WITH_CAPACITY != 0)),
        );
        if zones.len() == before {
            return Err(io::Error::other(format!(
                "the kernel reports {before} of {count} zones"
            )));
        }
    }
    Ok(zones)
}

/// Resets the zone at a sector.
pub(crate) fn reset(file: &File, start: u64, sectors: u64) -> io::Result<()> {
    // SAFETY: the call takes a pointer to two integers: the first sector, and how many.
    unsafe {
        ioctl(
            file,
            Setter::<BLKRESETZONE, [u64; 2]>::new([start, sectors]),
        )
    }?;
    Ok(())
}

/// A `struct blk_zone`: start, length, write pointer, type and condition, capacity.
fn decode(words: &[u64], with_capacity: bool) -> Zone {
    const CONVENTIONAL: u8 = 1;
    const SEQUENTIAL_PREFERRED: u8 = 3;
    let (start, length, pointer) = (words[0], words[1], words[2]);
    let [kind, condition, ..] = words[3].to_ne_bytes();
    let capacity = match with_capacity {
        true => words[4].min(length),
        false => length,
    };
    let end = start + capacity;
    let writable = match condition {
        0xd => Writable::Never(Condition::ReadOnly),
        0xf => Writable::Never(Condition::Offline),
        _ if [CONVENTIONAL, SEQUENTIAL_PREFERRED].contains(&kind) => Writable::Anywhere,
        // Full: it has no pointer.
        0xe => Writable::At(end),
        _ => Writable::At(pointer),
    };
    Zone {
        start,
        next: start + length,
        end,
        writable,
        // Open by a write, open by a command, closed.
        is_active: matches!(condition, 2..=4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(kind: u8, condition: u8) -> Zone {
        let kind = u64::from_ne_bytes([kind, condition, 0, 0, 0, 0, 0, 0]);
        decode(&[1000, 100, 1016, kind, 80, 0, 0, 0], true)
    }

    #[test]
    fn zones_are_as_the_kernel_reports_them() {
        let open = Zone {
            start: 1000,
            next: 1100,
            end: 1080,
            writable: Writable::At(1016),
            is_active: true,
        };
        assert_eq!(zone(2, 2), open);
        assert_eq!(zone(1, 0).writable, Writable::Anywhere);
        assert_eq!(zone(3, 2).writable, Writable::Anywhere);
        assert_eq!(zone(2, 0xe).writable, Writable::At(1080));
        assert_eq!(zone(2, 0xd).writable, Writable::Never(Condition::ReadOnly));
        assert_eq!(zone(2, 0xf).writable, Writable::Never(Condition::Offline));
        assert!(!zone(2, 1).is_active && !zone(2, 0xe).is_active);
    }

    #[test]
    fn the_calls_have_the_kernels_numbers() {
        assert_eq!(BLKREPORTZONE, 0xc010_1282);
        assert_eq!(BLKRESETZONE, 0x4010_1283);
        assert_eq!(BLKGETNRZONES, 0x8004_1285);
    }
}
