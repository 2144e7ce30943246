//! Random placement, as in the papers on zoned RAID: whole blocks, addresses ignored.
//!
//! A read starts at a random disk s with the parity at a random disk p; it walks over the disks and
//! skips the parity, which moves on by one after every stripe's worth of blocks. A write starts at the
//! beginning of a stripe with the parity at a random disk.

use iosonar_device::Access;
use iosonar_units::Sector;

use super::Parity;
use super::stripe::{Stripe, Touched, wrapped};
use crate::{RequestPlan, StageKind, SubRequest};

/// Where a write to a random stripe begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteStart {
    /// At the disk behind the parity: as in the left-symmetric layout, an even load.
    #[default]
    AfterParity,
    /// At disk 0 of the array (or the next, if 0 holds the parity): the words of the paper, an uneven
    /// load.
    ArrayFirst,
    /// At a random disk.
    Random,
}

/// How a read of a random place goes on from stripe to stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadLayout {
    /// It goes on with the next disk; the parity moves on by one after every stripe's worth of blocks.
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

impl Parity {
    pub(super) fn read_at_random(&mut self, blocks: u64, plan: &mut RequestPlan) {
        let n = self.disk_count();
        if self.random.read == ReadLayout::Continue && !self.lost.any() {
            return self.read_on_at_random(blocks, plan);
        }
        let mut disk = self.first_disk.below(n);
        let first = disk;
        let mut stripe = Stripe {
            parity: self.rotation.below(n),
            start: disk,
            number: None,
        };
        let mut touched = std::mem::take(&mut self.touched);
        let (mut in_stripe, mut xor) = (0, 0);
        let next = |disk: u64| if disk + 1 == n { 0 } else { disk + 1 };
        for _ in 0..blocks {
            let stripe_ends = match self.random.read {
                ReadLayout::Continue | ReadLayout::Restart => in_stripe == self.data_disks(),
                // Behind the last disk the next stripe begins, as soon as one is there that is not
                // the parity.
                ReadLayout::Wrap => {
                    while disk < n && self.is_parity(disk, stripe) {
                        disk += 1;
                    }
                    disk == n
                }
            };
            if stripe_ends {
                xor += self.read_units(stripe, &touched, plan);
                touched.clear();
                stripe.parity = (stripe.parity + 1) % n;
                in_stripe = 0;
                match self.random.read {
                    ReadLayout::Continue => {}
                    ReadLayout::Restart => disk = first,
                    ReadLayout::Wrap => disk = 0,
                }
                stripe.start = disk;
            }
            while self.is_parity(disk, stripe) {
                disk = next(disk);
            }
            if self.lost.any() {
                touched.push(self.whole_unit(disk));
            } else {
                // Nothing depends on what else the stripe is asked for.
                plan.add(disk as usize, Sector::new(0), self.geometry.stripe_unit);
            }
            in_stripe += 1;
            disk = match self.random.read {
                ReadLayout::Wrap => disk + 1,
                _ => next(disk),
            };
        }
        xor += self.read_units(stripe, &touched, plan);
        touched.clear();
        self.touched = touched;
        plan.direct(Access::Read, 0);
        plan.with_xor(xor);
    }

    /// The usual case: all disks are well, and a read goes on with the next disk. Nothing depends on what else a stripe
    /// is asked for.
    fn read_on_at_random(&mut self, blocks: u64, plan: &mut RequestPlan) {
        let (n, parities) = (self.disk_count(), self.parities);
        let (mut disk, mut parity) = (self.first_disk.below(n), self.rotation.below(n));
        let (data_disks, unit) = (self.data_disks(), self.geometry.stripe_unit);
        let mut left_in_stripe = data_disks;
        let block = |_| {
            if left_in_stripe == 0 {
                left_in_stripe = data_disks;
                parity = if parity + 1 == n { 0 } else { parity + 1 };
            }
            let behind = if disk < parity { disk + n } else { disk } - parity;
            if behind < parities {
                disk += parities - behind;
                disk = if disk >= n { disk - n } else { disk };
            }
            left_in_stripe -= 1;
            let read = SubRequest {
                disk: disk as usize,
                sector: Sector::new(0),
                sectors: unit,
            };
            disk = if disk + 1 == n { 0 } else { disk + 1 };
            read
        };
        plan.add_all((0..blocks).map(block));
        plan.direct(Access::Read, 0);
    }

