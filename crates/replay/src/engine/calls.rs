//! What a ring is given for block devices and files: the system calls of reads, writes, syncs and allocation.

use std::io;

use io_uring::{cqueue, squeue};
use iosonar_linux::memory::{Buffer, Completion, Loan, Span};
use rustix::fs::FallocateFlags;

use super::access::{AccessKind, Durability, IoAccess, Setup};
use super::dialect::{Answer, Dialect};
use super::perform::write_flags;
use crate::note::EngineNote;
use crate::os::{self, TargetFile};

pub(crate) struct Calls {
    files: Vec<TargetFile>,
    sync: Durability,
}

/// A range that the file may forget.
const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);
/// A range that reads as zeros, allocated.
const ZEROS: FallocateFlags = FallocateFlags::ZERO_RANGE.union(FallocateFlags::KEEP_SIZE);

impl Dialect for Calls {
    const NAME: &'static str = "io_uring";
    const REGISTERS: bool = true;
    type Sqe = squeue::Entry;
    type Cqe = cqueue::Entry;

    fn new(setup: &Setup<'_>) -> io::Result<Self> {
        Ok(Self {
            files: super::access::clones(&setup.files)?,
            sync: setup.sync,
        })
    }

    /// A ring knows no discard of block devices, and one that polls knows reads and writes only.
    #[inline]
    fn is_for_the_side(&self, access: &IoAccess, polled: bool) -> bool {
        match access.kind {
            AccessKind::Read | AccessKind::Write { .. } => false,
            AccessKind::Discard => {
                polled || os::is_block_device(&self.files[access.target as usize])
            }
            _ => polled,
        }
    }

    #[inline]
    fn loan(
        &mut self,
        slot: u32,
        access: IoAccess,
        registered: bool,
    ) -> Result<Loan<squeue::Entry>, (i32, Buffer)> {
        let IoAccess {
            kind,
            target,
            offset,
            buffer,
            region,
            length,
        } = access;
        let tag = u64::from(slot);
        // Reads and writes are never longer than the kernel does at once.
        let span = Span {
            file: target,
            offset,
            bytes: length,
        };
        let region = registered.then_some(region);
        Ok(match kind {
            AccessKind::Read => Loan::read(tag, span, region, buffer),
            AccessKind::Write { durable } => {
                let flags = write_flags(durable, self.sync).bits() as i32;
                Loan::write(tag, span, flags, region, buffer)
            }
            AccessKind::Flush => Loan::sync(tag, target, buffer),
            AccessKind::Discard => Loan::allocate(tag, span, HOLE.bits() as i32, buffer),
            AccessKind::WriteZeroes => Loan::allocate(tag, span, ZEROS.bits() as i32, buffer),
        })
    }

    #[inline]
    fn completed(&mut self, tag: u64, completion: Completion) -> Answer {
        Answer {
            slot: tag as u32,
            result: completion.result,
            place: None,
        }
    }

    fn notes(&self) -> Vec<EngineNote> {
        Vec::new()
    }
}
