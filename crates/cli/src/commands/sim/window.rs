//! The measured window: what came and went in it, and the parts that make Little's law exact.

use iosonar_raid::MeasuredWindow;
use iosonar_scenario::SimulationResult;
use serde_json::{Value, json};

use crate::json::Output;

/// The window of all runs together.
pub(super) fn add_to(json: &mut Output, scenario: &str, result: &SimulationResult) {
    let labels = json!({ "scenario": scenario });
    json.figure("window", &labels, "s", result.measured_s());
    json.estimate("number_in_system", &labels, "1", &result.mean_in_system);
    let sum = |of: fn(&MeasuredWindow) -> u64| result.windows.iter().map(of).sum::<u64>();
    for (kind, requests) in [
        ("present-at-start", sum(|w| w.present_at_start)),
        ("arrived", sum(|w| w.arrived)),
        ("completed", sum(|w| w.completed)),
        ("served", sum(|w| w.served)),
        ("present-at-end", sum(|w| w.present_at_end)),
    ] {
        let labels = json!({ "scenario": scenario, "kind": kind });
        json.figure("window_requests", &labels, "1", requests as f64);
    }
    let seconds = |of: fn(&MeasuredWindow) -> f64| result.windows.iter().map(of).sum::<f64>() / 1e9;
    for (part, time) in [
        ("measured", seconds(|w| w.measured_time as f64)),
        ("other", seconds(|w| w.other_time as f64)),
        ("edge", seconds(|w| w.edge_time as f64)),
    ] {
        let labels = json!({ "scenario": scenario, "part": part });
        json.figure("time_in_system", &labels, "s", time);
    }
}

/// What was done at a station.
pub(super) fn add_station(
    json: &mut Output,
    station: &Value,
    result: &SimulationResult,
    disk: usize,
) {
    let usage = &result.usage[disk];
    let done = usage.jobs_done as f64;
    let with = |of: &str| {
        let mut labels = station.clone();
        labels["of"] = json!(of);
        labels
    };
    json.figure("job_rate", station, "1/s", done / result.measured_s());
    // A device that works on many jobs at a time has no service of one.
    let serves_one = usage.service_time > 0;
    for (name, time, edge) in [
        ("stay", usage.stay_time, usage.stay_edge),
        ("service", usage.service_time, usage.service_edge),
    ] {
        if name == "service" && !serves_one {
            continue;
        }
        let mean = if usage.jobs_done > 0 {
            time as f64 / done / 1e6
        } else {
            0.0
        };
        json.figure("job_time", &with(name), "ms", mean);
        json.figure("job_edge_time", &with(name), "s", edge as f64 / 1e9);
    }
}
