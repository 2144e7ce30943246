//! A synthetic load that is like a real one: laws fitted to its arrivals, sizes, operations and addresses.
//!
//! Reads and writes are a class each. Of each class
//! - arrivals are an interrupted Poisson process whose index of dispersion at all scales is nearest to
//!   the measured ones: `I(t) = 1 + A (1 - (1 - e^(-c t)) / (c t))`, with `A = 2 (1 - p) r / c` for a rate r
//!   while on, a share p of the time on, and `c` the sum of the rates of switching (Fischer and
//!   Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", 1993); Poisson where A is small;
//! - sizes are the 64 most frequent ones, and the rest by powers of two;
//! - the share of requests that follow on their predecessor is taken as it is;
//! - the others follow Zipf's law over places scattered in the span, with the exponent and the number of places
//!   that make as many distinct places, and as many that hold half of the requests.

use std::collections::{BTreeMap, HashMap};

use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sectors};

use crate::{Addresses, ArrivalLaw, Batch, Shape, Size, Workload};

/// The number of levels of slots: 10 ms, 20 ms, ... 41 s.
const LEVELS: usize = 13;
const FINEST: Nanos = Nanos::from_millis(10);
/// The number of different lengths kept exactly.
const LENGTHS: usize = 64;
/// The number of positions distinguished.
const MOST_PLACES: usize = 1 << 22;

/// Looks at a load, to make one like it.
#[derive(Debug, Default)]
pub struct Likeness {
    reads: ClassLikeness,
    writes: ClassLikeness,
    first: Option<Nanos>,
    last: Nanos,
    end: u64,
    aligned: u64,
    requests: u64,
}

#[derive(Debug, Default)]
struct ClassLikeness {
    requests: u64,
    slots: Vec<Slots>,
    lengths: BTreeMap<u32, u64>,
    followers: u64,
    before: Option<u64>,
    /// Requests at each place.
    places: HashMap<u64, u32>,
    placed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slots {
    current: u64,
    count: u64,
    squares: f64,
}

impl ClassLikeness {
    fn push(&mut self, since_first: Nanos, request: &Request) {
        self.requests += 1;
        self.slots.resize(LEVELS, Slots::default());
        for (level, slots) in self.slots.iter_mut().enumerate() {
            let slot = since_first.get() / (FINEST.get() << level);
            if slot != slots.current {
                slots.squares += (slots.count as f64).powi(2);
                (slots.current, slots.count) = (slot, 0);
            }
            slots.count += 1;
        }
        let length = request.sectors.get();
        if length == 0 {
            return;
        }
        if self.lengths.len() < 1 << 16 || self.lengths.contains_key(&length) {
            *self.lengths.entry(length).or_default() += 1;
        }
        let sector = request.sector.get();
        if self.before.replace(request.end().get()) == Some(sector) {
            self.followers += 1;
        } else if self.places.len() < MOST_PLACES {
            self.placed += 1;
            *self.places.entry(sector / 8).or_default() += 1;
        }
    }

    /// Length of a slot in seconds, index of dispersion, and number of slots, of each level with enough of them.
    fn dispersions(&self, span: Nanos) -> Vec<(f64, f64, f64)> {
        let of = |(level, slots): (usize, &Slots)| {
            let width = FINEST.get() << level;
            // The last slot is not whole.
            let n = (span.get() / width) as f64;
            let last = if slots.current as f64 >= n {
                slots.count
            } else {
                0
            };
            let squares = slots.squares + ((slots.count - last) as f64).powi(2);
            let mean = (self.requests - last) as f64 / n;
            (n >= 16.0).then_some((width as f64 / 1e9, squares / n / mean - mean, n))
        };
        self.slots.iter().enumerate().filter_map(of).collect()
    }

