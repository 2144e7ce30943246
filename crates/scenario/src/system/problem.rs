//! Why a name stands for no system.

use std::path::PathBuf;

use super::SHORT_KEYS;

/// The most devices of an array.
pub(super) const MOST_DEVICES: u32 = 1024;

/// Why a name stands for no system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SystemProblem {
    /// There is no name before the changes.
    #[error("the name is empty")]
    Empty,
    /// There is no level before the colon.
    #[error("the level before ':' is missing, expected one such as raid5")]
    NoLevel,
    /// The devices have another form.
    #[error("'{0}' does not begin with a number of devices, expected NxPROFILE such as 8xexos-x18")]
    NoNumber(String),
    /// There cannot be this number of devices.
    #[error("the number of devices is {0}, expected a whole number from 1 to {MOST_DEVICES}")]
    Number(String),
    /// There is no profile after this.
    #[error(
        "the profile after '{0}' is missing, expected a name such as exos-x18 ('iosonar profiles' lists them)"
    )]
    NoProfile(String),
    /// There is no file after `calibrated:`.
    #[error(
        "the file after 'calibrated:' is missing, expected a profile such as calibrated:mine.toml"
    )]
    NoFile,
    /// The file is something else.
    #[error("{} is not a device profile; 'iosonar calibrate' writes one", .0.display())]
    NotAProfile(PathBuf),
    /// No profile has this name.
    #[error(
        "unknown profile '{name}'{}",
        match similar.as_slice() {
            [] => "; 'iosonar profiles' lists them".to_owned(),
            similar => format!(": did you mean {}?", similar.join(" or ")),
        }
    )]
    UnknownProfile {
        /// The name.
        name: String,
        /// Those with a similar name.
        similar: Vec<&'static str>,
    },
    /// Several profiles have this name.
    #[error("'{name}' is ambiguous: it matches {}; write more of the name", fits.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The profiles.
        fits: Vec<&'static str>,
    },
    /// A change sets nothing.
    #[error("'+{0}' has no value, expected +KEY=VALUE such as +cache=1GiB")]
    NoValue(String),
    /// A change is of the load.
    #[error("'+{0}': the load is not part of the system: use --set {0}")]
    ChangeOfLoad(String),
    /// A change is of what the name sets already.
    #[error("'+{0}=' changes what the part before '+' already sets: change that part instead")]
    ChangeOfBase(String),
    /// A change is of an unknown key.
    #[error(
        "'+{key}=': unknown key, expected one of {}, or a scenario's key with its table, such as array.layout",
        SHORT_KEYS.map(|(short, _)| short).join(", ")
    )]
    UnknownChange {
        /// The key.
        key: String,
    },
}
