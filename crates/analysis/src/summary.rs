//! A summary of a trace.

use std::collections::BTreeMap;

use iosonar_trace::{Batch, Op, Status};
use iosonar_units::{Nanos, SECTOR_BYTES};

/// Counts what is in a trace; cheap enough to keep up with the reading.
#[derive(Clone, Debug, Default)]
pub struct TraceSummary {
    /// Records.
    pub records: u64,
    /// Records by operation, in the order of [`Op::ALL`].
    pub by_op: [u64; 5],
    /// Sectors by operation.
    pub sectors: [u64; 5],
    /// The earliest start.
    pub first: Option<Nanos>,
    /// The latest start.
    pub last: Nanos,
    /// Records that start before the one before them.
    pub backsteps: u64,
    previous: Nanos,
    /// The longest time between two records in the order of the file, and when it began.
    longest_gap: (Nanos, Nanos),
    /// The shortest request that is not a flush, in sectors.
    pub shortest: u32,
    /// The longest request, in sectors.
    pub longest: u32,
    /// The lowest first sector.
    pub lowest: u64,
    /// The end of the highest request.
    pub end: u64,
    /// Requests that do not begin, or end, at a multiple of 8 sectors.
    pub unaligned: u64,
    /// Requests by device.
    pub devices: BTreeMap<u16, u64>,
    /// The columns besides the request.
    pub columns: Columns,
    /// Records that did not end well, or never ran.
    pub not_done: u64,
    lengths: BTreeMap<u32, u64>,
}

/// Records that have a value in a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// A delay.
    pub delay: u64,
    /// A latency.
    pub latency: u64,
    /// Flags.
    pub flags: u64,
    /// A group.
    pub group: u64,
    /// A class other than the first.
    pub class: u64,
    /// A think time.
    pub think: u64,
    /// Held back because of an overlap.
    pub pushed_back: u64,
}

impl TraceSummary {
    /// Adds the records of a batch.
    pub fn push(&mut self, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        if self.records == 0 {
            (self.shortest, self.lowest) = (u32::MAX, u64::MAX);
            self.previous = batch.starts()[0];
        }
        self.records += batch.len() as u64;
        for &start in batch.starts() {
            if start < self.previous {
                self.backsteps += 1;
            } else if start - self.previous > self.longest_gap.0 {
                self.longest_gap = (start - self.previous, self.previous);
            }
            self.previous = start;
        }
        let starts = batch.starts().iter().copied();
        self.last = starts.clone().fold(self.last, Nanos::max);
        self.first = starts.fold(self.first, |first, t| {
            Some(first.map_or(t, |f: Nanos| f.min(t)))
        });
        let mut before: Option<(u16, u64)> = None;
        let mut length_run: Option<(u32, u64)> = None;
        for row in 0..batch.len() {
            let record = batch.record(row);
            let request = record.request;
            let length = request.sectors.get();
            self.by_op[request.op as usize] += 1;
            self.sectors[request.op as usize] += u64::from(length);
            if length > 0 {
                self.shortest = self.shortest.min(length);
                self.longest = self.longest.max(length);
                self.lowest = self.lowest.min(request.sector.get());
                self.end = self.end.max(request.end().get());
                self.unaligned +=
                    u64::from(!(request.sector.get() | u64::from(length)).is_multiple_of(8));
            }
            match &mut before {
                Some((device, n)) if *device == request.device => *n += 1,
                _ => {
                    if let Some((device, n)) = before.replace((request.device, 1)) {
                        *self.devices.entry(device).or_default() += n;
                    }
                }
            }
            match &mut length_run {
                Some((l, n)) if *l == length => *n += 1,
                _ => {
                    if let Some((l, n)) = length_run.replace((length, 1)) {
                        self.count_length(l, n);
                    }
                }
            }
            let columns = &mut self.columns;
            columns.delay += u64::from(record.outcome.delay.is_some());
            columns.latency += u64::from(record.outcome.latency.is_some());
            columns.flags += u64::from(request.flags.bits() != 0);
            columns.group += u64::from(request.group != 0);
            columns.class += u64::from(request.class != 0);
            columns.think += u64::from(batch.think(row).is_some());
            columns.pushed_back += u64::from(record.outcome.pushed_back);
            self.not_done += u64::from(record.outcome.status != Status::Done);
        }
        if let Some((device, n)) = before {
            *self.devices.entry(device).or_default() += n;
        }
        if let Some((length, n)) = length_run {
            self.count_length(length, n);
        }
    }

    fn count_length(&mut self, length: u32, n: u64) {
        // More lengths than this are no table for people.
        if self.lengths.len() < 4096 || self.lengths.contains_key(&length) {
            *self.lengths.entry(length).or_default() += n;
        }
    }

    /// From the earliest to the latest start.
    pub fn span(&self) -> Nanos {
        self.last.saturating_sub(self.first.unwrap_or_default())
    }

    /// Records per second between the earliest and the latest start; `None` if these are one instant.
    pub fn records_per_s(&self) -> Option<f64> {
        let span = self.span().as_secs_f64();
        (span > 0.0).then(|| self.records as f64 / span)
    }

    /// The mean size of reads and writes in bytes, rounded down; `None` without any.
    pub fn mean_bytes(&self) -> Option<u64> {
        let moves_data = [Op::Read, Op::Write];
        let requests: u64 = moves_data.iter().map(|&op| self.count_of(op)).sum();
        let sectors: u64 = moves_data.iter().map(|&op| self.sectors[op as usize]).sum();
        (sectors * SECTOR_BYTES).checked_div(requests)
    }

    /// The longest time between two starts, and when it began; `None` of records that are not sorted by start, as
    /// others may lie between two neighbours, and of those that all start at once.
    pub fn longest_gap(&self) -> Option<(Nanos, Nanos)> {
        (self.backsteps == 0 && self.longest_gap.0 > Nanos::ZERO).then_some(self.longest_gap)
    }

    /// Records with one of these operations.
    pub fn count_of(&self, op: Op) -> u64 {
        self.by_op[op as usize]
    }

    /// The most frequent lengths, in sectors, with their counts, most frequent first.
    pub fn usual_lengths(&self) -> Vec<(u32, u64)> {
        let mut lengths: Vec<(u32, u64)> = self.lengths.iter().map(|(l, n)| (*l, *n)).collect();
        lengths.sort_by_key(|(length, n)| (std::cmp::Reverse(*n), *length));
        lengths.truncate(5);
        lengths
    }
}
