//! One thread, one call after the other: for devices that answer within microseconds.
//!
//! Drivers that complete requests where they are submitted (zram, pmem) gain nothing by a ring: those
//! that cannot be asked without waiting (no `NOWAIT`) even have each request passed to a kernel
//! worker first. Requests that are due together wait for each other here, which shows as delay.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use iosonar_units::Nanos;
use rustix::io::{Errno, ReadWriteFlags};

use super::access::{Done, Durability, Engine, IoAccess, Setup};
use super::perform::perform;
use crate::os::{TargetFile, thread};
use crate::pacing;

pub(crate) struct Synchronous {
    files: Vec<TargetFile>,
    sync: Durability,
    prepared: Option<(u32, IoAccess)>,
    done: Vec<Done>,
}

impl Synchronous {
    pub(crate) fn new(setup: &Setup<'_>) -> io::Result<Self> {
        Ok(Self {
            files: super::access::clones(&setup.files)?,
            sync: setup.sync,
            prepared: None,
            done: Vec::with_capacity(64),
        })
    }
}

impl Engine for Synchronous {
    fn name(&self) -> &'static str {
        "sync"
    }

    fn together(&self, _: Nanos) -> usize {
        1
    }

    #[inline]
    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()> {
        self.submit()?;
        self.prepared = Some((slot, access));
        Ok(())
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        if let Some((slot, mut access)) = self.prepared.take() {
            let file = &self.files[access.target as usize];
            let result = perform(file, &mut access, self.sync);
            let at = pacing::monotonic();
            self.done.push(Done::of(slot, result, at, access.buffer));
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        if self.done.is_empty() {
            thread::sleep(timeout.into());
        }
        Ok(())
    }
}

/// Drivers that complete a request where it is submitted, by the names of their devices.
const IN_MEMORY: [&str; 3] = ["zram", "pmem", "ram"];

/// The devices, by the kernel's names, that synchronous calls suit better than a ring.
pub(super) fn suited(files: &[&File]) -> Vec<String> {
    let suits = |file: &&File| driver(file).filter(|name| is_suited(name, || can_say_no(file)));
    files.iter().filter_map(suits).collect()
}

/// Whether synchronous calls suit a device of this name better, which may say that a request would have to wait.
fn is_suited(name: &str, can_say_no: impl FnOnce() -> bool) -> bool {
    IN_MEMORY.iter().any(|memory| name.starts_with(memory)) && !can_say_no()
}

/// The kernel's name of a block device.
fn driver(file: &File) -> Option<String> {
    let metadata = file.metadata().ok()?;
    if !metadata.file_type().is_block_device() {
        return None;
    }
    let (major, minor) = (
        rustix::fs::major(metadata.rdev()),
        rustix::fs::minor(metadata.rdev()),
    );
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// Whether the driver can refuse a request that it would have to wait for. Nothing is read: the request
/// is one that no device takes, of a single byte, and whether it could be refused is looked at first.
fn can_say_no(file: &File) -> bool {
    let mut byte = [0];
    let data = &mut [io::IoSliceMut::new(&mut byte)];
    let outcome = rustix::io::preadv2(file, data, 0, ReadWriteFlags::NOWAIT);
    !matches!(outcome, Err(Errno::OPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::super::{AccessKind, RingOptions};
    use super::*;
    use iosonar_linux::memory::Buffer;

    #[test]
    fn each_access_is_done_before_the_next_is_prepared() {
        let file = tempfile::tempfile().unwrap();
        let mut engine = Synchronous::new(&Setup {
            files: vec![&file],
            in_flight: 4,
            ring: RingOptions::default(),
            sync: Durability::None,
            regions: Vec::new(),
            discards: false,
            zones: Vec::new(),
        })
        .unwrap();
        assert_eq!((engine.name(), engine.together(Nanos::SECOND)), ("sync", 1));
        let access = |kind, offset, length: u64| {
            let mut buffer = Buffer::new(4096).unwrap();
            buffer.fill(9);
            IoAccess {
                kind,
                target: 0,
                offset,
                buffer,
                region: 0,
                length,
            }
        };
        let write = AccessKind::Write { durable: false };
        let mut done = Vec::new();
        engine.prepare(5, access(write, 512, 1024)).unwrap();
        engine.reap(&mut done);
        assert!(done.is_empty(), "nothing begins before it is submitted");
        engine
            .prepare(6, access(AccessKind::Read, 1024, 4096))
            .unwrap();
        engine.reap(&mut done);
        assert_eq!((done.len(), done[0].slot, done[0].result), (1, 5, 1024));
        engine.submit().unwrap();
        engine.submit().unwrap();
        // With something done, it does not wait.
        engine.wait(Nanos::from_secs(100_000)).unwrap();
        engine.reap(&mut done);
        assert_eq!((done.len(), done[1].slot, done[1].result), (2, 6, 512));
    }

    #[test]
    fn files_are_no_devices_that_suit_synchronous_calls() {
        let (file, device) = (
            tempfile::tempfile().unwrap(),
            File::open("/dev/null").unwrap(),
        );
        assert_eq!(driver(&file), None);
        assert_eq!(driver(&device), None);
        assert!(suited(&[&file, &device]).is_empty());
    }

    #[test]
    fn a_file_in_proc_cannot_be_asked_without_waiting_and_an_empty_pipe_can() {
        let status = File::open("/proc/self/status").unwrap();
        assert!(!can_say_no(&status));
        // A pipe has no places, so it refuses that; but not because it would have to wait.
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(can_say_no(&File::from(std::os::fd::OwnedFd::from(reader))));
    }

    #[test]
    fn synchronous_calls_suit_memory_that_cannot_be_asked_without_waiting() {
        for (name, is_in_memory) in [
            ("zram0", true),
            ("pmem1s", true),
            ("ram15", true),
            ("sda", false),
            ("nvme0n1", false),
            ("dm-0", false),
        ] {
            assert_eq!(is_suited(name, || false), is_in_memory, "{name}");
            assert!(!is_suited(name, || true), "{name}");
        }
    }
}
