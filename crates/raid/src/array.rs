//! The array: requests fork, wait, are served and join.
//!
//! One calendar holds the next arrival and the end of the service in progress at each device. The
//! rules of order within one instant are the model's:
//!
//! - the sub-requests of a request are issued stage by stage, and each starts at once if its
//!   device is free;
//! - when the last pre-read of a partial write ends, the writes are issued before the freed device
//!   takes its next job (or after, by [`Rules`]).
//!
//! Nothing is allocated per request once the largest number in flight has been reached.

use iosonar_device::{Access, Device, Job, Pace, Positioning, Priority, RequestId, Service};
use iosonar_sim_core::{Calendar, CompletionHash, Slab};
use iosonar_trace::Request;
use iosonar_units::Nanos;

use crate::positioning::{self, PositioningCounts};
use crate::rules::{FullTurn, JoinOrder, PrereadSeek, Rules};
use crate::{Plan, Planner, StageKind};

/// Where requests come from, in the order of their start.
pub trait RequestSource {
    /// Why the source fails.
    type Error;

    /// The next request; `None` at the end.
    ///
    /// # Errors
    /// If the source fails; the simulation ends with it.
    fn next_request(&mut self) -> Result<Option<Request>, Self::Error>;
}

/// A request that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Which one, counted from 0 in the order of arrival.
    pub id: RequestId,
    /// The request.
    pub request: Request,
    /// From its start to the end of its last sub-request.
    pub response_time: Nanos,
    /// Whether it came after the warm-up.
    pub measured: bool,
}

/// Where completed requests go, in the order of completion.
pub trait CompletionSink {
    /// Why the sink fails.
    type Error;

    /// Takes a completed request.
    ///
    /// # Errors
    /// If the sink fails; the simulation ends with it.
    fn completed(&mut self, completion: &Completion) -> Result<(), Self::Error>;
}

/// What a run was like, besides its completions.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// All requests, the warm-up included.
    pub requests: u64,
    /// The time that was measured: from the first request after the warm-up to the end.
    pub measured: Nanos,
    /// How long each device was serving in that time.
    pub busy: Vec<Nanos>,
    /// How partial-stripe writes came to their places in that time.
    pub positioning: PositioningCounts,
    /// The largest number of requests at once.
    pub most_in_flight: usize,
    /// Events processed.
    pub events: u64,
    /// The fingerprint of the run: (request, device, start, end) of all services.
    pub hash: CompletionHash,
}

impl RunSummary {
    /// The share of the measured time in which device `disk` was serving.
    pub fn utilisation(&self, disk: usize) -> f64 {
        self.busy[disk].get() as f64 / self.measured.get() as f64
    }
}

/// A request in flight.
#[derive(Clone, Debug, Default)]
struct InFlight {
    id: u64,
    request: Request,
    plan: Plan,
    /// Sub-requests of the whole plan that are not done.
    left: usize,
    /// Pre-reads that are not done, by stage.
    prereads_left: Vec<usize>,
    /// The pace of the last access, by disk.
    pace: Vec<Option<Pace>>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival,
    ServiceEnd(u32),
}

/// The array's word for a job: the request's place in the slab, the stage, and whether the job is
/// a pre-read.
#[derive(Clone, Copy)]
struct Tag {
    slot: u32,
    stage: usize,
    preread: bool,
}

impl Tag {
    fn pack(self) -> u64 {
        u64::from(self.slot) << 32 | (self.stage as u64) << 1 | u64::from(self.preread)
    }

    fn unpack(tag: u64) -> Self {
        Self {
            slot: (tag >> 32) as u32,
            stage: (tag as u32 >> 1) as usize,
            preread: tag & 1 == 1,
        }
    }
}

/// A simulated array of devices `D` under a RAID level `P`.
pub struct Array<P, D> {
    planner: P,
    rules: Rules,
    devices: Vec<D>,
    calendar: Calendar<Event>,
    in_flight: Slab<InFlight>,
    measured_from: Nanos,
    summary: RunSummary,
}

