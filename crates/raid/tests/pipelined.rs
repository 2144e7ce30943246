//! Arrays of devices that work on many jobs at a time, in steps of their own: discards, flushes, batches that wait for
//! more, and what is asked of a load when all is idle. Every service takes the same time, so that all times are closed
//! forms.

use std::convert::Infallible;

use iosonar_device::{
    Access, Device, Job, Observable, Occupancy, Pace, PaceOf, Pipelined, Priority, Service, Usage,
};
use iosonar_raid::rules::{PrereadSeek, Rules, TransferMemory};
use iosonar_raid::{
    Array, ArrayShape, Completion, CompletionSink, Controller, Level, Lost, Parity, ParityLayout,
    Placement, RandomLayout, RequestSource, RunSummary, Served, Striped, WriteBack,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

/// A step of a job, of which there are three.
const STEP: Nanos = Nanos::from_micros(100);
const SERVICE: Nanos = Nanos::from_micros(300);
const UNIT: u32 = 16;

/// Serves jobs in batches, all of a batch at the same time.
#[derive(Clone, Debug)]
struct Batches {
    /// How many jobs a batch has.
    size: usize,
    is_pipelined: bool,
    takes_flushes: bool,
    /// Whether it has something to do for a step more after each job.
    tidies: bool,
    /// Whether it says why jobs wait.
    explains: bool,
    waiting: Vec<(Job, Nanos)>,
    running: Vec<Service>,
    /// When it has tidied up.
    tidied: Vec<Nanos>,
    /// Up to when it has gone on.
    at: Nanos,
    /// The instant that it gave.
    given: Option<Nanos>,
    is_drained: bool,
    times: [Nanos; 2],
    /// How far it might have gone on, and from when.
    untils: Vec<(Nanos, Nanos)>,
    /// All jobs, and when they came.
    jobs: Vec<(Job, Nanos)>,
}

impl Batches {
    fn of(size: usize) -> Self {
        Self {
            size,
            is_pipelined: true,
            takes_flushes: false,
            tidies: false,
            explains: true,
            waiting: Vec::new(),
            running: Vec::new(),
            tidied: Vec::new(),
            at: Nanos::ZERO,
            given: None,
            is_drained: false,
            times: [Nanos::ZERO; 2],
            untils: Vec::new(),
            jobs: Vec::new(),
        }
    }

    fn begin(&mut self, now: Nanos) {
        let begun = self.waiting.drain(..).map(|(job, arrived)| Service {
            job,
            arrived,
            started: now,
            positioning: STEP,
            transfer: STEP + STEP,
            pace: Pace(1.0),
            failed: false,
        });
        self.running.extend(begun);
    }

    /// The accesses of its jobs, with their places.
    fn accesses(&self) -> Vec<(Access, u64, u32)> {
        let access = |job: &Job| (job.access, job.sector.get(), job.sectors.get());
        self.jobs.iter().map(|(job, _)| access(job)).collect()
    }
}

impl Observable for Batches {
    fn occupancy(&self) -> Occupancy {
        Occupancy {
            waiting: self.waiting.len() + self.running.len(),
            ..Occupancy::default()
        }
    }
}

impl Device for Batches {
    fn submit(&mut self, job: Job, now: Nanos) {
        assert!(self.at <= now, "it has gone on further");
        self.jobs.push((job, now));
        self.waiting.push((job, now));
        if self.waiting.len() == self.size {
            self.begin(now);
        }
    }

    fn start_next(&mut self, _: Nanos) -> Option<Nanos> {
        let next_of = |service: &Service| {
            let steps = [service.started + STEP, service.started + STEP + STEP];
            let step = steps.into_iter().find(|step| *step > self.at);
            step.unwrap_or(service.ended())
        };
        let instants = self.running.iter().map(next_of);
        let next = instants.chain(self.tidied.iter().copied()).min()?;
        if self.given.is_some_and(|given| given <= next) {
            return None;
        }
        self.given = Some(next);
        self.given
    }

    fn complete(&mut self, now: Nanos, until: Nanos) -> Option<Service> {
        assert!(now <= until);
        if self.given == Some(now) {
            self.given = None;
        }
        self.at = self.at.max(now);
        self.tidied.retain(|instant| *instant > now);
        if let Some(done) = self.running.iter().position(|s| s.ended() <= now) {
            let service = self.running.remove(done);
            assert_eq!(service.ended(), now, "its end was given");
            self.times = [now - service.arrived, SERVICE];
            if self.tidies {
                self.tidied.push(now + STEP);
            }
            return Some(service);
        }
        self.untils.push((now, until));
        let ends = self.running.iter().map(Service::ended);
        let next = ends.chain(self.tidied.iter().copied()).min();
        self.at = next.map_or(now, |next| next.min(until));
        None
    }

    fn measure_from(&mut self, _: Nanos) {}

    fn end_measurement(&mut self, _: Nanos) {}

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn pipelined(&mut self) -> Option<&mut dyn Pipelined> {
        self.is_pipelined.then_some(self as &mut dyn Pipelined)
    }
}

impl Pipelined for Batches {
    fn stage_times(&self) -> &[Nanos] {
        &self.times
    }

    fn takes_flushes(&self) -> bool {
        self.takes_flushes
    }

    fn drain(&mut self, now: Nanos) {
        assert!(!self.is_drained, "once");
        self.is_drained = true;
        self.begin(now);
    }

    fn why_stuck(&self) -> Option<String> {
        let left = self.waiting.len();
        (self.explains && left > 0).then(|| format!("{left} jobs wait for {}", self.size))
    }
}

/// Requests at their times; or in a closed loop of this many users, of which each begins again at once, or when all is
/// idle.
#[derive(Default)]
struct Load {
    requests: std::collections::VecDeque<Request>,
    users: Option<usize>,
    follows_when_idle: bool,
    /// When it was asked because all was idle.
    idle: Vec<Nanos>,
}

impl RequestSource for Load {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        match &mut self.users {
            Some(0) => return Ok(None),
            Some(users) => *users -= 1,
            None => {}
        }
        Ok(self.requests.pop_front())
    }

    fn is_closed(&self) -> bool {
        self.users.is_some()
    }

    fn waits_for_completions(&self) -> bool {
        self.is_closed() && !self.requests.is_empty()
    }

    fn after(&mut self, _: &Completion, now: Nanos) -> Result<Option<Request>, Infallible> {
        if self.follows_when_idle {
            return Ok(None);
        }
        let start = now;
        Ok(self.requests.pop_front().map(|r| Request { start, ..r }))
    }

    fn when_idle(&mut self, now: Nanos) -> Result<Option<Request>, Infallible> {
        assert!(self.is_closed(), "asked of a closed loop only");
        self.idle.push(now);
        let start = now;
        Ok(self.requests.pop_front().map(|r| Request { start, ..r }))
    }
}

