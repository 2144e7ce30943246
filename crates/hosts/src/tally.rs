//! What came of the requests of a host.

use iosonar_replay::TimesByKind;
use iosonar_trace::{Record, Status};

/// What came of the requests of a host: planned = done + failed + left out + not done.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests of the load.
    pub planned: u64,
    /// Those that the device did.
    pub done: u64,
    /// Those that failed, moved too few bytes or were cancelled.
    pub failed: u64,
    /// Those that were left out on purpose or because of a conflict.
    pub left_out: u64,
    /// Those that the host reported as never started.
    pub missed: u64,
    /// The times of those that the device answered.
    pub times: TimesByKind,
}

impl Tally {
    /// The tally of a host before its first record.
    pub fn of(planned: u64) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Takes a record into account.
    pub fn add(&mut self, record: &Record) {
        let outcome = &record.outcome;
        match outcome.status {
            Status::Done | Status::VerifyFailed => self.done += 1,
            Status::Error(_) | Status::Short | Status::Cancelled => self.failed += 1,
            Status::Skipped | Status::Dropped => self.left_out += 1,
            Status::Missed => self.missed += 1,
        }
        if let (true, Some(delay), Some(latency)) =
            (outcome.status.is_timed(), outcome.delay, outcome.latency)
        {
            self.times.push(record.request.op, delay, latency);
        }
    }

    /// The records that came.
    pub fn records(&self) -> u64 {
        self.done + self.failed + self.left_out + self.missed
    }

    /// The requests that are not known to have been done: never started, or without a record.
    pub fn not_done(&self) -> u64 {
        self.planned
            .saturating_sub(self.done + self.failed + self.left_out)
    }

    /// Whether no more records came than requests were planned.
    pub fn is_conserved(&self) -> bool {
        self.done + self.failed + self.left_out + self.not_done() == self.planned
            && self.records() <= self.planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::Outcome;
    use iosonar_units::Nanos;

    #[test]
    fn every_status_is_counted_once_and_what_did_not_come_is_not_done() {
        let all = [
            Status::Done,
            Status::VerifyFailed,
            Status::Error(5),
            Status::Short,
            Status::Cancelled,
            Status::Skipped,
            Status::Dropped,
            Status::Missed,
        ];
        let mut tally = Tally::of(10);
        for status in all {
            tally.add(&Record {
                outcome: Outcome::untimed(status),
                ..Record::default()
            });
        }
        assert_eq!((tally.done, tally.failed, tally.left_out), (2, 3, 2));
        assert_eq!((tally.missed, tally.records()), (1, 8));
        assert_eq!(tally.not_done(), 3);
        assert!(tally.is_conserved());
    }

    #[test]
    fn more_records_than_requests_are_found() {
        let mut tally = Tally::of(1);
        let record = Record {
            outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(1)),
            ..Record::default()
        };
        tally.add(&record);
        assert!(tally.is_conserved());
        tally.add(&record);
        assert!(!tally.is_conserved());
    }
}
