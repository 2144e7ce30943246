use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::*;
use iosonar_units::{Sector, Sectors};
use proptest::prelude::*;

/// Few requests close to each other, many of all sizes over seconds, of which some leave the window, or bursts of more
/// than [`FEW`], after which none is in flight.
fn loads() -> impl Strategy<Value = Vec<(Request, Nanos)>> {
    prop_oneof![
        steps(4_000_000, 60, 12, 60),
        steps(20_000_000, 1000, 300, 200),
        steps(1_000_000, 100_000, 70_000, 300),
        (steps(100_000, 2000, 30, 400), 40..150_usize).prop_map(|(mut load, burst)| {
            for (i, (request, until)) in load.iter_mut().enumerate() {
                let pause = Nanos::from_millis(20 * (i / burst) as u64);
                request.start += pause;
                *until += pause;
            }
            load
        }),
    ]
}

#[test]
fn many_in_flight_become_few_once_all_have_ended() {
    let mut damaged = Damaged::default();
    let read = |at| request(at, 0, 8, Op::Read, 0);
    for at in 0..=FEW as u64 {
        assert!(damaged.active.many.is_none(), "{at} before");
        damaged.push(&read(at), Nanos::new(at), Nanos::new(1000));
    }
    assert!(damaged.active.many.is_some() && damaged.active.few.is_empty());
    damaged.push(&read(1000), Nanos::new(1000), Nanos::new(2000));
    assert!(damaged.active.many.is_none() && damaged.active.few.len() == 1);
    assert_eq!(damaged.counts(), [FEW as u64, 0, 0]);
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

/// What [`Damaged`] counts, by a look at each request in flight that overlaps, and at those that begin at most the
/// length of the longest request before.
#[derive(Default)]
struct OneByOne {
    by_sector: BTreeMap<(u16, u64, u64), (u64, bool)>,
    by_end: BinaryHeap<Reverse<(Nanos, u16, u64, u64)>>,
    longest: u64,
    number: u64,
    counts: [u64; 3],
}

impl OneByOne {
    fn push(&mut self, request: &Request, start: Nanos, until: Nanos) {
        if request.sectors.get() == 0 {
            return;
        }
        while let Some(Reverse((end, device, sector, number))) = self.by_end.peek().copied()
            && end <= start
        {
            self.by_end.pop();
            self.by_sector.remove(&(device, sector, number));
        }
        let (from, to) = (request.sector.get(), request.end().get());
        let is_read = request.op == Op::Read;
        let (mut any, mut one_writes, mut both_write) = (false, false, false);
        let low = (request.device, from.saturating_sub(self.longest), 0);
        for (end, other_is_read) in self
            .by_sector
            .range(low..(request.device, to, 0))
            .map(|(_, e)| *e)
        {
            if end > from {
                any = true;
                one_writes |= !(is_read && other_is_read);
                both_write |= !is_read && !other_is_read;
            }
        }
        for (count, is) in self.counts.iter_mut().zip([any, one_writes, both_write]) {
            *count += u64::from(is);
        }
        if until > start {
            let key = (request.device, from, self.number);
            self.number += 1;
            self.longest = self.longest.max(u64::from(request.sectors.get()));
            self.by_end.push(Reverse((until, key.0, key.1, key.2)));
            self.by_sector.insert(key, (to, is_read));
        }
    }
}

/// Requests of few places and lengths, so that many are equal, with some long ones; everywhere on the device, at blocks of
/// all levels, and up to the largest sector.
fn duplicates() -> impl Strategy<Value = Vec<(Request, Nanos)>> {
    let base = prop_oneof![
        Just(0),
        (1..64_u32).prop_map(|bit| (1_u64 << bit).saturating_sub(8)),
        Just(u64::MAX - 16),
    ];
    let length = prop_oneof![
        6 => 1..4_u32,
        3 => 4..20_u32,
        1 => prop_oneof![Just(1000), Just(1 << 20), Just(u32::MAX)],
    ];
    // Half of the latencies are short, and some are 0.
    let latency = prop_oneof![0..4_u64, 0..400_u64];
    let step = (
        0..3_u64,
        0..24_u64,
        length,
        any::<bool>(),
        0..2_u16,
        latency,
    );
    (base, prop::collection::vec(step, 1..400)).prop_map(|(base, steps)| {
        let mut now = 0;
        let step = |(gap, sector, sectors, is_read, device, latency)| {
            now += gap;
            let op = if is_read { Op::Read } else { Op::Write };
            let sector = base.saturating_add(sector);
            (
                request(now, sector, sectors, op, device),
                Nanos::new(now + latency),
            )
        };
        steps.into_iter().map(step).collect()
    })
}

fn request(start: u64, sector: u64, sectors: u32, op: Op, device: u16) -> Request {
    Request {
        start: Nanos::new(start),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op,
        device,
        ..Request::default()
    }
}

fn counts_are_those_one_by_one(load: &[(Request, Nanos)]) -> Result<(), TestCaseError> {
    let (mut damaged, mut one_by_one) = (Damaged::default(), OneByOne::default());
    for (request, until) in load {
        damaged.push(request, request.start, *until);
        one_by_one.push(request, request.start, *until);
        prop_assert_eq!(damaged.counts(), one_by_one.counts);
    }
    Ok(())
}

proptest! {
    #[test]
    fn damaged_requests_are_those_found_one_by_one(load in loads()) {
        counts_are_those_one_by_one(&load)?;
    }

    #[test]
    fn damaged_requests_are_those_found_one_by_one_among_duplicates(load in duplicates()) {
        counts_are_those_one_by_one(&load)?;
    }
}

const MANY: u64 = 1 << 16;
/// The first searches do without the index.
const FEWEST: u64 = MANY - 1 - ONE_BY_ONE as u64;

/// The nodes visited for requests that are all in flight at once, and the counts.
fn visited(requests: impl Iterator<Item = Request>) -> (u64, [u64; 3]) {
    let mut damaged = Damaged::default();
    for request in requests {
        damaged.push(&request, request.start, Nanos::MAX);
    }
    let many = damaged.active.many.as_ref();
    let index = many.and_then(|many| many.index.as_ref());
    let Index { reads, writes } = index.expect("searches have met many");
    (reads.visited.get() + writes.visited.get(), damaged.counts())
}

/// The depth of an AVL tree of 2^16 nodes is at most 1.44 * 16, rounded up.
const DEPTH: u64 = 24;

#[test]
fn a_search_among_equal_reads_in_flight_visits_one_node() {
    let reads = (0..MANY).map(|at| request(at, 1003, 8, Op::Read, 0));
    let (visited, counts) = visited(reads);
    assert_eq!(counts, [MANY - 1, 0, 0]);
    assert!((FEWEST..MANY).contains(&visited), "{visited} visited");
}

#[test]
fn a_search_among_equal_reads_with_a_long_one_visits_a_path_at_most() {
    let long = request(0, 0, u32::MAX, Op::Read, 0);
    let equal = (1..MANY).map(|at| request(at, 1 << 31, 8, Op::Read, 0));
    let (visited, counts) = visited(std::iter::once(long).chain(equal));
    assert_eq!(counts, [MANY - 1, 0, 0]);
    assert!((FEWEST..=2 * MANY).contains(&visited), "{visited} visited");
}

#[test]
fn a_search_among_short_reads_with_a_long_one_visits_a_path_at_most() {
    for (place, overlapping) in [(1 << 40, 0), (0, MANY - 1)] {
        let long = request(0, place, u32::MAX, Op::Read, 0);
        let short = (1..MANY).map(|at| request(at, 8 * at, 8, Op::Read, 0));
        let (visited, counts) = visited(std::iter::once(long).chain(short));
        assert_eq!(counts, [overlapping, 0, 0]);
        assert!(
            (FEWEST..=DEPTH * MANY).contains(&visited),
            "{visited} visited"
        );
    }
}

/// Writes of all lengths that end before the reads, in the order and the reverse order of their places.
#[test]
fn a_search_behind_ranges_of_all_lengths_visits_a_path_at_most() {
    for reverse in [false, true] {
        let place = 1 << 40;
        let writes = (0..MANY).map(|at| {
            let sectors = 1 + if reverse { MANY - 1 - at } else { at };
            request(at, place - sectors, sectors as u32, Op::Write, 0)
        });
        let reads = (0..MANY).map(|at| request(MANY + at, place + at, 1, Op::Read, 0));
        let (visited, counts) = visited(writes.chain(reads));
        assert_eq!(counts, [MANY - 1, MANY - 1, MANY - 1]);
        assert!(
            (MANY..=3 * DEPTH * MANY).contains(&visited),
            "{visited} visited"
        );
    }
}
