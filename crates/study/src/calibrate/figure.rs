//! A parameter that records hold, or do not.

use std::fmt;

use iosonar_device::{CalibratedParameter, NotIdentified, Provenance};
use iosonar_units::one_line;

/// A parameter as the records have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The estimate.
    pub value: f64,
    /// The records allow values from here ...
    pub low: f64,
    /// ... to here.
    pub high: f64,
    /// How many requests depend on it.
    pub requests: u64,
}

/// Why records do not hold a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The records hold no reads of what was read before, or too few.
    Rereads,
    /// Re-reads take as long as other reads: there is no buffer that keeps data, or all of it was overwritten.
    Hits,
    /// All hits have the same size.
    OneSize,
    /// No hit follows a write.
    HitsAfterWrites,
    /// Reads that miss do not lie near each other.
    ShortSeeks,
    /// There are no writes, or too few.
    Writes,
    /// Writes are complete when they are in the buffer.
    FastWrites,
    /// Writes are complete when they are on the medium.
    SlowWrites,
    /// Writes are on the medium when they are complete, but their seeks are not fitted.
    WriteSeek,
    /// Other values explain the records as well.
    Insensitive,
    /// Requests wait for each other.
    OneAtATime,
    /// Places on the medium do not explain the times.
    Places,
    /// Throughput does not change in time.
    NoChange,
    /// Throughput is not that of busy flash.
    NotBusy,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rereads => "needs reads of recently read sectors",
            Self::Hits => "no read is faster than the medium allows, so no read cache was detected",
            Self::OneSize => "needs cache hits of several sizes",
            Self::HitsAfterWrites => "needs cache hits right after writes",
            Self::ShortSeeks => "needs reads on the cylinder of the previous read",
            Self::Writes => "needs writes",
            Self::FastWrites => "writes complete in the buffer, not on the medium",
            Self::SlowWrites => "writes complete on the medium, not in the buffer",
            Self::WriteSeek => "the seek time of writes cannot be fitted",
            Self::Insensitive => "other values explain the records equally well",
            Self::OneAtATime => "needs one request at a time",
            Self::Places => "positions on the medium do not explain the times",
            Self::NoChange => "the throughput has no drop from which this value can be derived",
            Self::NotBusy => "needs writes that keep all dies busy",
        })
    }
}

/// A parameter, or why it is not known.
pub type Figure = Result<Found, Missing>;

/// A parameter by its key in the profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The key.
    pub key: &'static str,
    /// What the records say.
    pub figure: Figure,
}

/// Where a profile comes from.
pub(super) fn provenance(records: &str, parameters: &[Parameter]) -> Provenance {
    let known = |p: &Parameter| {
        let found = p.figure.ok()?;
        Some(CalibratedParameter {
            key: p.key.to_owned(),
            low: found.low,
            high: found.high,
            requests: found.requests,
        })
    };
    let unknown = |p: &Parameter| {
        Some(NotIdentified {
            key: p.key.to_owned(),
            why: p.figure.err()?.to_string(),
        })
    };
    Provenance::Calibrated {
        records: one_line(records),
        parameters: parameters.iter().filter_map(known).collect(),
        not_identified: parameters.iter().filter_map(unknown).collect(),
    }
}
