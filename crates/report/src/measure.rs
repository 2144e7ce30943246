//! One pass over records: everything that the wanted charts are made of, in bounded memory.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

use iosonar_analysis::{
    ActivityOptions, Flight, LoadMetrics, LoadOptions, LoadSummary, OutcomeMetrics, OutcomeSummary,
    Timeline, Tumbling, TumblingPoint, WORKING_SET_WINDOWS, Watcher,
};
use iosonar_plot::{Cloud, Colour, GridKind, Kind, grouped};
use iosonar_stats::{BandPoint, Distribution, Sections, cdf_band};
use iosonar_trace::{
    Batch, Metadata, Op, Outcome, Record, Request, Status, TraceError, TraceReader,
};
use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::self_check::SelfCheckRow;
use crate::words::describe;

/// Which time of a request is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// From handing over to completion.
    #[default]
    Latency,
    /// From the intended start to handing over.
    Delay,
    /// From the intended start to completion.
    ResponseTime,
}

impl Quantity {
    /// Its name, as on axes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Delay => "delay",
            Self::ResponseTime => "response time",
        }
    }

    /// That time of an outcome, if it is known.
    pub fn of(self, outcome: &Outcome) -> Option<Nanos> {
        match self {
            Self::Latency => outcome.latency,
            Self::Delay => outcome.delay,
            Self::ResponseTime => outcome.response_time(),
        }
    }
}

/// How a line above the records begins that says why they are not of the storage.
pub const FAKE_NOTICE: &str = "# FAKE: ";
/// How a line above the records begins that says what else must be known of them.
pub const WARNING_NOTICE: &str = "# WARNING: ";

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
    /// Whether requests that were never submitted (skipped, dropped, missed) count as a part of the load.
    pub include_unsubmitted: bool,
    /// Columns and cells that the sonar diagram may have before they are joined; more serve who zooms.
    pub resolution: (usize, usize),
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
            include_unsubmitted: false,
            resolution: (1 << 13, 1 << 17),
        }
    }
}

/// A cloud of points that charts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum View {
    /// The quantity against the time of handing over.
    Started,
    /// The quantity against the intended start.
    Intended,
    /// The quantity against the completion.
    Completed,
    /// The quantity against the number of the completion.
    Number,
    /// Delay against the intended start.
    Delay,
    /// Delay against the number of the completion.
    DelayNumber,
    /// Latency against requests in flight.
    LatencyByLoad,
    /// Delay against requests in flight.
    DelayByLoad,
    /// Latency against delay.
    LatencyByDelay,
    /// Latency against size.
    LatencyBySize,
    /// Positions against time.
    Addresses,
}

impl View {
    pub(crate) const ALL: [Self; 11] = [
        Self::Started,
        Self::Intended,
        Self::Completed,
        Self::Number,
        Self::Delay,
        Self::DelayNumber,
        Self::LatencyByLoad,
        Self::DelayByLoad,
        Self::LatencyByDelay,
        Self::LatencyBySize,
        Self::Addresses,
    ];

    fn axes(self) -> (GridKind, GridKind) {
        match self {
            Self::LatencyByDelay | Self::LatencyBySize => (GridKind::Log, GridKind::Log),
            Self::Addresses => (GridKind::Linear, GridKind::Linear),
            _ => (GridKind::Linear, GridKind::Log),
        }
    }

    /// Whether its points are known only in the order of what happens, not of intended starts.
    fn needs_order(self) -> bool {
        matches!(
            self,
            Self::Number | Self::DelayNumber | Self::LatencyByLoad | Self::DelayByLoad
        )
    }

    /// Whether it shows what failed, at its intended start.
    fn shows_failures(self) -> bool {
        matches!(self, Self::Started | Self::Intended | Self::Completed)
    }
}

/// What some charts need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    views: u16,
    load: bool,
    outcome: bool,
    bands: bool,
}

impl Needs {
    /// Nothing but distributions.
    pub(crate) const NONE: Self = Self {
        views: 0,
        load: false,
        outcome: false,
        bands: false,
    };
    /// What the load is like.
    pub(crate) const LOAD: Self = Self {
        load: true,
        ..Self::NONE
    };
    /// What happened over time.
    pub(crate) const OUTCOME: Self = Self {
        outcome: true,
        ..Self::NONE
    };
    /// How sure distributions are.
    pub(crate) const BANDS: Self = Self {
        bands: true,
        ..Self::NONE
    };

