//! Accesses as NVMe commands (NVM Command Set specification).

use super::access::{AccessKind, Durability, IoAccess};
use crate::nvme::Namespace;
use iosonar_linux::nvme::Command;

const FLUSH: u8 = 0x00;

const WRITE: u8 = 0x01;

const READ: u8 = 0x02;

const WRITE_ZEROES: u8 = 0x08;

const DATASET_MANAGEMENT: u8 = 0x09;

const ZONE_APPEND: u8 = 0x7d;

/// Force unit access, in command word 12.
const FUA: u32 = 1 << 30;

/// Deallocate, in command word 11.
const DEALLOCATE: u32 = 1 << 2;

/// A command's number of blocks has 16 bits, and 0 means 1.
const MOST_BLOCKS: u64 = 1 << 16;

/// Of a range that is deallocated.
const RANGE: usize = 16;

/// The command for an access; with `zone` a write is appended to the zone that starts at this byte.
/// `None` if no single command does it.
pub(crate) fn command(
    namespace: &Namespace,
    access: &IoAccess,
    sync: Durability,
    zone: Option<u64>,
) -> Option<Command> {
    let shift = namespace.format.shift;
    let block = access.offset >> shift;
    let blocks = access.length >> shift;
    let place = |block: u64| [block as u32, (block >> 32) as u32];
    let most = || {
        (1..=MOST_BLOCKS)
            .contains(&blocks)
            .then(|| blocks as u32 - 1)
    };
    let mut words = [0; 6];
    let (opcode, bytes) = match access.kind {
        AccessKind::Flush => (FLUSH, 0),
        AccessKind::Read => {
            words[..2].copy_from_slice(&place(block));
            words[2] = most()?;
            (READ, access.length as u32)
        }
        AccessKind::Write { durable } => {
            words[..2].copy_from_slice(&place(zone.map_or(block, |zone| zone >> shift)));
            words[2] = most()?;
            if durable || sync != Durability::None {
                words[2] |= FUA;
            }
            let opcode = if zone.is_some() { ZONE_APPEND } else { WRITE };
            (opcode, access.length as u32)
        }
        AccessKind::WriteZeroes => {
            words[..2].copy_from_slice(&place(block));
            words[2] = most()?;
            (WRITE_ZEROES, 0)
        }
        AccessKind::Discard => {
            u32::try_from(blocks).ok()?;
            // One range, whose number is 0.
            words[1] = DEALLOCATE;
            (DATASET_MANAGEMENT, RANGE as u32)
        }
    };
    Some(Command {
        opcode,
        namespace: namespace.id,
        bytes,
        words,
    })
}

/// The range that a discard deallocates, as the device reads it.
pub(crate) fn range(namespace: &Namespace, access: &IoAccess) -> [u8; RANGE] {
    let shift = namespace.format.shift;
    let mut range = [0; RANGE];
    range[4..8].copy_from_slice(&((access.length >> shift) as u32).to_le_bytes());
    range[8..].copy_from_slice(&(access.offset >> shift).to_le_bytes());
    range
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvme::Format;
    use iosonar_linux::memory::Buffer;

    const NAMESPACE: Namespace = Namespace {
        id: 7,
        format: Format {
            blocks: 1 << 20,
            shift: 12,
            metadata: 0,
        },
    };

    fn access(kind: AccessKind) -> IoAccess {
        IoAccess {
            kind,
            target: 0,
            offset: 0x1_2345_6789 << 12,
            buffer: Buffer::new(8 << 12).unwrap(),
            region: 0,
            length: 8 << 12,
        }
    }

    fn of(kind: AccessKind, zone: Option<u64>) -> Command {
        command(&NAMESPACE, &access(kind), Durability::None, zone).unwrap()
    }

    #[test]
    fn a_read_is_as_the_specification_has_it() {
        let read = Command {
            opcode: 0x02,
            namespace: 7,
            bytes: 32_768,
            // The first block, and eight blocks, counted from zero.
            words: [0x2345_6789, 1, 7, 0, 0, 0],
        };
        assert_eq!(of(AccessKind::Read, None), read);
    }

    #[test]
    fn writes_carry_fua_if_they_are_to_be_durable() {
        let plain = of(AccessKind::Write { durable: false }, None);
        assert_eq!((plain.opcode, plain.words[2]), (0x01, 7));
        let durable = of(AccessKind::Write { durable: true }, None);
        assert_eq!(durable.words[2], 7 | 1 << 30);
        let write = access(AccessKind::Write { durable: false });
        let synced = command(&NAMESPACE, &write, Durability::Data, None).unwrap();
        assert_eq!(synced.words[2], 7 | 1 << 30);
    }

    #[test]
    fn an_append_names_the_start_of_its_zone() {
        let append = of(AccessKind::Write { durable: false }, Some(0x300 << 12));
        assert_eq!(
            (append.opcode, append.words),
            (0x7d, [0x300, 0, 7, 0, 0, 0])
        );
    }

    #[test]
    fn a_flush_concerns_the_whole_namespace() {
        let flush = Command {
            opcode: 0x00,
            namespace: 7,
            bytes: 0,
            words: [0; 6],
        };
        assert_eq!(of(AccessKind::Flush, None), flush);
    }

    #[test]
    fn a_discard_deallocates_one_range() {
        let discard = Command {
            opcode: 0x09,
            namespace: 7,
            bytes: 16,
            words: [0, 4, 0, 0, 0, 0],
        };
        assert_eq!(of(AccessKind::Discard, None), discard);
        let range = range(&NAMESPACE, &access(AccessKind::Discard));
        assert_eq!(range[..4], [0; 4]);
        assert_eq!(range[4..8], 8_u32.to_le_bytes());
        assert_eq!(range[8..], 0x1_2345_6789_u64.to_le_bytes());
    }

    #[test]
    fn a_command_has_at_most_65536_blocks() {
        let of = |length| {
            let access = IoAccess {
                length,
                ..access(AccessKind::WriteZeroes)
            };
            command(&NAMESPACE, &access, Durability::None, None)
        };
        assert_eq!(of(65_536 << 12).map(|c| c.words[2]), Some(65_535));
        assert_eq!(of(65_537 << 12), None);
    }
}
