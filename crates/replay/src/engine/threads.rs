//! A pool of threads with pread and pwrite, for kernels and containers without `io_uring`.
//!
//! Each thread stamps the completion of its own accesses. The pool is as large as the number of
//! accesses that may be in flight, up to a limit; beyond it they would wait for a thread, which
//! would look like a slow device, so the session must not submit more.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iosonar_units::Nanos;

use super::access::{Done, Durability, Engine, IoAccess, Setup};
use super::perform::perform;
use crate::os::TargetFile;
use crate::os::channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use crate::os::thread::{self, JoinHandle};
use crate::pacing;

pub(crate) struct ThreadPool {
    accesses: Option<Sender<Task>>,
    /// The same accesses, as its threads take them.
    tasks: Receiver<Task>,
    completions: Receiver<Done>,
    prepared: Vec<Task>,
    reaped: Vec<Done>,
    threads: Vec<JoinHandle<()>>,
    has_panicked: Arc<AtomicBool>,
    /// Accesses that were submitted and have not completed.
    outstanding: usize,
    /// Threads that do not come back have been waited for.
    given_up: bool,
}

/// How long a device may take for what threads have begun, before they are left to themselves.
const LAST_WAIT: Nanos = Nanos::from_secs(2);

struct Task {
    slot: u32,
    access: IoAccess,
}

impl ThreadPool {
    /// More threads than this only wait for processors.
    pub(crate) const MOST_THREADS: u32 = 128;

    pub(crate) fn new(setup: &Setup<'_>) -> io::Result<Self> {
        Self::with(&setup.files, setup.sync, setup.in_flight)
    }

    pub(super) fn with(files: &[&File], sync: Durability, threads: u32) -> io::Result<Self> {
        let (accesses, tasks) = unbounded::<Task>();
        let (sender, completions) = unbounded();
        let files = Arc::new(super::access::clones(files)?);
        let has_panicked = Arc::new(AtomicBool::new(false));
        let threads = (0..threads.clamp(1, Self::MOST_THREADS))
            .map(|i| {
                let (tasks, sender) = (tasks.clone(), sender.clone());
                let files = Arc::clone(&files);
                let panics = NotesPanic(Arc::clone(&has_panicked));
                thread::Builder::new()
                    .name(format!("replay-{i}"))
                    .stack_size(64 * 1024)
                    .spawn(move || {
                        let _panics = panics;
                        work(&files, sync, &tasks, &sender);
                    })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            accesses: Some(accesses),
            tasks,
            completions,
            prepared: Vec::new(),
            reaped: Vec::new(),
            threads,
            has_panicked,
            outstanding: 0,
            given_up: false,
        })
    }

    /// What was prepared and not submitted.
    pub(super) fn prepared(&self) -> impl Iterator<Item = u32> {
        self.prepared.iter().map(|task| task.slot)
    }

    /// # Errors
    /// If a thread has panicked: its access never completes.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.has_panicked.load(Relaxed) {
            false => Ok(()),
            true => Err(io::Error::other("a thread of the pool has panicked")),
        }
    }

    /// As if one of its threads had panicked.
    #[cfg(test)]
    pub(super) fn panicked(&self) {
        self.has_panicked.store(true, Relaxed);
    }
}

/// Notes that the thread that has this panics.
struct NotesPanic(Arc<AtomicBool>);

impl Drop for NotesPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

fn work(
    files: &[TargetFile],
    sync: Durability,
    tasks: &Receiver<Task>,
    completions: &Sender<Done>,
) {
    for Task { slot, mut access } in tasks {
        let result = perform(&files[access.target as usize], &mut access, sync);
        let done = Done::of(slot, result, pacing::monotonic(), access.buffer);
        if completions.send(done).is_err() {
            return;
        }
    }
}

