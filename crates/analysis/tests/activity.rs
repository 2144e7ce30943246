//! The metrics of disk activity against their definitions, written down as plainly as can be.

use iosonar_analysis::{
    ActivityOptions, Decomposition, Directions, OutcomeMetrics, OutcomeSummary, Timeline,
};
use iosonar_trace::{Op, Outcome, Record, Request};
use iosonar_units::{Bytes, Nanos, Sector, Sectors};
use proptest::prelude::*;

const INTERVAL: u64 = 10;
const GROUP: u64 = 200;

fn options() -> ActivityOptions {
    ActivityOptions {
        interval: Nanos::new(INTERVAL),
        group: Nanos::new(GROUP),
        ..ActivityOptions::default()
    }
}

fn record(start: u64, delay: u64, latency: u64, is_read: bool, sectors: u32) -> Record {
    Record {
        request: Request {
            start: Nanos::new(start),
            sector: Sector::new(start % 64),
            sectors: Sectors::new(sectors),
            op: if is_read { Op::Read } else { Op::Write },
            device: u16::from(start.is_multiple_of(3)),
            ..Request::default()
        },
        outcome: Outcome::done(Nanos::new(delay), Nanos::new(latency)),
    }
}

fn measured(records: &[Record], options: ActivityOptions) -> OutcomeSummary {
    let mut metrics = OutcomeMetrics::new(Timeline::of(Nanos::new(100)), options);
    records.iter().for_each(|r| metrics.push(r));
    metrics.finish().unwrap()
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec((0..25_u64, 0..30_u64, 0..60_u64, any::<bool>()), 1..80).prop_map(
        |steps| {
            let mut now = 13;
            let step = |(gap, delay, latency, is_read)| {
                now += gap;
                record(now, delay, latency, is_read, 8)
            };
            steps.into_iter().map(step).collect()
        },
    )
}

/// From submission to completion.
fn flight(r: &Record) -> (u64, u64) {
    let from = r.request.start.get() + r.outcome.delay.unwrap().get();
    (from, from + r.outcome.latency.unwrap().get())
}

fn quantile(mut values: Vec<u64>, p: f64) -> u64 {
    values.sort_unstable();
    let rank = ((p * values.len() as f64).ceil() as usize).max(1);
    values[rank - 1]
}

proptest! {
    #[test]
    fn intervals_are_counted_as_defined(records in records()) {
        let summary = measured(&records, options());
        let flights: Vec<(u64, u64, bool)> = records
            .iter()
            .map(|r| (flight(r).0, flight(r).1, r.request.op == Op::Read))
            .filter(|(from, until, _)| from < until)
            .collect();
        prop_assume!(!flights.is_empty());
        // From the interval of the first beginning to that of the last moment.
        let first = flights.iter().map(|f| f.0).min().unwrap() / INTERVAL;
        let last = (flights.iter().map(|f| f.1).max().unwrap() - 1) / INTERVAL;
        let groups = &summary.activity.groups;
        for group in first * INTERVAL / GROUP..=last * INTERVAL / GROUP {
            let intervals: Vec<u64> = (first..=last).filter(|k| k * INTERVAL / GROUP == group).collect();
            let active = |k: &u64, reads: Option<bool>| {
                let (from, until) = (k * INTERVAL, (k + 1) * INTERVAL);
                let meets = flights.iter().filter(|f| f.0 < until && f.1 > from);
                meets.filter(|f| reads.is_none_or(|reads| reads == f.2)).count() as u64
            };
            let all: Vec<u64> = intervals.iter().map(|k| active(k, None)).collect();
            let at_start: Vec<u64> = intervals
                .iter()
                .map(|k| flights.iter().filter(|f| f.0 <= k * INTERVAL && k * INTERVAL < f.1).count() as u64)
                .collect();
            let busy = (intervals[0] * INTERVAL..(intervals[intervals.len() - 1] + 1) * INTERVAL)
                .filter(|t| flights.iter().any(|f| (f.0..f.1).contains(t)))
                .count();
            let told = groups.iter().find(|g| g.begin.get() == group * GROUP).unwrap();
            prop_assert_eq!(told.concurrency, [quantile(all.clone(), 0.5), quantile(all.clone(), 0.75)]);
            prop_assert_eq!(told.in_flight, [quantile(at_start.clone(), 0.5), quantile(at_start, 0.75)]);
            let n = intervals.len() as f64;
            let share = |reads| intervals.iter().filter(|k| active(k, reads) > 0).count() as f64 / n;
            prop_assert!((told.utilisation.all - share(None)).abs() < 1e-9);
            prop_assert!((told.utilisation.reads - share(Some(true))).abs() < 1e-9);
            prop_assert!((told.utilisation.writes - share(Some(false))).abs() < 1e-9);
            prop_assert!((told.busy - busy as f64 / (n * INTERVAL as f64)).abs() < 1e-9);
        }
        // Each device over all intervals.
        for device in &summary.activity.devices {
            let of: Vec<(u64, u64)> = records
                .iter()
                .filter(|r| r.request.device == device.device)
                .map(flight)
                .filter(|(from, until)| from < until)
                .collect();
            let covered = (first..=last)
                .filter(|k| of.iter().any(|f| f.0 < (k + 1) * INTERVAL && f.1 > k * INTERVAL))
                .count();
            prop_assert!((device.utilisation - covered as f64 / (last - first + 1) as f64).abs() < 1e-9);
        }
        // The mean in flight is the time in flight over the duration.
        let begin = records.iter().map(|r| flight(r).0).min().unwrap();
        let end = records.iter().map(|r| flight(r).1).max().unwrap();
        let sum: u64 = records.iter().map(|r| flight(r).1 - flight(r).0).sum();
        prop_assert!((summary.in_flight - sum as f64 / (end - begin) as f64).abs() < 1e-9);
    }
}

