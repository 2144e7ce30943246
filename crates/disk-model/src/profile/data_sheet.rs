//! A drive from its data sheet: what a buyer knows, and how the rest follows from it.
//!
//! | parameter | formula |
//! |---|---|
//! | revolution | `60000 / rpm` ms |
//! | sectors per track, outermost and innermost | `rate (revolution + switch) / 512 B`: a sustained transfer loses a switch per track |
//! | cylinders | `capacity / (heads x mean sectors per track)` |
//! | seek curve | `a + b sqrt(d)` through the track-to-track time and the average seek over all pairs of sectors |
//! | skews | the switch that they cover |
//!
//! What a sheet leaves out is assumed, and [`DataSheet::derivation`] says so.

use iosonar_device::{Derivation, Derived};
use serde::{Deserialize, Serialize};

use super::check::Refuse;
use super::{
    BusProfile, CacheProfile, DiskProfile, GeometryProfile, OverheadsProfile, ProfileError,
    QueueProfile, ReadAhead, SeekPoints, SeekProfile, ShingledProfile, TransferProfile,
    WaterMarkOf, ZoneProfile,
};
use crate::{ArmScheduler, SeekDistance, ZoneLaw, Zoning};

/// How many zones a drive has whose sheet does not say.
const ZONES: u32 = 24;
/// The rate of the innermost track as a share of the outermost one's: the ratio of the radii of what is written on.
const INNER_SHARE: f64 = 0.48;
/// The electronics' time for a command, which no sheet states; of the validated drives it is 0.05 to 0.9 ms.
const COMMAND_MS: f64 = 0.1;
/// Capacity per surface above which a drive of this decade has another platter.
const GB_PER_SURFACE: f64 = 1_100.0;

/// The figures of a data sheet of a drive.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DataSheet {
    /// The capacity in 10^9 bytes.
    pub capacity_gb: f64,
    /// The rotational speed, in revolutions per minute.
    pub rpm: f64,
    /// The sustained rate on the outermost tracks, in 10^6 bytes per second.
    pub outer_mb_per_s: f64,
    /// The sustained rate on the innermost tracks, in 10^6 bytes per second.
    pub inner_mb_per_s: Option<f64>,
    /// The average seek time of reads, which vendors of nearline drives no longer state.
    pub read_seek_ms: Option<f64>,
    /// The average seek time of writes.
    pub write_seek_ms: Option<f64>,
    /// The seek time of a read to the next track.
    pub track_to_track_ms: Option<f64>,
    /// The number of surfaces that have a head.
    pub heads: Option<u32>,
    /// The size of the buffer in MiB.
    pub cache_mib: Option<u32>,
    /// The rate of the interface, in 10^6 bytes per second.
    pub interface_mb_per_s: Option<f64>,
}

