//! The simulation event by event.
//!
//! ```text
//!  load ──► admission ──► cache ──► issue ──► devices ──► service ──► completion ──► load
//!           (one at a     (writes)  (plan,                (join,      (sink)         (closed loop)
//!            time)        host ──►   bus)                  parity)     host ◄──
//! ```
//!
//! The rules of order within one instant are the model's:
//!
//! - services end before requests arrive;
//! - the sub-requests of a request are issued stage by stage, and each starts at once if its
//!   device is free;
//! - when the last pre-read of a partial write ends, the writes are issued before the freed device
//!   takes its next job (or after, by [`Rules`](crate::rules::Rules)).

mod agenda;
mod cache;
mod failing;
mod issue;
mod load;
mod rebuilding;
mod service;

use std::collections::VecDeque;

use iosonar_device::{Device, Usage};
use iosonar_sim_core::Slab;
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::in_flight::{InFlight, Owner};
use super::measurement::Measurement;
use super::window::Window;
use super::{Array, Completion, CompletionSink, RequestSource, RunSummary};
use crate::Planner;
use agenda::Agenda;
use cache::CacheState;
use failing::Condition;
use load::Load;
use rebuilding::Rebuilding;

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request of the load, by its place there.
    Arrival { coming: u32 },
    /// The end of the service in progress at a device.
    ServiceEnd { disk: u32 },
    /// The controller has understood a request.
    Issue { slot: u32 },
    /// The data of a write have crossed the link from the host.
    Received { slot: u32 },
    /// The data of a read have crossed the link to the host.
    Sent { slot: u32 },
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
    /// Something happens to a device.
    Happens { number: u32 },
    /// It is noticed, or over.
    IsOver { number: u32 },
    /// A sub-request is lost with its device.
    Lost { slot: u32, sub: u32 },
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests arrive.
    Loading,
    /// No more will arrive, and the devices know it.
    Draining,
    /// All are complete. What is in the cache is still written; a rebuild ends here.
    Complete,
}

/// A run.
pub(super) struct EventSimulation<'a, P, D, S> {
    sink: &'a mut S,
    array: Array<P, D>,
    agenda: Agenda,
    load: Load,
    phase: Phase,
    in_flight: Slab<InFlight>,
    /// Requests that have arrived and are not complete.
    present: usize,
    /// Those among them that wait for the one before, where there is one at a time.
    held: VecDeque<u32>,
    cache: CacheState,
    bus_free: Nanos,
    /// Each direction of the link to the host: from it, to it.
    link_free: [Nanos; 2],
    rebuilding: Rebuilding,
    /// How each device is; empty if nothing is to happen to any.
    conditions: Vec<Condition>,
    measurement: Measurement,
}

impl<'a, P: Planner, D: Device, S: CompletionSink> EventSimulation<'a, P, D, S> {
    pub(super) fn new(array: Array<P, D>, is_closed: bool, sink: &'a mut S) -> Self {
        let window = Window::new(array.warmup, is_closed);
        Self {
            measurement: Measurement::new(window, array.split, sink.takes_services()),
            sink,
            agenda: Agenda::new(&array.devices),
            array,
            load: Load::new(is_closed),
            phase: Phase::Loading,
            in_flight: Slab::default(),
            present: 0,
            held: VecDeque::new(),
            cache: CacheState::default(),
            bus_free: Nanos::ZERO,
            link_free: [Nanos::ZERO; 2],
            rebuilding: Rebuilding::Rests,
            conditions: Vec::new(),
        }
    }

    pub(super) fn run(
        mut self,
        source: &mut impl RequestSource<Error = S::Error>,
    ) -> Result<(RunSummary, Vec<D>), S::Error> {
        self.plan_device_events();
        self.begin_rebuild();
        self.begin_load(source)?;
        loop {
            let Some((now, event)) = self.agenda.pop() else {
                if self.goes_on_when_idle(source)? {
                    continue;
                }
                self.end_with_unserved();
                break;
            };
            self.carry_out(event, now, source)?;
            self.follow_on(source, now)?;
            // Not when the request before completes: a row of requests that cost nothing would follow on each
            // other ever deeper.
            while self.array.controller.one_at_a_time
                && self.held.len() == self.present
                && let Some(next) = self.held.pop_front()
            {
                self.admit(next, now)?;
            }
            if !self.load.has_more(source) {
                self.drain(now);
                if self.present == 0 {
                    self.phase = Phase::Complete;
                    self.measurement.end(&mut self.array.devices, now);
                    if self.cache.is_empty() {
                        break;
                    }
                }
            }
        }
        self.measurement.release.flush(self.sink)?;
        Ok(self.finish())
    }

    fn carry_out(
        &mut self,
        event: Event,
        now: Nanos,
        source: &mut impl RequestSource<Error = S::Error>,
    ) -> Result<(), S::Error> {
        match event {
            Event::Arrival { coming } => {
                let request = self.load.take(coming);
                self.arrive(request, now)?;
                self.plan_next(source, now)?;
            }
            Event::ServiceEnd { disk } => self.end_service(disk as usize, now)?,
            Event::Issue { slot } => self.issue(slot, now)?,
            Event::Received { slot } => {
                self.received(slot, now)?;
                self.empty_cache(false, now);
            }
            Event::Sent { slot } => self.complete(slot, now)?,
            Event::Writes { slot, stage } => self.parity_is_known(slot, stage as usize, now)?,
            Event::Deliver { slot, sub } => self.has_crossed_bus(slot, sub, now),
            Event::Transferred { slot, sub } => self.part_is_done(slot, sub, now, None)?,
            Event::Joined { slot } => self.send(slot, now)?,
            Event::Rebuild => self.rebuild_next(now),
            Event::Happens { number } => self.happen(number, now),
            Event::IsOver { number } => self.is_over(number, now),
            Event::Lost { slot, sub } => self.lose(slot, sub, now)?,
        }
        Ok(())
    }

