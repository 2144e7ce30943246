//! Devices that fail or slow down in the middle of a run, against closed forms, against arrays whose disks were lost
//! before they began, and at random.

mod fixed;

use std::convert::Infallible;

use fixed::{Fixed, SERVICE};
use iosonar_device::Station;
use iosonar_raid::rules::Rules;
use iosonar_raid::{
    Arrangement, Array, ArrayShape, Completion, CompletionSink, Controller, DeviceEvent,
    DeviceEventCounts, DeviceEventKind, Level, LinuxMd, Lost, MdLevel, MdParity, MirrorRead,
    Mirrored, Parity, ParityLayout, Placement, Planner, RandomLayout, Rebuild, RequestSource,
    RunSummary, StripeHandling, Striped, WriteBack,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

const UNIT: u64 = 16;
const STRIPES: u64 = 40;

/// Requests at given times, or each as soon as one of some before it is complete.
struct Load {
    requests: std::vec::IntoIter<Request>,
    users: Option<usize>,
}

impl RequestSource for Load {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        match &mut self.users {
            Some(0) => return Ok(None),
            Some(users) => *users -= 1,
            None => {}
        }
        Ok(self.requests.next())
    }

    fn is_closed(&self) -> bool {
        self.users.is_some()
    }

    fn waits_for_completions(&self) -> bool {
        self.is_closed() && self.requests.len() > 0
    }

    fn after(&mut self, _: &Completion, now: Nanos) -> Result<Option<Request>, Infallible> {
        let next = self.requests.next();
        Ok(next.map(|request| Request {
            start: now,
            ..request
        }))
    }
}

#[derive(Default)]
struct Done(Vec<Completion>);

impl CompletionSink for Done {
    type Error = Infallible;

    fn completed(&mut self, completion: &Completion) -> Result<(), Infallible> {
        self.0.push(*completion);
        Ok(())
    }
}

fn level(kind: usize, disks: usize, lost: &[usize]) -> Level {
    let shape = ArrayShape {
        disks,
        stripe_unit: Sectors::new(UNIT as u32),
        disk_sectors: STRIPES * UNIT,
        placement: Placement::Addressed,
    };
    let (seed, lost) = (Seed::new(1), Lost::new(lost.to_vec()));
    let (layout, random) = (ParityLayout::default(), RandomLayout::default());
    match kind {
        0 => Level::Striped(Striped::new(shape, &seed).unwrap()),
        1 => {
            let (kind, read) = (Arrangement::Neighbours, MirrorRead::Turns);
            Level::Mirrored(Mirrored::new(kind, 2, shape, read, lost, &seed).unwrap())
        }
        2 | 3 => {
            let parities = kind as u8 - 1;
            Level::Parity(Parity::new(parities, shape, layout, random, lost, &seed).unwrap())
        }
        _ => {
            let handling = StripeHandling::default();
            let level = MdParity::new(1, shape, layout, handling, lost).unwrap();
            let md = LinuxMd::new(MdLevel::Parity(level), 0);
            Level::LinuxMd(Box::new(md.with_bitmap(Sectors::new(64))))
        }
    }
}

fn array(level: Level, spares: usize) -> Array<Level, Station<Fixed>> {
    let devices = vec![Station::new(Fixed); level.disks() + spares];
    Array::new(level, devices, Rules::default())
}

fn run(
    array: Array<Level, Station<Fixed>>,
    requests: &[Request],
    users: Option<usize>,
) -> (Vec<Completion>, RunSummary) {
    let requests = Vec::from(requests).into_iter();
    let (mut load, mut done) = (Load { requests, users }, Done::default());
    let Ok(summary) = array.run(&mut load, &mut done);
    done.0.sort_unstable_by_key(|completion| completion.id.0);
    (done.0, summary)
}

fn fails(at: Nanos, device: usize, noticed: Nanos) -> DeviceEvent {
    let kind = DeviceEventKind::Failure { noticed };
    DeviceEvent { at, device, kind }
}

