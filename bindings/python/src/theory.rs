//! What theory says of a scenario.

use std::sync::Arc;

use iosonar::scenario::networked::NetworkedRaid;
use iosonar::scenario::theory::Answer;
use iosonar::stats::Output;
use iosonar::stats::metric::QUANTILES;
use iosonar::study::answered::Answered;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::estimates::known;
use crate::interruptible::interruptible;
use crate::networked;
use crate::source::{Changes, Source};
use crate::value::of_json;

/// Response times in milliseconds.
fn answer(of: &Answer) -> Value {
    let quantiles = QUANTILES.iter().filter_map(|&(_, p)| {
        let ms = known(of.quantile_ms(p))?;
        Some(json!([p, ms]))
    });
    json!({
        "standing": of.standing.name(),
        "method": iosonar::study::answered::how(of.how),
        "mean": known(of.mean_ms()),
        "sd": of.variance_ms2().and_then(|of| known(of.sqrt())),
        "quantiles": quantiles.collect::<Vec<_>>(),
    })
}

fn figures(of: &Answered) -> Value {
    let theory = &of.theory;
    let stations = theory.stations.iter().map(|station| {
        let value = json!({
            "utilisation": known(station.utilisation),
            "busy": known(station.busy),
            "visits_per_s": known(station.visits_per_s),
            "service": known(station.mean_service_ms),
            "wait": known(station.mean_wait_ms),
        });
        (station.station.clone(), value)
    });
    let remarks = theory.remarks.iter();
    json!({
        "name": of.name,
        "system": of.simulation.headline(),
        "response_time": theory.response.as_ref().map(answer),
        "alone": theory.alone.as_ref().map(answer),
        "independent": theory.independent.as_ref().map(answer),
        "lower_bound": theory.lower_bound_ms,
        "upper_bound": theory.upper_bound_ms,
        "capacity": theory.capacity_per_s,
        "stations": stations.collect::<Map<_, _>>(),
        "remarks": remarks.map(iosonar::study::answered::remark).collect::<Vec<_>>(),
        "metrics": theory.metrics(&of.name),
    })
}

/// What theory says of a scenario: its figures, and what `iosonar model --json` says.
#[pyfunction]
pub(crate) fn model<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    changes: Changes<'py>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let source = Source::of(scenario, changes.name.clone())?;
    let (overrides, trace) = changes.overrides()?;
    if NetworkedRaid::is_meant(&source.text) {
        return networked::model(py, &source, overrides);
    }
    let simulation = source.prepared(py, &overrides)?;
    let (name, path) = (source.name.clone(), source.path.clone());
    let answered = interruptible(py, &Arc::default(), move || {
        Answered::by_theory(&name, &path, simulation)
    })?;
    drop(trace);
    let answered = answered.map_err(|error| source.raised(error))?;
    let mut output = Output::new("model");
    let response = answered.theory.response.as_ref();
    output.append(
        "scenarios",
        json!({
            "name": answered.name,
            "system": answered.simulation.headline(),
            "standing": response.map(|r| r.standing.name()),
            "how": response.map(|r| iosonar::study::answered::how(r.how)),
        }),
    );
    output.metrics(answered.theory.metrics(&answered.name));
    Ok((of_json(py, &figures(&answered))?, output.text()))
}
