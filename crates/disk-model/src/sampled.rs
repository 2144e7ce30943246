//! The sampled disk: positioning and transfer times by inverting their distributions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use iosonar_device::{Access, Pace, Positioning, RequestId};
use iosonar_sim_core::{Seed, hashed_bits};
use iosonar_units::{Nanos, Sectors};

use crate::ahead::Ahead;
use crate::seek;
use crate::zone::PaceTable;
use crate::{DiskProfile, Scheduler, SeekCurves, SeekDistance, ZoneLaw};

/// The laws of a drive, prepared for drawing from them; shared by all disks of a kind.
#[derive(Debug)]
pub struct DiskLaws {
    revolution_ns: f64,
    stroke: f64,
    root_of_stroke: f64,
    distance: SeekDistance,
    seeks: SeekCurves,
    zones: ZoneLaw,
    pace: PaceTable,
}

impl DiskLaws {
    /// The laws of a drive. They are the same ones for the same profile: their tables take milliseconds to make,
    /// as long as a short simulation.
    pub fn new(profile: &DiskProfile) -> Arc<Self> {
        /// Drives whose laws are kept: those of one array, or of a sweep over a few.
        const MOST: usize = 8;
        static KNOWN: Mutex<VecDeque<(DiskProfile, Arc<DiskLaws>)>> = Mutex::new(VecDeque::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, laws)) = known().iter().find(|(other, _)| other == profile) {
            return Arc::clone(laws);
        }
        let laws = Arc::new(Self::made(profile));
        let mut known = known();
        known.truncate(MOST - 1);
        known.push_front((profile.clone(), Arc::clone(&laws)));
        laws
    }

    fn made(profile: &DiskProfile) -> Self {
        let zones = profile.zones();
        Self {
            revolution_ns: profile.revolution_ms * 1e6,
            stroke: f64::from(profile.cylinders - 1),
            root_of_stroke: f64::from(profile.cylinders - 1).sqrt(),
            distance: SeekDistance::new(&zones),
            seeks: profile.seek_curves(),
            pace: PaceTable::new(&zones),
            zones,
        }
    }

    #[inline]
    fn seek_ns(&self, access: Access, exceeded_with: f64) -> f64 {
        let cylinders = self.distance.exceeded_with(exceeded_with) * self.stroke;
        self.seeks.of(access).time_ms(cylinders) * 1e6
    }

    /// One revolution, in milliseconds.
    pub fn revolution_ms(&self) -> f64 {
        self.revolution_ns / 1e6
    }

    /// The seek time over a distance, 0 to 1 as a share of the stroke, in milliseconds.
    pub fn seek_ms(&self, access: Access, distance: f64) -> f64 {
        self.seeks.of(access).time_ms(distance * self.stroke)
    }

    /// The probability that a seek goes over at most this distance, 0 to 1 as a share of the stroke, and
    /// its density there; by quadrature, exact for sectors per track linear in the cylinder.
    pub fn distance_within(&self, distance: f64) -> (f64, f64) {
        seek::distance_within(&self.zones, distance.clamp(0.0, 1.0))
    }

    /// The time of a sector under the head in milliseconds: `share`, 0 to 1, of all sectors are faster, or slower if the
    /// number of sectors per track is linear (see [`ZoneLaw::pace`]).
    pub fn ms_per_sector(&self, share: f64) -> f64 {
        self.zones.pace(share).0 / 1e6
    }

    /// The mean rotational latency.
    pub fn mean_rotation_ms(&self) -> f64 {
        self.revolution_ns / 2e6
    }

    /// The mean time of a sector under the head.
    pub fn mean_transfer_ms_per_sector(&self) -> f64 {
        self.zones.mean_ns_per_sector() / 1e6
    }

    /// The mean of a seek and a rotational latency, of the best of `best_of`; by quadrature, to
    /// about a thousandth.
    pub fn mean_positioning_ms(&self, access: Access, best_of: u32) -> f64 {
        const SEEKS: u32 = 2000;
        const TIMES: u32 = 1000;
        let seeks: Vec<f64> = (0..SEEKS)
            .map(|i| self.seek_ns(access, (f64::from(i) + 0.5) / f64::from(SEEKS)))
            .collect();
        if best_of == 1 {
            let seek = seeks.iter().sum::<f64>() / f64::from(SEEKS);
            return seek / 1e6 + self.mean_rotation_ms();
        }
        let longest = seeks.iter().copied().fold(0.0, f64::max) + self.revolution_ns;
        let step = longest / f64::from(TIMES);
        let mut mean = 0.0;
        for i in 0..TIMES {
            let t = (f64::from(i) + 0.5) * step;
            let longer = |s: &f64| (1.0 - (t - s) / self.revolution_ns).clamp(0.0, 1.0);
            let exceeds = seeks.iter().map(longer).sum::<f64>() / f64::from(SEEKS);
            mean += libm::pow(exceeds, f64::from(best_of)) * step;
        }
        mean / 1e6
    }
}

