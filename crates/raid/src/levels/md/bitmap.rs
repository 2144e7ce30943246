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

    /// 256 bytes and a bit for each chunk, in sectors of 512 bytes, from sector 16 on.
    #[test]
    fn the_bitmap_ends_where_the_bits_of_all_chunks_do() {
        let chunk = Sectors::new(8);
        for (chunks, end) in [
            (1, 17),
            (2048, 17),
            (2049, 18),
            (2048 + 4096, 18),
            (6145, 19),
        ] {
            assert_eq!(Bitmap::end(8 * chunks, chunk), end, "{chunks} chunks");
            assert_eq!(Bitmap::end(8 * chunks - 7, chunk), end, "the last in part");
        }
    }

    /// The first page has the bits of 30,720 chunks, as its first 256 bytes are the header; a whole page after it those of
    /// 32,768.
    #[test]
    fn a_write_sets_the_bits_of_all_its_chunks_and_waits_for_their_pages() {
        let places = |bitmap: &mut Bitmap| -> Vec<_> {
            let mut plan = RequestPlan::default();
            bitmap.add_pages(&mut plan);
            assert_eq!(plan.has_ahead(), !plan.is_empty());
            let subs = plan.sub_requests().iter();
            subs.map(|s| (s.disk, s.sector.get(), s.sectors.get()))
                .collect()
        };
        // 100 chunks on the third page: 13 bytes.
        let chunks = 30_720 + 32_768 + 100;
        let mut bitmap = Bitmap::new(chunks * 10 - 3, Sectors::new(10), vec![0, 3], true);
        let at = Nanos::ZERO;
        bitmap.write(307_190..307_199, at);
        assert_eq!(places(&mut bitmap), [(0, 16, 8), (3, 16, 8)]);
        bitmap.write(307_190..307_200, at);
        assert!(places(&mut bitmap).is_empty(), "its bit is set");
        bitmap.write(307_199..307_201, at);
        assert_eq!(places(&mut bitmap), [(0, 24, 8), (3, 24, 8)]);
        bitmap.write(chunks * 10 - 5..chunks * 10 - 3, at);
        bitmap.write(300_000..300_001, at);
        assert_eq!(
            places(&mut bitmap),
            [(0, 16, 8), (0, 32, 1), (3, 16, 8), (3, 32, 1)],
            "of two writes, in the order of the pages"
        );
    }

    #[test]
    fn a_disk_that_fails_is_not_written_and_no_bit_is_cleared_any_more() {
        let mut bitmap = Bitmap::new(1000, Sectors::new(10), vec![0, 1, 2], true);
        bitmap.lose(1);
        let disks = |bitmap: &mut Bitmap, seconds: u64| -> Vec<usize> {
            let mut plan = RequestPlan::default();
            bitmap.write(0..1, Nanos::from_secs(seconds));
            bitmap.add_pages(&mut plan);
            plan.sub_requests().iter().map(|s| s.disk).collect()
        };
        assert_eq!(disks(&mut bitmap, 0), [0, 2]);
        assert!(disks(&mut bitmap, 1000).is_empty());
    }
}
