//! Seeks: how far the arm goes, and how long that takes.

use iosonar_device::Access;
use iosonar_sim_core::Stream;

use crate::ZoneLaw;

/// Seek time against distance, in cylinders and milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// `S(d) = a + b sqrt(d)`.
    Root {
        /// In milliseconds.
        a_ms: f64,
        /// In milliseconds per root of a cylinder.
        b_ms: f64,
    },
    /// Points (cylinders, milliseconds), ascending in cylinders, with straight lines between them.
    Measured(Box<[(f64, f64)]>),
    /// A root for short seeks and a straight line for long ones, with the times of the shortest in a list (Ruemmler
    /// and Wilkes, "An introduction to disk drive modeling", IEEE Computer 1994).
    TwoPiece {
        /// Over 1, 2, ... cylinders, in milliseconds.
        first_ms: Box<[f64]>,
        /// From this distance on the line holds.
        line_from: f64,
        /// `a + b sqrt(d)`.
        root_ms: (f64, f64),
        /// `a + b d`.
        line_ms: (f64, f64),
    },
}

impl SeekCurve {
    /// The root curve through two points: S(1) and S(`cylinders` - 1), in milliseconds.
    pub fn new(track_to_track_ms: f64, full_stroke_ms: f64, cylinders: u32) -> Self {
        let b_ms = (full_stroke_ms - track_to_track_ms) / (f64::from(cylinders - 1).sqrt() - 1.0);
        Self::Root {
            a_ms: track_to_track_ms - b_ms,
            b_ms,
        }
    }

    /// The curve through at least two points (cylinders, milliseconds), ascending in cylinders.
    pub fn measured(points: Vec<(f64, f64)>) -> Self {
        Self::Measured(points.into())
    }

    /// The seek time in milliseconds over a distance of `cylinders`, above zero.
    #[inline]
    pub fn time_ms(&self, cylinders: f64) -> f64 {
        match self {
            Self::Root { a_ms, b_ms } => a_ms + b_ms * cylinders.sqrt(),
            Self::Measured(points) => interpolated(points, cylinders),
            Self::TwoPiece {
                first_ms,
                line_from,
                root_ms,
                line_ms,
            } => {
                let nth = cylinders as usize;
                if cylinders > 0.0 && nth <= first_ms.len() {
                    return first_ms[nth.max(1) - 1];
                }
                match cylinders < *line_from {
                    true => root_ms.0 + root_ms.1 * cylinders.sqrt(),
                    false => line_ms.0 + line_ms.1 * cylinders,
                }
            }
        }
    }

    /// As [`time_ms`](Self::time_ms), of the square root of the distance, which is what is drawn.
    #[inline]
    pub fn time_of_root_ms(&self, root: f64) -> f64 {
        match self {
            Self::Root { a_ms, b_ms } => a_ms + b_ms * root,
            Self::Measured(_) | Self::TwoPiece { .. } => self.time_ms(root * root),
        }
    }
}

/// The curves of a drive: the arm settles for longer where it writes.
#[derive(Clone, Debug, PartialEq)]
pub struct SeekCurves {
    pub(crate) read: SeekCurve,
    pub(crate) write: SeekCurve,
}

impl SeekCurves {
    /// The curve of an access.
    #[inline]
    pub fn of(&self, access: Access) -> &SeekCurve {
        match access {
            Access::Read => &self.read,
            Access::Write | Access::Discard | Access::Flush => &self.write,
        }
    }
}

/// On the straight line between the neighbouring points; beyond the ends on that of the last two.
fn interpolated(points: &[(f64, f64)], at: f64) -> f64 {
    let right = points
        .partition_point(|&(d, _)| d < at)
        .clamp(1, points.len() - 1);
    let ((d0, t0), (d1, t1)) = (points[right - 1], points[right]);
    t0 + (t1 - t0) * (at - d0) / (d1 - d0)
}

