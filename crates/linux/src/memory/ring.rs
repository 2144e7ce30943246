//! An `io_uring` that owns the buffers of everything in it.

use std::io;
use std::mem;
use std::ops::Deref;

use io_uring::types::Fixed;
use io_uring::{IoUring, SubmissionQueue, cqueue, opcode, squeue};

use super::{Buffer, Region};
use crate::nvme::{BYTES, Command, NVME_URING_CMD_IO};

/// An entry of a ring, with the buffer that the kernel reads or writes.
///
/// Once made, the buffer cannot be reached:
///
/// ```compile_fail,E0382
/// # use iosonar_linux::memory::{Buffer, Loan, Span};
/// let mut buffer = Buffer::new(4096).unwrap();
/// let loan = Loan::read(0, Span { file: 0, offset: 0, bytes: 4096 }, None, buffer);
/// buffer[0] = 1;
/// ```
pub struct Loan<S> {
    entry: S,
    tag: u64,
    buffer: Buffer,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its number among the files that are registered with the ring.
    pub file: u32,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

impl Loan<squeue::Entry> {
    /// Reads a span into the buffer, which lies in this region of registered memory, if in any.
    ///
    /// # Panics
    /// If the buffer is shorter.
    #[inline]
    pub fn read(tag: u64, span: Span, region: Option<u16>, buffer: Buffer) -> Self {
        let (file, bytes) = (Fixed(span.file), fitting(span, &buffer));
        let address = buffer.address();
        let entry = match region {
            Some(region) => opcode::ReadFixed::new(file, address, bytes, region)
                .offset(span.offset)
                .build(),
            None => opcode::Read::new(file, address, bytes)
                .offset(span.offset)
                .build(),
        };
        Self { entry, tag, buffer }
    }

    /// Writes the buffer to a span, with these `RWF_` flags.
    ///
    /// # Panics
    /// If the buffer is shorter.
    #[inline]
    pub fn write(tag: u64, span: Span, flags: i32, region: Option<u16>, buffer: Buffer) -> Self {
        let (file, bytes) = (Fixed(span.file), fitting(span, &buffer));
        let address = buffer.address();
        let entry = match region {
            Some(region) => opcode::WriteFixed::new(file, address, bytes, region)
                .offset(span.offset)
                .rw_flags(flags)
                .build(),
            None => opcode::Write::new(file, address, bytes)
                .offset(span.offset)
                .rw_flags(flags)
                .build(),
        };
        Self { entry, tag, buffer }
    }

    /// Brings everything written to a file to its medium. The buffer is only kept.
    #[inline]
    pub fn sync(tag: u64, file: u32, buffer: Buffer) -> Self {
        let entry = opcode::Fsync::new(Fixed(file)).build();
        Self { entry, tag, buffer }
    }

    /// `fallocate` of a span in this mode. The buffer is only kept.
    #[inline]
    pub fn allocate(tag: u64, span: Span, mode: i32, buffer: Buffer) -> Self {
        let entry = opcode::Fallocate::new(Fixed(span.file), span.bytes)
            .offset(span.offset)
            .mode(mode)
            .build();
        Self { entry, tag, buffer }
    }
}

/// The length of a span that is moved to or from a buffer.
#[inline]
fn fitting(span: Span, buffer: &Buffer) -> u32 {
    assert!(span.bytes <= buffer.len() as u64, "the buffer is too short");
    span.bytes as u32
}

impl Loan<squeue::Entry128> {
    /// Submits an NVMe command to a file, with its data in the buffer.
    ///
    /// # Panics
    /// If the buffer is shorter than its data.
    ///
    /// # Safety
    /// The device moves as much data as the words of the command say, and the kernel does not look at them: they must
    /// mean `command.bytes` in the format of the file's namespace.
    #[inline]
    pub unsafe fn command(tag: u64, file: u32, command: &Command, buffer: Buffer) -> Self {
        assert!(command.bytes as usize <= buffer.len());
        let address = match command.bytes {
            0 => 0,
            _ => buffer.address() as u64,
        };
        let mut words = [0; 80];
        words[..BYTES].copy_from_slice(&command.encoded(address));
        let entry = opcode::UringCmd80::new(Fixed(file), NVME_URING_CMD_IO)
            .cmd(words)
            .build();
        Self { entry, tag, buffer }
    }
}

/// A ring, with the buffers that are lent to it.
pub struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    queues: IoUring<S, C>,
    lent: Lent,
    /// Registered memory, which stays mapped until the ring is gone.
    regions: Vec<Region>,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// A ring with places for this number of loans; more of them allocate.
    ///
    /// # Panics
    /// If something was submitted to it before: its completion would be taken for that of a loan.
    pub fn new(mut queues: IoUring<S, C>, loans: u32) -> Self {
        assert!(
            queues.submission().is_empty() && queues.completion().is_empty(),
            "the ring is new"
        );
        Self {
            queues,
            lent: Lent::new(loans),
            regions: Vec::new(),
        }
    }

