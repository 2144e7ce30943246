//! A load that is like a real one, and how alike they are.

use iosonar_analysis::{LoadMetrics, LoadOptions, LoadSummary};
use iosonar_sim_core::Seed;
use iosonar_stats::metric::MetricUnit;
use iosonar_trace::{Batch, Metadata, Remark, RemarkKind, Request, TraceError, TraceReader};
use iosonar_units::Nanos;
use iosonar_workload::{Likeness, SyntheticLoad, Workload};

/// Laws that were fitted to a load.
#[derive(Debug)]
pub struct FittedLoad {
    /// Of reads, and of writes.
    pub workloads: Vec<Workload>,
    /// How long the load is.
    pub span: Nanos,
    first: Nanos,
    real: LoadSummary,
}

impl FittedLoad {
    /// Fits laws to the reads and writes of a reader; `None` if there are too few. What the trace says of itself is returned in
    /// any case, with a remark on requests that are neither.
    ///
    /// # Errors
    /// If the trace is damaged.
    pub fn of(reader: &mut dyn TraceReader) -> Result<(Option<Self>, Metadata), TraceError> {
        let mut likeness = Likeness::default();
        let mut metrics = LoadMetrics::new(LoadOptions::default());
        let mut batch = Batch::default();
        let mut others = 0;
        while reader.next_batch(&mut batch)? > 0 {
            for request in batch.requests() {
                if !request.op.moves_data() {
                    others += 1;
                    continue;
                }
                likeness.push(&request);
                metrics.push(&request);
            }
        }
        let workloads = likeness.workloads();
        let real = metrics.finish().filter(|_| !workloads.is_empty());
        let fitted = real.map(|real| Self {
            workloads,
            span: likeness.span(),
            first: likeness.first(),
            real,
        });
        let mut metadata = reader.metadata().clone();
        if others > 0 {
            metadata.remarks.push(Remark {
                kind: RemarkKind::NoData,
                what: "requests neither read nor wrote data and were left out".to_owned(),
                what_of_one: "request neither read nor wrote data and was left out".to_owned(),
                count: others,
                example: String::new(),
            });
        }
        Ok((fitted, metadata))
    }

    /// A load of these laws, this long.
    pub fn load(&self, seed: u64, length: Nanos) -> impl Iterator<Item = Request> {
        let begin = self.first;
        SyntheticLoad::new(self.workloads.clone(), &Seed::new(seed))
            .take_while(move |r| r.start <= length)
            .map(move |r| Request {
                start: r.start.saturating_add(begin),
                class: 0,
                ..r
            })
    }

    /// About how many requests such a load has.
    pub fn requests(&self, length: Nanos) -> f64 {
        let per_s = self.workloads.iter().map(Workload::requests_per_s);
        length.as_secs_f64() * per_s.sum::<f64>()
    }

    /// How alike another load is to the one that the laws were fitted to; `None` if it is empty.
    pub fn compared(&self, made: impl Iterator<Item = Request>) -> Option<Vec<Row>> {
        let mut metrics = LoadMetrics::new(LoadOptions::default());
        made.for_each(|request| metrics.push(&request));
        Some(compare(&self.real, &metrics.finish()?))
    }
}

/// A property of a load, of the real one and of the one that is like it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name among metrics.
    pub name: &'static str,
    /// Its name in a table.
    pub title: &'static str,
    /// Its unit.
    pub unit: MetricUnit,
    /// Of the real load.
    pub real: f64,
    /// Of the one that is like it.
    pub made: f64,
    /// Zero means alike; a ratio says nothing.
    pub is_distance: bool,
}

fn mean_working_set(load: &LoadSummary, window: usize) -> f64 {
    let n = load.series.len().max(1) as f64;
    load.series
        .iter()
        .map(|(_, p)| p.working_set[window] as f64)
        .sum::<f64>()
        / n
}

/// A property of a load: its name, its title, its unit, and its value.
type Property = (
    &'static str,
    &'static str,
    MetricUnit,
    fn(&LoadSummary) -> f64,
);

