//! The write-back cache: writes are complete when they are in it, and go to the disks later.

use std::collections::VecDeque;

use iosonar_device::Device;
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sectors};

use super::{Event, EventSimulation};
use crate::Planner;
use crate::array::in_flight::Owner;
use crate::array::{CompletionSink, WriteBack};

/// What the cache holds, in sectors.
#[derive(Debug, Default)]
pub(super) struct CacheState {
    /// Of writes that are not on the disks yet, those on their way from the host included.
    dirty: u64,
    /// Of those among them that have been issued to the disks.
    issued: u64,
    /// Writes that found no room.
    waiting: VecDeque<u32>,
    /// Complete writes that have not been issued to the disks.
    kept: VecDeque<u32>,
    emptying: bool,
}

impl CacheState {
    pub(super) fn is_empty(&self) -> bool {
        self.dirty == 0
    }
}

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    pub(super) fn issue(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        let request = self.in_flight[slot].request;
        if self.is_cached(&request) {
            self.cache.waiting.push_back(slot);
            return self.fill_cache(now);
        }
        match request.op {
            Op::Write => self.receive(slot, now),
            _ => self.issue_to_disks(slot, now),
        }
    }

    /// Whether a request is complete when its data are in the cache.
    fn is_cached(&self, request: &Request) -> bool {
        let fits = |cache: &WriteBack| request.sectors.get() <= cache.capacity.get();
        matches!(request.op, Op::Write | Op::WriteZeroes)
            && self.array.controller.cache.as_ref().is_some_and(fits)
    }

    /// Lets the data of a write cross the link to the controller, at once without a link.
    fn receive(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        match self.cross_link(slot, now) {
            Some(at) => {
                self.agenda.schedule(at, Event::Received { slot });
                Ok(())
            }
            None => self.received(slot, now),
        }
    }

    /// The controller has the data of a write.
    pub(super) fn received(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        if !self.is_cached(&self.in_flight[slot].request) {
            return self.issue_to_disks(slot, now);
        }
        self.cache.kept.push_back(slot);
        self.respond(slot, now)?;
        let owner = &mut self.in_flight[slot].owner;
        *owner = Owner::CachedWrite(owner.id());
        Ok(())
    }

    /// Lets writes into the cache as long as there is room.
    fn fill_cache(&mut self, now: Nanos) -> Result<(), S::Error> {
        let Some(cache) = self.array.controller.cache else {
            return Ok(());
        };
        while let Some(&slot) = self.cache.waiting.front() {
            let sectors = u64::from(self.in_flight[slot].request.sectors.get());
            if self.cache.dirty + sectors > u64::from(cache.capacity.get()) {
                break;
            }
            self.cache.waiting.pop_front();
            self.cache.dirty += sectors;
            self.measurement.window.cache(sectors);
            self.receive(slot, now)?;
        }
        if self.cache.dirty >= u64::from(cache.high.get()) || !self.cache.waiting.is_empty() {
            self.cache.emptying = true;
        }
        self.empty_cache(false, now);
        Ok(())
    }

    /// Issues what the cache keeps: all of it, or, if it is being emptied, down to the lower mark.
    pub(super) fn empty_cache(&mut self, all: bool, now: Nanos) {
        let low = match &self.array.controller.cache {
            Some(cache) if !all => u64::from(cache.low.get()),
            _ => 0,
        };
        while (all || self.cache.emptying) && self.cache.dirty - self.cache.issued > low {
            let Some(slot) = self.cache.kept.pop_front() else {
                break;
            };
            self.cache.issued += u64::from(self.in_flight[slot].request.sectors.get());
            self.plan(slot);
            self.issue_stages(slot, now);
        }
        self.cache.emptying &= self.cache.dirty - self.cache.issued > low;
    }

    /// A write that was in the cache is on the disks.
    pub(super) fn destaged(&mut self, sectors: Sectors, now: Nanos) -> Result<(), S::Error> {
        self.cache.dirty -= u64::from(sectors.get());
        self.measurement.window.destage(u64::from(sectors.get()));
        self.cache.issued -= u64::from(sectors.get());
        self.fill_cache(now)
    }
}
