//! From replications to the result.

use std::time::Duration;

use iosonar_device::{MediaWork, Usage};
use iosonar_raid::positioning::PositioningCounts;
use iosonar_raid::{DeviceEventCounts, MeasuredWindow, RebuildProgress, ResponseSplit};
use iosonar_sim_core::CompletionHash;
use iosonar_ssd_model::SsdReport;
use iosonar_stats::{BatchMeans, Distribution, Estimate, Sections, TwoKinds, sd_of};
use iosonar_trace::Remark;
use iosonar_trace::fit::Fitted;
use iosonar_units::Nanos;

use super::{FleetResult, Replication, SimulationResult, Unserved};
use crate::ScenarioError;
use crate::prepared::Fleet;
use crate::source::Span;

/// Sums over sums, with a standard error; NaN where there is no time, or nothing arrived, to divide by.
pub(super) fn ratio(parts: impl Iterator<Item = (f64, f64)>) -> Estimate {
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

/// What response times are made of, by replications: at most 64 parts, which are merged in pairs when there would
/// be more.
#[derive(Default)]
pub(super) struct SplitSections {
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
    first_sections: Option<Sections<TwoKinds>>,
    replications: Sections,
    read_replications: Sections,
    write_replications: Sections,
    reads: Distribution,
    writes: Distribution,
    free: u64,
    failed: u64,
    unserved: Option<Unserved>,
    ssd: Option<SsdReport>,
    media: Option<MediaWork>,
    /// Pages that were programmed, or sectors that were written to shingled drives, and those of the host, run by run.
    written: Vec<(f64, f64)>,
    windows: Vec<MeasuredWindow>,
    /// Run by run, disk by disk.
    usage: Vec<Vec<Usage>>,
    /// The share of its capacity that each SSD used, run by run.
    capacity_used: Vec<Vec<f64>>,
    positioning: PositioningCounts,
    positioning_by_run: Vec<PositioningCounts>,
    splits: SplitSections,
    rebuild: Vec<RebuildProgress>,
    device_events: DeviceEventCounts,
    most_in_flight: usize,
    requests: u64,
    events: u64,
    hash: CompletionHash,
    remarks: Vec<Remark>,
    fitted: Fitted,
    span: Option<Span>,
    /// Each array so far, if the runs are of several.
    fleet: Option<(Fleet, FleetResult)>,
}

impl Accumulator {
    pub(crate) fn new(warmup_requests: u64, fleet: Option<Fleet>) -> Self {
        Self {
            fleet: fleet.map(|fleet| (fleet, FleetResult::default())),
            warmup_requests,
            means_ms: Vec::new(),
            sds_ms: Vec::new(),
            first_batches: BatchMeans::default(),
            first_sections: None,
            replications: Sections::of_replications(),
            read_replications: Sections::of_replications(),
            write_replications: Sections::of_replications(),
            reads: Distribution::default(),
            writes: Distribution::default(),
            free: 0,
            failed: 0,
            unserved: None,
            ssd: None,
            media: None,
            written: Vec::new(),
            windows: Vec::new(),
            usage: Vec::new(),
            capacity_used: Vec::new(),
            positioning: PositioningCounts::default(),
            positioning_by_run: Vec::new(),
            splits: SplitSections::default(),
            rebuild: Vec::new(),
            device_events: DeviceEventCounts::default(),
            most_in_flight: 0,
            requests: 0,
            events: 0,
            hash: CompletionHash::default(),
            remarks: Vec::new(),
            fitted: Fitted::default(),
            span: None,
        }
    }

    /// Adds the run of an array.
    pub(crate) fn add_array(&mut self, number: u32, replication: Replication) {
        if let Some((_, fleet)) = &mut self.fleet {
            fleet.arrays.push(replication.figures(number));
            if replication.measured() == 0 {
                // All of its requests have failed: there is nothing else to add.
                self.failed += replication.failed;
                self.device_events.merge(&replication.run.device_events);
                return;
            }
        }
        self.add_run(replication);
    }

    /// Another array had no requests.
    pub(crate) fn add_idle_array(&mut self) {
        if let Some((_, fleet)) = &mut self.fleet {
            fleet.idle += 1;
        }
    }

    /// An error if nothing was measured in any run.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        if !self.means_ms.is_empty() {
            return Ok(());
        }
        Err(ScenarioError::NothingMeasured {
            requests: self.failed,
            warmup: 0,
            failed: self.failed,
        })
    }

    /// What was remarked of the trace that drives all arrays.
    pub(crate) fn set_trace(
        &mut self,
        of_all: (Vec<Remark>, Fitted, Option<Span>),
        devices: &[String],
    ) {
        (self.remarks, self.fitted, self.span) = of_all;
        if let Some((_, fleet)) = &mut self.fleet {
            fleet.devices = devices.to_vec();
        }
    }

    /// Adds the next replication, or the run of the next array.
    pub(crate) fn add(&mut self, replication: Replication) {
        let number = self.means_ms.len() as u32;
        self.add_array(number, replication);
    }

    fn add_run(&mut self, replication: Replication) {
        let all = replication.all();
        let run = replication.run;
        let number = self.means_ms.len() as u64;
        if number == 0 {
            // Parts of a run in which something happened are not alike.
            if run.device_events.happened == 0 {
                self.first_batches = replication.batches;
                self.first_sections = replication.sections;
            }
            self.remarks = replication.remarks;
            self.fitted = replication.fitted;
            self.span = replication.span;
        }
        self.means_ms.push(all.moments.mean() / 1e6);
        self.sds_ms.push(all.moments.sd() / 1e6);
        if !self.are_unlike() {
            self.replications.push_replication(&all);
            self.read_replications.push_replication(&replication.reads);
            self.write_replications
                .push_replication(&replication.writes);
        }
        self.reads.merge(&replication.reads);
        self.writes.merge(&replication.writes);
        self.free += replication.free;
        self.failed += replication.failed;
        if let Some(report) = &replication.ssd {
            let flash = &report.flash;
            let all = flash.programs + flash.cleaning_programs;
            self.written
                .push((all as f64, flash.data_programs() as f64));
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
        let mut media = MediaWork::default();
        for usage in &run.usage {
            media.merge(&usage.background.media);
        }
        if media.cache_sectors > 0 {
            self.written
                .push((media.written_sectors() as f64, media.host_sectors() as f64));
            self.media
                .get_or_insert_with(MediaWork::default)
                .merge(&media);
        }
        self.windows.push(run.window);
        self.usage.push(run.usage);
        self.capacity_used.push(replication.capacity_used);
        self.positioning.merge(&run.positioning);
        self.positioning_by_run.push(run.positioning);
        self.splits.push(run.split);
        self.rebuild.extend(run.rebuild);
        self.device_events.merge(&run.device_events);
        self.most_in_flight = self.most_in_flight.max(run.most_in_flight);
        self.requests += run.requests;
        self.events += run.events;
        self.hash.merge(run.hash, number);
    }

    /// Whether the runs are not of the same load, so that they say nothing about each other's errors.
    fn are_unlike(&self) -> bool {
        matches!(self.fleet, Some((Fleet::OfTrace, _)))
    }

    /// Whether the half width of the mean's 95 % interval is at most this share of the mean. Fewer
    /// than ten runs are not conclusive.
    pub(crate) fn is_as_precise_as(&self, relative: f64) -> bool {
        const FEWEST: usize = 10;
        let estimate = Estimate::from_independent(&self.means_ms);
        self.means_ms.len() >= FEWEST && estimate.half_width_95() <= relative * estimate.mean
    }

    /// The standard deviation of all response times; its error is from replications, or from sections of the only
    /// run.
    fn sd_ms(&self, all: &Distribution, sections: &[Distribution]) -> Estimate {
        if self.sds_ms.len() > 1 && !self.are_unlike() {
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

    /// The share of the time that each device spent so.
    fn shares(&self, of: fn(&Usage) -> Nanos) -> Vec<Estimate> {
        let disks = 0..self.usage.first().map_or(0, Vec::len);
        disks
            .map(|disk| self.of_usage(&|usage| of(&usage[disk]).get() as f64))
            .collect()
    }

    /// The utilisation of each device, and the mean over them.
    fn utilisation(&self) -> (Vec<Estimate>, Estimate) {
        let of_capacity = |of: &dyn Fn(&[f64]) -> f64| {
            let values: Vec<f64> = self.capacity_used.iter().map(|used| of(used)).collect();
            Estimate::from_independent(&values)
        };
        match self.capacity_used.first() {
            Some(used) if !used.is_empty() => (
                (0..used.len())
                    .map(|disk| of_capacity(&|used| used[disk]))
                    .collect(),
                of_capacity(&|used| used.iter().sum::<f64>() / used.len() as f64),
            ),
            _ => (
                self.shares(Usage::worked),
                self.of_usage(&|usage| {
                    let all = usage.iter().map(|usage| usage.worked().get() as f64);
                    all.sum::<f64>() / usage.len() as f64
                }),
            ),
        }
    }

    /// What was written by what the host wrote; `None` where the host wrote nothing.
    fn write_amplification(&self) -> Option<Estimate> {
        let by_host = self.written.iter().any(|(_, host)| *host > 0.0);
        by_host.then(|| Estimate::of_ratio(&self.written))
    }

    /// Independent parts of the response times of all, of reads and of writes: sections of the only run, or runs. They are
    /// taken away.
    fn take_sections(&mut self, runs: usize) -> [Vec<Distribution>; 3] {
        match self.first_sections.take() {
            Some(sections) if runs == 1 => {
                let parts = sections.into_independent();
                let all = parts.iter().map(TwoKinds::both).collect();
                let (reads, writes) = parts
                    .into_iter()
                    .map(|TwoKinds(kinds)| kinds.into())
                    .unzip();
                [all, reads, writes]
            }
            _ => [
                &mut self.replications,
                &mut self.read_replications,
                &mut self.write_replications,
            ]
            .map(|replications| {
                std::mem::replace(replications, Sections::of_replications()).into_independent()
            }),
        }
    }

    /// The mean response time, by the means of the runs, or by batches of the only one.
    fn mean_ms(&self) -> Estimate {
        let mean_ms = Estimate::from_independent(&self.means_ms);
        if self.means_ms.len() > 1 {
            return mean_ms;
        }
        let batches = self.first_batches.estimate();
        Estimate {
            stderr: batches.stderr / 1e6,
            values: batches.values,
            ..mean_ms
        }
    }

    /// What a device was used for in all runs.
    fn usage_of(&self, device: usize) -> Usage {
        let mut all = Usage::default();
        self.usage
            .iter()
            .for_each(|usage| all.merge(&usage[device]));
        all
    }

    /// The result of all runs that were added, at least one.
    pub(crate) fn finish(mut self, elapsed: Duration) -> SimulationResult {
        let runs = self.means_ms.len();
        let mut mean_ms = self.mean_ms();
        let [sections, read_sections, write_sections] = self.take_sections(runs);
        let mut response_time = self.reads.clone();
        response_time.merge(&self.writes);
        let sd_ms = self.sd_ms(&response_time, &sections);
        let (split, split_sections) = std::mem::take(&mut self.splits).finish();
        let seconds = |w: &MeasuredWindow| w.length().as_secs_f64();
        let disks = 0..self.usage.first().map_or(0, Vec::len);
        let busy = self.shares(|usage| usage.busy);
        let (utilisation, mean_utilisation) = self.utilisation();
        let usage = disks.clone().map(|disk| self.usage_of(disk)).collect();
        let mean_jobs = disks
            .map(|disk| self.of_usage(&|usage| usage[disk].jobs_time as f64))
            .collect();
        let mean_in_system = self.rate(&|w| w.requests_time as f64 / 1e9, &seconds);
        let mean_found = self.rate(&|w| w.found as f64, &|w| w.arrived as f64);
        let throughput_per_s = self.rate(&|w| w.served as f64, &seconds);
        let sectors_per_s = self.rate(&|w| w.sectors as f64, &seconds);
        let write_amplification = self.write_amplification();
        let are_unlike = self.are_unlike();
        if are_unlike {
            mean_ms.mean = response_time.moments.mean() / 1e6;
        }
        let mut fleet = self.fleet.map(|(_, fleet)| fleet);
        if let Some(fleet) = fleet.as_mut().filter(|_| are_unlike) {
            fleet.over_all();
        }
        let result = SimulationResult {
            fleet,
            free: self.free,
            failed: self.failed,
            unserved: self.unserved,
            ssd: self.ssd,
            media: self.media,
            mean_ms,
            sd_ms,
            response_time,
            sections,
            read_sections,
            write_sections,
            utilisation,
            busy,
            mean_utilisation,
            mean_jobs,
            mean_in_system,
            mean_found,
            throughput_per_s,
            sectors_per_s,
            write_amplification,
            usage,
            positioning: self.positioning,
            positioning_by_run: self.positioning_by_run,
            split,
            split_sections,
            windows: self.windows,
            rebuild: self.rebuild,
            device_events: self.device_events,
            most_in_flight: self.most_in_flight,
            not_steady: None,
            replications: runs as u32,
            warmup_requests: self.warmup_requests,
            requests: self.requests,
            events: self.events,
            hash: self.hash,
            remarks: self.remarks,
            fitted: self.fitted,
            span: self.span,
            elapsed,
            reads: self.reads,
            writes: self.writes,
        };
        if are_unlike {
            result.without_errors()
        } else {
            result
        }
    }
}
