//! RAID 5: rotating parity.
//!
//! **Reads** go to the data disks only. **Writes** treat each stripe on its own; let r be the
//! number of its units that are touched, n the number of disks:
//!
//! - all n-1 data units whole: a *full stripe*, n writes at once, nothing to read;
//! - 2 r < n-1: *read-modify-write*: read the old data and the old parity, then write both;
//! - otherwise *reconstruct-write*: read what stays of the stripe, then write data and parity.
//!
//! Where that is, is either random ([`random`]) or follows from addresses ([`addressed`]).

mod addressed;
mod random;

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use crate::striping::Piece;
use crate::{Geometry, GeometryError, Placement, Plan, Planner};
pub use addressed::ParityLayout;
pub use random::{RandomLayout, ReadLayout, WriteStart};

/// A RAID 5 array.
#[derive(Clone, Debug)]
pub struct Raid5 {
    geometry: Geometry,
    placement: Placement,
    layout: ParityLayout,
    random: RandomLayout,
    first_disk: Stream,
    parity_disk: Stream,
    pieces: Vec<Piece>,
}

impl Raid5 {
    /// An array of at least three disks of `disk_sectors`. `layout` matters for placement by addresses
    /// only, `random` for random placement only.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn new(
        disks: usize,
        stripe_unit: Sectors,
        disk_sectors: u64,
        placement: Placement,
        layout: ParityLayout,
        random: RandomLayout,
        seed: &Seed,
    ) -> Result<Self, GeometryError> {
        Ok(Self {
            geometry: Geometry::new("RAID 5", 3, disks, stripe_unit, disk_sectors)?,
            placement,
            layout,
            random,
            first_disk: seed.stream("array", "first disk"),
            parity_disk: seed.stream("array", "parity disk"),
            pieces: Vec::new(),
        })
    }

    fn data_disks(&self) -> u64 {
        self.geometry.disks() as u64 - 1
    }
}

impl Planner for Raid5 {
    fn plan(&mut self, request: &Request, plan: &mut Plan) {
        let blocks = self.geometry.units(request.sectors);
        match (request.op, self.placement) {
            (Op::Read, Placement::Random) => self.read_at_random(blocks, plan),
            (Op::Read, Placement::Addressed) => self.read_addressed(request, plan),
            (Op::Write | Op::WriteZeroes, Placement::Random) => self.write_at_random(blocks, plan),
            (Op::Write | Op::WriteZeroes, Placement::Addressed) => {
                self.write_addressed(request, plan);
            }
            (Op::Flush | Op::Discard, _) => {}
        }
    }