/// A disk without positions: every access is to an independent, uniformly random sector.
///
/// Seek, rotation and zone are drawn from streams of their own, in the order of the services.
#[derive(Clone, Debug)]
pub struct SampledDisk {
    laws: Arc<DiskLaws>,
    pub(crate) scheduler: Scheduler,
    /// Square roots of distances.
    seek: Ahead,
    /// In nanoseconds.
    rotation: Ahead,
    /// Paces.
    zone: Ahead,
    /// From which the zones of whole requests follow.
    zone_key: u64,
}

impl SampledDisk {
    /// A disk with these laws, first come, first served, that draws from the streams of `component` (such as `disk/0`).
    pub fn new(laws: &Arc<DiskLaws>, seed: &Seed, component: &str) -> Self {
        Self {
            laws: Arc::clone(laws),
            scheduler: Scheduler::Fcfs,
            seek: Ahead::new(seed.stream(component, "seek")),
            rotation: Ahead::new(seed.stream(component, "rotation")),
            zone: Ahead::new(seed.stream(component, "zone")),
            zone_key: seed.stream(component, "zone of request").bits(),
        }
    }

    /// With a scheduler.
    #[must_use]
    pub fn with_scheduler(self, scheduler: Scheduler) -> Self {
        Self { scheduler, ..self }
    }

    /// The time to come to the place. With `candidates` > 1 (RPO) a fresh positioning is the
    /// smallest of that many.
    #[inline]
    pub fn positioning(&mut self, kind: Positioning, access: Access, candidates: usize) -> Nanos {
        let ns = match kind {
            Positioning::None => 0.0,
            Positioning::FullTurn | Positioning::TurnLessTransfer => self.laws.revolution_ns,
            Positioning::RotationOnly => self.rotation_ns(),
            Positioning::Fresh => self.least_of(candidates, access),
        };
        Nanos::nearest(ns)
    }

    /// The pace of the data at a new place.
    #[inline]
    pub fn pace(&mut self) -> Pace {
        let paces = &self.laws.pace;
        Pace(self.zone.next(|stream| paces.at(stream.bits()).0))
    }

    /// The pace of all accesses of one request: it follows from the request's number, so that nothing
    /// has to be remembered.
    pub fn pace_of_request(&self, request: RequestId) -> Pace {
        self.laws.pace.at(hashed_bits(self.zone_key, request.0))
    }

