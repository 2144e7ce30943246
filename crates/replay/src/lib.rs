//! Replays of a load on a real block device or file, at its original timing.
//!
//! ```text
//!  trace ──► feeder ──► session ──► engine ──► device        recorder ──► records, summary
//!  (file)   (thread)   (pacing, in-flight table)   │              ▲ (thread)
//!                          ▲─── completions ◄──────┘              │
//!                          └──────────── records ─────────────────┘
//! ```
//!
//! The session starts each request as close to its intended time as the device allows, never
//! early, and in the order of the load. It alone touches the clock, the in-flight table and the
//! engine; reading and parsing, and everything about results, happen on other threads.
//!
//! For each request are measured:
//!
//! - `delay`: handing over to the kernel - intended start, never negative;
//! - `latency`: completion - handing over.
//!
//! Before anything is started the target is examined ([`safety`]) and the load is scanned
//! ([`Scan`]). A replay never touches a device that is mounted or otherwise in use, and only reads
//! unless it is told to write.

mod buffers;
mod engine;
mod error;
mod feeder;
mod in_flight;
mod options;
mod pacing;
mod recorder;
mod replay;
pub mod safety;
mod scan;
mod session;
mod summary;
mod target;
mod verdict;

pub use engine::EngineKind;
pub use error::ReplayError;
pub use options::{Intent, Options, Writes};
pub use replay::{Progress, replay};
pub use scan::Scan;
pub use summary::{Summary, Times};
pub use target::{Target, create_file};
pub use verdict::Verdict;
