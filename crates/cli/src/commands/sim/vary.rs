//! The same scenarios with other values: a table of all combinations, and curves.

use std::collections::BTreeSet;
use std::fmt::Write;

use iosonar_report::grouped;
use iosonar_scenario::ScenarioError;
use iosonar_stats::{Labels, Output};
use iosonar_study::vary::{Curve, Key, MOST_POINTS, Point, Varied, combinations, holds, simulate};
use iosonar_units::{Nanos, magnitude};
use serde_json::json;

use super::checks::refuse_outputs_of_one;
use super::load;
use crate::exit::{Ending, Usage, note, print, write_file};
use crate::low::Sim;
use crate::render::table::Table;
use crate::render::{picture, remarks};

pub(super) fn run(args: &Sim, threads: usize) -> anyhow::Result<Ending> {
    check(args)?;
    let all = combinations(&args.vary);
    let mut points = Vec::with_capacity(all.len() * args.scenarios.len());
    // All are checked before the first is run.
    for path in &args.scenarios {
        for values in &all {
            let keys = args.vary.iter().map(|(key, _)| key.clone());
            let set = keys.zip(values.iter().cloned()).collect();
            let named = load(args, path, set).map_err(|error| of_vary(error, &args.vary))?;
            points.push((named, values.clone()));
        }
    }
    super::check_inputs(args, points.iter().map(|(named, _)| named))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let points = points.into_iter();
    let points = points.map(|(named, values)| (named.name, named.simulation, values));
    let points = pool.install(|| simulate(points.collect(), args.unstable))?;
    let names = args.scenarios.iter().filter_map(|path| path.file_stem());
    let varied = Varied {
        scenarios: names
            .map(|name| name.to_string_lossy().into_owned())
            .collect(),
        keys: args.vary.clone(),
        points,
    };
    let points = &varied.points;
    if !args.quiet {
        // Mostly the same of each: it is the same trace.
        let results = points.iter().filter_map(|point| point.result.as_ref().ok());
        let remarks: BTreeSet<String> = results.flat_map(|r| remarks::of_load(r)).collect();
        remarks.iter().for_each(|remark| note(remark));
    }
    if args.json {
        print(&as_json(args, points).text())?;
    } else {
        print(&table(args, points))?;
    }
    if let Some(path) = &args.csv {
        write_file(path, &varied.csv(), "write")?;
    }
    if let Some(path) = &args.curve {
        let chart = varied.chart(args.curve_of.into());
        picture::draw(&chart, path)?;
        if !args.quiet {
            note(&format!("the curves are in {}", path.display()));
        }
    }
    // An empty cell says why; a table of nothing else is no result.
    if points.iter().all(|point| point.result.is_err()) {
        return Ok(Ending::Flagged);
    }
    Ok(Ending::Done)
}

fn check(args: &Sim) -> Result<(), Usage> {
    refuse_outputs_of_one(args, "--vary makes many")?;
    let points = args.vary.iter().map(|(_, values)| values.len());
    let points = points.fold(args.scenarios.len(), usize::saturating_mul);
    if points > MOST_POINTS {
        return Err(Usage(format!(
            "--vary: {points} combinations, expected at most {MOST_POINTS}"
        )));
    }
    for (i, (key, _)) in args.vary.iter().enumerate() {
        if args.vary[..i].iter().any(|(before, _)| before == key) {
            return Err(Usage(format!("--vary: '{key}' is given twice")));
        }
        if let Some((set, _)) = args.set.iter().find(|(set, _)| holds(key, set)) {
            return Err(Usage(format!(
                "--vary: '{key}' is varied, so --set {set} would have no effect: leave one out"
            )));
        }
    }
    let drawn = args.curve.is_some() && Curve::from(args.curve_of) != Curve::HockeyStick;
    if drawn && let Some((key, values)) = args.vary.first() {
        for value in values {
            if magnitude(value).is_none() {
                return Err(Usage(format!(
                    "--curve: '{key}' is {value}, expected numbers or sizes of the first --vary, which is the x axis"
                )));
            }
        }
    }
    Ok(())
}

/// What is wrong with a value that --vary set is said of --vary.
fn of_vary(error: anyhow::Error, vary: &[Key]) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ScenarioError::Set { key, problem })
            if vary
                .iter()
                .any(|(varied, _)| holds(varied, key) || holds(key, varied)) =>
        {
            Usage(format!("--vary: '{key}' {problem}")).into()
        }
        _ => error,
    }
}

fn table(args: &Sim, points: &[Point]) -> String {
    let several = args.scenarios.len() > 1;
    let mut header: Vec<&str> = if several { vec!["scenario"] } else { vec![""] };
    header.extend(args.vary.iter().map(|(key, _)| key.as_str()));
    header.extend(["requests/s", "MB/s", "mean", "p50", "p99", "max"]);
    let amplified = points
        .iter()
        .any(|point| point.write_amplification().is_some());
    if amplified {
        header.push("write amplification");
    }
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
            Ok(result) => {
                let histogram = &result.response_time.histogram;
                let time = |p| histogram.quantile(p).unwrap_or_default().to_string();
                row.push(grouped(result.throughput_per_s.mean.round() as u64));
                row.push(format!("{:.1}", result.megabytes_per_s().mean));
                row.push(Nanos::from_millis_f64(result.mean_ms.mean).to_string());
                row.extend([time(0.5), time(0.99)]);
                row.push(
                    result
                        .response_time
                        .moments
                        .max()
                        .unwrap_or_default()
                        .to_string(),
                );
                row.extend(point.write_amplification().map(|wa| format!("{wa:.3}")));
            }
            Err(why) => {
                let why = why.to_string();
                let known = reasons.iter().position(|known| *known == why);
                let at = known.unwrap_or_else(|| {
                    reasons.push(why);
                    reasons.len() - 1
                });
                row.push(format!("- [{}]", at + 1));
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

fn as_json(args: &Sim, points: &[Point]) -> Output {
    let mut json = Output::new("sim --vary");
    for point in points {
        let mut labels = Labels::of("scenario", &point.name);
        for ((key, _), value) in args.vary.iter().zip(&point.values) {
            labels = labels.with(key.clone(), value);
        }
        match &point.result {
            Ok(result) => {
                json.metrics(result.rate_metrics(&labels));
                json.metric(result.response_time_metric(&labels));
            }
            Err(why) => json.append(
                "no_result",
                json!({ "labels": labels, "why": why.to_string() }),
            ),
        }
    }
    json
}