impl Engine for ThreadPool {
    fn name(&self) -> &'static str {
        "threads"
    }

    /// A thread may complete the first of several before the last is submitted, and stamps that itself: no time of
    /// submission can be between these.
    fn together(&self, _: Nanos) -> usize {
        1
    }

    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()> {
        self.prepared.push(Task { slot, access });
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        let Some(accesses) = &self.accesses else {
            return Ok(());
        };
        for task in self.prepared.drain(..) {
            accesses
                .send(task)
                .map_err(|_| io::Error::other("all threads of the pool have ended"))?;
            self.outstanding += 1;
        }
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.reaped);
        let before = done.len();
        done.extend(self.completions.try_iter());
        self.outstanding -= done.len() - before;
    }

    fn cancel(&mut self) {
        self.given_up = true;
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        self.submit()?;
        self.check()?;
        match self.completions.recv_timeout(timeout.into()) {
            Ok(done) => {
                self.outstanding -= 1;
                self.reaped.push(done);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("all threads of the pool have ended"));
            }
        }
        Ok(())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        // Without a sender the threads end with what they have begun. Nothing else reaches the device any more.
        self.accesses = None;
        self.outstanding -= self.tasks.try_iter().count();
        // After an error or a panic, a device may never complete what a thread waits for.
        let end = pacing::monotonic() + LAST_WAIT;
        while self.outstanding > 0 {
            let left = end.saturating_sub(pacing::monotonic());
            if self.given_up || self.check().is_err() || left == Nanos::ZERO {
                return;
            }
            self.outstanding -= match self.completions.recv_timeout(left.into()) {
                Ok(_) => 1,
                Err(RecvTimeoutError::Timeout) => 0,
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thread_that_panics_is_noted() {
        for panics in [false, true] {
            let has_panicked = Arc::new(AtomicBool::new(false));
            let notes = NotesPanic(Arc::clone(&has_panicked));
            let thread = std::thread::spawn(move || {
                let _notes = notes;
                if panics {
                    // Without a message.
                    std::panic::resume_unwind(Box::new(()));
                }
            });
            assert_eq!(thread.join().is_err(), panics);
            assert_eq!(has_panicked.load(Relaxed), panics);
        }
    }

    #[test]
    fn a_pool_one_of_whose_threads_has_panicked_is_not_waited_for() {
        let file = tempfile::tempfile().unwrap();
        let mut pool = ThreadPool::with(&[&file], Durability::None, 2).unwrap();
        assert!(pool.check().is_ok());
        assert!(pool.wait(Nanos::ZERO).is_ok());
        pool.has_panicked.store(true, Relaxed);
        assert!(pool.check().is_err());
        assert!(pool.wait(Nanos::from_secs(1000)).is_err());
    }

    #[test]
    fn a_pool_has_a_thread_for_each_access_up_to_a_limit() {
        let file = tempfile::tempfile().unwrap();
        for (wanted, threads) in [(0, 1), (1, 1), (3, 3), (129, 128)] {
            let pool = ThreadPool::with(&[&file], Durability::None, wanted).unwrap();
            assert_eq!(pool.threads.len(), threads);
            assert_eq!(pool.together(Nanos::SECOND), 1);
        }
    }

    #[test]
    fn what_is_at_the_device_is_counted() {
        use crate::engine::AccessKind;
        use iosonar_linux::memory::Buffer;
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[7; 1024]).unwrap();
        let mut pool = ThreadPool::with(&[&file], Durability::None, 1).unwrap();
        for slot in 0..3 {
            let access = IoAccess {
                kind: AccessKind::Read,
                target: 0,
                // The last one is behind the end.
                offset: 512 * u64::from(slot),
                buffer: Buffer::new(512).unwrap(),
                region: 0,
                length: 512,
            };
            pool.prepare(slot, access).unwrap();
        }
        assert_eq!(pool.prepared().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(pool.outstanding, 0);
        pool.submit().unwrap();
        assert_eq!((pool.prepared().count(), pool.outstanding), (0, 3));
        let mut done = Vec::new();
        while done.len() < 3 {
            let before = done.len();
            pool.wait(Nanos::from_millis(20)).unwrap();
            pool.reap(&mut done);
            assert!(done.len() >= before);
            assert_eq!(pool.outstanding, 3 - done.len());
        }
        let mut results: Vec<_> = done.iter().map(|done| (done.slot, done.result)).collect();
        results.sort_unstable();
        assert_eq!(results, [(0, 512), (1, 512), (2, 0)]);
    }

    #[test]
    fn a_pool_that_was_given_up_or_has_panicked_ends_without_what_it_began() {
        use crate::engine::AccessKind;
        use iosonar_linux::memory::Buffer;
        for (is_cancelled, has_panicked, left) in [
            (false, false, 0),
            (true, false, 1),
            (false, true, 1),
            (true, true, 1),
        ] {
            let file = tempfile::tempfile().unwrap();
            let mut pool = ThreadPool::with(&[&file], Durability::None, 1).unwrap();
            assert_eq!(pool.name(), "threads");
            let read = IoAccess {
                kind: AccessKind::Read,
                target: 0,
                offset: 0,
                buffer: Buffer::new(512).unwrap(),
                region: 0,
                length: 512,
            };
            pool.prepare(0, read).unwrap();
            pool.submit().unwrap();
            let completions = pool.completions.clone();
            while completions.len() == 0 {
                thread::yield_now();
            }
            if is_cancelled {
                pool.cancel();
            }
            if has_panicked {
                pool.panicked();
            }
            drop(pool);
            assert_eq!(completions.len(), left, "{is_cancelled} {has_panicked}");
        }
    }
}
