//! Networked RAID: demands, bounds, mean value analysis; beside them simulation and measurement.

mod charts;
mod tables;

use std::fmt::Write;
use std::path::Path;

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;

use anyhow::Context;
use iosonar_plot::{Size, Theme};
use iosonar_scenario::Overrides;
use iosonar_scenario::networked::{
    NetworkAnalysis, NetworkSimulation, NetworkedRaid, Purchase, Services, Structure,
};
use iosonar_trace::output::WholeFile;
use iosonar_units::csv_field;
use serde_json::json;

use super::{overrides, with_threads};
use crate::exit::{Ending, Usage, note, print};
use crate::low::{Model, ServicesName, StructureName};
use crate::render::picture;
use charts::{chart, chart_of_varied};
use iosonar_stats::Output;
use tables::{describe, describe_classes, purchases, table_of_varied};

/// A measured point.
struct Point {
    jobs: f64,
    response_s: f64,
    stderr_s: Option<f64>,
}

pub(super) fn run(args: &Model, path: &Path, text: &str) -> anyhow::Result<Ending> {
    if args.cdf.is_some() {
        let problem =
            "--cdf is for scenarios: a networked system has means; draw them with --curve";
        return Err(Usage(problem.to_owned()).into());
    }
    if args.replications.is_some() {
        let problem = "--replications is for scenarios: a networked system has ten";
        return Err(Usage(problem.to_owned()).into());
    }
    let overrides = overrides(args);
    let system = NetworkedRaid::from_toml(text, path, &overrides)?;
    let measured = args.measured.as_deref().map(measured).transpose()?;
    if system.classes.len() > 1 {
        return classes(args, &system);
    }
    let most = system.most_jobs();
    let at = args.at.unwrap_or(most);
    if at > most {
        return Err(Usage(format!(
            "--at {at}: the system has at most {most} jobs, see 'jobs.most'"
        ))
        .into());
    }
    let analysis = system.analyse().map_err(|e| refused(path, &e))?;
    let simulated = match args.with_sim {
        true => simulate(args, &system, &interesting(most, measured.as_deref()))?,
        false => Vec::new(),
    };
    // All that can go wrong does so before anything is printed or written.
    let varied = varied_systems(args, path, text, &overrides)?;
    let bought = match system.upgrades.is_empty() {
        true => Vec::new(),
        false => system.purchases(at, args.budget, text, path, &overrides)?,
    };
    if args.budget.is_some() && bought.is_empty() {
        let problem = "--budget: the file has no [[upgrade]] with a cost and what it sets";
        return Err(Usage(problem.to_owned()).into());
    }
    if args.common.json {
        let mut json = as_json(&system, &analysis, &simulated, at)?;
        add_purchases(&mut json, &bought, at);
        add_varied(&mut json, args, &varied);
        for point in measured.iter().flatten() {
            let labels = Labels::of("jobs", point.jobs);
            let (value, stderr) = (point.response_s, point.stderr_s.unwrap_or(f64::NAN));
            json.figure_with(
                "response_time_measured",
                &labels,
                MetricUnit::Seconds,
                value,
                stderr,
            );
        }
        print(&json.text())?;
    } else {
        let measured = measured.as_deref();
        print(&describe(&system, &analysis, &simulated, measured, at)?)?;
        print(&purchases(args, &bought, at))?;
    }
    if let Some(out) = &args.csv {
        WholeFile::write_all(out, csv(&analysis, &simulated).as_bytes())
            .with_context(|| format!("{}: cannot write", out.display()))?;
    }
    if let Some(out) = &args.curve {
        let chart = match &args.vary {
            Some((key, _)) => chart_of_varied(&system, key, &varied, measured.as_deref()),
            None => chart(&system, &analysis, &simulated, measured.as_deref()),
        };
        picture::save(&[&chart], out, Size::default(), Theme::Light)?;
        if !args.common.quiet {
            note(&format!("the curves are in {}", out.display()));
        }
    } else if args.vary.is_some() && !args.common.json {
        print(&table_of_varied(&varied))?;
    }
    Ok(Ending::Done)
}

fn refused(path: &Path, error: &iosonar_analytic::AnalyticError) -> Usage {
    Usage(format!("{}: {error}", path.display()))
}

