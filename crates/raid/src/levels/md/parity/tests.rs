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
        // Pages of the lost disk that do not begin it: the sixth, the sixth and seventh, and the last.
        (512 + 40, 8, 3 * 8),
        (512 + 47, 2, 3 * 16),
        (3 * 256 - 1, 1, 3 * 8),
        // In the fifth stripe disk 2 has the third unit again.
        (4 * 3 * 256 + 512 + 80, 16, 3 * 16),
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

/// The stages of a plan: their kinds, what they read and write, and their sectors through the exclusive-or.
type Stages = Vec<(
    StageKind,
    Vec<(usize, u64, u32)>,
    Vec<(usize, u64, u32)>,
    u64,
)>;

fn stages_of(array: &mut MdParity, op: Op, sector: u64, sectors: u32) -> Stages {
    let plan = plan_of(array, op, sector, sectors);
    let subs = |range: Range<usize>| {
        let subs = plan.sub_requests()[range].iter();
        subs.map(|s| (s.disk, s.sector.get(), s.sectors.get()))
            .collect()
    };
    let stage = |s: &crate::Stage| (s.kind, subs(s.first.clone()), subs(s.then.clone()), s.xor);
    plan.stages().iter().map(stage).collect()
}

/// Five disks, so that a row has four pages of data: of the first stripe on disks 0 to 3, with the parity on disk 4.
#[test]
fn rows_are_written_with_what_they_read_and_write_through_the_exclusive_or() {
    use StageKind::{Direct, ReadModifyWrite, ReconstructWrite};
    let direct = Direct(Access::Write);
    // A whole stripe: nothing is read.
    let all: Vec<_> = (0..5).map(|disk| (disk, 0, CHUNK)).collect();
    let stages = stages_of(&mut array(1, 5, &[]), Op::Write, 0, 4 * CHUNK);
    assert_eq!(stages, [(direct, all, vec![], 5 * 256)]);
    // Two pages of one disk: it and the parity are read and written.
    let pages = vec![(0, 16, 16), (4, 16, 16)];
    let mut five = array(1, 5, &[]);
    let stages = stages_of(&mut five, Op::Write, 16, 16);
    assert_eq!(
        stages,
        [(ReadModifyWrite, pages.clone(), pages.clone(), 64)]
    );
    // They are known then.
    let stages = stages_of(&mut five, Op::Write, 16, 16);
    assert_eq!(stages, [(direct, pages, vec![], 32)]);
    // Three units of four: the fourth is read.
    let stages = stages_of(&mut array(1, 5, &[]), Op::Write, 0, 3 * CHUNK);
    let written: Vec<_> = [0, 1, 2, 4].map(|disk| (disk, 0, CHUNK)).into();
    let reconstruct = (ReconstructWrite, vec![(3, 0, CHUNK)], written, 5 * 256);
    assert_eq!(stages, [reconstruct]);
    // All of the first unit and half of the second: rows of two pages, then rows of one, which read less to modify.
    let stages = stages_of(&mut array(1, 5, &[]), Op::Write, 0, CHUNK + CHUNK / 2);
    let one: Vec<_> = vec![(0, 128, 128), (4, 128, 128)];
    let modify = (ReadModifyWrite, one.clone(), one, 4 * 128);
    let rest = vec![(2, 0, 128), (3, 0, 128)];
    let two = vec![(0, 0, 128), (1, 0, 128), (4, 0, 128)];
    assert_eq!(stages, [modify, (ReconstructWrite, rest, two, 5 * 128)]);
}

/// Seven disks: of the first stripe the data are on disks 0 to 5, and the parity is on disk 6; of the next ones it moves left,
/// and the data follow it.
#[test]
fn pages_of_a_disk_that_follow_on_each_other_are_one_access_and_others_are_not() {
    use StageKind::{Direct, ReadModifyWrite};
    // Rows that write two disks, and rows that write one of them: both read less to modify.
    let stages = stages_of(&mut array(1, 7, &[]), Op::Write, 0, CHUNK + CHUNK / 2);
    let pages = vec![(0, 0, 256), (1, 0, 128), (6, 0, 256)];
    let xor = 2 * (256 + 128 + 256);
    assert_eq!(stages, [(ReadModifyWrite, pages.clone(), pages, xor)]);
    // The last unit of the first stripe, all of the second, and the first unit of the third. In between the whole stripe
    // goes another way.
    let stages = stages_of(&mut array(1, 7, &[]), Op::Write, 5 * 256, 8 * CHUNK);
    let whole: Vec<_> = (0..7).map(|disk| (disk, 256, CHUNK)).collect();
    let pages: Vec<_> = [(4, 512), (5, 0), (5, 512), (6, 0)]
        .map(|(disk, sector)| (disk, sector, CHUNK))
        .into();
    let modify = (ReadModifyWrite, pages.clone(), pages, 8 * 256);
    let direct = (Direct(Access::Write), whole, vec![], 7 * 256);
    assert_eq!(stages, [direct, modify]);
}

#[test]
fn what_has_been_rebuilt_is_on_the_spare_from_the_first_stripe_on() {
    // The smallest chunk: a row is a stripe.
    let shape = ArrayShape {
        disks: 4,
        stripe_unit: Sectors::new(PAGE),
        disk_sectors: 800,
        placement: Placement::Addressed,
    };
    let (layout, handling) = (ParityLayout::LeftSymmetric, StripeHandling::default());
    let mut raid = MdParity::new(1, shape, layout, handling, Lost::none()).unwrap();
    assert_eq!(raid.stripes_to_rebuild(), 0);
    assert_eq!(raid.data_sectors(), 3 * 800);
    assert!(raid.fail(1));
    assert_eq!(raid.stripes_to_rebuild(), 100);
    raid.rebuilt(1);
    // Stripe by stripe of three units: data on 0, 1, 2; on 3, 0, 1; on 2, 3, 0 with the parity on 1.
    let disks = |stages: Stages| -> Vec<usize> {
        let [(_, first, then, _)] = &stages[..] else {
            panic!("one stage: {stages:?}")
        };
        let mut disks: Vec<usize> = first.iter().chain(then).map(|place| place.0).collect();
        disks.sort_unstable();
        disks
    };
    for (stripe, expected) in [(0, &[0, 2, 3, 4][..]), (1, &[0, 2, 3]), (2, &[0, 2, 3])] {
        let write = stages_of(&mut raid, Op::Write, stripe * 24, 24);
        assert_eq!(disks(write), expected, "stripe {stripe}");
    }
    let mut rebuild = RequestPlan::default();
    raid.plan_rebuild(2, &mut rebuild);
    let places: Vec<_> = rebuild
        .sub_requests()
        .iter()
        .map(|s| (s.disk, s.sector.get(), s.sectors.get()))
        .collect();
    assert_eq!(places, [(0, 16, 8), (2, 16, 8), (3, 16, 8), (4, 16, 8)]);
    assert!(!raid.fail(2), "two are too many");
    raid.rebuilt(100);
    assert!(raid.fail(2), "the first is whole again");
}
