//! Networked RAID: demands, bounds, mean value analysis; beside them simulation and measurement.

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Axis, Band, Chart, Colour, Line, Mark, Shape, Size, Theme, Unit};
use iosonar_scenario::Overrides;
use iosonar_scenario::networked::{
    ClassAnalysis, NetworkAnalysis, NetworkPoint, NetworkSimulation, NetworkedRaid, Purchase,
    Services, Structure,
};
use iosonar_stats::Estimate;
use iosonar_trace::output::WholeFile;
use iosonar_units::csv_field;
use serde_json::json;

use super::{overrides, with_threads};
use crate::args::{Model, ServicesName, StructureName};
use crate::exit::{Ending, Usage, note, print};
use crate::json::Output;
use crate::picture;
use crate::table::Table;

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

/// A station's name; of a storage server that of all of them.
fn of_all(station: &str, servers: u32) -> String {
    match station.strip_prefix("storage/0/") {
        Some(part) if servers > 1 => format!("storage/*/{part} ({servers} alike)"),
        _ => station.to_owned(),
    }
}

fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

fn with_error(estimate: &Estimate) -> String {
    format!("{:.2} ± {:.2} s", estimate.mean, estimate.half_width_95())
}

/// Demands and the bottleneck.
fn describe_stations(system: &NetworkedRaid, analysis: &NetworkAnalysis) -> String {
    let mut text = format!("{}\n", system.headline());
    let last = &analysis.points[analysis.points.len() - 1];
    let utilisation = format!("utilisation with {} jobs", last.jobs);
    let mut table = Table::new(&["station", "demand", "share", &utilisation]);
    // Storage servers are alike: the first stands for all.
    let first = |name: &str| !name.starts_with("storage/") || name.starts_with("storage/0/");
    for station in analysis.stations.iter().filter(|s| first(&s.station)) {
        table.row(vec![
            of_all(&station.station, system.stations_of),
            format!("{:.4} s", station.seconds),
            format!("{:.1} %", 100.0 * station.seconds / analysis.sum_s),
            format!("{:.1} %", 100.0 * station.seconds * last.throughput_per_s),
        ]);
    }
    text += &table.text();
    let _ = writeln!(
        text,
        "  sum {}; bottleneck {} with {:.4} s; it rules from {:.1} jobs on",
        seconds(analysis.sum_s),
        of_all(&analysis.bottleneck.station, system.stations_of),
        analysis.bottleneck.seconds,
        analysis.knee
    );
    text
}

fn describe(
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    simulated: &[NetworkSimulation],
    measured: Option<&[Point]>,
    at: u32,
) -> anyhow::Result<String> {
    let mut text = describe_stations(system, analysis);
    let most = analysis.points.len() as u32;
    let mut header = vec![
        "jobs",
        "asymptotic bounds",
        "balanced job bounds",
        "exact (MVA)",
        "Schweitzer",
        "all at once: fork-join",
        "jobs/h",
    ];
    if !simulated.is_empty() {
        header.push("simulated");
    }
    if measured.is_some() {
        header.push("measured");
    }
    let mut table = Table::new(&header);
    for n in interesting(most, measured) {
        let point = &analysis.points[n as usize - 1];
        let mut row = vec![
            n.to_string(),
            format!(
                "{:.1} to {:.1} s",
                point.asymptotic.lower, point.asymptotic.upper
            ),
            format!(
                "{:.1} to {:.1} s",
                point.balanced.lower, point.balanced.upper
            ),
            seconds(point.response_s),
            seconds(point.schweitzer_s),
            seconds(point.fork_join_s),
            format!("{:.2}", 3600.0 * point.throughput_per_s),
        ];
        if !simulated.is_empty() {
            let of = simulated.iter().find(|s| s.jobs == n);
            row.push(of.map_or(String::new(), |s| with_error(&s.response_s[0])));
        }
        if let Some(points) = measured {
            row.push(measured_with(points, n));
        }
        table.row(row);
    }
    text += &table.text();
    text += "  bounds, exact and Schweitzer: a job goes to its storage servers one after the other; fork-join, an \
             approximation: to all at once, which can take less than the lower bounds of the others\n";
    let beyond = measured.unwrap_or_default().iter();
    let beyond = beyond.filter(|p| p.jobs > f64::from(most)).count();
    if beyond > 0 {
        let _ = writeln!(
            text,
            "  {beyond} measured points lie beyond jobs.most, {most}"
        );
    }
    text += &elasticities(system, at)?;
    Ok(text)
}

