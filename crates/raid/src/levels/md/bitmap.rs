//! The write-intent bitmap: which chunks of an array may differ between its disks.
//!
//! The first write to a chunk sets its bit, and waits until the page of the bitmap is on all disks. md
//! looks at all bits every five seconds, and clears one the second time that nothing was written to its chunk since. While a disk
//! is lost it clears none. The writes of pages whose bits were cleared are left out here.
//!
//! ```text
//!  sector 8     16                                          data offset
//!  superblock │ 256 bytes, then a bit for each chunk: pages │ data
//! ```

use std::ops::Range;

use iosonar_units::{Nanos, Sector, Sectors};

use crate::RequestPlan;

/// Where the bitmap begins on each disk.
const BEGIN: u64 = 16;
/// The bytes of its header, and of a page.
const HEADER: u64 = 256;
const PAGE: u64 = 4096;
/// How often md looks at the bits.
const INTERVAL: Nanos = Nanos::from_secs(5);

/// The bitmap of an array.
#[derive(Clone, Debug)]
pub struct Bitmap {
    /// Sectors of a chunk of the bitmap.
    chunk: u64,
    disks: Vec<usize>,
    /// Whether bits are cleared.
    clears: bool,
    /// In which interval each chunk was written to last, from 1; 0: its bit is clear.
    written: Vec<u32>,
    /// The pages to write for the request at hand.
    pages: Vec<u64>,
}

impl Bitmap {
    /// The bitmap of `sectors` sectors in chunks of `chunk`, on `disks`; bits are cleared if none is lost.
    pub(super) fn new(sectors: u64, chunk: Sectors, disks: Vec<usize>, clears: bool) -> Self {
        let chunk = u64::from(chunk.get());
        Self {
            chunk,
            disks,
            clears,
            written: vec![0; sectors.div_ceil(chunk) as usize],
            pages: Vec::new(),
        }
    }

    /// A disk fails: its pages are written no more, and bits are no longer cleared.
    pub(super) fn lose(&mut self, disk: usize) {
        self.disks.retain(|&other| other != disk);
        self.clears = false;
    }

    /// The number of sectors that the bitmap takes in front of the data.
    pub fn end(sectors: u64, chunk: Sectors) -> u64 {
        let bits = sectors.div_ceil(u64::from(chunk.get()));
        BEGIN + (HEADER + bits.div_ceil(8)).div_ceil(512)
    }

    /// A write to these sectors.
    pub(super) fn write(&mut self, sectors: Range<u64>, at: Nanos) {
        let interval = 1 + (at.get() / INTERVAL.get()) as u32;
        for chunk in sectors.start / self.chunk..sectors.end.div_ceil(self.chunk) {
            let last = &mut self.written[chunk as usize];
            if *last == 0 || (self.clears && interval > *last + 1) {
                let page = (HEADER + chunk / 8) / PAGE;
                if let Err(place) = self.pages.binary_search(&page) {
                    self.pages.insert(place, page);
                }
            }
            *last = interval.max(*last);
        }
    }

    /// Adds the pages of the writes up to now to the empty plan, all other stages of which wait for them.
    pub(super) fn add_pages(&mut self, plan: &mut RequestPlan) {
        if self.pages.is_empty() {
            return;
        }
        let bytes = HEADER + (self.written.len() as u64).div_ceil(8);
        for &disk in &self.disks {
            for page in &self.pages {
                let rest = (bytes - page * PAGE).min(PAGE);
                let sector = Sector::new(BEGIN + page * (PAGE / 512));
                plan.add(disk, sector, Sectors::new(rest.div_ceil(512) as u32));
            }
        }
        self.pages.clear();
        plan.ahead();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_set_again_when_it_was_cleared() {
        let mut plan = RequestPlan::default();
        for (clears, expected) in [(true, [1, 0, 0, 1, 0]), (false, [1, 0, 0, 0, 0])] {
            let mut bitmap = Bitmap::new(100_000, Sectors::new(1000), vec![2], clears);
            for (second, expected) in [1, 4, 9, 16, 20].into_iter().zip(expected) {
                plan.clear();
                bitmap.write(1000..2000, Nanos::from_secs(second));
                bitmap.add_pages(&mut plan);
                assert_eq!(plan.len(), expected, "at {second} s");
            }
        }
        assert_eq!(Bitmap::end(100_000, Sectors::new(1000)), 17);
    }
}
