//! NVMe commands past the block layer (`linux/nvme_ioctl.h`, NVM Express Base and NVM Command Set specifications).
//!
//! Each namespace `/dev/nvme0n1` has a character device `/dev/ng0n1`, which takes NVMe commands as they are: no scheduler,
//! no splitting, no merging.

#![allow(unsafe_code)] // Commands as the kernel reads them.

use std::ffi::c_void;
use std::fs::File;
use std::io;

use iosonar_units::Bytes;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};

/// `_IO('N', 0x40)`.
const NVME_IOCTL_ID: Opcode = opcode::none(b'N', 0x40);
/// `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const NVME_IOCTL_ADMIN_CMD: Opcode = opcode::read_write::<[u8; COMMAND]>(b'N', 0x41);
/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub(crate) const NVME_URING_CMD_IO: Opcode = opcode::read_write::<[u8; COMMAND]>(b'N', 0x80);

/// Of `struct nvme_uring_cmd` and `struct nvme_passthru_cmd`, which differ only in their last words.
pub(crate) const COMMAND: usize = 72;
/// What Identify answers with.
const IDENTIFY: usize = 4096;

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
        let mut answer = Box::new([0_u8; IDENTIFY]);
        let identify = Command {
            opcode: 0x06,
            namespace: id,
            address: answer.as_mut_ptr() as u64,
            bytes: IDENTIFY as u32,
            words: [0; 6],
        };
        let mut command = identify.encoded();
        // SAFETY: the call takes this structure, and has the device write to the memory that it names, which is large
        // enough and lives until the call returns.
        unsafe { ioctl(file, Updater::<NVME_IOCTL_ADMIN_CMD, _>::new(&mut command)) }?;
        let format = Format::decoded(&answer)
            .ok_or_else(|| io::Error::other("the answer to Identify makes no sense"))?;
        Ok(Self { id, format })
    }

    /// The number of the namespace, of its character device or its block device.
    pub(crate) fn id_of(file: &File) -> io::Result<u32> {
        // SAFETY: the call takes no argument, and returns the number.
        Ok(unsafe { ioctl(file, NamespaceId) }?)
    }
}

/// The call that returns the number of a namespace.
struct NamespaceId;

// SAFETY: the call neither reads nor writes memory.
unsafe impl Ioctl for NamespaceId {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        NVME_IOCTL_ID
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        returned: IoctlOutput,
        _: *mut c_void,
    ) -> rustix::io::Result<Self::Output> {
        // Errors are negative, and have been returned before.
        Ok(returned as u32)
    }
}

impl Format {
    /// As the Identify Namespace data structure says.
    fn decoded(identify: &[u8; IDENTIFY]) -> Option<Self> {
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

/// An NVMe command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) opcode: u8,
    pub(crate) namespace: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    /// Command words 10 to 15.
    pub(crate) words: [u32; 6],
}

impl Command {
    pub(crate) fn encoded(&self) -> [u8; COMMAND] {
        let mut bytes = [0; COMMAND];
        bytes[0] = self.opcode;
        bytes[4..8].copy_from_slice(&self.namespace.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.address.to_ne_bytes());
        bytes[36..40].copy_from_slice(&self.bytes.to_ne_bytes());
        for (word, place) in self.words.iter().zip(bytes[40..].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
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
        let mut identify = [0; IDENTIFY];
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
    fn the_calls_have_the_kernels_numbers() {
        assert_eq!(NVME_IOCTL_ID, 0x4e40);
        assert_eq!(NVME_IOCTL_ADMIN_CMD, 0xc048_4e41);
        assert_eq!(NVME_URING_CMD_IO, 0xc048_4e80);
    }

    #[test]
    fn the_status_of_a_failure_is_an_errno() {
        assert_eq!(errno(0x281), 61);
        assert_eq!(errno(0x4281), 61, "do not retry");
        assert_eq!(errno(0x1bc), 5);
        assert_eq!(errno(0x080), 121);
    }
}
