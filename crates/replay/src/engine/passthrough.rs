//! What a ring is given for the character devices of NVMe namespaces: NVMe commands (`IORING_OP_URING_CMD`, Linux 5.19), in
//! entries of 128 bytes. Completions are of 32 bytes and carry the status of the command, and where a zone append went.

use std::collections::BTreeMap;
use std::io;

use io_uring::{cqueue, squeue};
use iosonar_linux::memory::{Buffer, Completion, Loan};
use libc::EINVAL;

use super::access::{AccessKind, Durability, IoAccess, Setup};
use super::command::{command, range};
use super::dialect::{Answer, Dialect};
use crate::note::EngineNote;
use crate::nvme::{self, Namespace};
use crate::zones::Zones;

pub(crate) struct Passthrough {
    namespaces: Vec<Namespace>,
    /// Of each target: the zones that are appended to.
    zones: Vec<Option<Zones>>,
    sync: Durability,
    /// How many commands failed with which status.
    failures: BTreeMap<u16, u64>,
}

/// Where the length of an access, in sectors, stands in the tag of its loan, and the mark of an append. The lower
/// half is the slot.
const SECTORS_AT: u32 = 32;
const APPEND: u64 = 1 << 63;

impl Dialect for Passthrough {
    const NAME: &'static str = "passthrough";
    /// The kernel maps a registered region as a whole for each command (`blk_rq_map_user_bvec`, seen in Linux 6.1), which
    /// fails where it has more pages than the device takes segments.
    const REGISTERS: bool = false;
    type Sqe = squeue::Entry128;
    type Cqe = cqueue::Entry32;

    fn new(setup: &Setup<'_>) -> io::Result<Self> {
        let namespaces = setup.files.iter().map(|file| Namespace::of(file));
        let mut zones = setup.zones.clone();
        zones.resize_with(setup.files.len(), || None);
        Ok(Self {
            namespaces: namespaces.collect::<io::Result<_>>()?,
            zones,
            sync: setup.sync,
            failures: BTreeMap::new(),
        })
    }

    fn is_for_the_side(&self, _: &IoAccess, _: bool) -> bool {
        false
    }

    #[inline]
    #[allow(unsafe_code)]
    fn loan(
        &mut self,
        slot: u32,
        mut access: IoAccess,
        _: bool,
    ) -> Result<Loan<squeue::Entry128>, (i32, Buffer)> {
        let namespace = &self.namespaces[access.target as usize];
        let zone = match (&self.zones[access.target as usize], access.kind) {
            (Some(zones), AccessKind::Write { .. }) => zones.start_of_sequential(access.offset),
            _ => None,
        };
        let Some(command) = command(namespace, &access, self.sync, zone) else {
            return Err((EINVAL, access.buffer));
        };
        if access.kind == AccessKind::Discard {
            let range = range(namespace, &access);
            access.buffer[..range.len()].copy_from_slice(&range);
        }
        let moves_data = matches!(access.kind, AccessKind::Read | AccessKind::Write { .. });
        let sectors = match moves_data {
            true => access.length / 512,
            false => 0,
        };
        let mark = if zone.is_some() { APPEND } else { 0 };
        let tag = u64::from(slot) | sectors << SECTORS_AT | mark;
        // SAFETY: the command was made for the namespace of this file, in the format that it has reported; those with
        // metadata, which it would move as well, are refused when targets are opened.
        Ok(unsafe { Loan::command(tag, access.target, &command, access.buffer) })
    }

    #[inline]
    fn completed(&mut self, tag: u64, completion: Completion) -> Answer {
        let slot = tag as u32;
        let result = match completion.result {
            0 => ((tag & !APPEND) >> SECTORS_AT) as i32 * 512,
            errno if errno < 0 => errno,
            status => {
                let status = status as u16;
                *self.failures.entry(nvme::code(status)).or_default() += 1;
                -nvme::errno(status)
            }
        };
        let place = (tag & APPEND != 0 && result >= 0).then_some(completion.value);
        Answer {
            slot,
            result,
            place,
        }
    }

    fn notes(&self) -> Vec<EngineNote> {
        let of_status = |(status, count): (&u16, &u64)| EngineNote::NvmeFailed {
            count: *count,
            status: *status,
            meaning: nvme::meaning(*status),
        };
        self.failures.iter().map(of_status).collect()
    }
}
