//! Calibration: the parameters of a device from records of it.
//!
//! The records are cut into halves. From the first, the training half, parameters are taken: of a disk the
//! rotation (from when transfers end) and the seek curve (from how long positioning takes at least and at most),
//! of an SSD how many commands it serves in parallel and how long they take. Each candidate is simulated with the
//! same requests, and the one whose response times have the smallest demerit to those recorded is chosen. How good
//! it is is reported for the second half, which nothing was taken from.
//!
//! Of a drive with a buffer, commands, bus and buffer are fitted too, where the records hold them ([`DriveFigures`]). Of
//! an SSD's flash, write cache, program time and spare room follow from a long write run ([`calibrate_flash`]), which is
//! not cut: what happens once, such as the cleaning cliff, is in one half only.

mod again;
mod disk;
mod drive;
mod figure;
mod flash;
mod hits;
mod observed;
mod pace;
mod policy;
mod replica;
mod rotation;
mod seek;
mod simplex;
mod ssd;
mod start;
mod trial;
mod windows;

pub use disk::{DiskFit, How, calibrate_disk};
pub use drive::DriveFigures;
pub use figure::{Figure, Found, Missing, Parameter};
pub use flash::{FlashFit, calibrate_flash};
pub use observed::{Observed, Submission};
pub use pace::Pace;
pub use ssd::{Parallelism, Service, SsdFit, calibrate_ssd};
pub use start::Start;
pub use trial::{Quality, Trial};

use iosonar_scenario::ScenarioError;
use iosonar_trace::TraceError;

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The records are not sufficient.
    #[error("{0}")]
    Records(String),
    /// The profile cannot be fitted.
    #[error("{0}")]
    Profile(String),
    /// The records cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A candidate cannot be simulated.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// A file for a trial cannot be written.
    #[error("cannot write a file for a trial simulation: {0}")]
    Io(#[from] std::io::Error),
}

impl From<ScenarioError> for CalibrateError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}
