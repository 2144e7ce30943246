//! The exponential and the normal distribution by the ziggurat method: a multiplication and a comparison in 98.9 %
//! of the draws instead of a logarithm.
//!
//! The area under exp(-x), or exp(-x^2/2), is covered by 256 layers of equal area; a random layer and a random place
//! in it are taken if they lie under the curve. Exact: the tables decide only how often the slow way
//! is needed. Source: Marsaglia and Tsang, "The Ziggurat Method for Generating Random Variables",
//! Journal of Statistical Software 5(8), 2000.

use std::sync::LazyLock;

use crate::unit::unit_of;

const LAYERS: usize = 256;
/// Where the lowest layer's tail begins.
const TAIL: f64 = 7.697_117_470_131_05;
/// The area of each layer, the tail with its base included.
const AREA: f64 = 0.003_949_659_822_581_557;
/// The same of the normal distribution.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_AREA: f64 = 0.004_928_673_233_974_655;

/// The layers' widths and heights.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The width of each layer, from the bottom; the lowest as if it were a rectangle.
    width: [f64; LAYERS + 1],
    /// The density at the width, 1 at zero.
    height: [f64; LAYERS + 1],
}

pub(crate) static LAYERS_OF_EXP: LazyLock<Layers> =
    LazyLock::new(|| Layers::of((TAIL, AREA), |x| libm::exp(-x), |y| -libm::log(y)));

static LAYERS_OF_NORMAL: LazyLock<Layers> = LazyLock::new(|| {
    let inverse = |y: f64| (-2.0 * libm::log(y)).sqrt();
    Layers::of((NORMAL_TAIL, NORMAL_AREA), bell, inverse)
});

/// The density of the normal distribution in units of its largest value.
fn bell(x: f64) -> f64 {
    libm::exp(-0.5 * x * x)
}

/// A value of the normal distribution with mean 0 and variance 1, from a source of 64 random bits.
pub(crate) fn draw_normal(mut bits: impl FnMut() -> u64) -> f64 {
    let layers = &*LAYERS_OF_NORMAL;
    let (random, x) = loop {
        let random = bits();
        let layer = (random & 0xff) as usize;
        let x = unit_of(random) * layers.width[layer];
        if x < layers.width[layer + 1] {
            break (random, x);
        }
        if layer == 0 {
            break (random, normal_tail(&mut bits));
        }
        let (low, high) = (layers.height[layer], layers.height[layer + 1]);
        if low + unit_of(bits()) * (high - low) < bell(x) {
            break (random, x);
        }
    };
    // A bit that chooses neither the layer nor the place in it.
    if random & 0x100 == 0 { x } else { -x }
}

/// A value beyond the tail's beginning (Marsaglia, "Generating a Variable from the Tail of the Normal Distribution",
/// Technometrics 6(1), 1964).
fn normal_tail(mut bits: impl FnMut() -> u64) -> f64 {
    loop {
        let beyond = -libm::log(1.0 - unit_of(bits())) / NORMAL_TAIL;
        let exponential = -libm::log(1.0 - unit_of(bits()));
        if 2.0 * exponential > beyond * beyond {
            return NORMAL_TAIL + beyond;
        }
    }
}

impl Layers {
    /// The layers under a falling density, from where the tail begins and the area of each.
    fn of(
        (tail, area): (f64, f64),
        density: impl Fn(f64) -> f64,
        inverse: impl Fn(f64) -> f64,
    ) -> Self {
        let mut width = [0.0; LAYERS + 1];
        width[0] = area / density(tail);
        width[1] = tail;
        for i in 2..LAYERS {
            width[i] = inverse(area / width[i - 1] + density(width[i - 1]));
        }
        let height = width.map(density);
        Self { width, height }
    }

    /// A value of the exponential distribution with mean 1, from a source of 64 random bits.
    #[inline]
    pub(crate) fn draw(&self, mut bits: impl FnMut() -> u64) -> f64 {
        let random = bits();
        match self.draw_fast(random) {
            Ok(x) => x,
            Err(x) => self.draw_slowly(random, x, bits),
        }
    }

    /// A value of the exponential distribution, in 98.9 % of the draws; else the place in its layer to
    /// [go on](Self::draw_slowly) with.
    #[inline(always)]
    pub(crate) fn draw_fast(&self, random: u64) -> Result<f64, f64> {
        let layer = (random & 0xff) as usize;
        let x = unit_of(random) * self.width[layer];
        match x < self.width[layer + 1] {
            true => Ok(x),
            false => Err(x),
        }
    }

