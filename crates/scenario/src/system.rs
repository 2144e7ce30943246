//! Systems by name: scenario files, and what is typed in place of one.
//!
//! ```text
//!   raid10:8xexos-x18+cache=1GiB    a level, a number of devices and their profile, and what is changed
//!   nvme-gen4-tlc                   one device
//!   profile:nvme-gen4-tlc           the same, even if a file has this name
//!   calibrated:mine.toml            one device with the profile of this file
//!   array.toml                      a scenario
//! ```
//!
//! A file that exists goes before everything else. A part of a profile's name stands for it where no other has the same part.

mod problem;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use iosonar_device::{find_profile, similar_profiles};

use crate::resolve::set::holds;
use crate::{Overrides, Prepared, ProfileOf, ScenarioError, read_text};

pub use problem::SystemProblem;

/// A system that can be simulated with a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// As it was typed.
    pub name: String,
    text: String,
    path: PathBuf,
    set: Vec<(String, String)>,
    file: Option<PathBuf>,
    devices: Option<(&'static str, u32)>,
    /// Whether its text is that of a file, so that messages can name its lines.
    is_scenario: bool,
}

/// The name of a system, and the folder that its files are relative to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemName {
    /// As it was typed.
    pub name: PathBuf,
    /// Where its files are.
    pub folder: PathBuf,
}

/// Short names of keys that are often changed.
const SHORT_KEYS: [(&str, &str); 4] = [
    ("cache", "controller.cache"),
    ("controller", "controller.like"),
    ("unit", "array.stripe_unit"),
    ("scheduler", "disk.scheduler"),
];

/// Those of them whose values are sizes.
const SIZES: [&str; 2] = ["controller.cache", "array.stripe_unit"];

/// The keys that a short form sets.
pub const SHORT_FORM: [&str; 7] = [
    "array",
    "array.level",
    "array.disks",
    "disk",
    "disk.profile",
    "ssd",
    "ssd.profile",
];

impl SystemName {
    /// What it stands for.
    ///
    /// # Errors
    /// As [`System::named`].
    pub fn read(&self) -> Result<System, ScenarioError> {
        let path = self.folder.join(&self.name);
        let Some(name) = self.name.to_str().filter(|_| !is_file(&path)) else {
            return of_file(path);
        };
        let refused = |problem| ScenarioError::NotASystem {
            name: name.to_owned(),
            problem,
        };
        let (base, changes) = parts(name, &self.folder);
        let set = changes.into_iter().map(change);
        let set: Vec<_> = set.collect::<Result<_, _>>().map_err(refused)?;
        let system = of_base(base, &self.folder).map_err(|error| match error {
            BaseError::Problem(problem) => refused(problem),
            BaseError::File(error) => error,
        })?;
        let is_short = system.devices.is_some();
        let of_base = |(key, _): &&(String, String)| SHORT_FORM.contains(&key.as_str());
        if let Some((key, _)) = set.iter().find(of_base).filter(|_| is_short) {
            return Err(refused(SystemProblem::ChangeOfBase(key.clone())));
        }
        let path = match system.is_scenario {
            true => system.path,
            // Messages name what was typed, and relative paths begin in the folder.
            false => system.path.with_file_name(name.replace('/', "_")),
        };
        Ok(System {
            name: name.to_owned(),
            set,
            path,
            ..system
        })
    }

    /// The same, independent of the folder of this process and of its own.
    pub fn absolute(&self) -> PathBuf {
        let Some(name) = self.name.to_str() else {
            return self.folder.join(&self.name);
        };
        let (base, _) = parts(name, &self.folder);
        if let Some(file) = name.strip_prefix(CALIBRATED) {
            return format!("{CALIBRATED}{}", self.folder.join(file).display()).into();
        }
        let is_path = is_file(&self.folder.join(base)) || has_extension(base) || base.contains('/');
        match is_path {
            true => self.folder.join(name),
            false => name.into(),
        }
    }
}

