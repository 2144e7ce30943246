//! Plans: what a request becomes.

use std::ops::Range;

use iosonar_device::{Access, Device, Observable};
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

/// A part of a request that goes to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubRequest {
    /// Which device, from 0.
    pub disk: usize,
    /// The first sector on that device.
    pub sector: Sector,
    /// Its length.
    pub sectors: Sectors,
}

/// How a part of a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// All sub-requests at once.
    Direct(Access),
    /// Writes for which all other stages wait; it is the first.
    Ahead,
    /// Pre-reads of the old data and parity, then, when all are done, the writes.
    ReadModifyWrite,
    /// Pre-reads of what stays of the stripe, then, when all are done, the writes.
    ReconstructWrite,
    /// Reads, then, when all are done, writes elsewhere: a step of a rebuild.
    Copy,
}

/// A part of a request that is carried out on its own: all reads, all full stripes, or one partly
/// written stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// How it is carried out.
    pub kind: StageKind,
    /// The sub-requests that are issued at once: the pre-reads of a partial write.
    pub first: Range<usize>,
    /// Those that follow when all of `first` are done: the writes of a partial write.
    pub then: Range<usize>,
    /// How many sectors go through the controller's exclusive-or: before the writes, or after the
    /// reads where a lost unit is made of the others.
    pub xor: u64,
}

impl Stage {
    /// The sub-requests with which it ends: the writes of a partial write, or all.
    #[inline]
    pub fn last(&self) -> Range<usize> {
        if self.then.is_empty() {
            self.first.clone()
        } else {
            self.then.clone()
        }
    }
}

/// What a request becomes: sub-requests in stages. Stages do not wait for each other, but for one that is
/// [ahead](StageKind::Ahead).
#[derive(Clone, Debug, Default)]
pub struct RequestPlan {
    sub_requests: Vec<SubRequest>,
    stages: Vec<Stage>,
    /// Memory for [`coalesce`](Self::coalesce).
    merged: Vec<SubRequest>,
}

impl RequestPlan {
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

    /// Adds several to it.
    #[inline]
    pub(crate) fn add_all(&mut self, several: impl Iterator<Item = SubRequest>) {
        self.sub_requests.extend(several);
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
                xor: 0,
            });
        }
    }

    /// The stage that was added last puts `sectors` through the exclusive-or.
    pub fn with_xor(&mut self, sectors: u64) {
        if let Some(stage) = self.stages.last_mut() {
            stage.xor = sectors;
        }
    }

    /// Makes one sub-request of those that follow on each other, on one disk and in one stage. The
    /// papers' model keeps each block its own; a disk with addresses would not.
    pub fn coalesce(&mut self) {
        if self.sub_requests.len() < 2 {
            return;
        }
        let Self {
            sub_requests,
            stages,
            merged,
        } = self;
        merged.clear();
        let mut merge = |range: &mut Range<usize>| {
            let begin = merged.len();
            for sub in &sub_requests[range.clone()] {
                let earlier = merged[begin..]
                    .iter_mut()
                    .rev()
                    .find(|m| m.disk == sub.disk);
                match earlier {
                    Some(m)
                        if m.sector.get() + u64::from(m.sectors.get()) == sub.sector.get()
                            && m.sectors.get().checked_add(sub.sectors.get()).is_some() =>
                    {
                        m.sectors = Sectors::new(m.sectors.get() + sub.sectors.get());
                    }
                    _ => merged.push(*sub),
                }
            }
            *range = begin..merged.len();
        };
        for stage in stages {
            merge(&mut stage.first);
            merge(&mut stage.then);
        }
        std::mem::swap(sub_requests, merged);
    }

    /// Flushes those of the devices that it costs something, whatever the level.
    pub(crate) fn flush<D: Device>(&mut self, devices: &mut [D]) {
        for (disk, device) in devices.iter_mut().enumerate() {
            if device
                .pipelined()
                .is_some_and(|device| device.takes_flushes())
            {
                self.add(disk, Sector::new(0), Sectors::new(0));
            }
        }
        self.direct(Access::Flush, 0);
    }

    /// Makes the first stage of all sub-requests up to now, which are writes: the others wait for them.
    pub fn ahead(&mut self) {
        self.stages.push(Stage {
            kind: StageKind::Ahead,
            first: 0..self.len(),
            then: self.len()..self.len(),
            xor: 0,
        });
    }

    /// Whether other stages wait for the first one.
    #[inline]
    pub(crate) fn has_ahead(&self) -> bool {
        matches!(self.stages.first(), Some(stage) if stage.kind == StageKind::Ahead)
    }

    /// Moves the sub-requests from `begin` on `sectors` further on.
    pub(crate) fn shift(&mut self, begin: usize, sectors: u64) {
        for sub in &mut self.sub_requests[begin..] {
            sub.sector = Sector::new(sub.sector.get() + sectors);
        }
    }

    /// Makes discards of the writes, which are all direct.
    pub(crate) fn discard(&mut self) {
        for stage in &mut self.stages {
            stage.kind = StageKind::Direct(Access::Discard);
        }
    }

    /// Adds the plan of a part of the array, whose disk 0 is this one's disk `disks`.
    pub fn append(&mut self, part: &Self, disks: usize) {
        let before = self.len();
        let moved = |s: &SubRequest| SubRequest {
            disk: s.disk + disks,
            ..*s
        };
        self.sub_requests
            .extend(part.sub_requests.iter().map(moved));
        self.stages.extend(part.stages.iter().map(|stage| Stage {
            kind: stage.kind,
            first: stage.first.start + before..stage.first.end + before,
            then: stage.then.start + before..stage.then.end + before,
            xor: stage.xor,
        }));
    }

    /// Makes a stage of the sub-requests from `begin` on: reads up to `writes`, then writes.
    pub fn partial_write(&mut self, kind: StageKind, begin: usize, writes: usize) {
        self.stages.push(Stage {
            kind,
            first: begin..writes,
            then: writes..self.len(),
            xor: 0,
        });
    }
}

