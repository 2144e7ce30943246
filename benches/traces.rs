//! Reading, writing and measuring traces.

use std::hint::black_box;
#[cfg(feature = "arrow")]
use std::io::Write;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iosonar::analysis::{LoadMetrics, LoadOptions, TraceSummary};
use iosonar::sim_core::Seed;
use iosonar::trace::{Batch, Metadata, Op, Record, Request, TraceReader, input, output};
#[cfg(feature = "arrow")]
use iosonar::trace::{Outcome, Sink, WriteOptions, formats::by_format_name, output::Output};
use iosonar::units::{Nanos, Sector, Sectors};
use iosonar::workload::{Addresses, ArrivalLaw, Shape, Size, SyntheticLoad, Workload};

const REQUESTS: usize = 269_000;

/// A load with the character of a database server: skewed, bursty, of many lengths.
fn load() -> Vec<Request> {
    let workload = Workload {
        arrivals: ArrivalLaw::OnOff {
            per_s: 4_000.0,
            on_s: 0.004,
            off_s: 0.2,
            shape: None,
        },
        batch: iosonar::workload::Batch::One,
        shape: Shape {
            size: Size::Table(vec![(0.5, 1), (0.3, 2), (0.1, 8), (0.1, 31)]),
            write_size: None,
            block: Sectors::new(8),
            read_share: 0.1,
            addresses: Addresses::Mixed {
                follow: 0.1,
                theta: 0.8,
                used: 0.01,
            },
            address_space: 63_587_888,
        },
    };
    SyntheticLoad::new(vec![workload], &Seed::new(1))
        .take(REQUESTS)
        .collect()
}

fn written(dir: &Path, name: &str, requests: &[Request]) -> PathBuf {
    let path = dir.join(name);
    let mut writer = output::create(&path, &Metadata::default()).expect("it can be made");
    let mut batch = Batch::default();
    for part in requests.chunks(Batch::ROWS) {
        batch.clear();
        for request in part {
            batch.push(&Record {
                request: *request,
                ..Record::default()
            });
        }
        writer.write(&batch).expect("it can be written");
    }
    writer.finish().expect("it can be completed");
    path
}

fn rows(path: &Path) -> usize {
    let mut reader = input::open(path).expect("it opens");
    let (mut batch, mut rows) = (Batch::default(), 0);
    while reader.next_batch(&mut batch).expect("it is whole") > 0 {
        rows += batch.len();
    }
    rows
}

fn formats(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder for traces");
    let load = load();
    for name in ["x.load", "x.load.gz", "x.ios", "x.csv", "x.fio"] {
        let path = written(dir.path(), name, &load);
        let mut group = c.benchmark_group("read");
        // Of what it decompresses to, where it is compressed.
        let size = std::fs::metadata(path.with_file_name("x.load"))
            .expect("it is there")
            .len();
        group.throughput(match name {
            "x.load" | "x.load.gz" => Throughput::Bytes(size),
            _ => Throughput::Elements(REQUESTS as u64),
        });
        group.bench_function(name, |b| b.iter(|| rows(black_box(&path))));
        group.finish();
    }
    let mut group = c.benchmark_group("write");
    group.throughput(Throughput::Elements(REQUESTS as u64));
    for name in ["y.load", "y.ios"] {
        group.bench_function(name, |b| b.iter(|| written(dir.path(), name, &load)));
    }
    group.finish();
    // Long enough that opening the file is nothing.
    let mut long = Vec::with_capacity(20 * REQUESTS);
    let span = load[load.len() - 1].start.get();
    for round in 0..20 {
        long.extend(load.iter().map(|r| Request {
            start: Nanos::new(r.start.get() + round * span),
            ..*r
        }));
    }
    let path = written(dir.path(), "long.ios", &long);
    let mut group = c.benchmark_group("read");
    group.throughput(Throughput::Elements(long.len() as u64));
    group.bench_function("long.ios", |b| b.iter(|| rows(black_box(&path))));
    group.finish();
}

