//! Which pages a load touches, when it did so last, and how often: one table for the working set, the
//! repetition frequency and the reuse distance.
//!
//! The table is exact up to a number of pages. Beyond it, it keeps a sample: the pages whose hash lies
//! below a threshold, which is halved each time the table is full (Waldspurger, Park, Garthwaite, Ahmad,
//! "Efficient MRC Construction with SHARDS", FAST 2015, fixed-size variant). Every result is scaled by the
//! sampling rate then, and reported with its standard error.
//!
//! A request may have up to 2^29 pages (2 TiB). So that it costs no more than the pages of the sample, the
//! hash of a page is its rank in its group of 2^16 neighbours: a permutation that depends on the group, and
//! can be reversed. The pages of a group below the threshold are those with the lowest ranks, and need not be
//! searched for. Of a sample of less than a page in each group, the same is true of the groups among 2^8 neighbours. Requests
//! that are large on average lower the threshold as well, see [`Pages::is_costly`].

use std::cmp::Ordering;

use iosonar_trace::Request;

use crate::reuse::Reuse;
use crate::working_set::{PAGE, Touched, Windows};

/// A page of the table. Empty if it was never touched. A search looks at the first fields, which lie in one line of the
/// cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Page {
    /// The number of the page, with the device in the highest bits.
    key: u64,
    /// How many accesses.
    count: u32,
    /// The position of the last access in the order of all accesses.
    last: u32,
    /// Of each sector, the moment of the last touch plus one; zero for never.
    touched: Touched,
}

/// The sample does not become smaller than this for the sake of time: an error of some 3 %. If requests have more pages than
/// this on average (4 MiB), it is smaller in proportion, down to [`FEWEST_OF_LONG`], an error of some 12 %.
const FEWEST_PAGES: u64 = 1 << 10;
const FEWEST_OF_LONG: u64 = 1 << 6;

/// The table is not smaller than this.
const FEWEST_SLOTS: usize = 1 << 10;

/// The table, by open addressing.
#[derive(Debug)]
pub(crate) struct Pages {
    slots: Vec<Page>,
    used: usize,
    most: usize,
    /// Pages with a hash from here on are left out; zero for none.
    threshold: u64,
    pub(crate) windows: Windows,
    pub(crate) reuse: Reuse,
    /// Accesses to pages, of all, sampled or not.
    accesses: u64,
    /// Requests, and accesses to pages of the sample since it last became smaller.
    requests: u64,
    work: u64,
    /// The pages of a group that are in the sample.
    of_group: Vec<u16>,
    /// The groups of a region that may have such pages.
    of_region: Vec<u16>,
}

/// With a smaller threshold, only the first page of each group may be in the sample.
const FIRST_OF_GROUPS: u64 = 1 << 48;

/// Accesses to pages of the sample that are always carried out; for each request, as many more as the fewest pages.
const FREE_WORK: u64 = 1 << 20;

