//! What theory can say about a scenario without simulating it.
//!
//! Data flow: the scenario's load and array become *patterns* (what a request asks of which disk, with its
//! probability); these give the load of each disk, its waiting time, and by sums and maxima the response time
//! of requests. All times are in milliseconds, all rates per millisecond, unless a name says otherwise.
//!
//! ```text
//! patterns ──► loaded (loads, visits) ──► waits ──► responses ──► estimate (between extremes, bounds)
//!    disk ─────────┘     writes ────────────┘   └─► partial (stripes), batches
//! array puts them together; closed, rpo, ssd answer what goes another way
//! ```
//!
//! Each of these returns a [`Theory`] of its own, with an [`Answer`] where it has one; `array` chooses among them.
//!
//! - [`disk`]: the service of a zoned disk;
//! - [`Prepared::theory`]: everything together, with what it rests on and where there is no theory.

mod accuracy;
mod array;
mod batches;
mod closed;
mod correction;
pub mod disk;
mod estimate;
mod loaded;
mod partial;
mod patterns;
mod responses;
mod rpo;
mod servers;
mod ssd;
mod waits;
mod writes;

use iosonar_analytic::open::Mg1;
use iosonar_analytic::{AnalyticError, ServiceLaw, Table};

pub use accuracy::{Accuracy, Family};

use crate::{Devices, DiskModel, LoadModel, Prepared};

/// How far an answer can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is what the model means, to the precision of the computation.
    Exact,
    /// Response times of several disks are taken as independent, which they are not: requests bring work to
    /// all of them at once. An upper bound of the mean, and of every quantile.
    UpperBound,
    /// Some of what happens is left out or taken as independent.
    Approximation,
}

impl Standing {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::UpperBound => "upper bound",
            Self::Approximation => "approximation",
        }
    }

    fn exact_if(is_exact: bool) -> Self {
        match is_exact {
            true => Self::Exact,
            false => Self::Approximation,
        }
    }
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The slowest part of a request that meets no other.
    SlowestPart,
    /// M/G/1, on a grid.
    Mg1,
    /// M/G/1, by inversion of its transform.
    Mg1Inverted,
    /// M^X/G/1.
    BatchMg1,
    /// Priority queues: the slowest pre-read, then the slowest write.
    PriorityQueues,
    /// The slowest of independent M/G/1 queues.
    IndependentMg1,
    /// Waits that all disks of a request share, and waits of each disk's own.
    SharedWaits,
    /// Split-merge: M/G/1 with the service of the slowest part.
    SplitMerge,
    /// Mean value analysis, as if services were exponential.
    MeanValueAnalysis,
    /// The embedded Markov chain of a disk with RPO.
    RpoChain,
    /// The wait of a disk with RPO, shared by all, and the slowest of independent services.
    RpoJoin,
    /// Bulk service M/M^\[a,b\]/1.
    BulkService,
    /// Fork-join of exponential stations (Nelson and Tantawi).
    ForkJoin,
}

/// What theory does not cover, and what the answers leave out.
#[derive(Clone, Debug, PartialEq)]
pub enum TheoryRemark {
    /// A trace has no laws.
    Trace,
    /// Where the arm of a positional disk is depends on what came before.
    Positional,
    /// What theory does not cover of servers.
    Server(ServerRemark),
    /// What a registered device or level does is known to its author only.
    Registered,
    /// The controller's times, its link, its bus and its cache are left out.
    Controller,
    /// Arrays of unlike disks.
    UnlikeDisks,
    /// The number of kinds of long requests above which only loads are computed.
    TooManyKinds,
    /// The response under the load while a rebuild works, too.
    Rebuild,
    /// Devices fail or slow down during the run.
    Events,
    /// Mirrors that are chosen by their state are taken as random.
    MirrorsByState,
    /// Requests whose steps theory does not know.
    UnknownSteps,
    /// Which disks requests go to was drawn this many times rather than gone through.
    Drawn(usize),
    /// Waits, unless arrivals are Poisson at every disk.
    DependentArrivals,
    /// Partial-stripe writes that come in batches.
    BatchesOfStripeWrites,
    /// Pre-reads and writes of partial stripes are taken as independent, and corrected by factors.
    StripeWrites,
    /// The computation failed.
    Failed(AnalyticError),
    /// The estimate of what disks share failed.
    NoEstimate(AnalyticError),
    /// Waits of split-merge, unless single requests come in a Poisson stream.
    SplitMergeArrivals,
    /// Closed loops with RPO.
    ClosedRpo,
    /// Closed loops with partial-stripe writes.
    ClosedStripeWrites,
    /// Closed loops whose requests need no disk.
    ClosedIdle,
    /// Disks are less variable than exponential services, so real response times are shorter.
    LessVariable,
    /// Of think times that are not exponential, only the mean counts.
    AnyThinkTimes,
    /// Closed loops of requests that go to several disks at once have bounds only.
    ClosedJoin,
    /// RPO where requests bring several accesses, or of several kinds, to a disk.
    RpoSeveralAccesses,
    /// RPO, unless arrivals are Poisson.
    RpoArrivals,
    /// With RPO only the mean is known.
    RpoMeanOnly,
    /// What theory does not cover of SSDs.
    Ssd(SsdRemark),
    /// The mean in milliseconds by the interpolation of Varma and Makowski.
    VarmaMakowski(f64),
}

