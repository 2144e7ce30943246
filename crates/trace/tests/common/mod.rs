//! What several tests need.

#![allow(dead_code)] // Not every test needs all of it.

use iosonar_trace::{
    Batch, Flags, Metadata, Op, Outcome, Record, Request, Status, TraceError, TraceReader, output,
};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

/// A record with all that a batch knows of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) record: Record,
    pub(crate) think: Option<Nanos>,
}

/// Rows from memory, a few at a time.
pub(crate) struct Memory {
    rows: Vec<Row>,
    done: usize,
    at_a_time: usize,
    metadata: Metadata,
}

impl Memory {
    pub(crate) fn boxed(rows: &[Row], at_a_time: usize) -> Box<Self> {
        Box::new(Self {
            rows: rows.to_vec(),
            done: 0,
            at_a_time,
            metadata: Metadata::default(),
        })
    }
}

impl TraceReader for Memory {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let end = self.rows.len().min(self.done + self.at_a_time);
        let rows = &self.rows[self.done..end];
        *batch = batch_of(rows);
        self.done += rows.len();
        Ok(rows.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

/// All rows of a trace.
pub(crate) fn all_of(reader: &mut dyn TraceReader) -> Result<Vec<Row>, TraceError> {
    let mut all = Vec::new();
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        all.extend((0..batch.len()).map(|row| Row {
            record: batch.record(row),
            think: batch.think(row),
        }));
    }
    Ok(all)
}

/// A row in a line: start, place, operation, flags, device, delay, latency, status, as far as there is one.
pub(crate) fn shown(row: &Row, metadata: &Metadata) -> String {
    let Record { request, outcome } = row.record;
    let mut text = format!(
        "{} {}+{} {}",
        request.start.get(),
        request.sector,
        request.sectors,
        request.op.name()
    );
    for (flag, name) in [
        (Flags::FUA, "fua"),
        (Flags::READ_AHEAD, "read-ahead"),
        (Flags::SYNC, "sync"),
        (Flags::META, "meta"),
    ] {
        if request.flags.contains(flag) {
            text += &format!(" {name}");
        }
    }
    if !metadata.devices.is_empty() {
        text += &format!(" {}", metadata.device_name(request.device));
    }
    if let (Some(delay), Some(latency)) = (outcome.delay, outcome.latency) {
        text += &format!(" {} {}", delay.get(), latency.get());
    }
    if let Some(think) = row.think {
        text += &format!(" think {}", think.get());
    }
    if outcome.status != Status::Done {
        text += &format!(" {:?}", outcome.status);
    }
    text
}

/// An `.ios` file of so many records.
pub(crate) fn ios_bytes(n: u64) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ios");
    let mut writer = output::create(&path, &Metadata::default()).unwrap();
    let mut batch = Batch::default();
    for i in 0..n {
        batch.push(&Record {
            request: Request {
                start: Nanos::new(i * 1000 + i % 7),
                sector: Sector::new(i * 7919 % 100_000),
                sectors: Sectors::new(1 + (i % 9) as u32),
                op: if i % 3 == 0 { Op::Write } else { Op::Read },
                ..Request::default()
            },
            outcome: Outcome::done(Nanos::ZERO, Nanos::new(i % 100 * 1000)),
        });
        if batch.len() == Batch::ROWS {
            writer.write(&batch).unwrap();
            batch.clear();
        }
    }
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Any row that can be, with starts below `latest`.
pub(crate) fn any_row(latest: u64) -> impl Strategy<Value = Row> {
    let op = prop::sample::select(Op::ALL.to_vec());
    let status = prop_oneof![
        6 => Just(Status::Done),
        1 => prop::sample::select(vec![
            Status::Short, Status::Dropped, Status::Skipped, Status::Missed, Status::Cancelled, Status::VerifyFailed,
        ]),
        1 => (1..200_u16).prop_map(Status::Error),
    ];
    let time = || prop::option::of(0..1_u64 << 62);
    (
        (0..latest, 0..1_u64 << 62, 1..u32::MAX, op, 0..16_u8),
        (0..5_u16, 0..9_u16, 0..3_u32),
        (time(), time(), time(), status, any::<bool>()),
    )
        .prop_map(
            |(
                (start, sector, sectors, op, flags),
                (device, class, group),
                (delay, latency, think, status, pushed_back),
            )| Row {
                record: Record {
                    request: Request {
                        start: Nanos::new(start),
                        sector: Sector::new(sector),
                        sectors: Sectors::new(sectors),
                        op,
                        flags: Flags::from_bits(flags),
                        device,
                        class,
                        group,
                    },
                    outcome: Outcome {
                        delay: delay.map(Nanos::new),
                        latency: latency.map(Nanos::new),
                        status,
                        pushed_back,
                    },
                },
                think: think.map(Nanos::new),
            },
        )
}

/// The rows as a batch.
pub(crate) fn batch_of(rows: &[Row]) -> Batch {
    let mut batch = Batch::default();
    for row in rows {
        batch.push(&row.record);
        batch.set_think(batch.len() - 1, row.think);
    }
    batch
}
