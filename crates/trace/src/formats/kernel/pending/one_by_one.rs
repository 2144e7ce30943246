//! The same, by a look at each request: the reference of property tests.

use std::collections::{BTreeSet, HashMap, VecDeque};

use iosonar_units::{Nanos, Sector, Sectors};

use super::super::event::Event;
use super::{Completed, Slot};
use crate::{Op, Record, Request, Status};

#[derive(Default)]
struct DeviceState {
    /// By first sector, then in the order of their events.
    by_sector: BTreeSet<(u64, u64)>,
    flushes: VecDeque<u64>,
    longest: u64,
}

/// Requests that wait for their completion; they come out in the order in which they began.
#[derive(Default)]
pub(super) struct Pending {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    devices: HashMap<(u16, bool), DeviceState>,
    split_at_issue: bool,
}

impl Pending {
    pub(super) fn new(split_at_issue: bool) -> Self {
        Self {
            split_at_issue,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The request in flight that began first.
    pub(super) fn oldest(&self) -> Option<&Request> {
        let oldest = self.slots.iter().find(|slot| !slot.done);
        oldest.map(|slot| &slot.record.request)
    }

    /// Drops all requests that ended behind one that has not: only those in flight take memory then.
    pub(super) fn compact(&mut self) {
        self.slots.retain(|slot| !slot.done);
        for state in self.devices.values_mut() {
            state.by_sector.clear();
            state.flushes.clear();
        }
        for (number, slot) in (self.first..).zip(&self.slots) {
            let request = &slot.record.request;
            let state = self.devices.entry((request.device, request.op == Op::Read));
            let state = state.or_default();
            match request.sectors.get() {
                0 => state.flushes.push_back(number),
                _ => drop(state.by_sector.insert((request.sector.get(), number))),
            }
        }
    }

    fn state(&mut self, device: u16, op: Op) -> &mut DeviceState {
        self.devices.entry((device, op == Op::Read)).or_default()
    }

    /// A request begins. Returns whether the same range is already in flight.
    pub(super) fn begin(&mut self, event: &Event, start: Nanos, device: u16) -> bool {
        let number = self.first + self.slots.len() as u64;
        let state = self.state(device, event.op);
        let mut twice = false;
        if event.sectors == 0 {
            state.flushes.push_back(number);
        } else {
            let same = (event.sector, 0)..=(event.sector, u64::MAX);
            twice = state.by_sector.range(same).next().is_some();
            state.by_sector.insert((event.sector, number));
            state.longest = state.longest.max(u64::from(event.sectors));
        }
        self.slots.push_back(Slot {
            record: Record {
                request: Request {
                    start,
                    // The kernel's number for "nowhere" says nothing.
                    sector: Sector::new(if event.sectors == 0 { 0 } else { event.sector }),
                    sectors: Sectors::new(event.sectors),
                    op: event.op,
                    flags: event.flags,
                    device,
                    ..Request::default()
                },
                ..Record::default()
            },
            place: event.place,
            left: event.sectors,
            issued: None,
            done: false,
            withdrawn: false,
        });
        twice
    }

    fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first) as usize]
    }

    /// The requests that the event's range covers, of those that `fit`, each with the sectors that it covers:
    /// of equal ranges the first, otherwise side by side.
    fn covered(&self, event: &Event, device: u16, fits: impl Fn(&Slot) -> bool) -> Vec<(u64, u64)> {
        let Some(state) = self.devices.get(&(device, event.op == Op::Read)) else {
            return Vec::new();
        };
        let (from, to) = (
            event.sector,
            event.sector.saturating_add(u64::from(event.sectors)),
        );
        let slot = |number: u64| &self.slots[(number - self.first) as usize];
        let end_of = |number: u64| slot(number).record.request.end().get();
        // The very same range, in the order of beginnings, before anything that merely overlaps.
        let same = state.by_sector.range((from, 0)..=(from, u64::MAX));
        let exact = same
            .copied()
            .find(|(_, n)| end_of(*n) == to && fits(slot(*n)));
        if let Some((_, number)) = exact {
            return vec![(number, to - from)];
        }
        let mut covered = Vec::new();
        let mut at = from;
        let low = from.saturating_sub(state.longest);
        for &(sector, number) in state.by_sector.range((low, 0)..(to, 0)) {
            let end = end_of(number).min(to);
            if end <= at || sector < at && !covered.is_empty() || !fits(slot(number)) {
                continue;
            }
            covered.push((number, end - sector.max(at)));
            at = end;
            if at == to {
                break;
            }
        }
        covered
    }

    /// A range, or a flush, was issued to the driver: the first time counts.
    pub(super) fn issue(&mut self, event: &Event, now: Nanos, device: u16) {
        for number in self.meant(event, device, false) {
            self.slot(number).issued = Some(now);
        }
    }

    /// The driver gave a request back. Where requests begin with their issue, it has not begun.
    pub(super) fn requeue(&mut self, event: &Event, device: u16, begins_with_issue: bool) {
        for number in self.meant(event, device, !begins_with_issue) {
            let slot = self.slot(number);
            slot.issued = None;
            if begins_with_issue {
                slot.withdrawn = true;
                slot.done = true;
                let request = slot.record.request;
                self.forget(number, &request);
            }
        }
    }

    /// The requests that an event is about which have been issued, or have not.
    fn meant(&self, event: &Event, device: u16, issued: bool) -> Vec<u64> {
        let fits = |slot: &Slot| slot.issued.is_some() == issued;
        if event.sectors > 0 {
            let covered = self.covered(event, device, fits);
            return covered.into_iter().map(|(number, _)| number).collect();
        }
        let state = self.devices.get(&(device, event.op == Op::Read));
        let flushes = state.into_iter().flat_map(|state| &state.flushes).copied();
        let slot = |number: u64| &self.slots[(number - self.first) as usize];
        flushes
            .into_iter()
            .find(|n| fits(slot(*n)))
            .into_iter()
            .collect()
    }

    /// No completion is for this request any more.
    fn forget(&mut self, number: u64, request: &Request) {
        let state = self.state(request.device, request.op);
        state.by_sector.remove(&(request.sector.get(), number));
        state.flushes.retain(|n| *n != number);
    }

    /// A bio joins a request in front of it or behind it.
    pub(super) fn merge(&mut self, event: &Event, device: u16, front: bool) {
        let end = event.sector.saturating_add(u64::from(event.sectors));
        let first = self.first;
        let low = event
            .sector
            .saturating_sub(self.state(device, event.op).longest);
        let slots = &self.slots;
        let Some(state) = self.devices.get_mut(&(device, event.op == Op::Read)) else {
            return;
        };
        let range = if front {
            (end, 0)..=(end, u64::MAX)
        } else {
            (low, 0)..=(event.sector, u64::MAX)
        };
        let joined = state.by_sector.range(range).copied().find(|(_, number)| {
            let slot = &slots[(number - first) as usize];
            // Nothing joins what is at the driver already.
            slot.issued.is_none() && (front || slot.record.request.end().get() == event.sector)
        });
        let Some((sector, number)) = joined else {
            return;
        };
        let request = &mut self.slots[(number - first) as usize];
        let Some(length) = request
            .record
            .request
            .sectors
            .get()
            .checked_add(event.sectors)
        else {
            return;
        };
        request.record.request.sectors = Sectors::new(length);
        request.left += event.sectors;
        state.longest = state.longest.max(u64::from(length));
        if front {
            state.by_sector.remove(&(sector, number));
            state.by_sector.insert((event.sector, number));
            request.record.request.sector = Sector::new(event.sector);
        }
    }

    /// A range, or a flush, is complete.
    pub(super) fn complete(&mut self, event: &Event, now: Nanos, device: u16) -> Completed {
        if event.sectors == 0 {
            let Some(number) = self.state(device, event.op).flushes.pop_front() else {
                return Completed::Nothing;
            };
            self.end(number, now, event.errno);
            return Completed::Something;
        }
        let covered = self.covered(event, device, |_| true);
        if covered.is_empty() {
            return Completed::Nothing;
        }
        for (number, overlap) in covered {
            let slot = self.slot(number);
            slot.left -= overlap.min(u64::from(slot.left)) as u32;
            let sector = slot.record.request.sector.get();
            if slot.left == 0 || event.errno != 0 {
                self.end(number, now, event.errno);
                self.state(device, event.op)
                    .by_sector
                    .remove(&(sector, number));
            }
        }
        Completed::Something
    }

    fn end(&mut self, number: u64, now: Nanos, errno: u16) {
        let split = self.split_at_issue;
        let slot = self.slot(number);
        let start = slot.record.request.start;
        let handed_over = slot.issued.filter(|_| split).unwrap_or(start);
        let outcome = &mut slot.record.outcome;
        outcome.delay = Some(handed_over.saturating_sub(start));
        outcome.latency = Some(now.saturating_sub(handed_over));
        if errno != 0 {
            outcome.status = Status::Error(errno);
        }
        slot.done = true;
    }

    /// The next request in the order of beginnings, if it is complete, or `anyway`. Returns whether it is.
    pub(super) fn pop(&mut self, anyway: bool) -> Option<(Slot, bool)> {
        if !self.slots.front()?.done && !anyway {
            return None;
        }
        let slot = self.slots.pop_front()?;
        let number = self.first;
        self.first += 1;
        let done = slot.done;
        if !done {
            self.forget(number, &slot.record.request);
        }
        Some((slot, done))
    }
}
