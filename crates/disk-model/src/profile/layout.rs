//! Where the sectors of a profile lie: zones with gaps, spares, slips and skews of their own.

use serde::{Deserialize, Serialize};

use super::ProfileError;
use super::check::Refuse;
use crate::DiskProfile;
use crate::geometry::HeadOrder;
use crate::sparing::{Numbering, Sparing};

/// The positions of sectors.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutProfile {
    /// The order in which the sectors of a cylinder are numbered.
    #[serde(default)]
    pub heads: HeadOrder,
    /// The positions of the spares.
    #[serde(default)]
    pub sparing: Sparing,
    /// The number of cylinders in a range, for `sparing = "range"`.
    #[serde(default = "one")]
    pub range_cylinders: u32,
    /// The zones, in the order of their sectors. Cylinders that belong to no zone hold no data.
    pub zones: Vec<LayoutZone>,
}

fn one() -> u32 {
    1
}

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutZone {
    /// The outermost cylinder of the zone.
    pub first_cylinder: u32,
    /// The innermost cylinder of the zone.
    pub last_cylinder: u32,
    /// The number of sectors per track.
    pub sectors_per_track: u32,
    /// The position of the zone's first sector on its track, in sectors from the index.
    #[serde(default)]
    pub offset_sectors: f64,
    /// The number of sectors by which a track begins later than the track of the previous head.
    #[serde(default)]
    pub track_skew_sectors: f64,
    /// The number of sectors by which the first track of a cylinder begins later than the last track of the previous
    /// cylinder.
    #[serde(default)]
    pub cylinder_skew_sectors: f64,
    /// The number of sectors at the front of the zone that hold no data.
    #[serde(default)]
    pub skipped_sectors: u64,
    /// The number of spare sectors in each sparing unit, or of spare tracks with `sparing = "tracks"`.
    #[serde(default)]
    pub spares: u64,
    /// Defective positions that the numbering skips, in ascending order: sectors of the zone, or tracks with `sparing =
    /// "tracks"`.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// Pairs of a defective position and its replacement.
    #[serde(default)]
    pub remaps: Vec<(u64, u64)>,
}

impl DiskProfile {
    /// Whether the zones are those of a drive.
    pub(super) fn check_layout(
        &self,
        layout: &LayoutProfile,
        refuse: &Refuse<'_>,
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
        // Without zones there is no geometry.
        if spans.is_empty() || !apart || crate::Geometry::new(self).capacity() == 0 {
            let expected = "at least one zone with sectors, and no overlapping zones";
            return refuse("layout.zones", layout.zones.len() as f64, expected);
        }
        Ok(())
    }

    fn check_zone(
        &self,
        layout: &LayoutProfile,
        zone: &LayoutZone,
        refuse: &Refuse<'_>,
    ) -> Result<(), ProfileError> {
        let heads = u64::from(self.geometry.surfaces);
        let (first, last) = (zone.first_cylinder, zone.last_cylinder);
        if first > last || last >= self.cylinders {
            let expected = "from the first cylinder of the zone to the last one of the disk";
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
                "less than the number of sectors in a sparing unit (of tracks in the zone, if \
                 layout.sparing is 'tracks')",
            );
        }
        if zone.skipped_sectors >= sectors {
            let seen = zone.skipped_sectors as f64;
            return refuse(
                "layout.zones.skipped_sectors",
                seen,
                "less than the number of sectors in the zone",
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
                let expected = "less than the sectors of the zone, surfaces x cylinders x sectors_per_track (or than its \
                                tracks, surfaces x cylinders, if layout.sparing is 'tracks')";
                return refuse(key, place as f64, expected);
            }
        }
        if Numbering::of_zone(layout, zone, heads).is_overfull() {
            let expected = "no more slips than spares in each sparing unit (track, cylinder, range of cylinders, \
                            zone): sectors that slip beyond the unit would overlap others";
            return refuse("layout.zones.slips", zone.slips.len() as f64, expected);
        }
        Ok(())
    }
}
