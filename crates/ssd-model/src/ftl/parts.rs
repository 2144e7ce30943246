//! A large table of numbers that is there only where it was written to.

/// Numbers of a part: a page of memory.
const PART: usize = 1024;

/// Zeros, but for what was written.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    parts: Vec<Option<Box<[u32; PART]>>>,
}

impl Parts {
    pub(super) fn new(numbers: usize) -> Self {
        Self {
            parts: vec![None; numbers.div_ceil(PART)],
        }
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> u32 {
        match &self.parts[at as usize / PART] {
            Some(part) => part[at as usize % PART],
            None => 0,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: u32, number: u32) {
        let part = &mut self.parts[at as usize / PART];
        part.get_or_insert_with(|| Box::new([0; PART]))[at as usize % PART] = number;
    }
}
