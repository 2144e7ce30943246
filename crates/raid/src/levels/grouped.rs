//! RAID 50 and 60: stripes over groups, each of which is an array with parity.

use iosonar_device::Observable;
use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use super::Parity;
use crate::{GeometryError, Placement, Planner, RequestPlan};

/// An array of arrays: a whole stripe of one group, then one of the next. The groups have disks of
/// their own, numbered group by group.
#[derive(Clone, Debug)]
pub struct Grouped {
    groups: Vec<Parity>,
    placement: Placement,
    first_group: Stream,
    /// The plan of one group; its memory is kept.
    part: RequestPlan,
}

impl Grouped {
    /// From at least two equal groups, which have the same placement as this one.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn new(
        groups: Vec<Parity>,
        placement: Placement,
        seed: &Seed,
    ) -> Result<Self, GeometryError> {
        if groups.len() < 2 {
            return Err(GeometryError::Groups { seen: groups.len() });
        }
        Ok(Self {
            groups,
            placement,
            first_group: seed.stream("array", "first group"),
            part: RequestPlan::default(),
        })
    }
}

impl Planner for Grouped {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let count = self.groups.len() as u64;
        let stripe = self.groups[0].stripe_sectors();
        let per_group = self.groups[0].disks();
        // At random every request begins at the first unit of a stripe of a random group.
        let begin = match self.placement {
            Placement::Random => self.first_group.below(count) * stripe,
            Placement::Addressed => request.sector.get(),
        };
        let end = begin + u64::from(request.sectors.get());
        let mut at = begin;
        while at < end {
            let (number, offset) = (at / stripe, at % stripe);
            let sectors = (stripe - offset).min(end - at);
            let group = (number % count) as usize;
            let part = Request {
                sector: Sector::new(number / count * stripe + offset),
                sectors: Sectors::new(sectors as u32),
                ..*request
            };
            self.part.clear();
            self.groups[group].plan(&part, devices, &mut self.part);
            plan.append(&self.part, group * per_group);
            at += sectors;
        }
    }

    fn disks(&self) -> usize {
        self.groups.iter().map(Planner::disks).sum()
    }

    fn data_sectors(&self) -> u64 {
        self.groups.iter().map(Planner::data_sectors).sum()
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        let stripe = self.groups[0].stripe_sectors();
        let last = sectors.map(|s| (u64::from(s.get()) - 1) % stripe + 1);
        // All parts but the last are whole stripes.
        self.groups[0].issues_at_once(op, last.map(|last| Sectors::new(last as u32)))
    }

    fn fail(&mut self, disk: usize) -> bool {
        let per_group = self.groups[0].disks();
        self.groups[disk / per_group].fail(disk % per_group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::plan_of;
    use crate::{ArrayShape, Lost, ParityLayout, RandomLayout};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const UNIT: u32 = 4;

    fn raid50(groups: usize, disks: usize) -> Grouped {
        raid50_of(groups, disks, Placement::Addressed)
    }

    fn raid50_of(groups: usize, disks: usize, placement: Placement) -> Grouped {
        let seed = Seed::new(1);
        let shape = ArrayShape {
            disks,
            stripe_unit: Sectors::new(UNIT),
            disk_sectors: 400,
            placement,
        };
        let group = |_| {
            let (layout, random) = (ParityLayout::default(), RandomLayout::default());
            Parity::new(1, shape, layout, random, Lost::none(), &seed)
        };
        let groups: Result<Vec<_>, _> = (0..groups).map(group).collect();
        Grouped::new(groups.unwrap(), placement, &seed).unwrap()
    }

    #[test]
    fn a_stripe_of_each_group_in_turn() {
        let mut raid = raid50(2, 3);
        let disks: Vec<_> = plan_of(&mut raid, Op::Read, 0, 5 * UNIT)
            .sub_requests()
            .iter()
            .map(|s| (s.disk, s.sector.get()))
            .collect();
        // Left-symmetric: data 0, 1 of stripe 0 on disks 0, 1; of stripe 1 on disks 2, 0.
        assert_eq!(disks, [(0, 0), (1, 0), (3, 0), (4, 0), (2, 4)]);
    }

    /// Three groups of three disks: a stripe has two units.
    #[test]
    fn at_random_a_request_begins_with_a_whole_stripe_of_any_group() {
        let mut raid = raid50_of(3, 3, Placement::Random);
        assert_eq!((raid.disks(), raid.data_sectors()), (9, 3 * 800));
        let mut first = BTreeSet::new();
        for _ in 0..100 {
            let plan = plan_of(&mut raid, Op::Write, 0, 5 * UNIT);
            let groups: Vec<_> = plan.sub_requests().iter().map(|s| s.disk / 3).collect();
            // Two full stripes, and one of two units: a reconstruct-write reads one disk, and writes two.
            let [a, b, c] = [0, 1, 2].map(|i| (groups[0] + i) % 3);
            assert_eq!(groups, [a, a, a, b, b, b, c, c, c]);
            let (stages, xor): (Vec<_>, Vec<_>) =
                plan.stages().iter().map(|s| (s.kind, s.xor)).unzip();
            let direct = crate::StageKind::Direct(iosonar_device::Access::Write);
            assert_eq!(stages, [direct, direct, crate::StageKind::ReconstructWrite]);
            assert_eq!(xor, [2, 2, 2].map(|units| units * u64::from(UNIT)));
            first.insert(a);
        }
        assert_eq!(first, BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn each_group_tolerates_a_failure_of_its_own() {
        let mut raid = raid50(2, 3);
        let tolerated = [1, 5, 3, 0].map(|disk| raid.fail(disk));
        assert_eq!(tolerated, [true, true, false, false]);
        // Unit 1 is on disk 1, which is lost: the two others of the stripe are read.
        let read = plan_of(&mut raid, Op::Read, u64::from(UNIT), UNIT);
        let disks: Vec<_> = read.sub_requests().iter().map(|s| s.disk).collect();
        assert_eq!(disks, [0, 2]);
        let one = Grouped::new(
            raid50(2, 3).groups.split_off(1),
            Placement::Addressed,
            &Seed::new(1),
        );
        assert_eq!(one.unwrap_err(), GeometryError::Groups { seen: 1 });
    }

    proptest! {
        #[test]
        fn every_sector_has_a_place_of_its_own(sector in 0..1000_u64, sectors in 1..200_u32) {
            let mut raid = raid50(3, 4);
            let plan = plan_of(&mut raid, Op::Read, sector, sectors);
            let places: BTreeSet<_> = plan.sub_requests().iter()
                .flat_map(|s| (0..s.sectors.get()).map(|i| (s.disk, s.sector.get() + u64::from(i))))
                .collect();
            prop_assert_eq!(places.len() as u32, sectors);
        }
    }
}
