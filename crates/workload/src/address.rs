//! Where requests lie.

use iosonar_sim_core::Stream;
use iosonar_units::Sector;

/// A pattern of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Addresses {
    /// Anywhere.
    #[default]
    Uniform,
    /// Each request follows on the one before; after a geometric number of them, with this mean, it
    /// goes on at a random place.
    Sequential {
        /// The mean number of requests of a run; infinite: one run over the whole space, and again.
        run: f64,
    },
    /// Block number k in the order of popularity with a probability proportional to 1 / k^theta.
    /// Popular blocks are scattered over the space.
    Zipf {
        /// The exponent, above 0.
        theta: f64,
    },
    /// A request follows on the one before with some probability, and goes where Zipf's law says otherwise.
    Mixed {
        /// The probability that it follows.
        follow: f64,
        /// The exponent; 0 where all are alike.
        theta: f64,
        /// The share of the blocks that are ever gone to, above 0, at most 1; they are scattered.
        used: f64,
    },
    /// A share of the requests goes to the first part of the space, the others to the rest.
    Hot {
        /// How large the hot region is, as a share of the space.
        space: f64,
        /// The share of the requests that go there.
        requests: f64,
    },
}

/// Draws addresses.
#[derive(Clone, Debug)]
pub(crate) struct Placer {
    addresses: Addresses,
    /// In blocks.
    space: u64,
    stream: Stream,
    /// Where a sequential run goes on.
    next: Option<u64>,
    zipf: Option<(Zipf, Scatter)>,
}

impl Placer {
    pub(crate) fn new(addresses: &Addresses, space: u64, stream: Stream) -> Self {
        Self {
            addresses: *addresses,
            space,
            stream,
            next: None,
            zipf: match addresses {
                Addresses::Zipf { theta } => Some((Zipf::new(space, *theta), Scatter::new(space))),
                Addresses::Mixed { theta, used, .. } if *theta > 0.0 || *used < 1.0 => {
                    let used = ((space as f64 * used) as u64).clamp(1, space);
                    Some((Zipf::new(used, *theta), Scatter::new(space)))
                }
                _ => None,
            },
        }
    }

    /// The position of a request of this number of blocks; there is room for it.
    #[inline]
    pub(crate) fn place(&mut self, blocks: u64, block: u32) -> Sector {
        let places = self.space - blocks + 1;
        let at = match self.addresses {
            Addresses::Uniform => self.stream.below(places),
            Addresses::Sequential { run } => {
                let goes_on = self.next.filter(|next| *next < places);
                let jumps = run.is_finite() && self.stream.chance(1.0 / run);
                let at = match goes_on {
                    Some(next) if !jumps => next,
                    _ if run.is_finite() => self.stream.below(places),
                    _ => 0,
                };
                self.next = Some(at + blocks);
                at
            }
            Addresses::Zipf { .. } => self.popular(places),
            Addresses::Mixed { follow, .. } => {
                let follows = self.stream.chance(follow);
                let at = match self.next {
                    Some(next) if follows && next < places => next,
                    _ if self.zipf.is_some() => self.popular(places),
                    _ => self.stream.below(places),
                };
                self.next = Some(at + blocks);
                at
            }
            Addresses::Hot { space, requests } => {
                let hot = ((self.space as f64 * space) as u64).clamp(1, places);
                if self.stream.chance(requests) || hot == places {
                    self.stream.below(hot)
                } else {
                    hot + self.stream.below(places - hot)
                }
            }
        };
        Sector::new(at * u64::from(block))
    }

    /// A place by its popularity.
    fn popular(&mut self, places: u64) -> u64 {
        let place = match &self.zipf {
            Some((zipf, scatter)) => scatter.place(zipf.draw(&mut self.stream) - 1),
            None => 0,
        };
        place.min(places - 1)
    }
}

/// A one-to-one map of 0..`n` that tears neighbours apart: multiplication by a number that has no
/// factor in common with `n`.
#[derive(Clone, Copy, Debug)]
struct Scatter {
    n: u64,
    factor: u64,
}

impl Scatter {
    fn new(n: u64) -> Self {
        let gcd = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        // Near the golden section of n; a few steps away there is one without a common factor.
        let mut factor = ((n as f64 * 0.618_033_988_75) as u64).max(1);
        while gcd(factor, n) != 1 {
            factor += 1;
        }
        Self { n, factor }
    }

