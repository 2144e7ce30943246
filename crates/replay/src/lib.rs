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
//! - `delay`: handing over to the kernel - intended start, never negative;
//! - `latency`: completion - handing over.
//!
//! Before anything is started the target is examined ([`safety`]) and the load is scanned
//! ([`Scan`]). A replay never touches a device that is mounted or otherwise in use, and only reads
//! unless it is told to write.

mod accepted;
mod buffers;
pub mod check;
mod conflicts;
mod engine;
mod error;
mod feeder;
mod ideal;
mod lane;
mod nvme;
mod options;
mod pacing;
mod prepare;
pub mod record;
mod replay;
mod results;
pub mod safety;
mod scan;
mod self_check;
mod session;
mod shared;
mod spec;
mod summary;
mod target;
pub mod verify;
mod watch;
mod zones;

pub use conflicts::{Conflicts, Strong};
pub use engine::{
    AccessKind, ConstantLatency, Durability, EngineKind, RingOptions, SimulatedDevice, TaskWork,
};
pub use error::ReplayError;
pub use iosonar_trace::fit::{Beyond, Fit, Fitted};
pub use options::{Data, Intent, Options, Writes};
pub use pacing::{Interference, Pacing, Priority, Processors, Style};
pub use prepare::{Prepared, fill, slurp};
pub use replay::{Load, replay};
pub use results::Progress;
pub use scan::Scan;
pub use self_check::SelfCheckPoint;
pub use shared::{EndedEarly, Stop};
pub use spec::{Answer, Merges, RecordKeeping, ReplaySpec, SpecError};
pub use summary::{Summary, TargetSummary, Times};
pub use target::{FileSize, Target, create_file};
pub use watch::{Episode, LATENESS_LIMITS, Verdict};
pub use zones::ZoneOptions;
