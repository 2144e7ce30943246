//! One stripe: what a read or a write of some of its units needs.
//!
//! Where disks are lost:
//!
//! - a read of a lost unit reads as many other units of its stripe as there are data units, data
//!   before parity, and none twice;
//! - a write whose parity disks are all lost reads nothing and writes the data;
//! - a write to a lost unit is a reconstruct-write; if it needs what only the lost disks held, all
//!   that is left of the stripe is read;
//! - a write beside a lost data unit is a read-modify-write.

use std::ops::Range;

use iosonar_device::Access;
use iosonar_units::{Sector, Sectors};

use super::Parity;
use crate::{RequestPlan, StageKind};

/// Where a stripe lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::levels) struct Stripe {
    /// The first parity disk; the second is the next one.
    pub(in crate::levels) parity: u64,
    /// The data units go round from this disk on and leave out the parity.
    pub(super) start: u64,
    /// Its number; `None` at a random place.
    pub(super) number: Option<u64>,
}

/// A data unit of a stripe that a request touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// Its disk.
    pub(super) disk: u64,
    /// Which of its sectors.
    pub(super) range: Range<u32>,
}

/// `disk`, counted round `n` disks once at most. A division would take longer than the rest of the plan of a unit.
#[inline]
pub(super) fn wrapped(disk: u64, n: u64) -> u64 {
    debug_assert!(disk < 2 * n, "round once");
    if disk >= n { disk - n } else { disk }
}

fn cover(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    a.start.min(b.start)..a.end.max(b.end)
}

impl Parity {
    #[inline]
    pub(super) fn is_parity(&self, disk: u64, stripe: Stripe) -> bool {
        let n = self.disk_count();
        let behind = if disk >= stripe.parity {
            disk - stripe.parity
        } else {
            disk + n - stripe.parity
        };
        behind < self.parities
    }

