//! The same scenarios with other values: a table of all combinations, and curves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use iosonar_analysis::objective::{Attained, Judgement};
use iosonar_plot::PixelScale;
use iosonar_report::{counted, found_of, grouped};
use iosonar_scenario::System;
use iosonar_stats::Output;
use iosonar_study::plan::{Caveat, PlanError};
use iosonar_study::vary::{
    Drawing, Found, Key, MOST_POINTS, Over, Point, Roles, RolesError, Shown, Varied, Wanted,
    combinations, count, in_order, simulate,
};
use iosonar_units::{Nanos, magnitude};
use serde_json::json;

use super::super::varied;
use super::checks::{may_be_unstable, refuse_outputs_of_one};
use super::{load, on_standard_output};
use crate::exit::{Ending, Usage, note, print_beside, print_data_beside, warn, write_table};
use crate::low::{Sim, VaryArgs};
use crate::render::caveat;
use crate::render::messages::Warning;
use crate::render::objective;
use crate::render::progress;
use crate::render::sim::why_not_steady;
use crate::render::style;
use crate::render::table::Table;
use crate::render::{picture, remarks};

pub(super) fn run(args: &Sim, threads: usize) -> anyhow::Result<Ending> {
    let keys = in_order(&args.varying.vary);
    let pictures = Pictures::of(args, &keys)?;
    check(args, &keys)?;
    let all = combinations(&keys);
    let mut points = Vec::with_capacity(all.len() * args.scenarios.len());
    // All are checked before the first is run.
    for path in &args.scenarios {
        for values in &all {
            let names = keys.iter().map(|(key, _)| key.clone());
            let set = names.zip(values.iter().cloned()).collect();
            let named = load(args, path, set).map_err(|error| of_vary(error, &keys))?;
            points.push((named, values.clone()));
        }
    }
    super::check_inputs(args, points.iter().map(|(named, _)| named))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let points = points.into_iter();
    let points = points.map(|(named, values)| (named.name, named.simulation, values));
    let points: Vec<_> = points.collect();
    let points = progress::counted(args.output.quiet, points.len(), "simulations", |done| {
        pool.install(|| simulate(&keys, points, &pictures.wanted, done))
    })?;
    let names = args.scenarios.iter().map(|path| System::label(path));
    let varied = Varied {
        scenarios: names.collect(),
        keys,
        targets: pictures.wanted.targets.clone(),
        points,
    };
    refuse_targets_of_nothing(&varied)?;
    let points = &varied.points;
    let found = || points.iter().filter_map(|point| point.result.as_ref().ok());
    if !args.output.quiet {
        // Mostly the same of each: it is the same trace.
        let remarks =
            found().flat_map(|found| remarks::warnings_of_load(&found.remarks, &found.fitted));
        let remarks: BTreeSet<_> = remarks.collect();
        remarks.iter().for_each(|(of, text)| warn(*of, text));
        let doubtful = doubtful(&varied);
        doubtful
            .iter()
            .for_each(|text| warn(Warning::MayBeUnstable, text));
    }
    let file_out = on_standard_output(args);
    if args.output.json {
        print_data_beside(file_out, &as_json(&varied).text())?;
    } else {
        let text = table(&varied) + &labels(&varied) + &conclusion(&varied);
        print_beside(file_out, &text)?;
    }
    if let Some(path) = &args.varying.csv {
        write_table(path, varied.table())?;
    }
    // An empty cell says why; a table of nothing else is no result, and nothing to draw.
    if found().next().is_none() {
        let VaryArgs { curve, data, .. } = &args.varying;
        for path in [curve, data, &args.cdf, &args.cdf_data]
            .into_iter()
            .flatten()
        {
            if !args.output.quiet {
                note(&format!(
                    "{} was not written: no simulation has a result",
                    path.display()
                ));
            }
        }
        return Ok(Ending::Flagged);
    }
    pictures.draw(args, &varied)?;
    let misses = |found: &Found| judged(found).any(|of| of.verdict == Judgement::Misses);
    // One that does not certainly miss a target is an answer.
    Ok(match found().all(|found| misses(found)) {
        true => Ending::Flagged,
        false => Ending::Done,
    })
}

