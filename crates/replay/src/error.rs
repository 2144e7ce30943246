//! Why a replay does not happen, or ends.

use std::path::PathBuf;

use iosonar_guard::GuardError;
use iosonar_trace::TraceError;

/// Why a replay failed or was refused.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// What was asked for is not safe, or does not go together. Nothing was started.
    #[error("refused: {0}")]
    Refused(String),
    /// Another process holds the target, perhaps only for a moment: a ring that its process has left behind does.
    #[error(
        "refused: another process has opened {} exclusively; stop that process, or choose a different target",
        path.display()
    )]
    Busy {
        /// The target.
        path: PathBuf,
    },
    /// The load is damaged, or holds requests that the target cannot do.
    #[error(transparent)]
    Trace(#[from] TraceError),
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
    /// The operating system refused something to the engine, which all targets share.
    #[error("{}: cannot {action}: {source}", listed(targets))]
    Engine {
        /// All targets.
        targets: Vec<PathBuf>,
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl From<GuardError> for ReplayError {
    fn from(error: GuardError) -> Self {
        match error {
            GuardError::Refused(reason) => Self::Refused(reason),
            GuardError::Io {
                path,
                action,
                source,
            } => Self::Io {
                path,
                action,
                source,
            },
        }
    }
}

fn listed(targets: &[PathBuf]) -> String {
    let names: Vec<String> = targets.iter().map(|t| t.display().to_string()).collect();
    names.join(", ")
}

impl ReplayError {
    /// Whether the replay was refused before it touched anything.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Busy { .. })
    }
}

/// Why a session broke off.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine cannot go on, with any target.
    Engine(std::io::Error),
    /// What is done with one target.
    Target {
        /// Its number.
        number: u32,
        /// What was tried, as a verb with its object.
        action: &'static str,
        source: std::io::Error,
    },
    Load(TraceError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_the_engine_names_all_targets() {
        let error = ReplayError::Engine {
            targets: vec!["/dev/sda".into(), "/dev/sdb".into()],
            action: "set up the engine",
            source: std::io::Error::other("no ring"),
        };
        let text = "/dev/sda, /dev/sdb: cannot set up the engine: no ring";
        assert_eq!(error.to_string(), text);
        assert!(!error.is_refusal());
    }
}
