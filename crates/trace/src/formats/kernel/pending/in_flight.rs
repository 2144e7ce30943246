//! The requests of a device that wait for their completion, by place.
//!
//! Few overlap as a rule, and are looked at one by one. Once a search has met many that do not fit, an index is built
//! that finds the one that does in logarithmic time; it lasts until no request is in flight.

use std::collections::BTreeSet;

use super::in_order::InOrder;

/// Searches that look at more requests than this build the index.
const ONE_BY_ONE: usize = 64;

/// The sectors of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) sector: u64,
    /// The sector behind the last one.
    pub(super) end: u64,
    /// The number of the request.
    pub(super) number: u64,
}

/// What a slot says of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) end: u64,
    pub(super) issued: bool,
}

/// Which requests an event can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    All,
    Issued,
    NotIssued,
}

impl Of {
    fn has(self, issued: bool) -> bool {
        match self {
            Self::All => true,
            Self::Issued => issued,
            Self::NotIssued => !issued,
        }
    }

    /// The higher end of those at the indices of kinds.
    pub(super) fn highest(self, [not_issued, issued]: [u64; 2]) -> u64 {
        match self {
            Self::All => not_issued.max(issued),
            Self::Issued => issued,
            Self::NotIssued => not_issued,
        }
    }
}

/// A search looked at too many requests.
struct TooMany;

/// Requests with a length by all that is searched.
struct Index {
    in_order: InOrder,
    /// By end, first sector and number; not issued, issued.
    by_end: [BTreeSet<(u64, u64, u64)>; 2],
}

impl Index {
    fn insert(&mut self, range: Range, issued: bool) {
        self.in_order.insert(range, issued);
        let key = (range.end, range.sector, range.number);
        self.by_end[usize::from(issued)].insert(key);
    }

    fn remove(&mut self, range: Range, issued: bool) {
        self.in_order.remove((range.sector, range.number));
        let key = (range.end, range.sector, range.number);
        self.by_end[usize::from(issued)].remove(&key);
    }

    /// The first range in the order of places with this end, from this sector on.
    fn ending(&self, end: u64, from: u64, of: Of) -> Option<(u64, u64)> {
        let kinds = [false, true].into_iter().filter(|issued| of.has(*issued));
        let firsts = kinds.filter_map(|issued| {
            let set = &self.by_end[usize::from(issued)];
            set.range((end, from, 0)..=(end, u64::MAX, u64::MAX)).next()
        });
        firsts.map(|(_, sector, number)| (*sector, *number)).min()
    }
}

/// The requests in flight of one device and direction. `state` of a search gives the state of a request by its number.
#[derive(Default)]
pub(super) struct InFlight {
    /// By first sector, then in the order of their events.
    by_sector: BTreeSet<(u64, u64)>,
    /// The numbers of flushes; not issued, issued.
    flushes: [BTreeSet<u64>; 2],
    longest: u64,
    index: Option<Index>,
}

impl InFlight {
    /// Removes all requests.
    pub(super) fn clear(&mut self) {
        self.by_sector.clear();
        self.flushes = Default::default();
        self.index = None;
    }

    pub(super) fn insert(&mut self, range: Range, issued: bool) {
        self.by_sector.insert((range.sector, range.number));
        self.longest = self.longest.max(range.end.saturating_sub(range.sector));
        if let Some(index) = &mut self.index {
            index.insert(range, issued);
        }
    }

    /// Removes a request, unless it is not there any more.
    pub(super) fn remove(&mut self, range: Range, issued: bool) {
        let was_there = self.by_sector.remove(&(range.sector, range.number));
        if self.by_sector.is_empty() {
            self.index = None;
        } else if let Some(index) = &mut self.index
            && was_there
        {
            index.remove(range, issued);
        }
    }

    /// A request is issued, or no longer.
    pub(super) fn set_issued(&mut self, range: Range, issued: bool) {
        if let Some(index) = &mut self.index {
            index.remove(range, !issued);
            index.insert(range, issued);
        }
    }

    /// Whether a request begins at this sector.
    pub(super) fn begins_at(&self, sector: u64) -> bool {
        let same = (sector, 0)..=(sector, u64::MAX);
        self.by_sector.range(same).next().is_some()
    }

    pub(super) fn insert_flush(&mut self, number: u64, issued: bool) {
        self.flushes[usize::from(issued)].insert(number);
    }

    pub(super) fn remove_flush(&mut self, number: u64, issued: bool) {
        self.flushes[usize::from(issued)].remove(&number);
    }

    /// The flush of this kind that began first.
    pub(super) fn first_flush(&self, of: Of) -> Option<u64> {
        let kinds = [false, true].into_iter().filter(|issued| of.has(*issued));
        let firsts = kinds.filter_map(|issued| self.flushes[usize::from(issued)].first());
        firsts.min().copied()
    }

