//! NVMe commands as the kernel takes them (`struct nvme_passthru_cmd` and `struct nvme_uring_cmd` of `linux/nvme_ioctl.h`,
//! which differ only in their last words).

use rustix::ioctl::{Opcode, opcode};

/// `_IO('N', 0x40)`.
pub(crate) const NVME_IOCTL_ID: Opcode = opcode::none(b'N', 0x40);
/// `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
pub(crate) const NVME_IOCTL_ADMIN_CMD: Opcode = opcode::read_write::<[u8; BYTES]>(b'N', 0x41);
/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub(crate) const NVME_URING_CMD_IO: Opcode = opcode::read_write::<[u8; BYTES]>(b'N', 0x80);

/// Bytes of either structure.
pub(crate) const BYTES: usize = 72;

/// Bytes of what Identify answers with.
pub const IDENTIFY_BYTES: usize = 4096;

/// An NVMe command, without the place of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub opcode: u8,
    /// The number of its namespace.
    pub namespace: u32,
    /// How many bytes of data it moves.
    pub bytes: u32,
    /// Command words 10 to 15.
    pub words: [u32; 6],
}

impl Command {
    /// The structure, with its data at `address`.
    #[inline]
    pub(crate) fn encoded(&self, address: u64) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = self.opcode;
        bytes[4..8].copy_from_slice(&self.namespace.to_ne_bytes());
        bytes[24..32].copy_from_slice(&address.to_ne_bytes());
        bytes[36..40].copy_from_slice(&self.bytes.to_ne_bytes());
        for (to, word) in bytes[40..64].chunks_exact_mut(4).zip(self.words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_lies_as_in_linux_nvme_ioctl_h() {
        let command = Command {
            opcode: 0x02,
            namespace: 7,
            bytes: 32_768,
            words: [10, 11, 12, 13, 14, 15],
        };
        let encoded = command.encoded(0x7000_0000_1000);
        assert_eq!(encoded[..4], [2, 0, 0, 0]);
        assert_eq!(encoded[4..8], 7_u32.to_ne_bytes());
        assert_eq!(encoded[8..24], [0; 16], "words 2 and 3, no metadata");
        assert_eq!(encoded[24..32], 0x7000_0000_1000_u64.to_ne_bytes());
        assert_eq!(encoded[32..36], [0; 4], "no metadata");
        assert_eq!(encoded[36..40], 32_768_u32.to_ne_bytes());
        for (word, at) in (10_u32..16).zip((40..).step_by(4)) {
            assert_eq!(encoded[at..at + 4], word.to_ne_bytes());
        }
        assert_eq!(encoded[64..], [0; 8]);
    }

    #[test]
    fn the_calls_have_the_kernels_numbers() {
        assert_eq!(NVME_IOCTL_ID, 0x4e40);
        assert_eq!(NVME_IOCTL_ADMIN_CMD, 0xc048_4e41);
        assert_eq!(NVME_URING_CMD_IO, 0xc048_4e80);
    }
}
