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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_counted_once_however_often_it_comes() {
        let mut counts = ByNumber::<u32>::default();
        let large = [SMALL, u64::MAX];
        assert_eq!((counts.len(), counts.of(3), counts.of(SMALL)), (0, 0, 0));
        for (times, len) in [(1, 5), (2, 5)] {
            for number in [7, 0, SMALL - 1].into_iter().chain(large) {
                assert_eq!(counts.contains(number), times > 1, "{number}");
                counts.change(number, |of| *of += 1);
                assert!(counts.contains(number), "{number}");
                assert_eq!(counts.of(number), times, "{number}");
            }
            assert_eq!(counts.len(), len);
        }
        assert_eq!((counts.small.len(), counts.large.len()), (4096, 2));
        // Numbers between those that were counted were not.
        for number in [1, 6, 8, SMALL - 2, SMALL + 1, u64::MAX - 1] {
            assert!(!counts.contains(number), "{number}");
        }
        let numbers = [0, 7, SMALL - 1, SMALL, u64::MAX];
        assert!(counts.counts().eq(numbers.map(|number| (number, 2))));
    }
}