impl DataSheet {
    /// The drive, shingled or not, with the sources of its parameters.
    pub fn profile(
        &self,
        description: &str,
        shingled: Option<&ShingledProfile>,
    ) -> (DiskProfile, Vec<Derived>) {
        let mut found = Derivation::default();
        let revolution_ms = found.add("revolution_ms", 60_000.0 / self.rpm, "60000 / rpm");
        let read_seek_ms = found.given_or(
            "average read seek time",
            self.read_seek_ms,
            usual_seek_ms(self.rpm),
            "typical of this rotational speed",
        );
        let track_to_track_ms = found.given_or(
            "seek.read.track_to_track_ms",
            self.track_to_track_ms,
            (0.1 * read_seek_ms).min(0.8),
            "a tenth of the average read seek time, at most 0.8",
        );
        let (outer, inner) = self.sectors_at_the_ends(&mut found, revolution_ms, track_to_track_ms);
        let capacity_sectors = (self.capacity_gb * 1e9 / 512.0).floor() as u64;
        let heads = found.given_or(
            "geometry.surfaces",
            self.heads.map(f64::from),
            (self.capacity_gb / GB_PER_SURFACE).ceil().max(2.0),
            "1.1 TB per surface, at least 2",
        );
        let sectors = capacity_sectors + shingled.map_or(0, ShingledProfile::cache_sectors);
        let geometry = geometry(outer, inner, heads, sectors, track_to_track_ms);
        let cylinders = f64::from(geometry.1);
        found.add(
            "cylinders",
            cylinders,
            "capacity / (surfaces x mean sectors per track)",
        );
        let transfer = TransferProfile {
            outermost_ms_per_sector: revolution_ms / outer,
            innermost_ms_per_sector: revolution_ms / inner,
            zoning: Zoning::default(),
        };
        let seek = self.seek(
            &mut found,
            &transfer,
            revolution_ms,
            (track_to_track_ms, read_seek_ms),
        );
        let (cache, overheads, mut bus) = self.electronics(&mut found);
        if let Some(bus) = bus.as_mut().filter(|_| shingled.is_some()) {
            // The arm writes half a segment while the other half is filled.
            (bus.write_water_mark, bus.water_mark_of) = (0.5, WaterMarkOf::Segment);
        }
        let profile = DiskProfile {
            name: String::new(),
            description: description.to_owned(),
            provenance: None,
            data_sheet: Some(self.clone()),
            cylinders: geometry.1,
            revolution_ms,
            capacity_sectors,
            transfer,
            seek,
            geometry: geometry.0,
            // What SATA's and SAS's queues hold by default.
            queue: Some(QueueProfile {
                scheduler: ArmScheduler::Sptf,
                depth: 32,
            }),
            layout: None,
            cache,
            overheads,
            bus,
            shingled: shingled.cloned(),
        };
        (profile, found.0)
    }

    /// Sectors of a track, outermost and innermost.
    fn sectors_at_the_ends(
        &self,
        found: &mut Derivation,
        revolution_ms: f64,
        track_to_track_ms: f64,
    ) -> (f64, f64) {
        let outer = sectors_per_track(self.outer_mb_per_s, revolution_ms, track_to_track_ms);
        let inner_rate = found.given_or(
            "inner_mb_per_s",
            self.inner_mb_per_s,
            INNER_SHARE * self.outer_mb_per_s,
            "0.48 x the rate of the outermost tracks",
        );
        let inner = sectors_per_track(inner_rate, revolution_ms, track_to_track_ms);
        let of_track = "rate x (revolution + track switch) / 512 B";
        found.add("sectors_per_track, outermost", outer, of_track);
        found.add("sectors_per_track, innermost", inner, of_track);
        (outer, inner)
    }

    fn seek(
        &self,
        found: &mut Derivation,
        transfer: &TransferProfile,
        revolution_ms: f64,
        (track_to_track_ms, read_ms): (f64, f64),
    ) -> SeekProfile {
        let zones = ZoneLaw::new(
            transfer.zoning,
            revolution_ms,
            transfer.outermost_ms_per_sector,
            transfer.innermost_ms_per_sector,
        );
        let root = mean_root_of_distance(&zones);
        // The first track's share of the root is nothing beside that of the stroke.
        let full = |first: f64, mean: f64| first + (mean - first).max(0.0) / root;
        let from = format!(
            "track to track + (average - track to track) / {root:.4}, the mean square root of the distance"
        );
        let write_ms = found.given_or(
            "average write seek time",
            self.write_seek_ms,
            read_ms + 0.6,
            "that of reads plus 0.6 ms to settle",
        );
        let settle = (write_ms - read_ms).max(0.0);
        let write_first = found.add(
            "seek.write.track_to_track_ms",
            track_to_track_ms + settle,
            "that of reads plus the difference between the average seek times",
        );
        let read_full = full(track_to_track_ms, read_ms);
        let write_full = full(write_first, write_ms);
        found.add("seek.read.full_stroke_ms", read_full, from.clone());
        found.add("seek.write.full_stroke_ms", write_full, from);
        let points = |track_to_track_ms, full_stroke_ms| SeekPoints {
            track_to_track_ms,
            full_stroke_ms,
            measured: Vec::new(),
        };
        SeekProfile {
            read: points(track_to_track_ms, read_full),
            write: points(write_first, write_full),
            curve: None,
            write_settle_ms: 0.0,
        }
    }

