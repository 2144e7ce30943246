//! The array: requests fork, wait, are served and join.
//!
//! There are two ways to the same result, bit for bit:
//!
//! - [event by event](events): one agenda holds what comes next; everything that the controller,
//!   the RAID level and the devices can do is done here;
//! - [by recursion](recursion): where every request is issued as a whole when it comes, every device is
//!   simulated by itself. If it serves in order, a job's end is known as soon as it comes: start =
//!   max(arrival, end of the job before). Neither a calendar nor queues are needed then, and devices can be shared out
//!   among threads.
//!
//! Nothing is allocated per request once the largest number in flight has been reached.

mod controller;
mod device_events;
mod events;
mod in_flight;
mod measurement;
mod rebuild;
mod recursion;
mod release;
mod split;
mod window;

use iosonar_device::{Device, InOrder, RequestId, Service, Usage};
use iosonar_sim_core::CompletionHash;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use crate::Planner;
use crate::positioning::PositioningCounts;
use crate::rules::Rules;
pub use controller::{Controller, WriteBack};
pub use device_events::{DeviceEvent, DeviceEventCounts, DeviceEventKind};
use events::EventSimulation;
pub use rebuild::{Rebuild, RebuildProgress};
pub use split::ResponseSplit;
pub use window::MeasuredWindow;

/// Where requests come from, in the order of their start.
pub trait RequestSource {
    /// Why the source fails.
    type Error;

    /// The next request; `None` at the end.
    ///
    /// # Errors
    /// If the source fails; the simulation ends with it.
    fn next_request(&mut self) -> Result<Option<Request>, Self::Error>;

    /// Whether requests follow on the completion of others. The requests of
    /// [`next_request`](Self::next_request) are the first ones then, in any order.
    fn is_closed(&self) -> bool {
        false
    }

    /// Whether there would be more requests if others were complete.
    fn waits_for_completions(&self) -> bool {
        self.is_closed()
    }

    /// The request that follows on one that was complete at `now`, in a closed loop.
    ///
    /// # Errors
    /// If the source fails; the simulation ends with it.
    fn after(
        &mut self,
        completion: &Completion,
        now: Nanos,
    ) -> Result<Option<Request>, Self::Error> {
        let _ = (completion, now);
        Ok(None)
    }

    /// The request that comes when nothing at all happens any more, of a source that is
    /// [closed](Self::is_closed): all requests are complete, the cache is empty, the devices rest.
    ///
    /// # Errors
    /// If the source fails; the simulation ends with it.
    fn when_idle(&mut self, now: Nanos) -> Result<Option<Request>, Self::Error> {
        let _ = now;
        Ok(None)
    }
}

/// A request that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Which one, counted from 0 in the order of arrival.
    pub id: RequestId,
    /// The request as the source gave it.
    pub request: Request,
    /// From its start to the end of its last sub-request.
    pub response_time: Nanos,
    /// Whether its response time counts: it came after the warm-up, or, in a closed loop, it is complete within the
    /// [measured window](MeasuredWindow).
    pub measured: bool,
    /// Whether a device answered with an error.
    pub failed: bool,
}

/// A sub-request that a device has served.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The request that it is part of.
    pub request: &'a Request,
    /// What was done, and when.
    pub service: &'a Service,
    /// The device, from 0.
    pub device: usize,
    /// The times of its stages; empty if the device is not [pipelined](iosonar_device::Pipelined).
    pub stages: &'a [Nanos],
}

/// Where completed requests go, in the order of completion; those of one nanosecond in the order of
/// arrival.
pub trait CompletionSink {
    /// Why the sink fails.
    type Error;

    /// Takes a completed request.
    ///
    /// # Errors
    /// If the sink fails; the simulation ends with it.
    fn completed(&mut self, completion: &Completion) -> Result<(), Self::Error>;

    /// Whether [`served`](Self::served) is to be called; asked once, at the beginning.
    fn takes_services(&self) -> bool {
        false
    }

    /// Takes a sub-request that a device has served, if the sink [wants them](Self::takes_services): of a measured
    /// request, or in a closed loop, where it is not yet known whether a request will be, one whose service ends in
    /// the measured window. They come in the order of their ends, before the completion of their request; those of one nanosecond in the order of their requests' arrival, then by device.
    ///
    /// # Errors
    /// If the sink fails; the simulation ends with it.
    fn served(&mut self, served: &Served<'_>) -> Result<(), Self::Error> {
        let _ = served;
        Ok(())
    }
}

