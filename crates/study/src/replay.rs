//! Replays with everything around them: which load goes to which target and whether that is possible, simulated devices,
//! the file of records, tries at other rates.

mod model;
mod plan;
mod records;
mod refusals;
mod tries;

use std::path::PathBuf;

use iosonar_replay::ReplayError;
use iosonar_trace::TraceError;

pub use plan::{Dealt, Preparer, Preparing, ReplayPlan, create, dealt, open};
pub use records::{Lacking, RecordsTo};
pub use refusals::{refuse_on_hosts, speed_is_changed};
pub use tries::Tries;

/// Why a replay is not begun.
#[derive(Debug, thiserror::Error)]
pub enum ReplayPlanError {
    /// What was asked for does not go together, or is not there.
    #[error("{0}")]
    Options(String),
    /// A target was refused or failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// An output cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A load or the records cannot be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl ReplayPlanError {
    /// Whether what was asked for is at fault, and not what happened.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Options(_) => true,
            Self::Replay(error) => error.is_refusal(),
            Self::Trace(error) => error.is_refusal(),
            Self::Write { .. } => false,
        }
    }
}

fn refused(problem: &str) -> ReplayPlanError {
    ReplayPlanError::Options(problem.to_owned())
}
