//! A large table of numbers that is there only where it was written to.

/// Numbers of a part. Writes at random places touch one each, so it is small; and large against a pointer.
const PART: usize = 256;

/// Zeros, but for what was written.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    numbers: usize,
    /// Empty until the first write: look-ups of what was never written miss no cache.
    parts: Vec<Option<Box<[u32; PART]>>>,
}

/// What `touched` of `numbers` take at most, each in a part of its own, in bytes.
pub(super) fn bytes(numbers: u64, touched: u64) -> u64 {
    let parts = numbers.div_ceil(PART as u64);
    // A part, and what the allocator adds.
    parts.min(touched) * (4 * PART as u64 + 16) + 8 * parts
}

impl Parts {
    pub(super) fn new(numbers: usize) -> Self {
        Self {
            numbers,
            parts: Vec::new(),
        }
    }

    /// Whether nothing was ever written.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> u32 {
        debug_assert!((at as usize) < self.numbers, "{at} is beyond the table");
        match self.parts.get(at as usize / PART) {
            Some(Some(part)) => part[at as usize % PART],
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: u32, number: u32) {
        if let Some(Some(part)) = self.parts.get_mut(at as usize / PART) {
            part[at as usize % PART] = number;
        } else {
            self.set_first(at, number);
        }
    }

    /// The first write to a part.
    #[cold]
    fn set_first(&mut self, at: u32, number: u32) {
        if self.parts.is_empty() {
            self.parts = vec![None; self.numbers.div_ceil(PART)];
        }
        let part = &mut self.parts[at as usize / PART];
        part.get_or_insert_with(|| Box::new([0; PART]))[at as usize % PART] = number;
    }
}
