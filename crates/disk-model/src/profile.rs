//! The parameters of a drive.

use std::path::Path;

use iosonar_device::{Provenance, find_profile, profile_text};
use iosonar_units::{plain_complaint, text_in_one_line};
use serde::{Deserialize, Serialize};

mod cache;
mod check;
mod data_sheet;
mod electronics;
mod error;
mod layout;
mod seek;
mod shingled;

use crate::{ArmScheduler, ZoneLaw, Zoning};
pub use cache::{Arrival, CacheProfile, ReadAhead, Requested};
pub use data_sheet::DataSheet;
pub use electronics::{BusProfile, ExtraDisconnect, OverheadsProfile, WaterMarkOf};
pub use error::ProfileError;
pub use layout::{LayoutProfile, LayoutZone};
pub use seek::{SeekLaw, SeekPoints, SeekProfile};
pub use shingled::{BandCleaning, CachePlace, ShingledProfile};

/// The built-in profiles, by name.
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
    /// The name under which the profile was found.
    #[serde(skip)]
    pub name: String,
    /// The model of the drive, in a few words.
    #[serde(deserialize_with = "text_in_one_line")]
    pub description: String,
    /// The sources of the profile.
    pub provenance: Option<Provenance>,
    /// The data sheet from which the profile was derived, if any.
    #[serde(skip)]
    pub data_sheet: Option<DataSheet>,
    /// The number of cylinders.
    pub cylinders: u32,
    /// The time of one revolution.
    pub revolution_ms: f64,
    /// The capacity in sectors of 512 bytes.
    pub capacity_sectors: u64,
    /// The transfer time of a sector, by zone.
    pub transfer: TransferProfile,
    /// The seek times.
    pub seek: SeekProfile,
    /// The positions of sectors, for the positional model.
    #[serde(default)]
    pub geometry: GeometryProfile,
    /// The drive's command queue. Without it, the drive serves requests in the order of arrival.
    pub queue: Option<QueueProfile>,
    /// Zones with their own gaps, spares, slips and skews, instead of those of the geometry.
    pub layout: Option<LayoutProfile>,
    /// The drive's buffer. Without it, data pass directly between the host and the medium.
    pub cache: Option<CacheProfile>,
    /// The overheads of the drive's electronics. Only with a `[cache]`.
    pub overheads: Option<OverheadsProfile>,
    /// The bus between the buffer and the host. Only with a `[cache]`.
    pub bus: Option<BusProfile>,
    /// Bands of overlapping tracks, and a media cache. Only with a `[cache]`.
    pub shingled: Option<ShingledProfile>,
}

/// A profile that is derived from a data sheet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetFile {
    #[serde(deserialize_with = "text_in_one_line")]
    description: String,
    provenance: Option<Provenance>,
    from_data_sheet: DataSheet,
    shingled: Option<ShingledProfile>,
}

/// The command queue of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueueProfile {
    /// How the drive chooses the next request.
    pub scheduler: ArmScheduler,
    /// The maximum number of requests in the queue.
    pub depth: u32,
}

/// Surfaces, skews and zones. The default has one surface and no skews.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeometryProfile {
    /// The number of surfaces that have a head.
    pub surfaces: u32,
    /// The time to switch from one head to another.
    pub head_switch_ms: f64,
    /// The time to move to the next cylinder in the middle of a transfer; by default, that of a seek to the next
    /// cylinder.
    #[serde(default)]
    pub cylinder_switch_ms: Option<f64>,
    /// The time by which a track begins later than the track of the previous head.
    pub track_skew_ms: f64,
    /// The time by which the first track of a cylinder begins later than the last track of the previous cylinder.
    pub cylinder_skew_ms: f64,
    /// The zones, from the outermost to the innermost; by default, they are derived from the transfer times.
    #[serde(default)]
    pub zones: Vec<ZoneProfile>,
    /// Whether this geometry is assumed because the profile has none.
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
    /// The number of sectors per track.
    pub sectors_per_track: u32,
}

/// The time to transfer one sector at the two ends of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TransferProfile {
    /// The time per sector on the outermost track, which is the fastest.
    pub outermost_ms_per_sector: f64,
    /// The time per sector on the innermost track.
    pub innermost_ms_per_sector: f64,
    /// The quantity that changes linearly from the outermost to the innermost track.
    #[serde(default)]
    pub zoning: Zoning,
}

