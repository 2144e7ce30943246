//! What a simulation found out.

use std::time::Duration;

use iosonar_device::Usage;
use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{MeasuredWindow, RebuildProgress, ResponseSplit, RunSummary};
use iosonar_sim_core::CompletionHash;
use iosonar_ssd_model::SsdReport;
use iosonar_stats::{
    BandPoint, BatchMeans, Distribution, Estimate, Sections, cdf_band, mser_5, quantile_interval,
    quantile_of, sd_of,
};
use iosonar_trace::fit::Fitted;
use iosonar_trace::{Op, Remark};
use iosonar_units::{Nanos, SECTOR_BYTES};

/// One run.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Response times of the measured reads.
    pub reads: Distribution,
    /// Response times of the measured writes.
    pub writes: Distribution,
    /// Measured flushes and discards, which the models have no cost for.
    pub free: u64,
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
    pub(crate) fn push(&mut self, op: Op, response_time: Nanos) {
        match op {
            Op::Read => self.reads.push(response_time),
            Op::Write | Op::WriteZeroes => self.writes.push(response_time),
            Op::Flush | Op::Discard => {
                self.free += 1;
                return;
            }
        }
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

/// Sums over sums, with a standard error; NaN where there is no time, or nothing arrived, to divide by.
fn ratio(parts: impl Iterator<Item = (f64, f64)>) -> Estimate {
    let parts: Vec<_> = parts.collect();
    match parts.iter().any(|(_, by)| *by > 0.0) {
        true => Estimate::of_ratio(&parts),
        false => Estimate {
            mean: f64::NAN,
            stderr: f64::NAN,
            values: parts.len(),
        },
    }
}

/// Why one run gives no confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// Fewer requests than [batch means](BatchMeans::FEWEST_SAMPLES) need.
    TooFew,
    /// Response times depend on those before so strongly that even long batches are not independent.
    Dependent,
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
    pub mean_jobs: Vec<Estimate>,
    /// The mean number of requests in the system.
    pub mean_in_system: Estimate,
    /// The mean number of other requests that a request finds on arrival.
    pub mean_found: Estimate,
    /// Reads and writes that were completed without an error, per second of the measured window.
    pub throughput_per_s: Estimate,
    /// Their sectors per second.
    pub sectors_per_s: Estimate,
    /// Pages programmed by those that the host wrote; `None` where nothing was written to flash.
    pub write_amplification: Option<Estimate>,
    /// The measured window of each run.
    pub windows: Vec<MeasuredWindow>,
    /// What each disk was used for in the windows of all runs.
    pub usage: Vec<Usage>,
    /// How partial-stripe writes came to their places.
    pub positioning: PositioningCounts,
    /// The same, run by run.
    pub positioning_by_run: Vec<PositioningCounts>,
    /// What response times are made of, if it was asked for.
    pub split: Option<Box<ResponseSplit>>,
    /// Independent parts of that: replications, or groups of them; empty if there are too few.
    pub split_sections: Vec<ResponseSplit>,
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

    /// The 95 % interval of a quantile of the response time in milliseconds, between two order statistics; `None`
    /// where there are too few samples for one.
    pub fn quantile_interval_ms(&self, p: f64) -> Option<(f64, f64)> {
        let (lower, upper) = quantile_interval(&self.response_time, &self.sections, p)?;
        Some((lower.as_millis_f64(), upper.as_millis_f64()))
    }

    /// Whether flash was written, but none of it cleaned: neither a block erased nor a page copied for it.
    pub fn is_not_cleaned(&self) -> bool {
        let written = |report: &SsdReport| {
            let flash = &report.flash;
            flash.programs > 0 && flash.erases == 0 && flash.cleaning_programs == 0
        };
        self.ssd.as_ref().is_some_and(written)
    }

    /// Why the mean of the only run has no standard error, if it has none.
    pub fn no_interval(&self) -> Option<NoInterval> {
        let missing = self.replications == 1 && self.mean_ms.stderr.is_nan();
        let enough = self.response_time.count() >= BatchMeans::FEWEST_SAMPLES;
        missing.then_some(if enough {
            NoInterval::Dependent
        } else {
            NoInterval::TooFew
        })
    }

    /// Millions of bytes of reads and writes per second of simulated time.
    pub fn megabytes_per_s(&self) -> Estimate {
        let factor = SECTOR_BYTES as f64 / 1e6;
        Estimate {
            mean: self.sectors_per_s.mean * factor,
            stderr: self.sectors_per_s.stderr * factor,
            ..self.sectors_per_s
        }
    }

    /// The seconds of the windows of all runs.
    pub fn measured_s(&self) -> f64 {
        let lengths = self.windows.iter().map(MeasuredWindow::length);
        lengths.map(Nanos::as_secs_f64).sum()
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

/// What response times are made of, by replications: at most 64 parts, which are merged in pairs when there would
/// be more.
#[derive(Default)]
struct SplitSections {
    parts: Vec<ResponseSplit>,
    current: Option<Box<ResponseSplit>>,
    /// How many replications a part has, and the current one so far.
    size: u64,
    filled: u64,
}

impl SplitSections {
    const MOST: usize = 64;

    fn push(&mut self, split: Option<Box<ResponseSplit>>) {
        let Some(split) = split else { return };
        match &mut self.current {
            Some(current) => current.merge(&split),
            None => self.current = Some(split),
        }
        self.filled += 1;
        if self.filled < self.size {
            return;
        }
        self.parts.extend(self.current.take().map(|part| *part));
        (self.filled, self.size) = (0, self.size.max(1));
        if self.parts.len() == Self::MOST {
            let pair = |pair: &[ResponseSplit]| {
                let mut merged = pair[0].clone();
                merged.merge(&pair[1]);
                merged
            };
            self.parts = self.parts.chunks_exact(2).map(pair).collect();
            self.size *= 2;
        }
    }

    /// All together, and the parts if there are several.
    fn finish(self) -> (Option<Box<ResponseSplit>>, Vec<ResponseSplit>) {
        let mut whole = self.current;
        for part in &self.parts {
            match &mut whole {
                Some(whole) => whole.merge(part),
                None => whole = Some(Box::new(part.clone())),
            }
        }
        let several = self.parts.len() > 1;
        (whole, if several { self.parts } else { Vec::new() })
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
    /// Pages that were programmed, and those of the host, run by run.
    programs: Vec<(f64, f64)>,
    windows: Vec<MeasuredWindow>,
    /// Run by run, disk by disk.
    usage: Vec<Vec<Usage>>,
    /// The share of its capacity that each SSD used, run by run.
    capacity_used: Vec<Vec<f64>>,
    positioning: PositioningCounts,
    positioning_by_run: Vec<PositioningCounts>,
    splits: SplitSections,
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
            programs: Vec::new(),
            windows: Vec::new(),
            usage: Vec::new(),
            capacity_used: Vec::new(),
            positioning: PositioningCounts::default(),
            positioning_by_run: Vec::new(),
            splits: SplitSections::default(),
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
        }
        self.means_ms.push(all.moments.mean() / 1e6);
        self.sds_ms.push(all.moments.sd() / 1e6);
        self.replications.push_replication(&all);
        self.reads.merge(&replication.reads);
        self.writes.merge(&replication.writes);
        self.free += replication.free;
        self.failed += replication.failed;
        if let Some(report) = &replication.ssd {
            let flash = &report.flash;
            let all = flash.programs + flash.cleaning_programs;
            self.programs.push((all as f64, flash.programs as f64));
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
        self.windows.push(run.window);
        self.usage.push(run.usage);
        self.capacity_used.push(replication.capacity_used);
        self.positioning.merge(&run.positioning);
        self.positioning_by_run.push(run.positioning);
        self.splits.push(run.split);
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

    /// The standard deviation of all response times; its error is from replications, or from sections of the only
    /// run.
    fn sd_ms(&self, all: &Distribution, sections: &[Distribution]) -> Estimate {
        if self.sds_ms.len() > 1 {
            return Estimate::from_independent(&self.sds_ms);
        }
        let sd = sd_of(all, sections);
        Estimate {
            mean: sd.mean / 1e6,
            stderr: sd.stderr / 1e6,
            ..sd
        }
    }

    /// Of all windows: the sum of what happened by that of their lengths, or of what else it is counted by.
    fn rate(
        &self,
        of: &dyn Fn(&MeasuredWindow) -> f64,
        by: &dyn Fn(&MeasuredWindow) -> f64,
    ) -> Estimate {
        ratio(self.windows.iter().map(|w| (of(w), by(w))))
    }

    /// An average over the time of all windows, from integrals in nanoseconds.
    fn of_usage(&self, of: &dyn Fn(&[Usage]) -> f64) -> Estimate {
        let lengths = self.windows.iter().map(|w| w.length().get() as f64);
        let values = self.usage.iter().map(|usage| of(usage));
        ratio(values.zip(lengths))
    }

    /// The share of the time that each device was not idle.
    fn busy(&self) -> Vec<Estimate> {
        let disks = 0..self.usage.first().map_or(0, Vec::len);
        disks
            .map(|disk| self.of_usage(&|usage| usage[disk].busy.get() as f64))
            .collect()
    }

    /// The utilisation of each device, and the mean over them.
    fn utilisation(&self, busy: &[Estimate]) -> (Vec<Estimate>, Estimate) {
        let of_capacity = |of: &dyn Fn(&[f64]) -> f64| {
            let values: Vec<f64> = self.capacity_used.iter().map(|used| of(used)).collect();
            Estimate::from_independent(&values)
        };
        match self.capacity_used.first() {
            Some(used) if !used.is_empty() => (
                (0..busy.len())
                    .map(|disk| of_capacity(&|used| used[disk]))
                    .collect(),
                of_capacity(&|used| used.iter().sum::<f64>() / used.len() as f64),
            ),
            _ => (
                busy.to_vec(),
                self.of_usage(&|usage| {
                    let all = usage.iter().map(|usage| usage.busy.get() as f64);
                    all.sum::<f64>() / usage.len() as f64
                }),
            ),
        }
    }

    /// The result of all runs that were added, at least one.
    pub(crate) fn finish(mut self, elapsed: Duration) -> SimulationResult {
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
        let sd_ms = self.sd_ms(&response_time, &sections);
        let (split, split_sections) = std::mem::take(&mut self.splits).finish();
        let seconds = |w: &MeasuredWindow| w.length().as_secs_f64();
        let disks = 0..self.usage.first().map_or(0, Vec::len);
        let busy = self.busy();
        let (utilisation, mean_utilisation) = self.utilisation(&busy);
        let mean_jobs = disks
            .clone()
            .map(|disk| self.of_usage(&|usage| usage[disk].jobs_time as f64))
            .collect();
        let mean_in_system = self.rate(&|w| w.requests_time as f64 / 1e9, &seconds);
        let mean_found = self.rate(&|w| w.found as f64, &|w| w.arrived as f64);
        let throughput_per_s = self.rate(&|w| w.served as f64, &seconds);
        let sectors_per_s = self.rate(&|w| w.sectors as f64, &seconds);
        SimulationResult {
            free: self.free,
            failed: self.failed,
            unserved: self.unserved,
            ssd: self.ssd,
            mean_ms,
            sd_ms,
            response_time,
            sections,
            utilisation,
            busy,
            mean_utilisation,
            mean_jobs,
            mean_in_system,
            mean_found,
            throughput_per_s,
            sectors_per_s,
            write_amplification: self
                .programs
                .iter()
                .any(|(_, host)| *host > 0.0)
                .then(|| Estimate::of_ratio(&self.programs)),
            usage: disks
                .map(|disk| {
                    let mut all = Usage::default();
                    self.usage.iter().for_each(|usage| all.merge(&usage[disk]));
                    all
                })
                .collect(),
            positioning: self.positioning,
            positioning_by_run: self.positioning_by_run,
            split,
            split_sections,
            windows: self.windows,
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
