//! A lease on a regular file: no other process has it open, and one that wants to open it waits (`fcntl(2)`, "Leases").
//!
//! It belongs to the open file and ends with it. Another process that opens the file meanwhile waits, for
//! `/proc/sys/fs/lease-break-time` (45 s) at the most; then it gets it, and the lease shows that it was broken.

#![allow(unsafe_code)] // A system call.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `F_SETLEASE` and `F_GETLEASE` of `linux/fcntl.h`.
const F_SETLEASE: libc::c_int = 1024;
const F_GETLEASE: libc::c_int = 1025;
/// `F_SETSIG` there: which signal says that the lease is wanted. `SIGURG` is ignored unless a program asks for it.
const F_SETSIG: libc::c_int = 10;
/// `F_WRLCK` there: no other open file of it, even to read.
const F_WRLCK: libc::c_int = 1;

/// The outcome of a request for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// No other process has the file open.
    Held,
    /// Another open file of it exists.
    OpenElsewhere,
    /// The file system has no leases, or the file belongs to another user.
    Unknown,
}

impl Lease {
    /// Takes a lease on `file`, which is open for writing.
    pub fn of(file: &File) -> Self {
        // By default the kernel ends this process when another opens the file.
        if fcntl(file, F_SETSIG, libc::SIGURG).is_err() {
            return Self::Unknown;
        }
        match fcntl(file, F_SETLEASE, F_WRLCK) {
            Ok(_) => Self::Held,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Self::OpenElsewhere,
            Err(_) => Self::Unknown,
        }
    }

    /// Whether another process has opened `file`, or waits to, since the lease was taken.
    pub fn is_broken(self, file: &File) -> bool {
        self == Self::Held && fcntl(file, F_GETLEASE, 0).is_ok_and(|held| held != F_WRLCK)
    }
}

fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: these commands take an integer, and the descriptor is open.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_had_only_where_the_file_is_open_once_and_shows_when_it_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "x").unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let (first, second) = (open(), open());
        match Lease::of(&first) {
            Lease::Unknown => return eprintln!("skipped: no leases here"),
            lease => assert_eq!(lease, Lease::OpenElsewhere),
        }
        drop(second);
        let lease = Lease::of(&first);
        assert_eq!(lease, Lease::Held);
        assert!(!lease.is_broken(&first));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| File::open(&path).unwrap());
            while !lease.is_broken(&first) {
                std::thread::yield_now();
            }
            drop(first);
            waiting.join().unwrap();
        });
    }
}
