use super::*;
use iosonar_trace::{Outcome, Record, Request};
use iosonar_units::{Sector, Sectors};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A request that is in flight from one time to another; how it ends.
#[derive(Clone, Copy, Debug)]
struct Flight {
    from: u64,
    until: u64,
    device: usize,
    op: Op,
    sectors: u32,
    ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Done,
    Failed,
    Withdrawn,
    GivenUp,
}

impl Flight {
    fn request(&self) -> Request {
        Request {
            start: Nanos::new(self.from),
            sector: Sector::new(8),
            sectors: Sectors::new(self.sectors),
            op: self.op,
            device: self.device as u16,
            ..Request::default()
        }
    }

    fn latency(&self) -> Nanos {
        Nanos::new(self.until - self.from)
    }

    fn last_step(&self) -> LiveStep {
        let request = self.request();
        let mut outcome = Outcome::done(Nanos::ZERO, self.latency());
        match self.ending {
            Ending::Withdrawn => return LiveStep::Withdrawn(request),
            Ending::GivenUp => return LiveStep::GivenUp(request),
            Ending::Failed => outcome.status = Status::Error(5),
            Ending::Done => {}
        }
        LiveStep::Completed(Record { request, outcome })
    }

    fn is_completed(&self) -> bool {
        matches!(self.ending, Ending::Done | Ending::Failed)
    }
}

/// All intervals of these requests up to `end`.
fn intervals(flights: &[Flight], devices: usize, interval: u64, end: u64) -> Vec<RecentInterval> {
    let mut steps: Vec<(u64, bool, &Flight)> = flights
        .iter()
        .flat_map(|of| [(of.from, false, of), (of.until, true, of)])
        .filter(|step| step.0 < end)
        .collect();
    steps.sort_by_key(|&(time, is_last, of)| (time, is_last && of.from == time, of.from));
    let mut recent = Recent::new(devices, Nanos::new(interval));
    let mut over = Vec::new();
    for (time, is_last, of) in steps {
        let time = Nanos::new(time);
        over.extend(std::iter::from_fn(|| recent.until(time)));
        let step = match is_last {
            true => of.last_step(),
            false => LiveStep::Begun(of.request()),
        };
        recent.take(time, of.device, &step);
    }
    over.extend(std::iter::from_fn(|| recent.until(Nanos::new(end))));
    over
}

/// The same from all requests at once.
fn direct(flights: &[Flight], device: usize, kind: OpKind, (begin, end): (u64, u64)) -> RecentUse {
    let mut of = RecentUse::default();
    let second = Nanos::SECOND.get();
    let minute = end.div_ceil(second).saturating_sub(MINUTE) * second;
    for flight in flights {
        if flight.device != device || OpKind::of(flight.op) != kind {
            continue;
        }
        let is_in = |time: u64| time >= begin && time < end;
        let overlap = flight.until.min(end).saturating_sub(flight.from.max(begin));
        of.time_in_flight += u128::from(overlap);
        of.begun += u64::from(is_in(flight.from));
        of.in_flight += u64::from(flight.from < end && flight.until >= end);
        if flight.is_completed() && flight.until >= minute && flight.until < end {
            of.minute.push(flight.latency());
        }
        if !is_in(flight.until) {
            continue;
        }
        match flight.ending {
            Ending::Done => of.bytes += u64::from(flight.sectors) * 512,
            Ending::Failed => of.failed += 1,
            Ending::Withdrawn => of.withdrawn += 1,
            Ending::GivenUp => of.given_up += 1,
        }
        if flight.is_completed() {
            of.completed += 1;
            of.latency.push(flight.latency());
        }
    }
    of
}

/// Histograms of the same samples may have different room for others.
fn assert_same(a: &Distribution, b: &Distribution) {
    assert_eq!(a.moments, b.moments);
    assert!(a.histogram.cdf().eq(b.histogram.cdf()));
    for p in [0.0, 0.5, 0.99, 1.0] {
        assert_eq!(a.histogram.quantile(p), b.histogram.quantile(p));
    }
}

