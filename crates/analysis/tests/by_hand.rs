//! A load that is small enough to count on one's fingers, and what is measured of it.
//!
//! ```text
//! time      0          1    1.2              3    3.5     4 s
//!           read       write read            write write   read
//! sectors   0..8       8..16 8..24           1000..1024    9..10
//!                                                  0..8
//! ```

use iosonar_analysis::{
    ActivityOptions, LoadMetrics, LoadOptions, LoadSummary, OutcomeMetrics, OutcomeSummary,
    Timeline, TimelinePoint, TraceSummary,
};
use iosonar_stats::metric::Measure;
use iosonar_stats::{Labels, Metric};
use iosonar_trace::{Batch, Flags, Metadata, Op, Outcome, Record, Request, Status};
use iosonar_units::{Nanos, Sector, Sectors};

fn records() -> Vec<Record> {
    [
        (0, 0, 8, Op::Read, 0, 100),
        (1000, 8, 8, Op::Write, 100, 400),
        (1200, 8, 16, Op::Read, 0, 500),
        (3000, 1000, 24, Op::Write, 0, 100),
        (3500, 0, 8, Op::Write, 0, 250),
        (4000, 9, 1, Op::Read, 0, 100),
    ]
    .into_iter()
    .map(|(start, sector, sectors, op, delay, latency)| Record {
        request: Request {
            start: Nanos::from_millis(start),
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            op,
            ..Request::default()
        },
        outcome: Outcome::done(Nanos::from_millis(delay), Nanos::from_millis(latency)),
    })
    .collect()
}

fn load() -> LoadSummary {
    let mut metrics = LoadMetrics::new(LoadOptions {
        window: Nanos::SECOND,
        ..LoadOptions::default()
    });
    records().iter().for_each(|r| metrics.push(&r.request));
    metrics.finish().unwrap()
}

fn outcome() -> OutcomeSummary {
    let mut metrics = OutcomeMetrics::new(Timeline::of(Nanos::SECOND), ActivityOptions::default());
    records().iter().for_each(|r| metrics.push(r));
    metrics.finish().unwrap()
}

/// The values of a metric in their order, of those with this label where one is given; the means of times.
fn values(metrics: &[Metric], name: &str, label: Option<(&'static str, &'static str)>) -> Vec<f64> {
    let is_meant = |of: &&Metric| {
        of.name == name && label.is_none_or(|(key, text)| of.labels.text(key) == Some(text))
    };
    let value = |of: &Metric| match &of.measure {
        Measure::Figure { value, .. } => *value,
        Measure::Times(times) => times.mean.unwrap_or(f64::NAN),
        other => panic!("{name}: {other:?}"),
    };
    metrics.iter().filter(is_meant).map(value).collect()
}

fn assert_close(seen: &[f64], expected: &[f64], name: &str) {
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
    assert!(
        seen.len() == expected.len() && seen.iter().zip(expected).all(same),
        "{name}: {seen:?}, expected {expected:?}"
    );
}

#[test]
fn the_load_is_as_counted() {
    let metrics = load().metrics(&Labels::default(), 3);
    for (name, expected) in [
        ("first_start", 0.0),
        ("last_start", 4.0),
        ("span", 4.0),
        ("requests_per_second", 6.0 / 4.0),
        ("all_requests", 6.0),
        ("not_submitted", 3.0),
        ("read_share", 0.5),
        ("sectors_per_second", 65.0 / 4.0),
        ("end_sector", 1024.0),
        ("shortest", 1.0),
        ("longest", 24.0),
        // Back to sector 0; the write follows on the first read.
        ("turns", 1.0),
        ("sequential", 1.0),
        ("successors", 5.0),
        // From the end of one to the next: 0, 8, 976, 1024 and 1 sectors.
        ("mean_distance", 2009.0 / 5.0),
        ("distance", 2009.0 / 5.0),
        ("most_per_second", 2.0),
        ("peak_to_mean", 2.0 / (6.0 / 5.0)),
        // Intervals of 1, 0.2, 1.8, 0.5 and 0.5 s: 0.8 on average.
        ("interarrival_cv", (1.58_f64 / 5.0).sqrt() / 0.8),
        // Pages 0 to 2 and 125 to 127, touched 1 + 1 + 2 + 3 + 1 + 1 times.
        ("distinct_pages", 6.0),
        ("page_accesses", 9.0),
        ("cold_share", 6.0 / 9.0),
        ("distinct_sectors", 48.0),
    ] {
        assert_close(&values(&metrics, name, None), &[expected], name);
    }
    for (name, expected) in [
        ("requests", [3.0, 3.0, 0.0]),
        ("sectors", [25.0, 40.0, 0.0]),
    ] {
        assert_close(&values(&metrics, name, None), &expected, name);
    }
    // The second read begins 0.2 s after the write that it overlaps.
    let overlaps = values(&metrics, "overlaps", None);
    assert_close(&overlaps, &[0.0, 0.0, 0.0, 1.0], "overlaps");
    // After each second: of the last one, and of all.
    for (window, last, most, mean, span) in [
        ("1 s", 9.0, 24.0, 57.0 / 4.0, 58.0 / 4.0),
        ("all", 48.0, 48.0, 144.0 / 5.0, 2096.0 / 5.0),
    ] {
        let of = |name| values(&metrics, name, Some(("window", window)));
        assert_close(&of("working_set_last"), &[last], window);
        assert_close(&of("working_set_max"), &[most], window);
        assert_close(&of("working_set_mean"), &[mean], window);
        assert_close(&of("span_mean"), &[span], window);
        assert_close(&of("span_per_working_set"), &[span / mean], window);
    }
}

