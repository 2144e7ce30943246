//! What the kernel says about zones (`linux/blkzoned.h`).

use std::fs::File;
use std::io;

use iosonar_linux::calls::{self, ZoneWords};

use super::{Condition, Writable, Zone};

/// The zones of a block device; none if it is not zoned.
pub(crate) fn report(file: &File) -> io::Result<Vec<Zone>> {
    // A failure means that it is not a block device, or that the kernel knows no zones.
    let count = calls::zone_count(file).unwrap_or(0) as usize;
    let mut zones: Vec<Zone> = Vec::with_capacity(count);
    while zones.len() < count {
        let next = zones.last().map_or(0, |zone| zone.next);
        let report = calls::report_zones(file, next)?;
        if report.zones.is_empty() {
            let before = zones.len();
            return Err(io::Error::other(format!(
                "the kernel reports only {before} of {count} zones"
            )));
        }
        let decoded = report.zones.iter();
        zones.extend(decoded.map(|words| decode(words, report.with_capacity)));
    }
    Ok(zones)
}

/// A `struct blk_zone`: start, length, write pointer, type and condition, capacity.
fn decode(words: &ZoneWords, with_capacity: bool) -> Zone {
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
    fn a_file_has_no_zones() {
        assert_eq!(report(&tempfile::tempfile().unwrap()).unwrap(), []);
    }

    #[test]
    fn a_zone_has_room_to_its_end_where_the_kernel_reports_no_capacity() {
        let empty = u64::from_ne_bytes([2, 1, 0, 0, 0, 0, 0, 0]);
        for (capacity, is_reported, end) in [(80, true, 1080), (80, false, 1100), (120, true, 1100)]
        {
            let zone = decode(&[1000, 100, 1000, empty, capacity, 0, 0, 0], is_reported);
            assert_eq!((zone.end, zone.next), (end, 1100));
        }
    }
}
