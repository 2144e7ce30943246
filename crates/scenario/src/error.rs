//! What can be wrong with a scenario or its run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use iosonar_disk_model::ProfileError;
use iosonar_raid::GeometryError;
use iosonar_ssd_model::SsdProfileError;
use iosonar_ssd_model::ftl::ShapeError;
use iosonar_trace::TraceError;

use crate::SystemProblem;
use crate::resolve::set::is_trace;

/// Why a scenario cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{}: cannot read the scenario: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not TOML.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and key.
        message: String,
    },
    /// A key is unknown or missing, or its value has the wrong type.
    #[error("{}:{line}: '{key}' {problem}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key, with its tables.
        key: String,
        /// What is wrong with it, and what to write.
        problem: String,
    },
    /// The file is a trace.
    #[error(
        "{path}: this is a trace, not a scenario; simulate it with a scenario that describes the storage: 'iosonar sim \
         SCENARIO --trace {path}'",
        path = .0.display()
    )]
    IsTrace(PathBuf),
    /// The text is the profile of a device.
    #[error(
        "{0}: this is a device profile, not a scenario; use it in a scenario with [{device}] profile = \"{0}\", next \
         to [load] and [array]",
        path.display()
    )]
    IsProfile {
        /// The file.
        path: PathBuf,
        /// The table of a scenario that takes it.
        device: &'static str,
    },
    /// The file describes a networked system.
    #[error(
        "{path}: this file describes a networked system, not a scenario; use 'iosonar model --with-sim {path}' or 'iosonar \
         plan {path} --target TARGET'",
        path = .0.display()
    )]
    IsNetworked(PathBuf),
    /// A value that was set on the command line has no place.
    #[error("--set: '{key}' {problem}")]
    Set {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The disks get more work than they can do.
    #[error(
        "{}: unstable: the offered load of the busiest station, {station}, is {offered:.3} times \
         its capacity, so its queue keeps growing and the results depend on the length of the run. Lower the \
         rate, or use --unstable to simulate it anyway",
        path.display()
    )]
    Unstable {
        /// The file.
        path: PathBuf,
        /// The station.
        station: String,
        /// Its offered load.
        offered: f64,
    },
    /// A value makes no sense.
    #[error("{}:{line}: '{key}' is {seen}, expected {expected}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key, with its tables.
        key: String,
        /// Its value.
        seen: String,
        /// What would do.
        expected: String,
    },
    /// Something necessary is missing, or things do not go together.
    #[error("{}: {problem}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// What is missing, and how to give it.
        problem: String,
    },
    /// There is no load.
    #[error(
        "{}: the scenario has no load: add a [load] table with 'trace' (or use --trace FILE), or with 'requests', \
         'arrivals' and 'size'",
        path.display()
    )]
    NoLoad {
        /// The file.
        path: PathBuf,
    },
    /// No file has this name, and it is not that of a system either.
    #[error(
        "{name}: no such file, and not a system: {problem}; a system looks like raid10:8xexos-x18+cache=1GiB, \
         nvme-gen4-tlc, calibrated:PROFILE.toml or SCENARIO.toml"
    )]
    NotASystem {
        /// As it was typed.
        name: String,
        /// Why it is not a system.
        problem: SystemProblem,
    },
    /// No end of the warm-up was found.
    #[error(
        "warmup_requests = \"auto\": a run of {requests} requests is too short to detect the end of the warm-up; use \
         more requests, or give the number of requests to exclude"
    )]
    NoSteadyState {
        /// All requests of a run.
        requests: u64,
    },
    /// The trace has no requests, or none are left of it.
    #[error(
        "{}: there are no requests to simulate: {}", path.display(),
        if *left_out > 0 {
            "all requests of the trace lie beyond the end of the array; use more or larger disks, or --set \
             load.beyond=fit or --set load.beyond=wrap"
        } else if *changed {
            "the selected part of the trace (--from, --until, --duration, --ops and similar options) contains no \
             requests; 'iosonar info' prints the start times of the first and last requests of the trace"
        } else {
            "the trace is empty"
        }
    )]
    NoRequests {
        /// The trace.
        path: PathBuf,
        /// Whether a part of it was asked for.
        changed: bool,
        /// How many requests were left out because they do not fit.
        left_out: u64,
    },
    /// Nothing was left to be measured.
    #[error(
        "nothing was measured: of {requests} requests, {warmup} are warm-up, {failed} returned an error or needed a \
             disk that had failed, and flushes and discards have no response time{}",
        match warmup {
            0 => "",
            _ => "; lower 'warmup_requests', as in --set warmup_requests=0",
        }
    )]
    NothingMeasured {
        /// All requests of a run.
        requests: u64,
        /// Those of the warm-up.
        warmup: u64,
        /// Those that came back with an error.
        failed: u64,
    },
    /// A trace has more devices than there are arrays.
    #[error(
        "{}: the trace has at least {} devices, but 'array.count' is only {arrays}: set it to the number of devices \
         that 'iosonar info' prints", path.display(), u32::from(*device) + 1
    )]
    TooFewArrays {
        /// The trace.
        path: PathBuf,
        /// The number of the device, in the order in which they turn up, from 0.
        device: u16,
        /// How many arrays there are.
        arrays: u32,
    },
    /// An array cannot have a thread.
    #[error("cannot create a thread for each array: {0}")]
    Thread(std::io::Error),
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// It would take more memory before the first request than it may; the refusal of the key that causes it.
    #[error(transparent)]
    NeedsMemory(Box<ScenarioError>),
    /// More requests took too long than [`GiveUp`](crate::GiveUp) allows.
    #[error("too many requests exceeded the response-time limit")]
    GivenUp {
        /// The number of the limit in the list that the runs were given.
        limit: usize,
    },
    /// The array cannot have its shape.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A registered device cannot be made.
    #[error("device model \"{model}\": {problem}")]
    Registered {
        /// The name of the model.
        model: String,
        /// What it says.
        problem: String,
    },
    /// The flash of an SSD cannot have its shape.
    #[error(transparent)]
    Flash(#[from] ShapeError),
    /// The disk profile is invalid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// An output cannot be created.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What response times are made of cannot be written.
    #[error("{}: cannot write the stages: {source}", path.display())]
    Stages {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The SSD profile is invalid.
    #[error(transparent)]
    SsdProfile(#[from] SsdProfileError),
    /// The trace that drives the simulation, or the one that it writes, has a problem.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl ScenarioError {
    /// Whether the input data are at fault, rather than the scenario or the options.
    pub fn is_data(&self) -> bool {
        matches!(
            self,
            Self::Trace(_)
                | Self::Stages { .. }
                | Self::Write { .. }
                | Self::NothingMeasured { .. }
                | Self::NoRequests { .. }
        )
    }
}

/// The text of a scenario file.
///
/// # Errors
/// If it cannot be read.
pub fn read_text(path: &Path) -> Result<String, ScenarioError> {
    iosonar_units::read_text_file(path).map_err(|source| match source.kind() {
        // No text.
        ErrorKind::InvalidData | ErrorKind::InvalidInput if is_trace(path) => {
            ScenarioError::IsTrace(path.to_owned())
        }
        _ => ScenarioError::Io {
            path: path.to_owned(),
            source,
        },
    })
}