impl System {
    /// What a name stands for, in the folder of this process.
    ///
    /// # Errors
    /// If it has another form, no profile has such a name, or a file cannot be read.
    pub fn named(name: &(impl AsRef<OsStr> + ?Sized)) -> Result<Self, ScenarioError> {
        let name = SystemName {
            name: name.as_ref().into(),
            folder: PathBuf::new(),
        };
        name.read()
    }

    /// What tables and pictures call the system of this name.
    pub fn label(name: &Path) -> String {
        let is_of_file = is_file(name) || name.extension().is_some_and(|e| e == "toml");
        // A dot in a system such as raid5:6xexos-x18+unit=1.5MiB begins no extension.
        let label = match is_of_file {
            true => name.file_stem(),
            false => name.file_name(),
        };
        label.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its scenario, without what is changed in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where its scenario is, for messages and relative paths.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is changed in its scenario, as (key, value in TOML).
    pub fn changes(&self) -> &[(String, String)] {
        &self.set
    }

    /// The file that it was read from, a scenario or a profile.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The built-in profile of its devices, and how many of them there are; `None` of a file.
    pub fn devices(&self) -> Option<(&'static str, u32)> {
        self.devices
    }

    /// The profile of its only device, a name or a file; `None` of an array, of a scenario, or of a changed device.
    pub fn profile(&self) -> Option<String> {
        let file = self.file.as_ref().filter(|_| !self.is_scenario);
        let profile = match self.devices {
            Some((name, 1)) => Some(name.to_owned()),
            Some(_) => None,
            None => file.map(|file| file.display().to_string()),
        };
        profile.filter(|_| self.set.is_empty())
    }

    /// Whether a key that is set for several systems is meant for this one: one of disks is not, if it has other devices.
    pub fn has_place_for(&self, key: &str) -> bool {
        const DEVICES: [&str; 3] = ["disk", "ssd", "device"];
        let table = key.split('.').next().unwrap_or_default();
        let scenario = toml::from_str::<toml::Table>(&self.text).unwrap_or_default();
        !DEVICES.contains(&table)
            || scenario.contains_key(table)
            || !DEVICES.iter().any(|other| scenario.contains_key(*other))
    }

    /// The overrides after what is changed in the scenario.
    pub fn with_changes(&self, overrides: &Overrides) -> Overrides {
        let mut overrides = overrides.clone();
        overrides.set.splice(..0, self.set.iter().cloned());
        overrides
    }

    /// The system by itself, with its own load or that of the overrides, which may also change it.
    ///
    /// # Errors
    /// As [`Prepared::from_toml`], in terms of what was typed.
    pub fn prepared(&self, overrides: &Overrides) -> Result<Prepared, ScenarioError> {
        Prepared::from_toml(&self.text, &self.path, &self.with_changes(overrides))
            .map_err(|error| self.explained(error))
    }

    /// An error of its scenario, in terms of what was typed.
    pub fn explained(&self, error: ScenarioError) -> ScenarioError {
        if let ScenarioError::NeedsMemory(refusal) = error {
            return ScenarioError::NeedsMemory(Box::new(self.explained(*refusal)));
        }
        match self.problem_of(&error) {
            Some(problem) => ScenarioError::Incomplete {
                path: PathBuf::from(&self.name),
                problem,
            },
            None => error,
        }
    }

    /// What is wrong with what was typed of it, with the key; `None` if the mistake is elsewhere. The scenario of a short
    /// form has no lines that anyone wrote, and what follows a `+` is not `--set`.
    pub fn problem_of(&self, error: &ScenarioError) -> Option<String> {
        let is_mine = |path: &Path| path == self.path && !self.is_scenario;
        let changes = |key: &str| {
            let mut changes = self.set.iter();
            changes.any(|(of, _)| holds(of, key) || holds(key, of))
        };
        match error {
            ScenarioError::NeedsMemory(refusal) => self.problem_of(refusal),
            ScenarioError::Set { key, problem } if changes(key) => {
                Some(format!("'{key}' {problem}"))
            }
            ScenarioError::Refused {
                path, key, problem, ..
            } if is_mine(path) => Some(format!("'{key}' {problem}")),
            ScenarioError::Value {
                path,
                key,
                seen,
                expected,
                ..
            } if is_mine(path) => Some(format!("'{key}' is {seen}, expected {expected}")),
            ScenarioError::NoLoad { path } if is_mine(path) => Some(
                "the system has no load: add a trace with --set load.trace=FILE, or a synthetic load such as --set \
                 load.requests=100000 --set load.rate_per_s=50 --set load.size=4KiB"
                    .to_owned(),
            ),
            ScenarioError::Incomplete { path, problem } if is_mine(path) => Some(problem.clone()),
            _ => None,
        }
    }
}

/// What comes before the file of a profile.
const CALIBRATED: &str = "calibrated:";

/// Why what comes before the changes is no system.
enum BaseError {
    Problem(SystemProblem),
    File(ScenarioError),
}

impl From<SystemProblem> for BaseError {
    fn from(problem: SystemProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ScenarioError> for BaseError {
    fn from(error: ScenarioError) -> Self {
        Self::File(error)
    }
}

/// A folder of the name of a profile is no scenario.
fn is_file(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

fn has_extension(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "toml")
}

/// A text without its changes, and these. A '+' of a file's name is followed by no '='.
fn parts<'a>(text: &'a str, folder: &Path) -> (&'a str, Vec<&'a str>) {
    let mut base = text;
    let mut changes = Vec::new();
    while let Some((before, change)) = base.rsplit_once('+') {
        if !change.contains('=') || is_file(&folder.join(base)) {
            break;
        }
        changes.insert(0, change);
        base = before;
    }
    (base, changes)
}

/// `KEY=VALUE`, with the key of a scenario.
fn change(text: &str) -> Result<(String, String), SystemProblem> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if value.is_empty() {
        return Err(SystemProblem::NoValue(text.to_owned()));
    }
    if holds("load", key) {
        return Err(SystemProblem::ChangeOfLoad(text.to_owned()));
    }
    let known = SHORT_KEYS.iter().find(|(short, _)| *short == key);
    let key = match known {
        Some((_, key)) => *key,
        None if key.contains('.') => key,
        None => {
            return Err(SystemProblem::UnknownChange {
                key: key.to_owned(),
            });
        }
    };
    // A size is a text in TOML, whose quotes a shell removes.
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let value = match SIZES.contains(&key) && is_number {
        true => format!("\"{value}\""),
        false => value.to_owned(),
    };
    Ok((key.to_owned(), value))
}

fn of_base(base: &str, folder: &Path) -> Result<System, BaseError> {
    let path = folder.join(base);
    if base.is_empty() {
        return Err(SystemProblem::Empty.into());
    }
    if is_file(&path) {
        return Ok(of_file(path)?);
    }
    if let Some(file) = base.strip_prefix(CALIBRATED) {
        if file.is_empty() {
            return Err(SystemProblem::NoFile.into());
        }
        return of_profile_file(&folder.join(file));
    }
    if has_extension(base) {
        return Ok(of_file(path)?);
    }
    if let Some((_, change)) = base.split_once('+') {
        return Err(SystemProblem::NoValue(change.to_owned()).into());
    }
    let system = match base.split_once(':') {
        Some(("profile", device)) => of_device(device)?,
        Some((level, devices)) => of_level(level, devices)?,
        None => of_device(base)?,
    };
    Ok(System {
        path: folder.join("system"),
        ..system
    })
}

/// A level and its devices: `raid10:8xexos-x18`.
fn of_level(level: &str, devices: &str) -> Result<System, SystemProblem> {
    if level.is_empty() {
        return Err(SystemProblem::NoLevel);
    }
    let no_number = || SystemProblem::NoNumber(devices.to_owned());
    let (seen, device) = devices.split_once('x').ok_or_else(no_number)?;
    if seen.parse::<f64>().is_err() {
        return Err(no_number());
    }
    let number: Option<u32> = seen.parse().ok();
    let number = number.filter(|number| (1..=problem::MOST_DEVICES).contains(number));
    let number = number.ok_or_else(|| SystemProblem::Number(seen.to_owned()))?;
    if device.is_empty() {
        return Err(SystemProblem::NoProfile(devices.to_owned()));
    }
    let (of, profile) = built_in_profile(device)?;
    let mut system = built_in(of, profile, number);
    write!(
        system.text,
        "[array]\nlevel = {level:?}\ndisks = {number}\n"
    )
    .expect("a String can always be written to");
    Ok(system)
}

/// One device of a built-in profile.
fn of_device(device: &str) -> Result<System, SystemProblem> {
    if device.is_empty() {
        return Err(SystemProblem::NoProfile("profile:".to_owned()));
    }
    let (of, profile) = built_in_profile(device)?;
    let mut system = built_in(of, profile, 1);
    if of == ProfileOf::Disk {
        system.text += ONE_DISK;
    }
    Ok(system)
}

/// An SSD needs no array of its own.
const ONE_DISK: &str = "[array]\nlevel = \"raid0\"\ndisks = 1\n";

fn built_in(of: ProfileOf, profile: &'static str, number: u32) -> System {
    System {
        name: String::new(),
        text: format!("[{}]\nprofile = {profile:?}\n", of.table()),
        path: PathBuf::new(),
        set: Vec::new(),
        file: None,
        devices: Some((profile, number)),
        is_scenario: false,
    }
}

/// A scenario, or the profile of one device.
fn of_file(path: PathBuf) -> Result<System, ScenarioError> {
    let text = read_text(&path)?;
    Ok(match ProfileOf::text(&text) {
        Some(of) => one_device(&path, of),
        None => System {
            name: path.display().to_string(),
            text,
            path: path.clone(),
            set: Vec::new(),
            file: Some(path),
            devices: None,
            is_scenario: true,
        },
    })
}

/// One device with the profile of a file.
fn of_profile_file(path: &Path) -> Result<System, BaseError> {
    match ProfileOf::text(&read_text(path)?) {
        Some(of) => Ok(one_device(path, of)),
        None => Err(SystemProblem::NotAProfile(path.to_owned()).into()),
    }
}

/// The same; its scenario lies beside its profile.
fn one_device(path: &Path, of: ProfileOf) -> System {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!("[{}]\nprofile = {file:?}\n", of.table());
    if of == ProfileOf::Disk {
        text += ONE_DISK;
    }
    System {
        name: path.display().to_string(),
        text,
        path: path.to_owned(),
        set: Vec::new(),
        file: Some(path.to_owned()),
        devices: None,
        is_scenario: false,
    }
}

/// The built-in profile that a name, or a part of one, stands for.
///
/// # Errors
/// If no profile has such a name, or several have.
pub fn built_in_profile(name: &str) -> Result<(ProfileOf, &'static str), SystemProblem> {
    let disks = iosonar_disk_model::BUILT_IN.iter();
    let ssds = iosonar_ssd_model::BUILT_IN.iter();
    let disks = disks.map(|(name, _)| (ProfileOf::Disk, *name));
    let all: Vec<_> = disks
        .chain(ssds.map(|(name, _)| (ProfileOf::Ssd, *name)))
        .collect();
    let names: Vec<_> = all.iter().map(|(_, name)| *name).collect();
    let found = find_profile(name, &names);
    if let Some(&one) = all.iter().find(|(_, known)| found == Some(*known)) {
        return Ok(one);
    }
    let part = name.to_lowercase();
    let similar = similar_profiles(name, &names);
    let name = name.to_owned();
    Err(match similar.iter().all(|known| known.contains(&part)) {
        true if !similar.is_empty() => SystemProblem::Ambiguous {
            name,
            fits: similar,
        },
        _ => SystemProblem::UnknownProfile { name, similar },
    })
}

#[cfg(test)]
mod tests;
