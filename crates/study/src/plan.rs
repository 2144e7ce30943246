//! Capacity planning: how much is possible under a target.
//!
//! Theory says where to look, simulation confirms: a load *meets* the target if the 95 % confidence interval
//! of what was simulated lies on the right side of it, *misses* it if it lies on the wrong side, and is *unclear*
//! if the target lies within. Of several targets the worst verdict counts. The answer is the largest load that meets
//! all of them (or the fewest devices), and beside it the nearest one that does not.

mod answer;
mod charts;
mod growth;
mod point;
mod search;
mod subject;
mod varied;

pub(crate) use answer::refuse_passing;
pub use answer::{
    Answer, Find, MOST, PlanSpec, Sought, load_text, plan_network, plan_prepared, plan_scenario,
};
pub use charts::chart;
pub use growth::{GrowBy, GrowingLoad};
pub use point::{Bound, Caveat, Found, Point, TargetOutcome};
pub use search::{fewest, highest, most};
pub use subject::{ArraySubject, LoadNotes, NetworkSubject, Simulated, Subject};
pub use varied::{Planned, best_of, plan_varied};

use iosonar_analysis::objective::Objective;
use iosonar_report::value_of;
use iosonar_scenario::ScenarioError;
use iosonar_units::Nanos;

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A search that does not fit the scenario.
    #[error("{0}")]
    DoesNotFit(String),
    /// Already a request that meets no other takes this long, in milliseconds, which is too long.
    #[error("even a request that never waits takes {ms} ms")]
    AboveAlone {
        /// The target.
        target: Objective,
        /// How long.
        ms: f64,
    },
    /// The best possible value does not keep to the target.
    #[error("the best possible is {best}")]
    OutOfReach {
        /// The target.
        target: Objective,
        /// In the objective's unit.
        best: f64,
    },
    /// The target is about requests that the load does not have.
    #[error("target '{target}': the load has no {}", target.requests.name())]
    NoSuchRequests {
        /// The target.
        target: Objective,
    },
    /// Only traces grow by copies.
    #[error(
        "only traces can be copied; instead, raise the arrival rate of a synthetic load, or the number of users of a \
         closed loop"
    )]
    CopiesOfNoTrace,
    /// A scenario that means nothing.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Why nothing can meet a target, in words.
pub fn why_never(error: &PlanError) -> String {
    match error {
        PlanError::AboveAlone { target, ms } => format!(
            "{target} cannot be met at any rate: even a request that never waits takes {}",
            Nanos::from_millis_f64(*ms)
        ),
        PlanError::OutOfReach { target, best } => format!(
            "{target} cannot be met with any number of jobs: the best possible is {}",
            value_of(target, *best)
        ),
        error => error.to_string(),
    }
}
