//! What lines above the records say must be known of them.

/// How a line begins that says why the records are not of the storage.
pub const FAKE_NOTICE: &str = "# FAKE: ";
/// How a line begins that says what else must be known of them.
pub const WARNING_NOTICE: &str = "# WARNING: ";

/// What a line above the records says.
pub(super) enum Notice<'a> {
    /// Why they are not of the storage.
    Fake(&'a str),
    /// What else must be known of them.
    Warning(&'a str),
}

impl<'a> Notice<'a> {
    /// `None` if the line says something else.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let fake = line.strip_prefix(FAKE_NOTICE).map(Self::Fake);
        fake.or_else(|| line.strip_prefix(WARNING_NOTICE).map(Self::Warning))
    }
}
