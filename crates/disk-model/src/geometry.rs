//! Where sectors lie: zones, cylinders, heads, skews.

use crate::{DiskProfile, ZoneLaw};

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Zone {
    first_cylinder: u64,
    sectors_per_track: u64,
    first_sector: u64,
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
    cylinders: u64,
    heads: u64,
    capacity: u64,
    /// How much later, in turns, a track begins than the one of the head before ...
    track_skew: f64,
    /// ... and than the last one of the cylinder before.
    cylinder_skew: f64,
}

impl Geometry {
    /// The geometry of a drive: the zones that its profile lists, or one wherever the linear law of its
    /// zones comes to another whole number of sectors per track.
    pub fn new(profile: &DiskProfile) -> Self {
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
        let mut zones = Vec::with_capacity(spans.len());
        let mut first_sector = 0;
        for (i, &(first_cylinder, sectors_per_track)) in spans.iter().enumerate() {
            zones.push(Zone {
                first_cylinder,
                sectors_per_track,
                first_sector,
            });
            let end = spans.get(i + 1).map_or(cylinders, |next| next.0);
            first_sector += (end - first_cylinder) * heads * sectors_per_track;
        }
        Self {
            zones,
            cylinders,
            heads,
            capacity: first_sector,
            track_skew: profile.geometry.track_skew_ms / profile.revolution_ms,
            cylinder_skew: profile.geometry.cylinder_skew_ms / profile.revolution_ms,
        }
    }

    /// How many sectors there are.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Sectors on the fullest track.
    pub fn most_sectors_per_track(&self) -> f64 {
        let most = self.zones.iter().map(|zone| zone.sectors_per_track).max();
        most.unwrap_or(1) as f64
    }

    /// The place of a sector below the capacity.
    #[inline]
    pub fn place(&self, sector: u64) -> Place {
        let zone = self
            .zones
            .partition_point(|zone| zone.first_sector <= sector)
            - 1;
        let zone = &self.zones[zone];
        let offset = sector - zone.first_sector;
        let (track, sector) = (
            offset / zone.sectors_per_track,
            offset % zone.sectors_per_track,
        );
        let (cylinder, head) = (zone.first_cylinder + track / self.heads, track % self.heads);
        self.at(cylinder, head, sector, zone.sectors_per_track)
    }

    #[inline]
    fn at(&self, cylinder: u64, head: u64, sector: u64, sectors_per_track: u64) -> Place {
        let per_cylinder = self.cylinder_skew + (self.heads - 1) as f64 * self.track_skew;
        let skew = cylinder as f64 * per_cylinder + head as f64 * self.track_skew;
        let turn = skew + sector as f64 / sectors_per_track as f64;
        Place {
            cylinder: cylinder as u32,
            head: head as u32,
            sector: sector as u32,
            sectors_per_track: sectors_per_track as u32,
            turn: turn - turn.floor(),
        }
    }

    /// The first sector of the track that follows; of the last one the first of all.
    #[inline]
    pub(crate) fn next_track(&self, place: &Place) -> Place {
        let (mut cylinder, mut head) = (u64::from(place.cylinder), u64::from(place.head) + 1);
        if head == self.heads {
            (cylinder, head) = ((cylinder + 1) % self.cylinders, 0);
        }
        let zone = self
            .zones
            .partition_point(|zone| zone.first_cylinder <= cylinder)
            - 1;
        self.at(cylinder, head, 0, self.zones[zone].sectors_per_track)
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
}
