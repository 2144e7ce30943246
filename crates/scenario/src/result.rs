//! What a simulation found out.

mod accumulator;
mod of_requests;

pub(crate) use accumulator::Accumulator;

use std::time::Duration;

use iosonar_device::{MediaWork, Usage};
use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{DeviceEventCounts, MeasuredWindow, RebuildProgress, ResponseSplit, RunSummary};
use iosonar_sim_core::CompletionHash;
use iosonar_ssd_model::SsdReport;
use iosonar_stats::{
    BandPoint, BatchMeans, Distribution, Estimate, Sections, TwoKinds, cdf_band, mser_5,
};
use iosonar_trace::fit::Fitted;
use iosonar_trace::{Op, Remark, Requests};
use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::NotSteady;
use crate::source::Span;

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
    pub sections: Option<Sections<TwoKinds>>,
    /// How it begins.
    pub start: Beginning,
    /// Events, utilisations, positioning cases, hash.
    pub run: RunSummary,
    /// What was remarked while the trace that drives it was read.
    pub remarks: Vec<Remark>,
    /// What was changed in the trace to make it fit the array.
    pub fitted: Fitted,
    /// The sectors that the requests of a trace lie within.
    pub span: Option<Span>,
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
            span: None,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, op: Op, response_time: Nanos) {
        let is_write = match op {
            Op::Read => false,
            Op::Write | Op::WriteZeroes => true,
            Op::Flush | Op::Discard => {
                self.free += 1;
                return;
            }
        };
        match is_write {
            false => self.reads.push(response_time),
            true => self.writes.push(response_time),
        }
        self.batches.push(response_time.get() as f64);
        self.start.push(response_time);
        if let Some(sections) = &mut self.sections {
            sections.push_with(|kinds| kinds.0[usize::from(is_write)].push(response_time));
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

    /// The figures of the array that this was the run of.
    fn figures(&self, number: u32) -> ArrayFigures {
        let all = self.all();
        let (run, window) = (&self.run, &self.run.window);
        let of_devices = (0..run.usage.len()).map(|device| run.utilisation(device));
        let used = match self.capacity_used.as_slice() {
            [] => of_devices.fold(0.0, f64::max),
            used => used.iter().copied().fold(0.0, f64::max),
        };
        let p99 = all.histogram.supports_quantile(0.99);
        let seconds = window.length().as_secs_f64();
        let per_s = if seconds > 0.0 {
            window.served as f64 / seconds
        } else {
            0.0
        };
        ArrayFigures {
            number,
            from: window.from,
            until: window.until,
            requests: all.count(),
            failed: self.failed,
            mean_ms: all.moments.mean() / 1e6,
            p99_ms: p99
                .then(|| all.histogram.quantile(0.99))
                .flatten()
                .map(Nanos::as_millis_f64),
            max_ms: all.moments.max().map_or(f64::NAN, Nanos::as_millis_f64),
            throughput_per_s: per_s,
            utilisation: if used.is_finite() { used } else { 0.0 },
        }
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

    /// How many requests the warm-up takes, by MSER-5; `None` if the run is too short to detect it.
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

/// Why a result has no confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoInterval {
    /// Fewer requests than [batch means](BatchMeans::FEWEST_SAMPLES) need.
    TooFew,
    /// Response times depend on those before so strongly that even long batches are not independent.
    Dependent,
    /// Something happened to a device: the run is not stationary.
    Events,
    /// The runs are of arrays with different loads.
    Unlike,
    /// The result depends on how long the run was.
    NotSteady(NotSteady),
}

/// One of several arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayFigures {
    /// Its number, from 0.
    pub number: u32,
    /// Measured reads and writes that were complete without an error.
    pub requests: u64,
    /// Measured requests that came back with an error.
    pub failed: u64,
    /// When its measurement began ...
    pub from: Nanos,
    /// ... and ended.
    pub until: Nanos,
    /// The mean response time in milliseconds; NaN if all requests failed.
    pub mean_ms: f64,
    /// The 99th percentile of the response time in milliseconds; `None` of too few requests.
    pub p99_ms: Option<f64>,
    /// The longest response time in milliseconds; NaN if all requests failed.
    pub max_ms: f64,
    /// Reads and writes that were completed without an error, per second of its measurement; on a trace, of the
    /// measurement of all arrays.
    pub throughput_per_s: f64,
    /// The share of its capacity that the busiest device used in that time.
    pub utilisation: f64,
}

/// Several arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetResult {
    /// Those with measured requests, by number.
    pub arrays: Vec<ArrayFigures>,
    /// The devices of the trace whose requests the arrays serve, by number of the array; empty of a synthetic load.
    pub devices: Vec<String>,
    /// How many had none.
    pub idle: u32,
}

impl FleetResult {
    /// What an array is called, with its device: `array/3 (sdd)`.
    pub fn name_of(&self, array: &ArrayFigures) -> String {
        match self.devices.get(array.number as usize) {
            Some(device) => format!("array/{} ({device})", array.number),
            None => format!("array/{}", array.number),
        }
    }

    /// Makes the rates those over the measurements of all arrays. Each has its first and last request at another time.
    pub(crate) fn over_all(&mut self) {
        let from = self.arrays.iter().map(|of| of.from).min();
        let until = self.arrays.iter().map(|of| of.until).max();
        let (Some(from), Some(until)) = (from, until) else {
            return;
        };
        for of in &mut self.arrays {
            let share = (of.until - of.from).get() as f64 / (until - from).get().max(1) as f64;
            of.throughput_per_s *= share;
            of.utilisation *= share;
        }
    }

