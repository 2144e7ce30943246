//! Requests that overlap others in flight ("damaged I/O").
//!
//! ```text
//!  arrives ─► gate ─┬─► start ────────► at the device ─► completes ─┐
//!                   ├─► drop                                        │ frees
//!                   ├─► hold (and all behind it)                    ▼
//!                   └─► push back ─► watches one that is in the way ─► start
//! ```
//!
//! The test is exact for any alignment and length. A request that must wait watches one of those in
//! its way; when that one completes, it looks for another. So each completion touches only requests
//! that watch it, and a chain of writes to one sector costs a search each.
//!
//! Writes to one sequential zone of a zoned device are in each other's way, too, wherever they are in it: they must
//! arrive in their order.

mod intervals;

use std::collections::VecDeque;
use std::str::FromStr;

use iosonar_trace::{Op, Request};
use iosonar_units::scalar;
use serde::{Deserialize, Deserializer, Serialize};

use intervals::Intervals;

use crate::zones::Zones;

/// What happens to a request that conflicts with one in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflicts {
    /// It is started anyway.
    Allow,
    /// It is left out, and counted.
    Drop,
    /// It waits until nothing is in its way; requests without conflicts go on in time, and none of
    /// those that overlap it overtakes it.
    #[default]
    Partial,
    /// As partial, but a later request may overtake one that waits, as in blkreplay.
    PartialLoose,
    /// It waits, and everything after it too. A flush is a barrier then.
    Order,
}

impl Conflicts {
    /// All of them, with their names and those that blkreplay has for them.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Allow, "allow", "with-conflicts"),
        (Self::Drop, "drop", "with-drop"),
        (Self::Partial, "partial", "with-partial"),
        (Self::PartialLoose, "partial-loose", "with-partial-loose"),
        (Self::Order, "order", "with-ordering"),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        let same = |(mode, ..): &&(Self, _, _)| *mode == self;
        Self::ALL.iter().find(same).map_or("", |(_, name, _)| name)
    }
}

impl FromStr for Conflicts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|(_, name, peer)| [*name, *peer].contains(&text))
            .map(|(mode, ..)| mode)
            .ok_or_else(|| "expected allow, drop, partial, partial-loose or order".to_owned())
    }
}

/// Which overlaps are conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Strong {
    /// Write against write only (0).
    Writes,
    /// Everything but read against read (1).
    #[default]
    ButReads,
    /// Every overlap (2).
    Every,
}

impl From<Strong> for u8 {
    fn from(strong: Strong) -> Self {
        strong as Self
    }
}

impl TryFrom<u8> for Strong {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        [Self::Writes, Self::ButReads, Self::Every]
            .get(usize::from(number))
            .copied()
            .ok_or_else(|| format!("{number}, expected 0, 1 or 2"))
    }
}

impl<'de> Deserialize<'de> for Conflicts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer)
    }
}

/// What a new request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Start,
    Drop,
    /// It stays where it is, and so does everything behind it.
    Hold,
    /// It waits for the request in this slot.
    PushBack(u32),
}

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Waiter {
    first_watcher: u32,
    last_watcher: u32,
    next_watcher: u32,
    /// The order of arrival.
    number: u64,
}

/// Writes to sequential zones, each as the range of its zone.
struct ZoneWrites {
    zones: Zones,
    writes: Intervals,
}

/// Decides who may start, and remembers who is in whose way.
pub(crate) struct Gate {
    mode: Conflicts,
    strong: Strong,
    reads: Intervals,
    writes: Intervals,
    zones: Option<ZoneWrites>,
    waiters: Vec<Waiter>,
    arrivals: u64,
    /// A flush is at the device, as a barrier.
    barrier: bool,
}

impl Gate {
    /// For requests in slots below `slots`.
    pub(crate) fn new(mode: Conflicts, strong: Strong, slots: u32) -> Self {
        let slots = if mode == Conflicts::Allow { 0 } else { slots };
        Self {
            mode,
            strong,
            reads: Intervals::new(slots),
            writes: Intervals::new(slots),
            zones: None,
            waiters: vec![
                Waiter {
                    first_watcher: NONE,
                    last_watcher: NONE,
                    next_watcher: NONE,
                    number: 0
                };
                slots as usize
            ],
            arrivals: 0,
            barrier: false,
        }
    }

    /// Keeps writes to sequential zones in order. Only modes that let requests wait in order can do that.
    pub(crate) fn with_zones(mut self, zones: Option<Zones>) -> Self {
        debug_assert!(
            zones.is_none() || matches!(self.mode, Conflicts::Partial | Conflicts::Order)
        );
        let slots = self.waiters.len() as u32;
        self.zones = zones.map(|zones| ZoneWrites {
            zones,
            writes: Intervals::new(slots),
        });
        self
    }

    /// What a request does that comes now, while `busy` others are at the device.
    #[inline]
    pub(crate) fn arrives(&self, request: &Request, busy: bool) -> Admission {
        match self.mode {
            Conflicts::Allow => return Admission::Start,
            Conflicts::Order if self.barrier || request.op == Op::Flush && busy => {
                return Admission::Hold;
            }
            _ => {}
        }
        match (self.in_the_way_of(request, u64::MAX), self.mode) {
            (None, _) => Admission::Start,
            (Some(_), Conflicts::Drop) => Admission::Drop,
            (Some(_), Conflicts::Order) => Admission::Hold,
            (Some(slot), _) => Admission::PushBack(slot),
        }
    }