/// A RAID level with its layout: says what a request becomes.
///
/// Implement it to simulate an array of one's own over any [`Device`](iosonar_device::Device)s.
pub trait Planner {
    /// Fills the (empty) `plan` for `request`, which lies within
    /// [`data_sectors`](Self::data_sectors). The devices may be looked at, for instance to read from
    /// the mirror with the shorter queue; spare devices follow those of the array.
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan);

    /// How many devices the plans speak of.
    fn disks(&self) -> usize;

    /// How many sectors of data the array holds.
    fn data_sectors(&self) -> u64;

    /// Whether all sub-requests of such a request are issued at its start, without a look at the
    /// devices: a plan may be asked for before they have come that far, and without them. If no size is given: whatever
    /// the size.
    fn issues_at_once(&self, op: Op, sectors: Option<Sectors>) -> bool {
        let _ = (op, sectors);
        false
    }

    /// How many stripes a rebuild of the lost disks copies; 0 if nothing can be rebuilt.
    fn stripes_to_rebuild(&self) -> u64 {
        0
    }

    /// Fills the (empty) plan with the [`StageKind::Copy`] that rebuilds a stripe.
    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        let _ = (stripe, plan);
    }

    /// From now on the first `stripes` stripes of lost disks are on the spares.
    fn rebuilt(&mut self, stripes: u64) {
        let _ = stripes;
    }

    /// From now on `disk`, which was well, has failed. If the data that it held are still available, plans no
    /// longer use it, and this returns `true`; otherwise plans stay as they were, and what they need of this disk fails.
    fn fail(&mut self, disk: usize) -> bool {
        let _ = disk;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(sub_requests: &[(usize, u64, u32)]) -> RequestPlan {
        let mut plan = RequestPlan::default();
        for &(disk, sector, sectors) in sub_requests {
            plan.add(disk, Sector::new(sector), Sectors::new(sectors));
        }
        plan
    }

    #[test]
    fn what_follows_on_each_other_on_a_disk_and_in_a_stage_becomes_one() {
        let mut plan = plan_of(&[(0, 0, 8), (1, 0, 8), (0, 8, 8), (0, 24, 8), (1, 8, 4)]);
        plan.direct(Access::Read, 0);
        let begin = plan.len();
        plan.add(1, Sector::new(12), Sectors::new(4));
        plan.direct(Access::Write, begin);
        plan.coalesce();
        let merged = plan_of(&[(0, 0, 16), (1, 0, 12), (0, 24, 8), (1, 12, 4)]);
        assert_eq!(plan.sub_requests(), merged.sub_requests());
        let ranges: Vec<_> = plan.stages().iter().map(|s| s.first.clone()).collect();
        assert_eq!(ranges, [0..3, 3..4]);
    }

    #[test]
    fn what_does_not_fit_into_one_request_stays_apart() {
        let parts = [(0, 0, u32::MAX), (0, u64::from(u32::MAX), 1)];
        let mut plan = plan_of(&parts);
        plan.direct(Access::Read, 0);
        plan.coalesce();
        assert_eq!(plan.sub_requests(), plan_of(&parts).sub_requests());
    }

    #[test]
    fn a_part_of_a_plan_is_moved_and_appended_with_its_stages() {
        let mut part = plan_of(&[(0, 0, 8)]);
        part.direct(Access::Write, 0);
        part.with_xor(5);
        part.add(1, Sector::new(8), Sectors::new(8));
        part.add(2, Sector::new(8), Sectors::new(8));
        part.partial_write(StageKind::ReadModifyWrite, 1, 2);
        part.with_xor(7);
        let mut plan = plan_of(&[(9, 100, 1), (9, 200, 1)]);
        plan.ahead();
        assert!(plan.has_ahead() && !part.has_ahead());
        plan.append(&part, 10);
        plan.shift(2, 1000);
        let moved = plan_of(&[
            (9, 100, 1),
            (9, 200, 1),
            (10, 1000, 8),
            (11, 1008, 8),
            (12, 1008, 8),
        ]);
        assert_eq!(plan.sub_requests(), moved.sub_requests());
        let stages: Vec<_> = plan
            .stages()
            .iter()
            .map(|s| (s.kind, s.first.clone(), s.then.clone(), s.last(), s.xor))
            .collect();
        let direct = StageKind::Direct(Access::Write);
        assert_eq!(
            stages,
            [
                (StageKind::Ahead, 0..2, 2..2, 0..2, 0),
                (direct, 2..3, 3..3, 2..3, 5),
                (StageKind::ReadModifyWrite, 3..4, 4..5, 4..5, 7),
            ]
        );
        assert_eq!((plan.len(), plan.is_empty()), (5, false));
        // A stage of nothing is none.
        plan.direct(Access::Read, 5);
        assert_eq!(plan.stages().len(), 3);
        plan.clear();
        assert!(plan.is_empty() && plan.stages().is_empty() && !plan.has_ahead());
    }

    #[test]
    fn what_follows_on_in_a_stage_after_others_of_its_disk_does_not_join_them() {
        let mut plan = plan_of(&[(0, 0, 8), (1, 8, 8), (0, 9, 8), (0, 8, 8)]);
        plan.partial_write(StageKind::ReconstructWrite, 0, 2);
        plan.coalesce();
        let unmerged = plan_of(&[(0, 0, 8), (1, 8, 8), (0, 9, 8), (0, 8, 8)]);
        assert_eq!(plan.sub_requests(), unmerged.sub_requests());
        let mut two = plan_of(&[(3, 0, 8), (3, 8, 8)]);
        two.direct(Access::Read, 0);
        two.coalesce();
        assert_eq!(two.sub_requests(), plan_of(&[(3, 0, 16)]).sub_requests());
    }

    #[test]
    fn a_discard_moves_no_data() {
        let mut plan = plan_of(&[(0, 0, 8), (1, 0, 8)]);
        plan.direct(Access::Write, 0);
        plan.discard();
        assert_eq!(plan.stages()[0].kind, StageKind::Direct(Access::Discard));
    }
}
