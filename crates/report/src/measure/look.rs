//! The pass over the records.

mod load_side;
mod over_time;
mod times;

use std::panic::resume_unwind;
use std::thread;

use iosonar_analysis::objective::{Objective, OnRecording};
use iosonar_analysis::pass;
use iosonar_plot::{Cloud, Resolution};
use iosonar_stats::Sections;
use iosonar_trace::{Batch, Metadata, Record, TraceError, TraceReader};
use iosonar_units::Nanos;

use self::load_side::LoadSide;
use self::over_time::OverTime;
use self::times::Times;
use super::clouds::{Clouds, kinds};
use super::seen::Seen;
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

impl LookOptions {
    /// Whether a record counts as a part of the load: requests that the device never saw do not.
    fn is_of_the_load(&self, record: &Record) -> bool {
        self.include_unsubmitted || record.outcome.status.was_submitted()
    }

    /// Where the points of a view are kept.
    fn cloud(&self, view: View) -> Cloud {
        let (x, y) = view.axes();
        let resolution = match view {
            View::Started => self.resolution,
            _ => self.other_resolution,
        };
        let cloud = Cloud::new(x, y, kinds()).with_resolution(resolution);
        match view {
            // Whole numbers of requests; sizes that are mostly powers of two: 16 columns for each doubling.
            View::LatencyByLoad | View::DelayByLoad => cloud.with_least_x_step(0),
            View::LatencyBySize => cloud.with_least_x_step(4),
            _ => cloud,
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
    load: Option<LoadSide>,
    over_time: Option<OverTime>,
    times: Times,
}

impl Look {
    /// Nothing seen yet. `name` says in titles what is looked at.
    pub fn new(name: &str, needs: Needs, options: &LookOptions) -> Self {
        let clouds = |in_order: bool| Clouds {
            quantity: options.quantity,
            of: View::ALL.map(|view| {
                let is_wanted = needs.has(view) && view.needs_order() == in_order;
                is_wanted.then(|| options.cloud(view))
            }),
        };
        Self {
            name: name.to_owned(),
            load: needs.load.then(|| LoadSide::new(options)),
            over_time: needs
                .needs_outcome()
                .then(|| OverTime::new(options, clouds(true))),
            times: Times {
                options: options.clone(),
                clouds: clouds(false),
                sections: needs.bands.then(|| Box::new(Sections::of_a_run())),
                targets: OnRecording::new(&options.targets),
                seen: Seen::default(),
            },
        }
    }

    /// Goes through all records of `reader`, sorted by intended start where [`Needs::order`] says so.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub fn read(&mut self, reader: &mut dyn TraceReader) -> Result<(), TraceError> {
        let Self {
            load,
            over_time,
            times,
            ..
        } = self;
        let options = times.options.clone();
        let mut load = load.as_mut().map(|load| load.halves(&options));
        let mut over_time = over_time
            .as_mut()
            .map(|of| |batch: &Batch| batch.records().for_each(|record| of.push(&record)));
        let mut all_times = |batch: &Batch| batch.records().for_each(|record| times.push(&record));
        let mut measures: Vec<&mut (dyn FnMut(&Batch) + Send)> = vec![&mut all_times];
        if let Some(over_time) = &mut over_time {
            measures.push(over_time);
        }
        if let Some((demand, working_sets)) = &mut load {
            measures.push(demand);
            measures.push(working_sets);
        }
        let read = pass(reader, measures);
        drop(load);
        self.about(reader.metadata());
        read
    }

    /// What the records say about themselves.
    pub fn about(&mut self, metadata: &Metadata) {
        self.times.about(metadata);
    }

    /// Where the records come from.
    pub fn origin(&mut self, origin: Origin) {
        self.times.seen.origin = origin;
    }

    /// What the replay did besides submission.
    pub fn self_check(&mut self, mut rows: Vec<SelfCheckRow>) {
        self.times.seen.self_check.append(&mut rows);
    }

    /// Looks at one record.
    pub fn add(&mut self, record: &Record) {
        if let Some(load) = &mut self.load
            && self.times.options.is_of_the_load(record)
        {
            load.push(&record.request);
        }
        if let Some(over_time) = &mut self.over_time {
            over_time.push(record);
        }
        self.times.push(record);
    }

    /// What was seen so far, without what is known only at the end: requests in flight, working sets.
    pub fn so_far(&self) -> Measured {
        let clouds = self.times.clouds.clone();
        Measured {
            name: self.name.clone(),
            options: self.times.options.clone(),
            clouds: match &self.over_time {
                Some(over_time) => clouds.and(over_time.clouds().clone()),
                None => clouds,
            },
            load: None,
            outcome: None,
            demand: None,
            tumbling: None,
            sections: Vec::new(),
            attained: Vec::new(),
            seen: self.times.seen.clone(),
        }
    }

    /// A copy that goes on by itself, without the measures of the load alone.
    pub(super) fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            load: None,
            over_time: self.over_time.clone(),
            times: self.times.clone(),
        }
    }

    /// What was seen.
    pub fn finish(self) -> Measured {
        let Self {
            name,
            load,
            over_time,
            times,
        } = self;
        let Times {
            options,
            mut clouds,
            sections,
            targets,
            seen,
        } = times;
        // All of them take their time.
        let ((load, tumbling), over_time) = thread::scope(|scope| {
            let load = scope.spawn(|| load.map_or((None, None), LoadSide::finish));
            let over_time = scope.spawn(|| over_time.map(OverTime::finish));
            clouds.settle();
            (
                load.join().unwrap_or_else(|panic| resume_unwind(panic)),
                over_time
                    .join()
                    .unwrap_or_else(|panic| resume_unwind(panic)),
            )
        });
        let (outcome, demand, clouds) = match over_time {
            Some((outcome, demand, others)) => (outcome, demand, clouds.and(others)),
            None => (None, None, clouds),
        };
        Measured {
            name,
            options,
            clouds,
            load,
            outcome,
            demand,
            tumbling,
            sections: sections.map_or_else(Vec::new, |sections| sections.independent()),
            attained: targets.finish(),
            seen,
        }
    }
}