fn flight() -> impl Strategy<Value = Flight> {
    let op = prop::sample::select(Op::ALL.to_vec());
    let ending = prop::sample::select(vec![
        Ending::Done,
        Ending::Done,
        Ending::Done,
        Ending::Failed,
        Ending::Withdrawn,
        Ending::GivenUp,
    ]);
    // Most take some milliseconds, some longer than a minute.
    let length = prop_oneof![4 => 0..20 * MS, 1 => 0..90_000 * MS];
    let fields = (0..150_000 * MS, length, 0..2_usize, op, 1..64_u32, ending);
    fields.prop_map(|(from, length, device, op, sectors, ending)| Flight {
        from,
        until: from + length,
        device,
        op,
        sectors,
        ending,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn each_interval_is_what_its_requests_say(
        flights in prop::collection::vec(flight(), 0..150),
        interval in prop::sample::select(vec![100 * MS, 700 * MS, 1000 * MS, 7000 * MS, 61_000 * MS]),
    ) {
        let over = intervals(&flights, 2, interval, 170_000 * MS);
        prop_assert_eq!(over.len() as u64, 170_000 * MS / interval);
        for (i, seen) in (0..).zip(&over) {
            let (begin, end) = (i * interval, (i + 1) * interval);
            prop_assert_eq!((seen.begin.get(), seen.end.get()), (begin, end));
            for (device, kinds) in seen.devices.iter().enumerate() {
                for (kind, of) in OpKind::ALL.into_iter().zip(kinds) {
                    let expected = direct(&flights, device, kind, (begin, end));
                    assert_same(&of.latency, &expected.latency);
                    assert_same(&of.minute, &expected.minute);
                    let without_times = |of: &RecentUse| RecentUse {
                        latency: Distribution::default(),
                        minute: Distribution::default(),
                        ..of.clone()
                    };
                    prop_assert_eq!(without_times(of), without_times(&expected));
                }
            }
        }
    }

    #[test]
    fn requests_are_conserved_and_the_time_in_flight_is_that_of_the_requests(
        flights in prop::collection::vec(flight(), 0..150),
    ) {
        let end = 240_000 * MS;
        let over = intervals(&flights, 2, 1000 * MS, end);
        let mut before = 0;
        let mut time_in_flight = 0;
        for interval in &over {
            let mut all = RecentUse::default();
            interval.total().iter().for_each(|kind| all.merge(kind));
            let ended = all.completed + all.withdrawn + all.given_up;
            prop_assert_eq!(before + all.begun, ended + all.in_flight);
            before = all.in_flight;
            time_in_flight += all.time_in_flight;
        }
        let times = flights.iter().map(|of| u128::from(of.until.min(end) - of.from));
        prop_assert_eq!(time_in_flight, times.sum::<u128>());
    }

    #[test]
    fn the_grid_has_the_completions_of_the_last_minute_where_they_were(
        flights in prop::collection::vec(flight(), 0..150),
        end in 1_u64..170_000,
    ) {
        let end = end * MS;
        let mut completed: Vec<&Flight> = flights
            .iter()
            .filter(|of| of.is_completed() && of.until < end)
            .collect();
        completed.sort_by_key(|of| of.until);
        let mut recent = Recent::new(2, Nanos::SECOND);
        for of in &completed {
            let time = Nanos::new(of.until);
            while recent.until(time).is_some() {}
            recent.take(time, of.device, &LiveStep::Begun(of.request()));
            recent.take(time, of.device, &of.last_step());
        }
        while recent.until(Nanos::new(end)).is_some() {}
        let second = Nanos::SECOND.get();
        let first = (end / second).saturating_sub(MINUTE) * second;
        completed.retain(|of| of.until >= first);
        let shown = recent.echoes().map(|echo| u64::from(echo.count)).sum::<u64>();
        prop_assert_eq!(shown, completed.len() as u64);
        for of in completed {
            let kind = match of.ending {
                Ending::Failed => EchoKind::Failed,
                _ => EchoKind::Done(OpKind::of(of.op)),
            };
            let latency = of.latency().get();
            let is_there = recent.echoes().any(|echo| {
                echo.kind == kind
                    && echo.time.get().abs_diff(of.until) <= second / 32
                    && echo.latency.get().abs_diff(latency) <= latency / 15
            });
            prop_assert!(is_there, "{of:?}");
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_requests() {
    let flights = |each: u64| -> Vec<Flight> {
        let request = |i: u64| Flight {
            from: i * 1000 * MS / each,
            until: i * 1000 * MS / each + (1 + i % 100) * MS / 10,
            device: 0,
            op: Op::Read,
            sectors: 8,
            ending: Ending::Done,
        };
        (0..70 * each).map(request).collect()
    };
    let mut recent = Recent::new(1, Nanos::SECOND);
    let flights = flights(8000);
    for of in &flights {
        let time = Nanos::new(of.from);
        while recent.until(time).is_some() {}
        recent.take(time, 0, &LiveStep::Begun(of.request()));
        recent.take(time, 0, &of.last_step());
    }
    let cells = recent.echoes().count();
    // The latencies are over less than seven doublings.
    let most = (MINUTE as usize + 1) * 16 * 7 * 8;
    assert!(cells <= most, "{cells} cells");
    assert!(cells < flights.len() / 8, "each request has a cell");
}

#[test]
fn the_total_is_the_sum_of_the_devices() {
    let of = |by: u64| {
        let mut of = RecentUse {
            begun: by,
            completed: 2 * by,
            failed: 3 * by,
            bytes: 4 * by,
            withdrawn: 5 * by,
            given_up: 6 * by,
            unmatched: 7 * by,
            in_flight: 8 * by,
            time_in_flight: u128::from(9 * by),
            ..RecentUse::default()
        };
        of.latency.push(Nanos::new(by));
        of.minute.push(Nanos::new(10 * by));
        of
    };
    let devices = [2, 5].map(|by| [of(by), of(10 * by), RecentUse::default()]);
    let interval = RecentInterval {
        begin: Nanos::from_millis(500),
        end: Nanos::from_secs(1),
        devices: devices.into(),
    };
    let [reads, writes, others] = interval.total();
    let both = |a: u64, b: u64| {
        let mut sum = of(a + b);
        (sum.latency, sum.minute) = Default::default();
        for by in [a, b] {
            sum.latency.push(Nanos::new(by));
            sum.minute.push(Nanos::new(10 * by));
        }
        sum
    };
    assert_eq!((&reads, &writes), (&both(2, 5), &both(20, 50)));
    assert_eq!(others, RecentUse::default());
    assert_eq!(interval.rate(reads.completed), 28.0);
    assert_eq!(interval.mean_in_flight(&reads), 63.0 / 5e8);
}

#[test]
fn what_was_not_seen_to_begin_is_counted_in_its_interval() {
    let unmatched = |interval: &RecentInterval| -> Vec<[u64; 3]> {
        let of = |device: &[RecentUse; 3]| device.each_ref().map(|kind| kind.unmatched);
        interval.devices.iter().map(of).collect()
    };
    let mut recent = Recent::new(2, Nanos::SECOND);
    for (device, ms) in [(1, 200), (1, 700), (0, 1100)] {
        let time = Nanos::from_millis(ms);
        if let Some(first) = recent.until(time) {
            assert_eq!(unmatched(&first), [[0, 0, 0], [0, 0, 2]]);
        }
        recent.take(time, device, &LiveStep::Unmatched);
    }
    let second = recent.until(Nanos::from_secs(2)).unwrap();
    assert_eq!(unmatched(&second), [[0, 0, 1], [0, 0, 0]]);
    let others = second.total();
    assert_eq!((others[2].in_flight, others[2].completed), (0, 0));
}
