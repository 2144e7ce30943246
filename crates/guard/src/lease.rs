//! A lease on a regular file: no other process has it open, and one that wants to open it waits (`fcntl(2)`, "Leases").
//!
//! It belongs to the open file and ends with it. Another process that opens the file meanwhile waits, for
//! `/proc/sys/fs/lease-break-time` (45 s) at the most; then it gets it, and the lease shows that it was broken.

use std::fs::File;
use std::io;

use iosonar_linux::calls;

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
        match calls::take_lease(file) {
            Ok(()) => Self::Held,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Self::OpenElsewhere,
            Err(_) => Self::Unknown,
        }
    }

    /// Whether another process has opened `file`, or waits to, since the lease was taken.
    pub fn is_broken(self, file: &File) -> bool {
        self == Self::Held && calls::has_lease(file).is_ok_and(|held| !held)
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
