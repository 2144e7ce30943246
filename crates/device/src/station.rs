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

use crate::usage::{Stay, UsageMeter};
use crate::waiting::{Waiting, WaitingJobs};
use crate::{
    Background, Device, InOrder, Job, Observable, Occupancy, Pace, RequestId, Service, Usage,
};

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

impl ServiceTime {
    /// When it is over, as [`Service::ended`].
    #[inline]
    fn after(&self, started: Nanos) -> Nanos {
        started
            .saturating_add(self.positioning)
            .saturating_add(self.transfer)
    }

    fn times(self, factor: f64) -> Self {
        let times = |time: Nanos| Nanos::nearest(time.get() as f64 * factor);
        Self {
            positioning: times(self.positioning),
            transfer: times(self.transfer),
            pace: Pace(self.pace.0 * factor),
        }
    }
}

/// What serves the jobs of a [`Station`].
pub trait Mechanism {
    /// Where a job is to be served; worked out once, however often jobs are compared by it. `()` if places do not
    /// matter.
    type Place: Copy + Debug;

    /// The place of a job that comes now.
    fn place(&self, job: &Job) -> Self::Place;

    /// Which of the jobs of the highest priority is next, by its number. They are in the order of their arrival,
    /// and there is at least one. A mechanism that goes on by itself between services may go on to `now` first.
    fn next(&mut self, waiting: &VecDeque<Waiting<Self::Place>>, now: Nanos) -> usize {
        let _ = (waiting, now);
        0
    }

    /// Whether the first job is always the next one, and takes no longer or shorter for those that wait behind it.
    fn serves_in_order(&self) -> bool {
        true
    }

    /// Whether a job that comes when none waits can be served at once, without [`next`](Self::next).
    fn takes_first(&self) -> bool {
        self.serves_in_order()
    }

    /// Serves a job from `now` on; `waiting` jobs of all priorities wait then, this one included.
    fn serve(&mut self, job: &Waiting<Self::Place>, now: Nanos, waiting: usize) -> ServiceTime;

    /// Serves these jobs one after the other, and adds how long each takes to `durations`, if that depends on nothing but
    /// the jobs before it; `false` if it does, and nothing has happened then.
    fn serve_all(
        &mut self,
        jobs: impl Iterator<Item = Job> + Clone,
        durations: &mut Vec<Nanos>,
    ) -> bool {
        let _ = (jobs, durations);
        false
    }

    /// Forgets what it has done in the background up to `now`.
    fn measure_from(&mut self, now: Nanos) {
        let _ = now;
    }

    /// What it does in the background later than `now` counts no more.
    fn end_measurement(&mut self, now: Nanos) {
        let _ = now;
    }

    /// What it has done in the background in between. A mechanism that rests between services has no more to do.
    fn background(&self) -> Background {
        Background::default()
    }

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
    /// How many times as long services take as they would.
    slowness: f64,
    /// How long each of the jobs takes that are served at once; kept for the next ones.
    durations: Vec<Nanos>,
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
            slowness: 1.0,
            durations: Vec::new(),
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
        let mut time = self.mechanism.serve(job, now, waiting);
        if self.slowness > 1.0 {
            time = time.times(self.slowness);
        }
        let ServiceTime {
            positioning,
            transfer,
            pace,
        } = time;
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

    /// Begins to serve a job, which is one of `waiting`. Gives the end of its service.
    #[inline(never)]
    fn begin(&mut self, job: &Waiting<M::Place>, now: Nanos, waiting: usize) -> Nanos {
        let service = self.service(job, now, waiting);
        self.current = Some(service);
        service.ended()
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
        Some(self.begin(&job, now, waiting))
    }

    #[inline(always)]
    fn submit_and_start(&mut self, job: Job, now: Nanos) -> Option<Nanos> {
        if self.current.is_none() && self.waiting.is_empty() && self.mechanism.takes_first() {
            self.usage.arrive(now);
            return Some(self.begin(&self.located(job, now), now, 1));
        }
        self.submit(job, now);
        self.start_next(now)
    }

    fn has_one_instant(&self) -> bool {
        true
    }

    fn slow_down(&mut self, factor: f64) -> bool {
        self.slowness = factor;
        true
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
        self.mechanism.measure_from(now);
        self.usage.measure_from(now);
    }

    fn end_measurement(&mut self, now: Nanos) {
        let waiting = self.waiting.iter().map(|waiting| waiting.arrived);
        self.usage.end(now, self.current.as_ref(), waiting);
        self.mechanism.end_measurement(now);
    }

    fn usage(&self) -> Usage {
        Usage {
            background: self.mechanism.background(),
            ..self.usage.usage()
        }
    }
}

