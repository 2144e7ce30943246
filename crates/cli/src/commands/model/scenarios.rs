//! Disks, arrays and SSDs: loads, bounds, response times; beside them the simulation.

use iosonar_stats::Labels;
use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Colour, Line, Mark, Size, Theme};
use iosonar_report::{Quantity, cdf_of, curve, curve_with_band, grouped};
use iosonar_scenario::theory::{Accuracy, Answer, Standing, Theory};
use iosonar_scenario::{LoadModel, Prepared, ScenarioError, SimulationResult};
use iosonar_stats::Distribution;
use iosonar_trace::output::WholeFile;
use iosonar_trace::{Batch, input};
use iosonar_units::{Nanos, csv_field};
use serde_json::json;

use super::words::{family, how, remark};
use super::{overrides, threads};
use crate::args::Model;
use crate::commands::sim::{Files, headline, simulate};
use crate::exit::{Ending, note, print};
use crate::json::Output;
use crate::picture;
use crate::table::{Table, significant};

/// Which quantiles are told.
const QUANTILES: [(&str, f64); 5] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

/// A scenario with its answers.
struct Answered {
    name: String,
    simulation: Prepared,
    theory: Theory,
    result: Option<SimulationResult>,
}

pub(super) fn run(args: &Model) -> anyhow::Result<Ending> {
    // All are checked before the first is simulated.
    let mut all = Vec::new();
    for path in &args.files {
        let simulation = Prepared::read(path, &overrides(args))?;
        let theory = simulation.theory();
        if let Some(offered) = theory.unstable {
            return Err(unstable(path, &theory, offered).into());
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        all.push(Answered {
            name: name.into_owned(),
            simulation,
            theory,
            result: None,
        });
    }
    let measured = args.measured.as_deref().map(records).transpose()?;
    if args.with_sim {
        for answered in &mut all {
            let simulation = &answered.simulation;
            let result = simulate(
                simulation,
                threads(args.common.threads),
                &Files::default(),
                !args.common.quiet,
            )?;
            answered.result = Some(result);
        }
    }
    if args.common.json {
        let mut json = Output::new("model");
        for answered in &all {
            add_to(&mut json, answered);
        }
        if let Some((name, distribution)) = &measured {
            json.times("response_time", &Labels::of("measured", name), distribution);
        }
        print(&json.text())?;
    } else if all.len() > 3 && args.with_sim {
        print(&errors(&all))?;
    } else {
        for answered in &all {
            print(&describe(answered, measured.as_ref()))?;
        }
    }
    if let Some(path) = &args.csv {
        WholeFile::write_all(path, csv(&all).as_bytes())
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    if let Some(path) = &args.cdf {
        draw(&all, measured.as_ref(), path)?;
        if !args.common.quiet {
            note(&format!("the distributions are in {}", path.display()));
        }
    }
    Ok(Ending::Done)
}

fn unstable(path: &Path, theory: &Theory, offered: f64) -> ScenarioError {
    let most = theory.capacity_per_s.unwrap_or(f64::NAN);
    ScenarioError::Incomplete {
        path: path.to_owned(),
        problem: format!(
            "unstable: the busiest station is offered {offered:.3} times what it can do, so that the queue only \
             grows; it is stable below {} requests/s",
            significant(most, 3)
        ),
    }
}

/// The response times of recorded requests.
fn records(path: &Path) -> anyhow::Result<(String, Distribution)> {
    let mut reader = input::open(path)?;
    let (mut batch, mut all) = (Batch::default(), Distribution::default());
    while reader.next_batch(&mut batch)? > 0 {
        for record in batch.records() {
            // How long a failure took is no response time.
            let outcome = &record.outcome;
            if let (true, Some(time)) = (outcome.status.is_timed(), outcome.response_time()) {
                all.push(time);
            }
        }
    }
    if all.count() == 0 {
        anyhow::bail!(
            "{}: nothing is measured: the requests have no response times",
            path.display()
        );
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok((name.into_owned(), all))
}

/// The text of a value that is known.
fn known(value: f64, text: impl FnOnce(f64) -> String) -> String {
    match value.is_finite() {
        true => text(value),
        false => "-".to_owned(),
    }
}

fn ms(value: f64) -> String {
    known(value, |value| Nanos::from_millis_f64(value).to_string())
}

/// Services and stations.
fn stations(theory: &Theory) -> String {
    let mut text = String::new();
    if !theory.services.is_empty() {
        let mut table = Table::new(&["service", "mean", "sd", "scv"]);
        for service in &theory.services {
            table.row(vec![
                service.name(),
                ms(service.law.mean()),
                ms(service.law.variance().sqrt()),
                format!("{:.3}", service.law.scv()),
            ]);
        }
        text += &table.text();
    }
    if !theory.stations.is_empty() {
        let header = [
            "station",
            "visits/s",
            "service",
            "scv",
            "utilisation",
            "wait",
        ];
        let mut table = Table::new(&header);
        for station in &theory.stations {
            table.row(vec![
                station.station.clone(),
                known(station.visits_per_s, |rate| format!("{rate:.2}")),
                ms(station.mean_service_ms),
                known(station.scv, |scv| format!("{scv:.3}")),
                known(station.utilisation, |share| {
                    format!("{:.2} %", 100.0 * share)
                }),
                ms(station.mean_wait_ms),
            ]);
        }
        text += &table.text();
    }
    text
}

/// How far theory is off.
fn error(theory: f64, seen: f64, decimals: usize) -> String {
    let percent = |theory| format!("{:+.decimals$} %", 100.0 * (theory / seen - 1.0));
    known(theory, percent)
}

/// Theory, simulation, how far they are apart, and what was measured.
fn response_times(answered: &Answered, measured: Option<&(String, Distribution)>) -> String {
    let theory = &answered.theory;
    let mut header = vec!["response time", "mean"];
    header.extend(QUANTILES.map(|(name, _)| name));
    let mut table = Table::new(&header);
    let mut add = |name: String, mean: String, quantile: &dyn Fn(f64) -> String| {
        let quantiles = QUANTILES.map(|(_, p)| quantile(p));
        table.row([name, mean].into_iter().chain(quantiles).collect());
    };
    for (name, of) in [
        ("alone", &theory.alone),
        ("under load", &theory.response),
        ("if independent", &theory.independent),
    ] {
        if let Some(of) = of {
            let name = format!("{name}, {}", of.standing.name());
            add(name, ms(of.mean_ms()), &|p| ms(of.quantile_ms(p)));
        }
    }
    if let Some(result) = &answered.result {
        let (mean, quantile) = (result.mean_ms.mean, |p| result.quantile_ms(p).mean);
        add("simulated".to_owned(), ms(mean), &|p| ms(quantile(p)));
        let alone = match answered.simulation.load() {
            LoadModel::Alone { .. } => &theory.alone,
            _ => &None,
        };
        for (name, of) in [
            ("error", alone),
            ("error", &theory.response),
            ("error if independent", &theory.independent),
        ] {
            let Some(of) = of else { continue };
            let of_quantile = |p| error(of.quantile_ms(p), quantile(p), 2);
            add(name.to_owned(), error(of.mean_ms(), mean, 2), &of_quantile);
        }
    }
    if let Some((name, of)) = measured {
        let quantile = |p| of.histogram.quantile(p).unwrap_or_default().to_string();
        let mean = ms(of.moments.mean() / 1e6);
        add(format!("measured: {name}"), mean, &quantile);
    }
    table.text()
}

fn describe(answered: &Answered, measured: Option<&(String, Distribution)>) -> String {
    let Answered {
        name,
        simulation,
        theory,
        result,
    } = answered;
    let mut text = format!("{name}: {}\n", headline(simulation));
    text += &stations(theory);
    if theory.alone.is_some() || theory.response.is_some() || result.is_some() || measured.is_some()
    {
        text += &response_times(answered, measured);
    }
    if let Some(result) = result {
        let _ = writeln!(
            text,
            "  simulated: {} runs, {} requests measured; mean {} ± {}",
            result.replications,
            grouped(result.response_time.count()),
            ms(result.mean_ms.mean),
            ms(result.mean_ms.half_width_95())
        );
    }
    if let Some(response) = &theory.response {
        let _ = writeln!(text, "  under load: {}", how(response.how));
        if response.standing == Standing::Approximation {
            let _ = writeln!(
                text,
                "  accuracy: {}",
                accuracy_in_words(response.accuracy, result.is_some())
            );
        }
    }
    match (theory.lower_bound_ms, theory.upper_bound_ms) {
        (Some(low), Some(high)) => {
            let _ = writeln!(text, "  bounds of the mean: {} to {}", ms(low), ms(high));
        }
        (Some(low), None) => {
            let _ = writeln!(text, "  the mean is at least {}", ms(low));
        }
        _ => {}
    }
    if let Some(most) = theory.capacity_per_s {
        let _ = writeln!(text, "  stable below {} requests/s", significant(most, 3));
    }
    for of in &theory.remarks {
        let _ = writeln!(text, "  note: {}", remark(of));
    }
    text
}

/// How far an approximation was off where it was measured.
fn accuracy_in_words(accuracy: Option<Accuracy>, is_compared: bool) -> String {
    let Some(of) = accuracy else {
        return match is_compared {
            true => "not measured for such loads but this one: its error is in the table above",
            false => "not measured for such loads; compare with a simulation: --with-sim",
        }
        .to_owned();
    };
    let percent = |share: f64| format!("{} %", significant(100.0 * share, 2));
    let p99 = match of.p99 {
        Some(p99) => format!(", p99 within {}", percent(p99)),
        None => String::new(),
    };
    format!(
        "mean within {}{p99} (largest error in {} simulated scenarios plus half of it: {}, utilisation up to {})",
        percent(of.mean),
        of.scenarios,
        family(of.family),
        of.utilisation
    )
}

/// Error by scenario: mean and quantiles.
fn errors(all: &[Answered]) -> String {
    let header = [
        "scenario",
        "standing",
        "theory",
        "simulated",
        "mean",
        "p50",
        "p90",
        "p99",
        "mean if independent",
        "bounds",
    ];
    let mut table = Table::new(&header);
    for Answered {
        name,
        theory,
        result,
        ..
    } in all
    {
        let Some(result) = result else { continue };
        let percent = |of: Option<&Answer>, p: Option<f64>| {
            let (theory, seen) = match (of, p) {
                (None, _) => return "-".to_owned(),
                (Some(of), None) => (of.mean_ms(), result.mean_ms.mean),
                (Some(of), Some(p)) => (of.quantile_ms(p), result.quantile_ms(p).mean),
            };
            error(theory, seen, 1)
        };
        let response = theory.response.as_ref();
        let bounds = match (theory.lower_bound_ms, theory.upper_bound_ms) {
            (None, None) => "-".to_owned(),
            (Some(low), None) => format!("from {low:.1} ms"),
            (None, Some(high)) => format!("to {high:.1} ms"),
            (Some(low), Some(high)) => format!("{low:.1} to {high:.1} ms"),
        };
        table.row(vec![
            name.clone(),
            response
                .map_or("no theory", |r| r.standing.name())
                .to_owned(),
            response.map_or("-".to_owned(), |r| ms(r.mean_ms())),
            ms(result.mean_ms.mean),
            percent(response, None),
            percent(response, Some(0.5)),
            percent(response, Some(0.9)),
            percent(response, Some(0.99)),
            percent(theory.independent.as_ref(), None),
            bounds,
        ]);
    }
    table.text()
}

fn csv(all: &[Answered]) -> String {
    let mut text = String::from(
        "scenario,standing,mean_ms,p50_ms,p90_ms,p95_ms,p99_ms,p999_ms,independent_mean_ms,independent_p99_ms,\
         lower_bound_ms,upper_bound_ms,capacity_per_s,simulated_mean_ms,simulated_mean_stderr_ms,simulated_p50_ms,\
         simulated_p90_ms,simulated_p95_ms,simulated_p99_ms,simulated_p999_ms\n",
    );
    let number = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => String::new(),
    };
    for Answered {
        name,
        theory,
        result,
        ..
    } in all
    {
        let response = theory.response.as_ref();
        let independent = theory.independent.as_ref();
        let mut cells = vec![
            csv_field(name).into_owned(),
            response.map_or("", |r| r.standing.name()).to_owned(),
            number(response.map(Answer::mean_ms)),
        ];
        cells.extend(QUANTILES.map(|(_, p)| number(response.map(|r| r.quantile_ms(p)))));
        cells.push(number(independent.map(Answer::mean_ms)));
        cells.push(number(independent.map(|r| r.quantile_ms(0.99))));
        cells.push(number(theory.lower_bound_ms));
        cells.push(number(theory.upper_bound_ms));
        cells.push(number(theory.capacity_per_s));
        cells.push(number(result.as_ref().map(|r| r.mean_ms.mean)));
        cells.push(number(result.as_ref().map(|r| r.mean_ms.stderr)));
        cells
            .extend(QUANTILES.map(|(_, p)| number(result.as_ref().map(|r| r.quantile_ms(p).mean))));
        text += &cells.join(",");
        text.push('\n');
    }
    text
}

/// The distribution function of a response time as a curve, in seconds.
fn line(label: &str, of: &Answer, colour: Colour) -> Option<Line> {
    let table = of.table()?;
    let values = table.values();
    // A few hundred points are as many as can be seen.
    let every = (values.len() / 800).max(1);
    let from = values.partition_point(|&v| v < 1e-4).max(1);
    let indices = (from..values.len()).step_by(every);
    let points = indices.map(|i| (i as f64 * table.step() / 1e3, values[i]));
    let points: Vec<(f64, f64)> = points.take_while(|p| p.1 < 0.999_95).collect();
    Some(Line::new(label, colour, points).dashed())
}

fn draw(
    all: &[Answered],
    measured: Option<&(String, Distribution)>,
    path: &Path,
) -> anyhow::Result<()> {
    let (mut marks, mut notes) = (Vec::new(), Vec::new());
    for (i, answered) in all.iter().enumerate() {
        let prefix = match all.len() {
            1 => String::new(),
            _ => format!("{}: ", answered.name),
        };
        if let Some(result) = &answered.result {
            let name = format!("{prefix}simulated");
            marks.extend(curve_with_band(
                &name,
                &result.response_time,
                &result.band(),
                Colour::Curve(2 * i),
            ));
        }
        let theory = &answered.theory;
        if let Some(of) = &theory.response {
            let label = format!("{prefix}theory ({})", of.standing.name());
            let colour = Colour::Curve(2 * i + usize::from(answered.result.is_some()));
            match line(&label, of, colour) {
                Some(line) => marks.push(Mark::Line(line)),
                None => notes.push(format!("{prefix}theory knows the mean only")),
            }
        }
        let label = format!("{prefix}if disks were independent");
        if all.len() == 1
            && let Some(of) = &theory.independent
        {
            marks.extend(line(&label, of, Colour::Muted).map(Mark::Line));
        }
    }
    if let Some((name, distribution)) = measured {
        let colour = Colour::Curve(2 * all.len() + 1);
        marks.push(Mark::Line(curve(name, distribution, colour)));
    }
    let mut chart = cdf_of(
        "Response times: theory and simulation",
        Quantity::ResponseTime,
        marks,
    );
    if let [only] = all {
        chart.title = format!("{}: response times", only.name);
        chart.subtitle = headline(&only.simulation);
    }
    chart.notes = notes;
    if chart.is_empty() {
        anyhow::bail!(
            "--cdf: theory knows no distribution here, and nothing was simulated: there is nothing to draw"
        );
    }
    picture::save(&[&chart], path, Size::default(), Theme::Light)
}

fn add_to(json: &mut Output, answered: &Answered) {
    let Answered {
        name,
        simulation,
        theory,
        result,
    } = answered;
    json.append(
        "scenarios",
        json!({
            "name": name,
            "system": headline(simulation),
            "standing": theory.response.as_ref().map(|r| r.standing.name()),
            "how": theory.response.as_ref().map(|r| how(r.how)),
            "accuracy": theory.response.as_ref().and_then(|r| r.accuracy).map(|of| json!({
                "family": family(of.family), "utilisation": of.utilisation, "mean": of.mean, "p99": of.p99,
                "scenarios": of.scenarios,
            })),
            "remarks": theory.remarks.iter().map(remark).collect::<Vec<_>>(),
        }),
    );
    json.metrics(theory.metrics(name));
    if let Some(result) = result {
        json.metric(result.response_time_metric(&Labels::of("scenario", name)));
    }
}