fn request(start_ms: u64, op: Op, sector: u64, sectors: u32) -> Request {
    Request {
        start: Nanos::from_millis(start_ms),
        op,
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    }
}

fn times_ms(done: &[Completion]) -> Vec<u64> {
    let ms = |done: &Completion| done.response_time.get() / 1_000_000;
    done.iter().map(ms).collect()
}

#[test]
fn a_read_at_a_disk_that_fails_takes_until_that_is_noticed_and_once_more() {
    // RAID 1 reads from disk 1 first. It fails during the second of three services there.
    let requests: Vec<Request> = (0..5).map(|_| request(0, Op::Read, 0, 8)).collect();
    let failure = fails(Nanos::from_millis(7), 1, Nanos::from_millis(100));
    let raid1 = array(level(1, 2, &[]), 0).with_device_events(vec![failure]);
    let (done, summary) = run(raid1, &requests, None);
    // Numbers 0, 2 and 4 go to disk 1, and the others to disk 0; from 107 ms on that serves 2 and 4.
    assert_eq!(times_ms(&done), [5, 5, 112, 10, 117]);
    assert!(done.iter().all(|done| !done.failed));
    assert_eq!(summary.device_events.reissued, 2);
    assert_eq!(summary.device_events.happened, 1);
    // What it was used for ends with it: 7 ms of work, and three jobs, then two.
    assert_eq!(summary.usage[1].busy, Nanos::from_millis(7));
    assert_eq!(summary.usage[1].jobs_time, 15_000_000 + 4_000_000);
}

#[test]
fn a_write_that_is_lost_with_a_disk_is_in_its_mirror() {
    let failure = fails(Nanos::from_millis(2), 0, Nanos::from_millis(50));
    let raid1 = array(level(1, 2, &[]), 0).with_device_events(vec![failure]);
    let requests = [request(0, Op::Write, 0, 8), request(60, Op::Write, 0, 8)];
    let (done, summary) = run(raid1, &requests, None);
    assert_eq!(
        times_ms(&done),
        [52, 5],
        "waits for the notice; then one disk"
    );
    assert!(done.iter().all(|done| !done.failed));
    assert_eq!(summary.device_events.reissued, 0);
}

#[test]
fn what_needs_a_disk_that_the_level_cannot_lose_fails() {
    let failure = fails(Nanos::from_millis(2), 1, Nanos::ZERO);
    let raid0 = array(level(0, 2, &[]), 0).with_device_events(vec![failure]);
    let requests = [
        request(0, Op::Read, UNIT, 8),
        request(10, Op::Write, UNIT, 8),
        request(20, Op::Read, 0, 8),
        request(30, Op::Read, 8, 16),
    ];
    let (done, _) = run(raid0, &requests, None);
    let failed: Vec<bool> = done.iter().map(|done| done.failed).collect();
    assert_eq!(failed, [true, true, false, true]);
    assert_eq!(done[0].response_time, Nanos::from_millis(2));
    assert_eq!(done[1].response_time, Nanos::from_micros(10));
    assert_eq!(done[2].response_time, SERVICE);
    assert_eq!(
        done[3].response_time, SERVICE,
        "it waits for the disk that is well"
    );
}

#[test]
fn a_second_failure_of_raid_5_is_one_too_many() {
    let events = vec![
        fails(Nanos::from_millis(1), 0, Nanos::ZERO),
        fails(Nanos::from_millis(100), 2, Nanos::ZERO),
    ];
    let raid5 = array(level(2, 3, &[]), 0).with_device_events(events);
    // Left-symmetric: units 0 and 1 on disks 0 and 1, parity on 2.
    let requests = [
        request(10, Op::Read, 0, 8),
        request(110, Op::Read, 0, 8),
        request(120, Op::Read, UNIT, 8),
    ];
    let (done, _) = run(raid5, &requests, None);
    let failed: Vec<bool> = done.iter().map(|done| done.failed).collect();
    assert_eq!(failed, [false, true, false]);
}

