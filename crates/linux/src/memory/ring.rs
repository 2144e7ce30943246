//! An `io_uring` that owns the buffers of everything in it.

use std::io;
use std::mem;
use std::ops::Deref;
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
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

/// An entry as the kernel reads it (`struct io_uring_sqe` of `linux/io_uring.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The operation (`IORING_OP_`).
    pub opcode: u8,
    /// The file's number among those that are registered.
    pub file: u32,
    /// In bytes.
    pub offset: u64,
    /// Where the data are in memory; of `fallocate` the length in bytes.
    pub address: u64,
    /// How many bytes of data there are; of `fallocate` the mode.
    pub length: u32,
    /// Flags of the operation (`RWF_`).
    pub flags: u32,
    /// Which region of registered memory the data are in, of the operations that name one.
    pub region: u16,
}

impl Loan<squeue::Entry> {
    /// What the kernel is asked for, the tag, and the buffer.
    pub fn into_parts(self) -> (Submission, u64, Buffer) {
        // SAFETY: an entry is the kernel's structure of 64 bytes (`repr(C)`), all of which are set when it is made.
        let bytes: [u8; 64] = unsafe { mem::transmute(self.entry) };
        let word = |at: usize, length: usize| {
            let bytes = bytes[at..at + length].iter().rev();
            bytes.fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let submission = Submission {
            opcode: bytes[0],
            file: word(4, 4) as u32,
            offset: word(8, 8),
            address: word(16, 8),
            length: word(24, 4) as u32,
            flags: word(28, 4) as u32,
            region: word(40, 2) as u16,
        };
        (submission, self.tag, self.buffer)
    }
}

impl<S> Loan<S> {
    /// The tag that its completion will carry.
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// The memory that it lends.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
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

/// How a ring is set up (`io_uring_setup(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSetup {
    /// Places for what is submitted together.
    pub entries: u32,
    /// Places for what is complete.
    pub completions: u32,
    /// Only the thread that makes the ring submits.
    pub single_issuer: bool,
    /// A thread of the kernel submits, which sleeps when it had nothing to do for this long.
    pub submission_thread: Option<Duration>,
    /// Completions are polled for.
    pub polls: bool,
    /// The kernel does its part of a completion when the thread enters it, and a flag says that there is one.
    pub cooperates: bool,
    /// The kernel does its part of a completion when the thread asks for completions.
    pub defers: bool,
}

impl RingSetup {
    fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(&self) -> io::Result<IoUring<S, C>> {
        let mut builder = IoUring::<S, C>::builder();
        builder.setup_cqsize(self.completions).setup_clamp();
        if self.single_issuer {
            builder.setup_single_issuer();
        }
        if let Some(idle) = self.submission_thread {
            builder.setup_sqpoll(idle.as_millis() as u32);
        }
        if self.polls {
            builder.setup_iopoll();
        }
        if self.cooperates {
            builder.setup_coop_taskrun().setup_taskrun_flag();
        }
        if self.defers {
            builder.setup_defer_taskrun().setup_taskrun_flag();
        }
        builder.build(self.entries)
    }
}

/// What a completion says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Bytes moved, or a negative `errno`; of an NVMe command its status.
    pub result: i32,
    /// What an NVMe command returned; zero of others.
    pub value: u64,
}

/// An entry of the completion queue.
pub trait Completed: cqueue::EntryMarker {
    /// What it says.
    fn completion(&self) -> Completion;
}

impl Completed for cqueue::Entry {
    #[inline]
    fn completion(&self) -> Completion {
        Completion {
            result: self.result(),
            value: 0,
        }
    }
}

impl Completed for cqueue::Entry32 {
    #[inline]
    fn completion(&self) -> Completion {
        Completion {
            result: self.result(),
            value: self.big_cqe()[0],
        }
    }
}

/// A ring, with the buffers that are lent to it.
pub struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    queues: IoUring<S, C>,
    lent: Lent,
    /// Registered memory, which stays mapped until the ring is gone.
    regions: Vec<Region>,
}

