//! Why a recording does not happen, or ends.

use iosonar_guard::GuardError;
use iosonar_trace::TraceError;

/// Why a recording failed or was refused.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not permitted, or what is named is not a block device, and nothing was started; or the operating system
    /// refused something.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The records cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}
