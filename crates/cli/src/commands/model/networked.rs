//! Networked RAID: demands, bounds, mean value analysis; beside them simulation and measurement.

mod tables;

use std::path::Path;

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;

use iosonar_scenario::System;
use iosonar_scenario::networked::{
    NetworkAnalysis, NetworkSimulation, NetworkedRaid, Purchase, Services, Structure,
};
use iosonar_study::networked::{
    MeasuredPoint, chart, chart_of_varied, interesting, measured, table, table_of_classes, varied,
};
use serde_json::json;

use super::{outputs, overrides, with_threads};
use crate::exit::{Ending, Usage, note, print_beside, print_data_beside, write_table};
use crate::low::{Model, ServicesName, StructureName};
use crate::render::picture;
use iosonar_stats::Output;
use iosonar_trace::apart;
use tables::{conclusion, describe, describe_classes, purchases, table_of_varied};

pub(super) fn run(args: &Model, file: &System) -> anyhow::Result<Ending> {
    if args.cdf.is_some() {
        let problem = "--cdf needs a scenario: for a networked system only means are computed; draw them with --curve";
        return Err(Usage(problem.to_owned()).into());
    }
    if args.replications == Some(1) {
        let problem = "--replications must be at least 2 for a networked system";
        return Err(Usage(problem.to_owned()).into());
    }
    let (path, text) = (file.path(), file.text());
    let overrides = file.with_changes(&overrides(args));
    let system = NetworkedRaid::from_toml(text, path, &overrides)?;
    apart::refuse_overwritten(&system.inputs(), &outputs(args))?;
    let measured = args.measured.as_deref().map(measured).transpose()?;
    if system.classes.len() > 1 {
        return classes(args, &system);
    }
    let most = system.most_jobs();
    let at = args.at.unwrap_or(most);
    if at > most {
        return Err(Usage(format!(
            "--at {at}: the system has at most {most} jobs (see 'jobs.most')"
        ))
        .into());
    }
    let analysis = system.analyse().map_err(|e| refused(path, &e))?;
    let simulated = match args.with_sim {
        true => simulate(args, &system, &interesting(most, measured.as_deref()))?,
        false => Vec::new(),
    };
    // All that can go wrong does so before anything is printed or written.
    let varied = match &args.vary {
        Some(vary) => varied((text, path), &overrides, vary, |e| {
            anyhow::Error::from(refused(path, e))
        })?,
        None => Vec::new(),
    };
    let bought = match system.upgrades.is_empty() {
        true => Vec::new(),
        false => system.purchases(at, args.budget, text, path, &overrides)?,
    };
    if args.budget.is_some() && bought.is_empty() {
        let problem = "--budget needs at least one [[upgrade]] with 'cost' and 'set' in the file";
        return Err(Usage(problem.to_owned()).into());
    }
    if args.common.output.json {
        let mut json = as_json(&system, &analysis, &simulated, at)?;
        add_purchases(&mut json, &bought, at);
        add_varied(&mut json, args, &varied);
        add_measured(&mut json, measured.as_deref().unwrap_or_default());
        print_data_beside(args.csv.as_deref(), &json.text())?;
    } else {
        let measured = measured.as_deref();
        print_beside(
            args.csv.as_deref(),
            &describe(&system, &analysis, &simulated, measured, at)?,
        )?;
        print_beside(args.csv.as_deref(), &purchases(args, &bought, at))?;
    }
    if let Some(out) = &args.csv {
        write_table(out, table(&analysis, &simulated))?;
    }
    if let Some(out) = &args.curve {
        let chart = match &args.vary {
            Some((key, _)) => chart_of_varied(&system, key, &varied, measured.as_deref()),
            None => chart(&system, &analysis, &simulated, measured.as_deref()),
        };
        picture::draw(&chart, out, args.pixels.scale())?;
        if !args.common.output.quiet {
            note(&format!("curves written to {}", out.display()));
        }
    } else if args.vary.is_some() && !args.common.output.json {
        print_beside(args.csv.as_deref(), &table_of_varied(&varied))?;
    }
    if !args.common.output.json {
        let of = match args.vary {
            Some(_) => "Without --vary, with",
            None => "With",
        };
        print_beside(args.csv.as_deref(), &conclusion(of, &system, &analysis, at))?;
    }
    Ok(Ending::Done)
}

fn refused(path: &Path, error: &iosonar_analytic::AnalyticError) -> Usage {
    Usage(format!("{}: {error}", path.display()))
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

fn add_measured(json: &mut Output, points: &[MeasuredPoint]) {
    for point in points {
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
}

/// The same for programs.
fn add_purchases(json: &mut Output, all: &[Purchase], at: u32) {
    for purchase in all {
        json.append(
            "purchases",
            json!({
                "jobs": at, "upgrades": purchase.upgrades, "cost": purchase.cost,
                "response_s": purchase.response_s, "saved_s": purchase.saved_s,
                "saved_s_per_cost": purchase.saved_s_per_cost(),
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
            let problem =
                format!("{option} needs a system with one class of jobs, but this one has several");
            return Err(Usage(problem).into());
        }
    }
    let all = system.analyse_classes().map_err(|e| Usage(e.to_string()))?;
    let simulated = match args.with_sim {
        true => simulate(args, system, &[system.most_jobs()])?.pop(),
        false => None,
    };
    if args.common.output.json {
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
        print_data_beside(args.csv.as_deref(), &json.text())?;
    } else {
        let has_notes = !args.common.output.quiet;
        print_beside(
            args.csv.as_deref(),
            &describe_classes(system, &all, simulated.as_ref(), has_notes),
        )?;
    }
    if let Some(out) = &args.csv {
        write_table(out, table_of_classes(&all))?;
    }
    Ok(Ending::Done)
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
