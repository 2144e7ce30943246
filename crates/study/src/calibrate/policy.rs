//! What a drive does with its buffer: how many segments of which size, how far it reads ahead, what it keeps.
//!
//! The recording is repeated on candidates, with the platter where it was, and request by request compared. A hit taken
//! for a miss or a miss for a hit is off by milliseconds, so the right buffer is far ahead of all others. The search begins
//! with a grid of sizes and ways of reading ahead, and goes on one option at a time until none is better.

use iosonar_disk_model::{CacheProfile, DiskProfile, ReadAhead, Requested};

use super::figure::{Figure, Found, Missing};
use super::replica::Replica;

/// As many ways of reading ahead are followed up.
const TOGETHER: usize = 2;
/// The grid is gone through with as many requests.
const SEARCHED: usize = 2_500;
/// Profiles are compared by this many requests.
const COMPARED: f64 = 3.0;
/// A range of values wider than this says nothing.
const WIDEST: f64 = 1.1;

/// A buffer, and how far from the recording it is.
struct Search<'a> {
    replica: &'a Replica<'a>,
    profile: DiskProfile,
    best: CacheProfile,
    distance: f64,
}

/// The buffer that explains the recording best.
pub(super) fn search(
    replica: &Replica<'_>,
    profile: &DiskProfile,
    has_writes: bool,
) -> CacheProfile {
    let first = profile.cache.clone().unwrap_or_default();
    let some = replica.beginning(SEARCHED);
    // The best of each way of reading ahead, and of these the best few with everything else.
    let mut found: Vec<(f64, CacheProfile)> = Vec::new();
    for ahead in AHEAD {
        let mut search = Search::new(&some, profile, first.clone());
        search.distance = f64::INFINITY;
        search.grid(&first, ahead);
        found.push((search.distance, search.best));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (distance, cache) in found.iter_mut().take(TOGETHER) {
        let mut search = Search::new(&some, profile, cache.clone());
        for _ in 0..2 {
            search.sizes();
            search.options(has_writes);
        }
        (*distance, *cache) = (search.distance, search.best);
    }
    found.truncate(TOGETHER);
    let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    improve(
        replica,
        profile,
        best.map_or(first, |(_, cache)| cache),
        has_writes,
    )
}

/// The same, from a buffer that is about right.
pub(super) fn improve(
    replica: &Replica<'_>,
    profile: &DiskProfile,
    from: CacheProfile,
    has_writes: bool,
) -> CacheProfile {
    let mut search = Search::new(replica, profile, from);
    for _ in 0..3 {
        let before = search.distance;
        search.sizes();
        search.options(has_writes);
        if search.distance >= before {
            break;
        }
    }
    search.best
}

impl<'a> Search<'a> {
    fn new(replica: &'a Replica<'a>, profile: &DiskProfile, from: CacheProfile) -> Self {
        let mut search = Self {
            replica,
            distance: f64::INFINITY,
            profile: profile.clone(),
            best: from.clone(),
        };
        search.try_this(from);
        search
    }

    fn try_this(&mut self, mut cache: CacheProfile) {
        fit(&mut cache);
        if cache == self.best && self.distance < f64::INFINITY {
            return;
        }
        self.profile.cache = Some(cache.clone());
        let distance = self.replica.distance(&self.profile);
        if distance < self.distance {
            (self.distance, self.best) = (distance, cache);
        }
    }

    /// Sizes, with one way of reading ahead.
    fn grid(&mut self, first: &CacheProfile, ahead: Ahead) {
        for segments in [1, 2, 3, 4, 6, 8, 12, 16, 32] {
            for sectors in (5..=13).map(|power| 1 << power) {
                let mut cache = CacheProfile {
                    segments,
                    segment_sectors: sectors,
                    maximum_read_ahead_sectors: 0,
                    write_segments: first.write_segments.min(segments),
                    ..first.clone()
                };
                set_ahead(&mut cache, ahead);
                self.try_this(cache.clone());
                if cache.maximum_read_ahead_sectors > 0 {
                    cache.maximum_read_ahead_sectors = sectors / 2;
                    self.try_this(cache);
                }
            }
        }
    }

    /// Segments, their size, and how far read-ahead goes, by ever smaller steps.
    fn sizes(&mut self) {
        let segments = self.best.segments;
        for segments in [
            segments * 2,
            segments + 3,
            segments + 2,
            segments + 1,
            segments - 1,
            segments / 2,
        ] {
            let best = self.best.clone();
            self.try_this(CacheProfile { segments, ..best });
        }
        for step in [1.2, 1.06, 1.02, 1.005] {
            for power in [-3, -2, -1, 1, 2, 3] {
                let times = |n: u64| ((n as f64 * f64::powi(step, power)) as u64).max(1);
                let best = self.best.clone();
                let most = best.maximum_read_ahead_sectors;
                self.try_this(CacheProfile {
                    segment_sectors: times(best.segment_sectors),
                    ..best.clone()
                });
                if most > 0 {
                    self.try_this(CacheProfile {
                        maximum_read_ahead_sectors: times(most),
                        ..best.clone()
                    });
                    self.try_this(CacheProfile {
                        segment_sectors: times(best.segment_sectors),
                        maximum_read_ahead_sectors: times(most),
                        ..best
                    });
                }
            }
        }
    }

    /// Everything that is on or off, or one of several ways.
    fn options(&mut self, has_writes: bool) {
        for ahead in AHEAD {
            let mut cache = self.best.clone();
            set_ahead(&mut cache, ahead);
            self.try_this(cache);
        }
        for switch in READING.iter().chain(if has_writes { WRITING } else { &[] }) {
            let mut cache = self.best.clone();
            switch(&mut cache);
            self.try_this(cache);
        }
        if has_writes {
            for write_segments in [1, 2, 3, 4, 8, self.best.segments] {
                let best = self.best.clone();
                self.try_this(CacheProfile {
                    write_segments,
                    ..best
                });
            }
        }
    }
}

/// What must hold between the keys of a buffer.
pub(super) fn fit(cache: &mut CacheProfile) {
    let least = 1 + u32::from(cache.separate_write_segment);
    cache.segments = cache.segments.max(least);
    cache.write_segments = cache.write_segments.clamp(1, cache.segments);
    for sectors in [
        &mut cache.maximum_read_ahead_sectors,
        &mut cache.minimum_read_ahead_sectors,
    ] {
        *sectors = (*sectors).min(cache.segment_sectors);
    }
}

/// A read-ahead policy: how far, whether requested sectors are kept, and whether there is a limit.
type Ahead = (ReadAhead, Requested, bool);

const AHEAD: [Ahead; 7] = [
    (ReadAhead::None, Requested::Kept, false),
    (ReadAhead::Maximum, Requested::Kept, false),
    (ReadAhead::Maximum, Requested::PushedOut, true),
    (ReadAhead::NextTrack, Requested::PushedOut, true),
    (ReadAhead::Track, Requested::PushedOut, true),
    (ReadAhead::Cylinder, Requested::PushedOut, true),
    (ReadAhead::Maximum, Requested::DroppedWhenSent, true),
];

fn set_ahead(cache: &mut CacheProfile, (ahead, requested, limited): Ahead) {
    (cache.read_ahead, cache.requested) = (ahead, requested);
    cache.maximum_read_ahead_sectors = match limited {
        true if cache.maximum_read_ahead_sectors == 0 => cache.segment_sectors,
        true => cache.maximum_read_ahead_sectors,
        false => 0,
    };
}

type Switch = fn(&mut CacheProfile);

const READING: &[Switch] = &[
    |c| c.free_blocks = !c.free_blocks,
    |c| c.immediate_reads = !c.immediate_reads,
    |c| c.read_ahead_on_hit = !c.read_ahead_on_hit,
    |c| c.stop_in_sector = !c.stop_in_sector,
    |c| c.almost_read_hits = !c.almost_read_hits,
    |c| c.sends_partial_hits = !c.sends_partial_hits,
];

const WRITING: &[Switch] = &[
    |c| c.read_hits_on_written = !c.read_hits_on_written,
    |c| c.writes_wait_for_medium = !c.writes_wait_for_medium,
    |c| c.combine_writes = !c.combine_writes,
    |c| {
        c.separate_write_segment = !c.separate_write_segment;
        // The reads keep as many.
        c.segments = match c.separate_write_segment {
            true => c.segments + 1,
            false => c.segments.max(2) - 1,
        };
    },
];

/// What the recording says about one of the sizes of a buffer: the values with which it is explained as well.
pub(super) fn allowed(
    replica: &Replica<'_>,
    best: &DiskProfile,
    get: fn(&CacheProfile) -> u64,
    set: fn(&mut CacheProfile, u64),
) -> Figure {
    let Some(cache) = &best.cache else {
        return Err(Missing::Hits);
    };
    let value = get(cache);
    let with = |value: u64| {
        let mut cache = cache.clone();
        set(&mut cache, value);
        fit(&mut cache);
        DiskProfile {
            cache: Some(cache),
            ..best.clone()
        }
    };
    let limit = replica.distance(best) + COMPARED;
    let explains = |value: u64| replica.distance(&with(value)) <= limit;
    let step = |value: u64| (value / 100).max(1);
    let (mut low, mut high) = (value, value);
    let widest = WIDEST.powi(2);
    while low > 1 && low as f64 * widest > value as f64 && explains(low - step(low)) {
        low -= step(low);
    }
    while (high as f64) < value as f64 * widest && explains(high + step(high)) {
        high += step(high);
    }
    if high as f64 > low as f64 * WIDEST {
        return Err(Missing::Insensitive);
    }
    let apart = |value: u64| replica.differing(best, &with(value));
    Ok(Found {
        value: f64::midpoint(low as f64, high as f64).round(),
        low: low as f64,
        high: high as f64,
        requests: apart(low.saturating_sub(step(low)).max(1)).max(apart(high + step(high))),
    })
}
