//! Why parameter files are no drive, and what deserves attention in those that are.

use std::fmt;
use std::path::PathBuf;

/// Why parameter files are no drive.
#[derive(Debug, thiserror::Error)]
pub enum DiskSimError {
    /// A file cannot be read.
    #[error("{}: cannot read the file: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An included file cannot be found.
    #[error(
        "{at}: cannot find '{name}': it is neither in the folder of this file nor among the given files"
    )]
    NotFound {
        /// File and line.
        at: String,
        /// The file that is included.
        name: String,
    },
    /// A file includes itself.
    #[error("{at}: '{name}' includes itself: remove the 'source' that leads back to it")]
    Cyclic {
        /// File and line.
        at: String,
        /// The file.
        name: String,
    },
    /// The text is not of this syntax.
    #[error("{at}: found {seen}, expected {expected}")]
    Syntax {
        /// File and line.
        at: String,
        /// What is there.
        seen: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A parameter is missing.
    #[error("{at}: block '{block}' has no parameter '{key}', expected {expected}")]
    Missing {
        /// File and line of the block.
        at: String,
        /// The block.
        block: String,
        /// The parameter.
        key: &'static str,
        /// What should be there.
        expected: &'static str,
    },
    /// A value is not one that the parameter can have.
    #[error("{at}: '{key}' is {seen}, expected {expected}")]
    Value {
        /// File and line.
        at: String,
        /// The parameter.
        key: String,
        /// Its value.
        seen: String,
        /// What would do.
        expected: String,
    },
    /// A value is right, but not simulated.
    #[error("{at}: '{key}' is {seen}, which is not simulated: {instead}")]
    Unsupported {
        /// File and line.
        at: String,
        /// The parameter.
        key: String,
        /// Its value.
        seen: String,
        /// What is.
        instead: &'static str,
    },
    /// There is no drive in the files.
    #[error("{}: the file has no drive: expected a disksim_disk or dm_disk block", path.display())]
    NoDrive {
        /// The first file.
        path: PathBuf,
    },
    /// There are several drives, or none of the name that was asked for.
    #[error(
        "{}: {}, expected --disk with one of: {}", path.display(),
        name.as_ref().map_or_else(
            || "the file has several drives".to_owned(),
            |name| format!("there is no drive named '{name}'"),
        ),
        known.join(", ")
    )]
    WhichDrive {
        /// The first file.
        path: PathBuf,
        /// The name that was asked for.
        name: Option<String>,
        /// Those of the drives in it.
        known: Vec<String>,
    },
    /// What was read makes no profile.
    #[error(transparent)]
    Profile(#[from] crate::ProfileError),
}

/// What deserves attention in a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// File and line.
    pub at: String,
    /// The parameter or the block.
    pub key: String,
    /// What about it.
    pub about: WarningAbout,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningAbout {
    /// DiskSim has no such parameter.
    Unknown,
    /// A block of this name was defined before; that one counts.
    DefinedBefore,
    /// It belongs to another type of seek.
    OtherSeekType,
    /// It has no effect although it is switched on: more than one request in the drive is simulated by rules of
    /// our own.
    OwnRules,
    /// The files do not say how long the bus takes, and no time was given.
    NoBus,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, key, about } = self;
        let about = match about {
            WarningAbout::Unknown => "not a parameter of DiskSim: ignored",
            WarningAbout::DefinedBefore => "defined twice: the first definition is used",
            WarningAbout::OtherSeekType => "belongs to a different seek type: ignored",
            WarningAbout::OwnRules => {
                "has no effect: requests queued in the drive follow the scheduler of the scenario"
            }
            WarningAbout::NoBus => {
                "the files do not include a .parv with the drive's bus: the bus is assumed to add no time to the bulk \
                 sector transfer time (see --bus-read-ms and --bus-write-ms)"
            }
        };
        write!(f, "{at}: '{key}': {about}")
    }
}
