//! Random streams: one for every component and purpose.
//!
//! A stream's state follows from the seed, the replication, the component's path and the purpose,
//! by a hash; so streams are independent, and switching one thing on in a model does not shift
//! the draws of any other (common random numbers). The generator is xoshiro256++, named here so
//! that results do not change with a library's default.

use iosonar_units::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng, TryRng};
use std::convert::Infallible;

use crate::unit::unit_of;
use crate::ziggurat::{LAYERS_OF_EXP, Layers, draw_normal};

/// Where all randomness of a run comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    seed: u64,
    replication: u64,
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): a bijection that spreads every bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 64 random bits that belong to `number`, for a key that was drawn from a stream: where the same number
/// shall always have the same draw, and nothing be remembered.
#[inline]
pub fn hashed_bits(key: u64, number: u64) -> u64 {
    mix(key ^ mix(number))
}

impl Seed {
    /// From the number in a scenario.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            replication: 0,
        }
    }

    /// The seed of an independent replication; 0 is the first.
    #[must_use]
    pub const fn replication(self, number: u64) -> Self {
        Self {
            replication: number,
            ..self
        }
    }

    /// The seed of a part that has components of its own, such as an array within an array.
    #[must_use]
    pub fn within(self, part: &str) -> Self {
        let seed = part
            .bytes()
            .fold(mix(!self.seed), |state, byte| mix(state ^ u64::from(byte)));
        Self { seed, ..self }
    }

    /// The stream from which `component` draws for `purpose`.
    pub fn stream(&self, component: &str, purpose: &str) -> Stream {
        let mut state = mix(mix(self.seed) ^ self.replication);
        for byte in component.bytes().chain([0]).chain(purpose.bytes()) {
            state = mix(state ^ u64::from(byte));
        }
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = mix(state);
            word.copy_from_slice(&state.to_le_bytes());
        }
        Stream::from_seed(bytes)
    }
}

/// A random stream.
#[derive(Clone)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
    /// Here, so that no draw has to ask whether the tables have been made.
    layers: &'static Layers,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stream").field(&self.generator).finish()
    }
}

/// A stream is a generator of the `rand` crates: their distributions draw from it.
impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.try_fill_bytes(bytes)
    }
}

/// From the state of its generator, for code that wants a generator of its own; parts of a model take theirs from
/// [`Seed::stream`].
impl SeedableRng for Stream {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        Self {
            generator: Xoshiro256PlusPlus::from_seed(seed),
            layers: &LAYERS_OF_EXP,
        }
    }
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit_of(self.bits())
    }

    /// Uniform on 0, 1, ..., `n` - 1, without bias (Lemire 2019).
    ///
    /// # Panics
    /// If `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below zero");
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn standard_exponential(&mut self) -> f64 {
        let generator = &mut self.generator;
        self.layers.draw(|| generator.next_u64())
    }

    /// Normal with mean 0 and variance 1.
    #[inline]
    pub fn standard_normal(&mut self) -> f64 {
        let generator = &mut self.generator;
        draw_normal(|| generator.next_u64())
    }

    /// Gamma with this shape, above 0, and scale 1 (Marsaglia and Tsang, "A Simple Method for Generating Gamma
    /// Variables", ACM Transactions on Mathematical Software 26(3), 2000).
    pub fn standard_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::exp(-self.standard_exponential() / shape);
            return self.standard_gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.standard_normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = self.uniform();
            // The squeeze saves the logarithms nearly always.
            let x2 = x * x;
            if u < 1.0 - 0.0331 * x2 * x2 || libm::log(u) < 0.5 * x2 + d * (1.0 - v + libm::log(v))
            {
                return d * v;
            }
        }
    }

    /// A time from the exponential distribution, rounded to nanoseconds.
    #[inline]
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        Nanos::nearest(self.standard_exponential() * mean.get() as f64)
    }

    /// Several of these times, one after the other. The state of the generator stays in registers.
    #[inline(never)]
    pub(crate) fn fill_exponential(&mut self, mean: Nanos, times: &mut [Nanos]) {
        let (mean, layers) = (mean.get() as f64, self.layers);
        let mut generator = self.generator.clone();
        for time in times {
            let random = generator.next_u64();
            let standard = match layers.draw_fast(random) {
                Ok(x) => x,
                Err(x) => {
                    self.generator = generator;
                    let drawn = self.draw_slowly(random, x);
                    generator = self.generator.clone();
                    drawn
                }
            };
            *time = Nanos::nearest(standard * mean);
        }
        self.generator = generator;
    }

    /// The end of a standard exponential draw that began with these random bits.
    #[cold]
    #[inline(never)]
    fn draw_slowly(&mut self, random: u64, x: f64) -> f64 {
        let generator = &mut self.generator;
        self.layers.draw_slowly(random, x, || generator.next_u64())
    }

    /// Geometric on 1, 2, ... with this mean (at least 1): P(k) = (1 - q) q^(k - 1), q = 1 - 1/mean.
    #[inline]
    pub fn geometric(&mut self, mean: f64) -> u64 {
        Geometric::new(mean).draw(self)
    }
}

