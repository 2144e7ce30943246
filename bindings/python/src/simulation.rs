//! Simulations.

use std::sync::Arc;

use iosonar::plot::{Chart, Colour};
use iosonar::report::{Quantity, cdf_of, curve_with_band, show_quantiles};
use iosonar::scenario::{
    NoSteadyState, OutputFiles, Prepared, ScenarioError, SimulationResult, Watch,
};
use iosonar::stats::Labels;
use iosonar::stats::Output;
use iosonar::stats::metric::MetricUnit;
use iosonar::trace::Requests;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::error::{raised, refused};
use crate::estimates::{estimate, interval, known, positive, response_times};
use crate::figure::Figure;
use crate::interruptible::{interruptible, threads};
use crate::source::{Changes, Source};
use crate::trace::Trace;
use crate::value::of_json;

/// How a scenario is simulated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How<'py> {
    precision: Option<f64>,
    split: bool,
    unstable: bool,
    /// None, a Boolean, or a path.
    records: Bound<'py, PyAny>,
}

/// Simulates a scenario.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    changes: Changes<'_>,
    how: How<'_>,
) -> PyResult<Run> {
    let source = Source::of(scenario, changes.name.clone())?;
    let (overrides, trace) = changes.overrides()?;
    if how.precision.is_some() && changes.has_few_replications() {
        return Err(refused(
            "precision needs at least 10 replications to estimate the precision of the mean",
        ));
    }
    let mut simulation = source
        .prepared(py, &overrides)?
        .with_split(how.split)
        .with_precision(how.precision);
    if how.precision.is_some() && overrides.replications.is_none() {
        simulation = simulation.with_replications(10_000);
    }
    if !how.unstable {
        check_stability(py, &source, &simulation)?;
    }
    let records = Trace::for_records(&how.records)?;
    let simulation = Arc::new(simulation);
    let (to, shared) = (records.clone(), Arc::clone(&simulation));
    let watch = Watch::default();
    let stop = Arc::clone(&watch.stop);
    let threads = threads(changes.threads);
    let result = interruptible(py, &stop, move || {
        let headline = shared.headline();
        let files = OutputFiles {
            records: to.as_ref().map(Trace::path),
            headline: &headline,
            ..OutputFiles::default()
        };
        shared.run_into(threads, &files, &watch)
    })?;
    drop(trace);
    // Of a run that depends on its length, nothing has an interval.
    let result = simulation.assessed(result.map_err(|error| source.raised(error))?);
    if let Some(unserved) = &result.unserved {
        let text = format!(
            "{}: DEADLOCK: {} requests were never served: {}",
            source.name, unserved.requests, unserved.why
        );
        warn(py, &text)?;
    }
    Ok(Run {
        name: source.name,
        simulation,
        result: Arc::new(result),
        records,
    })
}

fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    // The caller of the caller: this is called by a function of the package.
    warnings.call_method1("warn", (text, py.get_type::<PyUserWarning>(), 3))?;
    Ok(())
}

/// Refuses what can only grow, and warns where that is not certain.
fn check_stability(py: Python<'_>, source: &Source, simulation: &Prepared) -> PyResult<()> {
    match py.detach(|| simulation.check_stability()) {
        Err(NoSteadyState::Unstable(offered)) => Err(raised(ScenarioError::Unstable {
            path: source.path.clone(),
            station: offered.station,
            offered: offered.lower,
        })),
        Ok(Some(offered)) => warn(
            py,
            &format!(
                "{}: may be unstable: the offered load of {} is {:.2} to {:.2} times its capacity; if the \
                 throughput stays below the arrival rate, the queue keeps growing",
                source.name, offered.station, offered.lower, offered.upper
            ),
        ),
        Ok(None) | Err(NoSteadyState::Deadlock(_)) => Ok(()),
    }
}

/// A simulation that has run.
#[pyclass(frozen, module = "iosonar._iosonar")]
pub(crate) struct Run {
    name: String,
    simulation: Arc<Prepared>,
    result: Arc<SimulationResult>,
    records: Option<Trace>,
}

impl Run {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The records, if they were kept.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.records.as_ref()
    }

    fn requests(name: &str) -> PyResult<Requests> {
        match name {
            "all" => Ok(Requests::All),
            "read" => Ok(Requests::Reads),
            "write" => Ok(Requests::Writes),
            other => Err(refused(format!(
                "requests are 'all', 'read' or 'write' (got '{other}')"
            ))),
        }
    }
}

