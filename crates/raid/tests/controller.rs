//! What a controller with a write cache and a link to the host does to requests, against closed forms.

mod fixed;

use std::convert::Infallible;

use fixed::{Fixed, SERVICE};
use iosonar_device::Station;
use iosonar_raid::rules::Rules;
use iosonar_raid::{
    Array, ArrayShape, Completion, CompletionSink, Controller, Placement, RequestSource,
    RunSummary, Striped, WriteBack,
};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

const COMMAND: Nanos = Nanos::new(6_500);
/// 5,120 MB/s.
const HOST_NS_PER_SECTOR: f64 = 100.0;

struct Load(std::vec::IntoIter<Request>);

impl RequestSource for Load {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        Ok(self.0.next())
    }
}

#[derive(Default)]
struct Done(Vec<(u64, Nanos)>);

impl CompletionSink for Done {
    type Error = Infallible;

    fn completed(&mut self, completion: &Completion) -> Result<(), Infallible> {
        self.0.push((completion.id.0, completion.response_time));
        Ok(())
    }
}

fn cache(capacity: u32) -> WriteBack {
    WriteBack {
        capacity: Sectors::new(capacity),
        high: Sectors::new(0),
        low: Sectors::new(0),
    }
}

/// Response times, in the order of arrival.
fn run(cache: Option<WriteBack>, requests: &[Request]) -> (Vec<Nanos>, RunSummary) {
    let shape = ArrayShape {
        disks: 1,
        stripe_unit: Sectors::new(256),
        disk_sectors: 1 << 30,
        placement: Placement::Addressed,
    };
    let planner = Striped::new(shape, &Seed::new(1)).unwrap();
    let array = Array::new(planner, vec![Station::new(Fixed)], Rules::default());
    let array = array.with_controller(Controller {
        command: COMMAND,
        host_ns_per_sector: HOST_NS_PER_SECTOR,
        cache,
        ..Controller::default()
    });
    let (mut load, mut done) = (Load(Vec::from(requests).into_iter()), Done::default());
    let Ok(summary) = array.run(&mut load, &mut done);
    done.0.sort_unstable();
    (done.0.into_iter().map(|(_, time)| time).collect(), summary)
}

/// Requests whose times and sizes are drawn by a congruential generator: the link is busy for half of the time.
fn requests(op: Op, n: u64) -> Vec<Request> {
    let (mut x, mut start) = (1_u64, 0);
    let mut draw = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        x >> 40
    };
    let one = |_| {
        start += draw() % 20_000;
        Request {
            start: Nanos::new(start),
            sector: Sector::new(draw() % 1_000_000),
            sectors: Sectors::new(8 << (draw() % 4)),
            op,
            ..Request::default()
        }
    };
    (0..n).map(one).collect()
}

/// First come, first served: when each would be through the link, less its start.
fn by_recursion(requests: &[Request]) -> Vec<Nanos> {
    let mut free = Nanos::ZERO;
    let one = |request: &Request| {
        let time = Nanos::nearest(HOST_NS_PER_SECTOR * f64::from(request.sectors.get()));
        free = free.max(request.start + COMMAND) + time;
        free - request.start
    };
    requests.iter().map(one).collect()
}

#[test]
fn a_cached_write_takes_its_command_and_its_bytes_at_the_rate_of_the_link() {
    for sectors in [1_u32, 8, 256] {
        let request = Request {
            sectors: Sectors::new(sectors),
            op: Op::Write,
            ..Request::default()
        };
        let (times, _) = run(Some(cache(1 << 21)), &[request]);
        assert_eq!(times, [COMMAND + Nanos::new(100 * u64::from(sectors))]);
        // Without a cache the disk comes after them.
        let (times, _) = run(None, &[request]);
        assert_eq!(
            times,
            [COMMAND + Nanos::new(100 * u64::from(sectors)) + SERVICE]
        );
        // Data of a read come back the same way.
        let (times, _) = run(
            None,
            &[Request {
                op: Op::Read,
                ..request
            }],
        );
        assert_eq!(
            times,
            [COMMAND + SERVICE + Nanos::new(100 * u64::from(sectors))]
        );
    }
}

#[test]
fn cached_writes_cross_the_link_in_the_order_of_their_arrival_and_obey_little_s_law() {
    let requests = requests(Op::Write, 20_000);
    let (times, summary) = run(Some(cache(1 << 30)), &requests);
    assert_eq!(times, by_recursion(&requests));
    assert!(
        times.iter().any(|&time| time > COMMAND + Nanos::new(6_400)),
        "some wait"
    );
    // The window begins with the first arrival and ends with the last, when some are still on the link.
    let until = summary.window.until;
    let in_window = |(request, time): (&Request, &Nanos)| {
        let end = (request.start + *time).min(until);
        u128::from((end - request.start).get())
    };
    let sum: u128 = requests.iter().zip(&times).map(in_window).sum();
    assert_eq!(summary.window.requests_time, sum);
    assert_eq!(summary.window.from, requests[0].start);
}

#[test]
fn data_come_to_a_full_cache_when_there_is_room() {
    // The second write finds no room before the first is on the disk.
    let write = Request {
        sectors: Sectors::new(8),
        op: Op::Write,
        ..Request::default()
    };
    let (times, _) = run(Some(cache(8)), &[write, write]);
    let first = COMMAND + Nanos::new(800);
    assert_eq!(times, [first, first + SERVICE + Nanos::new(800)]);
}

#[test]
fn the_two_directions_of_the_link_do_not_wait_for_each_other() {
    let of = |op, sectors| Request {
        sectors: Sectors::new(sectors),
        op,
        ..Request::default()
    };
    // The read is through the disk while the writes, 10 ms of data in all, are on the link.
    let mut requests = vec![of(Op::Read, 8)];
    requests.extend((0..20).map(|_| of(Op::Write, 5_000)));
    let (times, _) = run(Some(cache(1 << 21)), &requests);
    assert_eq!(times[0], COMMAND + SERVICE + Nanos::new(800));
    assert_eq!(times[20], COMMAND + Nanos::from_millis(10));
}
