//! `iosonar profiles`: which drives are built in.

use std::path::Path;

use iosonar_device::{Provenance, SheetFigure};
use iosonar_disk_model::DiskProfile;
use iosonar_ssd_model::{Parameters, SsdProfile};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::Sectors;
use serde_json::json;

use crate::exit::{Ending, Usage, print};
use crate::low::Profiles;
use crate::render::json::Output;
use crate::render::table::{Table, significant};

/// The table of a scenario that it goes into, its name, what it is, what stands behind it, its size in sectors and its text.
struct Profile {
    table: &'static str,
    name: &'static str,
    description: String,
    provenance: Option<Provenance>,
    sectors: u64,
    text: &'static str,
}

impl Profile {
    /// What stands behind it, in a word.
    fn kind(&self) -> &'static str {
        self.provenance.as_ref().map_or("typical", Provenance::kind)
    }
}

fn all() -> anyhow::Result<Vec<Profile>> {
    let mut all = Vec::new();
    for &(name, text) in iosonar_disk_model::BUILT_IN {
        let profile = DiskProfile::load(name, Path::new("."))?;
        all.push(Profile {
            table: "disk",
            name,
            description: profile.description,
            provenance: profile.provenance,
            sectors: profile.capacity_sectors,
            text,
        });
    }
    for &(name, text) in iosonar_ssd_model::BUILT_IN {
        let profile = SsdProfile::load(name, Path::new("."), &toml::Table::new())?;
        let parameters = Parameters::new(&profile)?;
        all.push(Profile {
            table: "ssd",
            name,
            description: profile.description,
            provenance: profile.provenance,
            sectors: parameters.capacity_sectors,
            text,
        });
    }
    Ok(all)
}

pub(crate) fn run(args: &Profiles) -> anyhow::Result<Ending> {
    let all = all()?;
    if let Some(name) = &args.name {
        let Some(profile) = all.iter().find(|profile| profile.name == name) else {
            let known: Vec<&str> = all.iter().map(|profile| profile.name).collect();
            let problem = format!(
                "there is no profile '{name}'; built in are {}",
                known.join(", ")
            );
            return Err(Usage(problem).into());
        };
        if args.check {
            return check(args, profile);
        }
        print(profile.text)?;
        return Ok(Ending::Done);
    }
    if args.json {
        let mut output = Output::new("profiles");
        for profile in &all {
            output.append(
                "profiles",
                json!({
                    "table": profile.table,
                    "name": profile.name,
                    "description": profile.description,
                    "kind": profile.kind(),
                    "source": profile.provenance.as_ref().map(ToString::to_string),
                    "sectors": profile.sectors,
                }),
            );
        }
        print(&output.text())?;
        return Ok(Ending::Done);
    }
    let mut text = String::from("For 'profile' in the tables [disk] and [ssd] of a scenario:\n\n");
    let width = all.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for profile in &all {
        let size = Sectors::new(1).bytes().get() as f64 * profile.sectors as f64 / 1e9;
        text += &format!(
            "  {:<6} {:<width$} {size:>7.0} GB  {:<10}  {}\n",
            format!("[{}]", profile.table),
            profile.name,
            profile.kind(),
            profile.description
        );
    }
    text += "\n'iosonar profiles NAME' prints one, with its source, to be changed and given as a .toml file; with --check \
             the tests\nof its data sheet are simulated.\n";
    print(&text)?;
    Ok(Ending::Done)
}

/// The figures of a data sheet, and those of the drive that is made from it.
fn check(args: &Profiles, profile: &Profile) -> anyhow::Result<Ending> {
    let of_disk = match profile.table {
        "disk" => DiskProfile::load(profile.name, Path::new("."))?.data_sheet_test(),
        _ => None,
    };
    let Some(figures) = of_disk else {
        let problem = format!(
            "--check: profile '{}' does not follow from a data sheet",
            profile.name
        );
        return Err(Usage(problem).into());
    };
    if args.json {
        let mut output = Output::new("profiles --check");
        for figure in &figures {
            let labels = Labels::of("profile", profile.name).with("figure", &figure.name);
            let unit = MetricUnit::Other(figure.unit.into());
            output.figure("stated", &labels, unit.clone(), figure.stated);
            output.figure("simulated", &labels, unit, figure.simulated);
        }
        print(&output.text())?;
    } else {
        let mut table = Table::new(&["", "data sheet", "simulated", "difference"]);
        for figure in &figures {
            let mark = if figure.is_reached() { "" } else { "  NOT REACHED" };
            table.row(vec![
                format!("{} [{}]", figure.name, figure.unit),
                significant(figure.stated, 4),
                significant(figure.simulated, 4),
                format!("{:+.2} %{mark}", 100.0 * figure.error()),
            ]);
        }
        print(&format!("{}\n\n{}", profile.description, table.text()))?;
    }
    Ok(match figures.iter().all(SheetFigure::is_reached) {
        true => Ending::Done,
        false => Ending::Flagged,
    })
}