/// How much is asked for.
const AMOUNTS: [Property; 3] = [
    (
        "requests_per_second",
        "requests/s",
        MetricUnit::PerSecond,
        |l| l.requests_per_s,
    ),
    (
        "read_share",
        "share of reads",
        MetricUnit::One,
        LoadSummary::read_share,
    ),
    (
        "mean_length",
        "mean length [sectors]",
        MetricUnit::Sectors,
        |l| (l.reads.sectors + l.writes.sectors) as f64 / l.requests() as f64,
    ),
];

/// When requests come.
const ARRIVALS: [Property; 6] = [
    (
        "interarrival_cv",
        "interarrival: coefficient of variation",
        MetricUnit::One,
        |l| l.burstiness.interarrival_cv,
    ),
    (
        "dispersion_10ms",
        "dispersion at 10 ms",
        MetricUnit::One,
        |l| dispersion(l, 0),
    ),
    (
        "dispersion_160ms",
        "dispersion at 160 ms",
        MetricUnit::One,
        |l| dispersion(l, 4),
    ),
    ("dispersion_1s", "dispersion at 1 s", MetricUnit::One, |l| {
        l.burstiness.dispersion
    }),
    (
        "dispersion_10s",
        "dispersion at 10.24 s",
        MetricUnit::One,
        |l| dispersion(l, 10),
    ),
    (
        "most_per_second",
        "most requests in a second",
        MetricUnit::One,
        |l| l.burstiness.most_per_s as f64,
    ),
];

/// Where they go.
const PLACES: [Property; 6] = [
    ("sequential", "sequential share", MetricUnit::One, |l| {
        l.sequential as f64 / l.requests() as f64
    }),
    ("turns", "share of turns", MetricUnit::One, |l| {
        l.turns as f64 / l.requests() as f64
    }),
    ("distinct_pages", "distinct pages", MetricUnit::One, |l| {
        l.distinct_pages as f64
    }),
    (
        "hot_share",
        "share of pages receiving half the accesses",
        MetricUnit::One,
        |l| {
            let half = l.hot.iter().find(|h| h.accesses == 0.5);
            half.map_or(f64::NAN, |h| h.share)
        },
    ),
    (
        "working_set_60s",
        "working set of 60 s, mean [sectors]",
        MetricUnit::Sectors,
        |l| mean_working_set(l, 2),
    ),
    (
        "miss_ratio_64mib",
        "miss ratio of an LRU cache of 64 MiB",
        MetricUnit::One,
        |l| l.curve.miss_ratio((64 << 20) / 4096),
    ),
];

/// The dispersion of arrivals in slots of 10 ms times a power of two.
fn dispersion(load: &LoadSummary, power: usize) -> f64 {
    let slot = load.burstiness.dispersions.get(power);
    slot.map_or(f64::NAN, |(_, value)| *value)
}

/// How alike two loads are.
fn compare(real: &LoadSummary, made: &LoadSummary) -> Vec<Row> {
    let row = |(name, title, unit, of): &Property| Row {
        name,
        title,
        unit: unit.clone(),
        real: of(real),
        made: of(made),
        is_distance: false,
    };
    let lengths = Row {
        name: "length_ks",
        title: "lengths: KS distance (0: alike)",
        unit: MetricUnit::One,
        real: 0.0,
        made: length_distance(real, made),
        is_distance: true,
    };
    let amounts = AMOUNTS.iter().map(row).chain([lengths]);
    amounts
        .chain(ARRIVALS.iter().chain(&PLACES).map(row))
        .collect()
}

/// The largest difference between the distribution functions of lengths.
fn length_distance(a: &LoadSummary, b: &LoadSummary) -> f64 {
    let total = |load: &LoadSummary| load.sizes.iter().map(|(_, r, w)| r + w).sum::<u64>() as f64;
    let (of_a, of_b) = (total(a), total(b));
    let mut steps: Vec<(u32, f64)> = Vec::new();
    steps.extend(a.sizes.iter().map(|(l, r, w)| (*l, (r + w) as f64 / of_a)));
    steps.extend(
        b.sizes
            .iter()
            .map(|(l, r, w)| (*l, -((r + w) as f64) / of_b)),
    );
    steps.sort_by_key(|(length, _)| *length);
    let (mut difference, mut most) = (0.0, 0.0_f64);
    for same in steps.chunk_by(|a, b| a.0 == b.0) {
        difference += same.iter().map(|(_, step)| step).sum::<f64>();
        most = most.max(f64::abs(difference));
    }
    most
}