/// The keys with several values, of which each gives the same completions, whatever the values of the others are.
fn without_effect(varied: &Varied) -> Vec<&str> {
    let numbered = varied.keys.iter().enumerate();
    let has_no_effect = |number: usize| {
        let mut by_others: BTreeMap<(&str, Vec<&str>), BTreeSet<Option<String>>> = BTreeMap::new();
        for point in &varied.points {
            let others = point.values.iter().enumerate();
            let others = others.filter(|(of, _)| *of != number);
            let others = others.map(|(_, value)| value.as_str()).collect();
            let hash = point
                .result
                .as_ref()
                .ok()
                .map(|found| found.hash.to_string());
            let alike = by_others.entry((point.name.as_str(), others)).or_default();
            alike.insert(hash);
        }
        by_others
            .values()
            .all(|hashes| hashes.len() == 1 && !hashes.contains(&None))
    };
    numbered
        .filter(|(number, (_, values))| values.len() > 1 && has_no_effect(*number))
        .map(|(_, (key, _))| key.as_str())
        .collect()
}

/// Of which points it is not certain that they have a steady state.
fn doubtful(varied: &Varied) -> Vec<String> {
    let remark = |point: &Point| {
        let offered = point.result.as_ref().ok()?.doubtful.as_ref()?;
        let keys = varied.keys.iter().zip(&point.values);
        let values: Vec<_> = keys
            .map(|((key, _), value)| format!("{key}={value}"))
            .collect();
        let name = format!("{} {}", point.name, values.join(" "));
        Some(may_be_unstable(&name, offered))
    };
    varied.points.iter().filter_map(remark).collect()
}

fn judged(found: &Found) -> impl Iterator<Item = &Attained> {
    found.targets.iter().flatten()
}

/// A target of reads is met by no load of writes alone.
fn refuse_targets_of_nothing(varied: &Varied) -> Result<(), Usage> {
    let found = || {
        varied
            .points
            .iter()
            .filter_map(|point| point.result.as_ref().ok())
    };
    for (i, &target) in varied.targets.iter().enumerate() {
        if found().next().is_some() && found().all(|found| found.targets[i].is_none()) {
            return Err(Usage(PlanError::NoSuchRequests { target }.to_string()));
        }
    }
    Ok(())
}

/// What is drawn, checked before anything is simulated.
struct Pictures {
    wanted: Wanted,
    curves: Option<Roles>,
    distributions: Option<Roles>,
}

impl Pictures {
    fn of(args: &Sim, keys: &[Key]) -> Result<Self, Usage> {
        let (scenarios, panels) = (args.scenarios.len(), args.varying.panels.as_deref());
        let usage = |option: &str| {
            let option = option.to_owned();
            move |error: RolesError| match error {
                RolesError::NotVaried(..) | RolesError::IsAxis(_) => {
                    Usage(format!("--panels: {error}"))
                }
                _ => Usage(format!("{option}: {error}")),
            }
        };
        let (mut shown, mut curves) = (None, None);
        if args.varying.curve.is_some() {
            let of = args.varying.curves();
            let of = of.map_err(|error| Usage(format!("--against throughput: {error}")))?;
            let figures = of.shown.len();
            let roles = Roles::of_curves(scenarios, keys, panels, figures);
            curves = Some(roles.map_err(usage("--curve"))?);
            shown = Some(of);
        }
        let mut distributions = None;
        if args.cdf.is_some() {
            let roles = Roles::of_distributions(scenarios, keys, panels);
            distributions = Some(roles.map_err(usage("--cdf"))?);
        }
        Ok(Self {
            wanted: Wanted {
                unstable: args.unstable,
                curves: shown,
                theory: args.varying.theory,
                distributions: args.cdf.is_some() || args.cdf_data.is_some(),
                targets: args.target.clone().map_or_else(Vec::new, |of| of.0),
            },
            curves,
            distributions,
        })
    }