/// A hint for keys of a data sheet that are in the wrong table.
fn of_a_sheet(error: &toml::de::Error) -> &'static str {
    let sheet = [
        "rpm",
        "capacity_gb",
        "outer_mb_per_s",
        "heads",
        "cache_mib",
        "read_seek_ms",
    ];
    let is_meant = |key: &&str| {
        error
            .message()
            .starts_with(&format!("unknown field `{key}`"))
    };
    match sheet.iter().any(is_meant) {
        true => "; this key belongs in [from_data_sheet], which replaces the other tables",
        false => "",
    }
}

impl DiskProfile {
    /// The speed of the platters, in revolutions per minute.
    pub fn revolutions_per_minute(&self) -> f64 {
        60_000.0 / self.revolution_ms
    }

    /// A built-in profile by its name or a part of it, or one from a file: `name` ends in `.toml` then, and is
    /// relative to `directory`.
    ///
    /// # Errors
    /// If there is no such profile, or it makes no drive.
    pub fn load(name: &str, directory: &Path) -> Result<Self, ProfileError> {
        let (origin, text) = profile_text("disk", BUILT_IN, name, directory)?;
        let known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Ok(Self {
            name: find_profile(name, &known).unwrap_or(name).to_owned(),
            ..Self::parse(&text, &origin)?
        })
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
    /// If the text is not TOML, a key is unknown or missing, or a value makes no drive.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ProfileError> {
        Self::read(text, origin).map_err(|error| error.in_text(text))
    }

