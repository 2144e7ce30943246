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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvme::Format;
    use crate::zones::{Writable, Zone};

    const WRITE: AccessKind = AccessKind::Write { durable: false };

    /// Of a namespace with blocks of 4 KiB: a conventional zone of 1 MiB, and a sequential one behind it.
    fn passthrough() -> Passthrough {
        let zone = |number: u64, writable| Zone {
            start: number * 2048,
            next: (number + 1) * 2048,
            end: (number + 1) * 2048,
            writable,
            is_active: false,
        };
        let zones = vec![zone(0, Writable::Anywhere), zone(1, Writable::At(2048))];
        Passthrough {
            namespaces: vec![Namespace {
                id: 1,
                format: Format {
                    blocks: 1 << 20,
                    shift: 12,
                    metadata: 0,
                },
            }],
            zones: vec![Some(Zones::new(zones, None, 8))],
            sync: Durability::None,
            failures: BTreeMap::new(),
        }
    }

    fn access(kind: AccessKind, offset: u64, length: u64) -> IoAccess {
        IoAccess {
            kind,
            target: 0,
            offset,
            // What a command moves is at most this long, or it is not made.
            buffer: Buffer::new(length.clamp(4096, 1 << 28) as usize).unwrap(),
            region: 0,
            length,
        }
    }

    /// What comes back when the device answers with this, as slot, result and place.
    fn answered(
        engine: &mut Passthrough,
        access: IoAccess,
        result: i32,
    ) -> (u32, i32, Option<u64>) {
        let loan = engine.loan(0xdead_beef, access, false).ok().unwrap();
        let completion = Completion { result, value: 300 };
        let answer = engine.completed(loan.tag(), completion);
        (answer.slot, answer.result, answer.place)
    }

    #[test]
    fn a_command_that_is_done_has_moved_all_its_data() {
        const ZONE: u64 = 1 << 20;
        // 65,536 blocks are the most that a command moves.
        let most = 65_536 << 12;
        for (kind, offset, length, moved, place) in [
            (AccessKind::Read, 0, 4096, 4096, None),
            (AccessKind::Read, 0, most, most as i32, None),
            (WRITE, ZONE - 4096, 4096, 4096, None),
            // The device says where in the zone the data went.
            (WRITE, ZONE, 8192, 8192, Some(300)),
            (WRITE, 2 * ZONE - 4096, 4096, 4096, Some(300)),
            (WRITE, 2 * ZONE, 4096, 4096, None),
            (AccessKind::Read, ZONE, 4096, 4096, None),
            (AccessKind::WriteZeroes, ZONE, 4096, 0, None),
            (AccessKind::Discard, ZONE, 4096, 0, None),
            (AccessKind::Flush, 0, 0, 0, None),
        ] {
            let engine = &mut passthrough();
            let answer = answered(engine, access(kind, offset, length), 0);
            assert_eq!(answer, (0xdead_beef, moved, place), "{kind:?} at {offset}");
            assert!(engine.notes().is_empty());
        }
    }

    #[test]
    fn failures_are_counted_by_status_and_went_nowhere() {
        let mut engine = passthrough();
        let in_zone = || access(WRITE, 1 << 20, 4096);
        for (result, errno) in [
            // From the kernel; the rest are statuses: unrecovered read error, with and without the bit that forbids
            // another try, and zone is full.
            (-libc::ENODEV, libc::ENODEV),
            (0x4281, libc::ENODATA),
            (0x281, libc::ENODATA),
            (0x1b9, libc::EIO),
        ] {
            let answer = answered(&mut engine, in_zone(), result);
            assert_eq!(answer, (0xdead_beef, -errno, None), "{result:#x}");
        }
        let noted = |count, status, meaning| EngineNote::NvmeFailed {
            count,
            status,
            meaning,
        };
        let expected = [
            noted(1, 0x1b9, "zone is full"),
            noted(2, 0x281, "unrecovered read error"),
        ];
        assert_eq!(engine.notes(), expected);
    }

    #[test]
    fn what_no_command_does_is_refused_with_its_buffer() {
        let too_long = access(AccessKind::Read, 0, 65_537 << 12);
        let length = too_long.buffer.len();
        let refused = passthrough().loan(0, too_long, false);
        let (errno, buffer) = refused.err().unwrap();
        assert_eq!((errno, buffer.len()), (EINVAL, length));
    }

    #[test]
    fn no_command_is_left_to_threads() {
        let engine = passthrough();
        for kind in [
            AccessKind::Read,
            WRITE,
            AccessKind::Flush,
            AccessKind::Discard,
            AccessKind::WriteZeroes,
        ] {
            for polled in [false, true] {
                assert!(!engine.is_for_the_side(&access(kind, 0, 4096), polled));
            }
        }
    }

    #[test]
    fn only_a_discard_has_its_range_in_its_buffer() {
        let mut engine = passthrough();
        for (kind, is_range) in [
            (AccessKind::Discard, true),
            (WRITE, false),
            (AccessKind::WriteZeroes, false),
            (AccessKind::Flush, false),
        ] {
            let access = access(kind, 5 << 12, 3 << 12);
            let expected = range(&engine.namespaces[0], &access);
            let loan = engine.loan(0, access, false).ok().unwrap();
            let buffer = loan.buffer();
            let begins_so = buffer[..expected.len()] == expected[..];
            assert_eq!(begins_so, is_range, "{kind:?}");
            assert_eq!(buffer.iter().any(|byte| *byte != 0), is_range, "{kind:?}");
        }
    }
}
