//! The same plan for several values of keys.

use iosonar_analysis::objective::Objectives;
use iosonar_scenario::System;
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_stats::{Labels, Output};
use iosonar_study::plan::{Caveat, Found, PlanError, Planned, best_of, load_text, plan_varied};
use iosonar_study::vary::count;
use serde_json::{Map, Value, json};

use super::tables::{values, why_not};
use super::{add_remarks, add_simulated, note_remarks, overrides, refused, spec, tried, why_never};
use crate::exit::{Ending, Usage, print, print_data};
use crate::low::Plan;
use crate::render::caveat;
use crate::render::sim::headline;
use crate::render::table::Table;

/// More plans than this are a study.
const MOST_PLANS: usize = 100;

pub(super) fn run(args: &Plan, targets: &Objectives) -> anyhow::Result<Ending> {
    let plans = count(&args.vary);
    if plans > MOST_PLANS {
        return Err(Usage(format!(
            "--vary: {plans} combinations, expected at most {MOST_PLANS}, because each needs a search by simulation"
        ))
        .into());
    }
    super::super::varied::check(&args.vary, &args.common.set)?;
    let system = System::named(&args.file)?;
    if NetworkedRaid::is_meant(system.text()) {
        let problem =
            "--vary does not apply to networked systems: plan for one value at a time, with --set";
        return Err(Usage(problem.to_owned()).into());
    }
    let all = plan_varied(
        (system.text(), system.path()),
        &system.with_changes(&overrides(args)?),
        &args.vary,
        &targets.0,
        &spec(args),
        &mut |values, sought, point| {
            tried(
                args,
                targets,
                &format!("{}: ", named(args, values)),
                sought,
                point,
            );
        },
    )
    .map_err(|error| match &error {
        PlanError::Scenario(of) => super::super::varied::problem_of(of, &args.vary)
            .map_or_else(|| refused(&system, error), anyhow::Error::from),
        _ => refused(&system, error),
    })?;
    note_remarks(args, all.iter().filter_map(|of| of.answer.as_ref().ok()));
    let best = best_of(&all);
    if args.common.output.json {
        print_data(&as_json(args, targets, &all, &best).text())?;
    } else {
        print(&describe(args, targets, &all, &best))?;
    }
    Ok(match best.is_empty() {
        false => Ending::Done,
        true => Ending::Flagged,
    })
}

/// Keys with their values.
fn named(args: &Plan, values: &[String]) -> String {
    let pairs = args.vary.iter().zip(values);
    let pairs: Vec<_> = pairs
        .map(|((key, _), value)| format!("{key}={value}"))
        .collect();
    pairs.join(" ")
}

fn describe(args: &Plan, targets: &Objectives, all: &[Planned], best: &[&Planned]) -> String {
    let mut text = format!("{}\n  target: {targets}\n", args.file.display());
    let sought = all.iter().find_map(|of| of.answer.as_ref().ok());
    let unit = sought.map_or("-", |answer| answer.sought.unit());
    let keys = args.vary.iter().map(|(key, _)| key.as_str());
    let header: Vec<&str> = keys.chain([unit, "simulated", "next"]).collect();
    let mut table = Table::new(&header);
    for planned in all {
        let mut row = planned.values.clone();
        let dash = || "-".to_owned();
        match &planned.answer {
            Err(error) => row.extend([dash(), dash(), why_never(error)]),
            Ok(answer) => {
                let (best, next) = (&answer.found.best, &answer.found.next);
                let most = if planned.is_most() { ">= " } else { "" };
                row.push(
                    best.as_ref()
                        .map_or_else(dash, |p| format!("{most}{}", load_text(p.load))),
                );
                row.push(best.as_ref().map_or_else(dash, |p| values(targets, p)));
                row.push(next.as_ref().map_or_else(dash, |p| {
                    let why = why_not(targets, answer.sought, p);
                    format!("{}: {why}", load_text(p.load))
                }));
            }
        }
        table.row(row);
    }
    text += &table.text();
    text += &caveats(args, all);
    let Some(first) = best.first() else {
        let what = match targets.0.len() {
            1 => "the target",
            _ => "all targets",
        };
        return text + &format!("  none of the tested loads meets {what}\n");
    };
    let name = sought.map_or("best".to_owned(), |answer| {
        let is_unsure = |of: &&Planned| {
            let answer = of.answer.as_ref();
            answer.is_ok_and(|answer| answer.found.is_only_confirmed())
        };
        answer
            .sought
            .name(targets.0.len(), best.iter().any(is_unsure))
    });
    let load = match (sought, first.best()) {
        (Some(answer), Some(load)) => answer.sought.load(load),
        _ => String::new(),
    };
    let most = if best.iter().any(|of| of.is_most()) {
        ">= "
    } else {
        ""
    };
    let values: Vec<_> = best.iter().map(|of| named(args, &of.values)).collect();
    text += &format!("  {name}: {most}{load}, with {}\n", values.join(", or "));
    // Their steps are finer than what is known of them.
    if let Some(other) = all
        .iter()
        .find(|of| of.is_close_to(first) && !best.iter().any(|b| b.values == of.values))
    {
        text += &format!("  not clearly better than {}\n", named(args, &other.values));
    }
    text
}

