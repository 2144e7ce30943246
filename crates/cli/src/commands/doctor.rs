//! `iosonar doctor`: what works on this machine, what does not, and what to do about it.

use std::path::Path;

use iosonar_guard::Host;
use iosonar_plot::{Colour, Format, Mark, Size, Theme, render as draw};
use iosonar_recorder::Tracing;
use iosonar_replay::Machine;
use iosonar_report::{Quantity, cdf_of, curve};
use iosonar_scenario::{Overrides, Prepared};
use iosonar_stats::Distribution;

use crate::exit::{Ending, print, print_data};
use crate::low::Doctor;
use crate::render::doctor::{self, Findings};

/// A second of work for an array.
const SCENARIO: &str = "\
seed = 1

[load]
requests = 1000
rate_per_s = 100.0
read_share = 0.7
size = \"4KiB\"

[array]
level = \"raid5\"
disks = 4

[disk]
profile = \"seagate-st3500630ns\"
";

pub(crate) fn run(args: &Doctor) -> anyhow::Result<Ending> {
    let here = Path::new(".");
    let simulated = simulate();
    let findings = Findings {
        charts: match &simulated {
            Ok(distribution) => chart(distribution).map_err(|error| error.to_string()),
            Err(_) => chart(&Distribution::default()).map_err(|error| error.to_string()),
        },
        simulation: simulated
            .map(|of| of.count())
            .map_err(|error| error.to_string()),
        machine: Machine::examine(&Host::default(), here),
        tracing: Tracing::find(),
    };
    match args.json {
        true => print_data(&doctor::to_json(&findings))?,
        false => print(&doctor::to_text(&findings))?,
    }
    Ok(match findings.is_usable() {
        true => Ending::Done,
        false => Ending::Failed,
    })
}

fn simulate() -> anyhow::Result<Distribution> {
    let prepared = Prepared::from_toml(SCENARIO, Path::new("doctor.toml"), &Overrides::default())?;
    Ok(prepared.run(1, None)?.response_time)
}

/// Draws a distribution, and returns the size of the picture in bytes.
fn chart(of: &Distribution) -> anyhow::Result<usize> {
    let line = Mark::Line(curve("", of, Colour::Read));
    let chart = cdf_of("doctor", Quantity::ResponseTime, vec![line]);
    let picture = draw(&[&chart], Format::Png, Size::default(), Theme::Light)?;
    Ok(picture.len())
}
