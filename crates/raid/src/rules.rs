//! Where the papers leave a choice, one option each. The defaults are what the reference numbers of
//! the project call the base; what each choice moves is told in the manual.

/// How partial-stripe writes are carried out where the papers leave it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What happens first when the last pre-read ends.
    pub join: JoinOrder,
    /// The seek curve of a pre-read.
    pub preread_seek: PrereadSeek,
    /// How long the full turn of a read-modify-write is.
    pub full_turn: FullTurn,
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

/// How long the full turn of a read-modify-write is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullTurn {
    /// One revolution.
    #[default]
    Revolution,
    /// One revolution less the transfer: the head has just left the end of what it read.
    LessTransfer,
}
