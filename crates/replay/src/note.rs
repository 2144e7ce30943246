//! What the user should know of a replay besides its figures: facts, which the command line puts into words.

use std::path::PathBuf;

use iosonar_guard::Opener;
use iosonar_units::{Bytes, Nanos};

use crate::EngineKind;
use crate::pacing::ThreadPriority;
use crate::queue::QueueSetting;

/// What the user should know of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Of its engine.
    Engine(EngineNote),
    /// Of its threads and the processors.
    Thread(ThreadNote),
    /// Of who else uses its targets.
    Target(TargetNote),
    /// Of what happened to requests between submission and device.
    Queue(QueueNote),
    /// Of its verification.
    Verification(VerificationNote),
}

/// What the user should know of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineNote {
    /// Synchronous calls were chosen, as the drivers of all targets complete requests during submission.
    SynchronousSuits,
    /// Threads replaced `io_uring`.
    NoRing {
        /// Why it is not available.
        error: String,
    },
    /// An engine for all targets is not the best one for some.
    OneEngineForAll {
        /// The engine.
        engine: EngineKind,
        /// The devices that synchronous calls suit better, by the kernel's names.
        suited: Vec<String>,
    },
    /// Options that the chosen engine has no use for.
    OptionsUnused {
        /// Their names on the command line.
        options: Vec<&'static str>,
        /// The engine.
        engine: EngineKind,
    },
    /// The memory for buffers bounds the requests in flight.
    FewerInFlight {
        /// How many may be in flight.
        in_flight: u32,
        /// How many were wanted.
        wanted: u32,
        /// What the longest request takes, in bytes.
        longest: u64,
        /// The memory for all.
        memory: Bytes,
    },
    /// The kernel did not lock the memory of the buffers.
    BuffersNotLocked {
        /// Their size, in bytes.
        bytes: usize,
        /// Why.
        error: String,
    },
    /// NVMe commands failed.
    NvmeFailed {
        /// How many.
        count: u64,
        /// With which status: type and code.
        status: u16,
        /// What that means.
        meaning: &'static str,
    },
    /// Requests went through workers of the kernel.
    KernelWorkers,
}

/// What the user should know of the threads and the processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadNote {
    /// Time zero, which the user set, was past before everything was ready.
    BeganLate {
        /// By how much.
        by: Nanos,
    },
    /// A thread runs on any processor.
    NotPinned {
        /// The processors that were wanted.
        processors: Vec<usize>,
        /// Why.
        error: String,
    },
    /// A real-time priority was not taken, as the kernel would kill the thread.
    RealTimeLimited {
        /// For how long it may compute without sleeping.
        limit: Nanos,
    },
    /// A priority was refused.
    PriorityRefused {
        /// The one that was wanted.
        wanted: ThreadPriority,
        /// Why.
        error: String,
    },
    /// Other programs wanted the processors.
    ProcessorsContended,
}

/// What the user should know of who else uses a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetNote {
    /// A target that is read is open for writing in other processes.
    WrittenByOthers {
        /// The target.
        target: PathBuf,
        /// The processes.
        openers: Vec<Opener>,
    },
    /// A target that is written to is open in other processes.
    SeenByOthers {
        /// The target.
        target: PathBuf,
        /// The processes.
        openers: Vec<Opener>,
    },
    /// A target that is written to is open where it cannot be seen.
    OpenElsewhere {
        /// The target.
        target: PathBuf,
    },
    /// Another process wanted to open a target during the replay.
    OpenedByAnother {
        /// The target.
        target: PathBuf,
    },
}

/// What the user should know of the queue of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueNote {
    /// A setting of a queue did not hold to the end.
    SettingLost {
        /// Which.
        setting: QueueSetting,
        /// The target.
        target: PathBuf,
        /// What it was set to.
        wanted: String,
        /// What it is.
        now: String,
    },
    /// The kernel merged requests.
    Merged {
        /// How many.
        requests: u64,
    },
    /// The device did clearly more requests than were submitted.
    Surplus {
        /// What it did.
        done: u64,
        /// How many were completed.
        completed: u64,
        /// How many failed.
        failed: u64,
    },
}

/// What the user should know of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerificationNote {
    /// The log of the tables of a verification is not complete.
    TablesLost {
        /// Why.
        error: String,
    },
    /// The final pass of a verification was left out.
    FinalPassLeftOut,
    /// The final pass of a verification was interrupted.
    FinalPassInterrupted,
}

impl From<EngineNote> for Note {
    fn from(note: EngineNote) -> Self {
        Self::Engine(note)
    }
}

impl From<ThreadNote> for Note {
    fn from(note: ThreadNote) -> Self {
        Self::Thread(note)
    }
}

impl From<TargetNote> for Note {
    fn from(note: TargetNote) -> Self {
        Self::Target(note)
    }
}

impl From<QueueNote> for Note {
    fn from(note: QueueNote) -> Self {
        Self::Queue(note)
    }
}

impl From<VerificationNote> for Note {
    fn from(note: VerificationNote) -> Self {
        Self::Verification(note)
    }
}
