//! The device with its driver.
//!
//! ```text
//!  job ──► bios or commands ──► ring of descriptors ──► fetch ──► controller ──┬► storage ──► data transfer (read)
//!          (driver)             or queue pairs                                 └► data transfer ──► storage (write)
//!  done ◄── driver ◄── interrupt, polling ◄── return of descriptors, completions ◄──────┘
//! ```
//!
//! In front of all this there may be [limits](crate::limits) that let jobs through at a rate.
//!
//! Each arrow is a queue in front of servers; what takes no time costs no event. The device has an [agenda] of its
//! own: to the array it looks like a server that is to be asked again at a certain time.
//!
//! The two ends differ from device to device, and [`Ssd`] is generic over them: the [`Host`] is a [`BlockQueue`] or
//! [`Nvme`], the [`Storage`] is [`Memory`], [`FlashStorage`] or a [`BulkServer`]. What lies between them, the
//! controller and the DMA engines, is here and in [`data`]. [`AnySsd`] is one whose ends a profile chose.
//!
//! Events of one instant happen in the order in which they were scheduled. So a server hands its next task out before
//! the task that leaves it goes on: what both schedule for one instant happens in this order, and completion hashes
//! depend on it.

mod agenda;
mod any;
mod block_queue;
mod bulk;
mod caching;
mod data;
mod flash_storage;
mod jobs;
mod mapping;
mod memory;
mod nvme;
mod report;

use std::fmt::Debug;
use std::ops::Range;

use iosonar_device::{Access, Job, Service, Usage};
use iosonar_sim_core::{Slab, Stream};
use iosonar_units::Nanos;

use crate::limits::Limits;
use crate::parameters::{ControllerParameters, Parameters, PcieParameters, Transfer};
use crate::servers::Servers;
use crate::stages::{Stage, StageTimes};
use agenda::Agenda;
use block_queue::BlockQueue;
use bulk::BulkServer;
use data::Unit;
use flash_storage::FlashStorage;
use jobs::Jobs;
use memory::Memory;
use nvme::Nvme;

pub use any::AnySsd;
pub use report::{Conservation, SsdReport, Station, StationKind};

/// The host's end: the driver, and the queues that it shares with the device.
trait Host<S: Storage>: Sized {
    type Event: Copy + Debug;
    /// Where in its queues a command is.
    type Place: Copy + Debug;

    /// Makes commands of a job.
    fn submit(ssd: &mut Ssd<Self, S>, job: u32, now: Nanos);
    fn handle(ssd: &mut Ssd<Self, S>, event: Self::Event, now: Nanos);
    /// The controller starts with a command.
    fn command_taken(_ssd: &mut Ssd<Self, S>, _command: u32, _now: Nanos) {}
    /// The device has executed a command, or has found it to be in error.
    fn command_served(ssd: &mut Ssd<Self, S>, command: u32, now: Nanos);

    /// Whether returns have a DMA engine of their own, or share those of the data.
    fn has_descriptor_engine(&self) -> bool;
    /// What a return moves into the host's memory.
    fn return_bytes(&self, returned: u32) -> u64;
    /// How long a return keeps the descriptor engine busy.
    fn engine_time(&self, post: &Transfer, returned: u32) -> Nanos {
        post.time(self.return_bytes(returned))
    }
    /// The descriptor engine is done with a return.
    fn engine_done(ssd: &mut Ssd<Self, S>, returned: u32, now: Nanos) {
        Self::posted(ssd, returned, now);
    }
    /// A return is in the host's memory.
    fn posted(ssd: &mut Ssd<Self, S>, returned: u32, now: Nanos);

    /// The load has ended.
    fn drain(_ssd: &mut Ssd<Self, S>, _now: Nanos) {}
    /// Why jobs are in the device although no event is to come.
    fn why_stuck(&self) -> Option<String> {
        None
    }
    fn measure_from(&mut self, now: Nanos);
    fn report_until(&self, now: Nanos, report: &mut SsdReport);
}

/// What lies behind the controller.
trait Storage: Sized {
    type Event: Copy + Debug;
    /// The number of a command or unit on its way through the controller and the data engines; [`Never`] where storage
    /// serves whole blocks, whose commands pass both by.
    type Number: Copy + Debug + Into<u32>;