    pub(super) fn write_at_random(&mut self, blocks: u64, plan: &mut RequestPlan) {
        if self.random.write_start == WriteStart::AfterParity && !self.lost.any() {
            return self.write_after_parity(blocks, plan);
        }
        let n = self.disk_count();
        let first_parity = self.rotation.below(n);
        let random_start = match self.random.write_start {
            WriteStart::Random => self.first_disk.below(n),
            WriteStart::ArrayFirst | WriteStart::AfterParity => 0,
        };
        let stripe = |number: u64| {
            let parity = (first_parity + number) % n;
            Stripe {
                parity,
                start: match self.random.write_start {
                    WriteStart::AfterParity => (parity + self.parities) % n,
                    WriteStart::ArrayFirst | WriteStart::Random => random_start,
                },
                number: None,
            }
        };
        let stripes = blocks / self.data_disks();
        let xor = (0..stripes)
            .map(|number| self.write_full(stripe(number), plan))
            .sum();
        plan.direct(Access::Write, 0);
        plan.with_xor(xor);
        let rest = blocks % self.data_disks();
        if rest > 0 {
            let stripe = stripe(stripes);
            let mut touched = std::mem::take(&mut self.touched);
            let disks = self.data_of(stripe).take(rest as usize);
            touched.extend(disks.map(|disk| self.whole_unit(disk)));
            self.write_units(stripe, &touched, plan);
            touched.clear();
            self.touched = touched;
        }
    }

    /// The usual case: all disks are well, and the data of a stripe lie behind its parity. So a stripe is a row of disks:
    /// first the units that are written, then the rest of the data, then the parity.
    fn write_after_parity(&mut self, blocks: u64, plan: &mut RequestPlan) {
        let (n, parities, data_disks) = (self.disk_count(), self.parities, self.data_disks());
        let unit = self.geometry.stripe_unit;
        let mut start = wrapped(self.rotation.below(n) + parities, n);
        let row = |start: u64, from: u64, to: u64| {
            (from..to).map(move |i| SubRequest {
                disk: wrapped(start + i, n) as usize,
                sector: Sector::new(0),
                sectors: unit,
            })
        };
        let (stripes, rest) = (blocks / data_disks, blocks % data_disks);
        for _ in 0..stripes {
            plan.add_all(row(start, 0, n));
            start = wrapped(start + 1, n);
        }
        plan.direct(Access::Write, 0);
        plan.with_xor(stripes * self.stripe_sectors());
        if rest == 0 {
            return;
        }
        let begin = plan.len();
        let kind = if 2 * rest < data_disks {
            plan.add_all(row(start, 0, rest));
            plan.add_all(row(start, data_disks, n));
            StageKind::ReadModifyWrite
        } else {
            plan.add_all(row(start, rest, data_disks));
            StageKind::ReconstructWrite
        };
        let writes = plan.len();
        plan.add_all(row(start, 0, rest));
        plan.add_all(row(start, data_disks, n));
        plan.partial_write(kind, begin, writes);
        let units = (writes - begin) as u64 + rest;
        plan.with_xor(units * u64::from(unit.get()));
    }