/// A 64-bit finaliser (murmur3): near numbers get far hashes.
#[inline]
fn hash(key: u64) -> u64 {
    let mut h = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// Pages of a group are those with the same number but for the lowest bits.
const GROUP_BITS: u32 = 16;
const GROUP: u64 = 1 << GROUP_BITS;
/// Groups of a region are those with the same number but for the lowest bits.
const REGION_BITS: u32 = 8;
const REGION: u64 = 1 << REGION_BITS;

/// Page and device in one number, with the page's place in its region in the lowest bits. No disk has more pages
/// than fit; if one had, different regions would get the same number with a probability of
/// 2^-40.
#[inline]
fn key_of(page: u64, device: u16) -> u64 {
    if page < 1 << 48 {
        u64::from(device) << 48 | page
    } else {
        const BITS: u32 = GROUP_BITS + REGION_BITS;
        hash((page >> BITS) ^ hash(u64::from(device))) << BITS | page & ((1 << BITS) - 1)
    }
}

/// Pages that lie side by side in the table, as a power of two: requests mostly access neighbours.
const NEIGHBOUR_BITS: u32 = 3;

/// Where in a table a page is looked for first.
#[inline]
fn home(key: u64) -> usize {
    let neighbours = 1 << NEIGHBOUR_BITS;
    let begin = (hash(key >> NEIGHBOUR_BITS) >> 20) as usize * neighbours;
    begin | (key as usize % neighbours)
}

/// Odd, and their inverses modulo 2^16, and so modulo smaller powers of two.
const FACTORS: [(u16, u16); 2] = [(0x88b5, inverse(0x88b5)), (0xdb2d, inverse(0xdb2d))];

/// The inverse of an odd number modulo 2^16, by Newton's method.
const fn inverse(odd: u16) -> u16 {
    let mut x = odd;
    let mut i = 0;
    while i < 4 {
        x = x.wrapping_mul(2_u16.wrapping_sub(odd.wrapping_mul(x)));
        i += 1;
    }
    x
}

/// An order of `2^BITS` neighbours: a permutation that can be reversed.
#[derive(Clone, Copy, Debug)]
struct Order<const BITS: u32> {
    before: u16,
    between: u16,
}

/// The order of the pages of a group.
type OfPages = Order<GROUP_BITS>;
/// The order of the groups of a region.
type OfGroups = Order<REGION_BITS>;

impl<const BITS: u32> Order<BITS> {
    const MASK: u16 = u16::MAX >> (16 - BITS);
    /// Three times the first and twice the second are beyond all bits, so that shifts by them can be undone.
    const SHIFTS: [u32; 2] = [(BITS - 1) / 2, BITS / 2 + 1];

    /// The one that a hash selects.
    #[inline]
    fn selected_by(hash: u64) -> Self {
        Self {
            before: hash as u16 & Self::MASK,
            between: (hash >> BITS) as u16,
        }
    }

    #[inline]
    fn rank(self, neighbour: u16) -> u16 {
        let [first, second] = Self::SHIFTS;
        let mut x = neighbour ^ self.before;
        x = x.wrapping_mul(FACTORS[0].0) & Self::MASK;
        x ^= x >> first;
        x = x.wrapping_add(self.between).wrapping_mul(FACTORS[1].0) & Self::MASK;
        x ^ x >> second
    }

    /// The one of this rank.
    #[inline]
    fn neighbour(self, rank: u16) -> u16 {
        let [first, second] = Self::SHIFTS;
        let mut x = rank ^ rank >> second;
        x = x.wrapping_mul(FACTORS[1].1).wrapping_sub(self.between) & Self::MASK;
        x ^= x >> first ^ x >> (2 * first);
        x.wrapping_mul(FACTORS[0].1) & Self::MASK ^ self.before
    }
}

impl OfGroups {
    /// That of the region of the page with this key.
    #[inline]
    fn of(key: u64) -> Self {
        Self::selected_by(hash(key >> (GROUP_BITS + REGION_BITS) ^ 1 << 63))
    }
}

impl OfPages {
    /// That of the group of the page with this key.
    #[inline]
    fn of(key: u64) -> Self {
        Self::selected_by(hash(key >> GROUP_BITS))
    }

    /// Whether the place of a page of the group is below a threshold. It is known from the page's rank, but for one rank.
    #[inline]
    fn is_below(self, threshold: u64, key: u64) -> bool {
        match u64::from(self.rank(key as u16)).cmp(&(threshold >> 48)) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.place_in_sample(key) < threshold,
        }
    }

    /// What decides whether a page of the group is in the sample: its rank in the group, that of the group in its region, and
    /// a hash.
    fn place_in_sample(self, key: u64) -> u64 {
        let group = (key >> GROUP_BITS) as u16 & OfGroups::MASK;
        let [page, group] = [self.rank(key as u16), OfGroups::of(key).rank(group)].map(u64::from);
        page << 48 | group << 40 | hash(key) >> 24
    }
}

impl Pages {
    /// A table of at most `most` pages.
    pub(crate) fn new(most: usize, windows: Windows) -> Self {
        Self {
            slots: vec![Page::default(); FEWEST_SLOTS],
            used: 0,
            most: most.max(512),
            threshold: 0,
            windows,
            reuse: Reuse::default(),
            accesses: 0,
            requests: 0,
            work: 0,
            of_group: Vec::new(),
            of_region: Vec::new(),
        }
    }

    /// The share of pages that is looked at.
    pub(crate) fn rate(&self) -> f64 {
        match self.threshold {
            0 => 1.0,
            t => t as f64 / 2_f64.powi(64),
        }
    }

