//! From requests to jobs: plans, the bus, the queues of the devices.

use std::ops::Range;

use iosonar_device::{Access, Device, Job, PaceOf, Positioning, Priority};
use iosonar_trace::Op;
use iosonar_units::{Nanos, Sector, Sectors};

use super::{Event, EventSimulation};
use crate::array::CompletionSink;
use crate::array::in_flight::{Owner, Part, Tag, Whereabouts};
use crate::positioning::{self, Case};
use crate::rules::TransferMemory;
use crate::{Planner, StageKind};

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    pub(super) fn plan(&mut self, slot: u32) {
        let state = &mut self.in_flight[slot];
        let (planner, devices) = (&mut self.array.planner, &mut self.array.devices);
        let mut request = state.request;
        // They cost nothing elsewhere. Where writes read first, a discard would leave the parity wrong.
        let discards = request.op == Op::Discard
            && planner.issues_at_once(Op::Write, None)
            && devices
                .iter_mut()
                .all(|device| device.pipelined().is_some());
        if discards {
            request.op = Op::Write;
        }
        state.plan.clear();
        if request.op == Op::Flush {
            state.plan.flush(devices);
        } else {
            planner.plan(&request, devices, &mut state.plan);
        }
        if discards {
            state.plan.discard();
        }
        if self.array.rules.coalesce {
            state.plan.coalesce();
        }
        self.prepare(slot);
    }

    /// Counts what a plan has to do.
    pub(super) fn prepare(&mut self, slot: u32) {
        let state = &mut self.in_flight[slot];
        state.left = state.plan.len();
        state.prereads_left.clear();
        state.freed.clear();
        state.pace.clear();
        let mut partial = false;
        for stage in state.plan.stages() {
            state.prereads_left.push(stage.first.len());
            state.freed.push(None);
            partial |= !stage.then.is_empty();
        }
        if partial {
            state.pace.resize(self.array.devices.len(), None);
        }
        if self.array.split {
            state.ends.clear();
            state.ends.resize(state.left, Nanos::ZERO);
        }
        if !self.array.device_events.is_empty() {
            state.parts.clear();
            state.parts.resize(state.left, Whereabouts::Planned);
            (state.pending, state.broken) = (0, false);
        }
    }

    pub(super) fn issue_to_disks(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        self.plan(slot);
        if self.in_flight[slot].left == 0 {
            // A flush or a discard that costs its devices nothing.
            return self.complete(slot, now);
        }
        self.issue_stages(slot, now);
        Ok(())
    }

    pub(super) fn issue_stages(&mut self, slot: u32, now: Nanos) {
        if self.in_flight[slot].plan.has_ahead() {
            self.issue_first(slot, 0, now);
        } else {
            self.issue_stages_from(0, slot, now);
        }
    }

    /// Issues the stages from `first` on.
    pub(super) fn issue_stages_from(&mut self, first: usize, slot: u32, now: Nanos) {
        for number in first..self.in_flight[slot].plan.stages().len() {
            let stage = &self.in_flight[slot].plan.stages()[number];
            if stage.first.is_empty() {
                self.issue_writes(slot, number, now, None);
                continue;
            }
            let writes = stage.kind == StageKind::Direct(Access::Write);
            if writes && self.wait_for_parity(slot, number, now) {
                continue;
            }
            self.issue_first(slot, number, now);
        }
    }

    /// Issues the sub-requests with which a stage begins.
    fn issue_first(&mut self, slot: u32, stage: usize, now: Nanos) {
        let begun = &self.in_flight[slot].plan.stages()[stage];
        let preread = !begun.then.is_empty();
        self.submit(
            slot,
            begun.first.clone(),
            Part { stage, preread },
            now,
            None,
        );
    }

    /// If the parity of a stage takes time, plans its writes for then, and says so.
    #[inline]
    pub(super) fn wait_for_parity(&mut self, slot: u32, stage: usize, now: Nanos) -> bool {
        if !self.array.controller.xor_takes_time() {
            return false;
        }
        let xor = self.in_flight[slot].plan.stages()[stage].xor;
        let xor = self.array.controller.xor(xor);
        if xor == Nanos::ZERO {
            return false;
        }
        let stage = stage as u32;
        self.agenda
            .schedule(now + xor, Event::Writes { slot, stage });
        if self.tracks() {
            self.in_flight[slot].pending += 1;
        }
        true
    }

    /// The parity of a stage, which took time, is known.
    pub(super) fn parity_is_known(
        &mut self,
        slot: u32,
        stage: usize,
        now: Nanos,
    ) -> Result<(), S::Error> {
        if !self.tracks() || !self.comes_back(slot, now)? {
            self.issue_writes(slot, stage, now, None);
        }
        Ok(())
    }

    /// Issues the writes of a stage. `freed` is the device whose pre-read ended last; if it is free
    /// still, it is started when its end of service has been dealt with.
    pub(super) fn issue_writes(
        &mut self,
        slot: u32,
        stage: usize,
        now: Nanos,
        freed: Option<usize>,
    ) {
        let last = self.in_flight[slot].plan.stages()[stage].last();
        let preread = false;
        self.submit(slot, last, Part { stage, preread }, now, freed);
    }

    /// Sends sub-requests of one part of a stage on their way to their devices.
    fn submit(
        &mut self,
        slot: u32,
        subs: Range<usize>,
        part: Part,
        now: Nanos,
        freed: Option<usize>,
    ) {
        let crosses_bus = self.array.controller.bus_ns_per_sector > 0.0 && self.writes(slot, part);
        let (tracks, issue) = (self.tracks(), self.issue_of(slot, part));
        for sub in subs {
            let sub = sub as u32;
            if tracks && !self.sets_out(slot, sub) {
                continue;
            }
            if crosses_bus {
                let sectors = self.in_flight[slot].plan.sub_requests()[sub as usize].sectors;
                let at = self.cross_bus(sectors, now);
                self.agenda.schedule(at, Event::Deliver { slot, sub });
                continue;
            }
            if !tracks || self.reaches(slot, sub, now) {
                self.deliver(&issue, Tag { slot, sub }, now, freed);
            }
        }
    }

    /// The data of a write have crossed the bus.
    pub(super) fn has_crossed_bus(&mut self, slot: u32, sub: u32, now: Nanos) {
        if self.tracks() && !self.reaches(slot, sub, now) {
            return;
        }
        let part = self.in_flight[slot].part(sub as usize);
        let issue = self.issue_of(slot, part);
        self.deliver(&issue, Tag { slot, sub }, now, None);
    }

    /// Whether data go to the disk.
    #[inline]
    pub(super) fn writes(&self, slot: u32, part: Part) -> bool {
        let kind = self.in_flight[slot].plan.stages()[part.stage].kind;
        let moves_none = matches!(kind, StageKind::Direct(Access::Discard | Access::Flush));
        !part.preread && !moves_none && kind != StageKind::Direct(Access::Read)
    }

    /// When data that come to the bus now have crossed it.
    pub(super) fn cross_bus(&mut self, sectors: Sectors, now: Nanos) -> Nanos {
        self.bus_free = now.max(self.bus_free) + self.array.controller.bus(sectors);
        self.bus_free
    }

    /// What the jobs of a part of a stage have in common.
    #[inline]
    fn issue_of(&self, slot: u32, part: Part) -> Issue {
        let (state, rules) = (&self.in_flight[slot], self.array.rules);
        let kind = state.plan.stages()[part.stage].kind;
        let is_partial = matches!(
            kind,
            StageKind::ReadModifyWrite | StageKind::ReconstructWrite
        );
        let access = match (kind, part.preread) {
            (StageKind::Direct(access), _) => access,
            (StageKind::Copy, true) => Access::Read,
            (_, true) => rules.preread_access(),
            _ => Access::Write,
        };
        let follows = is_partial && !part.preread;
        let is_destaged = matches!(state.owner, Owner::CachedWrite(_));
        let nowhere = (Sector::default(), Sectors::default());
        let mut job = Job::new(state.owner.id(), access, nowhere.0, nowhere.1);
        job.class = state.request.class;
        if is_destaged || kind == StageKind::Copy {
            job.priority = Priority::Low;
        } else if follows {
            job.priority = Priority::High;
        }
        if rules.transfer == TransferMemory::OnePerRequest && state.request.op != Op::Read {
            job.pace = PaceOf::Request;
        }
        Issue {
            job,
            kind,
            stage: part.stage,
            follows,
            is_destaged,
        }
    }

    /// Puts a sub-request into the queue of its device, and starts that, unless it was `freed` just
    /// now.
    #[inline(always)]
    fn deliver(&mut self, issue: &Issue, tag: Tag, now: Nanos, freed: Option<usize>) {
        let state = &self.in_flight[tag.slot];
        let piece = state.plan.sub_requests()[tag.sub as usize];
        let device = &mut self.array.devices[piece.disk];
        let mut job = Job {
            tag: tag.pack(),
            sector: piece.sector,
            sectors: piece.sectors,
            ..issue.job
        };
        if issue.follows {
            let last = state.freed[issue.stage] == Some(piece.disk as u32);
            let case = positioning::of_write(issue.kind, job.request, device, last);
            if !self.measurement.window.is_over() {
                self.measurement.summary.positioning.count(case);
            }
            job.positioning = self.array.rules.positioning(case);
            if job.pace == PaceOf::NewPlace {
                // The last access of the request to the disk may be in service still.
                let last = match case {
                    Case::ReconstructFollows => device.occupancy().in_service.map(|(_, pace)| pace),
                    _ => state.pace[piece.disk],
                };
                job.pace = last.map_or(PaceOf::NewPlace, PaceOf::Track);
            }
        }
        if issue.is_destaged && device.occupancy().jobs() > 0 {
            // Others will go first, so the arm will be elsewhere.
            job.positioning = Positioning::Fresh;
        }
        if freed == Some(piece.disk) || self.is_out(piece.disk) {
            self.array.devices[piece.disk].submit(job, now);
        } else if let Some(end) = self.array.devices[piece.disk].submit_and_start(job, now) {
            self.agenda.end_service(piece.disk, end);
        }
    }
}

/// A part of a stage on its way to the devices.
struct Issue {
    /// What its jobs have in common.
    job: Job,
    kind: StageKind,
    stage: usize,
    /// Whether these are the writes of a partial-stripe write, which come to places that may have been read.
    follows: bool,
    /// Whether they were complete when they were in the cache.
    is_destaged: bool,
}
