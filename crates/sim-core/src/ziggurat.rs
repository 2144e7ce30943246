//! The exponential distribution by the ziggurat method: a multiplication and a comparison in 98.9 %
//! of the draws instead of a logarithm.
//!
//! The area under exp(-x) is covered by 256 layers of equal area; a random layer and a random place
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

/// The layers' widths and heights.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The width of each layer, from the bottom; the lowest as if it were a rectangle.
    width: [f64; LAYERS + 1],
    /// exp(-width).
    height: [f64; LAYERS + 1],
}

pub(crate) static LAYERS_OF_EXP: LazyLock<Layers> = LazyLock::new(|| {
    let mut width = [0.0; LAYERS + 1];
    let mut height = [0.0; LAYERS + 1];
    width[0] = AREA / libm::exp(-TAIL);
    width[1] = TAIL;
    for i in 2..LAYERS {
        let above = AREA / width[i - 1] + libm::exp(-width[i - 1]);
        width[i] = -libm::log(above);
    }
    for i in 0..=LAYERS {
        height[i] = libm::exp(-width[i]);
    }
    Layers { width, height }
});

impl Layers {
    /// A value of the exponential distribution with mean 1, from a source of 64 random bits.
    #[inline]
    pub(crate) fn draw(&self, mut bits: impl FnMut() -> u64) -> f64 {
        loop {
            let random = bits();
            let layer = (random & 0xff) as usize;
            let x = unit_of(random) * self.width[layer];
            if x < self.width[layer + 1] {
                return x;
            }
            if layer == 0 {
                // Beyond the tail's beginning the distribution is itself again.
                return TAIL - libm::log(1.0 - unit_of(bits()));
            }
            let (low, high) = (self.height[layer], self.height[layer + 1]);
            if low + unit_of(bits()) * (high - low) < libm::exp(-x) {
                return x;
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
}
