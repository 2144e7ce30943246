//! The requests of the last second, by place.
//!
//! ```text
//!  heads, by a hash of (device, size class, cell, read or write)
//!    │
//!    ▼              before               before
//!  newest request ────────► older one ────────► ...   one ring of all requests, the oldest first
//! ```
//!
//! Requests leave in the order in which they came, so a chain ends where the ring does. A request is in the one or two cells
//! that it touches, which are at least as long as it is. It takes those out of its chains that it covers: what overlaps with
//! one of them overlaps with it, too. So a chain does not become long because few places are requested often. Where it is long
//! nevertheless, only its newest requests are looked at for this.

use std::collections::VecDeque;

use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::GAPS;

/// Bits of a sector within a cell of the smallest size class; each class has cells of 8 times the length.
const SMALLEST: u32 = 3;
const STEP: u32 = 3;
/// Enough for lengths of 32 bits.
const CLASSES: usize = 11;
/// How far a chain is looked through for requests to take out of it.
const MOST_LOOKED_AT: usize = 64;

#[derive(Debug)]
pub(super) struct Recent {
    requests: VecDeque<Seen>,
    /// The number of the first of them.
    first: u64,
    /// The newest of each chain, by number plus one. Requests whose hashes are alike share a chain.
    heads: Vec<u64>,
    /// How many of the requests are in each size class, reads and writes apart.
    counts: [[usize; 2]; CLASSES],
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    start: Nanos,
    from: u64,
    to: u64,
    cell: u64,
    /// The one before in the chain, by number plus one.
    before: u64,
    device: u16,
    class: u8,
    is_read: bool,
}

impl Seen {
    fn covers(&self, other: &Self) -> bool {
        self.device == other.device
            && self.is_read == other.is_read
            && self.from <= other.from
            && other.to <= self.to
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            requests: VecDeque::new(),
            first: 0,
            heads: vec![0; 1 << 10],
            counts: [[0; 2]; CLASSES],
        }
    }
}

impl Recent {
    /// Forgets what began a second before `now`, or earlier.
    pub(super) fn expire(&mut self, now: Nanos) {
        while let Some(seen) = self.requests.front()
            && seen.start.saturating_add(GAPS[GAPS.len() - 1]) <= now
        {
            self.counts[usize::from(seen.class)][usize::from(seen.is_read)] -= 1;
            self.requests.pop_front();
            self.first += 1;
        }
    }

    /// When the latest request began that overlaps with this one, which comes after all of them; reads do not count
    /// for a read.
    pub(super) fn latest_before(&self, request: &Request) -> Option<Nanos> {
        let kinds = if request.op == Op::Read {
            &[false][..]
        } else {
            &[false, true]
        };
        let (from, to) = (request.sector.get(), request.end().get());
        let cells = |class: usize| {
            let shift = SMALLEST + STEP * class as u32;
            from >> shift..=(to - 1) >> shift
        };
        let classes = self.counts.iter().enumerate();
        let used = classes.filter(|(_, counts)| counts[0] + counts[1] > 0);
        let lookups: u64 = used
            .clone()
            .map(|(class, _)| 1 + cells(class).end() - cells(class).start())
            .sum();
        let overlaps =
            |seen: &Seen| seen.device == request.device && seen.from < to && from < seen.to;
        if lookups > self.requests.len() as u64 {
            let newest_first = self.requests.iter().rev();
            let mut conflicts =
                newest_first.filter(|seen| overlaps(seen) && kinds.contains(&seen.is_read));
            return conflicts.next().map(|seen| seen.start);
        }
        let mut latest = None;
        for (class, counts) in used {
            for is_read in kinds
                .iter()
                .copied()
                .filter(|kind| counts[usize::from(*kind)] > 0)
            {
                for cell in cells(class) {
                    let head = self.heads[self.chain(request.device, class as u8, cell, is_read)];
                    let mut chain = self.newest_first(head);
                    let found = chain.find(|seen| overlaps(seen) && seen.is_read == is_read);
                    latest = latest.max(found.map(|seen| seen.start));
                }
            }
        }
        latest
    }

    pub(super) fn insert(&mut self, request: &Request) {
        let (from, to) = (request.sector.get(), request.end().get());
        let bits = u32::BITS - (request.sectors.get() - 1).leading_zeros();
        let class = bits.saturating_sub(SMALLEST).div_ceil(STEP);
        let shift = SMALLEST + STEP * class;
        for cell in from >> shift..=(to - 1) >> shift {
            let mut seen = Seen {
                start: request.start,
                from,
                to,
                cell,
                before: 0,
                device: request.device,
                class: class as u8,
                is_read: request.op == Op::Read,
            };
            self.counts[class as usize][usize::from(seen.is_read)] += 1;
            self.take_out_covered(&seen);
            let number = self.first + self.requests.len() as u64;
            seen.before = self.link(&seen, number);
            self.requests.push_back(seen);
        }
        if self.requests.len() > self.heads.len() {
            self.grow();
        }
    }

