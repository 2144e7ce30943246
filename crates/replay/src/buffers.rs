//! Memory for the data of requests, and what is written.
//!
//! Here and in the engines, which hand this memory to the kernel, is all `unsafe` code.

#![allow(unsafe_code)] // Memory that the kernel writes to.

use std::io;
use std::ptr::NonNull;

use crate::engine::Region;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Pages are the largest alignment that any device asks for.
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

/// One buffer per place in the in-flight table, page aligned. Memory that no request has touched
/// costs nothing.
pub(crate) struct Buffers {
    base: NonNull<u8>,
    stride: usize,
    count: usize,
    /// How much of each buffer is random already.
    filled: Vec<usize>,
}

// SAFETY: the mapping belongs to whoever has the buffers.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `count` buffers of at least `bytes` each.
    pub(crate) fn new(count: usize, bytes: usize) -> io::Result<Self> {
        let too_large = || io::Error::new(io::ErrorKind::OutOfMemory, "the buffers are too large");
        let stride = bytes
            .checked_next_multiple_of(PAGE)
            .ok_or_else(too_large)?
            .max(PAGE);
        let all = stride.checked_mul(count).ok_or_else(too_large)?;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of
        // ours.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                all,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self {
            base,
            stride,
            count,
            filled: vec![0; count],
        })
    }

    /// The address of buffer `slot`. Whoever hands it to the kernel sees to it that the slot is
    /// not used again before the kernel is done.
    pub(crate) fn address(&self, slot: u32) -> *mut u8 {
        assert!((slot as usize) < self.count);
        // SAFETY: the offset is within the mapping.
        unsafe { self.base.as_ptr().add(slot as usize * self.stride) }
    }

    /// Brings the first buffers into memory, as many as fit into `bytes`, so that the first requests do
    /// not wait for it; `random` makes them data that can be written.
    pub(crate) fn warm_up(&mut self, bytes: usize, random: Option<u8>) {
        // None of a load with enormous requests, which are seldom many at once.
        let buffers = (bytes / self.stride).min(self.count);
        for slot in 0..buffers {
            match random {
                Some(percent) => self.make_unique(slot as u32, self.stride, 0, percent),
                None => self.bytes_mut(slot as u32, self.stride).fill(0),
            }
        }
    }

    /// The memory that all buffers lie in.
    pub(crate) fn region(&self) -> Region {
        Region {
            start: self.base,
            bytes: self.stride * self.count,
        }
    }

    /// The first `bytes` of buffer `slot`, which no request uses.
    pub(crate) fn bytes_mut(&mut self, slot: u32, bytes: usize) -> &mut [u8] {
        assert!(bytes <= self.stride);
        // SAFETY: the buffer is within the mapping, and whoever calls knows that the kernel does not
        // write to it now.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), bytes) }
    }

    /// Makes `bytes` of buffer `slot` data that no storage can compress, nor find twice: random,
    /// and each page stamped with the request's number.
    ///
    /// `compressible_percent` of each page are zeros.
    pub(crate) fn make_unique(
        &mut self,
        slot: u32,
        bytes: usize,
        number: u64,
        compressible_percent: u8,
    ) {
        assert!(bytes <= self.stride);
        let address = self.address(slot);
        // SAFETY: the buffer is within the mapping, and the slot is free: no request uses it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(address, self.stride) };
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

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, of this length, and nobody has a reference into it: requests
        // in flight are waited for before the session ends. A failure leaves it mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.stride * self.count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_write_makes_no_large_buffer_random() {
        let mut buffers = Buffers::new(1, 1 << 30).unwrap();
        buffers.make_unique(0, 4096, 1, 0);
        assert_eq!(buffers.filled, [4096]);
        buffers.make_unique(0, 8192, 2, 0);
        assert_eq!(buffers.filled, [8192]);
    }

    #[test]
    fn more_memory_than_there_are_addresses_is_an_error() {
        assert!(Buffers::new(usize::MAX / 2, 8192).is_err());
    }

    #[test]
    fn what_is_written_is_never_the_same_twice() {
        let mut buffers = Buffers::new(2, 8192).unwrap();
        let mut content = |slot, number| {
            buffers.make_unique(slot, 8192, number, 0);
            // SAFETY: the buffer is within the mapping and nobody writes to it now.
            unsafe { std::slice::from_raw_parts(buffers.address(slot), 8192) }.to_vec()
        };
        let all = [content(0, 1), content(1, 1), content(0, 2)];
        let pages: std::collections::HashSet<_> = all.iter().flat_map(|b| b.chunks(4096)).collect();
        assert_eq!(pages.len(), 6);
    }
}