impl<P: Planner, D: Device> Array<P, D> {
    /// An idle array that carries out partial-stripe writes by these rules.
    ///
    /// # Panics
    /// If there are not as many devices as the planner speaks of.
    pub fn new(planner: P, devices: Vec<D>, rules: Rules) -> Self {
        assert_eq!(planner.disks(), devices.len(), "a device for each disk");
        Self {
            planner,
            rules,
            devices,
            calendar: Calendar::default(),
            in_flight: Slab::default(),
            measured_from: Nanos::ZERO,
            summary: RunSummary::default(),
        }
    }

    /// Serves all requests of `source`, which must come in the order of their start, and hands
    /// each to `sink` when it is complete. Statistics leave out the first `warmup` requests.
    ///
    /// # Errors
    /// If the source or the sink fails.
    pub fn run<E>(
        mut self,
        source: &mut impl RequestSource<Error = E>,
        sink: &mut impl CompletionSink<Error = E>,
        warmup: u64,
    ) -> Result<RunSummary, E> {
        let mut next = source.next_request()?;
        if let Some(request) = next {
            self.calendar.schedule(request.start, Event::Arrival);
        }
        while let Some((now, event)) = self.calendar.pop() {
            match event {
                Event::Arrival => {
                    let Some(request) = next else {
                        unreachable!("an arrival was scheduled for it")
                    };
                    if self.summary.requests == warmup {
                        self.measure_from(now);
                    }
                    self.arrive(request, now, sink, warmup)?;
                    next = source.next_request()?;
                    if let Some(request) = next {
                        self.calendar.schedule(request.start, Event::Arrival);
                    }
                }
                Event::ServiceEnd(disk) => self.end_service(disk as usize, now, sink, warmup)?,
            }
        }
        debug_assert!(self.in_flight.is_empty(), "every request was completed");
        self.summary.measured = self.calendar.now() - self.measured_from;
        self.summary.busy = self.devices.iter().map(Device::busy_time).collect();
        self.summary.events = self.calendar.events();
        Ok(self.summary)
    }

    fn measure_from(&mut self, now: Nanos) {
        self.measured_from = now;
        self.summary.positioning = PositioningCounts::default();
        for device in &mut self.devices {
            device.measure_from(now);
        }
    }

    fn arrive<E>(
        &mut self,
        request: Request,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
        warmup: u64,
    ) -> Result<(), E> {
        let slot = self.in_flight.claim(InFlight::default);
        let state = &mut self.in_flight[slot];
        state.id = self.summary.requests;
        state.request = request;
        state.plan.clear();
        self.planner.plan(&request, &mut state.plan);
        state.left = state.plan.len();
        state.prereads_left.clear();
        state.pace.clear();
        state.pace.resize(self.devices.len(), None);
        for stage in state.plan.stages() {
            state.prereads_left.push(stage.first.len());
        }
        let (left, stages) = (state.left, state.plan.stages().len());
        self.summary.requests += 1;
        self.summary.most_in_flight = self.summary.most_in_flight.max(self.in_flight.len());
        if left == 0 {
            // A flush or a discard: the model has no cost for it.
            return self.complete(slot, now, sink, warmup);
        }
        for stage in 0..stages {
            self.issue_first(slot, stage, now);
        }
        Ok(())
    }

    /// Issues what a stage begins with.
    fn issue_first(&mut self, slot: u32, stage: usize, now: Nanos) {
        let plan = &self.in_flight[slot].plan;
        let (kind, first) = (
            plan.stages()[stage].kind,
            plan.stages()[stage].first.clone(),
        );
        let preread_seek = match self.rules.preread_seek {
            PrereadSeek::Read => Access::Read,
            PrereadSeek::Write => Access::Write,
        };
        let (access, preread) = match kind {
            StageKind::Direct(access) => (access, false),
            StageKind::ReadModifyWrite | StageKind::ReconstructWrite => (preread_seek, true),
        };
        if preread && first.is_empty() {
            return self.issue_writes(slot, stage, now, None);
        }
        let tag = Tag {
            slot,
            stage,
            preread,
        };
        for i in first {
            let state = &self.in_flight[slot];
            let sub = state.plan.sub_requests()[i];
            let job = Job {
                request: RequestId(state.id),
                tag: tag.pack(),
                access,
                priority: Priority::Normal,
                positioning: Positioning::Fresh,
                pace: None,
                sector: sub.sector,
                sectors: sub.sectors,
            };
            self.devices[sub.disk].submit(job, now);
            self.start(sub.disk, now);
        }
    }

