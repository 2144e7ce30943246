//! Scenarios with what theory says of them, beside what was simulated and measured.

mod words;

use std::path::{Path, PathBuf};

use iosonar_plot::{Chart, Colour, Line, Mark, significant};
use iosonar_report::{cdf_of, curve, curve_with_band, show_quantiles};
use iosonar_scenario::theory::{Answer, Regime, Theory};
use iosonar_scenario::{LoadModel, Prepared, ScenarioError, SimulationResult};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Distribution, Labels, Metric};
use iosonar_trace::{Batch, Quantity, TraceError, input};
use iosonar_units::{Column, Table};

pub use words::{family, how, remark};

/// The quantiles of tables, with their names.
pub const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// A scenario with its answers.
#[derive(Debug)]
pub struct Answered {
    /// Its name.
    pub name: String,
    /// The scenario.
    pub simulation: Prepared,
    /// What theory says.
    pub theory: Theory,
    /// What was simulated, where that is asked for.
    pub result: Option<SimulationResult>,
}

impl Answered {
    /// A scenario with what theory says of it; `path` is for messages.
    ///
    /// # Errors
    /// If it is unstable.
    pub fn by_theory(name: &str, path: &Path, simulation: Prepared) -> Result<Self, ScenarioError> {
        let theory = simulation.theory();
        if let Some(offered) = theory.unstable {
            let most = theory.capacity_per_s.unwrap_or(f64::NAN);
            return Err(ScenarioError::Incomplete {
                path: path.to_owned(),
                problem: format!(
                    "unstable: the offered load of the busiest station is {offered:.3} times its capacity, so the \
                     queue keeps growing; the system is stable below {} requests/s",
                    significant(most, 3)
                ),
            });
        }
        Ok(Self {
            name: name.to_owned(),
            simulation,
            theory,
            result: None,
        })
    }

    /// The answers of theory that a simulation of the scenario is compared with.
    pub fn compared(&self) -> impl Iterator<Item = (Regime, &Answer)> {
        let is_alone = matches!(self.simulation.load(), LoadModel::Alone { .. });
        let answers = self.theory.answers();
        answers.filter(move |(regime, _)| is_alone || *regime != Regime::Alone)
    }

    /// How far theory is from the simulation, as shares of what was simulated: the mean and [`QUANTILES`] of each answer.
    pub fn errors(&self) -> Vec<Metric> {
        let Some(result) = &self.result else {
            return Vec::new();
        };
        let mut metrics = Vec::new();
        for (regime, of) in self.compared() {
            let labels = Labels::of("scenario", &self.name).with("of", regime.name());
            let mut push = |which: &'static str, theory: f64, simulated: f64| {
                let (labels, error) = (labels.with("figure", which), theory / simulated - 1.0);
                metrics.push(Metric::figure("error", &labels, MetricUnit::One, error));
            };
            push("mean", of.mean_ms(), result.mean_ms.mean);
            for (name, p) in QUANTILES {
                push(name, of.quantile_ms(p), result.quantile_ms(p).mean);
            }
        }
        metrics
    }
}

/// Why recorded response times are not known.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No request has a response time.
    #[error("{}: the requests have no response times", .0.display())]
    NothingMeasured(PathBuf),
}

