//! A Poisson process whose rate is fractional Gaussian noise.

use std::collections::VecDeque;
use std::f64::consts::PI;

use iosonar_sim_core::Stream;
use iosonar_sim_core::arrivals::{Arrival, BatchSize};
use iosonar_sim_core::network::Class;
use iosonar_units::Nanos;

use crate::span::Span;

/// Bins of a block. The noise of one block is exact; the next block is independent of it.
const BLOCK: usize = 8192;

/// Arrivals bin after bin.
#[derive(Clone, Debug)]
pub(crate) struct NoisyRate {
    per_s: f64,
    variation: f64,
    bin_s: f64,
    batch: BatchSize,
    /// The square roots of the spectrum of the covariance, on a circle of twice the block.
    spectrum: Vec<f64>,
    /// The noise of the bins to come.
    noise: VecDeque<f64>,
    next_bin: u64,
    /// The bin at hand, if any arrive in it.
    bin: Option<Span>,
    last: Nanos,
    gauss: Stream,
    within: Stream,
    batches: Stream,
}

impl NoisyRate {
    pub(crate) fn new(
        per_s: f64,
        hurst: f64,
        variation: f64,
        bin_s: f64,
        batch: BatchSize,
        [gauss, within, batches]: [Stream; 3],
    ) -> Self {
        Self {
            per_s: per_s / mean_of_clipped(variation),
            variation,
            bin_s,
            batch,
            spectrum: spectrum(hurst),
            noise: VecDeque::new(),
            next_bin: 0,
            bin: None,
            last: Nanos::ZERO,
            gauss,
            within,
            batches,
        }
    }

    /// Circulant embedding (Davies and Harte, Biometrika 1987): the transform of independent Gaussian
    /// numbers, weighted with the spectrum, has the covariance.
    fn next_block(&mut self) {
        let mut wave: Vec<(f64, f64)> = self
            .spectrum
            .iter()
            .map(|weight| {
                let (a, b) = two_gaussian(&mut self.gauss);
                (weight * a, weight * b)
            })
            .collect();
        transform(&mut wave);
        self.noise.extend(wave[..BLOCK].iter().map(|(re, _)| re));
    }

    fn next_bin(&mut self) {
        if self.noise.is_empty() {
            self.next_block();
        }
        let noise = self.noise.pop_front().unwrap_or_default();
        let begin_s = self.next_bin as f64 * self.bin_s;
        self.next_bin += 1;
        let rate = self.per_s * (1.0 + self.variation * noise);
        self.bin = (rate > 0.0).then(|| Span::new(begin_s, self.bin_s, rate));
    }
}

/// The mean of max(0, 1 + s Z) for a standard normal Z: what cutting negative rates off adds.
fn mean_of_clipped(s: f64) -> f64 {
    if s == 0.0 {
        return 1.0;
    }
    let x = 1.0 / s;
    let below = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let density = libm::exp(-x * x / 2.0) / (2.0 * PI).sqrt();
    below + s * density
}

impl Iterator for NoisyRate {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let next = self
                .bin
                .as_mut()
                .and_then(|bin| bin.next_arrival(self.last, &mut self.within));
            if let Some(at) = next {
                self.last = at;
                return Some(Arrival {
                    at,
                    class: Class::default(),
                    jobs: self.batch.draw(&mut self.batches),
                });
            }
            self.next_bin();
        }
    }
}

/// Two independent standard normal numbers (Box and Muller).
fn two_gaussian(stream: &mut Stream) -> (f64, f64) {
    let radius = (2.0 * stream.standard_exponential()).sqrt();
    let angle = 2.0 * PI * stream.uniform();
    (radius * libm::cos(angle), radius * libm::sin(angle))
}

/// The covariance of fractional Gaussian noise at a lag.
fn covariance(lag: usize, hurst: f64) -> f64 {
    let k = lag as f64;
    let power = |x: f64| libm::pow(x, 2.0 * hurst);
    0.5 * (power(k + 1.0) - 2.0 * power(k) + power((k - 1.0).abs()))
}

fn spectrum(hurst: f64) -> Vec<f64> {
    let n = 2 * BLOCK;
    let mut circle: Vec<(f64, f64)> = (0..n)
        .map(|i| (covariance(i.min(n - i), hurst), 0.0))
        .collect();
    transform(&mut circle);
    // The spectrum of this covariance is not negative; rounding may make it so.
    let root = |(power, _): &(f64, f64)| (power.max(0.0) / n as f64).sqrt();
    circle.iter().map(root).collect()
}

/// The discrete Fourier transform in place (Cooley and Tukey), for a power of two.
fn transform(wave: &mut [(f64, f64)]) {
    let n = wave.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = (i as u32).reverse_bits() as usize >> (32 - bits);
        if i < j {
            wave.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        for k in 0..half {
            let angle = -PI * k as f64 / half as f64;
            let (cos, sin) = (libm::cos(angle), libm::sin(angle));
            for even in (k..n).step_by(2 * half) {
                let (a, b) = (wave[even], wave[even + half]);
                let turned = (b.0 * cos - b.1 * sin, b.0 * sin + b.1 * cos);
                wave[even] = (a.0 + turned.0, a.1 + turned.1);
                wave[even + half] = (a.0 - turned.0, a.1 - turned.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn cutting_negative_rates_off_does_not_change_the_mean() {
        let stream = |purpose| Seed::new(1).stream("load", purpose);
        let streams = [stream("noise"), stream("arrival"), stream("batch")];
        let noisy = NoisyRate::new(100.0, 0.5, 1.0, 0.1, BatchSize::Constant(1), streams);
        let n = 400_000;
        let end = noisy
            .take(n)
            .last()
            .map_or(0.0, |arrival| arrival.at.as_secs_f64());
        // 40 000 independent bins, whose rates have a coefficient of variation of some 0.8.
        assert!((n as f64 / end / 100.0 - 1.0).abs() < 3.0 * 0.005);
    }

    #[test]
    fn the_noise_has_its_covariance() {
        for hurst in [0.5, 0.75, 0.9] {
            let stream = |purpose| Seed::new(1).stream("load", purpose);
            let streams = [stream("noise"), stream("arrival"), stream("batch")];
            let mut noisy = NoisyRate::new(1.0, hurst, 1.0, 1.0, BatchSize::Constant(1), streams);
            let (blocks, lags) = (60, [0, 1, 2, 10]);
            let mut sums = [0.0; 4];
            for _ in 0..blocks {
                noisy.noise.clear();
                noisy.next_block();
                let noise: Vec<f64> = noisy.noise.iter().copied().collect();
                for (sum, lag) in sums.iter_mut().zip(lags) {
                    *sum += noise
                        .iter()
                        .zip(&noise[lag..])
                        .map(|(a, b)| a * b)
                        .sum::<f64>();
                }
            }
            for (sum, lag) in sums.iter().zip(lags) {
                let seen = sum / f64::from(blocks) / (BLOCK - lag) as f64;
                // Half a million correlated products: a few thousandths, more with long memory.
                let error = (seen - covariance(lag, hurst)).abs();
                assert!(error < 0.03, "H = {hurst}, lag {lag}: {seen}");
            }
        }
    }
}
