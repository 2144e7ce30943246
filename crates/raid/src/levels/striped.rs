//! RAID 0: striping without redundancy.

use iosonar_device::{Access, Observable};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use crate::choice::Choice;
use crate::{ArrayShape, GeometryError, Placement, Planner, RequestPlan, StripeGeometry};

/// Blocks go round-robin over the disks: from a random first disk, or by their addresses.
#[derive(Clone, Debug)]
pub struct Striped {
    geometry: StripeGeometry,
    first_disk: Choice,
}

impl Striped {
    /// An array of at least one disk.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn new(shape: ArrayShape, seed: &Seed) -> Result<Self, GeometryError> {
        Ok(Self {
            geometry: StripeGeometry::new("RAID 0", 1, shape)?,
            first_disk: Choice::new(seed.stream("array", "first disk")),
        })
    }
}

impl Striped {
    /// The outcomes of its random choices, and how to make one of them its own.
    pub(super) fn choices(&self) -> [u64; 2] {
        [self.geometry.disks as u64, 1]
    }

    pub(super) fn fix_choices(&mut self, [first, _]: [u64; 2]) {
        self.first_disk.give(first);
    }
}

impl Planner for Striped {
    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, _: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        let (geometry, disks) = (self.geometry, self.geometry.disks);
        match self.geometry.placement {
            Placement::Random => {
                let mut disk = self.first_disk.below(disks as u64) as usize;
                for _ in 0..geometry.units(request.sectors) {
                    plan.add(disk, geometry.disk_sector(0, 0), geometry.stripe_unit);
                    disk = if disk + 1 == disks { 0 } else { disk + 1 };
                }
            }
            Placement::Addressed => {
                for piece in geometry.pieces(request) {
                    let disk = (piece.unit % disks as u64) as usize;
                    let stripe = piece.unit / disks as u64;
                    let sector = geometry.disk_sector(stripe, piece.offset);
                    plan.add(disk, sector, Sectors::new(piece.sectors));
                }
            }
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.stripes()
            * self.geometry.disks as u64
            * u64::from(self.geometry.stripe_unit.get())
    }

    fn issues_at_once(&self, _: Op, _: Option<Sectors>) -> bool {
        true
    }
}

/// What a request does to the medium; `None` of a flush and a discard, which cost the built-in levels nothing: their
/// plans are empty.
pub fn access_of(op: Op) -> Option<Access> {
    match op {
        Op::Read => Some(Access::Read),
        Op::Write | Op::WriteZeroes => Some(Access::Write),
        Op::Flush | Op::Discard => None,
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::plan_of;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_sector_goes_to_one_place_and_no_two_share_one(
            disks in 1..8_usize, unit in 1..40_u32, sector in 0..5000_u64, sectors in 1..400_u32,
        ) {
            let mut raid = Striped::new(ArrayShape {
                disks,
                stripe_unit: Sectors::new(unit),
                disk_sectors: 100_000,
                placement: Placement::Addressed,
            }, &Seed::new(1)).unwrap();
            let plan = plan_of(&mut raid, Op::Read, sector, sectors);
            let mut places: Vec<_> = plan.sub_requests().iter()
                .flat_map(|s| (0..s.sectors.get()).map(|i| (s.disk, s.sector.get() + u64::from(i))))
                .collect();
            prop_assert_eq!(places.len() as u64, u64::from(sectors));
            // The definition, sector by sector.
            for (i, &(disk, at)) in places.iter().enumerate() {
                let logical = sector + i as u64;
                let (unit, n) = (u64::from(unit), disks as u64);
                prop_assert_eq!(disk as u64, logical / unit % n);
                prop_assert_eq!(at, logical / unit / n * unit + logical % unit);
            }
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len() as u64, u64::from(sectors));
        }
    }
}
