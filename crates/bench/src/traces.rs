//! How fast traces are read, written and measured.

use std::hint::black_box;
use std::path::Path;

use iosonar_analysis::{LoadMetrics, LoadOptions};
use iosonar_sim_core::Seed;
use iosonar_trace::{Batch, Metadata, Record, Request, input, output};
use iosonar_units::{Nanos, Sectors};
use iosonar_workload::{Addresses, ArrivalLaw, Shape, Size, SyntheticLoad, Workload};

use crate::figure::{Figure, Group};
use crate::{BenchError, best_ns};

const REQUESTS: usize = 269_000;
/// Rounds of the load in a file: enough that opening the file does not count.
const ROUNDS: u64 = 8;

/// A load with the character of a database server: skewed, bursty, of many lengths.
fn load() -> Vec<Request> {
    let workload = Workload {
        arrivals: ArrivalLaw::OnOff {
            per_s: 4_000.0,
            on_s: 0.004,
            off_s: 0.2,
            shape: None,
        },
        batch: iosonar_workload::Batch::One,
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

/// The batches of a file.
fn batches(load: &[Request]) -> Vec<Batch> {
    let span = load.last().map_or(0, |request| request.start.get());
    let rounds = (0..ROUNDS).flat_map(|round| {
        load.iter().map(move |request| Request {
            start: Nanos::new(request.start.get() + round * span),
            ..*request
        })
    });
    let all: Vec<Request> = rounds.collect();
    let one = |part: &[Request]| {
        let mut batch = Batch::default();
        for request in part {
            batch.push(&Record {
                request: *request,
                ..Record::default()
            });
        }
        batch
    };
    all.chunks(Batch::ROWS).map(one).collect()
}

fn write(path: &Path, batches: &[Batch]) -> Result<(), BenchError> {
    let mut writer = output::create(path, &Metadata::default())?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(())
}

fn read(path: &Path) -> Result<usize, BenchError> {
    let mut reader = input::open(path)?;
    let (mut batch, mut rows) = (Batch::default(), 0);
    while reader.next_batch(&mut batch)? > 0 {
        rows += batch.len();
    }
    Ok(rows)
}

/// Nanoseconds per piece of work that can fail.
fn timed(pieces: u64, mut work: impl FnMut() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    let mut outcome = Ok(());
    let ns = best_ns(pieces, || {
        if outcome.is_ok() {
            outcome = work();
        }
    });
    outcome.map(|()| ns)
}

/// Measures how fast traces are read, written and measured, on one thread and another one for decompression.
///
/// # Errors
/// If a trace cannot be written to the folder for temporary files, or not be read.
///
/// # Panics
/// If a trace is read with another number of records than it was written with.
pub fn measure() -> Result<Vec<Figure>, BenchError> {
    let folder = tempfile::tempdir()?;
    let load = load();
    let batches = batches(&load);
    let rows = REQUESTS as u64 * ROUNDS;
    let figure = |case: String, unit, value| Figure::new(Group::Traces, case, unit, value);
    let mut figures = Vec::new();
    let mut text_bytes = 0;
    for (name, format) in [
        ("x.load", "blkreplay text"),
        ("x.load.gz", "blkreplay text, gzipped"),
        ("x.csv", "CSV"),
        ("x.ios", ".ios"),
    ] {
        let path = folder.path().join(name);
        let write_ns = timed(rows, || write(&path, &batches))?;
        if text_bytes == 0 {
            text_bytes = std::fs::metadata(&path)?.len();
        }
        let read_ns = timed(rows, || {
            let seen = read(&path)? as u64;
            assert_eq!(seen, rows, "a trace is read as it was written");
            Ok(())
        })?;
        figures.push(figure(
            format!("write {format}"),
            "M records/s",
            1e3 / write_ns,
        ));
        figures.push(figure(
            format!("read {format}"),
            "M records/s",
            1e3 / read_ns,
        ));
        if name.starts_with("x.load") {
            // Of the text that it decompresses to.
            let mib_per_s = text_bytes as f64 / (read_ns * rows as f64 / 1e9) / 1_048_576.0;
            figures.push(figure(format!("read {format}"), "MiB/s", mib_per_s));
        }
    }
    let metrics_ns = best_ns(1, || {
        let mut metrics = LoadMetrics::new(LoadOptions::default());
        load.iter().for_each(|request| metrics.push(request));
        black_box(metrics.finish());
    });
    let case = "all metrics of a load of 269 000 requests".to_owned();
    figures.push(figure(case, "s", metrics_ns / 1e9));
    Ok(figures)
}
