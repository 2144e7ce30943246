//! The pass over the records.

use iosonar_analysis::objective::{Objective, OnRecording};
use iosonar_analysis::{
    ActivityOptions, LoadMetrics, LoadOptions, OutcomeMetrics, Timeline, Tumbling,
    WORKING_SET_WINDOWS,
};
use iosonar_plot::{Cloud, Resolution};
use iosonar_stats::Sections;
use iosonar_trace::{Batch, Metadata, Op, Record, Request, Status, TraceError, TraceReader};
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::clouds::{Clouds, FAILED, kind_of, kinds};
use super::seen::{Failure, Seen};
use super::{Measured, Needs, Quantity, View};
use crate::self_check::SelfCheckRow;

/// How working sets are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkingSets {
    /// Windows that slide, all sectors of requests.
    #[default]
    Sliding,
    /// Windows that follow each other, the first sectors of requests: as graph.sh does.
    Tumbling,
}

/// How records are looked at.
#[derive(Clone, Debug)]
pub struct LookOptions {
    /// Which time the sonar diagrams and distributions show.
    pub quantity: Quantity,
    /// The width of windows of throughput; else three seconds, or less for short traces.
    pub window: Option<Nanos>,
    /// The width of groups of time, for the charts of disk activity.
    pub group: Nanos,
    /// How working sets are counted.
    pub working_sets: WorkingSets,
    /// Latencies should not exceed this; `None` if nothing is demanded of them.
    pub bad_latency: Option<Nanos>,
    /// Delays should not exceed this; `None` if nothing is demanded of them.
    pub bad_delay: Option<Nanos>,
    /// The size of the device in sectors, where it is known.
    pub device_sectors: Option<u64>,
    /// What is demanded of the records; empty if nothing is.
    pub targets: Vec<Objective>,
    /// Whether requests that were never submitted (skipped, dropped, missed) count as a part of the load.
    pub include_unsubmitted: bool,
    /// How finely the points of the sonar diagram are kept.
    pub resolution: Resolution,
    /// How finely those of other diagrams are kept.
    pub other_resolution: Resolution,
}

impl Default for LookOptions {
    fn default() -> Self {
        Self {
            quantity: Quantity::default(),
            window: None,
            group: Nanos::from_secs(60),
            working_sets: WorkingSets::default(),
            bad_latency: None,
            bad_delay: None,
            device_sectors: None,
            targets: Vec::new(),
            include_unsubmitted: false,
            resolution: Resolution::default(),
            other_resolution: Resolution::default(),
        }
    }
}

/// Where records come from, as far as they do not say it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The files, each with the name of its format where that is known.
    pub files: Vec<(String, Option<&'static str>)>,
    /// What was changed while they were read, as it is written on a command line.
    pub changes: Vec<String>,
}

/// Goes through records.
pub struct Look {
    name: String,
    options: LookOptions,
    clouds: Clouds,
    load: Option<LoadSide>,
    outcome: Option<Box<OutcomeMetrics>>,
    /// The demand over time, while the outcome is not known.
    demand: Option<Timeline>,
    sections: Option<Box<Sections>>,
    targets: OnRecording,
    has_outcomes: bool,
    seen: Seen,
}

/// The measurements of the load alone, independent of its outcome.
struct LoadSide {
    metrics: LoadMetrics,
    tumbling: Option<Tumbling>,
}

impl LoadSide {
    fn push(&mut self, request: &Request) {
        self.metrics.push(request);
        count_first_sector(&mut self.tumbling, request);
    }
}

fn count_first_sector(tumbling: &mut Option<Tumbling>, request: &Request) {
    if let Some(tumbling) = tumbling
        && request.sectors.get() > 0
    {
        tumbling.push(request.start, request.sector.get());
    }
}