    fn arrivals(&self, span: Nanos) -> ArrivalLaw {
        let per_s = self.requests as f64 / span.as_secs_f64();
        let measured = self.dispersions(span);
        let shape = |c: f64, t: f64| 1.0 - (1.0 - libm::exp(-c * t)) / (c * t);
        // Least squares of the logarithms over a grid of c, and of A at each.
        let mut best: Option<(f64, f64, f64)> = None;
        for i in 0..=120 {
            let c = libm::pow(10.0, -3.0 + f64::from(i) * 0.05);
            for j in 0..=120 {
                let a = libm::pow(10.0, -2.0 + f64::from(j) * 0.05);
                let error: f64 = measured
                    .iter()
                    .map(|(t, value, _)| {
                        let modelled = 1.0 + a * shape(c, *t);
                        (libm::log(modelled) - libm::log(value.max(0.05))).powi(2)
                    })
                    .sum();
                if best.is_none_or(|(least, _, _)| error < least) {
                    best = Some((error, c, a));
                }
            }
        }
        // The logarithm of a measured index varies by 2 / n where arrivals are independent: a law that is no
        // more than a Poisson process with noise is one.
        let is_better = |modelled: &dyn Fn(f64) -> f64| {
            let misfit = |modelled: &dyn Fn(f64) -> f64| -> f64 {
                let of = |(t, value, n): &(f64, f64, f64)| {
                    n / 2.0 * (libm::log(modelled(*t)) - libm::log(value.max(0.05))).powi(2)
                };
                measured.iter().map(of).sum()
            };
            misfit(&|_| 1.0) - misfit(modelled) > 30.0
        };
        match best {
            Some((_, c, a)) if is_better(&|t| 1.0 + a * shape(c, t)) => {
                let on_rate = per_s + a * c / 2.0;
                let on = per_s / on_rate;
                ArrivalLaw::OnOff {
                    per_s: on_rate,
                    on_s: 1.0 / (c * (1.0 - on)),
                    off_s: 1.0 / (c * on),
                    shape: None,
                }
            }
            _ => ArrivalLaw::Poisson { per_s },
        }
    }

    fn sizes(&self, block: u32) -> Size {
        let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
        for (length, n) in &self.lengths {
            *blocks.entry(length.div_ceil(block)).or_default() += n;
        }
        let mut by_count: Vec<(u64, u32)> = blocks.into_iter().map(|(b, n)| (n, b)).collect();
        by_count.sort_by_key(|(n, b)| (std::cmp::Reverse(*n), *b));
        let rare = by_count.split_off(by_count.len().min(LENGTHS));
        let mut table: BTreeMap<u32, u64> = by_count.into_iter().map(|(n, b)| (b, n)).collect();
        for (n, b) in rare {
            *table.entry(b.next_power_of_two()).or_default() += n;
        }
        let total: u64 = table.values().sum();
        Size::Table(
            table
                .into_iter()
                .map(|(b, n)| (n as f64 / total as f64, b))
                .collect(),
        )
    }

    /// The smallest number of places that hold half of the requests.
    fn hot_places(&self) -> f64 {
        let mut counts: Vec<u32> = self.places.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let (mut held, half) = (0, self.placed / 2);
        let hot = counts.iter().take_while(|count| {
            let wanted = held < half;
            held += u64::from(**count);
            wanted
        });
        hot.count() as f64
    }

