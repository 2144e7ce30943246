//! The highest load, or the fewest devices, that meets targets.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iosonar::analysis::objective::{Judgement, Objective, Objectives, Statistic};
use iosonar::study::plan::{
    Answer, Find, PlanError, PlanSpec, Point, TargetOutcome, plan_scenario,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::refused;
use crate::estimates::estimate;
use crate::interruptible::{interruptible, threads};
use crate::source::{Changes, Source};
use crate::value::of_json;

/// What to find.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Question {
    target: String,
    find: Option<String>,
    within: f64,
    most: Option<u32>,
}

/// The targets of a text.
pub(crate) fn targets_of(text: &str) -> PyResult<Objectives> {
    let wrong = |problem: String| refused(format!("target: '{text}': {problem}"));
    let targets: Objectives = text.parse().map_err(|error| wrong(format!("{error}")))?;
    iosonar::study::objective::refuse_delays(&targets.0)
        .map_err(|error| wrong(error.to_string()))?;
    Ok(targets)
}

impl Question {
    fn spec(&self, asked: Option<usize>) -> PyResult<PlanSpec> {
        let find = match self.find.as_deref() {
            None => None,
            Some("rate") => Some(Find::Rate),
            Some("copies") => Some(Find::Copies),
            Some("disks") => Some(Find::Disks),
            Some("jobs") => Some(Find::Jobs),
            Some(other) => {
                return Err(refused(format!(
                    "find must be 'rate', 'copies', 'disks' or 'jobs' (got '{other}')"
                )));
            }
        };
        if !(1e-4..=0.5).contains(&self.within) {
            return Err(refused(format!(
                "within must be from 0.0001 to 0.5 (got {})",
                self.within
            )));
        }
        Ok(PlanSpec {
            find,
            within: self.within,
            most: self.most,
            threads: threads(asked),
            around: false,
            curve: false,
        })
    }
}

/// A load that was simulated, and the outcome of each target.
pub(crate) fn point(of: &Point, targets: &[Objective]) -> Value {
    let outcomes = targets.iter().zip(&of.outcomes);
    let outcomes = outcomes.map(|(target, outcome)| {
        let attained = outcome.attained();
        json!({
            "target": target.to_string(),
            "verdict": outcome.verdict().map(Judgement::name),
            "estimate": attained.map(|of| estimate(&of.estimate, 1.0, unit(target))),
            "stopped_early": matches!(outcome, TargetOutcome::Over | TargetOutcome::Stopped),
        })
    });
    json!({
        "load": of.load,
        "verdict": of.verdict().name(),
        "outcomes": outcomes.collect::<Vec<_>>(),
        "theory": of.theory,
        "not_cleaned": of.not_cleaned,
        "on_credit": of.on_credit,
    })
}

fn unit(target: &Objective) -> &'static str {
    match target.statistic {
        Statistic::Throughput => "1/s",
        _ => "ms",
    }
}

fn figures(system: &str, targets: &Objectives, answer: &Answer) -> Value {
    let found = &answer.found;
    let of = |of: &Point| point(of, &targets.0);
    json!({
        "system": system,
        "target": targets.to_string(),
        "unit": answer.sought.unit(),
        "best": found.best.as_ref().map(of),
        "next": found.next.as_ref().map(of),
        "missed_first": found.missed_first().map(|i| targets.0[i].to_string()),
        "by_theory": found.by_theory,
        "capacity": answer.capacity,
        "points": found.points.iter().map(of).collect::<Vec<_>>(),
    })
}

/// Plans with a scenario.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyAny>,
    question: Question,
    changes: Changes<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let source = Source::of(scenario, changes.name.clone())?;
    let (mut overrides, trace) = changes.overrides()?;
    let targets = targets_of(&question.target)?;
    let spec = question.spec(changes.threads)?;
    let stop: Arc<AtomicBool> = Arc::default();
    overrides.stop = Arc::clone(&stop);
    let overrides = source.with_changes(&overrides);
    let (text, path, wanted) = (source.text.clone(), source.path.clone(), targets.clone());
    let planned = interruptible(py, &stop, move || {
        plan_scenario((&text, &path), &overrides, &wanted.0, &spec, &mut |_, _| {})
    })?;
    drop(trace);
    let (base, answer) = planned.map_err(|error| match error {
        PlanError::Scenario(error) => source.raised(error),
        PlanError::DoesNotFit(problem) => refused(problem),
        error => refused(format!(
            "{}: {}",
            source.path.display(),
            iosonar::study::plan::why_never(&error)
        )),
    })?;
    of_json(py, &figures(&base.headline(), &targets, &answer))
}
