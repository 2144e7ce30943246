//! The stripe cache: which pages of the rows that were handled last are still in memory.

/// A set of disks, one bit each.
pub(super) type Disks = u128;

/// The rows are kept in as many lists, by their number.
const LISTS: u64 = 8;

/// The rows of pages that were used last. Of one that is found, the pages that are up to date need not
/// be read again.
#[derive(Clone, Debug)]
pub(super) struct StripeCache {
    lists: Vec<List>,
    /// How many rows a list holds.
    ways: usize,
    clock: u64,
}

#[derive(Clone, Debug, Default)]
struct List {
    rows: Vec<u64>,
    /// When a row was used last, and its pages that are up to date.
    states: Vec<(u64, Disks)>,
}

impl StripeCache {
    /// A cache of this many rows, at least one in each list.
    pub(super) fn new(rows: usize) -> Self {
        Self {
            lists: vec![List::default(); LISTS as usize],
            ways: (rows / LISTS as usize).max(1),
            clock: 0,
        }
    }

    /// The pages of a row that are up to date. The row is the one used last from now on; if it is not
    /// there, it replaces the one that was not used for the longest time.
    pub(super) fn use_row(&mut self, row: u64) -> &mut Disks {
        self.clock += 1;
        let list = &mut self.lists[(row % LISTS) as usize];
        let place = match list.rows.iter().position(|&known| known == row) {
            Some(place) => place,
            None if list.rows.len() < self.ways => {
                list.rows.push(row);
                list.states.push((0, 0));
                list.rows.len() - 1
            }
            None => {
                let oldest = (0..self.ways).min_by_key(|&place| list.states[place].0);
                let oldest = oldest.expect("a list has at least one row");
                list.rows[oldest] = row;
                list.states[oldest].1 = 0;
                oldest
            }
        };
        let state = &mut list.states[place];
        state.0 = self.clock;
        &mut state.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_forgotten_when_its_list_needs_the_place() {
        let mut cache = StripeCache::new(16);
        *cache.use_row(0) = 5;
        *cache.use_row(8) = 6;
        assert_eq!(*cache.use_row(0), 5);
        assert_eq!(*cache.use_row(1), 0, "another list");
        assert_eq!(*cache.use_row(16), 0);
        assert_eq!(*cache.use_row(0), 5, "used after row 8");
        assert_eq!(*cache.use_row(8), 0);
    }
}