/// What theory does not cover of servers whose services follow a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRemark {
    /// There is theory for one class of Poisson arrivals, each at one server or at all.
    Load,
    /// The join of requests that go to all servers.
    Join,
    /// Only the mean is computed.
    MeanOnly,
    /// The services have no finite variance, so the mean wait is infinite.
    InfiniteVariance,
}

/// What theory does not cover of SSDs, and what the answers leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SsdRemark {
    /// Stages that overlap.
    Stages,
    /// SSDs that take one request at a time.
    SplitMerge,
    /// This load of SSDs with exponential services.
    Load,
    /// The join of SSDs with bulk service.
    BulkJoin,
    /// The times of an SSD's driver, bus and controller are left out, and how blocks go through its ring.
    Times,
    /// Of bulk service only the mean is known.
    BulkMeanOnly,
    /// Of the join of exponential stations only the mean is known.
    JoinMeanOnly,
}

/// The law of an access to a disk.
#[derive(Clone, Debug)]
pub struct ServiceTheory {
    /// Whether it writes.
    pub writes: bool,
    /// How much.
    pub sectors: u32,
    /// Seek, rotation and transfer, in milliseconds.
    pub law: ServiceLaw,
}

/// A station under its load.
#[derive(Clone, Debug, PartialEq)]
pub struct StationTheory {
    /// Its name.
    pub station: String,
    /// Visits of requests per second.
    pub visits_per_s: f64,
    /// The mean service of a visit, all its accesses together.
    pub mean_service_ms: f64,
    /// The squared coefficient of variation of that.
    pub scv: f64,
    /// The share of its capacity that is used, which is the offered load.
    pub utilisation: f64,
    /// The share of the time that it is not idle: that a visit is there, in service or waiting.
    pub busy: f64,
    /// The mean wait of a visit; NaN where there is no theory for it.
    pub mean_wait_ms: f64,
}

/// What is known of response times, in milliseconds.
#[derive(Clone, Debug)]
pub enum ResponseTime {
    /// The mean only.
    Mean(f64),
    /// The distribution on a grid.
    Table(Table),
    /// A single queue whose transform can be inverted, and its distribution on a grid for curves.
    Queue(Box<Mg1>, Table),
}

/// The response time of requests, as one solver has it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What it is.
    pub value: ResponseTime,
    /// How far it can be relied on.
    pub standing: Standing,
    /// How it was found.
    pub how: How,
    /// How far an approximation was off where it was compared with simulations; `None` of what was not.
    pub accuracy: Option<Accuracy>,
}

impl Answer {
    fn of(standing: Standing, how: How, value: ResponseTime) -> Self {
        Self {
            value,
            standing,
            how,
            accuracy: None,
        }
    }

    /// The mean in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        match &self.value {
            ResponseTime::Mean(mean) => *mean,
            ResponseTime::Table(table) => table.mean(),
            ResponseTime::Queue(queue, _) => queue.mean_response(),
        }
    }

    /// The distribution on a grid; `None` where only the mean is known.
    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            ResponseTime::Mean(_) => None,
            ResponseTime::Table(table) | ResponseTime::Queue(_, table) => Some(table),
        }
    }

    /// The probability of a response of at most `ms` milliseconds; NaN where the distribution is not known.
    pub fn within_ms(&self, ms: f64) -> f64 {
        match &self.value {
            ResponseTime::Mean(_) => f64::NAN,
            ResponseTime::Table(table) => table.within(ms),
            ResponseTime::Queue(queue, _) => queue.response_within(ms),
        }
    }

    /// The variance in square milliseconds; `None` where only the mean is known.
    pub fn variance_ms2(&self) -> Option<f64> {
        match &self.value {
            ResponseTime::Mean(_) => None,
            ResponseTime::Table(table) => Some(table.variance()),
            ResponseTime::Queue(queue, _) => Some(queue.variance_of_response()),
        }
    }

    /// A quantile in milliseconds; NaN where the distribution is not known.
    pub fn quantile_ms(&self, p: f64) -> f64 {
        match &self.value {
            ResponseTime::Mean(_) => f64::NAN,
            ResponseTime::Table(table) => table.quantile(p),
            ResponseTime::Queue(queue, _) => queue.response_quantile(p),
        }
    }
}