impl<M: Mechanism> InOrder for Station<M> {
    #[inline]
    fn serve_each(
        &mut self,
        jobs: impl Iterator<Item = (Job, Nanos)> + Clone,
        until: Nanos,
        mut served: impl FnMut(RequestId, Nanos, Nanos),
    ) {
        let Self {
            mechanism,
            usage,
            free_at,
            slowness,
            durations,
            ..
        } = self;
        durations.clear();
        let at_once =
            *slowness <= 1.0 && mechanism.serve_all(jobs.clone().map(|(job, _)| job), durations);
        let mut announced = usage.announce_until(until);
        let mut free = *free_at;
        let mut announce = |job: RequestId, arrived, started, ended| {
            announced.add(Stay {
                arrived,
                started,
                ended,
            });
            served(job, started, ended);
        };
        if at_once {
            for ((job, arrived), &duration) in jobs.zip(&*durations) {
                let started = arrived.max(free);
                free = started.saturating_add(duration);
                announce(job.request, arrived, started, free);
            }
        } else {
            for (job, arrived) in jobs {
                let waiting = Waiting {
                    place: mechanism.place(&job),
                    job,
                    arrived,
                };
                let started = arrived.max(free);
                let mut time = mechanism.serve(&waiting, started, 1);
                if *slowness > 1.0 {
                    time = time.times(*slowness);
                }
                free = time.after(started);
                announce(job.request, arrived, started, free);
            }
        }
        announced.end();
        *free_at = free;
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Priority};
    use iosonar_units::Sectors;

    /// Services of 5 to 15 ms, by their number.
    #[derive(Default)]
    struct Uneven(u64);

    impl Mechanism for Uneven {
        type Place = ();

        fn place(&self, _: &Job) {}

        fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
            self.0 += 1;
            ServiceTime {
                positioning: Nanos::from_millis(4),
                transfer: Nanos::from_millis(1 + self.0 * 7 % 11),
                pace: Pace(1.0),
            }
        }
    }

    fn job(tag: u64, priority: Priority) -> Job {
        let (sector, sectors) = (Sector::new(0), Sectors::new(256));
        Job {
            tag,
            priority,
            ..Job::new(RequestId(tag), Access::Read, sector, sectors)
        }
    }

    fn station() -> Station<Uneven> {
        Station::new(Uneven::default())
    }

    #[test]
    fn high_priority_overtakes_but_never_interrupts() {
        let mut station = station();
        station.submit(job(0, Priority::Normal), Nanos::ZERO);
        let mut end = station.start_next(Nanos::ZERO).unwrap();
        station.submit(job(1, Priority::Normal), Nanos::ZERO);
        station.submit(job(2, Priority::High), Nanos::ZERO);
        station.submit(job(4, Priority::Low), Nanos::ZERO);
        station.submit(job(3, Priority::High), Nanos::ZERO);
        assert_eq!(station.start_next(Nanos::ZERO), None, "it is busy");
        let in_service = station.occupancy().in_service;
        assert_eq!(in_service.map(|(request, _)| request), Some(RequestId(0)));
        let mut order = vec![station.complete(end, end).unwrap().job.tag];
        while let Some(next) = station.start_next(end) {
            end = next;
            order.push(station.complete(end, end).unwrap().job.tag);
        }
        assert_eq!(order, [0, 2, 3, 1, 4]);
        assert_eq!(station.occupancy().last_served, Some(RequestId(4)));
        assert_eq!(station.usage().busy, end, "work is conserved");
    }

    #[test]
    fn announced_at_once_or_event_by_event_services_are_the_same() {
        let arrivals: Vec<Nanos> = (0..50)
            .map(|i| Nanos::from_millis(i * i % 90 + 12 * i))
            .collect();
        let mut sorted = arrivals;
        sorted.sort_unstable();
        let warm = sorted[20];
        let mut at_once = station();
        let mut services = Vec::new();
        for (i, &at) in sorted.iter().enumerate() {
            if i == 20 {
                at_once.measure_from(at);
            }
            services.push(at_once.serve(job(i as u64, Priority::Normal), at));
        }
        // Some announced services are not over by then.
        let ends = sorted[49];
        assert!(services[49].ended() > ends);
        at_once.end_measurement(ends);
        // The same in blocks, in one of which the measurement begins.
        let (mut in_blocks, mut ends_in_blocks) = (station(), Vec::new());
        for block in [0..20, 20..33, 33..50] {
            if block.start == 20 {
                in_blocks.measure_from(warm);
            }
            in_blocks.has_come_to(sorted[block.start]);
            let jobs = block
                .clone()
                .map(|i| (job(i as u64, Priority::Normal), sorted[i]));
            in_blocks.serve_each(jobs, sorted[block.end - 1], |request, started, ended| {
                ends_in_blocks.push((request, started, ended));
            });
        }
        in_blocks.end_measurement(ends);
        let of_service = |s: &Service| (s.job.request, s.started, s.ended());
        assert_eq!(
            ends_in_blocks,
            services.iter().map(of_service).collect::<Vec<_>>()
        );
        assert_eq!(in_blocks.usage(), at_once.usage());
        let mut by_event = station();
        let (mut announced, mut next, mut end) = (Vec::new(), 0, None);
        while announced.len() < sorted.len() {
            match end {
                Some(at) if next == sorted.len() || at <= sorted[next] => {
                    announced.push(by_event.complete(at, at).unwrap());
                    end = by_event.start_next(at);
                }
                _ => {
                    if next == 20 {
                        by_event.measure_from(warm);
                    }
                    by_event.submit(job(next as u64, Priority::Normal), sorted[next]);
                    end = end.or(by_event.start_next(sorted[next]));
                    next += 1;
                    if next == sorted.len() {
                        by_event.end_measurement(ends);
                    }
                }
            }
        }
        assert_eq!(announced, services);
        let usage = by_event.usage();
        assert_eq!(usage, at_once.usage());
        assert_eq!(
            usage.jobs_time as i128,
            usage.stay_time as i128 + usage.stay_edge
        );
        assert_eq!(
            i128::from(usage.busy.get()),
            usage.service_time as i128 + usage.service_edge
        );
    }
}
