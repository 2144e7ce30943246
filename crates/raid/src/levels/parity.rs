//! RAID 5 and 6: rotating parity.
//!
//! A stripe of n disks has one parity unit (RAID 5) or two (RAID 6: P and Q), the others are data.
//!
//! **Reads** go to the data disks only; what lay on a lost disk is made of the rest of its stripe.
//! **Writes** treat each stripe on its own; let r be the number of its units that are touched, d the
//! number of its data units:
//!
//! - all d data units whole: a *full stripe*, n writes at once, nothing to read;
//! - 2 r < d: *read-modify-write*: read the old data and the old parity, then write both;
//! - otherwise *reconstruct-write*: read what stays of the stripe, then write data and parity.
//!
//! Where a stripe lies is either random ([`random`]) or follows from addresses ([`addressed`]); what
//! is done with it then is the same ([`stripe`]), lost disks included.

mod addressed;
mod random;
mod stripe;

use iosonar_device::Observable;
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use super::Lost;
use crate::choice::Choice;
use crate::{ArrayShape, GeometryError, Placement, Planner, RequestPlan, StripeGeometry};
pub use addressed::ParityLayout;
pub(super) use addressed::Rotation;
pub use random::{RandomLayout, ReadLayout, WriteStart};
use stripe::Touched;

/// An array with rotating parity.
#[derive(Clone, Debug)]
pub struct Parity {
    geometry: StripeGeometry,
    /// Parity units of a stripe: 1 or 2.
    parities: u64,
    layout: ParityLayout,
    random: RandomLayout,
    lost: Lost,
    first_disk: Choice,
    rotation: Choice,
    /// The units of the stripe at hand; their memory is kept.
    touched: Vec<Touched>,
}

impl Parity {
    /// RAID 5 (`parities` = 1) of at least three disks, or RAID 6 (2) of at least four. `layout` matters for placement by addresses only, `random` for random placement only.
    ///
    /// # Errors
    /// If the array cannot have this shape, or has lost more disks than it has parities.
    ///
    /// # Panics
    /// If `parities` is neither 1 nor 2.
    pub fn new(
        parities: u8,
        shape: ArrayShape,
        layout: ParityLayout,
        random: RandomLayout,
        lost: Lost,
        seed: &Seed,
    ) -> Result<Self, GeometryError> {
        let (level, least, most) = match parities {
            1 => ("RAID 5", 3, "one disk"),
            2 => ("RAID 6", 4, "two disks"),
            _ => panic!("RAID 5 has one parity, RAID 6 two"),
        };
        let geometry = StripeGeometry::new(level, least, shape)?;
        if lost.disks().len() > usize::from(parities) {
            return Err(GeometryError::Lost {
                level,
                seen: lost.disks().to_vec(),
                most,
            });
        }
        Ok(Self {
            geometry,
            parities: u64::from(parities),
            layout,
            random,
            lost,
            first_disk: Choice::new(seed.stream("array", "first disk")),
            rotation: Choice::new(seed.stream("array", "parity disk")),
            touched: Vec::new(),
        })
    }

    pub(super) fn choices(&self) -> [u64; 2] {
        [self.disk_count(); 2]
    }

    pub(super) fn fix_choices(&mut self, [first_disk, parity]: [u64; 2]) {
        self.first_disk.give(first_disk);
        self.rotation.give(parity);
    }

    fn disk_count(&self) -> u64 {
        self.geometry.disks as u64
    }

    fn data_disks(&self) -> u64 {
        self.disk_count() - self.parities
    }

    /// The sectors of a whole stripe's data.
    pub(super) fn stripe_sectors(&self) -> u64 {
        self.data_disks() * u64::from(self.geometry.stripe_unit.get())
    }
}

