//! The ring of descriptors, and blocks of them.
//!
//! Descriptors are numbered from the beginning; their place in the ring is that number modulo its size. In this
//! order: freed <= chosen <= given <= made <= reserved <= freed + ring, where *reserved* counts places that bios
//! have, *made* descriptors that the driver has made, *given* those that the device has or is about to fetch,
//! *chosen* those of blocks.
//!
//! Source: Bougioukou et al., "Prototyping and Performance Evaluation of a Dynamically Adaptable Block Device
//! Driver for PCIe-based SSDs" (2014).

use std::collections::VecDeque;
use std::ops::Range;

use iosonar_device::Access;
use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use super::data::CommandStorage;
use super::{Host, Ssd, SsdReport, Storage};
use crate::parameters::{BIO_SECTORS, BlockQueueParameters, DriverParameters, Transfer};
use crate::profile::Dispatch;
use crate::servers::Servers;
use crate::stages::Stage;

/// Storage that a block queue can have: it serves descriptors one by one, or whole blocks.
pub(super) trait BlockStorage: Storage {
    /// A block of `size` descriptors is at the device. Returns its service time if it is served as a whole.
    fn begin_block(&mut self, _size: u64, _now: Nanos) -> Option<Nanos> {
        None
    }
    /// The service of a whole block is over.
    fn end_block(&mut self, _size: u64, _now: Nanos) {}
    /// The descriptor of a command has been fetched.
    fn take(ssd: &mut Ssd<BlockQueue, Self>, command: u32, now: Nanos);
}

impl<S: CommandStorage> BlockStorage for S {
    fn take(ssd: &mut Ssd<BlockQueue, Self>, command: u32, now: Nanos) {
        ssd.take_command(command, now);
    }
}

/// A task of the driver's CPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum DriverTask {
    /// Makes the descriptor of a bio.
    Submit(u32),
    /// Completes a bio.
    Complete(u32),
}

/// What happens next in the driver or to descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) enum BlockQueueEvent {
    /// The driver is done with a task.
    Driver(DriverTask),
    /// Descriptors of the block have been fetched.
    Fetched { from: u64, count: u32 },
    /// Descriptors of the block after this one have been fetched.
    Prefetched { from: u64, count: u32 },
    /// The service of a whole block is over.
    BlockServed,
    /// Descriptors that the descriptor engine has set up have crossed the link.
    Linked { returned: u32 },
    /// The interrupt handler is free for returned descriptors.
    Interrupt { returned: u32 },
    /// The interrupt handler is done with them.
    Handled { returned: u32 },
}

/// A place in the ring.
#[derive(Clone, Copy, Debug, Default)]
struct Descriptor {
    command: u32,
    served: bool,
    returned: bool,
}

/// The ring with its driver.
#[derive(Clone, Debug)]
pub(super) struct BlockQueue {
    p: BlockQueueParameters,
    times: DriverParameters,
    driver: Servers<DriverTask>,
    ring: Vec<Descriptor>,
    /// Bios without a place in the ring.
    waiting: VecDeque<u32>,
    reserved: u64,
    made: u64,
    given: u64,
    chosen: u64,
    freed: u64,
    /// All before are with the driver to be completed.
    handed_back: u64,
    /// The first descriptor of the block at the device.
    first: u64,
    /// Whether a block is at the device, or its successor is being chosen.
    busy: bool,
    /// Whether the device knows of that block: descriptors that it had in advance may be served before.
    begun: bool,
    served: u32,
    returned: u32,
    /// Descriptors that were fetched ahead, the first and how many; they begin when the block goes back.
    ahead: Option<(u64, u32)>,
    /// Served descriptors that wait until there are enough for a return.
    group: Vec<u64>,
    returns: Slab<Vec<u64>>,
    handler_free: Nanos,
    /// The number of blocks by their size.
    sizes: Vec<u64>,
    draining: bool,
}

impl BlockQueue {
    pub(super) fn new(p: BlockQueueParameters, times: DriverParameters) -> Self {
        Self {
            p,
            times,
            driver: Servers::new(1),
            ring: vec![Descriptor::default(); p.ring as usize],
            waiting: VecDeque::new(),
            reserved: 0,
            made: 0,
            given: 0,
            chosen: 0,
            freed: 0,
            handed_back: 0,
            first: 0,
            busy: false,
            begun: false,
            served: 0,
            returned: 0,
            ahead: None,
            group: Vec::new(),
            returns: Slab::default(),
            handler_free: Nanos::ZERO,
            sizes: vec![0; p.block as usize + 1],
            draining: false,
        }
    }

