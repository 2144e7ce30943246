//! Disks, arrays and SSDs: loads, bounds, response times; beside them the simulation.

mod tables;

use std::path::Path;

use iosonar_plot::PixelScale;
use iosonar_scenario::{OutputFiles, System};
use iosonar_stats::{Distribution, Labels};
use iosonar_study::answered::{
    Answered, RecordedError, chart, family, how, recorded, remark, table,
};
use serde_json::json;

use super::{outputs, overrides, threads};
use crate::commands::sim::{refuse_unstable, simulate};
use crate::exit::{Ending, note, print_beside, print_data_beside, write_table};
use crate::low::Model;
use crate::render::picture;
use crate::render::sim::headline;
use iosonar_stats::Output;
use iosonar_trace::apart;
use tables::{describe, errors};

pub(super) fn run(args: &Model, systems: &[System]) -> anyhow::Result<Ending> {
    // All are checked before the first is simulated.
    let mut all = Vec::new();
    for system in systems {
        let simulation = system.prepared(&overrides(args))?;
        apart::refuse_overwritten(&simulation.inputs(), &outputs(args))?;
        let path = Path::new(&system.name);
        let name = System::label(path);
        let answered = Answered::by_theory(&name, path, simulation)?;
        if args.with_sim {
            refuse_unstable(&name, path, &answered.simulation)?;
        }
        all.push(answered);
    }
    let measured = args.measured.as_deref().map(recorded).transpose();
    let measured = measured.map_err(|error| match error {
        RecordedError::Trace(error) => anyhow::Error::from(error),
        other @ RecordedError::NothingMeasured(_) => other.into(),
    })?;
    if args.with_sim {
        for answered in &mut all {
            let simulation = &answered.simulation;
            let result = simulate(
                simulation,
                threads(args.common.threads),
                &OutputFiles::default(),
                !args.common.output.quiet,
            )?;
            answered.result = Some(simulation.assessed(result));
        }
    }
    if args.common.output.json {
        let mut json = Output::new("model");
        for answered in &all {
            add_to(&mut json, answered);
        }
        if let Some((name, distribution)) = &measured {
            json.times("response_time", &Labels::of("measured", name), distribution);
        }
        print_data_beside(args.csv.as_deref(), &json.text())?;
    } else if all.len() > 3 && args.with_sim {
        print_beside(args.csv.as_deref(), &errors(&all))?;
    } else {
        for answered in &all {
            print_beside(
                args.csv.as_deref(),
                &describe(answered, measured.as_ref(), !args.common.output.quiet),
            )?;
        }
    }
    if let Some(path) = &args.csv {
        write_table(path, table(&all))?;
    }
    if let Some(path) = &args.cdf {
        draw(&all, measured.as_ref(), (path, args.pixels.scale()))?;
        if !args.common.output.quiet {
            note(&format!("distributions written to {}", path.display()));
        }
    }
    Ok(Ending::Done)
}

/// Draws the distributions.
fn draw(
    all: &[Answered],
    measured: Option<&(String, Distribution)>,
    (path, scale): (&Path, PixelScale),
) -> anyhow::Result<()> {
    let Some(mut chart) = chart(all, measured) else {
        anyhow::bail!(
            "--cdf has nothing to draw: theory gives no distribution for this scenario; add --with-sim"
        );
    };
    if let [only] = all {
        chart.subtitle = headline(&only.simulation);
    }
    picture::draw(&chart, path, scale)
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
        json.metrics(answered.errors());
    }
}
