//! The device with its driver.
//!
//! ```text
//!  job ──► bios or commands ──► ring of descriptors ──► fetch ──► controller ──┬► storage ──► data transfer (read)
//!          (driver)             or queue pairs                                 └► data transfer ──► storage (write)
//!  done ◄── driver ◄── interrupt, polling ◄── return of descriptors, completions ◄──────┘
//! ```
//!
//! Each arrow is a queue in front of servers; what takes no time costs no event. The device has a calendar of its
//! own: to the array it looks like a server that is to be asked again at a certain time.

mod block_queue;
mod caching;
mod data;
mod mapping;
mod nvme;
mod report;

use std::collections::VecDeque;
use std::sync::Arc;

use iosonar_device::{Access, Device, Job, Pace, RequestId, Service, Usage};
use iosonar_sim_core::{Calendar, Seed, Slab, Stream};
use iosonar_units::Nanos;

use crate::cache::{Cache, PageMap};
use crate::flash::{Flash, FlashEvent, Owner};
use crate::ftl::ShapeError;
use crate::mapping_cache::MappingCache;
use crate::parameters::{HostParameters, Parameters, StorageParameters};
use crate::servers::{BusyTime, Servers};
use crate::stages::{Stage, StageTimes};
use block_queue::BlockQueue;
use data::{DataTask, NeedsMap, Unit};
use nvme::Nvme;

pub use report::{Conservation, SsdReport, Station};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The driver is done with the first of its tasks.
    Driver { queue: u32, task: DriverTask },
    /// Descriptors or commands have been fetched.
    Fetched { from: u64, count: u32 },
    /// Descriptors of the block after this one have been fetched.
    Prefetched { from: u64, count: u32 },
    /// An exponential service of a block is over.
    BlockServed,
    /// The controller has done something.
    Controller { task: ControllerTask },
    /// A data engine has.
    Data { task: DataTask },
    /// The descriptor engine has.
    Descriptors { what: u32 },
    /// Descriptors that the descriptor engine has set up have crossed the link.
    Linked { what: u32 },
    /// Descriptors are back, and the host is interrupted.
    Interrupt { returned: u32 },
    /// Its handler knows what is back.
    Handled { returned: u32 },
    /// The access to a channel of memory is over.
    Memory { channel: u32, unit: u32 },
    /// That to the cache.
    Cache { unit: u32 },
    /// To flash.
    Flash(FlashEvent),
    /// An interrupt has waited for long enough.
    Coalesced { queue: u32, generation: u32 },
    /// The host looks.
    Poll { queue: u32 },
}

/// What a CPU of the host does for the driver.
#[derive(Clone, Copy, Debug)]
enum DriverTask {
    /// Makes a descriptor or a command.
    Submit(u32),
    /// Completes a bio or a command.
    Complete(u32),
    /// Handles an interrupt of a queue pair.
    Interrupt,
}

/// What the controller does.
#[derive(Clone, Copy, Debug)]
enum ControllerTask {
    /// Understands a command.
    Command(u32),
    /// Starts a return of descriptors, or a completion.
    Return(u32),
}

/// A job of the array in the device.
#[derive(Clone, Debug)]
struct JobState {
    job: Job,
    arrived: Nanos,
    /// Bios or commands that are not complete.
    left: u32,
    failed: bool,
    /// Of the bio or command that was complete last.
    stages: StageTimes,
}

/// A bio, or an NVMe command.
#[derive(Clone, Debug)]
struct Command {
    job: u32,
    /// Of a bio: the number of its descriptor, counted from the beginning.
    number: u64,
    /// Of a command: its queue pair.
    queue: u32,
    access: Access,
    sector: u64,
    sectors: u64,
    units_left: u32,
    failed: bool,
    stages: StageTimes,
}

#[derive(Clone, Debug)]
enum Host {
    BlockQueue(Box<BlockQueue>),
    Nvme(Nvme),
}

