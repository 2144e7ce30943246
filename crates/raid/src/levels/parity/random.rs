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
    use crate::levels::parity::tests::{UNIT, array, plan};
    use crate::{ParityLayout, Placement};
    use iosonar_trace::Op;

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
