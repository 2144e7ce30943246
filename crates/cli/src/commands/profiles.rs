//! `iosonar profiles`: which drives are built in.

use std::path::Path;

use iosonar_disk_model::DiskProfile;
use iosonar_ssd_model::{Parameters, SsdProfile};
use iosonar_units::Sectors;
use serde_json::json;

use crate::args::Profiles;
use crate::exit::{Ending, Usage, print};
use crate::json::Output;

/// The table of a scenario that it goes into, its name, what it is, its size in sectors and its text.
struct Profile {
    table: &'static str,
    name: &'static str,
    description: String,
    sectors: u64,
    text: &'static str,
}

fn all() -> anyhow::Result<Vec<Profile>> {
    let mut all = Vec::new();
    for &(name, text) in iosonar_disk_model::BUILT_IN {
        let profile = DiskProfile::load(name, Path::new("."))?;
        all.push(Profile {
            table: "disk",
            name,
            description: profile.description,
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
                    "sectors": profile.sectors,
                }),
            );
        }
        print(&output.text())?;
        return Ok(Ending::Done);
    }
    let mut text = String::from("For 'profile' in the tables [disk] and [ssd] of a scenario:\n\n");
    for profile in &all {
        let size = Sectors::new(1).bytes().get() as f64 * profile.sectors as f64 / 1e9;
        text += &format!(
            "  [{}] {:<20} {:>7.0} GB  {}\n",
            profile.table, profile.name, size, profile.description
        );
    }
    text += "\n'iosonar profiles NAME' prints one, to be changed and given as a .toml file.\n";
    print(&text)?;
    Ok(Ending::Done)
}