    /// Registers the memory of buffers, which loans then name by its place among these.
    ///
    /// # Errors
    /// If the kernel refuses, usually because less memory may be locked.
    pub fn register(&mut self, regions: &[Region]) -> io::Result<()> {
        let vectors: Vec<libc::iovec> = regions
            .iter()
            .map(|region| libc::iovec {
                iov_base: region.0.mapping.start.as_ptr().cast(),
                iov_len: region.bytes(),
            })
            .collect();
        self.regions.extend_from_slice(regions);
        // SAFETY: the regions are mapped as long as the ring keeps them, which is until it is gone.
        unsafe { self.queues.submitter().register_buffers(&vectors) }
    }

    /// The queue of what is lent and not submitted.
    #[inline]
    pub fn submission(&mut self) -> SubmissionQueue<'_, S> {
        self.queues.submission()
    }

    /// How many completions wait to be taken.
    #[inline]
    pub fn completed(&mut self) -> usize {
        self.queues.completion().len()
    }

    /// Puts a loan into the submission queue; it begins with the next submission.
    ///
    /// # Errors
    /// The loan itself if the queue is full.
    #[inline]
    pub fn lend(&mut self, loan: Loan<S>) -> Result<(), Loan<S>> {
        let mut queue = self.queues.submission();
        if queue.is_full() {
            return Err(loan);
        }
        push(&mut queue, &mut self.lent, loan);
        Ok(())
    }

    /// Puts as many loans into the submission queue as it has room for, in their order and all at once: a thread of the
    /// kernel that submits sees them together.
    pub fn lend_all(&mut self, loans: &mut Vec<Loan<S>>) {
        let mut queue = self.queues.submission();
        let room = queue.capacity() - queue.len();
        for loan in loans.drain(..room.min(loans.len())) {
            push(&mut queue, &mut self.lent, loan);
        }
    }

    /// Takes what is complete: the tag of each loan, its completion, and its buffer.
    #[inline]
    pub fn reap(&mut self, mut take: impl FnMut(u64, &C, Buffer)) {
        for completion in self.queues.completion() {
            let (tag, buffer) = self.lent.take(completion.user_data());
            take(tag, &completion, buffer);
        }
    }
}

/// Puts a loan into a queue that is not full.
#[inline]
fn push<S: squeue::EntryMarker>(
    queue: &mut SubmissionQueue<'_, S>,
    lent: &mut Lent,
    loan: Loan<S>,
) {
    let Loan {
        mut entry,
        tag,
        buffer,
    } = loan;
    entry.set_user_data(lent.keep(tag, buffer));
    // SAFETY: an entry names the memory of its loan's buffer and no other, and the ring owns that from now until the
    // entry is complete.
    let pushed = unsafe { queue.push(&entry) };
    pushed.expect("a queue that is not full takes an entry");
}

/// What is in a ring: tags and buffers, by the numbers that the kernel returns.
struct Lent {
    places: Vec<Option<(u64, Buffer)>>,
    free: Vec<u32>,
}

