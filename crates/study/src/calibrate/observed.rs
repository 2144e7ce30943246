//! What was recorded, as calibration needs it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iosonar_replay::LATENESS_LIMITS;
use iosonar_stats::Distribution;
use iosonar_trace::{Batch, Op, Outcome, Record, Request, Status, TraceReader};
use iosonar_units::{Nanos, counted};

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
    /// How much later it came than was intended, if that is known.
    delay: Option<Nanos>,
}

/// How requests were submitted, beside when the load intended it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Submission {
    /// What is late: half of the median latency, but at least the first of [`LATENESS_LIMITS`]. Completions are seen by the
    /// thread that submits, so a time that it misses is in latencies as well.
    pub limit: Nanos,
    /// The share of the requests that were later than that, although the device did not hold them back.
    pub late: f64,
    /// The share of the requests that were due while as many were at the device as ever, and were submitted when one of
    /// these was complete: when they came depends on how long others took.
    pub held_back: f64,
}

/// Reads and writes of records, in the order in which they came to the device.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    served: Vec<Served>,
    without_time: u64,
}

impl Observed {
    /// Fewer do not characterise a device.
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
                all.add(&record)?;
            }
        }
        all.served.sort_by_key(|s| (s.came, s.sector));
        if all.served.len() < Self::FEWEST {
            return Err(CalibrateError::Records(format!(
                "the records contain {} with a latency, expected at least {}",
                counted(
                    all.served.len() as u64,
                    ["read or write", "reads and writes"]
                ),
                Self::FEWEST
            )));
        }
        Ok(all)
    }

    fn add(&mut self, record: &Record) -> Result<(), CalibrateError> {
        /// Times in a simulation are limited to this.
        const LATEST: Nanos = Nanos::from_secs(100 * 31_557_600);
        let Record { request, outcome } = record;
        if let (Op::Read | Op::Write, Status::Done, Some(latency)) =
            (request.op, outcome.status, outcome.latency)
        {
            // No device serves a request in no time: what made the records could not measure it.
            if latency == Nanos::ZERO {
                self.without_time += 1;
                return Ok(());
            }
            let delay = outcome.delay;
            let came = request.start.saturating_add(delay.unwrap_or_default());
            let done = came.saturating_add(latency);
            if done > LATEST {
                return Err(CalibrateError::Records(format!(
                    "the request that starts at {} completes at {done}, expected at most 100 years: remove such requests from \
                     the records, or find out why they took that long",
                    request.start
                )));
            }
            self.served.push(Served {
                came,
                done,
                op: request.op,
                sector: request.sector.get(),
                sectors: request.sectors.get().max(1),
                delay,
            });
        }
        Ok(())
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

    /// Whether it is empty.
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

    /// The first N.
    pub(super) fn beginning(&self, n: usize) -> Self {
        Self {
            served: self.served[..n.min(self.served.len())].to_vec(),
            without_time: 0,
        }
    }

    pub(super) fn served(&self) -> &[Served] {
        &self.served
    }

    /// How many requests were at the device with at most `depth` all the time, themselves included.
    pub(super) fn never_beyond(&self, depth: u32) -> u64 {
        // Completions before the requests that come at the same instant.
        let ends = self.served.iter().enumerate();
        let mut events: Vec<(Nanos, bool, usize)> = ends
            .flat_map(|(i, s)| [(s.came, true, i), (s.done, false, i)])
            .collect();
        events.sort_unstable();
        let (mut at_device, mut last, mut beyond) = (0_u32, Nanos::ZERO, Nanos::ZERO);
        // The time beyond the depth until each request came.
        let mut until = vec![Nanos::ZERO; self.served.len()];
        let mut count = 0;
        for (time, comes, i) in events {
            if at_device > depth {
                beyond += time - last;
            }
            last = time;
            if comes {
                at_device += 1;
                until[i] = beyond;
            } else {
                at_device -= 1;
                count += u64::from(until[i] == beyond);
            }
        }
        count
    }

    /// The number of independent requests whose latencies scatter as much as these: as many as there are, divided by
    /// the autocorrelation time. Near saturation a long queue lasts for thousands of requests.
    ///
    /// From the variance of the means of batches, of whether a latency is above the median.
    pub fn effective(&self) -> f64 {
        const BATCHES: usize = 32;
        let mut sorted: Vec<Nanos> = self.served.iter().map(|s| s.done - s.came).collect();
        let length = sorted.len() / BATCHES;
        if length == 0 {
            return sorted.len() as f64;
        }
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let is_above = |s: &Served| s.done - s.came > median;
        let means: Vec<f64> = self
            .served
            .chunks_exact(length)
            .map(|batch| batch.iter().filter(|s| is_above(s)).count() as f64 / length as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        let squares: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
        let of_means = squares / (means.len() - 1) as f64;
        let of_one = mean * (1.0 - mean);
        let correlation_time = match of_one > 0.0 {
            true => (length as f64 * of_means / of_one).max(1.0),
            false => 1.0,
        };
        self.served.len() as f64 / correlation_time
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

    /// How many were at the device with each request, itself included, and when the last one before it was complete.
    pub(super) fn found(&self) -> Vec<(usize, Nanos)> {
        let mut at_device: BinaryHeap<Reverse<Nanos>> = BinaryHeap::new();
        let mut last_done = Nanos::ZERO;
        let mut found = Vec::with_capacity(self.served.len());
        for served in &self.served {
            while let Some(&Reverse(done)) = at_device.peek()
                && done <= served.came
            {
                last_done = done;
                at_device.pop();
            }
            at_device.push(Reverse(served.done));
            found.push((at_device.len(), last_done));
        }
        found
    }

    fn median_latency(&self) -> Nanos {
        let mut all = Distribution::default();
        for served in &self.served {
            all.push(served.done - served.came);
        }
        Nanos::new(all.histogram.quantile(0.5).unwrap_or_default().get())
    }

    /// The share of the requests that came when another one was complete, as in a closed loop: within a quarter of the median
    /// time between completions. Of independent arrivals, about a sixth does by chance. `None` if times are too coarse for
    /// that.
    pub fn at_completions(&self) -> Option<f64> {
        let mut done: Vec<u64> = self.served.iter().map(|served| served.done.get()).collect();
        done.sort_unstable();
        let mut apart: Vec<u64> = done.windows(2).map(|pair| pair[1] - pair[0]).collect();
        apart.sort_unstable();
        let near = apart.get(apart.len() / 2)? / 4;
        let gcd = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        // What all times are multiples of: the tick of a coarse clock.
        let latencies = self.served.iter().map(|s| (s.done - s.came).get());
        if latencies.chain(apart).fold(0, gcd) > near {
            return None;
        }
        let came = self.served.iter().filter(|served| {
            let came = served.came.get();
            let first = done.partition_point(|&done| done < came.saturating_sub(near));
            // Times may have been rounded, so that the other one seems to be complete a little later.
            let mut at_once = done[first..]
                .iter()
                .take_while(|&&done| done <= came + near / 8);
            at_once.any(|&done| done != served.done.get())
        });
        Some(came.count() as f64 / self.served.len() as f64)
    }

    /// Whether it is known of any request how late it came.
    pub fn has_delays(&self) -> bool {
        self.served.iter().any(|served| served.delay.is_some())
    }

    /// How the requests were submitted. Where as many were at the device as ever, a request may have waited for a place: its
    /// lateness counts from the last completion.
    pub fn submission(&self) -> Submission {
        let found = self.found();
        let most = found.iter().map(|(at_device, _)| *at_device).max();
        let half = Nanos::new(self.median_latency().get() / 2);
        let limit = half.max(LATENESS_LIMITS[0]);
        let (mut late, mut held_back) = (0_u64, 0_u64);
        for (served, &(at_device, last_done)) in self.served.iter().zip(&found) {
            let due = served.came - served.delay.unwrap_or_default();
            let is_held_back = Some(at_device) == most && last_done > due;
            let from = if is_held_back { last_done } else { due };
            late += u64::from(served.came - from > limit);
            held_back += u64::from(is_held_back);
        }
        let share = |count| count as f64 / self.served.len().max(1) as f64;
        Submission {
            limit,
            late: share(late),
            held_back: share(held_back),
        }
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
