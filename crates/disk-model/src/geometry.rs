//! Where sectors lie: zones, cylinders, heads, skews.

use serde::{Deserialize, Serialize};

use crate::mechanics::part_of_turn;
use crate::profile::LayoutProfile;
use crate::sparing::{Numbering, Sparing};
use crate::zone_index::ZoneIndex;
use crate::{DiskProfile, ZoneLaw};

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq)]
struct Zone {
    first_cylinder: u64,
    first_sector: u64,
    numbering: Numbering,
    /// Where the first sector of the cylinder `skewed_from` begins, and how much later, in turns, a track begins
    /// than the one of the head before, and a cylinder than the one before.
    offset: f64,
    track_skew: f64,
    cylinder_skew: f64,
    skewed_from: u64,
}

impl Zone {
    #[inline]
    fn sectors_per_track(&self) -> u64 {
        self.numbering.sectors_per_track
    }
}

/// By the first `begin` of each zone but the first, of which there are `end`.
fn index(zones: &[Zone], begin: impl Fn(&Zone) -> u64, end: u64) -> ZoneIndex {
    ZoneIndex::new(zones[1..].iter().map(begin).collect(), end)
}

/// In which order the sectors of a cylinder are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadOrder {
    /// From the first head to the last on all cylinders.
    #[default]
    Ascending,
    /// Back from the last to the first on every second cylinder of a zone, so that the head stays where the arm
    /// moves on.
    SerpentineInZone,
    /// The same on all odd cylinders.
    Serpentine,
}

/// The sectors of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackSpan {
    /// The lowest.
    pub first: u64,
    /// The highest.
    pub last: u64,
}

/// The place of a sector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Counted from the outermost.
    pub cylinder: u32,
    /// The surface, from 0.
    pub head: u32,
    /// The sector on its track, from 0.
    pub sector: u32,
    /// Sectors on this track.
    pub sectors_per_track: u32,
    /// Where on the turning platter the sector begins, in turns.
    pub turn: f64,
}

/// The sectors of a disk, numbered track by track, surface by surface, from the outermost cylinder in.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    zones: Vec<Zone>,
    by_sector: ZoneIndex,
    by_cylinder: ZoneIndex,
    cylinders: u64,
    heads: u64,
    capacity: u64,
    order: HeadOrder,
    /// Whether all sectors of all tracks hold data.
    plain: bool,
    /// Whether slips push the skew forward: those before the cylinder, or those before the track.
    slips_skew_cylinders: bool,
    slips_skew_tracks: bool,
}

impl Geometry {
    /// The geometry of a drive: that of its `[layout]`, or the zones that its profile lists, or one wherever the
    /// linear law of its zones comes to another whole number of sectors per track.
    pub fn new(profile: &DiskProfile) -> Self {
        if let Some(layout) = &profile.layout {
            return Self::laid_out(profile, layout);
        }
        let heads = u64::from(profile.geometry.surfaces);
        let cylinders = u64::from(profile.cylinders);
        let mut spans: Vec<(u64, u64)> = profile
            .geometry
            .zones
            .iter()
            .map(|zone| {
                (
                    u64::from(zone.first_cylinder),
                    u64::from(zone.sectors_per_track),
                )
            })
            .collect();
        if spans.is_empty() {
            let law: ZoneLaw = profile.zones();
            for cylinder in 0..cylinders {
                let x = cylinder as f64 / (cylinders - 1) as f64;
                let sectors = (law.sectors_per_track(x).round() as u64).max(1);
                if spans.last().is_none_or(|&(_, last)| last != sectors) {
                    spans.push((cylinder, sectors));
                }
            }
        }
        let track_skew = profile.geometry.track_skew_ms / profile.revolution_ms;
        let cylinder_skew = profile.geometry.cylinder_skew_ms / profile.revolution_ms;
        let mut zones = Vec::with_capacity(spans.len());
        let mut first_sector = 0;
        for (i, &(first_cylinder, sectors_per_track)) in spans.iter().enumerate() {
            let end = spans.get(i + 1).map_or(cylinders, |next| next.0);
            let numbering = Numbering::plain(end - first_cylinder, heads, sectors_per_track);
            let sectors = numbering.sectors;
            zones.push(Zone {
                first_cylinder,
                first_sector,
                numbering,
                offset: 0.0,
                track_skew,
                cylinder_skew: cylinder_skew + (heads - 1) as f64 * track_skew,
                skewed_from: 0,
            });
            first_sector += sectors;
        }
        Self {
            by_sector: index(&zones, |zone| zone.first_sector, first_sector),
            by_cylinder: index(&zones, |zone| zone.first_cylinder, cylinders),
            zones,
            cylinders,
            heads,
            capacity: first_sector,
            order: HeadOrder::Ascending,
            plain: true,
            slips_skew_cylinders: false,
            slips_skew_tracks: false,
        }
    }

