//! Engines: how accesses are submitted to the kernel, and how their completions come back.
//!
//! An engine knows nothing of loads, times and records. The session prepares accesses, submits all
//! prepared ones together, and takes completions when it has nothing better to do.

#![allow(unsafe_code)] // Memory that the kernel reads and writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::ptr::NonNull;

use iosonar_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::Options;
use crate::zones::Zones;

mod calls;
mod dry;
mod passthrough;
mod perform;
mod simulate;
mod sync;
mod threads;
mod uring;

pub(crate) use dry::Dry;
use passthrough::Passthrough;
pub(crate) use simulate::Simulated;
pub use simulate::{ConstantLatency, SimulatedDevice};
pub(crate) use sync::Synchronous;
pub(crate) use threads::ThreadPool;
pub(crate) use uring::Uring;
pub use uring::{RingOptions, TaskWork};

/// Which engine a replay uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// Synchronous calls where the device answers within microseconds and the ring would need kernel
    /// workers; NVMe commands for the character device of a namespace; else `io_uring` where the kernel permits it, else the thread pool.
    #[default]
    Auto,
    /// `io_uring`.
    #[serde(alias = "io-uring")]
    IoUring,
    /// One thread with pread and pwrite, one request at a time.
    Sync,
    /// A pool of threads with pread and pwrite.
    Threads,
    /// NVMe commands through `io_uring`, past the block layer.
    Passthrough,
    /// Nothing is submitted; everything is complete at once.
    Dry,
    /// A model of a device completes requests, in real time.
    Simulate,
}

impl EngineKind {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Auto, "auto"),
        (Self::IoUring, "io_uring"),
        (Self::Sync, "sync"),
        (Self::Threads, "threads"),
        (Self::Passthrough, "passthrough"),
        (Self::Dry, "dry"),
        (Self::Simulate, "simulate"),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(kind, _)| *kind == self);
        named.map_or("", |(_, name)| name)
    }

    /// Whether a target is really accessed.
    pub const fn is_real(self) -> bool {
        !matches!(self, Self::Dry | Self::Simulate)
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write {
        /// Complete only when the data are on the medium (force unit access).
        durable: bool,
    },
    /// Everything written before is on the medium when it completes.
    Flush,
    /// The device may forget the range.
    Discard,
    /// The range reads as zeros from now on.
    WriteZeroes,
}

/// One access to a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) kind: AccessKind,
    /// Which of the targets.
    pub(crate) target: u32,
    /// In bytes.
    pub(crate) offset: u64,
    /// Memory for `length` bytes that stays untouched until the access is done.
    pub(crate) buffer: *mut u8,
    /// Which of the engine's [`Region`]s the buffer lies in.
    pub(crate) region: u16,
    pub(crate) length: u64,
}

/// Memory that all buffers of a kind lie in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) start: NonNull<u8>,
    pub(crate) bytes: usize,
}

// SAFETY: it is the address and the size of memory.
unsafe impl Send for Region {}

// SAFETY: it is the address of memory that no other code accesses until the access is complete.
unsafe impl Send for Access {}

/// An access that is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// The slot it was prepared with.
    pub(crate) slot: u32,
    /// Bytes moved, or a negative `errno`.
    pub(crate) result: i32,
    /// When, on the monotonic clock.
    pub(crate) at: Nanos,
    /// The logical block that a write went to, where the device chose it.
    pub(crate) place: Option<u64>,
}

impl Done {
    pub(crate) fn of(slot: u32, result: i32, at: Nanos) -> Self {
        Self {
            slot,
            result,
            at,
            place: None,
        }
    }
}

pub(crate) trait Engine {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// How many accesses may be submitted together, when the replay is this far behind.
    fn together(&self, behind: Nanos) -> usize {
        let _ = behind;
        16
    }

    /// Prepares an access; it begins with the next [`submit`](Self::submit).
    fn prepare(&mut self, slot: u32, access: Access) -> io::Result<()>;

    /// Submits everything prepared.
    fn submit(&mut self) -> io::Result<()>;

