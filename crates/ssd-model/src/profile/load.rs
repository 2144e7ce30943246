//! From a name, or a file, to a profile.

use std::path::Path;

use iosonar_device::{Provenance, find_profile, profile_text};
use iosonar_units::text_in_one_line;
use serde::Deserialize;
use toml::Table;

use super::{BUILT_IN, DataSheet, SsdProfile, SsdProfileError};

/// The table of a profile that follows from a data sheet.
const SHEET: &str = "from_data_sheet";

/// A profile that follows from a data sheet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetFile {
    #[serde(deserialize_with = "text_in_one_line")]
    description: String,
    provenance: Option<Provenance>,
    from_data_sheet: DataSheet,
}

impl SsdProfile {
    /// A built-in profile by its name or a part of it, or one from a file: `name` ends in `.toml` then, and is
    /// relative to `directory`. Values in `changes` replace the profile's, key by key.
    ///
    /// # Errors
    /// If there is no such profile, a key is unknown, missing or of the wrong type, or figures of a data sheet
    /// contradict each other.
    pub fn load(name: &str, directory: &Path, changes: &Table) -> Result<Self, SsdProfileError> {
        let (origin, text) = profile_text("SSD", BUILT_IN, name, directory)?;
        let mut profile = Self::parse(&text, &origin, changes)?;
        let known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        find_profile(name, &known)
            .unwrap_or(name)
            .clone_into(&mut profile.name);
        Ok(profile)
    }

    /// From the text of a profile; `origin` is its name, for messages.
    ///
    /// # Errors
    /// If the text is not TOML, a key is unknown, missing or of the wrong type, or figures of a data sheet contradict
    /// each other.
    pub fn parse(text: &str, origin: &str, changes: &Table) -> Result<Self, SsdProfileError> {
        let wrong = |e: toml::de::Error| SsdProfileError::Syntax {
            origin: origin.to_owned(),
            message: iosonar_units::plain_complaint(&e.to_string()),
        };
        let table: Table = toml::from_str(text).map_err(wrong)?;
        // First without the changes, so that an error names its line.
        let mut profile = if table.contains_key(SHEET) {
            let file: SheetFile = toml::from_str(text).map_err(wrong)?;
            let sheet = match changes.get(SHEET) {
                None => file.from_data_sheet,
                Some(changes) => changed(&file.from_data_sheet, changes, origin)?,
            };
            let mut rest = changes.clone();
            rest.remove(SHEET);
            let profile = Self {
                provenance: file.provenance,
                ..sheet.profile(&file.description, origin)?
            };
            profile.with_changes(&rest, origin)?
        } else {
            toml::from_str::<Self>(text)
                .map_err(wrong)?
                .with_changes(changes, origin)?
        };
        origin.clone_into(&mut profile.name);
        Ok(profile)
    }

    /// The SSD of a data sheet, with values in place of those that follow from it; `origin` is for messages.
    ///
    /// # Errors
    /// If figures contradict each other, or a key is unknown, missing or of the wrong type.
    pub fn from_data_sheet(
        sheet: &Table,
        origin: &str,
        changes: &Table,
    ) -> Result<Self, SsdProfileError> {
        let sheet = DataSheet::deserialize(sheet.clone()).map_err(|e| changes_error(origin, &e))?;
        let description = format!("{} GB, {}", sheet.capacity_gb, sheet.interface.name());
        let profile = sheet.profile(&description, origin)?;
        profile.with_changes(changes, origin)
    }

    /// With values in place of its own.
    fn with_changes(self, changes: &Table, origin: &str) -> Result<Self, SsdProfileError> {
        if changes.is_empty() {
            return Ok(self);
        }
        let profile: Self = changed(&self, &changes.clone().into(), origin)?;
        Ok(Self {
            data_sheet: self.data_sheet,
            ..profile
        })
    }
}

fn changes_error(origin: &str, error: &toml::de::Error) -> SsdProfileError {
    let plain = iosonar_units::plain_complaint(error.message()).replace('\n', " ");
    // Of values that are in no text the last line names the key.
    let text = error.to_string();
    let place = text.trim_end().lines().last();
    let place = place.and_then(|line| line.strip_prefix("in `")?.strip_suffix('`'));
    let message = match place {
        Some(key) if plain.starts_with("is ") => format!("'ssd.{key}' {plain}"),
        Some(table) => format!("'ssd.{table}': {plain}"),
        None => plain,
    };
    SsdProfileError::Changes {
        origin: origin.to_owned(),
        message,
    }
}

/// A value with other ones in place of its own.
fn changed<T: serde::Serialize + serde::de::DeserializeOwned>(
    value: &T,
    changes: &toml::Value,
    origin: &str,
) -> Result<T, SsdProfileError> {
    let mut table = Table::try_from(value).expect("a profile consists of tables and values");
    match changes {
        toml::Value::Table(changes) => merge(&mut table, changes),
        other => {
            return Err(SsdProfileError::Changes {
                origin: origin.to_owned(),
                message: format!("'ssd.{SHEET}' is {other}, expected a table"),
            });
        }
    }
    table.try_into().map_err(|e| changes_error(origin, &e))
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
