//! Which of several systems serves a load.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iosonar::scenario::{Overrides, System};
use iosonar::study::choose::{
    ChooseSpec, Conclusion, Considered, Evaluation, Growth, GrowthSpec, choose as choose_of,
};
use iosonar::study::plan::GrowBy;
use iosonar::trace::Requests;
use iosonar::units::with_causes;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::error::{raised, refused};
use crate::estimates::positive;
use crate::interruptible::{interruptible, threads};
use crate::plan::{point, targets_of};
use crate::source::Changes;
use crate::value::of_json;

/// What is to be chosen, and for what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choice {
    /// A scenario whose load is taken; None: the trace of the changes.
    scenario: Option<PathBuf>,
    candidates: Vec<String>,
    target: String,
    /// None, `speed` or `copies`.
    growth: Option<String>,
    within: f64,
    prices: Vec<(String, f64)>,
}

impl Choice {
    fn spec(&self, load: PathBuf, overrides: Overrides) -> PyResult<ChooseSpec> {
        let candidates = self.candidates.iter().map(|name| System::named(name));
        let candidates: Vec<System> = candidates.collect::<Result<_, _>>().map_err(raised)?;
        if candidates.is_empty() {
            return Err(refused("choose needs at least one candidate"));
        }
        for (i, candidate) in candidates.iter().enumerate() {
            if candidates[..i].iter().any(|of| of.name == candidate.name) {
                return Err(refused(format!("'{}' is given twice", candidate.name)));
            }
        }
        let by = match self.growth.as_deref() {
            None => None,
            Some("speed") => Some(GrowBy::Speed),
            Some("copies") => Some(GrowBy::Copies),
            Some(other) => {
                return Err(refused(format!(
                    "growth must be 'speed' or 'copies' (got '{other}')"
                )));
            }
        };
        if !(1e-4..=0.5).contains(&self.within) {
            return Err(refused(format!(
                "within must be from 0.0001 to 0.5 (got {})",
                self.within
            )));
        }
        Ok(ChooseSpec {
            load,
            candidates,
            targets: targets_of(&self.target)?.0,
            growth: by.map(|by| GrowthSpec {
                by,
                within: self.within,
            }),
            overrides,
            prices: self.prices.clone(),
        })
    }
}

/// The median and the 99th percentile of some requests.
fn quantiles(of: &Evaluation, requests: Requests) -> Value {
    let all = [0.5, 0.99].into_iter();
    let all = all.filter_map(|p| {
        Some(json!([
            p,
            positive(&of.quantile_ms(requests, p)?, 1.0, "ms")
        ]))
    });
    Value::Array(all.collect())
}

fn growth(of: &Growth, spec: &ChooseSpec) -> Value {
    let missed = of.missed_first().map(|i| spec.targets[i].to_string());
    json!({
        "factor": of.factor(),
        "is_at_least": of.is_at_least(),
        "breaks_at": of.breaks_at(),
        "ruled_out": of.found.ruled_out(),
        "missed_first": missed,
    })
}

fn candidate(of: &Considered, spec: &ChooseSpec) -> Value {
    let mut figures = Map::new();
    let mut set = |key: &str, value: Value| figures.insert(key.to_owned(), value);
    set("name", json!(of.name));
    set("price", json!(of.price));
    let outcome = match &of.outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            set("verdict", json!("cannot be simulated"));
            set("why", json!(with_causes(error)));
            return Value::Object(figures);
        }
    };
    let busiest = outcome.busiest();
    let station = busiest.map(|(device, _)| outcome.simulation.array().station(device));
    set("verdict", json!(outcome.verdict().name()));
    set("now", point(&outcome.now, &spec.targets));
    set("capacity_bytes", json!(outcome.capacity.get()));
    set("reads", quantiles(outcome, Requests::Reads));
    set("writes", quantiles(outcome, Requests::Writes));
    set("busiest", json!(station));
    set("utilisation", json!(busiest.map(|(_, share)| share)));
    set(
        "growth",
        json!(outcome.growth.as_ref().map(|of| growth(of, spec))),
    );
    Value::Object(figures)
}

/// Considers candidates for a load: the figures of all, and which of them to take.
#[pyfunction]
pub(crate) fn choose<'py>(
    py: Python<'py>,
    choice: Choice,
    changes: Changes<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let (mut overrides, trace) = changes.overrides()?;
    let load = choice.scenario.clone().or_else(|| overrides.trace.take());
    let load =
        load.ok_or_else(|| refused("choose needs a trace or a scenario file as its load"))?;
    let stop: Arc<AtomicBool> = Arc::default();
    overrides.stop = Arc::clone(&stop);
    let spec = Arc::new(choice.spec(load, overrides)?);
    let (shared, threads) = (Arc::clone(&spec), threads(changes.threads));
    let all = interruptible(py, &stop, move || choose_of(&shared, threads, &|_| {}))?;
    drop(trace);
    let all = all.map_err(raised)?;
    let conclusion = Conclusion::of(&all, &spec.targets[0]);
    let names = |of: &[usize]| of.iter().map(|&i| all[i].name.clone()).collect::<Vec<_>>();
    let candidates = all.iter().map(|of| candidate(of, &spec));
    let figures = json!({
        "target": choice.target,
        "candidates": candidates.collect::<Vec<_>>(),
        "meet": names(&conclusion.meet),
        "unclear": names(&conclusion.unclear),
        "miss": names(&conclusion.miss),
        "unknown": names(&conclusion.unknown),
    });
    of_json(py, &figures)
}
