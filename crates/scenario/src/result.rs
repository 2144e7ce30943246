//! What a simulation found out.

use std::time::Duration;

use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{RebuildProgress, ResponseSplit, RunSummary};
use iosonar_sim_core::CompletionHash;
use iosonar_ssd_model::SsdReport;
use iosonar_stats::{
    BandPoint, BatchMeans, Distribution, Estimate, Sections, cdf_band, mser_5, quantile_of,
};
use iosonar_trace::fit::Fitted;
use iosonar_trace::{Op, Remark};
use iosonar_units::{Nanos, SECTOR_BYTES, Sectors};

/// One run.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Response times of the measured reads.
    pub reads: Distribution,
    /// Response times of the measured writes.
    pub writes: Distribution,
    /// Measured flushes and discards, which the models have no cost for.
    pub free: u64,
    /// The sectors of all measured reads and writes.
    pub sectors: u64,
    /// Measured requests that came back with an error, which are in no distribution.
    pub failed: u64,
    /// The share of its capacity that each SSD used.
    pub capacity_used: Vec<f64>,
    /// What the SSDs were like, all together.
    pub ssd: Option<SsdReport>,
    /// Batch means of all measured response times, in nanoseconds, in the order of completion.
    pub batches: BatchMeans,
    /// The run in sections, if it is the only one.
    pub sections: Option<Sections>,
    /// How it begins.
    pub start: Beginning,
    /// Events, utilisations, positioning cases, hash.
    pub run: RunSummary,
    /// What was remarked while the trace that drives it was read.
    pub remarks: Vec<Remark>,
    /// What was changed in the trace to make it fit the array.
    pub fitted: Fitted,
}

impl Replication {
    pub(crate) fn new(sections: bool) -> Self {
        Self {
            reads: Distribution::default(),
            writes: Distribution::default(),
            free: 0,
            sectors: 0,
            failed: 0,
            capacity_used: Vec::new(),
            ssd: None,
            batches: BatchMeans::default(),
            sections: sections.then(Sections::of_a_run),
            start: Beginning::default(),
            run: RunSummary::default(),
            remarks: Vec::new(),
            fitted: Fitted::default(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, op: Op, sectors: Sectors, response_time: Nanos) {
        match op {
            Op::Read => self.reads.push(response_time),
            Op::Write | Op::WriteZeroes => self.writes.push(response_time),
            Op::Flush | Op::Discard => {
                self.free += 1;
                return;
            }
        }
        self.sectors += u64::from(sectors.get());
        self.batches.push(response_time.get() as f64);
        self.start.push(response_time);
        if let Some(sections) = &mut self.sections {
            sections.push(response_time);
        }
    }

    pub(crate) fn measured(&self) -> u64 {
        self.reads.count() + self.writes.count()
    }

    fn all(&self) -> Distribution {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}

/// The course of response times over a run, in at most 4 096 averages of equally many.
#[derive(Clone, Debug)]
pub struct Beginning {
    averages: Vec<f64>,
    each: u64,
    sum: f64,
    filled: u64,
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            averages: Vec::new(),
            each: 1,
            sum: 0.0,
            filled: 0,
        }
    }
}

impl Beginning {
    const MOST: usize = 4096;

    #[inline]
    fn push(&mut self, t: Nanos) {
        self.sum += t.get() as f64;
        self.filled += 1;
        if self.filled == self.each {
            self.close();
        }
    }

    fn close(&mut self) {
        self.averages.push(self.sum / self.each as f64);
        (self.sum, self.filled) = (0.0, 0);
        if self.averages.len() == Self::MOST {
            for i in 0..Self::MOST / 2 {
                self.averages[i] = f64::midpoint(self.averages[2 * i], self.averages[2 * i + 1]);
            }
            self.averages.truncate(Self::MOST / 2);
            self.each *= 2;
        }
    }

