//! From requests to jobs: plans, the bus, the queues of the devices.

use iosonar_device::{Access, Device, Job, PaceOf, Positioning, Priority};
use iosonar_trace::Op;
use iosonar_units::{Nanos, Sectors};

use super::{Event, EventSimulation};
use crate::array::CompletionSink;
use crate::array::in_flight::{Owner, Tag, Whereabouts};
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
        let plan = &self.in_flight[slot].plan;
        if plan.has_ahead() {
            for sub in plan.stages()[0].first.clone() {
                self.submit(slot, sub as u32, now, None);
            }
        } else {
            self.issue_stages_from(0, slot, now);
        }
    }

    /// Issues the stages from `first` on.
    pub(super) fn issue_stages_from(&mut self, first: usize, slot: u32, now: Nanos) {
        for number in first..self.in_flight[slot].plan.stages().len() {
            let stage = &self.in_flight[slot].plan.stages()[number];
            let (kind, first) = (stage.kind, stage.first.clone());
            if first.is_empty() {
                self.issue_writes(slot, number, now, None);
                continue;
            }
            let writes = kind == StageKind::Direct(Access::Write);
            if writes && self.wait_for_parity(slot, number, now) {
                continue;
            }
            for sub in first {
                self.submit(slot, sub as u32, now, None);
            }
        }
    }

    /// If the parity of a stage takes time, plans its writes for then, and says so.
    pub(super) fn wait_for_parity(&mut self, slot: u32, stage: usize, now: Nanos) -> bool {
        let xor = self.in_flight[slot].plan.stages()[stage].xor;
        let xor = self.array.controller.xor(xor);
        if xor == Nanos::ZERO {
            return false;
        }
        let stage = stage as u32;
        self.calendar
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
        for sub in self.in_flight[slot].plan.stages()[stage].last() {
            self.submit(slot, sub as u32, now, freed);
        }
    }

    /// Sends a sub-request on its way to its device.
    #[inline]
    fn submit(&mut self, slot: u32, sub: u32, now: Nanos, freed: Option<usize>) {
        if self.tracks() && !self.sets_out(slot, sub) {
            return;
        }
        if self.array.controller.bus_ns_per_sector > 0.0 && self.writes(slot, sub) {
            let sectors = self.in_flight[slot].plan.sub_requests()[sub as usize].sectors;
            let at = self.cross_bus(sectors, now);
            self.calendar.schedule(at, Event::Deliver { slot, sub });
            return;
        }
        self.deliver(slot, sub, now, freed);
    }

    /// Whether data go to the disk.
    #[inline]
    pub(super) fn writes(&self, slot: u32, sub: u32) -> bool {
        let state = &self.in_flight[slot];
        let part = state.part(sub as usize);
        let kind = state.plan.stages()[part.stage].kind;
        let moves_none = matches!(kind, StageKind::Direct(Access::Discard | Access::Flush));
        !part.preread && !moves_none && kind != StageKind::Direct(Access::Read)
    }

    /// When data that come to the bus now have crossed it.
    pub(super) fn cross_bus(&mut self, sectors: Sectors, now: Nanos) -> Nanos {
        self.bus_free = now.max(self.bus_free) + self.array.controller.bus(sectors);
        self.bus_free
    }

    /// Puts a sub-request into the queue of its device, and starts that, unless it was `freed` just
    /// now.
    #[inline]
    pub(super) fn deliver(&mut self, slot: u32, sub: u32, now: Nanos, freed: Option<usize>) {
        if self.tracks() && !self.reaches(slot, sub, now) {
            return;
        }
        let rules = self.array.rules;
        let state = &self.in_flight[slot];
        let part = state.part(sub as usize);
        let kind = state.plan.stages()[part.stage].kind;
        let piece = state.plan.sub_requests()[sub as usize];
        let device = &mut self.array.devices[piece.disk];
        let mut job = Job {
            tag: Tag { slot, sub }.pack(),
            class: state.request.class,
            ..Job::new(state.owner.id(), Access::Read, piece.sector, piece.sectors)
        };
        match (kind, part.preread) {
            (StageKind::Direct(access), _) => job.access = access,
            (StageKind::Ahead, _) => job.access = Access::Write,
            (StageKind::Copy, preread) => {
                job.priority = Priority::Low;
                job.access = if preread { Access::Read } else { Access::Write };
            }
            (_, true) => job.access = rules.preread_access(),
            (_, false) => {
                let last = state.freed[part.stage] == Some(piece.disk as u32);
                let case = positioning::of_write(kind, job.request, device, last);
                if !self.measurement.window.is_over() {
                    self.measurement.summary.positioning.count(case);
                }
                job.access = Access::Write;
                job.priority = Priority::High;
                job.positioning = rules.positioning(case);
                // The last access of the request to the disk may be in service still.
                let last = match case {
                    Case::ReconstructFollows => device.occupancy().in_service.map(|(_, pace)| pace),
                    _ => state.pace[piece.disk],
                };
                job.pace = last.map_or(PaceOf::NewPlace, PaceOf::Track);
            }
        }
        if rules.transfer == TransferMemory::OnePerRequest && state.request.op != Op::Read {
            job.pace = PaceOf::Request;
        }
        if let Owner::CachedWrite(_) = state.owner {
            job.priority = Priority::Low;
            if device.occupancy().jobs() > 0 {
                // Others will go first, so the arm will be elsewhere.
                job.positioning = Positioning::Fresh;
            }
        }
        device.submit(job, now);
        if freed != Some(piece.disk) {
            self.start(piece.disk, now);
        }
    }
}
