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
//! - [`disk`]: the service of a zoned disk;
//! - [`Simulation::theory`]: everything together, with what it rests on and where there is no theory.

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
mod ssd;
mod waits;
mod writes;

use iosonar_analytic::open::Mg1;
use iosonar_analytic::{Law, Table};

pub use accuracy::{Accuracy, Family};

use crate::resolve::{Load, Simulation};
use crate::{Devices, DiskModel};

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
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::UpperBound => "upper bound",
            Self::Approximation => "approximation",
        }
    }
}

/// The law of an access to a disk.
#[derive(Clone, Debug)]
pub struct ServiceTheory {
    /// Whether it writes.
    pub writes: bool,
    /// How much.
    pub sectors: u32,
    /// Seek, rotation and transfer, in milliseconds.
    pub law: Law,
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

/// The response time of requests.
#[derive(Clone, Debug)]
pub struct ResponseTheory {
    /// How far it can be relied on.
    pub standing: Standing,
    /// What it rests on.
    pub how: &'static str,
    /// The mean.
    pub mean_ms: f64,
    /// The distribution; `None` where only the mean is known.
    pub table: Option<Table>,
    /// The queue whose transform can be inverted, where it is a single one: its quantiles are preferred.
    pub inverted: Option<Mg1>,
    /// How far an approximation was off where it was compared with simulations; `None` of what was not.
    pub accuracy: Option<Accuracy>,
}

impl ResponseTheory {
    fn of(standing: Standing, how: &'static str, table: Table) -> Self {
        Self {
            standing,
            how,
            mean_ms: table.mean(),
            table: Some(table),
            inverted: None,
            accuracy: None,
        }
    }

    /// The probability of a response of at most `ms` milliseconds; NaN where the distribution is not known.
    pub fn within_ms(&self, ms: f64) -> f64 {
        match (&self.inverted, &self.table) {
            (Some(queue), _) => queue.response_within(ms),
            (None, Some(table)) => table.within(ms),
            (None, None) => f64::NAN,
        }
    }

    /// The variance in square milliseconds; `None` where only the mean is known.
    pub fn variance_ms2(&self) -> Option<f64> {
        match (&self.inverted, &self.table) {
            (Some(queue), _) => Some(queue.variance_of_response()),
            (None, Some(table)) => Some(table.variance()),
            (None, None) => None,
        }
    }

    /// A quantile in milliseconds; NaN where the distribution is not known.
    pub fn quantile_ms(&self, p: f64) -> f64 {
        match (&self.inverted, &self.table) {
            (Some(queue), _) => queue.response_quantile(p),
            (None, Some(table)) => table.quantile(p),
            (None, None) => f64::NAN,
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
    /// The zero-load response time: of a request that meets nobody.
    pub alone: Option<ResponseTheory>,
    /// The response time under the load.
    pub response: Option<ResponseTheory>,
    /// The same, if the disks of a request were independent, where it goes to several.
    pub independent: Option<ResponseTheory>,
    /// The mean response time is not less than this.
    pub lower_bound_ms: Option<f64>,
    /// ... and not more.
    pub upper_bound_ms: Option<f64>,
    /// The rate of requests below which no queue grows for ever.
    pub capacity_per_s: Option<f64>,
    /// If more is offered than can be done: how much, as a share of what can.
    pub unstable: Option<f64>,
    /// What there is no theory for, and what the answers leave out.
    pub remarks: Vec<String>,
}

impl Theory {
    fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Something that takes time, or saves it, is left out, as the remark says: nothing is exact, a bound, or as far
    /// off as it was where it was measured.
    fn leave_out(&mut self, remark: &str) {
        self.remark(remark);
        for answer in [&mut self.alone, &mut self.response, &mut self.independent]
            .into_iter()
            .flatten()
        {
            answer.standing = Standing::Approximation;
            answer.accuracy = None;
        }
        (self.lower_bound_ms, self.upper_bound_ms) = (None, None);
        self.capacity_per_s = None;
    }
}

impl Simulation {
    /// What theory can say about this scenario. It does not fail: what cannot be said is among the remarks.
    pub fn theory(&self) -> Theory {
        let mut theory = Theory::default();
        match (&self.load, &self.array.devices) {
            (Load::Trace { .. }, _) => theory.remark(
                "no theory for a trace: it asks for laws of arrivals; fit them with 'generate like', or \
                 simulate",
            ),
            (_, Devices::Ssds(ssds)) => ssd::answer(self, ssds, &mut theory),
            (_, Devices::Disks(disks)) => match disks.model {
                DiskModel::Positional(_) => theory.remark(
                    "no theory for positional disks: where the arm is depends on what came before; with \
                     disk.model = \"sampled\" there is",
                ),
                DiskModel::Sampled(scheduler) => {
                    array::answer(self, disks, scheduler, &mut theory);
                }
            },
        }
        if !self.array.controller.is_immediate() {
            theory.leave_out(
                "no theory for the controller's times, its bus and its cache: they are left out",
            );
        }
        theory
    }
}
