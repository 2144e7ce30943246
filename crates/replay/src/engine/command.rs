//! Accesses as NVMe commands (NVM Command Set specification).

use super::access::{AccessKind, Durability, IoAccess};
use crate::nvme::{COMMAND, Command, Namespace};

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

/// The command for an access, as a ring takes it; with `zone` a write is appended to the zone that starts at this byte.
/// `None` if no single command does it.
pub(crate) fn command(
    namespace: &Namespace,
    access: &IoAccess,
    sync: Durability,
    zone: Option<u64>,
) -> Option<[u8; 80]> {
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
    let (opcode, address, bytes) = match access.kind {
        AccessKind::Flush => (FLUSH, 0, 0),
        AccessKind::Read => {
            words[..2].copy_from_slice(&place(block));
            words[2] = most()?;
            (READ, access.buffer as u64, access.length as u32)
        }
        AccessKind::Write { durable } => {
            words[..2].copy_from_slice(&place(zone.map_or(block, |zone| zone >> shift)));
            words[2] = most()?;
            if durable || sync != Durability::None {
                words[2] |= FUA;
            }
            let opcode = if zone.is_some() { ZONE_APPEND } else { WRITE };
            (opcode, access.buffer as u64, access.length as u32)
        }
        AccessKind::WriteZeroes => {
            words[..2].copy_from_slice(&place(block));
            words[2] = most()?;
            (WRITE_ZEROES, 0, 0)
        }
        AccessKind::Discard => {
            u32::try_from(blocks).ok()?;
            // One range, whose number is 0.
            words[1] = DEALLOCATE;
            (DATASET_MANAGEMENT, access.buffer as u64, RANGE as u32)
        }
    };
    let command = Command {
        opcode,
        namespace: namespace.id,
        address,
        bytes,
        words,
    };
    let mut entry = [0; 80];
    entry[..COMMAND].copy_from_slice(&command.encoded());
    Some(entry)
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
            buffer: 0x7000_0000_1000 as *mut u8,
            region: 0,
            length: 8 << 12,
        }
    }

    fn word(command: &[u8], number: usize) -> u32 {
        let at = 40 + 4 * (number - 10);
        u32::from_ne_bytes(command[at..at + 4].try_into().unwrap())
    }

    fn encoded(kind: AccessKind, zone: Option<u64>) -> [u8; 80] {
        command(&NAMESPACE, &access(kind), Durability::None, zone).unwrap()
    }

    #[test]
    fn a_read_is_as_the_specification_has_it() {
        let command = encoded(AccessKind::Read, None);
        assert_eq!(command[0], 0x02);
        assert_eq!(command[4..8], 7_u32.to_ne_bytes());
        assert_eq!(command[24..32], 0x7000_0000_1000_u64.to_ne_bytes());
        assert_eq!(command[36..40], 32_768_u32.to_ne_bytes());
        assert_eq!(word(&command, 10), 0x2345_6789);
        assert_eq!(word(&command, 11), 1);
        assert_eq!(word(&command, 12), 7, "eight blocks, counted from zero");
        assert_eq!(command[64..], [0; 16]);
    }

    #[test]
    fn writes_carry_fua_if_they_are_to_be_durable() {
        let plain = encoded(AccessKind::Write { durable: false }, None);
        assert_eq!((plain[0], word(&plain, 12)), (0x01, 7));
        let durable = encoded(AccessKind::Write { durable: true }, None);
        assert_eq!(word(&durable, 12), 7 | 1 << 30);
        let write = access(AccessKind::Write { durable: false });
        let synced = command(&NAMESPACE, &write, Durability::Data, None).unwrap();
        assert_eq!(word(&synced, 12), 7 | 1 << 30);
    }

    #[test]
    fn an_append_names_the_start_of_its_zone() {
        let append = encoded(AccessKind::Write { durable: false }, Some(0x300 << 12));
        assert_eq!(
            (append[0], word(&append, 10), word(&append, 11)),
            (0x7d, 0x300, 0)
        );
        assert_eq!(word(&append, 12), 7);
    }

    #[test]
    fn a_flush_concerns_the_whole_namespace() {
        let command = encoded(AccessKind::Flush, None);
        assert_eq!(command[0], 0x00);
        assert!(command[8..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_discard_deallocates_one_range() {
        let command = encoded(AccessKind::Discard, None);
        assert_eq!(
            (command[0], word(&command, 10), word(&command, 11)),
            (0x09, 0, 4)
        );
        assert_eq!(command[36..40], 16_u32.to_ne_bytes());
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
        assert_eq!(of(65_536 << 12).map(|c| word(&c, 12)), Some(65_535));
        assert_eq!(of(65_537 << 12), None);
    }
}