    /// Issues the writes of a partial write. `freed` is the device whose pre-read ended last; if it
    /// is free still, it is started when its end of service has been dealt with.
    fn issue_writes(&mut self, slot: u32, stage: usize, now: Nanos, freed: Option<usize>) {
        let plan = &self.in_flight[slot].plan;
        let (kind, then) = (plan.stages()[stage].kind, plan.stages()[stage].then.clone());
        let tag = Tag {
            slot,
            stage,
            preread: false,
        };
        for i in then {
            let state = &self.in_flight[slot];
            let sub = state.plan.sub_requests()[i];
            let request = RequestId(state.id);
            let device = &mut self.devices[sub.disk];
            let mut positioning =
                positioning::of_write(kind, request, device, freed == Some(sub.disk));
            if positioning == Positioning::FullTurn
                && self.rules.full_turn == FullTurn::LessTransfer
            {
                positioning = Positioning::TurnLessTransfer;
            }
            self.summary.positioning.count(kind, positioning);
            let job = Job {
                request,
                tag: tag.pack(),
                access: Access::Write,
                priority: Priority::High,
                positioning,
                pace: state.pace[sub.disk],
                sector: sub.sector,
                sectors: sub.sectors,
            };
            device.submit(job, now);
            if freed != Some(sub.disk) {
                self.start(sub.disk, now);
            }
        }
    }

    #[inline]
    fn start(&mut self, disk: usize, now: Nanos) {
        if let Some(end) = self.devices[disk].start_next(now) {
            self.calendar.schedule(end, Event::ServiceEnd(disk as u32));
        }
    }

    fn end_service<E>(
        &mut self,
        disk: usize,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
        warmup: u64,
    ) -> Result<(), E> {
        let service: Service = self.devices[disk].complete(now);
        let Service { job, started, .. } = service;
        self.summary
            .hash
            .add(job.request.0, disk as u32, started, now);
        let Tag {
            slot,
            stage,
            preread,
        } = Tag::unpack(job.tag);
        let state = &mut self.in_flight[slot];
        debug_assert_eq!(
            state.id, job.request.0,
            "a job belongs to the request in its slot"
        );
        state.pace[disk] = Some(service.pace);
        state.left -= 1;
        let complete = state.left == 0;
        let mut joined = false;
        if preread {
            state.prereads_left[stage] -= 1;
            joined = state.prereads_left[stage] == 0;
        }
        if complete {
            self.complete(slot, now, sink, warmup)?;
        }
        match self.rules.join {
            JoinOrder::WritesFirst => {
                if joined {
                    self.issue_writes(slot, stage, now, Some(disk));
                }
                self.start(disk, now);
            }
            JoinOrder::DiskFirst => {
                self.start(disk, now);
                if joined {
                    self.issue_writes(slot, stage, now, Some(disk));
                    self.start(disk, now);
                }
            }
        }
        Ok(())
    }

    fn complete<E>(
        &mut self,
        slot: u32,
        now: Nanos,
        sink: &mut impl CompletionSink<Error = E>,
        warmup: u64,
    ) -> Result<(), E> {
        let state = &self.in_flight[slot];
        let completion = Completion {
            id: RequestId(state.id),
            request: state.request,
            response_time: now - state.request.start,
            measured: state.id >= warmup,
        };
        self.in_flight.release(slot);
        sink.completed(&completion)
    }
}