    /// How long after the beginning of the last [`submit`](Self::submit) the kernel took the first access.
    fn taken_after(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Takes what is done by now, without waiting.
    fn reap(&mut self, done: &mut Vec<Done>);

    /// Waits until something is done, at most `timeout`. May return early.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;

    /// Asks the kernel to give up what is in flight. It may not.
    fn cancel(&mut self) {}

    /// What the user should know about how it went.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The engine that was chosen.
pub(crate) enum Chosen {
    Uring(Box<Uring>),
    Passthrough(Box<Uring<Passthrough>>),
    Sync(Synchronous),
    Threads(ThreadPool),
    Dry(Dry),
    Simulated(Simulated),
}

/// What an engine is set up for.
pub(crate) struct Setup<'a> {
    /// The targets' files; none for engines that do not access them.
    pub(crate) files: Vec<&'a File>,
    /// The most accesses at once, of all targets.
    pub(crate) in_flight: u32,
    pub(crate) ring: RingOptions,
    pub(crate) sync: Durability,
    /// Where the buffers lie.
    pub(crate) regions: Vec<Region>,
    /// Whether there are discards, which a ring leaves to threads.
    pub(crate) discards: bool,
    /// Of each file: the zones that are appended to.
    pub(crate) zones: Vec<Option<Zones>>,
}

/// Whether writes wait until the data are on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Only those that ask for it (FUA).
    #[default]
    None,
    /// The data of every write (`O_DSYNC`).
    #[serde(rename = "dsync")]
    Data,
    /// Data and metadata of every write (`O_SYNC`).
    #[serde(rename = "sync")]
    Full,
}

/// Which engine `auto` means for these targets, and what the user should know of it: why it is not the one that was hoped
/// for, which options it has no use for.
pub(crate) fn resolve(
    kind: EngineKind,
    files: &[&File],
    options: &Options,
) -> (EngineKind, Vec<String>) {
    if kind != EngineKind::Auto {
        return (kind, Vec::new());
    }
    let (resolved, mut notes) = best_for(files);
    let unused = options.unused_by(resolved);
    if !unused.is_empty() {
        notes.push(format!(
            "{} had no effect, as engine auto is {} here: --engine io_uring has a use for it",
            unused.join(", "),
            resolved.name()
        ));
    }
    (resolved, notes)
}

fn best_for(files: &[&File]) -> (EngineKind, Vec<String>) {
    if files.iter().any(|file| is_character_device(file)) {
        return (EngineKind::Passthrough, Vec::new());
    }
    let suited = sync::suited(files);
    if !suited.is_empty() && suited.len() == files.len() {
        let reason = "this driver completes requests during submission and does not support NOWAIT, so io_uring would hand \
                      each to a kernel worker: synchronous calls are used instead (--engine io_uring overrides that)";
        return (EngineKind::Sync, vec![reason.to_owned()]);
    }
    let (resolved, mut notes) = match Uring::is_permitted() {
        Ok(()) => (EngineKind::IoUring, Vec::new()),
        Err(e) => (
            EngineKind::Threads,
            vec![format!(
                "io_uring is not available here ({e}); a pool of threads takes its place, which costs \
                 more CPU time per request"
            )],
        ),
    };
    if !suited.is_empty() {
        notes.push(format!(
            "engine {} is for all targets, although sync suits {} better, which alone it would be for: replay on each kind \
             separately to have the better engine for both",
            resolved.name(),
            suited.join(", ")
        ));
    }
    (resolved, notes)
}

/// Of those, only the ones of NVMe namespaces are targets.
fn is_character_device(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|m| m.file_type().is_char_device())
}

/// Sets an engine up.
pub(crate) fn set_up(
    kind: EngineKind,
    setup: &Setup<'_>,
    devices: Vec<Box<dyn SimulatedDevice>>,
) -> io::Result<Chosen> {
    Ok(match kind {
        EngineKind::Threads => Chosen::Threads(ThreadPool::new(setup)?),
        EngineKind::Auto | EngineKind::IoUring => {
            let instead = "--engine threads does without io_uring";
            Chosen::Uring(Box::new(
                Uring::new(setup).map_err(|e| not_set_up(&e, instead))?,
            ))
        }
        EngineKind::Passthrough => {
            let instead = "the namespace's block device does without NVMe commands";
            Chosen::Passthrough(Box::new(
                Uring::new(setup).map_err(|e| not_set_up(&e, instead))?,
            ))
        }
        EngineKind::Sync => Chosen::Sync(Synchronous::new(setup)?),
        EngineKind::Dry => Chosen::Dry(Dry::default()),
        EngineKind::Simulate => Chosen::Simulated(Simulated::new(devices)),
    })
}

/// Why there is no ring, and what does without.
fn not_set_up(error: &io::Error, instead: &str) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) => {
            " (sysctl kernel.io_uring_disabled, or a filter of system calls, forbids it)"
        }
        Some(libc::ENOSYS) => " (the kernel has no io_uring)",
        Some(libc::ENOMEM) => " (ulimit -l may be too low)",
        _ => "",
    };
    io::Error::new(error.kind(), format!("{error}{why}; {instead}"))
}

/// The targets' files, open as long as the engine lives.
fn clones(files: &[&File]) -> io::Result<Vec<File>> {
    files.iter().map(|file| file.try_clone()).collect()
}
