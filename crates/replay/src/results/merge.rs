//! The records of several threads in one line.
//!
//! Records are passed on in the order of completion. A thread that stands still, because a request does not return, would
//! hold those of all others back, so they wait for it only for some time: then memory is bounded, and a kill loses no more
//! than with one thread, but its own later records stand behind.

use std::collections::VecDeque;

use iosonar_trace::{Batch, Record};
use iosonar_units::Nanos;

/// Merges the records of threads in the order of completion, in which each of them delivers its own. How far the others
/// are is known from their last messages.
pub(super) struct Merge {
    sources: Vec<Source>,
}

/// What came from a thread and has not been passed on.
#[derive(Default)]
struct Source {
    batches: VecDeque<Batch>,
    row: usize,
    /// When the next row's request was complete; without a row, the earliest time for the next one.
    at: Nanos,
    /// It had no others than these until then.
    until: Nanos,
    is_over: bool,
}

impl Source {
    fn next(&self) -> Option<Record> {
        let batch = self.batches.front()?;
        Some(batch.record(self.row))
    }

    /// Looks at the next row. Times do not go back: what was not timed stands where it came.
    fn look(&mut self) {
        let at = self.next().map_or(self.until, |record| completion(&record));
        self.at = self.at.max(at);
    }
}

/// When a request was complete, in the load's time.
fn completion(record: &Record) -> Nanos {
    let outcome = &record.outcome;
    let took = outcome.delay.unwrap_or_default() + outcome.latency.unwrap_or_default();
    record.request.start.saturating_add(took)
}

