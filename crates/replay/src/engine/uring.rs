//! `io_uring`: one ring, one thread. What its entries say is up to the [`Dialect`].
//!
//! The targets are registered files, and the buffers registered memory where the kernel permits
//! locking it. Which set-up is best was measured; the table is in the manual (replay).

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::{IoUring, squeue};
use iosonar_linux::memory::{Completed, Loan, Region, RingSetup};
use iosonar_units::Nanos;
use libc::{EAGAIN, EBUSY, EINTR, ETIME};

use super::ThreadPool;
use super::access::{Done, Engine, IoAccess, Setup, clones};
use super::dialect::{Answer, Dialect};
use super::ring_options::TaskWork;
use crate::note::EngineNote;
use crate::os::{Ring, TargetFile, has_kernel_workers, thread};
use crate::pacing;

/// The kernel plugs the block layer's queue for a system call that submits more than this (`IO_PLUG_THRESHOLD` in
/// `io_uring/io_uring.h`): it holds requests back and merges them, and the device gets another load.
const NOT_PLUGGED: usize = 2;
/// From this backlog on, rate matters more than that. Far longer than a natural burst takes.
const FAR_BEHIND: Nanos = Nanos::from_millis(200);
/// The kernel's own limit is 32 768.
const MOST_ENTRIES: u32 = 4096;
/// Registering touches and locks all of a region, so a large one is not.
pub(crate) const MOST_REGISTERED: usize = 64 << 20;
/// The most bytes of one registered region.
const LARGEST_REGION: usize = 1 << 30;

/// The kernel's thread that submits sleeps when it had nothing to do for this long.
const SQPOLL_IDLE: Duration = Duration::from_secs(1);
/// As many are prepared together at the most; the session prepares fewer.
const MOST_UNSEEN: usize = 64;
/// How often it is looked whether the kernel's thread has taken what it was shown, before the kernel is called.
const LOOKS_PER_CALL: u32 = 1 << 10;

pub(crate) struct Uring<D: Dialect> {
    dialect: D,
    ring: Ring<D::Sqe, D::Cqe>,
    prepared: bool,
    registered: bool,
    /// Completions wait until we ask for them.
    must_ask: bool,
    polled: bool,
    /// With a kernel thread that submits: what it has not been shown.
    unseen: Option<Vec<Loan<D::Sqe>>>,
    taken_after: Nanos,
    /// How many requests are in the ring or at the device.
    in_ring: usize,
    /// Requests that failed before they were submitted.
    failed: Vec<Done>,
    /// The targets, as long as the ring lives.
    _files: Vec<TargetFile>,
    /// The ring knows no discard of block devices.
    side: Option<ThreadPool>,
    at_the_side: usize,
    /// What the last submission left to the side.
    went_aside: Vec<u32>,
    notes: Vec<EngineNote>,
}

