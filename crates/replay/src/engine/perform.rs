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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::open_again;
    use iosonar_linux::memory::Buffer;

    #[test]
    fn a_call_that_fails_says_why_and_is_not_tried_for_ever() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let only_read = std::fs::File::open(file.path()).unwrap();
        let only_write = std::fs::File::options().write(true).open(file.path());
        let write = AccessKind::Write { durable: false };
        for (file, kind, result) in [
            (&only_read, write, -libc::EBADF),
            (&only_write.unwrap(), AccessKind::Read, -libc::EBADF),
            // Behind the end.
            (&only_read, AccessKind::Read, 0),
        ] {
            let mut access = IoAccess {
                kind,
                target: 0,
                offset: 0,
                buffer: Buffer::new(4096).unwrap(),
                region: 0,
                length: 512,
            };
            let file = open_again(file).unwrap();
            let performed = perform(&file, &mut access, Durability::None);
            assert_eq!(performed, result, "{kind:?}");
        }
    }
}
