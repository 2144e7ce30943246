//! The arm and the platter: how long it takes to bring the head to a track, and until a sector comes under it.

use std::sync::{Arc, OnceLock};

use iosonar_device::Access;
use iosonar_units::Nanos;

use crate::bands::Bands;
use crate::command::Electronics;
use crate::geometry::{Geometry, Place};
use crate::sptf::LeastSeeks;
use crate::{DiskProfile, SeekCurves};

/// What positional disks of a kind share.
#[derive(Debug)]
pub struct Mechanics {
    pub(crate) geometry: Geometry,
    pub(crate) revolution_ns: f64,
    seeks: SeekCurves,
    cylinders: u32,
    least_seeks: OnceLock<LeastSeeks>,
    write_settle_ns: f64,
    head_switch_ns: f64,
    cylinder_switch_ns: Option<f64>,
    /// The buffer and the bus, if the drive has them.
    pub(crate) electronics: Option<Electronics>,
    /// The bands and the media cache, if the drive is shingled.
    pub(crate) bands: Option<Bands>,
}

/// The track under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
}

impl From<&Place> for Track {
    fn from(place: &Place) -> Self {
        Self {
            cylinder: place.cylinder,
            head: place.head,
        }
    }
}

impl Mechanics {
    /// The mechanics of a drive.
    pub fn new(profile: &DiskProfile) -> Arc<Self> {
        let geometry = Geometry::new(profile);
        let shingled = profile.shingled.as_ref();
        Arc::new(Self {
            bands: shingled.map(|shingled| Bands::new(shingled, profile, &geometry)),
            geometry,
            revolution_ns: profile.revolution_ms * 1e6,
            seeks: profile.seeks(),
            cylinders: profile.cylinders,
            least_seeks: OnceLock::new(),
            write_settle_ns: profile.seek.write_settle_ms * 1e6,
            head_switch_ns: profile.geometry.head_switch_ms * 1e6,
            cylinder_switch_ns: profile.geometry.cylinder_switch_ms.map(|ms| ms * 1e6),
            electronics: Electronics::new(profile),
        })
    }

    /// Where the sectors are.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How many sectors there are for the host.
    pub fn capacity(&self) -> u64 {
        match &self.bands {
            Some(bands) => bands.capacity,
            None => self.geometry.capacity(),
        }
    }

    /// The time of a seek over `cylinders`, or of a switch of heads, in milliseconds.
    pub fn seek_ms(&self, cylinders: u32, other_head: bool, access: Access) -> f64 {
        self.moved_ns(cylinders, other_head, access) / 1e6
    }

    #[inline]
    pub(crate) fn moved_ns(&self, cylinders: u32, other_head: bool, access: Access) -> f64 {
        let switch = if other_head { self.head_switch_ns } else { 0.0 };
        let time = if cylinders == 0 {
            switch
        } else {
            let seek_ms = self.seeks.of(access).time_ms(f64::from(cylinders));
            (seek_ms * 1e6).max(switch)
        };
        match access {
            Access::Write if time > 0.0 && self.write_settle_ns != 0.0 => {
                (time + self.write_settle_ns).max(0.0)
            }
            _ => time,
        }
    }

    /// The time to bring the head from one track to another.
    #[inline]
    pub(crate) fn seek_ns(&self, from: Track, to: &Place, access: Access) -> f64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        self.moved_ns(distance, from.head != to.head, access)
    }

    /// The least times of seeks, which are worked out when they are first asked for.
    #[inline]
    pub(crate) fn least_seeks(&self) -> &LeastSeeks {
        self.least_seeks
            .get_or_init(|| LeastSeeks::new(self, self.cylinders))
    }

    /// The time to go on to the next track in the middle of a transfer.
    pub(crate) fn crossing_ns(&self, from: Track, to: &Place, access: Access) -> f64 {
        match self.cylinder_switch_ns {
            Some(switch) if from.cylinder != to.cylinder => switch,
            _ => self.seek_ns(from, to, access),
        }
    }

    /// Passes over `sectors` from `sector` at `place` on, which comes under the head at `at`; gives when the last has
    /// passed.
    #[inline]
    pub(crate) fn pass(
        &self,
        head: &mut Head,
        access: Access,
        (mut sector, mut place): (u64, Place),
        sectors: u32,
        mut at: f64,
    ) -> f64 {
        let mut left = sectors;
        loop {
            head.track = Track::from(&place);
            let here = left.min(self.geometry.rest_of_track(sector, &place));
            let per_sector = self.revolution_ns / f64::from(place.sectors_per_track);
            at += f64::from(here) * per_sector;
            left -= here;
            if left == 0 {
                return at;
            }
            (sector, place) = self.geometry.behind_track(sector, &place, here);
            at += self.crossing_ns(head.track, &place, access);
            at += head.latency_ns(place.turn, at, self.revolution_ns);
        }
    }
}