impl Look {
    /// Nothing seen yet. `name` says in titles what is looked at.
    pub fn new(name: &str, needs: Needs, options: &LookOptions) -> Self {
        let cloud = |view: View| {
            let (x, y) = view.axes();
            let resolution = match view {
                View::Started => options.resolution,
                _ => options.other_resolution,
            };
            let cloud = Cloud::new(x, y, kinds()).with_resolution(resolution);
            let cloud = match view {
                // Whole numbers of requests; sizes that are mostly powers of two: 16 columns for each doubling.
                View::LatencyByLoad | View::DelayByLoad => cloud.with_least_x_step(0),
                View::LatencyBySize => cloud.with_least_x_step(4),
                _ => cloud,
            };
            needs.has(view).then_some(cloud)
        };
        let tumbles = options.working_sets == WorkingSets::Tumbling;
        let load = || LoadSide {
            metrics: LoadMetrics::new(LoadOptions {
                window: Nanos::from_millis(100),
                position_sectors: 1 << 11,
                ..LoadOptions::default()
            }),
            tumbling: tumbles.then(|| Tumbling::new(&WORKING_SET_WINDOWS)),
        };
        let outcome = || {
            let activity = ActivityOptions {
                group: options.group,
                ..ActivityOptions::default()
            };
            let metrics = OutcomeMetrics::new(Timeline::adaptive(), activity);
            Box::new(metrics.include_skipped(options.include_unsubmitted))
        };
        Self {
            name: name.to_owned(),
            options: options.clone(),
            clouds: Clouds {
                quantity: options.quantity,
                of: View::ALL.map(cloud),
            },
            load: needs.load.then(load),
            outcome: needs.needs_outcome().then(outcome),
            sections: needs.bands.then(|| Box::new(Sections::of_a_run())),
            targets: OnRecording::new(&options.targets),
            demand: needs.needs_outcome().then(Timeline::adaptive),
            has_outcomes: false,
            seen: Seen::default(),
        }
    }