#[derive(Default)]
struct Done {
    /// Response times, by number.
    times: Vec<(u64, Nanos)>,
    takes_services: bool,
    services: Vec<(Op, usize, Vec<Nanos>)>,
}

impl CompletionSink for Done {
    type Error = Infallible;

    fn completed(&mut self, completion: &Completion) -> Result<(), Infallible> {
        self.times.push((completion.id.0, completion.response_time));
        Ok(())
    }

    fn takes_services(&self) -> bool {
        self.takes_services
    }

    fn served(&mut self, served: &Served<'_>) -> Result<(), Infallible> {
        self.services
            .push((served.request.op, served.device, served.stages.to_vec()));
        Ok(())
    }
}

impl Done {
    /// In microseconds, in the order of arrival.
    fn times_us(&self) -> Vec<u64> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.iter().map(|(_, time)| time.get() / 1000).collect()
    }
}

fn shape(disks: usize) -> ArrayShape {
    ArrayShape {
        disks,
        stripe_unit: Sectors::new(UNIT),
        disk_sectors: 1 << 20,
        placement: Placement::Addressed,
    }
}

fn raid0(disks: usize) -> Level {
    Level::Striped(Striped::new(shape(disks), &Seed::new(1)).unwrap())
}

fn raid5(disks: usize) -> Level {
    let (layout, random) = (ParityLayout::LeftSymmetric, RandomLayout::default());
    let (lost, seed) = (Lost::none(), Seed::new(1));
    Level::Parity(Parity::new(1, shape(disks), layout, random, lost, &seed).unwrap())
}

fn request(start_us: u64, op: Op, sector: u64, sectors: u32) -> Request {
    Request {
        start: Nanos::from_micros(start_us),
        op,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    }
}

