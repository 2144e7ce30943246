//! What devices did lately: in the last interval, and in the last minute.
//!
//! Requests come [step by step](LiveStep), in the order of time. Completions are counted in the interval in which they
//! happen, whenever the request began. Three laws hold exactly, for each device and kind of request and over any number
//! of intervals, and the tests compare them with the requests themselves:
//!
//! - conservation: requests in flight before + begun = completed + withdrawn + given up + requests in flight after;
//! - Little's law: the mean number in flight times the interval = the sum of the times that requests were in flight in
//!   it;
//! - the minute is the sum of its intervals.
//!
//! Memory is bounded however many requests there are: of each second of the last minute, only the bins of a histogram
//! that are not empty are kept, and a grid of times and latencies.

mod echoes;
mod minute;

use iosonar_stats::Distribution;
use iosonar_trace::{LiveStep, Op, Record, Status};
use iosonar_units::Nanos;

use echoes::Echoes;
pub use echoes::{Echo, EchoKind};
use minute::Minute;

/// The kinds of requests that are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes, discards and writes of zeros.
    Other,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Other];

    /// That of an operation.
    pub const fn of(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Write => Self::Write,
            Op::Discard | Op::Flush | Op::WriteZeroes => Self::Other,
        }
    }

    /// What it is called in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Other => "other",
        }
    }
}

/// What requests of some kind did in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecentUse {
    /// Requests that began.
    pub begun: u64,
    /// Requests that were completed, failed ones among them.
    pub completed: u64,
    /// Requests that were completed with an error.
    pub failed: u64,
    /// Bytes of the completed requests that did not fail.
    pub bytes: u64,
    /// Requests that the driver gave back, and that begin again.
    pub withdrawn: u64,
    /// Requests whose completion may have been lost.
    pub given_up: u64,
    /// Completions of requests that were not seen to begin; nothing else counts them.
    pub unmatched: u64,
    /// Requests in flight at the end.
    pub in_flight: u64,
    /// The sum of the times in the interval for which requests were in flight, in nanoseconds.
    pub time_in_flight: u128,
    /// Latencies of the completed requests.
    pub latency: Distribution,
    /// The same of the last minute; see [`Recent`].
    pub minute: Distribution,
}

impl RecentUse {
    /// Adds what others did at the same time.
    pub fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.withdrawn += other.withdrawn;
        self.given_up += other.given_up;
        self.unmatched += other.unmatched;
        self.in_flight += other.in_flight;
        self.time_in_flight += other.time_in_flight;
        self.latency.merge(&other.latency);
        self.minute.merge(&other.minute);
    }
}

/// An interval that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentInterval {
    /// Its begin.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
    /// What each device did, by the kinds of [`OpKind::ALL`].
    pub devices: Vec<[RecentUse; 3]>,
}

impl RecentInterval {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        self.end.saturating_sub(self.begin)
    }

    /// What all devices did, by the kinds of [`OpKind::ALL`].
    pub fn total(&self) -> [RecentUse; 3] {
        let mut total = <[RecentUse; 3]>::default();
        for device in &self.devices {
            for (sum, of) in total.iter_mut().zip(device) {
                sum.merge(of);
            }
        }
        total
    }

    /// A number per second.
    pub fn rate(&self, of: u64) -> f64 {
        of as f64 / self.length().as_secs_f64()
    }

    /// The mean number of requests in flight.
    pub fn mean_in_flight(&self, of: &RecentUse) -> f64 {
        of.time_in_flight as f64 / self.length().get() as f64
    }
}

/// One device, and one kind of request.
#[derive(Default)]
struct Part {
    /// What the interval has so far.
    now: RecentUse,
    /// When the time in flight was last added up.
    since: Nanos,
    minute: Minute,
}

impl Part {
    /// Adds up the time in flight.
    fn advance(&mut self, time: Nanos) {
        let passed = time.saturating_sub(self.since);
        self.now.time_in_flight += u128::from(self.now.in_flight) * u128::from(passed.get());
        self.since = self.since.max(time);
    }

    fn begin(&mut self) {
        self.now.begun += 1;
        self.now.in_flight += 1;
    }

    fn end(&mut self) {
        let left = self.now.in_flight.checked_sub(1);
        self.now.in_flight = left.expect("only a request that began can end");
    }

