//! Changes of times.

use iosonar_units::Nanos;

use super::Ratio;
use super::streamed::Stream;
use crate::{Batch, Metadata, TraceError};

pub(super) struct Speed(pub(super) Ratio);

impl Stream for Speed {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            *start = self.0.divide(start.get()).map_or(Nanos::MAX, Nanos::new);
        }
        Ok(true)
    }
}

pub(super) struct Shift(pub(super) Nanos);

impl Stream for Shift {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        for start in batch.starts_mut() {
            *start = start.saturating_add(self.0);
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
