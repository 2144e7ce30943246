//! RAID 1, 10 and 01: every block on several disks.
//!
//! Blocks go round-robin over *columns*; a column is as many disks as there are copies. RAID 1 has
//! one column; RAID 10 is a stripe of mirrors, whose copies are neighbours; RAID 01 is a mirror of
//! stripes, whose copies lie on different *sides* of the array. Where all disks are well, 10 and 01
//! differ in the numbers of the disks only.

mod read;

use iosonar_device::{Access, Observable};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use super::Lost;
use super::striped::access_of;
use crate::choice::Choice;
use crate::{ArrayShape, GeometryError, Placement, Planner, RequestPlan, StripeGeometry};
use read::Block;
pub use read::MirrorRead;

/// How the copies of a block lie in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Next to each other: RAID 1 and 10.
    Neighbours,
    /// On different sides: RAID 01.
    Sides,
}

/// A mirrored array.
#[derive(Clone, Debug)]
pub struct Mirrored {
    geometry: StripeGeometry,
    arrangement: Arrangement,
    copies: u64,
    read: MirrorRead,
    lost: Lost,
    first_column: Choice,
    side: Choice,
    /// Whose turn it is, by column.
    turns: Vec<u32>,
    /// The copy that this request reads from, by column.
    chosen: Vec<Option<u64>>,
}

impl Mirrored {
    /// An array of a multiple of `copies` disks, of which each column keeps at least one.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn new(
        arrangement: Arrangement,
        copies: usize,
        shape: ArrayShape,
        read: MirrorRead,
        lost: Lost,
        seed: &Seed,
    ) -> Result<Self, GeometryError> {
        let disks = shape.disks;
        let level = match arrangement {
            Arrangement::Sides => "RAID 01",
            Arrangement::Neighbours if copies == disks => "RAID 1",
            Arrangement::Neighbours => "RAID 10",
        };
        if copies < 2 || !disks.is_multiple_of(copies) {
            return Err(GeometryError::Copies {
                level,
                copies,
                seen: disks,
            });
        }
        let mirrored = Self {
            // Of RAID 1 there are as many copies as disks, of which two are enough.
            geometry: StripeGeometry::new(level, if copies == disks { 2 } else { copies }, shape)?,
            arrangement,
            copies: copies as u64,
            read,
            first_column: Choice::new(seed.stream("array", "first disk")),
            side: Choice::new(seed.stream("array", "side")),
            turns: vec![0; disks / copies],
            chosen: vec![None; disks / copies],
            lost,
        };
        if !mirrored.has_all() {
            return Err(GeometryError::Lost {
                level,
                seen: mirrored.lost.disks().to_vec(),
                most: "all but one copy of each block",
            });
        }
        Ok(mirrored)
    }

    /// Whether a copy of each block is well.
    fn has_all(&self) -> bool {
        (0..self.columns()).all(|column| self.living(column, None).next().is_some())
    }

    fn columns(&self) -> u64 {
        self.geometry.disks as u64 / self.copies
    }

    #[inline]
    fn disk(&self, side: u64, column: u64) -> usize {
        (match self.arrangement {
            Arrangement::Sides => side * self.columns() + column,
            Arrangement::Neighbours => column * self.copies + side,
        }) as usize
    }

    /// Where a side is chosen once for a request.
    pub(super) fn choices(&self) -> Option<[u64; 2]> {
        let once = matches!(
            self.read,
            MirrorRead::Halves | MirrorRead::RoundRobin | MirrorRead::AlternatingRows
        );
        (once && !self.lost.any()).then(|| [self.columns(), self.copies])
    }

    pub(super) fn fix_choices(&mut self, [column, side]: [u64; 2]) {
        self.first_column.give(column);
        self.side.give(side);
    }
}

