//! Where the bands and the media cache of a shingled drive lie.
//!
//! ```text
//!  sectors of the medium   band 0 | band 1 | ... | media cache (a ring) | ... | last band
//!  sectors of the host     0 ...                 |                      | ... capacity
//! ```
//!
//! Blocks are mapped to bands statically: the home of a sector is where it would be on a drive whose sectors are
//! those outside the media cache. A band is a number of tracks of one zone; the last one of a zone, and the one before
//! the media cache, may be shorter.

use std::ops::Range;

use crate::geometry::Geometry;
use crate::profile::{BandCleaning, CachePlace, ShingledProfile};
use crate::{DiskProfile, Mechanics};

/// What shingled drives of a kind share.
#[derive(Debug)]
pub(crate) struct Bands {
    /// The sectors of the medium that are the media cache.
    cache: Range<u64>,
    /// How many sectors there are for the host.
    pub(crate) capacity: u64,
    band_tracks: u64,
    pub(crate) map_entries: usize,
    pub(crate) record_ns: f64,
    pub(crate) stream_sectors: u64,
    pub(crate) cleaning: BandCleaning,
    pub(crate) idle_ns: f64,
}

impl Bands {
    pub(crate) fn new(
        shingled: &ShingledProfile,
        profile: &DiskProfile,
        geometry: &Geometry,
    ) -> Self {
        let all = geometry.capacity();
        let sectors = shingled.cache_sectors().min(all - 1);
        let capacity = all - sectors;
        let begin = match shingled.media_cache_place {
            CachePlace::Outer => 0,
            CachePlace::Middle => geometry.track(capacity / 2).first.min(capacity),
            CachePlace::Inner => capacity,
        };
        Self {
            cache: begin..begin + sectors,
            capacity,
            band_tracks: u64::from(shingled.band_tracks),
            map_entries: shingled.map_entries as usize,
            record_ns: f64::from(shingled.map_record_revolutions) * profile.revolution_ms * 1e6,
            stream_sectors: shingled.stream_sectors,
            cleaning: shingled.cleaning,
            idle_ns: shingled.idle_ms * 1e6,
        }
    }

    /// The size of the media cache in sectors.
    #[inline]
    pub(crate) fn cache_sectors(&self) -> u64 {
        self.cache.end - self.cache.start
    }

    /// Where a place of the log is on the medium, and how many sectors follow on it before the ring closes.
    #[inline]
    pub(crate) fn of_log(&self, place: u64) -> (u64, u64) {
        let in_ring = place % self.cache_sectors();
        (self.cache.start + in_ring, self.cache_sectors() - in_ring)
    }

    /// The home of a sector of the host on the medium, and how many homes follow on it.
    #[inline]
    pub(crate) fn home(&self, sector: u64) -> (u64, u64) {
        match sector < self.cache.start {
            true => (sector, self.cache.start - sector),
            false => (sector + self.cache_sectors(), self.capacity - sector),
        }
    }

    /// The sectors of the host that are in the band of one.
    pub(crate) fn band(&self, mechanics: &Mechanics, sector: u64) -> Range<u64> {
        let (home, _) = self.home(sector);
        let (zone, zone_end) = mechanics.geometry.zone(home);
        let size = self.band_tracks * mechanics.geometry.sectors_per_track(home);
        // Homes on this side of the media cache, as sectors of the host.
        let before = home < self.cache.start;
        let (low, high) = match before {
            true => (zone, zone_end.min(self.cache.start)),
            false => (zone.max(self.cache.end), zone_end),
        };
        let first = low + (home - low) / size * size;
        let shift = if before { 0 } else { self.cache_sectors() };
        first - shift..(first + size).min(high) - shift
    }
}