fn reads(starts_us: &[u64]) -> Vec<Request> {
    let read = |&start| request(start, Op::Read, 0, 8);
    starts_us.iter().map(read).collect()
}

struct Outcome {
    done: Done,
    load: Load,
    summary: RunSummary,
    devices: Vec<Batches>,
}

fn run(array: Array<Level, Batches>, requests: &[Request]) -> Outcome {
    let load = Load {
        requests: requests.to_vec().into(),
        ..Load::default()
    };
    run_load(array, load)
}

fn run_load(array: Array<Level, Batches>, mut load: Load) -> Outcome {
    let mut done = Done::default();
    let Ok((summary, devices)) = array.run_to_the_end(&mut load, &mut done);
    Outcome {
        done,
        load,
        summary,
        devices,
    }
}

fn array(level: Level, device: Batches) -> Array<Level, Batches> {
    let devices = vec![device; iosonar_raid::Planner::disks(&level)];
    Array::new(level, devices, Rules::default())
}

#[test]
fn a_batch_that_is_not_full_is_served_when_no_more_requests_come() {
    let seen = run(
        array(raid0(1), Batches::of(3)),
        &reads(&[0, 10, 20, 30, 40, 50, 60]),
    );
    // The third, the sixth and the last begin a batch.
    assert_eq!(seen.done.times_us(), [320, 310, 300, 320, 310, 300, 300]);
    assert_eq!(seen.summary.unserved, 0);
    assert_eq!(seen.summary.deadlock, None);
    assert!(seen.devices[0].is_drained);
    // Of one that has never been full, too.
    let seen = run(array(raid0(2), Batches::of(3)), &reads(&[0, 10]));
    assert_eq!(seen.done.times_us(), [310, 300]);
    assert!(seen.devices.iter().all(|device| device.is_drained));
}

#[test]
fn a_closed_loop_drains_when_users_leave_but_stands_still_if_none_was_ever_served() {
    let closed = |requests: usize, users| Load {
        requests: reads(&vec![0; requests]).into(),
        users: Some(users),
        ..Load::default()
    };
    // Two pairs, and one that is left over.
    let seen = run_load(array(raid0(1), Batches::of(2)), closed(5, 2));
    assert_eq!(seen.done.times_us(), [300; 5]);
    assert_eq!(seen.summary.unserved, 0);
    // As many requests as users, and fewer than a batch.
    for (requests, users) in [(2, 2), (7, 2)] {
        let seen = run_load(array(raid0(1), Batches::of(3)), closed(requests, users));
        assert!(seen.done.times.is_empty());
        assert_eq!(seen.summary.unserved, 2);
        assert!(!seen.devices[0].is_drained);
        assert_eq!(seen.summary.deadlock.as_deref(), Some("2 jobs wait for 3"));
        assert!(seen.load.idle.is_empty(), "it is not idle");
    }
}

#[test]
fn a_run_that_stands_still_says_why_if_a_device_does() {
    // Only the second disk has jobs.
    let closed = || Load {
        requests: [0, 100]
            .map(|start| request(start, Op::Read, u64::from(UNIT), 8))
            .into(),
        users: Some(2),
        ..Load::default()
    };
    let seen = run_load(array(raid0(3), Batches::of(3)), closed());
    assert_eq!(seen.summary.deadlock.as_deref(), Some("2 jobs wait for 3"));
    assert_eq!((seen.summary.unserved, seen.summary.requests), (2, 2));
    let silent = Batches {
        explains: false,
        ..Batches::of(3)
    };
    let seen = run_load(array(raid0(3), silent), closed());
    assert_eq!(
        seen.summary.deadlock.as_deref(),
        Some("no event is pending")
    );
    // Of a load of nothing nothing is unserved.
    for users in [None, Some(2)] {
        let nothing = Load {
            users,
            ..Load::default()
        };
        let seen = run_load(array(raid0(3), Batches::of(3)), nothing);
        assert_eq!((seen.summary.unserved, seen.summary.requests), (0, 0));
        assert_eq!(seen.summary.deadlock, None);
        assert_eq!(seen.summary.events, 0);
    }
}

