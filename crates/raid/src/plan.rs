//! Plans: what a request becomes.

use std::ops::Range;

use iosonar_device::Access;
use iosonar_trace::Request;
use iosonar_units::{Sector, Sectors};

/// A part of a request that goes to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubRequest {
    /// Which device, from 0.
    pub disk: usize,
    /// The first sector on that device.
    pub sector: Sector,
    /// How much.
    pub sectors: Sectors,
}

/// How a part of a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// All sub-requests at once.
    Direct(Access),
    /// Pre-reads of the old data and parity, then, when all are done, the writes.
    ReadModifyWrite,
    /// Pre-reads of what stays of the stripe, then, when all are done, the writes.
    ReconstructWrite,
}

/// A part of a request that is carried out on its own: all reads, all full stripes, or one partly
/// written stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// How.
    pub kind: StageKind,
    /// The sub-requests that are issued at once: the pre-reads of a partial write.
    pub first: Range<usize>,
    /// Those that follow when all of `first` are done: the writes of a partial write.
    pub then: Range<usize>,
}

/// What a request becomes: sub-requests in stages. Stages do not wait for each other.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    sub_requests: Vec<SubRequest>,
    stages: Vec<Stage>,
}

impl Plan {
    /// Empties the plan, keeps its memory.
    pub fn clear(&mut self) {
        self.sub_requests.clear();
        self.stages.clear();
    }

    /// The stages, in the order in which they are issued.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// All sub-requests; the stages' ranges refer to them.
    pub fn sub_requests(&self) -> &[SubRequest] {
        &self.sub_requests
    }

    /// Adds a sub-request to the stage that is being built.
    #[inline]
    pub fn add(&mut self, disk: usize, sector: Sector, sectors: Sectors) {
        self.sub_requests.push(SubRequest {
            disk,
            sector,
            sectors,
        });
    }

    /// How many sub-requests have been added.
    #[inline]
    pub fn len(&self) -> usize {
        self.sub_requests.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.sub_requests.is_empty()
    }

    /// Makes a stage of the sub-requests from `begin` on, all issued at once.
    pub fn direct(&mut self, access: Access, begin: usize) {
        if begin < self.len() {
            self.stages.push(Stage {
                kind: StageKind::Direct(access),
                first: begin..self.len(),
                then: self.len()..self.len(),
            });
        }
    }

    /// Makes a stage of the sub-requests from `begin` on: pre-reads up to `writes`, then writes.
    pub fn partial_write(&mut self, kind: StageKind, begin: usize, writes: usize) {
        self.stages.push(Stage {
            kind,
            first: begin..writes,
            then: writes..self.len(),
        });
    }
}

/// A RAID level with its layout: says what a request becomes.
pub trait Planner {
    /// Fills the (empty) `plan` for `request`, which lies within
    /// [`data_sectors`](Self::data_sectors).
    fn plan(&mut self, request: &Request, plan: &mut Plan);

    /// How many devices the plans speak of.
    fn disks(&self) -> usize;

    /// How many sectors of data the array holds.
    fn data_sectors(&self) -> u64;
}