    /// The data disks of a stripe, in the order of its data.
    #[inline]
    pub(super) fn data_of(&self, stripe: Stripe) -> impl Iterator<Item = u64> + '_ {
        let n = self.disk_count();
        (0..n)
            .map(move |i| wrapped(stripe.start + i, n))
            .filter(move |&disk| !self.is_parity(disk, stripe))
    }

    /// Its parity disks.
    #[inline]
    pub(super) fn parity_of(&self, stripe: Stripe) -> impl Iterator<Item = u64> + use<> {
        let n = self.disk_count();
        (0..self.parities).map(move |i| wrapped(stripe.parity + i, n))
    }

    #[inline]
    fn is_lost(&self, disk: u64, stripe: Stripe) -> bool {
        self.lost.contains(disk as usize, stripe.number)
    }

    /// Adds an access to a disk that is well.
    #[inline]
    fn access(&self, disk: u64, stripe: Stripe, range: &Range<u32>, plan: &mut RequestPlan) {
        let sector = match stripe.number {
            Some(number) => self.geometry.disk_sector(number, range.start),
            None => Sector::new(u64::from(range.start)),
        };
        let sectors = Sectors::new(range.end - range.start);
        let disks = self.geometry.disks;
        let device = self.lost.device(disk as usize, stripe.number, disks);
        plan.add(device, sector, sectors);
    }

    /// Adds the reads of some units of a stripe; gives how many sectors the lost ones are made of.
    #[inline]
    pub(super) fn read_units(
        &self,
        stripe: Stripe,
        touched: &[Touched],
        plan: &mut RequestPlan,
    ) -> u64 {
        let lost = touched.iter().filter(|u| self.is_lost(u.disk, stripe));
        let Some(lost) = lost.map(|u| u.range.clone()).reduce(|a, b| cover(&a, &b)) else {
            for unit in touched {
                self.access(unit.disk, stripe, &unit.range, plan);
            }
            return 0;
        };
        let mut needed = self.data_disks();
        for disk in self.data_of(stripe).chain(self.parity_of(stripe)) {
            if self.is_lost(disk, stripe) {
                continue;
            }
            let own = touched.iter().find(|u| u.disk == disk);
            if needed > 0 {
                needed -= 1;
                let range = own.map_or(lost.clone(), |u| cover(&u.range, &lost));
                self.access(disk, stripe, &range, plan);
            }
        }
        self.data_disks() * u64::from(lost.end - lost.start)
    }

    /// Whether these are all data units of a stripe, whole.
    pub(super) fn is_full(&self, touched: &[Touched]) -> bool {
        let unit = self.geometry.stripe_unit.get();
        touched.len() as u64 == self.data_disks() && touched.iter().all(|u| u.range == (0..unit))
    }

    /// Adds the writes of a full stripe; gives how many sectors its parity is made of.
    pub(super) fn write_full(&self, stripe: Stripe, plan: &mut RequestPlan) -> u64 {
        let unit = 0..self.geometry.stripe_unit.get();
        for disk in self.data_of(stripe).chain(self.parity_of(stripe)) {
            if !self.is_lost(disk, stripe) {
                self.access(disk, stripe, &unit, plan);
            }
        }
        let mut parity = self.parity_of(stripe);
        if parity.all(|disk| self.is_lost(disk, stripe)) {
            0
        } else {
            self.stripe_sectors()
        }
    }

    /// Adds the stage that writes some units of a stripe.
    pub(super) fn write_units(&self, stripe: Stripe, touched: &[Touched], plan: &mut RequestPlan) {
        let Some(range) = touched
            .iter()
            .map(|u| u.range.clone())
            .reduce(|a, b| cover(&a, &b))
        else {
            return;
        };
        let begin = plan.len();
        if self
            .parity_of(stripe)
            .all(|disk| self.is_lost(disk, stripe))
        {
            self.add_writes(stripe, touched, &range, plan);
            plan.direct(Access::Write, begin);
            return;
        }
        let kind = self.add_prereads(stripe, touched, &range, plan);
        let writes = plan.len();
        let read = plan.sub_requests()[begin..].iter();
        let xor = read.map(|s| u64::from(s.sectors.get())).sum::<u64>()
            + touched
                .iter()
                .map(|u| u64::from(u.range.end - u.range.start))
                .sum::<u64>();
        self.add_writes(stripe, touched, &range, plan);
        plan.partial_write(kind, begin, writes);
        plan.with_xor(xor);
    }

    /// The data that are well, then `range` of the parity.
    fn add_writes(
        &self,
        stripe: Stripe,
        touched: &[Touched],
        range: &Range<u32>,
        plan: &mut RequestPlan,
    ) {
        for unit in touched {
            if !self.is_lost(unit.disk, stripe) {
                self.access(unit.disk, stripe, &unit.range, plan);
            }
        }
        for disk in self.parity_of(stripe) {
            if !self.is_lost(disk, stripe) {
                self.access(disk, stripe, range, plan);
            }
        }
    }

    fn add_prereads(
        &self,
        stripe: Stripe,
        touched: &[Touched],
        range: &Range<u32>,
        plan: &mut RequestPlan,
    ) -> StageKind {
        let is_touched = |disk: u64| touched.iter().find(|u| u.disk == disk);
        let (mut lost_touched, mut lost_whole, mut lost_beside) = (false, true, false);
        if self.lost.any() {
            for disk in self.data_of(stripe).filter(|&d| self.is_lost(d, stripe)) {
                match is_touched(disk) {
                    Some(unit) => {
                        lost_touched = true;
                        lost_whole &= unit.range == *range;
                    }
                    None => lost_beside = true,
                }
            }
        }
        if lost_touched && (lost_beside || !lost_whole) {
            // What is missing must be made of all the rest before the parity can be.
            let others = self.data_of(stripe).chain(self.parity_of(stripe));
            others
                .filter(|&disk| !self.is_lost(disk, stripe))
                .take(self.data_disks() as usize)
                .for_each(|disk| self.access(disk, stripe, range, plan));
            return StageKind::ReconstructWrite;
        }
        let few = 2 * (touched.len() as u64) < self.data_disks();
        if lost_beside || (few && !lost_touched) {
            self.add_writes(stripe, touched, range, plan);
            return StageKind::ReadModifyWrite;
        }
        for disk in self.data_of(stripe) {
            if self.is_lost(disk, stripe) {
                continue;
            }
            let mut add = |rest: Range<u32>| {
                if rest.start < rest.end {
                    self.access(disk, stripe, &rest, plan);
                }
            };
            match is_touched(disk) {
                None => add(range.clone()),
                Some(unit) => {
                    add(range.start..unit.range.start);
                    add(unit.range.end..range.end);
                }
            }
        }
        StageKind::ReconstructWrite
    }
}

#[cfg(test)]
mod tests {
    use super::super::WriteStart;
    use super::super::tests::{UNIT, disks, plan, raid5};
    use super::*;
    use crate::Placement;
    use iosonar_trace::Op;

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
}
