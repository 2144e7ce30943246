//! A pool of threads with pread and pwrite, for kernels and containers without `io_uring`.
//!
//! Each thread stamps the completion of its own accesses. The pool is as large as the number of
//! accesses that may be in flight, up to a limit; beyond it they would wait for a thread, which
//! would look like a slow device, so the session is told not to hand over more.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use iosonar_units::Nanos;

use super::{Access, AccessKind, Done, Engine};
use crate::pacing;

pub(crate) struct ThreadPool {
    accesses: Option<Sender<Task>>,
    completions: Receiver<Done>,
    prepared: Vec<Task>,
    reaped: Vec<Done>,
    threads: Vec<JoinHandle<()>>,
}

struct Task {
    slot: u32,
    access: Access,
}

// SAFETY: the buffer of an access belongs to the access alone until it is reaped.
unsafe impl Send for Task {}

impl ThreadPool {
    /// More threads than this only wait for processors.
    pub(crate) const MOST_THREADS: u32 = 128;

    pub(crate) fn new(file: &File, in_flight: u32) -> io::Result<Self> {
        let (accesses, tasks) = unbounded::<Task>();
        let (sender, completions) = unbounded();
        let fd = file.as_raw_fd();
        let threads = (0..in_flight.clamp(1, Self::MOST_THREADS))
            .map(|i| {
                let (tasks, sender) = (tasks.clone(), sender.clone());
                thread::Builder::new()
                    .name(format!("replay-{i}"))
                    .stack_size(64 * 1024)
                    .spawn(move || work(fd, &tasks, &sender))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            accesses: Some(accesses),
            completions,
            prepared: Vec::new(),
            reaped: Vec::new(),
            threads,
        })
    }
}

fn work(fd: RawFd, tasks: &Receiver<Task>, completions: &Sender<Done>) {
    // SAFETY: the session keeps the target open until the pool has been joined; it is never closed
    // here.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    for Task { slot, access } in tasks {
        let result = perform(&file, &access);
        let done = Done {
            slot,
            result: match result {
                Ok(bytes) => bytes as i32,
                Err(e) => -e.raw_os_error().unwrap_or(5),
            },
            at: pacing::monotonic(),
        };
        if completions.send(done).is_err() {
            return;
        }
    }
}

fn perform(file: &File, access: &Access) -> io::Result<usize> {
    let length = access.length as usize;
    // SAFETY: the session keeps this memory untouched until the access is reaped.
    let buffer = || unsafe { std::slice::from_raw_parts_mut(access.buffer, length) };
    loop {
        let outcome = match access.kind {
            AccessKind::Read => file.read_at(buffer(), access.offset),
            AccessKind::Write { durable: false } => file.write_at(buffer(), access.offset),
            AccessKind::Write { durable: true } => write_durably(file, buffer(), access.offset),
            AccessKind::Flush => file.sync_all().map(|()| 0),
        };
        match outcome {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

fn write_durably(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    let data = [io::IoSlice::new(data)];
    let flags = rustix::io::ReadWriteFlags::DSYNC;
    Ok(rustix::io::pwritev2(file, &data, offset, flags)?)
}

impl Engine for ThreadPool {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn prepare(&mut self, slot: u32, access: Access) -> io::Result<()> {
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
        }
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.reaped);
        done.extend(self.completions.try_iter());
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        self.submit()?;
        match self.completions.recv_timeout(timeout.into()) {
            Ok(done) => self.reaped.push(done),
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
        // Without a sender the threads finish what they have and end.
        self.accesses = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
