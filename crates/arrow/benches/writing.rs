//! How many records per second do the writers take, on one thread?
//!
//! `cargo bench -p iosonar-arrow --profile release -- [MILLIONS [FOLDER [FORMAT]]]` prints a table: each format to nowhere
//! (what the encoding costs) and to a file in FOLDER (the page cache included).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use iosonar_trace::output::Output;
use iosonar_trace::{
    Batch, Metadata, Op, Outcome, Record, Request, Sink, WriteOptions, formats, output,
};
use iosonar_units::{Nanos, Sector, Sectors};

/// Takes bytes, and counts them.
struct Nowhere(std::sync::Arc<std::sync::atomic::AtomicU64>);

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        self.0.fetch_add(bytes.len() as u64, relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Nowhere {
    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Records of a replay: Poisson-like starts, random addresses, a few lengths, delays and latencies.
fn batches() -> Vec<Batch> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        // xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut start = 0;
    let mut all = Vec::new();
    for _ in 0..64 {
        let mut batch = Batch::default();
        for _ in 0..Batch::ROWS {
            start += random() % 100_000;
            let request = Request {
                start: Nanos::new(start),
                sector: Sector::new(random() % 2_000_000_000),
                sectors: Sectors::new([8, 8, 8, 16, 64, 128][(random() % 6) as usize]),
                op: if random().is_multiple_of(3) {
                    Op::Write
                } else {
                    Op::Read
                },
                ..Request::default()
            };
            let delay = Nanos::new(random() % 10_000);
            let latency = Nanos::new(50_000 + random() % 10_000_000);
            batch.push(&Record {
                request,
                outcome: Outcome::done(delay, latency),
            });
        }
        all.push(batch);
    }
    all
}

/// The user and system time of this process so far, in seconds.
fn processor_time() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = behind
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    (fields[11] / 100.0, fields[12] / 100.0)
}

fn measure(name: &str, to: Option<&Path>, batches: &[Batch], rows: usize) {
    let format = formats::by_format_name(name).expect("it is registered");
    let counted = std::sync::Arc::default();
    let metadata = Metadata::default();
    let before = processor_time();
    let begin = Instant::now();
    let mut writer = if let Some(path) = to {
        output::create(path, &metadata).expect("the folder can be written")
    } else {
        let sink = Sink {
            output: Box::new(Nowhere(std::sync::Arc::clone(&counted))),
            path: PathBuf::from("nowhere"),
        };
        let writer = format.writer(sink, &metadata, &WriteOptions::default());
        writer.expect("nothing can go wrong")
    };
    let mut written = 0;
    for batch in batches.iter().cycle() {
        writer.write(batch).expect("there is room");
        written += batch.len();
        if written >= rows {
            break;
        }
    }
    writer.finish().expect("there is room");
    let seconds = begin.elapsed().as_secs_f64();
    let after = processor_time();
    let bytes = match to {
        Some(path) => {
            let bytes = std::fs::metadata(path).map_or(0, |of| of.len());
            let _ = std::fs::remove_file(path);
            bytes
        }
        None => counted.load(std::sync::atomic::Ordering::Relaxed),
    };
    println!(
        "{name:<8} {:<8} {:>6.1} {:>7.2} {:>6.2} {:>6.2} {:>8.1}",
        if to.is_some() { "file" } else { "nowhere" },
        written as f64 / seconds / 1e6,
        seconds,
        after.0 - before.0,
        after.1 - before.1,
        bytes as f64 / written as f64
    );
}

fn main() {
    iosonar_arrow::register();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&String> = arguments
        .iter()
        .filter(|of| !of.starts_with("--"))
        .collect();
    let millions = arguments.first().and_then(|of| of.parse::<usize>().ok());
    let rows = millions.unwrap_or(20) * 1_000_000;
    let folder = arguments
        .get(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let batches = batches();
    println!("format   to       M rec/s  wall s user s  sys s  bytes/rec");
    let only = arguments.get(2);
    let names = ["arrow", "parquet", "ios", "csv"].into_iter();
    for name in names.filter(|name| only.is_none_or(|only| only == name)) {
        measure(name, None, &batches, rows);
        let path = folder.join(format!("iosonar-writing.{name}"));
        measure(name, Some(&path), &batches, rows);
    }
}
