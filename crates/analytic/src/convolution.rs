//! Convolutions of long sequences, in a time that grows with their length and not with its square.
//!
//! The transforms are scalar on every processor, so that results are the same bytes everywhere.

use std::sync::Arc;

use num_complex::Complex64;
use rustfft::algorithm::Radix4;
use rustfft::algorithm::butterflies::{Butterfly8, Butterfly16};
use rustfft::{Fft, FftDirection};

/// Up to this many products it is not worth while to transform.
const FEW: usize = 1 << 19;
/// The values that are computed one after the other of a sequence that depends on itself.
const BLOCK: usize = 512;

/// The transform of a power of two of values, at least 64. rustfft's planner would choose the same, and take the code of all
/// lengths along: a fiftieth of the binary.
fn transform(size: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
    assert!(size.is_power_of_two() && size >= 64, "{size} values");
    let exponent = size.ilog2();
    let base: Arc<dyn Fft<f64>> = match exponent.is_multiple_of(2) {
        true => Arc::new(Butterfly16::new(direction)),
        false => Arc::new(Butterfly8::new(direction)),
    };
    let fours = (exponent - base.len().ilog2()) / 2;
    Arc::new(Radix4::new_with_base(fours, base))
}

/// The first `n` values of the convolution of `a` and `b`.
pub(crate) fn convolution(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let (a, b) = (&a[..a.len().min(n)], &b[..b.len().min(n)]);
    if a.is_empty() || b.is_empty() {
        return vec![0.0; n];
    }
    if a.len() * b.len() <= FEW {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let backwards: Vec<f64> = short.iter().rev().copied().collect();
        return (1..=n)
            .map(|upto| match upto.checked_sub(long.len()) {
                None => product(&backwards, &long[..upto]),
                Some(beyond) if beyond < short.len() => {
                    product(&backwards[..short.len() - beyond], long)
                }
                Some(_) => 0.0,
            })
            .collect();
    }
    // Values behind these would come round to the front.
    let size = (a.len() + b.len() - 1).next_power_of_two();
    let (there, back) = (
        transform(size, FftDirection::Forward),
        transform(size, FftDirection::Inverse),
    );
    // Both at once: one is the real and the other the imaginary part.
    let mut both = vec![Complex64::ZERO; size];
    for (both, a) in both.iter_mut().zip(a) {
        both.re = *a;
    }
    for (both, b) in both.iter_mut().zip(b) {
        both.im = *b;
    }
    there.process(&mut both);
    // With z = a + i b the transform of a * b is (Z(k)^2 - conj(Z(-k))^2) / 4i.
    let product = |k: usize| {
        let (one, other) = (both[k], both[(size - k) % size].conj());
        (one * one - other * other) * Complex64::new(0.0, -0.25)
    };
    let mut result: Vec<Complex64> = (0..size).map(product).collect();
    back.process(&mut result);
    let scale = 1.0 / size as f64;
    let mut values: Vec<f64> = result.iter().take(n).map(|v| v.re * scale).collect();
    values.resize(n, 0.0);
    values
}

/// The convolution of known weights with values that come one at a time, each of which may depend on those before:
/// what lies a block or more back is added by transforms (Fischer and Stockmeyer 1974).
pub(crate) struct OnlineConvolution {
    /// The last first.
    weights: Vec<f64>,
    /// The transforms of the weights from (d - 1) blocks on, two blocks of them, for d = 1, 2, ...
    weight_spectra: Vec<Vec<Complex64>>,
    values: Vec<f64>,
    /// The transforms of whole blocks of values.
    value_spectra: Vec<Vec<Complex64>>,
    /// The sums over whole blocks for each place of the block at hand.
    before: Vec<f64>,
    there: Arc<dyn Fft<f64>>,
    back: Arc<dyn Fft<f64>>,
}

