//! What makes a profile a whole drive: its layout, its buffer, its electronics and its bus.
//!
//! Each table is optional. The names are those of the parameters of DiskSim, with units.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use crate::geometry::HeadOrder;
use crate::sparing::{Numbering, Sparing};
use crate::{DiskProfile, SeekCurve};

/// Where sectors lie.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutProfile {
    /// In which order the sectors of a cylinder are numbered.
    #[serde(default)]
    pub heads: HeadOrder,
    /// Where the spare places are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders of a range, for sparing by range.
    #[serde(default = "one")]
    pub range_cylinders: u32,
    /// The zones in the order of their sectors. There may be cylinders between them that hold nothing.
    pub zones: Vec<LayoutZone>,
}

fn one() -> u32 {
    1
}

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutZone {
    /// The outermost cylinder.
    pub first_cylinder: u32,
    /// The innermost one.
    pub last_cylinder: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
    /// Where on its track the zone's first sector begins, in sectors from the index.
    #[serde(default)]
    pub offset_sectors: f64,
    /// How much later a track begins than the one of the head before, in sectors.
    #[serde(default)]
    pub track_skew_sectors: f64,
    /// How much later a cylinder's first track begins than the last of the cylinder before, in sectors.
    #[serde(default)]
    pub cylinder_skew_sectors: f64,
    /// Sectors at the zone's front that hold no data.
    #[serde(default)]
    pub skipped_sectors: u64,
    /// Spare sectors (or tracks) of each unit of the sparing.
    #[serde(default)]
    pub spares: u64,
    /// Defective places that the numbering skips, ascending: sectors (or tracks) of the zone.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Defective places and those that replace them.
    #[serde(default)]
    pub remaps: Vec<(u64, u64)>,
}

/// How long seeks take, for reads and writes alike.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekLaw {
    /// The same over all distances.
    Constant {
        /// In milliseconds.
        seek_ms: f64,
    },
    /// Straight lines between points, from (0, 0) on, and on beyond the last two. They need not ascend in time.
    Measured {
        /// [cylinders, ms], ascending in cylinders.
        points: Vec<(f64, f64)>,
    },
    /// `t1 + a sqrt(d - 1) + b (d - 1)` through the three times (Lee and Katz, "An analytic performance model of
    /// disk arrays", SIGMETRICS 1993).
    ThreePoint {
        /// To the next cylinder.
        track_to_track_ms: f64,
        /// On average, over a third of the cylinders.
        average_ms: f64,
        /// Across all cylinders.
        full_stroke_ms: f64,
    },
    /// A root for short seeks, a line for long ones (Ruemmler and Wilkes 1994).
    TwoPiece {
        /// Over 1, 2, ... cylinders.
        #[serde(default)]
        first_ms: Vec<f64>,
        /// From this distance on the line holds.
        line_from_cylinders: f64,
        /// a and b of `a + b sqrt(d)`, in milliseconds.
        root_ms: (f64, f64),
        /// a and b of `a + b d`, in milliseconds.
        line_ms: (f64, f64),
    },
}

impl SeekLaw {
    /// The curve of a disk with this many cylinders.
    pub(crate) fn curve(&self, cylinders: u32) -> SeekCurve {
        match self {
            Self::Constant { seek_ms } => {
                SeekCurve::Measured([(0.0, *seek_ms), (1.0, *seek_ms)].into())
            }
            Self::Measured { points } => {
                let mut curve = vec![(0.0, 0.0)];
                curve.extend(points.iter().filter(|(d, _)| *d > 0.0));
                if curve.len() == 1 {
                    curve.push((1.0, 0.0));
                }
                SeekCurve::measured(curve)
            }
            &Self::ThreePoint {
                track_to_track_ms: min,
                average_ms: mean,
                full_stroke_ms: max,
            } => {
                let c = f64::from(cylinders);
                let a = (15.0 * mean - 10.0 * min - 5.0 * max) / (3.0 * c.sqrt());
                let b = (7.0 * min - 15.0 * mean + 8.0 * max) / (3.0 * c);
                let time = |d: f64| (d, (min + a * (d - 1.0).sqrt() + b * (d - 1.0)).max(0.0));
                let mut points = vec![(0.0, 0.0)];
                let mut d = 1.0_f64;
                while d < c {
                    points.push(time(d));
                    d = (d * 1.02).ceil().max(d + 1.0);
                }
                points.push(time(c));
                SeekCurve::measured(points)
            }
            Self::TwoPiece {
                first_ms,
                line_from_cylinders,
                root_ms,
                line_ms,
            } => SeekCurve::TwoPiece {
                first_ms: first_ms.clone().into(),
                line_from: *line_from_cylinders,
                root_ms: *root_ms,
                line_ms: *line_ms,
            },
        }
    }
}

