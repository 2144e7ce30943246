//! A large table of numbers that is there only where it was written to.

use std::ops::Range;

/// Numbers of a part. Writes at random places touch one each, so it is small; and large against a pointer.
const PART: usize = 256;

/// Zeros, but for what was written. Parts in which all is [`Parts::ALL`] take no memory either.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    numbers: usize,
    /// Empty until the first write: look-ups of what was never written miss no cache.
    held: Vec<Option<Box<[u32; PART]>>>,
    /// A bit for each part without memory: whether all of it is [`Parts::ALL`]. Empty until the first such part.
    is_all: Vec<u64>,
}

/// What `touched` of `numbers` take at most, each in a part of its own, in bytes.
pub(super) fn bytes(numbers: u64, touched: u64) -> u64 {
    let parts = numbers.div_ceil(PART as u64);
    // A part, and what the allocator adds, besides a pointer and a bit for each part.
    parts.min(touched) * (4 * PART as u64 + 16) + 8 * parts + parts.div_ceil(8)
}

/// What a part without memory holds, everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uniform {
    Zeros,
    All,
}

impl Parts {
    /// The number besides zero that parts without memory may have.
    pub(super) const ALL: u32 = u32::MAX;

    pub(super) fn new(numbers: usize) -> Self {
        Self {
            numbers,
            held: Vec::new(),
            is_all: Vec::new(),
        }
    }

    /// Whether nothing was ever written.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> u32 {
        debug_assert!((at as usize) < self.numbers, "{at} is beyond the table");
        match self.held.get(at as usize / PART) {
            Some(Some(part)) => part[at as usize % PART],
            _ if self.is_all.is_empty() => 0,
            _ => self.of_none(at as usize / PART),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: u32, number: u32) {
        if let Some(Some(part)) = self.held.get_mut(at as usize / PART) {
            part[at as usize % PART] = number;
        } else {
            self.set_first(at, number);
        }
    }

    /// The number everywhere in a part without memory.
    fn of_none(&self, part: usize) -> u32 {
        let word = self.is_all.get(part / 64).copied().unwrap_or(0);
        match word >> (part % 64) & 1 {
            0 => 0,
            _ => Self::ALL,
        }
    }

    fn has_memory(&self, part: usize) -> bool {
        matches!(self.held.get(part), Some(Some(_)))
    }

    fn allocate_places(&mut self) {
        if self.held.is_empty() {
            self.held = vec![None; self.numbers.div_ceil(PART)];
        }
    }

    /// The first write to a part.
    #[cold]
    fn set_first(&mut self, at: u32, number: u32) {
        self.allocate_places();
        let part = at as usize / PART;
        let mut numbers = Box::new([self.of_none(part); PART]);
        numbers[at as usize % PART] = number;
        self.held[part] = Some(numbers);
    }

    /// Cuts a range where parts begin.
    pub(super) fn pieces(range: Range<u32>) -> impl Iterator<Item = Range<u32>> {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let next = (from / PART as u32 + 1).saturating_mul(PART as u32);
            let piece = from..next.min(range.end);
            from = piece.end;
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// What is everywhere in the part in which this lies, if it has no memory.
    pub(super) fn uniform(&self, at: u32) -> Option<Uniform> {
        let part = at as usize / PART;
        (!self.has_memory(part)).then(|| match self.of_none(part) {
            0 => Uniform::Zeros,
            _ => Uniform::All,
        })
    }

    /// Sets a [piece](Self::pieces) to [`Self::ALL`]. Of a whole part, no memory remains.
    pub(super) fn set_all(&mut self, piece: Range<u32>) {
        let part = piece.start as usize / PART;
        let (first, end) = (part * PART, ((part + 1) * PART).min(self.numbers));
        if piece.start as usize > first || (piece.end as usize) < end {
            let is_last = piece.end as usize == end;
            piece.for_each(|at| self.set(at, Self::ALL));
            // Of a part that is set from its beginning to its end, piece by piece, no memory remains either.
            let numbers = self.held[part].as_deref();
            let is_all =
                |numbers: &[u32; PART]| numbers[..end - first].iter().all(|n| *n == Self::ALL);
            if !(is_last && numbers.is_some_and(is_all)) {
                return;
            }
        }
        self.allocate_places();
        self.held[part] = None;
        if self.is_all.is_empty() {
            self.is_all = vec![0; self.held.len().div_ceil(64)];
        }
        self.is_all[part / 64] |= 1 << (part % 64);
    }
}

#[cfg(test)]
mod tests {
    use iosonar_sim_core::Seed;

    use super::*;

    #[test]
    fn parts_hold_what_a_plain_table_does() {
        // The last part is not whole.
        const NUMBERS: u32 = 4 * PART as u32 + 7;
        let mut random = Seed::new(1).stream("parts", "steps");
        let (mut parts, mut plain) = (Parts::new(NUMBERS as usize), vec![0; NUMBERS as usize]);
        assert!(parts.is_empty());
        for _ in 0..2000 {
            let from = random.below(u64::from(NUMBERS)) as u32;
            if random.below(2) == 0 {
                parts.set(from, from + 1);
                plain[from as usize] = from + 1;
            } else {
                // From or to a bound of a part, half of the time.
                let from = [from, from / PART as u32 * PART as u32][random.below(2) as usize];
                let end = from + random.below(u64::from(NUMBERS - from) + 1) as u32;
                for piece in Parts::pieces(from..end) {
                    let seen = parts.uniform(piece.start);
                    let expected = match plain[piece.start as usize] {
                        0 => Some(Uniform::Zeros),
                        Parts::ALL => Some(Uniform::All),
                        _ => None,
                    };
                    assert!(seen.is_none() || seen == expected, "{seen:?}");
                    parts.set_all(piece);
                }
                plain[from as usize..end as usize].fill(Parts::ALL);
            }
            let held = (0..NUMBERS).map(|at| parts.get(at));
            assert!(held.eq(plain.iter().copied()));
        }
        // Of all that is the same nothing is kept, whether it is set at once or in pieces.
        for step in [NUMBERS, 100] {
            parts.set(300, 7);
            for from in (0..NUMBERS).step_by(step as usize) {
                for piece in Parts::pieces(from..(from + step).min(NUMBERS)) {
                    parts.set_all(piece);
                }
            }
            assert!(parts.held.iter().all(Option::is_none), "{step}");
        }
        assert!((0..NUMBERS).all(|at| parts.get(at) == Parts::ALL));
    }
}