    /// The controller has decoded a command.
    fn serve<H: Host<Self>>(ssd: &mut Ssd<H, Self>, command: Self::Number, now: Nanos);
    /// The data of a unit that is written have come.
    fn write<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: Self::Number, now: Nanos);
    fn handle<H: Host<Self>>(ssd: &mut Ssd<H, Self>, event: Self::Event, now: Nanos);
    /// Whether a flush takes time.
    fn takes_flushes(&self) -> bool {
        false
    }
    fn measure_from(&mut self, now: Nanos);
    fn report_until(&self, now: Nanos, report: &mut SsdReport);
}

/// A number of what cannot be.
#[derive(Clone, Copy, Debug)]
enum Never {}

impl From<Never> for u32 {
    fn from(never: Never) -> Self {
        match never {}
    }
}

/// What happens next, in the middle or at one of the ends; `N` is the storage's [`Number`](Storage::Number).
#[derive(Clone, Copy, Debug)]
enum Event<H, S, N> {
    /// The controller is done with a task.
    Controller(Task<N>),
    /// A data engine has moved something.
    Data(Task<N>),
    /// A job is let through to the driver.
    Passed(u32),
    /// The descriptor engine is done with a return.
    Descriptors(u32),
    Host(H),
    Storage(S),
}

type EventOf<H, S> = Event<<H as Host<S>>::Event, <S as Storage>::Event, <S as Storage>::Number>;

/// What the controller and the data engines work on, in both directions.
#[derive(Clone, Copy, Debug)]
enum Task<N> {
    /// Decodes a command, or moves the data of a unit.
    Forward(N),
    /// Starts a return of descriptors or a completion, or moves it.
    Return(u32),
}

/// A bio, or an NVMe command.
#[derive(Clone, Debug)]
struct Command<P> {
    job: u32,
    /// Where in the host's queues it is.
    place: P,
    access: Access,
    sector: u64,
    sectors: u64,
    units_left: u32,
    failed: bool,
    stages: StageTimes,
}

/// An SSD with its driver.
#[derive(Clone, Debug)]
struct Ssd<H: Host<S>, S: Storage> {
    /// What is let through; `None`: everything.
    limits: Option<Box<Limits>>,
    pcie: PcieParameters,
    times: ControllerParameters,
    agenda: Agenda<EventOf<H, S>>,
    /// The instants at which the array is going to ask, the next one last.
    wake_ups: Vec<Nanos>,
    jobs: Jobs,
    commands: Slab<Command<H::Place>>,
    units: Slab<Unit>,
    host: H,
    controller: Servers<Task<S::Number>>,
    data_engines: Servers<Task<S::Number>>,
    descriptor_engine: Servers<u32>,
    /// How much longer the next data transfer takes for descriptors that crossed the link meanwhile.
    link_debt: Nanos,
    storage: S,
    errors: Stream,
    /// Commands that came back with an error.
    failed_commands: u64,
    /// What was measured, when the measurement is over.
    measured: Option<(Usage, SsdReport)>,
}

impl<H: Host<S>, S: Storage> Ssd<H, S> {
    fn new(p: &Parameters, host: H, storage: S, errors: Stream) -> Box<Self> {
        Box::new(Self {
            limits: p
                .limits
                .as_ref()
                .map(|limits| Box::new(Limits::new(limits))),
            pcie: p.pcie,
            times: p.controller,
            agenda: Agenda::default(),
            wake_ups: Vec::new(),
            jobs: Jobs::default(),
            commands: Slab::default(),
            units: Slab::default(),
            host,
            controller: Servers::new(p.controller.commands),
            data_engines: Servers::new(p.pcie.data_engines),
            descriptor_engine: Servers::new(1),
            link_debt: Nanos::ZERO,
            storage,
            errors,
            failed_commands: 0,
            measured: None,
        })
    }

    fn submit(&mut self, job: Job, now: Nanos) {
        // The array knows when the next event is, and submits nothing that comes before it later.
        debug_assert!(self.agenda.now() <= now, "the device went too far ahead");
        let slot = self.jobs.arrive(job, now);
        let limits = self.limits.as_mut();
        match limits.map_or(now, |limits| limits.pass(&job, now)) {
            at if at > now => self.agenda.schedule(at, Event::Passed(slot)),
            _ => H::submit(self, slot, now),
        }
    }

    /// The next instant at which something is to be done, unless the array knows of one that comes no later.
    fn next_wake_up(&mut self) -> Option<Nanos> {
        let next = match self.jobs.next_finished() {
            Some(at) => at,
            None => self.agenda.next_time()?,
        };
        if self.wake_ups.last().is_some_and(|&known| known <= next) {
            return None;
        }
        self.wake_ups.push(next);
        Some(next)
    }