/// How far a drive reads on when it has read what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// Up to the maximum, at most to the end of the track.
    Track,
    /// Up to the maximum, at most to the end of the cylinder.
    Cylinder,
    /// Up to the maximum.
    Maximum,
    /// To the end of the track, and over the next one too if the stream came from an earlier track.
    NextTrack,
}

/// What becomes of requested sectors while the drive reads ahead, if no maximum is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requested {
    /// They stay: read-ahead only fills the rest of the segment.
    #[default]
    Kept,
    /// Read-ahead may push them out.
    PushedOut,
    /// They are dropped as they are sent.
    DroppedWhenSent,
}

/// Where reading begins when the head arrives in the middle of what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// With the sector under the head, where `immediate_reads` or `free_blocks` say so.
    #[default]
    AsDocumented,
    /// Always with the first sector, as DiskSim 4.0 does against its manual.
    AsDisksim,
}

/// The drive's buffer: segments, read-ahead and cached writes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct CacheProfile {
    /// How many segments there are.
    pub segments: u32,
    /// The size of each, in sectors of 512 bytes.
    pub segment_sectors: u64,
    /// How many segments may hold data that are not yet on the medium.
    pub write_segments: u32,
    /// Whether writes use the first segment only, and reads all others.
    pub separate_write_segment: bool,
    /// Whether data stay in the buffer for later requests; otherwise it only matches speeds.
    pub keeps_data: bool,
    /// Whether data of writes serve reads.
    pub read_hits_on_written: bool,
    /// Whether a read that begins with the sector that is read ahead next counts as a hit.
    pub almost_read_hits: bool,
    /// How far the drive reads ahead.
    pub read_ahead: ReadAhead,
    /// Read-ahead that is not interrupted.
    pub minimum_read_ahead_sectors: u64,
    /// The limit of read-ahead; 0: what the segment holds.
    pub maximum_read_ahead_sectors: u64,
    /// What becomes of requested sectors if there is no maximum.
    pub requested: Requested,
    /// Whether a read that is served from the buffer starts read-ahead at the end of its segment.
    pub read_ahead_on_hit: bool,
    /// Whether read-ahead is stopped in the middle of a sector, not at its end.
    pub stop_in_sector: bool,
    /// Whether read-ahead that seeks or transfers finishes that step before the next request has the drive.
    pub finish_step: bool,
    /// Whether sectors before those asked for are kept if they pass on the same track.
    pub free_blocks: bool,
    /// Whether reading begins with any sector asked for that passes.
    pub immediate_reads: bool,
    /// Where reading begins when the head arrives.
    pub arrival: Arrival,
    /// Whether a sector is read only if there is room when it begins to pass, not when it has passed.
    pub reads_directly: bool,
    /// Whether what is in the buffer is sent at once, if that is only the first part of a request.
    pub sends_partial_hits: bool,
    /// Whether a write is complete when its data are in the buffer.
    pub fast_writes: bool,
    /// Whether a write that begins where the one before ends is appended to its segment.
    pub combine_writes: bool,
    /// Whether the data of a write wait until the medium is done with the writes before, even if there is a free
    /// segment, as in DiskSim. Drives with a command queue take them at once.
    pub writes_wait_for_medium: bool,
}

impl Default for CacheProfile {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_sectors: 256,
            write_segments: 1,
            separate_write_segment: false,
            keeps_data: true,
            read_hits_on_written: true,
            almost_read_hits: false,
            read_ahead: ReadAhead::None,
            minimum_read_ahead_sectors: 0,
            maximum_read_ahead_sectors: 0,
            requested: Requested::Kept,
            read_ahead_on_hit: false,
            stop_in_sector: false,
            finish_step: false,
            free_blocks: false,
            immediate_reads: false,
            arrival: Arrival::AsDocumented,
            reads_directly: true,
            sends_partial_hits: true,
            fast_writes: false,
            combine_writes: true,
            writes_wait_for_medium: false,
        }
    }
}

/// What a water mark is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaterMarkOf {
    /// The request.
    #[default]
    Request,
    /// The segment.
    Segment,
}