    fn draw(&self, args: &Sim, varied: &Varied) -> anyhow::Result<()> {
        let VaryArgs { curve, data, .. } = &args.varying;
        let scale = args.pixels.scale();
        if let (Some(path), Some(roles), Some(shown)) = (curve, &self.curves, &self.wanted.curves) {
            let drawing = varied.curves(shown, roles);
            let names: Vec<String> = shown.shown.iter().map(Shown::name).collect();
            draw(
                &drawing,
                (path, scale),
                data.as_deref(),
                &format!("--curve-of '{}'", names.join(",")),
            )?;
            if args.varying.theory && !drawing.has_theory() {
                warn(
                    Warning::NoTheory,
                    "--theory: queueing theory has no formula for these response times; 'iosonar model SCENARIO' shows \
                     why",
                );
            }
            if !args.output.quiet {
                note(&format!("curves written to {}", path.display()));
            }
        }
        if let (Some(path), Some(roles)) = (&args.cdf, &self.distributions) {
            let data = data.as_deref().filter(|_| curve.is_none());
            draw(&varied.distributions(roles), (path, scale), data, "--cdf")?;
        }
        if let Some(path) = &args.cdf_data {
            write_table(path, varied.distribution_table())?;
        }
        Ok(())
    }
}

/// Draws a picture, and writes its numbers if they are wanted.
fn draw(
    drawing: &Drawing,
    (path, scale): (&Path, PixelScale),
    data: Option<&Path>,
    what: &str,
) -> anyhow::Result<()> {
    if drawing.is_empty() {
        let problem = format!(
            "{what}: no simulation has requests of this kind, so {} would be empty",
            path.display()
        );
        return Err(Usage(problem).into());
    }
    picture::draw_study(&drawing.picture(), path, scale)?;
    match data {
        Some(data) => Ok(write_table(data, drawing.data())?),
        None => Ok(()),
    }
}

fn check(args: &Sim, keys: &[Key]) -> Result<(), Usage> {
    refuse_outputs_of_one(args, "--vary runs many")?;
    let VaryArgs { curve, csv, .. } = &args.varying;
    let is_drawn = curve.is_some() || args.cdf.is_some();
    for (is_without, problem) in [
        (
            args.varying.data.is_some() && !is_drawn,
            "--data writes the values of a chart: add --curve or --cdf, or use --csv for the figures of all combinations",
        ),
        (
            args.varying.data.is_some() && curve.is_some() && args.cdf.is_some(),
            "--data needs a single picture, but both --curve and --cdf are given: write the distributions \
             with --cdf-data, or draw --cdf in a separate run",
        ),
        (
            args.varying.panels.is_some() && !is_drawn,
            "--panels needs a picture: add --curve or --cdf",
        ),
        (
            args.varying.theory && curve.is_none() && csv.is_none(),
            "--theory needs --curve or --csv: add one of them",
        ),
    ] {
        if is_without {
            return Err(Usage(problem.to_owned()));
        }
    }
    let points = count(keys).saturating_mul(args.scenarios.len());
    if points > MOST_POINTS {
        let points = match points {
            usize::MAX => "far too many".to_owned(),
            points => points.to_string(),
        };
        return Err(Usage(format!(
            "--vary: {points} combinations, expected at most {MOST_POINTS}"
        )));
    }
    varied::check(keys, &args.set)?;
    let is_over_key = args
        .varying
        .curves()
        .is_ok_and(|curves| curves.over == Over::Key);
    if curve.is_some()
        && is_over_key
        && let Some((key, values)) = keys.first()
    {
        for value in values {
            if magnitude(value).is_none() {
                return Err(Usage(format!(
                    "--curve: '{key}' is {value}, but the first --vary is the x axis and needs numbers or sizes"
                )));
            }
        }
    }
    Ok(())
}

/// What is wrong with a value that --vary set is said of --vary.
fn of_vary(error: anyhow::Error, vary: &[Key]) -> anyhow::Error {
    let problem = error.downcast_ref();
    match problem.and_then(|error| varied::problem_of(error, vary)) {
        Some(problem) => problem.into(),
        None => error,
    }
}

