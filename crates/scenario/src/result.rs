//! What a simulation found out.

use std::time::Duration;

use iosonar_raid::RunSummary;
use iosonar_raid::positioning::PositioningCounts;
use iosonar_sim_core::CompletionHash;
use iosonar_stats::{BatchMeans, Distribution, Estimate};
use iosonar_trace::Op;

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    /// Response times of the measured reads.
    pub reads: Distribution,
    /// Response times of the measured writes.
    pub writes: Distribution,
    /// Measured flushes and discards, which the models have no cost for.
    pub free: u64,
    /// Batch means of all measured response times, in nanoseconds, in the order of completion.
    pub batches: BatchMeans,
    /// Events, utilisations, positioning cases, hash.
    pub run: RunSummary,
}

impl Replication {
    pub(crate) fn push(&mut self, op: Op, response_time: iosonar_units::Nanos) {
        match op {
            Op::Read => self.reads.push(response_time),
            Op::Write | Op::WriteZeroes => self.writes.push(response_time),
            Op::Flush | Op::Discard => {
                self.free += 1;
                return;
            }
        }
        self.batches.push(response_time.get() as f64);
    }

    fn all(&self) -> Distribution {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}

/// All runs of a simulation together.
#[derive(Clone, Debug)]
pub struct SimulationResult {
    /// Response times of all measured reads and writes.
    pub response_time: Distribution,
    /// Of the reads among them.
    pub reads: Distribution,
    /// Of the writes.
    pub writes: Distribution,
    /// Flushes and discards, which the models have no cost for: in no distribution.
    pub free: u64,
    /// The mean response time in milliseconds with its standard error: from the means of the
    /// replications, or from batch means if there is only one. NaN where there are too few.
    pub mean_ms: Estimate,
    /// The mean utilisation of each disk.
    pub utilisation: Vec<f64>,
    /// Measured requests per second of simulated time, per replication.
    pub throughput_per_s: f64,
    /// How partial-stripe writes came to their places.
    pub positioning: PositioningCounts,
    /// The largest number of requests at once in any replication.
    pub most_in_flight: usize,
    /// How many replications.
    pub replications: u32,
    /// Requests simulated, warm-up included.
    pub requests: u64,
    /// Events simulated.
    pub events: u64,
    /// The fingerprint of all runs.
    pub hash: CompletionHash,
    /// How long the computation took by the clock on the wall. The only field that is not the
    /// same every time.
    pub elapsed: Duration,
}

/// Puts runs together, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Accumulator {
    means_ms: Vec<f64>,
    first_batches: BatchMeans,
    reads: Distribution,
    writes: Distribution,
    free: u64,
    utilisation: Vec<f64>,
    throughput_per_s: f64,
    positioning: PositioningCounts,
    most_in_flight: usize,
    requests: u64,
    events: u64,
    hash: CompletionHash,
}

impl Accumulator {
    pub(crate) fn add(&mut self, run: &Replication) {
        let number = self.means_ms.len() as u64;
        if number == 0 {
            self.first_batches = run.batches.clone();
            self.utilisation = vec![0.0; run.run.busy.len()];
        }
        self.means_ms.push(run.all().moments.mean() / 1e6);
        self.reads.merge(&run.reads);
        self.writes.merge(&run.writes);
        self.free += run.free;
        for (disk, sum) in self.utilisation.iter_mut().enumerate() {
            *sum += run.run.utilisation(disk);
        }
        let measured = run.reads.count() + run.writes.count();
        self.throughput_per_s += measured as f64 / run.run.measured.as_secs_f64();
        self.positioning.merge(&run.run.positioning);
        self.most_in_flight = self.most_in_flight.max(run.run.most_in_flight);
        self.requests += run.run.requests;
        self.events += run.run.events;
        self.hash.merge(run.run.hash, number);
    }

    /// The result of all runs that were added, at least one.
    pub(crate) fn finish(self, elapsed: Duration) -> SimulationResult {
        let runs = self.means_ms.len();
        let mut mean_ms = Estimate::from_independent(&self.means_ms);
        if runs == 1 {
            let batches = self.first_batches.estimate();
            mean_ms = Estimate {
                stderr: batches.stderr / 1e6,
                values: batches.values,
                ..mean_ms
            };
        }
        let mut response_time = self.reads.clone();
        response_time.merge(&self.writes);
        SimulationResult {
            response_time,
            free: self.free,
            mean_ms,
            utilisation: self.utilisation.iter().map(|u| u / runs as f64).collect(),
            throughput_per_s: self.throughput_per_s / runs as f64,
            positioning: self.positioning,
            most_in_flight: self.most_in_flight,
            replications: runs as u32,
            requests: self.requests,
            events: self.events,
            hash: self.hash,
            elapsed,
            reads: self.reads,
            writes: self.writes,
        }
    }
}