impl Lent {
    fn new(places: u32) -> Self {
        Self {
            places: (0..places).map(|_| None).collect(),
            // The lowest first: what was used lately is in the cache.
            free: (0..places).rev().collect(),
        }
    }

    #[inline]
    fn keep(&mut self, tag: u64, buffer: Buffer) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some((tag, buffer));
        place.into()
    }

    #[inline]
    fn take(&mut self, place: u64) -> (u64, Buffer) {
        let lent = self.places[place as usize].take();
        self.free.push(place as u32);
        lent.expect("what is lent is complete once")
    }
}

/// What does not change which ring it is, nor push entries.
impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Deref for Ring<S, C> {
    type Target = IoUring<S, C>;

    #[inline]
    fn deref(&self) -> &IoUring<S, C> {
        &self.queues
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drop for Ring<S, C> {
    /// The kernel takes a ring apart at its leisure, and what is in flight may still write to its buffer: that is never
    /// freed.
    fn drop(&mut self) {
        mem::forget(mem::take(&mut self.lent.places));
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::Arc;

    use super::*;

    /// A ring of two entries for a file, if the kernel lets us have one.
    fn ring(file: &impl AsRawFd) -> Option<Ring<squeue::Entry, cqueue::Entry>> {
        let ring = match IoUring::new(2) {
            Ok(ring) => ring,
            Err(e) => {
                eprintln!("skipped: no ring here: {e}");
                return None;
            }
        };
        let files = [file.as_raw_fd()];
        ring.submitter().register_files(&files).unwrap();
        Some(Ring::new(ring, 1))
    }

    fn numbered() -> File {
        let mut file = tempfile::tempfile().unwrap();
        for page in 0..8 {
            file.write_all(&[page; 4096]).unwrap();
        }
        file
    }

    fn page(number: u64) -> Span {
        Span {
            file: 0,
            offset: number * 4096,
            bytes: 4096,
        }
    }

    #[test]
    fn every_buffer_comes_back_with_its_tag_and_its_data() {
        let file = numbered();
        let Some(mut ring) = ring(&file) else {
            return;
        };
        let buffers = Buffer::pool(8, 4096).unwrap();
        // Locked memory may be limited.
        let region = ring.register(&[buffers[0].region()]);
        let region = region.is_ok().then_some(0);
        let (mut waiting, mut returned) = (Vec::new(), 0);
        for (number, buffer) in (0..).zip(buffers) {
            let region = region.filter(|_| number % 2 == 0);
            waiting.push(Loan::read(number, page(number), region, buffer));
        }
        while returned < 8 {
            while let Some(loan) = waiting.pop() {
                if let Err(refused) = ring.lend(loan) {
                    waiting.push(refused);
                    break;
                }
            }
            ring.submit_and_wait(1).unwrap();
            ring.reap(|tag, completion, buffer| {
                assert_eq!(completion.result(), 4096);
                assert_eq!(u64::from(buffer.number()), tag);
                assert!(buffer.iter().all(|byte| u64::from(*byte) == tag));
                returned += 1;
            });
        }
    }

    #[test]
    #[should_panic(expected = "the buffer is too short")]
    fn no_more_is_read_than_the_buffer_holds() {
        let span = Span {
            bytes: 4097,
            ..page(0)
        };
        Loan::read(0, span, None, Buffer::new(4096).unwrap());
    }

    #[test]
    fn a_ring_that_is_dropped_keeps_the_memory_of_what_is_in_flight() {
        // Nothing is ever written to the pipe, so a read from it stays in flight.
        let (end, _other) = io::pipe().unwrap();
        let Some(mut ring) = ring(&end) else {
            return;
        };
        let mut buffers = Buffer::pool(2, 4096).unwrap();
        let pool = Arc::downgrade(&buffers[0].pool);
        let loan = Loan::read(0, page(0), None, buffers.pop().unwrap());
        assert!(ring.lend(loan).is_ok());
        ring.submit().unwrap();
        drop((ring, buffers));
        assert!(pool.upgrade().is_some());
    }
}
