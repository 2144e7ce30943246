//! The later events: buckets by the highest digit in which their time differs from the base.

use super::Entry;

/// Bits of a digit.
const BITS: u32 = 4;
const DIGITS: usize = 1 << BITS;
const LEVELS: usize = 64 / BITS as usize;

/// Buckets of events. The bucket of level L and digit d holds the times that agree with the base in
/// all digits above L and have the digit d, larger than the base's, at L. So all events of a level
/// come before all of the next, and those of a digit before those of the next.
#[derive(Clone, Debug)]
pub(super) struct Wheel<T> {
    /// No event lies before it.
    base: u64,
    buckets: Box<[Vec<Entry<T>>]>,
    /// Which digits of a level have events, by level.
    occupied: [u16; LEVELS],
    /// Which levels have events.
    levels: u16,
    len: usize,
    /// What is being distributed; its memory is kept.
    opened: Vec<Entry<T>>,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self {
            base: 0,
            buckets: (0..LEVELS * DIGITS).map(|_| Vec::new()).collect(),
            occupied: [0; LEVELS],
            levels: 0,
            len: 0,
            opened: Vec::new(),
        }
    }
}

impl<T: Copy> Wheel<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// No event in the wheel lies before this instant.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Moves the base to an instant that no event lies before.
    pub(super) fn begin_at(&mut self, base: u64) {
        self.base = base;
        if self.len > 0 {
            let all: Vec<_> = self.buckets.iter_mut().flat_map(|b| b.drain(..)).collect();
            (self.occupied, self.levels, self.len) = ([0; LEVELS], 0, 0);
            all.into_iter().for_each(|entry| self.insert(entry));
        }
    }

    /// Adds an event that does not lie before the base.
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry<T>) {
        let differs = (entry.at ^ self.base) | 1;
        let level = (differs.ilog2() / BITS) as usize;
        let digit = (entry.at >> (level as u32 * BITS)) as usize % DIGITS;
        self.buckets[level * DIGITS + digit].push(entry);
        self.occupied[level] |= 1 << digit;
        self.levels |= 1 << level;
        self.len += 1;
    }

    /// Moves the earliest events to `into`, at most `sortable` of them unless they are all of one
    /// instant, and returns the end of the span of time that was moved: all events before it, and none
    /// from it on. `None` is the end of time.
    pub(super) fn take_next(&mut self, into: &mut Vec<Entry<T>>, sortable: usize) -> Option<u64> {
        loop {
            let level = self.levels.trailing_zeros() as usize;
            let digit = self.occupied[level].trailing_zeros() as usize;
            let shift = level as u32 * BITS;
            // The start of the bucket's span: its digit at its level, nothing below.
            let below = (u64::from(u8::MAX) >> (8 - BITS)) << shift | ((1 << shift) - 1);
            let start = (self.base & !below) | (digit as u64) << shift;
            let bucket = &mut self.buckets[level * DIGITS + digit];
            let size = bucket.len();
            self.len -= size;
            self.occupied[level] &= !(1 << digit);
            if self.occupied[level] == 0 {
                self.levels &= !(1 << level);
            }
            if level == 0 || size <= sortable {
                into.append(bucket);
                self.base = start;
                return start.checked_add(1 << shift);
            }
            let mut opened = std::mem::take(&mut self.opened);
            opened.append(bucket);
            // Sorted by time, with increasing resolution.
            self.base = opened.iter().map(|e| e.at).min().unwrap_or(start);
            for entry in opened.drain(..) {
                self.insert(entry);
            }
            self.opened = opened;
        }
    }

    /// Keeps the events for which `keep` is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry<T>) -> bool) {
        self.len = 0;
        for (i, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.retain(&mut keep);
            self.len += bucket.len();
            let (level, digit) = (i / DIGITS, i % DIGITS);
            if bucket.is_empty() {
                self.occupied[level] &= !(1 << digit);
            }
        }
        self.levels = 0;
        for (level, &digits) in self.occupied.iter().enumerate() {
            self.levels |= u16::from(digits != 0) << level;
        }
    }
}
