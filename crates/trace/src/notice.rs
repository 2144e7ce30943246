//! What lines above the records say must be known of them.

use std::fmt;

/// How a line begins that says why the records are not of the storage.
const FAKE: &str = "# FAKE: ";
/// How a line begins that says what else must be known of them.
const WARNING: &str = "# WARNING: ";

/// What a line above the records says, which is written and read by this type alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// Why they are not of the storage.
    Fake(&'a str),
    /// What else must be known of them.
    Warning(&'a str),
}

impl<'a> Notice<'a> {
    /// `None` if the line says something else.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let fake = line.strip_prefix(FAKE).map(Self::Fake);
        fake.or_else(|| line.strip_prefix(WARNING).map(Self::Warning))
    }

    /// Of the lines above some records.
    pub fn all(lines: &'a [String]) -> impl Iterator<Item = Self> {
        lines.iter().filter_map(|line| Self::of(line))
    }

    /// Why records below these lines are not of the storage.
    pub fn fakes(lines: &'a [String]) -> impl Iterator<Item = &'a str> {
        Self::all(lines).filter_map(|notice| match notice {
            Self::Fake(why) => Some(why),
            Self::Warning(_) => None,
        })
    }
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fake(why) => write!(f, "{FAKE}{why}"),
            Self::Warning(what) => write!(f, "{WARNING}{what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for notice in [Notice::Fake("holes"), Notice::Warning("wraparound")] {
            assert_eq!(Notice::of(&notice.to_string()), Some(notice));
        }
        assert_eq!(Notice::of("# iosonar 0.1.0: replayed"), None);
    }
}
