//! The service of a zoned disk, as expressions and on a grid. Times in milliseconds.

use std::sync::Arc;

use iosonar_analytic::quadrature::GaussLegendre;
use iosonar_analytic::{ServiceLaw, Table};
use iosonar_device::Access;
use iosonar_disk_model::{DiskLaws, DiskProfile};

/// The laws of a kind of disk.
#[derive(Clone, Debug)]
pub struct DiskTheory {
    laws: Arc<DiskLaws>,
}

/// Points of the quadrature over seek distances: enough for transforms far out on the imaginary axis.
const SEEK_POINTS: usize = 256;
/// Points over the zones.
const ZONE_POINTS: usize = 32;

impl DiskTheory {
    /// Of this drive.
    pub fn new(profile: &DiskProfile) -> Self {
        Self {
            laws: DiskLaws::new(profile),
        }
    }

    /// The seek between two random sectors: S(D), by quadrature over the root of the distance.
    pub fn seek(&self, access: Access) -> ServiceLaw {
        let rule = GaussLegendre::new(SEEK_POINTS);
        let points = rule.on(0.0, 1.0).map(|(root, weight)| {
            let distance = root * root;
            let (_, density) = self.laws.distance_within(distance);
            (
                weight * density * 2.0 * root,
                self.laws.seek_ms(access, distance),
            )
        });
        ServiceLaw::Points(points.collect())
    }

    /// The rotational latency: uniform over a revolution.
    pub fn rotation(&self) -> ServiceLaw {
        ServiceLaw::Uniform(0.0, self.laws.revolution_ms())
    }

    /// The transfer of this many sectors of one track.
    pub fn transfer(&self, sectors: u64) -> ServiceLaw {
        ServiceLaw::Points(self.transfer_points(sectors, ZONE_POINTS).into())
    }

    fn transfer_points(&self, sectors: u64, points: usize) -> Vec<(f64, f64)> {
        let rule = GaussLegendre::new(points);
        let sectors = sectors as f64;
        rule.on(0.0, 1.0)
            .map(|(share, weight)| (weight, sectors * self.laws.ms_per_sector(share)))
            .collect()
    }

    /// The same with a rule of its own between any two places where the transfer lasts a whole number of
    /// revolutions: for what jumps there.
    fn transfer_points_by_turns(&self, sectors: u64, points: usize) -> Vec<(f64, f64)> {
        let ms = |share: f64| sectors as f64 * self.laws.ms_per_sector(share);
        let revolution = self.revolution();
        let mut ends = vec![0.0];
        // Places are in the order of falling speed.
        let mut turns = (ms(0.0).min(ms(1.0)) / revolution).floor() + 1.0;
        while turns * revolution < ms(0.0).max(ms(1.0)) {
            let (mut low, mut high) = (0.0_f64, 1.0_f64);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if (ms(middle) < turns * revolution) == (ms(0.0) < ms(1.0)) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            ends.push(low);
            turns += 1.0;
        }
        ends.push(1.0);
        ends.sort_by(f64::total_cmp);
        let rule = GaussLegendre::new(points);
        let between = |pair: &[f64]| -> Vec<(f64, f64)> {
            let some = rule.on(pair[0], pair[1]);
            some.map(|(share, weight)| (weight, ms(share))).collect()
        };
        ends.windows(2).flat_map(between).collect()
    }

    /// Seek, rotation and transfer: the service of an access to a random place.
    pub fn service(&self, access: Access, sectors: u32) -> ServiceLaw {
        ServiceLaw::Sum(vec![
            self.seek(access),
            self.rotation(),
            self.transfer(u64::from(sectors)),
        ])
    }

    /// One revolution.
    pub fn revolution(&self) -> f64 {
        self.laws.revolution_ms()
    }

