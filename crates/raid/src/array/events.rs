//! The simulation event by event.
//!
//! The rules of order within one instant are the model's:
//!
//! - services end before requests arrive;
//! - the sub-requests of a request are issued stage by stage, and each starts at once if its
//!   device is free;
//! - when the last pre-read of a partial write ends, the writes are issued before the freed device
//!   takes its next job (or after, by [`Rules`](crate::rules::Rules)).

mod cache;
mod issue;
mod rebuilding;

use std::collections::VecDeque;

use iosonar_device::{Access, Device, RequestId, Service};
use iosonar_sim_core::{Calendar, Priority as EventPriority, Slab};
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::in_flight::{InFlight, Tag};
use super::release::Release;
use super::window::Window;
use super::{Array, Completion, CompletionSink, RequestSource, RunSummary, Served};
use crate::positioning::PositioningCounts;
use crate::rules::JoinOrder;
use crate::{Planner, StageKind};
use cache::CacheState;

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request.
    Arrival,
    /// A request of a closed loop, which has its place in the slab already.
    Return { slot: u32 },
    /// The end of the service in progress at a device.
    ServiceEnd { disk: u32 },
    /// The controller has understood a request.
    Issue { slot: u32 },
    /// The parity of a stage is known.
    Writes { slot: u32, stage: u32 },
    /// The data of a write have crossed the bus.
    Deliver { slot: u32, sub: u32 },
    /// The data of a read have crossed the bus.
    Transferred { slot: u32, sub: u32 },
    /// A lost unit has been made of the others.
    Joined { slot: u32 },
    /// The next stripe is rebuilt.
    Rebuild,
}

/// Requests arrive after all else that happens in the same nanosecond.
const ARRIVES_LAST: EventPriority = EventPriority(200);

/// The identities of rebuild steps count down from here, those of requests up from zero.
const REBUILD_IDS: u64 = u64::MAX;

/// A run.
pub(super) struct Run<P, D> {
    array: Array<P, D>,
    /// Nothing lies between host and disks that takes time or lets wait.
    plain: bool,
    calendar: Calendar<Event>,
    in_flight: Slab<InFlight>,
    /// Requests that have come and are not complete.
    open: usize,
    /// Requests that wait for the one before, where there is one at a time.
    held: VecDeque<u32>,
    cache: CacheState,
    bus_free: Nanos,
    rebuild_stripe: u64,
    rebuild_began: Nanos,
    release: Release,
    window: Window,
    /// Whether all requests of the load are complete.
    load_is_complete: bool,
    /// Whether a request of a closed loop followed on a completion.
    followed: bool,
    /// Whether none followed on one, so that the loop drains.
    drains: bool,
    /// Whether the next of the held requests may be issued.
    admits: bool,
    sources_end: bool,
    /// Requests of a closed loop whose users think.
    returning: usize,
    /// Completions that others may follow on, where there is a closed loop.
    told: Vec<Completion>,
    keeps_told: bool,
    /// Whether the sink takes services.
    takes_services: bool,
    /// Whether discards go to the devices.
    discards: bool,
    /// Whether the devices were told that no more will come.
    drained: bool,
    summary: RunSummary,
}

impl<P: Planner, D: Device> Run<P, D> {
    pub(super) fn new(array: Array<P, D>) -> Self {
        let controller = &array.controller;
        let summary = RunSummary {
            split: array.split.then(Box::default),
            ..RunSummary::default()
        };
        let window = Window::new(array.warmup, false);
        let direct = array.planner.issues_at_once(Op::Write, None);
        let discards = direct && array.devices.iter().all(Device::takes_discards);
        Self {
            discards,
            drained: false,
            plain: controller.is_immediate() && !controller.one_at_a_time,
            array,
            calendar: Calendar::default(),
            in_flight: Slab::default(),
            open: 0,
            held: VecDeque::new(),
            cache: CacheState::default(),
            bus_free: Nanos::ZERO,
            rebuild_stripe: 0,
            rebuild_began: Nanos::ZERO,
            release: Release::default(),
            window,
            load_is_complete: false,
            followed: false,
            drains: false,
            admits: false,
            sources_end: false,
            returning: 0,
            told: Vec::new(),
            keeps_told: false,
            takes_services: false,
            summary,
        }
    }

