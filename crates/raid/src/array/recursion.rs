//! The simulation without events: start = max(arrival, end of the job before).
//!
//! Requests come in the order of their arrival, and each is issued as a whole, so the jobs of a disk
//! come in order too; a disk that serves in order tells each one's end at once. A request is complete
//! when the last of its jobs ends. Only the completions have to be put in order: those that lie before
//! the next arrival can be told.

use iosonar_device::{Device, Job, PaceOf, Positioning, Priority, RequestId, Service};
use iosonar_sim_core::{Calendar, Slab};
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::release::Release;
use super::window::Window;
use super::{Array, Completion, CompletionSink, RequestSource, RunSummary, Served};
use crate::rules::TransferMemory;
use crate::{Plan, Planner, StageKind};

/// Services that have not ended.
#[derive(Default)]
struct Services {
    calendar: Calendar<u32>,
    open: Slab<(Request, Service, usize)>,
}

struct Run<P, D> {
    array: Array<P, D>,
    plan: Plan,
    /// The ends of a request's jobs, if response times are split.
    ends: Vec<Nanos>,
    /// Completions to come.
    calendar: Calendar<u32>,
    open: Slab<Completion>,
    /// Ends of services to come, if the sink takes them.
    ends_to_come: Option<Services>,
    release: Release,
    summary: RunSummary,
    window: Window,
    services: u64,
    last: Nanos,
    /// Where there is one request at a time: the end of the last.
    joined: Nanos,
}

pub(super) fn run<P: Planner, D: Device, E>(
    array: Array<P, D>,
    source: &mut impl RequestSource<Error = E>,
    sink: &mut impl CompletionSink<Error = E>,
) -> Result<RunSummary, E> {
    let mut run = Run {
        summary: RunSummary {
            split: array.split.then(Box::default),
            ..RunSummary::default()
        },
        window: Window::new(array.warmup, false),
        array,
        plan: Plan::default(),
        ends: Vec::new(),
        calendar: Calendar::default(),
        open: Slab::default(),
        ends_to_come: sink.takes_services().then(Services::default),
        release: Release::default(),
        services: 0,
        last: Nanos::ZERO,
        joined: Nanos::ZERO,
    };
    let mut last_arrival = Nanos::ZERO;
    while let Some(request) = source.next_request()? {
        run.tell_until(request.start, sink)?;
        last_arrival = request.start;
        run.arrive(request);
    }
    if run.window.end_of_load(true, last_arrival) {
        run.end_measurement(last_arrival);
    }
    run.tell_until(Nanos::MAX, sink)?;
    run.release.flush(sink)?;
    if !run.window.is_over() {
        run.end_measurement(run.last);
    }
    run.summary.window = run.window.counted();
    run.summary.events = run.summary.requests + run.services;
    run.summary.assert_conservation();
    Ok(run.summary)
}

impl<P: Planner, D: Device> Run<P, D> {
    /// Tells all completions up to an instant.
    #[inline]
    fn tell_until<S: CompletionSink>(
        &mut self,
        until: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        while self.calendar.next_time().is_some_and(|at| at <= until) {
            let Some((now, slot)) = self.calendar.pop() else {
                break;
            };
            self.tell_services_until(now, sink)?;
            let completion = self.open[slot];
            self.open.release(slot);
            self.window.complete(&completion, now);
            self.release.push(completion, now, sink)?;
        }
        self.tell_services_until(until, sink)
    }

    #[inline]
    fn tell_services_until<S: CompletionSink>(
        &mut self,
        until: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let Some(services) = &mut self.ends_to_come else {
            return Ok(());
        };
        while services.calendar.next_time().is_some_and(|at| at <= until) {
            let Some((now, slot)) = services.calendar.pop() else {
                break;
            };
            let (request, service, device) = services.open[slot];
            services.open.release(slot);
            let served = Served {
                request: &request,
                service: &service,
                device,
                stages: &[],
            };
            self.release.push_service(&served, now, sink)?;
        }
        Ok(())
    }

    fn measure_from(&mut self, now: Nanos) {
        self.window.begin(now);
        for device in &mut self.array.devices {
            device.measure_from(now);
        }
    }

    fn end_measurement(&mut self, now: Nanos) {
        self.window.end(now);
        for device in &mut self.array.devices {
            device.end_measurement(now);
        }
        self.summary.usage = self.array.devices.iter().map(Device::usage).collect();
    }

    #[inline]
    fn arrive(&mut self, request: Request) {
        let (id, arrived) = (self.summary.requests, request.start);
        if self.window.begins_with(id) {
            self.measure_from(arrived);
        }
        let measured = self.window.measures(id);
        self.window.arrive(arrived);
        self.summary.requests += 1;
        self.summary.most_in_flight = self.summary.most_in_flight.max(self.open.len() + 1);
        let issued = if self.array.controller.one_at_a_time {
            arrived.max(self.joined)
        } else {
            arrived
        };
        let end = self.serve(&request, id, issued, measured);
        self.joined = end;
        self.last = self.last.max(end);
        let completion = Completion {
            id: RequestId(id),
            request,
            response_time: end - arrived,
            measured,
            failed: false,
        };
        let slot = self.open.insert(completion);
        self.calendar.schedule(end, slot);
    }

    /// Issues all of a request; gives the end of the last sub-request.
    #[inline]
    fn serve(&mut self, request: &Request, id: u64, now: Nanos, measured: bool) -> Nanos {
        let Self {
            array,
            plan,
            summary,
            ends_to_come,
            ..
        } = self;
        plan.clear();
        array.planner.plan(request, &array.devices, plan);
        if array.rules.coalesce {
            plan.coalesce();
        }
        let one_place =
            array.rules.transfer == TransferMemory::OnePerRequest && request.op != Op::Read;
        let mut last = now;
        self.ends.clear();
        for stage in plan.stages() {
            let StageKind::Direct(access) = stage.kind else {
                panic!("a request that is issued in two steps needs events")
            };
            for sub in &plan.sub_requests()[stage.first.clone()] {
                let job = Job {
                    request: RequestId(id),
                    tag: 0,
                    access,
                    priority: Priority::Normal,
                    positioning: Positioning::Fresh,
                    pace: if one_place {
                        PaceOf::Request
                    } else {
                        PaceOf::NewPlace
                    },
                    sector: sub.sector,
                    sectors: sub.sectors,
                    class: request.class,
                };
                let device = &mut array.devices[sub.disk];
                device.has_come_to(request.start);
                let service = device.serve(job, now);
                let end = service.ended();
                summary.hash.add(id, sub.disk as u32, service.started, end);
                last = last.max(end);
                self.services += 1;
                if let (true, Some(split)) = (measured, &mut summary.split) {
                    split.service(&service, &[]);
                    self.ends.push(end);
                }
                if let (true, Some(services)) = (measured, &mut *ends_to_come) {
                    let slot = services.open.insert((*request, service, sub.disk));
                    services.calendar.schedule(end, slot);
                }
            }
        }
        if let (true, Some(split)) = (measured, &mut summary.split) {
            split.joined(self.ends.drain(..), last);
        }
        last
    }
}
