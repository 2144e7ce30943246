//! Accesses as plain system calls, for the engines that have no ring, and for what a ring cannot do.

use std::io;

use libc::EIO;
use rustix::io::ReadWriteFlags;

use super::access::{AccessKind, Durability, IoAccess};
use crate::os::{self, TargetFile};

/// Does one access and waits for it; bytes moved, or a negative `errno`.
pub(super) fn perform(file: &TargetFile, access: &mut IoAccess, sync: Durability) -> i32 {
    let flags = match access.kind {
        AccessKind::Write { durable } => write_flags(durable, sync),
        _ => ReadWriteFlags::empty(),
    };
    loop {
        match os::access(file, access, flags) {
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
