//! The result of a simulation for programs.

use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{RebuildProgress, ResponseSplit};
use iosonar_scenario::{Assumption, Prepared, SimulationResult};
use iosonar_stats::{Distribution, mean_of, quantile_of, sd_of};
use iosonar_units::Nanos;
use serde_json::{Value, json};

use super::describe::{headline, per_second};
use super::{ssds, window};
use crate::json::{Output, QUANTILES};
use crate::remarks;

/// What the scenario does not say and the results depend on.
pub(super) fn add_assumptions(json: &mut Output, name: &str, simulation: &Prepared) {
    for Assumption::Geometry { profile } in simulation.assumptions() {
        json.append(
            "assumptions",
            json!({ "scenario": name, "key": "disk.profile", "profile": profile, "assumed": "geometry" }),
        );
    }
}

pub(super) fn add_to(
    json: &mut Output,
    name: &str,
    simulation: &Prepared,
    result: &SimulationResult,
) {
    json.set("seed", json!(simulation.seed()));
    json.set("hash", json!(result.hash.to_string()));
    json.append(
        "scenarios",
        json!({
            "name": name,
            "seed": simulation.seed(),
            "replications": result.replications,
            "warmup_requests": result.warmup_requests,
            "hash": result.hash.to_string(),
            "system": headline(simulation),
            "remarks": remarks::of_load(result),
        }),
    );
    add_assumptions(json, name, simulation);
    let labels = json!({ "scenario": name });
    add_response_time(json, &labels, result);
    for (op, times) in [("read", &result.reads), ("write", &result.writes)] {
        if times.count() > 0 {
            let labels = json!({ "scenario": name, "op": op });
            json.times("response_time", &labels, times, None);
        }
    }
    add_split(json, name, simulation, result);
    add_stations(json, name, simulation, result);
    json.estimate("found_on_arrival", &labels, "1", &result.mean_found);
    window::add_to(json, name, result);
    add_rates(json, &labels, result);
    if let Some(unserved) = &result.unserved {
        json.figure("unserved", &labels, "1", unserved.requests as f64);
        json.append(
            "deadlocks",
            json!({ "scenario": name, "why": unserved.why }),
        );
    }
    ssds::add_to(json, name, result);
    json.figure("most_in_flight", &labels, "1", result.most_in_flight as f64);
    add_positioning(json, name, &result.positioning);
    let times = result
        .rebuild
        .iter()
        .filter_map(RebuildProgress::time_to_rebuild);
    let times: Vec<f64> = times.map(Nanos::as_secs_f64).collect();
    if !times.is_empty() {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        json.figure("time_to_rebuild", &labels, "s", mean);
    }
}

/// What response times are made of.
fn add_split(json: &mut Output, name: &str, simulation: &Prepared, result: &SimulationResult) {
    let Some(split) = &result.split else { return };
    let labels = json!({ "scenario": name });
    let runs = &result.split_sections;
    let parts: [(&str, Part); 4] = [
        ("wait", |split| &split.wait),
        ("positioning", |split| &split.positioning),
        ("transfer", |split| &split.transfer),
        ("join_delay", |split| &split.join_delay),
    ];
    for (part, of) in parts {
        add_part(json, part, &labels, of(split), runs.iter().map(of));
    }
    for (i, (stage, times)) in simulation
        .stage_names()
        .iter()
        .zip(&split.stages)
        .enumerate()
    {
        let labels = json!({ "scenario": name, "stage": stage });
        let runs = runs.iter().filter_map(|split| split.stages.get(i));
        add_part(json, "stage", &labels, times, runs);
    }
}

/// How busy each disk is.
fn add_stations(json: &mut Output, name: &str, simulation: &Prepared, result: &SimulationResult) {
    for (disk, utilisation) in result.utilisation.iter().enumerate() {
        let station = json!({ "scenario": name, "station": simulation.array().station(disk) });
        json.estimate("utilisation", &station, "1", utilisation);
        json.estimate("busy", &station, "1", &result.busy[disk]);
        json.estimate("queue_length", &station, "1", &result.mean_jobs[disk]);
        window::add_station(json, &station, result, disk);
    }
}

