//! From the end of a service to the join: pre-reads before writes, sub-requests before completions.

use iosonar_device::{Access, Device, Service};
use iosonar_trace::Op;
use iosonar_units::Nanos;

use super::{Event, EventSimulation};
use crate::array::in_flight::{InFlight, Owner, Tag, Whereabouts};
use crate::array::{CompletionSink, Served};
use crate::rules::JoinOrder;
use crate::{Planner, Stage, StageKind};

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    /// Starts what waits at a device, if it is free.
    #[inline(always)]
    pub(super) fn start(&mut self, disk: usize, now: Nanos) {
        let device = &self.array.devices[disk];
        // Usually there is nothing to start.
        if device.has_one_instant() {
            let occupancy = device.occupancy();
            if occupancy.in_service.is_some() || occupancy.waiting == 0 {
                return;
            }
        }
        self.start_next(disk, now);
    }

    #[inline(never)]
    fn start_next(&mut self, disk: usize, now: Nanos) {
        if self.is_out(disk) {
            return;
        }
        if let Some(end) = self.array.devices[disk].start_next(now) {
            self.agenda.end_service(disk, end);
        }
    }

    #[inline(always)]
    pub(super) fn end_service(&mut self, disk: usize, now: Nanos) -> Result<(), S::Error> {
        if self.is_out(disk) {
            return Ok(());
        }
        // Only devices with steps of their own go on by themselves.
        let until = if self.array.devices[disk].pipelined().is_some() {
            self.agenda
                .next_time()
                .unwrap_or_else(|| self.alone_until(now))
        } else {
            now
        };
        let Some(service) = self.array.devices[disk].complete(now, until) else {
            self.start(disk, now);
            return Ok(());
        };
        let job = &service.job;
        let hash = &mut self.measurement.summary.hash;
        hash.add(job.request.0, disk as u32, service.started, now);
        let Tag { slot, sub } = Tag::unpack(job.tag);
        let state = &mut self.in_flight[slot];
        debug_assert_eq!(
            state.owner.id(),
            job.request,
            "a job belongs to the owner of its slot"
        );
        if !state.pace.is_empty() {
            state.pace[disk] = Some(service.pace);
        }
        state.failed |= service.failed;
        if self.measurement.takes_services || self.array.split {
            self.record(&service, slot, disk, now)?;
        }
        if self.array.controller.bus_ns_per_sector > 0.0 && self.brings_data(slot, sub) {
            let at = self.cross_bus(job.sectors, now);
            self.agenda.schedule(at, Event::Transferred { slot, sub });
            if self.tracks() {
                self.in_flight[slot].parts[sub as usize] = Whereabouts::OnTheWay;
            }
            self.start(disk, now);
            return Ok(());
        }
        self.part_is_done(slot, sub, now, Some(disk))
    }

    /// Whether data of a sub-request, which is done at its device, have to cross the bus.
    fn brings_data(&self, slot: u32, sub: u32) -> bool {
        let state = &self.in_flight[slot];
        let part = state.part(sub as usize);
        let kind = state.plan.stages()[part.stage].kind;
        part.preread || kind == StageKind::Direct(Access::Read)
    }

    /// How far a device may go where nothing else is to happen: to the end of a job that a requester waits for.
    /// Where none does, or the cache may be emptied, the array's clock goes with it.
    fn alone_until(&self, now: Nanos) -> Nanos {
        if self.present > 0 && self.array.controller.cache.is_none() {
            Nanos::MAX
        } else {
            now
        }
    }

    fn record(
        &mut self,
        service: &Service,
        slot: u32,
        device: usize,
        now: Nanos,
    ) -> Result<(), S::Error> {
        let state = &self.in_flight[slot];
        if !self.is_measured(state) || matches!(state.request.op, Op::Discard | Op::Flush) {
            return Ok(());
        }
        let pipelined = self.array.devices[device].pipelined();
        let stages = pipelined.map_or(&[][..], |device| device.stage_times());
        if let Some(split) = &mut self.measurement.summary.split {
            split.service(service, stages);
        }
        if self.measurement.takes_services {
            let served = Served {
                request: &state.request,
                service,
                device,
                stages,
            };
            self.measurement
                .release
                .push_service(&served, now, self.sink)?;
        }
        Ok(())
    }

    /// Whether what is done now counts: it does for requests only, while their requesters wait.
    #[inline]
    fn is_measured(&self, state: &InFlight) -> bool {
        match state.owner {
            Owner::Request(id) => self.measurement.window.measures(id.0),
            Owner::CachedWrite(_) | Owner::Rebuild { .. } => false,
        }
    }

    /// A sub-request is done; `disk` is the device that is free now.
    #[inline(always)]
    pub(super) fn part_is_done(
        &mut self,
        slot: u32,
        sub: u32,
        now: Nanos,
        disk: Option<usize>,
    ) -> Result<(), S::Error> {
        if self.tracks() {
            self.in_flight[slot].parts[sub as usize] = Whereabouts::Done;
            if self.comes_back(slot, now)? {
                if let Some(disk) = disk {
                    self.start(disk, now);
                }
                return Ok(());
            }
        }
        let state = &mut self.in_flight[slot];
        state.left -= 1;
        let complete = state.left == 0;
        let part = state.part(sub as usize);
        if self.array.split {
            state.ends[sub as usize] = now;
        }
        let mut joined = false;
        if part.stage == 0 && state.plan.has_ahead() {
            state.prereads_left[0] -= 1;
            if state.prereads_left[0] == 0 {
                self.record_join(slot, Some(0), now);
                self.issue_stages_from(1, slot, now);
            }
        } else if part.preread {
            state.prereads_left[part.stage] -= 1;
            joined = state.prereads_left[part.stage] == 0;
            if joined {
                let disk = state.plan.sub_requests()[sub as usize].disk;
                state.freed[part.stage] = Some(disk as u32);
                self.record_join(slot, Some(part.stage), now);
            }
        }
        if complete {
            self.all_parts_are_done(slot, now)?;
        }
        let writes_now = joined && !self.wait_for_parity(slot, part.stage, now);
        if let (JoinOrder::DiskFirst, Some(disk)) = (self.array.rules.join, disk) {
            self.start(disk, now);
        }
        if writes_now {
            self.issue_writes(slot, part.stage, now, disk);
        }
        if let Some(disk) = disk {
            self.start(disk, now);
        }
        Ok(())
    }

    fn all_parts_are_done(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        self.record_join(slot, None, now);
        if !self.array.controller.xor_takes_time() {
            return self.send(slot, now);
        }
        let stages = self.in_flight[slot].plan.stages();
        let reads = stages
            .iter()
            .filter(|stage| stage.kind == StageKind::Direct(Access::Read));
        let xor = self
            .array
            .controller
            .xor(reads.map(|stage| stage.xor).sum());
        if xor > Nanos::ZERO {
            self.agenda.schedule(now + xor, Event::Joined { slot });
            return Ok(());
        }
        self.send(slot, now)
    }

    /// The join delays of the pre-reads of a stage, or of the last accesses of all stages.
    #[inline]
    fn record_join(&mut self, slot: u32, prereads_of: Option<usize>, now: Nanos) {
        if self.array.split {
            self.split_join(slot, prereads_of, now);
        }
    }

    fn split_join(&mut self, slot: u32, prereads_of: Option<usize>, now: Nanos) {
        let state = &self.in_flight[slot];
        let is_timed = !matches!(state.request.op, Op::Discard | Op::Flush);
        if !is_timed || !self.is_measured(state) {
            return;
        }
        if let Some(split) = &mut self.measurement.summary.split {
            let (stages, end) = (state.plan.stages(), |sub: usize| state.ends[sub]);
            if let Some(stage) = prereads_of {
                split.joined(stages[stage].first.clone().map(end), now);
            } else {
                let joined = stages.iter().filter(|stage| stage.kind != StageKind::Ahead);
                split.joined(joined.flat_map(Stage::last).map(end), now);
            }
        }
    }
}