/// The caveats of the answers, each with the values of the keys that it is about.
fn caveats(args: &Plan, all: &[Planned]) -> String {
    let mut of: Vec<(Caveat, Vec<String>)> = Vec::new();
    for planned in all {
        let answer = planned.answer.as_ref().ok();
        for new in answer.iter().flat_map(|answer| answer.found.caveats()) {
            let values = named(args, &planned.values);
            match of.iter_mut().find(|(old, _)| *old == new) {
                Some((_, with)) => with.push(values),
                None => of.push((new, vec![values])),
            }
        }
    }
    let line = |(of, with): &(Caveat, Vec<String>)| {
        let with = match with.len() == all.len() {
            true => String::new(),
            false => format!(" with {}", with.join(", ")),
        };
        format!("  {}{with}: {}\n", caveat::label(*of), caveat::why(*of))
    };
    of.iter().map(line).collect()
}

fn as_json(args: &Plan, targets: &Objectives, all: &[Planned], best: &[&Planned]) -> Output {
    let mut json = Output::new("plan");
    json.set("target", json!(targets.to_string()));
    add_remarks(
        &mut json,
        all.iter().filter_map(|of| of.answer.as_ref().ok()),
    );
    let values = |planned: &Planned| -> Map<String, Value> {
        let pairs = args.vary.iter().zip(&planned.values);
        pairs
            .map(|((key, _), value)| (key.clone(), json!(value)))
            .collect()
    };
    let best_values: Vec<_> = best.iter().map(|of| values(of)).collect();
    json.set("best_values", json!(best_values));
    json.set("best", json!(best.first().and_then(|of| of.best())));
    for planned in all {
        let answer = planned.answer.as_ref();
        let found = answer.ok().map(|answer| &answer.found);
        let best = found.and_then(|found| found.best.as_ref());
        let next = found.and_then(|found| found.next.as_ref());
        let first = found.and_then(Found::missed_first);
        json.append(
            "varied",
            json!({
                "values": values(planned),
                "system": headline(&planned.system),
                "load_unit": answer.ok().map(|answer| answer.sought.unit()),
                "best": planned.best(),
                "is_most": planned.is_most(),
                "next": next.map(|point| point.load),
                "not_cleaned": best.and_then(|best| best.not_cleaned),
                "on_credit": best.and_then(|best| best.on_credit),
                "next_verdict": next.map(|point| point.verdict().name()),
                "missed_first": first.map(|i| targets.0[i].to_string()),
                "error": answer.err().map(why_never),
            }),
        );
        if let Some(best) = best {
            let pairs = args.vary.iter().zip(&planned.values);
            let labels = pairs.fold(Labels::default(), |labels, ((key, _), value)| {
                labels.with(key.clone(), value.clone())
            });
            add_simulated(&mut json, &labels, targets, best);
        }
    }
    json
}
