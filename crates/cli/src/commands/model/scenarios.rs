//! Disks, arrays and SSDs: loads, bounds, response times; beside them the simulation.

mod tables;

use std::path::Path;

use anyhow::Context;
use iosonar_plot::{Colour, Line, Mark, Size, Theme};
use iosonar_report::{Quantity, cdf_of, curve, curve_with_band};
use iosonar_scenario::theory::{Answer, Theory};
use iosonar_scenario::{OutputFiles, Prepared, ScenarioError, SimulationResult};
use iosonar_stats::{Distribution, Labels};
use iosonar_trace::output::WholeFile;
use iosonar_trace::{Batch, input};
use iosonar_units::csv_field;
use serde_json::json;

use super::{overrides, threads};
use crate::commands::sim::simulate;
use crate::exit::{Ending, note, print};
use crate::low::Model;
use crate::render::picture;
use crate::render::sim::headline;
use crate::render::table::significant;
use crate::render::theory::{family, how, remark};
use iosonar_stats::Output;
use tables::{describe, errors};

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
                &OutputFiles::default(),
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
