//! Changes of times.

use iosonar_units::Nanos;

use super::Ratio;
use super::streamed::Stream;
use crate::limits::LIMIT;
use crate::{Batch, Metadata, TraceError};

/// A time that files can hold: below 2^63 ns.
pub(super) fn possible(time: Option<u64>, option: &str) -> Result<Nanos, TraceError> {
    match time {
        Some(ns) if ns < LIMIT => Ok(Nanos::new(ns)),
        _ => Err(TraceError::Option(format!(
            "{option} moves a request beyond 292 years: use only a part of the load, or a smaller value"
        ))),
    }
}

pub(super) struct Speed(pub(super) Ratio);

impl Stream for Speed {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            *start = possible(self.0.divide(start.get()), "--speed")?;
        }
        Ok(true)
    }
}

pub(super) struct Shift(pub(super) Nanos);

impl Stream for Shift {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            *start = possible(start.get().checked_add(self.0.get()), "--shift")?;
        }
        Ok(true)
    }
}

/// Takes the first start off all times.
#[derive(Default)]
pub(super) struct ZeroFirst {
    first: Option<Nanos>,
}

impl Stream for ZeroFirst {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            let first = *self.first.get_or_insert(*start);
            *start = start.checked_sub(first).ok_or_else(|| {
                TraceError::Option(format!(
                    "--zero first: a request at {start} is earlier than the first one at {first}; sort the load first \
                     (--sort --zero first)"
                ))
            })?;
        }
        Ok(true)
    }
}

/// The times of a load that grows.
pub(super) struct Ramp {
    per_s2: f64,
    next_s: f64,
}

impl Ramp {
    pub(super) fn new(per_s2: f64) -> Self {
        Self {
            per_s2,
            next_s: 0.0,
        }
    }
}

impl Stream for Ramp {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            *start = Nanos::from_secs_f64(self.next_s);
            self.next_s += 1.0 / (self.per_s2 * self.next_s).max(1.0);
        }
        batch.clear_outcomes();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_files_can_hold_is_below_2_to_63_ns() {
        for (time, is_possible) in [
            (Some(0), true),
            (Some((1 << 63) - 1), true),
            (Some(1 << 63), false),
            (Some(u64::MAX), false),
            (None, false),
        ] {
            match possible(time, "--shift") {
                Ok(seen) => assert!(is_possible && Some(seen.get()) == time, "{seen}"),
                Err(error) => assert!(!is_possible, "{error}"),
            }
        }
    }

    #[test]
    fn a_load_that_grows_has_its_next_request_sooner_and_sooner() {
        let mut batch =
            crate::testing::Given::reads([9, 9, 9, 9].map(|t| (t, crate::Status::Done)));
        // The first second has one request; at 1 s and 2 a second, the next comes after 1/2 s, and the one behind 1.5 s after
        // 1 / (2 1.5) s.
        let mut ramp = Ramp::new(2.0);
        assert!(ramp.apply(&mut batch, &mut Metadata::default()).unwrap());
        let expected = [0, 1_000_000_000, 1_500_000_000, 1_833_333_333];
        assert_eq!(batch.starts(), expected.map(Nanos::new));
    }
}
