//! The system itself.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use iosonar_linux::calls;
pub(crate) use iosonar_linux::calls::schedule;
pub(crate) use iosonar_linux::memory::Ring;
use iosonar_trace::{Reading, TraceError, TraceReader, input};
use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;

use crate::engine::{AccessKind, IoAccess};

/// Queues between threads.
pub(crate) mod channel {
    pub(crate) use crossbeam_channel::{
        Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, bounded, unbounded,
    };
}

/// Locks.
pub(crate) mod sync {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
}

/// Threads.
pub(crate) mod thread {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::thread::{
        Builder, JoinHandle, available_parallelism, panicking, scope, sleep, yield_now,
    };
}

/// Clocks.
pub(crate) mod time {
    pub(crate) use std::time::Instant;

    use iosonar_units::Nanos;
    use rustix::time::{ClockId, clock_gettime};

    #[inline]
    fn of(clock: ClockId) -> Nanos {
        let t = clock_gettime(clock);
        Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
    }

    /// The monotonic clock.
    #[inline]
    pub(crate) fn monotonic() -> Nanos {
        of(ClockId::Monotonic)
    }

    /// The time of day, since 1970.
    pub(crate) fn since_1970() -> Nanos {
        of(ClockId::Realtime)
    }

    /// How much processor time the calling thread has used.
    pub(crate) fn of_processor() -> Nanos {
        of(ClockId::ThreadCPUTime)
    }
}

/// Files that the replay writes, and those in which the kernel shows what it counts.
pub(crate) mod fs {
    pub(crate) use std::fs::{File, read_to_string, remove_file};
    use std::io;
    use std::path::Path;

    pub(crate) use iosonar_trace::output::sync_folder_of;

    /// Reads the beginning of a file.
    pub(crate) fn read_beginning(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(file, bytes, 0)
    }

    /// Creates a file, which must not exist, to be written.
    pub(crate) fn create_new(path: &Path) -> io::Result<File> {
        File::options().write(true).create_new(true).open(path)
    }
}

/// Opens the load at `path`.
pub(crate) fn open_load(
    path: &Path,
    reading: &Reading,
) -> Result<Box<dyn TraceReader>, TraceError> {
    input::open_load(path, reading)
}

/// A target, as engines access it.
pub(crate) use std::fs::File as TargetFile;

/// The same file again.
pub(crate) fn open_again(file: &File) -> io::Result<TargetFile> {
    file.try_clone()
}

/// Whether it is a block device.
pub(crate) fn is_block_device(file: &TargetFile) -> bool {
    file.metadata()
        .is_ok_and(|m| m.file_type().is_block_device())
}

/// A number that no other run of the program has.
pub(crate) fn unique() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    if let Ok(now) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        hasher.write_u128(now.as_nanos());
    }
    hasher.finish()
}

/// Whether the kernel has made threads to work for our rings.
pub(crate) fn has_kernel_workers() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .any(|name| name.starts_with("iou-wrk"))
}

/// Does one access with a system call, writes with these flags; the bytes moved.
pub(crate) fn access(
    file: &TargetFile,
    access: &mut IoAccess,
    flags: ReadWriteFlags,
) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let (offset, length) = (access.offset, access.length as usize);
    match access.kind {
        AccessKind::Read => file.read_at(&mut access.buffer[..length], offset),
        AccessKind::Write { .. } => {
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
            let zeros = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, zeros, offset, access.length)?;
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::FileExt;

    use iosonar_linux::memory::Buffer;

    use super::*;

    /// An access to the second half of a file of 8 KiB.
    fn second_half(kind: AccessKind) -> IoAccess {
        let mut buffer = Buffer::new(4096).unwrap();
        buffer.fill(2);
        IoAccess {
            kind,
            target: 0,
            offset: 4096,
            buffer,
            region: 0,
            length: 4096,
        }
    }

    #[test]
    fn an_access_does_what_it_says_and_never_changes_the_length() {
        for (kind, flags, content, moved) in [
            (AccessKind::Read, ReadWriteFlags::empty(), 1, 4096),
            (
                AccessKind::Write { durable: false },
                ReadWriteFlags::empty(),
                2,
                4096,
            ),
            (
                AccessKind::Write { durable: true },
                ReadWriteFlags::DSYNC,
                2,
                4096,
            ),
            (AccessKind::Flush, ReadWriteFlags::empty(), 1, 0),
            (AccessKind::Discard, ReadWriteFlags::empty(), 0, 0),
            (AccessKind::WriteZeroes, ReadWriteFlags::empty(), 0, 0),
        ] {
            for length in [8192, 4096] {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&vec![1; length]).unwrap();
                let mut done = second_half(kind);
                let outcome = access(&file, &mut done, flags);
                let errno = outcome.as_ref().err().and_then(io::Error::raw_os_error);
                if errno == Some(libc::EOPNOTSUPP) {
                    eprintln!("skipped: this file system does not do {kind:?}");
                    continue;
                }
                let is_write = matches!(kind, AccessKind::Write { .. });
                let is_behind = length == 4096 && kind == AccessKind::Read;
                assert_eq!(
                    outcome.unwrap(),
                    if is_behind { 0 } else { moved },
                    "{kind:?}"
                );
                if kind == AccessKind::Read && !is_behind {
                    assert!(done.buffer.iter().all(|byte| *byte == 1));
                }
                let mut bytes = Vec::new();
                file.rewind().unwrap();
                file.read_to_end(&mut bytes).unwrap();
                // What is done behind the end leaves it where it is, but for writes.
                assert_eq!(
                    bytes.len(),
                    if is_write { 8192 } else { length },
                    "{kind:?}"
                );
                assert!(bytes[..4096].iter().all(|byte| *byte == 1));
                assert!(bytes[4096..].iter().all(|byte| *byte == content));
            }
        }
    }

    #[test]
    fn the_beginning_of_a_file_is_read_wherever_it_has_been_read_before() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0.20 0.18").unwrap();
        let mut bytes = [0; 4];
        for _ in 0..2 {
            assert_eq!(fs::read_beginning(&file, &mut bytes).unwrap(), 4);
            assert_eq!(&bytes, b"0.20");
        }
        file.write_all_at(b"1", 0).unwrap();
        let mut all = [0; 64];
        assert_eq!(fs::read_beginning(&file, &mut all).unwrap(), 9);
        assert_eq!(&all[..9], b"1.20 0.18");
    }

    #[test]
    fn only_a_block_device_is_one() {
        assert!(!is_block_device(&tempfile::tempfile().unwrap()));
        assert!(!is_block_device(&File::open("/dev/null").unwrap()));
    }

    #[test]
    fn threads_of_the_kernel_are_known_by_their_names() {
        // A thread of ours with such a name is taken for one.
        let thread = std::thread::Builder::new().name("iou-wrk-7".to_owned());
        let has_workers = thread.spawn(has_kernel_workers).unwrap().join();
        assert!(has_workers.unwrap());
    }

    #[test]
    fn no_two_numbers_of_runs_are_the_same() {
        assert_ne!(unique(), unique());
    }

    #[test]
    fn the_time_of_day_is_that_of_the_system() {
        let now = || {
            let now = std::time::SystemTime::now();
            now.duration_since(std::time::UNIX_EPOCH).unwrap()
        };
        let before = now();
        let at = std::time::Duration::from(time::since_1970());
        assert!(before <= at && at <= now());
    }
}
