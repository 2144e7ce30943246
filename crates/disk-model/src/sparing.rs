//! Which sectors of a zone hold data: slips around defects, spares and remapped sectors.
//!
//! Drives keep spare sectors (or tracks) and number their sectors past the defective ones. A *slip* is a defective
//! place that the numbering skips; a *remap* is a sector that was found defective later and whose data lie in a
//! spare one. The zone is divided into units (a track, a cylinder, a range of cylinders, or the whole zone), each
//! with its own spares at its end:
//!
//! ```text
//! unit p:  usable sectors, slips skipped ................ | spares
//!          r = p * usable + offset   ──►   place = p * sectors + offset + (slips up to there)
//! ```
//!
//! The rules are those of DiskSim's layout model of the first generation (Bucy, Schindler, Schlosser, Ganger,
//! "The DiskSim Simulation Environment Version 4.0", CMU-PDL-08-101).

use serde::{Deserialize, Serialize};

use crate::profile::{LayoutProfile, LayoutZone};

/// Where the spare places of a drive are, and what a slip or a remap counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparing {
    /// No spares: a zone loses as many sectors as it has slips.
    #[default]
    None,
    /// Whole tracks at the end of a zone; slips and remaps are numbers of tracks.
    Tracks,
    /// Sectors at the end of each track.
    Track,
    /// Sectors at the end of each cylinder.
    Cylinder,
    /// Sectors of each cylinder that are counted as if they were at its end, although they are at its front.
    CylinderFront,
    /// Sectors at the end of each range of cylinders.
    Range,
    /// Sectors at the end of each zone.
    Zone,
    /// Sectors at the end of the disk: a zone loses as many as it has slips.
    Disk,
}

/// The numbering of a zone. Places are counted from the zone's first sector, over all its tracks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbering {
    pub(crate) sectors_per_track: u64,
    /// Sectors at the front that hold no data.
    skipped: u64,
    /// How many sectors are numbered, and on how many places.
    pub(crate) sectors: u64,
    places: u64,
    /// Sectors of a unit, and those of them that are numbered; `u64::MAX` where the zone is one unit.
    unit: u64,
    usable: u64,
    by_track: bool,
    /// From which number on each slip moves the sectors of its unit, ascending.
    slips: Box<[u64]>,
    /// The slipped places, ascending, for skews that slips push forward.
    pub(crate) slipped: Box<[u64]>,
    /// Defective place and replacement, ascending in the former.
    remaps: Box<[(u64, u64)]>,
}

/// What a zone is made of.
pub(crate) struct Span<'a> {
    pub(crate) cylinders: u64,
    pub(crate) heads: u64,
    pub(crate) sectors_per_track: u64,
    pub(crate) skipped: u64,
    pub(crate) spares: u64,
    pub(crate) slips: &'a [u64],
    pub(crate) remaps: &'a [(u64, u64)],
}

impl Numbering {
    /// A zone whose sectors all hold data.
    pub(crate) fn plain(cylinders: u64, heads: u64, sectors_per_track: u64) -> Self {
        Self::new(
            Sparing::None,
            1,
            &Span {
                cylinders,
                heads,
                sectors_per_track,
                skipped: 0,
                spares: 0,
                slips: &[],
                remaps: &[],
            },
        )
    }

    /// The numbering of a zone of a layout, on this many surfaces.
    pub(crate) fn of_zone(layout: &LayoutProfile, zone: &LayoutZone, heads: u64) -> Self {
        let span = Span {
            cylinders: u64::from(zone.last_cylinder - zone.first_cylinder) + 1,
            heads,
            sectors_per_track: u64::from(zone.sectors_per_track),
            skipped: zone.skipped_sectors,
            spares: zone.spares,
            slips: &zone.slips,
            remaps: &zone.remaps,
        };
        Self::new(layout.sparing, u64::from(layout.range_cylinders), &span)
    }

    /// Whether slips move sectors beyond the end of their unit, onto the places of others.
    pub(crate) fn is_overfull(&self) -> bool {
        let end = self.skipped + self.sectors;
        let last_of_unit = |&from: &u64| match self.unit {
            u64::MAX => end - 1,
            _ => ((from / self.usable + 1) * self.usable).min(end) - 1,
        };
        let beyond = |from: &u64| {
            let last = last_of_unit(from);
            let unit = match self.unit {
                u64::MAX => self.places,
                unit => ((last / self.usable + 1) * unit).min(self.places),
            };
            self.place_of(last) >= unit
        };
        // Slips behind the last sector move nothing.
        let moves = |from: &&u64| self.by_track || **from < end;
        self.sectors > 0 && self.slips.iter().filter(moves).any(beyond)
    }

