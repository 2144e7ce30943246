//! From a command to its data and back: units, data engines, storage.

use iosonar_device::Access;
use iosonar_sim_core::Slab;
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::{Event, Ssd, StorageState};
use crate::cache::Destaged;
use crate::flash::{FlashEvent, FlashHost, Owner, Passed};
use crate::parameters::{BIO_SECTORS, StorageParameters};
use crate::stages::{Stage, StageTimes};

/// What moves data over PCIe.
#[derive(Clone, Copy, Debug)]
pub(super) enum DataTask {
    /// The data of a unit.
    Unit(u32),
    /// Descriptors that go back.
    Return(u32),
}

/// Where a unit has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Its part of the map is read.
    Mapping,
    /// Its data, or what is to be merged with them, are read.
    Reading,
    /// It is written.
    Writing,
}

/// A part of a command that is accessed and moved as a whole: 4 KiB of memory, or what lies in one flash page of the
/// logical space.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) command: u32,
    /// The first sector on the device.
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// Accesses that are not done.
    pub(super) waits: u32,
    pub(super) step: Step,
    /// Pages that are in the cache already.
    pub(super) cached: u32,
    pub(super) stages: StageTimes,
}

/// Who waits for a page of the map.
#[derive(Clone, Copy, Debug)]
pub(super) enum NeedsMap {
    /// A unit.
    Unit(u32),
    /// A page on its way from the cache to flash.
    Leaving(Destaged),
}

/// What flash tells the device.
pub(super) struct View<'a> {
    pub(super) calendar: &'a mut iosonar_sim_core::Calendar<Event>,
    pub(super) units: &'a mut Slab<Unit>,
    pub(super) done: &'a mut Vec<Owner>,
}

impl FlashHost for View<'_> {
    #[inline]
    fn schedule(&mut self, at: Nanos, event: FlashEvent) {
        self.calendar.schedule(at, Event::Flash(event));
    }

    #[inline]
    fn passed(&mut self, owner: Owner, what: Passed, now: Nanos) {
        let Owner::Unit(unit) = owner else {
            return;
        };
        let stage = match what {
            Passed::Wait => Stage::ChannelWait,
            Passed::Die => Stage::Die,
            Passed::Channel => Stage::Channel,
        };
        self.units[unit].stages.pass(stage, now);
    }

    #[inline]
    fn done(&mut self, owner: Owner, _: Nanos) {
        self.done.push(owner);
    }
}

/// The flash, and what it tells.
macro_rules! flash {
    ($ssd:expr) => {{
        let StorageState::Flash(flash) = &mut $ssd.storage else {
            unreachable!("this device has flash")
        };
        let view = View {
            calendar: &mut $ssd.calendar,
            units: &mut $ssd.units,
            done: &mut $ssd.flash_done,
        };
        (flash, view)
    }};
}

pub(super) use flash;

impl Ssd {
    pub(super) fn logical_page_sectors(&self) -> u64 {
        match &self.p.storage {
            StorageParameters::Flash(flash) => flash.logical_page_bytes / SECTOR_BYTES,
            _ => BIO_SECTORS,
        }
    }

    /// The sectors of a unit at most.
    fn span(&self) -> u64 {
        /// More than any command has.
        const WHOLE_COMMANDS: u64 = 1 << 44;
        match &self.p.storage {
            StorageParameters::Measured { .. } => WHOLE_COMMANDS,
            StorageParameters::Flash(flash) => {
                self.logical_page_sectors() * u64::from(flash.plane.slots_per_page)
            }
            _ => BIO_SECTORS,
        }
    }

    /// The controller has understood a command.
    pub(super) fn move_data(&mut self, number: u32, now: Nanos) {
        let command = &self.commands[number];
        let (first, end) = (command.sector, command.sector + command.sectors);
        if command.access == Access::Discard {
            self.discard(first, end);
            self.command_served(number, now);
            return;
        }
        let (span, stages) = (self.span(), command.stages);
        self.commands[number].units_left = (end.div_ceil(span) - first / span) as u32;
        let mut at = first;
        while at < end {
            let next = ((at / span + 1) * span).min(end);
            let unit = Unit {
                command: number,
                sector: at,
                sectors: (next - at) as u32,
                waits: 0,
                step: Step::Mapping,
                cached: 0,
                stages,
            };
            at = next;
            let slot = self.units.insert(unit);
            // What goes to the cache is looked up when it leaves it.
            let later = self.cache.is_some() && self.access(slot) == Access::Write;
            if self.mapping.is_none() || later || !self.look_up(slot, now) {
                self.mapped(slot, now);
            }
        }
        self.flash_is_done(now);
    }

    pub(super) fn access(&self, unit: u32) -> Access {
        self.commands[self.units[unit].command].access
    }

    /// The logical pages of a unit: the first, and how many.
    pub(super) fn pages(&self, unit: u32) -> (u64, u64) {
        let (unit, size) = (&self.units[unit], self.logical_page_sectors());
        let first = unit.sector / size;
        let end = (unit.sector + u64::from(unit.sectors)).div_ceil(size);
        (first, end - first)
    }

