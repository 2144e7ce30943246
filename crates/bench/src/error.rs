//! Why something could not be measured.

use iosonar_plot::PlotError;
use iosonar_replay::ReplayError;
use iosonar_scenario::ScenarioError;
use iosonar_trace::TraceError;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A simulation could not be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A target was refused, or a replay failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A load could not be written or read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A file or another tool's process failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The target holds too few blocks for random reads.
    #[error("the target is too small: it holds {blocks} blocks")]
    TooSmall {
        /// How many blocks it holds.
        blocks: u64,
    },
    /// The caller wanted it to end.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// Whether what was asked for is at fault, and not what happened.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Replay(error) => error.is_refusal(),
            Self::Trace(error) => error.is_refusal(),
            Self::Scenario(error) => !error.is_data(),
            _ => false,
        }
    }
}
