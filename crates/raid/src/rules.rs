//! Where the papers leave a choice, one option each. The manual says what each of them changes.

use iosonar_device::{Access, Positioning};

use crate::positioning::Case;

/// How requests are carried out where the papers leave it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What happens first when the last pre-read ends.
    pub join: JoinOrder,
    /// The seek curve of a pre-read.
    pub preread_seek: PrereadSeek,
    /// How long the full revolution of a read-modify-write is.
    pub full_turn: FullTurn,
    /// What a disk remembers of the tracks of a write.
    pub transfer: TransferMemory,
    /// Whether blocks of a request that follow on each other on one disk are one access. Not so in the
    /// papers' model.
    pub coalesce: bool,
}

impl Rules {
    /// What decides the seek curve of a pre-read.
    pub(crate) fn preread_access(self) -> Access {
        match self.preread_seek {
            PrereadSeek::Read => Access::Read,
            PrereadSeek::Write => Access::Write,
        }
    }

    /// How the disk of a partial-stripe write comes to the place.
    pub(crate) fn positioning(self, case: Case) -> Positioning {
        match (case.positioning(), self.full_turn) {
            (Positioning::FullTurn, FullTurn::LessTransfer) => Positioning::TurnLessTransfer,
            (positioning, _) => positioning,
        }
    }
}

/// How fast the data of a write request pass, where it comes to a disk several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransferMemory {
    /// Full-stripe accesses and pre-reads are to new places; the write of a partial stripe is to the
    /// place of the last access of its request to the disk.
    #[default]
    LastAccess,
    /// All accesses of a request to one disk are to one place.
    OnePerRequest,
}

/// What happens first when the last pre-read ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinOrder {
    /// The writes are issued, then the freed disk takes its next job.
    #[default]
    WritesFirst,
    /// The freed disk takes its next job, then the writes are issued.
    DiskFirst,
}

/// The seek curve of a pre-read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrereadSeek {
    /// It is a read.
    #[default]
    Read,
    /// The arm settles for the write that follows.
    Write,
}

/// How long the full revolution of a read-modify-write is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullTurn {
    /// One revolution.
    #[default]
    Revolution,
    /// One revolution less the transfer: the head has just left the end of what it read.
    LessTransfer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_changes_what_it_is_about_and_no_more() {
        let default = Rules::default();
        assert_eq!(default.preread_access(), Access::Read);
        let less = Rules {
            full_turn: FullTurn::LessTransfer,
            preread_seek: PrereadSeek::Write,
            ..default
        };
        assert_eq!(less.preread_access(), Access::Write);
        for (case, by_default, by_rule) in [
            (
                Case::ModifyLast,
                Positioning::FullTurn,
                Positioning::TurnLessTransfer,
            ),
            (Case::ModifyOther, Positioning::Fresh, Positioning::Fresh),
            (
                Case::ModifyWaited,
                Positioning::RotationOnly,
                Positioning::RotationOnly,
            ),
            (
                Case::ReconstructFollows,
                Positioning::None,
                Positioning::None,
            ),
        ] {
            assert_eq!(default.positioning(case), by_default);
            assert_eq!(less.positioning(case), by_rule);
        }
    }
}
