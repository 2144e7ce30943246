//! Engines: how accesses are handed to the kernel, and how their completions come back.
//!
//! An engine knows nothing of loads, times and records. The session prepares accesses, hands all
//! prepared ones over together, and takes completions when it has nothing better to do.

use std::fs::File;
use std::io;

use iosonar_units::Nanos;

mod threads;
mod uring;

pub(crate) use threads::ThreadPool;
pub(crate) use uring::Uring;

/// Which engine a replay uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// `io_uring` where the kernel permits it, else the thread pool.
    #[default]
    Auto,
    /// `io_uring`.
    IoUring,
    /// A pool of threads with pread and pwrite.
    Threads,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    /// Durable: complete only when the data are on the medium (force unit access).
    Write {
        durable: bool,
    },
    Flush,
}

/// One access to the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) kind: AccessKind,
    /// In bytes.
    pub(crate) offset: u64,
    /// Memory for `length` bytes that stays untouched until the access is done.
    pub(crate) buffer: *mut u8,
    pub(crate) length: u32,
}

/// An access that is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// The slot it was prepared with.
    pub(crate) slot: u32,
    /// Bytes moved, or a negative `errno`.
    pub(crate) result: i32,
    /// When, on the monotonic clock.
    pub(crate) at: Nanos,
}

pub(crate) trait Engine {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Prepares an access; it begins with the next [`submit`](Self::submit).
    fn prepare(&mut self, slot: u32, access: Access) -> io::Result<()>;

    /// Hands everything prepared to the kernel.
    fn submit(&mut self) -> io::Result<()>;

    /// Takes what is done by now, without waiting.
    fn reap(&mut self, done: &mut Vec<Done>);

    /// Waits until something is done, at most `timeout`. May return early.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;
}

/// The engine that was chosen.
pub(crate) enum Chosen {
    Uring(Uring),
    Threads(ThreadPool),
}

/// Sets an engine up on `file`, for at most `in_flight` accesses at once. If it is not the one that
/// was hoped for, the second value says why.
pub(crate) fn choose(
    kind: EngineKind,
    file: &File,
    in_flight: u32,
) -> io::Result<(Chosen, Option<String>)> {
    let threads = || ThreadPool::new(file, in_flight).map(Chosen::Threads);
    match kind {
        EngineKind::Threads => Ok((threads()?, None)),
        EngineKind::IoUring => Ok((Chosen::Uring(Uring::new(file, in_flight)?), None)),
        EngineKind::Auto => match Uring::new(file, in_flight) {
            Ok(uring) => Ok((Chosen::Uring(uring), None)),
            Err(e) => Ok((
                threads()?,
                Some(format!(
                    "io_uring is not available here ({e}); a pool of threads takes its place, \
                     which costs more CPU time per request"
                )),
            )),
        },
    }
}
