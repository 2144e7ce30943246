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
    pub(super) zeros: usize,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sector: u64) -> Request {
        Request {
            sector: Sector::new(sector),
            ..Request::default()
        }
    }

    #[test]
    fn zeros_at_eight_places_are_suspicious() {
        let mut contents = Contents::new(false);
        for place in 0..7 {
            // Again and again at the same place proves nothing.
            (0..10).for_each(|_| contents.look(&read(8 * place), &[0; 512]));
            assert_eq!(contents.only_zeros(), None);
        }
        contents.look(&read(8 * 7), &[0; 512]);
        assert_eq!(contents.only_zeros(), Some(8));
        let mut data = [0; 512];
        data[511] = 1;
        contents.look(&read(0), &data);
        assert_eq!(contents.only_zeros(), None);
    }

    #[test]
    fn after_32_places_one_read_of_64_is_looked_at() {
        let mut contents = Contents::new(false);
        (0..32).for_each(|place| contents.look(&read(8 * place), &[0; 512]));
        for number in 33..=128 {
            contents.look(&read(8 * number), &[u8::from(number != 64); 512]);
            let zeros = (number < 128).then_some(32);
            assert_eq!(contents.only_zeros(), zeros, "read {number}");
        }
    }
}
