//! Requests, outcomes and records.

use iosonar_units::{Nanos, Sector, Sectors};

/// What is asked of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Op {
    /// Data from the device.
    #[default]
    Read,
    /// Data to the device.
    Write,
    /// The device may forget the range (TRIM, UNMAP).
    Discard,
    /// Everything written before must be durable; the length may be zero.
    Flush,
    /// The range reads as zeros from now on.
    WriteZeroes,
}

impl Op {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::WriteZeroes,
    ];

    /// What it is called in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::WriteZeroes => "write-zeroes",
        }
    }

    /// Whether data go to the device or come from it.
    pub const fn moves_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether the operation leaves the device's contents as they are.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::Read | Self::Flush)
    }
}

/// What a request says about itself besides its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The submitter waits for it.
    pub const SYNC: Self = Self(1);
    /// A write that is durable when it completes (force unit access), or carries a flush.
    pub const FUA: Self = Self(2);
    /// Metadata of a file system.
    pub const META: Self = Self(4);
    /// Read ahead of need.
    pub const READ_AHEAD: Self = Self(8);

    /// From the bits that [`bits`](Self::bits) gives; unknown ones are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0xf)
    }

    /// As a number: sync 1, FUA 2, meta 4, read-ahead 8.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags but for `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// These flags and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A demand on the storage: when, where, how much, which operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The intended start, on the trace's own time axis.
    pub start: Nanos,
    /// The first sector.
    pub sector: Sector,
    /// The length.
    pub sectors: Sectors,
    /// The operation.
    pub op: Op,
    /// Its flags.
    pub flags: Flags,
    /// Which device of a multi-device trace.
    pub device: u16,
    /// Which class of requests (a workload's name for a kind of user).
    pub class: u16,
    /// Which logical request it is a part of, where one is made of several I/Os; 0 if it stands for
    /// itself.
    pub group: u32,
}

impl Request {
    /// The first sector behind the request.
    pub fn end(&self) -> Sector {
        self.sector + self.sectors
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done in full.
    #[default]
    Done,
    /// Failed with this `errno`.
    Error(u16),
    /// Fewer bytes than asked for were moved.
    Short,
    /// Left out because it conflicted with another.
    Dropped,
    /// Left out on purpose (a write of a replay that only reads).
    Skipped,
    /// Planned, never started.
    Missed,
    /// Started, then cancelled.
    Cancelled,
    /// Done, but the content was wrong.
    VerifyFailed,
}

impl Status {
    /// Whether the device did all of it, whatever the content: its times are those of the device then.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Done | Self::VerifyFailed)
    }

    /// Whether it was submitted and did not end as it should: in full, with the right content.
    pub const fn has_failed(self) -> bool {
        self.was_submitted() && !matches!(self, Self::Done)
    }

    /// Whether the device was asked at all: not if the request was left out on purpose, dropped for a conflict, or
    /// never started.
    pub const fn was_submitted(self) -> bool {
        !matches!(self, Self::Dropped | Self::Skipped | Self::Missed)
    }
}

/// The outcome of a request.
///
/// - `delay` = submission to the device (or array) - intended start;
/// - `latency` = completion - submission, including the queues below;
/// - response time = delay + latency.
///
/// A replay submits when the device and its pacing permit, a simulation at the intended start.
/// The times of a request that was never submitted, or not measured, are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How late the request was submitted.
    pub delay: Option<Nanos>,
    /// How long it then took.
    pub latency: Option<Nanos>,
    /// How it ended.
    pub status: Status,
    /// Whether it was held back because it overlapped a request in flight.
    pub pushed_back: bool,
}

impl Outcome {
    /// A request that was done, with its times.
    pub const fn done(delay: Nanos, latency: Nanos) -> Self {
        Self {
            delay: Some(delay),
            latency: Some(latency),
            status: Status::Done,
            pushed_back: false,
        }
    }

    /// A request that was not submitted, or whose times were not measured.
    pub const fn untimed(status: Status) -> Self {
        Self {
            delay: None,
            latency: None,
            status,
            pushed_back: false,
        }
    }

    /// Delay + latency, where both are known.
    pub fn response_time(&self) -> Option<Nanos> {
        Some(self.delay?.saturating_add(self.latency?))
    }
}

/// Which time of a request is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// From submission to completion.
    #[default]
    Latency,
    /// From the intended start to submission.
    Delay,
    /// From the intended start to completion.
    ResponseTime,
}

impl Quantity {
    /// Its name, as on axes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Delay => "delay",
            Self::ResponseTime => "response time",
        }
    }

    /// That time of an outcome, if it is known.
    pub fn of(self, outcome: &Outcome) -> Option<Nanos> {
        match self {
            Self::Latency => outcome.latency,
            Self::Delay => outcome.delay,
            Self::ResponseTime => outcome.response_time(),
        }
    }
}

/// A request and its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What was wanted.
    pub request: Request,
    /// Its outcome.
    pub outcome: Outcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_time_is_known_only_if_both_parts_are() {
        let t = Nanos::from_millis;
        assert_eq!(Outcome::done(t(1), t(2)).response_time(), Some(t(3)));
        assert_eq!(Outcome::untimed(Status::Dropped).response_time(), None);
    }

    #[test]
    fn flags_add_up() {
        let flags = Flags::SYNC.with(Flags::META);
        assert!(flags.contains(Flags::META) && !flags.contains(Flags::FUA));
    }

    #[test]
    fn a_quantity_is_a_named_time_of_an_outcome() {
        let t = Nanos::from_millis;
        let done = Outcome::done(t(1), t(2));
        for (quantity, name, time) in [
            (Quantity::Latency, "latency", t(2)),
            (Quantity::Delay, "delay", t(1)),
            (Quantity::ResponseTime, "response time", t(3)),
        ] {
            assert_eq!((quantity.name(), quantity.of(&done)), (name, Some(time)));
            assert_eq!(quantity.of(&Outcome::untimed(Status::Missed)), None);
        }
    }
}
