//! Profiles of drives by their names: those that are built in, and files.

use std::path::Path;

use iosonar_device::{Provenance, SheetFigure};
use iosonar_disk_model::{DiskProfile, ProfileError};
use iosonar_scenario::ProfileOf;
use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError};

/// Why there is no such profile.
#[derive(Debug, thiserror::Error)]
pub enum KnownProfileError {
    /// There is no profile of that name, or in that file.
    #[error("{0}")]
    Refused(String),
    /// That of a disk makes no sense.
    #[error(transparent)]
    Disk(#[from] ProfileError),
    /// That of an SSD makes no sense.
    #[error(transparent)]
    Ssd(#[from] SsdProfileError),
}

fn refused(problem: String) -> KnownProfileError {
    KnownProfileError::Refused(problem)
}

/// A profile that is built in, or in a file.
#[derive(Clone, Debug)]
pub struct KnownProfile {
    /// Its name, or its file.
    pub name: String,
    /// The text of it.
    pub text: String,
    device: Device,
}

#[derive(Clone, Debug)]
enum Device {
    Disk(Box<DiskProfile>),
    /// With its size in sectors.
    Ssd(Box<SsdProfile>, u64),
}

impl KnownProfile {
    fn disk(name: &str, text: &str) -> Result<Self, KnownProfileError> {
        let mut profile = DiskProfile::parse(text, name)?;
        name.clone_into(&mut profile.name);
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            device: Device::Disk(Box::new(profile)),
        })
    }

    fn ssd(name: &str, text: &str) -> Result<Self, KnownProfileError> {
        let profile = SsdProfile::parse(text, name, &toml::Table::new())?;
        let sectors = Parameters::new(&profile)?.capacity_sectors;
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            device: Device::Ssd(Box::new(profile), sectors),
        })
    }

    /// That of a file.
    fn read(name: &str) -> Result<Self, KnownProfileError> {
        let path = Path::new(name);
        let text = iosonar_units::read_text_file(path)
            .map_err(|source| refused(format!("{name}: cannot read the profile: {source}")))?;
        match ProfileOf::text(&text) {
            Some(ProfileOf::Disk) => Self::disk(name, &text),
            Some(ProfileOf::Ssd) => Self::ssd(name, &text),
            None => Err(refused(format!(
                "{name}: is not a device profile, expected 'description' and the tables that 'iosonar profiles NAME' \
                 prints for a device of the same kind, or [from_data_sheet]"
            ))),
        }
    }

    /// The table of a scenario that it goes into.
    pub fn table(&self) -> &'static str {
        match self.device {
            Device::Disk(_) => ProfileOf::Disk.table(),
            Device::Ssd(..) => ProfileOf::Ssd.table(),
        }
    }

    /// What it is of.
    pub fn description(&self) -> &str {
        match &self.device {
            Device::Disk(profile) => &profile.description,
            Device::Ssd(profile, _) => &profile.description,
        }
    }

    /// What stands behind it.
    pub fn provenance(&self) -> Option<&Provenance> {
        match &self.device {
            Device::Disk(profile) => profile.provenance.as_ref(),
            Device::Ssd(profile, _) => profile.provenance.as_ref(),
        }
    }

    /// What stands behind it, in a word.
    pub fn kind(&self) -> &'static str {
        self.provenance().map_or("typical", Provenance::kind)
    }

    /// How much the drive holds, in sectors.
    pub fn sectors(&self) -> u64 {
        match self.device {
            Device::Disk(ref profile) => profile.capacity_sectors,
            Device::Ssd(_, sectors) => sectors,
        }
    }

    /// The figures of its data sheet, stated and simulated; `None` if it has neither a data sheet nor limits.
    ///
    /// # Errors
    /// If a value of the profile is out of its range.
    pub fn data_sheet_test(&self) -> Result<Option<Vec<SheetFigure>>, KnownProfileError> {
        Ok(match &self.device {
            Device::Disk(profile) => profile.data_sheet_test(),
            Device::Ssd(profile, _) => profile.data_sheet_test()?,
        })
    }
}

/// All profiles that are built in.
///
/// # Errors
/// If one of them is invalid, which tests exclude.
pub fn all() -> Result<Vec<KnownProfile>, KnownProfileError> {
    let disks = iosonar_disk_model::BUILT_IN.iter();
    let ssds = iosonar_ssd_model::BUILT_IN.iter();
    disks
        .map(|(name, text)| KnownProfile::disk(name, text))
        .chain(ssds.map(|(name, text)| KnownProfile::ssd(name, text)))
        .collect()
}

/// The profile of a name, of a part of one that no other has, or of a file.
///
/// # Errors
/// If it does not exist, or is invalid.
pub fn named(name: &str) -> Result<KnownProfile, KnownProfileError> {
    if Path::new(name).extension().is_some_and(|e| e == "toml") {
        return KnownProfile::read(name);
    }
    let mut all = all()?;
    let known: Vec<&str> = all.iter().map(|profile| profile.name.as_str()).collect();
    let found = iosonar_device::find_profile(name, &known);
    if let Some(at) = found.and_then(|found| known.iter().position(|name| *name == found)) {
        return Ok(all.swap_remove(at));
    }
    let remedy = iosonar_device::instead_of_profile(name, &known);
    Err(refused(format!("unknown profile '{name}': {remedy}")))
}