#[test]
fn what_waits_for_all_to_be_idle_comes_when_the_devices_rest_and_the_cache_is_empty() {
    let load = |op| Load {
        requests: (0..5).map(|_| request(0, op, 0, 8)).collect(),
        users: Some(2),
        follows_when_idle: true,
        ..Load::default()
    };
    let device = Batches {
        tidies: true,
        ..Batches::of(1)
    };
    let us = |times: &[Nanos]| -> Vec<u64> { times.iter().map(|t| t.get() / 1000).collect() };
    // Two at once, then one after the other: each takes three steps, and its device tidies up for one.
    let seen = run_load(array(raid0(1), device.clone()), load(Op::Read));
    assert_eq!(us(&seen.load.idle), [400, 800, 1200]);
    assert_eq!(seen.done.times_us(), [300; 5]);
    assert_eq!(seen.summary.requests, 5);
    // A write is complete at once in a cache, which is written to the disk only then.
    let cache = WriteBack {
        capacity: Sectors::new(100),
        high: Sectors::new(100),
        low: Sectors::new(0),
    };
    let controller = Controller {
        cache: Some(cache),
        ..Controller::default()
    };
    let cached = array(raid0(1), device).with_controller(controller);
    let seen = run_load(cached, load(Op::Write));
    assert_eq!(seen.done.times_us(), [0; 5]);
    assert_eq!(us(&seen.load.idle), [400, 800, 1200]);
    let jobs = &seen.devices[0].jobs;
    let came: Vec<_> = jobs.iter().map(|(_, at)| at.get() / 1000).collect();
    assert_eq!(came, [0, 0, 400, 800, 1200], "the last as the run ends");
}

/// A device is asked at each step of a job; it may go on to the next event of all, or, if there is none, as far as it likes
/// while a requester waits and no cache is to be emptied.
#[test]
fn a_device_may_go_on_alone_while_a_requester_waits_for_it() {
    let us = |seen: &Outcome| -> Vec<(u64, u64)> {
        let us = |time: Nanos| time.get() / 1000;
        let untils = seen.devices[0].untils.iter();
        untils.map(|&(now, until)| (us(now), us(until))).collect()
    };
    let end = Nanos::MAX.get() / 1000;
    // Nothing else is to come: the second step is not an event.
    let seen = run(array(raid0(1), Batches::of(1)), &reads(&[0]));
    assert_eq!(us(&seen), [(100, end)]);
    assert_eq!(seen.summary.events, 3, "it comes, goes on, and is done");
    // Another arrival is.
    let seen = run(array(raid0(1), Batches::of(1)), &reads(&[0, 150]));
    assert_eq!(us(&seen), [(100, 150), (200, end), (350, end)]);
    // With a cache a write may be destaged at any time.
    let controller = Controller {
        cache: Some(WriteBack {
            capacity: Sectors::new(100),
            high: Sectors::new(100),
            low: Sectors::new(0),
        }),
        ..Controller::default()
    };
    let cached = array(raid0(1), Batches::of(1)).with_controller(controller);
    let seen = run(cached, &reads(&[0]));
    assert_eq!(us(&seen), [(100, 100), (200, 200)]);
    // No requester waits while a device tidies up.
    let tidies = Batches {
        tidies: true,
        ..Batches::of(1)
    };
    let load = Load {
        requests: reads(&[0, 0]).into(),
        users: Some(1),
        follows_when_idle: true,
        ..Load::default()
    };
    let seen = run_load(array(raid0(1), tidies), load);
    assert_eq!(us(&seen), [(100, end), (400, 400), (500, end)]);
}

#[test]
fn a_discard_goes_to_devices_that_know_it_where_writes_read_nothing() {
    use Access::{Discard, Read, Write};
    let requests = [
        request(0, Op::Discard, 8, 40),
        request(1000, Op::Write, 0, 8),
        request(2000, Op::Read, 16, 8),
    ];
    let seen = run(array(raid0(2), Batches::of(1)), &requests);
    assert_eq!(seen.done.times_us(), [300; 3]);
    assert_eq!(
        seen.devices[0].accesses(),
        [(Discard, 8, 8), (Discard, 16, 16), (Write, 0, 8)]
    );
    assert_eq!(seen.devices[1].accesses(), [(Discard, 0, 16), (Read, 0, 8)]);
    // It costs nothing to other devices, nor where it would leave the parity wrong.
    let others = Batches {
        is_pipelined: false,
        ..Batches::of(1)
    };
    for array in [array(raid0(2), others), array(raid5(3), Batches::of(1))] {
        let seen = run(array, &requests);
        assert_eq!(seen.done.times_us()[0], 0);
        let mut jobs = seen.devices.iter().flat_map(Batches::accesses);
        assert!(jobs.all(|(access, ..)| access != Discard));
    }
    let mut mixed = vec![Batches::of(1); 2];
    mixed[1].is_pipelined = false;
    let seen = run(Array::new(raid0(2), mixed, Rules::default()), &requests);
    assert_eq!(seen.done.times_us()[0], 0);
}

