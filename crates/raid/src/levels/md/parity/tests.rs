//! What degraded reads compute.

use iosonar_trace::Op;

use super::*;
use crate::levels::tests::plan_of;
use crate::{ParityLayout, Placement};

/// Sectors of a chunk.
const CHUNK: u32 = 256;

fn array(parities: u8, disks: usize, lost: &[usize]) -> MdParity {
    let shape = ArrayShape {
        disks,
        stripe_unit: Sectors::new(CHUNK),
        disk_sectors: 1 << 20,
        placement: Placement::Addressed,
    };
    let (layout, handling) = (ParityLayout::LeftSymmetric, StripeHandling::default());
    MdParity::new(parities, shape, layout, handling, Lost::new(lost.to_vec())).unwrap()
}

/// The sectors that a read puts through the exclusive-or.
fn xor_of_read(array: &mut MdParity, sector: u64, sectors: u32) -> u64 {
    let plan = plan_of(array, Op::Read, sector, sectors);
    plan.stages().iter().map(|stage| stage.xor).sum()
}

#[test]
fn a_read_of_a_degraded_array_computes_only_what_is_lost() {
    let raid5 = || array(1, 4, &[2]);
    // The first stripe has its data on disks 0 to 2 and its parity on disk 3.
    for (sector, sectors, xor) in [
        (0, 2 * CHUNK, 0),
        (512, 8, 3 * 8),
        // The last page of disk 1 and the first of disk 2.
        (504, 16, 3 * 8),
        // Half a page: pages are computed whole.
        (516, 4, 3 * 8),
        (0, 3 * CHUNK, 3 * 256),
        // The second stripe has its parity on the lost disk.
        (3 * 256, 3 * CHUNK, 0),
    ] {
        let seen = xor_of_read(&mut raid5(), sector, sectors);
        assert_eq!(seen, xor, "{sectors} sectors from {sector}");
    }
    // What was computed is in the stripe cache, and not computed again.
    let mut raid5 = raid5();
    assert_eq!(xor_of_read(&mut raid5, 512, 8), 3 * 8);
    assert_eq!(xor_of_read(&mut raid5, 512, 8), 0);
    // RAID 6 begins with Q on disk 0 and P on the last. Two lost pages of a row follow from the same three others.
    assert_eq!(xor_of_read(&mut array(2, 5, &[1]), 0, 3 * CHUNK), 3 * 256);
    assert_eq!(
        xor_of_read(&mut array(2, 5, &[1, 2]), 0, 3 * CHUNK),
        3 * 256
    );
    assert_eq!(xor_of_read(&mut array(2, 5, &[0, 4]), 0, 3 * CHUNK), 0);
}