impl Planner for Mirrored {
    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        let (geometry, columns, disks) = (self.geometry, self.columns(), self.geometry.disks);
        let by_request = matches!(
            self.read,
            MirrorRead::Random
                | MirrorRead::Turns
                | MirrorRead::ShorterQueue
                | MirrorRead::NearerArm
        );
        let mut first_side = 0;
        if access == Access::Read {
            if by_request {
                self.chosen.fill(None);
            } else {
                first_side = self.side.below(self.copies);
            }
        }
        let (first_column, blocks) = match geometry.placement {
            Placement::Random => (
                self.first_column.below(columns),
                geometry.units(request.sectors),
            ),
            Placement::Addressed => (
                geometry.unit_of(request.sector) % columns,
                geometry.count_pieces(request),
            ),
        };
        let mut pieces = geometry.pieces(request);
        let mut column = first_column;
        for number in 0..blocks {
            let (stripe, sector, sectors) = match geometry.placement {
                Placement::Random => (None, geometry.disk_sector(0, 0), geometry.stripe_unit),
                Placement::Addressed => {
                    let Some(piece) = pieces.next() else { break };
                    let stripe = piece.unit / columns;
                    let sector = geometry.disk_sector(stripe, piece.offset);
                    (Some(stripe), sector, Sectors::new(piece.sectors))
                }
            };
            match access {
                Access::Read => {
                    let block = Block {
                        number,
                        of: blocks,
                        column,
                        stripe,
                        sector,
                    };
                    let side = self.side(block, first_side, first_column, devices);
                    let disk = self.disk(side, column);
                    plan.add(self.lost.device(disk, stripe, disks), sector, sectors);
                }
                Access::Write | Access::Discard | Access::Flush => {
                    for side in 0..self.copies {
                        let disk = self.disk(side, column);
                        if !self.lost.contains(disk, stripe) {
                            plan.add(self.lost.device(disk, stripe, disks), sector, sectors);
                        }
                    }
                }
            }
            column = if column + 1 == columns { 0 } else { column + 1 };
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.stripes() * self.columns() * u64::from(self.geometry.stripe_unit.get())
    }

    fn issues_at_once(&self, op: Op, _: Option<Sectors>) -> bool {
        let looks_at_devices =
            matches!(self.read, MirrorRead::ShorterQueue | MirrorRead::NearerArm);
        op != Op::Read || !looks_at_devices
    }

    fn stripes_to_rebuild(&self) -> u64 {
        self.lost.to_rebuild(&self.geometry)
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        for column in 0..self.columns() {
            let disks = || (0..self.copies).map(|side| self.disk(side, column));
            let lost = |disk: &usize| self.lost.contains(*disk, Some(stripe));
            if disks().any(|disk| lost(&disk))
                && let Some(source) = disks().find(|disk| !lost(disk))
            {
                let disks = self.geometry.disks;
                let device = self.lost.device(source, Some(stripe), disks);
                self.geometry.add_unit(plan, device, stripe);
            }
        }
        self.lost.write_spares(plan, stripe, &self.geometry);
    }

    fn rebuilt(&mut self, stripes: u64) {
        self.lost.rebuilt(stripes, self.geometry.stripes());
    }

