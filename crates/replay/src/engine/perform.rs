//! Accesses as plain system calls, for the engines that have no ring, and for what a ring cannot do.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};

use iosonar_linux::calls;
use libc::EIO;
use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;

use super::access::{AccessKind, Durability, IoAccess};

/// Does one access and waits for it; bytes moved, or a negative `errno`.
pub(super) fn perform(file: &File, access: &mut IoAccess, sync: Durability) -> i32 {
    loop {
        match once(file, access, sync) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return -e.raw_os_error().unwrap_or(EIO),
            Ok(bytes) => return bytes as i32,
        }
    }
}

/// How a write is marked so that it waits for the medium.
pub(super) fn write_flags(durable: bool, sync: Durability) -> ReadWriteFlags {
    match sync {
        Durability::Full => ReadWriteFlags::SYNC,
        Durability::Data => ReadWriteFlags::DSYNC,
        Durability::None if durable => ReadWriteFlags::DSYNC,
        Durability::None => ReadWriteFlags::empty(),
    }
}

/// A range that reads as zeros, allocated.
pub(super) fn zero_range() -> FallocateFlags {
    FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE
}

fn once(file: &File, access: &mut IoAccess, sync: Durability) -> io::Result<usize> {
    let (offset, length) = (access.offset, access.length as usize);
    match access.kind {
        AccessKind::Read => file.read_at(&mut access.buffer[..length], offset),
        AccessKind::Write { durable } => {
            let flags = write_flags(durable, sync);
            let data = &access.buffer[..length];
            if flags.is_empty() {
                return file.write_at(data, offset);
            }
            let data = [io::IoSlice::new(data)];
            Ok(rustix::io::pwritev2(file, &data, offset, flags)?)
        }
        AccessKind::Flush => file.sync_all().map(|()| 0),
        // The bytes moved are reported for reads and writes only.
        AccessKind::Discard => discard(file, offset, access.length).map(|()| 0),
        AccessKind::WriteZeroes => {
            rustix::fs::fallocate(file, zero_range(), offset, access.length)?;
            Ok(0)
        }
    }
}

fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        return calls::discard(file, offset, length);
    }
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, hole, offset, length)?)
}
