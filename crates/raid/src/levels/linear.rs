//! Disks one after the other: a concatenation, or just a bunch of disks.

use iosonar_device::Observable;
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use super::striped::access_of;
use crate::choice::Choice;
use crate::{ArrayShape, GeometryError, Placement, Planner, RequestPlan, StripeGeometry};

/// Each request lies on one disk, or on two neighbours where it crosses their border; with random
/// placement on a random one, whole.
#[derive(Clone, Debug)]
pub struct Linear {
    geometry: StripeGeometry,
    disk: Choice,
}

impl Linear {
    /// An array of at least one disk. Requests are not cut at stripe units: these are the unit of synthetic loads
    /// only.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn new(shape: ArrayShape, seed: &Seed) -> Result<Self, GeometryError> {
        Ok(Self {
            geometry: StripeGeometry::new("a concatenation", 1, shape)?,
            disk: Choice::new(seed.stream("array", "first disk")),
        })
    }
}

impl Linear {
    pub(super) fn choices(&self) -> [u64; 2] {
        [self.geometry.disks as u64, 1]
    }

    pub(super) fn fix_choices(&mut self, [disk, _]: [u64; 2]) {
        self.disk.give(disk);
    }
}

impl Planner for Linear {
    fn plan<D: Observable>(&mut self, request: &Request, _: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        match self.geometry.placement {
            Placement::Random => {
                let disk = self.disk.below(self.geometry.disks as u64) as usize;
                plan.add(disk, Sector::new(0), request.sectors);
            }
            Placement::Addressed => {
                let disk_sectors = self.geometry.disk_sectors;
                let mut at = request.sector.get();
                while at < request.end().get() {
                    let (disk, sector) = (at / disk_sectors, at % disk_sectors);
                    let sectors = (request.end().get() - at).min(disk_sectors - sector);
                    let sectors_here = Sectors::new(sectors as u32);
                    plan.add(disk as usize, Sector::new(sector), sectors_here);
                    at += sectors;
                }
            }
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.disk_sectors * self.geometry.disks as u64
    }

    fn issues_at_once(&self, _: Op, _: Option<Sectors>) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::plan_of;

    #[test]
    fn a_request_across_a_border_lies_on_two_disks() {
        let shape = ArrayShape {
            disks: 3,
            stripe_unit: Sectors::new(8),
            disk_sectors: 100,
            placement: Placement::Addressed,
        };
        let mut linear = Linear::new(shape, &Seed::new(1)).unwrap();
        let places: Vec<_> = plan_of(&mut linear, Op::Read, 95, 10)
            .sub_requests()
            .iter()
            .map(|s| (s.disk, s.sector.get(), s.sectors.get()))
            .collect();
        assert_eq!(places, [(0, 95, 5), (1, 0, 5)]);
        assert_eq!((linear.disks(), linear.data_sectors()), (3, 300));
        assert!(plan_of(&mut linear, Op::Flush, 0, 0).is_empty());
        // Up to the border it is one, and as long as a disk it may be two borders.
        for (sector, sectors, parts) in [(0, 100, 1), (199, 1, 1), (99, 102, 3), (100, 200, 2)] {
            assert_eq!(
                plan_of(&mut linear, Op::Write, sector, sectors).len(),
                parts
            );
        }
    }
}