    /// Adds how long accesses of these sizes take, each at a new place, to `times`: positioning and transfer. The same as
    /// one by one, but each law is drawn from for several accesses at a time.
    #[inline]
    pub(crate) fn times_at_new_places(
        &mut self,
        mut accesses: impl Iterator<Item = (Access, Sectors)>,
        times: &mut Vec<Nanos>,
    ) {
        const MOST: usize = 64;
        let Self {
            laws,
            seek,
            rotation,
            zone,
            ..
        } = self;
        let mut chunk = [(Access::Read, 0.0); MOST];
        let (mut roots, mut rotations, mut paces) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        loop {
            let mut count = 0;
            for (access, sectors) in accesses.by_ref().take(MOST) {
                chunk[count] = (access, f64::from(sectors.get()));
                count += 1;
            }
            let (roots, rotations) = (&mut roots[..count], &mut rotations[..count]);
            let paces = &mut paces[..count];
            seek.fill(roots, |stream| {
                laws.distance.draw_root(stream) * laws.root_of_stroke
            });
            rotation.fill(rotations, |stream| stream.uniform() * laws.revolution_ns);
            zone.fill(paces, |stream| laws.pace.at(stream.bits()).0);
            let drawn = roots.iter().zip(rotations).zip(paces);
            times.extend(chunk.iter().zip(drawn).map(
                |((access, sectors), ((root, rotation_ns), pace))| {
                    let seek_ns = laws.seeks.of(*access).time_of_root_ms(*root) * 1e6;
                    let positioning = Nanos::nearest(seek_ns + *rotation_ns);
                    positioning.saturating_add(Nanos::nearest(*pace * sectors))
                },
            ));
            if count < MOST {
                return;
            }
        }
    }

    #[inline]
    fn rotation_ns(&mut self) -> f64 {
        let revolution_ns = self.laws.revolution_ns;
        self.rotation
            .next(|stream| stream.uniform() * revolution_ns)
    }

