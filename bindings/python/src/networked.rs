//! What theory says of networked systems.

use std::sync::Arc;

use iosonar::scenario::networked::{ClassAnalysis, NetworkAnalysis, NetworkedRaid, StationDemand};
use iosonar::scenario::{Overrides, ScenarioError};
use iosonar::stats::metric::MetricUnit;
use iosonar::stats::{Labels, Output};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::error::refused;
use crate::interruptible::interruptible;
use crate::source::Source;
use crate::value::of_json;

fn demands(of: &[StationDemand]) -> Value {
    let of = of.iter();
    let all = of.map(|of| (of.station.clone(), json!(of.seconds)));
    Value::Object(all.collect::<Map<_, _>>())
}

fn of_one(system: &NetworkedRaid, of: &NetworkAnalysis) -> Value {
    let points = of.points.iter().map(|point| {
        json!({
            "jobs": point.jobs,
            "response": point.response_s,
            "throughput": point.throughput_per_s,
            "schweitzer": point.schweitzer_s,
            "fork_join": point.fork_join_s,
            "asymptotic": [point.asymptotic.lower, point.asymptotic.upper],
            "balanced": [point.balanced.lower, point.balanced.upper],
        })
    });
    json!({
        "system": system.headline(),
        "demands": demands(&of.stations),
        "bottleneck": of.bottleneck.station,
        "knee": of.knee,
        "points": points.collect::<Vec<_>>(),
        "classes": {},
    })
}

fn of_several(system: &NetworkedRaid, all: &[ClassAnalysis]) -> Value {
    let classes = all.iter().map(|class| {
        let value = json!({
            "jobs": class.jobs,
            "response": class.response_s,
            "throughput": class.throughput_per_s,
            "schweitzer": class.schweitzer_s,
            "is_exact": class.is_exact,
            "demands": demands(&class.stations),
        });
        (class.name.clone(), value)
    });
    json!({
        "system": system.headline(),
        "demands": {},
        "bottleneck": null,
        "knee": null,
        "points": [],
        "classes": Value::Object(classes.collect::<Map<_, _>>()),
    })
}

/// The figures, and what `iosonar model --json` says without simulations.
fn analysed(system: &NetworkedRaid) -> Result<(Value, String), String> {
    let mut output = Output::new("model");
    output.set("system", json!(system.headline()));
    if system.classes.len() > 1 {
        let all = system.analyse_classes().map_err(|e| e.to_string())?;
        for class in &all {
            let labels = Labels::of("class", &class.name)
                .with("jobs", class.jobs)
                .with("exact", class.is_exact);
            for (name, unit, value) in [
                ("response_time", MetricUnit::Seconds, class.response_s),
                (
                    "response_time_schweitzer",
                    MetricUnit::Seconds,
                    class.schweitzer_s,
                ),
                ("throughput", MetricUnit::PerSecond, class.throughput_per_s),
            ] {
                output.figure(name, &labels, unit, value);
            }
        }
        return Ok((of_several(system, &all), output.text()));
    }
    let analysis = system.analyse().map_err(|e| e.to_string())?;
    let most = system.most_jobs();
    let elasticities = system.elasticities(most).map_err(|e| e.to_string())?;
    output.set("bottleneck", json!(analysis.bottleneck.station));
    output.set("knee_jobs", json!(analysis.knee));
    output.metrics(analysis.metrics());
    output.metrics(elasticities.iter().flat_map(|e| e.metrics(most)));
    Ok((of_one(system, &analysis), output.text()))
}

/// What theory says of a networked system.
pub(crate) fn model<'py>(
    py: Python<'py>,
    source: &Source,
    overrides: Overrides,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let (text, path) = (source.text.clone(), source.path.clone());
    let work = move || -> Result<_, ScenarioError> {
        let system = NetworkedRaid::from_toml(&text, &path, &overrides)?;
        Ok(analysed(&system))
    };
    let found = interruptible(py, &Arc::default(), work)?;
    let found = found.map_err(|error| source.raised(error))?;
    let (mut figures, json) =
        found.map_err(|problem| refused(format!("{}: {problem}", source.path.display())))?;
    figures["networked"] = json!(true);
    figures["name"] = json!(source.name);
    Ok((of_json(py, &figures)?, json))
}
