//! Whether a target returns anything but zeros.

use iosonar_trace::Request;
use iosonar_units::Sector;

/// Whether reads return data. Looked at until one does.
#[derive(Default)]
pub(crate) struct Contents {
    pub(super) has_data: bool,
    reads: u64,
    places: [Sector; Contents::MOST_PLACES],
    /// How many of those are known.
    zeros: usize,
}

impl Contents {
    const MOST_PLACES: usize = 32;
    /// A few places may well hold zeros.
    const FEWEST_PLACES: usize = 8;
    /// Once this number of places is known, this share of the reads is checked.
    const SHARE: u64 = 64;

    /// Nothing was looked at yet; nothing will be if there are `has_data` anyway.
    pub(super) fn new(has_data: bool) -> Self {
        Self {
            has_data,
            ..Self::default()
        }
    }

    pub(super) fn look(&mut self, read: &Request, first_sector: &[u8]) {
        self.reads += 1;
        if self.zeros == Self::MOST_PLACES && !self.reads.is_multiple_of(Self::SHARE) {
            return;
        }
        self.has_data = first_sector.iter().any(|byte| *byte != 0);
        if self.zeros < Self::MOST_PLACES && !self.places[..self.zeros].contains(&read.sector) {
            self.places[self.zeros] = read.sector;
            self.zeros += 1;
        }
    }

    /// At how many places the reads that were looked at returned zeros, if all did.
    pub(crate) fn only_zeros(&self) -> Option<usize> {
        (!self.has_data && self.zeros >= Self::FEWEST_PLACES).then_some(self.zeros)
    }
}