    /// The same of a text that is in no file: messages name no lines.
    pub(crate) fn read(text: &str, origin: &str) -> Result<Self, ProfileError> {
        let syntax = |e: toml::de::Error| ProfileError::Syntax {
            origin: origin.to_owned(),
            message: plain_complaint(e.to_string().trim_end()) + of_a_sheet(&e),
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
        let refuse = check::refusing(origin);
        sheet.check(&refuse)?;
        if let Some(shingled) = shingled {
            shingled.check(&refuse)?;
            if sheet.cache_mib.is_none_or(|mib| mib == 0) {
                let expected = "at least 1: a shingled drive collects writes in its buffer";
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
                    "the values in [from_data_sheet] contradict each other: they result in '{key}' = {seen:.6}, \
                     expected {expected}; check 'capacity_gb', 'heads', the rates and the seek times"
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

    /// The zones of the drive.
    pub fn zones(&self) -> ZoneLaw {
        ZoneLaw::new(
            self.transfer.zoning,
            self.revolution_ms,
            self.transfer.outermost_ms_per_sector,
            self.transfer.innermost_ms_per_sector,
        )
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
                "unknown key 'cylindres'",
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

    type Change = fn(&mut DiskProfile);

    /// Values that are refused, with their keys.
    fn beyond_the_limits() -> [(&'static str, Change); 24] {
        [
            ("cylinders", |p| p.cylinders = 2),
            ("cylinders", |p| p.cylinders = 10_000_001),
            ("capacity_sectors", |p| p.capacity_sectors = 0),
            ("capacity_sectors", |p| p.capacity_sectors = 1 << 50),
            ("revolution_ms", |p| p.revolution_ms = 1.1e6),
            ("transfer.innermost_ms_per_sector", |p| {
                p.transfer.innermost_ms_per_sector = p.transfer.outermost_ms_per_sector / 2.0;
            }),
            ("transfer.innermost_ms_per_sector", |p| {
                p.transfer.innermost_ms_per_sector = 1.1 * p.revolution_ms;
            }),
            ("seek.read.track_to_track_ms", |p| {
                p.seek.read.track_to_track_ms = 0.0;
            }),
            ("seek.write.track_to_track_ms", |p| {
                p.seek.write.track_to_track_ms = 0.0;
            }),
            ("geometry.surfaces", |p| p.geometry.surfaces = 0),
            ("geometry.surfaces", |p| p.geometry.surfaces = 1025),
            ("geometry.head_switch_ms", |p| {
                p.geometry.head_switch_ms = -0.1;
            }),
            ("geometry.head_switch_ms", |p| {
                p.geometry.head_switch_ms = 1.1e6;
            }),
            ("geometry.cylinder_switch_ms", |p| {
                p.geometry.cylinder_switch_ms = Some(-0.1);
            }),
            ("geometry.track_skew_ms", |p| {
                p.geometry.track_skew_ms = f64::NAN;
            }),
            ("geometry.cylinder_skew_ms", |p| {
                p.geometry.cylinder_skew_ms = -0.1;
            }),
            ("geometry.zones", |p| p.geometry.zones = zones(&[(1, 500)])),
            ("geometry.zones", |p| {
                p.geometry.zones = zones(&[(0, 500), (9, 500), (9, 400)]);
            }),
            ("geometry.zones", |p| {
                p.geometry.zones = zones(&[(0, 500), (p.cylinders, 400)]);
            }),
            ("geometry.zones", |p| p.geometry.zones = zones(&[(0, 0)])),
            ("geometry.zones", |p| {
                p.geometry.zones = zones(&[(0, (1 << 20) + 1)]);
            }),
            ("overheads", |p| {
                p.overheads = Some(OverheadsProfile::default());
            }),
            ("bus", |p| p.bus = Some(BusProfile::default())),
            ("queue.depth", |p| {
                let scheduler = ArmScheduler::Fcfs;
                p.queue = Some(QueueProfile {
                    scheduler,
                    depth: 0,
                });
            }),
        ]
    }

    #[test]
    fn each_value_is_refused_beyond_its_limits_and_not_at_them() {
        let good = DiskProfile::parse(BUILT_IN[0].1, "x.toml").unwrap();
        let check = |change: Change| {
            let mut profile = good.clone();
            change(&mut profile);
            profile.check("x.toml")
        };
        for (key, change) in beyond_the_limits() {
            match check(change) {
                Err(ProfileError::Value { key: seen, .. }) => assert_eq!(seen, key),
                other => panic!("{key}: {other:?}"),
            }
        }
        let at_the_limits: [Change; 5] = [
            |p| p.geometry.surfaces = 1,
            |p| p.geometry.surfaces = 1024,
            |p| p.geometry.head_switch_ms = 0.0,
            |p| p.geometry.cylinder_switch_ms = Some(0.0),
            |p| p.geometry.zones = zones(&[(0, 1 << 20), (p.cylinders - 1, 1)]),
        ];
        for change in at_the_limits {
            check(change).unwrap();
        }
    }

    fn zones(of: &[(u32, u32)]) -> Vec<ZoneProfile> {
        let zone = |&(first_cylinder, sectors_per_track)| ZoneProfile {
            first_cylinder,
            sectors_per_track,
        };
        of.iter().map(zone).collect()
    }

    #[test]
    fn platters_of_8_333_ms_turn_7_200_times_a_minute() {
        let mut profile = DiskProfile::parse(BUILT_IN[0].1, "x.toml").unwrap();
        profile.revolution_ms = 60_000.0 / 7200.0;
        assert!((profile.revolutions_per_minute() - 7200.0).abs() < 1e-9);
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
            "x.toml: 'capacity_sectors' is 18033754, expected 18033753, the sum of the zones in [layout]: use \
             this value, or correct the zones"
        );
        assert!(DiskProfile::parse(text, "x.toml").is_ok());
    }

    #[test]
    fn a_layout_without_zones_is_refused() {
        let profile = DiskProfile {
            layout: Some(LayoutProfile {
                range_cylinders: 1,
                ..LayoutProfile::default()
            }),
            ..DiskProfile::parse(BUILT_IN[0].1, "x.toml").unwrap()
        };
        let message = DiskProfile::parse(&profile.to_toml(), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("'layout.zones' is 0, expected at least one zone"),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = DiskProfile::load("no-such-drive", Path::new("."))
            .unwrap_err()
            .to_string();
        assert!(message.contains("seagate-st3500630ns"), "{message}");
    }

    #[test]
    fn a_part_of_a_name_is_enough() {
        for name in ["exos-x18", "seagate-exos-x18-18tb"] {
            let profile = DiskProfile::load(name, Path::new(".")).unwrap();
            assert_eq!(profile.name, "seagate-exos-x18-18tb");
        }
    }

    #[test]
    fn a_figure_of_a_data_sheet_in_the_wrong_table_is_said_to_be_one() {
        let good = BUILT_IN[0].1;
        for (key, hint) in [
            ("rpm", true),
            ("heads", true),
            ("cache_mib", true),
            ("tracks", false),
        ] {
            let text = format!("{key} = 1\n{good}");
            let message = DiskProfile::parse(&text, "x.toml").unwrap_err().to_string();
            let seen = message.contains("belongs in [from_data_sheet]");
            assert_eq!(seen, hint, "{message}");
        }
    }
}
