//! The part of the page map that the device has in its memory, where that is too small for all of it.
//!
//! Entries of single logical pages, the least recently used one goes. A miss reads the piece of the map that it is
//! in from flash first; other requests for the same piece wait for the same read.
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective
//! caching of page-level address mappings", ASPLOS 2009. As there, the changed entries of a page of the map go back to
//! flash together, when the first of them leaves.

use crate::cache::PageMap;

/// The size of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingCacheParameters {
    /// How many entries it holds.
    pub entries: u32,
    /// How many entries a flash page of the map holds.
    pub entries_per_page: u32,
    /// How much of it is read for a miss.
    pub read_bytes: u32,
    /// Whether changed entries are written back.
    pub write_back: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    newer: u32,
    older: u32,
    /// Flash does not have it yet.
    changed: bool,
}

/// Whether an entry is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    Hit,
    /// It is now. A changed one has left for it: this page of the map is to be written.
    Miss {
        write: Option<u64>,
    },
}

const NONE: u32 = u32::MAX;

/// The entries that are in memory.
#[derive(Clone, Debug)]
pub(crate) struct MappingCache {
    pub(crate) p: MappingCacheParameters,
    places: PageMap<u32>,
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
    /// By page of the map: the logical pages whose entries were changed.
    changed: PageMap<Vec<u64>>,
    /// Pages of the map on their way to flash, and how often each.
    pub(crate) departing: PageMap<u32>,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// Pages of the map that were written.
    pub(crate) written: u64,
}

impl MappingCache {
    pub(crate) fn new(p: MappingCacheParameters) -> Self {
        Self {
            p,
            places: PageMap::default(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
            changed: PageMap::default(),
            departing: PageMap::default(),
            hits: 0,
            misses: 0,
            written: 0,
        }
    }

    /// The place of a page's entry in the map: its flash page.
    pub(crate) fn map_page(&self, page: u64) -> u64 {
        page / u64::from(self.p.entries_per_page)
    }

    /// Uses the entry of a page.
    pub(crate) fn touch(&mut self, page: u64) -> Touched {
        if let Some(&place) = self.places.get(&page) {
            self.hits += 1;
            self.unlink(place);
            self.link_newest(place);
            return Touched::Hit;
        }
        self.misses += 1;
        let entry = Entry {
            page,
            newer: NONE,
            older: NONE,
            changed: false,
        };
        let mut write = None;
        let place = if (self.entries.len() as u32) < self.p.entries {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let place = self.oldest;
            self.unlink(place);
            let leaving = self.entries[place as usize];
            if leaving.changed {
                write = Some(self.write_back(leaving.page));
            }
            self.places.remove(&leaving.page);
            self.entries[place as usize] = entry;
            place
        };
        self.places.insert(page, place);
        self.link_newest(place);
        Touched::Miss { write }
    }

    /// A page has a new place. Returns the page of the map that is to be written because the entry is not in memory.
    pub(crate) fn change(&mut self, page: u64) -> Option<u64> {
        if !self.p.write_back {
            return None;
        }
        let map_page = self.map_page(page);
        let Some(&place) = self.places.get(&page) else {
            self.written += 1;
            *self.departing.entry(map_page).or_default() += 1;
            return Some(map_page);
        };
        if !std::mem::replace(&mut self.entries[place as usize].changed, true) {
            self.changed.entry(map_page).or_default().push(page);
        }
        None
    }

    /// The changed entries of a page of the map go back to flash, that of this logical page among them.
    fn write_back(&mut self, page: u64) -> u64 {
        let map_page = self.map_page(page);
        for page in self.changed.remove(&map_page).unwrap_or_default() {
            if let Some(&place) = self.places.get(&page) {
                self.entries[place as usize].changed = false;
            }
        }
        self.written += 1;
        *self.departing.entry(map_page).or_default() += 1;
        map_page
    }

    /// A page of the map has been written.
    pub(crate) fn has_departed(&mut self, map_page: u64) {
        if let Some(times) = self.departing.get_mut(&map_page) {
            *times -= 1;
            if *times == 0 {
                self.departing.remove(&map_page);
            }
        }
    }

    fn unlink(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let before = self.newest;
        self.entries[place as usize].older = before;
        self.entries[place as usize].newer = NONE;
        match before {
            NONE => self.oldest = place,
            before => self.entries[before as usize].newer = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_goes() {
        let mut cache = MappingCache::new(MappingCacheParameters {
            entries: 3,
            entries_per_page: 4,
            read_bytes: 512,
            write_back: false,
        });
        let seen: Vec<bool> = [1, 2, 3, 1, 4, 2, 1, 3]
            .map(|page| cache.touch(page) == Touched::Hit)
            .to_vec();
        // 4 drives 2 out, 2 drives 3 out, 3 drives 4 out.
        assert_eq!(seen, [false, false, false, true, false, false, true, false]);
        assert_eq!((cache.hits, cache.misses), (2, 6));
    }

    #[test]
    fn changed_entries_of_a_page_of_the_map_go_back_together() {
        let mut cache = MappingCache::new(MappingCacheParameters {
            entries: 3,
            entries_per_page: 4,
            read_bytes: 512,
            write_back: true,
        });
        let miss = |write| Touched::Miss { write };
        for page in [4, 5, 8] {
            assert_eq!(cache.touch(page), miss(None));
        }
        assert_eq!((cache.change(4), cache.change(5)), (None, None));
        // 4 leaves, and takes the change of 5 with it.
        assert_eq!(cache.touch(9), miss(Some(1)));
        assert_eq!(cache.touch(10), miss(None), "5 has gone back already");
        assert_eq!(cache.change(5), Some(1), "it is not in memory");
        assert_eq!((cache.written, cache.departing[&1]), (2, 2));
        cache.has_departed(1);
        assert_eq!(cache.departing[&1], 1, "the other one is on its way still");
        cache.has_departed(1);
        assert!(cache.departing.is_empty() && cache.changed.is_empty());
    }
}
