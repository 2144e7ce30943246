//! What can be chosen, as it is typed.
//!
//! ```text
//!   raid10:8xexos-x18+cache=1GiB    a level, a number of devices and their profile, and what is changed
//!   nvme-gen4-tlc                   one device
//!   calibrated:mine.toml            one device with the profile of this file
//!   array.toml                      a scenario, whose own load is not used
//! ```
//!
//! A part of a profile's name stands for it where no other has the same part.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use iosonar_device::find_profile;
use iosonar_scenario::{Overrides, Prepared, ProfileOf, ScenarioError, read_text};

use crate::vary::holds;

/// A system that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// As it was typed.
    pub name: String,
    /// A scenario, whose load is not used.
    pub(super) text: String,
    /// Where the scenario lies.
    pub(super) path: PathBuf,
    /// What is changed in it.
    pub(super) set: Vec<(String, String)>,
    /// What it was read from.
    file: Option<PathBuf>,
    /// The built-in profile of its devices, and how many of them there are; `None` of a file.
    pub(super) devices: Option<(&'static str, u32)>,
}

/// Why a text is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    /// A part of it is not understood.
    #[error(
        "candidate '{candidate}': {problem}; candidates look like raid10:8xexos-x18+cache=1GiB, nvme-gen4-tlc, \
         calibrated:PROFILE.toml or SCENARIO.toml"
    )]
    Form {
        /// As it was typed.
        candidate: String,
        /// What is wrong.
        problem: String,
    },
    /// Its file cannot be read.
    #[error(transparent)]
    File(#[from] ScenarioError),
}

/// The name of a scenario that is in no file.
const MADE_UP: &str = "candidate";

/// Short names of keys that are often changed.
const SHORT_KEYS: [(&str, &str); 4] = [
    ("cache", "controller.cache"),
    ("controller", "controller.like"),
    ("unit", "array.stripe_unit"),
    ("scheduler", "disk.scheduler"),
];

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

impl Candidate {
    /// Whether a key that is set for all candidates is meant for this one: one of disks is not, if it has other devices.
    pub(super) fn has_place_for(&self, key: &str) -> bool {
        const DEVICES: [&str; 3] = ["disk", "ssd", "device"];
        let table = key.split('.').next().unwrap_or_default();
        let scenario = toml::from_str::<toml::Table>(&self.text).unwrap_or_default();
        !DEVICES.contains(&table)
            || scenario.contains_key(table)
            || !DEVICES.iter().any(|other| scenario.contains_key(*other))
    }

