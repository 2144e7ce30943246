//! What drives a run: a synthetic load, or a trace that is checked while it is read.

use std::path::{Path, PathBuf};

use iosonar_raid::{Completion, RequestSource};
use iosonar_trace::{Batch, Place, Reading, Request, TraceError, TraceReader, input};
use iosonar_units::{Nanos, Sectors};
use iosonar_workload::{ClosedLoad, SyntheticLoad};

use crate::ScenarioError;

/// So many requests of a synthetic load.
pub(crate) struct Synthetic {
    pub(crate) load: SyntheticLoad,
    pub(crate) left: u64,
}

impl RequestSource for Synthetic {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(self.load.next())
    }
}

/// So many requests of a closed loop.
pub(crate) struct Closed {
    pub(crate) load: ClosedLoad,
    pub(crate) left: u64,
}

impl RequestSource for Closed {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        let first = self.load.begin();
        self.left -= u64::from(first.is_some());
        Ok(first)
    }

    fn is_closed(&self) -> bool {
        true
    }

    fn waits_for_completions(&self) -> bool {
        self.left > 0
    }

    fn after(&mut self, _: &Completion, now: Nanos) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.load.after(now)))
    }
}

/// So many requests that never meet.
pub(crate) struct Alone {
    pub(crate) load: ClosedLoad,
    pub(crate) left: u64,
}

impl RequestSource for Alone {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        Ok(None)
    }

    fn is_closed(&self) -> bool {
        true
    }

    fn waits_for_completions(&self) -> bool {
        self.left > 0
    }

    fn when_idle(&mut self, now: Nanos) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.load.after(now)))
    }
}

/// The requests of a trace, each checked to lie within the array.
pub(crate) struct Trace {
    reader: Box<dyn TraceReader>,
    path: PathBuf,
    batch: Batch,
    row: usize,
    data_sectors: u64,
    stripe_unit: u64,
}

/// Leaves room for queues in the 584 years that 64 bits of nanoseconds hold.
const LATEST: Nanos = Nanos::from_secs(100 * 31_557_600);

/// A request of more pieces would need gigabytes for its plan.
const MOST_PIECES: u64 = 1_000_000;

impl Trace {
    pub(crate) fn open(
        path: &Path,
        reading: &Reading,
        data_sectors: u64,
        stripe_unit: Option<Sectors>,
    ) -> Result<Self, ScenarioError> {
        Ok(Self {
            reader: input::open_load(path, reading)?,
            path: path.to_owned(),
            batch: Batch::default(),
            row: 0,
            data_sectors,
            stripe_unit: stripe_unit.map_or(u64::MAX, |unit| u64::from(unit.get())),
        })
    }
}

impl RequestSource for Trace {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.row == self.batch.len() {
            self.row = 0;
            if self.reader.next_batch(&mut self.batch)? == 0 {
                return Ok(None);
            }
        }
        let request = self.batch.request(self.row);
        if request.start > LATEST {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request starts at {} of the simulation, expected at most 100 years: use a part of \
                     the trace (--from), or another --speed",
                    request.start
                ),
            }));
        }
        if request.end().get() > self.data_sectors {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request ends at sector {}, beyond the array's end at {}: give the array \
                     more or larger disks",
                    request.end(),
                    self.data_sectors
                ),
            }));
        }
        if u64::from(request.sectors.get()) / self.stripe_unit > MOST_PIECES {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request of {} sectors falls into more than a million pieces of {} sectors: \
                     take a larger stripe unit",
                    request.sectors, self.stripe_unit
                ),
            }));
        }
        self.row += 1;
        Ok(Some(request))
    }
}
