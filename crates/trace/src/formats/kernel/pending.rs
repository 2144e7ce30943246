//! Requests between their first event and their completion.

mod in_flight;
mod in_order;
#[cfg(test)]
mod one_by_one;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use iosonar_units::{Nanos, Sector, Sectors};

use self::in_flight::{InFlight, Of, Range, State};
use super::event::Event;
use super::steps::LiveStep;
use crate::{Op, Record, Request, Status};

/// A request that waits for its completion, or for those before it.
pub(super) struct Slot {
    pub(super) record: Record,
    pub(super) place: u64,
    /// Sectors that are not complete yet: a request may be split, or merged with others.
    left: u32,
    issued: Option<Nanos>,
    done: bool,
    /// It was given back, and is not a request.
    pub(super) withdrawn: bool,
}

impl Slot {
    fn range(&self, number: u64) -> Range {
        let request = &self.record.request;
        Range {
            sector: request.sector.get(),
            end: request.end().get(),
            number,
        }
    }

    fn is_flush(&self) -> bool {
        self.record.request.sectors.get() == 0
    }

    /// It is complete. Where the delay before its issue `is_split` off, the latency counts from the issue.
    fn end(&mut self, now: Nanos, errno: u16, is_split: bool) {
        let start = self.record.request.start;
        let submitted = self.issued.filter(|_| is_split).unwrap_or(start);
        let outcome = &mut self.record.outcome;
        outcome.delay = Some(submitted.saturating_sub(start));
        outcome.latency = Some(now.saturating_sub(submitted));
        if errno != 0 {
            outcome.status = Status::Error(errno);
        }
        self.done = true;
    }
}

/// The sectors of an event: the first one, and the one behind the last.
fn sectors_of(event: &Event) -> (u64, u64) {
    let end = event.sector.saturating_add(u64::from(event.sectors));
    (event.sector, end)
}

/// What gives the state of each request by its number, of slots of which the first has the number `first`.
fn state_in(slots: &VecDeque<Slot>, first: u64) -> impl Fn(u64) -> State {
    move |number| {
        let slot = &slots[(number - first) as usize];
        State {
            end: slot.record.request.end().get(),
            issued: slot.issued.is_some(),
        }
    }
}

/// The requests that an event is about.
fn meant(
    in_flight: &mut InFlight,
    slots: &VecDeque<Slot>,
    first: u64,
    event: &Event,
    of: Of,
) -> Vec<u64> {
    if event.sectors == 0 {
        return in_flight.first_flush(of).into_iter().collect();
    }
    let covered = in_flight.covered(sectors_of(event), of, state_in(slots, first));
    covered.into_iter().map(|(number, _)| number).collect()
}

/// A request in flight has been issued, or given back.
fn note_issued(in_flight: &mut InFlight, slot: &Slot, number: u64) {
    let issued = slot.issued.is_some();
    if slot.is_flush() {
        in_flight.remove_flush(number, !issued);
        in_flight.insert_flush(number, issued);
    } else {
        in_flight.set_issued(slot.range(number), issued);
    }
}

/// No completion is for this request any more.
fn forget(in_flight: &mut InFlight, slot: &Slot, number: u64) {
    let issued = slot.issued.is_some();
    match slot.is_flush() {
        true => in_flight.remove_flush(number, issued),
        false => in_flight.remove(slot.range(number), issued),
    }
}

/// Requests that wait for their completion; they come out in the order in which they began.
#[derive(Default)]
pub(super) struct Pending {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    devices: HashMap<(u16, bool), InFlight>,
    split_at_issue: bool,
    /// The ends of requests, where they are wanted at once.
    steps: Option<Vec<LiveStep>>,
}

/// What a completion did.
pub(super) enum Completed {
    Something,
    Nothing,
}

impl Pending {
    pub(super) fn new(split_at_issue: bool) -> Self {
        Self {
            split_at_issue,
            ..Self::default()
        }
    }

    /// One that keeps the ends of requests for [`take_steps`](Self::take_steps).
    pub(super) fn stepwise() -> Self {
        Self {
            steps: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The ends of requests since the last call, in their order.
    pub(super) fn take_steps(&mut self) -> impl Iterator<Item = LiveStep> + '_ {
        self.steps.iter_mut().flat_map(|steps| steps.drain(..))
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
            state.clear();
        }
        for (number, slot) in (self.first..).zip(&self.slots) {
            let request = &slot.record.request;
            let state = self.devices.entry((request.device, request.op == Op::Read));
            let state = state.or_default();
            let issued = slot.issued.is_some();
            match slot.is_flush() {
                true => state.insert_flush(number, issued),
                false => state.insert(slot.range(number), issued),
            }
        }
    }

    /// A request begins. Returns whether the same range is already in flight.
    pub(super) fn begin(&mut self, event: &Event, start: Nanos, device: u16) -> bool {
        let number = self.first + self.slots.len() as u64;
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
        let slot = self.slots.back().expect("a slot has just been added");
        let state = self.devices.entry((device, event.op == Op::Read));
        let state = state.or_default();
        if slot.is_flush() {
            state.insert_flush(number, false);
            return false;
        }
        let twice = state.begins_at(event.sector);
        state.insert(slot.range(number), false);
        twice
    }