    /// The buffer, the electronics and the bus of a drive that has a buffer.
    fn electronics(
        &self,
        found: &mut Derivation,
    ) -> (
        Option<CacheProfile>,
        Option<OverheadsProfile>,
        Option<BusProfile>,
    ) {
        let Some(cache_mib) = self.cache_mib.filter(|mib| *mib > 0) else {
            return (None, None, None);
        };
        let segments = cache_mib.clamp(4, 128);
        let segment_sectors = u64::from(cache_mib) * 2048 / u64::from(segments);
        found.add(
            "cache.segments",
            f64::from(segments),
            "assumed: one per MiB, 4 to 128",
        );
        found.add(
            "cache.segment_sectors",
            segment_sectors as f64,
            "cache / segments",
        );
        found.add(
            "cache.write_segments",
            f64::from(segments / 2),
            "assumed: half of them",
        );
        let cache = CacheProfile {
            segments,
            segment_sectors,
            write_segments: segments / 2,
            read_ahead: ReadAhead::Maximum,
            maximum_read_ahead_sectors: segment_sectors,
            // A stream whose next request comes as soon as the last is done does not wait for a turn.
            almost_read_hits: true,
            fast_writes: true,
            ..CacheProfile::default()
        };
        let command = found.add(
            "overheads (per command)",
            COMMAND_MS,
            "assumed: not stated in data sheets",
        );
        let overheads = OverheadsProfile {
            read_hit_after_read_ms: command,
            read_hit_after_write_ms: command,
            read_miss_after_read_ms: command,
            read_miss_after_write_ms: command,
            write_hit_after_read_ms: command,
            write_hit_after_write_ms: command,
            write_miss_after_read_ms: command,
            write_miss_after_write_ms: command,
            ..OverheadsProfile::default()
        };
        let rate = found.given_or(
            "interface_mb_per_s",
            self.interface_mb_per_s,
            600.0,
            "SATA 6 Gb/s",
        );
        let per_sector = found.add(
            "bus.read_ms_per_sector",
            0.512 / rate,
            "512 B / interface rate",
        );
        let bus = BusProfile {
            read_ms_per_sector: per_sector,
            write_ms_per_sector: per_sector,
            ..BusProfile::default()
        };
        (Some(cache), Some(overheads), Some(bus))
    }
}

/// Sectors that pass in a revolution, if a track costs a switch besides.
fn sectors_per_track(mb_per_s: f64, revolution_ms: f64, switch_ms: f64) -> f64 {
    (mb_per_s * 1e3 * (revolution_ms + switch_ms) / 512.0)
        .round()
        .max(1.0)
}

/// The average seek of a drive whose sheet does not say: the arm of a faster drive is shorter. 12 ms at 5400 rpm, 8 at
/// 7200 (Ultrastar DC HC310: 7.4, Constellation ES.3: 8.5), 3.9 at 10,000 (Savvio 10K.4: 3.8), 3.2 at 15,000 (Ultrastar
/// C15K600: 2.9, Cheetah 15K.7: 3.4).
fn usual_seek_ms(rpm: f64) -> f64 {
    match rpm {
        ..6_000.0 => 12.0,
        ..9_000.0 => 8.0,
        ..12_000.0 => 3.9,
        _ => 3.2,
    }
}

/// The mean of the square root of the distance between two random sectors, as a share of that of the full stroke.
fn mean_root_of_distance(zones: &ZoneLaw) -> f64 {
    /// The midpoint rule is then off by less than 1e-5.
    const STEPS: u32 = 4096;
    let distance = SeekDistance::new(zones);
    let root = |i| {
        distance
            .exceeded_with((f64::from(i) + 0.5) / f64::from(STEPS))
            .sqrt()
    };
    (0..STEPS).map(root).sum::<f64>() / f64::from(STEPS)
}