impl Planner for Parity {
    fn plan<D: Observable>(&mut self, request: &Request, _: &[D], plan: &mut RequestPlan) {
        let blocks = self.geometry.units(request.sectors);
        match (request.op, self.geometry.placement) {
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
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.stripes() * self.stripe_sectors()
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        match op {
            Op::Write | Op::WriteZeroes => {
                self.geometry.placement == Placement::Random
                    && sectors.is_some_and(|sectors| {
                        self.geometry
                            .units(sectors)
                            .is_multiple_of(self.data_disks())
                    })
            }
            Op::Read | Op::Flush | Op::Discard => true,
        }
    }

    fn stripes_to_rebuild(&self) -> u64 {
        self.lost.to_rebuild(&self.geometry)
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        // As many of the others as there are data units, the parity last.
        let (lies, number, disks) = (self.stripe_at(stripe), Some(stripe), self.geometry.disks);
        let others = self.data_of(lies).chain(self.parity_of(lies));
        others
            .map(|disk| disk as usize)
            .filter(|&disk| !self.lost.contains(disk, number))
            .take(self.data_disks() as usize)
            .for_each(|disk| {
                let device = self.lost.device(disk, number, disks);
                self.geometry.add_unit(plan, device, stripe);
            });
        self.lost.write_spares(plan, stripe, &self.geometry);
    }

    fn rebuilt(&mut self, stripes: u64) {
        self.lost.rebuilt(stripes, self.geometry.stripes());
    }

    fn fail(&mut self, disk: usize) -> bool {
        let tolerates = (self.lost.missing() as u64) < self.parities;
        if tolerates {
            self.lost.add(disk);
        }
        tolerates
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::StageKind;
    use crate::levels::tests::plan_of;
    use iosonar_device::Access;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    pub(super) const UNIT: u32 = 8;

    pub(super) fn array(
        parities: u8,
        disks: usize,
        placement: Placement,
        layout: ParityLayout,
        lost: &[usize],
    ) -> Result<Parity, GeometryError> {
        let shape = ArrayShape {
            disks,
            stripe_unit: Sectors::new(UNIT),
            disk_sectors: 1 << 20,
            placement,
        };
        let (random, lost) = (RandomLayout::default(), Lost::new(lost.to_vec()));
        Parity::new(parities, shape, layout, random, lost, &Seed::new(1))
    }

    pub(super) fn raid5(disks: usize, placement: Placement, write_start: WriteStart) -> Parity {
        let mut raid = array(1, disks, placement, ParityLayout::LeftSymmetric, &[]).unwrap();
        raid.random.write_start = write_start;
        raid
    }

    pub(super) fn plan(raid: &mut Parity, op: Op, sector: u64, sectors: u32) -> RequestPlan {
        plan_of(raid, op, sector, sectors)
    }

    /// The disks of a data unit and of the first parity of its stripe.
    pub(super) fn place(raid: &Parity, unit: u64) -> (u64, u64) {
        let stripe = raid.stripe_at(unit / raid.data_disks());
        (
            raid.disk_of(stripe, unit % raid.data_disks()),
            stripe.parity,
        )
    }

    pub(super) fn disks(plan: &RequestPlan, range: std::ops::Range<usize>) -> Vec<usize> {
        plan.sub_requests()[range].iter().map(|s| s.disk).collect()
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
        let mut full = disks(&plan, 0..4);
        full.sort_unstable();
        assert_eq!(full, [0, 1, 2, 3]);
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

        /// Whatever the level, the layout and the lost disks: reads get all they ask for, and writes
        /// know all that the new parity is made of.
        #[test]
        fn plans_know_all_they_need(
            parities in 1..3_u8,
            more in 0..5_usize,
            layout in prop::sample::select(vec![
                ParityLayout::LeftSymmetric,
                ParityLayout::LeftAsymmetric,
                ParityLayout::RightSymmetric,
                ParityLayout::RightAsymmetric,
            ]),
            lost in prop::collection::vec(0..3_usize, 0..3),
            sector in 0..400_u64,
            sectors in 1..120_u32,
        ) {
            let lost = &lost[..lost.len().min(usize::from(parities))];
            let disks = 2 + usize::from(parities) + more;
            let mut raid = array(parities, disks, Placement::Addressed, layout, lost).unwrap();
            let d = raid.data_disks();
            let cells = |plan: &RequestPlan, range: std::ops::Range<usize>| -> Vec<(u64, u64)> {
                plan.sub_requests()[range].iter()
                    .flat_map(|s| (0..u64::from(s.sectors.get())).map(|i| (s.disk as u64, s.sector.get() + i)))
                    .collect()
            };
            // Where the data lie, sector by sector.
            let wanted: BTreeSet<(u64, u64)> = (sector..sector + u64::from(sectors)).map(|at| {
                let (unit, offset) = (at / u64::from(UNIT), at % u64::from(UNIT));
                let (disk, _) = place(&raid, unit);
                (disk, unit / d * u64::from(UNIT) + offset)
            }).collect();
            let is_lost = |disk: u64| lost.contains(&(disk as usize));
            let whole_row = |known: &BTreeSet<(u64, u64)>, at: u64| {
                known.iter().filter(|c| c.1 == at).count() as u64 >= d
            };

            let reads = plan(&mut raid, Op::Read, sector, sectors);
            let read: Vec<_> = cells(&reads, 0..reads.len());
            let known: BTreeSet<_> = read.iter().copied().collect();
            prop_assert_eq!(read.len(), known.len(), "nothing is read twice");
            prop_assert!(known.iter().all(|c| !is_lost(c.0)), "nothing is read of a lost disk");
            for &(disk, at) in &wanted {
                prop_assert!(known.contains(&(disk, at)) || whole_row(&known, at), "{disk} {at}");
            }
            if lost.is_empty() {
                prop_assert_eq!(&known, &wanted);
            }

            let writes = plan(&mut raid, Op::Write, sector, sectors);
            let mut written = BTreeSet::new();
            for stage in writes.stages() {
                let direct = matches!(stage.kind, StageKind::Direct(_));
                let read: BTreeSet<_> = if direct { BTreeSet::new() } else {
                    cells(&writes, stage.first.clone()).into_iter().collect()
                };
                let new = cells(&writes, if direct { stage.first.clone() } else { stage.then.clone() });
                prop_assert!(read.iter().chain(&new).all(|c| !is_lost(c.0)));
                for &(disk, at) in &new {
                    prop_assert!(written.insert((disk, at)), "nothing is written twice");
                    let stripe = raid.stripe_at(at / u64::from(UNIT));
                    if !raid.is_parity(disk, stripe) {
                        prop_assert!(wanted.contains(&(disk, at)));
                        continue;
                    }
                    // Either all data of the row are known, or what changes and the parity are.
                    let row = || raid.data_of(stripe).map(|disk| (disk, at));
                    let all = row().all(|c| wanted.contains(&c) || read.contains(&c)) || whole_row(&read, at);
                    let change = read.contains(&(disk, at))
                        && row().filter(|c| wanted.contains(c)).all(|c| read.contains(&c));
                    prop_assert!(all || change, "{:?} at {disk} {at}", stage.kind);
                }
            }
            for &(disk, at) in &wanted {
                prop_assert!(is_lost(disk) || written.contains(&(disk, at)), "all data are written");
                let stripe = raid.stripe_at(at / u64::from(UNIT));
                for parity in raid.parity_of(stripe) {
                    prop_assert!(is_lost(parity) || written.contains(&(parity, at)), "and all parity");
                }
            }
        }
    }

    #[test]
    fn raid_6_reads_and_writes_both_parities() {
        let mut raid = array(2, 6, Placement::Random, ParityLayout::default(), &[]).unwrap();
        let small = plan(&mut raid, Op::Write, 0, UNIT);
        assert_eq!(small.stages()[0].kind, StageKind::ReadModifyWrite);
        assert_eq!(
            (small.stages()[0].first.len(), small.stages()[0].then.len()),
            (3, 3)
        );
        // r = (n - 2) / 2 exactly is a reconstruct-write: n - 2 - r reads.
        let half = plan(&mut raid, Op::Write, 0, 2 * UNIT);
        assert_eq!(half.stages()[0].kind, StageKind::ReconstructWrite);
        assert_eq!(
            (half.stages()[0].first.len(), half.stages()[0].then.len()),
            (2, 4)
        );
        assert_eq!(
            plan(&mut raid, Op::Write, 0, 4 * UNIT).len(),
            6,
            "a full stripe"
        );
    }

    #[test]
    fn a_degraded_read_at_random_reads_all_the_others_of_the_stripe() {
        let mut raid = array(1, 4, Placement::Random, ParityLayout::default(), &[2]).unwrap();
        let mut sizes = BTreeSet::new();
        for _ in 0..100 {
            let mut used = disks_of(&plan(&mut raid, Op::Read, 0, UNIT));
            used.sort_unstable();
            assert!(!used.contains(&2));
            sizes.insert(used.len());
        }
        assert_eq!(
            sizes,
            BTreeSet::from([1, 3]),
            "one unit, or the three others"
        );
        // Of a whole stripe the other units are read anyway.
        for _ in 0..100 {
            let used = disks_of(&plan(&mut raid, Op::Read, 0, 3 * UNIT));
            assert_eq!(used.len(), 3);
        }
    }

    fn disks_of(plan: &RequestPlan) -> Vec<usize> {
        disks(plan, 0..plan.len())
    }

    #[test]
    fn degraded_writes_are_as_the_table_says() {
        // Stripe 0 of four disks: data on 0, 1, 2, parity on 3.
        let degraded =
            |lost| array(1, 4, Placement::Addressed, ParityLayout::default(), &[lost]).unwrap();
        let parity_lost = plan(&mut degraded(3), Op::Write, 0, UNIT);
        assert_eq!(
            parity_lost.stages()[0].kind,
            StageKind::Direct(Access::Write)
        );
        assert_eq!(disks_of(&parity_lost), [0]);
        let written_lost = plan(&mut degraded(0), Op::Write, 0, UNIT);
        assert_eq!(written_lost.stages()[0].kind, StageKind::ReconstructWrite);
        assert_eq!(
            disks_of(&written_lost),
            [1, 2, 3],
            "two reads, the parity written"
        );
        let other_lost = plan(&mut degraded(2), Op::Write, 0, 2 * UNIT);
        assert_eq!(other_lost.stages()[0].kind, StageKind::ReadModifyWrite);
        assert_eq!(disks_of(&other_lost), [0, 1, 3, 0, 1, 3]);
    }

    #[test]
    fn more_lost_disks_than_parities_are_refused() {
        let (placement, layout) = (Placement::Random, ParityLayout::default());
        let error = array(1, 4, placement, layout, &[0, 1])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("one disk") && error.contains("[0, 1]"),
            "{error}"
        );
        assert!(array(2, 4, placement, layout, &[0, 1]).is_ok());
    }

    #[test]
    fn a_rebuild_reads_the_rest_of_each_stripe_and_then_uses_the_spare() {
        let mut raid = array(1, 4, Placement::Addressed, ParityLayout::default(), &[1]).unwrap();
        let mut rebuild = RequestPlan::default();
        raid.plan_rebuild(7, &mut rebuild);
        assert_eq!(rebuild.stages()[0].kind, StageKind::Copy);
        let mut used = disks_of(&rebuild);
        used.sort_unstable();
        assert_eq!(used, [0, 2, 3, 4]);
        raid.rebuilt(1);
        assert_eq!(
            disks_of(&plan(&mut raid, Op::Read, 8, UNIT)),
            [4],
            "on the spare"
        );
        assert_eq!(
            plan(&mut raid, Op::Read, 3 * 8 + 16, UNIT).len(),
            3,
            "not yet"
        );
    }

    /// Sectors through the exclusive-or, stripe by stripe: what is lost is made of as many others as there are data units,
    /// over all that is lost; a new parity of what is read for it and of the new data.
    #[test]
    fn the_exclusive_or_takes_what_is_read_to_compute_something_and_what_is_new() {
        let unit = u64::from(UNIT);
        for (parities, n, lost) in [
            (1, 4, vec![]),
            (1, 5, vec![1]),
            (1, 3, vec![2]),
            (2, 5, vec![]),
            (2, 6, vec![3]),
            (2, 6, vec![0, 1]),
            (2, 7, vec![2, 5]),
        ] {
            for layout in [ParityLayout::LeftSymmetric, ParityLayout::RightAsymmetric] {
                let mut raid = array(parities, n, Placement::Addressed, layout, &lost).unwrap();
                let d = raid.data_disks();
                let is_lost = |disk: u64| lost.contains(&(disk as usize));
                for (sector, sectors) in (0..5 * d).flat_map(|at| {
                    let sizes = [1, 5, UNIT, 3 * UNIT + 2, 2 * d as u32 * UNIT, 61];
                    sizes.map(|sectors| (at * unit + at % 7, sectors))
                }) {
                    // The ranges of the units that are touched, by stripe.
                    let end = sector + u64::from(sectors);
                    let mut stripes: std::collections::BTreeMap<u64, Vec<(u64, u64, u64)>> =
                        std::collections::BTreeMap::default();
                    for number in sector / unit..end.div_ceil(unit) {
                        let (disk, _) = place(&raid, number);
                        let begin = sector.max(number * unit) - number * unit;
                        let end = end.min((number + 1) * unit) - number * unit;
                        stripes
                            .entry(number / d)
                            .or_default()
                            .push((disk, begin, end));
                    }
                    let computed = stripes.values().map(|units| {
                        let lost = || units.iter().filter(|unit| is_lost(unit.0));
                        let begin = lost().map(|unit| unit.1).min();
                        let end = lost().map(|unit| unit.2).max();
                        d * (end.unwrap_or(0) - begin.unwrap_or(0))
                    });
                    let read = plan(&mut raid, Op::Read, sector, sectors);
                    assert_eq!(read.stages()[0].xor, computed.sum::<u64>());

                    let write = plan(&mut raid, Op::Write, sector, sectors);
                    let (mut full, mut partial) = (0, Vec::new());
                    for (number, units) in &stripes {
                        let mut disks = raid.parity_of(raid.stripe_at(*number));
                        let new: u64 = units.iter().map(|unit| unit.2 - unit.1).sum();
                        let has_parity = disks.any(|disk| !is_lost(disk));
                        if new == d * unit {
                            full += if has_parity { new } else { 0 };
                        } else {
                            partial.push(if has_parity { new } else { 0 });
                        }
                    }
                    let mut stages = write.stages().iter();
                    if partial.len() < stripes.len() {
                        assert_eq!(stages.next().unwrap().xor, full);
                    }
                    assert_eq!(stages.len(), partial.len());
                    for (stage, new) in stages.zip(partial) {
                        let before = write.sub_requests()[stage.first.clone()].iter();
                        let before: u64 = before.map(|s| u64::from(s.sectors.get())).sum();
                        let expected = if new > 0 { before + new } else { 0 };
                        assert_eq!(stage.xor, expected, "{:?} {sector} {sectors}", stage.kind);
                    }
                }
            }
        }
    }

    #[test]
    fn a_level_tolerates_as_many_failures_as_it_has_parities() {
        for parities in [1, 2] {
            let (placement, layout) = (Placement::Addressed, ParityLayout::default());
            let mut raid = array(parities, 6, placement, layout, &[]).unwrap();
            assert_eq!(raid.stripes_to_rebuild(), 0);
            let tolerated = [4, 0, 2].map(|disk| raid.fail(disk));
            assert_eq!(tolerated, [true, parities == 2, false]);
            let all = (1 << 20) / u64::from(UNIT);
            assert_eq!(raid.stripes_to_rebuild(), all);
            assert_eq!(
                raid.data_sectors(),
                (6 - u64::from(parities)) * all * u64::from(UNIT)
            );
            // What has been rebuilt whole may be lost again.
            raid.rebuilt(all - 1);
            assert!(!raid.fail(1));
            raid.rebuilt(all);
            assert!(raid.fail(1));
        }
    }
}
