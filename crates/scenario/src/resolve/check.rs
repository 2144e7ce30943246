//! Errors that name a place in the scenario file.

use std::fmt::Display;
use std::path::Path;

use toml::Spanned;

use crate::ScenarioError;

/// Names places in the scenario file.
pub(super) struct Checker<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Checker<'_> {
    /// An error about a value: where it stands, what it is, what would do.
    pub(super) fn wrong<T>(
        &self,
        value: &Spanned<T>,
        key: &'static str,
        seen: impl Display,
        expected: impl Into<String>,
    ) -> ScenarioError {
        let line = 1 + self.text[..value.span().start].matches('\n').count();
        ScenarioError::Value {
            path: self.path.to_owned(),
            line,
            key,
            seen: seen.to_string(),
            expected: expected.into(),
        }
    }

    /// An error about something that is missing.
    pub(super) fn incomplete(&self, problem: &str) -> ScenarioError {
        ScenarioError::Incomplete {
            path: self.path.to_owned(),
            problem: problem.to_owned(),
        }
    }
}