    #[inline]
    fn place(&mut self, number: u64) -> &mut Descriptor {
        // The ring's size is a power of two.
        let place = number as usize & (self.ring.len() - 1);
        &mut self.ring[place]
    }

    /// The descriptor was made, the device was not overtaken, and nothing was lost.
    #[inline]
    fn check(&self) {
        debug_assert!(
            self.freed <= self.handed_back
                && self.handed_back <= self.chosen
                && self.chosen <= self.given
                && self.given <= self.made
                && self.made <= self.reserved
                && self.reserved <= self.freed + u64::from(self.p.ring),
            "descriptors keep their order, and the ring is not overtaken: {self:?}"
        );
    }

    /// How many descriptors fit into the next block.
    fn most(&self) -> u64 {
        let ring = u64::from(self.p.ring);
        let room = if self.p.wrap {
            ring
        } else {
            ring - self.chosen % ring
        };
        room.min(u64::from(self.p.block))
    }

    /// The size of the next block; 0: it has to wait.
    fn next_size(&self) -> u64 {
        let (pending, most) = (self.made - self.chosen, self.most());
        match self.p.dispatch {
            Dispatch::Static if pending < most && !self.draining => 0,
            _ => pending.min(most),
        }
    }

    /// What this many descriptors are in bytes.
    fn bytes(&self, descriptors: u64) -> u64 {
        descriptors * u64::from(self.p.descriptor_bytes)
    }

    /// The size of the block at the device.
    fn block_size(&self) -> u64 {
        self.chosen - self.first
    }
}

impl<S: BlockStorage> Host<S> for BlockQueue {
    type Event = BlockQueueEvent;
    /// The number of the descriptor, counted from the beginning.
    type Place = u64;

    /// A request becomes bios: the 4 KiB units that it touches.
    fn submit(ssd: &mut Ssd<Self, S>, slot: u32, now: Nanos) {
        let job = ssd.jobs.present[slot].job;
        let first = job.sector.get() / BIO_SECTORS;
        let end = (job.sector.get() + u64::from(job.sectors.get().max(1))).div_ceil(BIO_SECTORS);
        // Without data it is one bio, whatever its size.
        let no_data = matches!(job.access, Access::Discard | Access::Flush);
        let step = if no_data { end - first } else { 1 };
        ssd.jobs.present[slot].left = ((end - first) / step) as u32;
        for bio in (first..end).step_by(step as usize) {
            let (sector, sectors) = match job.access {
                Access::Discard | Access::Flush => (job.sector.get(), u64::from(job.sectors.get())),
                _ => (bio * BIO_SECTORS, BIO_SECTORS),
            };
            // It has no descriptor yet.
            let command = ssd.add_command(slot, 0, sector..sector + sectors);
            ssd.host.waiting.push_back(command);
        }
        ssd.fill_ring(now);
    }

    fn handle(ssd: &mut Ssd<Self, S>, event: BlockQueueEvent, now: Nanos) {
        match event {
            BlockQueueEvent::Driver(task) => ssd.driver_done(task, now),
            BlockQueueEvent::Fetched { from, count } => ssd.block_fetched(from, count, now),
            BlockQueueEvent::Prefetched { from, count } => ssd.prefetched(from, count, now),
            BlockQueueEvent::BlockServed => ssd.block_served(now),
            BlockQueueEvent::Linked { returned } => Self::posted(ssd, returned, now),
            BlockQueueEvent::Interrupt { returned } => ssd.interrupt(returned, now),
            BlockQueueEvent::Handled { returned } => ssd.handled(returned, now),
        }
    }

    /// With the last command of a block the controller has time for the next block.
    fn command_taken(ssd: &mut Ssd<Self, S>, command: u32, now: Nanos) {
        let number = ssd.commands[command].place;
        if ssd.host.p.prefetch > 0 && number + 1 == ssd.host.chosen {
            ssd.prefetch(now);
        }
    }

    fn command_served(ssd: &mut Ssd<Self, S>, command: u32, now: Nanos) {
        let number = ssd.commands[command].place;
        let ring = &mut ssd.host;
        ring.place(number).served = true;
        if number < ring.chosen && ring.begun {
            ssd.descriptor_of_block_served(number, now);
        }
    }

    fn has_descriptor_engine(&self) -> bool {
        self.p.descriptor_engine
    }

    fn return_bytes(&self, returned: u32) -> u64 {
        self.bytes(self.returns[returned].len() as u64)
    }

    fn engine_time(&self, post: &Transfer, _: u32) -> Nanos {
        post.setup()
    }

