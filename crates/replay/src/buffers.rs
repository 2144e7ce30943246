//! Memory for the data of requests, and what is written.

use std::io;

use iosonar_linux::memory::{Buffer, Region};

/// The data of writes differ from page to page of this size.
const PAGE: usize = 4096;

/// Random data, fast: xorshift64* (Vigna 2016). Good enough that no storage can compress it.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let random = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
            word.copy_from_slice(&random[..word.len()]);
        }
    }
}

/// The buffers of one kind of requests of a lane, as many as may be in flight. A request takes one, and its completion
/// gives it back.
pub(crate) struct Buffers {
    free: Vec<Buffer>,
    unique: Unique,
}

impl Buffers {
    /// `count` buffers of at least `bytes` each. Memory that no request has touched costs nothing.
    pub(crate) fn new(count: u32, bytes: usize) -> io::Result<Self> {
        let mut free = Buffer::pool(count, bytes)?;
        // The lowest first: what was used lately is in the cache.
        free.reverse();
        Ok(Self {
            free,
            unique: Unique::new(count),
        })
    }

    /// Brings the first buffers into memory, as many as fit into `memory` bytes, so that the first requests do
    /// not wait for it; `random` makes them data that can be written.
    pub(crate) fn warm_up(&mut self, memory: usize, random: Option<u8>) {
        // None of a load with enormous requests, which are seldom many at once.
        let mut left = memory;
        for buffer in self.free.iter_mut().rev() {
            let bytes = buffer.len();
            let Some(rest) = left.checked_sub(bytes) else {
                return;
            };
            left = rest;
            match random {
                Some(percent) => self.unique.make(buffer, bytes, 0, percent),
                None => buffer.fill(0),
            }
        }
    }

    /// The memory that all buffers lie in.
    ///
    /// # Panics
    /// If requests have all of them.
    pub(crate) fn region(&self) -> Region {
        self.free.first().expect("no request has begun").region()
    }

    /// A buffer for a request.
    #[inline]
    pub(crate) fn take(&mut self) -> Buffer {
        let free = self.free.pop();
        free.expect("as many buffers as requests may be in flight")
    }

    /// The buffer of a request that is complete.
    #[inline]
    pub(crate) fn give_back(&mut self, buffer: Buffer) {
        self.free.push(buffer);
    }

    /// Makes `bytes` of a buffer of these unique ([`Unique::make`]).
    #[inline]
    pub(crate) fn make_unique(
        &mut self,
        buffer: &mut Buffer,
        bytes: usize,
        number: u64,
        percent: u8,
    ) {
        self.unique.make(buffer, bytes, number, percent);
    }

    /// Frees the buffers that no request has, now.
    pub(crate) fn free(&mut self) {
        self.free = Vec::new();
    }
}

/// Makes data that no storage can compress, nor find twice.
pub(crate) struct Unique {
    /// How much of each buffer is random already, by its number.
    filled: Vec<usize>,
}

