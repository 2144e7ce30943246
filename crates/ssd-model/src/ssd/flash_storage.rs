//! Flash behind a controller: which pages a unit is read from, and how it is written.

use std::ops::Range;

use iosonar_device::Access;
use iosonar_sim_core::{Slab, Stream};
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::agenda::Agenda;
use super::data::{CommandStorage, Step, Unit};
use super::mapping::NeedsMap;
use super::{Event, EventOf, Host, Ssd, SsdReport, Storage, Task};
use crate::FlashParameters;
use crate::cache::{Cache, PageMap, keys_within};
use crate::flash::{Flash, FlashEvent, FlashHost, Owner};
use crate::ftl::ShapeError;
use crate::mapping_cache::MappingCache;
use crate::stages::Stage;

/// Flash with its write cache and its map.
#[derive(Clone, Debug)]
pub(super) struct FlashStorage {
    pub(super) flash: Flash,
    pub(super) cache: Cache,
    /// The part of the map that is in memory; `None`: all of it.
    pub(super) mapping: Option<MappingCache>,
    /// Who waits for a page of the map that is being read.
    pub(super) mapping_reads: PageMap<Vec<(u64, NeedsMap)>>,
    /// Empty, but for its memory: the flash pages that a unit is read from.
    page_reads: Vec<(u32, u32)>,
    /// The owners of operations that flash has finished since the last [`Ssd::flash_done`].
    done: Vec<Owner>,
    page_sectors: u64,
    /// The sectors of pages that were written in part; of others all, or none.
    written: PageMap<u64>,
}

/// What happens next in the cache or in flash.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlashStorageEvent {
    /// A unit's access to the cache is over.
    Cache {
        unit: u32,
    },
    Flash(FlashEvent),
}

impl FlashStorage {
    pub(super) fn new(p: &FlashParameters, places: &mut Stream) -> Result<Self, ShapeError> {
        Ok(Self {
            flash: Flash::new(p, places)?,
            cache: Cache::new(p),
            mapping: p.mapping_cache.map(MappingCache::new),
            mapping_reads: PageMap::default(),
            page_reads: Vec::new(),
            done: Vec::new(),
            page_sectors: p.logical_page_sectors(),
            written: PageMap::default(),
        })
    }

    /// The sectors of a page that a unit covers, a bit each, where the drive knows them.
    #[inline]
    pub(super) fn sectors(&self, unit: &Unit, page: u64) -> u64 {
        if self.flash.p.partial_pages {
            sectors(unit, page, self.page_sectors)
        } else {
            u64::MAX
        }
    }

    /// What is to be read of a page before these sectors of it, a part of it or all, are written.
    #[inline]
    pub(super) fn rest_of_page(&mut self, page: u64, partial: bool, sectors: u64) -> Option<Rest> {
        let p = &self.flash.p;
        if !partial && !p.partial_pages {
            return None;
        }
        let mut bytes = p.logical_page_bytes as u32;
        let by_sector = p.partial_pages;
        let (plane, local) = self.flash.place(page);
        let slot = self.flash.plane(plane).locate(local);
        if by_sector {
            bytes = self.write_sectors(page, sectors, slot.is_some()) * SECTOR_BYTES as u32;
        }
        let slot = slot.filter(|_| bytes > 0)?;
        Some(Rest { plane, slot, bytes })
    }

    /// These sectors of a page are going to be written. Returns how many others were written before.
    fn write_sectors(&mut self, page: u64, sectors: u64, was_written: bool) -> u32 {
        let all = bits(self.page_sectors);
        let before = match self.written.get(&page) {
            Some(&before) => before,
            None if was_written => all,
            None => 0,
        };
        if before | sectors == all {
            self.written.remove(&page);
        } else {
            self.written.insert(page, before | sectors);
        }
        (before & !sectors).count_ones()
    }

    /// Whether a unit covers only a part of a logical page.
    pub(super) fn is_partial(&self, unit: &Unit, page: u64) -> bool {
        let (first, end) = (page * self.page_sectors, (page + 1) * self.page_sectors);
        unit.sector > first || unit.sector + u64::from(unit.sectors) < end
    }
}

/// What an operation of flash changes in the rest of the device.
pub(super) struct View<'a, H: Host<FlashStorage>> {
    now: Nanos,
    agenda: &'a mut Agenda<EventOf<H, FlashStorage>>,
    units: &'a mut Slab<Unit>,
    done: &'a mut Vec<Owner>,
}

/// What is read of a page because only its other sectors are written.
pub(super) struct Rest {
    pub(super) plane: u32,
    pub(super) slot: u32,
    pub(super) bytes: u32,
}

/// The sectors of a page that a unit covers, a bit each.
fn sectors(unit: &Unit, page: u64, page_sectors: u64) -> u64 {
    let first = page * page_sectors;
    let from = unit.sector.max(first) - first;
    let end = (unit.sector + u64::from(unit.sectors)).min(first + page_sectors) - first;
    bits(end) & !bits(from)
}

