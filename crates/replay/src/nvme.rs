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
    use libc::{EILSEQ, EIO, ENODATA, ENOSPC, EOPNOTSUPP, EOVERFLOW, EREMOTEIO, ETOOMANYREFS};
    match code(status) {
        0x081 => ENOSPC,
        0x080 => EREMOTEIO,
        0x001 | 0x002 | 0x185 => EOPNOTSUPP,
        0x280 | 0x281 | 0x285 | 0x286 => ENODATA,
        0x182 | 0x282..=0x284 => EILSEQ,
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
        identify[26] = 2 | 1 << 5;
        assert_eq!(Format::decoded(&identify).unwrap().shift, 9, "the 18th");
        identify[26] = 1;
        assert_eq!(Format::decoded(&identify), None, "no such format");
    }

    #[test]
    fn the_status_of_a_failure_is_an_errno() {
        assert_eq!(errno(0x281), 61);
        assert_eq!(errno(0x4281), 61, "do not retry");
        assert_eq!(errno(0x1bc), 5);
        assert_eq!(errno(0x080), 121);
    }
}
