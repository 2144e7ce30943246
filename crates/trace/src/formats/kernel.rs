//! Events of the kernel's block layer, and the requests that they make.
//!
//! Three formats, and a recorder, describe the same events: the binary files of `blktrace`, the text of `blkparse`, and the
//! text of the tracepoints. [`pairing`] makes requests of them.

mod blkparse;
mod blktrace;
mod event;
mod format_string;
mod live;
mod pairing;
mod pending;
mod steps;
mod text_events;
mod tracepoints;

pub(crate) use blkparse::Blkparse;
pub(crate) use blktrace::{Blktrace, open_set, set_of};
pub use live::{LiveAction, LiveBegin, LiveEvent, LiveEvents, live_reader};
pub use steps::{LiveRequests, LiveStep};
pub(crate) use tracepoints::Tracepoints;
