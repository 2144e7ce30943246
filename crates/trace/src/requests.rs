//! Which requests a figure is of.

use crate::Op;

/// Which requests a figure is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requests {
    /// All of them.
    #[default]
    All,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl Requests {
    /// What they are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "requests",
            Self::Reads => "reads",
            Self::Writes => "writes",
        }
    }

    /// Whether requests of this kind are among them.
    #[inline]
    pub fn include(self, op: Op) -> bool {
        match self {
            Self::All => true,
            Self::Reads => op == Op::Read,
            Self::Writes => matches!(op, Op::Write | Op::WriteZeroes),
        }
    }
}