impl<S: squeue::EntryMarker, C: Completed> Ring<S, C> {
    /// A ring that is set up so, with places for this number of loans; more of them allocate.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_up(setup: &RingSetup, loans: u32) -> io::Result<Self> {
        Ok(Self::new(setup.build()?, loans))
    }

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

    /// Whether waiting can have a time limit (Linux 5.11).
    pub fn waits_with_limit(&self) -> bool {
        self.queues.params().is_feature_ext_arg()
    }

    /// Registers the files that loans name by their place among these.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        self.queues.submitter().register_files(files)
    }

    /// Lets go of the files.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn unregister_files(&self) -> io::Result<()> {
        self.queues.submitter().unregister_files()
    }

    /// Whether everything that was lent is submitted.
    #[inline]
    pub fn is_submitted(&mut self) -> bool {
        self.queues.submission().is_empty()
    }

    /// Whether nothing more can be lent before something is submitted.
    #[inline]
    pub fn is_full(&mut self) -> bool {
        self.queues.submission().is_full()
    }

    /// Whether the kernel's thread that submits must be woken, by submitting.
    #[inline]
    pub fn must_be_woken(&mut self) -> bool {
        self.queues.submission().need_wakeup()
    }

    /// Whether the kernel has to be entered before completions can be seen.
    #[inline]
    pub fn must_be_entered(&mut self) -> bool {
        self.queues.submission().taskrun()
    }

    /// Submits what was lent. Returns how much was submitted.
    ///
    /// # Errors
    /// If the kernel refuses; what was not submitted stays lent.
    #[inline]
    pub fn submit(&self) -> io::Result<usize> {
        self.queues.submit()
    }

    /// Waits until the kernel's thread has submitted something, if the queue is full.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn wait_for_room(&self) -> io::Result<()> {
        self.queues.submitter().squeue_wait().map(drop)
    }

    /// Submits what was lent, and waits until something is complete, at most this long.
    ///
    /// # Errors
    /// If the kernel refuses, or `ETIME` if nothing was complete by then.
    pub fn submit_and_wait_for(&self, timeout: Duration) -> io::Result<()> {
        let time = Timespec::from(timeout);
        let until = SubmitArgs::new().timespec(&time);
        self.queues
            .submitter()
            .submit_with_args(1, &until)
            .map(drop)
    }

    /// Asks the kernel to give up everything in the ring, and waits for that, at most this long.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn cancel_all(&self, timeout: Duration) -> io::Result<()> {
        let submitter = self.queues.submitter();
        submitter.register_sync_cancel(Some(timeout.into()), CancelBuilder::any())
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

    /// Takes the first `count` that are complete: the tag of each loan, its completion, and its buffer.
    #[inline]
    pub fn reap(&mut self, count: usize, mut take: impl FnMut(u64, Completion, Buffer)) {
        for completion in self.queues.completion().take(count) {
            let (tag, buffer) = self.lent.take(completion.user_data());
            take(tag, completion.completion(), buffer);
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
            let completed = ring.completed();
            ring.reap(completed, |tag, completion, buffer| {
                assert_eq!(completion.result, 4096);
                assert_eq!(u64::from(buffer.number()), tag);
                assert!(buffer.iter().all(|byte| u64::from(*byte) == tag));
                returned += 1;
            });
        }
    }

    #[test]
    fn the_parts_of_a_loan_are_what_it_was_made_of() {
        let span = Span {
            file: 3,
            offset: 0x12_3456_7000,
            bytes: 512,
        };
        let buffer = || Buffer::new(4096).unwrap();
        let (read, tag, back) = Loan::read(7, span, Some(2), buffer()).into_parts();
        assert_eq!((tag, read.address), (7, back.address().addr() as u64));
        assert_eq!((read.file, read.offset, read.length), (3, span.offset, 512));
        assert_eq!((read.opcode, read.region), (opcode::ReadFixed::CODE, 2));
        let (write, ..) = Loan::write(8, span, 2, None, buffer()).into_parts();
        assert_eq!((write.opcode, write.flags), (opcode::Write::CODE, 2));
        let (hole, ..) = Loan::allocate(9, span, 3, buffer()).into_parts();
        assert_eq!(
            (hole.opcode, hole.offset),
            (opcode::Fallocate::CODE, span.offset)
        );
        assert_eq!((hole.address, hole.length), (512, 3));
        let (sync, ..) = Loan::sync(9, 4, buffer()).into_parts();
        assert_eq!((sync.opcode, sync.file), (opcode::Fsync::CODE, 4));
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