#[test]
fn a_flush_goes_to_each_device_that_takes_one() {
    let requests = [request(0, Op::Flush, 0, 0), request(1000, Op::Read, 0, 8)];
    let mut devices = vec![Batches::of(1); 3];
    devices[1].takes_flushes = true;
    devices[2].takes_flushes = true;
    devices[2].is_pipelined = false;
    let array = Array::new(raid0(3), devices, Rules::default());
    let seen = run(array, &requests);
    assert_eq!(seen.done.times_us(), [300, 300]);
    let accesses: Vec<_> = seen.devices.iter().map(Batches::accesses).collect();
    let read = (Access::Read, 0, 8);
    assert_eq!(accesses, [vec![read], vec![(Access::Flush, 0, 0)], vec![]]);
    let seen = run(self::array(raid0(3), Batches::of(1)), &requests);
    assert_eq!(seen.done.times_us(), [0, 300]);
}

#[test]
fn services_of_reads_and_writes_are_recorded_with_the_times_of_their_stages() {
    let device = Batches {
        takes_flushes: true,
        ..Batches::of(1)
    };
    let requests = [
        request(0, Op::Read, 0, 8),
        request(1000, Op::Read, 0, 32),
        request(2000, Op::Discard, 0, 8),
        request(3000, Op::Flush, 0, 0),
        request(4000, Op::Write, 16, 8),
    ];
    let array = || array(raid0(2), device.clone()).with_warmup(1);
    let mut load = Load {
        requests: requests.to_vec().into(),
        ..Load::default()
    };
    let mut done = Done {
        takes_services: true,
        ..Done::default()
    };
    let Ok(summary) = array().run(&mut load, &mut done);
    let stages = vec![SERVICE, SERVICE];
    let expected = [(Op::Read, 0), (Op::Read, 1), (Op::Write, 1)]
        .map(|(op, device)| (op, device, stages.clone()));
    assert_eq!(done.services, expected);
    assert!(summary.split.is_none());
    let split = run(array().with_split(), &requests).summary.split.unwrap();
    assert_eq!(split.stages.len(), 2);
    for part in [
        &split.stages[0],
        &split.stages[1],
        &split.wait,
        &split.transfer,
        &split.join_delay,
    ] {
        assert_eq!(part.count(), 3);
    }
    assert_eq!(split.stages[1].moments.mean(), 300_000.0);
    assert_eq!(split.positioning.moments.mean(), 100_000.0);
    assert_eq!(split.transfer.moments.mean(), 200_000.0);
    assert_eq!(split.join_delay.moments.mean(), 0.0);
}

/// 1,000 ns a sector: 16 take 16 us. Each goes by itself, in the order in which they come.
#[test]
fn the_bus_carries_what_is_written_before_and_what_is_read_after_a_service_and_nothing_else() {
    let controller = Controller {
        bus_ns_per_sector: 1000.0,
        ..Controller::default()
    };
    let device = Batches {
        takes_flushes: true,
        ..Batches::of(1)
    };
    let run = |level: Level, requests: &[Request]| {
        let array = array(level, device.clone()).with_controller(controller);
        let seen = run(array, requests);
        (seen.done.times_us(), seen.devices)
    };
    // Three units to three disks, and from them.
    let (times, devices) = run(raid0(3), &[request(0, Op::Write, 0, 48)]);
    assert_eq!(times, [48 + 300]);
    let came = |device: &Batches| -> Vec<u64> {
        let came = device.jobs.iter().map(|(_, at)| at.get() / 1000);
        came.collect()
    };
    let all: Vec<_> = devices.iter().map(came).collect();
    assert_eq!(all, [[16], [32], [48]]);
    let (times, devices) = run(raid0(3), &[request(0, Op::Read, 0, 48)]);
    assert_eq!(times, [300 + 48]);
    assert!(devices.iter().all(|device| came(device) == [0]));
    // A discard and a flush move no data: they do not wait for the bus either, and a read beside them has it.
    let (times, _) = run(
        raid0(3),
        &[
            request(0, Op::Discard, 0, 48),
            request(0, Op::Flush, 0, 0),
            request(0, Op::Read, 0, 16),
        ],
    );
    assert_eq!(times, [300, 300, 316]);
    // A read-modify-write of 8 sectors: two pre-reads come, two writes go.
    let (times, devices) = run(raid5(5), &[request(0, Op::Write, 0, 8)]);
    assert_eq!(times, [300 + 16 + 16 + 300]);
    assert_eq!(came(&devices[0]), [0, 300 + 16 + 8]);
    assert_eq!(came(&devices[4]), [0, 300 + 16 + 16]);
}

