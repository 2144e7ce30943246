//! Failed disks, and the spares that take their place.

use crate::{RequestPlan, StageKind, StripeGeometry};

/// Which disks of an array have failed. Those of a lower stripe than has been rebuilt live on a spare:
/// the first lost disk on the first device behind the array's disks, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    disks: Vec<usize>,
    rebuilt: u64,
    /// Whether all has been rebuilt.
    whole: bool,
}

impl Lost {
    /// These disks have failed. Each counts once.
    pub fn new(mut disks: Vec<usize>) -> Self {
        disks.sort_unstable();
        disks.dedup();
        Self {
            disks,
            ..Self::default()
        }
    }

    /// None has failed.
    pub fn none() -> Self {
        Self::default()
    }

    /// The failed disks, ascending.
    pub fn disks(&self) -> &[usize] {
        &self.disks
    }

    /// Whether any has failed.
    #[inline]
    pub fn any(&self) -> bool {
        !self.disks.is_empty()
    }

    /// Whether anything is missing: a disk has failed, and not all of it has been rebuilt.
    #[inline]
    pub(super) fn degrades(&self) -> bool {
        self.any() && !self.whole
    }

    /// Whether the data of `stripe` on `disk` is unavailable; `None` is a random
    /// stripe, which counts as rebuilt only when all are.
    #[inline]
    pub(super) fn contains(&self, disk: usize, stripe: Option<u64>) -> bool {
        self.degrades()
            && stripe.is_none_or(|stripe| stripe >= self.rebuilt)
            && self.disks.contains(&disk)
    }

    /// The device that holds what `disk` held of `stripe`.
    #[inline]
    pub(super) fn device(&self, disk: usize, stripe: Option<u64>, disks: usize) -> usize {
        if self.any()
            && (self.whole || stripe.is_some_and(|stripe| stripe < self.rebuilt))
            && let Some(spare) = self.disks.iter().position(|&lost| lost == disk)
        {
            return disks + spare;
        }
        disk
    }

    /// The first `stripes` stripes of `all` have been rebuilt.
    pub(super) fn rebuilt(&mut self, stripes: u64, all: u64) {
        self.rebuilt = stripes;
        self.whole = stripes >= all;
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
        for spare in 0..self.disks.len() {
            geometry.add_unit(plan, geometry.disks + spare, stripe);
        }
        plan.partial_write(StageKind::Copy, 0, writes);
    }
}
