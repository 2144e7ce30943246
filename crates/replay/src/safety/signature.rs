//! Signatures of what people keep on block devices.

use std::io;

/// What a signature says, where it stands, and what it is.
const SIGNATURES: &[(&str, u64, &[u8])] = &[
    ("a GPT partition table", 512, b"EFI PART"),
    ("a GPT partition table", 4096, b"EFI PART"),
    ("an ext2, ext3 or ext4 file system", 1080, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a Btrfs file system", 65_536 + 64, b"_BHRfS_M"),
    ("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a FAT file system", 54, b"FAT1"),
    ("a FAT file system", 82, b"FAT32   "),
    ("an ISO 9660 file system", 32_769, b"CD001"),
    ("a SquashFS file system", 0, b"hsqs"),
    (
        "a bcachefs or bcache device",
        4096 + 24,
        &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca],
    ),
    ("swap space", 4096 - 10, b"SWAPSPACE2"),
    ("a LUKS volume", 0, b"LUKS\xba\xbe"),
    ("an LVM physical volume", 512, b"LABELONE"),
    ("an LVM physical volume", 0, b"LABELONE"),
    ("a member of an md array", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a member of an md array", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("an MBR partition table or boot sector", 510, &[0x55, 0xaa]),
];

/// The first of the known signatures that a device bears, as words. `read_at` reads into a buffer
/// at an offset, as of a device. What cannot be read is taken for somebody's.
pub fn signature(read_at: impl Fn(&mut [u8], u64) -> io::Result<usize>) -> Option<&'static str> {
    SIGNATURES.iter().find_map(|&(content, offset, magic)| {
        let mut found = [0; 16];
        let found = &mut found[..magic.len()];
        match read_at(found, offset) {
            Err(_) => Some("something that cannot be read"),
            Ok(n) => (n == magic.len() && found == magic).then_some(content),
        }
    })
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
        for &(content, offset, magic) in SIGNATURES {
            let mut device = vec![0; 128 * 1024];
            device[offset as usize..][..magic.len()].copy_from_slice(magic);
            assert_eq!(signature(read_at(&device)), Some(content));
        }
    }

    #[test]
    fn what_cannot_be_read_may_be_somebodys() {
        let broken = |_: &mut [u8], _| Err(io::Error::from_raw_os_error(5));
        assert!(signature(broken).is_some());
    }

    #[test]
    fn an_empty_or_tiny_device_bears_none() {
        assert_eq!(signature(read_at(&vec![0; 128 * 1024])), None);
        assert_eq!(signature(read_at(&[0; 100])), None);
    }
}
