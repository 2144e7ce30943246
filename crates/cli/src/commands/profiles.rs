//! `iosonar profiles`: which drives are built in, and whether one of a data sheet has its figures.

use std::path::Path;

use iosonar_device::{Provenance, SheetFigure};
use iosonar_disk_model::DiskProfile;
use iosonar_scenario::ProfileOf;
use iosonar_ssd_model::{Parameters, SsdProfile};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::Sectors;
use serde_json::json;

use crate::exit::{Ending, Usage, print};
use crate::low::Profiles;
use crate::render::table::{Table, significant};
use iosonar_stats::Output;

/// A profile that is built in, or in a file.
struct Profile {
    name: String,
    text: String,
    device: Device,
}

enum Device {
    Disk(Box<DiskProfile>),
    /// With its size in sectors.
    Ssd(Box<SsdProfile>, u64),
}

impl Profile {
    fn disk(name: &str, text: &str) -> anyhow::Result<Self> {
        let mut profile = DiskProfile::parse(text, name)?;
        name.clone_into(&mut profile.name);
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            device: Device::Disk(Box::new(profile)),
        })
    }

    fn ssd(name: &str, text: &str) -> anyhow::Result<Self> {
        let profile = SsdProfile::parse(text, name, &toml::Table::new())?;
        let sectors = Parameters::new(&profile)?.capacity_sectors;
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            device: Device::Ssd(Box::new(profile), sectors),
        })
    }

    /// That of a file.
    fn read(name: &str) -> anyhow::Result<Self> {
        let path = Path::new(name);
        let text = iosonar_units::read_text_file(path)
            .map_err(|source| Usage(format!("{name}: cannot read the profile: {source}")))?;
        match ProfileOf::text(&text) {
            Some(ProfileOf::Disk) => Self::disk(name, &text),
            Some(ProfileOf::Ssd) => Self::ssd(name, &text),
            None => Err(Usage(format!(
                "{name}: is no profile of a device, expected 'description' and the tables that 'iosonar profiles NAME' \
                 prints for one of the same kind, or [from_data_sheet]"
            ))
            .into()),
        }
    }

    /// The table of a scenario that it goes into.
    fn table(&self) -> &'static str {
        match self.device {
            Device::Disk(_) => ProfileOf::Disk.table(),
            Device::Ssd(..) => ProfileOf::Ssd.table(),
        }
    }

    fn description(&self) -> &str {
        match &self.device {
            Device::Disk(profile) => &profile.description,
            Device::Ssd(profile, _) => &profile.description,
        }
    }

    /// What stands behind it.
    fn provenance(&self) -> Option<&Provenance> {
        match &self.device {
            Device::Disk(profile) => profile.provenance.as_ref(),
            Device::Ssd(profile, _) => profile.provenance.as_ref(),
        }
    }

    /// The same in a word.
    fn kind(&self) -> &'static str {
        self.provenance().map_or("typical", Provenance::kind)
    }

    fn sectors(&self) -> u64 {
        match self.device {
            Device::Disk(ref profile) => profile.capacity_sectors,
            Device::Ssd(_, sectors) => sectors,
        }
    }

    fn data_sheet_test(&self) -> anyhow::Result<Option<Vec<SheetFigure>>> {
        Ok(match &self.device {
            Device::Disk(profile) => profile.data_sheet_test(),
            Device::Ssd(profile, _) => profile.data_sheet_test()?,
        })
    }
}

fn all() -> anyhow::Result<Vec<Profile>> {
    let disks = iosonar_disk_model::BUILT_IN.iter();
    let ssds = iosonar_ssd_model::BUILT_IN.iter();
    disks
        .map(|(name, text)| Profile::disk(name, text))
        .chain(ssds.map(|(name, text)| Profile::ssd(name, text)))
        .collect()
}

/// The profile of a name or a file.
fn named(name: &str) -> anyhow::Result<Profile> {
    if Path::new(name).extension().is_some_and(|e| e == "toml") {
        return Profile::read(name);
    }
    let mut all = all()?;
    if let Some(at) = all.iter().position(|profile| profile.name == name) {
        return Ok(all.swap_remove(at));
    }
    let known: Vec<&str> = all.iter().map(|profile| profile.name.as_str()).collect();
    let known = known.join(", ");
    let problem =
        format!("there is no profile '{name}'; built in are {known}; a profile file ends in .toml");
    Err(Usage(problem).into())
}

pub(crate) fn run(args: &Profiles) -> anyhow::Result<Ending> {
    if let Some(name) = &args.name {
        let profile = named(name)?;
        if args.check {
            return check(args, &profile);
        }
        print(&profile.text)?;
        return Ok(Ending::Done);
    }
    let all = all()?;
    if args.json {
        let mut output = Output::new("profiles");
        for profile in &all {
            output.append(
                "profiles",
                json!({
                    "table": profile.table(),
                    "name": profile.name,
                    "description": profile.description(),
                    "kind": profile.kind(),
                    "source": profile.provenance().map(ToString::to_string),
                    "sectors": profile.sectors(),
                }),
            );
        }
        print(&output.text())?;
        return Ok(Ending::Done);
    }
    let mut text = String::from("For 'profile' in the tables [disk] and [ssd] of a scenario:\n\n");
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
    text += "\n'iosonar profiles NAME' prints one, with its source, to be changed and given as a .toml file; with --check \
             the tests\nof its data sheet are simulated.\n";
    print(&text)?;
    Ok(Ending::Done)
}

/// The figures of a data sheet, and those of the drive that is made from it.
fn check(args: &Profiles, profile: &Profile) -> anyhow::Result<Ending> {
    let Some(figures) = profile.data_sheet_test()? else {
        let problem = format!(
            "--check: profile '{}' has neither a data sheet nor limits to be tested",
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
        print(&output.text())?;
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
        0 => format!("All {all} figures are reached: within {most} %."),
        1 => format!("1 of {all} figures is not reached: more than {most} % off."),
        _ => format!("{missed} of {all} figures are not reached: more than {most} % off."),
    }
}

/// A percentage to two decimals, of which none is a negative zero.
fn hundredths(percent: f64) -> f64 {
    (100.0 * percent).round() / 100.0 + 0.0
}
