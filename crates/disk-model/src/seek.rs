//! Seeks: how far the arm goes, and how long that takes.

/// Seek time against distance: `S(d) = a + b sqrt(d)`, d in cylinders, times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    a_ms: f64,
    b_ms: f64,
}

impl SeekCurve {
    /// From two points of the curve: S(1) and S(`cylinders` - 1), in milliseconds.
    pub fn new(track_to_track_ms: f64, full_stroke_ms: f64, cylinders: u32) -> Self {
        let b_ms = (full_stroke_ms - track_to_track_ms) / (f64::from(cylinders - 1).sqrt() - 1.0);
        Self {
            a_ms: track_to_track_ms - b_ms,
            b_ms,
        }
    }

    /// The seek time in milliseconds over a distance of `cylinders`, above zero.
    #[inline]
    pub fn time_ms(&self, cylinders: f64) -> f64 {
        self.a_ms + self.b_ms * cylinders.sqrt()
    }
}

/// The distribution of the seek distance between two independent, uniformly random sectors.
///
/// Let the number of sectors per track fall linearly from `s_max` (cylinder 0) to `s_min`. The
/// cylinder of a random sector, as a share x of the stroke, has the density c0 + c1 x with
/// c0 = 2 `s_max` / (`s_max` + `s_min`) and c1 = 2 - 2 c0. The distance |X - Y| of two such
/// exceeds d = 1 - e with probability
///
/// G(e) = c0 (c0 + c1) e^2 + c1^2 e^3 / 3 - c1^2 e^4 / 12.
///
/// To draw a distance, solve G(e) = w for uniform w. As a function of sqrt(w), e is smooth, so a
/// table with linear interpolation serves: with 2 048 steps its error is below 2e-8 of the stroke
/// (asserted by a test). The cylinder is taken as continuous; against a sum over whole cylinders
/// the mean seek of the paper's drive differs by 5e-5 ms.
#[derive(Clone, Debug)]
pub struct SeekDistance {
    remainder: Box<[f64]>,
}

const STEPS: usize = 2048;

impl SeekDistance {
    /// For a disk with `s_max` sectors per track on the outermost and `s_min` on the innermost
    /// cylinder.
    pub fn new(s_max: f64, s_min: f64) -> Self {
        let exceeds = Exceedance::new(s_max, s_min);
        let remainder = (0..=STEPS)
            .map(|i| exceeds.inverse((i as f64 / STEPS as f64).powi(2)))
            .collect();
        Self { remainder }
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

/// G(e) and its inverse.
struct Exceedance {
    square: f64,
    cube: f64,
    fourth: f64,
}

impl Exceedance {
    fn new(s_max: f64, s_min: f64) -> Self {
        let c0 = 2.0 * s_max / (s_max + s_min);
        let c1 = 2.0 - 2.0 * c0;
        Self {
            square: c0 * (c0 + c1),
            cube: c1 * c1 / 3.0,
            fourth: c1 * c1 / 12.0,
        }
    }

    fn at(&self, e: f64) -> f64 {
        e * e * (self.square + e * (self.cube - e * self.fourth))
    }

    /// By bisection, down to neighbouring floating-point numbers: it is done once per disk type.
    fn inverse(&self, w: f64) -> f64 {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        if w >= self.at(1.0) {
            return 1.0;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.at(middle) < w {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S_MAX: f64 = 8.33 / 0.005_976;
    const S_MIN: f64 = 8.33 / 0.012_064;

    #[test]
    fn the_curve_goes_through_its_two_points() {
        let curve = SeekCurve::new(0.8, 17.0, 60_801);
        assert!((curve.time_ms(1.0) - 0.8).abs() < 1e-12);
        assert!((curve.time_ms(60_800.0) - 17.0).abs() < 1e-12);
        // Reference, closed form: a = 0.734032792086648, b = 0.06596720791335213.
        assert!((curve.a_ms - 0.734_032_792_086_648).abs() < 1e-12);
        assert!((curve.b_ms - 0.065_967_207_913_352_13).abs() < 1e-12);
    }

    #[test]
    fn the_table_is_as_exact_as_it_says() {
        let (table, exact) = (
            SeekDistance::new(S_MAX, S_MIN),
            Exceedance::new(S_MAX, S_MIN),
        );
        let n = 1_000_003;
        let worst = (0..n)
            .map(|i| f64::from(i) / f64::from(n))
            .map(|w| (1.0 - exact.inverse(w) - table.exceeded_with(w)).abs())
            .fold(0.0, f64::max);
        assert!(worst < 2e-8, "{worst}");
    }

    #[test]
    fn distances_lie_between_nothing_and_the_full_stroke() {
        let table = SeekDistance::new(S_MAX, S_MIN);
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
            let table = SeekDistance::new(S_MAX, S_MIN);
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
}
