//! RAID 5: rotating parity.
//!
//! **Reads** go to the data disks only. **Writes** treat each stripe on its own; let r be the
//! number of its units that are touched, n the number of disks:
//!
//! - all n-1 data units whole: a *full stripe*, n writes at once, nothing to read;
//! - 2 r < n-1: *read-modify-write*: read the old data and the old parity, then write both;
//! - otherwise *reconstruct-write*: read what stays of the stripe, then write data and parity.
//!
//! **Random placement** is the papers': a read starts at a random disk s with the parity at a
//! random disk p; it walks over the disks and skips p, which moves on by one after every n-1
//! blocks. A write starts at the beginning of a stripe with the parity at a random disk.
//!
//! **Addressed placement** has the four usual layouts. In the left-symmetric one, the default, the
//! parity of stripe k is on disk n-1 - (k mod n), and the data units follow it cyclically. A partial write touches the same
//! range of the parity unit as of the data units; if that range has a gap (the end of one unit
//! and the beginning of the next, nothing in between), the parity access covers the gap.
//! A reconstruct-write reads that range of the units that are not written, and of those that are
//! written in part, what is missing of it.

use iosonar_device::Access;
use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

use crate::striping::Piece;
use crate::{Geometry, GeometryError, Placement, Plan, Planner, StageKind};

/// Where a write to a random stripe begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteStart {
    /// At the disk behind the parity: as in the left-symmetric layout, an even load.
    #[default]
    AfterParity,
    /// At disk 0 of the array (or 1, if 0 holds the parity): the words of the paper, an uneven
    /// load.
    ArrayFirst,
    /// At a random disk.
    Random,
}

/// Where parity and data lie in the stripes of an array with addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParityLayout {
    /// The parity moves from the last disk to the left; the data units follow it cyclically.
    #[default]
    LeftSymmetric,
    /// The parity moves from the last disk to the left; the data units go from the first disk on.
    LeftAsymmetric,
    /// The parity moves from the first disk to the right; the data units follow it cyclically.
    RightSymmetric,
    /// The parity moves from the first disk to the right; the data units go from the first disk on.
    RightAsymmetric,
}

/// How a read of a random place goes on from stripe to stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadLayout {
    /// It goes on with the next disk; the parity moves on by one after every n-1 blocks.
    #[default]
    Continue,
    /// It goes back to its first disk with each stripe.
    Restart,
    /// A stripe ends where the walk passes the last disk of the array.
    Wrap,
}

