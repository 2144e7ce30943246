//! Laws that are drawn from a recording.

use std::path::Path;
use std::sync::Arc;

use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Batch, Op, Reading, TraceError, input};
use iosonar_units::Nanos;

use crate::resolve::sizes::Kind;

/// Times of a recording.
pub(crate) struct Recorded {
    /// All of them, or a random sample of a long recording.
    pub(crate) times: Arc<[Nanos]>,
    /// The mean of all.
    pub(crate) mean_s: f64,
}

impl Recorded {
    /// The times between requests.
    pub(super) fn intervals(trace: &Path) -> Result<Self, TraceError> {
        let mut last = None;
        Self::of(trace, |rows, row| {
            let start = rows.request(row).start;
            let before = last.replace(start)?;
            Some(start - before)
        })
    }

    /// The times that users thought before requests.
    pub(super) fn think_times(trace: &Path) -> Result<Self, TraceError> {
        Self::of(trace, Batch::think)
    }

    /// The latencies of requests.
    pub(super) fn latencies(trace: &Path) -> Result<Self, TraceError> {
        Self::of(trace, |rows, row| rows.outcome(row).latency)
    }

    /// The sizes of requests that move data, of this kind: a nanosecond is a byte.
    pub(crate) fn sizes(trace: &Path, kind: Option<Kind>) -> Result<Self, TraceError> {
        Self::of(trace, |rows, row| {
            let request = rows.request(row);
            let is_wanted = match kind {
                None => matches!(request.op, Op::Read | Op::Write),
                Some(kind) => kind.has(request.op),
            };
            is_wanted.then(|| Nanos::new(request.sectors.bytes().get()))
        })
    }

    fn of(
        trace: &Path,
        mut time: impl FnMut(&Batch, usize) -> Option<Nanos>,
    ) -> Result<Self, TraceError> {
        let mut reader = input::open_load(trace, &Reading::default())?;
        let mut batch = Batch::default();
        let mut sample = Sample::new();
        let mut sum = 0_u128;
        while reader.next_batch(&mut batch)? > 0 {
            for time in (0..batch.len()).filter_map(|row| time(&batch, row)) {
                sum += u128::from(time.get());
                sample.push(time);
            }
        }
        // Of intervals, the sum is the span of the recording.
        let sum = Nanos::new(u64::try_from(sum).unwrap_or(u64::MAX));
        Ok(Self {
            mean_s: sum.as_secs_f64() / sample.seen as f64,
            times: sample.times.into(),
        })
    }
}

/// A random sample of times (Vitter 1985, algorithm R).
struct Sample {
    times: Vec<Nanos>,
    seen: u64,
    random: Stream,
}

impl Sample {
    /// 8 MB.
    const MOST: usize = 1 << 20;

    fn new() -> Self {
        Self {
            times: Vec::new(),
            seen: 0,
            random: Seed::new(0).stream("recorded intervals", "reservoir"),
        }
    }

    fn push(&mut self, time: Nanos) {
        self.seen += 1;
        // Each is as likely to be kept as the others.
        match self.random.below(self.seen) as usize {
            _ if self.times.len() < Self::MOST => self.times.push(time),
            place if place < Self::MOST => self.times[place] = time,
            _ => {}
        }
    }
}
