//! The simulation without events: start = max(arrival, end of the job before).
//!
//! Requests come in the order of their arrival, and each is issued as a whole, so the jobs of a disk
//! come in order too, and the end of each is known when it comes (Lindley's recursion). A request is complete
//! when the last of its jobs ends. Only the completions have to be put in order: those that lie before
//! the next arrival can be released.

use iosonar_device::{InOrder, Job, PaceOf, RequestId, Service};
use iosonar_sim_core::{Calendar, Slab};
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::measurement::Measurement;
use super::window::Window;
use super::{Array, Completion, CompletionSink, RequestSource, RunSummary, Served};
use crate::rules::TransferMemory;
use crate::{Planner, RequestPlan, StageKind};

/// Services that have not ended.
#[derive(Default)]
struct Services {
    calendar: Calendar<u32>,
    open: Slab<(Request, Service, usize)>,
}

/// Each device's jobs by Lindley's recursion.
struct LindleyRecursion<'a, P, D, S> {
    sink: &'a mut S,
    array: Array<P, D>,
    plan: RequestPlan,
    /// The ends of a request's jobs, if response times are split.
    ends: Vec<Nanos>,
    /// Completions to come.
    calendar: Calendar<u32>,
    open: Slab<Completion>,
    /// Ends of services to come, if the sink takes them.
    ends_to_come: Option<Services>,
    measurement: Measurement,
    services: u64,
    last: Nanos,
    /// Where there is one request at a time: the end of the last.
    joined: Nanos,
}

pub(super) fn run<P: Planner, D: InOrder, S: CompletionSink>(
    array: Array<P, D>,
    source: &mut impl RequestSource<Error = S::Error>,
    sink: &mut S,
) -> Result<RunSummary, S::Error> {
    let (window, takes_services) = (Window::new(array.warmup, false), sink.takes_services());
    let mut run = LindleyRecursion {
        sink,
        measurement: Measurement::new(window, array.split, takes_services),
        array,
        plan: RequestPlan::default(),
        ends: Vec::new(),
        calendar: Calendar::default(),
        open: Slab::default(),
        ends_to_come: takes_services.then(Services::default),
        services: 0,
        last: Nanos::ZERO,
        joined: Nanos::ZERO,
    };
    let mut last_arrival = Nanos::ZERO;
    while let Some(request) = source.next_request()? {
        run.release_until(request.start)?;
        last_arrival = request.start;
        run.arrive(request);
    }
    let devices = &mut run.array.devices;
    run.measurement.end_of_load(devices, true, last_arrival);
    run.release_until(Nanos::MAX)?;
    run.measurement.release.flush(run.sink)?;
    run.measurement.end(&mut run.array.devices, run.last);
    let events = run.measurement.summary.requests + run.services;
    Ok(run.measurement.finish(events))
}

impl<P: Planner, D: InOrder, S: CompletionSink> LindleyRecursion<'_, P, D, S> {
    /// Releases all completions up to an instant.
    #[inline]
    fn release_until(&mut self, until: Nanos) -> Result<(), S::Error> {
        while self.calendar.next_time().is_some_and(|at| at <= until) {
            let Some((now, slot)) = self.calendar.pop() else {
                break;
            };
            self.release_services_until(now)?;
            let completion = self.open[slot];
            self.open.release(slot);
            self.measurement.complete(completion, now, self.sink)?;
        }
        self.release_services_until(until)
    }

    #[inline]
    fn release_services_until(&mut self, until: Nanos) -> Result<(), S::Error> {
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
            self.measurement
                .release
                .push_service(&served, now, self.sink)?;
        }
        Ok(())
    }

    #[inline]
    fn arrive(&mut self, request: Request) {
        let (arrived, present) = (request.start, self.open.len() + 1);
        let devices = &mut self.array.devices;
        let id = self.measurement.arrive(devices, present, arrived);
        let measured = self.measurement.window.measures(id.0);
        let issued = if self.array.controller.one_at_a_time {
            arrived.max(self.joined)
        } else {
            arrived
        };
        let end = self.serve(&request, id, issued, measured);
        self.joined = end;
        self.last = self.last.max(end);
        let completion = Completion {
            id,
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
    fn serve(&mut self, request: &Request, id: RequestId, now: Nanos, measured: bool) -> Nanos {
        let Self {
            array,
            plan,
            measurement,
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
        let summary = &mut measurement.summary;
        let mut last = now;
        self.ends.clear();
        for stage in plan.stages() {
            let StageKind::Direct(access) = stage.kind else {
                panic!("a request that is issued in two steps needs events")
            };
            for sub in &plan.sub_requests()[stage.first.clone()] {
                let mut job = Job::new(id, access, sub.sector, sub.sectors);
                job.class = request.class;
                if one_place {
                    job.pace = PaceOf::Request;
                }
                let device = &mut array.devices[sub.disk];
                device.has_come_to(request.start);
                let service = device.serve(job, now);
                let end = service.ended();
                summary
                    .hash
                    .add(id.0, sub.disk as u32, service.started, end);
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
