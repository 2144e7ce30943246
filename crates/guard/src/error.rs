//! Why a target must not be used.

use std::path::PathBuf;

/// Why a target must not be used, or cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It is not safe; nothing was touched. The reason, and the way out.
    #[error("refused: {0}")]
    Refused(String),
    /// The operating system refused something.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}