/// The numbers of jobs that tables show: a few of each size, and those that were measured.
fn interesting(most: u32, measured: Option<&[Point]>) -> Vec<u32> {
    let mut all = vec![most];
    let mut power = 1;
    while power <= most {
        let steps = [1, 2, 5].map(|step: u32| power.saturating_mul(step));
        all.extend(steps.into_iter().filter(|&n| n <= most));
        power = power.saturating_mul(10);
    }
    let whole = |p: &Point| (p.jobs.fract() == 0.0 && p.jobs >= 1.0).then_some(p.jobs as u32);
    let points = measured.unwrap_or_default().iter();
    all.extend(points.filter_map(whole).filter(|&n| n <= most));
    all.sort_unstable();
    all.dedup();
    all
}

fn simulate(
    args: &Model,
    system: &NetworkedRaid,
    jobs: &[u32],
) -> anyhow::Result<Vec<NetworkSimulation>> {
    let services = match args.services {
        ServicesName::Exponential => Services::Exponential,
        ServicesName::Realistic => Services::Realistic,
    };
    let structure = match args.structure {
        StructureName::Serial => Structure::Serial,
        StructureName::ForkJoin => Structure::ForkJoin,
    };
    with_threads(args.common.threads, || {
        jobs.iter()
            .map(|&n| {
                let result = system.simulate(n, services, structure, system.usual_departures());
                result.map_err(|e| Usage(e.to_string()).into())
            })
            .collect()
    })?
}

/// Reads measured points: CSV with a header.
fn measured(path: &Path) -> anyhow::Result<Vec<Point>> {
    let text = iosonar_units::read_text_file(path)
        .with_context(|| format!("{}: cannot read the measured points", path.display()))?;
    let wrong =
        |line: usize, problem: String| anyhow::anyhow!("{}:{line}: {problem}", path.display());
    let lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (first, header) = lines
        .next()
        .ok_or_else(|| anyhow::anyhow!("{}: there is nothing in it", path.display()))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let column = |name: &str| names.iter().position(|n| *n == name);
    let (Some(jobs), Some(response)) = (column("jobs"), column("response_s")) else {
        let expected = "expected a header with the columns jobs,response_s and, if known, stderr_s";
        return Err(wrong(
            first,
            format!("the header is '{header}', {expected}"),
        ));
    };
    let stderr = column("stderr_s");
    let mut points = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let value = |column: usize| -> anyhow::Result<f64> {
            let seen = cells.get(column).copied().unwrap_or("");
            match seen.parse::<f64>() {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
                _ => Err(wrong(
                    number,
                    format!(
                        "'{}' is '{seen}', expected a number from 0 on",
                        names[column]
                    ),
                )),
            }
        };
        if value(jobs)? == 0.0 {
            return Err(wrong(
                number,
                "'jobs' is 0, expected a number above 0".to_owned(),
            ));
        }
        points.push(Point {
            jobs: value(jobs)?,
            response_s: value(response)?,
            stderr_s: stderr.map(value).transpose()?,
        });
    }
    if points.is_empty() {
        anyhow::bail!("{}: there are no points behind the header", path.display());
    }
    points.sort_by(|a, b| a.jobs.total_cmp(&b.jobs));
    Ok(points)
}

/// The same for programs.
fn add_purchases(json: &mut Output, all: &[Purchase], at: u32) {
    for purchase in all {
        json.append(
            "purchases",
            json!({
                "jobs": at, "upgrades": purchase.upgrades, "cost": purchase.cost,
                "response_s": purchase.response_s, "saved_s": purchase.saved_s,
            }),
        );
    }
}

/// What other values of a key make of it, for programs.
fn add_varied(json: &mut Output, args: &Model, varied: &[(String, NetworkAnalysis)]) {
    let Some((key, values)) = &args.vary else {
        return;
    };
    for (value, (_, analysis)) in values.iter().zip(varied) {
        for point in &analysis.points {
            let labels = Labels::of(key.clone(), value).with("jobs", point.jobs);
            json.figure(
                "response_time_varied",
                &labels,
                MetricUnit::Seconds,
                point.response_s,
            );
        }
    }
}

