//! Arrays whose devices serve one job at a time, each in the same time, against closed forms.

mod fixed;

use std::collections::VecDeque;
use std::convert::Infallible;

use fixed::{Fixed, SERVICE};
use iosonar_device::{Job, Mechanism, ServiceTime, Station, Waiting};
use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::rules::{JoinOrder, Rules};
use iosonar_raid::{
    Array, ArrayShape, Completion, CompletionSink, Controller, DeviceEvent, DeviceEventKind, Level,
    Lost, Parity, ParityLayout, Placement, Planner, RandomLayout, Rebuild, RequestSource,
    RunSummary, Striped, WriteBack,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

const UNIT: u32 = 16;
const STRIPES: u64 = 10;

/// Requests at their times, or of this many users, each of whom begins again at once.
struct Load {
    requests: VecDeque<Request>,
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
        Ok(self.requests.pop_front())
    }

    fn is_closed(&self) -> bool {
        self.users.is_some()
    }

    fn waits_for_completions(&self) -> bool {
        self.is_closed() && !self.requests.is_empty()
    }

    fn after(&mut self, _: &Completion, now: Nanos) -> Result<Option<Request>, Infallible> {
        let start = now;
        Ok(self.requests.pop_front().map(|r| Request { start, ..r }))
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

fn shape(disks: usize) -> ArrayShape {
    ArrayShape {
        disks,
        stripe_unit: Sectors::new(UNIT),
        disk_sectors: STRIPES * u64::from(UNIT),
        placement: Placement::Addressed,
    }
}

fn raid0(disks: usize) -> Level {
    Level::Striped(Striped::new(shape(disks), &Seed::new(1)).unwrap())
}

fn raid5(disks: usize, lost: &[usize]) -> Level {
    let (layout, random) = (ParityLayout::LeftSymmetric, RandomLayout::default());
    let (lost, seed) = (Lost::new(lost.to_vec()), Seed::new(1));
    Level::Parity(Parity::new(1, shape(disks), layout, random, lost, &seed).unwrap())
}

fn array(level: Level, spares: usize) -> Array<Level, Station<Fixed>> {
    let devices = vec![Station::new(Fixed); level.disks() + spares];
    Array::new(level, devices, Rules::default())
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

fn reads(starts_ms: &[u64]) -> Vec<Request> {
    let read = |&start| request(start, Op::Read, 0, 8);
    starts_ms.iter().map(read).collect()
}

fn run(
    array: Array<Level, Station<Fixed>>,
    requests: &[Request],
    users: Option<usize>,
) -> (Vec<Completion>, RunSummary) {
    let requests = requests.to_vec().into();
    let (mut load, mut done) = (Load { requests, users }, Done::default());
    let Ok(summary) = array.run(&mut load, &mut done);
    done.0.sort_unstable_by_key(|completion| completion.id.0);
    (done.0, summary)
}

fn ms(time: Nanos) -> u64 {
    assert_eq!(time.get() % 1_000_000, 0, "whole milliseconds");
    time.get() / 1_000_000
}

fn times_ms(done: &[Completion]) -> Vec<u64> {
    done.iter().map(|done| ms(done.response_time)).collect()
}

/// A disk of which the first job waits longest, or the last.
#[derive(Clone, Debug)]
struct LastFirst;

impl Mechanism for LastFirst {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn next(&mut self, waiting: &VecDeque<Waiting<()>>, _: Nanos) -> usize {
        waiting.len() - 1
    }

    fn serves_in_order(&self) -> bool {
        false
    }

    fn serve(&mut self, job: &Waiting<()>, now: Nanos, waiting: usize) -> ServiceTime {
        Fixed.serve(job, now, waiting)
    }
}

#[test]
fn an_array_needs_events_where_something_waits_for_more_than_one_disk() {
    let (level, spares) = (|| raid5(3, &[0]), 1);
    assert!(array(level(), spares).needs_no_events());
    let rebuild = Rebuild {
        distance: Nanos::ZERO,
        most: 1,
    };
    assert!(
        !array(level(), spares)
            .with_rebuild(rebuild)
            .needs_no_events()
    );
    let lasts = Nanos::from_millis(1);
    let event = DeviceEvent {
        at: Nanos::ZERO,
        device: 1,
        kind: DeviceEventKind::Slowness { factor: 2.0, lasts },
    };
    let events = array(level(), spares).with_device_events(vec![event]);
    assert!(!events.needs_no_events());
    let one_at_a_time = Controller {
        one_at_a_time: true,
        ..Controller::default()
    };
    let cache = WriteBack {
        capacity: Sectors::new(1),
        high: Sectors::new(1),
        low: Sectors::new(0),
    };
    for (controller, expected) in [
        (one_at_a_time, true),
        (
            Controller {
                command: Nanos::new(1),
                ..Controller::default()
            },
            false,
        ),
        (
            Controller {
                host_ns_per_sector: 1.0,
                ..Controller::default()
            },
            false,
        ),
        (
            Controller {
                xor_ns_per_sector: 1.0,
                ..Controller::default()
            },
            false,
        ),
        (
            Controller {
                bus_ns_per_sector: 1.0,
                ..Controller::default()
            },
            false,
        ),
        (
            Controller {
                cache: Some(cache),
                ..Controller::default()
            },
            false,
        ),
    ] {
        let array = array(level(), spares).with_controller(controller);
        assert_eq!(array.needs_no_events(), expected, "{controller:?}");
    }
    // A disk that chooses is simulated by itself, but not if the next request waits for all of them.
    let chooses = || Array::new(raid0(2), vec![Station::new(LastFirst); 2], Rules::default());
    assert!(chooses().needs_no_events());
    assert!(!chooses().with_controller(one_at_a_time).needs_no_events());
}

#[test]
fn the_last_job_first_is_the_same_disk_by_disk() {
    let chooses = || Array::new(raid0(2), vec![Station::new(LastFirst); 2], Rules::default());
    let requests = reads(&[0, 1, 2, 3]);
    let load = || Load {
        requests: requests.clone().into(),
        users: None,
    };
    let (mut with, mut without) = (Done::default(), Done::default());
    let Ok(summary) = chooses().run(&mut load(), &mut with);
    let Ok(same) = chooses().run_without_events(&mut load(), &mut without);
    assert_eq!(summary, same);
    for mut done in [with, without] {
        let order: Vec<u64> = done.0.iter().map(|done| done.id.0).collect();
        assert_eq!(order, [0, 3, 2, 1]);
        done.0.sort_unstable_by_key(|completion| completion.id.0);
        assert_eq!(times_ms(&done.0), [5, 19, 13, 7]);
    }
}

#[test]
fn one_request_at_a_time_waits_for_all_disks_of_the_one_before() {
    let controller = Controller {
        one_at_a_time: true,
        ..Controller::default()
    };
    let requests: Vec<Request> = (0..4)
        .map(|i| request(i, Op::Read, i * u64::from(UNIT), 8))
        .chain([request(100, Op::Flush, 0, 0), request(100, Op::Read, 0, 8)])
        .collect();
    let each = || array(raid0(4), 0);
    assert_eq!(
        times_ms(&run(each(), &requests, None).0),
        [5, 5, 5, 5, 0, 5]
    );
    let (done, summary) = run(each().with_controller(controller), &requests, None);
    assert_eq!(times_ms(&done), [5, 9, 13, 17, 0, 5]);
    assert_eq!(summary.most_in_flight, 4);
    let (mut load, mut done) = (
        Load {
            requests: requests.into(),
            users: None,
        },
        Done::default(),
    );
    let array = each().with_controller(controller);
    let Ok(same) = array.run_without_events_on(3, &mut load, &mut done);
    assert_eq!(times_ms(&done.0), [5, 9, 13, 17, 0, 5]);
    assert_eq!(same, summary);
}

/// Two users, whose completions come every 5 ms: the one at 25 ms is the first that no request follows on.
#[test]
fn a_closed_loop_is_measured_until_its_first_user_leaves() {
    let (done, summary) = run(array(raid0(1), 0), &reads(&[0; 6]), Some(2));
    assert_eq!(times_ms(&done), [5, 10, 10, 10, 10, 10]);
    let measured: Vec<bool> = done.iter().map(|done| done.measured).collect();
    assert_eq!(measured, [true, true, true, true, true, false]);
    let window = summary.window;
    assert_eq!((ms(window.from), ms(window.until)), (0, 25));
    assert_eq!((window.served, window.present_at_end), (5, 1));
    assert_eq!(summary.usage[0].busy, Nanos::from_millis(25));
    assert_eq!(summary.utilisation(0), 1.0);
    // No more requests than users: a batch, which is measured to its end.
    let (done, summary) = run(array(raid0(1), 0), &reads(&[0; 3]), Some(3));
    assert!(done.iter().all(|done| done.measured));
    assert_eq!((ms(summary.window.until), summary.window.served), (15, 3));
    // A user that leaves before anything is served.
    let (done, summary) = run(array(raid0(1), 0), &reads(&[0; 2]), Some(3));
    assert!(done.iter().all(|done| done.measured));
    assert_eq!((ms(summary.window.until), summary.window.served), (10, 2));
}

#[test]
fn a_command_takes_its_time_before_the_disks() {
    let controller = Controller {
        command: Nanos::from_millis(2),
        ..Controller::default()
    };
    let array = array(raid0(2), 0).with_controller(controller);
    let (done, summary) = run(array, &reads(&[0, 1, 10]), None);
    // The second waits for 4 ms.
    assert_eq!(times_ms(&done), [7, 11, 7]);
    // Each arrives, is understood, and is served.
    assert_eq!(summary.events, 9);
}

/// Five disks: unit 0 on disk 0 with its parity on disk 4, unit 4 on disk 4.
#[test]
fn the_disk_that_ends_the_last_preread_writes_first_unless_it_goes_on_first() {
    let requests = [
        request(0, Op::Write, 0, 8),
        request(1, Op::Read, 4 * u64::from(UNIT), 8),
    ];
    for (join, expected) in [
        (JoinOrder::WritesFirst, [10, 14]),
        (JoinOrder::DiskFirst, [15, 9]),
    ] {
        let level = raid5(5, &[]);
        let rules = Rules {
            join,
            ..Rules::default()
        };
        let devices = vec![Station::new(Fixed); 5];
        let (done, _) = run(Array::new(level, devices, rules), &requests, None);
        assert_eq!(times_ms(&done), expected, "{join:?}");
    }
}

/// The data disk ends its pre-read first, and the disk of the parity last.
#[test]
fn writes_in_the_window_are_counted_by_how_they_come_to_their_places() {
    let writes = [0, 100, 200, 300].map(|start| request(start, Op::Write, 0, 8));
    let (_, summary) = run(array(raid5(5, &[]), 0).with_warmup(1), &writes, None);
    // The first is in the warm-up, and the last begins when the window ends.
    let counts = summary.positioning;
    assert_eq!(counts.of(Case::ModifyWaited), 2);
    assert_eq!(counts.of(Case::ModifyLast), 2);
    assert_eq!(counts.total(PositioningCounts::MODIFY), 4);
    assert_eq!(counts.total(PositioningCounts::RECONSTRUCT), 0);
}

/// A stripe is read in 5 ms and written in 5 ms.
#[test]
fn a_rebuild_goes_on_stripe_by_stripe_at_its_distance_up_to_its_most_until_the_load_ends() {
    let progress = |distance_ms: u64, most, last_ms| {
        let distance = Nanos::from_millis(distance_ms);
        let array = array(raid5(4, &[1]), 1).with_rebuild(Rebuild { distance, most });
        let (_, summary) = run(array, &reads(&[0, last_ms]), None);
        let progress = summary.rebuild.unwrap();
        assert_eq!((progress.of, progress.began), (STRIPES, Nanos::ZERO));
        (progress.stripes, ms(progress.elapsed), summary)
    };
    let (stripes, elapsed, summary) = progress(0, u64::MAX, 200);
    assert_eq!((stripes, elapsed), (STRIPES, 100));
    assert_eq!(summary.usage[4].jobs_done, STRIPES);
    let time = summary.rebuild.unwrap().time_to_rebuild();
    assert_eq!(time, Some(Nanos::from_millis(100)));
    let (stripes, elapsed, _) = progress(0, 3, 200);
    assert_eq!((stripes, elapsed), (3, 30));
    // The last one begins after nine times the distance.
    let (stripes, elapsed, summary) = progress(20, u64::MAX, 500);
    assert_eq!((stripes, elapsed), (STRIPES, 9 * 20 + 10));
    let busy = Nanos::new(SERVICE.get() * STRIPES);
    assert_eq!(summary.usage[4].busy, busy);
    // When the last read ends, at 62 ms, the seventh has begun: it does not count.
    let (stripes, elapsed, _) = progress(0, u64::MAX, 57);
    assert_eq!((stripes, elapsed), (6, 60));
    let array = array(raid5(4, &[1]), 1);
    let (_, summary) = run(array, &reads(&[0]), None);
    assert_eq!(summary.rebuild, None);
}

#[test]
#[should_panic(expected = "something is lost, or will be")]
fn there_is_no_rebuild_of_nothing() {
    let rebuild = Rebuild {
        distance: Nanos::ZERO,
        most: 1,
    };
    run(
        array(raid5(4, &[]), 1).with_rebuild(rebuild),
        &reads(&[0]),
        None,
    );
}

#[test]
fn an_array_has_a_device_for_each_disk_and_a_spare_for_each_rebuild() {
    let panics = |what: &str, make: &(dyn Fn() + std::panic::RefUnwindSafe)| {
        let panic = std::panic::catch_unwind(make).unwrap_err();
        assert_eq!(*panic.downcast_ref::<&str>().unwrap(), what);
    };
    panics("a device for each disk", &|| {
        Array::new(raid0(3), vec![Station::new(Fixed); 2], Rules::default());
    });
    let rebuild = Rebuild {
        distance: Nanos::ZERO,
        most: 1,
    };
    panics("there is a spare", &move || {
        let _ = array(raid5(3, &[0]), 0).with_rebuild(rebuild);
    });
    let (kind, at) = (
        DeviceEventKind::Failure {
            noticed: Nanos::ZERO,
        },
        Nanos::ZERO,
    );
    panics("events of disks of the array", &move || {
        let event = DeviceEvent {
            at,
            device: 3,
            kind,
        };
        let _ = array(raid5(3, &[]), 1).with_device_events(vec![event]);
    });
    panics("the array needs events", &move || {
        let array = array(raid5(3, &[0]), 1).with_rebuild(rebuild);
        let (mut load, mut done) = (
            Load {
                requests: VecDeque::new(),
                users: None,
            },
            Done::default(),
        );
        let _ = array.run_without_events(&mut load, &mut done);
    });
}