/// Zones between the rates of the two ends, on as few cylinders as hold the capacity.
fn geometry(
    outer: f64,
    inner: f64,
    heads: f64,
    capacity_sectors: u64,
    switch_ms: f64,
) -> (GeometryProfile, u32) {
    let of_zone = |i: u32| outer + (inner - outer) * f64::from(i) / f64::from(ZONES - 1);
    let sectors: Vec<u32> = (0..ZONES).map(|i| of_zone(i).round() as u32).collect();
    let of_cylinders: f64 = sectors.iter().map(|&n| f64::from(n) * heads).sum();
    // More than any drive has; what comes to more is refused.
    let of_zone = (capacity_sectors as f64 / of_cylinders)
        .ceil()
        .clamp(1.0, 1e7) as u32;
    let zones = sectors
        .iter()
        .zip(0..)
        .map(|(&sectors_per_track, i)| ZoneProfile {
            first_cylinder: i * of_zone,
            sectors_per_track,
        });
    let geometry = GeometryProfile {
        surfaces: heads as u32,
        head_switch_ms: switch_ms,
        cylinder_switch_ms: Some(switch_ms),
        track_skew_ms: switch_ms,
        cylinder_skew_ms: switch_ms,
        zones: zones.collect(),
        is_assumed: false,
    };
    (geometry, ZONES * of_zone)
}