    pub(crate) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// How many pages the table holds.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Notes the sectors of a request, at the current moment of the windows.
    pub(crate) fn touch(&mut self, request: &Request) {
        let (from, to) = (request.sector.get(), request.end().get());
        if from >= to {
            return;
        }
        let (first, last) = (from / PAGE, (to - 1) / PAGE);
        self.accesses += last - first + 1;
        self.requests += 1;
        // A request that fills the sample more than once by itself reduces it first.
        while (last - first + 1) as f64 * self.rate() > self.most as f64 && self.threshold != 1 {
            self.halve();
        }
        let mut page = first;
        while page <= last {
            let end = page | (GROUP * REGION - 1);
            self.touch_within_region(page, last.min(end), request);
            page = end + 1;
        }
        self.windows.settle();
    }

    /// Pages `first` to `last`, all of one region, are accessed.
    #[inline]
    fn touch_within_region(&mut self, first: u64, last: u64, request: &Request) {
        let (first_group, last_group) = (first >> GROUP_BITS, last >> GROUP_BITS);
        let touch = |pages: &mut Self, group: u64| {
            let begin = group << GROUP_BITS;
            let (from, to) = (begin.max(first), (begin | (GROUP - 1)).min(last));
            pages.touch_within_group(from, to, request);
        };
        // Groups with these ranks may have a page in the sample, as pages in groups.
        let ranks = match self.threshold {
            1..FIRST_OF_GROUPS => (self.threshold >> 40) + 1,
            _ => REGION,
        };
        if last_group - first_group < ranks {
            (first_group..=last_group).for_each(|group| touch(self, group));
            return;
        }
        let order = OfGroups::of(key_of(first, request.device));
        let mut groups = std::mem::take(&mut self.of_region);
        groups.clear();
        groups.extend((0..ranks).map(|rank| order.neighbour(rank as u16)));
        groups.sort_unstable();
        for group in &groups {
            let group = first_group & !(REGION - 1) | u64::from(*group);
            if (first_group..=last_group).contains(&group) {
                touch(self, group);
            }
        }
        self.of_region = groups;
    }

    /// Pages `first` to `last`, all of one group, are accessed.
    #[inline]
    fn touch_within_group(&mut self, first: u64, last: u64, request: &Request) {
        // The pages with these ranks may be in the sample: where they are fewer, they are looked for.
        let ranks = match self.threshold {
            0 => GROUP,
            threshold => (threshold >> 48) + 1,
        };
        let order = OfPages::of(key_of(first, request.device));
        if last - first < ranks {
            for page in first..=last {
                self.touch_if_sampled(page, order, request);
            }
            return;
        }
        let mut pages = std::mem::take(&mut self.of_group);
        pages.clear();
        pages.extend((0..ranks).map(|rank| order.neighbour(rank as u16)));
        pages.sort_unstable();
        for page in &pages {
            let page = first & !(GROUP - 1) | u64::from(*page);
            if (first..=last).contains(&page) {
                self.touch_if_sampled(page, order, request);
            }
        }
        self.of_group = pages;
    }

    #[inline]
    fn touch_if_sampled(&mut self, page: u64, order: OfPages, request: &Request) {
        let key = key_of(page, request.device);
        if self.threshold != 0 && !order.is_below(self.threshold, key) {
            return;
        }
        let (from, to) = (request.sector.get(), request.end().get());
        let low = from.max(page * PAGE) - page * PAGE;
        let high = to.min((page + 1) * PAGE) - page * PAGE;
        self.touch_page(key, low as usize, high as usize);
        self.work += 1;
        if self.is_costly() {
            self.halve();
            self.work /= 2;
        }
    }

    /// Whether requests are so large that all pages of the sample cannot be followed: the sample becomes smaller
    /// then.
    #[inline]
    fn is_costly(&self) -> bool {
        if self.work <= FREE_WORK {
            return false;
        }
        let mean = (self.accesses / self.requests.max(1)).max(1);
        let fewest = (FEWEST_PAGES * FEWEST_PAGES / mean).clamp(FEWEST_OF_LONG, FEWEST_PAGES);
        self.work > FREE_WORK + fewest * self.requests && self.used as u64 >= fewest
    }