impl Merge {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            sources: (0..threads).map(|_| Source::default()).collect(),
        }
    }

    /// The next records of a thread have come, which has had no others until `until`.
    pub(super) fn add(&mut self, thread: usize, batch: Batch, until: Nanos) {
        let source = &mut self.sources[thread];
        source.until = source.until.max(until);
        if !batch.is_empty() {
            source.batches.push_back(batch);
        }
        source.look();
    }

    /// Nothing more comes from a thread.
    pub(super) fn end(&mut self, thread: usize) {
        self.sources[thread].is_over = true;
    }

    /// Whether records wait for those of others.
    pub(super) fn is_waiting(&self) -> bool {
        self.sources.iter().any(|source| !source.batches.is_empty())
    }

    /// How many batches wait for those of others.
    pub(super) fn waiting(&self) -> usize {
        self.sources.iter().map(|source| source.batches.len()).sum()
    }

    /// Passes on what nothing can come before any more, or everything. Batches that were emptied go to `used`.
    pub(super) fn drain(
        &mut self,
        everything: bool,
        mut pass: impl FnMut(&Record),
        mut used: impl FnMut(Batch),
    ) {
        loop {
            let waited_for = self
                .sources
                .iter()
                .enumerate()
                .filter(|(_, source)| !source.batches.is_empty() || !source.is_over && !everything)
                .min_by_key(|(_, source)| source.at);
            let Some((first, _)) = waited_for else {
                return;
            };
            let source = &mut self.sources[first];
            let Some(record) = source.next() else {
                return;
            };
            pass(&record);
            source.row += 1;
            if source
                .batches
                .front()
                .is_some_and(|batch| source.row == batch.len())
            {
                source.row = 0;
                source.batches.pop_front().into_iter().for_each(&mut used);
            }
            source.look();
        }
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Request};

    use super::*;

    fn batch(device: u16, times: &[u64]) -> Batch {
        let mut batch = Batch::default();
        for &at in times {
            batch.push(&Record {
                request: Request {
                    device,
                    start: Nanos::from_micros(at - 1),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(1)),
            });
        }
        batch
    }

    #[test]
    fn records_come_in_the_order_of_completion_and_none_is_lost() {
        let mut merge = Merge::new(3);
        let mut passed: Vec<(u64, u16)> = Vec::new();
        let mut used = 0;
        let us = Nanos::from_micros;
        let mut drain = |merge: &mut Merge, everything, passed: &mut Vec<(u64, u16)>| {
            merge.drain(
                everything,
                |r| passed.push((completion(r).get() / 1000, r.request.device)),
                |_| used += 1,
            );
            passed.len()
        };
        merge.add(0, batch(0, &[1, 4, 9]), us(9));
        merge.add(1, batch(1, &[2, 3, 12]), us(12));
        assert_eq!(
            drain(&mut merge, false, &mut passed),
            0,
            "the third may have earlier ones"
        );
        merge.add(2, Batch::default(), us(8));
        assert_eq!(drain(&mut merge, false, &mut passed), 4);
        merge.add(2, batch(2, &[10]), us(10));
        assert_eq!(
            drain(&mut merge, false, &mut passed),
            5,
            "the first may have more soon after 9"
        );
        merge.add(0, batch(0, &[14]), us(14));
        assert_eq!(
            drain(&mut merge, true, &mut passed),
            8,
            "nothing waits for ever"
        );
        assert!(!merge.is_waiting());
        merge.add(1, batch(1, &[13]), us(13));
        (0..3).for_each(|thread| merge.end(thread));
        drain(&mut merge, false, &mut passed);
        let mut expected = vec![(1, 0), (2, 1), (3, 1), (4, 0), (9, 0), (10, 2), (12, 1)];
        expected.extend([(14, 0), (13, 1)]);
        assert_eq!(passed, expected);
        assert_eq!(used, 5);
    }

    #[test]
    fn batches_that_wait_are_counted_and_empty_ones_are_not() {
        let mut merge = Merge::new(3);
        assert!(!merge.is_waiting());
        for (thread, times, waiting) in
            [(0, &[1, 4][..], 1), (0, &[5], 2), (1, &[], 2), (1, &[3], 3)]
        {
            merge.add(thread, batch(0, times), Nanos::ZERO);
            assert_eq!(merge.waiting(), waiting);
            assert!(merge.is_waiting());
        }
        // The third thread may still have records that come before all of these.
        let mut used = 0;
        merge.drain(false, |_| panic!("nothing is sure"), |_| used += 1);
        assert_eq!((merge.waiting(), used), (3, 0));
        merge.end(2);
        let mut passed = Vec::new();
        merge.drain(false, |r| passed.push(completion(r)), |_| used += 1);
        // The second thread has sent nothing after 3.
        assert_eq!(passed, [1, 3].map(Nanos::from_micros));
        assert_eq!((merge.waiting(), used), (2, 1));
    }

    #[test]
    fn a_record_is_complete_after_its_delay_and_its_latency() {
        let us = Nanos::from_micros;
        for (delay, latency, at) in [
            (None, None, 100),
            (Some(us(3)), None, 103),
            (None, Some(us(40)), 140),
            (Some(us(3)), Some(us(40)), 143),
        ] {
            let record = Record {
                request: Request {
                    start: us(100),
                    ..Request::default()
                },
                outcome: Outcome {
                    delay,
                    latency,
                    ..Outcome::default()
                },
            };
            assert_eq!(completion(&record), us(at));
        }
    }

    #[test]
    fn a_record_without_times_stands_where_it_came() {
        let mut merge = Merge::new(2);
        let us = Nanos::from_micros;
        // Of the first thread's, the second record is earlier than the first by its times.
        merge.add(0, batch(0, &[10, 2, 11]), us(11));
        merge.add(1, batch(1, &[5, 10, 12]), us(12));
        (0..2).for_each(|thread| merge.end(thread));
        let mut passed = Vec::new();
        merge.drain(
            false,
            |r| passed.push((completion(r).get() / 1000, r.request.device)),
            |_| {},
        );
        assert_eq!(passed, [(5, 1), (10, 0), (2, 0), (10, 1), (11, 0), (12, 1)]);
    }
}