    /// What a text stands for.
    ///
    /// # Errors
    /// If it has another form, no profile has such a name, or a file cannot be read.
    pub fn parse(name: &str) -> Result<Self, CandidateError> {
        let wrong = |problem: String| CandidateError::Form {
            candidate: name.to_owned(),
            problem,
        };
        let (base, changes) = parts(name);
        let set = changes
            .into_iter()
            .map(change)
            .collect::<Result<_, _>>()
            .map_err(wrong)?;
        let system = match base.split_once(':') {
            Some(("calibrated", file)) => of_profile_file(Path::new(file)).map_err(wrong)?,
            _ if has_extension(base, "toml") => of_file(Path::new(base))?,
            Some((level, devices)) => of_level(level, devices).map_err(wrong)?,
            None => of_device(base).map_err(wrong)?,
        };
        let set: Vec<(String, String)> = set;
        if system.devices.is_some()
            && let Some((key, _)) = set
                .iter()
                .find(|(key, _)| SHORT_FORM.contains(&key.as_str()))
        {
            return Err(wrong(format!(
                "'+{key}=' changes what the part before '+' already sets: change that part instead"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            set,
            ..system
        })
    }

    /// What is wrong with what was typed of it, with the key; `None` if the mistake is elsewhere. The scenario of a short
    /// form has no lines that anyone wrote, and what follows a `+` is not `--set`.
    pub(super) fn problem_of(&self, error: &ScenarioError) -> Option<String> {
        let is_mine = |path: &Path| path == self.path && path.ends_with(MADE_UP);
        let changes = |key: &str| {
            let mut changes = self.set.iter();
            changes.any(|(of, _)| holds(of, key) || holds(key, of))
        };
        match error {
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
            ScenarioError::Incomplete { path, problem } if is_mine(path) => Some(problem.clone()),
            _ => None,
        }
    }

    /// The system by itself, with its own load or that of the overrides, which may also change it.
    ///
    /// # Errors
    /// As [`Prepared::from_toml`], in terms of what was typed.
    pub fn prepared(&self, overrides: &Overrides) -> Result<Prepared, ScenarioError> {
        let mut overrides = overrides.clone();
        overrides.set.splice(..0, self.set.iter().cloned());
        Prepared::from_toml(&self.text, &self.path, &overrides).map_err(|error| {
            match self.problem_of(&error) {
                Some(problem) => ScenarioError::Incomplete {
                    path: PathBuf::from(&self.name),
                    problem,
                },
                None => error,
            }
        })
    }

    /// The file that it was read from, a scenario or a profile.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The built-in profile of its devices, and how many of them there are; `None` of a file.
    pub fn devices(&self) -> Option<(&'static str, u32)> {
        self.devices
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == extension)
}

/// A text without its changes, and these. A '+' of a file's name is followed by no '='.
fn parts(text: &str) -> (&str, Vec<&str>) {
    let mut base = text;
    let mut changes = Vec::new();
    while let Some((before, change)) = base.rsplit_once('+') {
        if !change.contains('=') {
            break;
        }
        changes.insert(0, change);
        base = before;
    }
    (base, changes)
}

/// `KEY=VALUE`, with the key of a scenario.
fn change(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if value.is_empty() {
        return Err(format!("'+{text}' has no value"));
    }
    if key == "load" || key.starts_with("load.") {
        return Err(format!(
            "'+{key}=': the load is the same for all candidates; --set {key}=... changes it for all"
        ));
    }
    let known = SHORT_KEYS.iter().find(|(short, _)| *short == key);
    match known {
        Some((_, key)) => Ok(((*key).to_owned(), value.to_owned())),
        None if key.contains('.') => Ok((key.to_owned(), value.to_owned())),
        None => {
            let short: Vec<_> = SHORT_KEYS.iter().map(|(short, _)| *short).collect();
            Err(format!(
                "'+{key}=': unknown key, expected one of {}, or a scenario's key with its table, such as array.layout",
                short.join(", ")
            ))
        }
    }
}

/// A level and its devices: `raid10:8xexos-x18`.
fn of_level(level: &str, devices: &str) -> Result<Candidate, String> {
    let number = devices.split_once('x').and_then(|(number, device)| {
        let number: u32 = number.parse().ok()?;
        Some((number, device))
    });
    let Some((number, device)) = number else {
        return Err(format!(
            "'{devices}' does not begin with a number of devices, as in 8xexos-x18"
        ));
    };
    if number == 0 {
        return Err("the number of devices must be at least 1, as in 8xexos-x18".to_owned());
    }
    let (of, profile) = profile(device)?;
    let mut system = built_in(of, profile, number);
    write!(
        system.text,
        "[array]\nlevel = {level:?}\ndisks = {number}\n"
    )
    .expect("a String can always be written to");
    Ok(system)
}

/// One device of a built-in profile.
fn of_device(device: &str) -> Result<Candidate, String> {
    let (of, profile) = profile(device)?;
    let mut system = built_in(of, profile, 1);
    if of == ProfileOf::Disk {
        system.text += ONE_DISK;
    }
    Ok(system)
}

/// An SSD needs no array of its own.
const ONE_DISK: &str = "[array]\nlevel = \"raid0\"\ndisks = 1\n";

fn built_in(of: ProfileOf, profile: &'static str, number: u32) -> Candidate {
    Candidate {
        name: String::new(),
        text: format!("[{}]\nprofile = {profile:?}\n", of.table()),
        path: PathBuf::from(MADE_UP),
        set: Vec::new(),
        file: None,
        devices: Some((profile, number)),
    }
}

/// A scenario, or the profile of one device.
fn of_file(path: &Path) -> Result<Candidate, CandidateError> {
    let text = read_text(path)?;
    if ProfileOf::text(&text).is_some() {
        return of_profile_file(path).map_err(|problem| CandidateError::Form {
            candidate: path.display().to_string(),
            problem,
        });
    }
    Ok(Candidate {
        name: String::new(),
        text,
        path: path.to_owned(),
        set: Vec::new(),
        file: Some(path.to_owned()),
        devices: None,
    })
}

/// One device with the profile of a file.
fn of_profile_file(path: &Path) -> Result<Candidate, String> {
    let text = read_text(path).map_err(|e| e.to_string())?;
    let Some(of) = ProfileOf::text(&text) else {
        return Err(format!(
            "{} is not a device profile; 'iosonar calibrate' writes one",
            path.display()
        ));
    };
    // The scenario lies beside its profile.
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!("[{}]\nprofile = {file:?}\n", of.table());
    if of == ProfileOf::Disk {
        text += ONE_DISK;
    }
    Ok(Candidate {
        name: String::new(),
        text,
        path: path.with_file_name(MADE_UP),
        set: Vec::new(),
        file: Some(path.to_owned()),
        devices: None,
    })
}

/// The built-in profile that a name, or a part of one, stands for.
///
/// # Errors
/// If no profile has such a name, or several have.
pub(super) fn profile(name: &str) -> Result<(ProfileOf, &'static str), String> {
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
    let with_it = all.iter().filter(|(_, known)| known.contains(&part));
    match with_it.copied().collect::<Vec<_>>().as_slice() {
        [] => Err(format!(
            "unknown profile '{name}'; 'iosonar profiles' lists them"
        )),
        several => {
            let names: Vec<_> = several.iter().map(|(_, name)| *name).collect();
            Err(format!(
                "'{name}' is ambiguous: it matches {}; write more of the name",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_scenarios() {
        let raid = Candidate::parse("raid10:8xexos-x18+cache=1GiB+array.layout=left-symmetric");
        let raid = raid.unwrap();
        assert_eq!(raid.devices, Some(("seagate-exos-x18-18tb", 8)));
        assert!(raid.text.contains("level = \"raid10\"\ndisks = 8"));
        let set = [
            ("controller.cache", "1GiB"),
            ("array.layout", "left-symmetric"),
        ];
        assert_eq!(raid.set, set.map(|(k, v)| (k.to_owned(), v.to_owned())));
        let ssd = Candidate::parse("nvme-gen4-tlc").unwrap();
        assert_eq!(ssd.text, "[ssd]\nprofile = \"nvme-gen4-tlc\"\n");
        let disk = Candidate::parse("ibm-18es").unwrap();
        assert!(disk.text.ends_with(ONE_DISK));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (text, problem) in [
            ("raid10:exos-x18", "does not begin with a number"),
            ("raid10:0xexos-x18", "must be at least 1"),
            ("raid10:8xnothing", "unknown profile 'nothing'"),
            ("seagate", "matches seagate-st3500630ns"),
            ("nvme-gen4-tlc+cache=", "has no value"),
            ("nvme-gen4-tlc+load.speed=2", "the same for all candidates"),
            ("nvme-gen4-tlc+speed=3", "'+speed=': unknown key"),
            (
                "raid10:8xexos-x18+array.disks=4",
                "changes what the part before '+' already sets",
            ),
            ("", "is ambiguous"),
            ("absent.toml", "absent.toml"),
            ("calibrated:absent.toml", "absent.toml"),
        ] {
            let error = Candidate::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn a_plus_of_a_file_name_is_no_change() {
        assert_eq!(parts("a+b.toml"), ("a+b.toml", vec![]));
        assert_eq!(
            parts("a+b.toml+cache=1+x.y=2"),
            ("a+b.toml", vec!["cache=1", "x.y=2"])
        );
    }
}