    /// Set up, the descriptors cross the link. Their packets go between those of the data, which takes so much longer.
    fn engine_done(ssd: &mut Ssd<Self, S>, returned: u32, now: Nanos) {
        let post = &ssd.pcie.post;
        let time = post.time(Host::<S>::return_bytes(&ssd.host, returned));
        let time = time.saturating_sub(post.setup());
        if ssd.data_engines.is_busy() {
            ssd.link_debt += time;
        }
        ssd.schedule_host(now + time, BlockQueueEvent::Linked { returned });
    }

    /// An interrupt follows, when the handler is free.
    fn posted(ssd: &mut Ssd<Self, S>, returned: u32, now: Nanos) {
        let ring = &mut ssd.host;
        let at = now.max(ring.handler_free);
        ring.handler_free = at + ring.times.interrupt;
        if at == now {
            ssd.interrupt(returned, now);
        } else {
            ssd.schedule_host(at, BlockQueueEvent::Interrupt { returned });
        }
    }

    /// What waits for a full block will wait for ever.
    fn drain(ssd: &mut Ssd<Self, S>, now: Nanos) {
        ssd.host.draining = true;
        ssd.dispatch_if_free(now);
    }

    fn why_stuck(&self) -> Option<String> {
        let pending = self.made - self.chosen;
        (self.p.dispatch == Dispatch::Static && !self.busy && pending > 0).then(|| {
            format!(
                "a static block waits until {} descriptors are pending, but only {pending} are, and whoever would \
                 send another waits for one of these: take a smaller block, more threads, or dispatch = \"dynamic\"",
                self.most()
            )
        })
    }

    fn measure_from(&mut self, now: Nanos) {
        self.driver.busy.measure_from(now);
        self.sizes.fill(0);
    }

    fn report_until(&self, now: Nanos, report: &mut SsdReport) {
        report.add_servers("driver".to_owned(), &self.driver, now);
        report.block_sizes.clone_from(&self.sizes);
    }
}

impl<S: BlockStorage> Ssd<BlockQueue, S> {
    /// Bios get places in the ring as long as there are some.
    fn fill_ring(&mut self, now: Nanos) {
        while self.host.reserved - self.host.freed < u64::from(self.host.p.ring)
            && let Some(command) = self.host.waiting.pop_front()
        {
            let number = self.host.reserved;
            self.host.reserved += 1;
            *self.host.place(number) = Descriptor {
                command,
                ..Descriptor::default()
            };
            self.commands[command].place = number;
            self.ask_driver(DriverTask::Submit(command), now);
        }
    }

    fn dispatch_if_free(&mut self, now: Nanos) {
        if !self.host.busy {
            self.dispatch(Nanos::ZERO, now);
        }
    }

    /// Sends the next block if there is one; `handler` is the interrupt's share of what that takes.
    fn dispatch(&mut self, handler: Nanos, now: Nanos) {
        let ring = &mut self.host;
        let size = ring.next_size();
        ring.busy = size > 0;
        if size == 0 {
            return;
        }
        ring.sizes[size as usize] += 1;
        ring.first = ring.chosen;
        ring.chosen += size;
        (ring.served, ring.returned, ring.begun) = (0, 0, false);
        debug_assert!(ring.group.is_empty(), "the last block was returned");
        // Some of it may have been fetched ahead.
        let (from, end) = (ring.given.min(ring.chosen), ring.chosen);
        ring.given = ring.given.max(ring.chosen);
        ring.check();
        let driver = &ring.times;
        let mut at = now + handler + driver.select + driver.doorbell;
        if from < end {
            at += self.pcie.fetch.time(ring.bytes(end - from));
        }
        self.pass_stage(from..end, Stage::Queue, now);
        let count = (end - from) as u32;
        self.schedule_host(at, BlockQueueEvent::Fetched { from, count });
    }

    fn block_fetched(&mut self, from: u64, count: u32, now: Nanos) {
        let ring = &mut self.host;
        ring.begun = true;
        let (first, chosen) = (ring.first, ring.chosen);
        if let Some(time) = self.storage.begin_block(chosen - first, now) {
            self.schedule_host(now + time, BlockQueueEvent::BlockServed);
        }
        // Of those that were fetched ahead some may be done.
        for number in first..from.min(chosen) {
            if self.host.place(number).served {
                self.descriptor_of_block_served(number, now);
            }
        }
        self.give_to_storage(from, count, now);
        if count == 0 {
            self.prefetch(now);
        }
    }

    /// Descriptors of the next block are there. They begin when this one goes back, and not before: the data of
    /// this one go first.
    fn prefetched(&mut self, from: u64, count: u32, now: Nanos) {
        let ring = &mut self.host;
        if ring.begun && u64::from(ring.served) < ring.block_size() {
            ring.ahead = Some((from, count));
        } else {
            self.give_to_storage(from, count, now);
        }
    }