#[derive(Clone, Debug)]
enum StorageState {
    Dram(Vec<Servers<u32>>),
    Flash(Box<Flash>),
    Measured(Servers<u32>),
    /// Places of the block in service that are taken.
    Exponential(BusyTime),
}

/// A job that is complete.
#[derive(Clone, Copy, Debug)]
struct Finished {
    at: Nanos,
    service: Service,
    stages: StageTimes,
}

/// An SSD with its driver.
#[derive(Clone, Debug)]
pub struct Ssd {
    p: Arc<Parameters>,
    calendar: Calendar<Event>,
    /// The instants at which the array was told to ask, the next one last.
    told: Vec<Nanos>,
    jobs: Slab<JobState>,
    finished: VecDeque<Finished>,
    commands: Slab<Command>,
    units: Slab<Unit>,
    host: Host,
    controller: Servers<ControllerTask>,
    data_engines: Servers<DataTask>,
    descriptor_engine: Servers<u32>,
    /// How much longer the next data transfer takes for descriptors that crossed the link meanwhile.
    link_debt: Nanos,
    storage: StorageState,
    cache: Option<Cache>,
    mapping: Option<MappingCache>,
    /// Who waits for a page of the map that is being read.
    mapping_reads: PageMap<Vec<(u64, NeedsMap)>>,
    /// Empty, but for its memory: the flash pages that a unit is read from.
    page_reads: Vec<(u32, u32)>,
    /// Who is done with flash, and not dealt with.
    flash_done: Vec<Owner>,
    errors: Stream,
    services: Stream,
    /// Commands that came back with an error.
    failed_commands: u64,
    last_served: Option<RequestId>,
    last_stages: StageTimes,
    in_system: BusyTime,
    working: BusyTime,
    conservation: Conservation,
    /// What is known of the jobs that were done in the measurement.
    done: Usage,
    measured_from: Nanos,
    measured: Option<(Usage, SsdReport)>,
}

impl Ssd {
    /// An SSD that has nothing to do; `component` names its random streams.
    ///
    /// # Errors
    /// If its flash cannot have this shape; never with [`Parameters`] that were checked.
    pub fn new(p: &Arc<Parameters>, seed: &Seed, component: &str) -> Result<Self, ShapeError> {
        let storage = match &p.storage {
            StorageParameters::Dram { channels, .. } => {
                StorageState::Dram(vec![Servers::new(1); *channels as usize])
            }
            StorageParameters::Flash(flash) => {
                let mut places = seed.stream(component, "preconditioning");
                StorageState::Flash(Box::new(Flash::new(flash, &mut places)?))
            }
            StorageParameters::Measured { channels, .. } => {
                StorageState::Measured(Servers::new(*channels))
            }
            StorageParameters::Exponential { .. } => StorageState::Exponential(BusyTime::default()),
        };
        let planes = match &p.storage {
            StorageParameters::Flash(flash) => flash.planes,
            _ => 0,
        };
        let host = match &p.host {
            HostParameters::BlockQueue(queue) => Host::BlockQueue(Box::new(BlockQueue::new(queue))),
            HostParameters::Nvme(nvme) => Host::Nvme(Nvme::new(nvme)),
        };
        Ok(Self {
            calendar: Calendar::default(),
            told: Vec::new(),
            jobs: Slab::default(),
            finished: VecDeque::new(),
            commands: Slab::default(),
            units: Slab::default(),
            host,
            controller: Servers::new(p.controller.commands),
            data_engines: Servers::new(p.pcie.data_engines),
            descriptor_engine: Servers::new(1),
            link_debt: Nanos::ZERO,
            storage,
            cache: p.cache.map(|cache| Cache::new(cache, planes)),
            mapping: p.mapping_cache.map(MappingCache::new),
            mapping_reads: PageMap::default(),
            page_reads: Vec::new(),
            flash_done: Vec::new(),
            errors: seed.stream(component, "errors"),
            services: seed.stream(component, "service"),
            failed_commands: 0,
            last_served: None,
            last_stages: StageTimes::default(),
            in_system: BusyTime::default(),
            working: BusyTime::default(),
            conservation: Conservation::default(),
            done: Usage::default(),
            measured_from: Nanos::ZERO,
            measured: None,
            p: Arc::clone(p),
        })
    }

