//! `io_uring`: one ring, one thread.
//!
//! The ring is set up without deferred task work: completions are posted while this thread spins,
//! so that each can be stamped close to when it happened.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use iosonar_units::Nanos;

use super::{Access, AccessKind, Done, Engine};
use crate::pacing;

/// The target is the only registered file.
const TARGET: Fixed = Fixed(0);
/// The kernel's own limit is 32 768.
const MOST_ENTRIES: u32 = 4096;

pub(crate) struct Uring {
    ring: IoUring,
    prepared: bool,
}

impl Uring {
    pub(crate) fn new(file: &File, in_flight: u32) -> io::Result<Self> {
        let entries = in_flight.clamp(2, MOST_ENTRIES).next_power_of_two();
        // No completion is ever lost: there is a place for each request in flight.
        let completions = in_flight.next_power_of_two().max(2 * entries);
        let ring = IoUring::builder()
            .setup_cqsize(completions)
            .setup_single_issuer()
            .build(entries)
            // Kernels before 6.0 do not know single issuers.
            .or_else(|_| IoUring::builder().setup_cqsize(completions).build(entries))?;
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the kernel is older than 5.11",
            ));
        }
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        Ok(Self {
            ring,
            prepared: false,
        })
    }
}

impl Drop for Uring {
    /// The kernel takes rings apart at its leisure; until then a target that is still registered
    /// would stay open, and claimed, after the replay.
    fn drop(&mut self) {
        let _ = self.ring.submitter().unregister_files();
    }
}

fn entry(slot: u32, access: &Access) -> squeue::Entry {
    let Access {
        kind,
        offset,
        buffer,
        length,
    } = *access;
    let entry = match kind {
        AccessKind::Read => opcode::Read::new(TARGET, buffer, length)
            .offset(offset)
            .build(),
        AccessKind::Write { durable } => opcode::Write::new(TARGET, buffer, length)
            .offset(offset)
            .rw_flags(if durable { RWF_DSYNC } else { 0 })
            .build(),
        AccessKind::Flush => opcode::Fsync::new(TARGET).build(),
    };
    entry.user_data(u64::from(slot))
}

impl Engine for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    #[inline]
    fn prepare(&mut self, slot: u32, access: Access) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.submit()?;
        }
        self.prepared = true;
        // SAFETY: the session keeps the slot's buffer untouched until the access is reaped, and
        // the file open as long as the ring lives.
        unsafe { self.ring.submission().push(&entry(slot, &access)) }
            .map_err(|_| io::Error::other("the submission queue is full although it was flushed"))
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        while self.prepared {
            match self.ring.submit() {
                Ok(_) => self.prepared = !self.ring.submission().is_empty(),
                Err(e) if e.raw_os_error() == Some(EINTR) => {}
                // The kernel wants completions to be reaped first; the next wait submits the rest.
                Err(e) if is_passing(&e) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        let completions = self.ring.completion();
        if completions.is_empty() {
            return;
        }
        let at = pacing::monotonic();
        done.extend(completions.map(|c| Done {
            slot: c.user_data() as u32,
            result: c.result(),
            at,
        }));
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let time = Timespec::new()
            .sec(timeout.get() / 1_000_000_000)
            .nsec((timeout.get() % 1_000_000_000) as u32);
        let until = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(1, &until) {
            Err(e) if !is_passing(&e) && e.raw_os_error() != Some(ETIME) => Err(e),
            _ => Ok(()),
        }
    }
}

/// `RWF_DSYNC` of `linux/fs.h`.
const RWF_DSYNC: i32 = 2;
const ETIME: i32 = 62;
const EINTR: i32 = 4;
const EAGAIN: i32 = 11;
const EBUSY: i32 = 16;

/// Whether trying again helps: a signal came, or the kernel is short of something for a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EINTR | EAGAIN | EBUSY))
}