/// How data cross between the buffer and the host.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct BusProfile {
    /// A sector of 512 bytes from the buffer to the host.
    pub read_ms_per_sector: f64,
    /// A sector from the host to the buffer.
    pub write_ms_per_sector: f64,
    /// Whether the drive keeps the bus when it has sent all that it has read so far.
    pub hold_reads: bool,
    /// Whether it keeps the bus when its segment is full of data to be written.
    pub hold_writes: bool,
    /// Whether it keeps the bus from the command to the completion.
    pub never_disconnect: bool,
    /// A disconnected read goes on when this share is there; 0: with the first sector.
    pub read_water_mark: f64,
    /// A disconnected write goes on when at most this share is not yet on the medium.
    pub write_water_mark: f64,
    /// Of what.
    pub water_mark_of: WaterMarkOf,
}

/// How long the drive's electronics take, in milliseconds. *After read* and *after write* say what the request
/// was that the drive completed last.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverheadsProfile {
    /// At the arrival of each request.
    pub per_request_ms: f64,
    /// A command to read what is in the buffer.
    pub read_hit_after_read_ms: f64,
    /// The same.
    pub read_hit_after_write_ms: f64,
    /// A command to read what is not in the buffer.
    pub read_miss_after_read_ms: f64,
    /// The same.
    pub read_miss_after_write_ms: f64,
    /// A command to write with fast writes.
    pub write_hit_after_read_ms: f64,
    /// The same.
    pub write_hit_after_write_ms: f64,
    /// A command to write without fast writes.
    pub write_miss_after_read_ms: f64,
    /// The same.
    pub write_miss_after_write_ms: f64,
    /// After the last data of a read.
    pub read_completion_ms: f64,
    /// After the last step of a write.
    pub write_completion_ms: f64,
    /// Before data cross the bus, after a command or a reconnection.
    pub data_preparation_ms: f64,
    /// A reconnection.
    pub first_reselect_ms: f64,
    /// The second reconnection of a write with an extra disconnection.
    pub other_reselect_ms: f64,
    /// Leaving the bus in a read.
    pub read_disconnect_after_read_ms: f64,
    /// The same.
    pub read_disconnect_after_write_ms: f64,
    /// Leaving the bus in a write.
    pub write_disconnect_ms: f64,
    /// The least seek before a write that is not appended.
    pub minimum_write_seek_ms: f64,
    /// Writes that leave the bus once more, between the command and the data.
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// A write that follows on a write in the same segment, and does not continue it, leaves the bus after its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtraDisconnect {
    /// The command.
    pub command_ms: f64,
    /// Leaving the bus after it.
    pub disconnect_ms: f64,
    /// From there to the reconnection.
    pub between_ms: f64,
    /// Leaving the bus after the data.
    pub second_disconnect_ms: f64,
    /// The arm sets out this long after the command.
    pub seek_delta_ms: f64,
}