fn table(varied: &Varied) -> String {
    let points = &varied.points;
    let several = varied.scenarios.len() > 1;
    let mut header: Vec<&str> = if several { vec!["scenario"] } else { vec![""] };
    header.extend(varied.keys.iter().map(|(key, _)| key.as_str()));
    header.extend(["requests/s", "MB/s", "mean", "p50", "p99", "max"]);
    let amplification = |point: &Point| point.result.as_ref().ok()?.write_amplification;
    let amplifies = points.iter().any(|point| amplification(point).is_some());
    if amplifies {
        header.push("write amplification");
    }
    let targets: Vec<String> = varied.targets.iter().map(ToString::to_string).collect();
    header.extend(targets.iter().map(String::as_str));
    let mut table = Table::new(&header);
    let mut reasons = Vec::new();
    for point in points {
        let name = if several {
            point.name.clone()
        } else {
            String::new()
        };
        let mut row = vec![name];
        row.extend(point.values.iter().cloned());
        match &point.result {
            Ok(found) => {
                let all = &found.all;
                row.push(grouped(found.throughput_per_s.mean.round() as u64));
                row.push(format!("{:.1}", found.megabytes_per_s.mean));
                row.push(Nanos::from_millis_f64(all.mean_ms.mean).to_string());
                row.extend([0.5, 0.99].map(|p| all.quantile(p).to_string()));
                row.push(all.max.to_string());
                if amplifies {
                    let wa = found.write_amplification;
                    row.push(wa.map_or("-".to_owned(), |wa| format!("{wa:.3}")));
                }
                for attained in &found.targets {
                    row.push(attained.map_or("-".to_owned(), |of| {
                        let why = match objective::data_loss(&of) {
                            Some(_) => "data loss".to_owned(),
                            None => found_of(&of),
                        };
                        format!("{}: {why}", style::judgement(of.verdict))
                    }));
                }
            }
            Err(why) => {
                let why = why.to_string();
                let known = reasons.iter().position(|known| *known == why);
                let at = known.unwrap_or_else(|| {
                    reasons.push(why);
                    reasons.len() - 1
                });
                row.push(format!("- [{}]", at + 1));
                // Targets come last.
                row.resize(header.len() - targets.len(), "-".to_owned());
                let verdict = Judgement::Unstable.name().to_owned();
                row.resize(header.len(), verdict);
            }
        }
        table.row(row);
    }
    let mut text = table.text();
    for (i, why) in reasons.iter().enumerate() {
        let _ = writeln!(text, "  [{}] {why}", i + 1);
    }
    text
}

/// What must be known of the figures of combinations, a line for each kind.
fn labels(varied: &Varied) -> String {
    type Why = fn(&Found) -> Option<String>;
    let kinds: [(&str, Why); 4] = [
        ("DATA LOSS", |found| {
            let lost = || {
                let failed = counted(found.failed, ["request", "requests"]);
                format!("{failed} failed, and the times are those of the others")
            };
            found.loses_data.then(lost)
        }),
        ("NOT STEADY", |found| found.not_steady.map(why_not_steady)),
        (caveat::NOT_CLEANED, |found| {
            let of = found.not_cleaned.map(Caveat::NotCleaned);
            of.map(caveat::why)
        }),
        (caveat::ON_CREDIT, |found| {
            let of = found.on_credit.map(Caveat::OnCredit);
            of.map(caveat::why)
        }),
    ];
    let mut text = String::new();
    for (label, why) in kinds {
        let found = varied.points.iter();
        let found = found.filter_map(|point| {
            let why = why(point.result.as_ref().ok()?)?;
            Some((combination(varied, point), why))
        });
        let found: Vec<(String, String)> = found.collect();
        let Some((first, why)) = found.first() else {
            continue;
        };
        let which = match found.len() {
            1 => first.clone(),
            n if n == varied.points.len() => format!("all combinations, such as {first}"),
            n => format!(
                "{n} of {} combinations, such as {first}",
                varied.points.len()
            ),
        };
        let _ = writeln!(text, "  {label:<13} {which}: {why}");
    }
    for key in without_effect(varied) {
        let _ = writeln!(
            text,
            "  NO EFFECT     each value of {key} gives the same completions"
        );
    }
    text
}

/// Ten requests must be slower than a quantile for it to be reliable.
const LEAST_FOR_P99: u64 = 1_000;

/// The keys of a combination with their values, after its scenario if there are several.
fn combination(varied: &Varied, point: &Point) -> String {
    let keys = varied.keys.iter().zip(&point.values);
    let mut values: Vec<String> = keys
        .map(|((key, _), value)| format!("{key}={value}"))
        .collect();
    if varied.scenarios.len() > 1 {
        values.insert(0, point.name.clone());
    }
    values.join(" ")
}

