//! Random placement, as the papers have it: whole blocks, addresses not looked at.
//!
//! A read starts at a random disk s with the parity at a random disk p; it walks over the disks and
//! skips p, which moves on by one after every n-1 blocks. A write starts at the beginning of a stripe
//! with the parity at a random disk.

use iosonar_device::Access;

use super::Raid5;
use crate::{Plan, StageKind};

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

impl Raid5 {
    pub(super) fn read_at_random(&mut self, blocks: u64, plan: &mut Plan) {
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

    pub(super) fn write_at_random(&mut self, blocks: u64, plan: &mut Plan) {
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
}
