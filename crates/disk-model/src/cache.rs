//! The segments of a drive's buffer, and which of them a request gets.
//!
//! Segments are ranked, and the least recently assigned one of the highest rank is taken. A read prefers a segment
//! that has all of its sectors, then one that has the first, then an empty one, then a clean one, then the one that
//! is being filled by read-ahead. A write prefers the segment that it continues.

use crate::profile::CacheProfile;
use crate::segment::{Segment, State};

/// How much of a request is in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// Nothing; the segment begins anew.
    Miss,
    /// The first sectors, or none yet where they are being read.
    Partial,
    /// All sectors.
    Full,
    /// The write continues the one that is in the segment.
    Append,
}

impl CacheProfile {
    /// What happens to a segment whose data are on the medium.
    pub(crate) fn written(&self) -> State {
        match self.keeps_data && self.read_hits_on_written {
            true => State::Clean,
            false => State::Empty,
        }
    }
}

/// The segments, from a fixed array, with the order of their assignment.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) segments: Box<[Segment]>,
    /// From the least recently assigned one to the most recently.
    order: Box<[u32]>,
}

impl Cache {
    pub(crate) fn new(profile: &CacheProfile) -> Self {
        Self {
            segments: vec![Segment::default(); profile.segments as usize].into(),
            order: (0..profile.segments).collect(),
        }
    }

    /// How many segments hold data that are not yet on the medium.
    fn dirty(&self) -> usize {
        let writing = |segment: &&Segment| segment.state == State::Writing;
        self.segments.iter().filter(writing).count()
    }

    /// The segments of which data are still to be written, the least recently assigned first.
    pub(crate) fn unwritten(&self) -> impl Iterator<Item = usize> {
        let writing = |&i: &usize| self.segments[i].state == State::Writing;
        self.order.iter().map(|&i| i as usize).filter(writing)
    }

    /// Takes the segment of the highest rank, above 0.
    fn best(&self, rank: impl Fn(usize, &Segment) -> (u32, Hit)) -> Option<(usize, Hit)> {
        let (mut best, mut chosen) = (0, None);
        for &i in &*self.order {
            let (rank, hit) = rank(i as usize, &self.segments[i as usize]);
            if rank > best {
                (best, chosen) = (rank, Some((i as usize, hit)));
            }
        }
        chosen
    }

    /// The segment for a read, and how much of it is there. `interruptible` says whether a segment that is being
    /// read may be taken away.
    pub(crate) fn for_read(
        &self,
        profile: &CacheProfile,
        (begin, end): (u64, u64),
        interruptible: bool,
    ) -> Option<(usize, Hit)> {
        self.best(|i, segment| {
            if profile.separate_write_segment && i == 0 {
                return (0, Hit::Miss);
            }
            let almost =
                profile.almost_read_hits && segment.state == State::Reading && segment.end == begin;
            let data = match segment.state {
                _ if !profile.keeps_data => 0,
                State::Empty => 0,
                State::Clean => 8,
                State::Reading => 9,
                State::Writing if profile.read_hits_on_written => 10,
                State::Writing => 0,
            };
            match segment.state {
                _ if data > 0 && segment.holds(begin) && end <= segment.end => (data, Hit::Full),
                _ if data > 0 && (segment.holds(begin) || almost) => (data - 4, Hit::Partial),
                State::Empty => (3, Hit::Miss),
                State::Clean => (2, Hit::Miss),
                State::Reading if interruptible => (1, Hit::Miss),
                State::Reading | State::Writing => (0, Hit::Miss),
            }
        })
    }

    /// The segment for a write.
    pub(crate) fn for_write(
        &self,
        profile: &CacheProfile,
        (begin, end): (u64, u64),
        interruptible: bool,
    ) -> Option<(usize, Hit)> {
        let full = self.dirty() >= profile.write_segments as usize;
        self.best(|i, segment| {
            if profile.separate_write_segment && i != 0 {
                return (0, Hit::Miss);
            }
            match segment.state {
                State::Writing => {
                    let room = begin - segment.written.min(begin) < profile.segment_sectors;
                    match profile.combine_writes && begin == segment.target && room {
                        true => (7, Hit::Append),
                        false => (0, Hit::Miss),
                    }
                }
                _ if full => (0, Hit::Miss),
                State::Clean if segment.overlaps(begin, end) => (4, Hit::Miss),
                State::Empty => (3, Hit::Miss),
                State::Clean => (2, Hit::Miss),
                State::Reading if interruptible => (1, Hit::Miss),
                State::Reading => (0, Hit::Miss),
            }
        })
    }

    /// Whether the segment is the most recently assigned one.
    pub(crate) fn is_latest(&self, segment: usize) -> bool {
        self.order.last() == Some(&(segment as u32))
    }