/// How many combinations meet the targets; empty without targets.
fn on_targets(varied: &Varied, found: &[(&Point, &Found)]) -> String {
    let mut text = String::new();
    if !varied.targets.is_empty() {
        let meets = |(_, found): &&(&Point, &Found)| {
            found
                .targets
                .iter()
                .all(|of| of.is_some_and(|of| of.verdict == Judgement::Meets))
        };
        let targets = if varied.targets.len() == 1 {
            "the target"
        } else {
            "all targets"
        };
        let misses = |(_, found): &&(&Point, &Found)| {
            judged(found).any(|of| of.verdict == Judgement::Misses)
        };
        let (meet, miss) = (
            found.iter().filter(meets).count(),
            found.iter().filter(misses).count(),
        );
        text += &format!(
            "{meet} of {} combinations meet {targets}",
            varied.points.len()
        );
        match varied.points.len() - meet - miss {
            0 => text += ". ",
            unclear => text += &format!("; {unclear} could not be decided. "),
        }
    }
    text
}

/// Which combinations meet the targets, and where the p99 is lowest and highest.
fn conclusion(varied: &Varied) -> String {
    let found = varied
        .points
        .iter()
        .filter_map(|point| Some((point, &**point.result.as_ref().ok()?)));
    let mut found: Vec<(&Point, &Found)> = found.collect();
    let all_found = found.clone();
    // The times of what an array that lost data still served are no shorter ones.
    found.retain(|(_, found)| !found.loses_data);
    // Of few requests the p99 is the longest.
    let has_p99 = found
        .iter()
        .all(|(_, found)| found.all.requests >= LEAST_FOR_P99);
    let (name, value): (_, fn(&Found) -> Nanos) = match has_p99 {
        true => ("p99", |found| found.all.quantile(0.99)),
        false => ("mean", |found| {
            Nanos::from_millis_f64(found.all.mean_ms.mean)
        }),
    };
    found.sort_by_key(|(_, found)| value(found));
    let equal_to = |shown: &str| {
        let all = found.iter();
        all.filter(|(_, of)| value(of).to_string() == shown).count()
    };
    let of = |(point, found): &(&Point, &Found)| {
        let shown = value(found).to_string();
        let alike = match equal_to(&shown) {
            ..=1 => String::new(),
            equal => format!("{equal} combinations, such as "),
        };
        format!("{shown} ({alike}{})", combination(varied, point))
    };
    let mut text = on_targets(varied, &all_found);
    let (Some(lowest), Some(highest)) = (found.first(), found.last()) else {
        return match text.trim_end() {
            "" => text,
            said => format!("{said}\n"),
        };
    };
    let name = match found.len() < all_found.len() {
        true => format!("{name} without data loss"),
        false => name.to_owned(),
    };
    text += &match found.len() {
        1 => format!("The {name} is {}.\n", of(lowest)),
        all if value(lowest.1).to_string() == value(highest.1).to_string() => {
            let value = value(lowest.1);
            format!("The {name} is {value} for all {all} combinations.\n")
        }
        _ => format!(
            "The {name} ranges from {} to {}.\n",
            of(lowest),
            of(highest)
        ),
    };
    text
}

fn as_json(varied: &Varied) -> Output {
    let mut json = Output::new("sim --vary");
    json.set("without_effect", json!(without_effect(varied)));
    for point in &varied.points {
        match &point.result {
            Ok(found) => {
                json.metrics(found.metrics.iter().cloned());
                let labels = varied.labels(point);
                let (hash, failed) = (found.hash.to_string(), found.failed);
                let mut combination = json!({ "labels": labels, "hash": hash, "failed": failed });
                for (key, of) in [
                    ("not_steady", found.not_steady.map(|of| json!(of))),
                    ("not_cleaned", found.not_cleaned.map(|of| json!(of))),
                    ("on_credit", found.on_credit.map(|of| json!(of))),
                ] {
                    if let Some(of) = of {
                        combination[key] = of;
                    }
                }
                json.append("combinations", combination);
                for of in judged(found) {
                    json.append("targets", objective::as_json(&labels, of));
                }
            }
            Err(why) => {
                let labels = varied.labels(point);
                let why = why.to_string();
                for target in &varied.targets {
                    json.append(
                        "targets",
                        json!({
                            "labels": labels,
                            "target": target.to_string(),
                            "verdict": Judgement::Unstable.name(),
                        }),
                    );
                }
                json.append("no_result", json!({ "labels": labels, "why": why }));
            }
        }
    }
    json
}
