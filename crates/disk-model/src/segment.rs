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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_its_sectors_and_drops_the_first_when_it_is_full() {
        let mut segment = Segment {
            start: 10,
            end: 20,
            ..Segment::default()
        };
        for (sector, holds) in [(9, false), (10, true), (19, true), (20, false)] {
            assert_eq!(segment.holds(sector), holds, "{sector}");
        }
        for ((begin, end), overlaps) in [
            ((5, 10), false),
            ((5, 11), true),
            ((12, 13), true),
            ((19, 30), true),
            ((20, 30), false),
        ] {
            assert_eq!(segment.overlaps(begin, end), overlaps, "{begin} {end}");
        }
        for (end, start) in [(25, 10), (30, 10), (31, 11), (50, 30)] {
            segment.extend_to(end, 20);
            assert_eq!((segment.start, segment.end), (start, end));
        }
    }
}