    /// The array with the busiest device.
    pub fn busiest(&self) -> Option<&ArrayFigures> {
        let by_share = |a: &&ArrayFigures, b: &&ArrayFigures| {
            a.utilisation
                .total_cmp(&b.utilisation)
                .then(b.number.cmp(&a.number))
        };
        self.arrays.iter().max_by(by_share)
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
    /// Independent parts of the response times: replications, or sections of the only run. Empty where
    /// there are too few.
    pub sections: Vec<Distribution>,
    /// The same of the reads among them; the sections of a single run are cut where those of all are.
    pub read_sections: Vec<Distribution>,
    /// Of the writes.
    pub write_sections: Vec<Distribution>,
    /// Flushes and discards, which the models have no cost for: in no distribution.
    pub free: u64,
    /// Requests that came back with an error: in no distribution.
    pub failed: u64,
    /// Requests that were never complete, and why; `None` if all were.
    pub unserved: Option<Unserved>,
    /// What the SSDs were like, all together and over all runs.
    pub ssd: Option<SsdReport>,
    /// What shingled drives wrote, all together and over all runs; `None` without such drives.
    pub media: Option<MediaWork>,
    /// The mean response time in milliseconds with its standard error: from the means of the
    /// replications, or from batch means if there is only one. NaN where there are too few.
    pub mean_ms: Estimate,
    /// The standard deviation of response times in milliseconds, with its standard error over
    /// replications.
    pub sd_ms: Estimate,
    /// The share of its capacity that each device used, spares included, with its standard error over replications:
    /// of a disk the share of the time that it worked, for a request in service or writing what its buffer holds or its
    /// cleaning moves; of an SSD the utilisation of its busiest stations.
    pub utilisation: Vec<Estimate>,
    /// The share of the time that each device had a request: of a disk, in service.
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
    /// Pages programmed by those that the host wrote, or sectors by sectors; `None` where nothing was written to flash or
    /// to a shingled drive.
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
    /// Each array, if there are several: the other figures are of all of them together.
    pub fleet: Option<FleetResult>,
    /// What came of the events of devices, of all runs.
    pub device_events: DeviceEventCounts,
    /// The largest number of requests at once in any replication.
    pub most_in_flight: usize,
    /// Why it depends on how long the run was, as far as that was [assessed](Self::assessed).
    pub not_steady: Option<NotSteady>,
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
    /// The sectors that its requests lie within; `None` of a synthetic load.
    pub span: Option<Span>,
    /// How long the computation took by the clock on the wall. The only field that is not the
    /// same every time.
    pub elapsed: Duration,
}

impl SimulationResult {
    /// Whether requests, or writes that had been complete in the cache, failed with disks that the level cannot lose.
    pub fn loses_data(&self) -> bool {
        self.device_events.failed + self.device_events.lost_from_cache > 0
    }

    /// Without the standard errors and confidence intervals of what depends on how long the run was, if
    /// [`Prepared::not_steady`](crate::Prepared::not_steady) says that something does: so no table, chart or file shows an
    /// interval that a longer run would leave; rates keep theirs where [`NotSteady::leaves_rates`].
    #[must_use]
    pub fn assessed(self, not_steady: Option<NotSteady>) -> Self {
        let mut result = match not_steady {
            None => return self,
            Some(why) if why.leaves_rates() => self.without_errors_of_times(),
            Some(_) => self.without_errors(),
        };
        result.not_steady = not_steady;
        for sections in [
            &mut result.sections,
            &mut result.read_sections,
            &mut result.write_sections,
        ] {
            sections.clear();
        }
        result
    }

    /// The same without standard errors.
    pub(crate) fn without_errors(self) -> Self {
        let mut result = self.without_errors_of_times();
        let rates = [
            &mut result.mean_utilisation,
            &mut result.throughput_per_s,
            &mut result.sectors_per_s,
        ];
        let shares = [&mut result.utilisation, &mut result.busy];
        forget_errors(rates);
        forget_errors(shares.into_iter().flatten());
        forget_errors(&mut result.write_amplification);
        result.positioning_by_run = vec![result.positioning];
        result
    }

    /// The same without standard errors of times, and of how many requests and jobs there are at a time.
    fn without_errors_of_times(mut self) -> Self {
        let of_requests = [
            &mut self.mean_ms,
            &mut self.sd_ms,
            &mut self.mean_in_system,
            &mut self.mean_found,
        ];
        forget_errors(of_requests);
        forget_errors(&mut self.mean_jobs);
        self.split_sections.clear();
        self
    }

    /// A quantile of the response time in milliseconds, with its standard error; NaN where there are
    /// too few samples for one.
    pub fn quantile_ms(&self, p: f64) -> Estimate {
        self.quantile_of_ms(Requests::All, p)
    }

    /// The 95 % interval of a quantile of the response time in milliseconds, between two order statistics; `None`
    /// where there are too few samples for one.
    pub fn quantile_interval_ms(&self, p: f64) -> Option<(f64, f64)> {
        self.quantile_interval_of_ms(Requests::All, p)
    }

    /// Why the mean has no standard error, if it has none.
    pub fn no_interval(&self) -> Option<NoInterval> {
        if let Some(why) = self.not_steady {
            return Some(NoInterval::NotSteady(why));
        }
        if self.fleet.is_some() && self.mean_ms.stderr.is_nan() {
            return Some(NoInterval::Unlike);
        }
        let missing = self.replications == 1 && self.mean_ms.stderr.is_nan();
        let enough = self.response_time.count() >= BatchMeans::FEWEST_SAMPLES;
        missing.then_some(if self.device_events.happened > 0 {
            NoInterval::Events
        } else if enough {
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

fn forget_errors<'a>(estimates: impl IntoIterator<Item = &'a mut Estimate>) {
    for estimate in estimates {
        estimate.stderr = f64::NAN;
    }
}