impl DataSheet {
    /// Whether the figures can be those of a drive.
    pub(super) fn check(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        let read_seek_ms = self.read_seek_ms.unwrap_or_else(|| usual_seek_ms(self.rpm));
        for (key, value, range, expected) in [
            (
                "from_data_sheet.capacity_gb",
                Some(self.capacity_gb),
                (0.01, 1e6),
                "0.01 to 1e6",
            ),
            (
                "from_data_sheet.rpm",
                Some(self.rpm),
                (100.0, 1e5),
                "100 to 100000",
            ),
            (
                "from_data_sheet.outer_mb_per_s",
                Some(self.outer_mb_per_s),
                (0.1, 5e3),
                "0.1 to 5000",
            ),
            (
                "from_data_sheet.inner_mb_per_s",
                self.inner_mb_per_s,
                (0.1, self.outer_mb_per_s),
                "0.1 to the rate of the outermost tracks",
            ),
            (
                "from_data_sheet.read_seek_ms",
                self.read_seek_ms,
                (0.01, 1e3),
                "0.01 to 1000",
            ),
            (
                "from_data_sheet.write_seek_ms",
                self.write_seek_ms,
                (read_seek_ms, 1e3),
                "at least that of reads",
            ),
            (
                "from_data_sheet.track_to_track_ms",
                self.track_to_track_ms,
                (0.001, read_seek_ms),
                "0.001 to the average seek",
            ),
            (
                "from_data_sheet.heads",
                self.heads.map(f64::from),
                (1.0, 64.0),
                "1 to 64",
            ),
            (
                "from_data_sheet.cache_mib",
                self.cache_mib.map(f64::from),
                (0.0, 65_536.0),
                "0 to 65536",
            ),
            (
                "from_data_sheet.interface_mb_per_s",
                self.interface_mb_per_s,
                (0.1, 1e5),
                "0.1 to 100000",
            ),
        ] {
            if let Some(value) = value
                && !(range.0..=range.1).contains(&value)
            {
                return refuse(key, value, expected);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> DataSheet {
        DataSheet {
            capacity_gb: 1000.0,
            rpm: 7500.0,
            outer_mb_per_s: 128.0,
            inner_mb_per_s: None,
            read_seek_ms: None,
            write_seek_ms: None,
            track_to_track_ms: None,
            heads: None,
            cache_mib: None,
            interface_mb_per_s: None,
        }
    }

    fn shingled() -> ShingledProfile {
        ShingledProfile {
            band_tracks: 20,
            media_cache_gb: 20.48,
            media_cache_place: crate::CachePlace::Outer,
            map_entries: 1000,
            map_record_revolutions: 0,
            stream_sectors: 1000,
            cleaning: crate::BandCleaning::Lazy,
            idle_ms: 0.0,
        }
    }

    fn near(seen: f64, expected: f64) {
        let off = (seen - expected).abs();
        assert!(
            off < 1e-9 * expected.abs().max(1.0),
            "{seen}, not {expected}"
        );
    }

    #[test]
    fn a_sheet_of_three_figures_makes_a_drive_by_the_formulas() {
        let (profile, derived) = sheet().profile("made up", None);
        // 60,000 / 7500 ms, a seek of 8 ms, and a tenth of that to the next track.
        near(profile.revolution_ms, 8.0);
        near(profile.seek.read.track_to_track_ms, 0.8);
        // 128,000 B/ms in 8.8 ms are 2200 sectors; 0.48 of that on the innermost tracks.
        near(profile.transfer.outermost_ms_per_sector, 8.0 / 2200.0);
        near(profile.transfer.innermost_ms_per_sector, 8.0 / 1056.0);
        assert_eq!(profile.capacity_sectors, 1_953_125_000);
        // 1.1 TB per surface, at least two.
        let geometry = &profile.geometry;
        assert_eq!(geometry.surfaces, 2);
        assert!(!geometry.is_assumed);
        let skews = [
            geometry.head_switch_ms,
            geometry.cylinder_switch_ms.unwrap(),
            geometry.track_skew_ms,
            geometry.cylinder_skew_ms,
        ];
        for ms in skews {
            near(ms, 0.8);
        }
        // 24 zones from 2200 down to 1056 sectors, of as few cylinders as hold all: 39,072 sectors on the tracks of one
        // surface, one of each zone.
        let zones = &geometry.zones;
        assert_eq!(zones.len(), 24);
        let sectors: Vec<u32> = zones.iter().map(|zone| zone.sectors_per_track).collect();
        let expected = (0..24).map(|i| (2200.0 - 1144.0 * f64::from(i) / 23.0).round() as u32);
        assert_eq!(sectors, expected.collect::<Vec<_>>());
        let of_zone =
            (1_953_125_000.0 / (2.0 * f64::from(sectors.iter().sum::<u32>()))).ceil() as u32;
        assert!(
            zones
                .iter()
                .zip(0..)
                .all(|(zone, i)| zone.first_cylinder == i * of_zone)
        );
        assert_eq!(profile.cylinders, 24 * of_zone);
        // Writes settle for 0.6 ms more, on the next track as well.
        near(profile.seek.write.track_to_track_ms, 1.4);
        let span = |points: &SeekPoints| points.full_stroke_ms - points.track_to_track_ms;
        near(span(&profile.seek.read), span(&profile.seek.write));
        assert_eq!(
            (profile.cache, profile.overheads, profile.bus),
            (None, None, None)
        );
        let queue = profile.queue.unwrap();
        assert_eq!((queue.scheduler, queue.depth), (ArmScheduler::Sptf, 32));
        let from = |key: &str| {
            let found = derived.iter().find(|derived| derived.key == key).unwrap();
            (found.value, found.from.as_str())
        };
        assert_eq!(from("revolution_ms"), (8.0, "60000 / rpm"));
        assert_eq!(
            from("geometry.surfaces"),
            (2.0, "assumed: 1.1 TB per surface, at least 2")
        );
        let inner = "assumed: 0.48 x the rate of the outermost tracks";
        assert_eq!(from("inner_mb_per_s"), (61.44, inner));
        assert_eq!(from("average write seek time").0, 8.6);
    }

    #[test]
    fn what_a_sheet_states_is_taken() {
        let stated = DataSheet {
            inner_mb_per_s: Some(64.0),
            read_seek_ms: Some(7.0),
            write_seek_ms: Some(7.5),
            track_to_track_ms: Some(1.0),
            heads: Some(5),
            cache_mib: Some(64),
            interface_mb_per_s: Some(300.0),
            capacity_gb: 5000.0,
            ..sheet()
        };
        let (profile, _) = stated.profile("made up", None);
        near(profile.seek.read.track_to_track_ms, 1.0);
        near(profile.seek.write.track_to_track_ms, 1.5);
        near(profile.transfer.outermost_ms_per_sector, 8.0 / 2250.0);
        near(profile.transfer.innermost_ms_per_sector, 8.0 / 1125.0);
        assert_eq!(profile.geometry.surfaces, 5);
        let cache = profile.cache.unwrap();
        assert_eq!((cache.segments, cache.segment_sectors), (64, 2048));
        assert_eq!(
            (cache.write_segments, cache.maximum_read_ahead_sectors),
            (32, 2048)
        );
        let bus = profile.bus.unwrap();
        near(bus.read_ms_per_sector, 512.0 / 300e3);
        near(bus.write_ms_per_sector, 512.0 / 300e3);
        assert_eq!(
            (bus.write_water_mark, bus.water_mark_of),
            (0.0, WaterMarkOf::Request)
        );
        let overheads = profile.overheads.unwrap();
        let commands = [
            overheads.read_hit_after_read_ms,
            overheads.read_hit_after_write_ms,
            overheads.read_miss_after_read_ms,
            overheads.read_miss_after_write_ms,
            overheads.write_hit_after_read_ms,
            overheads.write_hit_after_write_ms,
            overheads.write_miss_after_read_ms,
            overheads.write_miss_after_write_ms,
        ];
        assert_eq!(commands, [0.1; 8]);
        // Without heads, one surface for each 1.1 TB.
        for (capacity_gb, surfaces) in [(2200.0, 2), (2201.0, 3), (5500.0, 5), (5501.0, 6)] {
            let sheet = DataSheet {
                capacity_gb,
                ..sheet()
            };
            assert_eq!(sheet.profile("made up", None).0.geometry.surfaces, surfaces);
        }
        // Segments of 1 MiB, but 4 at least and 128 at most.
        for (cache_mib, segments, segment_sectors) in [
            (1, 4, 512),
            (4, 4, 2048),
            (128, 128, 2048),
            (256, 128, 4096),
        ] {
            let sheet = DataSheet {
                cache_mib: Some(cache_mib),
                ..sheet()
            };
            let cache = sheet.profile("made up", None).0.cache.unwrap();
            assert_eq!(
                (cache.segments, cache.segment_sectors),
                (segments, segment_sectors)
            );
        }
        let none = DataSheet {
            cache_mib: Some(0),
            ..sheet()
        };
        assert_eq!(none.profile("made up", None).0.cache, None);
    }

    #[test]
    fn a_shingled_drive_has_room_for_its_media_cache_and_writes_by_halves_of_segments() {
        let sheet = DataSheet {
            cache_mib: Some(64),
            ..sheet()
        };
        let (plain, _) = sheet.profile("made up", None);
        let (profile, _) = sheet.profile("made up", Some(&shingled()));
        assert_eq!(profile.capacity_sectors, plain.capacity_sectors);
        // 20.48 GB are 40,000,000 sectors, 2.048 % more; each zone has less than one cylinder more than needed.
        let of_zone = plain.cylinders / 24;
        let expected = (f64::from(of_zone) * 1.020_48).round() as u32;
        assert!(
            (profile.cylinders / 24).abs_diff(expected) <= 1,
            "{}",
            profile.cylinders
        );
        let bus = profile.bus.unwrap();
        assert_eq!(
            (bus.write_water_mark, bus.water_mark_of),
            (0.5, WaterMarkOf::Segment)
        );
        assert_eq!(profile.shingled, Some(shingled()));
    }

    #[test]
    fn faster_drives_have_shorter_arms() {
        for (rpm, ms) in [
            (5999.0, 12.0),
            (6000.0, 8.0),
            (8999.0, 8.0),
            (9000.0, 3.9),
            (11_999.0, 3.9),
            (12_000.0, 3.2),
        ] {
            assert_eq!(usual_seek_ms(rpm), ms, "{rpm}");
        }
    }

    #[test]
    fn the_average_seek_is_that_over_all_pairs_of_sectors() {
        // Where all tracks are alike, the density of distances is 2 (1 - d), and the mean of sqrt(d) 8 / 15.
        let even = ZoneLaw::new(Zoning::SectorsPerTrackLinear, 8.0, 0.01, 0.01);
        let root = mean_root_of_distance(&even);
        assert!((root - 8.0 / 15.0).abs() < 1e-5, "{root}");
        let sheet = DataSheet {
            inner_mb_per_s: Some(128.0),
            read_seek_ms: Some(9.0),
            write_seek_ms: Some(9.5),
            track_to_track_ms: Some(1.0),
            ..sheet()
        };
        let seek = sheet.profile("made up", None).0.seek;
        let near = |seen: f64, expected: f64| assert!((seen - expected).abs() < 1e-3, "{seen}");
        near(seek.read.full_stroke_ms, 1.0 + 8.0 * 15.0 / 8.0);
        near(seek.write.full_stroke_ms, 1.5 + 8.0 * 15.0 / 8.0);
    }
}