impl DiskProfile {
    /// Whether the layout, the buffer, the electronics and the bus make a drive.
    pub(super) fn check_drive(
        &self,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        if let Some(layout) = &self.layout {
            self.check_layout(layout, refuse)?;
        }
        self.check_seek_law(refuse)?;
        let Some(cache) = &self.cache else {
            let expected = "used with a table [cache] only: 'segments = 1' and 'keeps_data = false' is a buffer \
                            that matches speeds";
            if self.overheads.is_some() {
                return refuse("overheads", 1.0, expected);
            }
            if self.bus.is_some() {
                return refuse("bus", 1.0, expected);
            }
            return Ok(());
        };
        check_cache(cache, refuse)?;
        let bus = self.bus.clone().unwrap_or_default();
        for (key, share) in [
            ("bus.read_water_mark", bus.read_water_mark),
            ("bus.write_water_mark", bus.write_water_mark),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(key, share, "a share, 0 to 1");
            }
        }
        for (key, t) in [
            ("bus.read_ms_per_sector", bus.read_ms_per_sector),
            ("bus.write_ms_per_sector", bus.write_ms_per_sector),
        ] {
            // 5 kB/s: the medium turns for as long as a sector crosses.
            if !(0.0..=100.0).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 100");
            }
        }
        self.check_times(refuse)
    }

    fn check_times(
        &self,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        let o = self.overheads.clone().unwrap_or_default();
        let extra = o.extra_write_disconnect.unwrap_or_default();
        for (key, t) in [
            ("overheads.per_request_ms", o.per_request_ms),
            ("overheads.read_hit_after_read_ms", o.read_hit_after_read_ms),
            (
                "overheads.read_hit_after_write_ms",
                o.read_hit_after_write_ms,
            ),
            (
                "overheads.read_miss_after_read_ms",
                o.read_miss_after_read_ms,
            ),
            (
                "overheads.read_miss_after_write_ms",
                o.read_miss_after_write_ms,
            ),
            (
                "overheads.write_hit_after_read_ms",
                o.write_hit_after_read_ms,
            ),
            (
                "overheads.write_hit_after_write_ms",
                o.write_hit_after_write_ms,
            ),
            (
                "overheads.write_miss_after_read_ms",
                o.write_miss_after_read_ms,
            ),
            (
                "overheads.write_miss_after_write_ms",
                o.write_miss_after_write_ms,
            ),
            ("overheads.read_completion_ms", o.read_completion_ms),
            ("overheads.write_completion_ms", o.write_completion_ms),
            ("overheads.data_preparation_ms", o.data_preparation_ms),
            ("overheads.first_reselect_ms", o.first_reselect_ms),
            ("overheads.other_reselect_ms", o.other_reselect_ms),
            (
                "overheads.read_disconnect_after_read_ms",
                o.read_disconnect_after_read_ms,
            ),
            (
                "overheads.read_disconnect_after_write_ms",
                o.read_disconnect_after_write_ms,
            ),
            ("overheads.write_disconnect_ms", o.write_disconnect_ms),
            ("overheads.minimum_write_seek_ms", o.minimum_write_seek_ms),
            (
                "overheads.extra_write_disconnect.command_ms",
                extra.command_ms,
            ),
            (
                "overheads.extra_write_disconnect.disconnect_ms",
                extra.disconnect_ms,
            ),
            (
                "overheads.extra_write_disconnect.between_ms",
                extra.between_ms,
            ),
            (
                "overheads.extra_write_disconnect.second_disconnect_ms",
                extra.second_disconnect_ms,
            ),
            (
                "overheads.extra_write_disconnect.seek_delta_ms",
                extra.seek_delta_ms,
            ),
        ] {
            if !(0.0..=1e6).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 1e6");
            }
        }
        Ok(())
    }

    fn check_layout(
        &self,
        layout: &LayoutProfile,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        if layout.range_cylinders < 1 {
            return refuse("layout.range_cylinders", 0.0, "at least 1");
        }
        let mut spans = Vec::with_capacity(layout.zones.len());
        for (number, zone) in layout.zones.iter().enumerate() {
            self.check_zone(layout, zone, refuse)
                .map_err(|error| error.of_zone(number))?;
            spans.push((zone.first_cylinder, zone.last_cylinder));
        }
        spans.sort_unstable();
        let apart = spans.windows(2).all(|w| w[0].1 < w[1].0);
        let capacity = crate::Geometry::new(self).capacity();
        if spans.is_empty() || !apart || capacity == 0 {
            let expected = "at least one zone with sectors, none with cylinders of another";
            return refuse("layout.zones", layout.zones.len() as f64, expected);
        }
        Ok(())
    }

    fn check_zone(
        &self,
        layout: &LayoutProfile,
        zone: &LayoutZone,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        let heads = u64::from(self.geometry.surfaces);
        let (first, last) = (zone.first_cylinder, zone.last_cylinder);
        if first > last || last >= self.cylinders {
            let expected = "at least the first cylinder, within the disk";
            return refuse("layout.zones.last_cylinder", f64::from(last), expected);
        }
        if !(1..=1 << 20).contains(&zone.sectors_per_track) {
            let seen = f64::from(zone.sectors_per_track);
            return refuse("layout.zones.sectors_per_track", seen, "1 to 2^20");
        }
        for (key, sectors) in [
            ("layout.zones.offset_sectors", zone.offset_sectors),
            ("layout.zones.track_skew_sectors", zone.track_skew_sectors),
            (
                "layout.zones.cylinder_skew_sectors",
                zone.cylinder_skew_sectors,
            ),
        ] {
            if !(-1e6..=1e6).contains(&sectors) {
                return refuse(key, sectors, "a number of sectors, -1e6 to 1e6");
            }
        }
        let tracks = u64::from(last - first + 1) * heads;
        let sectors = tracks * u64::from(zone.sectors_per_track);
        let unit = match layout.sparing {
            Sparing::Track => u64::from(zone.sectors_per_track),
            Sparing::Cylinder | Sparing::CylinderFront => heads * u64::from(zone.sectors_per_track),
            Sparing::Range => {
                heads * u64::from(zone.sectors_per_track) * u64::from(layout.range_cylinders)
            }
            Sparing::Tracks => tracks,
            Sparing::None | Sparing::Zone | Sparing::Disk => sectors,
        };
        if layout.sparing != Sparing::None && zone.spares >= unit {
            let seen = zone.spares as f64;
            return refuse(
                "layout.zones.spares",
                seen,
                "less than the places they are among",
            );
        }
        if zone.skipped_sectors >= sectors {
            let seen = zone.skipped_sectors as f64;
            return refuse(
                "layout.zones.skipped_sectors",
                seen,
                "less than the zone has",
            );
        }
        let places = match layout.sparing {
            Sparing::Tracks => tracks,
            _ => sectors,
        };
        let remapped = zone.remaps.iter().map(|remap| remap.1);
        for (key, place) in zone
            .slips
            .iter()
            .map(|&slip| ("layout.zones.slips", slip))
            .chain(remapped.map(|to| ("layout.zones.remaps", to)))
        {
            if place >= places {
                let expected =
                    "a place within the zone of geometry.surfaces x cylinders x sectors_per_track";
                return refuse(key, place as f64, expected);
            }
        }
        if Numbering::of_zone(layout, zone, heads).is_overfull() {
            let expected = "no more slips than spares in each unit of the sparing (track, cylinder, range of cylinders, \
                            zone): sectors that move beyond it would share the places of others";
            return refuse("layout.zones.slips", zone.slips.len() as f64, expected);
        }
        Ok(())
    }

    fn check_seek_law(
        &self,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        let settle = self.seek.write_settle_ms;
        if !(-1e6..=1e6).contains(&settle) {
            return refuse(
                "seek.write_settle_ms",
                settle,
                "a time in milliseconds, -1e6 to 1e6",
            );
        }
        let Some(law) = &self.seek.curve else {
            return match settle {
                0.0 => Ok(()),
                _ => refuse(
                    "seek.write_settle_ms",
                    settle,
                    "0 where there is no 'seek.curve'",
                ),
            };
        };
        if let SeekLaw::Measured { points } = law {
            let ascend = points.windows(2).all(|w| w[0].0 < w[1].0);
            let times = points
                .iter()
                .all(|&(d, t)| d >= 0.0 && (0.0..=1e6).contains(&t));
            if points.is_empty() || !ascend || !times {
                let expected = "[cylinders, ms], at least one, cylinders ascending, 0 to 1e6 ms";
                return refuse("seek.curve.points", points.len() as f64, expected);
            }
        }
        if let SeekLaw::TwoPiece {
            first_ms,
            line_from_cylinders,
            root_ms,
            line_ms,
        } = law
        {
            let numbers = [
                *line_from_cylinders,
                root_ms.0,
                root_ms.1,
                line_ms.0,
                line_ms.1,
            ];
            if let Some(wrong) = numbers.iter().find(|x| !(-1e6..=1e6).contains(*x)) {
                return refuse("seek.curve", *wrong, "numbers from -1e6 to 1e6");
            }
            if let Some(wrong) = first_ms.iter().find(|ms| !(0.0..=1e6).contains(*ms)) {
                return refuse(
                    "seek.curve.first_ms",
                    *wrong,
                    "times in milliseconds, 0 to 1e6",
                );
            }
        }
        let curve = law.curve(self.cylinders);
        for d in [1.0, f64::from(self.cylinders - 1)] {
            let t = curve.time_ms(d);
            if !(-1e6..=1e6).contains(&t) {
                return refuse("seek.curve", t, "times up to 1e6 ms");
            }
        }
        Ok(())
    }
}