#[test]
fn a_request_is_decomposed_into_overhead_and_io() {
    // The study's own table: medians of 8 and 16 KiB, I/O, overhead.
    for (one, two, io, overhead) in [
        (54, 92, 38, 16),
        (72, 116, 44, 28),
        (70, 82, 12, 58),
        (74, 90, 16, 58),
    ] {
        let ms = 1_000_000;
        let records: Vec<Record> = (0..200)
            .map(|i| {
                let (sectors, total) = if i % 2 == 0 { (16, one) } else { (32, two) };
                // Medians do not mind the extremes.
                let total = if i % 10 < 8 {
                    total
                } else {
                    total + 20 * (i % 3)
                };
                record(i * 1000 * ms, 0, total * ms, i % 4 < 2, sectors)
            })
            .collect();
        let activity = measured(&records, ActivityOptions::default()).activity;
        for of in [
            activity.decomposition.all,
            activity.decomposition.reads,
            activity.decomposition.writes,
        ] {
            let parts = of.parts().unwrap();
            // Medians are of a histogram: bins of 1/512.
            assert!(
                (parts.io_ms - f64::from(io)).abs() < 2.0 * 116.0 / 512.0,
                "{}",
                parts.io_ms
            );
            assert!(
                (parts.overhead_ms - f64::from(overhead)).abs() < 3.0 * 116.0 / 512.0,
                "{}",
                parts.overhead_ms
            );
        }
    }
}

#[test]
fn the_fit_over_all_sizes_is_a_straight_line() {
    let ms = 1_000_000;
    let records: Vec<Record> = (0..400_u64)
        .map(|i| {
            let blocks = i % 7 + 1;
            // Overhead 16 ms, 38 ms a block, and noise that sums to nothing.
            let noise = [0, 4, 1, 3, 2][(i / 7 % 5) as usize];
            record(
                i * 1000 * ms,
                0,
                (14 + noise + 38 * blocks) * ms,
                true,
                (blocks * 16) as u32,
            )
        })
        .collect();
    let fit = measured(&records, ActivityOptions::default())
        .activity
        .decomposition
        .reads
        .fit
        .unwrap();
    assert!((fit.io_ms - 38.0).abs() < 3.0 * fit.io_stderr_ms, "{fit:?}");
    assert!(
        (fit.overhead_ms - 16.0).abs() < 3.0 * fit.overhead_stderr_ms,
        "{fit:?}"
    );
    // The noise has a standard deviation of sqrt(2) ms.
    assert!(
        (fit.io_stderr_ms - 2.0_f64.sqrt() / (400.0_f64 * 4.0).sqrt()).abs() < 0.003,
        "{fit:?}"
    );
}

#[test]
fn several_ios_of_one_request_are_one_request() {
    let ms = 1_000_000;
    let mut records = Vec::new();
    for i in 0..100_u64 {
        for io in 0..3 {
            let mut r = record(i * 1000 * ms, io * 10 * ms, 10 * ms, true, 16);
            r.request.group = i as u32 + 1;
            records.push(r);
        }
    }
    let activity = measured(&records, ActivityOptions::default()).activity;
    let class = activity
        .sizes
        .iter()
        .find(|c| c.up_to == 32 * 1024)
        .unwrap();
    let (first, total) = class.first_and_total.unwrap();
    assert!(
        (first.as_millis_f64() - 10.0).abs() < 0.02 && (total.as_millis_f64() - 30.0).abs() < 0.06
    );
    assert_eq!(activity.groups[0].requests.reads, 100);
    assert_eq!(activity.groups[0].atomic.all, 0.0);
}