    /// The place of a unit is known.
    pub(super) fn mapped(&mut self, unit: u32, now: Nanos) {
        self.units[unit].stages.pass(Stage::ChannelWait, now);
        match self.access(unit) {
            Access::Read => self.read_storage(unit, now),
            _ => self.ask_data_engine(DataTask::Unit(unit), now),
        }
    }

    pub(super) fn ask_data_engine(&mut self, task: DataTask, now: Nanos) {
        if let Some(task) = self.data_engines.arrive(task, now) {
            self.start_data_engine(task, now);
        }
    }

    fn start_data_engine(&mut self, task: DataTask, now: Nanos) {
        let time = match task {
            DataTask::Unit(unit) => {
                let bytes = u64::from(self.units[unit].sectors) * SECTOR_BYTES;
                match self.access(unit) {
                    Access::Read => self.p.pcie.to_host.time(bytes),
                    _ => self.p.pcie.from_host.time(bytes),
                }
            }
            DataTask::Return(returned) => self.return_time(returned, false),
        } + std::mem::take(&mut self.link_debt);
        self.calendar.schedule(now + time, Event::Data { task });
    }

    pub(super) fn data_moved(&mut self, task: DataTask, now: Nanos) {
        if let Some(next) = self.data_engines.depart(now) {
            self.start_data_engine(next, now);
        }
        match task {
            DataTask::Unit(unit) => {
                self.units[unit].stages.pass(Stage::DataTransfer, now);
                match self.access(unit) {
                    Access::Read => self.unit_done(unit, now),
                    _ => self.write_storage(unit, now),
                }
            }
            DataTask::Return(returned) => self.descriptors_returned(returned, now),
        }
        self.flash_is_done(now);
    }

    pub(super) fn unit_done(&mut self, unit: u32, now: Nanos) {
        let Unit {
            command, stages, ..
        } = self.units[unit];
        self.units.release(unit);
        let state = &mut self.commands[command];
        state.units_left -= 1;
        if state.units_left == 0 {
            state.stages = stages;
            self.command_served(command, now);
        }
    }

    fn read_storage(&mut self, unit: u32, now: Nanos) {
        self.units[unit].step = Step::Reading;
        match &self.storage {
            StorageState::Dram(_) | StorageState::Measured(_) => self.ask_memory(unit, now),
            StorageState::Exponential(_) => unreachable!("blocks are served as a whole"),
            StorageState::Flash(_) => {
                self.units[unit].waits = 0;
                self.read_flash(unit, now);
                if self.units[unit].waits == 0 {
                    self.data_read(unit, now);
                }
            }
        }
    }

    /// Asks for all flash pages that a unit lies on, and for the cache if it is there.
    fn read_flash(&mut self, unit: u32, now: Nanos) {
        let (first, count) = self.pages(unit);
        let mut in_cache = false;
        let size = self.logical_page_sectors() * SECTOR_BYTES;
        let all = u64::from(self.units[unit].sectors) * SECTOR_BYTES;
        // A unit's pages lie on one flash page, unless they were written at different times: each with a slot of it
        // and how many they are.
        let mut reads = std::mem::take(&mut self.page_reads);
        for page in first..first + count {
            if let Some(cache) = &mut self.cache
                && cache.holds(page)
            {
                cache.counts.read_hits += 1;
                in_cache = true;
                continue;
            }
            let (flash, mut view) = flash!(self);
            let (plane, local) = flash.place(page);
            let Some(slot) = flash.plane(plane).locate(local) else {
                if flash.reads_unwritten() {
                    view.units[unit].waits += 1;
                    let bytes = size.min(all) as u32;
                    flash.read_page(plane, local, bytes, Owner::Unit(unit), now, &mut view);
                }
                continue;
            };
            if flash.plane(plane).is_open(slot) {
                continue;
            }
            let slots = flash.slots_per_page() as u32;
            let same = |read: &&mut (u32, u32)| read.0 / slots == slot / slots;
            match reads.iter_mut().find(same) {
                Some((_, pages)) => *pages += 1,
                None => reads.push((slot, 1)),
            }
        }
        for (slot, pages) in reads.drain(..) {
            let (flash, mut view) = flash!(self);
            let (plane, _) = flash.place(first);
            view.units[unit].waits += 1;
            let bytes = (u64::from(pages) * size).min(all) as u32;
            flash.read(plane, slot, bytes, Owner::Unit(unit), now, &mut view);
        }
        self.page_reads = reads;
        if in_cache
            && self
                .cache
                .as_ref()
                .is_some_and(|cache| cache.p.access > Nanos::ZERO)
        {
            self.units[unit].waits += 1;
            self.ask_cache(unit, now);
        }
    }

    /// All that a unit reads is there.
    fn data_read(&mut self, unit: u32, now: Nanos) {
        self.ask_data_engine(DataTask::Unit(unit), now);
    }