    fn fail(&mut self, disk: usize) -> bool {
        self.lost.add(disk);
        let tolerates = self.has_all();
        if !tolerates {
            self.lost.take_back();
        }
        tolerates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::plan_of;
    use proptest::prelude::*;

    const UNIT: u32 = 8;

    fn with_lost(
        arrangement: Arrangement,
        copies: usize,
        disks: usize,
        placement: Placement,
        read: MirrorRead,
        lost: &[usize],
    ) -> Result<Mirrored, GeometryError> {
        let shape = ArrayShape {
            disks,
            stripe_unit: Sectors::new(UNIT),
            disk_sectors: 1 << 20,
            placement,
        };
        let (lost, seed) = (Lost::new(lost.to_vec()), Seed::new(1));
        Mirrored::new(arrangement, copies, shape, read, lost, &seed)
    }

    fn raid01(disks: usize, placement: Placement, read: MirrorRead) -> Mirrored {
        with_lost(Arrangement::Sides, 2, disks, placement, read, &[]).unwrap()
    }

    fn disks(raid: &mut Mirrored, op: Op, sector: u64, sectors: u32) -> Vec<usize> {
        let plan = plan_of(raid, op, sector, sectors);
        plan.sub_requests().iter().map(|s| s.disk).collect()
    }

    #[test]
    fn copies_are_neighbours_in_raid_10_and_take_turns() {
        let (kind, placement) = (Arrangement::Neighbours, Placement::Addressed);
        let mut raid = with_lost(kind, 2, 4, placement, MirrorRead::Turns, &[]).unwrap();
        assert_eq!(disks(&mut raid, Op::Write, 8, UNIT), [2, 3]);
        assert_eq!(disks(&mut raid, Op::Read, 0, UNIT), [1]);
        assert_eq!(disks(&mut raid, Op::Read, 0, UNIT), [0]);
        assert_eq!(disks(&mut raid, Op::Read, 8, UNIT), [3]);
        // One copy of a column serves all of a request.
        assert_eq!(disks(&mut raid, Op::Read, 0, 4 * UNIT), [1, 2, 1, 2]);
    }

    #[test]
    fn what_is_lost_is_neither_read_nor_written() {
        let (kind, placement) = (Arrangement::Neighbours, Placement::Addressed);
        for read in [
            MirrorRead::Random,
            MirrorRead::Halves,
            MirrorRead::RandomPerBlock,
        ] {
            let mut raid = with_lost(kind, 3, 3, placement, read, &[0, 2]).unwrap();
            for _ in 0..20 {
                assert_eq!(disks(&mut raid, Op::Read, 0, UNIT), [1]);
            }
            assert_eq!(disks(&mut raid, Op::Write, 0, UNIT), [1]);
            raid.rebuilt(1);
            assert_eq!(
                disks(&mut raid, Op::Write, 0, UNIT),
                [3, 1, 4],
                "the spares"
            );
            assert_eq!(disks(&mut raid, Op::Write, 8, UNIT), [1], "not yet");
        }
        let error = with_lost(kind, 2, 4, placement, MirrorRead::Random, &[2, 3]).unwrap_err();
        assert!(error.to_string().contains("all but one copy"), "{error}");
        assert!(with_lost(kind, 2, 4, placement, MirrorRead::Random, &[1, 3]).is_ok());
        assert!(
            with_lost(
                Arrangement::Sides,
                2,
                4,
                placement,
                MirrorRead::Random,
                &[1, 3]
            )
            .is_err()
        );
    }

    #[test]
    fn a_rebuild_reads_the_other_copy_and_writes_the_spare() {
        let (kind, placement) = (Arrangement::Neighbours, Placement::Addressed);
        let mut raid = with_lost(kind, 2, 4, placement, MirrorRead::Random, &[2]).unwrap();
        let mut plan = RequestPlan::default();
        raid.plan_rebuild(5, &mut plan);
        let disks: Vec<_> = plan
            .sub_requests()
            .iter()
            .map(|s| (s.disk, s.sector.get()))
            .collect();
        assert_eq!(disks, [(3, 40), (4, 40)]);
        assert_eq!(
            (
                plan.stages()[0].first.clone(),
                plan.stages()[0].then.clone()
            ),
            (0..1, 1..2)
        );
    }

    #[test]
    fn a_read_of_all_columns_twice_takes_each_disk_once() {
        for policy in [
            MirrorRead::Halves,
            MirrorRead::RoundRobin,
            MirrorRead::AlternatingRows,
        ] {
            let mut raid = raid01(4, Placement::Random, policy);
            for _ in 0..20 {
                let mut used = disks(&mut raid, Op::Read, 0, 4 * UNIT);
                used.sort_unstable();
                assert_eq!(used, [0, 1, 2, 3], "{policy:?}");
            }
        }
    }

    #[test]
    fn two_blocks_in_halves_come_from_different_sides() {
        let mut raid = raid01(4, Placement::Random, MirrorRead::Halves);
        for _ in 0..20 {
            let used = disks(&mut raid, Op::Read, 0, 2 * UNIT);
            assert_ne!(used[0] / 2, used[1] / 2, "the sides");
            assert_ne!(used[0] % 2, used[1] % 2, "the columns");
        }
    }

    #[test]
    fn a_write_goes_to_both_sides() {
        let mut raid = raid01(6, Placement::Addressed, MirrorRead::Halves);
        assert_eq!(disks(&mut raid, Op::Write, 8, 2 * UNIT), [1, 4, 2, 5]);
    }

    #[test]
    fn an_odd_number_of_disks_has_no_mirror() {
        let (kind, placement) = (Arrangement::Sides, Placement::Random);
        let error = with_lost(kind, 2, 5, placement, MirrorRead::Halves, &[]);
        assert!(error.unwrap_err().to_string().contains("multiple"));
    }

    /// A device at a place of its own, with so many jobs.
    struct Arm {
        at: u64,
        jobs: usize,
    }

    impl Observable for Arm {
        fn occupancy(&self) -> iosonar_device::Occupancy {
            iosonar_device::Occupancy {
                waiting: self.jobs,
                ..Default::default()
            }
        }

        fn distance(&self, sector: iosonar_units::Sector) -> u64 {
            self.at.abs_diff(sector.get())
        }
    }

    #[test]
    fn a_read_by_state_takes_the_nearest_arm_or_the_shortest_queue_of_those_that_are_well() {
        let (kind, placement) = (Arrangement::Neighbours, Placement::Addressed);
        let (nearer, shorter) = (MirrorRead::NearerArm, MirrorRead::ShorterQueue);
        for (read, sector, arms, lost, expected) in [
            (nearer, 1000, [(0, 0), (901, 9), (1100, 9)], &[][..], 1),
            (nearer, 1000, [(0, 0), (901, 9), (1100, 9)], &[1], 2),
            (nearer, 1000, [(900, 2), (1100, 1), (900, 1)], &[], 1),
            (nearer, 1000, [(990, 1), (1010, 1), (900, 0)], &[], 0),
            (shorter, 1000, [(1000, 2), (0, 1), (1000, 1)], &[], 1),
            (shorter, 1000, [(1000, 2), (0, 1), (1000, 1)], &[1], 2),
        ] {
            let mut raid = with_lost(kind, 3, 3, placement, read, lost).unwrap();
            let request = Request {
                sector: iosonar_units::Sector::new(sector),
                sectors: Sectors::new(1),
                ..Request::default()
            };
            let mut plan = RequestPlan::default();
            let arms = arms.map(|(at, jobs)| Arm { at, jobs });
            raid.plan(&request, &arms, &mut plan);
            assert_eq!(plan.sub_requests()[0].disk, expected, "{read:?} {lost:?}");
        }
        // Where stripes have been rebuilt the spare is looked at, which is the fourth device.
        let mut raid = with_lost(kind, 3, 3, placement, shorter, &[1]).unwrap();
        raid.rebuilt(1);
        let arms = [3, 3, 2, 1].map(|jobs| Arm { at: 0, jobs });
        for (sector, expected) in [(0, 3), (u64::from(UNIT), 2)] {
            let request = Request {
                sector: iosonar_units::Sector::new(sector),
                sectors: Sectors::new(1),
                ..Request::default()
            };
            let mut plan = RequestPlan::default();
            raid.plan(&request, &arms, &mut plan);
            assert_eq!(plan.sub_requests()[0].disk, expected);
        }
    }

    /// Three sides of two columns. Halves: as many parts as there are sides, the larger ones first; else round the disks,
    /// or one side for each row.
    #[test]
    fn the_blocks_of_a_read_change_sides_as_the_policy_says() {
        use MirrorRead::{AlternatingRows, Halves, RoundRobin};
        let columns = 2;
        for placement in [Placement::Random, Placement::Addressed] {
            for policy in [Halves, RoundRobin, AlternatingRows] {
                for (column, first, blocks) in (0..2).flat_map(|column| {
                    (0..3).flat_map(move |first| (1..15).map(move |blocks| (column, first, blocks)))
                }) {
                    let sides = Arrangement::Sides;
                    let mut raid = with_lost(sides, 3, 6, placement, policy, &[]).unwrap();
                    raid.fix_choices([column, first]);
                    let sector = column * u64::from(UNIT);
                    let used = disks(&mut raid, Op::Read, sector, blocks * UNIT);
                    let expected: Vec<usize> = (0..u64::from(blocks))
                        .map(|block| {
                            let part = match policy {
                                Halves => (0..3)
                                    .scan(0, |end, _| {
                                        *end += u64::from(blocks.div_ceil(3));
                                        Some(*end)
                                    })
                                    .position(|end| block < end)
                                    .unwrap() as u64,
                                RoundRobin => (column + block) / columns,
                                _ => block / columns,
                            };
                            ((first + part) % 3 * columns + (column + block) % columns) as usize
                        })
                        .collect();
                    assert_eq!(used, expected, "{placement:?} {policy:?} {column} {first}");
                }
            }
        }
    }

    #[test]
    fn copies_that_are_lost_are_passed_over_by_the_next_side() {
        // Three sides of one disk each: of the second the third takes over, of the third the first.
        for (lost, first, expected) in [(1, 1, 2), (2, 2, 0), (0, 0, 1), (1, 0, 0)] {
            let (kind, placement) = (Arrangement::Sides, Placement::Addressed);
            let mut raid = with_lost(kind, 3, 3, placement, MirrorRead::Halves, &[lost]).unwrap();
            raid.fix_choices([0, first]);
            assert_eq!(disks(&mut raid, Op::Read, 0, 1), [expected]);
        }
    }

    #[test]
    fn a_column_that_would_lose_its_last_copy_keeps_it() {
        let (kind, placement) = (Arrangement::Neighbours, Placement::Addressed);
        let mut raid = with_lost(kind, 2, 4, placement, MirrorRead::Turns, &[]).unwrap();
        assert_eq!((raid.disks(), raid.data_sectors()), (4, 2 << 20));
        assert_eq!(raid.stripes_to_rebuild(), 0);
        assert_eq!([1, 0, 2].map(|disk| raid.fail(disk)), [true, false, true]);
        assert_eq!(raid.stripes_to_rebuild(), (1 << 20) / u64::from(UNIT));
        assert_eq!(disks(&mut raid, Op::Write, 0, 2 * UNIT), [0, 3]);
    }

    proptest! {
        #[test]
        fn both_sides_hold_the_same(sector in 0..5000_u64, sectors in 1..300_u32, columns in 1..5_usize) {
            let mut raid = raid01(2 * columns, Placement::Addressed, MirrorRead::Halves);
            let plan = plan_of(&mut raid, Op::Write, sector, sectors);
            let written: u32 = plan.sub_requests().iter().map(|s| s.sectors.get()).sum();
            prop_assert_eq!(written, 2 * sectors);
            for pair in plan.sub_requests().chunks(2) {
                prop_assert_eq!(pair[0].disk + columns, pair[1].disk);
                prop_assert_eq!((pair[0].sector, pair[0].sectors), (pair[1].sector, pair[1].sectors));
            }
        }
    }
}