    /// The same; returns the request.
    pub(super) fn begin_live(&mut self, event: &Event, start: Nanos, device: u16) -> Request {
        self.begin(event, start, device);
        let begun = self.slots.back().expect("a request has just begun");
        begun.record.request
    }

    /// A range, or a flush, was issued to the driver: the first time counts.
    pub(super) fn issue(&mut self, event: &Event, now: Nanos, device: u16) {
        let Some(in_flight) = self.devices.get_mut(&(device, event.op == Op::Read)) else {
            return;
        };
        for number in meant(in_flight, &self.slots, self.first, event, Of::NotIssued) {
            let slot = &mut self.slots[(number - self.first) as usize];
            slot.issued = Some(now);
            note_issued(in_flight, slot, number);
        }
    }

    /// The driver gave a request back. Where requests begin with their issue, it has not begun.
    pub(super) fn requeue(&mut self, event: &Event, device: u16, begins_with_issue: bool) {
        let of = match begins_with_issue {
            true => Of::NotIssued,
            false => Of::Issued,
        };
        let Some(in_flight) = self.devices.get_mut(&(device, event.op == Op::Read)) else {
            return;
        };
        for number in meant(in_flight, &self.slots, self.first, event, of) {
            let slot = &mut self.slots[(number - self.first) as usize];
            if !begins_with_issue {
                slot.issued = None;
                note_issued(in_flight, slot, number);
                continue;
            }
            slot.withdrawn = true;
            slot.done = true;
            forget(in_flight, slot, number);
            if let Some(steps) = &mut self.steps {
                steps.push(LiveStep::Withdrawn(slot.record.request));
            }
        }
    }

    /// A bio joins a request in front of it or behind it.
    pub(super) fn merge(&mut self, event: &Event, device: u16, front: bool) {
        let end = event.sector.saturating_add(u64::from(event.sectors));
        // Nothing joins what is at the driver already.
        let Some(in_flight) = self.devices.get_mut(&(device, event.op == Op::Read)) else {
            return;
        };
        let state = state_in(&self.slots, self.first);
        let joined = match front {
            true => in_flight.not_issued_at(end, state),
            false => in_flight.not_issued_to(event.sector, state),
        };
        let Some((_, number)) = joined else {
            return;
        };
        let slot = &mut self.slots[(number - self.first) as usize];
        let before = slot.range(number);
        let request = &mut slot.record.request;
        let Some(length) = request.sectors.get().checked_add(event.sectors) else {
            return;
        };
        request.sectors = Sectors::new(length);
        if front {
            request.sector = Sector::new(event.sector);
        }
        slot.left += event.sectors;
        let after = slot.range(number);
        in_flight.remove(before, false);
        in_flight.insert(after, false);
    }

    /// A range, or a flush, is complete.
    pub(super) fn complete(&mut self, event: &Event, now: Nanos, device: u16) -> Completed {
        let Some(in_flight) = self.devices.get_mut(&(device, event.op == Op::Read)) else {
            return Completed::Nothing;
        };
        if event.sectors == 0 {
            let Some(number) = in_flight.first_flush(Of::All) else {
                return Completed::Nothing;
            };
            let slot = &mut self.slots[(number - self.first) as usize];
            forget(in_flight, slot, number);
            slot.end(now, event.errno, self.split_at_issue);
            if let Some(steps) = &mut self.steps {
                steps.push(LiveStep::Completed(slot.record));
            }
            return Completed::Something;
        }
        let covered = in_flight.covered(
            sectors_of(event),
            Of::All,
            state_in(&self.slots, self.first),
        );
        if covered.is_empty() {
            return Completed::Nothing;
        }
        for (number, overlap) in covered {
            let slot = &mut self.slots[(number - self.first) as usize];
            slot.left -= overlap.min(u64::from(slot.left)) as u32;
            if slot.left == 0 || event.errno != 0 {
                forget(in_flight, slot, number);
                slot.end(now, event.errno, self.split_at_issue);
                if let Some(steps) = &mut self.steps {
                    steps.push(LiveStep::Completed(slot.record));
                }
            }
        }
        Completed::Something
    }

    /// The next request in the order of beginnings, if it is complete, or `anyway`. Returns whether it is.
    pub(super) fn pop(&mut self, anyway: bool) -> Option<(Slot, bool)> {
        if !self.slots.front()?.done && !anyway {
            return None;
        }
        let slot = self.slots.front()?;
        let done = slot.done;
        if !done {
            let request = &slot.record.request;
            let key = (request.device, request.op == Op::Read);
            let in_flight = self.devices.get_mut(&key);
            let in_flight = in_flight.expect("its device has requests in flight");
            forget(in_flight, slot, self.first);
        }
        let slot = self.slots.pop_front()?;
        self.first += 1;
        Some((slot, done))
    }
}