#[test]
fn rates_over_time_are_as_counted() {
    let load = load();
    let points: Vec<_> = load
        .series
        .iter()
        .map(|(end, p)| {
            let (read, written) = (p.sectors_read, p.sectors_written);
            (end.as_secs_f64(), p.reads, p.writes, read, written, p.turns)
        })
        .collect();
    assert_eq!(
        points,
        [
            (0.0, 1, 0, 8, 0, 0),
            (1.0, 0, 1, 0, 8, 0),
            (2.0, 1, 0, 16, 0, 0),
            (3.0, 0, 1, 0, 24, 0),
            (4.0, 1, 1, 1, 8, 1),
        ]
    );
}

#[test]
fn the_outcome_is_as_counted() {
    let outcome = outcome();
    let metrics = outcome.metrics(&Labels::default(), &Metadata::default());
    for (name, reads, writes) in [
        ("response_time", 700.0 / 3.0, 850.0 / 3.0),
        ("latency", 700.0 / 3.0, 750.0 / 3.0),
        ("delay", 0.0, 100.0 / 3.0),
    ] {
        assert_close(&values(&metrics, name, None), &[reads, writes], name);
    }
    let by_size = [100.0, 100.0, 325.0, 500.0, 100.0];
    assert_close(
        &values(&metrics, "latency_of_size", None),
        &by_size,
        "sizes",
    );
    for (name, expected) in [
        // In flight for 0.1 + 0.4 + 0.5 + 0.1 + 0.25 + 0.1 of 4.1 s, by at most two.
        ("in_flight", 1.45 / 4.1),
        ("in_flight_max", 2.0),
        ("demanded_duration", 4.0),
        ("actual_duration", 4.1),
        ("duration_ratio", 4.1 / 4.0),
        // The second read meets a write in flight.
        ("damaged", 1.0),
        ("damaged_any", 1.0),
        ("damaged_writes", 0.0),
        ("damaged_share", 1.0 / 6.0),
        ("damaged_any_share", 1.0 / 6.0),
        ("damaged_writes_share", 0.0),
        ("not_measured", 0.0),
        ("not_done", 0.0),
    ] {
        assert_close(&values(&metrics, name, None), &[expected], name);
    }
    // Something in flight for 1.15 s: reads for 0.7 s, writes for 0.75 s. Of the device, and of the only period.
    let busy = 1.15 / 4.1;
    assert_close(&values(&metrics, "utilisation", None), &[busy; 2], "device");
    assert_close(&values(&metrics, "busy", None), &[busy], "busy");
    let of_op = [0.7 / 4.1, 0.75 / 4.1];
    assert_close(
        &values(&metrics, "utilisation_of_op", None),
        &of_op,
        "by op",
    );
    let median = values(&metrics, "response_time_median", Some(("op", "write")));
    assert_close(
        &median,
        &[250.0, 100.0],
        "medians of one and of several blocks",
    );
}

#[test]
fn what_happens_over_time_is_as_counted() {
    let timeline = outcome().timeline;
    let points: Vec<_> = timeline.points().collect();
    let of = |read: &dyn Fn(&TimelinePoint) -> f64| -> Vec<f64> {
        points.iter().map(|(_, point)| read(point)).collect()
    };
    assert_close(
        &of(&|p| p.in_flight),
        &[0.1, 0.9, 0.0, 0.35, 0.1],
        "in flight",
    );
    assert_close(&of(&|p| p.busy), &[0.1, 0.6, 0.0, 0.35, 0.1], "busy");
    assert_close(&of(&|p| p.delayed), &[0.0, 0.1, 0.0, 0.0, 0.0], "delayed");
    assert_close(
        &of(&|p| p.delay_sum_s),
        &[0.0, 0.1, 0.0, 0.0, 0.0],
        "delays",
    );
    let most = of(&|p| p.most_in_flight as f64);
    assert_close(&most, &[1.0, 2.0, 0.0, 1.0, 1.0], "most in flight");
    let demanded = of(&|p| p.all_demanded().sectors as f64);
    assert_close(&demanded, &[8.0, 24.0, 0.0, 32.0, 1.0], "demanded");
    let completed = of(&|p| p.all_completed().requests as f64);
    assert_close(&completed, &[1.0, 2.0, 0.0, 2.0, 1.0], "completed");
    let longest = of(&|p| p.longest_delay.as_secs_f64());
    assert_close(&longest, &[0.0, 0.1, 0.0, 0.0, 0.0], "longest delay");
    // Two seconds at a time: levels are averages, counts are sums.
    let joined = timeline.joined(Nanos::from_secs(2));
    let (_, first) = joined.points().next().unwrap();
    assert_close(
        &[first.in_flight, first.busy],
        &[0.5, 0.35],
        "joined levels",
    );
    assert_eq!(
        (first.most_in_flight, first.all_completed().requests),
        (2, 3)
    );
    assert_eq!(first.all_demanded().sectors, 32);
}

