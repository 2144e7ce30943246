//! Profiles by name: built in, or in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

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

/// What to write instead of `name`, which is not a profile, for messages: one of the `known` whose names contain it, or
/// any of them.
pub fn instead_of_profile(name: &str, known: &[&str]) -> String {
    let part = name.to_lowercase();
    let with_it = known
        .iter()
        .filter(|known| known.to_lowercase().contains(&part));
    match with_it.copied().collect::<Vec<_>>().as_slice() {
        [one] if !part.is_empty() => format!("did you mean '{one}'?"),
        several if !part.is_empty() && !several.is_empty() => {
            format!("write one of {}", several.join(", "))
        }
        _ => format!(
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