    /// The smallest of some fresh positionings, of one at least.
    #[inline]
    fn least_of(&mut self, candidates: usize, access: Access) -> f64 {
        let Self {
            laws,
            seek,
            rotation,
            ..
        } = self;
        let curve = laws.seeks.of(access);
        let mut least = f64::INFINITY;
        for _ in 0..candidates.max(1) {
            let root = seek.next(|stream| laws.distance.draw_root(stream) * laws.root_of_stroke);
            let rotation_ns = rotation.next(|stream| stream.uniform() * laws.revolution_ns);
            least = least.min(curve.time_of_root_ms(root) * 1e6 + rotation_ns);
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::Moments;
    use std::path::Path;

    fn disk() -> SampledDisk {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(1), "disk/0")
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
                let told = disk().laws.mean_positioning_ms(access, q as u32);
                assert!(
                    (told / mean - 1.0).abs() < 1e-3,
                    "{q}: {told} against {mean}"
                );
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

    #[test]
    fn the_laws_are_those_of_the_profile() {
        let laws = disk().laws;
        let near = |seen: f64, expected: f64| {
            assert!((seen - expected).abs() < 1e-9, "{seen}, not {expected}");
        };
        near(laws.revolution_ms(), 8.33);
        near(laws.mean_rotation_ms(), 4.165);
        // Its two points of each curve: over one cylinder, and over all 60,801.
        let one = 1.0 / 60_800.0;
        for (access, distance, ms) in [
            (Access::Read, one, 0.8),
            (Access::Read, 1.0, 17.0),
            (Access::Write, one, 1.0),
            (Access::Write, 1.0, 18.0),
        ] {
            near(laws.seek_ms(access, distance), ms);
        }
        // Half of all sectors lie on tracks that hold more than the quadratic mean of both ends.
        let (fast, slow) = (0.005_976_f64, 0.012_064_f64);
        let median = f64::midpoint(fast.powi(-2), slow.powi(-2)).powf(-0.5);
        for (share, ms) in [(0.0, slow), (0.5, median), (1.0, fast)] {
            near(laws.ms_per_sector(share), ms);
        }
        let mean = 2.0 * fast * slow / (fast + slow);
        near(laws.mean_transfer_ms_per_sector(), mean);
    }

    #[test]
    fn distances_within_the_stroke_have_the_closed_form_and_there_are_no_others() {
        let laws = disk().laws;
        // The density of cylinders is c0 + c1 x; see the tests of seeks.
        let ratio = 0.012_064 / 0.005_976;
        let c0 = 2.0 * ratio / (ratio + 1.0);
        let c1 = 2.0 - 2.0 * c0;
        for d in [0.0, 0.2, 0.5, 1.0] {
            let e: f64 = 1.0 - d;
            let longer = e * e * (c0 * (c0 + c1) + e * c1 * c1 * (1.0 / 3.0 - e / 12.0));
            let density = 2.0 * c0 * (c0 + c1) * e + c1 * c1 * (e.powi(2) - e.powi(3) / 3.0);
            let (within, seen) = laws.distance_within(d);
            assert!((within - (1.0 - longer)).abs() < 1e-12, "{d}: {within}");
            assert!((seen - density).abs() < 1e-12, "{d}: {seen}");
        }
        assert_eq!(laws.distance_within(-0.5), laws.distance_within(0.0));
        assert_eq!(laws.distance_within(1.5), laws.distance_within(1.0));
    }

    #[test]
    fn a_rotation_alone_is_any_part_of_a_turn() {
        let mut disk = disk();
        let (mut sample, n) = (Moments::default(), 10_000);
        let turn = Nanos::new(8_330_000);
        let (mut least, mut most) = (turn, Nanos::ZERO);
        for _ in 0..n {
            let wait = disk.positioning(Positioning::RotationOnly, Access::Read, 9);
            sample.push(wait);
            (least, most) = (least.min(wait), most.max(wait));
        }
        assert!(most <= turn, "{most}");
        assert!(
            least.get() < 83_300 && most.get() > 8_246_700,
            "{least} {most}"
        );
        // Uniform: a mean of half a turn, a standard deviation of a turn by the root of 12.
        let (mean, sd) = (4_165_000.0, 8_330_000.0 / 12.0_f64.sqrt());
        assert!(
            (sample.mean() - mean).abs() < 4.0 * sd / 100.0,
            "{}",
            sample.mean()
        );
        assert!((sample.sd() / sd - 1.0).abs() < 0.03, "{}", sample.sd());
    }

    #[test]
    fn laws_are_shared_by_the_same_profile_only() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let mut other = profile.clone();
        other.revolution_ms = 8.0;
        let (laws, of_other) = (DiskLaws::new(&profile), DiskLaws::new(&other));
        assert!(Arc::ptr_eq(&laws, &DiskLaws::new(&profile)));
        assert!(!Arc::ptr_eq(&laws, &of_other));
        assert_eq!(of_other.revolution_ms(), 8.0);
    }

    #[test]
    fn each_draw_is_a_seek_over_a_random_distance_a_part_of_a_turn_and_the_pace_of_a_zone() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        let distances = SeekDistance::new(&profile.zones());
        let curves = profile.seek_curves();
        for (access, candidates) in [(Access::Read, 1), (Access::Write, 1), (Access::Read, 3)] {
            let mut disk = disk();
            let stream = |name| Seed::new(1).stream("disk/0", name);
            let (mut seek, mut rotation, mut zone) =
                (stream("seek"), stream("rotation"), stream("zone"));
            for _ in 0..200 {
                let least = (0..candidates).map(|_| {
                    let cylinders = distances.draw_root(&mut seek).powi(2) * 60_800.0;
                    curves.of(access).time_ms(cylinders) + rotation.uniform() * 8.33
                });
                let least = least.fold(f64::INFINITY, f64::min);
                let seen = disk.positioning(Positioning::Fresh, access, candidates);
                assert!(
                    (seen.as_millis_f64() - least).abs() < 5e-6,
                    "{seen}, not {least} ms"
                );
                let share = zone.bits() as f64 / 2.0_f64.powi(64);
                let pace = profile.zones().pace(share).0;
                assert!((disk.pace().0 / pace - 1.0).abs() < 3e-7);
            }
        }
    }
}