    pub(crate) const fn view(view: View) -> Self {
        Self {
            views: 1 << view as u16,
            ..Self::NONE
        }
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            views: self.views | other.views,
            load: self.load | other.load,
            outcome: self.outcome | other.outcome,
            bands: self.bands | other.bands,
        }
    }

    /// Whether records must come sorted by intended start.
    pub fn order(self) -> bool {
        self.load || self.needs_outcome()
    }

    fn has(self, view: View) -> bool {
        self.views & (1 << view as u16) != 0
    }

    fn needs_outcome(self) -> bool {
        self.outcome || View::ALL.iter().any(|v| v.needs_order() && self.has(*v))
    }
}

/// Why there is nothing to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingMeasured {
    /// How many records there were.
    pub records: u64,
    /// How many of them tell of requests that failed or never ran.
    pub not_done: u64,
}

impl std::fmt::Display for NothingMeasured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.records == 0 {
            return f.write_str("there is no request in it, so there is nothing to draw");
        }
        if self.not_done == self.records {
            return write!(
                f,
                "all of its {} requests failed or never ran, so there is nothing to draw",
                grouped(self.records)
            );
        }
        write!(
            f,
            "none of its {} requests has a measured time, so there is nothing to draw: it is a \
             load. Simulate or replay it first, and draw the records; of a load itself there are sizes, \
             positions, repetition, working-set, working-set-log, span, sparsity, addresses, \
             throughput-intended, bandwidth-intended, turns-intended",
            grouped(self.records)
        )
    }
}

impl std::error::Error for NothingMeasured {}

/// How many requests exceed a limit, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) count: u64,
    pub(crate) first: Option<Nanos>,
}

impl Beyond {
    fn push(&mut self, value: Nanos, limit: Option<Nanos>, start: Nanos) {
        if limit.is_some_and(|limit| value > limit) {
            self.count += 1;
            self.first = Some(self.first.map_or(start, |first| first.min(start)));
        }
    }
}

/// Goes through records.
pub struct Look {
    name: String,
    options: LookOptions,
    clouds: Clouds,
    load: Option<LoadSide>,
    outcome: Option<Box<OutcomeMetrics>>,
    /// What was asked over time, as long as nobody knows what became of it.
    demand: Option<Timeline>,
    sections: Option<Box<Sections>>,
    has_outcomes: bool,
    seen: Seen,
}

/// What there is of every look.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Latency, delay, response time; of reads, of others.
    times: [[Distribution; 2]; 3],
    records: u64,
    statuses: BTreeMap<&'static str, u64>,
    beyond: [Beyond; 2],
    first_start: Option<Nanos>,
    last_start: Nanos,
    last_end: Nanos,
    metadata: Metadata,
    self_check: Vec<SelfCheckRow>,
    late: [u64; 3],
    delays: u64,
}

/// What is measured of the load alone, whatever became of it.
struct LoadSide {
    metrics: LoadMetrics,
    tumbling: Option<Tumbling>,
}

impl LoadSide {
    fn push(&mut self, request: &Request) {
        self.metrics.push(request);
        if let Some(tumbling) = &mut self.tumbling
            && request.sectors.get() > 0
        {
            tumbling.push(request.start, request.sector.get());
        }
    }
}

/// So many batches of requests may wait for whoever measures the load.
const BATCHES_BEHIND: usize = 8;

#[derive(Clone)]
struct Clouds {
    quantity: Quantity,
    of: [Option<Cloud>; View::ALL.len()],
}

impl Clouds {
    fn push(&mut self, view: View, kind: u8, x: f64, y: f64) {
        if let Some(cloud) = &mut self.of[view as usize] {
            cloud.push(kind, x, y);
        }
    }
}

const READ: u8 = 0;
const WRITE: u8 = 1;
const HELD_READ: u8 = 2;
const FAILED: u8 = 4;

