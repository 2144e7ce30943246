//! Transformations of loads: each is a [`Change`], and they compose in the order in which they are given.
//!
//! Those that need no more than the request at hand stream. Repeating, copying, reversing and sorting keep the
//! load packed in memory up to a limit, and in a temporary file beyond it ([`Spill`]).

mod command;
mod copies;
mod derive;
mod merge;
mod order;
mod place;
mod ratio;
mod repeat;
mod reverse;
mod select;
mod spool;
mod streamed;
mod time;
mod written;

use std::path::PathBuf;

use iosonar_units::{Bytes, Nanos};

pub use copies::Copies;
pub use derive::{Derived, derive};
pub use merge::{Extent, Merged, Pasted, extent_of};
pub use order::{OnBackstep, SortedByStart};
pub use place::{Resize, Scatter, Slip, Spread};
pub use ratio::Ratio;
pub use repeat::{Repeat, Rounds};
use streamed::Streamed;
pub use written::{
    CHANGE_NAMES, ChangeError, Ops, Substitution, Window, changes_of, probability, ramp, written,
};

use crate::{Op, TraceError, TraceReader};

/// One transformation.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Keeps the requests with `from <= start < until`, at their own times.
    Select {
        /// The first start that is kept.
        from: Nanos,
        /// The first start that is not.
        until: Nanos,
    },
    /// Keeps the requests with one of these operations.
    Ops(Vec<Op>),
    /// Says the whole load several times, one round behind the other.
    Repeat(Repeat),
    /// Merges independent copies of the load, shifted in time and space.
    ScaleLoad(Copies),
    /// What happens where time goes back.
    OnBackstep(OnBackstep),
    /// Moves requests further and further: request k, counted from 1, by `increment * floor(k / every)`.
    Slip(Slip),
    /// Replaces one operation by another.
    Substitute {
        /// What is replaced.
        from: Op,
        /// By what.
        to: Op,
    },
    /// Stretches positions.
    Spread(Spread),
    /// Places chunks elsewhere.
    Scatter(Scatter),
    /// Changes lengths.
    Resize(Resize),
    /// Keeps the times, and takes everything else in reverse order.
    Reverse,
    /// Divides times: 2 is twice as fast.
    Speed(Ratio),
    /// Adds to all times.
    Shift(Nanos),
    /// Subtracts the first request's start from all times: the load begins at zero.
    ZeroFirst,
    /// Replaces times by those of a load that grows: `t0 = 0, t(i+1) = t(i) + 1 / max(1, R t(i))`.
    RampLoad {
        /// R, in requests per second per second.
        per_s2: f64,
    },
    /// Pipes the text of the load through a shell command.
    Command(String),
    /// Keeps each request with this probability.
    Sample {
        /// The probability.
        share: f64,
    },
}

/// Where the transformations that need the whole load keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Spill {
    /// The folder for temporary files beyond `memory`; the system's if `None`.
    #[cfg_attr(feature = "serde", serde(rename = "spill_dir"))]
    pub dir: Option<PathBuf>,
    /// How many bytes of packed requests are kept in memory.
    #[cfg_attr(feature = "serde", serde(rename = "spill_memory"))]
    pub memory: Bytes,
}

impl Default for Spill {
    /// 64 MiB in memory, some ten million requests; the system's folder for temporary files.
    fn default() -> Self {
        Self {
            dir: None,
            memory: Bytes::new(64 << 20),
        }
    }
}

impl Change {
    /// What `inner` reads, changed. With `sorted`, the load is known to be sorted by start, and reading
    /// ends when a window has passed.
    ///
    /// # Errors
    /// If a command cannot be started.
    pub fn apply(
        &self,
        inner: Box<dyn TraceReader>,
        path: &std::path::Path,
        spill: &Spill,
        sorted: bool,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(match self {
            Self::Select { from, until } => Box::new(Streamed::new(
                inner,
                path,
                select::Window {
                    from: *from,
                    until: *until,
                    sorted,
                },
            )),
            Self::Ops(ops) => Box::new(Streamed::new(inner, path, select::OnlyOps(ops.clone()))),
            Self::Sample { share } => {
                Box::new(Streamed::new(inner, path, select::Sample::new(*share)))
            }
            Self::Repeat(repeat) => Box::new(repeat::Repeated::new(inner, *repeat, spill)),
            // One copy is the load itself.
            Self::ScaleLoad(copies) if copies.get() == 1 => inner,
            Self::ScaleLoad(copies) => {
                let sorted: Box<dyn TraceReader> = match sorted {
                    true => inner,
                    false => Box::new(order::Sorted::new(inner, path, spill)),
                };
                Box::new(copies::Scaled::new(sorted, *copies, spill))
            }
            Self::OnBackstep(OnBackstep::Error) => {
                Box::new(SortedByStart::new(inner, path.to_owned()))
            }
            Self::OnBackstep(OnBackstep::Shift) => {
                Box::new(Streamed::new(inner, path, order::ShiftBacksteps::default()))
            }
            Self::OnBackstep(OnBackstep::Sort) => Box::new(order::Sorted::new(inner, path, spill)),
            Self::Slip(slip) => Box::new(Streamed::new(inner, path, place::Slipping::new(*slip))),
            Self::Substitute { from, to } => Box::new(Streamed::new(
                inner,
                path,
                place::Substitute {
                    from: *from,
                    to: *to,
                },
            )),
            Self::Spread(spread) => Box::new(Streamed::new(inner, path, *spread)),
            Self::Scatter(scatter) => Box::new(Streamed::new(inner, path, *scatter)),
            Self::Resize(resize) => Box::new(Streamed::new(inner, path, *resize)),
            Self::Reverse => Box::new(reverse::Reversed::new(inner, spill)),
            Self::Speed(ratio) => Box::new(Streamed::new(inner, path, time::Speed(*ratio))),
            Self::Shift(by) => Box::new(Streamed::new(inner, path, time::Shift(*by))),
            Self::ZeroFirst => Box::new(Streamed::new(inner, path, time::ZeroFirst::default())),
            Self::RampLoad { per_s2 } => {
                Box::new(Streamed::new(inner, path, time::Ramp::new(*per_s2)))
            }
            Self::Command(command) => Box::new(command::piped(inner, path, command)?),
        })
    }
}

/// Where the beginning of a window lies when all `changes` have been made: a replay's time zero.
pub fn beginning(changes: &[Change]) -> Nanos {
    changes
        .iter()
        .fold(Nanos::ZERO, |zero, change| match change {
            Change::Select { from, .. } => zero.max(*from),
            Change::Speed(ratio) => ratio.divide(zero.get()).map_or(Nanos::MAX, Nanos::new),
            Change::Shift(by) => zero.saturating_add(*by),
            Change::RampLoad { .. } | Change::ZeroFirst => Nanos::ZERO,
            _ => zero,
        })
}

/// All of `changes`, one behind the other.
///
/// # Errors
/// As [`Change::apply`].
pub fn apply_all(
    changes: &[Change],
    mut reader: Box<dyn TraceReader>,
    path: &std::path::Path,
    spill: &Spill,
    sorted: bool,
) -> Result<Box<dyn TraceReader>, TraceError> {
    let mut sorted = sorted;
    for change in changes {
        reader = change.apply(reader, path, spill, sorted)?;
        match change {
            Change::OnBackstep(_) => sorted = true,
            Change::ScaleLoad(copies) => sorted |= copies.get() > 1,
            Change::Command(_) => sorted = false,
            _ => {}
        }
    }
    Ok(reader)
}