/// How often the writes of partial stripes found the arm in which position.
fn add_positioning(json: &mut Output, name: &str, counts: &PositioningCounts) {
    for (kind, cases) in [
        ("read-modify-write", PositioningCounts::MODIFY),
        ("reconstruct-write", PositioningCounts::RECONSTRUCT),
    ] {
        for case in cases {
            let case_name = case_name(case);
            let labels = json!({ "scenario": name, "kind": kind, "case": case_name });
            let count = counts.of(case) as f64;
            json.figure("partial_write_positioning", &labels, "1", count);
        }
    }
}

/// A part of response times.
type Part = fn(&ResponseSplit) -> &Distribution;

/// A part of response times, with standard errors from replications if there are several.
fn add_part<'a>(
    json: &mut Output,
    name: &str,
    labels: &Value,
    whole: &Distribution,
    runs: impl Iterator<Item = &'a Distribution>,
) {
    // A part that has no sample in some run says nothing of how runs differ.
    let runs: Vec<Distribution> = runs.filter(|run| run.count() > 0).cloned().collect();
    let mean = Some(mean_of(whole, &runs).stderr / 1e6);
    json.times_with(name, labels, whole, mean, |p| {
        quantile_of(whole, &runs, p).stderr / 1e6
    });
    let sd = sd_of(whole, &runs).stderr / 1e6;
    json.add_to_last("sd_stderr", json!(sd.is_finite().then_some(sd)));
    json.add_to_last("stderr_values", json!(runs.len()));
    json.add_to_last("quantile_stderr_values", json!(runs.len()));
}

/// How fast it was computed: what is not the same every time.
pub(super) fn add_speed(json: &mut Output, name: &str, result: &SimulationResult) {
    let labels = json!({ "scenario": name });
    let requests = per_second(result.requests, result) as f64;
    json.figure("requests_per_second", &labels, "1/s", requests);
    let events = per_second(result.events, result) as f64;
    json.figure("events_per_second", &labels, "1/s", events);
}

/// The response times of all requests, with what is known of their errors.
pub(crate) fn add_response_time(json: &mut Output, labels: &Value, result: &SimulationResult) {
    let stderr = Some(result.mean_ms.stderr);
    let of_quantile = |p| result.quantile_ms(p).stderr;
    json.times_with(
        "response_time",
        labels,
        &result.response_time,
        stderr,
        of_quantile,
    );
    let intervals: serde_json::Map<String, Value> = QUANTILES
        .iter()
        .filter_map(|&(name, p)| Some((name.to_owned(), json!(result.quantile_interval_ms(p)?))))
        .collect();
    json.add_to_last("quantile_intervals_95", Value::Object(intervals));
    let sd = Some(result.sd_ms.stderr).filter(|stderr| stderr.is_finite());
    json.add_to_last("sd_stderr", json!(sd));
    json.add_to_last("stderr_values", json!(result.mean_ms.values));
    json.add_to_last("quantile_stderr_values", json!(result.sections.len()));
}

/// Requests and data per second.
pub(super) fn add_rates(json: &mut Output, labels: &Value, result: &SimulationResult) {
    json.estimate("throughput", labels, "1/s", &result.throughput_per_s);
    let data = result.megabytes_per_s();
    json.estimate("megabytes_per_second", labels, "MB/s", &data);
}

fn case_name(case: Case) -> &'static str {
    match case {
        Case::Ordinary => "ordinary",
        Case::ModifyBusy | Case::ReconstructBusy => "busy",
        Case::ModifyOther | Case::ReconstructOther => "other-request",
        Case::ModifyLast => "full-turn",
        Case::ModifyWaited | Case::ReconstructWaited => "rotation-only",
        Case::ReconstructFollows => "none",
    }
}
