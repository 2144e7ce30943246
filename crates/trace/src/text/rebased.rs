//! Absolute clocks start at zero with the first event.

use std::collections::VecDeque;
use std::path::PathBuf;

use iosonar_units::Nanos;

use super::rows::skipped;
use crate::error::Place;
use crate::{Batch, Metadata, TraceError, TraceReader};

/// What the times of a format count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Zero of the clock lies `ns` nanoseconds after 1970.
    Unix {
        /// Nanoseconds; negative before 1970.
        ns: i128,
    },
    /// Something that has no meaning outside the machine, such as its start.
    Arbitrary,
}

/// The number of batches examined to find the earliest event: later ones may not be earlier.
const AHEAD: usize = 16;
/// Times beyond this (1990) are taken for those of a calendar, where the clock may have been either.
const CALENDAR_NS: u64 = 631_152_000_000_000_000;
/// Seconds of a year.
const YEAR_S: f64 = 31_557_600.0;

/// A trace with the earliest of its first 65 536 rows at time zero.
pub(crate) struct Rebased<R> {
    inner: R,
    path: PathBuf,
    axis: Axis,
    lenient: bool,
    ahead: VecDeque<Batch>,
    zero: Option<Nanos>,
    metadata: Metadata,
    /// Only its remarks: rows that came too early.
    early: Metadata,
}

impl<R: TraceReader> Rebased<R> {
    pub(crate) fn new(inner: R, path: PathBuf, axis: Axis, lenient: bool) -> Self {
        Self {
            metadata: inner.metadata().clone(),
            inner,
            path,
            axis,
            lenient,
            ahead: VecDeque::new(),
            zero: None,
            early: Metadata::default(),
        }
    }

    fn look_ahead(&mut self) -> Result<Nanos, TraceError> {
        let mut zero = Nanos::MAX;
        while self.ahead.len() < AHEAD {
            let mut batch = Batch::default();
            if self.inner.next_batch(&mut batch)? == 0 {
                break;
            }
            zero = batch.starts().iter().copied().fold(zero, Nanos::min);
            self.ahead.push_back(batch);
        }
        if zero == Nanos::MAX {
            zero = Nanos::ZERO;
        }
        match self.axis {
            // A clock that already counts from the trace's beginning stays as it is.
            Axis::Unix { ns: 0 } if zero.get() < CALENDAR_NS => zero = Nanos::ZERO,
            Axis::Unix { ns } => {
                self.metadata.origin_ns = u64::try_from(i128::from(zero.get()) + ns).ok();
            }
            Axis::Arbitrary => {}
        }
        Ok(zero)
    }
}