#[test]
fn a_slow_disk_takes_as_many_times_as_long_while_it_is_slow() {
    let kind = DeviceEventKind::Slowness {
        factor: 20.0,
        lasts: Nanos::from_millis(300),
    };
    let at = Nanos::from_millis(50);
    let event = DeviceEvent {
        at,
        device: 0,
        kind,
    };
    let raid0 = array(level(0, 1, &[]), 0).with_device_events(vec![event]);
    let starts = [0, 48, 60, 349, 500];
    let requests = starts.map(|start| request(start, Op::Read, 0, 8));
    let (done, summary) = run(raid0, &requests, None);
    // The service that began at 48 ms is not slow, the one that began at 349 ms is.
    assert_eq!(times_ms(&done), [5, 5, 100, 100, 5]);
    // The window ends with the last arrival.
    assert_eq!(summary.usage[0].busy, Nanos::from_millis(210));
}

#[test]
fn one_slowness_may_follow_on_another() {
    let slow = |at: u64, factor: f64| DeviceEvent {
        at: Nanos::from_millis(at),
        device: 0,
        kind: DeviceEventKind::Slowness {
            factor,
            lasts: Nanos::from_millis(100),
        },
    };
    let events = vec![slow(0, 2.0), slow(100, 4.0)];
    let raid0 = array(level(0, 1, &[]), 0).with_device_events(events);
    let requests = [10, 100, 150, 250].map(|start| request(start, Op::Read, 0, 8));
    let (done, _) = run(raid0, &requests, None);
    assert_eq!(times_ms(&done), [10, 20, 20, 5]);
}

#[test]
fn what_would_happen_after_the_last_request_does_not() {
    let cache = WriteBack {
        capacity: Sectors::new(1000),
        high: Sectors::new(1000),
        low: Sectors::new(0),
    };
    let controller = Controller {
        cache: Some(cache),
        ..Controller::default()
    };
    let failure = fails(Nanos::from_secs(1000), 0, Nanos::ZERO);
    let raid0 = array(level(0, 1, &[]), 0)
        .with_controller(controller)
        .with_device_events(vec![failure]);
    let requests = [0, 10].map(|start| request(start, Op::Write, 0, 8));
    let (_, summary) = run(raid0, &requests, None);
    let counts = DeviceEventCounts {
        planned: 1,
        ..DeviceEventCounts::default()
    };
    assert_eq!(summary.device_events, counts);
}

#[test]
fn a_write_whose_preread_is_lost_is_reissued() {
    // Unit 0 of four on disk 0, parity on disk 4: read-modify-write, 5 ms each. Disk 4 fails during the pre-read.
    let failure = fails(Nanos::from_millis(3), 4, Nanos::from_millis(40));
    let raid5 = array(level(2, 5, &[]), 0).with_device_events(vec![failure]);
    let (done, summary) = run(raid5, &[request(0, Op::Write, 0, 8)], None);
    // There is no parity to write any more.
    assert_eq!(times_ms(&done), [43 + 5]);
    assert_eq!(summary.device_events.reissued, 1);
    // The data disk fails instead: what is left is read, and the parity written.
    let failure = fails(Nanos::from_millis(3), 0, Nanos::from_millis(40));
    let raid5 = array(level(2, 5, &[]), 0).with_device_events(vec![failure]);
    let (done, summary) = run(raid5, &[request(0, Op::Write, 0, 8)], None);
    assert_eq!(times_ms(&done), [43 + 10]);
    assert_eq!(summary.device_events.reissued, 1);
    // After the pre-reads it is the write that is lost: the new parity has it.
    let failure = fails(Nanos::from_millis(8), 0, Nanos::from_millis(40));
    let raid5 = array(level(2, 5, &[]), 0).with_device_events(vec![failure]);
    let (done, summary) = run(raid5, &[request(0, Op::Write, 0, 8)], None);
    assert_eq!(times_ms(&done), [48]);
    assert_eq!(summary.device_events.reissued, 0);
}