/// Where the head is, and how the platter lies under it.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The platter's angle in turns at the instant `clock`, when the last service began. Times are taken from
    /// there: since the beginning of a long run they would be too long for a float to represent nanoseconds.
    pub(crate) angle: f64,
    pub(crate) clock: Nanos,
    pub(crate) track: Track,
}

/// Turns without the whole ones, at least 0 and less than 1. `f64::floor` is a call where the target need not have an
/// instruction for it.
#[inline]
pub(crate) fn part_of_turn(turns: f64) -> f64 {
    let towards_zero = turns as i64 as f64;
    let whole = if towards_zero > turns {
        towards_zero - 1.0
    } else {
        towards_zero
    };
    turns - whole
}

/// Rounding to nanoseconds may bring a head to its sector this much too late: that costs no turn.
pub(crate) const ROUNDING_NS: f64 = 5.0;

impl Head {
    /// Times are taken from `now` on, which is returned as they were counted before.
    #[inline]
    pub(crate) fn wind(&mut self, now: Nanos, revolution_ns: f64) -> f64 {
        let passed = (now - self.clock).get() as f64;
        let turns = passed / revolution_ns + self.angle;
        (self.angle, self.clock) = (part_of_turn(turns), now);
        passed
    }

    /// How long after `at_ns`, counted from `clock`, the place `turn` comes under the head. If it has gone by by no more
    /// than rounding to nanoseconds explains, that: it is negative then.
    #[inline]
    pub(crate) fn latency_ns(&self, turn: f64, at_ns: f64, revolution_ns: f64) -> f64 {
        let angle = at_ns / revolution_ns + self.angle;
        let wait = turn - angle;
        let latency = part_of_turn(wait) * revolution_ns;
        if latency > revolution_ns - ROUNDING_NS {
            latency - revolution_ns
        } else {
            latency
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_part_of_a_turn_is_at_least_nothing_and_less_than_one() {
        for (turns, part) in [
            (0.0, 0.0),
            (0.75, 0.75),
            (1.0, 0.0),
            (2.5, 0.5),
            (-0.25, 0.75),
            (-1.0, 0.0),
            (-3.5, 0.5),
        ] {
            assert_eq!(part_of_turn(turns), part, "{turns}");
        }
    }

    fn head(angle: f64) -> Head {
        Head {
            angle,
            clock: Nanos::from_millis(7),
            track: Track {
                cylinder: 0,
                head: 0,
            },
        }
    }

    #[test]
    fn a_place_that_has_gone_by_by_no_more_than_rounding_costs_no_turn() {
        // Of a revolution of 1024 ns all parts are exact.
        let head = head(0.5);
        for (turn, at_ns, latency) in [
            (0.75, 0.0, 256.0),
            (0.75, 128.0, 128.0),
            (0.75, 1024.0, 256.0),
            (0.25, 0.0, 768.0),
            (0.5, 0.0, 0.0),
            (0.5, 4.0, -4.0),
            (0.5, 5.0, 1019.0),
            (0.5, 6.0, 1018.0),
        ] {
            assert_eq!(
                head.latency_ns(turn, at_ns, 1024.0),
                latency,
                "{turn} {at_ns}"
            );
        }
    }

    #[test]
    fn the_platter_turns_while_time_passes() {
        let mut head = head(0.5);
        // 3.75 revolutions of 1024 ns.
        let passed = head.wind(Nanos::from_millis(7) + Nanos::new(3840), 1024.0);
        assert_eq!((passed, head.angle), (3840.0, 0.25));
        assert_eq!(head.clock, Nanos::new(7_003_840));
        assert_eq!(head.wind(head.clock, 1024.0), 0.0);
        assert_eq!(head.angle, 0.25);
    }

    /// Tracks of 100 sectors in 10 ms, 2 surfaces; seeks of 1 ms to the next cylinder and 4 over 16.
    fn mechanics(cylinder_switch_ms: Option<f64>, write_settle_ms: f64) -> Arc<Mechanics> {
        let mut profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        profile.cylinders = 18;
        profile.revolution_ms = 10.0;
        let points = crate::SeekPoints {
            track_to_track_ms: 1.0,
            full_stroke_ms: f64::sqrt(17.0),
            measured: Vec::new(),
        };
        profile.seek.read = points.clone();
        profile.seek.write = points;
        profile.seek.write_settle_ms = write_settle_ms;
        profile.geometry = toml::from_str(
            "surfaces = 2\nhead_switch_ms = 1.5\ntrack_skew_ms = 2.0\ncylinder_skew_ms = 3.0\n\
             zones = [{ first_cylinder = 0, sectors_per_track = 100 }]",
        )
        .unwrap();
        profile.geometry.cylinder_switch_ms = cylinder_switch_ms;
        Mechanics::new(&profile)
    }

    #[test]
    fn a_seek_takes_no_less_than_a_switch_of_heads_and_a_write_settles() {
        let (read, write, discard) = (Access::Read, Access::Write, Access::Discard);
        let plain = mechanics(None, 0.0);
        let slow = mechanics(None, 0.25);
        let fast = mechanics(None, -1.25);
        for (mechanics, cylinders, other_head, access, ms) in [
            (&plain, 0, false, read, 0.0),
            (&plain, 0, true, read, 1.5),
            (&plain, 1, false, read, 1.0),
            (&plain, 1, true, read, 1.5),
            (&plain, 4, true, read, 2.0),
            (&plain, 16, false, write, 4.0),
            (&slow, 0, false, write, 0.0),
            (&slow, 0, true, write, 1.75),
            (&slow, 4, false, write, 2.25),
            (&slow, 4, false, read, 2.0),
            (&slow, 4, false, discard, 2.0),
            (&fast, 4, false, write, 0.75),
            (&fast, 1, false, write, 0.0),
        ] {
            let seen = mechanics.seek_ms(cylinders, other_head, access);
            assert!(
                (seen - ms).abs() < 1e-9,
                "{cylinders} {other_head} {access:?}: {seen}"
            );
        }
    }

    #[test]
    fn a_transfer_goes_on_where_the_next_track_begins() {
        // From the last ten sectors of a track over the whole next one, and ten of the one behind.
        for (cylinder_switch, first, switches) in [
            // To the other head, and to the next cylinder: 2 and 3 ms of skew cover 1.5 and 1 ms.
            (None, 90, 2.0 + 3.0),
            // A switch of 3.5 ms comes too late for the skew, so that it costs a turn.
            (Some(3.5), 90, 2.0 + 3.0 + 10.0),
            (Some(0.5), 190, 3.0 + 2.0),
        ] {
            let mechanics = mechanics(cylinder_switch, 0.0);
            let place = mechanics.geometry.place(first);
            let mut head = head(0.0);
            let at = place.turn * 1e7;
            let ended = mechanics.pass(&mut head, Access::Read, (first, place), 120, at);
            let took = (ended - at) / 1e6;
            assert!((took - (12.0 + switches)).abs() < 1e-6, "{took}");
            let last = mechanics.geometry.place(first + 119);
            assert_eq!(head.track, Track::from(&last));
            let short = mechanics.pass(&mut head, Access::Read, (first, place), 10, at);
            assert!((short - at - 1e6).abs() < 1e-3, "{short}");
            assert_eq!(head.track, Track::from(&place));
        }
        let mechanics = mechanics(Some(0.5), 0.0);
        let from = Track {
            cylinder: 3,
            head: 1,
        };
        // Within a cylinder it is a switch of heads.
        let same = mechanics.geometry.place(600);
        let next = mechanics.geometry.place(800);
        let crossing = |place| mechanics.crossing_ns(from, place, Access::Read);
        assert_eq!((crossing(&same), crossing(&next)), (1.5e6, 0.5e6));
    }
}
