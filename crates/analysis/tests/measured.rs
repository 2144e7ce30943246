//! A trace measured in one pass, its tables, and requests by a key: against a load that is worked out by hand, and one that
//! was never submitted.
//!
//! ```text
//! time      0          1    1.2              3    3.5     4 s
//!           read       write read            write write   read
//! sectors   0..8       8..16 8..24           1000..1024    9..10
//!                                                  0..8
//! response  100 ms     500   500             100   250     100
//! ```

use std::path::{Path, PathBuf};

use iosonar_analysis::{
    ActivityOptions, By, ByKey, LoadOptions, MeasureOptions, Measured, TablesError, measure,
};
use iosonar_stats::metric::Label;
use iosonar_stats::{Labels, Metric};
use iosonar_trace::{
    Batch, Metadata, Op, Outcome, Record, Request, Status, TraceError, TraceReader,
};
use iosonar_units::{Column, Nanos, Sector, Sectors, Table};

/// Four records in each batch.
struct Rows(Vec<Record>, Metadata);

impl TraceReader for Rows {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        let n = self.0.len().min(4);
        self.0.drain(..n).for_each(|record| batch.push(&record));
        Ok(n)
    }

    fn metadata(&self) -> &Metadata {
        &self.1
    }
}

fn request(start_ms: u64, sector: u64, sectors: u32, op: Op) -> Request {
    Request {
        start: Nanos::from_millis(start_ms),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op,
        ..Request::default()
    }
}

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
        request: request(start, sector, sectors, op),
        outcome: Outcome::done(Nanos::from_millis(delay), Nanos::from_millis(latency)),
    })
    .collect()
}

/// A write at 2 s that was left out on purpose.
fn with_a_skipped_one() -> Vec<Record> {
    let mut all = records();
    let skipped = Record {
        request: request(2000, 5000, 8, Op::Write),
        outcome: Outcome::untimed(Status::Skipped),
    };
    all.insert(3, skipped);
    all
}

fn without_outcomes(requests: impl IntoIterator<Item = Request>) -> Vec<Record> {
    let record = |request| Record {
        request,
        ..Record::default()
    };
    requests.into_iter().map(record).collect()
}

fn try_to_measure(
    records: Vec<Record>,
    by: Option<By>,
    include_unsubmitted: bool,
) -> Result<Measured, TraceError> {
    let options = MeasureOptions {
        load: LoadOptions {
            position_sectors: 512,
            ..LoadOptions::default()
        },
        activity: ActivityOptions::default(),
        by,
        include_unsubmitted,
    };
    let metadata = Metadata {
        devices: vec!["sda".to_owned()],
        ..Metadata::default()
    };
    let paths = ["a.load", "b.load"].map(PathBuf::from);
    measure(&paths, &options, &mut Rows(records, metadata))
}

fn measured(records: Vec<Record>) -> Measured {
    try_to_measure(records, None, false).unwrap()
}

fn table(measured: &Measured, name: &str) -> Table {
    let mut tables = measured.tables().into_iter();
    tables.find(|(of, _)| *of == name).unwrap().1
}

#[test]
fn requests_that_were_never_submitted_are_left_out_and_counted_unless_they_are_included() {
    let left_out = measured(with_a_skipped_one());
    assert_eq!((left_out.load.requests(), left_out.left_out), (6, 1));
    assert_eq!(left_out.load.end_sector, 1024);
    let included = try_to_measure(with_a_skipped_one(), None, true).unwrap();
    assert_eq!((included.load.requests(), included.left_out), (7, 0));
    assert_eq!(included.load.end_sector, 5008);
    // The device has seen it in neither case, but it is demanded of it only where it is included.
    for (of, demanded) in [(left_out, 6), (included, 7)] {
        let outcome = of.outcome.unwrap();
        assert_eq!((outcome.skipped, outcome.untimed), (1, 1));
        let points = outcome.timeline.points();
        let all = points.map(|(_, point)| point.all_demanded().requests);
        assert_eq!(all.sum::<u64>(), demanded);
    }
}

