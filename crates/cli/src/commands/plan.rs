//! `iosonar plan`: a target in, the highest load or the fewest devices out.

mod tables;
mod varied;

use std::collections::BTreeSet;

use iosonar_analysis::objective::{Judgement, Objective, Objectives};
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::{Overrides, Prepared, System};
use iosonar_stats::{Labels, Output};
use iosonar_study::plan::{
    Answer, PlanError, PlanSpec, Point, Sought, TargetOutcome, chart, plan_network, plan_prepared,
    why_never,
};
use iosonar_trace::{Quantity, apart};
use serde_json::json;

use super::model::{threads, with_threads};
use crate::exit::{Ending, Usage, note, print, print_data, warn};
use crate::low::Plan;
use crate::render::messages::Warning;
use crate::render::sim::headline;
use crate::render::{picture, remarks};
use tables::{describe, outcomes};

pub(crate) fn run(args: &Plan) -> anyhow::Result<Ending> {
    let targets = targets(&args.target)?;
    if let Some(path) = &args.curve {
        picture::check(path, args.pixels)?;
        let inputs: Vec<_> = args.trace.iter().chain([&args.file]).collect();
        apart::refuse_unusable(&inputs, &[path])?;
    }
    if !args.vary.is_empty() {
        return varied::run(args, &targets);
    }
    let (headline, answer) = planned(args, &targets)?;
    note_remarks(args, [&answer]);
    if args.common.output.json {
        print_data(&as_json(&headline, &targets, &answer).text())?;
    } else {
        print(&describe(&headline, &targets, &answer))?;
    }
    if let Some(path) = &args.curve {
        let chart = chart(&headline, &targets.0, &answer);
        picture::draw(&chart, path, args.pixels.scale())?;
        if !args.common.output.quiet {
            note(&format!("curves written to {}", path.display()));
        }
    }
    // Nothing that meets the target is an answer, but not the one that was hoped for.
    Ok(match answer.found.best {
        Some(_) => Ending::Done,
        None => Ending::Flagged,
    })
}

/// The system in a line, and the answer.
fn planned(args: &Plan, targets: &Objectives) -> anyhow::Result<(String, Answer)> {
    let system = System::named(&args.file)?;
    let overrides = system.with_changes(&overrides(args)?);
    let spec = spec(args);
    let outputs: Vec<_> = args.curve.iter().collect();
    let mut watch = |sought: Sought, point: &Point| tried(args, targets, "", sought, point);
    let source = (system.text(), system.path());
    if NetworkedRaid::is_meant(system.text()) {
        let network = NetworkedRaid::from_toml(source.0, source.1, &overrides)?;
        apart::refuse_overwritten(&network.inputs(), &outputs)?;
        let headline = network.headline();
        let planned = with_threads(args.common.threads, || {
            plan_network(network, &targets.0, &spec, &mut watch)
        })?;
        let answer = planned.map_err(|error| refused(&system, error))?;
        return Ok((headline, answer));
    }
    let base = Prepared::from_toml(source.0, source.1, &overrides);
    let base = base.map_err(|error| system.explained(error))?;
    apart::refuse_overwritten(&base.inputs(), &outputs)?;
    let planned = plan_prepared(base, source, &overrides, &targets.0, &spec, &mut watch);
    let (base, answer) = planned.map_err(|error| refused(&system, error))?;
    Ok((headline(&base), answer))
}

fn overrides(args: &Plan) -> anyhow::Result<Overrides> {
    Ok(Overrides {
        trace: args.trace.clone(),
        reading: args.reading.reading()?,
        beyond: args.beyond.beyond(),
        seed: args.common.seed,
        replications: args.replications,
        set: args.common.set.clone(),
        memory: args.common.memory.at_start(),
        ..Overrides::default()
    })
}

fn spec(args: &Plan) -> PlanSpec {
    PlanSpec {
        find: args.find.map(Into::into),
        within: args.within,
        most: args.most,
        threads: threads(args.common.threads),
        around: args.curve.is_some(),
        curve: args.curve.is_some() || args.common.output.json,
    }
}

/// Prints a load that was simulated, of the system that `of` names.
fn tried(args: &Plan, targets: &Objectives, of: &str, sought: Sought, point: &Point) {
    if !args.common.output.quiet && !args.common.output.json {
        let load = sought.load(point.load);
        note(&format!("{of}{load}: {}", outcomes(targets, point)));
    }
}

