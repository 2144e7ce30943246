//! Overlap in time and space: requests that touch what another one, still in flight, touches too.
//!
//! The order of such requests is not defined: a replay that does them at once does damaged I/O.

mod recent;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;
use recent::Recent;

/// Requests that others may overlap with, by place.
#[derive(Clone, Debug, Default)]
struct Active {
    by_sector: BTreeMap<(u16, u64, u64), Entry>,
    by_end: BinaryHeap<Reverse<(Nanos, u16, u64, u64)>>,
    longest: u64,
    number: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u64,
    is_read: bool,
}

impl Active {
    fn expire(&mut self, now: Nanos) {
        while let Some(Reverse((until, device, sector, number))) = self.by_end.peek().copied()
            && until <= now
        {
            self.by_end.pop();
            self.by_sector.remove(&(device, sector, number));
        }
    }

    fn insert(&mut self, request: &Request, until: Nanos) {
        let sector = request.sector.get();
        let key = (request.device, sector, self.number);
        self.number += 1;
        self.longest = self.longest.max(u64::from(request.sectors.get()));
        self.by_end.push(Reverse((until, key.0, key.1, key.2)));
        let entry = Entry {
            end: request.end().get(),
            is_read: request.op == Op::Read,
        };
        self.by_sector.insert(key, entry);
    }

    fn overlapping(&self, request: &Request) -> impl Iterator<Item = Entry> + '_ {
        let (from, to) = (request.sector.get(), request.end().get());
        let device = request.device;
        let low = from.saturating_sub(self.longest);
        self.by_sector
            .range((device, low, 0)..(device, to, 0))
            .map(|(_, entry)| *entry)
            .filter(move |entry| entry.end > from)
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
        if request.sectors.get() == 0 {
            return;
        }
        self.active.expire(from);
        let is_read = request.op == Op::Read;
        let (mut any, mut one_writes, mut both_write) = (false, false, false);
        for entry in self.active.overlapping(request) {
            any = true;
            one_writes |= !(is_read && entry.is_read);
            both_write |= !is_read && !entry.is_read;
        }
        self.all += u64::from(any);
        self.mixed += u64::from(one_writes);
        self.writes += u64::from(both_write);
        if until > from {
            self.active.insert(request, until);
        }
    }

    /// Requests with an overlap of any kind; with one where either writes; with one where both write.
    pub fn counts(&self) -> [u64; 3] {
        [self.all, self.mixed, self.writes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_units::{Sector, Sectors};
    use proptest::prelude::*;

    /// Few requests close to each other, or many of all sizes over seconds, of which some leave the window.
    fn loads() -> impl Strategy<Value = Vec<(Request, Nanos)>> {
        prop_oneof![
            steps(4_000_000, 60, 12, 60),
            steps(20_000_000, 1000, 300, 200),
            steps(1_000_000, 100_000, 70_000, 300),
        ]
    }

    fn steps(
        gap: u64,
        sectors: u64,
        longest: u32,
        most: usize,
    ) -> impl Strategy<Value = Vec<(Request, Nanos)>> {
        // Lengths of all magnitudes.
        let lengths = (1..=longest, 0..16_u32).prop_map(|(length, shift)| (length >> shift).max(1));
        let place = (0..sectors, lengths, 0..2_u16);
        prop::collection::vec((0..gap, place, any::<bool>(), 0..9_000_000_u64), 1..most).prop_map(
            |steps| {
                let mut now = 0;
                let step = |(gap, (sector, sectors, device), is_read, latency)| {
                    now += gap;
                    let request = Request {
                        start: Nanos::new(now),
                        sector: Sector::new(sector),
                        sectors: Sectors::new(sectors),
                        op: if is_read { Op::Read } else { Op::Write },
                        device,
                        ..Request::default()
                    };
                    (request, Nanos::new(now + latency))
                };
                steps.into_iter().map(step).collect()
            },
        )
    }

    fn meet(a: &Request, b: &Request) -> bool {
        a.device == b.device && a.sector < b.end() && b.sector < a.end()
    }

    proptest! {
        #[test]
        fn overlaps_are_those_of_all_pairs(load in loads()) {
            let (mut close, mut damaged) = (CloseOverlaps::default(), Damaged::default());
            let (mut within, mut counts) = ([0; GAPS.len()], [0; 3]);
            for (i, (request, until)) in load.iter().enumerate() {
                close.push(request);
                damaged.push(request, request.start, *until);
                let before = load[..i].iter().filter(|(r, _)| meet(r, request));
                let is_read = |r: &Request| r.op == Op::Read;
                for (gap, n) in GAPS.iter().zip(&mut within) {
                    *n += u64::from(before.clone().any(|(r, _)| {
                        request.start - r.start < *gap && !(is_read(r) && is_read(request))
                    }));
                }
                let flying = before.filter(|(r, end)| *end > request.start && *end > r.start);
                let kinds = flying.map(|(r, _)| u64::from(!is_read(r)) + u64::from(!is_read(request)));
                let most = kinds.max();
                for (i, n) in counts.iter_mut().enumerate() {
                    *n += u64::from(most.is_some_and(|m| m >= i as u64));
                }
            }
            prop_assert_eq!(close.within(), within);
            prop_assert_eq!(damaged.counts(), counts);
        }
    }
}
