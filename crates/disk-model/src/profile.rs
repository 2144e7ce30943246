//! The parameters of a drive.

use std::path::Path;

use iosonar_device::Provenance;
use serde::{Deserialize, Serialize};

mod data_sheet;
mod drive;
mod error;
mod shingled;

use crate::{ArmScheduler, SeekCurve, SeekCurves, ZoneLaw, Zoning};
pub use data_sheet::DataSheet;
pub use drive::{
    Arrival, BusProfile, CacheProfile, ExtraDisconnect, LayoutProfile, LayoutZone,
    OverheadsProfile, ReadAhead, Requested, SeekLaw, WaterMarkOf,
};
pub use error::ProfileError;
pub use shingled::{BandCleaning, CachePlace, ShingledProfile};

/// The profiles that are built in, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "seagate-st3500630ns",
        include_str!("../profiles/seagate-st3500630ns.toml"),
    ),
    (
        "seagate-st32171w",
        include_str!("../profiles/seagate-st32171w.toml"),
    ),
    (
        "seagate-st39102lw",
        include_str!("../profiles/seagate-st39102lw.toml"),
    ),
    ("ibm-18es", include_str!("../profiles/ibm-18es.toml")),
    (
        "quantum-atlas-10k",
        include_str!("../profiles/quantum-atlas-10k.toml"),
    ),
    ("hp-c2247a", include_str!("../profiles/hp-c2247a.toml")),
    (
        "seagate-constellation-es3-4tb",
        include_str!("../profiles/seagate-constellation-es3-4tb.toml"),
    ),
    (
        "seagate-exos-7e8-8tb",
        include_str!("../profiles/seagate-exos-7e8-8tb.toml"),
    ),
    (
        "seagate-exos-x18-18tb",
        include_str!("../profiles/seagate-exos-x18-18tb.toml"),
    ),
    (
        "wd-ultrastar-hc570-22tb",
        include_str!("../profiles/wd-ultrastar-hc570-22tb.toml"),
    ),
    (
        "seagate-savvio-10k3-300gb",
        include_str!("../profiles/seagate-savvio-10k3-300gb.toml"),
    ),
    (
        "seagate-cheetah-15k7-600gb",
        include_str!("../profiles/seagate-cheetah-15k7-600gb.toml"),
    ),
    (
        "seagate-archive-8tb",
        include_str!("../profiles/seagate-archive-8tb.toml"),
    ),
    (
        "wd-blue-mobile-1tb",
        include_str!("../profiles/wd-blue-mobile-1tb.toml"),
    ),
];

/// A zoned drive. Times in milliseconds, as data sheets give them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DiskProfile {
    /// Under which name it was found.
    #[serde(skip)]
    pub name: String,
    /// What drive it is.
    pub description: String,
    /// What stands behind it.
    pub provenance: Option<Provenance>,
    /// The data sheet that it follows from, if it does.
    #[serde(skip)]
    pub data_sheet: Option<DataSheet>,
    /// The number of cylinders.
    pub cylinders: u32,
    /// One revolution.
    pub revolution_ms: f64,
    /// The capacity in sectors of 512 bytes.
    pub capacity_sectors: u64,
    /// How long a sector takes, by zone.
    pub transfer: TransferProfile,
    /// How long seeks take.
    pub seek: SeekProfile,
    /// Where sectors lie, for the positional model.
    #[serde(default)]
    pub geometry: GeometryProfile,
    /// The drive's own queue. Without it a drive serves all that waits in the order of arrival.
    pub queue: Option<QueueProfile>,
    /// Zones with gaps, spares, slips and skews of their own, instead of those of the geometry.
    pub layout: Option<LayoutProfile>,
    /// The drive's buffer. Without it data pass between the host and the medium as they are read and written.
    pub cache: Option<CacheProfile>,
    /// How long the drive's electronics take. Only with a cache.
    pub overheads: Option<OverheadsProfile>,
    /// How long data take between the buffer and the host. Only with a cache.
    pub bus: Option<BusProfile>,
    /// Bands of overlapping tracks and a media cache. Only with a cache.
    pub shingled: Option<ShingledProfile>,
}

/// A profile that follows from a data sheet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetFile {
    description: String,
    provenance: Option<Provenance>,
    from_data_sheet: DataSheet,
    shingled: Option<ShingledProfile>,
}

