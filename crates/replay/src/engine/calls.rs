//! What a ring is given for block devices and files: the system calls of reads, writes, syncs and allocation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use io_uring::types::Fixed;
use io_uring::{cqueue, opcode, squeue};

use super::access::{AccessKind, Durability, IoAccess, Setup};
use super::dialect::{Answer, Dialect};
use super::perform::{write_flags, zero_range};
use crate::note::EngineNote;

pub(crate) struct Calls {
    files: Vec<File>,
    sync: Durability,
}

/// `FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE` of `linux/falloc.h`.
const PUNCH_HOLE_KEEP_SIZE: i32 = 3;

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
                polled
                    || self.files[access.target as usize]
                        .metadata()
                        .is_ok_and(|m| m.file_type().is_block_device())
            }
            _ => polled,
        }
    }

    #[inline]
    fn entry(
        &mut self,
        slot: u32,
        access: &IoAccess,
        registered: bool,
    ) -> Result<squeue::Entry, i32> {
        let IoAccess {
            kind,
            target,
            offset,
            buffer,
            region,
            length: bytes,
        } = *access;
        // Reads and writes are never longer than the kernel does at once.
        let length = bytes as u32;
        let target = Fixed(target);
        let entry = match kind {
            AccessKind::Read if registered => {
                opcode::ReadFixed::new(target, buffer, length, region)
                    .offset(offset)
                    .build()
            }
            AccessKind::Read => opcode::Read::new(target, buffer, length)
                .offset(offset)
                .build(),
            AccessKind::Write { durable } => {
                let flags = write_flags(durable, self.sync).bits() as i32;
                if registered {
                    opcode::WriteFixed::new(target, buffer, length, region)
                        .offset(offset)
                        .rw_flags(flags)
                        .build()
                } else {
                    opcode::Write::new(target, buffer, length)
                        .offset(offset)
                        .rw_flags(flags)
                        .build()
                }
            }
            AccessKind::Flush => opcode::Fsync::new(target).build(),
            AccessKind::Discard | AccessKind::WriteZeroes => {
                let mode = match kind {
                    AccessKind::Discard => PUNCH_HOLE_KEEP_SIZE,
                    _ => zero_range().bits() as i32,
                };
                opcode::Fallocate::new(target, bytes)
                    .offset(offset)
                    .mode(mode)
                    .build()
            }
        };
        Ok(entry.user_data(u64::from(slot)))
    }

    #[inline]
    fn completed(&mut self, completion: &cqueue::Entry) -> Answer {
        Answer {
            slot: completion.user_data() as u32,
            result: completion.result(),
            place: None,
        }
    }

    fn notes(&self) -> Vec<EngineNote> {
        Vec::new()
    }
}