    fn disks(&self) -> usize {
        self.geometry.disks()
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.stripes() * self.data_disks() * u64::from(self.geometry.stripe_unit().get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StageKind;
    use iosonar_device::Access;
    use iosonar_units::Sector;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const UNIT: u32 = 8;

    fn raid5(disks: usize, placement: Placement, write_start: WriteStart) -> Raid5 {
        let (unit, seed) = (Sectors::new(UNIT), Seed::new(1));
        let random = RandomLayout {
            write_start,
            ..RandomLayout::default()
        };
        let layout = ParityLayout::LeftSymmetric;
        Raid5::new(disks, unit, 1 << 20, placement, layout, random, &seed).unwrap()
    }

    fn plan(raid: &mut Raid5, op: Op, sector: u64, sectors: u32) -> Plan {
        let mut plan = Plan::default();
        let request = Request {
            op,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        };
        raid.plan(&request, &mut plan);
        plan
    }

    fn disks(plan: &Plan, range: std::ops::Range<usize>) -> Vec<usize> {
        plan.sub_requests()[range].iter().map(|s| s.disk).collect()
    }

    #[test]
    fn left_symmetric_parity_goes_left_and_data_follow_it() {
        let raid = raid5(4, Placement::Addressed, WriteStart::AfterParity);
        let rows: Vec<_> = (0..12).map(|unit| raid.place(unit)).collect();
        assert_eq!(
            rows,
            [
                (0, 3),
                (1, 3),
                (2, 3),
                (3, 2),
                (0, 2),
                (1, 2),
                (2, 1),
                (3, 1),
                (0, 1),
                (1, 0),
                (2, 0),
                (3, 0),
            ]
        );
    }

    #[test]
    fn the_four_layouts_of_three_disks() {
        for (layout, rows) in [
            (
                ParityLayout::LeftSymmetric,
                [(0, 2), (1, 2), (2, 1), (0, 1), (1, 0), (2, 0)],
            ),
            (
                ParityLayout::LeftAsymmetric,
                [(0, 2), (1, 2), (0, 1), (2, 1), (1, 0), (2, 0)],
            ),
            (
                ParityLayout::RightSymmetric,
                [(1, 0), (2, 0), (2, 1), (0, 1), (0, 2), (1, 2)],
            ),
            (
                ParityLayout::RightAsymmetric,
                [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)],
            ),
        ] {
            let mut raid = raid5(3, Placement::Addressed, WriteStart::AfterParity);
            raid.layout = layout;
            let placed: Vec<_> = (0..6).map(|unit| raid.place(unit)).collect();
            assert_eq!(placed, rows, "{layout:?}");
        }
    }

    #[test]
    fn a_full_stripe_write_needs_no_preread() {
        let mut raid = raid5(4, Placement::Addressed, WriteStart::AfterParity);
        let plan = plan(&mut raid, Op::Write, 0, 3 * UNIT);
        assert_eq!(plan.stages().len(), 1);
        assert_eq!(plan.stages()[0].kind, StageKind::Direct(Access::Write));
        assert_eq!(disks(&plan, 0..4), [0, 1, 2, 3]);
    }

    #[test]
    fn one_unit_of_three_is_read_modify_write_and_two_are_reconstruct_write() {
        for placement in [Placement::Addressed, Placement::Random] {
            let mut raid = raid5(4, placement, WriteStart::AfterParity);
            let small = plan(&mut raid, Op::Write, 0, UNIT);
            assert_eq!(small.stages()[0].kind, StageKind::ReadModifyWrite);
            assert_eq!(
                (small.stages()[0].first.len(), small.stages()[0].then.len()),
                (2, 2)
            );
            let large = plan(&mut raid, Op::Write, 0, 2 * UNIT);
            assert_eq!(large.stages()[0].kind, StageKind::ReconstructWrite);
            assert_eq!(
                (large.stages()[0].first.len(), large.stages()[0].then.len()),
                (1, 3)
            );
        }
    }

    #[test]
    fn half_of_the_stripe_exactly_is_reconstruct_write() {
        let mut raid = raid5(5, Placement::Random, WriteStart::AfterParity);
        let plan = plan(&mut raid, Op::Write, 0, 2 * UNIT);
        assert_eq!(plan.stages()[0].kind, StageKind::ReconstructWrite);
        assert_eq!(plan.stages()[0].first.len(), 2);
    }

    #[test]
    fn a_partly_written_unit_is_never_full() {
        let mut raid = raid5(4, Placement::Addressed, WriteStart::AfterParity);
        // All three units are touched, the last one but for a sector.
        let plan = plan(&mut raid, Op::Write, 0, 3 * UNIT - 1);
        let stage = &plan.stages()[0];
        assert_eq!(stage.kind, StageKind::ReconstructWrite);
        let rest = plan.sub_requests()[stage.first.clone()].to_vec();
        assert_eq!(
            rest.len(),
            1,
            "only the last sector of the last unit is read"
        );
        assert_eq!(
            (rest[0].disk, rest[0].sector.get(), rest[0].sectors.get()),
            (2, 7, 1)
        );
    }

    #[test]
    fn a_small_write_touches_the_same_range_of_the_parity() {
        let mut raid = raid5(4, Placement::Addressed, WriteStart::AfterParity);
        let plan = plan(&mut raid, Op::Write, 3 * 8 + 2, 3);
        let subs = plan.sub_requests();
        assert_eq!(
            disks(&plan, 0..4),
            [3, 2, 3, 2],
            "data and parity, read and written"
        );
        assert!(
            subs.iter()
                .all(|s| s.sector.get() == 8 + 2 && s.sectors.get() == 3)
        );
    }

    #[test]
    fn full_stripes_come_ahead_of_the_partial_one_and_the_parity_moves_on() {
        let mut raid = raid5(4, Placement::Random, WriteStart::ArrayFirst);
        let plan = plan(&mut raid, Op::Write, 0, 4 * UNIT);
        let kinds: Vec<_> = plan.stages().iter().map(|s| s.kind).collect();
        assert_eq!(
            kinds,
            [StageKind::Direct(Access::Write), StageKind::ReadModifyWrite]
        );
        assert_eq!(disks(&plan, 0..4), [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn an_addressed_read_covers_each_sector_once_and_no_parity(
            n in 3..8_usize, sector in 0..3000_u64, sectors in 1..200_u32,
        ) {
            let mut raid = raid5(n, Placement::Addressed, WriteStart::AfterParity);
            let plan = plan(&mut raid, Op::Read, sector, sectors);
            let mut seen = BTreeSet::new();
            for s in plan.sub_requests() {
                let stripe = s.sector.get() / u64::from(UNIT);
                prop_assert_ne!(s.disk as u64, n as u64 - 1 - stripe % n as u64, "not the parity");
                for i in 0..u64::from(s.sectors.get()) {
                    prop_assert!(seen.insert((s.disk, s.sector.get() + i)));
                }
            }
            prop_assert_eq!(seen.len() as u64, u64::from(sectors));
        }

        /// Carries out the plans on a small array in memory and checks parity after each write.
        #[test]
        fn addressed_writes_know_all_they_need_for_the_parity(
            n in 3..7_usize,
            writes in prop::collection::vec((0..400_u64, 1..120_u32), 1..12),
        ) {
            let mut raid = raid5(n, Placement::Addressed, WriteStart::AfterParity);
            // (disk, sector) -> value; absent is 0, so the parity of an untouched array is right.
            let mut medium: BTreeMap<(usize, u64), u64> = BTreeMap::new();
            for (k, (sector, sectors)) in writes.into_iter().enumerate() {
                let plan = plan(&mut raid, Op::Write, sector, sectors);
                let cells = |range: std::ops::Range<usize>| plan.sub_requests()[range].iter()
                    .flat_map(|s| (0..u64::from(s.sectors.get())).map(|i| (s.disk, s.sector.get() + i)))
                    .collect::<Vec<_>>();
                let is_parity = |&(disk, at): &(usize, u64)| disk as u64 == n as u64 - 1 - at / u64::from(UNIT) % n as u64;
                let mut data_written = 0;
                for stage in plan.stages() {
                    let writes = if let StageKind::Direct(_) = stage.kind { cells(stage.first.clone()) } else { cells(stage.then.clone()) };
                    let read: BTreeMap<_, _> = if let StageKind::Direct(_) = stage.kind { BTreeMap::new() } else {
                        cells(stage.first.clone()).into_iter().map(|c| (c, medium.get(&c).copied().unwrap_or(0))).collect()
                    };
                    let new: BTreeMap<_, _> = writes.iter().filter(|c| !is_parity(c))
                        .map(|&c| (c, (k as u64 + 1) << 32 | c.1 << 8 | c.0 as u64)).collect();
                    data_written += new.len();
                    for &(disk, at) in writes.iter().filter(|c| is_parity(c)) {
                        // A controller knows only what it read and what it was given.
                        let row = (0..n).filter(|&d| d != disk).map(|d| (d, at));
                        let value = match stage.kind {
                            StageKind::ReadModifyWrite => row
                                .filter_map(|c| new.get(&c).map(|v| v ^ read[&c]))
                                .fold(read[&(disk, at)], |x, y| x ^ y),
                            _ => row.map(|c| *new.get(&c).or_else(|| read.get(&c)).expect("known"))
                                .fold(0, |x, y| x ^ y),
                        };
                        medium.insert((disk, at), value);
                    }
                    medium.extend(new);
                }
                prop_assert_eq!(data_written as u64, u64::from(sectors));
                let rows: BTreeSet<u64> = medium.keys().map(|&(_, at)| at).collect();
                for at in rows {
                    let sum = (0..n).filter_map(|d| medium.get(&(d, at))).fold(0, |x, y| x ^ y);
                    prop_assert_eq!(sum, 0, "parity at {}", at);
                }
            }
        }
    }
}
