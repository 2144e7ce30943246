//! Times forwards, everything else backwards.

use super::Spill;
use super::spool::{Cursor, Spool};
use crate::formats::ios::BlockDecoder;
use crate::{Batch, Metadata, TraceError, TraceReader};

pub(super) struct Reversed {
    inner: Box<dyn TraceReader>,
    spool: Spool,
    /// Whether the load has been read.
    read: bool,
    forwards: Cursor,
    times: Batch,
    /// The block that is read backwards, and how many of its rows are left.
    block: Batch,
    rows_left: usize,
    blocks_left: usize,
}

impl Reversed {
    pub(super) fn new(inner: Box<dyn TraceReader>, spill: &Spill) -> Self {
        Self {
            inner,
            spool: Spool::new(spill),
            read: false,
            forwards: Cursor::default(),
            times: Batch::default(),
            block: Batch::default(),
            rows_left: 0,
            blocks_left: 0,
        }
    }

    fn read_all(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        self.read = true;
        while self.inner.next_batch(batch)? > 0 {
            self.spool.push(batch)?;
        }
        self.spool.end_block()?;
        self.blocks_left = self.spool.blocks();
        self.forwards = Cursor::over(0, self.blocks_left);
        Ok(())
    }

    fn last_row(&mut self) -> Result<usize, TraceError> {
        if self.rows_left == 0 {
            self.blocks_left -= 1;
            let mut decoder = BlockDecoder::default();
            self.spool.read(self.blocks_left, &mut decoder)?;
            self.block.clear();
            while decoder.left() > 0 && decoder.next(&mut self.block).is_some() {}
            self.rows_left = self.block.len();
        }
        self.rows_left -= 1;
        Ok(self.rows_left)
    }
}

impl TraceReader for Reversed {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if !self.read {
            self.read_all(batch)?;
        }
        let mut times = std::mem::take(&mut self.times);
        let outcome = self.forwards.next_batch(&self.spool, &mut times);
        batch.clear();
        outcome?;
        for &start in times.starts() {
            let row = self.last_row()?;
            batch.push_row(&self.block, row);
            if let Some(last) = batch.starts_mut().last_mut() {
                *last = start;
            }
        }
        self.times = times;
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }
}
