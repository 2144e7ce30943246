//! RAID levels: what a request becomes.

mod grouped;
mod linear;
mod lost;
mod mirrored;
mod parity;
mod striped;

use iosonar_device::Observable;
use iosonar_trace::{Op, Request};
use iosonar_units::Sectors;

pub use grouped::Grouped;
pub use linear::Linear;
pub use lost::Lost;
pub use mirrored::{Arrangement, MirrorRead, Mirrored};
pub use parity::{Parity, ParityLayout, RandomLayout, ReadLayout, WriteStart};
pub use striped::Striped;

use crate::{Planner, RequestPlan};

/// Any of the built-in levels.
#[derive(Clone, Debug)]
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
            Self::Grouped(_) => None,
        }
    }

    /// From now on every request has these outcomes, so that all plans can be gone through.
    pub fn fix_choices(&mut self, outcomes: [u64; 2]) {
        match self {
            Self::Striped(level) => level.fix_choices(outcomes),
            Self::Mirrored(level) => level.fix_choices(outcomes),
            Self::Parity(level) => level.fix_choices(outcomes),
            Self::Linear(level) => level.fix_choices(outcomes),
            Self::Grouped(_) => {}
        }
    }
}

impl Planner for Level {
    #[inline]
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        match self {
            Self::Striped(level) => level.plan(request, devices, plan),
            Self::Mirrored(level) => level.plan(request, devices, plan),
            Self::Parity(level) => level.plan(request, devices, plan),
            Self::Linear(level) => level.plan(request, devices, plan),
            Self::Grouped(level) => level.plan(request, devices, plan),
        }
    }

    fn disks(&self) -> usize {
        match self {
            Self::Striped(level) => level.disks(),
            Self::Mirrored(level) => level.disks(),
            Self::Parity(level) => level.disks(),
            Self::Linear(level) => level.disks(),
            Self::Grouped(level) => level.disks(),
        }
    }

    fn data_sectors(&self) -> u64 {
        match self {
            Self::Striped(level) => level.data_sectors(),
            Self::Mirrored(level) => level.data_sectors(),
            Self::Parity(level) => level.data_sectors(),
            Self::Linear(level) => level.data_sectors(),
            Self::Grouped(level) => level.data_sectors(),
        }
    }

    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        match self {
            Self::Striped(level) => level.issues_at_once(op, sectors),
            Self::Mirrored(level) => level.issues_at_once(op, sectors),
            Self::Parity(level) => level.issues_at_once(op, sectors),
            Self::Linear(level) => level.issues_at_once(op, sectors),
            Self::Grouped(level) => level.issues_at_once(op, sectors),
        }
    }

    fn stripes_to_rebuild(&self) -> u64 {
        match self {
            Self::Mirrored(level) => level.stripes_to_rebuild(),
            Self::Parity(level) => level.stripes_to_rebuild(),
            Self::Striped(_) | Self::Linear(_) | Self::Grouped(_) => 0,
        }
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        match self {
            Self::Mirrored(level) => level.plan_rebuild(stripe, plan),
            Self::Parity(level) => level.plan_rebuild(stripe, plan),
            Self::Striped(_) | Self::Linear(_) | Self::Grouped(_) => {}
        }
    }

    fn rebuilt(&mut self, stripes: u64) {
        match self {
            Self::Mirrored(level) => level.rebuilt(stripes),
            Self::Parity(level) => level.rebuilt(stripes),
            Self::Striped(_) | Self::Linear(_) | Self::Grouped(_) => {}
        }
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