    fn handle(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Driver { queue, task } => self.driver_done(queue, task, now),
            Event::Fetched { from, count } => self.fetched(from, count, now),
            Event::Prefetched { from, count } => self.prefetched(from, count, now),
            Event::BlockServed => self.block_served(now),
            Event::Controller { task } => self.controller_done(task, now),
            Event::Data { task } => self.data_moved(task, now),
            Event::Descriptors { what } => self.descriptor_engine_done(what, now),
            Event::Linked { what } => self.descriptors_returned(what, now),
            Event::Interrupt { returned } => self.interrupt(returned, now),
            Event::Handled { returned } => self.handled(returned, now),
            Event::Memory { channel, unit } => self.memory_accessed(channel, unit, now),
            Event::Cache { unit } => self.cache_accessed(unit, now),
            Event::Flash(event) => self.flash_event(event, now),
            Event::Coalesced { queue, generation } => self.coalesced(queue, generation, now),
            Event::Poll { queue } => self.poll(queue, now),
        }
    }

    /// Goes on up to and with `now`, and beyond it as long as it lies before `until`; stops when a job
    /// is complete.
    fn advance(&mut self, now: Nanos, until: Nanos) {
        while self.finished.is_empty() {
            let Some(next) = self.calendar.next_time() else {
                break;
            };
            if next > now && next >= until {
                break;
            }
            let Some((at, event)) = self.calendar.pop() else {
                break;
            };
            self.handle(event, at);
        }
    }

    /// The driver's CPU of a queue does something.
    fn ask_driver(&mut self, queue: u32, task: DriverTask, now: Nanos) {
        let driver = match &mut self.host {
            Host::BlockQueue(host) => &mut host.driver,
            Host::Nvme(host) => &mut host.pairs[queue as usize].cpu,
        };
        if let Some(task) = driver.arrive(task, now) {
            self.start_driver(queue, task, now);
        }
    }

    fn start_driver(&mut self, queue: u32, task: DriverTask, now: Nanos) {
        let p = &self.p.driver;
        let time = match (task, &self.host) {
            (DriverTask::Submit(_), Host::BlockQueue(_)) => p.submit,
            (DriverTask::Submit(_), Host::Nvme(_)) => p.submit + p.doorbell,
            (DriverTask::Complete(_), _) => p.complete,
            (DriverTask::Interrupt, _) => p.interrupt,
        };
        self.calendar
            .schedule(now + time, Event::Driver { queue, task });
    }

    fn driver_done(&mut self, queue: u32, task: DriverTask, now: Nanos) {
        let driver = match &mut self.host {
            Host::BlockQueue(host) => &mut host.driver,
            Host::Nvme(host) => &mut host.pairs[queue as usize].cpu,
        };
        if let Some(next) = driver.depart(now) {
            self.start_driver(queue, next, now);
        }
        match (task, &self.host) {
            (DriverTask::Submit(command), Host::BlockQueue(_)) => {
                self.descriptor_made(command, now);
            }
            (DriverTask::Submit(command), Host::Nvme(_)) => self.command_rung(command, now),
            (DriverTask::Complete(command), _) => {
                self.slot_freed(queue, now);
                self.command_complete(command, now);
            }
            (DriverTask::Interrupt, _) => self.interrupt_handled(queue, now),
        }
    }

    /// A bio or command has its place in ring or queue no more.
    fn slot_freed(&mut self, queue: u32, now: Nanos) {
        match &mut self.host {
            Host::BlockQueue(host) => {
                host.freed += 1;
                self.fill_ring(now);
            }
            Host::Nvme(host) => {
                host.pairs[queue as usize].outstanding -= 1;
                self.fill_queue(queue, now);
            }
        }
    }

    fn command_complete(&mut self, number: u32, now: Nanos) {
        let command = &mut self.commands[number];
        command.stages.pass(Stage::Completion, now);
        let (slot, failed, stages) = (command.job, command.failed, command.stages);
        self.commands.release(number);
        self.failed_commands += u64::from(failed);
        let state = &mut self.jobs[slot];
        state.failed |= failed;
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        state.stages = stages;
        debug_assert_eq!(
            stages.total(),
            now - state.arrived,
            "every instant belongs to a stage"
        );
        let service = Service {
            job: state.job,
            arrived: state.arrived,
            started: state.arrived,
            positioning: Nanos::ZERO,
            transfer: now - state.arrived,
            pace: Pace(0.0),
            failed: state.failed,
        };
        let state_arrived = state.arrived;
        let inside = now - state_arrived.max(self.measured_from);
        self.jobs.release(slot);
        self.in_system.change(-1, now);
        self.conservation.job_time += u128::from(inside.get());
        let stay = now - state_arrived;
        self.done.jobs_done += 1;
        self.done.stay_time += u128::from(stay.get());
        self.done.stay_edge += i128::from(inside.get()) - i128::from(stay.get());
        if self.jobs.is_empty() {
            self.working.change(-1, now);
        }
        self.finished.push_back(Finished {
            at: now,
            service,
            stages,
        });
    }

    fn ask_controller(&mut self, task: ControllerTask, now: Nanos) {
        if let Some(task) = self.controller.arrive(task, now) {
            self.start_controller(task, now);
        }
    }

    fn start_controller(&mut self, task: ControllerTask, now: Nanos) {
        let p = &self.p.controller;
        let time = match task {
            ControllerTask::Command(_) => p.command,
            ControllerTask::Return(_) => p.post,
        };
        self.calendar
            .schedule(now + time, Event::Controller { task });
        if let (ControllerTask::Command(number), Host::BlockQueue(_)) = (task, &self.host) {
            self.command_taken(number, now);
        }
    }

    fn controller_done(&mut self, task: ControllerTask, now: Nanos) {
        if let Some(next) = self.controller.depart(now) {
            self.start_controller(next, now);
        }
        match task {
            ControllerTask::Command(number) => {
                let p = self.p.controller.error_probability;
                let failed = p > 0.0 && self.errors.chance(p);
                let command = &mut self.commands[number];
                command.stages.pass(Stage::Command, now);
                command.failed = failed;
                if failed {
                    self.command_served(number, now);
                } else {
                    self.move_data(number, now);
                }
            }
            ControllerTask::Return(returned) => self.begin_return(returned, now),
        }
    }

    /// What a command asked for has been done.
    fn command_served(&mut self, number: u32, now: Nanos) {
        match &self.host {
            Host::BlockQueue(_) => self.descriptor_served(number, now),
            Host::Nvme(_) => {
                if self.p.controller.post > Nanos::ZERO {
                    self.ask_controller(ControllerTask::Return(number), now);
                } else {
                    self.begin_return(number, now);
                }
            }
        }
    }

    fn begin_return(&mut self, what: u32, now: Nanos) {
        match &self.host {
            Host::BlockQueue(_) => self.begin_descriptor_return(what, now),
            Host::Nvme(_) => self.ask_descriptor_engine(what, now),
        }
    }

    fn ask_descriptor_engine(&mut self, what: u32, now: Nanos) {
        if let Some(what) = self.descriptor_engine.arrive(what, now) {
            self.start_descriptor_engine(what, now);
        }
    }

    fn start_descriptor_engine(&mut self, what: u32, now: Nanos) {
        let post = &self.p.pcie.post;
        let time = match &self.p.host {
            HostParameters::BlockQueue(_) => post.setup(),
            HostParameters::Nvme(nvme) => post.time(u64::from(nvme.completion_bytes)),
        };
        self.calendar
            .schedule(now + time, Event::Descriptors { what });
    }

    fn descriptor_engine_done(&mut self, what: u32, now: Nanos) {
        if let Some(next) = self.descriptor_engine.depart(now) {
            self.start_descriptor_engine(next, now);
        }
        match &self.host {
            Host::BlockQueue(_) => {
                // Their packets go between those of the data, which takes so much longer.
                let time = self.return_time(what, true);
                if self.data_engines.is_busy() {
                    self.link_debt += time;
                }
                self.calendar.schedule(now + time, Event::Linked { what });
            }
            Host::Nvme(_) => self.completion_posted(what, now),
        }
    }

    fn fetched(&mut self, from: u64, count: u32, now: Nanos) {
        match &self.host {
            Host::BlockQueue(_) => self.block_fetched(from, count, now),
            Host::Nvme(_) => self.commands_fetched(now),
        }
    }

    /// The report of the time from the beginning of the measurement until its end, or until the last event if it
    /// has not ended.
    pub fn report(&self) -> SsdReport {
        match &self.measured {
            Some((_, report)) => report.clone(),
            None => self.report_until(self.calendar.now()),
        }
    }

    fn usage_until(&self, now: Nanos) -> Usage {
        Usage {
            busy: Nanos::new(self.working.until(now) as u64),
            jobs_time: self.in_system.until(now),
            stay_edge: self.done.stay_edge + self.unfinished_time(now) as i128,
            ..self.done
        }
    }
}

