//! Arrays as Linux's software RAID (md) lays them out and serves them.
//!
//! The rules are those of `drivers/md` of Linux 6.1, which a test compares with the kernel itself,
//! request by request:
//!
//! - **RAID 0** ([`Striped`]): chunks round-robin, requests cut at chunks.
//! - **RAID 1 and 10** ([`MdMirrors`]): RAID 1 has no chunks; RAID 10 has near, far and offset
//!   copies, and any number of disks. A read goes to one copy by md's balancing.
//! - **RAID 5 and 6** ([`MdParity`]): four layouts. Reads go to the disks; writes, and all requests
//!   to an array that has lost a disk, go through the stripe cache in pages of 4 KiB, and each row of
//!   pages chooses between read-modify-write and reconstruct-write by itself.
//!
//! All of it begins on each disk at the *data offset*.

mod bitmap;
mod cache;
mod mirrors;
mod parity;

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

pub use bitmap::Bitmap;
pub use mirrors::{CopyLayout, MdMirrors};
pub use parity::{MdParity, RmwLevel, StripeHandling};

use super::Striped;
use crate::{Planner, RequestPlan};

/// An array as md has it.
#[derive(Clone, Debug)]
pub struct LinuxMd {
    level: MdLevel,
    data_offset: u64,
    bitmap: Option<Bitmap>,
}

/// The levels of md, over disks that begin at the data offset.
#[derive(Clone, Debug)]
pub enum MdLevel {
    /// RAID 0.
    Striped(Striped),
    /// RAID 1 and 10.
    Mirrors(MdMirrors),
    /// RAID 5 and 6.
    Parity(MdParity),
}

impl LinuxMd {
    /// An array whose disks have `data_offset` sectors before their data; `level` does not count them.
    pub fn new(level: MdLevel, data_offset: u64) -> Self {
        Self {
            level,
            data_offset,
            bitmap: None,
        }
    }

    /// With a write-intent bitmap, whose chunks are of this size. RAID 0 has none.
    #[must_use]
    pub fn with_bitmap(self, chunk: Sectors) -> Self {
        let (lost, sectors) = match &self.level {
            MdLevel::Striped(_) => return self,
            MdLevel::Mirrors(level) => (level.lost(), level.data_sectors()),
            MdLevel::Parity(level) => (level.lost(), level.disk_sectors()),
        };
        let disks = (0..self.disks()).filter(|&disk| !lost.contains(disk, None));
        let bitmap = Bitmap::new(sectors, chunk, disks.collect(), !lost.any());
        Self {
            bitmap: Some(bitmap),
            ..self
        }
    }

    fn mark(bitmap: &mut Bitmap, level: &MdLevel, request: &Request) {
        let at = request.start;
        match level {
            MdLevel::Striped(_) => {}
            MdLevel::Mirrors(_) => bitmap.write(request.sector.get()..request.end().get(), at),
            MdLevel::Parity(level) => level
                .rows_of(request)
                .for_each(|rows| bitmap.write(rows, at)),
        }
    }
}

/// `each!(level, planner => expression)`: the expression for whatever level it is.
macro_rules! each {
    ($level:expr, $planner:ident => $expression:expr) => {
        match $level {
            MdLevel::Striped($planner) => $expression,
            MdLevel::Mirrors($planner) => $expression,
            MdLevel::Parity($planner) => $expression,
        }
    };
}

impl Planner for LinuxMd {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let writes = matches!(request.op, Op::Write | Op::WriteZeroes);
        if let Some(bitmap) = self.bitmap.as_mut().filter(|_| writes) {
            Self::mark(bitmap, &self.level, request);
            bitmap.add_pages(plan);
        }
        let begin = plan.len();
        each!(&mut self.level, level => level.plan(request, devices, plan));
        plan.shift(begin, self.data_offset);
    }

    fn disks(&self) -> usize {
        each!(&self.level, level => level.disks())
    }

    fn data_sectors(&self) -> u64 {
        each!(&self.level, level => level.data_sectors())
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        let reads = !matches!(op, Op::Write | Op::WriteZeroes);
        (reads || self.bitmap.is_none())
            && each!(&self.level, level => level.issues_at_once(op, sectors))
    }

    fn stripes_to_rebuild(&self) -> u64 {
        each!(&self.level, level => level.stripes_to_rebuild())
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        each!(&mut self.level, level => level.plan_rebuild(stripe, plan));
        plan.shift(0, self.data_offset);
    }

    fn rebuilt(&mut self, stripes: u64) {
        each!(&mut self.level, level => level.rebuilt(stripes));
    }

    fn fail(&mut self, disk: usize) -> bool {
        let tolerates = each!(&mut self.level, level => level.fail(disk));
        if let Some(bitmap) = self.bitmap.as_mut().filter(|_| tolerates) {
            bitmap.lose(disk);
        }
        tolerates
    }
}
