//! Things in flight, addressed by small indices.

/// A store that hands out an index for each thing and uses freed places again, the last freed
/// first (it is still in the cache). It grows to the largest number of things at once.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// How many things are in it.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All that is in it. It looks at each place whether it is free: for checks, not for hot loops.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries().map(|(_, thing)| thing)
    }

    /// The same, each with its index.
    pub fn entries(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut free = vec![false; self.places.len()];
        for &index in &self.free {
            free[index as usize] = true;
        }
        (0..)
            .zip(&self.places)
            .zip(free)
            .filter_map(|(place, free)| (!free).then_some(place))
    }

    /// Takes a place that was used before, with what it still holds (its buffers can be used
    /// again), or a new one.
    ///
    /// # Panics
    /// With more than 2^32 things at once.
    #[inline]
    pub fn claim(&mut self, new: impl FnOnce() -> T) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.places.len()).expect("fewer than 2^32 things at once");
            self.places.push(new());
            index
        })
    }

    /// Puts a thing into a place, whatever that held.
    ///
    /// # Panics
    /// As [`claim`](Self::claim).
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = thing;
            return index;
        }
        self.claim(|| thing)
    }

    /// Gives a place back. What it holds stays, for the next to use or overwrite.
    #[inline]
    pub fn release(&mut self, index: u32) {
        debug_assert!(!self.free.contains(&index), "released twice");
        self.free.push(index);
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let a = slab.claim(|| 1);
        let b = slab.claim(|| 2);
        assert_eq!((slab[a], slab[b], slab.len()), (1, 2, 2));
        slab.release(a);
        assert_eq!(slab.claim(|| unreachable!()), a);
    }

    #[test]
    fn it_is_empty_when_all_has_been_released() {
        let mut slab = Slab::default();
        assert!(slab.is_empty());
        let index = slab.claim(|| 1);
        assert!(!slab.is_empty());
        slab.release(index);
        assert!(slab.is_empty() && slab.iter().next().is_none());
    }
}
