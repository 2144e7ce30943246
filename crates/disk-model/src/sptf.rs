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