impl OnlineConvolution {
    /// With these weights.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let there = transform(2 * BLOCK, FftDirection::Forward);
        let spectrum = |from: usize| {
            let part = &weights[from..weights.len().min(from + 2 * BLOCK)];
            transformed(part, &*there)
        };
        Self {
            weight_spectra: (0..weights.len()).step_by(BLOCK).map(spectrum).collect(),
            weights: weights.iter().rev().copied().collect(),
            values: Vec::new(),
            value_spectra: Vec::new(),
            before: vec![0.0; BLOCK],
            back: transform(2 * BLOCK, FftDirection::Inverse),
            there,
        }
    }

    /// Appends a value; the convolution at its place.
    pub(crate) fn push(&mut self, value: f64) -> f64 {
        let place = self.values.len() % BLOCK;
        if place == 0 && !self.values.is_empty() {
            self.end_block();
        }
        self.values.push(value);
        let first = self.values.len() - 1 - place;
        self.before[place] + product(&self.weights, &self.values[first..])
    }

    /// Changes the last value.
    pub(crate) fn correct(&mut self, value: f64) {
        *self.values.last_mut().expect("a value was pushed") = value;
    }

    fn end_block(&mut self) {
        let last = &self.values[self.values.len() - BLOCK..];
        self.value_spectra.push(transformed(last, &*self.there));
        let mut sum = vec![Complex64::ZERO; 2 * BLOCK];
        for (values, weights) in self.value_spectra.iter().rev().zip(&self.weight_spectra) {
            for ((sum, value), weight) in sum.iter_mut().zip(values).zip(weights) {
                *sum += value * weight;
            }
        }
        self.back.process(&mut sum);
        let scale = 1.0 / (2 * BLOCK) as f64;
        for (before, sum) in self.before.iter_mut().zip(&sum[BLOCK..]) {
            *before = sum.re * scale;
        }
    }
}

/// The transform of these values and as many zeros as make two blocks.
fn transformed(values: &[f64], there: &dyn Fft<f64>) -> Vec<Complex64> {
    let mut all = vec![Complex64::ZERO; 2 * BLOCK];
    for (all, value) in all.iter_mut().zip(values) {
        all.re = *value;
    }
    there.process(&mut all);
    all
}

/// The sum of the products of the last values of both, as many as the shorter has. In eight sums, so that
/// the processor works on several at once.
fn product(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let n = a.len().min(b.len());
    let (a, b) = (&a[a.len() - n..], &b[b.len() - n..]);
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..n).map(|_| next()).collect()
    }

    fn one_by_one(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        let at = |n: usize| {
            let terms = a.iter().enumerate().take(n + 1);
            let terms = terms.filter_map(|(i, a)| b.get(n - i).map(|b| a * b));
            terms.sum()
        };
        (0..n).map(at).collect()
    }

    fn assert_near(a: &[f64], b: &[f64], what: &str) {
        assert_eq!(a.len(), b.len(), "{what}");
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() < 1e-10, "{what}: {a} and {b} at {i}");
        }
    }

    #[test]
    fn transforms_are_those_of_the_planner_to_the_bit() {
        let mut planner = rustfft::FftPlannerScalar::new();
        for exponent in 6..15 {
            let size = 1 << exponent;
            let values: Vec<Complex64> = noise(size, 1)
                .into_iter()
                .zip(noise(size, 2))
                .map(|(re, im)| Complex64::new(re, im))
                .collect();
            for direction in [FftDirection::Forward, FftDirection::Inverse] {
                let (mut one, mut other) = (values.clone(), values.clone());
                transform(size, direction).process(&mut one);
                planner.plan_fft(size, direction).process(&mut other);
                assert!(one == other, "{size} values");
            }
        }
    }

    #[test]
    fn long_and_short_ones_are_those_of_the_definition() {
        for (a, b, n) in [
            (1, 1, 1),
            (1, 5, 9),
            (7, 3, 20),
            (300, 40, 200),
            (40, 300, 500),
            (2000, 1000, 2500),
            (1000, 2000, 4000),
            (5, 200_000, 100),
        ] {
            let (a, b) = (noise(a, 1), noise(b, 2));
            let what = format!("{} and {}, {n}", a.len(), b.len());
            assert_near(&convolution(&a, &b, n), &one_by_one(&a, &b, n), &what);
        }
        assert_eq!(convolution(&[], &[1.0], 2), [0.0, 0.0]);
    }

    #[test]
    fn values_that_come_one_at_a_time_give_the_same() {
        for weights in [0, 1, 2, 511, 512, 513, 1024, 1500] {
            let (weights, values) = (noise(weights, 3), noise(2600, 4));
            let mut online = OnlineConvolution::new(&weights);
            let seen: Vec<f64> = values
                .iter()
                .map(|&value| {
                    let sum = online.push(value / 2.0);
                    online.correct(value);
                    sum + weights.first().map_or(0.0, |w| w * value / 2.0)
                })
                .collect();
            let what = format!("{} weights", weights.len());
            assert_near(&seen, &one_by_one(&weights, &values, 2600), &what);
        }
    }
}
