//! What was recorded, as calibration needs it.

use iosonar_stats::Distribution;
use iosonar_trace::{Batch, Op, Outcome, Record, Request, Status, TraceReader};
use iosonar_units::Nanos;

use super::CalibrateError;

/// A request of the records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Served {
    /// When it came to the device.
    pub(super) came: Nanos,
    /// When it was complete.
    pub(super) done: Nanos,
    pub(super) op: Op,
    pub(super) sector: u64,
    pub(super) sectors: u32,
}

/// Reads and writes of records, in the order in which they came to the device.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    served: Vec<Served>,
    without_time: u64,
}

impl Observed {
    /// Fewer tell nothing of a device.
    pub const FEWEST: usize = 200;
    /// More need not be kept: their parameters would be known too precisely to matter.
    pub const MOST: usize = 2_000_000;

    /// From records; what was not done, or has no latency above zero, is left out. Takes at most
    /// [`Observed::MOST`].
    ///
    /// # Errors
    /// If the records cannot be read, or hold too little.
    pub fn read(reader: &mut dyn TraceReader) -> Result<Self, CalibrateError> {
        let mut all = Self::default();
        let mut batch = Batch::default();
        while all.served.len() < Self::MOST && reader.next_batch(&mut batch)? > 0 {
            for record in batch.records() {
                all.add(&record);
            }
        }
        all.served.sort_by_key(|s| (s.came, s.sector));
        if all.served.len() < Self::FEWEST {
            return Err(CalibrateError::Records(format!(
                "the records hold {} reads and writes with a latency, expected at least {}",
                all.served.len(),
                Self::FEWEST
            )));
        }
        Ok(all)
    }

    fn add(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        if let (Op::Read | Op::Write, Status::Done, Some(latency)) =
            (request.op, outcome.status, outcome.latency)
        {
            // No device serves a request in no time: what made the records could not measure it.
            if latency == Nanos::ZERO {
                self.without_time += 1;
                return;
            }
            let came = request.start + outcome.delay.unwrap_or_default();
            self.served.push(Served {
                came,
                done: came + latency,
                op: request.op,
                sector: request.sector.get(),
                sectors: request.sectors.get().max(1),
            });
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.served.len()
    }

    /// How many reads and writes were left out because their latency is zero.
    pub fn without_time(&self) -> u64 {
        self.without_time
    }

    /// How many requests are of this kind.
    pub fn count(&self, op: Op) -> u64 {
        self.served.iter().filter(|served| served.op == op).count() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.served.is_empty()
    }

    /// The first half, to learn from, and the second, to be judged by.
    pub fn halves(&self) -> (Self, Self) {
        let (first, second) = self.served.split_at(self.served.len() / 2);
        let half = |served: &[Served]| Self {
            served: served.to_vec(),
            without_time: 0,
        };
        (half(first), half(second))
    }

    /// So many from the beginning.
    pub(super) fn beginning(&self, n: usize) -> Self {
        Self {
            served: self.served[..n.min(self.served.len())].to_vec(),
            without_time: 0,
        }
    }

    pub(super) fn served(&self) -> &[Served] {
        &self.served
    }

    /// Where the highest request ends, in sectors.
    pub fn end(&self) -> u64 {
        let ends = self.served.iter().map(|s| s.sector + u64::from(s.sectors));
        ends.max().unwrap_or(0)
    }

    /// How long the slowest took.
    pub(super) fn longest(&self) -> Option<Nanos> {
        self.served.iter().map(|s| s.done - s.came).max()
    }

    /// How long requests of a kind took.
    pub fn latencies(&self, op: Op) -> Distribution {
        let mut all = Distribution::default();
        for served in self.served.iter().filter(|s| s.op == op) {
            all.push(served.done - served.came);
        }
        all
    }

    /// The requests as a load, which begins at zero.
    pub(super) fn load(&self) -> impl Iterator<Item = Record> + '_ {
        let zero = self.served.first().map_or(Nanos::ZERO, |s| s.came);
        self.served.iter().map(move |served| Record {
            request: Request {
                start: served.came - zero,
                op: served.op,
                sector: iosonar_units::Sector::new(served.sector),
                sectors: iosonar_units::Sectors::new(served.sectors),
                ..Request::default()
            },
            outcome: Outcome::default(),
        })
    }
}
