//! Where the map is too large for the device's memory: its pages are read from flash first.

use iosonar_units::Nanos;

use super::flash_storage::FlashStorage;
use super::{Host, Ssd};
use crate::cache::Destaged;
use crate::flash::Owner;

/// Who waits for a page of the map.
#[derive(Clone, Copy, Debug)]
pub(super) enum NeedsMap {
    Unit(u32),
    /// A page on its way from the cache to flash.
    Leaving(Destaged),
}

impl<H: Host<FlashStorage>> Ssd<H, FlashStorage> {
    /// Whether a part of the map has to be read first.
    pub(super) fn look_up(&mut self, unit: u32, now: Nanos) -> bool {
        for page in self.pages(unit) {
            if self.misses(page, NeedsMap::Unit(unit), now) {
                self.units[unit].waits += 1;
            }
        }
        self.units[unit].waits > 0
    }

    /// Whether the place of a page is not in memory; it is read then, and `who` waits for it.
    pub(super) fn misses(&mut self, page: u64, who: NeedsMap, now: Nanos) -> bool {
        let storage = &mut self.storage;
        let Some(mapping) = &mut storage.mapping else {
            return false;
        };
        let is_there = mapping.touch(page);
        let (map_page, bytes) = (mapping.map_page(page), mapping.p.read_bytes);
        if is_there {
            // It may be on its way still.
            let Some(readers) = storage.mapping_reads.get_mut(&map_page) else {
                return false;
            };
            let comes = readers.iter().any(|&(other, _)| other == page);
            if comes {
                readers.push((page, who));
            }
            return comes;
        }
        let readers = storage.mapping_reads.entry(map_page).or_default();
        readers.push((page, who));
        if readers.len() == 1 {
            let (flash, _, mut view) = self.flash(now);
            let (plane, place) = flash.place(map_page * flash.slots_per_page());
            let owner = Owner::Mapping { map_page };
            flash.read_page(plane, place, bytes, owner, &mut view);
        }
        true
    }

    /// A page of the map has been read: all who wait for it know their places.
    pub(super) fn map_read(&mut self, map_page: u64, now: Nanos) {
        let readers = self.storage.mapping_reads.remove(&map_page);
        for (_, reader) in readers.unwrap_or_default() {
            match reader {
                NeedsMap::Unit(unit) => {
                    self.units[unit].waits -= 1;
                    if self.units[unit].waits == 0 {
                        self.start_unit(unit, now);
                    }
                }
                NeedsMap::Leaving(page) => self.leave_cache(page, now),
            }
        }
    }
}