    #[inline]
    fn touch_page(&mut self, key: u64, low: usize, high: usize) {
        let mask = self.slots.len() - 1;
        let mut at = home(key) & mask;
        while self.slots[at].count > 0 && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        let page = &mut self.slots[at];
        let is_new = page.count == 0;
        page.key = key;
        page.count = page.count.saturating_add(1);
        self.windows.touch(&mut page.touched, low, high);
        let before = (!is_new).then_some(page.last);
        page.last = self.reuse.access(before);
        if self.reuse.is_full() {
            self.renumber();
        }
        if is_new {
            self.used += 1;
            if self.used > self.most {
                self.halve();
            } else if self.used * 4 > self.slots.len() * 3 {
                self.rehash(self.slots.len() * 2);
            }
        }
        if self.windows.must_coarsen() {
            self.windows.settle();
            self.windows.coarsen();
            let windows = &self.windows;
            for page in self.slots.iter_mut().filter(|p| p.count > 0) {
                page.touched
                    .iter_mut()
                    .for_each(|t| *t = windows.coarser(*t));
            }
        }
    }

    /// Gives the last accesses new positions without gaps.
    fn renumber(&mut self) {
        let (ranks, mut pages) = (self.reuse.ranks(), 0);
        for page in self.slots.iter_mut().filter(|p| p.count > 0) {
            page.last = ranks.of(page.last);
            pages += 1;
        }
        self.reuse.restart(pages);
    }