    /// Goes on up to and with `now`, and beyond it as long as it lies before `until`; stops when a job is complete.
    fn complete(&mut self, now: Nanos, until: Nanos) -> Option<Service> {
        if self.wake_ups.last() == Some(&now) {
            self.wake_ups.pop();
        }
        while self.jobs.next_finished().is_none()
            && let Some((at, event)) = self.agenda.take(now, until)
        {
            self.handle(event, at);
        }
        self.jobs.take_finished(now)
    }

    fn drain(&mut self, now: Nanos) {
        H::drain(self, now);
    }

    fn why_stuck(&self) -> Option<String> {
        (!self.jobs.present.is_empty()).then(|| self.host.why_stuck())?
    }

    fn handle(&mut self, event: EventOf<H, S>, now: Nanos) {
        match event {
            Event::Controller(task) => self.controller_done(task, now),
            Event::Data(task) => self.data_moved(task, now),
            Event::Passed(slot) => H::submit(self, slot, now),
            Event::Descriptors(returned) => self.descriptor_engine_done(returned, now),
            Event::Host(event) => H::handle(self, event, now),
            Event::Storage(event) => S::handle(self, event, now),
        }
    }

    fn schedule_host(&mut self, at: Nanos, event: H::Event) {
        self.agenda.schedule(at, Event::Host(event));
    }

    fn schedule_storage(&mut self, at: Nanos, event: S::Event) {
        self.agenda.schedule(at, Event::Storage(event));
    }

    fn ask_controller(&mut self, task: Task<S::Number>, now: Nanos) {
        if let Some(task) = self.controller.arrive(task, now) {
            self.start_controller(task, now);
        }
    }

    fn start_controller(&mut self, task: Task<S::Number>, now: Nanos) {
        let time = match task {
            Task::Forward(command) => match self.commands[command.into()].access {
                Access::Write => self.times.write_command,
                _ => self.times.command,
            },
            Task::Return(_) => self.times.post,
        };
        self.agenda.schedule(now + time, Event::Controller(task));
        if let Task::Forward(command) = task {
            H::command_taken(self, command.into(), now);
        }
    }

    fn controller_done(&mut self, task: Task<S::Number>, now: Nanos) {
        if let Some(next) = self.controller.depart(now) {
            self.start_controller(next, now);
        }
        match task {
            Task::Forward(command) => {
                let p = self.times.error_probability;
                let failed = p > 0.0 && self.errors.chance(p);
                let state = &mut self.commands[command.into()];
                state.stages.pass(Stage::Command, now);
                state.failed = failed;
                if failed {
                    H::command_served(self, command.into(), now);
                } else {
                    S::serve(self, command, now);
                }
            }
            Task::Return(returned) => self.post(returned, now),
        }
    }

    /// Sends something back to the host: descriptors, or the completion of a command.
    fn begin_return(&mut self, returned: u32, now: Nanos) {
        if self.times.post > Nanos::ZERO {
            self.ask_controller(Task::Return(returned), now);
        } else {
            self.post(returned, now);
        }
    }

    fn post(&mut self, returned: u32, now: Nanos) {
        if !self.host.has_descriptor_engine() {
            self.ask_data_engine(Task::Return(returned), now);
        } else if let Some(returned) = self.descriptor_engine.arrive(returned, now) {
            self.start_descriptor_engine(returned, now);
        }
    }

    fn start_descriptor_engine(&mut self, returned: u32, now: Nanos) {
        let time = self.host.engine_time(&self.pcie.post, returned);
        self.agenda
            .schedule(now + time, Event::Descriptors(returned));
    }

    fn descriptor_engine_done(&mut self, returned: u32, now: Nanos) {
        if let Some(next) = self.descriptor_engine.depart(now) {
            self.start_descriptor_engine(next, now);
        }
        H::engine_done(self, returned, now);
    }

    /// A command for these sectors, as a part of a job.
    fn add_command(&mut self, job: u32, place: H::Place, sectors: Range<u64>) -> u32 {
        self.commands.insert(Command {
            job,
            place,
            access: self.jobs.present[job].job.access,
            sector: sectors.start,
            sectors: sectors.end - sectors.start,
            units_left: 0,
            failed: false,
            // It may have waited until it was let through.
            stages: StageTimes::from(self.jobs.present[job].arrived),
        })
    }

    /// The driver has completed a command.
    fn command_complete(&mut self, number: u32, now: Nanos) {
        let command = &mut self.commands[number];
        command.stages.pass(Stage::Completion, now);
        self.failed_commands += u64::from(command.failed);
        self.jobs
            .command_complete(command.job, command.failed, command.stages, now);
        self.commands.release(number);
    }
}