    /// Of the laws by which as many places are drawn as were seen, the one with as many hot places.
    fn addresses(&self, space: u64) -> Addresses {
        let distinct = self.places.len() as f64;
        let (draws, hot) = (self.placed as f64, self.hot_places().max(1.0));
        let mut best = (f64::INFINITY, 0.0, 1.0);
        for step in 0..=40 {
            let theta = f64::from(step) * 0.05;
            let (mut low, mut high) = (1.0, space as f64);
            if Ranks::new(high, theta).distinct(draws) < distinct {
                // With this much skew, that number of positions is not reached.
                continue;
            }
            while high - low > 1e-4 * high {
                let middle = f64::midpoint(low, high);
                if Ranks::new(middle, theta).distinct(draws) < distinct {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let held = Ranks::new(high, theta).hottest(draws);
            let error = libm::fabs(libm::log(held / hot));
            if error < best.0 {
                best = (error, theta, high / space as f64);
            }
        }
        Addresses::Mixed {
            follow: self.followers as f64 / self.requests as f64,
            theta: best.1,
            used: best.2.min(1.0),
        }
    }
}

/// Ranks 1 to n by Zipf's law, in ranges that grow.
struct Ranks {
    /// How many ranks, and the probability of each.
    ranges: Vec<(f64, f64)>,
}

impl Ranks {
    fn new(n: f64, theta: f64) -> Self {
        let mut ranges = Vec::new();
        let mut from = 1.0;
        while from <= n {
            let to = (from + libm::floor(from / 32.0) + 1.0).min(libm::floor(n) + 1.0);
            // From 2^53 on there is no next number.
            if to <= from {
                break;
            }
            let middle = (from + to - 1.0) / 2.0;
            ranges.push((to - from, libm::pow(middle, -theta)));
            from = to;
        }
        let norm: f64 = ranges.iter().map(|(count, weight)| count * weight).sum();
        ranges.iter_mut().for_each(|(_, weight)| *weight /= norm);
        Self { ranges }
    }

    /// How many are drawn at least once in `draws` draws: the sum of `1 - (1 - p)^draws`.
    fn distinct(&self, draws: f64) -> f64 {
        let missed = |p: f64| libm::expm1(draws * libm::log1p(-p.min(0.999_999)));
        self.ranges
            .iter()
            .map(|(count, p)| count * -missed(*p))
            .sum()
    }

    /// How many of the most frequent hold half of the draws, where counts are Poisson distributed.
    fn hottest(&self, draws: f64) -> f64 {
        // By count c: how many places have it.
        const MOST: usize = 64;
        let mut places = [0.0; MOST];
        let (mut often, mut held) = (0.0, 0.0);
        for (count, p) in &self.ranges {
            let mean = draws * p;
            if mean > 30.0 {
                // So often that they are among the hottest, or all are.
                often += count;
                held += count * mean;
                if held > draws / 2.0 {
                    return often - (held - draws / 2.0) / mean;
                }
                continue;
            }
            let mut probability = libm::exp(-mean);
            for (c, places) in places.iter_mut().enumerate() {
                *places += count * probability;
                probability *= mean / (c + 1) as f64;
            }
        }
        for c in (1..MOST).rev() {
            let (more, hold) = (places[c], places[c] * c as f64);
            if held + hold >= draws / 2.0 {
                return often + (draws / 2.0 - held) / c as f64;
            }
            often += more;
            held += hold;
        }
        often
    }
}

impl Likeness {
    /// Looks at a request. They come sorted by start.
    pub fn push(&mut self, request: &Request) {
        let first = *self.first.get_or_insert(request.start);
        self.last = request.start;
        self.requests += 1;
        self.end = self.end.max(request.end().get());
        let bits = request.sector.get() | u64::from(request.sectors.get());
        self.aligned += u64::from(bits.is_multiple_of(8));
        let class = if request.op == Op::Read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        class.push(request.start.saturating_sub(first), request);
    }

    /// The first start.
    pub fn first(&self) -> Nanos {
        self.first.unwrap_or_default()
    }

    /// From the first to the last start.
    pub fn span(&self) -> Nanos {
        self.last.saturating_sub(self.first())
    }

    /// The laws of a load that is like what was looked at: reads first, then writes, each if there are
    /// enough (at least 16). Empty if there are not, or they take no time.
    pub fn workloads(&self) -> Vec<Workload> {
        let span = self.span();
        if span == Nanos::ZERO {
            return Vec::new();
        }
        // Blocks of 4 KiB where nearly all requests are made of them.
        let block = if self.aligned as f64 >= 0.85 * self.requests as f64 {
            8
        } else {
            1
        };
        let space = self.end.next_multiple_of(u64::from(block));
        [(&self.reads, 1.0), (&self.writes, 0.0)]
            .into_iter()
            .filter(|(class, _)| class.requests >= 16 && !class.lengths.is_empty())
            .map(|(class, read_share)| Workload {
                arrivals: class.arrivals(span),
                batch: Batch::One,
                shape: Shape {
                    size: class.sizes(block),
                    write_size: None,
                    block: Sectors::new(block),
                    read_share,
                    addresses: class.addresses(space / u64::from(block)),
                    address_space: space,
                },
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyntheticLoad;
    use iosonar_sim_core::Seed;

    /// Looks at what a known law makes.
    fn fitted(workload: Workload, n: usize) -> Workload {
        let mut likeness = Likeness::default();
        for request in SyntheticLoad::new(vec![workload], &Seed::new(7)).take(n) {
            likeness.push(&request);
        }
        likeness.workloads().remove(0)
    }

    fn workload() -> Workload {
        Workload {
            arrivals: ArrivalLaw::Poisson { per_s: 100.0 },
            shape: Shape {
                size: Size::Blocks(2),
                read_share: 1.0,
                ..crate::tests::workload().shape
            },
            ..crate::tests::workload()
        }
    }

    #[test]
    fn ranks_end_where_numbers_have_no_successor() {
        // 2^54 places: there are as many ranks as numbers can count.
        let ranks = Ranks::new(18_014_398_509_481_984.0, 0.9);
        assert!(ranks.ranges.len() < 2_000);
    }

    #[test]
    fn a_poisson_load_is_found_to_be_one() {
        let n = 100_000;
        match fitted(workload(), n).arrivals {
            // Three standard errors of the rate.
            ArrivalLaw::Poisson { per_s } => {
                assert!((per_s / 100.0 - 1.0).abs() < 3.0 / (n as f64).sqrt());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_dispersion_of_an_interrupted_process_comes_back() {
        let law = ArrivalLaw::OnOff {
            per_s: 400.0,
            on_s: 0.5,
            off_s: 1.5,
            shape: None,
        };
        let fitted = fitted(
            Workload {
                arrivals: law,
                ..workload()
            },
            400_000,
        );
        let ArrivalLaw::OnOff {
            per_s, on_s, off_s, ..
        } = fitted.arrivals
        else {
            panic!("{:?}", fitted.arrivals);
        };
        // 2 000 cycles of on and off: each mean is known to 1 / sqrt(2000) = 2 %, and the grid is 12 % wide.
        for (found, truth) in [(per_s, 400.0), (on_s, 0.5), (off_s, 1.5)] {
            assert!((found / truth - 1.0_f64).abs() < 0.25, "{found} {truth}");
        }
        let mean = per_s * on_s / (on_s + off_s);
        assert!((mean / 100.0 - 1.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn skew_and_sequentiality_come_back() {
        for (follow, theta, used) in [(0.3, 0.9, 1.0), (0.0, 1.2, 0.5), (0.6, 0.0, 0.01)] {
            let law = Workload {
                shape: Shape {
                    addresses: Addresses::Mixed {
                        follow,
                        theta,
                        used,
                    },
                    address_space: 8_000_000,
                    ..workload().shape
                },
                ..workload()
            };
            let Addresses::Mixed {
                follow: f,
                theta: t,
                used: u,
            } = fitted(law, 200_000).shape.addresses
            else {
                panic!("mixed addresses are fitted");
            };
            // The share is a binomial one; exponents are tried in steps of 0.05.
            assert!(
                (f - follow).abs() < 3.0 * (0.25_f64 / 200_000.0).sqrt() + 1e-3,
                "{f} {follow}"
            );
            assert!((t - theta).abs() < 0.11, "{t} {theta}");
            assert!(theta > 0.0 || (u / used - 1.0).abs() < 0.05, "{u} {used}");
        }
    }
}