    fn write_storage(&mut self, unit: u32, now: Nanos) {
        self.units[unit].step = Step::Writing;
        match (&self.storage, &self.cache) {
            (StorageState::Dram(_) | StorageState::Measured(_), _) => self.ask_memory(unit, now),
            (StorageState::Exponential(_), _) => unreachable!("blocks are served as a whole"),
            (StorageState::Flash(_), Some(_)) => self.ask_cache(unit, now),
            (StorageState::Flash(_), None) => self.write_through(unit, now),
        }
    }

    /// Without a cache: what was not written of a page is read first.
    fn write_through(&mut self, unit: u32, now: Nanos) {
        let (page, _) = self.pages(unit);
        if self.is_partial(unit, page) {
            let (flash, mut view) = flash!(self);
            let (plane, local) = flash.place(page);
            if let Some(slot) = flash.plane(plane).locate(local) {
                view.units[unit].step = Step::Reading;
                view.units[unit].waits = 1;
                let bytes = flash.logical_page_bytes() as u32;
                flash.read(plane, slot, bytes, Owner::Unit(unit), now, &mut view);
                return;
            }
        }
        self.program(unit, now);
    }

    fn program(&mut self, unit: u32, now: Nanos) {
        let (page, _) = self.pages(unit);
        let bytes = self.units[unit].sectors * SECTOR_BYTES as u32;
        let (flash, mut view) = flash!(self);
        view.units[unit].step = Step::Writing;
        let (plane, local) = flash.place(page);
        let owner = Owner::Unit(unit);
        flash.write(plane, local, bytes, owner, now, &mut view);
    }

    /// Whether a unit covers only a part of a logical page.
    pub(super) fn is_partial(&self, unit: u32, page: u64) -> bool {
        let (unit, size) = (&self.units[unit], self.logical_page_sectors());
        unit.sector > page * size || unit.sector + u64::from(unit.sectors) < (page + 1) * size
    }

    fn ask_memory(&mut self, unit: u32, now: Nanos) {
        let (channel, servers) = match &mut self.storage {
            StorageState::Dram(channels) => {
                let channel = self.units[unit].sector / BIO_SECTORS % channels.len() as u64;
                (channel as u32, &mut channels[channel as usize])
            }
            StorageState::Measured(servers) => (0, servers),
            _ => unreachable!("this device has memory"),
        };
        if let Some(unit) = servers.arrive(unit, now) {
            self.start_memory(channel, unit, now);
        }
    }

    fn start_memory(&mut self, channel: u32, unit: u32, now: Nanos) {
        self.units[unit].stages.pass(Stage::ChannelWait, now);
        let is_read = self.access(unit) == Access::Read;
        let time = match &self.p.storage {
            StorageParameters::Dram { read, write, .. } => {
                if is_read {
                    *read
                } else {
                    *write
                }
            }
            StorageParameters::Measured { read, write, .. } => {
                let law = if is_read { read } else { write };
                law.draw(&mut self.services, self.units[unit].sectors)
            }
            _ => unreachable!("this device has memory"),
        };
        self.calendar
            .schedule(now + time, Event::Memory { channel, unit });
    }

    pub(super) fn memory_accessed(&mut self, channel: u32, unit: u32, now: Nanos) {
        let servers = match &mut self.storage {
            StorageState::Dram(channels) => &mut channels[channel as usize],
            StorageState::Measured(servers) => servers,
            _ => unreachable!("this device has memory"),
        };
        if let Some(next) = servers.depart(now) {
            self.start_memory(channel, next, now);
        }
        self.units[unit].stages.pass(Stage::Die, now);
        match self.units[unit].step {
            Step::Reading => self.data_read(unit, now),
            _ => self.unit_done(unit, now),
        }
    }

    pub(super) fn flash_event(&mut self, event: FlashEvent, now: Nanos) {
        let (flash, mut view) = flash!(self);
        flash.handle(event, now, &mut view);
        self.flash_is_done(now);
    }

    /// Deals with all that flash has finished.
    pub(super) fn flash_is_done(&mut self, now: Nanos) {
        while let Some(owner) = self.flash_done.pop() {
            match owner {
                Owner::Unit(unit) => self.part_is_done(unit, now),
                Owner::Mapping { map_page } => self.map_read(map_page, now),
                Owner::Destage { page } => self.send_to_flash(page, now),
                Owner::Programmed { group } => self.pages_programmed(group, now),
            }
        }
    }

    pub(super) fn part_is_done(&mut self, unit: u32, now: Nanos) {
        let state = &mut self.units[unit];
        state.waits = state.waits.saturating_sub(1);
        if state.waits > 0 {
            return;
        }
        match (state.step, self.access(unit)) {
            (Step::Reading, Access::Read) => self.data_read(unit, now),
            (Step::Reading, _) => self.program(unit, now),
            _ => self.unit_done(unit, now),
        }
    }

    /// Forgets the logical pages that lie within these sectors.
    fn discard(&mut self, first: u64, end: u64) {
        let size = self.logical_page_sectors();
        let StorageState::Flash(flash) = &mut self.storage else {
            return;
        };
        for page in first.div_ceil(size)..end / size {
            if let Some(cache) = &mut self.cache {
                cache.discard(page);
            }
            let (plane, local) = flash.place(page);
            flash.discard(plane, local);
        }
    }
}
