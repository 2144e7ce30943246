//! Records that come while a run goes on, and what is known of them at any moment.
//!
//! They come in the order of completion, while a [`Look`] wants them in that of their intended starts: they wait until
//! no earlier one is to be expected. What was [measured](Growing::measured) by now includes those that wait.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use iosonar_plot::Resolution;
use iosonar_trace::{Metadata, Record};
use iosonar_units::Nanos;

use super::{Look, LookOptions, Measured, Origin};
use crate::page::live_needs;

/// A request that takes longer than this may be counted in the wrong place of the charts over time.
const LONGEST: Nanos = Nanos::from_secs(5);
/// More records do not wait.
const MOST_WAITING: usize = 1 << 16;
/// That of a page that is sent again and again.
const RESOLUTION: Resolution = Resolution {
    columns: 1 << 12,
    cells: 1 << 16,
    least: (512.0, 256.0),
};

/// Goes through the records of a run that goes on, for a live page.
pub struct Growing {
    look: Look,
    waiting: BinaryHeap<Reverse<Waiting>>,
    latest: Nanos,
    number: u64,
    metadata: Metadata,
}

#[derive(Clone, Copy)]
struct Waiting {
    record: Record,
    number: u64,
}

impl Waiting {
    fn key(&self) -> (Nanos, u64) {
        (self.record.request.start, self.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Growing {
    /// Nothing seen yet. `name` says in titles what is looked at. The resolution of clouds is that of a live page.
    pub fn new(name: &str, options: &LookOptions) -> Self {
        let options = LookOptions {
            resolution: RESOLUTION,
            other_resolution: RESOLUTION,
            ..options.clone()
        };
        Self {
            look: Look::new(name, live_needs(), &options),
            waiting: BinaryHeap::new(),
            latest: Nanos::ZERO,
            number: 0,
            metadata: Metadata::default(),
        }
    }

    /// What the records say about themselves by now.
    pub fn about(&mut self, metadata: &Metadata) {
        self.metadata.clone_from(metadata);
    }

    /// Where the records come from.
    pub fn origin(&mut self, origin: Origin) {
        self.look.origin(origin);
    }

    /// Adds a record; they may come in the order of completion.
    pub fn add(&mut self, record: &Record) {
        let response = record.outcome.response_time().unwrap_or_default();
        self.latest = self
            .latest
            .max(record.request.start.saturating_add(response));
        self.number += 1;
        self.waiting.push(Reverse(Waiting {
            record: *record,
            number: self.number,
        }));
        while let Some(Reverse(first)) = self.waiting.peek()
            && (self.waiting.len() > MOST_WAITING
                || first.record.request.start.saturating_add(LONGEST) < self.latest)
        {
            self.look.add(&first.record);
            self.waiting.pop();
        }
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.number
    }

    /// What is known by now.
    pub fn measured(&self) -> Measured {
        let mut look = self.look.copy();
        let mut waiting: Vec<Waiting> = self.waiting.iter().map(|Reverse(of)| *of).collect();
        waiting.sort_unstable();
        waiting.iter().for_each(|of| look.add(&of.record));
        look.about(&self.metadata);
        look.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::{Outcome, Quantity, Request};

    /// Every tenth takes long, and so comes later than others that began after it.
    fn records(n: u64) -> Vec<Record> {
        let mut records: Vec<Record> = (0..n)
            .map(|i| Record {
                request: Request {
                    start: Nanos::from_millis(i),
                    ..Request::default()
                },
                outcome: Outcome::done(
                    Nanos::ZERO,
                    Nanos::from_millis(if i % 10 == 0 { 35 } else { 2 }),
                ),
            })
            .collect();
        records.sort_by_key(|of| of.request.start + of.outcome.response_time().unwrap());
        records
    }

    #[test]
    fn what_is_known_at_any_moment_is_what_a_report_of_these_records_has() {
        let mut growing = Growing::new("a run", &LookOptions::default());
        let all = records(20_000);
        for (i, record) in all.iter().enumerate() {
            growing.add(record);
            if ![99, 7_000, 19_999].contains(&i) {
                continue;
            }
            let mut sorted = all[..=i].to_vec();
            sorted.sort_by_key(|record| record.request.start);
            let mut look = Look::new("a run", live_needs(), &LookOptions::default());
            sorted.iter().for_each(|record| look.add(record));
            let (now, then) = (growing.measured(), look.finish());
            assert_eq!(now.records(), i as u64 + 1);
            assert_eq!(
                now.all(Quantity::Latency).moments.mean(),
                then.all(Quantity::Latency).moments.mean()
            );
            let (now, then) = (now.outcome().unwrap(), then.outcome().unwrap());
            assert_eq!(now.most_in_flight, then.most_in_flight);
            assert_eq!(now.in_flight, then.in_flight);
            let points = |of: &iosonar_analysis::OutcomeSummary| {
                let points: Vec<_> = of.timeline.points().collect();
                points
            };
            assert_eq!(points(now), points(then));
        }
        // Only those of the last seconds wait.
        assert!(growing.waiting.len() < 6_000, "{}", growing.waiting.len());
    }
}