#[test]
fn the_peak_is_the_busiest_four_groups_in_a_row() {
    let options = ActivityOptions {
        group: Nanos::from_secs(1),
        block: Bytes::new(4096),
        ..ActivityOptions::default()
    };
    // Requests per second: the heaviest second stands alone, the heaviest four are 5 to 8.
    let rates = [1, 90, 1, 1, 1, 50, 50, 50, 50, 1, 1];
    let records: Vec<Record> = rates
        .iter()
        .enumerate()
        .flat_map(|(s, n)| {
            (0..*n).map(move |i| record(s as u64 * 1_000_000_000 + i * 1_000_000, 0, 1000, true, 8))
        })
        .collect();
    let peak = measured(&records, options).activity.peak.unwrap();
    assert_eq!(
        (peak.from, peak.until),
        (Nanos::from_secs(5), Nanos::from_secs(9))
    );
    assert_eq!(peak.decomposition.reads.one.0, 200);
}

#[test]
fn the_peak_does_not_outlast_the_load() {
    let options = ActivityOptions {
        group: Nanos::from_secs(1),
        ..ActivityOptions::default()
    };
    let of_seconds = |seconds: u64| {
        let record = |i| record(i * 100_000_000, 0, 1000, true, 8);
        let records: Vec<Record> = (0..seconds * 10 - 5).map(record).collect();
        measured(&records, options).activity.peak
    };
    for seconds in 1..=4 {
        assert!(of_seconds(seconds).is_none(), "{seconds}");
    }
    // The last of the groups ends with the load.
    let records: Vec<Record> = (0..55)
        .map(|i| record(i * 100_000_000 + 500_000_000 * (i / 10), 0, 1000, true, 8))
        .chain((0..100).map(|i| record(7_900_000_000 + i, 0, 1000, true, 8)))
        .collect();
    let peak = measured(&records, options).activity.peak.unwrap();
    assert_eq!(peak.until, Nanos::new(7_900_001_099));
}

#[test]
fn size_does_not_explain_a_time_below_zero() {
    let ms = 1_000_000;
    // Medians of one and of two blocks: I/O or overhead would be below zero.
    for (one, two, explains) in [(10, 15, true), (106, 1083, false), (10, 9, false)] {
        let records: Vec<Record> = (0..20)
            .map(|i| {
                let (sectors, total) = if i % 2 == 0 { (16, one) } else { (32, two) };
                record(i * 2000 * ms, 0, total * ms, false, sectors)
            })
            .collect();
        let of = measured(&records, ActivityOptions::default())
            .activity
            .decomposition
            .writes;
        assert_eq!(of.parts().is_some(), explains, "{of:?}");
        assert_eq!(of.fit.unwrap().explains(), explains, "{of:?}");
    }
}

#[test]
fn fast_devices_are_warned_about() {
    let fast: Vec<Record> = (0..100)
        .map(|i| record(i * 100_000, 0, 2_000, true, 8))
        .collect();
    assert!(
        measured(&fast, ActivityOptions::default())
            .activity
            .is_too_fast()
    );
    let slow: Vec<Record> = (0..100)
        .map(|i| record(i * 10_000_000, 0, 5_000_000, true, 8))
        .collect();
    assert!(
        !measured(&slow, ActivityOptions::default())
            .activity
            .is_too_fast()
    );
}

#[test]
fn peak_hours_that_are_given_have_the_requests_that_begin_in_them() {
    let hours = (Nanos::from_secs(1), Nanos::from_secs(3));
    let options = ActivityOptions {
        block: Bytes::new(4096),
        peak: Some(hours),
        ..ActivityOptions::default()
    };
    let records: Vec<Record> = (0..50)
        .map(|i| record(i * 100_000_000, 0, 1000 + i, i % 5 > 0, 8))
        .collect();
    let activity = measured(&records, options).activity;
    let peak = activity.peak.unwrap();
    assert_eq!((peak.from, peak.until), hours);
    let counts = |of: &Directions<Decomposition>| (of.all.one.0, of.reads.one.0, of.writes.one.0);
    assert_eq!(counts(&peak.decomposition), (20, 16, 4));
    assert_eq!(counts(&activity.decomposition), (50, 40, 10));
}

#[test]
fn periods_in_which_no_request_begins_are_those_of_requests_in_flight() {
    let options = ActivityOptions {
        group: Nanos::from_secs(1),
        ..ActivityOptions::default()
    };
    // One request from 0.5 to 2.5 s.
    let one = [record(500_000_000, 0, 2_000_000_000, true, 8)];
    let groups = measured(&one, options).activity.groups;
    let begins: Vec<_> = groups
        .iter()
        .map(|group| group.begin.as_secs_f64())
        .collect();
    assert_eq!(begins, [0.0, 1.0, 2.0]);
    for (i, group) in groups.iter().enumerate() {
        let begun = u64::from(i == 0);
        assert_eq!((group.requests.all, group.requests.reads), (begun, begun));
        assert_eq!((group.concurrency, group.in_flight), ([1; 2], [1; 2]));
        let shares = (group.utilisation.all, group.utilisation.writes, group.busy);
        assert_eq!(shares, (1.0, 0.0, 1.0));
        assert_eq!(group.atomic.all.is_nan(), i > 0);
        assert_eq!(group.response_time.all.is_some(), i == 0);
    }
}
