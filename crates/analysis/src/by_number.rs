//! Counts by a number, of which most are small.

use std::collections::BTreeMap;

/// Counts by a number. Those of small numbers are found by their place.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByNumber<T> {
    small: Vec<T>,
    large: BTreeMap<u64, T>,
    /// How many numbers have been counted.
    len: usize,
}

/// Numbers below this one are found by their place.
pub(crate) const SMALL: u64 = 1 << 12;

impl<T: Copy + Default + PartialEq> ByNumber<T> {
    /// Counts something of a number.
    #[inline]
    pub(crate) fn change(&mut self, number: u64, count: impl FnOnce(&mut T)) {
        let counts = if number < SMALL {
            if self.small.len() <= number as usize {
                self.small.resize(number as usize + 1, T::default());
            }
            &mut self.small[number as usize]
        } else {
            self.large.entry(number).or_default()
        };
        self.len += usize::from(*counts == T::default());
        count(counts);
    }

    /// How many numbers have been counted.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What has been counted of a number; the default if nothing has.
    pub(crate) fn of(&self, number: u64) -> T {
        let counts = match number < SMALL {
            true => self.small.get(number as usize),
            false => self.large.get(&number),
        };
        counts.copied().unwrap_or_default()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.of(number) != T::default()
    }

    /// The numbers that have been counted, in ascending order.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let small = (0..).zip(self.small.iter().copied());
        let large = self.large.iter().map(|(number, of)| (*number, *of));
        small.filter(|(_, of)| *of != T::default()).chain(large)
    }
}
