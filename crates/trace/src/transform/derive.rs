//! New loads from the heaviest pieces of others.

use std::path::Path;

use iosonar_units::Nanos;

use super::Spill;
use super::spool::Spool;
use crate::formats::ios::BlockDecoder;
use crate::{Batch, Metadata, SortedByStart, TraceError, TraceReader};

/// A piece of a load: some rows behind each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Piece {
    first_row: u64,
    rows: u64,
}

/// The outputs of [`derive()`], to be read one by one.
pub struct Derived {
    spool: Spool,
    outputs: Vec<Vec<Piece>>,
    /// The number of the first row of each block.
    first_rows: Vec<u64>,
    metadata: Metadata,
    pieces: usize,
    /// Rows of the incomplete last piece.
    dropped: u64,
}

/// Cuts a load into pieces `[k W, (k+1) W)` from time 0, sorts them by their number of requests, heaviest
/// first (of equal ones the earlier), and deals them round-robin to `outputs` loads. In an output the times
/// of a piece count from its first request, and the next piece starts at the time of the last request of the
/// one before; outcomes are cleared. The incomplete last piece is dropped.
///
/// # Errors
/// If the load cannot be read, or is not sorted.
pub fn derive(
    reader: Box<dyn TraceReader>,
    path: &Path,
    piece: Nanos,
    outputs: usize,
    spill: &Spill,
) -> Result<Derived, TraceError> {
    let mut reader = SortedByStart::new(reader, path.to_owned());
    let mut spool = Spool::new(spill);
    let mut batch = Batch::default();
    let (mut pieces, mut current, mut number, mut row) = (Vec::new(), Piece::default(), 0, 0);
    while reader.next_batch(&mut batch)? > 0 {
        for start in batch.starts() {
            let of = start.get() / piece.get().max(1);
            if of != number {
                pieces.push(current);
                number = of;
                current = Piece {
                    first_row: row,
                    rows: 0,
                };
            }
            current.rows += 1;
            row += 1;
        }
        spool.push(&batch)?;
    }
    spool.end_block()?;
    // The last one was not followed by another, so it is not known to be whole.
    pieces.retain(|piece| piece.rows > 0);
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.rows));
    let mut dealt = vec![Vec::new(); outputs.max(1)];
    for (i, piece) in pieces.iter().enumerate() {
        dealt[i % outputs.max(1)].push(*piece);
    }
    let mut first_rows = Vec::with_capacity(spool.blocks());
    let mut first = 0;
    for block in 0..spool.blocks() {
        first_rows.push(first);
        first += u64::from(spool.rows_of(block));
    }
    Ok(Derived {
        spool,
        outputs: dealt,
        first_rows,
        metadata: reader.metadata().clone(),
        pieces: pieces.len(),
        dropped: current.rows,
    })
}

impl Derived {
    /// How many pieces there are in all outputs.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// How many rows the incomplete last piece had, which is in no output.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What the load said about itself.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Writes the rows of output `number` to `write`, batch by batch.
    ///
    /// # Errors
    /// If the load cannot be read again, and what `write` fails with.
    pub fn output(
        &self,
        number: usize,
        mut write: impl FnMut(&Batch) -> Result<(), TraceError>,
    ) -> Result<u64, TraceError> {
        let (mut begin, mut last, mut rows) = (Nanos::ZERO, Nanos::ZERO, 0);
        let mut out = Batch::default();
        for piece in &self.outputs[number] {
            let mut first = None;
            self.rows_of(*piece, |batch, row| {
                let start = batch.starts()[row];
                let from = *first.get_or_insert(start);
                out.push_row(batch, row);
                last = begin.saturating_add(start - from);
                if let Some(time) = out.starts_mut().last_mut() {
                    *time = last;
                }
                rows += 1;
                if out.len() == Batch::ROWS {
                    out.clear_outcomes();
                    write(&out)?;
                    out.clear();
                }
                Ok(())
            })?;
            begin = last;
        }
        out.clear_outcomes();
        write(&out)?;
        Ok(rows)
    }

