//! From a command to its data and back: units, and the data engines that move them.

use iosonar_device::Access;
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::{Event, Host, Ssd, Storage, Task};
use crate::stages::{Stage, StageTimes};

/// What is being done with a unit.
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

impl Unit {
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

/// Storage that serves each command by itself, unit by unit.
pub(super) trait CommandStorage: Storage<Number = u32> {
    /// The sectors of a unit at most; no unit crosses a multiple of them.
    fn span(&self) -> u64;
    /// A unit of a command that the controller has decoded: finds out where it is, then [starts](Ssd::start_unit) it.
    fn locate<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        ssd.start_unit(unit, now);
    }
    /// Reads a unit; its data are [moved](Ssd::ask_data_engine) then.
    fn read<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos);
    /// A command that asks for all that was written to be on the medium.
    fn flush<H: Host<Self>>(ssd: &mut Ssd<H, Self>, command: u32, now: Nanos) {
        H::command_served(ssd, command, now);
    }
    /// The host no longer needs these sectors.
    fn discard(&mut self, _first: u64, _end: u64) {}
}

impl<H: Host<S>, S: CommandStorage> Ssd<H, S> {
    /// Cuts a command that the controller has decoded into units.
    pub(super) fn cut_into_units(&mut self, number: u32, now: Nanos) {
        let command = &self.commands[number];
        let (first, end) = (command.sector, command.sector + command.sectors);
        if command.access == Access::Discard {
            self.storage.discard(first, end);
            H::command_served(self, number, now);
            return;
        }
        if command.access == Access::Flush {
            S::flush(self, number, now);
            return;
        }
        let (span, stages) = (self.storage.span(), command.stages);
        self.commands[number].units_left = (end.div_ceil(span) - first / span) as u32;
        let mut at = first;
        while at < end {
            let next = ((at / span + 1) * span).min(end);
            let unit = self.units.insert(Unit {
                command: number,
                sector: at,
                sectors: (next - at) as u32,
                waits: 0,
                step: Step::Mapping,
                cached: 0,
                stages,
            });
            at = next;
            S::locate(self, unit, now);
        }
    }

    /// The place of a unit is known: it is read, or the data that are written to it are fetched.
    pub(super) fn start_unit(&mut self, unit: u32, now: Nanos) {
        let access = self.access(unit);
        let state = &mut self.units[unit];
        state.stages.pass(Stage::ChannelWait, now);
        if access == Access::Read {
            state.step = Step::Reading;
            S::read(self, unit, now);
        } else {
            self.ask_data_engine(Task::Forward(unit), now);
        }
    }

    /// Gives a command that has been fetched to the controller.
    pub(super) fn take_command(&mut self, command: u32, now: Nanos) {
        self.ask_controller(Task::Forward(command), now);
    }
}

impl<H: Host<S>, S: Storage> Ssd<H, S> {
    pub(super) fn access(&self, unit: u32) -> Access {
        self.commands[self.units[unit].command].access
    }

    pub(super) fn ask_data_engine(&mut self, task: Task<S::Number>, now: Nanos) {
        if let Some(task) = self.data_engines.arrive(task, now) {
            self.start_data_engine(task, now);
        }
    }

    fn start_data_engine(&mut self, task: Task<S::Number>, now: Nanos) {
        let time = match task {
            Task::Forward(unit) => {
                let unit = unit.into();
                let direction = match self.access(unit) {
                    Access::Read => self.pcie.to_host,
                    _ => self.pcie.from_host,
                };
                direction.time(self.units[unit].bytes())
            }
            Task::Return(returned) => self.pcie.post.time(self.host.return_bytes(returned)),
        } + std::mem::take(&mut self.link_debt);
        self.agenda.schedule(now + time, Event::Data(task));
    }

    pub(super) fn data_moved(&mut self, task: Task<S::Number>, now: Nanos) {
        if let Some(next) = self.data_engines.depart(now) {
            self.start_data_engine(next, now);
        }
        match task {
            Task::Forward(number) => {
                let unit = number.into();
                let access = self.access(unit);
                let state = &mut self.units[unit];
                state.stages.pass(Stage::DataTransfer, now);
                if access == Access::Read {
                    self.unit_done(unit, now);
                } else {
                    state.step = Step::Writing;
                    S::write(self, number, now);
                }
            }
            Task::Return(returned) => H::posted(self, returned, now),
        }
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
            H::command_served(self, command, now);
        }
    }
}
