//! From a name, or a file, to a profile.

use std::path::Path;

use toml::Table;

use super::{BUILT_IN, SsdProfile, SsdProfileError};

impl SsdProfile {
    /// A built-in profile by its name, or one from a file: `name` ends in `.toml` then, and is
    /// relative to `directory`. Values in `changes` take the place of the profile's, key by key.
    ///
    /// # Errors
    /// If there is no such profile, or a key is unknown, missing or of the wrong type.
    pub fn load(name: &str, directory: &Path, changes: &Table) -> Result<Self, SsdProfileError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, name, changes);
        }
        let path = directory.join(name);
        if path.extension().is_none_or(|e| e != "toml") {
            let known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            return Err(SsdProfileError::Unknown {
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        let text = iosonar_units::read_text_file(&path).map_err(|source| SsdProfileError::Io {
            path: path.clone(),
            source,
        })?;
        let mut profile = Self::parse(&text, &path.display().to_string(), changes)?;
        name.clone_into(&mut profile.name);
        Ok(profile)
    }

    /// From the text of a profile; `origin` is its name, for messages.
    ///
    /// # Errors
    /// If the text is no TOML, or a key is unknown, missing or of the wrong type.
    pub fn parse(text: &str, origin: &str, changes: &Table) -> Result<Self, SsdProfileError> {
        let wrong = |message: String| SsdProfileError::Syntax {
            origin: origin.to_owned(),
            message,
        };
        let mut table: Table = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        // First without the changes: so that an error is told where it is.
        toml::from_str::<Self>(text).map_err(|e| wrong(e.to_string()))?;
        merge(&mut table, changes);
        let mut profile: Self =
            table
                .try_into()
                .map_err(|e: toml::de::Error| SsdProfileError::Changes {
                    origin: origin.to_owned(),
                    message: e.to_string().trim_end().replace('\n', " "),
                })?;
        origin.clone_into(&mut profile.name);
        Ok(profile)
    }
}

/// Puts `changes` into `table`; tables within are merged.
fn merge(table: &mut Table, changes: &Table) {
    for (key, change) in changes {
        match (table.get_mut(key), change) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            _ => {
                table.insert(key.clone(), change.clone());
            }
        }
    }
}
