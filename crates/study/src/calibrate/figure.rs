//! A parameter that records hold, or do not.

use std::fmt;

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
    /// Other values explain the records as well.
    Insensitive,
    /// Requests wait for each other.
    OneAtATime,
    /// Places on the medium do not explain the times.
    Places,
    /// Throughput does not change in time.
    NoChange,
    /// The records end too soon.
    TooShort,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rereads => "needs reads of sectors that were read shortly before",
            Self::Hits => "no read is faster than the medium: no buffer that keeps data was seen",
            Self::OneSize => "needs hits of several sizes",
            Self::HitsAfterWrites => "needs hits right after writes",
            Self::ShortSeeks => "needs reads on the cylinder of the read before",
            Self::Writes => "needs writes",
            Self::FastWrites => "writes are complete in the buffer, not on the medium",
            Self::Insensitive => "other values explain the records as well",
            Self::OneAtATime => "needs one request at a time",
            Self::Places => "places on the medium do not explain the times",
            Self::NoChange => "not seen",
            Self::TooShort => "the recording ends too soon",
        })
    }
}

/// A parameter, or why it is not known.
pub type Figure = Result<Found, Missing>;