    /// How many requests the warm-up takes, by MSER-5; `None` if the run is too short to tell.
    pub fn transient(&self) -> Option<u64> {
        mser_5(&self.averages).map(|averages| averages as u64 * self.each)
    }
}

/// Requests that were never complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// How many, in all runs.
    pub requests: u64,
    /// Why nothing happened any more.
    pub why: String,
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
    /// Independent parts of the response times: replications, or sections of the only run. Empty where
    /// there are too few.
    pub sections: Vec<Distribution>,
    /// Flushes and discards, which the models have no cost for: in no distribution.
    pub free: u64,
    /// Requests that came back with an error: in no distribution.
    pub failed: u64,
    /// Requests that were never complete, and why; `None` if all were.
    pub unserved: Option<Unserved>,
    /// What the SSDs were like, all together and over all runs.
    pub ssd: Option<SsdReport>,
    /// The mean response time in milliseconds with its standard error: from the means of the
    /// replications, or from batch means if there is only one. NaN where there are too few.
    pub mean_ms: Estimate,
    /// The standard deviation of response times in milliseconds, with its standard error over
    /// replications.
    pub sd_ms: Estimate,
    /// The share of its capacity that each device used, spares included, with its standard error over replications:
    /// of a disk the share of the time that it served, of an SSD the utilisation of its busiest stations.
    pub utilisation: Vec<Estimate>,
    /// The share of the time that each device was not idle. Of a disk it is its utilisation.
    pub busy: Vec<Estimate>,
    /// The mean over the disks.
    pub mean_utilisation: Estimate,
    /// The mean number of jobs at each disk, waiting and in service.
    pub mean_jobs: Vec<f64>,
    /// The mean number of other requests that a request finds on arrival.
    pub mean_found: f64,
    /// Measured requests per second of simulated time, per replication.
    pub throughput_per_s: f64,
    /// Measured sectors per second of simulated time, per replication.
    pub sectors_per_s: f64,
    /// How partial-stripe writes came to their places.
    pub positioning: PositioningCounts,
    /// The same, run by run.
    pub positioning_by_run: Vec<PositioningCounts>,
    /// What response times are made of, if it was asked for.
    pub split: Option<Box<ResponseSplit>>,
    /// How far the rebuild came, run by run.
    pub rebuild: Vec<RebuildProgress>,
    /// The largest number of requests at once in any replication.
    pub most_in_flight: usize,
    /// How many replications.
    pub replications: u32,
    /// How many requests at the beginning of each were not measured.
    pub warmup_requests: u64,
    /// Requests simulated, warm-up included.
    pub requests: u64,
    /// Events simulated, or what they would have been.
    pub events: u64,
    /// The fingerprint of all runs.
    pub hash: CompletionHash,
    /// What was remarked while the trace that drives the first run was read: requests that were left out, rows that
    /// could not be read.
    pub remarks: Vec<Remark>,
    /// What was changed in that trace to make it fit the array.
    pub fitted: Fitted,
    /// How long the computation took by the clock on the wall. The only field that is not the
    /// same every time.
    pub elapsed: Duration,
}

impl SimulationResult {
    /// A quantile of the response time in milliseconds, with its standard error; NaN where there are
    /// too few samples for one.
    pub fn quantile_ms(&self, p: f64) -> Estimate {
        let estimate = quantile_of(&self.response_time, &self.sections, p);
        Estimate {
            mean: estimate.mean / 1e6,
            stderr: estimate.stderr / 1e6,
            ..estimate
        }
    }

    /// Millions of bytes of reads and writes per second of simulated time.
    pub fn megabytes_per_s(&self) -> f64 {
        self.sectors_per_s * SECTOR_BYTES as f64 / 1e6
    }

    /// The share of all writes of partial stripes that met this case, with its standard error over
    /// replications; NaN if there were none.
    pub fn share_of(&self, case: Case) -> Estimate {
        let cases = || {
            PositioningCounts::MODIFY
                .into_iter()
                .chain(PositioningCounts::RECONSTRUCT)
        };
        let share = |counts: &PositioningCounts| {
            let all: u64 = cases().map(|case| counts.of(case)).sum();
            counts.of(case) as f64 / all as f64
        };
        let shares: Vec<f64> = self.positioning_by_run.iter().map(share).collect();
        Estimate::from_independent(&shares)
    }

    /// The distribution function of the response time with its 95 % band.
    pub fn band(&self) -> Vec<BandPoint> {
        cdf_band(&self.response_time, &self.sections, 400)
    }
}

/// Puts runs together, in the order of their numbers.
pub(crate) struct Accumulator {
    warmup_requests: u64,
    means_ms: Vec<f64>,
    sds_ms: Vec<f64>,
    first_batches: BatchMeans,
    first_sections: Option<Sections>,
    replications: Sections,
    reads: Distribution,
    writes: Distribution,
    free: u64,
    failed: u64,
    unserved: Option<Unserved>,
    ssd: Option<SsdReport>,
    utilisation: Vec<Vec<f64>>,
    busy: Vec<Vec<f64>>,
    jobs: Vec<f64>,
    found: f64,
    throughput_per_s: f64,
    sectors_per_s: f64,
    positioning: PositioningCounts,
    positioning_by_run: Vec<PositioningCounts>,
    split: Option<Box<ResponseSplit>>,
    rebuild: Vec<RebuildProgress>,
    most_in_flight: usize,
    requests: u64,
    events: u64,
    hash: CompletionHash,
    remarks: Vec<Remark>,
    fitted: Fitted,
}

impl Accumulator {
    pub(crate) fn new(warmup_requests: u64) -> Self {
        Self {
            warmup_requests,
            means_ms: Vec::new(),
            sds_ms: Vec::new(),
            first_batches: BatchMeans::default(),
            first_sections: None,
            replications: Sections::of_replications(),
            reads: Distribution::default(),
            writes: Distribution::default(),
            free: 0,
            failed: 0,
            unserved: None,
            ssd: None,
            utilisation: Vec::new(),
            busy: Vec::new(),
            jobs: Vec::new(),
            found: 0.0,
            throughput_per_s: 0.0,
            sectors_per_s: 0.0,
            positioning: PositioningCounts::default(),
            positioning_by_run: Vec::new(),
            split: None,
            rebuild: Vec::new(),
            most_in_flight: 0,
            requests: 0,
            events: 0,
            hash: CompletionHash::default(),
            remarks: Vec::new(),
            fitted: Fitted::default(),
        }
    }