/// Several classes: a table of them.
fn classes(args: &Model, system: &NetworkedRaid) -> anyhow::Result<Ending> {
    for (given, option) in [
        (args.curve.is_some(), "--curve"),
        (args.vary.is_some(), "--vary"),
        (args.measured.is_some(), "--measured"),
        (args.at.is_some(), "--at"),
        (args.budget.is_some(), "--budget"),
    ] {
        if given {
            let problem = format!("{option} is for one class of jobs, and there are several");
            return Err(Usage(problem).into());
        }
    }
    let all = system.analyse_classes().map_err(|e| Usage(e.to_string()))?;
    let simulated = match args.with_sim {
        true => simulate(args, system, &[system.most_jobs()])?.pop(),
        false => None,
    };
    if args.common.json {
        let mut json = Output::new("model");
        json.set("system", json!(system.headline()));
        for (i, class) in all.iter().enumerate() {
            let labels = Labels::of("class", &class.name)
                .with("jobs", class.jobs)
                .with("exact", class.is_exact);
            json.figure(
                "response_time",
                &labels,
                MetricUnit::Seconds,
                class.response_s,
            );
            json.figure(
                "response_time_schweitzer",
                &labels,
                MetricUnit::Seconds,
                class.schweitzer_s,
            );
            json.figure(
                "throughput",
                &labels,
                MetricUnit::PerSecond,
                class.throughput_per_s,
            );
            if let Some(simulated) = &simulated {
                let e = &simulated.response_s[i];
                json.estimate("response_time_simulated", &labels, MetricUnit::Seconds, e);
            }
        }
        print(&json.text())?;
    } else {
        print(&describe_classes(system, &all, simulated.as_ref()))?;
    }
    if let Some(out) = &args.csv {
        let mut text = String::from("class,jobs,response_s,schweitzer_s,throughput_per_s\n");
        for class in &all {
            let _ = writeln!(
                text,
                "{},{},{},{},{}",
                csv_field(&class.name),
                class.jobs,
                class.response_s,
                class.schweitzer_s,
                class.throughput_per_s
            );
        }
        WholeFile::write_all(out, text.as_bytes())
            .with_context(|| format!("{}: cannot write", out.display()))?;
    }
    Ok(Ending::Done)
}

/// The analyses of the system with each value of the varied key.
fn varied_systems(
    args: &Model,
    path: &Path,
    text: &str,
    overrides: &Overrides,
) -> anyhow::Result<Vec<(String, NetworkAnalysis)>> {
    let Some((key, values)) = &args.vary else {
        return Ok(Vec::new());
    };
    let analyse = |value: &String| -> anyhow::Result<(String, NetworkAnalysis)> {
        let mut overrides = overrides.clone();
        overrides.set.push((key.clone(), value.clone()));
        let system = NetworkedRaid::from_toml(text, path, &overrides)?;
        let analysis = system.analyse().map_err(|e| refused(path, &e))?;
        Ok((format!("{key} = {value}"), analysis))
    };
    values.iter().map(analyse).collect()
}

fn csv(analysis: &NetworkAnalysis, simulated: &[NetworkSimulation]) -> String {
    let mut text = String::from(
        "jobs,asymptotic_lower_s,asymptotic_upper_s,balanced_lower_s,balanced_upper_s,response_s,schweitzer_s,\
         fork_join_s,throughput_per_s,simulated_s,simulated_stderr_s\n",
    );
    for point in &analysis.points {
        let of = simulated.iter().find(|s| s.jobs == point.jobs);
        let simulated = of.map_or(",".to_owned(), |s| {
            format!("{},{}", s.response_s[0].mean, s.response_s[0].stderr)
        });
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{simulated}",
            point.jobs,
            point.asymptotic.lower,
            point.asymptotic.upper,
            point.balanced.lower,
            point.balanced.upper,
            point.response_s,
            point.schweitzer_s,
            point.fork_join_s,
            point.throughput_per_s,
        );
    }
    text
}

fn as_json(
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    simulated: &[NetworkSimulation],
    at: u32,
) -> anyhow::Result<Output> {
    let mut json = Output::new("model");
    json.set("system", json!(system.headline()));
    json.set("bottleneck", json!(analysis.bottleneck.station));
    json.set("knee_jobs", json!(analysis.knee));
    json.metrics(analysis.metrics());
    json.metrics(simulated.iter().flat_map(NetworkSimulation::metrics));
    let elasticities = system.elasticities(at).map_err(|e| Usage(e.to_string()))?;
    json.metrics(elasticities.iter().flat_map(|e| e.metrics(at)));
    Ok(json)
}