    fn laid_out(profile: &DiskProfile, layout: &LayoutProfile) -> Self {
        let heads = u64::from(profile.geometry.surfaces);
        let cylinders = u64::from(profile.cylinders);
        let mut zones = Vec::with_capacity(layout.zones.len());
        let mut first_sector = 0;
        for zone in &layout.zones {
            let sectors_per_track = f64::from(zone.sectors_per_track);
            let numbering = Numbering::of_zone(layout, zone, heads);
            let sectors = numbering.sectors;
            let track_skew = zone.track_skew_sectors / sectors_per_track;
            let cylinder_skew = zone.cylinder_skew_sectors / sectors_per_track;
            zones.push(Zone {
                first_cylinder: u64::from(zone.first_cylinder),
                first_sector,
                numbering,
                offset: zone.offset_sectors / sectors_per_track,
                track_skew,
                cylinder_skew: cylinder_skew + (heads - 1) as f64 * track_skew,
                skewed_from: u64::from(zone.first_cylinder),
            });
            first_sector += sectors;
        }
        Self {
            by_sector: index(&zones, |zone| zone.first_sector, first_sector),
            by_cylinder: index(&zones, |zone| zone.first_cylinder, cylinders),
            zones,
            cylinders,
            heads,
            capacity: first_sector,
            order: layout.heads,
            plain: false,
            slips_skew_cylinders: matches!(
                layout.sparing,
                Sparing::Cylinder | Sparing::CylinderFront
            ),
            slips_skew_tracks: layout.sparing == Sparing::Track,
        }
    }

    /// How many sectors there are.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Sectors on the fullest track.
    pub fn most_sectors_per_track(&self) -> f64 {
        let most = self.zones.iter().map(Zone::sectors_per_track).max();
        most.unwrap_or(1) as f64
    }

    #[inline]
    fn zone_of(&self, sector: u64) -> &Zone {
        &self.zones[self.by_sector.zone_of(sector)]
    }

    /// The place of a sector below the capacity.
    #[inline]
    pub fn place(&self, sector: u64) -> Place {
        self.placed(sector).0
    }

    /// The place of a sector, and whether it is a remapped one, away from its track.
    #[inline]
    pub(crate) fn placed(&self, sector: u64) -> (Place, bool) {
        let zone = self.zone_of(sector);
        let (offset, remapped) = zone.numbering.place(sector - zone.first_sector);
        let sectors_per_track = zone.sectors_per_track();
        let (track, sector) = (offset / sectors_per_track, offset % sectors_per_track);
        let (cylinder, head) = (zone.first_cylinder + track / self.heads, track % self.heads);
        (self.at(zone, cylinder, head, sector), remapped)
    }

