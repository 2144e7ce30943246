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
