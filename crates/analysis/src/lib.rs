//! Metrics over traces.
//!
//! - [`LoadMetrics`]: of a load, independent of its outcome: rates, sizes, positions, sequentiality, burstiness,
//!   working set, repetition, reuse distance, overlaps.
//! - [`OutcomeMetrics`]: of its outcome: delays, latencies, concurrency, throughput, damaged I/O, and the
//!   metrics of disk activity.
//! - [`TraceSummary`]: a trace at a glance.
//! - [`Recent`]: what devices did in the last interval and the last minute, while requests come and go.
//! - [`objective`]: what a storage system must keep to, and whether it does.
//!
//! All run in one pass over a trace of any length, in bounded memory. What is no longer exact then says
//! how far it may be off.

mod activity;
mod ascending;
mod burstiness;
mod by_number;
pub mod check;
mod devices;
mod load;
mod measured;
mod metrics;
pub mod objective;
mod outcome;
mod overlap;
mod pages;
mod pass;
mod recent;
mod reuse;
mod series;
mod summary;
mod sweep;
mod timeline;
mod tumbling;
mod working_set;

pub use activity::{
    Activity, ActivityGroup, ActivityOptions, Decomposition, DeviceUse, Directions, Fit, Parts,
    Peak, SizeClass,
};
pub use burstiness::{Burstiness, Hurst};
pub use devices::DeviceBusy;
pub use load::{
    Amount, Frequencies, Hot, LoadMetrics, LoadOptions, LoadSummary, WORKING_SET_WINDOWS,
    WindowSize, name_of_others,
};
pub use measured::{By, ByKey, MeasureOptions, Measured, OfKey, TablesError, measure};
pub use outcome::{OutcomeMetrics, OutcomeSummary, Outcomes};
pub use overlap::{CloseOverlaps, Damaged, GAPS};
pub use pass::pass;
pub use recent::{Echo, EchoKind, OpKind, Recent, RecentInterval, RecentUse};
pub use reuse::MissRatioCurve;
pub use series::LoadPoint;
pub use summary::{Columns, TraceSummary};
pub use sweep::{Flight, Watcher};
pub use timeline::{Timeline, TimelinePoint};
pub use tumbling::{Tumbling, TumblingPoint};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
