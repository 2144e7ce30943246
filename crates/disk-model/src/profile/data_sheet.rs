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
