//! Independent copies of a load, merged by start: the load of N times as many users, each with data of its own.
//!
//! Copy k of N begins k/N of the load's duration later, cyclically: what would start after the last request of the load
//! starts that much after the first one instead. Its sectors lie k times the load's end, rounded up to 1 MiB, further
//! on. So there are N times as many requests in the same time, on N times the space.
//!
//! ```text
//! the load   a...bc.d        copy 0   a...bc.d
//!                            copy 1   bc.da...    half of the duration later
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::str::FromStr;

use iosonar_units::{Nanos, Sector};

use super::Spill;
use super::spool::{Cursor, Spool};
use crate::limits::LIMIT;
use crate::{Batch, Metadata, Op, TraceError, TraceReader};

/// How many copies of a load there are, 1 to [`Copies::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies(u32);

impl Copies {
    /// The most copies.
    pub const MOST: u32 = 1000;

    /// As many copies; `None` if they are not 1 to [`Copies::MOST`].
    pub fn new(copies: u64) -> Option<Self> {
        let copies = u32::try_from(copies).ok()?;
        (1..=Self::MOST).contains(&copies).then_some(Self(copies))
    }

    /// How many.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Where as many copies of a load end that itself ends at sector `end`.
    pub fn end_of(self, end: u64) -> u64 {
        let more = u64::from(self.0 - 1);
        stride(end).saturating_mul(more).saturating_add(end)
    }

    /// As many copies of a load that ends at sector `end` as lie within `sectors`; none if the load itself does not.
    pub fn within(end: u64, sectors: u64) -> u32 {
        let Some(room) = sectors.checked_sub(end) else {
            return 0;
        };
        let more = room.checked_div(stride(end)).unwrap_or(u64::MAX);
        more.saturating_add(1).min(u64::from(Self::MOST)) as u32
    }
}

impl FromStr for Copies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let copies = text.trim().parse().ok().and_then(Self::new);
        copies.ok_or_else(|| format!("expected a whole number of copies from 1 to {}", Self::MOST))
    }
}

/// Data of different copies do not share a MiB.
const ALIGN_SECTORS: u64 = 2048;

/// Each copy has a block in memory: all of them together have at most this many rows, or [`FEWEST_ROWS`] each.
const ROWS_IN_MEMORY: usize = 1 << 18;
/// Smaller blocks would not pack well.
const FEWEST_ROWS: usize = 256;

/// How far the sectors of a copy lie beyond those of the one before, if the load ends at sector `end`.
fn stride(end: u64) -> u64 {
    let stride = end.checked_next_multiple_of(ALIGN_SECTORS);
    stride.unwrap_or(u64::MAX)
}

/// The load as it was read.
struct Kept {
    spool: Spool,
    rows_a_block: usize,
    /// When the first request of each block starts.
    block_starts: Vec<Nanos>,
    /// The latest start.
    last: Nanos,
    /// The end of the highest request.
    end: u64,
    /// The highest number of a logical request.
    group: u32,
}

impl Kept {
    fn new(copies: Copies, spill: &Spill) -> Self {
        let rows_a_block = (ROWS_IN_MEMORY / copies.0 as usize).clamp(FEWEST_ROWS, Batch::ROWS);
        Self {
            spool: Spool::with_blocks_of(spill, rows_a_block),
            rows_a_block,
            block_starts: Vec::new(),
            last: Nanos::ZERO,
            end: 0,
            group: 0,
        }
    }

    fn push(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let rows_in_block = (self.spool.rows() % self.rows_a_block as u64) as usize;
        let to_next = (self.rows_a_block - rows_in_block) % self.rows_a_block;
        let firsts = batch.starts().iter().skip(to_next);
        self.block_starts.extend(firsts.step_by(self.rows_a_block));
        for request in batch.requests() {
            self.last = self.last.max(request.start);
            self.group = self.group.max(request.group);
            // A flush means the whole device, wherever it is said to be.
            if request.op != Op::Flush {
                self.end = self.end.max(request.end().get());
            }
        }
        self.spool.push(batch)
    }

    fn span(&self) -> u64 {
        let first = self.block_starts.first().copied().unwrap_or_default();
        self.last.saturating_sub(first).get()
    }

    /// Refuses copies whose sectors or logical requests have no numbers.
    fn check(&self, copies: Copies) -> Result<(), TraceError> {
        let (stride, room) = (stride(self.end), LIMIT.saturating_sub(self.end));
        let by_place = room.checked_div(stride).map_or(u64::MAX, |more| more + 1);
        let by_group = u32::MAX.checked_div(self.group).map_or(u64::MAX, u64::from);
        let (most, limit) = match by_place <= by_group {
            true => (
                by_place,
                format!(
                    "the load ends at sector {}, but all copies must end below sector 2^63",
                    self.end
                ),
            ),
            false => (
                by_group,
                format!(
                    "the load has {} logical requests, but all copies together may have at most 2^32 - 1",
                    self.group
                ),
            ),
        };
        if u64::from(copies.0) <= most {
            return Ok(());
        }
        Err(TraceError::Option(format!(
            "{} copies of this load (--scale-load, load.copies) are too many (at most {most}): {limit}",
            copies.0
        )))
    }
}

