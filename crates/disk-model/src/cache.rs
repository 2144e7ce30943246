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
