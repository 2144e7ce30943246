//! Through the write cache: in, out to flash, and who waits for room.

use iosonar_units::{Nanos, SECTOR_BYTES};

use super::data::Step;
use super::flash_storage::{FlashStorage, FlashStorageEvent};
use super::mapping::NeedsMap;
use super::{Host, Ssd};
use crate::cache::{Destaged, Leaving};
use crate::flash::Owner;
use crate::stages::Stage;

impl<H: Host<FlashStorage>> Ssd<H, FlashStorage> {
    pub(super) fn ask_cache(&mut self, unit: u32, now: Nanos) {
        let cache = &mut self.storage.cache;
        if cache.p.access.is_immediate() {
            self.in_cache(unit, now);
        } else if let Some(unit) = cache.memory.arrive(unit, now) {
            self.start_cache(unit, now);
        }
    }

    fn start_cache(&mut self, unit: u32, now: Nanos) {
        let state = &mut self.units[unit];
        state.stages.pass(Stage::ChannelWait, now);
        let p = &self.storage.cache.p;
        let rows = if self.commands[state.command].sectors > p.row_sectors {
            2
        } else {
            1
        };
        let at = now + p.access.time(state.bytes() / rows);
        self.schedule_storage(at, FlashStorageEvent::Cache { unit });
    }

    pub(super) fn cache_accessed(&mut self, unit: u32, now: Nanos) {
        if let Some(next) = self.storage.cache.memory.depart(now) {
            self.start_cache(next, now);
        }
        self.units[unit].stages.pass(Stage::Die, now);
        self.in_cache(unit, now);
    }

    /// A unit has been read from the cache, or comes to be written into it.
    fn in_cache(&mut self, unit: u32, now: Nanos) {
        if self.units[unit].step == Step::Reading {
            self.part_done(unit, now);
            return;
        }
        // Units that wait for room go first.
        let others_wait = !self.storage.cache.waiting.is_empty();
        if others_wait || !self.put_into_cache(unit, now) {
            let cache = &mut self.storage.cache;
            cache.counts.waits += 1;
            cache.waiting.push_back(unit);
        }
        if !others_wait {
            self.destage(now);
        }
    }

    /// Puts what fits of a unit into the cache. Returns whether it was all.
    fn put_into_cache(&mut self, unit: u32, now: Nanos) -> bool {
        let pages = self.pages(unit);
        let (state, storage) = (&mut self.units[unit], &mut self.storage);
        for page in pages.skip(state.cached as usize) {
            let partial = storage.is_partial(state, page);
            let sectors = storage.sectors(state, page);
            if !storage.cache.put(page, partial, sectors, now) {
                return false;
            }
            state.cached += 1;
        }
        state.stages.pass(Stage::ChannelWait, now);
        self.unit_done(unit, now);
        true
    }

    /// Sends pages from the cache to flash.
    fn destage(&mut self, now: Nanos) {
        while let Some(leaving) = self.storage.cache.next_to_leave() {
            if !self.misses(leaving.page, NeedsMap::Leaving(leaving), now) {
                self.leave_cache(leaving, now);
            }
        }
    }

    /// The place of a page is known: it goes to flash, after the rest of it if only a part was written.
    pub(super) fn leave_cache(&mut self, leaving: Destaged, now: Nanos) {
        let Destaged {
            page,
            partial,
            sectors,
            ..
        } = leaving;
        let Some(rest) = self.storage.rest_of_page(page, partial, sectors) else {
            self.destage_page(leaving, now);
            return;
        };
        let (flash, cache, mut view) = self.flash(now);
        let merged = cache.merging.insert(leaving);
        flash.read(
            rest.plane,
            rest.slot,
            rest.bytes,
            Owner::Destage { merged },
            &mut view,
        );
    }

    /// What was missing of a page has been read.
    pub(super) fn destage_merged(&mut self, merged: u32, now: Nanos) {
        let leaving = self.storage.cache.merging[merged];
        self.storage.cache.merging.release(merged);
        self.destage_page(leaving, now);
    }

    fn destage_page(&mut self, leaving: Destaged, now: Nanos) {
        let leaving = Leaving {
            page: leaving.page,
            slot: u32::MAX,
            sectors: self.storage.cache.count(leaving.sectors),
            epoch: leaving.epoch,
        };
        self.send_to_flash(leaving, now);
    }

    pub(super) fn send_to_flash(&mut self, leaving: Leaving, now: Nanos) {
        let Leaving {
            page,
            sectors,
            epoch,
            ..
        } = leaving;
        let (flash, cache, mut view) = self.flash(now);
        let (plane, local) = flash.place(page);
        let slots = flash.slots_per_page() as u32;
        // No larger than needed: there are many of them at a time.
        let new = || Vec::with_capacity(slots as usize);
        let group = *cache.open[plane as usize].get_or_insert_with(|| cache.groups.claim(new));
        let bytes = match slots {
            1 => sectors * SECTOR_BYTES as u32,
            _ => flash.p.logical_page_bytes as u32 * slots,
        };
        let owner = Owner::Programmed { group };
        let slot = flash.write(plane, local, bytes, owner, &mut view);
        cache.leaves(group, Leaving { slot, ..leaving });
        if (slot + 1).is_multiple_of(slots) {
            cache.open[plane as usize] = None;
        } else if cache.is_flushed(epoch) {
            self.close_page(plane, now);
        }
        self.has_moved(page, now);
    }

    /// Programs the flash page of a plane that waits for more pages.
    fn close_page(&mut self, plane: u32, now: Nanos) {
        let (flash, cache, mut view) = self.flash(now);
        let Some(group) = cache.open[plane as usize].take() else {
            return;
        };
        let bytes = (flash.p.logical_page_bytes * flash.slots_per_page()) as u32;
        flash.close_page(plane, bytes, Owner::Programmed { group }, &mut view);
    }

    /// Empties the cache; the command is complete when all of it is on flash.
    pub(super) fn flush_cache(&mut self, command: u32, now: Nanos) {
        self.storage.cache.empty();
        self.destage(now);
        self.storage.cache.flush(command, now);
        for plane in 0..self.storage.flash.p.planes {
            self.close_page(plane, now);
        }
        self.end_flushes(now);
    }

    /// Completes the flushes whose pages are all on flash.
    fn end_flushes(&mut self, now: Nanos) {
        while let Some(command) = self.storage.cache.flushed(now) {
            self.commands[command].stages.pass(Stage::ChannelWait, now);
            H::command_served(self, command, now);
        }
    }

    /// The pages of a flash page have left the cache: there is room for others.
    pub(super) fn pages_programmed(&mut self, group: u32, now: Nanos) {
        let storage = &mut self.storage;
        if let Some(mapping) = storage.mapping.as_mut().filter(|m| m.p.write_back) {
            let map = storage.flash.p.host_pages;
            for leaving in storage.cache.groups[group].iter().filter(|l| l.page >= map) {
                mapping.has_departed(leaving.page - map);
            }
        }
        storage.cache.group_has_left(group);
        self.end_flushes(now);
        while let Some(&unit) = self.storage.cache.waiting.front() {
            if !self.put_into_cache(unit, now) {
                break;
            }
            self.storage.cache.waiting.pop_front();
        }
        self.destage(now);
    }
}
