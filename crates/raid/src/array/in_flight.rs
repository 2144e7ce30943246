//! Sub-requests in flight, and whose they are.

use iosonar_device::{Pace, RequestId};
use iosonar_trace::Request;
use iosonar_units::Nanos;

use crate::RequestPlan;

/// Whose sub-requests they are, and so what follows when all of them are done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// A request: its completion.
    Request(RequestId),
    /// A write that was complete when it was in the cache: there is room for the next.
    CachedWrite(RequestId),
    /// A stripe that is rebuilt, and when that began: the next stripe.
    Rebuild { stripe: u64, began: Nanos },
}

impl Owner {
    /// The identity of its jobs.
    #[inline]
    pub(super) fn id(self) -> RequestId {
        match self {
            Self::Request(id) | Self::CachedWrite(id) => id,
            // Out of the way of the requests, which count up from zero. Completion hashes contain these numbers.
            Self::Rebuild { stripe, .. } => RequestId(u64::MAX - stripe),
        }
    }
}

/// A plan that is being carried out.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) owner: Owner,
    /// The request; without meaning in a rebuild.
    pub(super) request: Request,
    pub(super) plan: RequestPlan,
    /// Sub-requests of the whole plan that are not done.
    pub(super) left: usize,
    /// Pre-reads that are not done, by stage.
    pub(super) prereads_left: Vec<usize>,
    /// The disk that ended the last pre-read, by stage.
    pub(super) freed: Vec<Option<u32>>,
    /// The pace of the last access, by disk; empty where nothing is written to a place that was read.
    pub(super) pace: Vec<Option<Pace>>,
    /// When each sub-request ended, by its number; kept if response times are split.
    pub(super) ends: Vec<Nanos>,
    /// Whether a device answered with an error, or something was lost with one.
    pub(super) failed: bool,
    /// Whether something was lost with a device that the level cannot lose.
    pub(super) is_lost: bool,
    /// Where each sub-request is, by its number; kept if something is to happen to devices, as the rest.
    pub(super) parts: Vec<Whereabouts>,
    /// Sub-requests that are on their way or at devices, and other events that the plan waits for.
    pub(super) pending: usize,
    /// Whether it cannot be carried out any more: when nothing is pending, it is planned again, or fails.
    pub(super) broken: bool,
}

/// Where a sub-request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// It has not been issued.
    Planned,
    /// Between the controller and its device, there or back.
    OnTheWay,
    AtDevice,
    Done,
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
    /// Without a plan.
    pub(super) fn new(owner: Owner, request: Request) -> Self {
        Self {
            owner,
            request,
            plan: RequestPlan::default(),
            left: 0,
            prereads_left: Vec::new(),
            freed: Vec::new(),
            pace: Vec::new(),
            ends: Vec::new(),
            failed: false,
            is_lost: false,
            parts: Vec::new(),
            pending: 0,
            broken: false,
        }
    }

    /// The stage of a sub-request. Plans have a stage or two, seldom more.
    #[inline]
    pub(super) fn part(&self, sub: usize) -> Part {
        for (stage, s) in self.plan.stages().iter().enumerate() {
            let first = s.first.contains(&sub);
            if first || s.then.contains(&sub) {
                let preread = first && !s.then.is_empty();
                return Part { stage, preread };
            }
        }
        unreachable!("every sub-request is part of a stage")
    }
}
