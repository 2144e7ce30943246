//! The table `[ssd]`: a profile, and values in place of its own.

use std::path::Path;
use std::sync::Arc;

use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError};
use iosonar_units::Sectors;
use toml::{Table, Value};

use super::ProfileOf;
use super::check::Checker;
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
            "'controller.cache' needs an array: use [ssd.cache] for a single SSD, or add an [array] table",
        ));
    }
    let mut changes = ssd.clone();
    let named = changes.remove("profile");
    let mut profile = profile(check, named.as_ref(), &mut changes, directory)?;
    let parameters = Parameters::new(&profile).map_err(|error| refused(check, error))?;
    // The description is that of the profile's own storage.
    if changes.contains_key("storage") && !changes.contains_key("description") {
        let name = profile.name.clone();
        profile.description = format!("{name} with {}", parameters.storage());
    }
    Ok(SsdSet {
        profile: Box::new(profile),
        parameters: Arc::new(parameters),
        changes,
    })
}

/// The profile that the scenario names, or that of its data sheet, with the changes.
fn profile(
    check: &Checker<'_>,
    named: Option<&Value>,
    changes: &mut Table,
    directory: &Path,
) -> Result<SsdProfile, ScenarioError> {
    let profile = match (named, changes.get("from_data_sheet")) {
        (Some(Value::String(name)), _)
            if ProfileOf::named(name, directory) == Some(ProfileOf::Disk) =>
        {
            return Err(check.incomplete(&format!(
                "'ssd.profile' is \"{name}\", which is the profile of a disk: use [disk] instead of [ssd], and add an \
                 [array] table"
            )));
        }
        (Some(Value::String(name)), _) => SsdProfile::load(name, directory, changes),
        (None, Some(Value::Table(sheet))) => {
            let sheet = sheet.clone();
            changes.remove("from_data_sheet");
            let origin = check.path.display().to_string();
            SsdProfile::from_data_sheet(&sheet, &origin, changes)
        }
        (named, _) => {
            let seen = named.map_or("missing".to_owned(), ToString::to_string);
            return Err(check.incomplete(&format!(
                "'ssd.profile' is {seen}, expected the name of a profile, such as \"nvme-gen4-tlc\", or an \
                 [ssd.from_data_sheet] table instead"
            )));
        }
    };
    profile.map_err(|error| refused(check, error))
}

/// The error with the line of the scenario, if the value stands there.
fn refused(check: &Checker<'_>, error: SsdProfileError) -> ScenarioError {
    match &error {
        SsdProfileError::Changes { .. } => {
            let mut message = error.to_string();
            if message.contains("is missing") {
                message +=
                    ": the profile does not have this table, so all of its keys must be given";
            }
            check.incomplete(&message)
        }
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
    }
}
