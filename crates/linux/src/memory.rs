//! Memory that the kernel reads and writes.
//!
//! A [`Buffer`] has one owner at a time. While a device reads or writes it, that owner is the [`Ring`]: submitting an
//! access moves its buffer there, and its completion moves it back, so that no code can touch the memory meanwhile.
//!
//! ```text
//!  Buffer ─► Loan (entry and buffer) ─► Ring ─► kernel ─► completion ─► Buffer
//! ```
//!
//! The memory of a pool is unmapped when the last of its buffers is dropped. A ring that is dropped before everything in
//! it is complete keeps those buffers for ever, because the kernel may still write to them.

#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

mod ring;

pub use ring::{Completed, Completion, Loan, Ring, RingSetup, Span, Submission};

/// The largest alignment that any device asks for, in bytes.
const PAGE: usize = 4096;

/// Pages of memory of our own, all zeros at first. What was never touched takes no memory.
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and lends its memory by the rules of references.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    /// `bytes` of memory.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, Self::ACCESS, flags) }?;
        Self::at(start.cast(), bytes)
    }

    /// `bytes` of a new nameless file in `directory`, whose space is allocated: a full file system would otherwise end
    /// the process when the memory is touched.
    ///
    /// # Errors
    /// If the file cannot be created, or the file system has no room for it.
    pub fn in_file(directory: &Path, bytes: usize) -> io::Result<Self> {
        let file = nameless(directory)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes as u64)?;
        let flags = MapFlags::SHARED;
        // SAFETY: the address is of the kernel's choice, and no other code has the file, which was created here and has
        // no name, so nothing else changes or truncates it.
        let start = unsafe { mmap(null_mut(), bytes, Self::ACCESS, flags, &file, 0) }?;
        Self::at(start.cast(), bytes)
    }

    fn at(start: *mut u8, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self { start, bytes })
    }

    /// The memory as numbers.
    #[inline]
    pub fn words(&self) -> &[u32] {
        // SAFETY: the memory is mapped as long as `self` lives, aligned to pages, and changed through `&mut self` only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / 4) }
    }

    /// The memory as numbers, to change them.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and `self` is borrowed for changes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / 4) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, of this length, and no reference into it is left. A failure leaves it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A new file without a name, which other processes do not find.
fn nameless(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // File systems without nameless files.
    let path = directory.join(format!(".iosonar-tables.{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Memory that several buffers of one size lie in.
struct Pool {
    mapping: Mapping,
    /// From one buffer to the next, in bytes.
    stride: usize,
}

/// A piece of memory that begins on a page and has one owner: it can be neither copied nor shared.
pub struct Buffer {
    pool: Arc<Pool>,
    number: u32,
}

/// The memory of all buffers of a pool, to be registered with a ring.
#[derive(Clone)]
pub struct Region(Arc<Pool>);

impl Region {
    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.mapping.bytes
    }

    /// Whether the memory of a buffer is part of it.
    pub fn holds(&self, buffer: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &buffer.pool)
    }
}

impl Buffer {
    /// A buffer of at least `bytes`.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let pool = Arc::new(Pool::of(1, bytes)?);
        Ok(Self { pool, number: 0 })
    }

    /// `count` buffers of at least `bytes` each, in the order of their numbers.
    ///
    /// # Errors
    /// If the system has no room for them.
    pub fn pool(count: u32, bytes: usize) -> io::Result<Vec<Self>> {
        let pool = Arc::new(Pool::of(count as usize, bytes)?);
        let buffer = |number| Self {
            pool: Arc::clone(&pool),
            number,
        };
        Ok((0..count).map(buffer).collect())
    }

    /// Which buffer of its pool it is, from 0.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The memory that all buffers of its pool lie in.
    pub fn region(&self) -> Region {
        Region(Arc::clone(&self.pool))
    }

    #[inline]
    fn address(&self) -> *mut u8 {
        // SAFETY: a pool has a stride for each of its buffers, so the offset is within the mapping.
        unsafe {
            let start = self.pool.mapping.start.as_ptr();
            start.add(self.number as usize * self.pool.stride)
        }
    }
}

impl Pool {
    fn of(count: usize, bytes: usize) -> io::Result<Self> {
        let too_large = || io::Error::new(io::ErrorKind::OutOfMemory, "the buffers are too large");
        let stride = bytes
            .checked_next_multiple_of(PAGE)
            .ok_or_else(too_large)?
            .max(PAGE);
        let all = stride.checked_mul(count).ok_or_else(too_large)?;
        Ok(Self {
            mapping: Mapping::anonymous(all)?,
            stride,
        })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the pool is mapped as long as one of its buffers lives; no other buffer has these bytes, and the kernel
        // writes to them only while a ring owns the buffer.
        unsafe { std::slice::from_raw_parts(self.address(), self.pool.stride) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed for changes.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.pool.stride) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("number", &self.number)
            .field("bytes", &self.pool.stride)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_a_pool_have_no_byte_in_common() {
        let mut buffers = Buffer::pool(3, 5000).unwrap();
        assert_eq!(buffers[0].region().bytes(), 3 * 8192);
        for (mark, buffer) in (1..).zip(&mut buffers) {
            assert!(buffer.as_ptr().addr().is_multiple_of(PAGE));
            buffer.fill(mark);
        }
        for (mark, buffer) in (1..).zip(&buffers) {
            assert_eq!(buffer.len(), 8192);
            assert!(buffer.iter().all(|byte| *byte == mark));
        }
    }

    #[test]
    fn memory_stays_mapped_as_long_as_one_buffer_of_it_lives() {
        let mut buffers = Buffer::pool(2, 4096).unwrap();
        let pool = Arc::downgrade(&buffers[0].pool);
        let mut last = buffers.pop().unwrap();
        drop(buffers);
        last.fill(7);
        assert_eq!(last[4095], 7);
        drop(last);
        assert!(pool.upgrade().is_none());
    }

    #[test]
    fn more_memory_than_there_are_addresses_is_an_error() {
        assert!(Buffer::new(usize::MAX).is_err());
        assert!(Buffer::pool(8192, usize::MAX / 2).is_err());
        assert!(Buffer::new(1 << 60).is_err());
    }

    #[test]
    fn a_mapping_is_zeros_and_keeps_what_is_written_in_memory_and_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for mut mapping in [
            Mapping::anonymous(1 << 16).unwrap(),
            Mapping::in_file(folder.path(), 1 << 16).unwrap(),
        ] {
            assert_eq!(mapping.words().len(), 1 << 14);
            assert!(mapping.words().iter().all(|word| *word == 0));
            mapping.words_mut()[(1 << 14) - 1] = 5;
            assert_eq!(mapping.words()[(1 << 14) - 1], 5);
        }
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "the file has no name");
        assert!(Mapping::in_file(&folder.path().join("none"), 4096).is_err());
    }
}
