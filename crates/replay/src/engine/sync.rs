//! One thread, one call after the other: for devices that answer within microseconds.
//!
//! Drivers that complete requests where they are submitted (zram, pmem) gain nothing by a ring: those
//! that cannot be asked without waiting (no `NOWAIT`) even have each request passed to a kernel
//! worker first. Requests that are due together wait for each other here, which shows as delay.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use iosonar_units::Nanos;
use rustix::io::{Errno, ReadWriteFlags};

use super::perform::perform;
use super::{Access, Done, Durability, Engine, Setup};
use crate::buffers::Buffers;
use crate::pacing;

pub(crate) struct Synchronous {
    files: Vec<File>,
    sync: Durability,
    prepared: Option<(u32, Access)>,
    done: Vec<Done>,
}

impl Synchronous {
    pub(crate) fn new(setup: &Setup<'_>) -> io::Result<Self> {
        Ok(Self {
            files: super::clones(&setup.files)?,
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

    fn together(&self) -> usize {
        1
    }

    #[inline]
    fn prepare(&mut self, slot: u32, access: Access) -> io::Result<()> {
        self.submit()?;
        self.prepared = Some((slot, access));
        Ok(())
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        if let Some((slot, access)) = self.prepared.take() {
            let result = perform(&self.files[access.target as usize], &access, self.sync);
            let at = pacing::monotonic();
            self.done.push(Done { slot, result, at });
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        if self.done.is_empty() {
            std::thread::sleep(timeout.into());
        }
        Ok(())
    }
}

/// Why synchronous calls suit these targets better than a ring; `None` if they do not.
pub(super) fn is_better(files: &[&File]) -> Option<String> {
    /// Handing a request to another thread and back takes about as long.
    const QUICK: Nanos = Nanos::from_micros(8);
    let mut slowest = Nanos::ZERO;
    for file in files {
        let is_device = file
            .metadata()
            .is_ok_and(|m| m.file_type().is_block_device());
        if !is_device || can_say_no(file) {
            return None;
        }
        slowest = slowest.max(quick_read(file)?);
    }
    (slowest < QUICK && !files.is_empty()).then(|| {
        format!(
            "the device answers within {slowest} where it is asked, and its driver knows no NOWAIT, so \
             io_uring would pass each request to a kernel worker first: synchronous calls instead \
             (--engine io_uring if you want it all the same)"
        )
    })
}

/// Whether the driver can refuse a request that it would have to wait for.
pub(super) fn can_say_no(file: &File) -> bool {
    let Ok(mut buffer) = Buffers::new(1, 4096) else {
        return true;
    };
    let data = &mut [io::IoSliceMut::new(buffer.bytes_mut(0, 4096))];
    let outcome = rustix::io::preadv2(file, data, 0, ReadWriteFlags::NOWAIT);
    !matches!(outcome, Err(Errno::OPNOTSUPP))
}

/// How long a read of a block takes; the lower quartile of some reads all over the device, as the
/// first ones find everything cold.
fn quick_read(file: &File) -> Option<Nanos> {
    const READS: u64 = 33;
    const BYTES: usize = 4096;
    let size = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).ok()?;
    let blocks = size / BYTES as u64;
    let mut buffer = Buffers::new(1, BYTES).ok()?;
    let mut times = Vec::new();
    for i in 0..READS.min(blocks) {
        // Fibonacci hashing: all over, never in sequence.
        let block = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks;
        let begin = pacing::monotonic();
        let data = buffer.bytes_mut(0, BYTES);
        rustix::io::pread(file, data, block * BYTES as u64).ok()?;
        times.push(pacing::monotonic() - begin);
    }
    times.sort_unstable();
    times.get(times.len() / 4).copied()
}