    fn arrive(&mut self, request: Request, now: Nanos) -> Result<(), S::Error> {
        self.present += 1;
        let devices = &mut self.array.devices;
        let id = self.measurement.arrive(self.present, now, |frozen| {
            for (number, device) in devices.iter_mut().enumerate() {
                match frozen.get_mut(number) {
                    Some(Some(usage)) => *usage = Usage::default(),
                    _ => device.measure_from(now),
                }
            }
        });
        let slot = self.claim(Owner::Request(id), request);
        if self.array.controller.one_at_a_time && self.present > 1 {
            self.held.push_back(slot);
            return Ok(());
        }
        self.admit(slot, now)
    }

    fn claim(&mut self, owner: Owner, request: Request) -> u32 {
        let slot = self.in_flight.claim(|| InFlight::new(owner, request));
        let state = &mut self.in_flight[slot];
        (state.owner, state.request) = (owner, request);
        (state.failed, state.is_lost) = (false, false);
        slot
    }

    fn admit(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        let command = self.array.controller.command;
        if command > Nanos::ZERO {
            let issued = now.saturating_add(command);
            self.agenda.schedule(issued, Event::Issue { slot });
            return Ok(());
        }
        self.issue(slot, now)
    }

    /// When the data of a request that come to the link to the host now have crossed it; `None` if that takes no time.
    fn cross_link(&mut self, slot: u32, now: Nanos) -> Option<Nanos> {
        let request = &self.in_flight[slot].request;
        let time = self.array.controller.host(request);
        if time == Nanos::ZERO {
            return None;
        }
        let free = &mut self.link_free[usize::from(request.op == Op::Read)];
        *free = now.max(*free) + time;
        Some(*free)
    }

    /// All parts have joined: what a request read goes to the host.
    fn send(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        let InFlight { owner, request, .. } = self.in_flight[slot];
        if matches!(owner, Owner::Request(_))
            && request.op == Op::Read
            && let Some(at) = self.cross_link(slot, now)
        {
            self.agenda.schedule(at, Event::Sent { slot });
            return Ok(());
        }
        self.complete(slot, now)
    }

    /// All is done that there was to do for the owner of a plan.
    fn complete(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        self.in_flight.release(slot);
        let InFlight {
            owner,
            request,
            failed,
            ..
        } = self.in_flight[slot];
        match owner {
            Owner::Request(_) => self.respond(slot, now),
            Owner::CachedWrite(_) => {
                self.measurement.summary.device_events.lost_from_cache += u64::from(failed);
                self.destaged(request.sectors, now)
            }
            Owner::Rebuild { stripe, began } => {
                self.end_rebuild_step(stripe, began, now);
                Ok(())
            }
        }
    }

    /// A request is complete for its requester.
    fn respond(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        let state = &self.in_flight[slot];
        let id = state.owner.id();
        let completion = Completion {
            id,
            request: state.request,
            response_time: now - state.request.start,
            measured: self.measurement.window.measures(id.0),
            failed: state.failed,
        };
        let is_counted = state.is_lost && completion.measured;
        self.measurement.summary.device_events.failed += u64::from(is_counted);
        self.present -= 1;
        self.load.completed(&completion);
        self.measurement.complete(completion, now, self.sink)
    }

    /// Whether anything happens after all: the cache is emptied, or a request comes because all is idle.
    fn goes_on_when_idle(
        &mut self,
        source: &mut impl RequestSource<Error = S::Error>,
    ) -> Result<bool, S::Error> {
        let now = self.agenda.now();
        if !self.cache.is_empty() {
            self.empty_cache(true, now);
            return Ok(true);
        }
        if self.present > 0 || !self.load.is_closed() {
            return Ok(false);
        }
        let request = source.when_idle(now)?;
        if let Some(request) = request {
            self.plan_arrival(request);
        }
        Ok(request.is_some())
    }

    /// The devices learn that no more requests will come.
    fn drain(&mut self, now: Nanos) {
        // Of a closed loop in which not one is complete more would have come: it stands still.
        let stands_still = self.measurement.summary.requests == self.present as u64;
        if self.phase != Phase::Loading || self.load.is_closed() && stands_still {
            return;
        }
        self.phase = Phase::Draining;
        for disk in 0..self.array.devices.len() {
            if let Some(device) = self.array.devices[disk].pipelined() {
                device.drain(now);
            }
            self.start(disk, now);
        }
    }

    /// Nothing is to happen any more, whether or not all requests are complete.
    fn end_with_unserved(&mut self) {
        if self.present > 0 {
            let summary = &mut self.measurement.summary;
            summary.unserved = self.present as u64;
            let devices = self.array.devices.iter_mut();
            let why = devices
                .filter_map(Device::pipelined)
                .find_map(|device| device.why_stuck());
            summary.deadlock = Some(why.unwrap_or_else(|| "no event is pending".to_owned()));
        }
    }

    fn finish(mut self) -> (RunSummary, Vec<D>) {
        let (devices, now) = (&mut self.array.devices, self.agenda.now());
        self.measurement.end(devices, now);
        let summary = self.measurement.finish(self.agenda.events());
        assert!(
            summary.unserved > 0
                || self.in_flight.len() <= usize::from(self.array.rebuild.is_some()),
            "every request was completed"
        );
        (summary, self.array.devices)
    }
}
