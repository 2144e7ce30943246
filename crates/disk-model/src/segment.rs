//! A segment of a drive's buffer: a window of sectors that follow on each other.

/// What a segment is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Its data are of no use.
    #[default]
    Empty,
    /// Its data are those of the medium.
    Clean,
    /// It is being filled from the medium.
    Reading,
    /// It holds data, or waits for data, that are not yet on the medium.
    Writing,
}

/// The sectors from `start` up to `end` are there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) state: State,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Read-ahead goes up to here.
    pub(crate) limit: u64,
    /// Of a write: the next sector that goes to the medium, and where the write ends.
    pub(crate) written: u64,
    pub(crate) target: u64,
    /// Of a write: up to where the arm writes it just now in a sweep; 0 if it does not.
    pub(crate) swept: u64,
    /// Of a write: the arm does not set out before, nor move in less.
    pub(crate) not_before: f64,
    pub(crate) minimum_seek: f64,
    /// Whether the last request that it was assigned to was a write, if there was one.
    pub(crate) last_was_write: Option<bool>,
}

impl Segment {
    /// Moves the end of the window; what no longer fits falls out at its start.
    #[inline]
    pub(crate) fn extend_to(&mut self, end: u64, size: u64) {
        self.end = end;
        self.start = self.start.max(end.saturating_sub(size));
    }

    #[inline]
    pub(crate) fn holds(&self, sector: u64) -> bool {
        (self.start..self.end).contains(&sector)
    }

    #[inline]
    pub(crate) fn overlaps(&self, begin: u64, end: u64) -> bool {
        self.start < end && begin < self.end
    }
}