/// A copy on its way through the load: first the requests that have come round to the beginning, then the others.
struct Copy {
    /// How much later it begins.
    shift: u64,
    cursor: Cursor,
    batch: Batch,
    row: usize,
    comes_round: bool,
}

impl Copy {
    fn new(shift: u64, kept: &Kept) -> Self {
        let is_before = |start: &Nanos| start.get() <= kept.last.get() - shift;
        // The last block that begins before them may end with some of them.
        let block = kept.block_starts.partition_point(is_before);
        Self {
            shift,
            cursor: Cursor::over(block.saturating_sub(1), kept.spool.blocks()),
            batch: Batch::default(),
            row: 0,
            comes_round: true,
        }
    }

    /// When the request at hand starts, or the next one that is the copy's turn; `None` at the end.
    fn start(&mut self, kept: &Kept) -> Result<Option<Nanos>, TraceError> {
        loop {
            let Some(start) = self.batch.starts().get(self.row).map(|start| start.get()) else {
                self.cursor.next_batch(&kept.spool, &mut self.batch)?;
                self.row = 0;
                if self.batch.is_empty() {
                    if !std::mem::replace(&mut self.comes_round, false) {
                        return Ok(None);
                    }
                    self.cursor = Cursor::over(0, kept.spool.blocks());
                }
                continue;
            };
            let is_beyond = start > kept.last.get() - self.shift;
            match (self.comes_round, is_beyond) {
                (true, true) => return Ok(Some(Nanos::new(start - (kept.span() - self.shift)))),
                (false, false) => return Ok(Some(Nanos::new(start + self.shift))),
                (true, false) => self.row += 1,
                (false, true) => return Ok(None),
            }
        }
    }
}

/// Several copies of a load that is sorted by start; of equal starts the first copy goes first.
pub(super) struct Scaled {
    inner: Box<dyn TraceReader>,
    copies: Copies,
    kept: Kept,
    running: Vec<Copy>,
    heads: BinaryHeap<Reverse<(Nanos, usize)>>,
    begun: bool,
}

impl Scaled {
    pub(super) fn new(inner: Box<dyn TraceReader>, copies: Copies, spill: &Spill) -> Self {
        Self {
            inner,
            copies,
            kept: Kept::new(copies, spill),
            running: Vec::new(),
            heads: BinaryHeap::new(),
            begun: false,
        }
    }

    fn begin(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        while self.inner.next_batch(batch)? > 0 {
            self.kept.push(batch)?;
        }
        self.kept.spool.end_block()?;
        self.kept.check(self.copies)?;
        let (n, span) = (u128::from(self.copies.0), u128::from(self.kept.span()));
        for k in 0..self.copies.0 as usize {
            let shift = span * k as u128 / n;
            let mut copy = Copy::new(shift as u64, &self.kept);
            if let Some(start) = copy.start(&self.kept)? {
                self.heads.push(Reverse((start, k)));
            }
            self.running.push(copy);
        }
        Ok(())
    }
}

impl TraceReader for Scaled {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(batch)?;
        }
        batch.clear();
        let (kept, stride) = (&self.kept, stride(self.kept.end));
        while batch.len() < Batch::ROWS {
            let Some(mut head) = self.heads.peek_mut() else {
                break;
            };
            let Reverse((start, k)) = *head;
            let copy = &mut self.running[k];
            let mut record = copy.batch.record(copy.row);
            let request = &mut record.request;
            request.start = start;
            if request.op != Op::Flush {
                request.sector = Sector::new(request.sector.get() + k as u64 * stride);
            }
            if request.group > 0 {
                request.group += k as u32 * kept.group;
            }
            batch.push(&record);
            batch.set_think(batch.len() - 1, copy.batch.think(copy.row));
            copy.row += 1;
            match copy.start(kept)? {
                Some(next) => *head = Reverse((next, k)),
                None => drop(PeekMut::pop(head)),
            }
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

    use crate::Status;
    use crate::testing::Given;

    #[test]
    fn the_start_of_each_block_is_kept_however_batches_lie_in_blocks() {
        let copies = Copies::new(Copies::MOST.into()).unwrap();
        // 2^18 rows for 1000 copies.
        let rows_a_block = 262;
        for rows_a_batch in [1, 100, 261, 262, 263, 524, 1000] {
            let mut kept = Kept::new(copies, &Spill::default());
            assert_eq!(kept.rows_a_block, rows_a_block);
            let starts: Vec<u64> = (0..2000).map(|i| 10 + 3 * i).collect();
            for rows in starts.chunks(rows_a_batch) {
                let rows = rows.iter().map(|start| (*start, Status::Done));
                kept.push(&Given::reads(rows)).unwrap();
            }
            kept.spool.end_block().unwrap();
            let expected: Vec<Nanos> = starts
                .chunks(rows_a_block)
                .map(|block| Nanos::new(block[0]))
                .collect();
            assert_eq!(kept.block_starts, expected, "{rows_a_batch}");
            assert_eq!(kept.spool.blocks(), expected.len());
            assert_eq!(kept.span(), 3 * 1999);
        }
        for (copies, rows) in [(2, Batch::ROWS), (64, 4096), (65, 4032), (1000, 262)] {
            let kept = Kept::new(Copies::new(copies).unwrap(), &Spill::default());
            assert_eq!(kept.rows_a_block, rows, "{copies}");
        }
    }
}