/// The second failure comes at every point of a step: what that writes was planned before.
#[test]
fn a_step_of_a_rebuild_that_was_planned_before_a_failure_does_not_count() {
    for ms in 85..=105 {
        let events = vec![
            fails(Nanos::from_millis(10), 1, Nanos::from_millis(20)),
            fails(Nanos::from_millis(ms), 3, Nanos::ZERO),
        ];
        let (distance, most) = (Nanos::ZERO, u64::MAX);
        let raid6 = array(level(3, 5, &[]), 2)
            .with_device_events(events)
            .with_rebuild(Rebuild { distance, most });
        let requests = [request(0, Op::Read, 0, 8), request(700, Op::Read, 0, 8)];
        let (_, summary) = run(raid6, &requests, None);
        assert_eq!(summary.usage[6].jobs_done, STRIPES, "at {ms} ms");
    }
}

#[test]
fn a_rebuild_begins_when_a_failure_is_noticed_and_again_with_the_next() {
    let events = vec![
        fails(Nanos::from_millis(10), 1, Nanos::from_millis(20)),
        fails(Nanos::from_millis(95), 3, Nanos::ZERO),
    ];
    let rebuild = Rebuild {
        distance: Nanos::ZERO,
        most: u64::MAX,
    };
    let raid6 = array(level(3, 5, &[]), 2)
        .with_device_events(events)
        .with_rebuild(rebuild);
    let requests = [request(0, Op::Read, 0, 8), request(600, Op::Read, 0, 8)];
    let (_, summary) = run(raid6, &requests, None);
    let progress = summary.rebuild.unwrap();
    // A stripe takes a read and a write. At 95 ms the seventh is being read, from disk 3 among others: it comes back
    // at 95 or 100 ms.
    assert!(progress.began == Nanos::from_millis(95), "{progress:?}");
    assert_eq!((progress.stripes, progress.of), (STRIPES, STRIPES));
    let elapsed = progress.elapsed.get() / 1_000_000;
    assert!((400..=405).contains(&elapsed), "{progress:?}");
    assert_eq!(summary.usage[6].jobs_done, STRIPES);
    // Nothing is written to the first spare twice; of the six stripes that it had already, it is read.
    let first = summary.usage[5].jobs_done;
    assert!((STRIPES..=STRIPES + 6).contains(&first), "{first}");
}

#[test]
fn writes_of_a_cache_that_were_complete_are_counted_as_lost_with_their_disk() {
    let cache = WriteBack {
        capacity: Sectors::new(1000),
        high: Sectors::new(0),
        low: Sectors::new(0),
    };
    let controller = Controller {
        cache: Some(cache),
        ..Controller::default()
    };
    let raid0 = array(level(0, 2, &[]), 0)
        .with_controller(controller)
        .with_device_events(vec![fails(Nanos::from_millis(2), 1, Nanos::ZERO)]);
    // One is on its way to disk 1 when that fails, two come later, and one goes to disk 0.
    let requests = [
        request(0, Op::Write, UNIT, 8),
        request(50, Op::Write, UNIT, 8),
        request(60, Op::Write, 0, 8),
        request(70, Op::Write, UNIT, 8),
        request(100, Op::Read, 0, 8),
    ];
    let (done, summary) = run(raid0, &requests, None);
    assert_eq!(times_ms(&done), [0, 0, 0, 0, 5]);
    assert!(done.iter().all(|done| !done.failed));
    assert_eq!(summary.device_events.lost_from_cache, 3);
    assert_eq!(summary.device_events.failed, 0);
}

