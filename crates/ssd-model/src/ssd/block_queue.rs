//! The ring of descriptors, and blocks of them.
//!
//! Descriptors are numbered from the beginning; their place in the ring is that number modulo its size. In this
//! order: freed <= chosen <= given <= made <= reserved <= freed + ring, where *reserved* counts places that bios
//! have, *made* descriptors that the driver has made, *given* those that the device has or is about to fetch,
//! *chosen* those of blocks.
//!
//! Source: Bougioukou et al., "Prototyping and Performance Evaluation of a Dynamically Adaptable Block Device
//! Driver for PCIe-based SSDs" (2014).

mod blocks;
mod driver;

use std::collections::VecDeque;

use iosonar_device::Access;
use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use super::data::CommandStorage;
use super::{Host, Ssd, SsdReport, Storage};
use crate::parameters::{BIO_SECTORS, BlockQueueParameters, DriverParameters, Transfer};
use crate::profile::Dispatch;
use crate::servers::Servers;

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

    /// Set up, the descriptors cross the link. Their packets are interleaved with those of the data, which takes correspondingly longer.
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
                "a static block needs {} pending descriptors, but there are only {pending}, and all threads are \
                 waiting for these to complete: use a smaller block, more threads, or dispatch = \"dynamic\"",
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
