//! Why a text, or a name, is not a drive: with file, line, key, value and what was expected.

use iosonar_device::NoProfile;
use toml::de::{DeTable, DeValue};

/// Why there is no such drive.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no profile of this name.
    #[error(transparent)]
    NoProfile(#[from] NoProfile),
    /// The text is not a profile.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file, or the built-in name.
        origin: String,
        /// What is wrong, with line and key.
        message: String,
    },
    /// The capacity contradicts the layout.
    #[error(
        "{origin}: 'capacity_sectors' is {seen}, expected {held}, the sum of the zones in [layout]: use this value, or \
         correct the zones"
    )]
    Capacity {
        /// The file or built-in name.
        origin: String,
        /// The capacity that is written.
        seen: u64,
        /// What the zones hold.
        held: u64,
    },
    /// A value makes no drive.
    #[error("{origin}{}: '{key}' is {seen}, expected {expected}", line.map_or_else(String::new, |line| format!(":{line}")))]
    Value {
        /// The file, or the built-in name.
        origin: String,
        /// The line, if the key is in the file.
        line: Option<usize>,
        /// Which of the zones, where there are several.
        zone: Option<usize>,
        /// The key.
        key: &'static str,
        /// Its value.
        seen: f64,
        /// What would do.
        expected: &'static str,
    },
}

impl ProfileError {
    /// The same, of one of several zones.
    pub(super) fn of_zone(self, number: usize) -> Self {
        match self {
            Self::Value {
                origin,
                line,
                key,
                seen,
                expected,
                ..
            } => Self::Value {
                origin,
                line,
                zone: Some(number),
                key,
                seen,
                expected,
            },
            other => other,
        }
    }

    /// The same, with its line in the text of the file.
    pub(super) fn in_text(mut self, text: &str) -> Self {
        if let Self::Value {
            line, key, zone, ..
        } = &mut self
        {
            *line = line_of(text, key, zone.unwrap_or(0));
        }
        self
    }
}

/// The line of a key such as `layout.zones.spares`, of which the entry `number` of an array is meant.
fn line_of(text: &str, key: &str, number: usize) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut begin) = (document.get_ref(), None);
    for part in key.split('.') {
        let mut value = table.get(part)?;
        if let DeValue::Array(entries) = value.get_ref()
            && let Some(entry) = entries.get(number)
            && matches!(entry.get_ref(), DeValue::Table(_))
        {
            value = entry;
        }
        begin = Some(value.span().start);
        if let DeValue::Table(inner) = value.get_ref() {
            table = inner;
        }
    }
    Some(text[..begin?].matches('\n').count() + 1)
}
