//! The part of the page map that the device has in its memory, where that is too small for all of it.
//!
//! Entries of single logical pages, the least recently used one goes. A miss reads the piece of the map that it is
//! in from flash first; whoever needs the same piece meanwhile waits for the same read.
//!
//! Source: Gupta, Kim, Urgaonkar, "DFTL: a flash translation layer employing demand-based selective
//! caching of page-level address mappings", ASPLOS 2009. What writing changed entries back costs is left out.

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
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    newer: u32,
    older: u32,
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
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl MappingCache {
    pub(crate) fn new(p: MappingCacheParameters) -> Self {
        Self {
            p,
            places: PageMap::default(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
            hits: 0,
            misses: 0,
        }
    }

    /// The place of a page's entry in the map: its flash page.
    pub(crate) fn map_page(&self, page: u64) -> u64 {
        page / u64::from(self.p.entries_per_page)
    }

    /// Uses the entry of a page; `false`: it was not there, and is now.
    pub(crate) fn touch(&mut self, page: u64) -> bool {
        if let Some(&place) = self.places.get(&page) {
            self.hits += 1;
            self.unlink(place);
            self.link_newest(place);
            return true;
        }
        self.misses += 1;
        let entry = Entry {
            page,
            newer: NONE,
            older: NONE,
        };
        let place = if (self.entries.len() as u32) < self.p.entries {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let place = self.oldest;
            self.unlink(place);
            self.places.remove(&self.entries[place as usize].page);
            self.entries[place as usize] = entry;
            place
        };
        self.places.insert(page, place);
        self.link_newest(place);
        false
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
        });
        let seen: Vec<bool> = [1, 2, 3, 1, 4, 2, 1, 3]
            .map(|page| cache.touch(page))
            .to_vec();
        // 4 drives 2 out, 2 drives 3 out, 3 drives 4 out.
        assert_eq!(seen, [false, false, false, true, false, false, true, false]);
        assert_eq!((cache.hits, cache.misses), (2, 6));
    }
}