/// 1,000 ns a sector.
#[test]
fn the_exclusive_or_takes_time_before_parity_is_written_and_after_what_is_lost_was_read() {
    let controller = Controller {
        xor_ns_per_sector: 1000.0,
        ..Controller::default()
    };
    let run = |level: Level, request: Request| {
        let seen = run(
            array(level, Batches::of(1)).with_controller(controller),
            &[request],
        );
        (seen.done.times_us()[0], seen.summary.events)
    };
    let degraded = || {
        let mut level = raid5(4);
        assert!(iosonar_raid::Planner::fail(&mut level, 1));
        level
    };
    // Three units of data make a whole stripe.
    let whole = request(0, Op::Write, 0, 3 * UNIT);
    assert_eq!(run(raid5(4), whole).0, 48 + 300);
    // One of them: it and the parity are read, and the new data are put to them.
    assert_eq!(run(raid5(4), request(0, Op::Write, 0, 8)).0, 600 + 24);
    // Two of them: the third is read.
    assert_eq!(run(raid5(4), request(0, Op::Write, 0, 32)).0, 600 + 48);
    // What is there is only read, and what is lost is made of three others.
    assert_eq!(run(raid5(4), request(0, Op::Read, 0, 8)).0, 300);
    assert_eq!(run(degraded(), request(0, Op::Read, 0, 8)).0, 300);
    let (time, events) = run(degraded(), request(0, Op::Read, 20, 8));
    assert_eq!(time, 300 + 24);
    // It comes, goes on and ends on three disks, and is joined. Whole disks need no event for that.
    let (_, fewer) = run(raid5(4), request(0, Op::Read, 0, 3 * UNIT));
    assert_eq!(events, fewer + 1);
}

/// Every job of a request, in the order of the disks and of their coming.
fn jobs(level: Level, rules: Rules, controller: Controller, request: Request) -> Vec<Job> {
    let devices = vec![Batches::of(1); iosonar_raid::Planner::disks(&level)];
    let array = Array::new(level, devices, rules).with_controller(controller);
    let seen = run(array, &[request]);
    let jobs = seen.devices.iter().flat_map(|device| &device.jobs);
    jobs.map(|(job, _)| *job).collect()
}

#[test]
fn the_jobs_of_a_request_have_its_class_and_the_priority_and_the_pace_of_what_they_are_for() {
    let (rules, controller) = (Rules::default(), Controller::default());
    let write = Request {
        class: 7,
        ..request(0, Op::Write, 0, 8)
    };
    // A pre-read and a write, on the data disk and on that of the parity.
    let modify = jobs(raid5(5), rules, controller, write);
    let accesses: Vec<_> = modify
        .iter()
        .map(|job| (job.access, job.priority))
        .collect();
    let (read, follow) = (
        (Access::Read, Priority::Normal),
        (Access::Write, Priority::High),
    );
    assert_eq!(accesses, [read, follow, read, follow]);
    assert!(modify.iter().all(|job| job.class == 7));
    // The writes come to the tracks that were read.
    let paces: Vec<_> = modify.iter().map(|job| job.pace).collect();
    let (new, track) = (PaceOf::NewPlace, PaceOf::Track(Pace(1.0)));
    assert_eq!(paces, [new, track, new, track]);
    let writes = Rules {
        preread_seek: PrereadSeek::Write,
        ..rules
    };
    let modify = jobs(raid5(5), writes, controller, write);
    assert!(modify.iter().all(|job| job.access == Access::Write));
    let one = Rules {
        transfer: TransferMemory::OnePerRequest,
        ..rules
    };
    for (op, pace) in [(Op::Write, PaceOf::Request), (Op::Read, PaceOf::NewPlace)] {
        let jobs = jobs(raid5(5), one, controller, Request { op, ..write });
        assert!(jobs.iter().all(|job| job.pace == pace), "{op:?}");
    }
    // What has been in the cache waits for all others.
    let cached = Controller {
        cache: Some(WriteBack {
            capacity: Sectors::new(100),
            high: Sectors::new(0),
            low: Sectors::new(0),
        }),
        ..controller
    };
    let destaged = jobs(raid5(5), rules, cached, write);
    assert_eq!(destaged.len(), 4);
    assert!(destaged.iter().all(|job| job.priority == Priority::Low));
}

