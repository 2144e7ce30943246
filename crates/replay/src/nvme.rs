//! NVMe commands past the block layer (`linux/nvme_ioctl.h`, NVM Express Base and NVM Command Set specifications).
//!
//! Each namespace `/dev/nvme0n1` has a character device `/dev/ng0n1`, which takes NVMe commands as they are: no scheduler,
//! no splitting, no merging.

use std::fs::File;
use std::io;

use iosonar_linux::calls;
use iosonar_linux::nvme::IDENTIFY_BYTES;
use iosonar_units::Bytes;

/// The namespace behind a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) id: u32,
    pub(crate) format: Format,
}

/// How a namespace is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Its size in logical blocks.
    pub(crate) blocks: u64,
    /// The logarithm to base 2 of a block's bytes.
    pub(crate) shift: u32,
    /// Bytes of metadata for each block.
    pub(crate) metadata: u16,
}

impl Namespace {
    /// Asks the driver for the number and the device for the format.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let id = Self::id_of(file)?;
        let answer = calls::nvme_identify(file, id)?;
        let format = Format::decoded(&answer)
            .ok_or_else(|| io::Error::other("the response to Identify is invalid"))?;
        Ok(Self { id, format })
    }

    /// The number of the namespace, of its character device or its block device.
    pub(crate) fn id_of(file: &File) -> io::Result<u32> {
        calls::nvme_namespace(file)
    }
}

impl Format {
    /// As the Identify Namespace data structure says.
    fn decoded(identify: &[u8; IDENTIFY_BYTES]) -> Option<Self> {
        let blocks = u64::from_le_bytes(identify[..8].try_into().ok()?);
        let in_use = identify[26];
        // Bits 6:5 go on where more than 16 formats are supported.
        let number = usize::from(in_use & 0xf | (in_use >> 5 & 3) << 4);
        let format = identify.get(128 + 4 * number..)?;
        let shift = u32::from(format[2]);
        (9..=16).contains(&shift).then_some(Self {
            blocks,
            shift,
            metadata: u16::from_le_bytes([format[0], format[1]]),
        })
    }

    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(self.blocks << self.shift)
    }

    pub(crate) fn block(&self) -> Bytes {
        Bytes::new(1 << self.shift)
    }
}

/// The `errno` that the kernel has for the status of a command (`nvme_error_status` in `drivers/nvme/host/core.c`).
pub(crate) fn errno(status: u16) -> i32 {
    use libc::{
        EBADE, EILSEQ, EIO, ENODATA, ENOLINK, ENOSPC, EOPNOTSUPP, EOVERFLOW, EREMOTEIO,
        ETOOMANYREFS,
    };
    match code(status) {
        0x081 => ENOSPC,
        0x021 | 0x080 | 0x082 => EREMOTEIO,
        0x001 | 0x002 | 0x00b | 0x180 => EOPNOTSUPP,
        0x182 | 0x280 | 0x281 | 0x285..=0x287 => ENODATA,
        0x181 | 0x282..=0x284 => EILSEQ,
        0x083 => EBADE,
        0x370 => ENOLINK,
        0x1bd => EOVERFLOW,
        0x1be => ETOOMANYREFS,
        _ => EIO,
    }
}

/// Status code type and status code, without the bits that say whether to retry.
pub(crate) fn code(status: u16) -> u16 {
    status & 0x7ff
}

/// What a status means, where it has to do with a replay.
pub(crate) fn meaning(code: u16) -> &'static str {
    match code {
        0x001 => "invalid command opcode",
        0x002 => "invalid field in command",
        0x080 => "LBA out of range",
        0x081 => "capacity exceeded",
        0x182 => "attempted write to read-only range",
        0x1b8 => "zone boundary error",
        0x1b9 => "zone is full",
        0x1ba => "zone is read-only",
        0x1bb => "zone is offline",
        0x1bc => "zone invalid write",
        0x1bd => "too many active zones",
        0x1be => "too many open zones",
        0x280 => "write fault",
        0x281 => "unrecovered read error",
        0x287 => "deallocated or unwritten logical block",
        _ => "see the NVM Express specification",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_in_use_is_the_one_that_identify_names() {
        let mut identify = [0; IDENTIFY_BYTES];
        identify[..8].copy_from_slice(&4096_u64.to_le_bytes());
        identify[26] = 2;
        identify[128 + 8..128 + 12].copy_from_slice(&[8, 0, 12, 0]);
        identify[128 + 4 * 18 + 2] = 9;
        let format = Format {
            blocks: 4096,
            shift: 12,
            metadata: 8,
        };
        assert_eq!(Format::decoded(&identify), Some(format));
        assert_eq!(format.size(), Bytes::new(16 << 20));
        assert_eq!(format.block(), Bytes::new(4096));
        identify[26] = 2 | 1 << 5;
        assert_eq!(Format::decoded(&identify).unwrap().shift, 9, "the 18th");
        identify[26] = 1;
        assert_eq!(Format::decoded(&identify), None, "no such format");
    }

    #[test]
    fn the_status_of_a_failure_is_an_errno() {
        for (codes, errno_of_kernel) in [
            // Capacity exceeded.
            (&[0x081][..], libc::ENOSPC),
            // Command interrupted, LBA out of range, namespace not ready.
            (&[0x021, 0x080, 0x082], libc::EREMOTEIO),
            // Invalid opcode, field, namespace; conflicting attributes.
            (&[0x001, 0x002, 0x00b, 0x180], libc::EOPNOTSUPP),
            // Read-only range, write fault, unrecovered read error, compare failure, access denied, unwritten block.
            (&[0x182, 0x280, 0x281, 0x285, 0x286, 0x287], libc::ENODATA),
            // Invalid protection information, and its checks.
            (&[0x181, 0x282, 0x283, 0x284], libc::EILSEQ),
            (&[0x083], libc::EBADE),
            (&[0x370], libc::ENOLINK),
            (&[0x1bd], libc::EOVERFLOW),
            (&[0x1be], libc::ETOOMANYREFS),
            // Internal error, invalid zone write.
            (&[0x006, 0x1bc], libc::EIO),
        ] {
            for code in codes {
                assert_eq!(errno(*code), errno_of_kernel, "{code:#x}");
                // The bit that forbids another try does not matter.
                assert_eq!(errno(code | 0x4000), errno_of_kernel, "{code:#x}");
            }
        }
    }

    #[test]
    fn a_status_means_what_the_specification_says() {
        for (code, part) in [
            (0x001, "opcode"),
            (0x002, "field"),
            (0x080, "out of range"),
            (0x081, "capacity"),
            (0x182, "read-only range"),
            (0x1b8, "boundary"),
            (0x1b9, "full"),
            (0x1ba, "zone is read-only"),
            (0x1bb, "offline"),
            (0x1bc, "invalid write"),
            (0x1bd, "active zones"),
            (0x1be, "open zones"),
            (0x280, "write fault"),
            (0x281, "read error"),
            (0x287, "unwritten"),
            (0x006, "see the NVM Express specification"),
        ] {
            assert!(meaning(code).contains(part), "{code:#x}: {}", meaning(code));
        }
    }

    #[test]
    fn what_is_no_namespace_has_no_number() {
        let null = File::open("/dev/null").unwrap();
        for file in [tempfile::tempfile().unwrap(), null] {
            assert!(Namespace::id_of(&file).is_err());
            assert!(Namespace::of(&file).is_err());
        }
    }
}
