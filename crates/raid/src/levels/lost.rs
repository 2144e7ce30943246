//! Failed disks, and the spares that take their place.

use crate::{RequestPlan, StageKind, StripeGeometry};

/// Which disks of an array have failed. What has been rebuilt of a lost disk lives on a spare: of the first lost disk
/// on the first device behind the array's disks, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// In the order in which they failed.
    disks: Vec<usize>,
    /// How many stripes of each are on its spare, from the first; [`WHOLE`] of all of them.
    rebuilt: Vec<u64>,
}

/// More stripes than any array has.
const WHOLE: u64 = u64::MAX;

impl Lost {
    /// These disks have failed. Each counts once.
    pub fn new(mut disks: Vec<usize>) -> Self {
        disks.sort_unstable();
        disks.dedup();
        Self {
            rebuilt: vec![0; disks.len()],
            disks,
        }
    }

    /// None has failed.
    pub fn none() -> Self {
        Self::default()
    }

    /// Another disk fails.
    pub(super) fn add(&mut self, disk: usize) {
        assert!(!self.disks.contains(&disk), "a disk fails once");
        self.disks.push(disk);
        self.rebuilt.push(0);
    }

    /// The one that failed last did not.
    pub(super) fn take_back(&mut self) {
        self.disks.pop();
        self.rebuilt.pop();
    }

    /// The failed disks, in the order in which they failed.
    pub fn disks(&self) -> &[usize] {
        &self.disks
    }

    /// Whether any has failed.
    #[inline]
    pub fn any(&self) -> bool {
        !self.disks.is_empty()
    }

    /// How many of them have not been rebuilt whole.
    pub(super) fn missing(&self) -> usize {
        self.rebuilt.iter().filter(|&&n| n < WHOLE).count()
    }

    /// How much of `disk` has been rebuilt, if it is lost, and as which of them.
    #[inline]
    fn find(&self, disk: usize) -> Option<(usize, u64)> {
        let spare = self.disks.iter().position(|&lost| lost == disk)?;
        Some((spare, self.rebuilt[spare]))
    }

    /// Whether the data of `stripe` on `disk` is unavailable; `None` is a random
    /// stripe, which counts as rebuilt only when all are.
    #[inline]
    pub(super) fn contains(&self, disk: usize, stripe: Option<u64>) -> bool {
        self.find(disk)
            .is_some_and(|(_, rebuilt)| rebuilt <= stripe.unwrap_or(WHOLE - 1))
    }

    /// The device that holds what `disk` held of `stripe`.
    #[inline]
    pub(super) fn device(&self, disk: usize, stripe: Option<u64>, disks: usize) -> usize {
        match self.find(disk) {
            Some((spare, rebuilt)) if rebuilt > stripe.unwrap_or(WHOLE - 1) => disks + spare,
            _ => disk,
        }
    }

    /// The first `stripes` stripes of `all` have been rebuilt.
    pub(super) fn rebuilt(&mut self, stripes: u64, all: u64) {
        let stripes = if stripes >= all { WHOLE } else { stripes };
        for rebuilt in &mut self.rebuilt {
            *rebuilt = stripes.max(*rebuilt);
        }
    }

    /// How many stripes a rebuild copies.
    pub(super) fn to_rebuild(&self, geometry: &StripeGeometry) -> u64 {
        if self.any() { geometry.stripes() } else { 0 }
    }

    /// Ends the plan of a rebuild, which has the reads, with the writes to the spares.
    pub(super) fn write_spares(
        &self,
        plan: &mut RequestPlan,
        stripe: u64,
        geometry: &StripeGeometry,
    ) {
        let writes = plan.len();
        for (spare, rebuilt) in self.rebuilt.iter().enumerate() {
            if *rebuilt <= stripe {
                geometry.add_unit(plan, geometry.disks + spare, stripe);
            }
        }
        plan.partial_write(StageKind::Copy, 0, writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayShape, Placement};
    use iosonar_units::Sectors;

    fn geometry() -> StripeGeometry {
        let shape = ArrayShape {
            disks: 5,
            stripe_unit: Sectors::new(8),
            disk_sectors: 80,
            placement: Placement::Addressed,
        };
        StripeGeometry::new("a level", 1, shape).unwrap()
    }

    #[test]
    fn what_has_been_rebuilt_of_a_lost_disk_is_on_its_spare() {
        let mut lost = Lost::new(vec![4, 1, 4]);
        assert_eq!(lost.disks(), [1, 4]);
        assert_eq!((lost.any(), lost.missing()), (true, 2));
        lost.rebuilt(3, 10);
        for (disk, spare) in [(1, 5), (4, 6)] {
            // Up to the third stripe; a random one is not there before all are.
            for (stripe, is_lost) in [(Some(2), false), (Some(3), true), (None, true)] {
                assert_eq!(lost.contains(disk, stripe), is_lost);
                let device = if is_lost { disk } else { spare };
                assert_eq!(lost.device(disk, stripe, 5), device);
            }
        }
        assert!(!lost.contains(0, Some(9)));
        assert_eq!(lost.device(0, Some(0), 5), 0);
        // One that is lost later begins with its first stripe, and the others do not fall back.
        lost.add(2);
        lost.rebuilt(1, 10);
        assert_eq!(lost.device(2, Some(0), 5), 7);
        assert!(lost.contains(2, Some(1)) && !lost.contains(1, Some(2)));
        lost.take_back();
        assert_eq!(lost.disks(), [1, 4]);
        assert_eq!(lost.missing(), 2);
        lost.rebuilt(10, 10);
        assert_eq!((lost.any(), lost.missing()), (true, 0));
        assert_eq!(lost.device(4, None, 5), 6);
        assert!(!lost.contains(4, None));
        // A third one is written when the stripe at hand is not on its spare.
        lost.add(2);
        lost.rebuilt(4, 10);
        assert_eq!(lost.missing(), 1);
        for (stripe, spares) in [(3, &[][..]), (4, &[7]), (5, &[7])] {
            let mut plan = RequestPlan::default();
            lost.write_spares(&mut plan, stripe, &geometry());
            let disks: Vec<_> = plan.sub_requests().iter().map(|s| s.disk).collect();
            assert_eq!(disks, spares, "stripe {stripe}");
        }
        assert_eq!(lost.to_rebuild(&geometry()), 10);
        let none = Lost::none();
        assert_eq!((none.any(), none.missing()), (false, 0));
        assert_eq!(none.to_rebuild(&geometry()), 0);
    }
}
