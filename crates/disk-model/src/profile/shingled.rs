//! What makes a drive a drive-managed shingled one: bands, a media cache, and when it is cleaned.
//!
//! The parameters are those that Aghayev and Desnoyers, "Skylight: A Window on Shingled Disk Operation", FAST 2015,
//! find by measurement.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;
use crate::{DiskProfile, Geometry};

/// The position of the media cache on the platters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CachePlace {
    /// On the outermost tracks.
    Outer,
    /// In the middle of the range of sectors.
    Middle,
    /// On the innermost tracks.
    Inner,
}

/// When bands are cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandCleaning {
    /// When no request has arrived for `idle_ms`, until the media cache is empty; and when the media cache is full.
    Aggressive,
    /// Only when the media cache or its map is full.
    Lazy,
}

/// A drive whose tracks overlap: a band of tracks is written as a whole, and other writes go to a media cache. Needs a
/// `[cache]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShingledProfile {
    /// The number of tracks in a band; bands of outer zones are therefore larger.
    pub band_tracks: u32,
    /// The size of the media cache in 10^9 bytes. The cache is not part of the drive's capacity.
    pub media_cache_gb: f64,
    /// The position of the media cache.
    pub media_cache_place: CachePlace,
    /// The number of extents that the map of the media cache holds.
    pub map_entries: u32,
    /// The number of whole revolutions needed to record the map after the data of an append.
    #[serde(default)]
    pub map_record_revolutions: u32,
    /// The minimum length of a run of writes that, when it reaches the beginning of a band, continues directly in this
    /// band instead of in the media cache.
    pub stream_sectors: u64,
    /// When bands are cleaned.
    pub cleaning: BandCleaning,
    /// The time without requests after which cleaning begins.
    #[serde(default)]
    pub idle_ms: f64,
}

impl ShingledProfile {
    /// The size of the media cache in sectors.
    pub(crate) fn cache_sectors(&self) -> u64 {
        (self.media_cache_gb * 1e9 / 512.0).floor() as u64
    }
}

impl ShingledProfile {
    /// Whether each value is one that a drive may have.
    pub(super) fn check(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        for (key, seen, range, expected) in [
            (
                "shingled.band_tracks",
                f64::from(self.band_tracks),
                (1.0, 1e5),
                "1 to 100000 tracks",
            ),
            (
                "shingled.media_cache_gb",
                self.media_cache_gb,
                (1e-6, 1e4),
                "0.000001 to 10000",
            ),
            // What the cut of an entry in two may need, and one to go on.
            (
                "shingled.map_entries",
                f64::from(self.map_entries),
                (4.0, 1e8),
                "4 to 100000000",
            ),
            (
                "shingled.map_record_revolutions",
                f64::from(self.map_record_revolutions),
                (0.0, 1e3),
                "0 to 1000",
            ),
            (
                "shingled.stream_sectors",
                self.stream_sectors as f64,
                (1.0, 1e12),
                "1 to 10^12 sectors",
            ),
            (
                "shingled.idle_ms",
                self.idle_ms,
                (0.0, 1e9),
                "a time in milliseconds, 0 to 1e9",
            ),
        ] {
            if !(range.0..=range.1).contains(&seen) {
                return refuse(key, seen, expected);
            }
        }
        Ok(())
    }
}

impl DiskProfile {
    /// The sectors that the positional model has for its host: those of the geometry that are not the media cache's.
    pub fn addressable_sectors(&self) -> u64 {
        let media_cache = self.shingled.as_ref();
        let taken = media_cache.map_or(0, ShingledProfile::cache_sectors);
        Geometry::new(self).capacity().saturating_sub(taken)
    }

    /// Whether the bands and the media cache are those of a drive.
    pub(super) fn check_shingled(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        let Some(shingled) = &self.shingled else {
            return Ok(());
        };
        shingled.check(refuse)?;
        let Some(cache) = &self.cache else {
            let expected =
                "a [cache] table as well: a shingled drive collects writes in its buffer";
            return refuse("shingled", 1.0, expected);
        };
        if self.layout.is_some() {
            let expected = "no [layout] table: bands consist of tracks whose sectors all hold data";
            return refuse("shingled", 1.0, expected);
        }
        let sectors = shingled.cache_sectors();
        if sectors < 2 * cache.segment_sectors {
            let expected = "room for at least two buffer segments, which are written together";
            return refuse("shingled.media_cache_gb", shingled.media_cache_gb, expected);
        }
        let all = Geometry::new(self).capacity();
        if all <= sectors {
            let expected = "less than the capacity of the geometry, which includes the media cache";
            return refuse("shingled.media_cache_gb", shingled.media_cache_gb, expected);
        }
        Ok(())
    }
}
