//! What only a system call on an open device says.

use std::fs::File;

use iosonar_linux::calls;

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
    let [device, inode, rdev, ..] = calls::loop_info(file).ok()?;
    Some(Storage {
        identity: (device, inode),
        rdev: (rdev != 0).then_some(rdev),
    })
}
