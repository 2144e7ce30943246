//! The order of starts: a load must be sorted by them. Checking, shifting, sorting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
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
                    [
                        "step back in time; after it, the rest of the load was shifted",
                        "steps back in time; after each, the rest of the load was shifted",
                    ],
                    || format!("by {step} at {}", self.last),
                );
            }
            *start = start.saturating_add(self.by);
            self.last = *start;
        }
        Ok(true)
    }
}

/// The most rows that are sorted in memory.
const RUN: usize = 1 << 20;

/// A trace sorted by start.
///
/// Rows are given back soon after the reader knows that no earlier one will come. Where it does not know that, or too
/// many would have to wait, the rest is merged from sorted runs. Memory: for two runs, or for a batch of each.
pub(super) struct Sorted {
    inner: Box<dyn TraceReader>,
    path: PathBuf,
    spool: Spool,
    /// The most rows that wait: [`RUN`].
    run: usize,
    /// All rows have been read.
    read: bool,
    /// Rows that wait for earlier ones, as they were read.
    waiting: Batch,
    /// How many came after it was last looked which of them need not wait.
    since_look: usize,
    /// No row comes before this start any more.
    none_before: Nanos,
    /// What comes next, before all that waits: rows in the order of their starts, and how many of them have been given.
    ready: (Batch, Vec<u32>, usize),
    runs: Vec<(Cursor, Batch, usize)>,
    heads: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Sorted {
    pub(super) fn new(inner: Box<dyn TraceReader>, path: &Path, spill: &Spill) -> Self {
        Self {
            inner,
            path: path.to_owned(),
            spool: Spool::with_blocks_of(spill, Batch::ROWS),
            run: RUN,
            read: false,
            waiting: Batch::default(),
            since_look: 0,
            none_before: Nanos::ZERO,
            ready: (Batch::default(), Vec::new(), 0),
            runs: Vec::new(),
            heads: BinaryHeap::new(),
        }
    }

    /// Reads on until there are sorted rows, or all runs are there.
    fn read_on(&mut self) -> Result<(), TraceError> {
        self.ready = Default::default();
        let mut batch = Batch::default();
        loop {
            let more = self.inner.next_batch(&mut batch)? > 0;
            if more {
                self.check(&batch)?;
                self.waiting.push_rows(&batch, 0..batch.len());
                self.since_look += batch.len();
            }
            self.read = !more;
            let are_runs = !self.runs.is_empty();
            if !more && !are_runs {
                self.release(Nanos::MAX);
                return Ok(());
            }
            if !more || self.waiting.len() >= self.run {
                self.end_run(&mut batch)?;
            } else if !are_runs && self.release_some() {
                return Ok(());
            }
            if !more {
                self.waiting = Batch::default();
                return (0..self.runs.len()).try_for_each(|run| self.advance(run));
            }
        }
    }

    /// Sorts the rows that no later one can precede, as far as the reader knows; whether there are any.
    fn release_some(&mut self) -> bool {
        // Looking at all and moving the rest costs no more than reading then, however few are released.
        if self.since_look < self.waiting.len() / 4 {
            return false;
        }
        let none_before = self.inner.none_before();
        none_before > self.none_before && self.release(none_before)
    }

    /// Sorts the rows that no later one can precede, as none starts before this time; whether there are any.
    fn release(&mut self, none_before: Nanos) -> bool {
        (self.none_before, self.since_look) = (none_before, 0);
        // Later rows of the same start come behind these.
        let order = in_order(&self.waiting, |start| start <= none_before);
        if order.is_empty() {
            return false;
        }
        let mut later = Batch::default();
        let waits = |&row: &usize| self.waiting.starts()[row] > none_before;
        later.push_rows(&self.waiting, (0..self.waiting.len()).filter(waits));
        self.ready = (std::mem::replace(&mut self.waiting, later), order, 0);
        true
    }

    /// Rows that come too late for what has been said of them.
    fn check(&self, batch: &Batch) -> Result<(), TraceError> {
        let mut starts = batch.starts().iter();
        let Some(row) = starts.position(|start| *start < self.none_before) else {
            return Ok(());
        };
        let start = batch.starts()[row];
        Err(TraceError::Damaged {
            place: Place::of(&self.path, batch.place(row)),
            problem: format!(
                "the record starts at {} ns, but according to the index, none from here on starts before {} ns: the index \
                 is wrong, or the file has grown meanwhile; --lenient sorts without it",
                start.get(),
                self.none_before.get()
            ),
        })
    }

    /// Puts what waits into a run of its own.
    fn end_run(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        let order = in_order(&self.waiting, |_| true);
        let begin = self.spool.blocks();
        for rows in order.chunks(Batch::ROWS) {
            batch.clear();
            batch.push_rows(&self.waiting, rows.iter().map(|&row| row as usize));
            self.spool.push(batch)?;
        }
        self.spool.end_block()?;
        let cursor = Cursor::over(begin, self.spool.blocks());
        self.runs.push((cursor, Batch::default(), 0));
        self.waiting.clear();
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

/// The rows of `batch` for whose starts `wanted` holds, by start. Equal starts stay in their order.
fn in_order(batch: &Batch, wanted: impl Fn(Nanos) -> bool) -> Vec<u32> {
    let starts = batch.starts();
    let rows = 0..batch.len() as u32;
    let mut order: Vec<u32> = rows.filter(|&row| wanted(starts[row as usize])).collect();
    order.sort_by_key(|&row| starts[row as usize]);
    order
}

impl TraceReader for Sorted {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        loop {
            let (rows, order, done) = &mut self.ready;
            let next = &order[*done..order.len().min(*done + Batch::ROWS)];
            if !next.is_empty() {
                batch.push_rows(rows, next.iter().map(|&row| row as usize));
                *done += next.len();
                return Ok(batch.len());
            }
            if self.read {
                break;
            }
            self.read_on()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, Request};
    use iosonar_units::Sector;
    use proptest::prelude::*;

    /// Rows in batches, and from which start on the rows behind each are, as far as is known.
    struct Rows {
        batches: Vec<(Vec<u64>, u64)>,
        next: usize,
        metadata: Metadata,
    }

    impl Rows {
        fn new(batches: Vec<(Vec<u64>, u64)>) -> Box<Self> {
            Box::new(Self {
                batches,
                next: 0,
                metadata: Metadata::default(),
            })
        }
    }

    impl TraceReader for Rows {
        fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
            batch.clear();
            if let Some((starts, _)) = self.batches.get(self.next) {
                for (row, start) in starts.iter().enumerate() {
                    // The place in the input.
                    let sector = (self.next << 32 | row) as u64;
                    let request = Request {
                        start: Nanos::new(*start),
                        sector: Sector::new(sector),
                        ..Request::default()
                    };
                    batch.push_at(
                        &Record {
                            request,
                            ..Record::default()
                        },
                        sector + 1,
                    );
                }
                self.next += 1;
            }
            Ok(batch.len())
        }

        fn metadata(&self) -> &Metadata {
            &self.metadata
        }

        fn none_before(&mut self) -> Nanos {
            let known = self.batches.get(self.next.wrapping_sub(1));
            known.map_or(Nanos::ZERO, |(_, none_before)| Nanos::new(*none_before))
        }
    }

    fn sorted(rows: Box<Rows>) -> Sorted {
        Sorted::new(rows, Path::new("rows"), &Spill::default())
    }

    proptest! {
        #[test]
        fn rows_come_by_start_whatever_is_known_of_later_ones(
            batches in prop::collection::vec((prop::collection::vec(0_u64..60, 1..20), any::<bool>()), 0..30),
        ) {
            // Most starts grow from batch to batch.
            let mut batches: Vec<(Vec<u64>, u64)> = (0..).zip(batches).map(|(n, (starts, known))| {
                (starts.into_iter().map(|start| 20 * n + start).collect(), u64::from(known))
            }).collect();
            let mut least = u64::MAX;
            for (starts, known) in batches.iter_mut().rev() {
                *known *= least;
                least = starts.iter().fold(least, |least, start| least.min(*start));
            }
            let mut expected: Vec<(u64, u64)> = (0..).zip(&batches).flat_map(|(n, (starts, _))| {
                (0..).zip(starts).map(move |(row, start)| (*start, n << 32 | row))
            }).collect();
            expected.sort_unstable();
            let (mut reader, mut batch, mut found) = (sorted(Rows::new(batches)), Batch::default(), Vec::new());
            while reader.next_batch(&mut batch).unwrap() > 0 {
                found.extend(batch.requests().map(|r| (r.start.get(), r.sector.get())));
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(reader.next_batch(&mut batch).unwrap(), 0);
        }
    }

    #[test]
    fn rows_that_would_wait_for_too_long_are_merged_from_runs() {
        // After ten batches in order, the first ones of three hundred come late.
        let ordered = (0..10).map(|n| (vec![2 * n, 2 * n + 1], 2 * (n + 1)));
        let late = (0..300).map(|n| (vec![1000 + n, 700 - n], 20));
        let rows = Rows::new(ordered.chain(late).collect());
        let (mut reader, mut batch, mut found) = (sorted(rows), Batch::default(), Vec::new());
        reader.run = 64;
        while reader.next_batch(&mut batch).unwrap() > 0 {
            found.extend(batch.starts().iter().map(|start| start.get()));
        }
        assert!(reader.runs.len() > 5, "{} runs", reader.runs.len());
        let expected: Vec<u64> = (0..20).chain(401..=700).chain(1000..1300).collect();
        assert_eq!(found, expected);
    }

    /// What waits is not looked at again for each of many small blocks.
    #[test]
    fn few_rows_at_a_time_are_not_taken_out_of_many_one_by_one() {
        let many = (vec![1_000_000; 1000], 0);
        let small = (0..2000).map(|n| (vec![n], n + 1));
        let rows = Rows::new(std::iter::once(many).chain(small).collect());
        let (mut reader, mut batch, mut batches) = (sorted(rows), Batch::default(), 0);
        let mut last = Nanos::ZERO;
        while reader.next_batch(&mut batch).unwrap() > 0 {
            assert!(batch.starts().is_sorted() && last <= batch.starts()[0]);
            last = batch.starts()[batch.len() - 1];
            batches += 1;
        }
        assert!((3..20).contains(&batches), "{batches} batches");
    }

    #[test]
    fn rows_are_given_back_before_all_have_been_read() {
        let batches = (0..100)
            .map(|n| (vec![10 * n + 9, 10 * n], 10 * (n + 1)))
            .collect();
        let (mut reader, mut batch) = (sorted(Rows::new(batches)), Batch::default());
        for n in 0..100 {
            assert_eq!(reader.next_batch(&mut batch).unwrap(), 2);
            assert_eq!(batch.starts(), [10 * n, 10 * n + 9].map(Nanos::new));
        }
    }

    #[test]
    fn a_row_that_comes_too_late_is_an_error() {
        let rows = Rows::new(vec![(vec![3, 5], 5), (vec![7, 4], 0)]);
        let (mut reader, mut batch) = (sorted(rows), Batch::default());
        assert_eq!(reader.next_batch(&mut batch).unwrap(), 2);
        let error = reader.next_batch(&mut batch).unwrap_err().to_string();
        assert!(
            error.contains("starts at 4 ns") && error.contains("before 5 ns"),
            "{error}"
        );
    }

    #[test]
    fn what_happens_where_time_goes_back_is_one_of_three_words() {
        for (text, what) in [
            ("error", OnBackstep::Error),
            ("shift", OnBackstep::Shift),
            ("sort", OnBackstep::Sort),
        ] {
            assert_eq!(text.parse(), Ok(what));
        }
        assert!("".parse::<OnBackstep>().is_err() && "Sort".parse::<OnBackstep>().is_err());
    }

    #[test]
    fn what_waits_is_looked_at_once_a_quarter_of_it_is_new() {
        // Of 7 rows one is released; behind the next 2, a quarter of 8 is new.
        let first = (vec![0, 9, 9, 9, 9, 9, 9], 1);
        let rows = Rows::new(vec![first, (vec![2, 1], 3), (vec![4], 5), (vec![9], 9)]);
        let (mut reader, mut batch) = (sorted(rows), Batch::default());
        for expected in [&[0_u64][..], &[1, 2], &[4], &[9; 7], &[]] {
            reader.next_batch(&mut batch).unwrap();
            let starts: Vec<u64> = batch.starts().iter().map(|start| start.get()).collect();
            assert_eq!(starts, expected);
        }
    }

    #[test]
    fn a_batch_of_merged_runs_has_no_more_rows_than_any() {
        let most = Batch::ROWS;
        let batches = [(vec![9; most], 0), (vec![7; most], 0), (vec![8], 0)];
        let (mut reader, mut batch) = (sorted(Rows::new(batches.into())), Batch::default());
        reader.run = most;
        for (rows, start) in [(most, 7), (most, 8), (1, 9), (0, 0)] {
            assert_eq!(reader.next_batch(&mut batch).unwrap(), rows);
            assert!(
                batch
                    .starts()
                    .first()
                    .is_none_or(|first| *first == Nanos::new(start))
            );
        }
        assert_eq!(reader.runs.len(), 3);
    }

    #[test]
    fn equal_starts_are_no_step_back() {
        let mut shift = ShiftBacksteps::default();
        let mut metadata = Metadata::default();
        let rows = [5, 5, 4, 9, 9, 2].map(|start| (start, crate::Status::Done));
        let mut batch = crate::testing::Given::reads(rows);
        assert!(shift.apply(&mut batch, &mut metadata).unwrap());
        // After the first step of 1 all is 1 later, after the next one of 7 all is 8 later.
        assert_eq!(batch.starts(), [5, 5, 5, 10, 10, 10].map(Nanos::new));
        let counts: Vec<u64> = metadata.remarks.iter().map(|r| r.count).collect();
        assert_eq!(counts, [2]);
    }
}