#[test]
fn a_load_has_no_outcome_and_gaps_in_an_outcome_are_counted() {
    let requests = || records().into_iter().map(|record| record.request);
    let load = measured(without_outcomes(requests()));
    assert!(load.outcome.is_none() && load.by.is_none());
    assert_eq!(load.load.requests(), 6);
    // A record without an outcome, among others that have one, was not measured.
    let mut gap = records();
    gap[4].outcome = Outcome::default();
    let outcome = measured(gap).outcome.unwrap();
    assert_eq!((outcome.untimed, outcome.missing), (1, 1));
    assert_eq!((outcome.not_done, outcome.skipped), (0, 0));
    assert_eq!(outcome.writes.latency.count(), 2);
}

#[test]
fn a_trace_without_a_load_is_refused_with_the_reason() {
    let problem = |records| match try_to_measure(records, None, false) {
        Err(TraceError::Option(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let empty = problem(Vec::new());
    assert!(
        empty.starts_with("a.load, b.load: ") && empty.contains("no requests"),
        "{empty}"
    );
    let mut skipped = with_a_skipped_one().split_off(3);
    skipped.truncate(1);
    let skipped = problem([skipped.clone(), skipped].concat());
    assert!(
        skipped.starts_with("a.load, b.load: none of its 2 requests was submitted"),
        "{skipped}"
    );
}

#[test]
fn tables_of_the_load_are_as_counted() {
    let of = measured(with_a_skipped_one());
    // After each second: sectors in the last 1, 6, 60 and 600 s and in all; then their spans.
    assert_eq!(
        table(&of, "load").csv(),
        "window_end_s,reads,writes,sectors_read,sectors_written,turns,working_set_1s,working_set_6s,working_set_60s,\
         working_set_600s,working_set_all,span_1s,span_6s,span_60s,span_600s,span_all\n\
         0,1,0,8,0,0,8,8,8,8,8,8,8,8,8,8\n\
         1,0,1,0,8,0,8,16,16,16,16,8,16,16,16,16\n\
         2,1,0,16,0,0,16,24,24,24,24,16,24,24,24,24\n\
         3,0,1,0,24,0,24,48,48,48,48,24,1024,1024,1024,1024\n\
         4,1,1,1,8,1,9,48,48,48,48,10,1024,1024,1024,1024\n"
    );
    assert_eq!(
        table(&of, "sizes").csv(),
        "sectors,reads,writes\n1,1,0\n8,1,2\n16,1,0\n24,0,1\n"
    );
    assert_eq!(
        table(&of, "positions").csv(),
        "from_sector,to_sector,reads,writes\n0,512,3,2\n512,1024,0,1\n"
    );
    assert_eq!(of.load.devices.len(), 1);
    let (device, [reads, others]) = of.load.devices[0];
    assert_eq!((device, reads.requests, reads.sectors), (0, 3, 25));
    assert_eq!((others.requests, others.sectors), (3, 40));
}

#[test]
fn the_miss_ratio_is_told_up_to_the_longest_distance_at_sixteen_sizes_for_each_doubling() {
    // Pages 0 to 2 and 125 to 127: of nine accesses, one comes again after no other page, and two after five.
    let of = measured(records());
    assert_eq!(of.load.curve.longest(), 5);
    let csv = table(&of, "miss-ratio").csv();
    let mut expected = "cache_pages,cache_bytes,miss_ratio\n".to_owned();
    for pages in 1..=5 {
        expected += &format!("{pages},{},{}\n", pages * 4096, 8.0 / 9.0);
    }
    expected += &format!("6,24576,{}\n", 6.0 / 9.0);
    assert_eq!(csv, expected);
    // 40 pages twice in a row: each comes again after 39 others.
    let twice = (0..80).map(|i| request(i, i % 40 * 8, 8, Op::Read));
    let of = measured(without_outcomes(twice));
    let csv = table(&of, "miss-ratio").csv();
    let mut expected = "cache_pages,cache_bytes,miss_ratio\n".to_owned();
    for pages in (1..32).chain([32, 34, 36, 38]) {
        expected += &format!("{pages},{},1\n", pages * 4096);
    }
    expected += "40,163840,0.5\n";
    assert_eq!(csv, expected);
}

/// The values of a table in its columns' units; NaN where they are not known.
fn numbers(table: &Table) -> Vec<Vec<f64>> {
    let number = |cell: &str| match cell {
        "" => f64::NAN,
        cell => cell.parse().unwrap(),
    };
    let csv = table.csv();
    let rows = csv.lines().skip(1);
    rows.map(|row| row.split(',').map(number).collect())
        .collect()
}

/// Within what histograms resolve.
fn assert_close(table: &Table, expected: &[&[f64]]) {
    let seen = numbers(table);
    assert_eq!(seen.len(), expected.len(), "{seen:?}");
    for (row, expected) in seen.iter().zip(expected) {
        assert_eq!(row.len(), expected.len(), "{row:?}");
        for (a, b) in row.iter().zip(*expected) {
            let is_same = a.is_nan() && b.is_nan() || (a - b).abs() <= 0.005 * b.abs();
            assert!(is_same, "{row:?}, expected {expected:?}");
        }
    }
}

const UNKNOWN: f64 = f64::NAN;

#[test]
fn tables_of_the_outcome_are_as_counted() {
    let of = measured(with_a_skipped_one());
    assert_eq!(
        table(&of, "outcome").csv(),
        "window_begin_s,demanded,demanded_sectors,completed,completed_sectors,in_flight,delayed,turns_intended,\
         turns_completed\n\
         0,1,8,1,8,0.1,0,0,0\n\
         1,2,24,2,24,0.9,0.1,0,0\n\
         2,0,0,0,0,0,0,0,0\n\
         3,2,32,2,32,0.35,0,1,1\n\
         4,1,1,1,1,0.1,0,0,0\n"
    );
    assert_eq!(
        of.outcome.as_ref().unwrap().timeline.span().get(),
        5_000_000_000
    );
    // Up to 1 sector, 8, 16, 24.
    assert_close(
        &table(&of, "response-by-size"),
        &[
            &[1024.0, 1.0, 100.0, 0.0, UNKNOWN, UNKNOWN, UNKNOWN],
            &[4096.0, 1.0, 100.0, 2.0, 250.0, UNKNOWN, UNKNOWN],
            &[8192.0, 1.0, 500.0, 0.0, UNKNOWN, UNKNOWN, UNKNOWN],
            &[12288.0, 0.0, UNKNOWN, 1.0, 100.0, UNKNOWN, UNKNOWN],
        ],
    );
    // Only the second read meets another in flight. The others take 100, 400, 100, 250 and 100 ms.
    assert_close(
        &table(&of, "latency-by-load"),
        &[&[1.0, 5.0, 100.0], &[2.0, 1.0, 500.0]],
    );
}

#[test]
fn the_table_of_activity_is_as_counted() {
    // Of the 2050 intervals of 2 ms up to 4.1 s, 575 have a request, 350 a read and 375 a write: more than a quarter, less
    // than half of them. One of the six requests has two blocks.
    let of = measured(with_a_skipped_one());
    let activity = table(&of, "activity");
    let names: Vec<&str> = activity.columns().iter().map(Column::name).collect();
    assert_eq!(
        names.join(" "),
        "from_s requests reads writes concurrency_p50 concurrency_p75 in_flight_p50 in_flight_p75 utilisation \
         utilisation_reads utilisation_writes busy read_p50_ms read_p75_ms read_p95_ms read_p99_ms write_p50_ms \
         write_p75_ms write_p95_ms write_p99_ms atomic atomic_reads atomic_writes second_io_ms"
    );
    let levels = [0.0, 6.0, 3.0, 3.0, 0.0, 1.0, 0.0, 1.0];
    let shares = [575.0, 350.0, 375.0, 575.0].map(|n| n / 2050.0);
    let reads = [100.0, 500.0, 500.0, 500.0];
    let writes = [250.0, 500.0, 500.0, 500.0];
    let atomic = [5.0 / 6.0, 1.0, 2.0 / 3.0, UNKNOWN];
    let expected = [&levels[..], &shares, &reads, &writes, &atomic].concat();
    assert_close(&activity, &[&expected]);
}

#[test]
fn requests_of_two_ios_have_a_second_one_and_the_times_until_both() {
    // Each I/O of a pair takes 10 and 20 ms, and begins with the request.
    let pairs = (0..10_u64).flat_map(|i| {
        [10, 20].map(|ms| Record {
            request: Request {
                group: i as u32 + 1,
                ..request(i * 100, 1000 * i + ms, 8, Op::Write)
            },
            outcome: Outcome::done(Nanos::ZERO, Nanos::from_millis(ms)),
        })
    });
    let of = measured(pairs.collect());
    assert_close(
        &table(&of, "response-by-size"),
        &[&[8192.0, 0.0, UNKNOWN, 10.0, 20.0, 10.0, 20.0]],
    );
    let activity = numbers(&table(&of, "activity"));
    assert_eq!(activity[0][1..4], [10.0, 0.0, 10.0]);
    // None is one I/O only; without reads, their share is not known.
    assert_eq!((activity[0][20], activity[0][22]), (0.0, 0.0));
    assert!(activity[0][21].is_nan());
    assert!((activity[0][23] - 20.0).abs() < 0.1, "{activity:?}");
}

#[test]
fn tables_are_written_under_their_names() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tables-of-a-trace");
    let _ = std::fs::remove_dir_all(&dir);
    let of = measured(with_a_skipped_one());
    // A format that this build lacks is refused before there is a folder.
    let refused = of.write_tables(&dir, "parquet").unwrap_err();
    assert!(matches!(
        refused,
        TablesError::Table(TraceError::NeedsFeature { .. })
    ));
    assert!(!dir.exists());
    of.write_tables(&dir.join("all"), "csv").unwrap();
    let tables = of.tables();
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names.join(" "),
        "load sizes positions miss-ratio outcome activity response-by-size latency-by-load"
    );
    for (name, table) in &tables {
        let written = std::fs::read_to_string(dir.join(format!("all/{name}.csv"))).unwrap();
        assert_eq!(written, table.csv(), "{name}");
        assert!(!table.is_empty(), "{name}");
    }
    // A load without an outcome has those of the load only.
    let load = measured(without_outcomes([request(0, 0, 8, Op::Read)]));
    load.write_tables(&dir.join("load"), "csv").unwrap();
    let written = std::fs::read_dir(dir.join("load")).unwrap().count();
    assert_eq!((load.tables().len(), written), (4, 4));
    let in_a_file = of.write_tables(&dir.join("all/load.csv/below"), "csv");
    assert!(matches!(in_a_file, Err(TablesError::Folder { .. })));
    std::fs::remove_dir_all(&dir).unwrap();
}

fn counted(by: By, records: Vec<Record>) -> (ByKey, Metadata) {
    let of = try_to_measure(records, Some(by), false).unwrap();
    (of.by.unwrap(), of.metadata)
}

/// Of each key: its name, requests, reads, sectors, and latencies.
type OfKeys = Vec<(String, [u64; 4])>;

fn rows((by, metadata): &(ByKey, Metadata)) -> OfKeys {
    let counts =
        |of: &iosonar_analysis::OfKey| [of.requests, of.reads, of.sectors, of.latency.count()];
    by.rows(metadata)
        .map(|(name, of)| (name, counts(of)))
        .collect()
}

fn expected<const N: usize>(rows: [(&str, [u64; 4]); N]) -> OfKeys {
    rows.map(|(name, of)| (name.to_owned(), of)).into()
}

#[test]
fn requests_are_counted_by_device_operation_or_size() {
    let mut all = with_a_skipped_one();
    for record in &mut all {
        record.request.device = u16::from(record.request.op == Op::Write);
    }
    // One of the writes failed: its latency is not that of a write.
    all[4].outcome.status = Status::Error(5);
    let by_device = counted(By::Device, all.clone());
    assert_eq!(by_device.0.title(), "device");
    assert_eq!(
        rows(&by_device),
        expected([("sda", [3, 3, 25, 3]), ("1", [3, 0, 40, 2])])
    );
    // A flush has no length.
    all.push(Record {
        request: request(5000, 0, 0, Op::Flush),
        outcome: Outcome::done(Nanos::ZERO, Nanos::from_millis(1)),
    });
    let by_op = counted(By::Op, all.clone());
    assert_eq!(by_op.0.title(), "op");
    assert_eq!(
        rows(&by_op),
        expected([
            ("read", [3, 3, 25, 3]),
            ("write", [3, 0, 40, 2]),
            ("flush", [1, 0, 0, 1])
        ])
    );
    let by_size = counted(By::Size, all);
    assert_eq!(by_size.0.title(), "size");
    assert_eq!(
        rows(&by_size),
        expected([
            ("up to 1 sector", [2, 1, 1, 2]),
            ("5 to 8 sectors", [3, 1, 24, 3]),
            ("9 to 16 sectors", [1, 1, 16, 1]),
            ("17 to 32 sectors", [1, 0, 24, 0]),
        ])
    );
}

fn values_of(metrics: &[Metric], name: &str) -> Vec<(Labels, f64)> {
    use iosonar_stats::metric::Measure;
    let of_name = metrics.iter().filter(|of| of.name == name);
    let value = |of: &Metric| match &of.measure {
        Measure::Figure { value, .. } => *value,
        other => panic!("{name}: {other:?}"),
    };
    of_name.map(|of| (of.labels.clone(), value(of))).collect()
}

#[test]
fn metrics_are_those_of_the_load_the_key_and_the_outcome_with_the_name_of_one_of_several() {
    let of = try_to_measure(with_a_skipped_one(), Some(By::Op), false).unwrap();
    assert_eq!(of.name, "a.load, b.load");
    let alone = of.metrics(false);
    let several = of.metrics(true);
    assert_eq!(alone.len(), several.len());
    assert!(alone.iter().all(|of| of.labels.text("trace").is_none()));
    let is_named = |of: &Metric| of.labels.text("trace") == Some("a.load, b.load");
    assert!(several.iter().all(is_named));
    assert_eq!(
        values_of(&alone, "not_submitted"),
        [(Labels::default(), 1.0)]
    );
    // Of the load by operation, of the keys, and of the period of activity.
    let op = |op: &str| Labels::of("op", op);
    let from_zero = Labels::of("from_s", 0.0);
    assert_eq!(
        values_of(&alone, "requests"),
        [
            (op("read"), 3.0),
            (op("write"), 3.0),
            (op("other"), 0.0),
            (op("read"), 3.0),
            (op("write"), 3.0),
            (from_zero.clone(), 6.0),
        ]
    );
    assert_eq!(
        values_of(&alone, "sectors"),
        [
            (op("read"), 25.0),
            (op("write"), 40.0),
            (op("other"), 0.0),
            (op("read"), 25.0),
            (op("write"), 40.0),
        ]
    );
    for (name, expected) in [
        ("concurrency_p50", 0.0),
        ("concurrency_p75", 1.0),
        ("in_flight_p50", 0.0),
        ("in_flight_p75", 1.0),
    ] {
        assert_eq!(
            values_of(&alone, name),
            [(from_zero.clone(), expected)],
            "{name}"
        );
    }
    let quantiles = values_of(&alone, "response_time_quantile");
    // Of 100, 100, 100, 250, 500 and 500 ms.
    for ((labels, value), (p, ms)) in
        quantiles
            .iter()
            .zip([(0.5, 100.0), (0.75, 500.0), (0.95, 500.0), (0.99, 500.0)])
    {
        assert_eq!(*labels, from_zero.with("quantile", p));
        assert!((value - ms).abs() <= 0.005 * ms, "{p}: {value}");
    }
    assert_eq!(quantiles.len(), 4);
    // Reads are of one block, writes of one and of two.
    let medians = values_of(&alone, "response_time_median");
    let all = |op: &str, blocks: u64| {
        let labels = Labels::of("op", op).with("when", "all");
        labels.with("blocks", blocks)
    };
    let of: Vec<Labels> = medians.into_iter().map(|(labels, _)| labels).collect();
    assert_eq!(of, [all("read", 1), all("write", 1), all("write", 2)]);
    let device = values_of(&alone, "utilisation");
    assert_eq!(device[0].0, Labels::of("device", "sda"));
    let gaps = values_of(&alone, "overlaps");
    let within: Vec<_> = gaps.iter().flat_map(|(labels, _)| labels.iter()).collect();
    let seconds = [0.001, 0.01, 0.1, 1.0].map(Label::from);
    assert_eq!(within, seconds.each_ref().map(|s| ("within_s", s)));
}
