//! Blocks of descriptors: when one is sent, what is fetched ahead of it, and when it goes back.

use std::ops::Range;

use iosonar_units::Nanos;

use super::{BlockQueue, BlockQueueEvent, BlockStorage};
use crate::ssd::{Host, Ssd};
use crate::stages::Stage;

impl<S: BlockStorage> Ssd<BlockQueue, S> {
    pub(super) fn dispatch_if_free(&mut self, now: Nanos) {
        if !self.host.busy {
            self.dispatch(Nanos::ZERO, now);
        }
    }

    /// Sends the next block if there is one; `handler` is the interrupt's share of what that takes.
    pub(super) fn dispatch(&mut self, handler: Nanos, now: Nanos) {
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

    pub(super) fn block_fetched(&mut self, from: u64, count: u32, now: Nanos) {
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
    pub(super) fn prefetched(&mut self, from: u64, count: u32, now: Nanos) {
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

    pub(super) fn prefetch(&mut self, now: Nanos) {
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
    pub(super) fn block_served(&mut self, now: Nanos) {
        let (first, chosen) = (self.host.first, self.host.chosen);
        self.storage.end_block(chosen - first, now);
        self.pass_stage(first..chosen, Stage::Die, now);
        for number in first..chosen {
            let command = self.host.place(number).command;
            BlockQueue::command_served(self, command, now);
        }
    }

    pub(super) fn descriptor_of_block_served(&mut self, number: u64, now: Nanos) {
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
}
