//! The result of a simulation for programs.

use iosonar_analysis::objective::Attained;
use iosonar_scenario::{Assumption, Prepared, SimulationResult};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use serde_json::json;

use super::assumed;
use super::{headline, per_second};
use crate::render::objective::as_json;
use crate::render::remarks;
use iosonar_stats::Output;

/// What the scenario does not say and the results depend on.
pub(crate) fn add_assumptions(json: &mut Output, name: &str, simulation: &Prepared) {
    for Assumption::Geometry { profile } in simulation.assumptions() {
        json.append(
            "assumptions",
            json!({ "scenario": name, "key": "disk.profile", "profile": profile, "assumed": "geometry" }),
        );
    }
}

pub(crate) fn add_to(
    json: &mut Output,
    name: &str,
    simulation: &Prepared,
    result: &SimulationResult,
    targets: &[Attained],
) {
    json.set("seed", json!(simulation.seed()));
    json.set("hash", json!(result.hash.to_string()));
    let mut scenario = json!({
        "name": name,
        "seed": simulation.seed(),
        "replications": result.replications,
        "warmup_requests": result.warmup_requests,
        "hash": result.hash.to_string(),
        "system": headline(simulation),
        "assuming": assumed::line(simulation),
        "remarks": remarks::of_load(&result.remarks, &result.fitted),
    });
    if let Some(of) = result.not_steady {
        scenario["not_steady"] = json!(of);
    }
    if let Some(of) = simulation.not_cleaned(result) {
        scenario["not_cleaned"] = json!(of);
    }
    if let Some(of) = simulation.on_credit(result) {
        scenario["on_credit"] = json!(of);
    }
    json.append("scenarios", scenario);
    add_assumptions(json, name, simulation);
    json.metrics(result.metrics(name, simulation));
    for of in targets {
        json.append("targets", as_json(&Labels::of("scenario", name), of));
    }
    if let Some(unserved) = &result.unserved {
        json.append(
            "deadlocks",
            json!({ "scenario": name, "why": unserved.why }),
        );
    }
}

/// How fast it was computed: what is not the same every time.
pub(crate) fn add_speed(json: &mut Output, name: &str, result: &SimulationResult) {
    let labels = Labels::of("scenario", name);
    let requests = per_second(result.requests, result) as f64;
    json.figure(
        "requests_per_second",
        &labels,
        MetricUnit::PerSecond,
        requests,
    );
    let events = per_second(result.events, result) as f64;
    json.figure("events_per_second", &labels, MetricUnit::PerSecond, events);
}
