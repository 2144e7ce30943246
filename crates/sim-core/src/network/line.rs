//! Jobs in a line, in the order in which they came.

/// A queue in a ring, whose length is a power of two. Unlike that of the standard library, all its code is inlined.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    ring: Vec<T>,
    /// How many have been removed, and added, since the ring was last made.
    removed: usize,
    added: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            ring: Vec::new(),
            removed: 0,
            added: 0,
        }
    }
}

impl<T: Copy> Line<T> {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.removed == self.added
    }

    fn place(&self, number: usize) -> usize {
        number & (self.ring.len() - 1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (self.removed..self.added).map(|number| &self.ring[self.place(number)])
    }

    /// Adds one at the end.
    #[inline(always)]
    pub(crate) fn push(&mut self, one: T) {
        if self.added - self.removed == self.ring.len() {
            self.grow(one);
        }
        let place = self.place(self.added);
        self.ring[place] = one;
        self.added += 1;
    }

    /// Makes room; the new places hold anything.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, anything: T) {
        let mut ring: Vec<T> = self.iter().copied().collect();
        (self.removed, self.added) = (0, ring.len());
        ring.resize((2 * ring.len()).max(4), anything);
        self.ring = ring;
    }

    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.ring[self.place(self.removed)])
    }

    /// Removes the first one, which there is.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) {
        debug_assert!(!self.is_empty(), "one is removed");
        self.removed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_leaves_first_and_places_are_used_again() {
        let mut line = Line::default();
        let (mut added, mut removed) = (0, 0);
        for round in 0..100 {
            for _ in 0..round % 13 {
                line.push(added);
                added += 1;
            }
            assert_eq!(
                line.iter().copied().collect::<Vec<_>>(),
                (removed..added).collect::<Vec<_>>()
            );
            while added - removed > round % 5 {
                assert_eq!(line.first(), Some(&removed));
                line.remove_first();
                removed += 1;
            }
        }
        assert!(line.ring.len() <= 32);
    }
}
