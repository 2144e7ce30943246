//! A device that serves one job at a time: a queue before a mechanism.
//!
//! ```text
//!  submit ──► waiting jobs, by priority ──► Mechanism ──► complete
//!             (place, next)                 (serve)
//! ```
//!
//! To simulate a device of this kind, implement [`Mechanism`]: how long a job takes, and, if that depends on the
//! order, which one is next.

use std::collections::VecDeque;
use std::fmt::Debug;

use iosonar_units::{Nanos, Sector};

use crate::usage::UsageMeter;
use crate::waiting::{Waiting, WaitingJobs};
use crate::{Device, InOrder, Job, Observable, Occupancy, Pace, RequestId, Service, Usage};

/// How long a service takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    /// Until the data begin to pass.
    pub positioning: Nanos,
    /// Until they have passed.
    pub transfer: Nanos,
    /// How fast they did.
    pub pace: Pace,
}

/// What serves the jobs of a [`Station`].
pub trait Mechanism {
    /// Where a job is to be served; worked out once, however often jobs are compared by it. `()` if places do not
    /// matter.
    type Place: Copy + Debug;

    /// The place of a job that comes now.
    fn place(&self, job: &Job) -> Self::Place;

    /// Which of the jobs of the highest priority is next, by its number. They are in the order of their arrival,
    /// and there is at least one.
    fn next(&self, waiting: &VecDeque<Waiting<Self::Place>>, now: Nanos) -> usize {
        let _ = (waiting, now);
        0
    }

    /// Whether the first job is always the next one, and takes no longer or shorter for those that wait behind it.
    fn serves_in_order(&self) -> bool {
        true
    }

    /// Serves a job from `now` on; `waiting` jobs of all priorities wait then, this one included.
    fn serve(&mut self, job: &Waiting<Self::Place>, now: Nanos, waiting: usize) -> ServiceTime;

    /// How far the mechanism would have to go to a sector. See [`Observable::distance`].
    fn distance(&self, sector: Sector) -> u64 {
        let _ = sector;
        0
    }
}

/// One server and its queue: three priorities, non-preemptive.
#[derive(Clone, Debug)]
pub struct Station<M: Mechanism> {
    mechanism: M,
    waiting: WaitingJobs<M::Place>,
    current: Option<Service>,
    last_served: Option<RequestId>,
    usage: UsageMeter,
    /// When all jobs so far are done, where each is announced its service at once.
    free_at: Nanos,
}

impl<M: Mechanism> Station<M> {
    /// An idle station.
    pub fn new(mechanism: M) -> Self {
        Self {
            mechanism,
            waiting: WaitingJobs::default(),
            current: None,
            last_served: None,
            usage: UsageMeter::default(),
            free_at: Nanos::ZERO,
        }
    }

    #[inline]
    fn located(&self, job: Job, arrived: Nanos) -> Waiting<M::Place> {
        let place = self.mechanism.place(&job);
        Waiting {
            job,
            arrived,
            place,
        }
    }

    #[inline]
    fn service(&mut self, job: &Waiting<M::Place>, now: Nanos, waiting: usize) -> Service {
        let ServiceTime {
            positioning,
            transfer,
            pace,
        } = self.mechanism.serve(job, now, waiting);
        Service {
            job: job.job,
            arrived: job.arrived,
            started: now,
            positioning,
            transfer,
            pace,
            failed: false,
        }
    }
}

impl<M: Mechanism> Observable for Station<M> {
    #[inline]
    fn occupancy(&self) -> Occupancy {
        Occupancy {
            in_service: self.current.map(|s| (s.job.request, s.pace)),
            last_served: self.last_served,
            waiting: self.waiting.len(),
        }
    }

    fn distance(&self, sector: Sector) -> u64 {
        self.mechanism.distance(sector)
    }
}

impl<M: Mechanism> Device for Station<M> {
    #[inline]
    fn submit(&mut self, job: Job, now: Nanos) {
        self.usage.arrive(now);
        self.waiting.push(self.located(job, now));
    }

    #[inline]
    fn start_next(&mut self, now: Nanos) -> Option<Nanos> {
        if self.current.is_some() {
            return None;
        }
        let waiting = self.waiting.len();
        let job = self.waiting.take(|queue| self.mechanism.next(queue, now))?;
        let service = self.service(&job, now, waiting);
        self.current = Some(service);
        Some(service.ended())
    }

    #[inline]
    fn complete(&mut self, now: Nanos, _: Nanos) -> Option<Service> {
        let service = self.current.take().expect("a job is in service");
        debug_assert_eq!(
            service.ended(),
            now,
            "a service ends when it was said to end"
        );
        self.last_served = Some(service.job.request);
        self.usage.leave(&service);
        Some(service)
    }

    fn measure_from(&mut self, now: Nanos) {
        self.usage.measure_from(now);
    }

    fn end_measurement(&mut self, now: Nanos) {
        let waiting = self.waiting.iter().map(|waiting| waiting.arrived);
        self.usage.end(now, self.current.as_ref(), waiting);
    }

    fn usage(&self) -> Usage {
        self.usage.usage()
    }
}

impl<M: Mechanism> InOrder for Station<M> {
    fn serves_in_order(&self) -> bool {
        self.mechanism.serves_in_order()
    }

    #[inline]
    fn serve(&mut self, job: Job, now: Nanos) -> Service {
        let job = self.located(job, now);
        let service = self.service(&job, now.max(self.free_at), 1);
        self.free_at = service.ended();
        self.usage.announce(&service);
        service
    }

    #[inline]
    fn has_come_to(&mut self, now: Nanos) {
        self.usage.has_come_to(now);
    }
}