#[test]
fn a_summary_is_as_counted() {
    let mut batch = Batch::default();
    records().iter().for_each(|r| batch.push(r));
    let mut summary = TraceSummary::default();
    summary.push(&batch);
    assert_eq!(summary.records, 6);
    assert_eq!(
        (summary.count_of(Op::Read), summary.count_of(Op::Write)),
        (3, 3)
    );
    assert_eq!(
        (summary.lowest, summary.end, summary.unaligned),
        (0, 1024, 1)
    );
    assert_eq!((summary.shortest, summary.longest), (1, 24));
    assert_eq!(summary.usual_lengths(), [(8, 3), (1, 1), (16, 1), (24, 1)]);
    assert_eq!(summary.mean_bytes(), Some(65 * 512 / 6));
    assert_eq!(summary.span(), Nanos::from_secs(4));
    assert_eq!(summary.records_per_s(), Some(1.5));
    let gap = (Nanos::from_millis(1800), Nanos::from_millis(1200));
    assert_eq!(summary.longest_gap(), Some(gap));
}

#[test]
fn a_summary_counts_what_records_have() {
    let mut all = records();
    // Backwards, on two devices in turn, and with all that a record may have.
    all.reverse();
    for (i, record) in all.iter_mut().enumerate() {
        record.request.device = (i / 2 % 2) as u16;
        record.request.group = u32::from(i < 3);
        record.request.class = u16::from(i < 2);
        record.request.flags = [Flags::NONE, Flags::SYNC, Flags::FUA][i % 3];
        record.outcome.pushed_back = i < 4;
        if i == 5 {
            record.outcome = Outcome {
                status: Status::Error(5),
                ..Outcome::default()
            };
        }
    }
    let mut summary = TraceSummary::default();
    for half in all.chunks(3) {
        let mut batch = Batch::default();
        half.iter().for_each(|r| batch.push(r));
        batch.set_think(1, Some(Nanos::SECOND));
        summary.push(&batch);
    }
    let columns = summary.columns;
    assert_eq!((columns.delay, columns.latency), (5, 5));
    assert_eq!((columns.group, columns.class), (3, 2));
    assert_eq!(columns.flags, 4);
    assert_eq!((columns.think, columns.pushed_back), (2, 4));
    assert_eq!(
        summary.devices.into_iter().collect::<Vec<_>>(),
        [(0, 4), (1, 2)]
    );
    assert_eq!((summary.backsteps, summary.not_done), (5, 1));
    let first = Some(Nanos::ZERO);
    assert_eq!((summary.first, summary.last), (first, Nanos::from_secs(4)));
}

#[test]
fn a_summary_tells_4096_lengths_apart() {
    let lengths = (1..=4096).chain([5000, 5000, 7, 5000, 7]);
    let mut batch = Batch::default();
    for sectors in lengths.chain([0]) {
        batch.push(&Record {
            request: Request {
                sectors: Sectors::new(sectors),
                op: if sectors == 0 { Op::Flush } else { Op::Write },
                ..Request::default()
            },
            ..Record::default()
        });
    }
    let mut summary = TraceSummary::default();
    summary.push(&batch);
    summary.push(&Batch::default());
    assert_eq!(
        summary.usual_lengths(),
        [(7, 3), (1, 1), (2, 1), (3, 1), (4, 1)]
    );
    assert_eq!((summary.records, summary.count_of(Op::Flush)), (4102, 1));
    // A flush is nowhere.
    assert_eq!(
        (summary.shortest, summary.longest, summary.end),
        (1, 5000, 5000)
    );
    assert_eq!(
        (summary.records_per_s(), summary.longest_gap()),
        (None, None)
    );
    let sectors = 4096 * 4097 / 2 + 3 * 5000 + 2 * 7;
    assert_eq!(summary.mean_bytes(), Some(sectors * 512 / 4101));
}