fn kinds() -> Vec<Kind> {
    let kind = |name: &str, colour| Kind {
        name: name.to_owned(),
        label: name.to_owned(),
        colour,
    };
    vec![
        kind("reads", Colour::Read),
        kind("writes", Colour::Write),
        kind("reads held back by others in flight", Colour::HeldRead),
        kind("writes held back by others in flight", Colour::HeldWrite),
        kind("failed or never ran", Colour::Failed),
    ]
}

impl Watcher for Clouds {
    fn begun(&mut self, flight: &Flight, in_flight: u64) {
        if !flight.status.is_timed() {
            return;
        }
        let kind = kind_of(flight.is_read(), flight.pushed_back);
        let latency = flight.latency().as_secs_f64();
        let delay = flight.delay().as_secs_f64();
        self.push(View::LatencyByLoad, kind, in_flight as f64, latency);
        self.push(View::DelayByLoad, kind, in_flight as f64, delay);
    }

    fn ended(&mut self, flight: &Flight, number: u64) {
        if !flight.status.is_timed() {
            return;
        }
        let kind = kind_of(flight.is_read(), flight.pushed_back);
        let outcome = Outcome::done(flight.delay(), flight.latency());
        let time = self.quantity.of(&outcome).unwrap_or_default();
        self.push(View::Number, kind, number as f64, time.as_secs_f64());
        let delay = flight.delay().as_secs_f64();
        self.push(View::DelayNumber, kind, number as f64, delay);
    }
}

fn kind_of(is_read: bool, pushed_back: bool) -> u8 {
    let direction = if is_read { READ } else { WRITE };
    direction + if pushed_back { HELD_READ } else { 0 }
}

/// What a status is called when it is counted.
fn status_name(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Error(_) => "failed",
        Status::Short => "short",
        Status::Dropped => "dropped",
        Status::Skipped => "left out on purpose",
        Status::Missed => "never started",
        Status::Cancelled => "cancelled",
        Status::VerifyFailed => "with wrong content",
    }
}

