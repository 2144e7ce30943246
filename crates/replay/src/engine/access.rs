//! Accesses, and what carries them out.

use std::fs::File;
use std::io;

use iosonar_linux::memory::{Buffer, Region};
use iosonar_units::Nanos;
use serde::{Deserialize, Serialize};

use super::RingOptions;
use crate::note::EngineNote;
use crate::os::{self, TargetFile};
use crate::zones::Zones;

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
#[derive(Debug)]
pub(crate) struct IoAccess {
    pub(crate) kind: AccessKind,
    /// Which of the targets.
    pub(crate) target: u32,
    /// In bytes.
    pub(crate) offset: u64,
    /// Memory for the data that it moves, which comes back when it is done.
    pub(crate) buffer: Buffer,
    /// Which of the engine's regions the buffer lies in.
    pub(crate) region: u16,
    pub(crate) length: u64,
}

/// An access that is done.
#[derive(Debug)]
pub(crate) struct Done {
    /// The slot it was prepared with.
    pub(crate) slot: u32,
    /// Bytes moved, or a negative `errno`.
    pub(crate) result: i32,
    /// When, on the monotonic clock.
    pub(crate) at: Nanos,
    /// The logical block that a write went to, where the device chose it.
    pub(crate) place: Option<u64>,
    /// Its memory.
    pub(crate) buffer: Buffer,
}

impl Done {
    #[inline]
    pub(crate) fn of(slot: u32, result: i32, at: Nanos, buffer: Buffer) -> Self {
        Self {
            slot,
            result,
            at,
            place: None,
            buffer,
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

    /// Prepares an access; it begins with the next [`submit`](Self::submit). If it fails, the access and its buffer are
    /// lost, and the session ends.
    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()>;

    /// Submits everything prepared.
    fn submit(&mut self) -> io::Result<()>;

    /// How long after the beginning of the last [`submit`](Self::submit) the kernel had taken all of the accesses; zero if
    /// that is not known.
    fn taken_after(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Whether the last [`submit`](Self::submit) began with this access, whatever it did after.
    fn began_with(&self, slot: u32) -> bool {
        let _ = slot;
        false
    }

    /// Takes what is done by now, without waiting.
    fn reap(&mut self, done: &mut Vec<Done>);

    /// Waits until something is done, at most `timeout`. May return early.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;

    /// Asks the kernel to give up what is in flight. It may not.
    fn cancel(&mut self) {}

    /// What the user should know about how it went.
    fn notes(&self) -> Vec<EngineNote> {
        Vec::new()
    }
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

/// The targets' files, open as long as the engine lives.
pub(crate) fn clones(files: &[&File]) -> io::Result<Vec<TargetFile>> {
    files.iter().map(|file| os::open_again(file)).collect()
}