    /// The requests that the sectors from `from` to `to` cover, of those that fit, each with the sectors that they
    /// cover: of equal ranges the first, otherwise side by side.
    pub(super) fn covered(
        &mut self,
        (from, to): (u64, u64),
        of: Of,
        state: impl Fn(u64) -> State,
    ) -> Vec<(u64, u64)> {
        if self.index.is_none() {
            match self.covered_one_by_one((from, to), of, &state) {
                Ok(covered) => return covered,
                Err(TooMany) => self.build(state),
            }
        }
        let index = self.index.as_ref().expect("it has just been built");
        if let Some((sector, number)) = index.ending(to, from, of)
            && sector == from
        {
            return vec![(number, to - from)];
        }
        let mut covered = Vec::new();
        let (mut at, mut low) = (from, 0);
        while at < to
            && let Some(((sector, number), end)) = index.in_order.first(low, at, of)
            && sector < to
        {
            let end = end.min(to);
            covered.push((number, end - sector.max(at)));
            (at, low) = (end, end);
        }
        covered
    }

    fn covered_one_by_one(
        &self,
        (from, to): (u64, u64),
        of: Of,
        state: impl Fn(u64) -> State,
    ) -> Result<Vec<(u64, u64)>, TooMany> {
        let mut more = ONE_BY_ONE;
        let mut one_more = || {
            more = more.checked_sub(1).ok_or(TooMany)?;
            Ok(())
        };
        // The very same range, in the order of beginnings, before anything that merely overlaps.
        for &(_, number) in self.by_sector.range((from, 0)..=(from, u64::MAX)) {
            let State { end, issued } = state(number);
            if end == to && of.has(issued) {
                return Ok(vec![(number, to - from)]);
            }
            one_more()?;
        }
        let mut covered = Vec::new();
        let mut at = from;
        let low = from.saturating_sub(self.longest);
        for &(sector, number) in self.by_sector.range((low, 0)..(to, 0)) {
            let State { end, issued } = state(number);
            let end = end.min(to);
            if end <= at || sector < at && !covered.is_empty() || !of.has(issued) {
                one_more()?;
                continue;
            }
            covered.push((number, end - sector.max(at)));
            at = end;
            if at == to {
                break;
            }
        }
        Ok(covered)
    }

    /// The first request of those not issued that begins at a sector.
    pub(super) fn not_issued_at(
        &mut self,
        sector: u64,
        state: impl Fn(u64) -> State,
    ) -> Option<(u64, u64)> {
        if self.index.is_none() {
            let same = (sector, 0)..=(sector, u64::MAX);
            let same = self.by_sector.range(same).take(ONE_BY_ONE + 1);
            let mut looked_at = 0;
            for key in same {
                if !state(key.1).issued {
                    return Some(*key);
                }
                looked_at += 1;
            }
            if looked_at <= ONE_BY_ONE {
                return None;
            }
            self.build(state);
        }
        let index = self.index.as_ref().expect("it has just been built");
        // Each of them ends behind the sector before.
        let before = sector.saturating_sub(1);
        let found = index.in_order.first(sector, before, Of::NotIssued);
        found.map(|(key, _)| key).filter(|key| key.0 == sector)
    }

    /// The first request of those not issued that ends at the sector `end`.
    pub(super) fn not_issued_to(
        &mut self,
        end: u64,
        state: impl Fn(u64) -> State,
    ) -> Option<(u64, u64)> {
        if self.index.is_none() {
            let low = end.saturating_sub(self.longest);
            let before = (low, 0)..=(end, u64::MAX);
            let before = self.by_sector.range(before).take(ONE_BY_ONE + 1);
            let mut looked_at = 0;
            for key in before {
                let state = state(key.1);
                if !state.issued && state.end == end {
                    return Some(*key);
                }
                looked_at += 1;
            }
            if looked_at <= ONE_BY_ONE {
                return None;
            }
            self.build(state);
        }
        let index = self.index.as_ref().expect("it has just been built");
        index.ending(end, 0, Of::NotIssued)
    }