    pub(crate) fn add(&mut self, replication: Replication) {
        let all = replication.all();
        let run = replication.run;
        let number = self.means_ms.len() as u64;
        if number == 0 {
            self.first_batches = replication.batches;
            self.first_sections = replication.sections;
            self.remarks = replication.remarks;
            self.fitted = replication.fitted;
            self.utilisation = vec![Vec::new(); run.usage.len()];
            self.busy = vec![Vec::new(); run.usage.len()];
            self.jobs = vec![0.0; run.usage.len()];
        }
        self.means_ms.push(all.moments.mean() / 1e6);
        self.sds_ms.push(all.moments.sd() / 1e6);
        self.replications.push_replication(&all);
        self.reads.merge(&replication.reads);
        self.writes.merge(&replication.writes);
        self.free += replication.free;
        self.failed += replication.failed;
        if let Some(report) = &replication.ssd {
            self.ssd
                .get_or_insert_with(SsdReport::default)
                .merge(report, false);
        }
        if let Some(why) = &run.deadlock {
            let unserved = self.unserved.get_or_insert_with(|| Unserved {
                requests: 0,
                why: why.clone(),
            });
            unserved.requests += run.unserved;
        }
        for disk in 0..run.usage.len() {
            let busy = run.utilisation(disk);
            let used = replication.capacity_used.get(disk).copied();
            self.utilisation[disk].push(used.unwrap_or(busy));
            self.busy[disk].push(busy);
            self.jobs[disk] += run.mean_jobs(disk);
        }
        self.found += run.mean_found();
        self.throughput_per_s += all.count() as f64 / run.measured.as_secs_f64();
        self.sectors_per_s += replication.sectors as f64 / run.measured.as_secs_f64();
        self.positioning.merge(&run.positioning);
        self.positioning_by_run.push(run.positioning);
        match (&mut self.split, run.split) {
            (Some(sum), Some(split)) => sum.merge(&split),
            (sum @ None, split) => *sum = split,
            (Some(_), None) => {}
        }
        self.rebuild.extend(run.rebuild);
        self.most_in_flight = self.most_in_flight.max(run.most_in_flight);
        self.requests += run.requests;
        self.events += run.events;
        self.hash.merge(run.hash, number);
    }

    /// Whether the half width of the mean's 95 % interval is at most this share of the mean. Fewer
    /// than ten runs do not tell.
    pub(crate) fn is_as_precise_as(&self, relative: f64) -> bool {
        const FEWEST: usize = 10;
        let estimate = Estimate::from_independent(&self.means_ms);
        self.means_ms.len() >= FEWEST && estimate.half_width_95() <= relative * estimate.mean
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
        let sections = match &self.first_sections {
            Some(sections) if runs == 1 => sections.independent(),
            _ => self.replications.independent(),
        };
        let mut response_time = self.reads.clone();
        response_time.merge(&self.writes);
        let per_run = |sum: f64| sum / runs as f64;
        SimulationResult {
            response_time,
            sections,
            free: self.free,
            failed: self.failed,
            unserved: self.unserved,
            ssd: self.ssd,
            mean_ms,
            sd_ms: Estimate::from_independent(&self.sds_ms),
            utilisation: independent(&self.utilisation),
            busy: independent(&self.busy),
            mean_utilisation: {
                let disks = self.utilisation.len() as f64;
                let of_run = |run| self.utilisation.iter().map(|u| u[run]).sum::<f64>() / disks;
                Estimate::from_independent(&(0..runs).map(of_run).collect::<Vec<f64>>())
            },
            mean_jobs: self.jobs.iter().map(|&sum| per_run(sum)).collect(),
            mean_found: per_run(self.found),
            throughput_per_s: per_run(self.throughput_per_s),
            sectors_per_s: per_run(self.sectors_per_s),
            positioning: self.positioning,
            positioning_by_run: self.positioning_by_run,
            split: self.split,
            rebuild: self.rebuild,
            most_in_flight: self.most_in_flight,
            replications: runs as u32,
            warmup_requests: self.warmup_requests,
            requests: self.requests,
            events: self.events,
            hash: self.hash,
            remarks: self.remarks,
            fitted: self.fitted,
            elapsed,
            reads: self.reads,
            writes: self.writes,
        }
    }
}

/// An estimate for each device, from its values in each run.
fn independent(of_devices: &[Vec<f64>]) -> Vec<Estimate> {
    let estimate = |values: &Vec<f64>| Estimate::from_independent(values);
    of_devices.iter().map(estimate).collect()
}
