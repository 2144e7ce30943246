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

use iosonar_device::Access;
use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use super::data::DataTask;
use super::{Command, ControllerTask, DriverTask, Event, Host, Ssd, StorageState};
use crate::parameters::{BIO_SECTORS, BlockQueueParameters, HostParameters, StorageParameters};
use crate::profile::Dispatch;
use crate::servers::Servers;
use crate::stages::{Stage, StageTimes};

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
    pub(super) driver: Servers<DriverTask>,
    ring: Vec<Descriptor>,
    /// Bios without a place in the ring.
    waiting: VecDeque<u32>,
    reserved: u64,
    made: u64,
    given: u64,
    chosen: u64,
    pub(super) freed: u64,
    /// All before were handed to the driver to be completed.
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
    pub(super) sizes: Vec<u64>,
    draining: bool,
}

impl BlockQueue {
    pub(super) fn new(p: &BlockQueueParameters) -> Self {
        Self {
            p: *p,
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

    pub(super) fn why_stuck(&self) -> Option<String> {
        let pending = self.made - self.chosen;
        (self.p.dispatch == Dispatch::Static && !self.busy && pending > 0).then(|| {
            format!(
                "a static block waits until {} descriptors are pending, but only {pending} are, and whoever would \
                 send another waits for one of these: take a smaller block, more threads, or dispatch = \"dynamic\"",
                self.most()
            )
        })
    }
}

impl Ssd {
    fn ring(&mut self) -> &mut BlockQueue {
        match &mut self.host {
            Host::BlockQueue(host) => host,
            Host::Nvme(_) => unreachable!("this device has a ring"),
        }
    }

    /// A request becomes bios: the 4 KiB units that it touches.
    pub(super) fn cut_into_bios(&mut self, slot: u32, now: Nanos) {
        let job = self.jobs[slot].job;
        let first = job.sector.get() / BIO_SECTORS;
        let end = (job.sector.get() + u64::from(job.sectors.get().max(1))).div_ceil(BIO_SECTORS);
        // A discard has no data: however much it is, it is one.
        let discards = job.access == Access::Discard;
        let step = if discards { end - first } else { 1 };
        self.jobs[slot].left = ((end - first) / step) as u32;
        for bio in (first..end).step_by(step as usize) {
            let new = Command {
                job: slot,
                number: 0,
                queue: 0,
                access: job.access,
                sector: if discards {
                    job.sector.get()
                } else {
                    bio * BIO_SECTORS
                },
                sectors: if discards {
                    u64::from(job.sectors.get())
                } else {
                    BIO_SECTORS
                },
                units_left: 0,
                failed: false,
                stages: StageTimes::from(now),
            };
            let number = self.commands.insert(new);
            self.ring().waiting.push_back(number);
        }
        self.fill_ring(now);
    }

    /// Bios get places in the ring as long as there are some.
    pub(super) fn fill_ring(&mut self, now: Nanos) {
        loop {
            let ring = self.ring();
            if ring.reserved - ring.freed >= u64::from(ring.p.ring) {
                break;
            }
            let Some(command) = ring.waiting.pop_front() else {
                break;
            };
            let number = ring.reserved;
            ring.reserved += 1;
            *ring.place(number) = Descriptor {
                command,
                ..Descriptor::default()
            };
            self.commands[command].number = number;
            self.ask_driver(0, DriverTask::Submit(command), now);
        }
    }

    pub(super) fn descriptor_made(&mut self, command: u32, now: Nanos) {
        let number = self.commands[command].number;
        let ring = self.ring();
        debug_assert_eq!(number, ring.made, "descriptors are made in order");
        ring.made += 1;
        ring.check();
        if !ring.busy {
            self.dispatch(Nanos::ZERO, now);
        }
    }

    /// The load has ended: what waits for a full block will wait for ever.
    pub(super) fn drain_ring(&mut self, now: Nanos) {
        let ring = self.ring();
        ring.draining = true;
        if !ring.busy {
            self.dispatch(Nanos::ZERO, now);
        }
    }

    /// Sends the next block if there is one; `handler` is the interrupt's share of what that takes.
    fn dispatch(&mut self, handler: Nanos, now: Nanos) {
        let (select, doorbell) = (self.p.driver.select, self.p.driver.doorbell);
        let fetch = self.p.pcie.fetch;
        let ring = self.ring();
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
        // Some of it may have been given in advance.
        let from = ring.given.min(ring.chosen);
        ring.given = ring.given.max(ring.chosen);
        ring.check();
        let (count, bytes) = (
            (ring.chosen - from) as u32,
            u64::from(ring.p.descriptor_bytes),
        );
        for number in from..from + u64::from(count) {
            let command = self.ring().place(number).command;
            self.commands[command].stages.pass(Stage::Queue, now);
        }
        let mut at = now + handler + select + doorbell;
        if count > 0 {
            at += fetch.time(u64::from(count) * bytes);
        }
        self.calendar.schedule(at, Event::Fetched { from, count });
    }

    pub(super) fn block_fetched(&mut self, from: u64, count: u32, now: Nanos) {
        if let StorageParameters::Exponential { mean } = self.p.storage {
            let ring = self.ring();
            ring.begun = true;
            let size = (ring.chosen - ring.first) as i64;
            self.fill_places(size, now);
            for number in from..from + u64::from(count) {
                let command = self.ring().place(number).command;
                self.commands[command].stages.pass(Stage::Fetch, now);
            }
            let time = self.services.exponential(mean);
            self.calendar.schedule(now + time, Event::BlockServed);
            return;
        }
        // Of those that were fetched ahead some may be done.
        let ring = self.ring();
        ring.begun = true;
        let (first, chosen) = (ring.first, ring.chosen);
        for number in first..from.min(chosen) {
            if self.ring().place(number).served {
                self.descriptor_of_block_served(number, now);
            }
        }
        self.give_to_controller(from, count, now);
        if count == 0 {
            self.prefetch(now);
        }
    }

    /// Descriptors of the next block are there. They begin when this one goes back, and not before: the data of
    /// this one go first.
    pub(super) fn prefetched(&mut self, from: u64, count: u32, now: Nanos) {
        let ring = self.ring();
        if ring.begun && u64::from(ring.served) < ring.chosen - ring.first {
            ring.ahead = Some((from, count));
        } else {
            self.give_to_controller(from, count, now);
        }
    }

    pub(super) fn give_to_controller(&mut self, from: u64, count: u32, now: Nanos) {
        for number in from..from + u64::from(count) {
            let command = self.ring().place(number).command;
            self.commands[command].stages.pass(Stage::Fetch, now);
            self.ask_controller(ControllerTask::Command(command), now);
        }
    }

    /// The controller takes a command: with the last one of a block it has time for the next.
    pub(super) fn command_taken(&mut self, command: u32, now: Nanos) {
        let number = self.commands[command].number;
        let ring = self.ring();
        if ring.p.prefetch > 0 && number + 1 == ring.chosen {
            self.prefetch(now);
        }
    }

    fn prefetch(&mut self, now: Nanos) {
        let fetch = self.p.pcie.fetch;
        let ring = self.ring();
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
        let bytes = count * u64::from(ring.p.descriptor_bytes);
        for number in from..from + count {
            let command = self.ring().place(number).command;
            self.commands[command].stages.pass(Stage::Queue, now);
        }
        let count = count as u32;
        let at = now + fetch.time(bytes);
        self.calendar
            .schedule(at, Event::Prefetched { from, count });
    }

    /// The exponential server starts or completes a block of `by` descriptors.
    fn fill_places(&mut self, by: i64, now: Nanos) {
        if let StorageState::Exponential(places) = &mut self.storage {
            places.change(by, now);
        }
    }

    /// All of a block is served at once.
    pub(super) fn block_served(&mut self, now: Nanos) {
        let ring = self.ring();
        let (first, chosen) = (ring.first, ring.chosen);
        self.fill_places(-((chosen - first) as i64), now);
        for number in first..chosen {
            let command = self.ring().place(number).command;
            self.commands[command].stages.pass(Stage::Die, now);
            self.descriptor_served(command, now);
        }
    }

    pub(super) fn descriptor_served(&mut self, command: u32, now: Nanos) {
        let number = self.commands[command].number;
        let ring = self.ring();
        ring.place(number).served = true;
        if number < ring.chosen && ring.begun {
            self.descriptor_of_block_served(number, now);
        }
    }

    fn descriptor_of_block_served(&mut self, number: u64, now: Nanos) {
        let ring = self.ring();
        ring.served += 1;
        let whole = u64::from(ring.served) == ring.chosen - ring.first;
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
        if self.p.controller.post > Nanos::ZERO {
            self.ask_controller(ControllerTask::Return(returned), now);
        } else {
            self.begin_descriptor_return(returned, now);
        }
        if whole && let Some((from, count)) = self.ring().ahead.take() {
            self.give_to_controller(from, count, now);
        }
    }

    pub(super) fn begin_descriptor_return(&mut self, returned: u32, now: Nanos) {
        if self.ring().p.descriptor_engine {
            self.ask_descriptor_engine(returned, now);
        } else {
            self.ask_data_engine(DataTask::Return(returned), now);
        }
    }

    /// How long the descriptors of a return take; with an engine of their own, what is left when that has set the
    /// transfer up.
    pub(super) fn return_time(&self, returned: u32, on_link: bool) -> Nanos {
        let (Host::BlockQueue(ring), HostParameters::BlockQueue(p)) = (&self.host, &self.p.host)
        else {
            unreachable!("this device has a ring")
        };
        let bytes = ring.returns[returned].len() as u64 * u64::from(p.descriptor_bytes);
        let post = &self.p.pcie.post;
        if on_link {
            post.time(bytes).saturating_sub(post.setup())
        } else {
            post.time(bytes)
        }
    }

    /// Descriptors are in the host's memory; an interrupt follows, when the handler is free.
    pub(super) fn descriptors_returned(&mut self, returned: u32, now: Nanos) {
        let handler = self.p.driver.interrupt;
        let ring = self.ring();
        let at = now.max(ring.handler_free);
        ring.handler_free = at + handler;
        if at == now {
            self.interrupt(returned, now);
        } else {
            self.calendar.schedule(at, Event::Interrupt { returned });
        }
    }

    pub(super) fn interrupt(&mut self, returned: u32, now: Nanos) {
        let handler = self.p.driver.interrupt;
        let ring = self.ring();
        ring.returned += ring.returns[returned].len() as u32;
        if u64::from(ring.returned) == ring.chosen - ring.first {
            self.dispatch(handler, now);
        }
        if handler == Nanos::ZERO {
            self.handled(returned, now);
        } else {
            self.calendar
                .schedule(now + handler, Event::Handled { returned });
        }
    }

    pub(super) fn handled(&mut self, returned: u32, now: Nanos) {
        let numbers = std::mem::take(&mut self.ring().returns[returned]);
        for &number in &numbers {
            let descriptor = self.ring().place(number);
            descriptor.returned = true;
        }
        let ring = self.ring();
        ring.returns[returned] = numbers;
        ring.returns.release(returned);
        // In the order of the ring, whatever the order of their return.
        loop {
            let ring = self.ring();
            let number = ring.handed_back;
            if number == ring.chosen || !ring.place(number).returned {
                break;
            }
            ring.handed_back += 1;
            let place = ring.place(number);
            place.returned = false;
            let command = place.command;
            self.commands[command].stages.pass(Stage::Return, now);
            self.ask_driver(0, DriverTask::Complete(command), now);
        }
    }
}