/// The response times of recorded requests, with the name of their file.
///
/// # Errors
/// If the trace is damaged, or holds no response times.
pub fn recorded(path: &Path) -> Result<(String, Distribution), RecordedError> {
    let mut reader = input::open(path)?;
    let (mut batch, mut all) = (Batch::default(), Distribution::default());
    while reader.next_batch(&mut batch)? > 0 {
        for record in batch.records() {
            // How long a failure took is no response time.
            let outcome = &record.outcome;
            if let (true, Some(time)) = (outcome.status.is_timed(), outcome.response_time()) {
                all.push(time);
            }
        }
    }
    if all.count() == 0 {
        return Err(RecordedError::NothingMeasured(path.to_owned()));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok((name.into_owned(), all))
}

/// Theory and simulation as a table, a row for each scenario.
pub fn table(all: &[Answered]) -> Table {
    let numbers = "mean_ms,p50_ms,p90_ms,p95_ms,p99_ms,p999_ms,independent_mean_ms,independent_p99_ms,lower_bound_ms,\
                   upper_bound_ms,capacity_per_s,simulated_mean_ms,simulated_mean_stderr_ms,simulated_p50_ms,\
                   simulated_p90_ms,simulated_p95_ms,simulated_p99_ms,simulated_p999_ms";
    let columns = ["scenario", "standing"].map(Column::texts).into_iter();
    let columns = columns.chain(numbers.split(',').map(Column::numbers));
    let mut table = Table::new(columns).with("table", "theory");
    for Answered {
        name,
        theory,
        result,
        ..
    } in all
    {
        let response = theory.response.as_ref();
        let independent = theory.independent.as_ref();
        let result = result.as_ref();
        table
            .row()
            .put(name.as_str())
            .put(response.map(|r| r.standing.name()))
            .put(response.map(Answer::mean_ms))
            .put_all(QUANTILES.map(|(_, p)| response.map(|r| r.quantile_ms(p))))
            .put(independent.map(Answer::mean_ms))
            .put(independent.map(|r| r.quantile_ms(0.99)))
            .put(theory.lower_bound_ms)
            .put(theory.upper_bound_ms)
            .put(theory.capacity_per_s)
            .put(result.map(|r| r.mean_ms.mean))
            .put(result.map(|r| r.mean_ms.stderr))
            .put_all(QUANTILES.map(|(_, p)| result.map(|r| r.quantile_ms(p).mean)));
    }
    table
}

/// The distribution function of a response time as a curve, in seconds.
fn line(label: &str, of: &Answer, colour: Colour) -> Option<Line> {
    let table = of.table()?;
    let values = table.values();
    // A few hundred points are as many as can be seen.
    let every = (values.len() / 800).max(1);
    let from = values.partition_point(|&v| v < 1e-4).max(1);
    let indices = (from..values.len()).step_by(every);
    let points = indices.map(|i| (i as f64 * table.step() / 1e3, values[i]));
    let points: Vec<(f64, f64)> = points.take_while(|p| p.1 < 0.999_95).collect();
    Some(Line::new(label, colour, points).dashed())
}

/// The distributions of response times; `None` if none is known.
pub fn chart(all: &[Answered], measured: Option<&(String, Distribution)>) -> Option<Chart> {
    let (mut marks, mut notes) = (Vec::new(), Vec::new());
    let mut known: Vec<(String, &Distribution, Colour)> = Vec::new();
    for (i, answered) in all.iter().enumerate() {
        let prefix = match all.len() {
            1 => String::new(),
            _ => format!("{}: ", answered.name),
        };
        if let Some(result) = &answered.result {
            let name = format!("{prefix}simulated");
            let (of, colour) = (&result.response_time, Colour::Curve(2 * i));
            marks.extend(curve_with_band(&name, of, &result.band(), colour));
            known.push((name, of, colour));
        }
        let theory = &answered.theory;
        if let Some(of) = &theory.response {
            let label = format!("{prefix}theory ({})", of.standing.name());
            let colour = Colour::Curve(2 * i + usize::from(answered.result.is_some()));
            match line(&label, of, colour) {
                Some(line) => marks.push(Mark::Line(line)),
                None => notes.push(format!("{prefix}theory gives only the mean")),
            }
        }
        let label = format!("{prefix}if disks were independent");
        if all.len() == 1
            && let Some(of) = &theory.independent
        {
            marks.extend(line(&label, of, Colour::Muted).map(Mark::Line));
        }
    }
    if let Some((name, distribution)) = measured {
        let colour = Colour::Curve(2 * all.len() + 1);
        marks.push(Mark::Line(curve(name, distribution, colour)));
        known.push((name.clone(), distribution, colour));
    }
    let mut chart = cdf_of(
        "Response times: theory and simulation",
        Quantity::ResponseTime,
        marks,
    );
    if let [only] = all {
        chart.title = format!("{}: response times", only.name);
    }
    chart.notes = notes;
    let known = known
        .iter()
        .map(|(name, of, colour)| (name.as_str(), *of, *colour));
    show_quantiles(&mut chart, &known.collect::<Vec<_>>());
    (!chart.is_empty()).then_some(chart)
}
