//! How long pictures take: from records in memory to PNGs in memory.

use std::time::Instant;

use iosonar_plot::{Chart, Format, Size, Theme, render};
use iosonar_report::{Arrange, CATALOGUE, Entry, Look, LookOptions, Measured, needs_of};
use iosonar_trace::{Batch, Metadata, Op, Outcome, Record, Request, TraceError, TraceReader};
use iosonar_units::{Nanos, Sector, Sectors};
use rayon::prelude::*;

use crate::BenchError;
use crate::figure::{Figure, Group, Note};

/// As many as in the recording of a web server that graph.sh was measured with.
const SET: u64 = 269_007;
const MANY: u64 = 10_000_000;

/// Records that look like those of a server: two bands, bursts, a tail.
struct Records {
    next: u64,
    end: u64,
    metadata: Metadata,
}

impl TraceReader for Records {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        let end = self.end.min(self.next + Batch::ROWS as u64);
        (self.next..end).for_each(|i| batch.push(&record(i)));
        self.next = end;
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

fn record(i: u64) -> Record {
    let noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let burst = u64::from(i % 10_000 < 300) * (i % 10_000) * 20_000;
    let latency = 80_000 + noise % 40_000 + (noise % 7 / 6) * 400_000 + burst;
    Record {
        request: Request {
            start: Nanos::new(i * 50_000),
            sector: Sector::new(noise % 20_000_000 / 8 * 8),
            sectors: Sectors::new(8 << (noise % 4)),
            op: if noise.is_multiple_of(3) {
                Op::Write
            } else {
                Op::Read
            },
            ..Request::default()
        },
        outcome: Outcome::done(Nanos::new(noise % 3_000), Nanos::new(latency)),
    }
}

/// Looks at this number of records, as it is done with those of a file.
fn look(n: u64, entries: &[&Entry]) -> Result<Measured, BenchError> {
    let needs = needs_of(entries.iter().copied());
    let mut look = Look::new("bench", needs, &LookOptions::default());
    let mut records = Records {
        next: 0,
        end: n,
        metadata: Metadata::default(),
    };
    look.read(&mut records)?;
    Ok(look.finish())
}

fn draw(entry: &Entry, inputs: &[Measured]) -> Result<usize, BenchError> {
    let charts = entry.charts(inputs, Arrange::default());
    let charts: Vec<&Chart> = charts.iter().collect();
    if charts.is_empty() {
        return Ok(0);
    }
    render(&charts, Format::Png, Size::default(), Theme::Light)?;
    Ok(1)
}

/// Measures how long the complete set of charts takes, with all threads, and a sonar diagram of many requests.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn measure() -> Result<Vec<Figure>, BenchError> {
    let all: Vec<&Entry> = CATALOGUE.iter().collect();
    let begin = Instant::now();
    let inputs = [look(SET, &all)?];
    let looked = begin.elapsed();
    let drawn = all
        .par_iter()
        .map(|entry| draw(entry, &inputs))
        .collect::<Result<Vec<usize>, BenchError>>()?;
    let set = begin.elapsed();
    let note = Note::Charts {
        drawn: drawn.iter().sum(),
        looking_s: looked.as_secs_f64(),
    };
    let sonar = &all[..1];
    let begin = Instant::now();
    let inputs = [look(MANY, sonar)?];
    draw(sonar[0], &inputs)?;
    let many = begin.elapsed();
    let rate = MANY as f64 / many.as_secs_f64() / 1e6;
    Ok(vec![
        Figure::new(
            Group::Pictures,
            "all pictures of 269 007 requests",
            "s",
            set.as_secs_f64(),
        )
        .with(note),
        Figure::new(
            Group::Pictures,
            "sonar diagram of 10 million requests",
            "s",
            many.as_secs_f64(),
        )
        .with(Note::MillionsPerSecond(rate)),
    ])
}