    /// The probability that the service of an access to a random place takes at most `ms`, by quadrature: to
    /// about 1e-9.
    pub fn service_within(&self, access: Access, sectors: u32, ms: f64) -> f64 {
        const PANELS: u32 = 64;
        let (inner, outer) = (GaussLegendre::new(48), GaussLegendre::new(12));
        let (revolution, sectors) = (self.revolution(), f64::from(sectors));
        let (shortest, longest) = (
            self.laws.seek_ms(access, 0.0),
            self.laws.seek_ms(access, 1.0),
        );
        let positioned = |t: f64| {
            let (from, to) = ((t - revolution).max(shortest), t.min(longest));
            let within = |s: f64| self.seek_within(access, s);
            let some = if to > from {
                inner.integral(from, to, within)
            } else {
                0.0
            };
            let all = (t - longest.max(t - revolution)).max(0.0);
            ((some + all) / revolution).min(1.0)
        };
        let panel = |i: u32| {
            let (from, to) = (f64::from(i), f64::from(i + 1));
            outer.integral(from / f64::from(PANELS), to / f64::from(PANELS), |share| {
                positioned(ms - sectors * self.laws.ms_per_sector(share))
            })
        };
        (0..PANELS).map(panel).sum()
    }

    /// The same laws on a grid of `parts` steps a revolution.
    pub fn grid(&self, parts: u32) -> DiskGrid {
        DiskGrid::new(self, parts)
    }

    /// The probability of a seek up to `ms`: that of the distance that takes so long.
    fn seek_within(&self, access: Access, ms: f64) -> f64 {
        if self.laws.seek_ms(access, 1.0) <= ms {
            return 1.0;
        }
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.laws.seek_ms(access, middle) <= ms {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.laws.distance_within(low).0
    }
}

/// Positioning and transfer times as [`Table`]s. A revolution is a whole number of steps.
#[derive(Clone, Debug)]
pub struct DiskGrid {
    disk: DiskTheory,
    step: f64,
    read: Table,
    write: Table,
}

impl DiskGrid {
    fn new(disk: &DiskTheory, parts: u32) -> Self {
        let step = disk.revolution() / f64::from(parts);
        Self {
            disk: disk.clone(),
            step,
            read: positioning(disk, Access::Read, parts as usize),
            write: positioning(disk, Access::Write, parts as usize),
        }
    }

    /// The step.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// One revolution.
    pub fn revolution(&self) -> f64 {
        self.disk.revolution()
    }

    /// Seek and rotation of a new place.
    pub fn positioning(&self, access: Access) -> &Table {
        match access {
            Access::Read => &self.read,
            Access::Write | Access::Discard | Access::Flush => &self.write,
        }
    }

    /// A rotational latency.
    pub fn rotation(&self) -> Table {
        let r = self.revolution();
        Table::new(self.step, r, |t| t / r)
    }

    /// Always this long, but for half a step.
    pub fn constant(&self, ms: f64) -> Table {
        Table::new(self.step, ms + self.step, |t| {
            ((t - ms) / self.step + 0.5).clamp(0.0, 1.0)
        })
    }

    /// The points of a quadrature rule over the transfer of this many sectors (probability, milliseconds).
    pub fn transfer_points(&self, sectors: u64, points: usize) -> Vec<(f64, f64)> {
        self.disk.transfer_points(sectors, points)
    }

    /// The same, with `points` points between any two places where the transfer lasts a whole number of revolutions.
    pub fn transfer_points_by_turns(&self, sectors: u64, points: usize) -> Vec<(f64, f64)> {
        self.disk.transfer_points_by_turns(sectors, points)
    }

    /// A time and the transfer of this many sectors behind it.
    pub fn with_transfer(&self, before: &Table, sectors: u64) -> Table {
        let points = self.transfer_points(sectors, ZONE_POINTS);
        let longest = points.iter().map(|(_, t)| *t).fold(0.0, f64::max);
        let most = before.values().len() as f64 * self.step + longest;
        Table::new(self.step, most, |t| {
            points
                .iter()
                .map(|(p, transfer)| p * before.within(t - transfer))
                .sum()
        })
    }