    pub(super) fn run<E>(
        mut self,
        source: &mut impl RequestSource<Error = E>,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(RunSummary, Vec<D>), E> {
        self.takes_services = sink.takes_services();
        self.begin_rebuild();
        let closed = source.is_closed();
        self.keeps_told = closed;
        self.window = Window::new(self.array.warmup, closed);
        let mut next = None;
        if closed {
            while let Some(request) = source.next_request()? {
                self.plan_return(request);
            }
            if !source.waits_for_completions() {
                self.drains = true;
                self.end_of_load(false, Nanos::ZERO);
            }
        } else {
            next = source.next_request()?;
            self.plan_arrival(next);
        }
        loop {
            let Some((now, event)) = self.calendar.pop() else {
                if !self.cache.is_empty() {
                    self.empty_cache(true, self.calendar.now());
                    continue;
                }
                if self.open == 0
                    && closed
                    && let Some(request) = source.when_idle(self.calendar.now())?
                {
                    self.plan_return(request);
                    continue;
                }
                self.end_with_unserved();
                break;
            };
            match event {
                Event::Arrival => {
                    let Some(request) = next else {
                        unreachable!("an arrival was planned for it")
                    };
                    let slot = self.in_flight.claim(InFlight::default);
                    self.in_flight[slot].request = request;
                    self.arrive(slot, now, sink)?;
                    next = source.next_request()?;
                    self.plan_arrival(next);
                    if next.is_none() {
                        self.end_of_load(true, now);
                    }
                }
                Event::Return { slot } => {
                    self.returning -= 1;
                    self.arrive(slot, now, sink)?;
                }
                Event::ServiceEnd { disk } => self.end_service(disk as usize, now, sink)?,
                Event::Issue { slot } => self.issue(slot, now, sink)?,
                Event::Writes { slot, stage } => {
                    self.issue_writes(slot, stage as usize, now, None);
                }
                Event::Deliver { slot, sub } => self.deliver(slot, sub, now, None),
                Event::Transferred { slot, sub } => {
                    self.part_is_done(slot, sub, now, None, sink)?;
                }
                Event::Joined { slot } => self.complete(slot, now, sink)?,
                Event::Rebuild if !self.load_is_complete => self.rebuild_next(now),
                // The load is complete: nothing asks for the rest of the rebuild.
                Event::Rebuild => {}
            }
            if closed {
                self.follow_on(source, now)?;
            }
            while std::mem::take(&mut self.admits) {
                if let Some(next) = self.held.pop_front() {
                    self.admit(next, now, sink)?;
                }
            }
            let more = match closed {
                true => self.returning > 0 || source.waits_for_completions(),
                false => next.is_some(),
            };
            if !more && !self.drained {
                self.drain(closed, now);
            }
            if self.sources_end && self.open == 0 {
                // The load is complete, and the rebuild ends with it. The cache is emptied.
                self.load_is_complete = true;
                if !self.window.is_over() {
                    self.end_measurement(now);
                }
                if self.cache.is_empty() {
                    break;
                }
            }
        }
        self.release.flush(sink)?;
        Ok(self.finish())
    }

    /// The requests of a closed loop that follow on those that were completed just now.
    fn follow_on<E>(
        &mut self,
        source: &mut impl RequestSource<Error = E>,
        now: Nanos,
    ) -> Result<(), E> {
        let mut loses_users = false;
        while let Some(completion) = self.told.pop() {
            if let Some(request) = source.after(&completion, now)? {
                self.plan_return(request);
                self.followed = true;
            } else {
                loses_users = true;
            }
        }
        if loses_users && !self.drains {
            self.drains = true;
            self.end_of_load(self.followed, now);
        }
        self.sources_end = self.returning == 0 && !source.waits_for_completions();
        Ok(())
    }

    fn finish(mut self) -> (RunSummary, Vec<D>) {
        if !self.window.is_over() {
            self.end_measurement(self.calendar.now());
        }
        self.summary.window = self.window.counted();
        self.summary.events = self.calendar.events();
        if self.summary.unserved == 0 {
            let rebuilding = usize::from(self.array.rebuild.is_some());
            assert!(
                self.in_flight.len() <= rebuilding,
                "every request was completed"
            );
            self.summary.assert_conservation();
        }
        (self.summary, self.array.devices)
    }

    /// Tells the devices that no more requests will come. Of a closed loop in which not one is complete more
    /// would have come: it stands still.
    fn drain(&mut self, closed: bool, now: Nanos) {
        if closed && self.summary.requests == self.open as u64 {
            return;
        }
        self.drained = true;
        for disk in 0..self.array.devices.len() {
            self.array.devices[disk].drain(now);
            self.start(disk, now);
        }
    }

    /// How far a device may go where nothing else is to happen: to the end of a job that somebody waits for. Where
    /// nobody does, or the cache may be emptied, the array's clock goes with it.
    fn alone_until(&self, now: Nanos) -> Nanos {
        if self.open > 0 && self.array.controller.cache.is_none() {
            Nanos::MAX
        } else {
            now
        }
    }

    /// Nothing is to happen any more, whether or not all requests are complete.
    fn end_with_unserved(&mut self) {
        if self.open > 0 {
            self.summary.unserved = self.open as u64;
            let why = self.array.devices.iter().find_map(Device::why_stuck);
            self.summary.deadlock =
                Some(why.unwrap_or_else(|| "nothing happens any more".to_owned()));
        }
    }

    /// No more requests will come but those that are on their way.
    fn end_of_load(&mut self, lasted: bool, now: Nanos) {
        if self.window.end_of_load(lasted, now) {
            self.end_measurement(now);
        }
    }

    fn end_measurement(&mut self, now: Nanos) {
        self.window.end(now);
        for device in &mut self.array.devices {
            device.end_measurement(now);
        }
        self.summary.usage = self.array.devices.iter().map(Device::usage).collect();
    }

    fn plan_arrival(&mut self, next: Option<Request>) {
        match next {
            Some(request) => {
                self.calendar
                    .schedule_with(request.start, ARRIVES_LAST, Event::Arrival);
            }
            None => self.sources_end = true,
        }
    }

    /// Whether what is served now of a request is measured. Steps of the rebuild are no requests.
    #[inline]
    fn is_measured(&self, id: u64) -> bool {
        id <= REBUILD_IDS / 2 && self.window.measures(id)
    }

    fn measure_from(&mut self, now: Nanos) {
        self.window.begin(now);
        self.summary.positioning = PositioningCounts::default();
        self.summary.split = self.array.split.then(Box::default);
        for device in &mut self.array.devices {
            device.measure_from(now);
        }
    }

    fn plan_return(&mut self, request: Request) {
        let slot = self.in_flight.claim(InFlight::default);
        self.in_flight[slot].request = request;
        self.returning += 1;
        self.calendar
            .schedule_with(request.start, ARRIVES_LAST, Event::Return { slot });
    }

    fn arrive<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let id = self.summary.requests;
        if self.window.begins_with(id) {
            self.measure_from(now);
        }
        self.window.arrive(now);
        self.summary.requests += 1;
        self.open += 1;
        self.summary.most_in_flight = self.summary.most_in_flight.max(self.open);
        let state = &mut self.in_flight[slot];
        (state.id, state.told, state.failed) = (id, false, false);
        if self.plain {
            return self.issue_to_disks(slot, now, sink);
        }
        if self.array.controller.one_at_a_time && self.open > 1 {
            self.held.push_back(slot);
            return Ok(());
        }
        self.admit(slot, now, sink)
    }

