//! Overlap in time and space: requests that touch what another one, still in flight, touches too.
//!
//! The order of such requests is not defined: a replay that does them at once does damaged I/O.

mod ranges;
mod recent;

use std::collections::BTreeMap;

use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;
use ranges::{Range, Ranges};
use recent::Recent;

use crate::ascending::Ascending;

/// Searches that look at more requests than this build the index.
const ONE_BY_ONE: usize = 64;

/// As many in flight are looked at one by one, in any order.
const FEW: usize = 32;

/// Requests in flight that others may overlap with.
#[derive(Clone, Debug, Default)]
struct Active {
    /// Empty while there are [`many`](Self::many).
    few: Vec<InFlight>,
    /// Once there were more than [`FEW`], until none is in flight.
    many: Option<Box<Many>>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    range: Range,
    is_read: bool,
    until: Nanos,
}

impl Active {
    fn expire(&mut self, now: Nanos) {
        self.few.retain(|request| request.until > now);
        if let Some(many) = &mut self.many {
            many.expire(now);
            if many.by_sector.is_empty() {
                self.many = None;
            }
        }
    }

    fn insert(&mut self, request: InFlight) {
        match &mut self.many {
            Some(many) => many.insert(request),
            None if self.few.len() < FEW => self.few.push(request),
            None => {
                let mut many = Box::<Many>::default();
                self.few.drain(..).for_each(|few| many.insert(few));
                many.insert(request);
                self.many = Some(many);
            }
        }
    }

    /// With which kinds this range overlaps.
    fn met(&mut self, range: Range) -> Met {
        if let Some(many) = &mut self.many {
            return many.met(range);
        }
        let mut met = Met::default();
        for request in &self.few {
            let overlaps = request.range.overlaps(range);
            met.read |= overlaps && request.is_read;
            met.write |= overlaps && !request.is_read;
        }
        met
    }
}

/// Requests in flight by place. Few overlap as a rule, and are looked at one by one.
#[derive(Clone, Debug, Default)]
struct Many {
    by_sector: BTreeMap<(u16, u64, u64), Entry>,
    by_end: Ascending<(Nanos, u16, u64, u64)>,
    longest: u64,
    number: u64,
    /// Once a search has met many.
    index: Option<Index>,
}

/// The ranges in flight, of reads and writes.
#[derive(Clone, Debug, Default)]
struct Index {
    reads: Ranges,
    writes: Ranges,
}

impl Index {
    fn of_kind(&mut self, is_read: bool) -> &mut Ranges {
        match is_read {
            true => &mut self.reads,
            false => &mut self.writes,
        }
    }
}

/// With which kinds a request overlaps.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    read: bool,
    write: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u64,
    is_read: bool,
}

impl Many {
    fn expire(&mut self, now: Nanos) {
        while let Some((until, device, sector, number)) = self.by_end.first().copied()
            && until <= now
        {
            self.by_end.pop();
            let entry = self.by_sector.remove(&(device, sector, number));
            if let Some(index) = &mut self.index {
                let entry = entry.expect("each request is removed once");
                let range = Range::new(device, sector, entry.end);
                index.of_kind(entry.is_read).remove(range);
            }
        }
    }

    fn insert(&mut self, request: InFlight) {
        let InFlight {
            range,
            is_read,
            until,
        } = request;
        let key = (range.device, range.from, self.number);
        self.number += 1;
        self.longest = self.longest.max(range.to - range.from);
        self.by_end.push((until, key.0, key.1, key.2));
        let entry = Entry {
            end: range.to,
            is_read,
        };
        self.by_sector.insert(key, entry);
        if let Some(index) = &mut self.index {
            index.of_kind(is_read).insert(range);
        }
    }

    /// With which kinds this range overlaps.
    fn met(&mut self, range: Range) -> Met {
        if self.index.is_none() {
            if let Some(met) = self.met_one_by_one(range) {
                return met;
            }
            self.build();
        }
        let index = self.index.as_ref().expect("it has just been built");
        Met {
            read: index.reads.overlap(range),
            write: index.writes.overlap(range),
        }
    }

    /// The same; `None` if there are too many to look at.
    fn met_one_by_one(&self, range: Range) -> Option<Met> {
        let low = range.from.saturating_sub(self.longest);
        let near = (range.device, low, 0)..(range.device, range.to, 0);
        let mut met = Met::default();
        for (looked_at, (_, entry)) in self.by_sector.range(near).enumerate() {
            if looked_at == ONE_BY_ONE {
                return None;
            }
            let overlaps = entry.end > range.from;
            met.read |= overlaps && entry.is_read;
            met.write |= overlaps && !entry.is_read;
        }
        Some(met)
    }

    #[cold]
    fn build(&mut self) {
        let mut index = Index::default();
        for (&(device, from, _), entry) in &self.by_sector {
            let range = Range::new(device, from, entry.end);
            index.of_kind(entry.is_read).insert(range);
        }
        self.index = Some(index);
    }
}

/// The gaps of [`CloseOverlaps`].
pub const GAPS: [Nanos; 4] = [
    Nanos::MILLISECOND,
    Nanos::from_millis(10),
    Nanos::from_millis(100),
    Nanos::SECOND,
];

/// Of a load: how many requests overlap in space with one that began shortly before (read against read left
/// aside): damaged I/O, if that one is still in flight.
#[derive(Debug, Default)]
pub struct CloseOverlaps {
    recent: Recent,
    /// Requests with such a predecessor within each of [`GAPS`].
    within: [u64; GAPS.len()],
}

impl CloseOverlaps {
    /// Adds a request; they come sorted by start.
    pub fn push(&mut self, request: &Request) {
        if request.sectors.get() == 0 {
            return;
        }
        self.recent.expire(request.start);
        if let Some(latest) = self.recent.latest_before(request) {
            for (gap, within) in GAPS.iter().zip(&mut self.within) {
                *within += u64::from(request.start - latest < *gap);
            }
        }
        self.recent.insert(request);
    }

    /// Requests that overlap with one that began less than each of [`GAPS`] before.
    pub fn within(&self) -> [u64; GAPS.len()] {
        self.within
    }
}

/// Of records: how many requests overlap in space with one that was in flight when they were submitted.
#[derive(Clone, Debug, Default)]
pub struct Damaged {
    active: Active,
    writes: u64,
    mixed: u64,
    all: u64,
}

impl Damaged {
    /// Adds a request that was in flight from `from` to `until`; they come sorted by `from`.
    pub fn push(&mut self, request: &Request, from: Nanos, until: Nanos) {
        let Some(range) = Range::of(request) else {
            return;
        };
        self.active.expire(from);
        let is_read = request.op == Op::Read;
        let Met { read, write } = self.active.met(range);
        self.all += u64::from(read || write);
        self.mixed += u64::from(write || read && !is_read);
        self.writes += u64::from(write && !is_read);
        if until > from {
            self.active.insert(InFlight {
                range,
                is_read,
                until,
            });
        }
    }

    /// Requests with an overlap of any kind; with one where either writes; with one where both write.
    pub fn counts(&self) -> [u64; 3] {
        [self.all, self.mixed, self.writes]
    }
}

#[cfg(test)]
mod tests;