/// Which requests an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// A request that meets no other.
    Alone,
    /// Requests under the load of the scenario.
    UnderLoad,
    /// The same, if the disks of a request were independent.
    IfIndependent,
}

impl Regime {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::UnderLoad => "under load",
            Self::IfIndependent => "if independent",
        }
    }
}

/// What theory says.
#[derive(Clone, Debug, Default)]
pub struct Theory {
    /// The services of the accesses that there are.
    pub services: Vec<ServiceTheory>,
    /// The stations.
    pub stations: Vec<StationTheory>,
    /// The zero-load response time: of a request that meets no other.
    pub alone: Option<Answer>,
    /// The response time under the load.
    pub response: Option<Answer>,
    /// The same, if the disks of a request were independent, where it goes to several.
    pub independent: Option<Answer>,
    /// The mean response time is not less than this.
    pub lower_bound_ms: Option<f64>,
    /// ... and not more.
    pub upper_bound_ms: Option<f64>,
    /// The rate of requests below which no queue grows for ever.
    pub capacity_per_s: Option<f64>,
    /// If more is offered than can be done: how much, as a share of what can.
    pub unstable: Option<f64>,
    /// What theory does not cover, and what the answers leave out.
    pub remarks: Vec<TheoryRemark>,
}

impl Theory {
    /// The answers that there are.
    pub fn answers(&self) -> impl Iterator<Item = (Regime, &Answer)> {
        let all = [
            (Regime::Alone, &self.alone),
            (Regime::UnderLoad, &self.response),
            (Regime::IfIndependent, &self.independent),
        ];
        all.into_iter()
            .filter_map(|(regime, answer)| Some((regime, answer.as_ref()?)))
    }

    /// Nothing but this.
    fn only(remark: TheoryRemark) -> Self {
        Self::default().with(remark)
    }

    fn with(mut self, remark: TheoryRemark) -> Self {
        self.remarks.push(remark);
        self
    }

    /// The same where the computation of an answer failed.
    fn failed(self, error: AnalyticError) -> Self {
        match error {
            AnalyticError::Unstable { offered } => Self {
                unstable: Some(offered),
                ..self
            },
            other => self.with(TheoryRemark::Failed(other)),
        }
    }

    /// Something that takes time, or saves it, is left out, as the remark says: nothing is exact, a bound, or as far
    /// off as it was where it was measured.
    fn without(self, left_out: TheoryRemark) -> Self {
        let approximate = |answer: Answer| Answer {
            standing: Standing::Approximation,
            accuracy: None,
            ..answer
        };
        Self {
            alone: self.alone.map(approximate),
            response: self.response.map(approximate),
            independent: self.independent.map(approximate),
            lower_bound_ms: None,
            upper_bound_ms: None,
            capacity_per_s: None,
            ..self
        }
        .with(left_out)
    }
}

impl Prepared {
    /// What theory can say about this scenario. It does not fail: what cannot be said is among the remarks.
    pub fn theory(&self) -> Theory {
        let mut theory = match (&self.load, &self.array.devices) {
            (LoadModel::Trace { .. }, _) => Theory::only(TheoryRemark::Trace),
            _ if !self.array.events.is_empty() => Theory::only(TheoryRemark::Events),
            (_, Devices::Servers(servers)) => servers::answer(self, servers),
            (_, Devices::Registered(_)) => Theory::only(TheoryRemark::Registered),
            _ if matches!(self.array.level, crate::LevelOptions::Registered(_)) => {
                Theory::only(TheoryRemark::Registered)
            }
            (_, Devices::Ssds(ssds)) => ssd::answer(self, ssds),
            (_, Devices::Disks(disks)) => match disks.model {
                DiskModel::Positional(_) => Theory::only(TheoryRemark::Positional),
                DiskModel::Sampled(scheduler) => array::answer(self, disks, scheduler),
            },
        };
        if !self.array.controller.is_immediate() {
            theory = theory.without(TheoryRemark::Controller);
        }
        // Several classes may have the same to say.
        let all = std::mem::take(&mut theory.remarks);
        for remark in all {
            if !theory.remarks.contains(&remark) {
                theory.remarks.push(remark);
            }
        }
        theory
    }
}
