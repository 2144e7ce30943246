//! Random placement, as in the papers on zoned RAID: whole blocks, addresses ignored.
//!
//! A read starts at a random disk s with the parity at a random disk p; it walks over the disks and
//! skips the parity, which moves on by one after every stripe's worth of blocks. A write starts at the
//! beginning of a stripe with the parity at a random disk.

use iosonar_device::Access;
use iosonar_units::Sector;

use super::Parity;
use super::stripe::{Stripe, Touched};
use crate::{RequestPlan, SubRequest};

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

    fn whole_unit(&self, disk: u64) -> Touched {
        Touched {
            disk,
            range: 0..self.geometry.stripe_unit.get(),
        }
    }
}
