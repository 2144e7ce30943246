//! Requests in flight.

use iosonar_device::Pace;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use crate::Plan;

/// A request in flight, or a step of the rebuild.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    pub(super) id: u64,
    pub(super) request: Request,
    pub(super) plan: Plan,
    /// Sub-requests of the whole plan that are not done.
    pub(super) left: usize,
    /// Pre-reads that are not done, by stage.
    pub(super) prereads_left: Vec<usize>,
    /// The pace of the last access, by disk; empty where nothing is written to a place that was read.
    pub(super) pace: Vec<Option<Pace>>,
    /// When each sub-request ended, by its number; kept if response times are split.
    pub(super) ends: Vec<Nanos>,
    /// Whether its requester has been told that it is complete.
    pub(super) told: bool,
    /// Whether a device answered with an error.
    pub(super) failed: bool,
    /// The disk that ended the last pre-read, by stage.
    pub(super) freed: Vec<Option<u32>>,
}

/// The array's word for a job: the request's place in the slab and the number of the sub-request.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) slot: u32,
    pub(super) sub: u32,
}

impl Tag {
    #[inline]
    pub(super) fn pack(self) -> u64 {
        u64::from(self.slot) << 32 | u64::from(self.sub)
    }

    #[inline]
    pub(super) fn unpack(tag: u64) -> Self {
        Self {
            slot: (tag >> 32) as u32,
            sub: tag as u32,
        }
    }
}

/// What a sub-request is part of.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) stage: usize,
    pub(super) preread: bool,
}

impl InFlight {
    /// The stage of a sub-request. Plans have a stage or two, seldom more.
    #[inline]
    pub(super) fn part(&self, sub: usize) -> Part {
        for (stage, s) in self.plan.stages().iter().enumerate() {
            if s.first.contains(&sub) {
                let preread = !s.then.is_empty();
                return Part { stage, preread };
            }
            if s.then.contains(&sub) {
                return Part {
                    stage,
                    preread: false,
                };
            }
        }
        unreachable!("every sub-request is part of a stage")
    }
}
