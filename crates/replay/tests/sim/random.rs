//! Numbers that follow from a seed.

/// splitmix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Less than `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// At least `from`, less than `end`.
    pub(crate) fn between(&mut self, from: u64, end: u64) -> u64 {
        from + self.below(end - from)
    }

    /// True in `of` of a thousand cases.
    pub(crate) fn chance(&mut self, of: u32) -> bool {
        of > 0 && self.below(1000) < u64::from(of)
    }

    /// Any order of magnitude from 1 to `most`, equally likely.
    pub(crate) fn magnitude(&mut self, most: u64) -> u64 {
        let bits = 64 - most.leading_zeros();
        let bits = self.below(u64::from(bits) + 1);
        let most = most.min((1_u64 << bits).max(1));
        1 + self.below(most)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