    /// `head` is counted in the order in which the tracks of the cylinder are numbered.
    #[inline]
    fn at(&self, zone: &Zone, cylinder: u64, head: u64, sector: u64) -> Place {
        let skew = (cylinder - zone.skewed_from) as f64 * zone.cylinder_skew
            + head as f64 * zone.track_skew;
        let mut passed = sector;
        if self.slips_skew_cylinders || self.slips_skew_tracks {
            let mut tracks = (cylinder - zone.first_cylinder) * self.heads;
            tracks += if self.slips_skew_tracks { head } else { 0 };
            let before = tracks * zone.sectors_per_track();
            passed += zone.numbering.slipped.partition_point(|&x| x < before) as u64;
        }
        let turn = zone.offset + skew + passed as f64 / zone.sectors_per_track() as f64;
        let backwards = match self.order {
            HeadOrder::Ascending => false,
            HeadOrder::SerpentineInZone => !(cylinder - zone.first_cylinder).is_multiple_of(2),
            HeadOrder::Serpentine => !cylinder.is_multiple_of(2),
        };
        Place {
            cylinder: cylinder as u32,
            head: (if backwards {
                self.heads - 1 - head
            } else {
                head
            }) as u32,
            sector: sector as u32,
            sectors_per_track: zone.sectors_per_track() as u32,
            turn: part_of_turn(turn),
        }
    }

    /// The sectors of the zone of this one, from the first up to the end.
    pub(crate) fn zone(&self, sector: u64) -> (u64, u64) {
        let zone = self.zone_of(sector);
        (
            zone.first_sector,
            zone.first_sector + zone.numbering.sectors,
        )
    }

    /// Sectors per track where a sector is.
    #[inline]
    pub(crate) fn sectors_per_track(&self, sector: u64) -> u64 {
        self.zone_of(sector).sectors_per_track()
    }

    /// Whether single sectors of the zone of this one lie away from their tracks.
    #[inline]
    pub(crate) fn has_remaps(&self, sector: u64) -> bool {
        self.zone_of(sector).numbering.has_remaps()
    }

    /// The sectors on the track of one that is below the capacity. A remapped sector counts as one of the track that
    /// it was on.
    #[inline]
    pub fn track(&self, sector: u64) -> TrackSpan {
        let zone = self.zone_of(sector);
        let (first, last) = zone.numbering.track(sector - zone.first_sector);
        TrackSpan {
            first: zone.first_sector + first,
            last: zone.first_sector + last,
        }
    }

    /// How many sectors there are from one on to the end of its track.
    #[inline]
    pub(crate) fn rest_of_track(&self, sector: u64, place: &Place) -> u32 {
        match self.plain {
            true => place.sectors_per_track - place.sector,
            false => (self.track(sector).last + 1 - sector) as u32,
        }
    }

    /// The first sector behind the track of one, which is `rest` sectors on, and its place; behind the last of all comes the
    /// first.
    #[inline]
    pub(crate) fn behind_track(&self, sector: u64, place: &Place, rest: u32) -> (u64, Place) {
        let next = sector + u64::from(rest);
        if self.plain {
            return (next, self.next_track(place));
        }
        let next = if next >= self.capacity { 0 } else { next };
        (next, self.place(next))
    }