    fn whole_unit(&self, disk: u64) -> Touched {
        Touched {
            disk,
            range: 0..self.geometry.stripe_unit.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::parity::tests::{UNIT, array, plan};
    use crate::{ParityLayout, Placement};
    use iosonar_trace::Op;

    fn random(parities: u8, disks: usize, lost: &[usize], layout: RandomLayout) -> Parity {
        let placement = Placement::Random;
        let mut raid = array(parities, disks, placement, ParityLayout::default(), lost).unwrap();
        raid.random = layout;
        raid
    }

    /// The data disks of a stripe, from `start` round the array.
    fn data(n: u64, parities: u64, parity: u64, start: u64) -> Vec<u64> {
        let is_parity = |disk: &u64| (0..parities).any(|i| (parity + i) % n == *disk);
        (start..start + n)
            .map(|disk| disk % n)
            .filter(|disk| !is_parity(disk))
            .collect()
    }

    /// What a read asks of each of its stripes, with the stripe's first parity disk.
    fn read_of(
        layout: ReadLayout,
        (n, parities): (u64, u64),
        (first, parity): (u64, u64),
        blocks: usize,
    ) -> Vec<(u64, Vec<u64>)> {
        let (mut stripes, mut left, mut start) = (Vec::new(), blocks, first);
        for parity in (parity..).map(|parity| parity % n) {
            let mut disks = data(n, parities, parity, start);
            if layout == ReadLayout::Wrap {
                disks.retain(|disk| *disk >= start);
                disks.sort_unstable();
                start = 0;
            } else if layout == ReadLayout::Continue {
                start = (disks.last().unwrap() + 1) % n;
            }
            disks.truncate(left);
            left -= disks.len();
            stripes.push((parity, disks));
            if left == 0 {
                break;
            }
        }
        stripes
    }

    const ARRAYS: [(u8, usize); 6] = [(1, 3), (1, 4), (1, 7), (2, 4), (2, 5), (2, 7)];

    /// Wherever it begins and however long it is; where a disk is lost (a disk that no stripe has), stripe by stripe.
    #[test]
    fn a_read_takes_data_disks_in_turn_and_the_parity_moves_on_with_each_stripe() {
        for (parities, disks) in ARRAYS {
            let n = disks as u64;
            for read in [ReadLayout::Continue, ReadLayout::Restart, ReadLayout::Wrap] {
                let layout = RandomLayout {
                    read,
                    ..RandomLayout::default()
                };
                for lost in [&[][..], &[99]] {
                    for (first, parity) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                        let mut raid = random(parities, disks, lost, layout);
                        raid.fix_choices([first, parity]);
                        for blocks in [1, 2, 3, disks, 3 * disks + 1] {
                            let plan = plan(&mut raid, Op::Read, 0, blocks as u32 * UNIT);
                            let shape = (n, u64::from(parities));
                            let expected: Vec<usize> =
                                read_of(read, shape, (first, parity), blocks)
                                    .into_iter()
                                    .flat_map(|(_, disks)| disks)
                                    .map(|disk| disk as usize)
                                    .collect();
                            let seen: Vec<usize> =
                                plan.sub_requests().iter().map(|s| s.disk).collect();
                            assert_eq!(seen, expected, "{read:?} {shape:?} {first} {parity}");
                            let whole = |s: &SubRequest| (s.sector.get(), s.sectors.get());
                            assert!(plan.sub_requests().iter().all(|s| whole(s) == (0, UNIT)));
                            assert_eq!(plan.stages().len(), 1);
                            assert_eq!(plan.stages()[0].kind, StageKind::Direct(Access::Read));
                            assert_eq!(plan.stages()[0].xor, 0, "nothing is computed");
                        }
                    }
                }
            }
        }
    }

    /// A stripe whose lost units are read: as many others as it has data units, data before parity.
    #[test]
    fn a_read_of_lost_units_reads_the_rest_of_their_stripe_and_computes_them() {
        for (parities, disks) in ARRAYS {
            let (n, d) = (disks as u64, disks as u64 - u64::from(parities));
            for read in [ReadLayout::Continue, ReadLayout::Restart, ReadLayout::Wrap] {
                let layout = RandomLayout {
                    read,
                    ..RandomLayout::default()
                };
                for lost in [vec![0], vec![2], vec![1, 3]] {
                    if lost.len() > usize::from(parities) {
                        continue;
                    }
                    for (first, parity) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                        let mut raid = random(parities, disks, &lost, layout);
                        raid.fix_choices([first, parity]);
                        let blocks = 2 * disks + 1;
                        let plan = plan(&mut raid, Op::Read, 0, blocks as u32 * UNIT);
                        let shape = (n, u64::from(parities));
                        let is_lost = |disk: &u64| lost.contains(&(*disk as usize));
                        let (mut expected, mut xor) = (Vec::new(), 0);
                        for (parity, disks) in read_of(read, shape, (first, parity), blocks) {
                            if !disks.iter().any(is_lost) {
                                expected.extend(disks);
                                continue;
                            }
                            let all = data(n, shape.1, parity, 0).into_iter();
                            let all = all.chain((parity..parity + shape.1).map(|disk| disk % n));
                            expected.extend(all.filter(|disk| !is_lost(disk)).take(d as usize));
                            xor += d * u64::from(UNIT);
                        }
                        let subs = plan.sub_requests().iter();
                        let mut seen: Vec<u64> = subs.map(|s| s.disk as u64).collect();
                        seen.sort_unstable();
                        expected.sort_unstable();
                        assert_eq!(
                            seen, expected,
                            "{read:?} {shape:?} {lost:?} {first} {parity}"
                        );
                        assert_eq!(plan.stages()[0].xor, xor);
                    }
                }
            }
        }
    }