/// How a drive chooses among the requests that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueueProfile {
    /// By what.
    pub scheduler: ArmScheduler,
    /// How many it takes.
    pub depth: u32,
}

/// Surfaces, skews and zones. The default has one surface and no skews.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeometryProfile {
    /// How many surfaces have a head.
    pub surfaces: u32,
    /// From one head to another.
    pub head_switch_ms: f64,
    /// From one cylinder to the next in the middle of a transfer; a seek to the next cylinder if it is not
    /// given.
    #[serde(default)]
    pub cylinder_switch_ms: Option<f64>,
    /// How much later a track begins than that of the head before.
    pub track_skew_ms: f64,
    /// How much later a cylinder's first track begins than the last of the cylinder before.
    pub cylinder_skew_ms: f64,
    /// The zones from the outermost in; if there are none they follow from the transfer times.
    #[serde(default)]
    pub zones: Vec<ZoneProfile>,
    /// Whether the profile has no geometry, and this one is assumed.
    #[serde(skip)]
    pub is_assumed: bool,
}

impl Default for GeometryProfile {
    fn default() -> Self {
        Self {
            surfaces: 1,
            head_switch_ms: 0.0,
            cylinder_switch_ms: None,
            track_skew_ms: 0.0,
            cylinder_skew_ms: 0.0,
            zones: Vec::new(),
            is_assumed: true,
        }
    }
}

/// Cylinders with the same number of sectors per track, up to the next zone.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneProfile {
    /// The outermost cylinder; 0 for the first zone.
    pub first_cylinder: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
}

/// The time to transfer one sector at the two ends of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TransferProfile {
    /// On the outermost track, the fastest.
    pub outermost_ms_per_sector: f64,
    /// On the innermost track.
    pub innermost_ms_per_sector: f64,
    /// What changes evenly between them.
    #[serde(default)]
    pub zoning: Zoning,
}

/// The seek curves: of reads and of writes, or one of both.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SeekProfile {
    /// Before a read. It may be left out if there is a `curve`.
    #[serde(default, skip_serializing_if = "SeekPoints::are_left_out")]
    pub read: SeekPoints,
    /// Before a write, which needs a better settled head. It may be left out if there is a `curve`.
    #[serde(default, skip_serializing_if = "SeekPoints::are_left_out")]
    pub write: SeekPoints,
    /// A curve of reads and writes, for the positional model.
    pub curve: Option<SeekLaw>,
    /// How much longer the head settles before a write, after a seek by the `curve` or a switch of heads.
    #[serde(default)]
    pub write_settle_ms: f64,
}

/// A seek curve: two points of a + b sqrt(distance), or measured points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SeekPoints {
    /// To the next cylinder.
    pub track_to_track_ms: f64,
    /// Across all cylinders.
    pub full_stroke_ms: f64,
    /// More points between, as [cylinders, ms], ascending in cylinders: the curve is then measured, and
    /// interpolated between the points.
    #[serde(default)]
    pub measured: Vec<(f64, f64)>,
}

impl SeekPoints {
    fn are_left_out(&self) -> bool {
        *self == Self::default()
    }

    fn curve(&self, cylinders: u32) -> SeekCurve {
        let (first, last) = (self.track_to_track_ms, self.full_stroke_ms);
        if self.measured.is_empty() {
            return SeekCurve::new(first, last, cylinders);
        }
        let stroke = f64::from(cylinders - 1);
        let ends = [(1.0, first)]
            .into_iter()
            .chain(self.measured.iter().copied());
        SeekCurve::measured(ends.chain([(stroke, last)]).collect())
    }

    /// Whether the measured points lie between the ends, ascending.
    fn ascend(&self, cylinders: u32) -> bool {
        let stroke = f64::from(cylinders - 1);
        let inside = |&(d, ms): &(f64, f64)| d > 1.0 && d < stroke && (0.0..=1e6).contains(&ms);
        self.measured.iter().all(inside) && self.measured.windows(2).all(|w| w[0].0 < w[1].0)
    }
}