    /// Goes through all records of `reader`, sorted by intended start where [`Needs::order`] says so.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub fn read(&mut self, reader: &mut dyn TraceReader) -> Result<(), TraceError> {
        // The load is measured on threads of its own.
        let load = self.load.take();
        let read = match load {
            None => self.read_all(reader, |_, _| {}),
            Some(LoadSide {
                mut metrics,
                mut tumbling,
            }) => {
                let read = metrics.beside(|beside| {
                    self.read_all(reader, |look, batch| {
                        let load = batch.records().filter(|record| look.is_of_the_load(record));
                        let load: Vec<Request> = load.map(|record| record.request).collect();
                        for request in &load {
                            count_first_sector(&mut tumbling, request);
                        }
                        beside.push(load);
                    })
                });
                self.load = Some(LoadSide { metrics, tumbling });
                read
            }
        };
        self.about(reader.metadata());
        read
    }

    /// Looks at all records, batch by batch, and gives each to `beside` first.
    fn read_all(
        &mut self,
        reader: &mut dyn TraceReader,
        mut beside: impl FnMut(&Self, &Batch),
    ) -> Result<(), TraceError> {
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            beside(self, &batch);
            batch.records().for_each(|record| self.add(&record));
        }
        Ok(())
    }

    /// What the records say about themselves.
    pub fn about(&mut self, metadata: &Metadata) {
        let mine = &mut self.seen.metadata;
        mine.notices.extend(metadata.notices.iter().cloned());
        mine.notices.dedup();
        for (key, value) in &metadata.about {
            mine.about
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        if mine.devices.is_empty() {
            mine.devices.clone_from(&metadata.devices);
        }
        mine.origin_ns = mine.origin_ns.or(metadata.origin_ns);
        mine.add_remarks(metadata);
    }

    /// Where the records come from.
    pub fn origin(&mut self, origin: Origin) {
        self.seen.origin = origin;
    }

    /// What the replay did besides submission.
    pub fn self_check(&mut self, mut rows: Vec<SelfCheckRow>) {
        self.seen.self_check.append(&mut rows);
    }

    /// Whether a record counts as a part of the load: requests that the device never saw do not.
    fn is_of_the_load(&self, record: &Record) -> bool {
        self.options.include_unsubmitted || record.outcome.status.was_submitted()
    }

    /// Looks at one record.
    pub fn add(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        let is_of_the_load = self.is_of_the_load(record);
        let seen = &mut self.seen;
        seen.records += 1;
        seen.first_start = Some(
            seen.first_start
                .map_or(request.start, |f| f.min(request.start)),
        );
        seen.last_start = seen.last_start.max(request.start);
        if let Some(failure) = Failure::of(outcome.status) {
            *seen.failures.entry(failure).or_default() += 1;
        }
        if let (Some(load), true) = (&mut self.load, is_of_the_load) {
            load.push(request);
        }
        // Quantities that were not measured cost nothing.
        let is_load = outcome.latency.is_none() && outcome.status == Status::Done;
        if let (Some(demand), true) = (&mut self.demand, is_load) {
            demand.push(request);
        }
        if self.has_outcomes || !is_load {
            self.has_outcomes = true;
            self.demand = None;
            if let Some(metrics) = &mut self.outcome {
                metrics.push_watched(record, &mut self.clouds);
            }
        }
        self.add_times(record);
    }

    fn add_times(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        let is_of_the_load = self.is_of_the_load(record);
        let (seen, clouds) = (&mut self.seen, &mut self.clouds);
        let is_read = request.op == Op::Read;
        let kind = kind_of(is_read, outcome.pushed_back);
        let start = request.start.as_secs_f64();
        if clouds.of[View::Addresses as usize].is_some()
            && request.sectors.get() > 0
            && is_of_the_load
        {
            let at = request.sector.get() as f64 * SECTOR_BYTES as f64;
            clouds.push(View::Addresses, kind_of(is_read, false), start, at);
        }
        if !outcome.status.is_timed() {
            if outcome.status != Status::Skipped {
                for view in View::ALL.into_iter().filter(|v| v.shows_failures()) {
                    clouds.push(view, FAILED, start, f64::INFINITY);
                }
            }
            return;
        }
        self.targets.add(record);
        let direction = usize::from(!is_read);
        if let Some(latency) = outcome.latency {
            seen.times[0][direction].push(latency);
            seen.beyond[0].push(latency, self.options.bad_latency, request.start);
            let bytes = f64::from(request.sectors.get()) * SECTOR_BYTES as f64;
            clouds.push(View::LatencyBySize, kind, bytes, latency.as_secs_f64());
        }
        if let Some(delay) = outcome.delay {
            seen.times[1][direction].push(delay);
            seen.beyond[1].push(delay, self.options.bad_delay, request.start);
            clouds.push(View::Delay, kind, start, delay.as_secs_f64());
            seen.delays += 1;
            if !outcome.pushed_back {
                let limits = [Nanos::from_micros(100), Nanos::MILLISECOND, Nanos::SECOND];
                for (late, limit) in seen.late.iter_mut().zip(limits) {
                    *late += u64::from(delay > limit);
                }
            }
        }
        if let (Some(delay), Some(latency)) = (outcome.delay, outcome.latency) {
            let (delay, latency) = (delay.as_secs_f64(), latency.as_secs_f64());
            clouds.push(View::LatencyByDelay, kind, delay, latency);
        }
        if let Some(time) = outcome.response_time()
            && self.options.quantity == Quantity::ResponseTime
        {
            seen.times[2][direction].push(time);
        }
        if let Some(latency) = outcome.latency {
            let from = request
                .start
                .saturating_add(outcome.delay.unwrap_or_default());
            seen.last_end = seen.last_end.max(from.saturating_add(latency));
        }
        let Some(time) = self.options.quantity.of(outcome) else {
            return;
        };
        if let Some(sections) = &mut self.sections {
            sections.push(time);
        }
        let time = time.as_secs_f64();
        let handed_over = start + outcome.delay.unwrap_or_default().as_secs_f64();
        let complete = handed_over + outcome.latency.unwrap_or_default().as_secs_f64();
        clouds.push(View::Started, kind, handed_over, time);
        clouds.push(View::Intended, kind, start, time);
        clouds.push(View::Completed, kind, complete, time);
    }

    /// What was seen so far, without what is known only at the end: requests in flight, working sets.
    pub fn so_far(&self) -> Measured {
        Measured {
            name: self.name.clone(),
            options: self.options.clone(),
            clouds: self.clouds.clone(),
            load: None,
            outcome: None,
            demand: None,
            tumbling: None,
            sections: Vec::new(),
            attained: Vec::new(),
            seen: self.seen.clone(),
        }
    }

    /// A copy that goes on by itself, without the measures of the load alone.
    pub(super) fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            options: self.options.clone(),
            clouds: self.clouds.clone(),
            load: None,
            outcome: self.outcome.clone(),
            demand: self.demand.clone(),
            sections: self.sections.clone(),
            targets: self.targets.clone(),
            has_outcomes: self.has_outcomes,
            seen: self.seen.clone(),
        }
    }

    /// What was seen.
    pub fn finish(mut self) -> Measured {
        let (load, outcome, clouds) = (self.load.take(), self.outcome.take(), &mut self.clouds);
        // Both take their time.
        let ((load, tumbling), outcome) = std::thread::scope(|scope| {
            let load = scope.spawn(|| match load {
                Some(side) => (side.metrics.finish(), side.tumbling.map(Tumbling::finish)),
                None => (None, None),
            });
            let outcome = outcome.and_then(|metrics| metrics.finish_watched(clouds));
            for cloud in clouds.of.iter_mut().flatten() {
                cloud.settle();
            }
            let load = load.join();
            (
                load.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                outcome,
            )
        });
        let sections = self
            .sections
            .map_or_else(Vec::new, |sections| sections.independent());
        Measured {
            name: self.name,
            options: self.options,
            clouds: self.clouds,
            load,
            outcome,
            demand: self.demand,
            tumbling,
            sections,
            attained: self.targets.finish(),
            seen: self.seen,
        }
    }
}
