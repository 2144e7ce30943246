//! The same scenarios with other values: all combinations, as curves, distributions and CSV.
//!
//! ```text
//!   keys and values -> combinations -> points -> drawing -> picture
//!                                        |          |
//!                                       CSV        CSV
//! ```

mod drawing;
mod figure;
mod found;
mod labels;
mod roles;
mod subject;
mod tables;

use iosonar_analysis::objective::Objective;
use iosonar_scenario::{NoSteadyState, Outputs, Prepared, ScenarioError, SimulationResult};
use iosonar_stats::Labels;
use iosonar_units::magnitude;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

pub use drawing::{Drawing, Picture};
pub use figure::{Curves, CurvesError, Over, Shown};
pub use found::{Found, Quantile, Times};
pub use roles::{MOST_CURVES, MOST_PANELS, Roles, RolesError};

/// As many combinations take minutes; more are a study.
pub const MOST_POINTS: usize = 10_000;

/// A key, and the values that it has one after the other.
pub type Key = (String, Vec<String>);

/// A combination of values of one scenario.
#[derive(Debug)]
pub struct Point {
    /// The name of the scenario.
    pub name: String,
    /// The values, in the order of the keys.
    pub values: Vec<String>,
    /// What was simulated, in words.
    array: String,
    /// What came out, or why nothing did.
    pub result: Result<Box<Found>, NoSteadyState>,
}

/// What of each simulation is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Also of what has no steady state.
    pub unstable: bool,
    /// What curves show.
    pub curves: Option<Curves>,
    /// What theory says of that.
    pub theory: bool,
    /// The distribution function of the response times.
    pub distributions: bool,
    /// These are judged.
    pub targets: Vec<Objective>,
}

/// Scenarios with all combinations of values.
#[derive(Debug)]
pub struct Varied {
    /// The names of the scenarios.
    pub scenarios: Vec<String>,
    /// The keys; the first changes fastest.
    pub keys: Vec<Key>,
    /// What was judged at each point.
    pub targets: Vec<Objective>,
    /// The points.
    pub points: Vec<Point>,
}

/// The result of a simulation with one thread, or why it has no steady state; unless `unstable` is wanted it is not begun
/// then.
pub(crate) fn steady(
    simulation: &Prepared,
    unstable: bool,
) -> Result<Result<SimulationResult, NoSteadyState>, ScenarioError> {
    let (outputs, watch) = (Outputs::default(), simulation.watch());
    match unstable {
        true => Ok(simulation.run_watched(1, outputs, &watch)?.if_served()),
        false => simulation.run_steady(1, outputs, &watch),
    }
}

/// Simulates scenarios with their names and the values of the keys, in the thread pool that it is called in; calls
/// `done` after each.
///
/// # Errors
/// If one cannot be simulated.
pub fn simulate(
    keys: &[Key],
    all: Vec<(String, Prepared, Vec<String>)>,
    wanted: &Wanted,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Point>, ScenarioError> {
    let point = |(name, simulation, values): (String, Prepared, Vec<String>)| {
        let labels = labels_of(keys, &name, &values);
        // What is not begun has no steady state.
        let result = steady(&simulation, wanted.unstable)?;
        let found = |result| Box::new(Found::of(&simulation, result, wanted, &labels));
        let result = result.map(found);
        done();
        Ok(Point {
            array: simulation.array().to_string(),
            result,
            name,
            values,
        })
    };
    all.into_par_iter().map(point).collect()
}

fn labels_of(keys: &[Key], name: &str, values: &[String]) -> Labels {
    let of_keys = keys.iter().zip(values);
    of_keys.fold(Labels::of("scenario", name), |labels, ((key, _), value)| {
        labels.with(key.clone(), value)
    })
}

impl Varied {
    /// The labels of a point's metrics: its scenario, and the value of each key.
    pub fn labels(&self, point: &Point) -> Labels {
        labels_of(&self.keys, &point.name, &point.values)
    }
}

/// Keys with their values in the order of their numbers, sizes or times; words stay in the order in which they were given.
pub fn in_order(keys: &[Key]) -> Vec<Key> {
    let sorted = |(key, values): &Key| {
        let mut values = values.clone();
        let at = |value: &String| magnitude(value).map(|(at, _)| at);
        if values.iter().all(|value| at(value).is_some()) {
            values.sort_by(|a, b| {
                at(a)
                    .partial_cmp(&at(b))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        (key.clone(), values)
    };
    keys.iter().map(sorted).collect()
}

/// How many combinations there are; more than can be counted are the most that can.
pub fn count(keys: &[Key]) -> usize {
    let values = keys.iter().map(|(_, values)| values.len());
    values.fold(1, usize::saturating_mul)
}

/// All combinations; the first key changes fastest.
pub fn combinations(vary: &[Key]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for (_, values) in vary.iter().rev() {
        let with = |tail: &Vec<String>| -> Vec<Vec<String>> {
            let join =
                |value: &String| std::iter::once(value.clone()).chain(tail.clone()).collect();
            values.iter().map(join).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}
