//! Profiles by name: built in, or in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use iosonar_units::distance_of_words;

/// Why there is no profile of a name.
#[derive(Debug, thiserror::Error)]
pub enum NoProfile {
    /// No built-in profile has this name, and it is not that of a file.
    #[error("unknown {kind} profile '{name}': {remedy}")]
    Unknown {
        /// Which kind of device: `disk`, `SSD`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What to write instead, from [`instead_of_profile`].
        remedy: String,
    },
    /// The file cannot be read.
    #[error("{}: cannot read the {kind} profile: {source}", path.display())]
    Io {
        /// Which kind of device.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// The one of the `known` profiles that a name stands for: the one of this name, or the only one whose name contains it.
pub fn find_profile<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(exact) = known.iter().find(|known| **known == name) {
        return Some(exact);
    }
    let part = name.to_lowercase();
    let mut with_it = known
        .iter()
        .filter(|known| known.to_lowercase().contains(&part));
    match (with_it.next(), with_it.next()) {
        (Some(one), None) if !part.is_empty() => Some(one),
        _ => None,
    }
}

/// The known profiles that `name` may be meant for: those whose names contain it, or else those with a part that it
/// misspells.
pub fn similar_profiles<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    if name.is_empty() {
        return Vec::new();
    }
    let part = name.to_lowercase();
    let has_it = |known: &&&str| known.to_lowercase().contains(&part);
    let with_it: Vec<_> = known.iter().filter(has_it).copied().collect();
    if !with_it.is_empty() {
        return with_it;
    }
    let length = part.split('-').count();
    let distance = |known: &str| {
        let parts: Vec<_> = known.split('-').collect();
        let windows = parts.windows(length.min(parts.len()));
        let distances = windows.map(|parts| distance_of_words(&part, &parts.join("-")));
        distances.min().unwrap_or(usize::MAX)
    };
    let least = known.iter().map(|known| distance(known)).min();
    let near = least.filter(|least| *least <= (part.len() / 3).max(1));
    let is_nearest = |known: &&&str| Some(distance(known)) == near;
    known.iter().filter(is_nearest).copied().collect()
}

/// What to write instead of `name`, which is not a profile, for messages: one of the `known` whose names contain it, or
/// any of them.
pub fn instead_of_profile(name: &str, known: &[&str]) -> String {
    match similar_profiles(name, known).as_slice() {
        [one] => format!("did you mean '{one}'?"),
        several @ [_, ..] => format!("write one of {}", several.join(", ")),
        [] => format!(
            "the built-in profiles are {}; the name of a profile file must end in .toml",
            known.join(", ")
        ),
    }
}

/// Where a profile is from, for messages, and its text: that of `built_in` with this name or the only one with this part of
/// a name, or a file, whose name ends in `.toml` and is relative to `directory`.
///
/// # Errors
/// If there is no such profile, or the file cannot be read.
pub fn profile_text(
    kind: &'static str,
    built_in: &[(&str, &'static str)],
    name: &str,
    directory: &Path,
) -> Result<(String, Cow<'static, str>), NoProfile> {
    let known: Vec<_> = built_in.iter().map(|(name, _)| *name).collect();
    let found = find_profile(name, &known);
    if let Some((name, text)) = built_in.iter().find(|(known, _)| found == Some(*known)) {
        return Ok(((*name).to_owned(), Cow::Borrowed(*text)));
    }
    let path = directory.join(name);
    if path.extension().is_none_or(|e| e != "toml") {
        return Err(NoProfile::Unknown {
            kind,
            name: name.to_owned(),
            remedy: instead_of_profile(name, &known),
        });
    }
    match iosonar_units::read_text_file(&path) {
        Ok(text) => Ok((path.display().to_string(), Cow::Owned(text))),
        Err(source) => Err(NoProfile::Io { kind, path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_one_name_stands_for_it() {
        let known = ["intel-d7", "intel-d7-p5500", "ibm-18es"];
        for (name, found) in [
            ("ibm", Some("ibm-18es")),
            ("18ES", Some("ibm-18es")),
            ("intel-d7", Some("intel-d7")),
            ("p55", Some("intel-d7-p5500")),
            ("intel", None),
            ("seagate", None),
            ("", None),
        ] {
            assert_eq!(find_profile(name, &known), found, "{name}");
        }
    }

    #[test]
    fn a_part_of_a_name_suggests_the_names_that_contain_it() {
        let known = ["seagate-exos-x18-18tb", "seagate-st3500630ns", "ibm-18es"];
        for (name, words) in [
            ("exos-x18", "did you mean 'seagate-exos-x18-18tb'?"),
            ("EXOS", "did you mean 'seagate-exos-x18-18tb'?"),
            (
                "seagate",
                "write one of seagate-exos-x18-18tb, seagate-st3500630ns",
            ),
            ("exos-x19", "did you mean 'seagate-exos-x18-18tb'?"),
            ("ibn-18es", "did you mean 'ibm-18es'?"),
            (
                "hitachi",
                "the built-in profiles are seagate-exos-x18-18tb, seagate-st3500630ns, ibm-18es; \
                 the name of a profile file must end in .toml",
            ),
            (
                "",
                "the built-in profiles are seagate-exos-x18-18tb, seagate-st3500630ns, ibm-18es; \
                 the name of a profile file must end in .toml",
            ),
        ] {
            assert_eq!(instead_of_profile(name, &known), words, "{name}");
        }
    }
}