    fn complete(&mut self, record: &Record) {
        self.end();
        self.now.completed += 1;
        match record.outcome.status {
            Status::Done => self.now.bytes += record.request.sectors.bytes().get(),
            _ => self.now.failed += 1,
        }
        if let Some(latency) = record.outcome.latency {
            self.now.latency.push(latency);
            self.minute.push(latency);
        }
    }

    /// What the interval has; the next one begins.
    fn take(&mut self, end: Nanos) -> RecentUse {
        self.advance(end);
        let next = RecentUse {
            in_flight: self.now.in_flight,
            ..RecentUse::default()
        };
        let mut over = std::mem::replace(&mut self.now, next);
        let is_partial = !end.get().is_multiple_of(Nanos::SECOND.get());
        over.minute = self.minute.sum(is_partial);
        over
    }
}

/// What devices did lately.
///
/// The last minute counts in whole seconds: at the end of an interval, it has the completions since the first full
/// second that is not more than 60 s ago.
pub struct Recent {
    interval: Nanos,
    begin: Nanos,
    /// The second that is under way.
    second: u64,
    parts: Vec<[Part; 3]>,
    echoes: Echoes,
}

/// How much of the past there is.
const MINUTE: u64 = 60;

impl Recent {
    /// Of this number of devices, none of which has done anything.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(devices: usize, interval: Nanos) -> Self {
        assert!(interval > Nanos::ZERO, "an interval has a length");
        Self {
            interval,
            begin: Nanos::ZERO,
            second: 0,
            parts: (0..devices).map(|_| Default::default()).collect(),
            echoes: Echoes::default(),
        }
    }

    /// The end of the interval that is under way.
    pub fn end(&self) -> Nanos {
        self.begin.saturating_add(self.interval)
    }

    /// The interval under way, if it is over at `time`. To be called before each step, until it returns
    /// `None`.
    pub fn until(&mut self, time: Nanos) -> Option<RecentInterval> {
        let end = self.end();
        if time < end {
            self.turn(time);
            return None;
        }
        self.turn(end);
        let begin = std::mem::replace(&mut self.begin, end);
        let parts = self.parts.iter_mut();
        let devices = parts.map(|kinds| kinds.each_mut().map(|part| part.take(end)));
        Some(RecentInterval {
            begin,
            end,
            devices: devices.collect(),
        })
    }

    /// Ends the seconds before `time`.
    fn turn(&mut self, time: Nanos) {
        let second = time.get() / Nanos::SECOND.get();
        // Of a long time without requests, no more than a minute counts.
        for _ in 0..second.saturating_sub(self.second).min(MINUTE + 1) {
            for part in self.parts.iter_mut().flatten() {
                part.minute.turn();
            }
            self.echoes.turn();
        }
        self.second = self.second.max(second);
    }

    /// Takes a step of a request of a device.
    ///
    /// # Panics
    /// If there is no such device, or a request ends that did not begin.
    pub fn take(&mut self, time: Nanos, device: usize, step: &LiveStep) {
        debug_assert!(time < self.end(), "the interval is over");
        let kind = match step {
            LiveStep::Begun(of) | LiveStep::Withdrawn(of) | LiveStep::GivenUp(of) => {
                OpKind::of(of.op)
            }
            LiveStep::Completed(record) => OpKind::of(record.request.op),
            LiveStep::Unmatched => OpKind::Other,
        };
        let part = &mut self.parts[device][kind as usize];
        part.advance(time);
        match step {
            LiveStep::Begun(_) => part.begin(),
            LiveStep::Completed(record) => {
                part.complete(record);
                self.echoes.push(time, record);
            }
            LiveStep::Withdrawn(_) => {
                part.end();
                part.now.withdrawn += 1;
            }
            LiveStep::GivenUp(_) => {
                part.end();
                part.now.given_up += 1;
            }
            LiveStep::Unmatched => part.now.unmatched += 1,
        }
    }

    /// The completions of the last minute, and of the second under way, on a grid.
    pub fn echoes(&self) -> impl Iterator<Item = Echo> + '_ {
        self.echoes.all(self.second)
    }
}

#[cfg(test)]
mod tests;
