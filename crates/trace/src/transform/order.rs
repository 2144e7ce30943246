//! The order of starts: a load must be sorted by them. Checking, shifting, sorting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::str::FromStr;

use iosonar_units::Nanos;

use super::Spill;
use super::spool::{Cursor, Spool};
use super::streamed::Stream;
use crate::{Batch, Metadata, Place, RemarkKind, TraceError, TraceReader};

/// What happens where time goes back in a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBackstep {
    /// An error.
    #[default]
    Error,
    /// The rest of the load moves: it goes on at the time that was reached.
    Shift,
    /// The load is sorted; equal starts stay in their order.
    Sort,
}

impl FromStr for OnBackstep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(Self::Error),
            "shift" => Ok(Self::Shift),
            "sort" => Ok(Self::Sort),
            _ => Err("expected error, shift or sort".to_owned()),
        }
    }
}

/// Passes a trace through and fails at the first request that starts before its predecessor.
pub struct SortedByStart<R> {
    inner: R,
    path: PathBuf,
    last: Nanos,
}

impl<R: TraceReader> SortedByStart<R> {
    /// Checks the rows of `inner`, which come from `path`.
    pub fn new(inner: R, path: PathBuf) -> Self {
        Self {
            inner,
            path,
            last: Nanos::ZERO,
        }
    }
}

impl<R: TraceReader> TraceReader for SortedByStart<R> {
    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let rows = self.inner.next_batch(batch)?;
        for (row, &start) in batch.starts().iter().enumerate() {
            if start < self.last {
                return Err(TraceError::Unsorted {
                    place: Place::of(&self.path, batch.place(row)),
                    start: start.as_secs_f64(),
                    previous: self.last.as_secs_f64(),
                });
            }
            self.last = start;
        }
        Ok(rows)
    }
}

#[derive(Default)]
pub(super) struct ShiftBacksteps {
    by: Nanos,
    last: Nanos,
}

impl Stream for ShiftBacksteps {
    fn apply(&mut self, batch: &mut Batch, metadata: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            let shifted = start.saturating_add(self.by);
            if shifted < self.last {
                let step = self.last - shifted;
                self.by = self.by.saturating_add(step);
                metadata.remark(
                    RemarkKind::Shifted,
                    "steps back in time; after each, the rest of the load was shifted",
                    || format!("by {step} at {}", self.last),
                );
            }
            *start = start.saturating_add(self.by);
            self.last = *start;
        }
        Ok(true)
    }
}

/// The number of rows sorted in memory.
const RUN: usize = 1 << 20;

/// A trace sorted by start, by merging sorted runs: memory for one run, or for a batch of each.
pub(super) struct Sorted {
    inner: Box<dyn TraceReader>,
    spool: Spool,
    read: bool,
    /// The only run, if one was enough.
    single: Option<(Batch, Vec<u32>, usize)>,
    runs: Vec<(Cursor, Batch, usize)>,
    heads: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Sorted {
    pub(super) fn new(inner: Box<dyn TraceReader>, spill: &Spill) -> Self {
        Self {
            inner,
            spool: Spool::with_blocks_of(spill, Batch::ROWS),
            read: false,
            single: None,
            runs: Vec::new(),
            heads: BinaryHeap::new(),
        }
    }

    fn read_all(&mut self) -> Result<(), TraceError> {
        self.read = true;
        let (mut batch, mut run) = (Batch::default(), Batch::default());
        loop {
            let more = self.inner.next_batch(&mut batch)? > 0;
            if more {
                (0..batch.len()).for_each(|row| run.push_row(&batch, row));
            }
            if run.len() < RUN && more {
                continue;
            }
            let mut order: Vec<u32> = (0..run.len() as u32).collect();
            // Stable: equal starts stay in their order.
            order.sort_by_key(|&row| run.starts()[row as usize]);
            if !more && self.runs.is_empty() {
                self.single = Some((run, order, 0));
                return Ok(());
            }
            let begin = self.spool.blocks();
            for rows in order.chunks(Batch::ROWS) {
                batch.clear();
                rows.iter()
                    .for_each(|&row| batch.push_row(&run, row as usize));
                self.spool.push(&batch)?;
            }
            self.spool.end_block()?;
            let cursor = Cursor::over(begin, self.spool.blocks());
            self.runs.push((cursor, Batch::default(), 0));
            run.clear();
            if !more {
                break;
            }
        }
        for run in 0..self.runs.len() {
            self.advance(run)?;
        }
        Ok(())
    }

    /// Puts the next row of `run` among the heads.
    fn advance(&mut self, run: usize) -> Result<(), TraceError> {
        let (cursor, batch, row) = &mut self.runs[run];
        if *row == batch.len() {
            cursor.next_batch(&self.spool, batch)?;
            *row = 0;
        }
        if let Some(start) = batch.starts().get(*row) {
            self.heads.push(Reverse((*start, run)));
        }
        Ok(())
    }
}

impl TraceReader for Sorted {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if !self.read {
            self.read_all()?;
        }
        batch.clear();
        if let Some((run, order, done)) = &mut self.single {
            let rows = &order[*done..order.len().min(*done + Batch::ROWS)];
            rows.iter()
                .for_each(|&row| batch.push_row(run, row as usize));
            *done += rows.len();
            return Ok(batch.len());
        }
        while batch.len() < Batch::ROWS {
            let Some(Reverse((_, run))) = self.heads.pop() else {
                break;
            };
            let (_, rows, row) = &mut self.runs[run];
            batch.push_row(rows, *row);
            *row += 1;
            self.advance(run)?;
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }
}