/// What was measured with `n` jobs.
fn measured_with(points: &[Point], n: u32) -> String {
    let of = points.iter().filter(|p| p.jobs == f64::from(n));
    let all: Vec<f64> = of.map(|p| p.response_s).collect();
    match all.as_slice() {
        [] => String::new(),
        [only] => seconds(*only),
        several => {
            let mean = several.iter().sum::<f64>() / several.len() as f64;
            format!("{} (mean of {})", seconds(mean), several.len())
        }
    }
}

/// What small changes of each part of the system bring.
fn elasticities(system: &NetworkedRaid, at: u32) -> Result<String, Usage> {
    let title = format!("with {at} jobs: a change of");
    let mut table = Table::new(&[
        &title,
        "elasticity",
        "of the lower bound",
        "seconds per 1 %",
    ]);
    for elasticity in system.elasticities(at).map_err(|e| Usage(e.to_string()))? {
        table.row(vec![
            elasticity.lever.name().to_owned(),
            format!("{:+.4}", elasticity.of_response),
            format!("{:+.4}", elasticity.of_lower_bound),
            format!("{:+.3}", elasticity.seconds / 100.0),
        ]);
    }
    Ok(table.text())
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

/// The ranking of what could be bought.
fn purchases(args: &Model, all: &[Purchase], at: u32) -> String {
    if all.is_empty() {
        return String::new();
    }
    let title = format!("with {at} jobs: upgrade");
    let mut table = Table::new(&[&title, "cost", "response time", "saved", "saved per cost"]);
    let alone = all.iter().filter(|p| p.upgrades.len() == 1);
    for purchase in alone {
        table.row(vec![
            purchase.upgrades.join(" + "),
            format!("{}", purchase.cost),
            seconds(purchase.response_s),
            seconds(purchase.saved_s),
            match purchase.cost {
                0.0 => "free".to_owned(),
                cost => format!("{:.4} s", purchase.saved_s / cost),
            },
        ]);
    }
    let mut described = table.text();
    if let Some(budget) = args.budget {
        let within =
            |p: &&iosonar_scenario::networked::Purchase| p.cost <= budget && p.saved_s > 0.0;
        match all.iter().find(within) {
            Some(best) => {
                let _ = writeln!(
                    described,
                    "  best for {budget}: {} for {}, {} instead of {}",
                    best.upgrades.join(" + "),
                    best.cost,
                    seconds(best.response_s),
                    seconds(best.response_s + best.saved_s)
                );
            }
            None => {
                let _ = writeln!(described, "  nothing that helps costs at most {budget}");
            }
        }
    }
    described
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

fn describe_classes(
    system: &NetworkedRaid,
    all: &[ClassAnalysis],
    simulated: Option<&NetworkSimulation>,
) -> String {
    let mut text = format!("{}\n", system.headline());
    let mut header = vec!["class", "jobs", "sum of demands"];
    let exact = all.iter().all(|class| class.is_exact);
    header.push(if exact {
        "exact (MVA)"
    } else {
        "response time"
    });
    header.extend(["Schweitzer", "jobs/h"]);
    if simulated.is_some() {
        header.push("simulated");
    }
    let mut table = Table::new(&header);
    for (i, class) in all.iter().enumerate() {
        let sum: f64 = class.stations.iter().map(|s| s.seconds).sum();
        let mut row = vec![
            class.name.clone(),
            class.jobs.to_string(),
            seconds(sum),
            seconds(class.response_s),
            seconds(class.schweitzer_s),
            format!("{:.2}", 3600.0 * class.throughput_per_s),
        ];
        if let Some(simulated) = simulated {
            row.push(with_error(&simulated.response_s[i]));
        }
        table.row(row);
    }
    text += &table.text();
    if !exact {
        text += "  note: too many combinations of jobs for exact analysis; the response time is Schweitzer's\n";
    }
    if simulated.is_some() {
        text += "  note: the simulation shares every station among all jobs that are there, as the theory of \
                 several classes asks\n";
    }
    text
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

fn table_of_varied(varied: &[(String, NetworkAnalysis)]) -> String {
    let most = varied
        .iter()
        .map(|(_, a)| a.points.len() as u32)
        .max()
        .unwrap_or(1);
    let jobs = interesting(most, None);
    let names: Vec<String> = jobs.iter().map(|n| format!("{n} jobs")).collect();
    let mut header = vec!["exact response time"];
    header.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for (name, analysis) in varied {
        let mut row = vec![name.clone()];
        row.extend(jobs.iter().map(|&n| {
            let point = analysis.points.get(n as usize - 1);
            point.map_or(String::new(), |p| seconds(p.response_s))
        }));
        table.row(row);
    }
    table.text()
}

fn empty_chart(system: &NetworkedRaid, title: &str) -> Chart {
    Chart {
        title: title.to_owned(),
        subtitle: system.headline(),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x: Axis::from_zero("jobs", Unit::Number),
        y: Axis::from_zero("mean response time", Unit::Seconds),
        ..Chart::default()
    }
}

fn line(points: &[NetworkPoint], of: impl Fn(&NetworkPoint) -> f64) -> Vec<(f64, f64)> {
    points.iter().map(|p| (f64::from(p.jobs), of(p))).collect()
}

fn chart(
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    simulated: &[NetworkSimulation],
    measured: Option<&[Point]>,
) -> Chart {
    let points = &analysis.points;
    let mut chart = empty_chart(system, "Response time against the number of jobs");
    let bounds = points.iter().map(|p| {
        let balanced = p.balanced;
        (f64::from(p.jobs), balanced.lower, balanced.upper)
    });
    chart.marks.push(Mark::Band(Band {
        label: "balanced job bounds, one server after the other".to_owned(),
        colour: Colour::Muted,
        points: bounds.collect(),
        shape: Shape::Straight,
    }));
    let curve = |label: &str, i: usize, of: &dyn Fn(&NetworkPoint) -> f64| {
        Line::new(label, Colour::Curve(i), line(points, of))
    };
    let parallel = curve("all storage servers at once (fork-join)", 1, &|p| {
        p.fork_join_s
    });
    chart.marks.push(Mark::Line(parallel.dashed()));
    let lower = curve(
        "asymptotic lower bound, one server after the other",
        2,
        &|p| p.asymptotic.lower,
    );
    chart.marks.push(Mark::Line(lower.dashed()));
    if !simulated.is_empty() {
        let all = simulated
            .iter()
            .map(|s| (f64::from(s.jobs), s.response_s[0]));
        let edges = all.clone().map(|(n, e)| {
            let half = e.half_width_95();
            (n, e.mean - half, e.mean + half)
        });
        chart.marks.push(Mark::Band(Band {
            label: String::new(),
            colour: Colour::Curve(3),
            points: edges.collect(),
            shape: Shape::Straight,
        }));
        let points = all.map(|(n, e)| (n, e.mean)).collect();
        let simulated = Line::new("simulated, 95 % band", Colour::Curve(3), points);
        chart.marks.push(Mark::Line(simulated));
    }
    let exact = curve(
        "exact (mean value analysis), one server after the other",
        0,
        &|p| p.response_s,
    );
    // On top of the simulation both are to be seen.
    let exact = if simulated.is_empty() {
        exact
    } else {
        exact.dashed()
    };
    chart.marks.push(Mark::Line(exact));
    chart.marks.extend(measured_marks(measured));
    let knee = format!(
        "{} is the bottleneck; it rules from {:.1} jobs on",
        of_all(&analysis.bottleneck.station, system.stations_of),
        analysis.knee
    );
    chart.notes.push(knee);
    chart
}

/// Measured points as a curve, with the band of their errors where these are known.
fn measured_marks(measured: Option<&[Point]>) -> Vec<Mark> {
    let mut marks = Vec::new();
    if let Some(measured) = measured {
        let edges = measured.iter().filter_map(|p| {
            let half = 1.96 * p.stderr_s?;
            Some((p.jobs, p.response_s - half, p.response_s + half))
        });
        let edges: Vec<(f64, f64, f64)> = edges.collect();
        if !edges.is_empty() {
            marks.push(Mark::Band(Band {
                label: String::new(),
                colour: Colour::Curve(4),
                points: edges,
                shape: Shape::Straight,
            }));
        }
        let points = measured.iter().map(|p| (p.jobs, p.response_s)).collect();
        let measured = Line::new("measured", Colour::Curve(4), points);
        marks.push(Mark::Line(measured));
    }
    marks
}

fn chart_of_varied(
    system: &NetworkedRaid,
    key: &str,
    varied: &[(String, NetworkAnalysis)],
    measured: Option<&[Point]>,
) -> Chart {
    let title = format!("Response time against the number of jobs, over {key}");
    let mut chart = empty_chart(system, &title);
    for (i, (name, analysis)) in varied.iter().enumerate() {
        let exact = line(&analysis.points, |p| p.response_s);
        let lower = line(&analysis.points, |p| p.balanced.lower);
        chart
            .marks
            .push(Mark::Line(Line::new(name, Colour::Curve(i), exact)));
        let lower = Line::new("", Colour::Curve(i), lower).named(&format!("{name}, lower bound"));
        chart.marks.push(Mark::Line(lower.dashed()));
    }
    chart.marks.extend(measured_marks(measured));
    chart
        .notes
        .push("full: exact; broken: lower balanced job bound".to_owned());
    chart
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
