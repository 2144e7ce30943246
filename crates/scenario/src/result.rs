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
    /// Response times of all other measured requests.
    pub writes: Distribution,
    /// Batch means of all measured response times, in nanoseconds, in the order of completion.
    pub batches: BatchMeans,
    /// Events, utilisations, positioning cases, hash.
    pub run: RunSummary,
}

impl Replication {
    pub(crate) fn push(&mut self, op: Op, response_time: iosonar_units::Nanos) {
        match op {
            Op::Read => self.reads.push(response_time),
            _ => self.writes.push(response_time),
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
    /// Response times of all measured requests.
    pub response_time: Distribution,
    /// Of the reads among them.
    pub reads: Distribution,
    /// Of the others.
    pub writes: Distribution,
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

impl SimulationResult {
    /// Puts the runs together, in the order of their numbers.
    pub(crate) fn of(runs: &[Replication], elapsed: Duration) -> Self {
        let means: Vec<f64> = runs
            .iter()
            .map(|run| run.all().moments.mean() / 1e6)
            .collect();
        let mut mean_ms = Estimate::from_independent(&means);
        if let [run] = runs {
            // 32 to 64 batches; Student's t changes little in that range.
            mean_ms = Estimate {
                stderr: run.batches.stderr() / 1e6,
                values: 32,
                ..mean_ms
            };
        }
        let mut total = Self {
            response_time: Distribution::default(),
            reads: Distribution::default(),
            writes: Distribution::default(),
            mean_ms,
            utilisation: vec![0.0; runs[0].run.busy.len()],
            throughput_per_s: 0.0,
            positioning: PositioningCounts::default(),
            most_in_flight: 0,
            replications: runs.len() as u32,
            requests: 0,
            events: 0,
            hash: CompletionHash::default(),
            elapsed,
        };
        let share = 1.0 / runs.len() as f64;
        for (number, run) in runs.iter().enumerate() {
            total.reads.merge(&run.reads);
            total.writes.merge(&run.writes);
            for (disk, utilisation) in total.utilisation.iter_mut().enumerate() {
                *utilisation += share * run.run.utilisation(disk);
            }
            let measured = run.reads.count() + run.writes.count();
            total.throughput_per_s += share * measured as f64 / run.run.measured.as_secs_f64();
            total.positioning.merge(&run.run.positioning);
            total.most_in_flight = total.most_in_flight.max(run.run.most_in_flight);
            total.requests += run.run.requests;
            total.events += run.run.events;
            total.hash.merge(run.run.hash, number as u64);
        }
        total.response_time.merge(&total.reads);
        total.response_time.merge(&total.writes);
        total
    }
}
