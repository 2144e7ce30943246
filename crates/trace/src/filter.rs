//! Transformations of loads: each takes a batch and leaves it changed.
//!
//! They compose in the order in which they are given, and stream.

use iosonar_units::Nanos;

use crate::{Batch, Metadata, Op, TraceError, TraceReader};

/// A change to a trace, batch by batch.
pub trait Transform: Send {
    /// Changes the rows of `batch`. Returns whether rows that come later in a trace sorted by
    /// start can still pass: `false` lets a reader stop early.
    fn apply(&mut self, batch: &mut Batch) -> bool;
}

/// Keeps the requests with `from <= start < until`, at their own times.
#[derive(Clone, Copy, Debug)]
pub struct TimeWindow {
    /// The first start that is kept.
    pub from: Nanos,
    /// The first start that is not.
    pub until: Nanos,
}

impl Transform for TimeWindow {
    fn apply(&mut self, batch: &mut Batch) -> bool {
        let last = batch.starts().last().copied();
        batch.retain(|r| (self.from..self.until).contains(&r.request.start));
        last.is_none_or(|start| start < self.until)
    }
}

/// Keeps the requests with one of these operations.
#[derive(Clone, Copy, Debug)]
pub struct OnlyOps {
    /// The operations.
    pub ops: &'static [Op],
}

impl Transform for OnlyOps {
    fn apply(&mut self, batch: &mut Batch) -> bool {
        batch.retain(|r| self.ops.contains(&r.request.op));
        true
    }
}

/// Divides all intended starts by `factor`: 2 replays twice as fast.
#[derive(Clone, Copy, Debug)]
pub struct SpeedChange {
    /// The factor, above zero.
    pub factor: f64,
}

impl Transform for SpeedChange {
    fn apply(&mut self, batch: &mut Batch) -> bool {
        for start in batch.starts_mut() {
            *start = Nanos::new((start.get() as f64 / self.factor).round() as u64);
        }
        true
    }
}

/// Which part of a load is used, and how fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// The first start that is kept, on the file's own axis.
    pub from: Nanos,
    /// The first start that is not.
    pub until: Nanos,
    /// How many times as fast as recorded; applied after the window.
    pub speed: f64,
    /// The only operations that are kept; empty keeps all.
    pub ops: &'static [Op],
}

impl Default for Selection {
    /// All of it, as fast as recorded.
    fn default() -> Self {
        Self {
            from: Nanos::ZERO,
            until: Nanos::MAX,
            speed: 1.0,
            ops: &[],
        }
    }
}

impl Selection {
    /// The transformations that make this selection, in order.
    pub fn transforms(&self) -> Vec<Box<dyn Transform>> {
        let mut transforms: Vec<Box<dyn Transform>> = Vec::new();
        if self.from > Nanos::ZERO || self.until < Nanos::MAX {
            transforms.push(Box::new(TimeWindow {
                from: self.from,
                until: self.until,
            }));
        }
        if !self.ops.is_empty() {
            transforms.push(Box::new(OnlyOps { ops: self.ops }));
        }
        if self.speed != 1.0 {
            transforms.push(Box::new(SpeedChange { factor: self.speed }));
        }
        transforms
    }
}

/// A trace with transformations applied in order.
///
/// With [`stop_early`](Self::stop_early) it ends as soon as a window has passed, which is right
/// for sorted loads only.
pub struct Transformed<R> {
    inner: R,
    transforms: Vec<Box<dyn Transform>>,
    stop_early: bool,
    ended: bool,
}

impl<R: TraceReader> Transformed<R> {
    /// Applies `transforms`, first to last, to what `inner` reads.
    pub fn new(inner: R, transforms: Vec<Box<dyn Transform>>) -> Self {
        Self {
            inner,
            transforms,
            stop_early: false,
            ended: false,
        }
    }

    /// Ends when a transformation says that nothing later can pass. For sorted loads.
    #[must_use]
    pub fn stop_early(mut self) -> Self {
        self.stop_early = true;
        self
    }
}

impl<R: TraceReader> TraceReader for Transformed<R> {
    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while !self.ended {
            if self.inner.next_batch(batch)? == 0 {
                self.ended = true;
                break;
            }
            for transform in &mut self.transforms {
                self.ended |= !transform.apply(batch) && self.stop_early;
            }
            if !batch.is_empty() {
                break;
            }
        }
        Ok(batch.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Record, Request};

    fn batch_of(starts: &[u64]) -> Batch {
        let mut batch = Batch::default();
        for &start in starts {
            batch.push(&Record {
                request: Request {
                    start: Nanos::new(start),
                    ..Request::default()
                },
                ..Record::default()
            });
        }
        batch
    }

    #[test]
    fn a_window_is_closed_below_and_open_above() {
        let mut batch = batch_of(&[1, 2, 3, 4, 5]);
        let mut window = TimeWindow {
            from: Nanos::new(2),
            until: Nanos::new(4),
        };
        assert!(!window.apply(&mut batch), "nothing later can pass");
        assert_eq!(batch.starts(), [2, 3].map(Nanos::new));
    }

    #[test]
    fn speed_divides_times() {
        let mut batch = batch_of(&[0, 10, 25]);
        SpeedChange { factor: 2.0 }.apply(&mut batch);
        assert_eq!(batch.starts(), [0, 5, 13].map(Nanos::new));
    }
}
