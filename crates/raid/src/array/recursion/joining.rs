//! From the ends of jobs to completions in their order.

use std::collections::VecDeque;

use iosonar_device::{RequestId, Service};
use iosonar_sim_core::{Calendar, Slab};
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::lane::Lane;
use super::planning::Block;
use crate::array::measurement::Measurement;
use crate::array::{Completion, CompletionSink, Served};

/// A request of which not all is over.
#[derive(Clone, Copy, Debug)]
struct Open {
    request: Request,
    /// Jobs whose end is not known.
    left: u32,
    is_complete: bool,
    /// The latest end that is known.
    end: Nanos,
}

/// Services that have not ended.
#[derive(Default)]
struct Services {
    calendar: Calendar<u32>,
    open: Slab<(Request, Service, usize)>,
}

/// Requests from their arrival to their completion.
pub(super) struct Joining<'a, S> {
    sink: &'a mut S,
    pub(super) measurement: Measurement,
    /// In the order of their numbers, from the first that is not complete.
    open: VecDeque<Open>,
    /// The number of the first of these.
    first: u64,
    /// Completions to come: the numbers of their requests, of which 32 bits are enough.
    calendar: Calendar<u32>,
    present: usize,
    /// The ends of the jobs of each open request, if response times are split.
    ends: VecDeque<Vec<Nanos>>,
    ends_to_come: Option<Services>,
    /// The end of the last job.
    pub(super) last: Nanos,
}

impl<'a, S: CompletionSink> Joining<'a, S> {
    pub(super) fn new(sink: &'a mut S, measurement: Measurement) -> Self {
        Self {
            ends_to_come: measurement.takes_services.then(Services::default),
            sink,
            measurement,
            open: VecDeque::new(),
            first: 0,
            calendar: Calendar::default(),
            present: 0,
            ends: VecDeque::new(),
            last: Nanos::ZERO,
        }
    }

    /// Whether it needs services, and not only their ends.
    pub(super) fn takes_services(&self) -> bool {
        self.measurement.takes_services || self.measurement.summary.split.is_some()
    }

    /// Takes a block that was served.
    pub(super) fn join(&mut self, block: &Block) -> Result<(), S::Error> {
        let splits = self.measurement.summary.split.is_some();
        for (request, &left) in block.requests.iter().zip(&block.jobs) {
            self.open.push_back(Open {
                request: *request,
                left,
                is_complete: false,
                end: request.start.max(block.not_before),
            });
            if splits {
                self.ends.push_back(Vec::new());
            }
        }
        for (disk, lane) in block.lanes.iter().enumerate() {
            self.ended(lane, block.first);
            if !lane.services.is_empty() {
                self.record(lane, disk);
            }
        }
        for (number, request) in (block.first..).zip(&block.requests) {
            self.release_until(request.start)?;
            self.present += 1;
            // The disks know it from the block.
            let id = self.measurement.arrive(self.present, request.start, |_| ());
            debug_assert_eq!(id.0, number, "requests are counted once");
            let open = &self.open[(number - self.first) as usize];
            if open.left == 0 {
                self.last = self.last.max(open.end);
                self.calendar.schedule(open.end, number as u32);
            }
        }
        Ok(())
    }

    /// Notes the ends of jobs. Requests before `block` have arrived.
    #[inline]
    fn ended(&mut self, lane: &Lane, block: u64) {
        for ended in &lane.ended {
            let open = &mut self.open[(ended.request - self.first) as usize];
            open.end = open.end.max(ended.at);
            open.left -= 1;
            if open.left == 0 && ended.request < block {
                self.last = self.last.max(open.end);
                self.calendar.schedule(open.end, ended.request as u32);
            }
        }
    }

    fn record(&mut self, lane: &Lane, device: usize) {
        for service in &lane.services {
            let id = service.job.request.0;
            if !self.measurement.window.measures(id) {
                continue;
            }
            let open = &self.open[(id - self.first) as usize];
            if let Some(split) = &mut self.measurement.summary.split {
                split.service(service, &[]);
                self.ends[(id - self.first) as usize].push(service.ended());
            }
            if let Some(services) = &mut self.ends_to_come {
                let slot = services.open.insert((open.request, *service, device));
                services.calendar.schedule(service.ended(), slot);
            }
        }
    }

    /// Releases all completions up to an instant.
    #[inline]
    pub(super) fn release_until(&mut self, until: Nanos) -> Result<(), S::Error> {
        while self.calendar.next_time().is_some_and(|at| at <= until) {
            let Some((now, number)) = self.calendar.pop() else {
                break;
            };
            self.release_services_until(now)?;
            self.complete(number, now)?;
        }
        self.release_services_until(until)
    }

    #[inline]
    fn complete(&mut self, number: u32, now: Nanos) -> Result<(), S::Error> {
        let place = number.wrapping_sub(self.first as u32) as usize;
        let id = self.first + place as u64;
        let open = &mut self.open[place];
        open.is_complete = true;
        let completion = Completion {
            id: RequestId(id),
            request: open.request,
            response_time: now - open.request.start,
            measured: self.measurement.window.measures(id),
            failed: false,
        };
        if let (true, Some(split)) = (completion.measured, &mut self.measurement.summary.split) {
            split.joined(self.ends[place].drain(..), now);
        }
        while self.open.front().is_some_and(|open| open.is_complete) {
            self.open.pop_front();
            self.ends.pop_front();
            self.first += 1;
        }
        self.present -= 1;
        self.measurement.complete(completion, now, self.sink)
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

    /// Releases what is held back until its instant is over.
    pub(super) fn flush(&mut self) -> Result<(), S::Error> {
        self.measurement.release.flush(self.sink)
    }
}
