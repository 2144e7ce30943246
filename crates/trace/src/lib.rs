//! The one form that recordings, generated loads, simulations and replays share, and the files
//! that it is kept in.
//!
//! A [`Request`] is a demand on the storage: when, where, how much, which operation. A [`Record`] is a
//! request with its [`Outcome`]: how late it was submitted (`delay`), how long it then took
//! (`latency`), and a [`Status`]. Everything that reads records works on a recording, a simulation
//! and a replay alike.
//!
//! Traces flow in [`Batch`]es: columns of some thousand rows, so that nothing needs a whole trace
//! in memory. A [`TraceReader`] fills batches, a [`TraceWriter`] takes them:
//!
//! ```no_run
//! use iosonar_trace::{Batch, TraceError, output, input};
//!
//! fn copy() -> Result<(), TraceError> {
//!     let mut reader = input::open("recording.load.gz".as_ref())?;
//!     let mut writer = output::create("copy.load.zst".as_ref(), reader.metadata())?;
//!     let mut batch = Batch::default();
//!     while reader.next_batch(&mut batch)? > 0 {
//!         writer.write(&batch)?;
//!     }
//!     writer.finish()
//! }
//! ```
//!
//! Times are on the file's own axis, in nanoseconds. Readers decompress on a thread of their own
//! and name file, line and column in their errors; writers write to a temporary name and rename it
//! when all is whole.

pub mod apart;
pub mod appended;
mod batch;
mod codec;
mod column;
pub mod convert;
mod decompress;
mod devices;
mod error;
pub mod fields;
pub mod fit;
mod format;
pub mod formats;
pub mod input;
mod limits;
mod metadata;
mod notice;
pub mod output;
pub mod packed;
mod record;
mod requests;
mod salvage;
mod submitted;
pub mod tables;
#[cfg(test)]
mod testing;
mod text;
pub mod transform;
mod whole_file;
#[cfg(feature = "serde")]
mod written;

pub use batch::Batch;
pub use error::{At, Place, TraceError};
pub use format::{
    Format, ReadOptions, ReadProgress, Sink, Source, StartEvent, TraceReader, TraceWriter,
    WriteOptions, one_byte,
};
pub use formats::kernel::{
    LiveAction, LiveBegin, LiveEvent, LiveEvents, LiveRequests, LiveStep, live_reader,
};
pub use input::Reading;
pub use metadata::{Metadata, MetadataError, Remark, RemarkKind};
pub use notice::Notice;
pub use record::{Flags, Op, Outcome, Quantity, Record, Request, Status};
pub use requests::Requests;
pub use salvage::CutOff;
pub use transform::SortedByStart;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
