//! How to find the job with the shortest positioning time (SPTF) without computing the times of all.
//!
//! A sector passes under the head once per turn, and is reached at its first pass after the seek. If a seek is taken to be
//! shorter than it is, that pass comes no later. So the least seek time over similar distances, from a table, gives a least
//! positioning time. It takes integer operations only, as times are counted in parts of a turn, of which there is a power
//! of two. The exact time is computed for the job with the shortest least time, and then for those whose least time is no
//! later than that.

use iosonar_device::Access;

use crate::geometry::Place;
use crate::mechanics::{Mechanics, ROUNDING_NS, part_of_turn};

/// Parts of a turn.
const TURN: u32 = 1 << 24;
/// Entries of the table, at most.
const PLACES: u32 = 1024;
/// Longer seeks count as this long, so that the sum of a seek and a turn does not overflow.
const LONGEST: f64 = (1_u32 << 30) as f64;

/// The least seek times over ranges of distances, in parts of a turn.
#[derive(Debug)]
pub(crate) struct LeastSeeks {
    /// For reads, and for the others.
    table: Box<[[u32; 2]]>,
    /// How many low bits of a distance are ignored.
    coarse: u32,
}

impl LeastSeeks {
    pub(crate) fn new(mechanics: &Mechanics, cylinders: u32) -> Self {
        let coarse = (cylinders / PLACES + 1).next_power_of_two().ilog2();
        let last = (cylinders - 1) >> coarse;
        let parts_per_ns = f64::from(TURN) / mechanics.revolution_ns;
        let least = |place: u32, access: Access| {
            let distances = place << coarse..((place + 1) << coarse).min(cylinders);
            let seeks = distances.map(|distance| mechanics.moved_ns(distance, false, access));
            // Down to whole parts.
            (seeks.fold(f64::INFINITY, f64::min) * parts_per_ns).clamp(0.0, LONGEST) as u32
        };
        let entry = |place| {
            // Not all others need to settle as a write does.
            let others = least(place, Access::Write).min(least(place, Access::Discard));
            [least(place, Access::Read), others]
        };
        Self {
            table: (0..=last).map(entry).collect(),
            coarse,
        }
    }

    #[inline]
    fn of(&self, distance: u32, access: Access) -> u32 {
        self.table[(distance >> self.coarse) as usize][usize::from(access != Access::Read)]
    }
}

/// Where the arm and the platter are when positioning would start.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    seeks: &'a LeastSeeks,
    arm: u32,
    angle: u32,
    /// Added to all times, so that a pass that rounding puts just before the end of its seek is not missed.
    margin: u32,
    parts_per_ns: f64,
}

impl<'a> Start<'a> {
    /// With the arm on the cylinder `arm`, and the platter `turns` after its index, whole turns included.
    #[inline]
    pub(crate) fn new(mechanics: &'a Mechanics, arm: u32, turns: f64) -> Self {
        let parts_per_ns = f64::from(TURN) / mechanics.revolution_ns;
        // Two angles, a seek and the limit are rounded, and floats are less precise for more turns.
        let rounding = 4.0 + turns * (1.0 / f64::from(1 << 26));
        Self {
            seeks: mechanics.least_seeks(),
            arm,
            angle: parts(part_of_turn(turns)),
            margin: (ROUNDING_NS * parts_per_ns + rounding) as u32,
            parts_per_ns,
        }
    }

    /// A lower bound of the positioning time, in parts of a turn, to be compared with [`limit`](Self::limit).
    #[inline]
    pub(crate) fn least(self, place: &Place, access: Access) -> u32 {
        let seek = self.seeks.of(place.cylinder.abs_diff(self.arm), access);
        let from_angle = parts(place.turn).wrapping_sub(self.angle);
        let pass = from_angle.wrapping_add(self.margin);
        seek + (pass.wrapping_sub(seek) & (TURN - 1))
    }

    /// If a job's [least time](Self::least) exceeds this, its positioning takes longer than `ns`.
    #[inline]
    pub(crate) fn limit(self, ns: f64) -> u32 {
        ((ns * self.parts_per_ns) as u32).saturating_add(2 * self.margin)
    }
}

/// `of_turn`, 0 to 1, in parts of a turn, to the nearest one. A float of this magnitude has them in its last bits.
#[inline]
fn parts(of_turn: f64) -> u32 {
    const MAGNITUDE: f64 = (1_u64 << (f64::MANTISSA_DIGITS - 1 - TURN.ilog2())) as f64;
    (of_turn + MAGNITUDE).to_bits() as u32
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use iosonar_sim_core::Seed;
    use iosonar_units::Nanos;

    use super::*;
    use crate::DiskProfile;
    use crate::mechanics::{Head, Track};

    #[test]
    fn least_times_are_no_later_than_exact_ones_and_hardly_earlier() {
        let mut profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        // An entry of the table for each distance; one surface, as switches of heads are not in it.
        (profile.cylinders, profile.geometry.surfaces) = (1000, 1);
        let mechanics = Mechanics::new(&profile);
        let capacity = mechanics.geometry.capacity();
        let mut stream = Seed::new(11).stream("test", "least");
        for access in [Access::Read, Access::Write, Access::Discard] {
            for _ in 0..3000 {
                let turns = 10.0 * stream.uniform();
                let track = Track {
                    cylinder: stream.below(1000) as u32,
                    head: 0,
                };
                let place = mechanics.geometry.place(stream.below(capacity));
                let head = Head {
                    angle: turns,
                    clock: Nanos::ZERO,
                    track,
                };
                let seek = mechanics.seek_ns(track, &place, access);
                let latency = head.latency_ns(place.turn, seek, mechanics.revolution_ns);
                let start = Start::new(&mechanics, track.cylinder, turns);
                let least = start.least(&place, access);
                let limit = start.limit(seek + latency);
                assert!(least <= limit, "{access:?} {place:?}: {least} {limit}");
                // A sector that rounding may put before the end of the seek is taken to be in time.
                if (1000.0..mechanics.revolution_ns - 1000.0).contains(&latency) {
                    assert!(limit - least <= 2 * start.margin, "{access:?} {place:?}");
                }
            }
        }
    }

    #[test]
    fn a_coarse_table_has_the_least_seek_of_each_range() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let mechanics = Mechanics::new(&profile);
        let seeks = mechanics.least_seeks();
        // 60,801 cylinders in ranges of 64, of which there are 951.
        assert_eq!((seeks.coarse, seeks.table.len()), (6, 951));
        let parts = f64::from(TURN) / mechanics.revolution_ns;
        for distance in [0, 1, 63, 64, 100, 6400, 60_800] {
            for access in [Access::Read, Access::Write] {
                // The shortest seek of a range is over its first distance.
                let first = distance / 64 * 64;
                let exact = mechanics.moved_ns(first, false, access) * parts;
                assert_eq!(seeks.of(distance, access), exact as u32, "{distance}");
            }
        }
    }

    #[test]
    fn parts_of_a_turn_are_rounded_to_the_nearest() {
        let part = 1.0 / f64::from(TURN);
        for (of_turn, expected) in [
            (0.0, 0),
            (0.25, TURN / 4),
            (7.4 * part, 7),
            (7.6 * part, 8),
            (1.0 - part, TURN - 1),
        ] {
            assert_eq!(parts(of_turn) & (TURN - 1), expected);
        }
    }
}