/// What a run was like, besides its completions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSummary {
    /// All requests, the warm-up included.
    pub requests: u64,
    /// The window of time that was measured.
    pub window: MeasuredWindow,
    /// What each device was used for in that time.
    pub usage: Vec<Usage>,
    /// How partial-stripe writes came to their places in that time.
    pub positioning: PositioningCounts,
    /// The largest number of requests at once.
    pub most_in_flight: usize,
    /// Arrivals, ends of services, and what else happened.
    pub events: u64,
    /// The fingerprint of the run: (request, device, start, end) of all services.
    pub hash: CompletionHash,
    /// What response times are made of, if that was asked for.
    pub split: Option<Box<ResponseSplit>>,
    /// Requests that were never complete: nothing happened any more.
    pub unserved: u64,
    /// Why, and that there would have been more.
    pub deadlock: Option<String>,
    /// How far the rebuild came, if there was one.
    pub rebuild: Option<RebuildProgress>,
    /// What came of what happened to devices.
    pub device_events: DeviceEventCounts,
}

impl RunSummary {
    /// Checks what holds of every run that was served to its end.
    ///
    /// # Panics
    /// If it does not.
    fn assert_conservation(&self) {
        let window = &self.window;
        assert_eq!(
            window.present_at_start + window.arrived,
            window.completed + window.present_at_end,
            "requests are conserved"
        );
        assert_eq!(
            window.requests_time as i128,
            (window.measured_time + window.other_time) as i128 + window.edge_time,
            "Little's law holds in the window, with its edges"
        );
        for usage in &self.usage {
            assert!(
                usage.worked() <= window.length()
                    && u128::from(usage.busy.get()) <= usage.jobs_time,
                "a server does one thing at a time, and serves jobs that are there"
            );
            assert_eq!(
                usage.jobs_time as i128,
                usage.stay_time as i128 + usage.stay_edge,
                "Little's law holds at each device, with the window's edges"
            );
        }
    }

    /// The share of the window in which device `disk` was working.
    pub fn utilisation(&self, disk: usize) -> f64 {
        self.usage[disk].worked().get() as f64 / self.window.length().get() as f64
    }
}

/// A simulated array of devices `D` under a RAID level `P`.
pub struct Array<P, D> {
    planner: P,
    rules: Rules,
    controller: Controller,
    rebuild: Option<Rebuild>,
    device_events: Vec<DeviceEvent>,
    devices: Vec<D>,
    warmup: u64,
    split: bool,
}

impl<P: Planner, D: Device> Array<P, D> {
    /// An idle array that carries out partial-stripe writes by these rules. Devices beyond those that
    /// the planner speaks of are spares.
    ///
    /// # Panics
    /// If there are fewer devices than the planner speaks of.
    pub fn new(planner: P, devices: Vec<D>, rules: Rules) -> Self {
        assert!(planner.disks() <= devices.len(), "a device for each disk");
        Self {
            planner,
            rules,
            controller: Controller::default(),
            rebuild: None,
            device_events: Vec::new(),
            devices,
            warmup: 0,
            split: false,
        }
    }

    /// With a controller that takes time, or lets requests wait.
    #[must_use]
    pub fn with_controller(self, controller: Controller) -> Self {
        Self { controller, ..self }
    }

    /// With these events of its devices. Each device fails at most once, and what slows it down does not overlap.
    ///
    /// # Panics
    /// If there is no such device under the planner, or, in a run, one cannot be
    /// [slowed down](Device::slow_down).
    #[must_use]
    pub fn with_device_events(self, device_events: Vec<DeviceEvent>) -> Self {
        let disks = self.planner.disks();
        assert!(
            device_events.iter().all(|event| event.device < disks),
            "events of disks of the array"
        );
        Self {
            device_events,
            ..self
        }
    }

    /// With a rebuild of lost disks to spares, of those that [fail](DeviceEventKind::Failure) during the run as well.
    ///
    /// # Panics
    /// If there is no spare, or, in a run, nothing is lost and nothing happens to devices.
    #[must_use]
    pub fn with_rebuild(self, rebuild: Rebuild) -> Self {
        assert!(
            self.planner.disks() < self.devices.len(),
            "there is a spare"
        );
        Self {
            rebuild: Some(rebuild),
            ..self
        }
    }

    /// Statistics leave out the first `requests` requests.
    #[must_use]
    pub fn with_warmup(self, requests: u64) -> Self {
        Self {
            warmup: requests,
            ..self
        }
    }

    /// With the statistics of what response times are made of.
    #[must_use]
    pub fn with_split(self) -> Self {
        Self {
            split: true,
            ..self
        }
    }