/// The lowest `count` of 64 bits.
fn bits(count: u64) -> u64 {
    if count >= 64 {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

impl<H: Host<FlashStorage>> FlashHost for View<'_, H> {
    #[inline]
    fn now(&self) -> Nanos {
        self.now
    }

    #[inline]
    fn schedule(&mut self, at: Nanos, event: FlashEvent) {
        let event = Event::Storage(FlashStorageEvent::Flash(event));
        self.agenda.schedule(at, event);
    }

    #[inline]
    fn passed(&mut self, owner: Owner, stage: Stage) {
        if let Owner::Unit(unit) = owner {
            self.units[unit].stages.pass(stage, self.now);
        }
    }

    #[inline]
    fn done(&mut self, owner: Owner) {
        self.done.push(owner);
    }
}

impl Storage for FlashStorage {
    type Event = FlashStorageEvent;
    type Number = u32;

    fn serve<H: Host<Self>>(ssd: &mut Ssd<H, Self>, command: u32, now: Nanos) {
        ssd.cut_into_units(command, now);
    }

    fn write<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        if ssd.storage.cache.is_absent() {
            ssd.write_through(unit, now);
        } else {
            ssd.ask_cache(unit, now);
        }
    }

    fn handle<H: Host<Self>>(ssd: &mut Ssd<H, Self>, event: FlashStorageEvent, now: Nanos) {
        match event {
            FlashStorageEvent::Cache { unit } => ssd.cache_accessed(unit, now),
            FlashStorageEvent::Flash(event) => {
                let (flash, _, mut view) = ssd.flash(now);
                flash.handle(event, &mut view);
                ssd.flash_done(now);
            }
        }
    }

    fn takes_flushes(&self) -> bool {
        self.cache.p.volatile
    }

    fn measure_from(&mut self, now: Nanos) {
        self.flash.measure_from(now);
        self.cache.measure_from(now);
        if let Some(mapping) = &mut self.mapping {
            (mapping.hits, mapping.misses, mapping.written) = (0, 0, 0);
        }
    }

    fn report_until(&self, now: Nanos, report: &mut SsdReport) {
        let (channels, dies) = self.flash.busy(now);
        for (i, busy) in channels.into_iter().enumerate() {
            report.add_station(format!("channel/{i}"), 1, busy);
        }
        for (i, busy) in dies.into_iter().enumerate() {
            report.add_station(format!("die/{i}"), 1, busy);
        }
        report.ftl = Some(self.flash.ftl_counts());
        report.flash = self.flash.counts;
        report.wear = self.flash.wear();
        if !self.cache.is_absent() {
            report.add_servers("cache".to_owned(), &self.cache.memory, now);
            report.cache = Some(self.cache.counts);
        }
        if let Some(mapping) = &self.mapping {
            report.flash.map_programs = mapping.written / self.flash.slots_per_page();
        }
        report.mapping = self.mapping.as_ref().map(|m| (m.hits, m.misses));
    }
}

impl CommandStorage for FlashStorage {
    fn span(&self) -> u64 {
        self.page_sectors * self.flash.slots_per_page()
    }

    fn locate<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        // What goes to the cache is looked up when it leaves it.
        let later = !ssd.storage.cache.is_absent() && ssd.access(unit) == Access::Write;
        if ssd.storage.mapping.is_none() || later || !ssd.look_up(unit, now) {
            ssd.start_unit(unit, now);
        }
    }

    fn read<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        ssd.units[unit].waits = 0;
        ssd.read_flash(unit, now);
        if ssd.units[unit].waits == 0 {
            ssd.ask_data_engine(Task::Forward(unit), now);
        }
    }

    fn flush<H: Host<Self>>(ssd: &mut Ssd<H, Self>, command: u32, now: Nanos) {
        if ssd.storage.takes_flushes() {
            ssd.flush_cache(command, now);
        } else {
            H::command_served(ssd, command, now);
        }
    }

    /// Forgets the logical pages that lie within these sectors.
    fn discard(&mut self, first: u64, end: u64) {
        let pages = first.div_ceil(self.page_sectors)..end / self.page_sectors;
        if !pages.is_empty() {
            self.cache.discard(&pages);
            self.flash.discard(pages.clone());
            for page in keys_within(&self.written, &pages) {
                self.written.remove(&page);
            }
        }
    }
}

impl<H: Host<FlashStorage>> Ssd<H, FlashStorage> {
    /// The flash and the cache, and what operations of flash change outside of them.
    pub(super) fn flash(&mut self, now: Nanos) -> (&mut Flash, &mut Cache, View<'_, H>) {
        let view = View {
            now,
            agenda: &mut self.agenda,
            units: &mut self.units,
            done: &mut self.storage.done,
        };
        (&mut self.storage.flash, &mut self.storage.cache, view)
    }

    /// The logical pages of a unit.
    pub(super) fn pages(&self, unit: u32) -> Range<u64> {
        let (unit, size) = (&self.units[unit], self.storage.page_sectors);
        unit.sector / size..(unit.sector + u64::from(unit.sectors)).div_ceil(size)
    }

