//! Signatures of file systems, volumes and partition tables on block devices.

use std::io;

/// Where a signature stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// This many bytes from the beginning.
    At(u64),
    /// This many bytes before the end.
    BeforeEnd(u64),
    /// In the last whole 64 KiB of the device (md, version 0.90).
    InLast64K,
    /// 8 KiB before the end, rounded down to 4 KiB (md, version 1.0).
    InLast8K,
}
use Place::{At, BeforeEnd, InLast8K, InLast64K};

impl Place {
    /// The byte where it stands on a device of `size` bytes, if that is long enough.
    fn on(self, size: u64) -> Option<u64> {
        match self {
            At(offset) => (offset < size).then_some(offset),
            BeforeEnd(bytes) => size.checked_sub(bytes),
            InLast64K => (size & !0xffff).checked_sub(1 << 16),
            InLast8K => Some(size.checked_sub(8 << 10)? & !0xfff),
        }
    }
}

/// The magic number of md superblocks, which is little-endian except for version 0.90 on other machines.
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

/// What a signature says, where it stands, and what it is.
const SIGNATURES: &[(&str, Place, &[u8])] = &[
    ("a GPT partition table", At(512), b"EFI PART"),
    ("a GPT partition table", At(4096), b"EFI PART"),
    ("an ext2, ext3 or ext4 file system", At(1080), &[0x53, 0xef]),
    ("an XFS file system", At(0), b"XFSB"),
    ("a Btrfs file system", At(65_536 + 64), b"_BHRfS_M"),
    ("an F2FS file system", At(1024), &[0x10, 0x20, 0xf5, 0xf2]),
    ("an NTFS file system", At(3), b"NTFS    "),
    ("an exFAT file system", At(3), b"EXFAT   "),
    ("a FAT file system", At(54), b"FAT1"),
    ("a FAT file system", At(82), b"FAT32   "),
    ("an ISO 9660 file system", At(32_769), b"CD001"),
    ("a SquashFS file system", At(0), b"hsqs"),
    (
        "a bcachefs or bcache device",
        At(4096 + 24),
        &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca],
    ),
    ("swap space", At(4096 - 10), b"SWAPSPACE2"),
    ("a LUKS volume", At(0), b"LUKS\xba\xbe"),
    ("a LUKS volume", At(16 << 10), b"SKUL\xba\xbe"),
    ("an LVM physical volume", At(512), b"LABELONE"),
    ("an LVM physical volume", At(0), b"LABELONE"),
    ("an LVM physical volume", At(1024), b"LABELONE"),
    ("an LVM physical volume", At(1536), b"LABELONE"),
    ("a member of an md array", At(4096), MD),
    ("a member of an md array", At(0), MD),
    ("a member of an md array", InLast8K, MD),
    ("a member of an md array", InLast64K, MD),
    (
        "a member of an md array",
        InLast64K,
        &[0xa9, 0x2b, 0x4e, 0xfc],
    ),
    (
        "a member of an Intel firmware RAID array",
        BeforeEnd(1024),
        b"Intel Raid ISM Cfg Sig. ",
    ),
    (
        "a member of a firmware RAID array (DDF)",
        BeforeEnd(512),
        &[0xde, 0x11, 0xde, 0x11],
    ),
    ("a backup GPT partition table", BeforeEnd(512), b"EFI PART"),
    ("a backup GPT partition table", BeforeEnd(4096), b"EFI PART"),
    (
        "an MBR partition table or boot sector",
        At(510),
        &[0x55, 0xaa],
    ),
];

/// ZFS keeps four labels of 256 KiB, two at each end of a device that counts as whole labels long; the second half of
/// each is a ring of uberblocks.
const ZFS: (&str, u64) = ("a member of a ZFS pool", 256 << 10);
const UBERBLOCKS: u64 = 128 << 10;
/// The beginning of an uberblock, in either byte order.
const UBERBLOCK: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// What stands for contents that could not be read.
const UNREADABLE: &str = "data that cannot be read";

/// Reads until the buffer is full or the device ends, and returns how many bytes these are.
///
/// # Errors
/// Words for what cannot be read, and the byte where it begins: it may be data.
pub(crate) fn read_fully(
    read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
    buffer: &mut [u8],
    offset: u64,
) -> Result<usize, (&'static str, u64)> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset + filled as u64;
        match read_at(&mut buffer[filled..], at) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err((UNREADABLE, at)),
        }
    }
    Ok(filled)
}

/// The first of the known signatures on a device of `size` bytes, as words, and the byte where it is. `read_at` reads into
/// a buffer at an offset, as of a device. What cannot be read counts as a signature.
pub(crate) fn signature(
    size: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
) -> Option<(&'static str, u64)> {
    let found = SIGNATURES.iter().find_map(|&(content, place, magic)| {
        let mut found = [0; 32];
        let found = &mut found[..magic.len()];
        let at = place.on(size)?;
        match read_fully(&read_at, found, at) {
            Err(unreadable) => Some(unreadable),
            Ok(n) => (n == magic.len() && found == magic).then_some((content, at)),
        }
    });
    found.or_else(|| zfs(size, read_at))
}