#[test]
fn a_rebuild_reads_and_writes_when_nothing_else_waits_whatever_curve_prereads_have() {
    let mut level = raid5(3);
    assert!(iosonar_raid::Planner::fail(&mut level, 1));
    let rules = Rules {
        preread_seek: PrereadSeek::Write,
        ..Rules::default()
    };
    let rebuild = iosonar_raid::Rebuild {
        distance: Nanos::ZERO,
        most: 1,
    };
    let array = Array::new(level, vec![Batches::of(1); 4], rules).with_rebuild(rebuild);
    let seen = run(array, &reads(&[1000]));
    let jobs = |device: usize| -> Vec<(Access, Priority)> {
        let jobs = seen.devices[device].jobs.iter();
        jobs.map(|(job, _)| (job.access, job.priority)).collect()
    };
    let (copied, read) = (
        (Access::Read, Priority::Low),
        (Access::Read, Priority::Normal),
    );
    assert_eq!(jobs(0), [copied, read]);
    assert_eq!((jobs(1), jobs(2)), (vec![], vec![copied]));
    assert_eq!(jobs(3), [(Access::Write, Priority::Low)]);
}

/// Blocks of 8 sectors, of which 5 are the upper mark and 2 the lower one.
#[test]
fn a_cache_is_emptied_from_its_upper_mark_down_to_its_lower_one() {
    let cache = WriteBack {
        capacity: Sectors::new(80),
        high: Sectors::new(40),
        low: Sectors::new(16),
    };
    let controller = Controller {
        cache: Some(cache),
        ..Controller::default()
    };
    let writes = |n: u64| -> Vec<Request> {
        (0..n)
            .map(|i| request(10 * i, Op::Write, 96 * i, 8))
            .collect()
    };
    let came = |n: u64| -> Vec<u64> {
        // One last request long after them, so that what stays in the cache stays there.
        let mut requests = writes(n);
        requests.push(request(5000, Op::Read, 0, 8));
        let array = array(raid0(1), Batches::of(1)).with_controller(controller);
        let seen = run(array, &requests);
        assert_eq!(seen.done.times_us()[..n as usize], vec![0; n as usize]);
        let jobs = seen.devices[0].jobs.iter();
        let jobs =
            jobs.filter(|(job, at)| job.access == Access::Write && *at < Nanos::from_micros(5000));
        jobs.map(|(_, at)| at.get() / 1000).collect()
    };
    assert!(came(4).is_empty(), "below the upper mark");
    // Three of the five go.
    assert_eq!(came(5), [40; 3]);
    // The sixth to eighth come while those three are written: 5 are dirty again.
    assert_eq!(came(6), [40, 40, 40, 50]);
    // When these are on the disk the cache has what is below its upper mark.
    let mut later = writes(5);
    later.push(request(1000, Op::Write, 960, 8));
    later.push(request(1010, Op::Write, 1056, 8));
    later.push(request(1020, Op::Write, 1152, 8));
    let array = array(raid0(1), Batches::of(1)).with_controller(controller);
    let seen = run(array, &later);
    let came: Vec<_> = seen.devices[0]
        .jobs
        .iter()
        .map(|(_, at)| at.get() / 1000)
        .collect();
    // Two are left; with the third after them it is emptied again.
    assert_eq!(came[..6], [40, 40, 40, 1020, 1020, 1020]);
    let window = seen.summary.window;
    assert_eq!((window.cached, window.dirty_at_start), (64, 0));
    // From 40 sectors to 16.
    assert_eq!((window.deepest_fall, window.dirty_at_end), (24, 40));
}
