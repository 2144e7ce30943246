//! RAID arrays as fork-join queueing networks.
//!
//! A request to an array forks into sub-requests to its devices; each waits in its device's queue,
//! and the request is complete when the last has been served.
//!
//! ```text
//!  RequestSource ──► Planner ──► Plan ──► Device, Device, ... ──► join ──► CompletionSink
//!  (a load)          (RAID level,         (a queue each)
//!                     layout)
//! ```
//!
//! - [`Raid0`], [`Raid01`], [`Raid5`]: the planners. With [`Placement::Random`] they place requests as the
//!   papers do, with [`Placement::Addressed`] by the addresses of a real layout.
//! - [`Array`]: the simulation, event by event, over any [`Device`](iosonar_device::Device).
//!
//! A write of a part of a RAID 5 stripe first reads: either the old data and parity
//! (read-modify-write) or the rest of the stripe (reconstruct-write). How its disks then come to
//! the right place is the positioning table of [`positioning`].
//!
//! Source: Lebrecht, Dingle, Knottenbelt, "Modelling Zoned RAID Systems using Fork-Join Queueing
//! Simulation", EPEW 2009.

mod array;
mod plan;
pub mod positioning;
mod raid0;
mod raid01;
mod raid5;
pub mod rules;
mod striping;

pub use array::{Array, Completion, CompletionSink, RequestSource, RunSummary};
pub use plan::{Plan, Planner, Stage, StageKind, SubRequest};
pub use raid0::Raid0;
pub use raid01::{MirrorRead, Raid01};
pub use raid5::{ParityLayout, Raid5, RandomLayout, ReadLayout, WriteStart};
pub use striping::{Geometry, GeometryError, Placement};