fn zfs(
    size: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>,
) -> Option<(&'static str, u64)> {
    let (content, label) = ZFS;
    let size = size / label * label;
    if size < 4 * label {
        return None;
    }
    let mut ring = vec![0; UBERBLOCKS as usize];
    let labels = [0, label, size - 2 * label, size - label];
    labels.into_iter().find_map(|at| {
        let n = match read_fully(&read_at, &mut ring, at + UBERBLOCKS) {
            Err(unreadable) => return Some(unreadable),
            Ok(n) => n,
        };
        // Uberblocks have at least 1 KiB.
        ring[..n]
            .chunks(1024)
            .any(|block| UBERBLOCK.iter().any(|magic| block.starts_with(magic)))
            .then_some((content, at))
    })
}

/// What begins with this sector, where it is a superblock or a copy of one.
pub(crate) fn backup(sector: &[u8]) -> Option<&'static str> {
    const COPIES: &[(&str, usize, &[u8])] = &[
        ("a copy of an XFS file system's superblock", 0, b"XFSB"),
        (
            "a copy of a Btrfs file system's superblock",
            64,
            b"_BHRfS_M",
        ),
        ("a GPT partition table", 0, b"EFI PART"),
        ("an LVM physical volume", 0, b"LABELONE"),
        (
            "the metadata of an LVM volume group",
            4,
            b" LVM2 x[5A%r0N*>",
        ),
        ("the superblock of an md array's member", 0, MD),
        (
            "a copy of an ext2, ext3 or ext4 file system's superblock",
            56,
            &[0x53, 0xef],
        ),
    ];
    let bears =
        |offset: usize, magic: &[u8]| sector.get(offset..offset + magic.len()) == Some(magic);
    COPIES
        .iter()
        .find(|(_, offset, magic)| bears(*offset, magic))
        .map(|(content, ..)| *content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_at(device: &[u8]) -> impl Fn(&mut [u8], u64) -> io::Result<usize> {
        move |buffer, offset| {
            let rest = device.get(offset as usize..).unwrap_or(&[]);
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            Ok(n)
        }
    }

    #[test]
    fn every_signature_is_found_where_it_stands() {
        // Whole labels of ZFS, and not; whole 64 KiB, and not.
        for size in [2 << 20, (2 << 20) + (72 << 10) + 512] {
            for &(content, place, magic) in SIGNATURES {
                let mut device = vec![0; size];
                let at = place.on(size as u64).unwrap();
                device[at as usize..][..magic.len()].copy_from_slice(magic);
                let found = signature(size as u64, read_at(&device));
                assert_eq!(found, Some((content, at)));
            }
        }
    }

    #[test]
    fn md_members_have_their_superblocks_where_mdadm_puts_them() {
        // A device of 10 MiB and 5 sectors: 64 KiB before its last whole 64 KiB end; sector 20 464 rounded down to 8.
        let size = (10 << 20) + 5 * 512;
        assert_eq!(InLast64K.on(size), Some((10 << 20) - (64 << 10)));
        assert_eq!(InLast8K.on(size), Some((20_480 + 5 - 16) / 8 * 8 * 512));
    }

    #[test]
    fn each_of_the_four_labels_makes_a_member_of_a_pool() {
        let size = (4 << 20) + 4096;
        for at in [0, 256 << 10, 3584 << 10, 3840 << 10] {
            let mut device = vec![0; size];
            device[at + (128 << 10) + 7 * 1024..][..8]
                .copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
            let found = signature(size as u64, read_at(&device));
            assert_eq!(found, Some(("a member of a ZFS pool", at as u64)));
        }
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_signature() {
        let broken = |_: &mut [u8], _| Err(io::Error::from_raw_os_error(5));
        assert_eq!(signature(1 << 20, broken), Some((UNREADABLE, 512)));
    }

    /// A device of zeros with a bad sector: reads stop before it, and fail at it.
    fn with_bad_sector(bad: u64) -> impl Fn(&mut [u8], u64) -> io::Result<usize> {
        move |buffer, offset| {
            if (bad..bad + 512).contains(&offset) {
                return Err(io::Error::from_raw_os_error(5));
            }
            let room = bad.checked_sub(offset).unwrap_or(u64::MAX);
            let n = room.min(buffer.len() as u64) as usize;
            buffer[..n].fill(0);
            Ok(n)
        }
    }

    #[test]
    fn a_label_of_zfs_that_cannot_be_read_is_reported() {
        let size = 4 << 20;
        for label in [0, 256 << 10, 3584 << 10, 3840 << 10] {
            // The first sector of the ring, and one in its middle.
            for bad in [label + (128 << 10), label + (200 << 10)] {
                let found = signature(size, with_bad_sector(bad));
                assert_eq!(found, Some((UNREADABLE, bad)));
            }
        }
    }

    #[test]
    fn short_and_interrupted_reads_go_on() {
        let mut device = vec![0; 4 << 20];
        device[(255 << 10) + (256 << 10)..][..8].copy_from_slice(&UBERBLOCK[0]);
        let calls = std::cell::Cell::new(0);
        let hesitant = |buffer: &mut [u8], offset| {
            calls.set(calls.get() + 1);
            if calls.get() % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = buffer.len().div_ceil(2);
            read_at(&device)(&mut buffer[..n], offset)
        };
        let found = signature(device.len() as u64, hesitant);
        assert_eq!(found, Some(("a member of a ZFS pool", 256 << 10)));
    }

    #[test]
    fn an_empty_or_tiny_device_bears_none() {
        assert_eq!(signature(128 << 10, read_at(&vec![0; 128 * 1024])), None);
        assert_eq!(signature(100, read_at(&[0; 100])), None);
        assert_eq!(signature(0, read_at(&[])), None);
    }
}
