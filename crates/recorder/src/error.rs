//! Why a recording does not happen, or ends.

use std::path::PathBuf;

use iosonar_trace::TraceError;

/// Why a recording failed or was refused.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not permitted, or what is named is no block device. Nothing was started.
    #[error("refused: {0}")]
    Refused(String),
    /// The records cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The operating system refused something.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The device, or the file of the kernel.
        path: PathBuf,
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}