    /// Full stripes first, each written whole; then the units of the last one with their parity, which are read before,
    /// or the other data.
    #[test]
    fn a_write_takes_one_stripe_after_the_other_from_where_writes_start() {
        for (parities, disks) in ARRAYS {
            let (n, p) = (disks as u64, u64::from(parities));
            let d = (n - p) as usize;
            for write_start in [
                WriteStart::AfterParity,
                WriteStart::ArrayFirst,
                WriteStart::Random,
            ] {
                let layout = RandomLayout {
                    write_start,
                    ..RandomLayout::default()
                };
                for (first, parity) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                    let mut raid = random(parities, disks, &[], layout);
                    raid.fix_choices([first, parity]);
                    for blocks in 1..=2 * d + 1 {
                        let (full, rest) = (blocks / d, blocks % d);
                        let row = |number: usize| {
                            let parity = (parity + number as u64) % n;
                            let start = match write_start {
                                WriteStart::AfterParity => parity + p,
                                WriteStart::ArrayFirst => 0,
                                WriteStart::Random => first,
                            };
                            let parities = (parity..parity + p).map(|disk| disk % n);
                            (data(n, p, parity, start), parities.collect::<Vec<u64>>())
                        };
                        let mut expected: Vec<u64> = Vec::new();
                        for number in 0..full {
                            let (data, parity) = row(number);
                            expected.extend(data);
                            expected.extend(parity);
                        }
                        let whole = expected.len();
                        let (data, parity) = row(full);
                        let written = [&data[..rest], &parity].concat();
                        let (kind, reads) = match 2 * rest < d {
                            true => (StageKind::ReadModifyWrite, &written[..]),
                            false => (StageKind::ReconstructWrite, &data[rest..]),
                        };
                        let mut stages = Vec::new();
                        let sectors = |units: usize| units as u64 * u64::from(UNIT);
                        if full > 0 {
                            let kind = StageKind::Direct(Access::Write);
                            stages.push((kind, whole, 0, sectors(full * d)));
                        }
                        if rest > 0 {
                            expected.extend(reads);
                            expected.extend(&written);
                            // All that is read, and the new data.
                            let xor = sectors(reads.len() + rest);
                            stages.push((kind, reads.len(), written.len(), xor));
                        }
                        let plan = plan(&mut raid, Op::Write, 0, blocks as u32 * UNIT);
                        let subs = plan.sub_requests().iter();
                        let seen: Vec<u64> = subs.map(|s| s.disk as u64).collect();
                        assert_eq!(seen, expected, "{write_start:?} {n} {p} {first} {parity:?}");
                        let stage = |s: &crate::Stage| (s.kind, s.first.len(), s.then.len(), s.xor);
                        let seen: Vec<_> = plan.stages().iter().map(stage).collect();
                        assert_eq!(seen, stages);
                    }
                }
            }
        }
    }

    #[test]
    fn writes_behind_the_parity_are_those_of_any_stripes() {
        for (parities, disks) in [(1, 3), (1, 4), (1, 5), (1, 8), (2, 4), (2, 6), (2, 9)] {
            let random = |lost: &[usize]| {
                let layout = ParityLayout::LeftSymmetric;
                array(parities, disks, Placement::Random, layout, lost).unwrap()
            };
            // Where a disk is lost the general way is taken, and this one is in no stripe.
            let (mut short, mut general) = (random(&[]), random(&[99]));
            for blocks in (1..=30).chain(1..=30) {
                let short = plan(&mut short, Op::Write, 0, blocks * UNIT);
                let general = plan(&mut general, Op::Write, 0, blocks * UNIT);
                assert_eq!(short.sub_requests(), general.sub_requests());
                assert_eq!(short.stages(), general.stages());
            }
        }
    }
}
