//! Profiles by name: built in, or in files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Why there is no profile of a name.
#[derive(Debug, thiserror::Error)]
pub enum NoProfile {
    /// No built-in profile has this name, and it is not that of a file.
    #[error(
        "unknown {kind} profile '{name}': built in are {known}; the name of a profile file must end in .toml"
    )]
    Unknown {
        /// Which kind of device: `disk`, `SSD`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that are built in.
        known: String,
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

/// Where a profile is from, for messages, and its text: that of `built_in` with this name, or a file, whose name ends in
/// `.toml` and is relative to `directory`.
///
/// # Errors
/// If there is no such profile, or the file cannot be read.
pub fn profile_text(
    kind: &'static str,
    built_in: &[(&str, &'static str)],
    name: &str,
    directory: &Path,
) -> Result<(String, Cow<'static, str>), NoProfile> {
    if let Some((name, text)) = built_in.iter().find(|(known, _)| *known == name) {
        return Ok(((*name).to_owned(), Cow::Borrowed(*text)));
    }
    let path = directory.join(name);
    if path.extension().is_none_or(|e| e != "toml") {
        let known: Vec<_> = built_in.iter().map(|(name, _)| *name).collect();
        return Err(NoProfile::Unknown {
            kind,
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    match iosonar_units::read_text_file(&path) {
        Ok(text) => Ok((path.display().to_string(), Cow::Owned(text))),
        Err(source) => Err(NoProfile::Io { kind, path, source }),
    }
}
