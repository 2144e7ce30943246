//! The data of every pass, whatever charts are wanted.

use std::collections::BTreeMap;

use iosonar_stats::Distribution;
use iosonar_trace::{Metadata, Status};
use iosonar_units::Nanos;

use super::look::Origin;
use crate::self_check::SelfCheckRow;

/// The data of every pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Latency, delay, response time; of reads, of others.
    pub(super) times: [[Distribution; 2]; 3],
    pub(super) records: u64,
    /// Of these, the writes, and the discards, flushes and others.
    pub(super) writes: u64,
    pub(super) others: u64,
    pub(super) failures: BTreeMap<Failure, u64>,
    pub(super) beyond: [Beyond; 2],
    pub(super) first_start: Option<Nanos>,
    pub(super) last_start: Nanos,
    pub(super) last_end: Nanos,
    pub(super) metadata: Metadata,
    pub(super) origin: Origin,
    pub(super) self_check: Vec<SelfCheckRow>,
    pub(super) delays: Delays,
}

/// The limits beyond which delays are counted. Beyond the first two a request is late, beyond the last one it is overloaded.
const LATE: [Nanos; 3] = [Nanos::from_micros(100), Nanos::MILLISECOND, Nanos::SECOND];

/// Known delays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) count: u64,
    /// Those beyond each limit of [`LATE`], of requests that no other held back.
    pub(crate) late: [u64; 3],
}

impl Delays {
    /// Adds the delay of a request that was held back by another one, or was not.
    pub(crate) fn push(&mut self, delay: Nanos, pushed_back: bool) {
        self.count += 1;
        if !pushed_back {
            for (late, limit) in self.late.iter_mut().zip(LATE) {
                *late += u64::from(delay > limit);
            }
        }
    }
}

/// How many requests exceed a limit, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) count: u64,
    pub(crate) first: Option<Nanos>,
}

impl Beyond {
    pub(super) fn push(&mut self, value: Nanos, limit: Option<Nanos>, start: Nanos) {
        if limit.is_some_and(|limit| value > limit) {
            self.count += 1;
            self.first = Some(self.first.map_or(start, |first| first.min(start)));
        }
    }
}

/// The outcomes of failed requests, in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// It was stopped before its end.
    Cancelled,
    /// It was given up, so that others came in time.
    Dropped,
    /// The device reported an error.
    Failed,
    /// It was not to run.
    LeftOut,
    /// Its time was over before it could start.
    NeverStarted,
    /// Only a part of it was done.
    Short,
    /// It read something else than was written.
    WrongContent,
}

impl Failure {
    /// `None` if all is well.
    pub(super) fn of(status: Status) -> Option<Self> {
        Some(match status {
            Status::Done => return None,
            Status::Error(_) => Self::Failed,
            Status::Short => Self::Short,
            Status::Dropped => Self::Dropped,
            Status::Skipped => Self::LeftOut,
            Status::Missed => Self::NeverStarted,
            Status::Cancelled => Self::Cancelled,
            Status::VerifyFailed => Self::WrongContent,
        })
    }

    /// In words that follow a number of requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
            Self::LeftOut => "left out on purpose",
            Self::NeverStarted => "never submitted",
            Self::Short => "short",
            Self::WrongContent => "with wrong contents",
        }
    }
}