impl Unique {
    /// For the `count` buffers of a pool, which hold nothing so far.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            filled: vec![0; count as usize],
        }
    }

    /// Makes `bytes` of a buffer random, and stamps each page with the request's number. `compressible_percent` of each
    /// page are zeros.
    pub(crate) fn make(
        &mut self,
        buffer: &mut Buffer,
        bytes: usize,
        number: u64,
        compressible_percent: u8,
    ) {
        let slot = buffer.number();
        // Only as much as is needed: the longest request of a load may be very long.
        let filled = &mut self.filled[slot as usize];
        if *filled < bytes {
            let seed = 0x9e37_79b9 ^ u64::from(slot) << 20 ^ *filled as u64;
            // Whole pages: their zeros are at a fixed place.
            let from = *filled / PAGE * PAGE;
            Noise::new(seed).fill(&mut buffer[from..bytes]);
            for page in buffer[from..bytes].chunks_mut(PAGE) {
                let zeros = page.len() * usize::from(compressible_percent.min(100)) / 100;
                let random = page.len() - zeros;
                page[random..].fill(0);
            }
            *filled = bytes;
        }
        for (page, data) in buffer[..bytes].chunks_mut(PAGE).enumerate() {
            data[..8].copy_from_slice(&number.to_le_bytes());
            data[8..16].copy_from_slice(&(page as u64).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_write_makes_no_large_buffer_random() {
        let mut buffer = Buffer::new(1 << 30).unwrap();
        let mut unique = Unique::new(1);
        unique.make(&mut buffer, 4096, 1, 0);
        assert_eq!(unique.filled, [4096]);
        unique.make(&mut buffer, 8192, 2, 0);
        assert_eq!(unique.filled, [8192]);
    }

    #[test]
    fn what_is_written_is_never_the_same_twice() {
        let mut buffers = Buffers::new(2, 8192).unwrap();
        let mut taken = [buffers.take(), buffers.take()];
        let mut content = |buffer: usize, number| {
            buffers.make_unique(&mut taken[buffer], 8192, number, 0);
            taken[buffer].to_vec()
        };
        let all = [content(0, 1), content(1, 1), content(0, 2)];
        let pages: std::collections::HashSet<_> = all.iter().flat_map(|b| b.chunks(4096)).collect();
        assert_eq!(pages.len(), 6);
    }

    #[test]
    #[should_panic(expected = "as many buffers as requests may be in flight")]
    fn a_buffer_has_one_request_at_a_time() {
        let mut buffers = Buffers::new(1, 4096).unwrap();
        let _taken = buffers.take();
        buffers.take();
    }

    #[test]
    fn noise_is_that_of_xorshift64_star() {
        // From 1 the shifts give 2^25 + 1, and from that 2^50 + 2^38 + 2^23 + 2^13 + 2^11 + 1; each is multiplied.
        let multiplier = 0x2545_f491_4f6c_dd1d_u64;
        let states: [u64; 2] = [(1 << 25) + 1, 0x4_0040_0080_2801];
        let words = states.map(|state| state.wrapping_mul(multiplier));
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for length in [0, 1, 7, 8, 9, 16] {
            let mut bytes = vec![0; length];
            Noise::new(1).fill(&mut bytes);
            assert_eq!(bytes, expected[..length]);
        }
        // It has no state of zero, in which it would stay.
        let mut bytes = [0; 16];
        Noise::new(0).fill(&mut bytes);
        assert_eq!(bytes, expected[..]);
    }

    #[test]
    fn a_part_of_each_page_is_zeros_and_the_rest_is_not() {
        for (bytes, percent, random) in [
            (8192, 0, [4096, 4096]),
            (8192, 25, [3072, 3072]),
            (8192, 100, [0, 0]),
            (8192, 200, [0, 0]),
            // The second page is half as long.
            (6144, 50, [2048, 1024]),
        ] {
            let mut buffer = Buffer::new(8192).unwrap();
            Unique::new(1).make(&mut buffer, bytes, 0x0102_0304, percent);
            for (i, page) in buffer[..bytes].chunks(4096).enumerate() {
                assert_eq!(page[..8], [4, 3, 2, 1, 0, 0, 0, 0], "the request");
                assert_eq!(page[8..16], [i as u8, 0, 0, 0, 0, 0, 0, 0], "the page");
                let from = random[i].max(16);
                assert!(page[from..].iter().all(|byte| *byte == 0));
                // Of random bytes, one in 256 is zero.
                let zeros = page[16..from].split(|byte| *byte == 0).count() - 1;
                assert!(zeros < (from - 16) / 50 + 1, "{zeros} {percent}");
            }
        }
    }

    #[test]
    fn what_is_random_already_stays_unless_its_page_was_begun() {
        let mut buffer = Buffer::new(16_384).unwrap();
        let mut unique = Unique::new(1);
        unique.make(&mut buffer, 4096, 1, 0);
        let first = buffer[16..4096].to_vec();
        unique.make(&mut buffer, 6000, 2, 0);
        assert_eq!(buffer[16..4096], first[..]);
        let begun = buffer[4096 + 16..6000].to_vec();
        assert!(buffer[6000..].iter().all(|byte| *byte == 0));
        // The rest of the second page is needed: all of that is made anew, and nothing of the first.
        unique.make(&mut buffer, 8192, 3, 0);
        assert_eq!(buffer[16..4096], first[..]);
        assert_ne!(buffer[4096 + 16..6000], begun[..]);
        assert!(buffer[8192..].iter().all(|byte| *byte == 0));
        // A shorter request needs nothing, and stamps only its pages.
        let before = buffer.to_vec();
        unique.make(&mut buffer, 4096, 4, 0);
        assert_eq!(buffer[0], 4);
        assert_eq!(buffer[8..], before[8..]);
        assert_eq!(unique.filled, [8192]);
    }

    #[test]
    fn the_first_buffers_are_warm_as_far_as_memory_goes() {
        for (memory, random, warm) in [
            (16_383, Some(0), [8192, 0, 0, 0]),
            (16_384, Some(0), [8192, 8192, 0, 0]),
            (1 << 20, Some(0), [8192; 4]),
            (8191, Some(0), [0; 4]),
            (1 << 20, None, [0; 4]),
        ] {
            let mut buffers = Buffers::new(4, 8192).unwrap();
            buffers.warm_up(memory, random);
            assert_eq!(buffers.unique.filled, warm, "{memory}");
            let numbers: Vec<u32> = (0..4).map(|_| buffers.take().number()).collect();
            assert_eq!(numbers, [0, 1, 2, 3], "the warm ones come first");
        }
    }

    #[test]
    fn a_buffer_that_came_back_is_the_next_to_be_taken() {
        let mut buffers = Buffers::new(3, 4096).unwrap();
        let [first, second] = [buffers.take(), buffers.take()];
        assert_eq!((first.number(), second.number()), (0, 1));
        buffers.give_back(first);
        assert_eq!(buffers.take().number(), 0);
        drop(second);
        assert_eq!(buffers.take().number(), 2);
        buffers.free();
        assert!(buffers.free.is_empty());
    }

    #[test]
    fn a_request_as_long_as_the_one_before_finds_its_data_made() {
        let mut buffer = Buffer::new(8192).unwrap();
        let mut unique = Unique::new(1);
        unique.make(&mut buffer, 6000, 1, 0);
        let before = buffer.to_vec();
        unique.make(&mut buffer, 6000, 1, 0);
        assert_eq!(buffer[..], before[..]);
    }
}
