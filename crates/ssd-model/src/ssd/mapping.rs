//! Where the map is too large for the device's memory: its pages are read from flash first.

use iosonar_units::Nanos;

use super::data::{NeedsMap, View, flash};
use super::{Ssd, StorageState};
use crate::flash::Owner;

impl Ssd {
    /// Whether a part of the map has to be read first.
    pub(super) fn look_up(&mut self, unit: u32, now: Nanos) -> bool {
        let (first, count) = self.pages(unit);
        for page in first..first + count {
            if self.misses(page, NeedsMap::Unit(unit), now) {
                self.units[unit].waits += 1;
            }
        }
        self.units[unit].waits > 0
    }

    /// Whether the place of a page is not in memory; it is read then, and `who` is told.
    pub(super) fn misses(&mut self, page: u64, who: NeedsMap, now: Nanos) -> bool {
        let Some(mapping) = &mut self.mapping else {
            return false;
        };
        let is_there = mapping.touch(page);
        let (map_page, bytes) = (mapping.map_page(page), mapping.p.read_bytes);
        if is_there {
            // It may be on its way still.
            let Some(readers) = self.mapping_reads.get_mut(&map_page) else {
                return false;
            };
            let comes = readers.iter().any(|&(other, _)| other == page);
            if comes {
                readers.push((page, who));
            }
            return comes;
        }
        let readers = self.mapping_reads.entry(map_page).or_default();
        readers.push((page, who));
        if readers.len() == 1 {
            let (flash, mut view) = flash!(self);
            let (plane, place) = flash.place(map_page * flash.slots_per_page());
            let owner = Owner::Mapping { map_page };
            flash.read_page(plane, place, bytes, owner, now, &mut view);
        }
        true
    }

    /// A page of the map has been read: all who wait for it know their places.
    pub(super) fn map_read(&mut self, map_page: u64, now: Nanos) {
        for (_, reader) in self.mapping_reads.remove(&map_page).unwrap_or_default() {
            match reader {
                NeedsMap::Unit(unit) => {
                    self.units[unit].waits -= 1;
                    if self.units[unit].waits == 0 {
                        self.mapped(unit, now);
                    }
                }
                NeedsMap::Leaving(page) => self.leave_cache(page, now),
            }
        }
    }
}
