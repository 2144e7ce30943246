//! The completions of the last minute on a grid of times and latencies: what a sonar diagram shows.

use std::collections::VecDeque;

use iosonar_trace::{Record, Status};
use iosonar_units::Nanos;

use super::{MINUTE, OpKind};

/// Completions of a kind at about the same time, with about the same latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Echo {
    /// The middle of the time in which they were completed.
    pub time: Nanos,
    /// The middle of their latencies.
    pub latency: Nanos,
    /// Their kind.
    pub kind: EchoKind,
    /// How many.
    pub count: u32,
}

/// How completions differ in a sonar diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoKind {
    /// Requests that were done.
    Done(OpKind),
    /// Requests that failed.
    Failed,
}

const KINDS: [EchoKind; 4] = [
    EchoKind::Done(OpKind::Read),
    EchoKind::Done(OpKind::Write),
    EchoKind::Done(OpKind::Other),
    EchoKind::Failed,
];

/// Columns of a second: twice those of a terminal of a thousand characters would be 33.
const COLUMNS: u64 = 16;
/// Rows of each doubling of the latency.
const ROWS_BITS: u32 = 3;
const ROWS: usize = 64 << ROWS_BITS;
const CELLS: usize = COLUMNS as usize * KINDS.len() * ROWS;

/// A grid for each second.
pub(super) struct Echoes {
    now: Vec<u32>,
    /// The seconds before, the last one at the end: cells that are not empty.
    past: VecDeque<Vec<(u16, u32)>>,
}

impl Default for Echoes {
    fn default() -> Self {
        Self {
            now: vec![0; CELLS],
            past: VecDeque::new(),
        }
    }
}

/// The row of a latency, and its middle.
fn row(latency: Nanos) -> usize {
    let ns = latency.get();
    match ns.checked_ilog2() {
        None | Some(0..ROWS_BITS) => ns as usize,
        Some(doubling) => {
            let part = (ns >> (doubling - ROWS_BITS)) as usize & ((1 << ROWS_BITS) - 1);
            (((doubling - ROWS_BITS + 1) as usize) << ROWS_BITS) + part
        }
    }
}

fn middle(row: usize) -> Nanos {
    let (doubling, part) = (row >> ROWS_BITS, (row & ((1 << ROWS_BITS) - 1)) as u64);
    let Some(shift) = doubling.checked_sub(1) else {
        return Nanos::new(part);
    };
    let low = ((1 << ROWS_BITS) + part) << shift;
    Nanos::new(low + ((1_u64 << shift) >> 1))
}

impl Echoes {
    pub(super) fn push(&mut self, time: Nanos, record: &Record) {
        let Some(latency) = record.outcome.latency else {
            return;
        };
        let kind = match record.outcome.status {
            Status::Done => OpKind::of(record.request.op) as usize,
            _ => KINDS.len() - 1,
        };
        let second = Nanos::SECOND.get();
        let column = (time.get() % second * COLUMNS / second) as usize;
        self.now[(column * KINDS.len() + kind) * ROWS + row(latency)] += 1;
    }

    /// A second is over.
    pub(super) fn turn(&mut self) {
        if self.past.len() == MINUTE as usize {
            self.past.pop_front();
        }
        let cells = self.now.iter_mut().enumerate();
        let cells = cells.filter(|(_, count)| **count > 0);
        let cells = cells.map(|(cell, count)| (cell as u16, std::mem::take(count)));
        self.past.push_back(cells.collect());
    }

    /// All, where `second` is the one under way.
    pub(super) fn all(&self, second: u64) -> impl Iterator<Item = Echo> + '_ {
        let first = second - self.past.len() as u64;
        let past = (first..).zip(&self.past);
        let past = past
            .flat_map(|(second, cells)| cells.iter().map(move |&(cell, n)| echo(second, cell, n)));
        let now = (0..).zip(&self.now).filter(|(_, count)| **count > 0);
        past.chain(now.map(move |(cell, &count)| echo(second, cell, count)))
    }
}

fn echo(second: u64, cell: u16, count: u32) -> Echo {
    let (place, row) = (usize::from(cell) / ROWS, usize::from(cell) % ROWS);
    let (column, kind) = ((place / KINDS.len()) as u64, place % KINDS.len());
    let width = Nanos::SECOND.get() / COLUMNS;
    Echo {
        time: Nanos::new(second * Nanos::SECOND.get() + column * width + width / 2),
        latency: middle(row),
        kind: KINDS[kind],
        count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_shown_within_a_sixteenth_of_its_place() {
        let mut last = 0;
        for ns in (0..4096)
            .chain((12..64).map(|n| (1 << n) + 12_345))
            .chain([u64::MAX])
        {
            let row = row(Nanos::new(ns));
            assert!(row >= last && row < ROWS, "{ns}: {row}");
            last = row;
            let shown = middle(row).get();
            assert!(shown.abs_diff(ns) <= ns / 15, "{ns}: {shown}");
        }
    }
}
