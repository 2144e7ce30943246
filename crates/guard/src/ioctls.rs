//! What only a system call on an open device says.

#![allow(unsafe_code)] // System calls.

use std::fs::File;

use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

/// `BLKROGET` of `linux/fs.h`: `_IO(0x12, 94)`.
const BLKROGET: Opcode = opcode::none(0x12, 94);
/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: Opcode = 0x4c05;
/// `struct loop_info64` in words; the first are the device number and the inode of the backing file, and its own device
/// number where it is a device.
type LoopInfo = [u64; 29];

/// Whether the block device `file` takes no writes.
pub(crate) fn is_read_only(file: &File) -> bool {
    // SAFETY: the call fills an int.
    let read_only = unsafe { ioctl(file, Getter::<BLKROGET, i32>::new()) };
    read_only.is_ok_and(|flag| flag != 0)
}

/// What a loop device stores its data in, whatever its path is by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    /// Device and inode, as `stat` gives them.
    pub(crate) identity: (u64, u64),
    /// If it is a block device, its number.
    pub(crate) rdev: Option<u64>,
}

/// What the loop device `file` stores its data in.
pub(crate) fn loop_storage(file: &File) -> Option<Storage> {
    // SAFETY: the call fills a loop_info64, which has this size and no padding.
    let info: LoopInfo =
        unsafe { ioctl(file, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }.ok()?;
    let [device, inode, rdev, ..] = info;
    Some(Storage {
        identity: (device, inode),
        rdev: (rdev != 0).then_some(rdev),
    })
}