    /// The time of these descriptors until now belongs to `stage`.
    fn pass_stage(&mut self, descriptors: Range<u64>, stage: Stage, now: Nanos) {
        for number in descriptors {
            let command = self.host.place(number).command;
            self.commands[command].stages.pass(stage, now);
        }
    }

    fn give_to_storage(&mut self, from: u64, count: u32, now: Nanos) {
        let descriptors = from..from + u64::from(count);
        self.pass_stage(descriptors.clone(), Stage::Fetch, now);
        for number in descriptors {
            let command = self.host.place(number).command;
            S::take(self, command, now);
        }
    }

    fn prefetch(&mut self, now: Nanos) {
        let ring = &mut self.host;
        if ring.given > ring.chosen {
            return;
        }
        let pending = ring.made - ring.given;
        let count = pending.min(u64::from(ring.p.prefetch)).min(ring.most());
        if count == 0 {
            return;
        }
        let from = ring.given;
        ring.given += count;
        ring.check();
        let at = now + self.pcie.fetch.time(ring.bytes(count));
        self.pass_stage(from..from + count, Stage::Queue, now);
        let count = count as u32;
        self.schedule_host(at, BlockQueueEvent::Prefetched { from, count });
    }

    /// All of a block is served at once.
    fn block_served(&mut self, now: Nanos) {
        let (first, chosen) = (self.host.first, self.host.chosen);
        self.storage.end_block(chosen - first, now);
        self.pass_stage(first..chosen, Stage::Die, now);
        for number in first..chosen {
            let command = self.host.place(number).command;
            BlockQueue::command_served(self, command, now);
        }
    }

    fn descriptor_of_block_served(&mut self, number: u64, now: Nanos) {
        let ring = &mut self.host;
        ring.served += 1;
        let whole = u64::from(ring.served) == ring.block_size();
        match ring.p.subset {
            None if whole => {
                let (first, chosen) = (ring.first, ring.chosen);
                ring.group.extend(first..chosen);
            }
            None => return,
            Some(subset) => {
                ring.group.push(number);
                if ring.group.len() < subset as usize && !whole {
                    return;
                }
            }
        }
        let returned = ring.returns.claim(Vec::new);
        let BlockQueue { returns, group, .. } = ring;
        returns[returned].clear();
        returns[returned].append(group);
        self.begin_return(returned, now);
        if whole && let Some((from, count)) = self.host.ahead.take() {
            self.give_to_storage(from, count, now);
        }
    }

    fn interrupt(&mut self, returned: u32, now: Nanos) {
        let ring = &mut self.host;
        let handler = ring.times.interrupt;
        ring.returned += ring.returns[returned].len() as u32;
        if u64::from(ring.returned) == ring.block_size() {
            self.dispatch(handler, now);
        }
        if handler == Nanos::ZERO {
            self.handled(returned, now);
        } else {
            self.schedule_host(now + handler, BlockQueueEvent::Handled { returned });
        }
    }

    fn handled(&mut self, returned: u32, now: Nanos) {
        let ring = &mut self.host;
        for i in 0..ring.returns[returned].len() {
            let number = ring.returns[returned][i];
            ring.place(number).returned = true;
        }
        ring.returns.release(returned);
        // In the order of the ring, whatever the order of their return.
        while self.host.handed_back < self.host.chosen {
            let place = self.host.place(self.host.handed_back);
            if !std::mem::take(&mut place.returned) {
                break;
            }
            let command = place.command;
            self.host.handed_back += 1;
            self.commands[command].stages.pass(Stage::Return, now);
            self.ask_driver(DriverTask::Complete(command), now);
        }
    }

    fn ask_driver(&mut self, task: DriverTask, now: Nanos) {
        if let Some(task) = self.host.driver.arrive(task, now) {
            self.start_driver(task, now);
        }
    }

    fn start_driver(&mut self, task: DriverTask, now: Nanos) {
        let time = match task {
            DriverTask::Submit(_) => self.host.times.submit,
            DriverTask::Complete(_) => self.host.times.complete,
        };
        self.schedule_host(now + time, BlockQueueEvent::Driver(task));
    }

    fn driver_done(&mut self, task: DriverTask, now: Nanos) {
        if let Some(next) = self.host.driver.depart(now) {
            self.start_driver(next, now);
        }
        match task {
            DriverTask::Submit(command) => {
                let number = self.commands[command].place;
                debug_assert_eq!(number, self.host.made, "descriptors are made in order");
                self.host.made += 1;
                self.host.check();
                self.dispatch_if_free(now);
            }
            DriverTask::Complete(command) => {
                self.host.freed += 1;
                self.fill_ring(now);
                self.command_complete(command, now);
            }
        }
    }
}