    fn rows_of(
        &self,
        piece: Piece,
        mut take: impl FnMut(&Batch, usize) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let (mut decoder, mut batch) = (BlockDecoder::default(), Batch::default());
        let end = piece.first_row + piece.rows;
        let mut block = self
            .first_rows
            .partition_point(|first| *first <= piece.first_row)
            - 1;
        while block < self.first_rows.len() && self.first_rows[block] < end {
            self.spool.read(block, &mut decoder)?;
            let mut row_number = self.first_rows[block];
            while decoder.left() > 0 {
                batch.clear();
                decoder.next(&mut batch);
                for row in 0..batch.len() {
                    if (piece.first_row..end).contains(&row_number) {
                        take(&batch, row)?;
                    }
                    row_number += 1;
                }
            }
            block += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Status;
    use crate::testing::Given;

    #[test]
    fn pieces_across_blocks_count_from_their_first_request() {
        // A request each nanosecond, of more than one block (65,536); the last 2,000 are of a piece that is not whole.
        let batches = (0..7).map(|i| {
            let rows = (10_000 * i)..(10_000 * (i + 1));
            Given::reads(rows.map(|start| (start, Status::Done)))
        });
        let given = Box::new(Given::new(batches));
        let (path, spill) = (Path::new("x"), Spill::default());
        let derived = derive(given, path, Nanos::new(34_000), 3, &spill).unwrap();
        assert_eq!((derived.pieces(), derived.dropped()), (2, 2_000));
        assert_eq!(derived.metadata().devices, ["sda"]);
        for (output, expected) in [(0, 34_000), (1, 34_000), (2, 0)] {
            let (mut starts, mut sizes) = (Vec::new(), Vec::new());
            let rows = derived.output(output, |batch| {
                starts.extend(batch.starts().iter().map(|start| start.get()));
                sizes.push(batch.len());
                Ok(())
            });
            assert_eq!(rows.unwrap(), expected, "{output}");
            // All batches but the last are full.
            let rest = expected as usize % Batch::ROWS;
            assert_eq!(sizes.pop(), Some(rest));
            assert!(sizes.iter().all(|rows| *rows == Batch::ROWS), "{sizes:?}");
            assert!(starts.into_iter().eq(0..expected), "{output}");
        }
    }

    #[test]
    fn heavier_pieces_are_dealt_first_and_follow_each_other() {
        // Pieces of 10 ns with 1, 3 and 2 requests, and one that is not whole.
        let starts = [4, 11, 12, 19, 20, 26, 30];
        let given = Given::new([Given::reads(starts.map(|start| (start, Status::Done)))]);
        let (path, spill) = (Path::new("x"), Spill::default());
        let derived = derive(Box::new(given), path, Nanos::new(10), 2, &spill).unwrap();
        assert_eq!((derived.pieces(), derived.dropped()), (3, 1));
        // The first output has the pieces with 3 and with 1, whose only request comes when the other ended, 8 ns on.
        for (output, expected) in [(0, &[0, 1, 8, 8][..]), (1, &[0, 6])] {
            let mut starts = Vec::new();
            let write = |batch: &Batch| {
                starts.extend(batch.starts().iter().map(|start| start.get()));
                Ok(())
            };
            derived.output(output, write).unwrap();
            assert_eq!(starts, expected, "{output}");
        }
    }

    #[test]
    fn pieces_without_requests_are_none() {
        for (starts, pieces, dropped) in [
            (&[25, 31][..], 1, 1),
            (&[5, 65], 1, 1),
            (&[25], 0, 1),
            (&[], 0, 0),
        ] {
            let rows = starts.iter().map(|start| (*start, Status::Done));
            let given = Box::new(Given::new([Given::reads(rows)]));
            let (path, spill) = (Path::new("x"), Spill::default());
            let derived = derive(given, path, Nanos::new(10), 2, &spill).unwrap();
            assert_eq!(
                (derived.pieces(), derived.dropped()),
                (pieces, dropped),
                "{starts:?}"
            );
        }
    }
}