/// The remarks on the recording that the answers are about, each once.
fn remarks_of<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> BTreeSet<(Warning, String)> {
    let notes = answers.into_iter().map(|answer| &answer.notes);
    notes
        .flat_map(|of| remarks::warnings_of_load(&of.remarks, &of.fitted))
        .collect()
}

/// Prints them.
fn note_remarks<'a>(args: &Plan, answers: impl IntoIterator<Item = &'a Answer>) {
    if !args.common.output.quiet {
        let remarks = remarks_of(answers);
        remarks.iter().for_each(|(of, text)| warn(*of, text));
    }
}

/// Adds them to the answer for programs.
fn add_remarks<'a>(json: &mut Output, answers: impl IntoIterator<Item = &'a Answer>) {
    let remarks = remarks_of(answers).into_iter().map(|(_, text)| text);
    json.set("remarks", remarks.collect());
}

/// The objectives of `--target`. Simulations answer for response times.
fn targets(text: &str) -> Result<Objectives, Usage> {
    let wrong = |problem: String| Usage(format!("--target '{text}': {problem}"));
    let targets: Objectives = text.parse().map_err(|e| wrong(format!("{e}")))?;
    let other = |of: &&Objective| of.quantity != Quantity::ResponseTime;
    if let Some(&objective) = targets.0.iter().find(other) {
        let meant = Objective {
            quantity: Quantity::ResponseTime,
            ..objective
        };
        return Err(wrong(format!(
            "plan works with response times only, not with 'latency' or 'delay': write \"{meant}\""
        )));
    }
    Ok(targets)
}

fn refused(system: &System, error: PlanError) -> anyhow::Error {
    let file = &system.name;
    let problem = match error {
        PlanError::Scenario(error) => return system.explained(error).into(),
        PlanError::DoesNotFit(problem) => problem,
        error => format!("{file}: {}", why_never(&error)),
    };
    Usage(problem).into()
}

fn as_json(headline: &str, targets: &Objectives, answer: &Answer) -> Output {
    let (mut json, found) = (Output::new("plan"), &answer.found);
    json.set("system", json!(headline));
    add_remarks(&mut json, [answer]);
    json.set("target", json!(targets.to_string()));
    json.set("load_unit", json!(answer.sought.unit()));
    let load = |point: &Option<Point>| point.as_ref().map(|p| p.load);
    json.set("best", json!(load(&found.best)));
    json.set("next", json!(load(&found.next)));
    json.set("only_confirmed", json!(found.is_only_confirmed()));
    json.set("ruled_out", json!(found.ruled_out()));
    json.set("is_most", json!(found.is_most()));
    let first = found.missed_first().map(|i| targets.0[i].to_string());
    json.set("missed_first", json!(first));
    let best = found.best.as_ref();
    json.set("not_cleaned", json!(best.and_then(|best| best.not_cleaned)));
    json.set("on_credit", json!(best.and_then(|best| best.on_credit)));
    json.set("by_theory", json!(found.by_theory));
    json.set("knee", json!(answer.knee));
    json.set("capacity", json!(answer.capacity.or(answer.most_per_s)));
    for point in &found.points {
        for (i, (target, outcome)) in targets.0.iter().zip(&point.outcomes).enumerate() {
            json.append(
                "verdicts",
                json!({
                    "labels": { "load": point.load, "target": target.to_string() },
                    "verdict": outcome.verdict().map(Judgement::name),
                    "theory": point.theory[i],
                    "interval_95": outcome.attained().and_then(|of| of.interval_95),
                    "stopped_early": matches!(outcome, TargetOutcome::Over | TargetOutcome::Stopped),
                }),
            );
        }
        add_simulated(&mut json, &Labels::default(), targets, point);
    }
    for (target, curve) in targets.0.iter().zip(&answer.theory) {
        for (load, value) in curve {
            let labels = Labels::of("load", *load).with("target", target.to_string());
            json.figure("theory", &labels, target.unit(), *value);
        }
    }
    json
}

/// What was simulated of each target at a load.
fn add_simulated(json: &mut Output, labels: &Labels, targets: &Objectives, point: &Point) {
    for (target, outcome) in targets.0.iter().zip(&point.outcomes) {
        if let TargetOutcome::Known(of) = outcome {
            let labels = labels
                .with("load", point.load)
                .with("target", target.to_string())
                .with("verdict", of.verdict.name());
            json.estimate("simulated", &labels, target.unit(), &of.estimate);
        }
    }
}
