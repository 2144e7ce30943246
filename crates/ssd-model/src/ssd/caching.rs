//! Through the write cache: in, out to flash, and who waits for room.

use iosonar_units::Nanos;

use super::data::{NeedsMap, Step, View, flash};
use super::{Event, Ssd, StorageState};
use crate::cache::{Cache, Destaged};
use crate::flash::Owner;
use crate::stages::Stage;

impl Ssd {
    pub(super) fn ask_cache(&mut self, unit: u32, now: Nanos) {
        let Some(cache) = &mut self.cache else {
            unreachable!("this device has a cache")
        };
        if cache.p.access == Nanos::ZERO {
            self.in_cache(unit, now);
        } else if let Some(unit) = cache.memory.arrive(unit, now) {
            self.start_cache(unit, now);
        }
    }

    pub(super) fn start_cache(&mut self, unit: u32, now: Nanos) {
        self.units[unit].stages.pass(Stage::ChannelWait, now);
        if let Some(cache) = &self.cache {
            self.calendar
                .schedule(now + cache.p.access, Event::Cache { unit });
        }
    }

    pub(super) fn cache_accessed(&mut self, unit: u32, now: Nanos) {
        let next = self
            .cache
            .as_mut()
            .and_then(|cache| cache.memory.depart(now));
        if let Some(next) = next {
            self.start_cache(next, now);
        }
        self.units[unit].stages.pass(Stage::Die, now);
        self.in_cache(unit, now);
        self.flash_is_done(now);
    }

    /// A unit has been read from the cache, or comes to be written into it.
    pub(super) fn in_cache(&mut self, unit: u32, now: Nanos) {
        if self.units[unit].step == Step::Reading {
            self.part_is_done(unit, now);
            return;
        }
        let Some(cache) = &mut self.cache else {
            unreachable!("this device has a cache")
        };
        if !cache.waiting.is_empty() {
            cache.counts.waits += 1;
            cache.waiting.push_back(unit);
            return;
        }
        if !self.put_into_cache(unit, now)
            && let Some(cache) = &mut self.cache
        {
            cache.counts.waits += 1;
            cache.waiting.push_back(unit);
        }
        self.destage(now);
    }

    /// Puts what fits of a unit into the cache; tells whether it was all.
    pub(super) fn put_into_cache(&mut self, unit: u32, now: Nanos) -> bool {
        let (first, count) = self.pages(unit);
        while u64::from(self.units[unit].cached) < count {
            let page = first + u64::from(self.units[unit].cached);
            let partial = self.is_partial(unit, page);
            let Some(cache) = &mut self.cache else {
                unreachable!("this device has a cache")
            };
            if !cache.put(page, partial) {
                return false;
            }
            self.units[unit].cached += 1;
        }
        self.units[unit].stages.pass(Stage::ChannelWait, now);
        self.unit_done(unit, now);
        true
    }

    /// Sends pages from the cache to flash.
    pub(super) fn destage(&mut self, now: Nanos) {
        while let Some(leaving) = self.cache.as_mut().and_then(Cache::next_to_leave) {
            if !self.misses(leaving.page, NeedsMap::Leaving(leaving), now) {
                self.leave_cache(leaving, now);
            }
        }
    }

    /// The place of a page is known: it goes to flash, after the rest of it if only a part was written.
    pub(super) fn leave_cache(&mut self, leaving: Destaged, now: Nanos) {
        let (flash, mut view) = flash!(self);
        let (plane, page) = flash.place(leaving.page);
        let bytes = flash.logical_page_bytes() as u32;
        match flash.plane(plane).locate(page) {
            Some(slot) if leaving.partial => {
                let owner = Owner::Destage { page: leaving.page };
                flash.read(plane, slot, bytes, owner, now, &mut view);
            }
            _ => self.send_to_flash(leaving.page, now),
        }
    }

    pub(super) fn send_to_flash(&mut self, page: u64, now: Nanos) {
        let Some(cache) = &mut self.cache else {
            unreachable!("this device has a cache")
        };
        let (flash, mut view) = flash!(self);
        let (plane, local) = flash.place(page);
        let group = *cache.open[plane as usize].get_or_insert_with(|| cache.groups.claim(Vec::new));
        let slots = flash.slots_per_page() as u32;
        let bytes = flash.logical_page_bytes() as u32 * slots;
        let owner = Owner::Programmed { group };
        let slot = flash.write(plane, local, bytes, owner, now, &mut view);
        cache.leaves(page, slot);
        cache.groups[group].push((page, slot));
        if (slot + 1).is_multiple_of(slots) {
            cache.open[plane as usize] = None;
        }
    }

    /// The pages of a flash page have left the cache.
    pub(super) fn pages_programmed(&mut self, group: u32, now: Nanos) {
        if let Some(cache) = &mut self.cache {
            let mut pages = std::mem::take(&mut cache.groups[group]);
            for (page, slot) in pages.drain(..) {
                cache.has_left(page, slot);
            }
            cache.groups[group] = pages;
            cache.groups.release(group);
        }
        while let Some(&unit) = self.cache.as_ref().and_then(|cache| cache.waiting.front()) {
            if !self.put_into_cache(unit, now) {
                break;
            }
            if let Some(cache) = &mut self.cache {
                cache.waiting.pop_front();
            }
        }
        self.destage(now);
    }
}