impl<D: Dialect> Uring<D> {
    pub(crate) fn new(setup: &Setup<'_>) -> io::Result<Self> {
        let entries = setup.in_flight.clamp(2, MOST_ENTRIES).next_power_of_two();
        // No completion is ever lost: there is a place for each request in flight.
        let completions = setup.in_flight.next_power_of_two().max(2 * entries);
        let build = |single_issuer: bool, task_work| {
            let ring = RingSetup {
                entries,
                completions,
                single_issuer,
                submission_thread: setup.ring.submission_thread.then_some(SQPOLL_IDLE),
                polls: setup.ring.poll_completions,
                cooperates: task_work == TaskWork::Cooperative,
                defers: task_work == TaskWork::Deferred,
            };
            Ring::set_up(&ring, setup.in_flight)
        };
        // Kernels before 6.0 do not know single issuers, those before 5.19 no cooperation.
        let task_work = setup.ring.task_work;
        let (mut ring, task_work) = match build(true, task_work) {
            Ok(ring) => (ring, task_work),
            Err(e) if task_work == TaskWork::Deferred => return Err(e),
            Err(_) => match build(false, task_work) {
                Ok(ring) => (ring, task_work),
                Err(_) => (build(false, TaskWork::Interrupt)?, TaskWork::Interrupt),
            },
        };
        if !ring.waits_with_limit() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the kernel is older than 5.11",
            ));
        }
        let descriptors: Vec<_> = setup.files.iter().map(|file| file.as_raw_fd()).collect();
        ring.register_files(&descriptors)?;
        let files = clones(&setup.files)?;
        let mut notes = Vec::new();
        let registered = D::REGISTERS
            && !setup.ring.plain_buffers
            && register(&mut ring, &setup.regions, &mut notes);
        // Made here, before the thread is pinned or scheduled ahead of others: threads inherit that.
        let side = (setup.discards || setup.ring.poll_completions)
            .then(|| ThreadPool::with(&setup.files, setup.sync, SIDE_THREADS))
            .transpose()?;
        Ok(Self {
            dialect: D::new(setup)?,
            ring,
            prepared: false,
            registered,
            must_ask: task_work != TaskWork::Interrupt,
            polled: setup.ring.poll_completions,
            unseen: (setup.ring.submission_thread).then(|| Vec::with_capacity(MOST_UNSEEN)),
            taken_after: Nanos::ZERO,
            in_ring: 0,
            failed: Vec::new(),
            _files: files,
            side,
            at_the_side: 0,
            went_aside: Vec::new(),
            notes,
        })
    }

    /// Puts everything prepared into the ring and waits until the kernel's thread has taken it, so that the time of
    /// submission is known: that of the end, unless a request was completed meanwhile, which may be one of these.
    fn show(&mut self) -> io::Result<()> {
        let Some(unseen) = &mut self.unseen else {
            return Ok(());
        };
        self.taken_after = Nanos::ZERO;
        if unseen.is_empty() {
            return Ok(());
        }
        let ring = &mut self.ring;
        let began = pacing::monotonic();
        let completed = ring.completed();
        ring.lend_all(unseen);
        while !unseen.is_empty() {
            awake(ring)?;
            ring.wait_for_room()?;
            ring.lend_all(unseen);
        }
        let mut looks = 0_u32;
        while !ring.is_submitted() {
            looks += 1;
            if looks.is_multiple_of(LOOKS_PER_CALL) {
                // Fails if the thread is gone.
                ring.wait_for_room()?;
                thread::yield_now();
            }
            awake(ring)?;
            thread::spin_loop();
        }
        if ring.completed() == completed {
            self.taken_after = pacing::monotonic().saturating_sub(began);
        }
        Ok(())
    }

    /// Polls until something is done, at most `timeout`: a ring that polls cannot wait with a time limit.
    fn poll(&mut self, timeout: Nanos) -> io::Result<()> {
        if self.in_ring == 0 {
            thread::sleep(timeout.into());
            return Ok(());
        }
        let end = pacing::monotonic() + timeout;
        loop {
            match self.ring.submit() {
                Err(e) if !is_passing(&e) => return Err(e),
                _ => {}
            }
            self.prepared = self.unseen.is_none() && !self.ring.is_submitted();
            if self.ring.completed() > 0 || pacing::monotonic() >= end {
                return Ok(());
            }
        }
    }
}

/// Whether the kernel lets us have a ring, and a recent enough one.
pub(crate) fn is_permitted() -> io::Result<()> {
    let ring = IoUring::new(2)?;
    if ring.params().is_feature_ext_arg() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "the kernel is older than 5.11",
    ))
}

/// Wakes the kernel's thread if it sleeps, as it does when it had nothing to do for a second.
fn awake<S, C>(ring: &mut Ring<S, C>) -> io::Result<()>
where
    S: squeue::EntryMarker + 'static,
    C: Completed,
{
    if !ring.must_be_woken() {
        return Ok(());
    }
    match ring.submit() {
        Err(e) if !is_passing(&e) => Err(e),
        _ => Ok(()),
    }
}

