//! What can be wrong with a sweep.

use std::path::{Path, PathBuf};

use iosonar_plot::PlotError;
use iosonar_scenario::ScenarioError;

/// Why a sweep cannot be carried out, or not any further.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A file or folder cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not an experiment.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and key where they are known.
        message: String,
    },
    /// A value makes no sense.
    #[error("{}: '{key}' {problem}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with its tables.
        key: String,
        /// What it is, and what was expected.
        problem: String,
    },
    /// Two runs would write into the same folder.
    #[error(
        "two runs have the same path, {}: {first} and {second}; give their values different names, or remove one of \
         them",
        path.display()
    )]
    SamePath {
        /// The folder.
        path: PathBuf,
        /// The parameters of one.
        first: String,
        /// Of the other.
        second: String,
    },
    /// More runs than plausible.
    #[error(
        "{}: more than {most} runs need --yes (got {runs}); 'where', 'sample' and 'one_at_a_time' reduce their number",
        path.display()
    )]
    TooMany {
        /// The experiment.
        path: PathBuf,
        /// How many.
        runs: u128,
        /// How many may be without a word.
        most: u64,
    },
    /// Another sweep works on the same tree.
    #[error("{}: another sweep is running in this folder", path.display())]
    InUse {
        /// The tree.
        path: PathBuf,
    },
    /// There is no such experiment or tree, or it is not this sweep's.
    #[error("{0}")]
    Source(String),
    /// Where runs go does not work.
    #[error("{0}")]
    Elsewhere(String),
    /// A chart or a page cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A scenario that means nothing.
    #[error(transparent)]
    Scenario(Box<ScenarioError>),
}

impl From<ScenarioError> for SweepError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

impl SweepError {
    /// For `map_err`: `action` on `path` failed.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }

    /// Whether there is no room on a disk: whatever is tried next fails, too.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_full(source))
    }

    /// Whether what was asked for is at fault, and not what happened.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Io { .. } | Self::Plot(_) => false,
            Self::Scenario(error) => !error.is_data(),
            _ => true,
        }
    }
}

/// Whether a disk is full, or a quota or the limit on the size of files is reached.
pub fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