    /// Goes on with a place in a layer that may lie above the curve.
    pub(crate) fn draw_slowly(&self, random: u64, x: f64, mut bits: impl FnMut() -> u64) -> f64 {
        let (mut random, mut x) = (random, x);
        loop {
            let layer = (random & 0xff) as usize;
            if layer == 0 {
                // Beyond the tail's beginning the distribution is itself again.
                return TAIL - libm::log(1.0 - unit_of(bits()));
            }
            let (low, high) = (self.height[layer], self.height[layer + 1]);
            if low + unit_of(bits()) * (high - low) < libm::exp(-x) {
                return x;
            }
            random = bits();
            match self.draw_fast(random) {
                Ok(x) => return x,
                Err(above) => x = above,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn all_layers_have_the_same_area() {
        let l = &*LAYERS_OF_EXP;
        for i in 1..LAYERS {
            let area = l.width[i] * (l.height[i + 1] - l.height[i]);
            assert!((area / AREA - 1.0).abs() < 1e-9, "layer {i}: {area}");
        }
        assert_eq!((l.width[LAYERS], l.height[LAYERS]), (0.0, 1.0));
        let l = &*LAYERS_OF_NORMAL;
        for i in 1..LAYERS {
            let area = l.width[i] * (l.height[i + 1] - l.height[i]);
            assert!((area / NORMAL_AREA - 1.0).abs() < 1e-9, "layer {i}: {area}");
        }
        let tail = libm::erfc(NORMAL_TAIL / 2.0_f64.sqrt()) * (std::f64::consts::PI / 2.0).sqrt();
        let lowest = NORMAL_TAIL * bell(NORMAL_TAIL) + tail;
        assert!((lowest / NORMAL_AREA - 1.0).abs() < 1e-12, "{lowest:.18}");
    }

    #[test]
    fn the_distribution_function_is_the_normal() {
        let n = 4_000_000;
        let mut stream = Seed::new(1).stream("test", "normal");
        let mut draws: Vec<f64> = (0..n).map(|_| stream.standard_normal()).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let n = f64::from(n);
        let below = |x: f64| 0.5 * libm::erfc(-x / 2.0_f64.sqrt());
        let ks = draws
            .iter()
            .enumerate()
            .map(|(i, &x)| (below(x) - (i as f64 + 0.5) / n).abs())
            .fold(0.0, f64::max);
        assert!(ks * n.sqrt() < 1.95, "{}", ks * n.sqrt());
        // On both sides beyond what only the tail reaches.
        let expected = n * below(-3.7);
        for side in [-1.0, 1.0] {
            let beyond = draws.iter().filter(|&&x| side * x > 3.7).count() as f64;
            assert!(
                (beyond - expected).abs() < 4.0 * expected.sqrt(),
                "{beyond}"
            );
        }
    }

    #[test]
    fn the_distribution_function_is_the_exponential() {
        let n = 4_000_000;
        let mut stream = Seed::new(1).stream("test", "exponential");
        let mut draws: Vec<f64> = (0..n).map(|_| stream.standard_exponential()).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let n = f64::from(n);
        let ks = draws
            .iter()
            .enumerate()
            .map(|(i, x)| ((1.0 - (-x).exp()) - (i as f64 + 0.5) / n).abs())
            .fold(0.0, f64::max);
        // The 99.9 % quantile of the Kolmogorov distribution is 1.95.
        assert!(ks * n.sqrt() < 1.95, "{}", ks * n.sqrt());
        // Beyond 9 lies what only the tail reaches.
        let beyond = draws.iter().filter(|&&x| x > 9.0).count() as f64;
        let expected = n * (-9.0_f64).exp();
        assert!(
            (beyond - expected).abs() < 4.0 * expected.sqrt(),
            "{beyond}"
        );
    }

    #[test]
    fn a_place_in_a_layer_is_taken_if_it_lies_under_the_bell() {
        let layers = &*LAYERS_OF_NORMAL;
        // The 53 upper bits are the place.
        let bits = |share: f64, low: u64| ((share * 2.0_f64.powi(53)) as u64) << 11 | low;
        let second = 0.25;
        // With the bit of the sign, and within the layer above.
        let again = bits(second, 0x180);
        let next = -second * layers.width[0x80];
        for layer in [3_usize, 40, 120, 200, 254] {
            // In the middle of what sticks out of the layer above.
            let x = f64::midpoint(layers.width[layer], layers.width[layer + 1]);
            let first = bits(x / layers.width[layer], layer as u64);
            let (low, high) = (layers.height[layer], layers.height[layer + 1]);
            let edge = (bell(x) - low) / (high - low);
            for (height, expected) in [
                (0.0, x),
                (edge - 1e-6, x),
                (edge + 1e-6, next),
                (0.999_999, next),
            ] {
                let mut source = [first, bits(height, 0), again].into_iter();
                let drawn = draw_normal(|| source.next().unwrap());
                assert!((drawn - expected).abs() < 1e-9, "{layer} {height}: {drawn}");
            }
        }
    }

    #[test]
    fn the_tail_of_the_normal_has_its_mean_and_spread() {
        let mut stream = Seed::new(1).stream("test", "tail");
        let n = 200_000;
        let beyond: Vec<f64> = (0..n)
            .map(|_| normal_tail(|| stream.bits()) - NORMAL_TAIL)
            .collect();
        assert!(beyond.iter().all(|&x| x >= 0.0));
        // Beyond t the mean is m = bell(t) / area, and the variance 1 + t m - m^2.
        let area = libm::erfc(NORMAL_TAIL / 2.0_f64.sqrt()) * (std::f64::consts::PI / 2.0).sqrt();
        let m = bell(NORMAL_TAIL) / area;
        let variance = 1.0 + NORMAL_TAIL * m - m * m;
        let n = f64::from(n);
        let mean = beyond.iter().sum::<f64>() / n;
        let expected = m - NORMAL_TAIL;
        assert!(
            (mean - expected).abs() < 4.0 * (variance / n).sqrt(),
            "{mean}"
        );
        let squares = beyond.iter().map(|x| (x - expected).powi(2)).sum::<f64>() / n;
        // It falls nearly as an exponential, whose squared distances have a standard deviation of 2.8 times their mean.
        let spread = 2.9 * variance / n.sqrt();
        assert!(
            (squares - variance).abs() < 4.0 * spread,
            "{squares} {variance}"
        );
    }
}