/// Registers the memory of the buffers, if it may be locked.
fn register<S, C>(ring: &mut Ring<S, C>, regions: &[Region], notes: &mut Vec<EngineNote>) -> bool
where
    S: squeue::EntryMarker + 'static,
    C: Completed,
{
    let all: usize = regions.iter().map(Region::bytes).sum();
    if all > MOST_REGISTERED || regions.iter().any(|r| r.bytes() > LARGEST_REGION) {
        return false;
    }
    match ring.register(regions) {
        Ok(()) => true,
        Err(e) => {
            notes.push(EngineNote::BuffersNotLocked {
                bytes: all,
                error: e.to_string(),
            });
            false
        }
    }
}

impl<D: Dialect> Drop for Uring<D> {
    /// The kernel takes rings apart at its leisure; until then a target that is still registered
    /// would stay open, and claimed, after the replay.
    fn drop(&mut self) {
        let _ = self.ring.unregister_files();
    }
}

impl<D: Dialect> Engine for Uring<D> {
    fn name(&self) -> &'static str {
        D::NAME
    }

    #[inline]
    fn together(&self, behind: Nanos) -> usize {
        match behind > FAR_BEHIND {
            true => 16,
            false => NOT_PLUGGED,
        }
    }

    #[inline]
    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()> {
        if self.dialect.is_for_the_side(&access, self.polled) {
            self.at_the_side += 1;
            return match &mut self.side {
                Some(side) => side.prepare(slot, access),
                None => Err(io::Error::other(
                    "a discard in a load that was expected to contain none",
                )),
            };
        }
        let registered = self.registered && access.length > 0;
        let loan = match self.dialect.loan(slot, access, registered) {
            Ok(loan) => loan,
            Err((errno, buffer)) => {
                let done = Done::of(slot, -errno, pacing::monotonic(), buffer);
                self.failed.push(done);
                return Ok(());
            }
        };
        self.in_ring += 1;
        if let Some(unseen) = &mut self.unseen {
            // What is in the ring begins at once.
            unseen.push(loan);
            return match unseen.len() {
                MOST_UNSEEN => self.show(),
                _ => Ok(()),
            };
        }
        if self.ring.is_full() {
            self.submit()?;
        }
        self.prepared = true;
        let full = "the submission queue is full although it was flushed";
        self.ring.lend(loan).map_err(|_| io::Error::other(full))
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        if let Some(side) = &mut self.side {
            self.went_aside.clear();
            self.went_aside.extend(side.prepared());
            side.submit()?;
        }
        if self.unseen.is_some() {
            return self.show();
        }
        while self.prepared {
            match self.ring.submit() {
                Ok(_) => self.prepared = !self.ring.is_submitted(),
                Err(e) if e.raw_os_error() == Some(EINTR) => {}
                // The kernel wants completions to be reaped first; the next wait submits the rest.
                Err(e) if is_passing(&e) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[inline]
    fn taken_after(&self) -> Nanos {
        self.taken_after
    }

    #[inline]
    fn began_with(&self, slot: u32) -> bool {
        !self.went_aside.is_empty() && self.went_aside.contains(&slot)
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        if self.at_the_side > 0
            && let Some(side) = &mut self.side
        {
            let before = done.len();
            side.reap(done);
            self.at_the_side -= done.len() - before;
        }
        if self.must_ask && self.ring.must_be_entered() || self.polled {
            // A failure shows at the next submission.
            let _ = self.ring.submit();
        }
        done.append(&mut self.failed);
        let completed = self.ring.completed();
        if completed == 0 {
            return;
        }
        // What completes from here on would seem to have completed before.
        let at = pacing::monotonic();
        self.ring.reap(completed, |tag, completion, buffer| {
            let Answer {
                slot,
                result,
                place,
            } = self.dialect.completed(tag, completion);
            self.in_ring -= 1;
            done.push(Done {
                slot,
                result,
                at,
                place,
                buffer,
            });
        });
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let timeout = if self.at_the_side > 0 {
            timeout.min(SIDE_INTERVAL)
        } else {
            timeout
        };
        if !self.failed.is_empty() {
            return Ok(());
        }
        if let Some(side) = self.side.as_ref().filter(|_| self.at_the_side > 0) {
            side.check()?;
        }
        if self.polled {
            return self.poll(timeout);
        }
        match self.ring.submit_and_wait_for(timeout.into()) {
            Err(e) if !is_passing(&e) && e.raw_os_error() != Some(ETIME) => Err(e),
            _ => {
                self.prepared = self.unseen.is_none() && !self.ring.is_submitted();
                Ok(())
            }
        }
    }

    fn cancel(&mut self) {
        // The kernel may refuse; then it is waited for.
        let _ = self.ring.cancel_all(Duration::from_secs(1));
        if let Some(side) = &mut self.side {
            side.cancel();
        }
    }

    fn notes(&self) -> Vec<EngineNote> {
        let mut notes = self.notes.clone();
        notes.extend(self.dialect.notes());
        if has_kernel_workers() {
            notes.push(EngineNote::KernelWorkers);
        }
        notes
    }
}

const SIDE_THREADS: u32 = 4;
/// How often the side is looked at.
const SIDE_INTERVAL: Nanos = Nanos::from_micros(50);

/// Whether trying again helps: a signal came, or the kernel is short of something for a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(EINTR | EAGAIN | EBUSY))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::calls::Calls;
    use super::super::ring_options::RingOptions;
    use super::*;
    use crate::engine::{AccessKind, Durability};
    use iosonar_linux::memory::Buffer;

    /// Reads of 4 KiB of a file, through a small ring that a kernel thread empties.
    fn polled(file: &File) -> io::Result<Uring<Calls>> {
        Uring::new(&Setup {
            files: vec![file],
            in_flight: 4,
            ring: RingOptions {
                submission_thread: true,
                plain_buffers: true,
                ..RingOptions::default()
            },
            sync: Durability::None,
            regions: Vec::<Region>::new(),
            discards: false,
            zones: Vec::new(),
        })
    }

    #[test]
    fn more_than_the_ring_holds_waits_for_the_kernels_thread_and_is_done_once() {
        const READS: u32 = 32;
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &vec![7; 4096 * READS as usize]).unwrap();
        let mut ring = match polled(&file) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        let buffers = Buffer::pool(READS, 4096).unwrap();
        for (slot, buffer) in (0..).zip(buffers) {
            let access = IoAccess {
                kind: AccessKind::Read,
                target: 0,
                offset: u64::from(slot) * 4096,
                buffer,
                region: 0,
                length: 4096,
            };
            ring.prepare(slot, access).unwrap();
        }
        let mut done = Vec::new();
        ring.reap(&mut done);
        assert!(done.is_empty(), "nothing begins before it is submitted");
        let began = pacing::monotonic();
        ring.submit().unwrap();
        let took = pacing::monotonic().saturating_sub(began);
        assert!(ring.taken_after() <= took);
        while done.len() < READS as usize {
            ring.wait(Nanos::from_millis(100)).unwrap();
            ring.reap(&mut done);
        }
        let mut slots: Vec<u32> = done.iter().map(|done| done.slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..READS).collect::<Vec<_>>());
        assert!(done.iter().all(|done| done.result == 4096));
        let is_read = |done: &Done| done.buffer.iter().all(|byte| *byte == 7);
        assert!(done.iter().all(is_read));
        assert_eq!(ring.in_ring, 0);
    }

    #[test]
    fn only_a_signal_or_a_shortage_passes() {
        for (errno, passes) in [
            (EINTR, true),
            (EAGAIN, true),
            (EBUSY, true),
            (ETIME, false),
            (libc::EIO, false),
        ] {
            assert_eq!(is_passing(&io::Error::from_raw_os_error(errno)), passes);
        }
        assert!(!is_passing(&io::Error::other("without a number")));
    }

    fn setup(file: &File, ring: RingOptions) -> Setup<'_> {
        Setup {
            files: vec![file],
            in_flight: 4,
            ring,
            sync: Durability::None,
            regions: Vec::new(),
            discards: false,
            zones: Vec::new(),
        }
    }

    fn access(kind: AccessKind, offset: u64) -> IoAccess {
        let moves_data = matches!(kind, AccessKind::Read | AccessKind::Write { .. });
        IoAccess {
            kind,
            target: 0,
            offset,
            buffer: Buffer::new(4096).unwrap(),
            region: 0,
            length: if moves_data { 4096 } else { 0 },
        }
    }

    /// Waits until this number of accesses is done.
    fn reaped<D: Dialect>(ring: &mut Uring<D>, n: usize) -> Vec<Done> {
        let mut done = Vec::new();
        while done.len() < n {
            ring.wait(Nanos::from_millis(100)).unwrap();
            ring.reap(&mut done);
        }
        done
    }

    #[test]
    fn what_is_in_the_ring_is_counted_until_it_is_done() {
        const READS: u32 = 21;
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &vec![7; 4096 * READS as usize]).unwrap();
        let plain = RingOptions {
            plain_buffers: true,
            ..RingOptions::default()
        };
        let mut ring = match Uring::<Calls>::new(&setup(&file, plain)) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        // Twice more than there are entries: the first ones begin when there is no place for more.
        for slot in 0..READS {
            let read = access(AccessKind::Read, u64::from(slot) * 4096);
            ring.prepare(slot, read).unwrap();
            assert!(ring.prepared);
            assert_eq!(ring.in_ring, slot as usize + 1);
        }
        ring.submit().unwrap();
        assert!(!ring.prepared);
        assert!((0..READS).all(|slot| !ring.began_with(slot)));
        let mut slots: Vec<_> = reaped(&mut ring, READS as usize)
            .iter()
            .map(|done| (done.slot, done.result))
            .collect();
        slots.sort_unstable();
        assert_eq!(
            slots,
            (0..READS).map(|slot| (slot, 4096)).collect::<Vec<_>>()
        );
        assert_eq!((ring.in_ring, ring.at_the_side), (0, 0));
        assert_eq!(ring.taken_after(), Nanos::ZERO, "it is not known");
        for (behind, together) in [(200, 2), (201, 16)] {
            assert_eq!(ring.together(Nanos::from_millis(behind)), together);
        }
    }

    #[test]
    fn a_ring_that_polls_leaves_flushes_to_threads_and_says_which_it_began_with() {
        let file = tempfile::tempfile().unwrap();
        let polls = RingOptions {
            poll_completions: true,
            ..RingOptions::default()
        };
        let mut ring = match Uring::<Calls>::new(&setup(&file, polls)) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        ring.prepare(7, access(AccessKind::Flush, 0)).unwrap();
        ring.prepare(9, access(AccessKind::Flush, 0)).unwrap();
        assert_eq!((ring.at_the_side, ring.in_ring), (2, 0));
        ring.submit().unwrap();
        let began = [7, 8, 9].map(|slot| ring.began_with(slot));
        assert_eq!(began, [true, false, true]);
        let mut done = reaped(&mut ring, 2);
        done.sort_by_key(|done| done.slot);
        assert_eq!(
            done.iter().map(|d| (d.slot, d.result)).collect::<Vec<_>>(),
            [(7, 0), (9, 0)]
        );
        assert_eq!(ring.at_the_side, 0);
        ring.submit().unwrap();
        assert!(!ring.began_with(7), "that was the last time");
    }

    #[test]
    fn what_a_ring_without_discards_is_given_fails() {
        let file = tempfile::tempfile().unwrap();
        let mut ring = match Uring::<Refusing<false>>::new(&setup(&file, RingOptions::default())) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        let discard = ring.prepare(1, access(AccessKind::Discard, 0));
        assert!(discard.unwrap_err().to_string().contains("discard"));
    }

    /// Leaves discards to the side, and refuses all other accesses. Notes which of them may lie in registered memory.
    struct Refusing<const REGISTERS: bool>(Vec<bool>);

    impl<const REGISTERS: bool> Dialect for Refusing<REGISTERS> {
        const NAME: &'static str = "refusing";
        const REGISTERS: bool = REGISTERS;
        type Sqe = squeue::Entry;
        type Cqe = io_uring::cqueue::Entry;

        fn new(_: &Setup<'_>) -> io::Result<Self> {
            Ok(Self(Vec::new()))
        }

        fn is_for_the_side(&self, access: &IoAccess, _: bool) -> bool {
            access.kind == AccessKind::Discard
        }

        fn loan(
            &mut self,
            _: u32,
            access: IoAccess,
            registered: bool,
        ) -> Result<Loan<squeue::Entry>, (i32, Buffer)> {
            self.0.push(registered);
            Err((libc::EOVERFLOW, access.buffer))
        }

        fn completed(&mut self, _: u64, _: iosonar_linux::memory::Completion) -> Answer {
            unreachable!("nothing is in the ring")
        }

        fn notes(&self) -> Vec<EngineNote> {
            Vec::new()
        }
    }

    #[test]
    fn what_fails_before_it_is_submitted_is_done_with_its_error() {
        let file = tempfile::tempfile().unwrap();
        let mut ring = match Uring::<Refusing<false>>::new(&setup(&file, RingOptions::default())) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        ring.prepare(3, access(AccessKind::Read, 0)).unwrap();
        assert!(!ring.prepared && ring.in_ring == 0);
        ring.submit().unwrap();
        // There is something to be reaped, so it is not waited for.
        ring.wait(Nanos::from_secs(100_000)).unwrap();
        let mut done = Vec::new();
        ring.reap(&mut done);
        let results: Vec<_> = done.iter().map(|done| (done.slot, done.result)).collect();
        assert_eq!(results, [(3, -libc::EOVERFLOW)]);
        ring.reap(&mut done);
        assert_eq!(done.len(), 1, "once");
    }

    #[test]
    fn as_many_as_there_is_room_for_begin_before_they_are_submitted() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &vec![7; 4096]).unwrap();
        let mut ring = match polled(&file) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        let waiting = |ring: &Uring<Calls>| ring.unseen.as_ref().map(Vec::len);
        for slot in 0..MOST_UNSEEN as u32 {
            assert_eq!(waiting(&ring), Some(slot as usize));
            ring.prepare(slot, access(AccessKind::Read, 0)).unwrap();
        }
        assert_eq!(waiting(&ring), Some(0));
        ring.submit().unwrap();
        assert_eq!(reaped(&mut ring, MOST_UNSEEN).len(), MOST_UNSEEN);
        assert_eq!(ring.in_ring, 0);
    }

    #[test]
    fn memory_of_up_to_64_mebibytes_is_registered_or_it_is_said_why_not() {
        let file = tempfile::tempfile().unwrap();
        for (bytes, plain_buffers, is_tried) in [
            (8192, false, true),
            (8192, true, false),
            (MOST_REGISTERED + 4096, false, false),
        ] {
            let options = RingOptions {
                plain_buffers,
                ..RingOptions::default()
            };
            let buffer = Buffer::new(bytes).unwrap();
            let setup = Setup {
                regions: vec![buffer.region()],
                ..setup(&file, options)
            };
            let ring = match Uring::<Refusing<true>>::new(&setup) {
                Ok(ring) => ring,
                Err(e) => return eprintln!("skipped: no ring here: {e}"),
            };
            let is_locked =
                |note: &EngineNote| !matches!(note, EngineNote::BuffersNotLocked { .. });
            let is_refused = !ring.notes.iter().all(is_locked);
            assert_eq!([ring.registered, is_refused].contains(&true), is_tried);
            assert!(!(ring.registered && is_refused));
        }
    }

    #[test]
    fn what_moves_data_uses_the_registered_memory_if_there_is_some() {
        let file = tempfile::tempfile().unwrap();
        for (registered, expected) in [(false, [false; 3]), (true, [true, false, true])] {
            let plain = setup(&file, RingOptions::default());
            let mut ring = match Uring::<Refusing<true>>::new(&plain) {
                Ok(ring) => ring,
                Err(e) => return eprintln!("skipped: no ring here: {e}"),
            };
            ring.registered = registered;
            for kind in [
                AccessKind::Read,
                AccessKind::Flush,
                AccessKind::Write { durable: false },
            ] {
                ring.prepare(0, access(kind, 0)).unwrap();
            }
            assert_eq!(ring.dialect.0, expected);
        }
    }

    #[test]
    fn a_ring_waits_for_all_of_its_time_while_nothing_is_done() {
        let file = tempfile::tempfile().unwrap();
        let time = Nanos::from_millis(2);
        for (poll_completions, in_ring) in [(false, 0), (true, 0), (true, 1)] {
            let options = RingOptions {
                poll_completions,
                ..RingOptions::default()
            };
            let mut ring = match Uring::<Calls>::new(&setup(&file, options)) {
                Ok(ring) => ring,
                Err(e) => return eprintln!("skipped: no ring here: {e}"),
            };
            // One that the device does not complete.
            ring.in_ring = in_ring;
            let began = pacing::monotonic();
            ring.wait(time).unwrap();
            let waited = pacing::monotonic() - began;
            assert!(waited >= time, "{poll_completions} {in_ring}: {waited}");
        }
    }

    #[test]
    fn a_ring_that_polls_waits_no_longer_than_until_something_is_done() {
        let file = tempfile::tempfile().unwrap();
        let polls = RingOptions {
            poll_completions: true,
            ..RingOptions::default()
        };
        let mut ring = match Uring::<Calls>::new(&setup(&file, polls)) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        // The page cache cannot be polled, which the kernel says at once.
        ring.prepare(3, access(AccessKind::Read, 0)).unwrap();
        ring.wait(Nanos::from_secs(100_000)).unwrap();
        let mut done = Vec::new();
        ring.reap(&mut done);
        let results: Vec<_> = done.iter().map(|d| (d.slot, d.result <= 0)).collect();
        assert_eq!(results, [(3, true)]);
        assert_eq!(ring.in_ring, 0);
    }

    #[test]
    fn threads_at_the_side_are_looked_at_soon_and_fail_with_the_ring_if_they_have_something() {
        let file = tempfile::tempfile().unwrap();
        let with_discards = Setup {
            discards: true,
            ..setup(&file, RingOptions::default())
        };
        let mut ring = match Uring::<Refusing<false>>::new(&with_discards) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        ring.at_the_side = 1;
        ring.wait(Nanos::from_secs(100_000)).unwrap();
        ring.side.as_ref().unwrap().panicked();
        assert!(ring.wait(Nanos::MILLISECOND).is_err());
        ring.at_the_side = 0;
        assert!(ring.wait(Nanos::MILLISECOND).is_ok(), "nothing is lost");
    }

    #[test]
    fn the_time_until_the_kernel_took_what_is_not_complete_is_known() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        let mut ring = match polled(&reader) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: no ring here: {e}"),
        };
        // It waits until something is in the pipe.
        ring.prepare(1, access(AccessKind::Read, 0)).unwrap();
        let began = pacing::monotonic();
        ring.submit().unwrap();
        let took = pacing::monotonic() - began;
        let taken_after = ring.taken_after();
        assert!(Nanos::ZERO < taken_after && taken_after <= took);
        ring.submit().unwrap();
        assert_eq!(ring.taken_after(), Nanos::ZERO, "nothing was taken");
        io::Write::write_all(&mut writer, &[7; 100]).unwrap();
        let done = reaped(&mut ring, 1);
        assert_eq!((done[0].slot, done[0].result), (1, 100));
    }

    /// Whether a pipe that was a ring's target is closed as soon as the ring and the file are gone.
    fn is_closed_with_its_ring() -> io::Result<bool> {
        let (mut reader, writer) = std::io::pipe()?;
        rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK)?;
        let target = File::from(std::os::fd::OwnedFd::from(writer));
        let ring = Uring::<Calls>::new(&setup(&target, RingOptions::default()))?;
        drop((ring, target));
        // It is at its end once all writers have closed it.
        Ok(io::Read::read(&mut reader, &mut [0; 8]).is_ok_and(|read| read == 0))
    }

    #[test]
    fn a_ring_that_is_gone_keeps_no_target_open() {
        if let Err(e) = is_closed_with_its_ring() {
            return eprintln!("skipped: no ring here: {e}");
        }
        // A process that another test begins at this moment may have it for an instant.
        assert!((0..5).any(|_| is_closed_with_its_ring().unwrap()));
    }
}