    /// The numbering of a zone with spares; `range` is the number of cylinders of [`Sparing::Range`].
    pub(crate) fn new(sparing: Sparing, range: u64, zone: &Span<'_>) -> Self {
        let &Span {
            cylinders,
            heads,
            sectors_per_track,
            skipped,
            spares,
            slips,
            remaps,
        } = zone;
        let cylinder = heads * sectors_per_track;
        let all = cylinders * cylinder;
        let (unit, lost) = match sparing {
            Sparing::Tracks => (u64::MAX, spares.saturating_mul(sectors_per_track)),
            Sparing::Track => (sectors_per_track, spares.saturating_mul(cylinders * heads)),
            Sparing::Cylinder | Sparing::CylinderFront => {
                (cylinder, spares.saturating_mul(cylinders))
            }
            Sparing::Range => (
                cylinder * range,
                spares.saturating_mul(cylinders / range.max(1)),
            ),
            Sparing::Zone => (u64::MAX, spares),
            // A zone without spares ends earlier, so that no sector moves onto the places of the next one.
            Sparing::None | Sparing::Disk => (u64::MAX, slips.len() as u64),
        };
        let usable = match unit {
            u64::MAX => unit,
            unit => unit.saturating_sub(spares).max(1),
        };
        let mut slipped: Vec<u64> = slips.to_vec();
        slipped.sort_unstable();
        let mut remaps = remaps.to_vec();
        remaps.retain(|(from, to)| from != to);
        // Of several remaps of one place the first counts.
        remaps.sort_by_key(|remap| remap.0);
        remaps.dedup_by_key(|remap| remap.0);
        let mut numbering = Self {
            sectors_per_track,
            skipped,
            sectors: all.saturating_sub(skipped).saturating_sub(lost),
            places: all,
            unit,
            usable,
            by_track: sparing == Sparing::Tracks,
            slips: Box::default(),
            slipped: Box::default(),
            remaps: remaps.into(),
        };
        numbering.slips = numbering.moved_by(&slipped).into();
        numbering.slipped = slipped.into();
        numbering
    }