#[test]
fn what_happens_is_counted_with_how_much_of_it_came_before_the_window() {
    let slow = |at_ms: u64, device| DeviceEvent {
        at: Nanos::from_millis(at_ms),
        device,
        kind: DeviceEventKind::Slowness {
            factor: 1.0,
            lasts: Nanos::from_millis(1),
        },
    };
    // The window is from 20 to 30 ms, and the last request is complete at 35 ms.
    let events = vec![
        slow(5, 0),
        slow(7, 1),
        slow(25, 0),
        slow(32, 1),
        slow(60, 0),
    ];
    let raid0 = array(level(0, 2, &[]), 0)
        .with_device_events(events)
        .with_warmup(1);
    let requests = [0, 20, 30].map(|start| request(start, Op::Read, 0, 8));
    let (_, summary) = run(raid0, &requests, None);
    let counts = DeviceEventCounts {
        planned: 5,
        happened: 4,
        before_window: 2,
        ..DeviceEventCounts::default()
    };
    assert_eq!(summary.device_events, counts);
    assert_eq!(counts.missed(), 1, "the run ends first");
}

#[test]
fn a_failure_that_is_one_too_many_does_not_begin_the_rebuild_again() {
    let events = vec![
        fails(Nanos::from_millis(10), 1, Nanos::ZERO),
        fails(Nanos::from_millis(33), 2, Nanos::ZERO),
    ];
    let raid5 = array(level(2, 4, &[]), 1)
        .with_device_events(events)
        .with_rebuild(Rebuild {
            distance: Nanos::ZERO,
            most: u64::MAX,
        });
    let requests = [request(0, Op::Read, 0, 8), request(200, Op::Read, 0, 8)];
    let (done, summary) = run(raid5, &requests, None);
    // Of the first, a stripe is read and written in 10 ms: two are rebuilt when the third cannot be read any more.
    let progress = summary.rebuild.unwrap();
    assert_eq!(progress.began, Nanos::from_millis(10));
    assert_eq!((progress.stripes, progress.of), (2, STRIPES));
    assert!(done.iter().all(|done| !done.failed), "disk 0 is well");
}

#[derive(Clone, Debug)]
struct Case {
    kind: usize,
    disks: usize,
    requests: Vec<Request>,
    users: Option<usize>,
    controller: Controller,
    events: Vec<DeviceEvent>,
    rebuilds: bool,
    warmup: u64,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let one = (0..20_u64, any::<bool>(), 0..200_u64, 1..60_u32);
    prop::collection::vec(one, 1..80).prop_map(|steps| {
        let mut start = 0;
        let step = |(gap, reads, sector, sectors)| {
            start += gap;
            let op = if reads { Op::Read } else { Op::Write };
            request(start, op, sector, sectors)
        };
        steps.into_iter().map(step).collect()
    })
}