/// Where requests with random placement go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomLayout {
    /// How a read goes on from stripe to stripe.
    pub read: ReadLayout,
    /// Where a write begins.
    pub write_start: WriteStart,
}

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

    /// The disks of data unit `unit` and of the parity of its stripe.
    fn place(&self, unit: u64) -> (usize, usize) {
        let n = self.geometry.disks() as u64;
        let (stripe, index) = (unit / (n - 1), unit % (n - 1));
        let (left, symmetric) = match self.layout {
            ParityLayout::LeftSymmetric => (true, true),
            ParityLayout::LeftAsymmetric => (true, false),
            ParityLayout::RightSymmetric => (false, true),
            ParityLayout::RightAsymmetric => (false, false),
        };
        let turn = stripe % n;
        let parity = if left { n - 1 - turn } else { turn };
        let data = if symmetric {
            (parity + 1 + index) % n
        } else {
            index + u64::from(index >= parity)
        };
        (data as usize, parity as usize)
    }

    fn read_at_random(&mut self, blocks: u64, plan: &mut Plan) {
        let n = self.geometry.disks() as u64;
        let mut disk = self.first_disk.below(n);
        let mut parity = self.parity_disk.below(n);
        let first = disk;
        for block in 0..blocks {
            match self.random.read {
                ReadLayout::Continue | ReadLayout::Restart => {
                    if block > 0 && block % (n - 1) == 0 {
                        parity = (parity + 1) % n;
                        if self.random.read == ReadLayout::Restart {
                            disk = first;
                        }
                    }
                    if disk == parity {
                        disk = (disk + 1) % n;
                    }
                }
                ReadLayout::Wrap => {
                    // The parity of the stripe is passed over; behind the last disk the next stripe
                    // begins, whose parity may be on its first disk.
                    while disk == n || disk == parity {
                        if disk == n {
                            (disk, parity) = (0, (parity + 1) % n);
                        } else {
                            disk += 1;
                        }
                    }
                }
            }
            self.add_unit(disk, plan);
            disk = match self.random.read {
                ReadLayout::Wrap => disk + 1,
                _ => (disk + 1) % n,
            };
        }
        plan.direct(Access::Read, 0);
    }

    fn write_at_random(&mut self, blocks: u64, plan: &mut Plan) {
        let n = self.geometry.disks() as u64;
        let first_parity = self.parity_disk.below(n);
        let start = match self.random.write_start {
            WriteStart::Random => self.first_disk.below(n),
            WriteStart::ArrayFirst | WriteStart::AfterParity => 0,
        };
        let stripes = blocks / (n - 1);
        for _ in 0..stripes {
            (0..n).for_each(|disk| self.add_unit(disk, plan));
        }
        plan.direct(Access::Write, 0);
        let r = blocks % (n - 1);
        if r == 0 {
            return;
        }
        let parity = (first_parity + stripes) % n;
        let start = match self.random.write_start {
            WriteStart::AfterParity => parity + 1,
            WriteStart::ArrayFirst | WriteStart::Random => start,
        };
        let data = || {
            (0..n)
                .map(move |i| (start + i) % n)
                .filter(move |&disk| disk != parity)
        };
        let begin = plan.len();
        let kind = if 2 * r < n - 1 {
            data().take(r as usize).for_each(|d| self.add_unit(d, plan));
            self.add_unit(parity, plan);
            StageKind::ReadModifyWrite
        } else {
            data().skip(r as usize).for_each(|d| self.add_unit(d, plan));
            StageKind::ReconstructWrite
        };
        let writes = plan.len();
        data().take(r as usize).for_each(|d| self.add_unit(d, plan));
        self.add_unit(parity, plan);
        plan.partial_write(kind, begin, writes);
    }

    fn add_unit(&self, disk: u64, plan: &mut Plan) {
        let sector = self.geometry.disk_sector(0, 0);
        plan.add(disk as usize, sector, self.geometry.stripe_unit());
    }

    fn read_addressed(&self, request: &Request, plan: &mut Plan) {
        for piece in self.geometry.pieces(request) {
            self.add_piece(piece.unit, piece.offset, piece.sectors, plan);
        }
        plan.direct(Access::Read, 0);
    }

    fn write_addressed(&mut self, request: &Request, plan: &mut Plan) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        pieces.extend(self.geometry.pieces(request));
        let stripe_of = |piece: &Piece| piece.unit / self.data_disks();
        let unit = self.geometry.stripe_unit().get();
        let full = |stripe: &[Piece]| {
            stripe.len() as u64 == self.data_disks() && stripe.iter().all(|p| p.sectors == unit)
        };
        let stripes = || pieces.chunk_by(|a, b| stripe_of(a) == stripe_of(b));
        for stripe in stripes().filter(|stripe| full(stripe)) {
            self.write_pieces(stripe, 0..unit, plan);
        }
        plan.direct(Access::Write, 0);
        for stripe in stripes().filter(|stripe| !full(stripe)) {
            self.write_part_of_stripe(stripe, plan);
        }
        self.pieces = pieces;
    }

    fn write_part_of_stripe(&self, pieces: &[Piece], plan: &mut Plan) {
        let range = pieces.iter().map(|p| p.offset).min().unwrap_or(0)
            ..pieces.iter().map(Piece::end).max().unwrap_or(0);
        let begin = plan.len();
        let kind = if 2 * (pieces.len() as u64) < self.data_disks() {
            self.write_pieces(pieces, range.clone(), plan);
            StageKind::ReadModifyWrite
        } else {
            self.read_rest_of_stripe(pieces, range.clone(), plan);
            StageKind::ReconstructWrite
        };
        let writes = plan.len();
        self.write_pieces(pieces, range, plan);
        plan.partial_write(kind, begin, writes);
    }

    /// Adds the pieces of one stripe, then `range` of its parity unit.
    fn write_pieces(&self, pieces: &[Piece], range: std::ops::Range<u32>, plan: &mut Plan) {
        for piece in pieces {
            self.add_piece(piece.unit, piece.offset, piece.sectors, plan);
        }
        let (_, parity) = self.place(pieces[0].unit);
        let stripe = pieces[0].unit / self.data_disks();
        let sector = self.geometry.disk_sector(stripe, range.start);
        plan.add(parity, sector, Sectors::new(range.end - range.start));
    }

    /// Adds what `pieces` leave of `range` in the data units of their stripe.
    fn read_rest_of_stripe(&self, pieces: &[Piece], range: std::ops::Range<u32>, plan: &mut Plan) {
        let first_unit = pieces[0].unit / self.data_disks() * self.data_disks();
        for unit in first_unit..first_unit + self.data_disks() {
            let mut add = |from: u32, to: u32| {
                if from < to {
                    self.add_piece(unit, from, to - from, plan);
                }
            };
            match pieces.iter().find(|piece| piece.unit == unit) {
                None => add(range.start, range.end),
                Some(piece) => {
                    add(range.start, piece.offset);
                    add(piece.end(), range.end);
                }
            }
        }
    }

    fn add_piece(&self, unit: u64, offset: u32, sectors: u32, plan: &mut Plan) {
        let (disk, _) = self.place(unit);
        let sector = self.geometry.disk_sector(unit / self.data_disks(), offset);
        plan.add(disk, sector, Sectors::new(sectors));
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
