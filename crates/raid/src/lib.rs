//! RAID arrays as fork-join queueing networks.
//!
//! A request to an array forks into sub-requests to its devices; each waits in its device's queue,
//! and the request is complete when the last has been served.
//!
//! ```text
//!  RequestSource ──► Planner ──► RequestPlan ──► Device, Device, ... ──► join ──► CompletionSink
//!  (a load)          (RAID level,                (a queue each)
//!                     layout)
//! ```
//!
//! - [`levels`]: the planners: RAID 0, 1, 10, 01, 5, 6, 50, 60 and disks one after the other, with
//!   lost disks. With [`Placement::Random`] they place requests as the papers do, with
//!   [`Placement::Addressed`] by the addresses of a real layout.
//! - [`Array`]: the simulation over any [`Device`](iosonar_device::Device): event by event, or, where
//!   every job's end is known when it comes, without events and with the same result.
//! - [`Controller`]: what lies between the host and the disks: command overhead, exclusive-or, a
//!   shared bus, a write-back cache; and the [`Rebuild`] of lost disks.
//!
//! A write of a part of a RAID 5 stripe first reads: either the old data and parity
//! (read-modify-write) or the rest of the stripe (reconstruct-write). How its disks then come to
//! the right place is the positioning table of [`positioning`].
//!
//! Source: Lebrecht, Dingle, Knottenbelt, "Modelling Zoned RAID Systems using Fork-Join Queueing
//! Simulation", EPEW 2009.

mod array;
mod choice;
pub mod levels;
mod plan;
pub mod positioning;
pub mod rules;
mod striping;

pub use array::{
    Array, Completion, CompletionSink, Controller, DeviceEvent, DeviceEventCounts, DeviceEventKind,
    MeasuredWindow, Rebuild, RebuildProgress, RequestSource, ResponseSplit, RunSummary, Served,
    WriteBack,
};
pub use levels::{
    Arrangement, Bitmap, CopyLayout, Grouped, Level, Linear, LinuxMd, Lost, MdLevel, MdMirrors,
    MdParity, MirrorRead, Mirrored, Parity, ParityLayout, RandomLayout, ReadLayout, Registered,
    RmwLevel, StripeHandling, Striped, WriteStart,
};
pub use plan::{Planner, RequestPlan, Stage, StageKind, SubRequest};
use striping::StripeGeometry;
pub use striping::{ArrayShape, GeometryError, Piece, Placement};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
