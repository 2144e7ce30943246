//! The answer for programs: JSON and a table.

use iosonar_analysis::objective::{Judgement, Objective};
use iosonar_scenario::{NotCleaned, OnCredit};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Output};
use iosonar_study::choose::{Evaluation, Growth};
use iosonar_study::plan::TargetOutcome;
use iosonar_trace::Requests;
use iosonar_units::{Column, Table};
use serde_json::{Value, json};

use super::Answer;
use crate::render::objective::why;

/// The answer for programs.
pub(crate) fn as_json(answer: &Answer<'_>) -> Output {
    let mut json = Output::new("choose");
    json.set("load", json!(answer.load.display().to_string()));
    json.set("target", json!(answer.targets.to_string()));
    json.set("conclusion", json!(answer.conclusion()));
    json.set("notes", json!(answer.notes()));
    let remarks = answer.remarks().into_iter().map(|(_, text)| text);
    json.set("remarks", remarks.collect());
    let names = |of: &[usize]| json!(of.iter().map(|&i| answer.name(i)).collect::<Vec<_>>());
    let of = &answer.conclusion;
    for (key, group) in [
        ("meet", &of.meet),
        ("unclear", &of.unclear),
        ("miss", &of.miss),
        ("unknown", &of.unknown),
    ] {
        json.set(key, names(group));
    }
    for considered in answer.all {
        let labels = Labels::of("candidate", &considered.name);
        if let Some(price) = considered.price {
            json.figure("price", &labels, MetricUnit::One, price);
        }
        match &considered.outcome {
            Ok(of) => add_to(&mut json, answer, of, &labels),
            Err(error) => json.append(
                "no_result",
                json!({ "labels": labels, "why": error.to_string() }),
            ),
        }
    }
    json
}

fn add_to(json: &mut Output, answer: &Answer<'_>, of: &Evaluation, labels: &Labels) {
    add_caveats(json, labels, 1.0, of.now.not_cleaned, of.now.on_credit);
    for (target, outcome) in answer.targets.0.iter().zip(&of.now.outcomes) {
        json.append("verdicts", verdict(labels, target, 1.0, outcome));
        if let TargetOutcome::Known(of) = outcome {
            let labels = labels
                .clone()
                .with("target", target.to_string())
                .with("verdict", of.verdict.name());
            json.estimate("value", &labels, target.unit(), &of.estimate);
        }
    }
    if let Ok(result) = &of.result {
        json.metric(result.response_time_metric(labels));
        for (name, requests) in [("read", Requests::Reads), ("write", Requests::Writes)] {
            for p in [0.5, 0.99] {
                if let Some(estimate) = of.quantile_ms(requests, p) {
                    let labels = labels
                        .clone()
                        .with("op", name)
                        .with("quantile", p.to_string());
                    json.estimate(
                        "response_time_quantile",
                        &labels,
                        MetricUnit::Milliseconds,
                        &estimate,
                    );
                }
            }
        }
    }
    if let Some((device, share)) = of.busiest() {
        let labels = labels
            .clone()
            .with("device", of.simulation.array().station(device));
        json.figure("busiest", &labels, MetricUnit::One, share);
    }
    json.figure(
        "capacity",
        labels,
        MetricUnit::Bytes,
        of.capacity.get() as f64,
    );
    let Some(growth) = &of.growth else { return };
    if let Some(best) = &growth.found.best {
        add_caveats(json, labels, best.load, best.not_cleaned, best.on_credit);
    }
    // Without a load that meets the targets there is no largest one.
    if let Some(factor) = growth.factor() {
        let labels = labels.clone().with("at_least", growth.is_at_least());
        json.figure("growth", &labels, MetricUnit::One, factor);
    }
    if let Some(factor) = growth.breaks_at() {
        let first = growth.missed_first().map(|i| answer.targets.0[i]);
        let labels = first.map_or(labels.clone(), |target| {
            labels.with("missed_first", target.to_string())
        });
        json.figure("breaks_at", &labels, MetricUnit::One, factor);
    }
    if let Some(factor) = growth.found.ruled_out() {
        json.figure("ruled_out", labels, MetricUnit::One, factor);
    }
    for (i, target) in answer.targets.0.iter().enumerate() {
        for point in &growth.found.points {
            let outcome = &point.outcomes[i];
            json.append("verdicts", verdict(labels, target, point.load, outcome));
            if let TargetOutcome::Known(of) = outcome {
                let labels = labels
                    .clone()
                    .with("target", target.to_string())
                    .with("growth", point.load)
                    .with("verdict", of.verdict.name());
                json.estimate("value_of_growth", &labels, target.unit(), &of.estimate);
            }
        }
    }
}