    /// A request in `slot` starts at once.
    #[inline]
    pub(crate) fn start(&mut self, slot: u32, request: &Request) {
        if self.mode == Conflicts::Allow {
            return;
        }
        self.barrier |= self.mode == Conflicts::Order && request.op == Op::Flush;
        self.arrivals += 1;
        self.enter(slot, request, self.arrivals);
    }

    /// A request in `slot` waits for the one in `blocker`.
    pub(crate) fn push_back(&mut self, slot: u32, request: &Request, blocker: u32) {
        self.arrivals += 1;
        self.waiters[slot as usize].number = self.arrivals;
        // Those that come later must not overtake it.
        if self.mode == Conflicts::Partial {
            self.enter(slot, request, self.arrivals);
        }
        self.watch(slot, blocker);
    }

    /// A request that was pushed back is about to start. If something has come into its way
    /// meanwhile (only where overtaking is allowed), it waits again, and must not.
    pub(crate) fn restart(&mut self, slot: u32, request: &Request) -> bool {
        if self.mode == Conflicts::PartialLoose {
            if let Some(blocker) = self.in_the_way_of(request, u64::MAX) {
                self.watch(slot, blocker);
                return false;
            }
            let number = self.waiters[slot as usize].number;
            self.enter(slot, request, number);
        }
        true
    }

    /// A request is complete. Those that can start now go to `ready`; `request_in` returns the request waiting in a slot.
    #[inline]
    pub(crate) fn completed(
        &mut self,
        slot: u32,
        request: &Request,
        ready: &mut VecDeque<u32>,
        request_in: impl Fn(u32) -> Request,
    ) {
        if self.mode == Conflicts::Allow {
            return;
        }
        if request.op == Op::Flush {
            self.barrier = false;
        }
        self.leave(slot, request);
        let mut watcher = std::mem::replace(&mut self.waiters[slot as usize].first_watcher, NONE);
        while watcher != NONE {
            let Waiter {
                next_watcher,
                number,
                ..
            } = self.waiters[watcher as usize];
            let before = if self.mode == Conflicts::Partial {
                number
            } else {
                u64::MAX
            };
            match self.in_the_way_of(&request_in(watcher), before) {
                Some(blocker) => self.watch(watcher, blocker),
                None => ready.push_back(watcher),
            }
            watcher = next_watcher;
        }
    }

    fn watch(&mut self, slot: u32, blocker: u32) {
        self.waiters[slot as usize].next_watcher = NONE;
        let watched = &mut self.waiters[blocker as usize];
        let last = std::mem::replace(&mut watched.last_watcher, slot);
        if watched.first_watcher == NONE {
            watched.first_watcher = slot;
        } else {
            self.waiters[last as usize].next_watcher = slot;
        }
    }

    #[inline]
    fn enter(&mut self, slot: u32, request: &Request, number: u64) {
        self.waiters[slot as usize].number = number;
        if let Some(tree) = self.tree_of(request) {
            tree.insert(slot, request.sector.get(), request.end().get(), number);
        }
        if let Some(ZoneWrites { zones, writes }) = &mut self.zones
            && let Some((from, until)) = zones.ordered(request)
        {
            writes.insert(slot, from, until, number);
        }
    }

    #[inline]
    fn leave(&mut self, slot: u32, request: &Request) {
        let number = self.waiters[slot as usize].number;
        if let Some(tree) = self.tree_of(request) {
            tree.remove(slot, request.sector.get(), number);
        }
        if let Some(ZoneWrites { zones, writes }) = &mut self.zones
            && let Some((from, _)) = zones.ordered(request)
        {
            writes.remove(slot, from, number);
        }
    }

    #[inline]
    fn tree_of(&mut self, request: &Request) -> Option<&mut Intervals> {
        match request.op {
            // It has no range.
            _ if request.sectors.get() == 0 => None,
            Op::Flush => None,
            Op::Read if self.strong == Strong::Writes => None,
            Op::Read => Some(&mut self.reads),
            _ => Some(&mut self.writes),
        }
    }

    /// The latest request that came before `number` and is in the way of this one.
    #[inline]
    fn in_the_way_of(&self, request: &Request, number: u64) -> Option<u32> {
        let (from, until) = (request.sector.get(), request.end().get());
        let is_write = match request.op {
            Op::Flush => return None,
            Op::Read => false,
            _ => true,
        };
        let (reads, writes) = match self.strong {
            Strong::Writes => (false, is_write),
            Strong::ButReads => (is_write, true),
            Strong::Every => (true, true),
        };
        let in_tree = |wanted: bool, tree: &Intervals| {
            wanted
                .then(|| tree.overlapping(from, until, number))
                .flatten()
        };
        let in_zone = || {
            let ZoneWrites { zones, writes } = self.zones.as_ref()?;
            let (from, until) = zones.ordered(request)?;
            writes.overlapping(from, until, number)
        };
        in_tree(writes, &self.writes)
            .or_else(|| in_tree(reads, &self.reads))
            .or_else(in_zone)
    }
}

/// Whether two requests conflict if both are in flight, by definition.
#[cfg(test)]
pub(crate) fn do_conflict(strong: Strong, a: &Request, b: &Request) -> bool {
    let is_write = |r: &Request| !r.op.is_harmless();
    let overlap = a.sector < b.end() && b.sector < a.end();
    overlap
        && ![a, b].iter().any(|r| r.op == Op::Flush)
        && match strong {
            Strong::Writes => is_write(a) && is_write(b),
            Strong::ButReads => is_write(a) || is_write(b),
            Strong::Every => true,
        }
}

#[cfg(test)]
mod tests;
