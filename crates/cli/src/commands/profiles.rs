//! `iosonar profiles`: which drives are built in, and whether one of a data sheet has its figures.

use iosonar_device::SheetFigure;
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_study::profiles::{KnownProfile, KnownProfileError, all, named};
use iosonar_units::Sectors;
use serde_json::{Value, json};

use crate::exit::{Ending, Usage, print, print_data};
use crate::low::Profiles;
use crate::render::table::{Table, significant};
use iosonar_stats::Output;

pub(crate) fn run(args: &Profiles) -> anyhow::Result<Ending> {
    if let Some(name) = &args.name {
        let profile = named(name).map_err(|error| match error {
            KnownProfileError::Refused(problem) => Usage(problem).into(),
            other => anyhow::Error::from(other),
        })?;
        if args.check {
            return check(args, &profile);
        }
        if args.json {
            let mut output = Output::new("profiles");
            let mut described = as_json(&profile);
            described["text"] = json!(profile.text);
            output.append("profiles", described);
            print_data(&output.text())?;
        } else {
            print_data(&profile.text)?;
        }
        return Ok(Ending::Done);
    }
    let all = all()?;
    if args.json {
        let mut output = Output::new("profiles");
        for profile in &all {
            output.append("profiles", as_json(profile));
        }
        print_data(&output.text())?;
        return Ok(Ending::Done);
    }
    let mut text =
        String::from("Values of 'profile' in the tables [disk] and [ssd] of a scenario:\n\n");
    let width = all.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for profile in &all {
        let size = Sectors::new(1).bytes().get() as f64 * profile.sectors() as f64 / 1e9;
        text += &format!(
            "  {:<6} {:<width$} {size:>7.0} GB  {:<10}  {}\n",
            format!("[{}]", profile.table()),
            profile.name,
            profile.kind(),
            profile.description()
        );
    }
    text += "\n'iosonar profiles NAME' prints a profile and its source; save the output as a .toml file to change \
             it.\n--check simulates the tests of the data sheet.\n";
    print(&text)?;
    Ok(Ending::Done)
}

fn as_json(profile: &KnownProfile) -> Value {
    json!({
        "table": profile.table(),
        "name": profile.name,
        "description": profile.description(),
        "kind": profile.kind(),
        "source": profile.provenance().map(ToString::to_string),
        "sectors": profile.sectors(),
    })
}

/// The figures of a data sheet, and those of the drive that is made from it.
fn check(args: &Profiles, profile: &KnownProfile) -> anyhow::Result<Ending> {
    let Some(figures) = profile.data_sheet_test()? else {
        let problem = format!(
            "--check: profile '{}' has neither a data sheet nor limits to test",
            profile.name
        );
        return Err(Usage(problem).into());
    };
    if args.json {
        let mut output = Output::new("profiles --check");
        for figure in &figures {
            let labels = Labels::of("profile", &profile.name).with("figure", &figure.name);
            let unit = MetricUnit::Other(figure.unit.into());
            output.figure("stated", &labels, unit.clone(), figure.stated);
            output.figure("simulated", &labels, unit, figure.simulated);
            output.figure("difference", &labels, MetricUnit::One, figure.error());
        }
        let reached = figures.iter().all(SheetFigure::is_reached);
        output.set("reached", json!(reached));
        print_data(&output.text())?;
    } else {
        let mut table = Table::new(&["", "data sheet", "simulated", "difference"]);
        for figure in &figures {
            let mark = if figure.is_reached() {
                ""
            } else {
                "  NOT REACHED"
            };
            table.row(vec![
                format!("{} [{}]", figure.name, figure.unit),
                significant(figure.stated, 4),
                significant(figure.simulated, 4),
                format!("{:+.2} %{mark}", hundredths(100.0 * figure.error())),
            ]);
        }
        let description = profile.description();
        let verdict = verdict(&figures);
        print(&format!("{description}\n\n{}\n{verdict}\n", table.text()))?;
    }
    Ok(match figures.iter().all(SheetFigure::is_reached) {
        true => Ending::Done,
        false => Ending::Flagged,
    })
}

/// Whether the model has the figures of the sheet.
fn verdict(figures: &[SheetFigure]) -> String {
    let all = figures.len();
    let missed = figures.iter().filter(|figure| !figure.is_reached()).count();
    let most = 100.0 * SheetFigure::TOLERANCE;
    match missed {
        0 => format!("All {all} figures are within {most} % of the data sheet."),
        1 => format!("1 of {all} figures is more than {most} % off the data sheet."),
        _ => format!("{missed} of {all} figures are more than {most} % off the data sheet."),
    }
}

/// A percentage to two decimals, of which none is a negative zero.
fn hundredths(percent: f64) -> f64 {
    (100.0 * percent).round() / 100.0 + 0.0
}
