//! Capacity planning: how much is possible under a target.
//!
//! Theory says where to look, simulation confirms: a load *meets* the target if the 95 % confidence interval
//! of what was simulated lies on the right side of it, *misses* it if it lies on the wrong side, and is *unclear*
//! if the target lies within. The answer is the largest load that meets it (or the fewest devices), and
//! beside it the nearest one that does not.

mod answer;
mod charts;
mod growth;
mod search;
mod subject;
mod varied;

pub use answer::{Answer, Find, PlanSpec, Sought, load_text, plan_network, plan_scenario};
pub use charts::chart;
pub use growth::GrowingLoad;
pub use search::{fewest, highest, most};
pub use subject::{ArraySubject, NetworkSubject, Simulated, Subject};
pub use varied::{Planned, best_of, plan_varied};

use iosonar_analysis::objective::{Attained, Judgement, Objective};
use iosonar_scenario::ScenarioError;

/// A load that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Requests per second, disks, or jobs.
    pub load: f64,
    /// What theory says of the metric, in the target's unit; `None` where it does not know.
    pub theory: Option<f64>,
    /// What was simulated; `None` if it is unstable, or was given up as it certainly fails.
    pub simulated: Option<Attained>,
    /// What this means.
    pub verdict: Judgement,
    /// Whether flash was written and never cleaned: a drive that is fuller is slower.
    pub not_cleaned: bool,
}

impl Point {
    /// Whether the runs were ended early, as they certainly failed.
    pub fn is_given_up(&self) -> bool {
        self.simulated.is_none() && self.verdict == Judgement::Misses
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best load that meets the target.
    pub best: Option<Point>,
    /// The nearest one that does not.
    pub next: Option<Point>,
    /// What theory alone says.
    pub by_theory: Option<f64>,
    /// All that was simulated, by load.
    pub points: Vec<Point>,
}

impl Found {
    fn add(&mut self, point: Point) {
        let at = self.points.partition_point(|p| p.load < point.load);
        self.points.insert(at, point);
    }

    fn of(&self, load: f64) -> Option<&Point> {
        self.points.iter().find(|p| p.load == load)
    }
}

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A search that does not fit the scenario.
    #[error("{0}")]
    DoesNotFit(String),
    /// Already a request that meets no other takes this long, in milliseconds, which is too long.
    #[error("a request that meets no other takes {ms} ms already")]
    AboveAlone {
        /// How long.
        ms: f64,
    },
    /// The best possible value does not keep to the objective.
    #[error("the best possible is {best}")]
    OutOfReach {
        /// In the objective's unit.
        best: f64,
    },
    /// The target is about requests that the load does not have.
    #[error("target '{target}': the load has no {}", target.requests.name())]
    NoSuchRequests {
        /// The target.
        target: Objective,
    },
    /// A scenario that means nothing.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}