fn controllers() -> impl Strategy<Value = Controller> {
    let costs = (0..3_u64, 0..2_u32, 0..2_u32, 0..2_u32);
    (costs, any::<bool>(), any::<bool>()).prop_map(
        |((command, host, xor, bus), one_at_a_time, caches)| {
            let cache = WriteBack {
                capacity: Sectors::new(120),
                high: Sectors::new(60),
                low: Sectors::new(20),
            };
            Controller {
                command: Nanos::from_millis(command),
                host_ns_per_sector: f64::from(host) * 1e4,
                xor_ns_per_sector: f64::from(xor) * 3e4,
                bus_ns_per_sector: f64::from(bus) * 2e4,
                one_at_a_time,
                cache: (caches && !one_at_a_time).then_some(cache),
            }
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let event = (0..900_u64, 0..6_usize, 0..100_u64, 1..30_u32, any::<bool>());
    let events = prop::collection::vec(event, 1..4);
    let load = (requests(), prop::option::of(1..8_usize), 0..20_u64);
    let kind = (0..5_usize, 0..2_usize, any::<bool>());
    (kind, load, controllers(), events).prop_map(|(kind, load, controller, events)| {
        let ((kind, more, rebuilds), (requests, users, warmup)) = (kind, load);
        let disks = 4 + 2 * more;
        let mut happens: Vec<DeviceEvent> = Vec::new();
        for (at, device, lasts, factor, is_failure) in events {
            let (at, lasts) = (Nanos::from_millis(at), Nanos::from_millis(lasts));
            let device = device % disks;
            let kind = match is_failure {
                true => DeviceEventKind::Failure { noticed: lasts },
                false => DeviceEventKind::Slowness {
                    factor: f64::from(factor),
                    lasts,
                },
            };
            if happens.iter().all(|event| event.device != device) {
                happens.push(DeviceEvent { at, device, kind });
            }
        }
        Case {
            kind,
            disks,
            warmup: warmup.min(requests.len() as u64 - 1),
            requests,
            users,
            controller,
            events: happens,
            rebuilds: rebuilds && kind > 0,
        }
    })
}

fn run_case(case: &Case) -> (Vec<Completion>, RunSummary) {
    let spares = if case.rebuilds { case.events.len() } else { 0 };
    let mut array = array(level(case.kind, case.disks, &[]), spares)
        .with_controller(case.controller)
        .with_device_events(case.events.clone())
        .with_warmup(case.warmup);
    if case.rebuilds {
        let (distance, most) = (Nanos::from_millis(7), u64::MAX);
        array = array.with_rebuild(Rebuild { distance, most });
    }
    run(array, &case.requests, case.users)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Every request is complete exactly once, whatever happens; none fails that the level can serve. (Conservation
    /// and Little's law are asserted at the end of each run.)
    #[test]
    fn every_request_is_complete_once(case in cases()) {
        let (done, summary) = run_case(&case);
        let ids: Vec<u64> = done.iter().map(|done| done.id.0).collect();
        let all: Vec<u64> = (0..case.requests.len() as u64).collect();
        prop_assert_eq!(ids, all);
        prop_assert_eq!(summary.unserved, 0);
        let mut planner = level(case.kind, case.disks, &[]);
        let mut failures: Vec<_> = case.events.iter()
            .filter_map(|event| match event.kind {
                DeviceEventKind::Failure { noticed } => Some((event.at + noticed, event.device)),
                DeviceEventKind::Slowness { .. } => None,
            })
            .collect();
        failures.sort_by_key(|(noticed, _)| *noticed);
        let tolerates = failures.iter().all(|(_, device)| planner.fail(*device));
        if tolerates {
            prop_assert!(done.iter().all(|done| !done.failed));
            prop_assert_eq!(summary.device_events.lost_from_cache, 0);
        }
        if failures.is_empty() {
            prop_assert_eq!(summary.device_events.reissued, 0);
        }
        let (again, same) = run_case(&case);
        prop_assert_eq!(summary, same);
        prop_assert_eq!(done.len(), again.len());
    }

    /// Requests that come long after a failure take as long as if the disk had been lost before the run.
    #[test]
    fn after_a_failure_the_array_is_as_if_it_had_been_lost(
        kind in 1..4_usize, disk in 0..4_usize, before in requests(), after in requests(),
    ) {
        let failure = fails(Nanos::from_millis(300), disk, Nanos::from_millis(10));
        let late = |request: &Request| Request {
            start: request.start + Nanos::from_secs(100),
            ..*request
        };
        let late: Vec<Request> = after.iter().map(late).collect();
        let both: Vec<Request> = before.iter().chain(&late).copied().collect();
        let fails = array(level(kind, 4, &[]), 0).with_device_events(vec![failure]);
        let (done, _) = run(fails, &both, None);
        // Those before it take turns at the mirrors as well.
        let (lost, _) = run(array(level(kind, 4, &[disk]), 0), &both, None);
        let times = |done: &[Completion]| -> Vec<Nanos> {
            done[before.len()..].iter().map(|done| done.response_time).collect()
        };
        prop_assert_eq!(times(&done), times(&lost));
    }
}
