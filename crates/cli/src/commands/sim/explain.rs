//! What a scenario means, and how much work it offers to each station.

use std::fmt::Write as _;

use iosonar_scenario::{Devices, Offered, Prepared, Stability};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::one_line;
use serde_json::json;

use super::{Named, figures};
use crate::exit::{Ending, print_data};
use crate::low::Sim;
use iosonar_stats::Output;

pub(super) fn run(args: &Sim, all: &[Named]) -> anyhow::Result<Ending> {
    let mut json = Output::new("sim --explain");
    for Named {
        name, simulation, ..
    } in all
    {
        let offered = simulation.offered();
        if args.output.json {
            let scenario = json!({ "name": name, "toml": simulation.explain() });
            json.append("scenarios", scenario);
            figures::add_assumptions(&mut json, name, simulation);
            for o in offered.iter().flatten() {
                for (bound, value) in [("lower", o.lower), ("upper", o.upper)] {
                    let labels = Labels::of("scenario", name)
                        .with("station", &o.station)
                        .with("bound", bound);
                    json.figure_with("offered_load", &labels, MetricUnit::One, value, o.stderr);
                }
            }
            continue;
        }
        let mut text = format!("# {}\n{}\n", one_line(name), simulation.explain());
        if let Some(offered) = offered {
            text += &table(&offered);
            text += stability(simulation);
        } else {
            let why = match &simulation.array().devices {
                Devices::Ssds(_) => "the work of an SSD depends on what it holds",
                Devices::Registered(_) => "the device has a model of its own",
                Devices::Disks(_) | Devices::Servers(_) => {
                    "requests come from a trace or wait for each other"
                }
            };
            let _ = writeln!(text, "# The offered load is not known in advance: {why}.");
        }
        print_data(&text)?;
    }
    if args.output.json {
        print_data(&json.text())?;
    }
    Ok(Ending::Done)
}

/// The offered loads as comments, so that the whole output can be read as TOML.
fn table(offered: &[Offered]) -> String {
    let mut text = String::from(
        "# Offered load of each station: work that arrives per unit of time, as a share of the station's capacity;\n\
         # lower and upper bounds where the work depends on the state.\n",
    );
    for o in offered {
        let range = if (o.upper - o.lower).abs() < 1e-9 {
            format!("{:.4}", o.upper)
        } else {
            format!("{:.4} to {:.4}", o.lower, o.upper)
        };
        text += &format!(
            "#   {:<10} {range} (standard error {:.4})\n",
            o.station, o.stderr
        );
    }
    text
}

/// Whether the busiest station keeps up, where that is not certain.
fn stability(simulation: &Prepared) -> &'static str {
    match simulation.busiest() {
        Some((_, Stability::Unstable)) => {
            "# UNSTABLE: the queue of the busiest station keeps growing.\n"
        }
        Some((_, Stability::Doubtful)) => {
            "# The system may be unstable: an upper bound is 1 or more.\n"
        }
        Some((_, Stability::Stable)) | None => "",
    }
}