#[pymethods]
impl Run {
    /// Every figure, as the fields of the data class.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let result = &self.result;
        let station = |i: usize| self.simulation.array().station(i);
        let by_station = |all: &[iosonar::stats::Estimate], unit: &str| {
            let all = all.iter().enumerate();
            let all = all.map(|(i, of)| (station(i), estimate(of, 1.0, unit)));
            Value::Object(all.collect::<Map<_, _>>())
        };
        let figures = json!({
            "name": self.name,
            "system": self.simulation.headline(),
            "seed": self.simulation.seed(),
            "replications": result.replications,
            "warmup_requests": result.warmup_requests,
            "requests": result.requests,
            "hash": result.hash.to_string(),
            "response_time": response_times(result, Requests::All),
            "reads": response_times(result, Requests::Reads),
            "writes": response_times(result, Requests::Writes),
            "throughput": estimate(&result.throughput_per_s, 1.0, "1/s"),
            "megabytes_per_second": estimate(&result.megabytes_per_s(), 1.0, "MB/s"),
            "in_system": estimate(&result.mean_in_system, 1.0, "1"),
            "utilisation": by_station(&result.utilisation, "1"),
            "queue_length": by_station(&result.mean_jobs, "1"),
            "unserved": result.unserved.as_ref().map_or(0, |of| of.requests),
            "failed": result.failed,
            "metrics": result.metrics(&self.name, &self.simulation),
            "elapsed_s": result.elapsed.as_secs_f64(),
        });
        of_json(py, &figures)
    }

    /// The records of the first replication, if they were kept.
    #[getter]
    fn records(&self) -> Option<Trace> {
        self.records.clone()
    }

    /// A quantile of response times with its 95 % interval; None where there are too few requests.
    fn quantile<'py>(
        &self,
        py: Python<'py>,
        p: f64,
        requests: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !(0.0..=1.0).contains(&p) {
            return Err(refused(format!(
                "a quantile must be from 0 to 1, such as 0.99 (got {p})"
            )));
        }
        let requests = Self::requests(requests)?;
        let of = self.result.quantile_of_ms(requests, p);
        if known(of.mean).is_none() {
            return Ok(py.None().into_bound(py));
        }
        let of = match self.result.quantile_interval_of_ms(requests, p) {
            Some(ends) => interval(&of, ends, 1.0, "ms"),
            None => positive(&of, 1.0, "ms"),
        };
        of_json(py, &of)
    }

    /// The distribution function: times in milliseconds, shares, and half widths of the 95 % band.
    fn cdf(&self) -> (Vec<f64>, Vec<f64>, Vec<Option<f64>>) {
        let band = self.result.band();
        (
            band.iter().map(|of| of.value.as_millis_f64()).collect(),
            band.iter().map(|of| of.share).collect(),
            band.iter().map(|of| known(of.half_width)).collect(),
        )
    }

    /// What `iosonar sim --json` says of it, as text.
    fn json(&self) -> String {
        let (result, simulation) = (&self.result, &self.simulation);
        let mut output = Output::new("sim");
        output.set("seed", json!(simulation.seed()));
        output.set("hash", json!(result.hash.to_string()));
        output.append(
            "scenarios",
            json!({
                "name": self.name,
                "seed": simulation.seed(),
                "replications": result.replications,
                "warmup_requests": result.warmup_requests,
                "hash": result.hash.to_string(),
                "system": simulation.headline(),
            }),
        );
        output.metrics(result.metrics(&self.name, simulation));
        let seconds = result.elapsed.as_secs_f64().max(1e-9);
        let labels = Labels::of("scenario", &self.name);
        for (name, n) in [
            ("requests_per_second", result.requests),
            ("events_per_second", result.events),
        ] {
            let rate = (n as f64 / seconds).floor();
            output.figure(name, &labels, MetricUnit::PerSecond, rate);
        }
        output.text()
    }
}

/// The distribution functions of simulations, with their 95 % bands.
pub(crate) fn distributions(runs: &[(String, PyRef<'_, Run>)]) -> Figure {
    let colours = || Colour::of_curves(runs.len());
    let curves = || runs.iter().zip(colours());
    let marks = curves().flat_map(|((name, run), colour)| {
        let result = &run.result;
        curve_with_band(name, &result.response_time, &result.band(), colour)
    });
    let title = match runs {
        [(name, _)] => format!("{name}: distribution of response times"),
        _ => "Distribution of response times".to_owned(),
    };
    let mut chart: Chart = cdf_of(&title, Quantity::ResponseTime, marks.collect());
    if let [(_, only)] = runs {
        chart.subtitle = only.simulation.headline();
    }
    let curves: Vec<_> = curves()
        .map(|((name, run), colour)| (name.as_str(), &run.result.response_time, colour))
        .collect();
    show_quantiles(&mut chart, &curves);
    Figure::of(vec![chart])
}