fn check_cache(
    cache: &CacheProfile,
    refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
) -> Result<(), ProfileError> {
    if !(1..=65_536).contains(&cache.segments) {
        return refuse("cache.segments", f64::from(cache.segments), "1 to 65536");
    }
    if !(1..=1 << 40).contains(&cache.segment_sectors) {
        let seen = cache.segment_sectors as f64;
        return refuse("cache.segment_sectors", seen, "1 to 2^40");
    }
    let sectors = cache
        .segment_sectors
        .saturating_mul(u64::from(cache.segments));
    if sectors > 1 << 40 {
        let expected = "at most 2^40 sectors in all segments";
        return refuse(
            "cache.segments x cache.segment_sectors",
            sectors as f64,
            expected,
        );
    }
    if !(1..=cache.segments).contains(&cache.write_segments) {
        let seen = f64::from(cache.write_segments);
        return refuse("cache.write_segments", seen, "1 to the number of segments");
    }
    if cache.separate_write_segment && cache.segments < 2 {
        let expected = "used with at least 2 segments: reads must have one too";
        return refuse("cache.separate_write_segment", 1.0, expected);
    }
    for (key, sectors) in [
        (
            "cache.minimum_read_ahead_sectors",
            cache.minimum_read_ahead_sectors,
        ),
        (
            "cache.maximum_read_ahead_sectors",
            cache.maximum_read_ahead_sectors,
        ),
    ] {
        if sectors > cache.segment_sectors {
            return refuse(key, sectors as f64, "at most a segment");
        }
    }
    Ok(())
}