    /// Asks for all flash pages that a unit lies on, and for the cache if it is there.
    fn read_flash(&mut self, unit: u32, now: Nanos) {
        let pages = self.pages(unit);
        let (mut in_cache, mut assumed) = (false, 0u64);
        // A unit's pages lie on one flash page, unless they were written at different times: each with a slot of it
        // and how many they are.
        let mut reads = std::mem::take(&mut self.storage.page_reads);
        let page_sectors = self.storage.page_sectors;
        let (flash, cache, mut view) = self.flash(now);
        let (size, all) = (flash.p.logical_page_bytes, view.units[unit].bytes());
        let slots = flash.slots_per_page() as u32;
        for page in pages.clone() {
            let covered = || sectors(&view.units[unit], page, page_sectors);
            if cache.holds(page, covered) {
                cache.counts.read_hits += 1;
                in_cache = true;
                continue;
            }
            let (plane, local) = flash.place(page);
            let Some(slot) = flash.plane(plane).locate(local) else {
                if flash.p.read_unwritten {
                    let page = match flash.p.map_unwritten {
                        true => {
                            assumed |= 1 << (page - pages.start);
                            let slot = flash.assume_written(plane, local, &mut view);
                            flash.page_of(slot)
                        }
                        false => local,
                    };
                    view.units[unit].waits += 1;
                    let bytes = size.min(all) as u32;
                    flash.read_page(plane, page, bytes, Owner::Unit(unit), &mut view);
                }
                continue;
            };
            if flash.plane(plane).is_open(slot) {
                continue;
            }
            let same = |read: &&mut (u32, u32)| read.0 / slots == slot / slots;
            match reads.iter_mut().find(same) {
                Some((_, pages)) => *pages += 1,
                None => reads.push((slot, 1)),
            }
        }
        let (plane, _) = flash.place(pages.start);
        for (slot, pages) in reads.drain(..) {
            view.units[unit].waits += 1;
            let bytes = (u64::from(pages) * size).min(all) as u32;
            flash.read(plane, slot, bytes, Owner::Unit(unit), &mut view);
        }
        self.storage.page_reads = reads;
        if assumed > 0 && self.storage.flash.p.partial_pages {
            self.assume_sectors_written(unit, assumed);
        }
        if in_cache && !self.storage.cache.p.access.is_immediate() {
            self.units[unit].waits += 1;
            self.ask_cache(unit, now);
        }
    }

    /// Those of a unit's pages, a bit each, were read before they were ever written, and count as written now.
    fn assume_sectors_written(&mut self, unit: u32, pages: u64) {
        for (at, page) in self.pages(unit).enumerate() {
            if pages >> at & 1 == 0 {
                continue;
            }
            let sectors = self.storage.sectors(&self.units[unit], page);
            self.storage.write_sectors(page, sectors, false);
        }
    }

    /// Without a cache: what was not written of a page is read first.
    fn write_through(&mut self, unit: u32, now: Nanos) {
        let page = self.pages(unit).start;
        let (state, storage) = (&mut self.units[unit], &mut self.storage);
        let (partial, sectors) = (
            storage.is_partial(state, page),
            storage.sectors(state, page),
        );
        let Some(rest) = storage.rest_of_page(page, partial, sectors) else {
            self.program(unit, now);
            return;
        };
        (state.step, state.waits) = (Step::Reading, 1);
        let (flash, _, mut view) = self.flash(now);
        flash.read(
            rest.plane,
            rest.slot,
            rest.bytes,
            Owner::Unit(unit),
            &mut view,
        );
    }

    fn program(&mut self, unit: u32, now: Nanos) {
        let page = self.pages(unit).start;
        let (flash, _, mut view) = self.flash(now);
        let state = &mut view.units[unit];
        state.step = Step::Writing;
        let bytes = state.bytes() as u32;
        let (plane, local) = flash.place(page);
        flash.write(plane, local, bytes, Owner::Unit(unit), &mut view);
        self.has_moved(page, now);
    }

    /// Goes on with all that flash has finished, the last one first.
    fn flash_done(&mut self, now: Nanos) {
        while let Some(owner) = self.storage.done.pop() {
            match owner {
                Owner::Unit(unit) => self.part_done(unit, now),
                Owner::Mapping { map_page } => self.map_read(map_page, now),
                Owner::Destage { merged } => self.destage_merged(merged, now),
                Owner::Programmed { group } => self.pages_programmed(group, now),
                Owner::MapMerge { map_page } => self.write_map(map_page, now),
                Owner::MapWritten { map_page } => self.map_written(map_page),
            }
        }
    }

    /// One of the accesses that a unit waits for is done.
    pub(super) fn part_done(&mut self, unit: u32, now: Nanos) {
        let state = &mut self.units[unit];
        state.waits = state.waits.saturating_sub(1);
        if state.waits > 0 {
            return;
        }
        match (state.step, self.access(unit)) {
            (Step::Reading, Access::Read) => self.ask_data_engine(Task::Forward(unit), now),
            (Step::Reading, _) => self.program(unit, now),
            _ => self.unit_done(unit, now),
        }
    }
}
