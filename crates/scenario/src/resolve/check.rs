//! Errors that name a place in the scenario file.

use std::fmt::Display;
use std::path::Path;

use toml::Spanned;

use crate::ScenarioError;

/// Names places in the scenario file.
pub(crate) struct Checker<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
    /// What was set on the command line: it stands in no line of the file.
    pub(crate) set: &'a [(String, String)],
}

impl Checker<'_> {
    /// An error about a value: where it stands, what it is, what would do.
    pub(crate) fn wrong<T>(
        &self,
        value: &Spanned<T>,
        key: &'static str,
        seen: impl Display,
        expected: impl Into<String>,
    ) -> ScenarioError {
        self.value_at(value.span().start, key, seen.to_string(), expected.into())
    }

    /// An error about a value that is right by itself: what is wrong, to be said after its key.
    pub(crate) fn refused<T>(&self, value: &Spanned<T>, key: &str, problem: &str) -> ScenarioError {
        let (key, problem) = (key.to_owned(), problem.to_owned());
        if self.is_set(&key) {
            return ScenarioError::Set { key, problem };
        }
        ScenarioError::Refused {
            path: self.path.to_owned(),
            line: 1 + self.text[..value.span().start].matches('\n').count(),
            key,
            problem,
        }
    }

    /// Whether a value was set on the command line, or one of its table.
    fn is_set(&self, key: &str) -> bool {
        let holds = |table: &str, key: &str| {
            key.strip_prefix(table)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        // A table of which one value was set is another one than in the file, too.
        let mut set = self.set.iter();
        set.any(|(set, _)| holds(set, key) || holds(key, set))
    }

    fn value_at(&self, at: usize, key: &str, seen: String, expected: String) -> ScenarioError {
        if self.is_set(key) {
            return ScenarioError::Set {
                key: key.to_owned(),
                problem: format!("is {seen}, expected {expected}"),
            };
        }
        let line = 1 + self.text[..at].matches('\n').count();
        ScenarioError::Value {
            path: self.path.to_owned(),
            line,
            key: key.to_owned(),
            seen,
            expected,
        }
    }

    /// The same for a value that is named by its key only; `None` if it is not in the file.
    pub(crate) fn wrong_at(&self, key: &str, seen: &str, expected: &str) -> Option<ScenarioError> {
        let document = toml_edit::Document::parse(self.text).ok()?;
        let mut item = document.as_item();
        for part in key.split('.') {
            item = item.get(part)?;
        }
        Some(self.value_at(
            item.span()?.start,
            key,
            seen.to_owned(),
            expected.to_owned(),
        ))
    }

    /// An error about something that is missing.
    pub(crate) fn incomplete(&self, problem: &str) -> ScenarioError {
        ScenarioError::Incomplete {
            path: self.path.to_owned(),
            problem: problem.to_owned(),
        }
    }
}