    /// The segment is the most recently assigned one from now on.
    pub(crate) fn assign(&mut self, segment: usize, write: bool) {
        let at = self.order.iter().position(|&i| i as usize == segment);
        self.order[at.expect("a segment of the cache")..].rotate_left(1);
        self.segments[segment].last_was_write = Some(write);
    }

    /// What other segments have of these sectors is of no use any more.
    pub(crate) fn outdate(&mut self, except: Option<usize>, begin: u64, end: u64) {
        for (i, segment) in self.segments.iter_mut().enumerate() {
            if Some(i) != except && segment.state == State::Clean && segment.overlaps(begin, end) {
                segment.state = State::Empty;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of 10 sectors from `start` on.
    fn segment(state: State, start: u64) -> Segment {
        Segment {
            state,
            start,
            end: start + 10,
            written: start,
            target: start + 10,
            ..Segment::default()
        }
    }

    fn profile() -> CacheProfile {
        CacheProfile {
            segments: 4,
            segment_sectors: 20,
            write_segments: 2,
            ..CacheProfile::default()
        }
    }

    const STATES: [State; 4] = [State::Empty, State::Clean, State::Reading, State::Writing];

    /// Segments that begin with the sectors 0, 100, 200 and 300.
    fn with_states(states: [State; 4]) -> Cache {
        let of = |(&state, number): (&State, u64)| segment(state, 100 * number);
        Cache {
            segments: states.iter().zip(0..).map(of).collect(),
            ..Cache::new(&profile())
        }
    }

    #[test]
    fn a_read_prefers_all_of_its_sectors_to_some_and_no_data_to_those_of_others() {
        let plain = profile();
        let cache = with_states(STATES);
        for (span, found) in [
            // All, the first of them, and none: the empty one first.
            ((100, 110), (1, Hit::Full)),
            ((105, 106), (1, Hit::Full)),
            ((100, 111), (1, Hit::Partial)),
            ((109, 120), (1, Hit::Partial)),
            ((110, 120), (0, Hit::Miss)),
            ((99, 105), (0, Hit::Miss)),
            ((200, 210), (2, Hit::Full)),
            ((205, 215), (2, Hit::Partial)),
            ((300, 310), (3, Hit::Full)),
            ((305, 315), (3, Hit::Partial)),
            // What an empty segment had is of no use.
            ((0, 10), (0, Hit::Miss)),
        ] {
            for interruptible in [false, true] {
                assert_eq!(
                    cache.for_read(&plain, span, interruptible),
                    Some(found),
                    "{span:?}"
                );
            }
        }
        let not_written = CacheProfile {
            read_hits_on_written: false,
            ..profile()
        };
        assert_eq!(
            cache.for_read(&not_written, (300, 310), true),
            Some((0, Hit::Miss))
        );
        let keeps_nothing = CacheProfile {
            keeps_data: false,
            ..profile()
        };
        assert_eq!(
            cache.for_read(&keeps_nothing, (100, 110), true),
            Some((0, Hit::Miss))
        );
        // The next sector of read-ahead, if that counts.
        let almost = CacheProfile {
            almost_read_hits: true,
            ..profile()
        };
        assert_eq!(
            cache.for_read(&almost, (210, 220), true),
            Some((2, Hit::Partial))
        );
        assert_eq!(
            cache.for_read(&almost, (211, 220), true),
            Some((0, Hit::Miss))
        );
        assert_eq!(
            cache.for_read(&almost, (110, 120), true),
            Some((0, Hit::Miss))
        );
    }

    #[test]
    fn without_an_empty_segment_a_clean_one_is_taken_and_then_the_one_that_is_read() {
        let (clean, reading, writing) = (State::Clean, State::Reading, State::Writing);
        for (states, interruptible, read, write) in [
            ([writing, reading, clean, reading], true, Some(2), Some(2)),
            ([writing, reading, writing, writing], true, Some(1), None),
            ([writing, reading, reading, reading], true, Some(1), Some(1)),
            ([writing, reading, reading, reading], false, None, None),
            ([writing; 4], true, None, None),
            // Two segments at most hold data that wait.
            ([writing, clean, writing, clean], true, Some(1), None),
            ([writing, clean, clean, clean], true, Some(1), Some(1)),
        ] {
            let cache = with_states(states);
            let elsewhere = (700, 710);
            let chosen = |segment: Option<usize>| segment.map(|segment| (segment, Hit::Miss));
            let seen = cache.for_read(&profile(), elsewhere, interruptible);
            assert_eq!(seen, chosen(read), "{states:?}");
            let seen = cache.for_write(&profile(), elsewhere, interruptible);
            assert_eq!(seen, chosen(write), "{states:?}");
        }
    }

    #[test]
    fn a_write_goes_on_with_one_that_waits_or_overwrites_what_is_clean() {
        let plain = profile();
        let cache = with_states(STATES);
        for (begin, found) in [
            (310, (3, Hit::Append)),
            (309, (0, Hit::Miss)),
            (311, (0, Hit::Miss)),
            // What overlaps comes before an empty one.
            (95, (1, Hit::Miss)),
            (109, (1, Hit::Miss)),
            (110, (0, Hit::Miss)),
            (85, (0, Hit::Miss)),
        ] {
            assert_eq!(
                cache.for_write(&plain, (begin, begin + 10), true),
                Some(found),
                "{begin}"
            );
        }
        let not_combined = CacheProfile {
            combine_writes: false,
            ..profile()
        };
        assert_eq!(
            cache.for_write(&not_combined, (310, 320), true),
            Some((0, Hit::Miss))
        );
        // As long as there is room for a sector: 20 of them fit.
        for (written, room) in [(290, false), (291, true), (310, true)] {
            let mut cache = with_states(STATES);
            cache.segments[3].written = written;
            let hit = if room {
                (3, Hit::Append)
            } else {
                (0, Hit::Miss)
            };
            assert_eq!(
                cache.for_write(&plain, (310, 320), true),
                Some(hit),
                "{written}"
            );
        }
        // It goes on even if no other may wait.
        let one = CacheProfile {
            write_segments: 1,
            ..profile()
        };
        assert_eq!(
            cache.for_write(&one, (310, 320), true),
            Some((3, Hit::Append))
        );
        assert_eq!(cache.for_write(&one, (500, 510), true), None);
    }

    #[test]
    fn the_first_segment_may_be_for_writes_and_the_others_for_reads() {
        let separate = CacheProfile {
            separate_write_segment: true,
            ..profile()
        };
        let empty = with_states([State::Empty; 4]);
        assert_eq!(
            empty.for_read(&separate, (700, 710), true),
            Some((1, Hit::Miss))
        );
        assert_eq!(
            empty.for_write(&separate, (700, 710), true),
            Some((0, Hit::Miss))
        );
        let clean = with_states([State::Clean; 4]);
        assert_eq!(
            clean.for_read(&separate, (0, 10), true),
            Some((1, Hit::Miss))
        );
        assert_eq!(
            clean.for_write(&separate, (100, 110), true),
            Some((0, Hit::Miss))
        );
        let busy = with_states([State::Writing, State::Clean, State::Clean, State::Clean]);
        assert_eq!(busy.for_write(&separate, (700, 710), true), None);
    }

    #[test]
    fn of_equal_segments_the_least_recently_assigned_one_is_taken() {
        let mut cache = with_states([State::Clean; 4]);
        for expected in [0, 1, 2, 3, 0] {
            let seen = cache.for_read(&profile(), (700, 710), true);
            assert_eq!(seen, Some((expected, Hit::Miss)));
            cache.assign(expected, expected % 2 == 1);
            assert!(cache.is_latest(expected) && !cache.is_latest((expected + 1) % 4));
            let writes = Some(expected % 2 == 1);
            assert_eq!(cache.segments[expected].last_was_write, writes);
        }
        // 1, 2, 3, 0 are in order; now 2 is used again.
        cache.assign(2, true);
        cache
            .segments
            .iter_mut()
            .for_each(|s| s.state = State::Writing);
        assert_eq!(cache.unwritten().collect::<Vec<_>>(), [1, 3, 0, 2]);
        cache.segments[3].state = State::Clean;
        assert_eq!(cache.unwritten().collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(cache.dirty(), 3);
    }

    #[test]
    fn clean_data_that_are_overwritten_are_of_no_use() {
        for (except, begin, end, left) in [
            (None, 105, 106, State::Empty),
            (None, 95, 101, State::Empty),
            (None, 109, 120, State::Empty),
            (None, 110, 120, State::Clean),
            (None, 90, 100, State::Clean),
            (Some(1), 105, 106, State::Clean),
            (Some(2), 105, 106, State::Empty),
        ] {
            let mut cache = with_states(STATES);
            cache.outdate(except, begin, end);
            assert_eq!(cache.segments[1].state, left, "{begin} {end}");
        }
        // What is being read or written keeps its state.
        let mut cache = with_states(STATES);
        cache.outdate(None, 0, 1000);
        let states: Vec<State> = cache.segments.iter().map(|s| s.state).collect();
        assert_eq!(
            states,
            [State::Empty, State::Empty, State::Reading, State::Writing]
        );
    }

    #[test]
    fn what_was_written_is_kept_for_reads_that_may_hit_it() {
        for (keeps_data, read_hits_on_written, state) in [
            (true, true, State::Clean),
            (true, false, State::Empty),
            (false, true, State::Empty),
            (false, false, State::Empty),
        ] {
            let profile = CacheProfile {
                keeps_data,
                read_hits_on_written,
                ..profile()
            };
            assert_eq!(profile.written(), state);
        }
    }
}