/// The geometric distribution on 1, 2, ..., prepared for many draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    /// Failures per unit of an exponential time.
    failures: f64,
}

impl Geometric {
    /// With this mean, at least 1.
    pub fn new(mean: f64) -> Self {
        Self {
            failures: if mean > 1.0 {
                -1.0 / libm::log1p(-1.0 / mean)
            } else {
                0.0
            },
        }
    }

    /// Draws a number.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        if self.failures == 0.0 {
            return 1;
        }
        // The number of failures before a success is the floor of an exponential.
        1 + (stream.standard_exponential() * self.failures) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 1_000_000;

    /// Mean of `N` draws.
    fn mean(mut draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut stream = Seed::new(7).stream("test", "draws");
        (0..N).map(|_| draw(&mut stream)).sum::<f64>() / f64::from(N)
    }

    #[test]
    fn streams_differ_by_seed_replication_component_and_purpose() {
        let first = |seed: Seed, component, purpose| seed.stream(component, purpose).bits();
        let base = first(Seed::new(1), "disk/1", "seek");
        assert_eq!(base, first(Seed::new(1), "disk/1", "seek"));
        for other in [
            first(Seed::new(1).within("group/0"), "disk/1", "seek"),
            first(Seed::new(2), "disk/1", "seek"),
            first(Seed::new(1).replication(1), "disk/1", "seek"),
            first(Seed::new(1), "disk/2", "seek"),
            first(Seed::new(1), "disk/1", "zone"),
            first(Seed::new(1), "disk/1s", "eek"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let n = f64::from(N).sqrt();
        assert!((mean(Stream::uniform) - 0.5).abs() < 3.0 * 0.2887 / n);
        assert!((mean(Stream::standard_exponential) - 1.0).abs() < 3.0 / n);
    }

    #[test]
    fn hashed_numbers_are_uniform() {
        let n = f64::from(N);
        let draws = (0..u64::from(N)).map(|i| unit_of(hashed_bits(7, i)));
        let (sum, lag): (f64, f64) = draws.fold((0.0, 0.0), |(sum, squares), u| {
            (sum + u, squares + (u - 0.5) * (u - 0.5))
        });
        assert!((sum / n - 0.5).abs() < 3.0 * 0.2887 / n.sqrt());
        // The variance of (u - 1/2)^2 is 1/180.
        assert!((lag / n - 1.0 / 12.0).abs() < 3.0 / (180.0 * n).sqrt());
    }

    #[test]
    fn geometric_has_its_mean_and_starts_at_one() {
        // Variance q / (1 - q)^2 = 12 for mean 4.
        let n = f64::from(N).sqrt();
        assert!((mean(|s| s.geometric(4.0) as f64) - 4.0).abs() < 3.0 * 12.0_f64.sqrt() / n);
        let ones = mean(|s| f64::from(u8::from(s.geometric(4.0) == 1)));
        assert!((ones - 0.25).abs() < 3.0 * (0.25_f64 * 0.75).sqrt() / n);
        assert_eq!(Seed::new(1).stream("", "").geometric(1.0), 1);
    }

    #[test]
    fn below_reaches_every_number_equally_often() {
        let mut stream = Seed::new(3).stream("test", "below");
        let mut counts = [0_u32; 3];
        for _ in 0..N {
            counts[stream.below(3) as usize] += 1;
        }
        let sd = (f64::from(N) * 2.0 / 9.0).sqrt();
        assert!(
            counts
                .iter()
                .all(|&c| (f64::from(c) - f64::from(N) / 3.0).abs() < 4.0 * sd)
        );
    }

    #[test]
    fn numbers_below_a_bound_that_does_not_divide_all_are_unbiased() {
        // Four of the 2^64 numbers would come to three of these, so that every third one would come twice as often as
        // the others.
        let mut stream = Seed::new(3).stream("test", "below");
        let mut counts = [0_u32; 3];
        let n = 300_000;
        for _ in 0..n {
            counts[(stream.below(3 << 62) % 3) as usize] += 1;
        }
        let sd = (f64::from(n) * 2.0 / 9.0).sqrt();
        for count in counts {
            let beyond = f64::from(count) - f64::from(n) / 3.0;
            assert!(beyond.abs() < 4.0 * sd, "{counts:?}");
        }
    }

    #[test]
    fn a_stream_is_a_generator_of_the_same_bits() {
        let stream = || Seed::new(7).stream("test", "bits");
        let mut bits = stream();
        let words = [bits.bits(), bits.bits()];
        let mut bytes = [0; 16];
        stream().fill_bytes(&mut bytes);
        assert_eq!(bytes[..8], words[0].to_le_bytes());
        assert_eq!(bytes[8..], words[1].to_le_bytes());
        // The upper half is the better one.
        let mut generator = stream();
        assert_eq!(u64::from(generator.next_u32()), words[0] >> 32);
        assert_eq!(generator.next_u64(), words[1]);
        let shown = format!("{generator:?}");
        assert!(shown.starts_with("Stream("), "{shown}");
        assert_eq!(shown, format!("{bits:?}"), "both have drawn as much");
    }
}