    /// Serves all requests of `source`, which must come in the order of their start, and hands
    /// each to `sink` when it is complete.
    ///
    /// # Errors
    /// If the source or the sink fails.
    pub fn run<E>(
        self,
        source: &mut impl RequestSource<Error = E>,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<RunSummary, E> {
        self.run_to_the_end(source, sink)
            .map(|(summary, _)| summary)
    }

    /// As [`run`](Self::run); also gives the devices back, as they are then.
    ///
    /// # Errors
    /// If the source or the sink fails.
    pub fn run_to_the_end<E>(
        self,
        source: &mut impl RequestSource<Error = E>,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<(RunSummary, Vec<D>), E> {
        EventSimulation::new(self, source.is_closed(), sink).run(source)
    }
}

impl<P: Planner, D: InOrder> Array<P, D> {
    /// Whether requests that are all issued as a whole on arrival can be simulated
    /// [without events](Self::run_without_events).
    pub fn needs_no_events(&self) -> bool {
        // Where a request waits for the one before, its issue depends on all disks.
        let one_at_a_time = self.controller.one_at_a_time;
        let by_itself =
            |device: &D| device.serves_in_order() || (!one_at_a_time && device.has_one_instant());
        self.controller.is_immediate()
            && self.rebuild.is_none()
            && self.device_events.is_empty()
            && self.devices.iter().all(by_itself)
    }

    /// As [`run`](Self::run), with the same result, and faster.
    ///
    /// # Errors
    /// If the source or the sink fails.
    ///
    /// # Panics
    /// If the array [needs events](Self::needs_no_events), or a request does: one that is not
    /// [issued at once](Planner::issues_at_once).
    pub fn run_without_events<E>(
        self,
        source: &mut impl RequestSource<Error = E>,
        sink: &mut impl CompletionSink<Error = E>,
    ) -> Result<RunSummary, E> {
        assert!(self.needs_no_events(), "the array needs events");
        recursion::run(self, source, sink)
    }

    /// As [`run_without_events`](Self::run_without_events), on up to `threads` threads, the calling one included; the
    /// result is the same, bit for bit. The sink is only used on the calling thread.
    ///
    /// # Errors
    /// If the source or the sink fails.
    ///
    /// # Panics
    /// As [`run_without_events`](Self::run_without_events).
    pub fn run_without_events_on<R, S>(
        self,
        threads: usize,
        source: &mut R,
        sink: &mut S,
    ) -> Result<RunSummary, S::Error>
    where
        P: Send,
        D: Send,
        R: RequestSource<Error = S::Error> + Send,
        S: CompletionSink<Error: Send>,
    {
        assert!(self.needs_no_events(), "the array needs events");
        recursion::run_on(threads, self, source, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_works_for_a_quarter_of_the_window_is_utilised_to_a_quarter() {
        let usage = |busy, background| {
            let mut usage = Usage {
                busy: Nanos::new(busy),
                ..Usage::default()
            };
            usage.background.busy = Nanos::new(background);
            usage
        };
        let summary = RunSummary {
            window: MeasuredWindow {
                from: Nanos::new(100),
                until: Nanos::new(300),
                ..MeasuredWindow::default()
            },
            usage: vec![usage(30, 20), usage(150, 0), usage(0, 0)],
            ..RunSummary::default()
        };
        let utilisations = [0, 1, 2].map(|disk| summary.utilisation(disk));
        assert_eq!(utilisations, [0.25, 0.75, 0.0]);
    }

    /// Does only what it must.
    struct Least;

    impl RequestSource for Least {
        type Error = ();

        fn next_request(&mut self) -> Result<Option<Request>, ()> {
            Err(())
        }
    }

    impl CompletionSink for Least {
        type Error = ();

        fn completed(&mut self, _: &Completion) -> Result<(), ()> {
            Err(())
        }
    }

    /// Says only that it is closed.
    struct Closed;

    impl RequestSource for Closed {
        type Error = ();

        fn next_request(&mut self) -> Result<Option<Request>, ()> {
            Err(())
        }

        fn is_closed(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_closed_source_waits_for_completions_unless_it_says_otherwise() {
        assert!(Closed.waits_for_completions());
    }

    #[test]
    fn a_source_is_open_and_a_sink_takes_no_services_unless_they_say_so() {
        let mut least = Least;
        assert!(!least.is_closed() && !least.waits_for_completions());
        assert!(!least.takes_services());
        let completion = Completion {
            id: RequestId(0),
            request: Request::default(),
            response_time: Nanos::ZERO,
            measured: true,
            failed: false,
        };
        assert_eq!(least.after(&completion, Nanos::ZERO), Ok(None));
        assert_eq!(least.when_idle(Nanos::ZERO), Ok(None));
    }
}
