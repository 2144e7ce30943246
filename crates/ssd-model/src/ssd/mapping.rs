//! Where the map is too large for the device's memory: its pages are read from flash first, and written when changed
//! entries leave the memory.

use iosonar_units::Nanos;

use super::flash_storage::FlashStorage;
use super::{Host, Ssd};
use crate::cache::Destaged;
use crate::flash::Owner;
use crate::mapping_cache::Touched;

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
        let touched = mapping.touch(page);
        let (map_page, bytes) = (mapping.map_page(page), mapping.p.read_bytes);
        if touched == Touched::Hit {
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
        // What is on its way to flash is in memory still.
        let departs = mapping.departing.contains_key(&map_page);
        if !departs {
            let readers = storage.mapping_reads.entry(map_page).or_default();
            readers.push((page, who));
            if readers.len() == 1 {
                self.read_map(map_page, bytes, Owner::Mapping { map_page }, now);
            }
        }
        if let Touched::Miss {
            write: Some(map_page),
        } = touched
        {
            self.merge_map(map_page, now);
        }
        !departs
    }

    /// Reads a page of the map, or a part of it.
    fn read_map(&mut self, map_page: u64, bytes: u32, owner: Owner, now: Nanos) {
        let (flash, _, mut view) = self.flash(now);
        if let Some((plane, slot)) = flash.map_slot(map_page) {
            flash.read(plane, slot, bytes, owner, &mut view);
            return;
        }
        // Where it lies is not known, but it lies somewhere.
        let (plane, place) = flash.place(map_page * flash.slots_per_page());
        flash.read_page(plane, place, bytes, owner, &mut view);
    }

    /// A page has a new place: so has its entry.
    pub(super) fn has_moved(&mut self, page: u64, now: Nanos) {
        if page >= self.storage.flash.p.host_pages {
            return;
        }
        let change = self.storage.mapping.as_mut().and_then(|m| m.change(page));
        if let Some(map_page) = change {
            self.merge_map(map_page, now);
        }
    }

    /// A page of the map is going to be written: the rest of it is read first.
    fn merge_map(&mut self, map_page: u64, now: Nanos) {
        let flash = &self.storage.flash;
        let waits = |(plane, slot)| flash.plane(plane).is_open(slot);
        if flash.map_slot(map_page).is_some_and(waits) {
            // It waits for others to fill its flash page, and is in memory.
            self.write_map(map_page, now);
            return;
        }
        let bytes = self.storage.flash.p.logical_page_bytes as u32;
        self.read_map(map_page, bytes, Owner::MapMerge { map_page }, now);
    }

    /// The rest of a page of the map has been read: it is written.
    pub(super) fn write_map(&mut self, map_page: u64, now: Nanos) {
        let page = self.storage.flash.p.host_pages + map_page;
        if !self.storage.cache.is_absent() {
            let leaving = self.storage.cache.passes(page);
            self.send_to_flash(leaving, now);
            return;
        }
        let (flash, _, mut view) = self.flash(now);
        let (plane, local) = flash.place(page);
        let bytes = flash.p.logical_page_bytes as u32;
        let owner = Owner::MapWritten { map_page };
        flash.write(plane, local, bytes, owner, &mut view);
    }

    pub(super) fn map_written(&mut self, map_page: u64) {
        if let Some(mapping) = &mut self.storage.mapping {
            mapping.has_departed(map_page);
        }
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