    /// Moves the pages to a table of this size.
    fn rehash(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.slots, vec![Page::default(); size]);
        let mask = size - 1;
        for page in old.into_iter().filter(|page| page.count > 0) {
            let mut at = home(page.key) & mask;
            while self.slots[at].count > 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = page;
        }
    }

    /// Leaves out half of the pages, and all that was counted of them.
    fn halve(&mut self) {
        self.windows.settle();
        let before = self.rate();
        self.threshold = if self.threshold == 0 {
            1 << 63
        } else {
            (self.threshold / 2).max(1)
        };
        for page in &mut self.slots {
            if page.count > 0 && !OfPages::of(page.key).is_below(self.threshold, page.key) {
                self.windows.forget(&page.touched);
                self.reuse.forget(page.last);
                *page = Page::default();
                self.used -= 1;
            }
        }
        // A table that is nearly empty is gone through as a whole each time that positions are given anew.
        let size = match self.used * 8 < self.slots.len() {
            true => (self.used * 2).next_power_of_two().max(FEWEST_SLOTS),
            false => self.slots.len(),
        };
        self.rehash(size);
        self.reuse.lower_rate(self.rate() / before, self.rate());
        self.renumber();
    }

    /// How often each page was accessed, most often first.
    pub(crate) fn frequencies(&self) -> Vec<u32> {
        let pages = self.slots.iter().filter(|p| p.count > 0);
        let mut counts: Vec<u32> = pages.map(|page| page.count).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use iosonar_units::{Nanos, Sector, Sectors};
    use proptest::prelude::*;

    use super::*;
    use crate::working_set::Spans;

    fn request(start: u64, sector: u64, sectors: u32) -> Request {
        Request {
            start: Nanos::new(start),
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        }
    }

    fn loads() -> impl Strategy<Value = Vec<Request>> {
        prop::collection::vec((0..30_u64, 0..120_u64, 1..40_u32), 1..80).prop_map(|steps| {
            let mut now = 0;
            let step = |(gap, sector, sectors)| {
                now += gap;
                request(now, sector, sectors)
            };
            steps.into_iter().map(step).collect()
        })
    }

    /// Distinct sectors of the requests with `until - length < start <= until`, and their span.
    fn by_hand(load: &[Request], until: u64, length: u64) -> (u64, u64) {
        let within = load
            .iter()
            .filter(|r| r.start.get() <= until && until < r.start.get() + length);
        let sectors: BTreeSet<u64> = within.flat_map(|r| r.sector.get()..r.end().get()).collect();
        let span = sectors
            .last()
            .map_or(0, |last| last + 1 - sectors.first().unwrap());
        (sectors.len() as u64, span)
    }

    proptest! {
        #[test]
        fn working_sets_are_those_of_the_definition(load in loads(), extra in 0..50_u64) {
            let lengths = [7, 40, 200];
            let windows = lengths.map(Nanos::new);
            let mut pages = Pages::new(10_000, Windows::new(&windows));
            let mut spans = Spans::new(&windows);
            for (i, request) in load.iter().enumerate() {
                pages.windows.begin(request.start);
                pages.touch(request);
                spans.push(request.start, request.sector.get(), request.end().get());
                let next = load.get(i + 1).map_or(u64::MAX, |r| r.start.get());
                for until in [request.start.get(), request.start.get() + extra] {
                    if until < next {
                        pages.windows.advance(Nanos::new(until));
                        spans.advance(Nanos::new(until));
                        let expected = lengths.map(|length| by_hand(&load[..=i], until, length));
                        prop_assert_eq!(pages.windows.sizes(), &expected.map(|e| e.0));
                        prop_assert_eq!(spans.spans().collect::<Vec<_>>(), expected.map(|e| e.1));
                    }
                }
            }
            prop_assert_eq!(pages.windows.all(), by_hand(&load, u64::MAX - 1, u64::MAX / 2).0.max(pages.windows.all()));
        }

        /// With moments taken together a window may be longer, by at most what is told.
        #[test]
        fn coarse_working_sets_lie_between_those_of_the_window_and_a_longer_one(load in loads()) {
            let lengths = [40, 9];
            let windows = Windows::new(&lengths.map(Nanos::new)).with_most(4);
            let mut pages = Pages::new(10_000, windows);
            for (i, request) in load.iter().enumerate() {
                pages.windows.begin(request.start);
                pages.touch(request);
                let until = request.start.get();
                for (length, told) in lengths.iter().zip(pages.windows.sizes()) {
                    let least = by_hand(&load[..=i], until, *length).0;
                    let most = by_hand(&load[..=i], until, length + pages.windows.widest().get()).0;
                    prop_assert!((least..=most).contains(told), "{} <= {} <= {}", least, told, most);
                }
            }
        }

        #[test]
        fn miss_ratios_are_those_of_an_lru_cache(load in loads(), cache in 1..30_usize) {
            let mut pages = Pages::new(10_000, Windows::new(&[]));
            let (mut lru, mut misses, mut accesses): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
            let mut counts: HashMap<u64, u32> = HashMap::new();
            for request in &load {
                pages.windows.begin(request.start);
                pages.touch(request);
                for page in request.sector.get() / 8..request.end().get().div_ceil(8) {
                    accesses += 1;
                    *counts.entry(page).or_default() += 1;
                    match lru.iter().position(|p| *p == page) {
                        Some(at) => drop(lru.remove(at)),
                        None => misses += 1,
                    }
                    lru.insert(0, page);
                    lru.truncate(cache);
                }
            }
            prop_assert_eq!(pages.accesses(), accesses);
            let told = pages.reuse.curve(accesses).miss_ratio(cache as u64);
            prop_assert!((told - misses as f64 / accesses as f64).abs() < 1e-12);
            let mut expected: Vec<u32> = counts.into_values().collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(pages.frequencies(), expected);
        }
    }

    #[test]
    fn devices_have_pages_of_their_own() {
        let mut pages = Pages::new(10_000, Windows::new(&[]));
        for device in 0..600 {
            let mut r = request(0, if device == 0 { 8 } else { 0 }, 8);
            r.device = device;
            pages.windows.begin(r.start);
            pages.touch(&r);
        }
        assert_eq!((pages.len(), pages.windows.all()), (600, 4_800));
    }

    /// Every neighbour has a rank of its own, and is found by it.
    fn is_permutation<const BITS: u32>(order: Order<BITS>) -> bool {
        let all = 0..=Order::<BITS>::MASK;
        let ranks: BTreeSet<u16> = all.clone().map(|each| order.rank(each)).collect();
        ranks.into_iter().eq(all.clone())
            && all
                .clone()
                .all(|each| order.neighbour(order.rank(each)) == each)
    }

    #[test]
    fn ranks_are_a_permutation_of_neighbours() {
        for key in [0, 5 << GROUP_BITS, u64::MAX, 0x1234_5678_9abc_def0] {
            assert!(is_permutation(OfPages::of(key)), "{key}");
            assert!(is_permutation(OfGroups::of(key)), "{key}");
        }
    }

    #[test]
    fn the_sampled_pages_of_a_range_are_found_whatever_the_threshold() {
        // From less than a page in a region to thousands, within a region and across its end.
        const PAGES: u64 = GROUP * REGION;
        for bits in [38, 40, 42, 45, 47, 48, 50, 52] {
            for (first, last) in [(PAGES / 3, PAGES - 1), (PAGES - 70_000, PAGES + 3 * GROUP)] {
                let mut pages = Pages::new(1 << 20, Windows::new(&[]));
                pages.threshold = 1 << bits;
                pages.windows.begin(Nanos::ZERO);
                let sectors = ((last - first + 1) * PAGE) as u32;
                pages.touch(&Request {
                    device: 3,
                    ..request(0, first * PAGE, sectors)
                });
                let found: BTreeSet<u64> = pages
                    .slots
                    .iter()
                    .filter(|page| page.count > 0)
                    .map(|page| page.key)
                    .collect();
                let expected: BTreeSet<u64> = (first..=last)
                    .map(|page| key_of(page, 3))
                    .filter(|&key| OfPages::of(key).place_in_sample(key) < 1 << bits)
                    .collect();
                assert_eq!(found, expected, "{bits} {first}");
            }
        }
    }

    /// The mean of what is found is the sampling rate times the pages, also where that is less than a page in each region.
    #[test]
    fn a_small_sample_has_as_many_pages_as_its_rate_says() {
        const REGIONS: u64 = 3000;
        let mut pages = Pages::new(1 << 20, Windows::new(&[]));
        pages.threshold = 1 << 39;
        pages.windows.begin(Nanos::ZERO);
        for region in 0..REGIONS {
            pages.touch(&request(
                0,
                region * GROUP * REGION * PAGE,
                (GROUP * REGION * PAGE) as u32,
            ));
        }
        let expected = (REGIONS * GROUP * REGION) as f64 * pages.rate();
        assert_eq!(expected, 1500.0);
        // Binomial: one page or none of each region.
        let error = 4.0 * (expected * 0.5).sqrt();
        assert!(
            (pages.len() as f64 - expected).abs() < error,
            "{}",
            pages.len()
        );
    }

    /// 2 TiB a request, at places that overlap by half: 3 * 10^11 accesses to pages.
    #[test]
    fn requests_of_terabytes_cost_no_more_than_a_sample_of_their_pages() {
        let pages_of_request = (1_u64 << 32) / PAGE;
        let (n, stride) = (300, 1_u64 << 31);
        let mut pages = Pages::new(1 << 19, Windows::new(&[Nanos::new(1)]));
        for i in 0..n {
            let mut r = request(i, i * stride, u32::MAX);
            r.device = 3;
            pages.windows.begin(r.start);
            pages.touch(&r);
        }
        assert!(
            pages.work < 1 << 21 && pages.len() <= 1 << 19,
            "{}",
            pages.work
        );
        assert_eq!(pages.accesses(), n * pages_of_request);
        // Ranks are even within each group: the error of sampling is that of the groups at the ends at most.
        let sectors = ((n - 1) * stride + u64::from(u32::MAX)) as f64;
        let error = |n: f64| 4.0 * (8.0 / (n * pages.rate())).sqrt();
        let estimate = pages.windows.all() as f64 / pages.rate();
        assert!(
            (estimate / sectors - 1.0).abs() < error(sectors),
            "{estimate} {sectors}"
        );
        // Half of the pages were accessed by the request before, as many pages ago as a request has.
        let curve = pages.reuse.curve(pages.accesses());
        let hits = 0.5 * (n - 1) as f64 / n as f64;
        let large = curve.miss_ratio(2 * pages_of_request);
        assert!((large - (1.0 - hits)).abs() < 0.02, "{large}");
        let small = curve.miss_ratio(pages_of_request / 4);
        assert!((small - 1.0).abs() < 0.02, "{small}");
    }

    /// A load with hot and cold pages, from a fixed recurrence.
    fn skewed(n: u64) -> impl Iterator<Item = Request> {
        let mut state = 1_u64;
        (0..n).map(move |i| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let u = (state >> 11) as f64 / (1_u64 << 53) as f64;
            request(i * 1000, (u.powi(4) * 400_000.0) as u64 * 8, 8)
        })
    }

    #[test]
    fn a_sampled_table_tells_nearly_the_same() {
        let measure = |most| {
            let mut pages = Pages::new(most, Windows::new(&[Nanos::from_millis(20)]));
            for request in skewed(400_000) {
                pages.windows.begin(request.start);
                pages.touch(&request);
            }
            pages
        };
        let (exact, sampled) = (measure(1 << 22), measure(20_000));
        assert_eq!(exact.rate(), 1.0);
        assert!(
            sampled.rate() < 0.3 && sampled.len() <= 20_000,
            "{}",
            sampled.rate()
        );
        // Whole pages: each has eight sectors, all in or out. Three standard errors of the sampling.
        let estimate = sampled.windows.all() as f64 / sampled.rate();
        let error = (8.0 * (1.0 - sampled.rate()) / sampled.windows.all() as f64).sqrt();
        let truth = exact.windows.all() as f64;
        assert!(
            (estimate / truth - 1.0).abs() < 3.0 * error,
            "{estimate} {truth}"
        );
        let window = sampled.windows.sizes()[0] as f64 / sampled.rate();
        let truth = exact.windows.sizes()[0] as f64;
        let error = (8.0 / sampled.windows.sizes()[0] as f64).sqrt();
        assert!(
            (window / truth - 1.0).abs() < 3.0 * error,
            "{window} {truth}"
        );
        let (a, b) = (
            exact.reuse.curve(exact.accesses()),
            sampled.reuse.curve(sampled.accesses()),
        );
        // The paper's measure and figure: the mean absolute error over sizes, below 0.01 for samples of 8 K pages.
        let sizes: Vec<u64> = (1..=100).map(|i| i * 2_000).collect();
        let errors = sizes
            .iter()
            .map(|size| (a.miss_ratio(*size) - b.miss_ratio(*size)).abs());
        let mean = errors.sum::<f64>() / sizes.len() as f64;
        assert!(mean < 0.01, "{mean}");
    }

    #[test]
    fn pages_of_a_group_have_neighbouring_keys_wherever_they_are() {
        let mut keys = BTreeSet::new();
        let groups = [0, 1, 2, 3].map(|n| (n, (1 << 32) - 1 - n));
        for device in [0, 1, 2, 7, u16::MAX] {
            for group in groups.iter().flat_map(|&(low, high)| [low, high]) {
                for place in [0, 1, 0x1234, GROUP - 1] {
                    let page = group << GROUP_BITS | place;
                    let expected = u64::from(device) << 48 | page;
                    assert_eq!(key_of(page, device), expected);
                }
            }
            // Beyond 2^48 pages: the groups have hashes of their own, their pages keep their places.
            for group in (1 << 32..(1 << 32) + 64).chain([1 << 40, (1 << 45) - 1]) {
                let key = key_of(group << GROUP_BITS, device) >> GROUP_BITS;
                assert!(keys.insert(key), "{group} {device}");
                for place in [0, 1, 0x1234, GROUP - 1] {
                    let of = key_of(group << GROUP_BITS | place, device);
                    assert_eq!(of, key << GROUP_BITS | place);
                }
            }
        }
    }

    #[test]
    fn pages_beyond_the_largest_disk_are_counted_as_others_are() {
        let mut pages = Pages::new(10_000, Windows::new(&[]));
        let far = 1 << 60;
        for (device, sector) in [(0, far), (0, far), (1, far), (0, far + (1 << 40))] {
            let of = Request {
                device,
                ..request(0, sector + 4, 8)
            };
            pages.windows.begin(of.start);
            pages.touch(&of);
        }
        assert_eq!((pages.len(), pages.accesses()), (6, 8));
        assert_eq!(pages.windows.all(), 3 * 8);
        assert_eq!(pages.frequencies(), [2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn a_request_with_more_pages_than_the_table_makes_the_sample_smaller_before_it_is_followed() {
        let touched = |n: u32| {
            let mut pages = Pages::new(512, Windows::new(&[]));
            pages.windows.begin(Nanos::ZERO);
            pages.touch(&request(0, 0, n * PAGE as u32));
            assert_eq!(pages.accesses(), u64::from(n));
            pages
        };
        let full = touched(512);
        assert_eq!((full.rate(), full.len(), full.work), (1.0, 512, 512));
        // Without this, the first half of the sample would be followed until the table is full, then half of the rest,
        // and so on: more than twice as many.
        let large = touched(4096);
        assert!(large.rate() <= 1.0 / 8.0, "{}", large.rate());
        assert!(large.work < 700, "{}", large.work);
    }

    #[test]
    fn the_table_grows_once_it_is_more_than_three_quarters_full() {
        let mut pages = Pages::new(10_000, Windows::new(&[]));
        pages.windows.begin(Nanos::ZERO);
        pages.touch(&request(0, 0, 768 * PAGE as u32));
        assert_eq!((pages.len(), pages.slots.len()), (768, 1024));
        pages.touch(&request(0, 768 * PAGE, 8));
        assert_eq!((pages.len(), pages.slots.len()), (769, 2048));
        // All pages are still found.
        pages.touch(&request(0, 0, 769 * PAGE as u32));
        assert_eq!(pages.frequencies(), [2; 769]);
    }
}
