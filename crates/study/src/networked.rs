//! Networked systems: what was measured of them, other values of a key, charts and tables.

mod charts;
mod measured;

use std::path::Path;

use iosonar_analytic::AnalyticError;
use iosonar_scenario::networked::{
    ClassAnalysis, NetworkAnalysis, NetworkSimulation, NetworkedRaid,
};
use iosonar_scenario::{Overrides, ScenarioError};
use iosonar_units::{Column, Table};

pub use charts::{chart, chart_of_varied};
pub use measured::{MeasuredError, MeasuredPoint, measured};

/// A station's name; of a storage server that of all of them.
pub fn of_all(station: &str, servers: u32) -> String {
    match station.strip_prefix("storage/0/") {
        Some(part) if servers > 1 => format!("storage/*/{part} ({servers} identical)"),
        _ => station.to_owned(),
    }
}

/// The numbers of jobs that tables show: a few of each size, and those that were measured.
pub fn interesting(most: u32, measured: Option<&[MeasuredPoint]>) -> Vec<u32> {
    let mut all = vec![most];
    let mut power = 1;
    while power <= most {
        let steps = [1, 2, 5].map(|step: u32| power.saturating_mul(step));
        all.extend(steps.into_iter().filter(|&n| n <= most));
        power = power.saturating_mul(10);
    }
    let whole =
        |p: &MeasuredPoint| (p.jobs.fract() == 0.0 && p.jobs >= 1.0).then_some(p.jobs as u32);
    let points = measured.unwrap_or_default().iter();
    all.extend(points.filter_map(whole).filter(|&n| n <= most));
    all.sort_unstable();
    all.dedup();
    all
}

/// The analyses of a system with each value of a key, called `key = value`.
///
/// # Errors
/// If it makes no sense with one of the values, or cannot be analysed.
pub fn varied<E: From<ScenarioError>>(
    (text, path): (&str, &Path),
    overrides: &Overrides,
    (key, values): &(String, Vec<String>),
    refused: impl Fn(&AnalyticError) -> E,
) -> Result<Vec<(String, NetworkAnalysis)>, E> {
    let analyse = |value: &String| -> Result<(String, NetworkAnalysis), E> {
        let mut overrides = overrides.clone();
        overrides.set.push((key.clone(), value.clone()));
        let system = NetworkedRaid::from_toml(text, path, &overrides)?;
        let analysis = system.analyse().map_err(|e| refused(&e))?;
        Ok((format!("{key} = {value}"), analysis))
    };
    values.iter().map(analyse).collect()
}

/// The analysis as a table, a row for each number of jobs.
pub fn table(analysis: &NetworkAnalysis, simulated: &[NetworkSimulation]) -> Table {
    let numbers = "asymptotic_lower_s,asymptotic_upper_s,balanced_lower_s,balanced_upper_s,response_s,schweitzer_s,\
                   fork_join_s,throughput_per_s,simulated_s,simulated_stderr_s";
    let columns = [Column::counts("jobs")].into_iter();
    let mut table = Table::new(columns.chain(numbers.split(',').map(Column::numbers)));
    for point in &analysis.points {
        let of = simulated.iter().find(|s| s.jobs == point.jobs);
        table
            .row()
            .put(point.jobs)
            .put(point.asymptotic.lower)
            .put(point.asymptotic.upper)
            .put(point.balanced.lower)
            .put(point.balanced.upper)
            .put(point.response_s)
            .put(point.schweitzer_s)
            .put(point.fork_join_s)
            .put(point.throughput_per_s)
            .put(of.map(|s| s.response_s[0].mean))
            .put(of.map(|s| s.response_s[0].stderr));
    }
    table.with("table", "theory")
}

/// Several classes as a table, a row each.
pub fn table_of_classes(all: &[ClassAnalysis]) -> Table {
    let mut table = Table::new([
        Column::texts("class"),
        Column::counts("jobs"),
        Column::numbers("response_s"),
        Column::numbers("schweitzer_s"),
        Column::numbers("throughput_per_s"),
    ]);
    for class in all {
        table
            .row()
            .put(class.name.as_str())
            .put(class.jobs)
            .put(class.response_s)
            .put(class.schweitzer_s)
            .put(class.throughput_per_s);
    }
    table.with("table", "classes")
}