impl Look {
    /// Nothing seen yet. `name` says in titles what is looked at.
    pub fn new(name: &str, needs: Needs, options: &LookOptions) -> Self {
        let cloud = |view: View| {
            let (x, y) = view.axes();
            let cloud = Cloud::new(x, y, kinds());
            let (columns, cells) = options.resolution;
            let cloud = match view {
                View::Started => cloud.with_resolution(columns, cells),
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
        // The load's measures miss the cache all the time: they get a thread of their own.
        let load = self.load.take();
        let (load, read) = std::thread::scope(|scope| {
            let (to_load, requests) = sync_channel::<Vec<Request>>(BATCHES_BEHIND);
            let measuring = load.map(|mut load| {
                scope.spawn(move || {
                    requests
                        .iter()
                        .flatten()
                        .for_each(|request| load.push(&request));
                    load
                })
            });
            let mut batch = Batch::default();
            let read = loop {
                match reader.next_batch(&mut batch) {
                    Ok(0) => break Ok(()),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
                if measuring.is_some() {
                    let load = batch.records().filter(|record| self.is_of_the_load(record));
                    let load: Vec<Request> = load.map(|record| record.request).collect();
                    if to_load.send(load).is_err() {
                        break Ok(());
                    }
                }
                batch.records().for_each(|record| self.add(&record));
            };
            drop(to_load);
            let load = measuring.map(|thread| {
                let ended = thread.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            (load, read)
        });
        self.load = load;
        self.about(reader.metadata());
        read
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
    }

    /// What the replay that made the records did besides handing over.
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
        if outcome.status != Status::Done {
            *seen
                .statuses
                .entry(status_name(outcome.status))
                .or_default() += 1;
        }
        if let (Some(load), true) = (&mut self.load, is_of_the_load) {
            load.push(request);
        }
        // What nobody measured costs nothing.
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
            band: Vec::new(),
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
        let bands = self.sections.map(|sections| {
            let whole = sections.whole();
            cdf_band(&whole, &sections.independent(), 200)
        });
        Measured {
            name: self.name,
            options: self.options,
            clouds: self.clouds,
            load,
            outcome,
            demand: self.demand,
            tumbling,
            band: bands.unwrap_or_default(),
            seen: self.seen,
        }
    }
}

/// What a look has seen.
pub struct Measured {
    /// What it is called.
    pub name: String,
    options: LookOptions,
    clouds: Clouds,
    load: Option<LoadSummary>,
    outcome: Option<OutcomeSummary>,
    demand: Option<Timeline>,
    tumbling: Option<Vec<Vec<TumblingPoint>>>,
    band: Vec<BandPoint>,
    seen: Seen,
}

impl Measured {
    /// How it was looked at.
    pub fn options(&self) -> &LookOptions {
        &self.options
    }

    /// What the records say about themselves.
    pub fn metadata(&self) -> &Metadata {
        &self.seen.metadata
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.seen.records
    }

    /// When the first request should begin, the last should begin, and the last was complete.
    pub fn span(&self) -> (Nanos, Nanos, Nanos) {
        let first = self.seen.first_start.unwrap_or_default();
        (first, self.seen.last_start, self.seen.last_end)
    }

    /// A time of the reads.
    pub fn reads(&self, quantity: Quantity) -> &Distribution {
        &self.seen.times[quantity as usize][0]
    }

    /// The same of all other requests.
    pub fn writes(&self, quantity: Quantity) -> &Distribution {
        &self.seen.times[quantity as usize][1]
    }

    /// The same of all requests.
    pub fn all(&self, quantity: Quantity) -> Distribution {
        let mut all = self.reads(quantity).clone();
        all.merge(self.writes(quantity));
        all
    }

    /// The longest of a time, of all requests.
    pub fn longest(&self, quantity: Quantity) -> Option<Nanos> {
        let of = |distribution: &Distribution| distribution.moments.max();
        of(self.reads(quantity)).max(of(self.writes(quantity)))
    }

    /// Whether any request was handed over late: delays that are all zero are nothing to draw.
    pub(crate) fn has_delays(&self) -> bool {
        self.longest(Quantity::Delay) > Some(Nanos::ZERO)
    }

    /// How many requests did not end well, by what became of them.
    pub fn statuses(&self) -> &BTreeMap<&'static str, u64> {
        &self.seen.statuses
    }

    /// What the load is like, if that was wanted.
    pub fn load(&self) -> Option<&LoadSummary> {
        self.load.as_ref()
    }

    /// What happened over time, if that was wanted and measured.
    pub fn outcome(&self) -> Option<&OutcomeSummary> {
        self.outcome.as_ref()
    }

    /// What was asked over time: known of loads, too.
    pub(crate) fn demand(&self) -> Option<&Timeline> {
        let of_outcome = self.outcome.as_ref().map(|outcome| &outcome.timeline);
        of_outcome.or(self.demand.as_ref())
    }

    pub(crate) fn tumbling(&self) -> Option<&[Vec<TumblingPoint>]> {
        self.tumbling.as_deref()
    }

    /// How sure the distribution function of the quantity is.
    pub(crate) fn band(&self) -> &[BandPoint] {
        &self.band
    }

    pub(crate) fn self_check(&self) -> &[SelfCheckRow] {
        &self.seen.self_check
    }

    pub(crate) fn beyond(&self, quantity: Quantity) -> Beyond {
        self.seen.beyond[usize::from(quantity == Quantity::Delay)]
    }

    /// Of requests that were not held back: how many were more than 100 us, 1 ms, 1 s late; and of how many
    /// the delay is known.
    pub fn lateness(&self) -> ([u64; 3], u64) {
        (self.seen.late, self.seen.delays)
    }

    /// The points of a view, labelled; `None` if they were not wanted.
    pub(crate) fn cloud(&self, view: View) -> Option<Cloud> {
        let mut cloud = self.clouds.of[view as usize].clone()?;
        let quantity = match view {
            View::Delay | View::DelayNumber | View::DelayByLoad => Quantity::Delay,
            View::LatencyByLoad | View::LatencyByDelay | View::LatencyBySize => Quantity::Latency,
            _ => self.options.quantity,
        };
        let counts = cloud.counts().to_vec();
        if view == View::Addresses {
            for (kind, name) in [(READ, "reads"), (WRITE, "writes")] {
                let label = format!("{name}: {}", grouped(counts[usize::from(kind)]));
                cloud.set_label(kind, &label);
            }
            return Some(cloud);
        }
        cloud.set_label(READ, &describe("reads", self.reads(quantity)));
        cloud.set_label(WRITE, &describe("writes", self.writes(quantity)));
        for (kind, name) in [(HELD_READ, "reads"), (HELD_READ + 1, "writes")] {
            let n = grouped(counts[usize::from(kind)]);
            cloud.set_label(
                kind,
                &format!("{n} {name} of them held back by others in flight"),
            );
        }
        cloud.set_label(FAILED, &format!("{}, at the upper edge", self.failures()));
        Some(cloud)
    }

    /// What did not end well, in words.
    fn failures(&self) -> String {
        let statuses = self.seen.statuses.iter();
        let parts: Vec<String> = statuses
            .filter(|(name, _)| **name != status_name(Status::Skipped))
            .map(|(name, n)| format!("{} {name}", grouped(*n)))
            .collect();
        parts.join(", ")
    }

    /// How many requests of the load could not be held against a limit of this time, in words: those that did not
    /// end well, and those whose time was not measured. Empty if there are none.
    pub(crate) fn without_time(&self, quantity: Quantity) -> String {
        let mut words = self.failures();
        let wrong = self.seen.statuses.get(status_name(Status::VerifyFailed));
        let not_done: u64 = self.seen.statuses.values().sum();
        let timed = self.reads(quantity).count() + self.writes(quantity).count();
        let complete = self.seen.records - not_done + wrong.copied().unwrap_or_default();
        let unmeasured = complete.saturating_sub(timed);
        if unmeasured > 0 {
            let separator = if words.is_empty() { "" } else { ", " };
            let name = quantity.name();
            words += &format!(
                "{separator}{} without a measured {name}",
                grouped(unmeasured)
            );
        }
        words
    }

    /// What must be known before a picture is believed: results that are fake, a load that was changed.
    pub fn warnings(&self) -> Vec<String> {
        let notices = || self.seen.metadata.notices.iter();
        let fakes = self.fakes();
        let others = notices().filter_map(|line| line.strip_prefix(WARNING_NOTICE));
        fakes
            .map(|fake| format!("FAKE: {fake}"))
            .chain(others.map(str::to_owned))
            .collect()
    }

    /// Why the figures are not those of a device.
    pub(crate) fn fakes(&self) -> impl Iterator<Item = &str> {
        let notices = self.seen.metadata.notices.iter();
        notices.filter_map(|line| line.strip_prefix(FAKE_NOTICE))
    }

    /// What is left out of a picture of times: requests that are not shown.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![self.left_out(), self.failures()];
        remarks.retain(|remark| !remark.is_empty());
        remarks
    }

    /// What was left out on purpose, in words.
    pub(crate) fn left_out(&self) -> String {
        let left_out = self.seen.statuses.get(status_name(Status::Skipped));
        left_out.map_or_else(String::new, |n| {
            format!("{} left out on purpose", grouped(*n))
        })
    }

    /// Whether any time was measured.
    ///
    /// # Errors
    /// [`NothingMeasured`] if not.
    pub fn check(&self) -> Result<(), NothingMeasured> {
        let quantity = self.options.quantity;
        if self.reads(quantity).count() + self.writes(quantity).count() == 0 {
            return Err(NothingMeasured {
                records: self.seen.records,
                not_done: self.seen.statuses.values().sum(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look() -> Look {
        Look::new("a test", Needs::NONE, &LookOptions::default())
    }

    #[test]
    fn a_load_has_nothing_to_draw_and_says_so() {
        let mut look = look();
        look.add(&Record::default());
        let message = look.finish().check().unwrap_err().to_string();
        assert!(message.contains("none of its 1 requests"), "{message}");
    }

    #[test]
    fn failed_requests_have_no_latency_and_are_counted_by_what_became_of_them() {
        let mut look = look();
        for status in [Status::Error(5), Status::Dropped, Status::Skipped] {
            look.add(&Record {
                outcome: Outcome {
                    status,
                    ..Outcome::done(Nanos::ZERO, Nanos::SECOND)
                },
                ..Record::default()
            });
        }
        let measured = look.finish();
        assert_eq!(
            measured.remarks(),
            ["1 left out on purpose", "1 dropped, 1 failed"]
        );
        assert_eq!(measured.reads(Quantity::Latency).count(), 0);
    }
}