impl DiskProfile {
    /// A built-in profile by its name, or one from a file: `name` ends in `.toml` then, and is
    /// relative to `directory`.
    ///
    /// # Errors
    /// If there is no such profile, or it makes no drive.
    pub fn load(name: &str, directory: &Path) -> Result<Self, ProfileError> {
        let named = |profile| Self {
            name: name.to_owned(),
            ..profile
        };
        if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, name).map(named);
        }
        let path = directory.join(name);
        if path.extension().is_none_or(|e| e != "toml") {
            let known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            return Err(ProfileError::Unknown {
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        let text = iosonar_units::read_text_file(&path).map_err(|source| ProfileError::Io {
            path: path.clone(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string()).map(named)
    }

    /// The text of the profile, to be read by [`parse`](Self::parse).
    ///
    /// # Panics
    /// Never: every profile has a text.
    pub fn to_toml(&self) -> String {
        let mut written = self.clone();
        // What follows from the curve need not be said.
        if written.seek.curve.is_some() {
            (written.seek.read, written.seek.write) = Default::default();
            written.complete();
            if written.seek == self.seek {
                (written.seek.read, written.seek.write) = Default::default();
            } else {
                written = self.clone();
            }
        }
        toml::to_string(&written).expect("a profile consists of tables and values")
    }

    /// From the text of a profile; `origin` is for messages.
    ///
    /// # Errors
    /// If the text is no TOML, a key is unknown or missing, or a value makes no drive.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ProfileError> {
        Self::read(text, origin).map_err(|error| error.in_text(text))
    }

    /// The same of a text that is in no file: messages name no lines.
    pub(crate) fn read(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let syntax = |e: toml::de::Error| ProfileError::Syntax {
            origin: origin.to_owned(),
            message: e.to_string(),
        };
        let is_of_a_sheet = toml::from_str(text)
            .is_ok_and(|table: toml::Table| table.contains_key("from_data_sheet"));
        let mut profile = match is_of_a_sheet {
            true => Self::of_sheet(toml::from_str(text).map_err(syntax)?, origin)?,
            false => toml::from_str(text).map_err(syntax)?,
        };
        profile.complete();
        profile.check(origin)?;
        Ok(profile)
    }

    /// The drive of a data sheet; `origin` is for messages.
    ///
    /// # Errors
    /// If a figure cannot be that of a drive.
    pub fn from_data_sheet(
        sheet: &DataSheet,
        description: &str,
        origin: &str,
    ) -> Result<Self, ProfileError> {
        Self::of_figures(sheet, None, description, origin)
    }

    fn of_figures(
        sheet: &DataSheet,
        shingled: Option<&ShingledProfile>,
        description: &str,
        origin: &str,
    ) -> Result<Self, ProfileError> {
        let refuse = |key, seen, expected| {
            Err(ProfileError::Value {
                origin: origin.to_owned(),
                line: None,
                zone: None,
                key,
                seen,
                expected,
            })
        };
        sheet.check(&refuse)?;
        if let Some(shingled) = shingled {
            shingled.check(&refuse)?;
            if sheet.cache_mib.is_none_or(|mib| mib == 0) {
                let expected = "at least 1: a shingled drive gathers writes in its buffer";
                refuse("from_data_sheet.cache_mib", 0.0, expected)?;
            }
        }
        let (profile, _) = sheet.profile(description, shingled);
        profile.check(origin).map_err(|error| match error {
            ProfileError::Value {
                key,
                seen,
                expected,
                ..
            } if !key.starts_with("shingled") => ProfileError::Syntax {
                origin: origin.to_owned(),
                message: format!(
                    "the figures of [from_data_sheet] make no drive: '{key}' follows as {seen:.6}, expected {expected}; \
                     check 'capacity_gb', 'heads', the rates and the seeks"
                ),
            },
            other => other,
        })?;
        Ok(profile)
    }

    fn of_sheet(file: SheetFile, origin: &str) -> Result<Self, ProfileError> {
        let (sheet, shingled) = (&file.from_data_sheet, file.shingled.as_ref());
        let profile = Self::of_figures(sheet, shingled, &file.description, origin)?;
        Ok(Self {
            provenance: file.provenance,
            ..profile
        })
    }

    fn check(&self, origin: &str) -> Result<(), ProfileError> {
        const POSITIVE: &str = "a time in milliseconds, 1e-10 to 1e6";
        let refuse = |key, seen, expected| {
            Err(ProfileError::Value {
                origin: origin.to_owned(),
                line: None,
                zone: None,
                key,
                seen,
                expected,
            })
        };
        // From a tenth of a picosecond to a quarter of an hour: no drive is beyond, no sum overflows.
        let positive = |t: f64| (1e-10..=1e6).contains(&t);
        let TransferProfile {
            outermost_ms_per_sector: outermost,
            innermost_ms_per_sector: innermost,
            zoning: _,
        } = self.transfer;
        if !(3..=10_000_000).contains(&self.cylinders) {
            return refuse("cylinders", f64::from(self.cylinders), "3 to 10^7");
        }
        if !(1..1 << 50).contains(&self.capacity_sectors) {
            let seen = self.capacity_sectors as f64;
            return refuse("capacity_sectors", seen, "1 to 2^50 - 1 sectors of 512 B");
        }
        for (key, t) in [
            ("revolution_ms", self.revolution_ms),
            ("transfer.outermost_ms_per_sector", outermost),
            ("transfer.innermost_ms_per_sector", innermost),
            (
                "seek.read.track_to_track_ms",
                self.seek.read.track_to_track_ms,
            ),
            (
                "seek.write.track_to_track_ms",
                self.seek.write.track_to_track_ms,
            ),
        ] {
            if !positive(t) {
                return refuse(key, t, POSITIVE);
            }
        }
        // Service times are whole nanoseconds.
        if self.revolution_ms < 1e-3 {
            return refuse("revolution_ms", self.revolution_ms, "at least 0.001");
        }
        if innermost < outermost || self.revolution_ms < innermost || !innermost.is_finite() {
            return refuse(
                "transfer.innermost_ms_per_sector",
                innermost,
                "at least the outermost track's, at most one revolution",
            );
        }
        if self.queue.is_some_and(|queue| queue.depth == 0) {
            return refuse("queue.depth", 0.0, "at least 1");
        }
        self.check_geometry(&refuse)?;
        self.check_drive(&refuse)?;
        self.check_shingled(&refuse)?;
        for (key, points) in [
            ("seek.read.full_stroke_ms", &self.seek.read),
            ("seek.write.full_stroke_ms", &self.seek.write),
        ] {
            if !points.ascend(self.cylinders) {
                let key = "seek.read.measured or seek.write.measured";
                let expected =
                    "[cylinders, ms], cylinders ascending between 1 and all, 0 to 1e6 ms";
                return refuse(key, points.measured.len() as f64, expected);
            }
            let full = points.full_stroke_ms;
            if !positive(full) || full < points.track_to_track_ms {
                return refuse(key, full, "at least the track-to-track time");
            }
            if self.seek.curve.is_none() && points.curve(self.cylinders).time_ms(0.0) < 0.0 {
                return refuse(key, full, "so little that a + b sqrt(d) stays above zero");
            }
        }
        self.check_capacity(origin)
    }

    /// Whether the capacity is what the zones of the layout hold, if there is one.
    fn check_capacity(&self, origin: &str) -> Result<(), ProfileError> {
        let of_layout = self
            .layout
            .as_ref()
            .map(|_| crate::Geometry::new(self).capacity());
        if let Some(held) = of_layout.filter(|held| *held != self.capacity_sectors) {
            return Err(ProfileError::Capacity {
                origin: origin.to_owned(),
                seen: self.capacity_sectors,
                held,
            });
        }
        Ok(())
    }

    fn check_geometry(
        &self,
        refuse: &impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError>,
    ) -> Result<(), ProfileError> {
        let geometry = &self.geometry;
        if !(1..=1024).contains(&geometry.surfaces) {
            let surfaces = f64::from(geometry.surfaces);
            return refuse("geometry.surfaces", surfaces, "1 to 1024");
        }
        for (key, t) in [
            ("geometry.head_switch_ms", geometry.head_switch_ms),
            (
                "geometry.cylinder_switch_ms",
                geometry.cylinder_switch_ms.unwrap_or(0.0),
            ),
            ("geometry.track_skew_ms", geometry.track_skew_ms),
            ("geometry.cylinder_skew_ms", geometry.cylinder_skew_ms),
        ] {
            if !(0.0..=1e6).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 1e6");
            }
        }
        let zones = &geometry.zones;
        let first = zones.first().is_none_or(|zone| zone.first_cylinder == 0);
        let ascending = zones
            .windows(2)
            .all(|w| w[0].first_cylinder < w[1].first_cylinder);
        let inside = zones.iter().all(|z| {
            z.first_cylinder < self.cylinders && (1..=1 << 20).contains(&z.sectors_per_track)
        });
        if !(first && ascending && inside) {
            return refuse(
                "geometry.zones",
                zones.len() as f64,
                "zones whose first cylinders ascend from 0 within the disk, each with at least 1 sector per track",
            );
        }
        Ok(())
    }

    /// The zones of the drive.
    pub fn zones(&self) -> ZoneLaw {
        ZoneLaw::new(
            self.transfer.zoning,
            self.revolution_ms,
            self.transfer.outermost_ms_per_sector,
            self.transfer.innermost_ms_per_sector,
        )
    }

    /// How long seeks of the positional model take.
    pub(crate) fn seeks(&self) -> SeekCurves {
        match &self.seek.curve {
            None => self.seek_curves(),
            Some(law) => SeekCurves {
                read: law.curve(self.cylinders),
                write: law.curve(self.cylinders),
            },
        }
    }

    /// The points of reads and writes that were left out, from the curve of both.
    fn complete(&mut self) {
        let Some(law) = &self.seek.curve else { return };
        let points = |settle: f64| {
            let curve = law.curve(self.cylinders);
            let last = f64::from(self.cylinders.max(3) - 1);
            let at = |d: f64| (curve.time_ms(d) + settle).max(1e-6);
            let shortest = at(1.0);
            let mut measured: Vec<(f64, f64)> = Vec::new();
            if let SeekCurve::Measured(points) = &curve {
                let inside = points.iter().filter(|(d, _)| *d > 1.0 && *d < last);
                measured.extend(inside.map(|&(d, ms)| (d, (ms + settle).max(0.0))));
            } else {
                // The curves of formulas are smooth enough between places that lie ever farther apart.
                let mut d = 2.0_f64;
                while d < last {
                    measured.push((d, at(d)));
                    d = (d * 1.25).ceil();
                }
            }
            SeekPoints {
                track_to_track_ms: shortest,
                full_stroke_ms: at(last).max(shortest),
                measured,
            }
        };
        let (read, write) = (points(0.0), points(self.seek.write_settle_ms));
        let seek = &mut self.seek;
        if seek.read.are_left_out() {
            seek.read = read;
        }
        if seek.write.are_left_out() {
            seek.write = write;
        }
    }

    /// How long seeks of the sampled model take.
    pub fn seek_curves(&self) -> SeekCurves {
        SeekCurves {
            read: self.seek.read.curve(self.cylinders),
            write: self.seek.write.curve(self.cylinders),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_built_in_profiles_are_drives() {
        for (name, _) in BUILT_IN {
            DiskProfile::load(name, Path::new(".")).unwrap();
        }
    }

    #[test]
    fn what_makes_no_drive_is_refused_with_its_key() {
        let good = BUILT_IN[0].1;
        for (from, to, complaint) in [
            (
                "revolution_ms = 8.33",
                "revolution_ms = -1.0",
                "'revolution_ms' is -1",
            ),
            (
                "revolution_ms = 8.33",
                "revolution_ms = nan",
                "'revolution_ms' is NaN",
            ),
            (
                "revolution_ms = 8.33",
                "revolution_ms = 1e-7",
                "'revolution_ms' is 0.0000001",
            ),
            (
                "full_stroke_ms = 17.0",
                "full_stroke_ms = 0.1",
                "'seek.read.full_stroke_ms' is 0.1",
            ),
            (
                "cylinders = 60_801",
                "cylindres = 60_801",
                "unknown field `cylindres`",
            ),
        ] {
            assert!(good.contains(from));
            let message = DiskProfile::parse(&good.replacen(from, to, 1), "x.toml")
                .unwrap_err()
                .to_string();
            assert!(
                message.starts_with("x.toml:") && message.contains(complaint),
                "{message}"
            );
        }
    }

    #[test]
    fn a_capacity_that_the_zones_do_not_hold_is_refused() {
        let (_, text) = BUILT_IN
            .iter()
            .find(|(name, _)| *name == "ibm-18es")
            .unwrap();
        let other = text.replacen(
            "capacity_sectors = 18033753",
            "capacity_sectors = 18033754",
            1,
        );
        let message = DiskProfile::parse(&other, "x.toml")
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "x.toml: 'capacity_sectors' is 18033754, expected 18033753, which is what the zones of [layout] hold: write \
             that, or correct the zones"
        );
        assert!(DiskProfile::parse(text, "x.toml").is_ok());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = DiskProfile::load("quantum-atlas", Path::new("."))
            .unwrap_err()
            .to_string();
        assert!(message.contains("seagate-st3500630ns"), "{message}");
    }
}