impl Device for Ssd {
    const STAGES: &'static [&'static str] = Stage::NAMES;

    fn submit(&mut self, job: Job, now: Nanos) {
        // Whatever was to happen before has happened: the array was told when.
        debug_assert!(self.calendar.now() <= now, "the device went too far ahead");
        if self.jobs.is_empty() {
            self.working.change(1, now);
        }
        self.in_system.change(1, now);
        let slot = self.jobs.insert(JobState {
            job,
            arrived: now,
            left: 0,
            failed: false,
            stages: StageTimes::default(),
        });
        match &self.host {
            Host::BlockQueue(_) => self.cut_into_bios(slot, now),
            Host::Nvme(_) => self.cut_into_commands(slot, now),
        }
    }

    fn start_next(&mut self, _: Nanos) -> Option<Nanos> {
        let next = match self.finished.front() {
            Some(finished) => finished.at,
            None => self.calendar.next_time()?,
        };
        if self.told.last().is_some_and(|&told| told <= next) {
            return None;
        }
        self.told.push(next);
        Some(next)
    }

    fn complete(&mut self, now: Nanos, until: Nanos) -> Option<Service> {
        if self.told.last() == Some(&now) {
            self.told.pop();
        }
        self.advance(now, until);
        if self.finished.front()?.at > now {
            return None;
        }
        let Finished {
            service, stages, ..
        } = self.finished.pop_front()?;
        self.last_served = Some(service.job.request);
        self.last_stages = stages;
        Some(service)
    }

    fn busy_with(&self) -> Option<RequestId> {
        None
    }

    fn last_served(&self) -> Option<RequestId> {
        self.last_served
    }

    fn queue_length(&self) -> usize {
        self.jobs.len()
    }

    fn measure_from(&mut self, now: Nanos) {
        self.measured_from = now;
        self.in_system.measure_from(now);
        self.working.measure_from(now);
        self.done = Usage::default();
        self.measure_stations_from(now);
    }

    fn end_measurement(&mut self, now: Nanos) {
        // It may have gone ahead with what nobody waits for.
        let now = now.max(self.calendar.now());
        self.measured = Some((self.usage_until(now), self.report_until(now)));
    }

    fn usage(&self) -> Usage {
        match &self.measured {
            Some((usage, _)) => *usage,
            None => self.usage_until(self.calendar.now()),
        }
    }

    fn stage_times(&self) -> &[Nanos] {
        &self.last_stages.times
    }

    fn takes_discards(&self) -> bool {
        true
    }

    fn drain(&mut self, now: Nanos) {
        if matches!(self.host, Host::BlockQueue(_)) {
            self.drain_ring(now);
        }
    }

    fn why_stuck(&self) -> Option<String> {
        match &self.host {
            Host::BlockQueue(host) if !self.jobs.is_empty() => host.why_stuck(),
            _ => None,
        }
    }
}
