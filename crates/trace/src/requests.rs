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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_some_of_all_requests() {
        for (requests, name, ops) in [
            (Requests::All, "requests", &Op::ALL[..]),
            (Requests::Reads, "reads", &[Op::Read]),
            (Requests::Writes, "writes", &[Op::Write, Op::WriteZeroes]),
        ] {
            assert_eq!(requests.name(), name);
            for op in Op::ALL {
                assert_eq!(requests.include(op), ops.contains(&op), "{name}: {op:?}");
            }
        }
    }
}
