//! The sampled disk: positioning and transfer times by inverting their distributions.

use iosonar_device::{Access, Pace, Positioning};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::Nanos;

use crate::{DiskProfile, SeekCurve, SeekDistance, ZoneLaw};

/// A disk without positions: every access is to an independent, uniformly random sector.
///
/// Seek, rotation and zone are drawn from streams of their own, in the order of the services.
#[derive(Clone, Debug)]
pub struct SampledDisk {
    revolution_ns: f64,
    stroke: f64,
    distance: SeekDistance,
    read_seek: SeekCurve,
    write_seek: SeekCurve,
    zones: ZoneLaw,
    seek: Stream,
    rotation: Stream,
    zone: Stream,
}

impl SampledDisk {
    /// A disk of this profile that draws from the streams of `component` (such as `disk/0`).
    pub fn new(profile: &DiskProfile, seed: &Seed, component: &str) -> Self {
        let zones = profile.zones();
        Self {
            revolution_ns: profile.revolution_ms * 1e6,
            stroke: f64::from(profile.cylinders - 1),
            distance: SeekDistance::new(zones.s_max(), zones.s_min()),
            read_seek: profile.read_seek(),
            write_seek: profile.write_seek(),
            zones,
            seek: seed.stream(component, "seek"),
            rotation: seed.stream(component, "rotation"),
            zone: seed.stream(component, "zone"),
        }
    }

    /// The time to come to the place. With `candidates` > 1 (RPO) a fresh positioning is the
    /// smallest of that many.
    #[inline]
    pub fn positioning(&mut self, kind: Positioning, access: Access, candidates: usize) -> Nanos {
        let ns = match kind {
            Positioning::None => 0.0,
            Positioning::FullTurn | Positioning::TurnLessTransfer => self.revolution_ns,
            Positioning::RotationOnly => self.rotation_ns(),
            Positioning::Fresh => {
                let mut least = self.seek_ns(access) + self.rotation_ns();
                for _ in 1..candidates {
                    least = least.min(self.seek_ns(access) + self.rotation_ns());
                }
                least
            }
        };
        Nanos::nearest(ns)
    }

    /// The pace of the data at a new place.
    #[inline]
    pub fn pace(&mut self) -> Pace {
        self.zones.pace(self.zone.uniform())
    }

    #[inline]
    fn rotation_ns(&mut self) -> f64 {
        self.rotation.uniform() * self.revolution_ns
    }

    #[inline]
    fn seek_ns(&mut self, access: Access) -> f64 {
        let curve = match access {
            Access::Read => &self.read_seek,
            Access::Write => &self.write_seek,
        };
        let cylinders = self.distance.exceeded_with(self.seek.uniform()) * self.stroke;
        curve.time_ms(cylinders) * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::Moments;
    use std::path::Path;

    fn disk() -> SampledDisk {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        SampledDisk::new(&profile, &Seed::new(1), "disk/0")
    }

    #[test]
    fn the_best_of_q_positionings_has_the_mean_of_quadrature() {
        // Reference: mean of the smallest of q seek + rotation samples, reads then writes.
        let q = [1, 2, 4, 8, 16, 32];
        let read = [
            13.464_438, 11.004_136, 8.961_350, 7.300_430, 5.960_461, 4.885_311,
        ];
        let write = [
            14.084_163, 11.538_956, 9.424_543, 7.707_832, 6.325_169, 5.216_203,
        ];
        for (access, means) in [(Access::Read, read), (Access::Write, write)] {
            for (&q, mean) in q.iter().zip(means) {
                let (mut disk, mut sample) = (disk(), Moments::default());
                let n = 100_000;
                for _ in 0..n {
                    sample.push(disk.positioning(Positioning::Fresh, access, q));
                }
                let stderr = sample.sd() / f64::from(n).sqrt();
                let off = (sample.mean() - mean * 1e6) / stderr;
                assert!(
                    off.abs() < 3.0,
                    "{access:?}, best of {q}: {off} standard errors"
                );
            }
        }
    }

    #[test]
    fn a_full_turn_is_one_revolution_and_following_on_costs_nothing() {
        let mut disk = disk();
        let turn = disk.positioning(Positioning::FullTurn, Access::Write, 1);
        assert_eq!(turn, Nanos::new(8_330_000));
        let none = disk.positioning(Positioning::None, Access::Write, 1);
        assert_eq!(none, Nanos::ZERO);
    }
}