impl<R: TraceReader> TraceReader for Rebased<R> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let zero = if let Some(zero) = self.zero {
            zero
        } else {
            let zero = self.look_ahead()?;
            self.zero = Some(zero);
            zero
        };
        let mut early = false;
        loop {
            match self.ahead.pop_front() {
                Some(ahead) => *batch = ahead,
                None => {
                    self.inner.next_batch(batch)?;
                }
            }
            if batch.is_empty() {
                break;
            }
            for row in 0..batch.len() {
                let start = batch.starts()[row];
                let problem = match start.checked_sub(zero) {
                    Some(from_zero) if from_zero <= Batch::LATEST => {
                        batch.starts_mut()[row] = from_zero;
                        continue;
                    }
                    Some(from_zero) => format!(
                        "this request is {:.0} years later than the earliest one, expected less than 292: correct its \
                         time, or skip such rows with --lenient",
                        from_zero.as_secs_f64() / YEAR_S
                    ),
                    None => format!(
                        "this request is {:.9} s earlier than all of the first {} requests, which define time zero: \
                         sort the file by time first, or skip such rows with --lenient",
                        (zero - start).as_secs_f64(),
                        AHEAD * Batch::ROWS
                    ),
                };
                let error = TraceError::Damaged {
                    place: Place::of(&self.path, batch.place(row)),
                    problem,
                };
                if !self.lenient {
                    return Err(error);
                }
                skipped(&mut self.early, &error);
                batch.starts_mut()[row] = Nanos::MAX;
                early = true;
            }
            if early {
                batch.retain(|r| r.request.start != Nanos::MAX);
                early = false;
            }
            if !batch.is_empty() {
                break;
            }
        }
        self.metadata.follow(self.inner.metadata(), &self.early);
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Status;
    use crate::testing::Given;

    /// 16 batches of which the earliest request starts at 10, then some that start earlier.
    fn with_early_rows(lenient: bool) -> Rebased<Given> {
        let first = (0..16).map(|i| vec![10 + i]);
        let others = [vec![3, 12, 9], vec![4], vec![10]];
        let batches = first
            .chain(others)
            .map(|starts| Given::reads(starts.into_iter().map(|start| (start, Status::Done))));
        let given = Given::new(batches);
        Rebased::new(given, PathBuf::from("x"), Axis::Arbitrary, lenient)
    }

    #[test]
    fn a_request_before_time_zero_is_an_error_or_skipped() {
        let mut batch = Batch::default();
        for lenient in [false, true] {
            let mut reader = with_early_rows(lenient);
            for i in 0..16 {
                assert_eq!(reader.next_batch(&mut batch).unwrap(), 1);
                assert_eq!(batch.starts(), [Nanos::new(i)]);
            }
            if !lenient {
                let error = reader.next_batch(&mut batch).unwrap_err().to_string();
                assert!(error.contains("0.000000007 s earlier"), "{error}");
                continue;
            }
            // A batch of early rows alone is not the end.
            for left in [2, 0] {
                assert_eq!(reader.next_batch(&mut batch).unwrap(), 1);
                assert_eq!(batch.starts(), [Nanos::new(left)]);
            }
            assert_eq!(reader.next_batch(&mut batch).unwrap(), 0);
            let counts: Vec<u64> = reader.metadata().remarks.iter().map(|r| r.count).collect();
            assert_eq!(counts, [3]);
        }
    }

    #[test]
    fn a_request_centuries_after_time_zero_is_an_error_or_skipped() {
        let latest = Batch::LATEST.get();
        for (lenient, beyond) in [(false, 0), (false, 1), (true, 1)] {
            let starts = [7, 7 + latest + beyond, 9];
            let batch = Given::reads(starts.map(|start| (start, Status::Done)));
            let mut reader =
                Rebased::new(Given::new([batch]), "x".into(), Axis::Arbitrary, lenient);
            let mut batch = Batch::default();
            match (reader.next_batch(&mut batch), lenient) {
                (Ok(3), false) if beyond == 0 => {
                    assert_eq!(batch.starts(), [0, latest, 2].map(Nanos::new));
                }
                (Err(error), false) => {
                    let error = error.to_string();
                    assert!(beyond > 0 && error.contains("292 years later"), "{error}");
                }
                (Ok(2), true) => {
                    assert_eq!(batch.starts(), [0, 2].map(Nanos::new));
                    assert_eq!(reader.metadata().remarks[0].count, 1);
                }
                (other, _) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn time_zero_is_the_earliest_start_of_the_batches_that_are_read_ahead() {
        let mut reader = with_early_rows(false);
        assert_eq!(reader.look_ahead().unwrap(), Nanos::new(10));
        // Not one more.
        assert_eq!(reader.ahead.len(), AHEAD);
        let mut empty = Rebased::new(Given::new([]), "x".into(), Axis::Arbitrary, false);
        assert_eq!(empty.look_ahead().unwrap(), Nanos::ZERO);
    }

    #[test]
    fn a_clock_that_counts_from_the_beginning_stays_as_it_is() {
        let read = |start: u64, axis: Axis| {
            let given = Given::new([Given::reads([(start, Status::Done)])]);
            let mut reader = Rebased::new(given, "x".into(), axis, false);
            let mut batch = Batch::default();
            reader.next_batch(&mut batch).unwrap();
            (batch.starts()[0].get(), reader.metadata().origin_ns)
        };
        for (start, axis, rebased, origin) in [
            (7, Axis::Arbitrary, 0, None),
            (7, Axis::Unix { ns: 0 }, 7, None),
            (CALENDAR_NS - 1, Axis::Unix { ns: 0 }, CALENDAR_NS - 1, None),
            (CALENDAR_NS, Axis::Unix { ns: 0 }, 0, Some(CALENDAR_NS)),
            (7, Axis::Unix { ns: 3 }, 0, Some(10)),
            (7, Axis::Unix { ns: -8 }, 0, None),
        ] {
            assert_eq!(read(start, axis), (rebased, origin), "{start}");
        }
    }
}