    /// The number, on from which each slip counts: the i-th one of a unit at `x` does where `x <= offset + i`.
    fn moved_by(&self, slipped: &[u64]) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(slipped.len());
        let (mut unit, mut in_unit, mut last) = (u64::MAX, 0, 0);
        for &x in slipped {
            let p = x / self.unit;
            if p != unit {
                (unit, in_unit, last) = (p, 0, 0);
            }
            let offset = (x - p * if self.unit == u64::MAX { 0 } else { self.unit })
                .saturating_sub(in_unit)
                .max(last);
            // Among the spares it moves nothing.
            if offset < self.usable {
                let base = if self.unit == u64::MAX {
                    0
                } else {
                    p * self.usable
                };
                numbers.push(base + offset);
                (in_unit, last) = (in_unit + 1, offset);
            }
        }
        numbers
    }

    /// The place of the number `r`, counted from the zone's first sector; remaps are left out.
    #[inline]
    fn place_of(&self, r: u64) -> u64 {
        if self.by_track {
            if self.slips.is_empty() {
                return r;
            }
            let track = r / self.sectors_per_track;
            let slips = self.slips.partition_point(|&from| from <= track) as u64;
            return r + slips * self.sectors_per_track;
        }
        if self.unit == u64::MAX {
            return match self.slips.is_empty() {
                true => r,
                false => r + self.slips.partition_point(|&from| from <= r) as u64,
            };
        }
        let unit = r / self.usable;
        let base = unit * self.usable;
        let mut slips = 0;
        if !self.slips.is_empty() {
            let up_to = self.slips.partition_point(|&from| from <= r);
            let before = self.slips[..up_to].partition_point(|&from| from < base);
            slips = (up_to - before) as u64;
        }
        unit * self.unit + (r - base) + slips
    }

    /// The place of the sector `offset` of the zone, and whether it lies away from its track.
    #[inline]
    pub(crate) fn place(&self, offset: u64) -> (u64, bool) {
        let place = self.place_of(offset + self.skipped);
        if self.remaps.is_empty() {
            return (place, false);
        }
        let (key, scale) = match self.by_track {
            true => (place / self.sectors_per_track, self.sectors_per_track),
            false => (place, 1),
        };
        match self.remaps.binary_search_by_key(&key, |remap| remap.0) {
            Ok(i) => (
                self.remaps[i].1 * scale + place % scale.max(1),
                !self.by_track,
            ),
            Err(_) => (place, false),
        }
    }

    /// Whether single sectors lie away from their tracks.
    #[inline]
    pub(crate) fn has_remaps(&self) -> bool {
        !self.by_track && !self.remaps.is_empty()
    }

    /// The first and the last sector of the zone on the track of the sector `offset`. A remapped sector counts as
    /// one of the track that it was on.
    pub(crate) fn track(&self, offset: u64) -> (u64, u64) {
        let r = offset + self.skipped;
        let (mut low, mut high) = (self.skipped, self.skipped + self.sectors - 1);
        if self.unit != u64::MAX {
            let unit = r / self.usable;
            low = low.max(unit * self.usable);
            high = high.min((unit + 1) * self.usable - 1);
        }
        let place = self.place_of(r);
        let begin = place - place % self.sectors_per_track;
        let end = begin + self.sectors_per_track;
        // Where nothing is skipped they are as far away as the place is from the track's ends.
        let first = low.max(r.saturating_sub(place - begin));
        let last = high.min(r + (end - 1 - place)).max(r);
        let first = match self.place_of(first) >= begin {
            true => first,
            false => least(first, r, |r| self.place_of(r) >= begin),
        };
        let last = match self.place_of(last) < end {
            true => last,
            false => least(r, last, |r| self.place_of(r) >= end) - 1,
        };
        (first - self.skipped, last - self.skipped)
    }
}

