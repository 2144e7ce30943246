//! RAID levels: what a request becomes.

mod grouped;
mod linear;
mod lost;
mod md;
mod mirrored;
mod parity;
mod registered;
mod striped;

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

pub use grouped::Grouped;
pub use linear::Linear;
pub use lost::Lost;
pub use md::{Bitmap, CopyLayout, LinuxMd, MdLevel, MdMirrors, MdParity, RmwLevel, StripeHandling};
pub use mirrored::{Arrangement, MirrorRead, Mirrored};
pub use parity::{Parity, ParityLayout, RandomLayout, ReadLayout, WriteStart};
pub use registered::Registered;
pub use striped::{Striped, access_of};

use crate::{Planner, RequestPlan};

/// Any of the built-in levels, or a registered one.
#[derive(Debug)]
pub enum Level {
    /// RAID 0.
    Striped(Striped),
    /// RAID 1, 10 and 01.
    Mirrored(Mirrored),
    /// RAID 5 and 6.
    Parity(Parity),
    /// Disks one after the other.
    Linear(Linear),
    /// RAID 50 and 60.
    Grouped(Grouped),
    /// Linux's software RAID.
    LinuxMd(Box<LinuxMd>),
    /// One from elsewhere.
    Registered(Registered),
}

impl Level {
    /// How many outcomes its two random choices have with random placement, all alike; `None` where it
    /// chooses more often, or by the state.
    pub fn choices(&self) -> Option<[u64; 2]> {
        match self {
            Self::Striped(level) => Some(level.choices()),
            Self::Mirrored(level) => level.choices(),
            Self::Parity(level) => Some(level.choices()),
            Self::Linear(level) => Some(level.choices()),
            Self::Grouped(_) | Self::LinuxMd(_) | Self::Registered(_) => None,
        }
    }

    /// From now on every request has these outcomes, so that all plans can be gone through.
    pub fn fix_choices(&mut self, outcomes: [u64; 2]) {
        match self {
            Self::Striped(level) => level.fix_choices(outcomes),
            Self::Mirrored(level) => level.fix_choices(outcomes),
            Self::Parity(level) => level.fix_choices(outcomes),
            Self::Linear(level) => level.fix_choices(outcomes),
            Self::Grouped(_) | Self::LinuxMd(_) | Self::Registered(_) => {}
        }
    }
}

/// `each!(level, planner => expression)`: the expression for whatever level it is.
macro_rules! each {
    ($level:expr, $planner:ident => $expression:expr) => {
        match $level {
            Self::Striped($planner) => $expression,
            Self::Mirrored($planner) => $expression,
            Self::Parity($planner) => $expression,
            Self::Linear($planner) => $expression,
            Self::Grouped($planner) => $expression,
            Self::LinuxMd($planner) => $expression,
            Self::Registered($planner) => $expression,
        }
    };
}

impl Planner for Level {
    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        each!(self, level => level.plan(request, devices, plan));
    }

    fn disks(&self) -> usize {
        each!(self, level => level.disks())
    }

    fn data_sectors(&self) -> u64 {
        each!(self, level => level.data_sectors())
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        each!(self, level => level.issues_at_once(op, sectors))
    }

    fn stripes_to_rebuild(&self) -> u64 {
        each!(self, level => level.stripes_to_rebuild())
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        each!(self, level => level.plan_rebuild(stripe, plan));
    }

    fn rebuilt(&mut self, stripes: u64) {
        each!(self, level => level.rebuilt(stripes));
    }

    fn fail(&mut self, disk: usize) -> bool {
        each!(self, level => level.fail(disk))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::positioning::tests::Answers;
    use iosonar_units::Sector;

    /// The plan of a request to an array without anything to look at.
    pub(crate) fn plan_of(
        planner: &mut impl Planner,
        op: Op,
        sector: u64,
        sectors: u32,
    ) -> RequestPlan {
        let request = Request {
            op,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        };
        let mut plan = RequestPlan::default();
        planner.plan(&request, &[] as &[Answers], &mut plan);
        plan
    }
}