    /// The service of an access to a new place; with `best_of` > 1 (RPO) its positioning is the shortest
    /// of that number.
    pub fn service(&self, access: Access, sectors: u32, best_of: u32) -> Table {
        let positioning = self.positioning(access);
        if best_of == 1 {
            return self.with_transfer(positioning, u64::from(sectors));
        }
        self.with_transfer(&positioning.min_of(best_of), u64::from(sectors))
    }
}

/// The distribution of seek and rotation: P(t) = 1/R integral of `F_seek` from t - R to t, by a rule of four
/// points in each step.
fn positioning(disk: &DiskTheory, access: Access, parts: usize) -> Table {
    let revolution = disk.revolution();
    let step = revolution / parts as f64;
    let longest = disk.laws.seek_ms(access, 1.0) + revolution;
    let rule = GaussLegendre::new(4);
    let points = (longest / step).ceil() as usize;
    let mut integral = vec![0.0];
    for i in 0..points {
        let (from, to) = (i as f64 * step, (i + 1) as f64 * step);
        let more = rule.integral(from, to, |t| disk.seek_within(access, t));
        integral.push(integral[i] + more);
    }
    Table::new(step, longest, |t| {
        let i = ((t / step).round() as usize).min(points);
        let before = i.checked_sub(parts).map_or(0.0, |i| integral[i]);
        ((integral[i] - before) / revolution).min(1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn disk() -> DiskTheory {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
        DiskTheory::new(&profile)
    }

    #[track_caller]
    fn near(seen: f64, told: f64, relative: f64) {
        assert!(
            (seen / told - 1.0).abs() < relative,
            "{seen} against {told}"
        );
    }

    #[test]
    fn moments_are_those_of_the_reference() {
        // Reference, part 1a: service_mean, _var, _third_central, _m2, _m3.
        for (access, sectors, told) in [
            (
                Access::Read,
                8,
                [
                    13.528_379_931_746_457,
                    18.601_466_930_567_1,
                    -4.664_229_764_838_894,
                ],
            ),
            (
                Access::Read,
                256,
                [
                    15.510_578_055_028_054,
                    18.772_067_804_363_356,
                    -4.611_459_413_080_922,
                ],
            ),
            (
                Access::Write,
                8,
                [
                    14.148_105_267_884_805,
                    19.898_791_145_842_978,
                    -5.389_912_026_913_437,
                ],
            ),
        ] {
            let law = disk().service(access, sectors);
            for (seen, told) in law.cumulants().into_iter().zip(told) {
                near(seen, told, 1e-6);
            }
        }
        let [_, second, third] = disk().service(Access::Read, 256).moments();
        near(second, 259.350_099_405_481_2, 1e-6);
        near(third, 4_600.389_746_862_634, 1e-6);
        // Seek alone: 9.299438 and 12.818892; transfer 2.046140 and 0.170768.
        near(disk().seek(Access::Read).mean(), 9.299_438_056_801_89, 1e-9);
        near(
            disk().seek(Access::Read).variance(),
            12.818_891_831_961_238,
            1e-9,
        );
        near(
            disk().seek(Access::Write).mean(),
            9.919_163_392_940_236,
            1e-9,
        );
        near(disk().transfer(256).mean(), 2.046_139_998_226_164_5, 1e-9);
        near(disk().transfer(256).variance(), 0.170_767_639_068_786, 1e-9);
    }

    #[test]
    fn the_distribution_is_that_of_the_reference() {
        // Reference, part 1a: service_cdf from the far left on, and service_quantile, reads of 8 sectors.
        for (t, told) in [
            (1.0, 2.619_918_911_980_171e-6),
            (2.0, 0.000_544_516_919_887_106_1),
            (3.0, 0.003_332_934_293_045_489),
        ] {
            // Far out the reference itself rests on a few 1e-12.
            let seen = disk().service_within(Access::Read, 8, t);
            assert!(
                (seen - told).abs() < 1e-6 * told + 1e-11,
                "{seen} against {told}"
            );
        }
        let grid = disk().grid(4096);
        let service = grid.service(Access::Read, 8, 1);
        for (p, told) in [
            (0.1, 7.767_179_671_789_147),
            (0.25, 10.454_769_664_218_89),
            (0.5, 13.589_048_882_080_235),
        ] {
            near(service.quantile(p), told, 1e-6);
        }
    }

    #[test]
    fn the_best_of_several_is_that_of_the_reference() {
        // Reference, part 1a: rpo_min_mean, rpo_min_var, rpo_min_quantile, reads.
        let grid = disk().grid(2048);
        let positioning = grid.positioning(Access::Read);
        for (q, mean) in [
            (1, 13.464_438_056_804_514),
            (2, 11.004_135_989_677_714),
            (4, 8.961_350_202_227_594),
            (8, 7.300_430),
            (32, 4.885_311),
        ] {
            near(positioning.min_of(q).mean(), mean, 1e-6);
        }
        near(
            positioning.min_of(2).variance(),
            12.892_041_148_295_917,
            1e-6,
        );
        near(positioning.min_of(4).variance(), 8.539_371_239_412_46, 1e-6);
        near(
            positioning.min_of(2).quantile(0.5),
            10.985_255_190_171_857,
            1e-6,
        );
        near(positioning.quantile(0.9), 19.146_176_148_674_627, 1e-6);
    }

    #[test]
    fn the_slowest_of_several_is_that_of_the_reference() {
        // Reference, part 1c: max_of_n_service_* and, for two accesses on each of four disks, raid01_zero_load_*.
        let grid = disk().grid(2048);
        let service = grid.service(Access::Read, 256, 1);
        for (n, mean, variance, quantiles) in [
            (
                2,
                17.981_667_027_434_007,
                12.327_198_925_599_93,
                [18.064_815_388_994_22, 25.296_329_038_010_686],
            ),
            (
                4,
                19.976_624_971_522_78,
                7.805_993_629_652_335,
                [20.040_628_970_419_88, 25.773_526_802_249_44],
            ),
        ] {
            let slowest = service.max_of(n);
            near(slowest.mean(), mean, 1e-6);
            near(slowest.variance(), variance, 1e-6);
            near(slowest.quantile(0.5), quantiles[0], 1e-6);
            near(slowest.quantile(0.99), quantiles[1], 1e-6);
        }
        let two = service.times(2).max_of(4);
        near(two.mean(), 37.328_237_633_980_97, 1e-6);
        near(two.variance(), 16.955_216_996_315_13, 1e-5);
        near(two.quantile(0.9), 42.692_921_531_179_04, 1e-6);
        let writes = grid.service(Access::Write, 256, 1);
        near(
            writes.times(2).max_of(4).mean(),
            38.781_146_884_031_04,
            1e-6,
        );
    }

    #[test]
    fn responses_of_one_disk_are_those_of_the_reference() {
        // Reference, part 1b: means to 1e-6, quantiles by transform inversion to 1e-4.
        use iosonar_analytic::open::{
            BatchLaw, BatchQueue, Discipline, Mg1, PriorityClass, PriorityQueue,
        };
        let (read, write) = (
            disk().service(Access::Read, 256),
            disk().service(Access::Write, 256),
        );
        for (law, rho, mean) in [
            (&read, 0.1, 16.439_514_346_424_964),
            (&read, 0.7, 35.018_240_174_363_17),
            (&read, 0.9, 90.754_417_658_177_83),
            (&write, 0.3, 19.853_412_171_237_807),
            (&write, 0.9, 94.315_587_772_665_94),
        ] {
            let queue = Mg1::new(rho / law.mean(), law.clone()).unwrap();
            near(queue.mean_response(), mean, 1e-6);
        }
        let half = Mg1::new(0.032_236_064_847_236, read.clone()).unwrap();
        for (p, told) in [
            (0.5, 19.859_815_475_703_56),
            (0.9, 41.590_344_783_637_335),
            (0.99, 73.087_830_508_756_55),
        ] {
            near(half.response_quantile(p), told, 1e-4);
        }
        // Part 1e: batches of a disk, and two classes of it.
        let batches = BatchQueue::new(0.01, BatchLaw::Geometric(3.0), read.clone()).unwrap();
        near(batches.mean_response(), 80.804_275_271_481_4, 1e-6);
        near(batches.mean_wait_of_first(), 34.272_541_106_397_256, 1e-6);
        let class = |rate, service: &ServiceLaw| PriorityClass {
            rate,
            service: service.clone(),
        };
        let two = vec![class(0.01, &write), class(0.03, &read)];
        let two = PriorityQueue::new(two, Discipline::NonPreemptive).unwrap();
        near(two.mean_response(0), 22.439_533_187_615_258, 1e-6);
        near(two.mean_response(1), 32.408_205_519_177_62, 1e-6);
    }

    #[test]
    fn a_coarse_grid_keeps_the_mean() {
        let coarse = disk().grid(128);
        near(
            coarse.service(Access::Read, 256, 1).mean(),
            15.510_578,
            1e-5,
        );
        near(coarse.constant(8.33).mean(), 8.33, 1e-9);
    }
}