fn measures(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder for traces");
    let million: Vec<Request> = (0..1_000_000_u64)
        .map(|i| Request {
            start: Nanos::from_micros(i * 137),
            sector: Sector::new(i * 7919 % 60_000_000),
            sectors: Sectors::new(8 << (i % 5)),
            op: if i % 3 == 0 { Op::Write } else { Op::Read },
            ..Request::default()
        })
        .collect();
    let path = written(dir.path(), "million.load", &million);
    let mut group = c.benchmark_group("info");
    group.sample_size(10);
    group.throughput(Throughput::Elements(1_000_000));
    group.bench_function("of a million requests of text", |b| {
        b.iter(|| {
            let mut reader = input::open(&path).expect("it opens");
            let (mut batch, mut summary) = (Batch::default(), TraceSummary::default());
            while reader.next_batch(&mut batch).expect("it is whole") > 0 {
                summary.push(&batch);
            }
            black_box(summary.records)
        });
    });
    group.finish();
    let load = load();
    let mut group = c.benchmark_group("metrics");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REQUESTS as u64));
    group.bench_function("static, of a load", |b| {
        b.iter(|| {
            let mut metrics = LoadMetrics::new(LoadOptions::default());
            load.iter().for_each(|r| metrics.push(r));
            black_box(metrics.finish())
        });
    });
    group.finish();
}

/// What columns for data frames cost, with outcomes as a replay has them.
#[cfg(feature = "arrow")]
fn tables(c: &mut Criterion) {
    const RECORDS: u64 = 4_000_000;
    iosonar::arrow::register();
    let mut batches = Vec::new();
    for from in (0..RECORDS).step_by(Batch::ROWS) {
        let mut batch = Batch::default();
        for i in from..RECORDS.min(from + Batch::ROWS as u64) {
            let request = Request {
                start: Nanos::new(i * 13_700),
                sector: Sector::new(i * 7919 % 60_000_000),
                sectors: Sectors::new(8 << (i % 5)),
                op: if i % 3 == 0 { Op::Write } else { Op::Read },
                ..Request::default()
            };
            let (delay, latency) = (Nanos::new(i % 1_009), Nanos::new(i * 7919 % 1_000_003));
            let outcome = Outcome::done(delay, latency);
            batch.push(&Record { request, outcome });
        }
        batches.push(batch);
    }
    let dir = tempfile::tempdir().expect("a folder for traces");
    let write = |path: &Path| {
        let mut writer = output::create(path, &Metadata::default()).expect("it can be made");
        for batch in &batches {
            writer.write(batch).expect("it can be written");
        }
        writer.finish().expect("it can be completed");
    };
    let mut group = c.benchmark_group("tables");
    group.sample_size(10);
    group.throughput(Throughput::Elements(RECORDS));
    for name in ["x.arrow", "x.parquet", "x.ios", "x.csv"] {
        let path = dir.path().join(name);
        group.bench_function(format!("write {name}"), |b| b.iter(|| write(&path)));
        group.bench_function(format!("read {name}"), |b| {
            b.iter(|| rows(black_box(&path)))
        });
    }
    // Without a disk: what the columns cost.
    group.bench_function("write arrow to nothing", |b| {
        b.iter(|| {
            let sink = Sink {
                output: Box::new(Nothing),
                path: "x.arrow".into(),
            };
            let format = by_format_name("arrow").expect("it is registered");
            let writer = format.writer(sink, &Metadata::default(), &WriteOptions::default());
            let mut writer = writer.expect("it can be made");
            for batch in &batches {
                writer.write(batch).expect("it can be written");
            }
            writer.finish().expect("it can be completed");
        });
    });
    group.finish();
}

/// An output that takes everything.
#[cfg(feature = "arrow")]
struct Nothing;

#[cfg(feature = "arrow")]
impl Write for Nothing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "arrow")]
impl Output for Nothing {
    fn close(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(not(feature = "arrow"))]
fn tables(_: &mut Criterion) {}

criterion_group!(benches, formats, measures, tables);
criterion_main!(benches);
