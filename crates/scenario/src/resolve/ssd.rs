//! The table `[ssd]`: a profile, and values in place of its own.

use std::path::Path;
use std::sync::Arc;

use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError};
use iosonar_units::Sectors;
use toml::{Table, Value};

use super::check::{Checker, with_suggestion};
use crate::file::ScenarioFile;
use crate::{ScenarioError, SsdSet};

/// What sizes of a load are counted in on SSDs.
pub(super) const BLOCK: Sectors = Sectors::new(8);

pub(super) fn ssds(
    check: &Checker<'_>,
    file: &ScenarioFile,
    ssd: &Table,
    directory: &Path,
) -> Result<SsdSet, ScenarioError> {
    if file.controller.as_ref().is_some_and(|c| c.cache.is_some()) && !file.array.is_given() {
        return Err(check.incomplete(
            "'controller.cache' is that of an array: a single SSD has [ssd.cache], or give a table [array]",
        ));
    }
    let mut changes = ssd.clone();
    let name = match changes.remove("profile") {
        Some(Value::String(name)) => name,
        other => {
            let seen = other.map_or("missing".to_owned(), |value| value.to_string());
            return Err(check.incomplete(&format!(
                "'ssd.profile' is {seen}, expected the name of a profile, such as \"nvme-gen4-tlc\""
            )));
        }
    };
    let mut profile =
        SsdProfile::load(&name, directory, &changes).map_err(|error| match error {
            SsdProfileError::Changes { .. } => {
                let mut message = with_suggestion(&error.to_string()).trim_end().to_owned();
                if message.contains("missing field") {
                    message += ": the profile has no such table, so all of it is to be given";
                }
                check.incomplete(&message)
            }
            error => error.into(),
        })?;
    let parameters = Parameters::new(&profile).map_err(|error| match &error {
        SsdProfileError::Value {
            key,
            seen,
            expected,
            ..
        } => {
            let here = check.wrong_at(&format!("ssd.{key}"), seen, expected);
            here.unwrap_or(ScenarioError::SsdProfile(error))
        }
        _ => ScenarioError::SsdProfile(error),
    })?;
    // The description is that of the profile's own storage.
    if changes.contains_key("storage") && !changes.contains_key("description") {
        profile.description = format!("{name} with {}", parameters.storage);
    }
    Ok(SsdSet {
        profile: Box::new(profile),
        parameters: Arc::new(parameters),
        changes,
    })
}
