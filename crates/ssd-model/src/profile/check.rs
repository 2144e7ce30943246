//! Errors that name a key of the profile.

use std::fmt::Display;

use super::SsdProfileError;

/// Refuses values of a profile.
pub(crate) struct Checker<'a> {
    /// The file, or the built-in name.
    pub(crate) origin: &'a str,
    /// The table that the keys are in, with the dot behind it; empty for keys with their tables.
    pub(crate) table: &'static str,
}

impl Checker<'_> {
    pub(crate) fn wrong(
        &self,
        key: &str,
        seen: impl Display,
        expected: impl Into<String>,
    ) -> SsdProfileError {
        SsdProfileError::Value {
            origin: self.origin.to_owned(),
            key: format!("{}{key}", self.table),
            seen: seen.to_string(),
            expected: expected.into(),
        }
    }
}