/// The distribution of the seek distance between two independent, uniformly random sectors.
///
/// Let c(x) be the density of the cylinder of a random sector, x as a share of the stroke, and B(x) the
/// probability that it lies beyond x. The distance |X - Y| of two such exceeds d = 1 - e with
/// probability
///
/// G(e) = 2 integral from 0 to e of c(x) B(x + d) dx.
///
/// To draw a distance, solve G(e) = w for uniform w. As a function of sqrt(w), e is smooth, so a
/// table with linear interpolation serves: with 2 048 steps its error is below 4e-8 of the stroke
/// (asserted by a test). The cylinder is taken as continuous; against a sum over whole cylinders
/// the mean seek of the paper's drive differs by 5e-5 ms.
///
/// The root of the uniform number need not be computed: it is distributed as the larger of two uniform
/// numbers. Neither need the root of the distance, which the seek curve asks for: it has a table of its
/// own, as far as it is smooth.
#[derive(Clone, Debug)]
pub struct SeekDistance {
    remainder: Box<[f64]>,
    /// The root of the distance, at the same places.
    roots: Box<[f64]>,
}

const STEPS: usize = 2048;
/// From here on the distance is so short that its root bends too much for the table.
const SHORT: usize = STEPS - STEPS / 16;

impl SeekDistance {
    /// For a disk with these zones.
    pub fn new(zones: &ZoneLaw) -> Self {
        let remainder: Box<[f64]> = (0..=STEPS)
            .map(|i| inverse(zones, (i as f64 / STEPS as f64).powi(2)))
            .collect();
        Self {
            roots: remainder.iter().map(|e| (1.0 - e).sqrt()).collect(),
            remainder,
        }
    }

    /// Draws the square root of a distance, as a share of that of the full stroke.
    #[inline]
    pub fn draw_root(&self, stream: &mut Stream) -> f64 {
        let bits = stream.bits();
        self.root_at(((bits >> 32) as u32).max(bits as u32))
    }

    /// The root of the distance that a random distance exceeds with probability (`larger` / 2^32)^2.
    /// Against exact inversion it is off by at most 2e-6.
    #[inline]
    fn root_at(&self, larger: u32) -> f64 {
        // The upper bits are the place in the table, the others that between two places.
        const BETWEEN: u32 = 32 - STEPS.ilog2();
        let step = (larger >> BETWEEN) as usize;
        let part = f64::from(larger & ((1 << BETWEEN) - 1)) * (1.0 / f64::from(1_u32 << BETWEEN));
        if step >= SHORT {
            let (low, high) = (self.remainder[step], self.remainder[step + 1]);
            return (1.0 - (low + (high - low) * part)).sqrt();
        }
        let (low, high) = (self.roots[step], self.roots[step + 1]);
        low + (high - low) * part
    }

    /// The distance as a share of the full stroke, 0 to 1, that a random distance exceeds with
    /// probability `w`, 0 <= w < 1.
    #[inline]
    pub fn exceeded_with(&self, w: f64) -> f64 {
        let at = w.sqrt() * STEPS as f64;
        // The root of a number just below 1 may round to 1.
        let step = (at as usize).min(STEPS - 1);
        let (low, high) = (self.remainder[step], self.remainder[step + 1]);
        1.0 - (low + (high - low) * (at - step as f64))
    }
}

/// The probability of a distance up to `d`, and the density there: 2 integral of c(x) c(x + d) dx from 0 to
/// 1 - d.
pub(crate) fn distance_within(zones: &ZoneLaw, d: f64) -> (f64, f64) {
    let e = 1.0 - d;
    let density = integral(e, |x| zones.density(x) * zones.density(x + d));
    (1.0 - exceedance(zones, e), 2.0 * density)
}

/// G(e).
fn exceedance(zones: &ZoneLaw, e: f64) -> f64 {
    let d = 1.0 - e;
    2.0 * integral(e, |x| zones.density(x) * zones.beyond(x + d))
}

/// The integral from 0 to `e`, by a Gauss-Legendre rule of eight points on each half of the interval: the
/// integrands are smooth, and for sectors per track linear in x they are polynomials, for which the rule is
/// exact.
fn integral(e: f64, value: impl Fn(f64) -> f64) -> f64 {
    const POINTS: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
        (0.960_289_856_497_536_2, 0.101_228_536_290_376_3),
    ];
    let mut sum = 0.0;
    for middle in [0.25 * e, 0.75 * e] {
        for (at, weight) in POINTS {
            let offset = 0.25 * e * at;
            sum += weight * (value(middle - offset) + value(middle + offset));
        }
    }
    sum * 0.25 * e
}