/// The least number above `low` and up to `high` of which `holds` holds, as it does from somewhere on.
fn least(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while high - low > 1 {
        let middle = low.midpoint(high);
        match holds(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARINGS: [Sparing; 8] = [
        Sparing::None,
        Sparing::Tracks,
        Sparing::Track,
        Sparing::Cylinder,
        Sparing::CylinderFront,
        Sparing::Range,
        Sparing::Zone,
        Sparing::Disk,
    ];

    /// The rule slip by slip, as the documentation has it.
    fn by_rule(sparing: Sparing, range: u64, zone: &Span<'_>, offset: u64) -> u64 {
        let spt = zone.sectors_per_track;
        let r = offset + zone.skipped;
        let (unit, usable) = match sparing {
            Sparing::None | Sparing::Zone | Sparing::Disk => (0, u64::MAX),
            Sparing::Tracks => {
                let mut track = r / spt;
                for &x in zone.slips {
                    track += u64::from(x <= track);
                }
                return track * spt + r % spt;
            }
            Sparing::Track => (spt, spt - zone.spares),
            Sparing::Cylinder | Sparing::CylinderFront => {
                (spt * zone.heads, spt * zone.heads - zone.spares)
            }
            Sparing::Range => (
                spt * zone.heads * range,
                spt * zone.heads * range - zone.spares,
            ),
        };
        let (p, r) = (r / usable, r % usable);
        let mut slips = 0;
        for &x in zone.slips {
            slips += u64::from(x >= p * unit && x - p * unit <= r + slips);
        }
        p * unit + r + slips
    }

    #[test]
    fn every_sector_has_a_place_of_its_own_on_its_track() {
        let mut random = 1_u64;
        let mut below = move |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % n
        };
        for sparing in SPARINGS {
            for _ in 0..40 {
                let (cylinders, heads, spt) = (6 + below(5), 1 + below(4), 5 + below(9));
                let range = 1 + below(3);
                let all = cylinders * heads * spt;
                let by_track = sparing == Sparing::Tracks;
                let mut slips: Vec<u64> = (0..below(4))
                    .map(|_| below(if by_track { all / spt } else { all }))
                    .collect();
                slips.sort_unstable();
                slips.dedup();
                if sparing == Sparing::Range {
                    // A last range that is shorter has no spares.
                    slips.retain(|&x| x < cylinders / range * range * heads * spt);
                }
                let spares = match sparing {
                    Sparing::None => {
                        slips.clear();
                        0
                    }
                    _ => 4,
                };
                let zone = Span {
                    cylinders,
                    heads,
                    sectors_per_track: spt,
                    skipped: match sparing {
                        Sparing::None | Sparing::Tracks | Sparing::Zone | Sparing::Disk => below(7),
                        _ => 0,
                    },
                    spares: if sparing == Sparing::Tracks {
                        3
                    } else {
                        spares
                    },
                    slips: &slips,
                    remaps: &[],
                };
                let numbering = Numbering::new(sparing, range, &zone);
                assert!(numbering.sectors > 0 && numbering.sectors <= all);
                let places: Vec<u64> = (0..numbering.sectors)
                    .map(|offset| numbering.place(offset).0)
                    .collect();
                for (offset, &place) in places.iter().enumerate() {
                    let expected = by_rule(sparing, range, &zone, offset as u64);
                    assert_eq!(place, expected, "{sparing:?} {offset}");
                }
                assert!(places.windows(2).all(|w| w[0] < w[1]), "{sparing:?}");
                assert!(places.iter().all(|&place| place < all), "{sparing:?}");
                for offset in 0..numbering.sectors {
                    let track = places[offset as usize] / spt;
                    let on_it = |&i: &u64| places[i as usize] / spt == track;
                    let first = (0..numbering.sectors).find(on_it).unwrap();
                    let last = (0..numbering.sectors).rfind(on_it).unwrap();
                    assert_eq!(
                        numbering.track(offset),
                        (first, last),
                        "{sparing:?} {offset}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_remapped_sector_lies_elsewhere_and_counts_for_its_track() {
        let zone = Span {
            cylinders: 2,
            heads: 2,
            sectors_per_track: 10,
            skipped: 0,
            spares: 2,
            slips: &[3],
            remaps: &[(12, 38), (20, 20)],
        };
        let numbering = Numbering::new(Sparing::Zone, 1, &zone);
        assert_eq!(numbering.sectors, 38);
        assert_eq!(numbering.place(2), (2, false));
        assert_eq!(numbering.place(3), (4, false));
        assert_eq!(numbering.place(11), (38, true));
        assert_eq!(numbering.track(11), (9, 18));
        assert_eq!(numbering.place(19), (20, false));
    }

    #[test]
    fn single_sectors_lie_away_from_their_tracks_unless_whole_tracks_do() {
        for (sparing, remaps, away) in [
            (Sparing::Zone, &[(12, 38)][..], true),
            (Sparing::Zone, &[(12, 12)], false),
            (Sparing::Zone, &[], false),
            (Sparing::Tracks, &[(1, 3)], false),
        ] {
            let zone = Span {
                cylinders: 2,
                heads: 2,
                sectors_per_track: 10,
                skipped: 0,
                spares: 1,
                slips: &[],
                remaps,
            };
            let numbering = Numbering::new(sparing, 1, &zone);
            assert_eq!(numbering.has_remaps(), away, "{sparing:?} {remaps:?}");
            let moved: Vec<u64> = (0..numbering.sectors)
                .filter(|&offset| numbering.place(offset) != (offset, false))
                .collect();
            match sparing {
                // The second track is where the fourth would be.
                Sparing::Tracks => {
                    assert_eq!(moved, (10..20).collect::<Vec<_>>());
                    assert_eq!(numbering.place(13), (33, false));
                    assert_eq!(numbering.track(13), (10, 19));
                }
                _ if away => assert_eq!(
                    (moved.as_slice(), numbering.place(12)),
                    (&[12][..], (38, true))
                ),
                _ => assert!(moved.is_empty()),
            }
        }
    }

    #[test]
    fn of_several_remaps_of_a_place_the_first_counts() {
        let zone = Span {
            cylinders: 1,
            heads: 2,
            sectors_per_track: 10,
            skipped: 0,
            spares: 3,
            slips: &[],
            remaps: &[(9, 18), (4, 17), (9, 19)],
        };
        let numbering = Numbering::new(Sparing::Zone, 1, &zone);
        assert_eq!(numbering.place(9), (18, true));
        assert_eq!(numbering.place(4), (17, true));
        assert_eq!(numbering.place(8), (8, false));
    }
}