    /// Takes those of the newest requests out of this one's chain that it covers. A chain of many that it does not cover, such
    /// as long ones a step apart, stays: what is looked for in it mostly overlaps with one of the newest.
    fn take_out_covered(&mut self, by: &Seen) {
        let chain = self.chain(by.device, by.class, by.cell, by.is_read);
        let mut newer = None;
        let mut number = self.heads[chain];
        for _ in 0..MOST_LOOKED_AT {
            let index = number.checked_sub(self.first + 1);
            let Some((index, seen)) =
                index.and_then(|index| Some((index, self.requests.get(index as usize)?)))
            else {
                break;
            };
            let before = seen.before;
            if !by.covers(seen) {
                newer = Some(index as usize);
            } else if let Some(newer) = newer {
                self.requests[newer].before = before;
            } else {
                self.heads[chain] = before;
            }
            number = before;
        }
    }

    /// Makes a request the newest of its chain, and gives the one that was.
    fn link(&mut self, seen: &Seen, number: u64) -> u64 {
        let chain = self.chain(seen.device, seen.class, seen.cell, seen.is_read);
        std::mem::replace(&mut self.heads[chain], number + 1)
    }

    fn grow(&mut self) {
        self.heads = vec![0; 2 * self.heads.len()];
        for at in 0..self.requests.len() {
            let seen = self.requests[at];
            self.take_out_covered(&seen);
            self.requests[at].before = self.link(&seen, self.first + at as u64);
        }
    }

    fn newest_first(&self, head: u64) -> impl Iterator<Item = &Seen> {
        let at = |number: u64| {
            let index = number.checked_sub(self.first + 1)?;
            self.requests.get(index as usize)
        };
        std::iter::successors(at(head), move |seen| at(seen.before))
    }

    /// The number of the chain of a cell.
    #[inline]
    fn chain(&self, device: u16, class: u8, cell: u64, is_read: bool) -> usize {
        let other = u64::from(device) << 9 | u64::from(class) << 1 | u64::from(is_read);
        // By the golden ratio, as Knuth proposes (The Art of Computer Programming, 6.4): the high bits depend on all.
        let mixed = (cell ^ other << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - self.heads.len().ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use iosonar_units::{Sector, Sectors};

    use super::*;

    #[test]
    fn chains_are_short_although_few_places_are_requested_often() {
        // Neighbours in one cell, of which one is only read and the other only written: in turn, or one after the other.
        for is_read in [|at| at % 2 == 0, |at| at < 5_000] {
            let mut recent = Recent::default();
            for at in 0..10_000 {
                let is_read = is_read(at);
                recent.insert(&Request {
                    start: Nanos::new(at),
                    sector: Sector::new(if is_read { 1024 } else { 1056 }),
                    sectors: Sectors::new(32),
                    op: if is_read { Op::Read } else { Op::Write },
                    ..Request::default()
                });
                let lengths = recent.heads.iter().map(|&head| recent.newest_first(head));
                if at % 1000 == 0 {
                    assert_eq!(lengths.map(Iterator::count).max(), Some(1), "{at}");
                }
            }
        }
    }

    #[test]
    fn the_latest_of_many_that_overlap_by_a_part_is_found() {
        let write = |at: u64, sector: u64| Request {
            start: Nanos::new(at),
            sector: Sector::new(sector),
            sectors: Sectors::new(512),
            op: Op::Write,
            ..Request::default()
        };
        let mut recent = Recent::default();
        for at in 0..2_000 {
            // Each begins a page behind the one before; none is covered.
            recent.insert(&write(at, 8 * at));
        }
        for (sector, latest) in [
            (0, Some(63)),
            (8, Some(64)),
            (8 * 1_000, Some(1_063)),
            (8 * 1_999, Some(1_999)),
            (8 * 1_999 + 512, None),
        ] {
            let found = recent.latest_before(&write(9_999, sector));
            assert_eq!(found, latest.map(Nanos::new), "{sector}");
        }
    }

    #[test]
    fn a_request_is_in_the_smallest_cells_that_are_as_long_as_it() {
        for (sectors, class) in [
            (1, 0),
            (8, 0),
            (9, 1),
            (64, 1),
            (65, 2),
            (512, 2),
            (u32::MAX, 10),
        ] {
            let mut recent = Recent::default();
            for op in [Op::Write, Op::Read] {
                recent.insert(&Request {
                    sectors: Sectors::new(sectors),
                    op,
                    ..Request::default()
                });
            }
            let used = recent.counts.iter().position(|counts| *counts == [1, 1]);
            assert_eq!(used, Some(class), "{sectors}");
            recent.expire(GAPS[GAPS.len() - 1]);
            assert_eq!(recent.counts, [[0; 2]; CLASSES]);
            assert!(recent.requests.is_empty() && recent.first == 2);
        }
    }
}