/// The e with G(e) = w, by bisection: it is done once for each kind of disk.
fn inverse(zones: &ZoneLaw, w: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if exceedance(zones, middle) < w {
            low = middle;
        } else {
            high = middle;
        }
    }
    match w {
        0.0 => 0.0,
        1.0 => 1.0,
        _ => f64::midpoint(low, high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Zoning;

    fn zones(zoning: Zoning) -> ZoneLaw {
        ZoneLaw::new(zoning, 8.33, 0.005_976, 0.012_064)
    }

    #[test]
    fn the_integral_is_the_closed_form() {
        // With c0 = 2 s_max / (s_max + s_min) and c1 = 2 - 2 c0:
        // G(e) = c0 (c0 + c1) e^2 + c1^2 e^3 / 3 - c1^2 e^4 / 12.
        let linear = zones(Zoning::SectorsPerTrackLinear);
        let c0 = 2.0 * linear.s_max() / (linear.s_max() + linear.s_min());
        let c1 = 2.0 - 2.0 * c0;
        for e in [0.001, 0.1, 0.5, 0.9, 1.0] {
            let exact: f64 = e * e * (c0 * (c0 + c1) + e * c1 * c1 * (1.0 / 3.0 - e / 12.0));
            assert!((exceedance(&linear, e) - exact).abs() < 1e-14, "{e}");
        }
        // The rule is fine enough for the other law: a trapezoidal sum of a million steps agrees.
        let law = zones(Zoning::TimePerSectorLinear);
        let (e, n) = (0.8, 1_000_000);
        let value = |i: u32| {
            let x = e * (f64::from(i) + 0.5) / f64::from(n);
            law.density(x) * law.beyond(x + 1.0 - e)
        };
        let sum = 2.0 * (0..n).map(value).sum::<f64>() * e / f64::from(n);
        assert!((exceedance(&law, e) - sum).abs() < 1e-11);
    }

    #[test]
    fn the_curve_goes_through_its_two_points() {
        let curve = SeekCurve::new(0.8, 17.0, 60_801);
        assert!((curve.time_ms(1.0) - 0.8).abs() < 1e-12);
        assert!((curve.time_ms(60_800.0) - 17.0).abs() < 1e-12);
        // Reference, closed form: a = 0.734032792086648, b = 0.06596720791335213.
        let SeekCurve::Root { a_ms, b_ms } = curve else {
            panic!("two points make a root curve")
        };
        assert!((a_ms - 0.734_032_792_086_648).abs() < 1e-12);
        assert!((b_ms - 0.065_967_207_913_352_13).abs() < 1e-12);
    }

    #[test]
    fn a_measured_curve_goes_through_its_points_and_straight_between() {
        let curve = SeekCurve::measured(vec![(1.0, 1.0), (100.0, 4.0), (1000.0, 10.0)]);
        assert_eq!(curve.time_ms(100.0), 4.0);
        assert!((curve.time_ms(550.0) - 7.0).abs() < 1e-12);
        assert!((curve.time_of_root_ms(10.0) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn the_table_is_as_exact_as_it_says() {
        for zoning in [Zoning::SectorsPerTrackLinear, Zoning::TimePerSectorLinear] {
            let zones = zones(zoning);
            let table = SeekDistance::new(&zones);
            let n = 20_011;
            let worst = (0..n)
                .map(|i| f64::from(i) / f64::from(n))
                .map(|w| (1.0 - inverse(&zones, w) - table.exceeded_with(w)).abs())
                .fold(0.0, f64::max);
            assert!(worst < 4e-8, "{worst}");
        }
    }

    #[test]
    fn roots_are_as_exact_as_it_says() {
        for zoning in [Zoning::SectorsPerTrackLinear, Zoning::TimePerSectorLinear] {
            let zones = zones(zoning);
            let table = SeekDistance::new(&zones);
            let worst = (0..20_011)
                .map(|i| i * (u32::MAX / 20_011))
                // Beyond, the root is that of the other table.
                .filter(|larger| (larger >> 21) as usize <= SHORT)
                .map(|larger| {
                    let root = f64::from(larger) / 2.0_f64.powi(32);
                    let exact = (1.0 - inverse(&zones, root * root)).sqrt();
                    (exact - table.root_at(larger)).abs()
                })
                .fold(0.0, f64::max);
            assert!(worst < 2e-6, "{worst}");
            assert_eq!(table.root_at(0), 1.0);
            assert!(table.root_at(u32::MAX) < 1e-3);
        }
    }

    #[test]
    fn distances_lie_between_nothing_and_the_full_stroke() {
        let table = SeekDistance::new(&zones(Zoning::SectorsPerTrackLinear));
        assert_eq!(table.exceeded_with(0.0), 1.0);
        let nearly_one = 1.0 - f64::EPSILON / 2.0;
        assert!((0.0..1e-6).contains(&table.exceeded_with(nearly_one)));
    }

    #[test]
    fn mean_and_variance_of_the_seek_are_those_of_quadrature() {
        // Reference (quadrature): 9.299438 ms and 12.818892 ms^2 read, 9.919163 and 14.116216 write.
        for (curve, mean, variance) in [
            (SeekCurve::new(0.8, 17.0, 60_801), 9.299_438, 12.818_892),
            (SeekCurve::new(1.0, 18.0, 60_801), 9.919_163, 14.116_216),
        ] {
            let table = SeekDistance::new(&zones(Zoning::SectorsPerTrackLinear));
            let n = 2_000_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for i in 0..n {
                let w = (f64::from(i) + 0.5) / f64::from(n);
                let seek = curve.time_ms(table.exceeded_with(w) * 60_800.0);
                sum += seek;
                squares += seek * seek;
            }
            let m = sum / f64::from(n);
            let v = squares / f64::from(n) - m * m;
            assert!((m - mean).abs() < 2e-6, "{m}");
            assert!((v - variance).abs() < 2e-5, "{v}");
        }
    }

    #[test]
    fn the_density_of_distances_is_the_slope_of_their_distribution() {
        for zoning in [Zoning::SectorsPerTrackLinear, Zoning::TimePerSectorLinear] {
            let law = zones(zoning);
            assert!(distance_within(&law, 0.0).0.abs() < 1e-9);
            assert!((distance_within(&law, 1.0).0 - 1.0).abs() < 1e-9);
            for d in [0.1, 0.5, 0.9] {
                let h = 1e-4;
                let slope =
                    (distance_within(&law, d + h).0 - distance_within(&law, d - h).0) / (2.0 * h);
                let (within, density) = distance_within(&law, d);
                assert!(
                    (density / slope - 1.0).abs() < 1e-6,
                    "{d}: {density} {slope}"
                );
                // Of two places, the further one is beyond the other by at most d: a sum over places.
                let n = 4000;
                let place = |i| (f64::from(i) + 0.5) / f64::from(n);
                let near = |x: f64| law.beyond((x - d).max(0.0)) - law.beyond((x + d).min(1.0));
                let sum: f64 = (0..n).map(|i| law.density(place(i)) * near(place(i))).sum();
                assert!((within - sum / f64::from(n)).abs() < 1e-5, "{d}: {within}");
            }
        }
    }

    #[test]
    fn a_curve_of_two_pieces_has_its_list_its_root_and_its_line() {
        let curve = SeekCurve::TwoPiece {
            first_ms: [0.7, 0.9].into(),
            line_from: 9.0,
            root_ms: (0.5, 0.25),
            line_ms: (2.0, 0.125),
        };
        for (cylinders, ms) in [
            // Less than a cylinder is one.
            (0.5, 0.7),
            (1.0, 0.7),
            (2.0, 0.9),
            (2.5, 0.9),
            (4.0, 1.0),
            (9.0, 3.125),
            (16.0, 4.0),
        ] {
            assert_eq!(curve.time_ms(cylinders), ms, "{cylinders}");
            let root = f64::sqrt(cylinders);
            if root * root == cylinders {
                assert_eq!(curve.time_of_root_ms(root), ms, "{cylinders}");
            }
        }
        let SeekCurve::Root { a_ms, b_ms } = SeekCurve::new(1.0, 10.0, 101) else {
            panic!("two points make a root curve")
        };
        // 1 ms at 1 and 10 ms at 100.
        assert_eq!((a_ms, b_ms), (0.0, 1.0));
        let curves = SeekCurves {
            read: SeekCurve::new(1.0, 10.0, 101),
            write: curve.clone(),
        };
        assert_eq!(curves.of(Access::Read).time_ms(25.0), 5.0);
        for access in [Access::Write, Access::Discard, Access::Flush] {
            assert_eq!(curves.of(access), &curve);
        }
    }
}
