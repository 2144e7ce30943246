//! Flash behind a controller: which pages a unit is read from, and how it is written.

use std::ops::Range;

use iosonar_device::Access;
use iosonar_sim_core::{Calendar, Slab, Stream};
use iosonar_units::Nanos;

use super::data::{CommandStorage, Step, Unit};
use super::mapping::NeedsMap;
use super::{Event, EventOf, Host, Ssd, SsdReport, Storage, Task};
use crate::FlashParameters;
use crate::cache::{Cache, PageMap};
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
            cache: Cache::new(p.cache.unwrap_or_default(), p.planes),
            mapping: p.mapping_cache.map(MappingCache::new),
            mapping_reads: PageMap::default(),
            page_reads: Vec::new(),
            done: Vec::new(),
            page_sectors: p.logical_page_sectors(),
        })
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
    calendar: &'a mut Calendar<EventOf<H, FlashStorage>>,
    units: &'a mut Slab<Unit>,
    done: &'a mut Vec<Owner>,
}

impl<H: Host<FlashStorage>> FlashHost for View<'_, H> {
    #[inline]
    fn now(&self) -> Nanos {
        self.now
    }

    #[inline]
    fn schedule(&mut self, at: Nanos, event: FlashEvent) {
        let event = Event::Storage(FlashStorageEvent::Flash(event));
        self.calendar.schedule(at, event);
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

    fn measure_from(&mut self, now: Nanos) {
        self.flash.measure_from(now);
        self.cache.measure_from(now);
        if let Some(mapping) = &mut self.mapping {
            (mapping.hits, mapping.misses) = (0, 0);
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

    /// Forgets the logical pages that lie within these sectors.
    fn discard(&mut self, first: u64, end: u64) {
        for page in first.div_ceil(self.page_sectors)..end / self.page_sectors {
            self.cache.discard(page);
            let (plane, local) = self.flash.place(page);
            self.flash.discard(plane, local);
        }
    }
}

impl<H: Host<FlashStorage>> Ssd<H, FlashStorage> {
    /// The flash and the cache, and what operations of flash change outside of them.
    pub(super) fn flash(&mut self, now: Nanos) -> (&mut Flash, &mut Cache, View<'_, H>) {
        let view = View {
            now,
            calendar: &mut self.calendar,
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
        let mut in_cache = false;
        // A unit's pages lie on one flash page, unless they were written at different times: each with a slot of it
        // and how many they are.
        let mut reads = std::mem::take(&mut self.storage.page_reads);
        let (flash, cache, mut view) = self.flash(now);
        let (size, all) = (flash.p.logical_page_bytes, view.units[unit].bytes());
        let slots = flash.slots_per_page() as u32;
        for page in pages.clone() {
            if cache.holds(page) {
                cache.counts.read_hits += 1;
                in_cache = true;
                continue;
            }
            let (plane, local) = flash.place(page);
            let Some(slot) = flash.plane(plane).locate(local) else {
                if flash.p.read_unwritten {
                    view.units[unit].waits += 1;
                    let bytes = size.min(all) as u32;
                    flash.read_page(plane, local, bytes, Owner::Unit(unit), &mut view);
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
        if in_cache && self.storage.cache.p.access > Nanos::ZERO {
            self.units[unit].waits += 1;
            self.ask_cache(unit, now);
        }
    }

    /// Without a cache: what was not written of a page is read first.
    fn write_through(&mut self, unit: u32, now: Nanos) {
        let page = self.pages(unit).start;
        if self.storage.is_partial(&self.units[unit], page) {
            let (flash, _, mut view) = self.flash(now);
            let (plane, local) = flash.place(page);
            if let Some(slot) = flash.plane(plane).locate(local) {
                view.units[unit].step = Step::Reading;
                view.units[unit].waits = 1;
                let bytes = flash.p.logical_page_bytes as u32;
                flash.read(plane, slot, bytes, Owner::Unit(unit), &mut view);
                return;
            }
        }
        self.program(unit, now);
    }

    fn program(&mut self, unit: u32, now: Nanos) {
        let page = self.pages(unit).start;
        let (flash, _, mut view) = self.flash(now);
        let state = &mut view.units[unit];
        state.step = Step::Writing;
        let bytes = state.bytes() as u32;
        let (plane, local) = flash.place(page);
        flash.write(plane, local, bytes, Owner::Unit(unit), &mut view);
    }

    /// Goes on with all that flash has finished, the last one first.
    fn flash_done(&mut self, now: Nanos) {
        while let Some(owner) = self.storage.done.pop() {
            match owner {
                Owner::Unit(unit) => self.part_done(unit, now),
                Owner::Mapping { map_page } => self.map_read(map_page, now),
                Owner::Destage { page } => self.send_to_flash(page, now),
                Owner::Programmed { group } => self.pages_programmed(group, now),
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