    fn place(self, i: u64) -> u64 {
        (u128::from(i) * u128::from(self.factor) % u128::from(self.n)) as u64
    }
}

/// Ranks 1 to n with probabilities proportional to 1 / k^theta, by rejection from the integral
/// (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 1996): exact, without a table, whatever n.
#[derive(Clone, Debug)]
struct Zipf {
    n: u64,
    theta: f64,
    low: f64,
    high: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(n: u64, theta: f64) -> Self {
        let mut zipf = Self {
            n,
            theta,
            low: 0.0,
            high: 0.0,
            shortcut: 0.0,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - libm::pow(2.0, -theta));
        zipf
    }

    /// The integral of x^-theta, up to a constant.
    fn integral(&self, x: f64) -> f64 {
        let (log, q) = (libm::log(x), 1.0 - self.theta);
        if (q * log).abs() < 1e-8 {
            log
        } else {
            libm::expm1(q * log) / q
        }
    }

    fn inverse(&self, y: f64) -> f64 {
        let q = 1.0 - self.theta;
        if (q * y).abs() < 1e-8 {
            libm::exp(y)
        } else {
            libm::exp(libm::log1p((q * y).max(-1.0)) / q)
        }
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let u = self.high + stream.uniform() * (self.low - self.high);
            let x = self.inverse(u);
            let k = ((x + 0.5) as u64).clamp(1, self.n);
            let rank = k as f64;
            if rank - x <= self.shortcut
                || u >= self.integral(rank + 0.5) - libm::pow(rank, -self.theta)
            {
                return k;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    fn placer(addresses: Addresses, space: u64) -> Placer {
        Placer::new(&addresses, space, Seed::new(1).stream("load", "address"))
    }

    #[test]
    fn popularity_falls_as_zipf_says() {
        for theta in [0.6, 1.0, 1.4] {
            let (n, draws) = (50_u64, 400_000);
            let zipf = Zipf::new(n, theta);
            let mut stream = Seed::new(1).stream("load", "address");
            let mut counts = [0.0; 51];
            for _ in 0..draws {
                counts[zipf.draw(&mut stream) as usize] += 1.0;
            }
            let sum: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
            for (k, count) in counts.iter().enumerate().skip(1) {
                let p = (k as f64).powf(-theta) / sum;
                let expected = f64::from(draws) * p;
                let sd = (expected * (1.0 - p)).sqrt();
                assert!(
                    (count - expected).abs() < 4.5 * sd,
                    "theta {theta}, rank {k}"
                );
            }
        }
    }

    #[test]
    fn scattering_is_one_to_one() {
        for n in [1, 2, 97, 1000] {
            let scatter = Scatter::new(n);
            let mut seen: Vec<u64> = (0..n).map(|i| scatter.place(i)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn sequential_runs_have_their_mean_length() {
        let mut sequential = placer(Addresses::Sequential { run: 10.0 }, 1 << 40);
        let (mut next, mut jumps) = (0, 0);
        for _ in 0..100_000 {
            let at = sequential.place(4, 8).get();
            jumps += u32::from(at != next);
            next = at + 4 * 8;
        }
        // Binomial: sqrt(100 000 * 0.09) = 95.
        assert!((f64::from(jumps) - 10_000.0).abs() < 3.0 * 95.0, "{jumps}");
        let mut endless = placer(Addresses::Sequential { run: f64::INFINITY }, 10);
        let places: Vec<u64> = (0..6).map(|_| endless.place(4, 1).get()).collect();
        assert_eq!(
            places,
            [0, 4, 0, 4, 0, 4],
            "it begins again where it does not fit"
        );
    }

    #[test]
    fn the_hot_region_gets_its_share() {
        let mut hot = placer(
            Addresses::Hot {
                space: 0.1,
                requests: 0.9,
            },
            1000,
        );
        let inside = (0..100_000)
            .filter(|_| hot.place(1, 8).get() < 100 * 8)
            .count();
        assert!((inside as f64 - 90_000.0).abs() < 3.0 * 95.0, "{inside}");
        let mut all = placer(
            Addresses::Hot {
                space: 1.0,
                requests: 0.5,
            },
            10,
        );
        assert!((0..100).all(|_| all.place(1, 1).get() < 10));
    }
}
