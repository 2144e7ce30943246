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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Two zones of two surfaces, 18 tracks of 30 sectors and 14 of 10, and bands of 4 tracks.
    fn mechanics() -> std::sync::Arc<Mechanics> {
        let mut profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        profile.cylinders = 16;
        profile.geometry = toml::from_str(
            "surfaces = 2\nhead_switch_ms = 0.0\ntrack_skew_ms = 0.0\ncylinder_skew_ms = 0.0\n\
             zones = [{ first_cylinder = 0, sectors_per_track = 30 }, { first_cylinder = 9, sectors_per_track = 10 }]",
        )
        .unwrap();
        Mechanics::new(&profile)
    }

    const ALL: u64 = 18 * 30 + 14 * 10;

    fn bands(place: CachePlace, cache_sectors: u64) -> Bands {
        let shingled = ShingledProfile {
            band_tracks: 4,
            // Whole sectors, whatever rounding does.
            media_cache_gb: (cache_sectors as f64 + 0.5) * 512.0 / 1e9,
            media_cache_place: place,
            map_entries: 7,
            map_record_revolutions: 3,
            stream_sectors: 5,
            cleaning: BandCleaning::Lazy,
            idle_ms: 2.5,
        };
        let mut profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        profile.revolution_ms = 10.0;
        Bands::new(&shingled, &profile, mechanics().geometry())
    }

    #[test]
    fn times_are_in_nanoseconds_and_the_cache_leaves_the_host_the_rest() {
        let bands = bands(CachePlace::Outer, 60);
        assert_eq!((bands.cache_sectors(), bands.capacity), (60, ALL - 60));
        // Three revolutions of 10 ms.
        assert_eq!((bands.record_ns, bands.idle_ns), (30e6, 2.5e6));
        assert_eq!((bands.map_entries, bands.stream_sectors), (7, 5));
    }

    #[test]
    fn homes_are_all_sectors_but_those_of_the_cache() {
        for (place, begin) in [
            (CachePlace::Outer, 0),
            // The first sector of the track of the middle one of 620.
            (CachePlace::Middle, 300),
            (CachePlace::Inner, ALL - 60),
        ] {
            let bands = bands(place, 60);
            let homes = (0..ALL).filter(|&s| s < begin || s >= begin + 60);
            for (sector, home) in homes.enumerate() {
                // As many follow as there are up to the cache, or up to the end of the disk.
                let end = if home < begin { begin } else { ALL };
                assert_eq!(bands.home(sector as u64), (home, end - home), "{place:?}");
            }
            // Places of the log go round and round.
            for (place, expected) in [(0, (0, 60)), (59, (59, 1)), (60, (0, 60)), (130, (10, 50))] {
                assert_eq!(bands.of_log(place), (begin + expected.0, expected.1));
            }
        }
    }

    #[test]
    fn a_band_is_four_tracks_of_one_zone_on_one_side_of_the_cache() {
        let mechanics = mechanics();
        for place in [CachePlace::Outer, CachePlace::Middle, CachePlace::Inner] {
            let bands = bands(place, 60);
            // Track after track, as sectors of the host: how many it has, and whether a band begins with it anyway.
            let (mut sector, mut begins, mut tracks) = (0, vec![0], 0);
            let mut last_home = None;
            while sector < bands.capacity {
                let (home, _) = bands.home(sector);
                let zone = mechanics.geometry().place(home).cylinder >= 9;
                let breaks = last_home.is_some_and(|(last, of)| of != zone || last + 1 != home);
                if breaks || tracks == 4 {
                    begins.push(sector);
                    tracks = 0;
                }
                let track = mechanics.geometry().track(home);
                sector += track.last + 1 - home;
                last_home = Some((track.last, zone));
                tracks += 1;
            }
            begins.push(bands.capacity);
            for band in begins.windows(2) {
                for sector in band[0]..band[1] {
                    assert_eq!(
                        bands.band(&mechanics, sector),
                        band[0]..band[1],
                        "{place:?}"
                    );
                }
            }
        }
    }
}
