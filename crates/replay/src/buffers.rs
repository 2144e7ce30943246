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
}
