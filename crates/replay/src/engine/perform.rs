//! Accesses as plain system calls, for the engines that have no ring, and for what a ring cannot do.

#![allow(unsafe_code)] // Memory that the kernel reads and writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};

use libc::EIO;
use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;
use rustix::ioctl::{Setter, ioctl};

use super::access::{AccessKind, Durability, IoAccess};

/// Does one access and waits for it; bytes moved, or a negative `errno`.
pub(super) fn perform(file: &File, access: &IoAccess, sync: Durability) -> i32 {
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

fn once(file: &File, access: &IoAccess, sync: Durability) -> io::Result<usize> {
    let (offset, length) = (access.offset, access.length as usize);
    // SAFETY: the session keeps this memory untouched until the access is reaped.
    let buffer = || unsafe { std::slice::from_raw_parts_mut(access.buffer, length) };
    match access.kind {
        AccessKind::Read => file.read_at(buffer(), offset),
        AccessKind::Write { durable } => {
            let flags = write_flags(durable, sync);
            if flags.is_empty() {
                return file.write_at(buffer(), offset);
            }
            let data = [io::IoSlice::new(buffer())];
            Ok(rustix::io::pwritev2(file, &data, offset, flags)?)
        }
        AccessKind::Flush => file.sync_all().map(|()| 0),
        // How much was moved is told of reads and writes only.
        AccessKind::Discard => discard(file, offset, access.length).map(|()| 0),
        AccessKind::WriteZeroes => {
            rustix::fs::fallocate(file, zero_range(), offset, access.length)?;
            Ok(0)
        }
    }
}

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);

fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        // SAFETY: the call takes a pointer to two integers: where, and how much.
        return Ok(unsafe { ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new([offset, length])) }?);
    }
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, hole, offset, length)?)
}