    fn admit<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let command = self.array.controller.command;
        if command > Nanos::ZERO {
            let issued = now.saturating_add(command);
            self.calendar.schedule(issued, Event::Issue { slot });
            return Ok(());
        }
        self.issue(slot, now, sink)
    }

    #[inline]
    fn start(&mut self, disk: usize, now: Nanos) {
        if let Some(end) = self.array.devices[disk].start_next(now) {
            let disk = disk as u32;
            self.calendar.schedule(end, Event::ServiceEnd { disk });
        }
    }

    fn end_service<E>(
        &mut self,
        disk: usize,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        // Only devices with steps of their own go on by themselves.
        let until = if D::STAGES.is_empty() {
            now
        } else {
            self.calendar
                .next_time()
                .unwrap_or_else(|| self.alone_until(now))
        };
        let Some(service) = self.array.devices[disk].complete(now, until) else {
            self.start(disk, now);
            return Ok(());
        };
        let Service { job, started, .. } = service;
        let request = job.request.0;
        self.summary.hash.add(request, disk as u32, started, now);
        let Tag { slot, sub } = Tag::unpack(job.tag);
        let state = &mut self.in_flight[slot];
        debug_assert_eq!(
            state.id, request,
            "a job belongs to the request in its slot"
        );
        if !state.pace.is_empty() {
            state.pace[disk] = Some(service.pace);
        }
        state.failed |= service.failed;
        let told = state.told;
        let is_timed = !matches!(state.request.op, Op::Discard | Op::Flush);
        if (self.takes_services || self.array.split)
            && !told
            && is_timed
            && self.is_measured(request)
        {
            let stages = self.array.devices[disk].stage_times();
            if let Some(split) = &mut self.summary.split {
                split.service(&service, stages);
            }
            if self.takes_services {
                let served = Served {
                    request: &self.in_flight[slot].request,
                    service: &service,
                    device: disk,
                    stages,
                };
                self.release.push_service(&served, now, sink)?;
            }
        }
        if self.array.controller.bus_ns_per_sector > 0.0 && !self.writes(slot, sub) {
            let at = self.cross_bus(job.sectors, now);
            self.calendar.schedule(at, Event::Transferred { slot, sub });
            self.start(disk, now);
            return Ok(());
        }
        self.part_is_done(slot, sub, now, Some(disk), sink)
    }

    /// A sub-request is done; `disk` is the device that is free now.
    #[inline]
    fn part_is_done<E>(
        &mut self,
        slot: u32,
        sub: u32,
        now: Nanos,
        disk: Option<usize>,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let state = &mut self.in_flight[slot];
        state.left -= 1;
        let complete = state.left == 0;
        let part = state.part(sub as usize);
        if self.array.split {
            state.ends[sub as usize] = now;
        }
        let mut joined = false;
        if part.preread {
            state.prereads_left[part.stage] -= 1;
            joined = state.prereads_left[part.stage] == 0;
            if joined {
                let disk = state.plan.sub_requests()[sub as usize].disk;
                state.freed[part.stage] = Some(disk as u32);
                self.join_prereads(slot, part.stage, now);
            }
        }
        if complete {
            self.all_parts_are_done(slot, now, sink)?;
        }
        let writes_now = joined && !self.wait_for_parity(slot, part.stage, now);
        match (self.array.rules.join, disk) {
            (_, None) => {
                if writes_now {
                    self.issue_writes(slot, part.stage, now, None);
                }
            }
            (JoinOrder::WritesFirst, Some(disk)) => {
                if writes_now {
                    self.issue_writes(slot, part.stage, now, Some(disk));
                }
                self.start(disk, now);
            }
            (JoinOrder::DiskFirst, Some(disk)) => {
                self.start(disk, now);
                if writes_now {
                    self.issue_writes(slot, part.stage, now, Some(disk));
                    self.start(disk, now);
                }
            }
        }
        Ok(())
    }

    /// The join delays of the pre-reads of a stage.
    fn join_prereads(&mut self, slot: u32, stage: usize, now: Nanos) {
        let state = &self.in_flight[slot];
        if self.is_measured(state.id)
            && !state.told
            && let Some(split) = &mut self.summary.split
        {
            let ends = state.plan.stages()[stage].first.clone();
            split.joined(ends.map(|sub| state.ends[sub]), now);
        }
    }

    fn all_parts_are_done<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let state = &self.in_flight[slot];
        if self.is_measured(state.id)
            && !state.told
            && state.request.op != Op::Discard
            && let Some(split) = &mut self.summary.split
        {
            let last = |stage: &crate::Stage| {
                if stage.then.is_empty() {
                    stage.first.clone()
                } else {
                    stage.then.clone()
                }
            };
            let ends = state.plan.stages().iter().flat_map(last);
            split.joined(ends.map(|sub| state.ends[sub]), now);
        }
        let reads = |stage: &&crate::Stage| stage.kind == StageKind::Direct(Access::Read);
        let xor: u64 = state
            .plan
            .stages()
            .iter()
            .filter(reads)
            .map(|s| s.xor)
            .sum();
        let xor = self.array.controller.xor(xor);
        if xor > Nanos::ZERO {
            self.calendar.schedule(now + xor, Event::Joined { slot });
            return Ok(());
        }
        self.complete(slot, now, sink)
    }

    /// All is done that there was to do for a request or a step of the rebuild.
    fn complete<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let state = &self.in_flight[slot];
        if state.id == REBUILD_IDS - self.rebuild_stripe && self.array.rebuild.is_some() {
            self.in_flight.release(slot);
            self.end_rebuild_step(now);
            return Ok(());
        }
        if state.told {
            let sectors = u64::from(state.request.sectors.get());
            self.in_flight.release(slot);
            return self.destaged(sectors, now, sink);
        }
        self.in_flight.release(slot);
        self.tell(slot, now, sink)
    }

    /// Tells the requester that its request is complete. What the slot holds is still there.
    fn tell<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(), E> {
        let state = &self.in_flight[slot];
        let completion = Completion {
            id: RequestId(state.id),
            request: state.request,
            response_time: now - state.request.start,
            measured: self.window.measures(state.id),
            failed: state.failed,
        };
        self.open -= 1;
        self.window.complete(&completion, now);
        if self.keeps_told {
            self.told.push(completion);
        }
        self.release.push(completion, now, sink)?;
        // Not at once: a row of requests that cost nothing would follow on each other ever deeper.
        self.admits = !self.held.is_empty();
        Ok(())
    }
}