/// Why a longer run of a candidate with a growth may find longer times.
fn add_caveats(
    json: &mut Output,
    labels: &Labels,
    growth: f64,
    not_cleaned: Option<NotCleaned>,
    on_credit: Option<OnCredit>,
) {
    if not_cleaned.is_some() || on_credit.is_some() {
        json.append(
            "caveats",
            json!({
                "labels": labels,
                "growth": growth,
                "not_cleaned": not_cleaned,
                "on_credit": on_credit,
            }),
        );
    }
}

/// The verdict on a candidate, a target and a growth; null where the runs were stopped for another target.
fn verdict(labels: &Labels, target: &Objective, growth: f64, outcome: &TargetOutcome) -> Value {
    json!({
        "labels": labels,
        "target": target.to_string(),
        "growth": growth,
        "verdict": outcome.verdict().map(Judgement::name),
        "interval_95": outcome.attained().and_then(|of| of.interval_95),
        "why": outcome.attained().and_then(why),
    })
}

/// The answer as a table, times in milliseconds.
pub(crate) fn as_table(answer: &Answer<'_>) -> Table {
    let texts = |names: &'static str| names.split(',').map(Column::texts);
    let numbers = |names: &'static str| names.split(',').map(Column::numbers);
    let columns = texts("candidate,target,verdict")
        .chain(numbers(
            "value,low_95,high_95,read_p50_ms,read_p99_ms,write_p50_ms,write_p99_ms",
        ))
        .chain(texts("busiest"))
        .chain(numbers("utilisation,growth,breaks_at"))
        .chain(texts("missed_first"))
        .chain([Column::counts("capacity_bytes"), Column::numbers("price")]);
    let mut table = Table::new(columns).with("table", "candidates");
    for considered in answer.all {
        let outcome = considered.outcome.as_ref().ok();
        for (i, target) in answer.targets.0.iter().enumerate() {
            let of_target = outcome.map(|of| &of.now.outcomes[i]);
            let attained = of_target.and_then(TargetOutcome::attained);
            let interval = attained.and_then(|of| of.interval_95);
            let quantile = |requests, p| {
                let of = outcome.and_then(|of| of.quantile_ms(requests, p));
                of.map(|estimate| estimate.mean)
            };
            let busiest = outcome.and_then(|of| Some((of, of.busiest()?)));
            let growth = outcome.and_then(|of| of.growth.as_ref());
            let missed = growth.and_then(Growth::missed_first);
            let verdict = of_target.and_then(TargetOutcome::verdict);
            table
                .row()
                .put(considered.name.as_str())
                .put(target.to_string())
                .put(verdict.map_or("cannot be simulated", Judgement::name))
                .put(attained.map(|of| of.estimate.mean))
                .put(interval.map(|(low, _)| low))
                .put(interval.map(|(_, high)| high))
                .put(quantile(Requests::Reads, 0.5))
                .put(quantile(Requests::Reads, 0.99))
                .put(quantile(Requests::Writes, 0.5))
                .put(quantile(Requests::Writes, 0.99))
                .put(busiest.map(|(of, (device, _))| of.simulation.array().station(device)))
                .put(busiest.map(|(_, (_, share))| share))
                .put(growth.and_then(Growth::factor))
                .put(growth.and_then(Growth::breaks_at))
                .put(missed.map(|i| answer.targets.0[i].to_string()))
                .put(outcome.map(|of| of.capacity.get()))
                .put(considered.price);
        }
    }
    table
}
