//! What a user can say about a replay.

use std::path::PathBuf;

use iosonar_trace::Reading;
use iosonar_units::Nanos;

use crate::EngineKind;

/// What happens to the requests of a load that would change the target's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// A load that has any is refused.
    #[default]
    Refuse,
    /// They are left out, and recorded as skipped.
    Skip,
    /// They are done.
    Do,
}

/// What may be done to a target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// Whether it is written to.
    pub write: bool,
    /// The targets whose contents may be lost.
    pub destroy: Vec<PathBuf>,
    /// Whether the page cache may be used (results are fake then).
    pub buffered: bool,
}

/// How a load is replayed.
#[derive(Clone, Debug)]
pub struct Options {
    /// What happens to writes.
    pub writes: Writes,
    /// Which part of the load, and how fast. Time zero of the replay is the window's beginning.
    pub reading: Reading,
    /// The most requests at the device at once.
    pub in_flight: u32,
    /// How requests are handed over.
    pub engine: EngineKind,
    /// How long before a deadline sleeping ends and spinning begins.
    pub spin: Nanos,
    /// How many failed requests are borne; one more ends the run.
    pub max_errors: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            writes: Writes::Refuse,
            reading: Reading::default(),
            in_flight: 1024,
            engine: EngineKind::Auto,
            spin: Nanos::from_micros(20),
            max_errors: 0,
        }
    }
}
