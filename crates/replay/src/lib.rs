//! Replays of a load on real block devices or files, at its original timing.
//!
//! ```text
//!  trace ──► feeder ──► lane ─────► engine ──► device     collector ──► records, summary
//!  (file)   (thread)   (conflicts, buffers,      │            ▲ (thread)
//!                       verification)            │            │
//!                ▲ ─ session: pacing ◄───────────┘            │
//!                └───────────────── records ──────────────────┘
//! ```
//!
//! The session starts each request as close to its intended time as the device allows, never
//! early, and in the order of the load. It alone touches its tables and its engine;
//! reading and parsing, and everything about results, happen on other threads. Each target has a
//! lane of its own. Lanes are dealt to one session or several, each a thread; these share the clock, and end together.
//!
//! For each request are measured:
//!
//! - `delay`: submission to the kernel - intended start, never negative;
//! - `latency`: completion - submission.
//!
//! Before anything is started the target is examined ([`iosonar_guard`]) and the load is scanned
//! ([`Scan`]). A replay never touches a device that is mounted or otherwise in use, and only
//! reads by default.

mod accepted;
mod advice;
mod arriving;
mod bounds;
mod buffers;
mod conflicts;
mod engine;
mod error;
mod fake;
mod feeder;
mod ideal;
mod lane;
mod listed;
mod load;
mod machine;
mod metrics;
mod note;
mod nvme;
mod options;
mod os;
mod pacing;
mod prepare;
mod queue;
mod replay;
mod results;
mod scan;
mod self_check;
mod session;
mod shared;
#[cfg(test)]
#[path = "../tests/sim/mod.rs"]
mod sim;
mod spec;
mod suit;
mod summary;
mod target;
#[cfg(test)]
mod testing;
pub mod verify;
mod watch;
mod zone_plan;
mod zones;

pub use advice::{Advice, RUN_PER_WARMUP, advice};
pub use arriving::{Arrivals, Arriving, TooFarAhead, arriving};
pub use conflicts::{Conflicts, Strong};
pub use engine::{
    AccessKind, ConstantLatency, Durability, EngineKind, RingOptions, SimulatedDevice, TaskWork,
};
pub use error::ReplayError;
pub use fake::{Fake, FakeOf};
pub use iosonar_guard::{Intent, TargetName};
pub use iosonar_trace::fit::{Beyond, Fit, Fitted};
pub use listed::{Listed, look_at};
pub use load::{Load, fitter};
pub use machine::{DeviceAccess, Machine, RingFacts, Standing, Subject};
pub use note::{EngineNote, Note, QueueNote, TargetNote, ThreadNote, VerificationNote};
pub use options::{Data, Options, Writes};
pub use pacing::{Interference, Pacing, Processors, Style, ThreadPriority};
pub use prepare::{Prepared, fill, slurp};
pub use queue::{Left, QueueError, QueueSetting, QueueSettings, Restoring};
pub use replay::replay;
pub use results::{Progress, Times, TimesByKind};
pub use scan::{Scan, ScanFigures};
pub use self_check::SelfCheckPoint;
pub use shared::{Control, EndedEarly, StopRequest};
pub use spec::{Answer, Merges, RecordKeeping, ReplaySpec, SpecError};
pub use summary::{Summary, TargetSummary};
pub use target::{FileSize, Target, create_file};
pub use watch::{Episode, InFlightLimit, LATENESS_LIMITS, Verdict};
pub use zones::ZoneOptions;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