    /// The first sector of the track that follows; of the last one the first of all. Where all sectors hold data.
    #[inline]
    fn next_track(&self, place: &Place) -> Place {
        let (mut cylinder, mut head) = (u64::from(place.cylinder), u64::from(place.head) + 1);
        if head == self.heads {
            (cylinder, head) = ((cylinder + 1) % self.cylinders, 0);
        }
        let zone = self.by_cylinder.zone_of(cylinder);
        self.at(&self.zones[zone], cylinder, head, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn profile() -> DiskProfile {
        DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap()
    }

    #[test]
    fn sixteen_surfaces_hold_519_thousand_million_bytes() {
        let bytes = Geometry::new(&profile()).capacity() as f64 * 512.0;
        assert!((bytes / 519e9 - 1.0).abs() < 1e-3, "{bytes}");
    }

    #[test]
    fn sectors_lie_one_behind_the_other() {
        let geometry = Geometry::new(&profile());
        let first = geometry.place(0);
        assert_eq!((first.cylinder, first.head, first.sector), (0, 0, 0));
        let last = geometry.place(geometry.capacity() - 1);
        assert_eq!((last.cylinder, last.head), (60_800, 15));
        assert_eq!(last.sector + 1, last.sectors_per_track);
        // Over some borders of tracks, cylinders and zones.
        for begin in [0, 22_000_000, 519_000_000, geometry.capacity() - 200_000] {
            for sector in begin..begin + 100_000 {
                let (a, b) = (geometry.place(sector), geometry.place(sector + 1));
                if a.sector + 1 < a.sectors_per_track {
                    assert_eq!(
                        (b.cylinder, b.head, b.sector),
                        (a.cylinder, a.head, a.sector + 1)
                    );
                } else {
                    assert_eq!(b, geometry.next_track(&a));
                }
            }
        }
    }

    #[test]
    fn the_next_track_begins_a_skew_later() {
        let geometry = Geometry::new(&profile());
        let turns = 0.8 / 8.33;
        // The end of a track is where it began.
        let first = geometry.place(0);
        let next = geometry.next_track(&first);
        assert!((next.turn - first.turn - turns).abs() < 1e-9);
        let mut last = first;
        (0..15).for_each(|_| last = geometry.next_track(&last));
        let cylinder = geometry.next_track(&last);
        let skew = (cylinder.turn - last.turn).rem_euclid(1.0);
        assert_eq!(cylinder.cylinder, 1);
        assert!((skew - turns).abs() < 1e-9);
    }

    const LAYOUT: &str = "
description = 'made up'
cylinders = 20
revolution_ms = 10.0
capacity_sectors = 1
transfer = { outermost_ms_per_sector = 0.5, innermost_ms_per_sector = 1.0 }
seek = { curve = { kind = 'constant', seek_ms = 1.0 } }
geometry = { surfaces = 3, head_switch_ms = 0.0, track_skew_ms = 0.0, cylinder_skew_ms = 0.0 }
[layout]
heads = 'ascending'
sparing = 'none'
[[layout.zones]]
first_cylinder = 1
last_cylinder = 6
sectors_per_track = 20
offset_sectors = 3.0
track_skew_sectors = 4.0
cylinder_skew_sectors = 7.0
spares = 2
slips = [2, 63, 110]
[[layout.zones]]
first_cylinder = 9
last_cylinder = 15
sectors_per_track = 12
offset_sectors = 5.0
track_skew_sectors = 2.0
cylinder_skew_sectors = 1.0
spares = 2
slips = [38, 40, 72, 110]
";

    fn laid_out(heads: &str, sparing: &str) -> Geometry {
        let text = LAYOUT
            .replace("ascending", heads)
            .replace("sparing = 'none'", &format!("sparing = '{sparing}'"));
        let profile: DiskProfile = toml::from_str(&text).unwrap();
        Geometry::new(&profile)
    }

    #[test]
    fn skews_add_up_from_the_first_track_of_a_zone_and_slips_push_them_forward() {
        for sparing in ["none", "zone", "cylinder", "cylinder-front", "track"] {
            for heads in ["ascending", "serpentine-in-zone", "serpentine"] {
                let geometry = laid_out(heads, sparing);
                let mut seen = Vec::new();
                for sector in 0..geometry.capacity() {
                    let place = geometry.place(sector);
                    let outer = place.cylinder < 9;
                    let (first, spt, offset, track, cylinder, slips) = match outer {
                        true => (1, 20, 3, 4, 7, &[2, 63, 110][..]),
                        false => (9, 12, 5, 2, 1, &[38, 40, 72, 110][..]),
                    };
                    let (beyond, heads_before) = (
                        place.cylinder - first,
                        match heads {
                            "serpentine-in-zone" if (place.cylinder - first) % 2 == 1 => {
                                2 - place.head
                            }
                            "serpentine" if place.cylinder % 2 == 1 => 2 - place.head,
                            _ => place.head,
                        },
                    );
                    // Tracks before this one, or the cylinder's, of which slips push the skew forward.
                    let tracks = match sparing {
                        "cylinder" | "cylinder-front" => 3 * beyond,
                        "track" => 3 * beyond + heads_before,
                        _ => 0,
                    };
                    let slipped = slips.iter().filter(|&&x| x < tracks * spt).count() as u32;
                    // From a cylinder to the next there are two switches of heads and one of cylinders.
                    let skew = offset + beyond * (cylinder + 2 * track) + heads_before * track;
                    let turn = f64::from(skew + place.sector + slipped) / f64::from(spt);
                    let off = (place.turn - turn + 0.5).rem_euclid(1.0) - 0.5;
                    assert!(off.abs() < 1e-9, "{sparing} {heads} {sector}: {place:?}");
                    assert_eq!(place.sectors_per_track, spt);
                    seen.push((place.cylinder, heads_before, place.sector));
                }
                // They are numbered as they lie behind each other.
                assert!(
                    seen.is_sorted() && seen.windows(2).all(|w| w[0] != w[1]),
                    "{sparing}"
                );
                assert_eq!(geometry.most_sectors_per_track(), 20.0);
            }
        }
    }

    #[test]
    fn a_track_goes_from_its_first_sector_to_its_last_and_then_comes_the_next() {
        for sparing in ["none", "zone", "track"] {
            let geometry = laid_out("serpentine", sparing);
            let track_of = |sector| {
                let place = geometry.place(sector);
                (place.cylinder, place.head)
            };
            for sector in 0..geometry.capacity() {
                let TrackSpan { first, last } = geometry.track(sector);
                assert!((first..=last).contains(&sector));
                assert!((first..=last).all(|other| track_of(other) == track_of(sector)));
                assert!(first == 0 || track_of(first - 1) != track_of(sector));
                let (place, behind) = (geometry.place(sector), (last + 1) % geometry.capacity());
                assert!(track_of(behind) != track_of(sector));
                let rest = geometry.rest_of_track(sector, &place);
                assert_eq!(u64::from(rest), last + 1 - sector);
                let next = geometry.behind_track(sector, &place, rest);
                assert_eq!(next, (behind, geometry.place(behind)));
                let zone = geometry.zone(sector);
                let in_zone = |s: u64| geometry.place(s).cylinder < 9;
                let border = (0..geometry.capacity()).find(|&s| !in_zone(s)).unwrap();
                let expected = match in_zone(sector) {
                    true => (0, border),
                    false => (border, geometry.capacity()),
                };
                assert_eq!(zone, expected);
            }
        }
    }

    #[test]
    fn a_plain_geometry_has_its_zones_and_skews_in_time() {
        let mut profile = profile();
        profile.cylinders = 6;
        profile.geometry = toml::from_str(
            "surfaces = 2\nhead_switch_ms = 0.0\ntrack_skew_ms = 0.833\ncylinder_skew_ms = 1.666\n\
             zones = [{ first_cylinder = 0, sectors_per_track = 30 }, { first_cylinder = 4, sectors_per_track = 10 }]",
        )
        .unwrap();
        let geometry = Geometry::new(&profile);
        assert_eq!(geometry.capacity(), 4 * 2 * 30 + 2 * 2 * 10);
        assert_eq!(geometry.most_sectors_per_track(), 30.0);
        assert_eq!(
            (geometry.zone(239), geometry.zone(240)),
            ((0, 240), (240, 280))
        );
        let mut expected = 0;
        for cylinder in 0..6 {
            for head in 0..2 {
                let sectors = if cylinder < 4 { 30 } else { 10 };
                // A tenth of a turn from head to head, a fifth from the last head to the next cylinder.
                let skew = 0.3 * f64::from(cylinder) + 0.1 * f64::from(head);
                for sector in 0..sectors {
                    let place = geometry.place(expected);
                    let seen = (place.cylinder, place.head, place.sector);
                    assert_eq!(seen, (cylinder, head, sector));
                    assert_eq!(place.sectors_per_track, sectors);
                    let turn = skew + f64::from(sector) / f64::from(sectors);
                    let off = (place.turn - turn + 0.5).rem_euclid(1.0) - 0.5;
                    assert!(off.abs() < 1e-9, "{place:?}");
                    assert_eq!(geometry.sectors_per_track(expected), u64::from(sectors));
                    expected += 1;
                }
            }
        }
        // Behind the last track comes the first.
        let last = geometry.place(279);
        assert_eq!(geometry.next_track(&last), geometry.place(0));
    }
}
