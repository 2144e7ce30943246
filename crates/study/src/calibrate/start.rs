//! What is fitted to records, by its name.

use std::path::Path;

use iosonar_disk_model::DiskProfile;
use iosonar_scenario::ProfileOf;
use iosonar_ssd_model::SsdProfile;

use super::CalibrateError;

/// What is fitted.
#[derive(Clone, Debug)]
pub enum Start {
    /// A disk with the geometry of a profile.
    Disk(Box<DiskProfile>),
    /// Flash with the geometry of a profile.
    Flash(Box<SsdProfile>),
    /// What serves several requests at a time, as measured.
    Ssd,
}

impl Start {
    /// That of this name: `ssd`, or a profile by its name or file.
    ///
    /// # Errors
    /// If there is no such profile, or one of an SSD without flash.
    pub fn of(name: &str) -> Result<Self, CalibrateError> {
        let refused = |problem: String| CalibrateError::Profile(format!("--profile{problem}"));
        if name == "ssd" {
            return Ok(Self::Ssd);
        }
        if is_flash(name) {
            let profile = SsdProfile::load(name, Path::new("."), &toml::Table::new())
                .map_err(|e| refused(format!(": {e}")))?;
            if profile.flash.is_none() {
                return Err(refused(format!(
                    " {name}: the profile has no flash; use --profile ssd"
                )));
            }
            return Ok(Self::Flash(Box::new(profile)));
        }
        let profile = DiskProfile::load(name, Path::new(".")).map_err(|e| {
            refused(format!(
                ": {e}; for a device that serves several requests at a time, use 'ssd' or the profile of an SSD with \
                 flash"
            ))
        })?;
        Ok(Self::Disk(Box::new(profile)))
    }
}

/// Whether a profile is of an SSD.
fn is_flash(name: &str) -> bool {
    // Loading it reports what cannot be read.
    ProfileOf::named(name, Path::new(".")) == Some(ProfileOf::Ssd)
}