    #[cold]
    fn build(&mut self, state: impl Fn(u64) -> State) {
        let mut index = Index {
            in_order: InOrder::new(),
            by_end: Default::default(),
        };
        for &(sector, number) in &self.by_sector {
            let State { end, issued } = state(number);
            let range = Range {
                sector,
                end,
                number,
            };
            index.insert(range, issued);
        }
        self.index = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests with these first sectors, ends and whether they are issued, numbered in this order.
    fn in_flight(requests: &[(u64, u64, bool)]) -> (InFlight, impl Fn(u64) -> State) {
        let mut in_flight = InFlight::default();
        for (number, &(sector, end, issued)) in (0..).zip(requests) {
            let range = Range {
                sector,
                end,
                number,
            };
            in_flight.insert(range, issued);
        }
        let states: Vec<State> = requests
            .iter()
            .map(|&(_, end, issued)| State { end, issued })
            .collect();
        (in_flight, move |number| states[number as usize])
    }

    #[test]
    fn an_index_is_built_when_a_search_has_met_more_misfits_than_are_looked_at_one_by_one() {
        const FIT: (u64, u64, bool) = (100, 108, false);
        for misfits in [0, 1, ONE_BY_ONE - 1, ONE_BY_ONE, ONE_BY_ONE + 1, 1000] {
            // They are issued already, so that nothing joins them.
            let mut requests = vec![(100, 108, true); misfits];
            for is_there in [true, false] {
                if is_there {
                    requests.push(FIT);
                } else {
                    requests.retain(|of| *of != FIT);
                }
                let found = is_there.then_some((100, misfits as u64));
                let has_index = misfits > ONE_BY_ONE;
                let (mut at, state) = in_flight(&requests);
                assert_eq!(at.not_issued_at(100, &state), found, "{misfits}");
                assert_eq!(at.index.is_some(), has_index, "{misfits}");
                let (mut to, state) = in_flight(&requests);
                assert_eq!(to.not_issued_to(108, &state), found, "{misfits}");
                assert_eq!(to.index.is_some(), has_index, "{misfits}");
                // Two searches look at each: for the very same range, then for any.
                let (mut covered, state) = in_flight(&requests);
                let numbers = covered.covered((100, 108), Of::NotIssued, &state);
                let all: Vec<(u64, u64)> = found.iter().map(|(_, number)| (*number, 8)).collect();
                assert_eq!(numbers, all, "{misfits}");
                let looked_at = if is_there { misfits } else { 2 * misfits };
                assert_eq!(covered.index.is_some(), looked_at > ONE_BY_ONE, "{misfits}");
            }
        }
    }

    #[test]
    fn searches_find_the_same_with_an_index_and_without() {
        let requests = [
            (0, 8, false),
            (8, 16, true),
            (8, 16, false),
            (16, 32, false),
            (24, 32, true),
            (40, 48, false),
        ];
        for has_index in [false, true] {
            let (mut all, state) = in_flight(&requests);
            if has_index {
                all.build(&state);
            }
            for (sector, found) in [
                (0, Some((0, 0))),
                (8, Some((8, 2))),
                (16, Some((16, 3))),
                (24, None),
                (32, None),
                (41, None),
            ] {
                assert_eq!(all.not_issued_at(sector, &state), found, "{sector}");
            }
            for (end, found) in [
                (8, Some((0, 0))),
                (16, Some((8, 2))),
                (32, Some((16, 3))),
                (31, None),
                (33, None),
                (48, Some((40, 5))),
            ] {
                assert_eq!(all.not_issued_to(end, &state), found, "{end}");
            }
            for (from, to, of, numbers) in [
                (8, 16, Of::All, &[(1, 8)][..]),
                (8, 16, Of::NotIssued, &[(2, 8)]),
                (8, 16, Of::Issued, &[(1, 8)]),
                // Side by side, and only the sectors that are in the range.
                (4, 20, Of::NotIssued, &[(0, 4), (2, 8), (3, 4)]),
                (4, 12, Of::NotIssued, &[(0, 4), (2, 4)]),
                (24, 32, Of::NotIssued, &[(3, 8)]),
                (32, 40, Of::All, &[]),
                (31, 41, Of::All, &[(3, 1), (5, 1)]),
                (48, 60, Of::All, &[]),
            ] {
                let covered = all.covered((from, to), of, &state);
                assert_eq!(covered, numbers, "{from} to {to} of {of:?}");
            }
            assert_eq!(all.index.is_some(), has_index);
        }
    }

    #[test]
    fn the_index_lasts_until_nothing_is_in_flight() {
        let range = |number| Range {
            sector: 8 * number,
            end: 8 * number + 8,
            number,
        };
        let (mut two, state) = in_flight(&[(0, 8, false), (8, 16, false)]);
        two.build(state);
        two.remove(range(0), false);
        // A request that ended is removed once more when it comes out.
        two.remove(range(0), false);
        assert!(two.index.is_some() && two.begins_at(8) && !two.begins_at(0));
        two.remove(range(1), false);
        assert!(two.index.is_none() && !two.begins_at(8));
        two.insert(range(3), true);
        two.build(|_| State {
            end: 32,
            issued: true,
        });
        two.clear();
        assert!(two.index.is_none() && !two.begins_at(24));
    }

    #[test]
    fn flushes_are_found_in_the_order_in_which_they_began() {
        let mut in_flight = InFlight::default();
        for (number, issued) in [(5, true), (3, false), (4, false), (6, true)] {
            in_flight.insert_flush(number, issued);
        }
        let firsts =
            |of: &InFlight| [Of::All, Of::NotIssued, Of::Issued].map(|kind| of.first_flush(kind));
        assert_eq!(firsts(&in_flight), [Some(3), Some(3), Some(5)]);
        // Not of this kind.
        in_flight.remove_flush(3, true);
        in_flight.remove_flush(5, true);
        assert_eq!(firsts(&in_flight), [Some(3), Some(3), Some(6)]);
        in_flight.remove_flush(3, false);
        in_flight.remove_flush(4, false);
        assert_eq!(firsts(&in_flight), [Some(6), None, Some(6)]);
        in_flight.clear();
        assert_eq!(firsts(&in_flight), [None; 3]);
    }
}
