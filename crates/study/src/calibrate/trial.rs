//! A candidate, tried: the recorded requests simulated on it.

use std::ops::Range;

use iosonar_stats::{Distribution, demerit, ks_distance};
use iosonar_trace::Op;
use iosonar_units::Nanos;

use super::again::Again;
use super::observed::Served;
use super::{CalibrateError, Observed};
use crate::validate::{Compared, Fit, Validation};

/// The load of the trials.
const LOAD: &str = "load.ios";

/// A folder for the files of trials, with the requests of some records as their load.
#[derive(Debug)]
pub struct Trial {
    again: Again,
    /// Of each request, in their order, the kind that it is compared with.
    kinds: Vec<usize>,
    /// What was recorded of each kind.
    recorded: Vec<Distribution>,
}

/// How well simulated latencies are like the recorded ones.
#[derive(Clone, Debug)]
pub struct Quality {
    /// The demerit of all, in milliseconds.
    pub demerit_ms: f64,
    /// The same of each kind for itself, together by their mean square, up to the 99 % quantile: reads, writes, each
    /// where much had come shortly before and where little had. A device that is slow at the wrong times has a large
    /// one; a few very long requests, which come once, decide nothing.
    pub by_kind_ms: f64,
    /// The same as a share of the recorded mean.
    pub relative: f64,
    /// The Kolmogorov-Smirnov distance.
    pub ks: f64,
    /// Recorded.
    pub recorded: Distribution,
    /// Simulated.
    pub simulated: Distribution,
    /// Both of reads alone.
    pub reads: Compared,
    /// Both of writes alone.
    pub writes: Compared,
}

impl Quality {
    /// Distributions that are further apart than this (KS) are a poor fit.
    pub const POOR: f64 = 0.1;
    /// A 99 % quantile that is further off than this share, and what chance adds, is a poor fit, too: the few long requests
    /// hardly show in the distance of distributions.
    const TAIL: f64 = 0.25;
    /// Fewer requests are too few to judge by: of two samples of 1 000 from one distribution, one pair in twenty is more
    /// than 0.06 apart.
    pub const FEWEST: u64 = Validation::FEWEST;

    /// The most that the 99 % quantile may be off: the quantile of an exponential tail with n times beyond it has a relative
    /// standard error of at most 1 / sqrt(n).
    pub fn tail_limit(of: &Compared) -> f64 {
        Self::tail_limit_at(of.measured.count() as f64)
    }

    /// The same of this number of independent requests.
    fn tail_limit_at(requests: f64) -> f64 {
        Self::TAIL + 1.0 / (0.01 * requests).sqrt()
    }

    /// The distance (KS) that one in 100 pairs of samples of this size from one distribution exceeds.
    pub fn chance(requests: f64) -> f64 {
        1.63 * (2.0 / requests).sqrt()
    }

    /// Whether a fit is poor even if only a share of the requests is independent of the others.
    pub fn is_poor_beyond_chance(of: &Compared, independent: f64) -> bool {
        let requests = independent * of.measured.count() as f64;
        Self::fit_of(of) == Fit::Poor
            && (of.ks() > Self::POOR.max(Self::chance(requests))
                || of.error_at(0.99).abs() > Self::tail_limit_at(requests))
    }

    /// What is said of requests with such distributions; of at least [`FEWEST`](Self::FEWEST) the 99 % quantile is known.
    pub fn fit_of(of: &Compared) -> Fit {
        match of.measured.count() {
            ..Self::FEWEST => Fit::TooFew,
            _ if of.ks() > Self::POOR || of.error_at(0.99).abs() > Self::tail_limit(of) => {
                Fit::Poor
            }
            _ => Fit::Good,
        }
    }

    /// Both of all requests.
    pub fn all(&self) -> Compared {
        Compared {
            simulated: self.simulated.clone(),
            measured: self.recorded.clone(),
        }
    }
}

impl Trial {
    /// For the requests of these records.
    ///
    /// # Errors
    /// If files cannot be written.
    pub fn new(observed: &Observed) -> Result<Self, CalibrateError> {
        let kinds = kinds(observed);
        let again = Again::new()?;
        again.add_load(LOAD, observed.load())?;
        Ok(Self {
            again,
            recorded: {
                let mut recorded = vec![Distribution::default(); KINDS];
                for (served, &kind) in observed.served().iter().zip(&kinds) {
                    recorded[kind].push(served.done - served.came);
                }
                recorded
            },
            kinds,
        })
    }

    /// Simulates a profile; `device` is the table of the scenario that names it as `profile.toml`.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub fn quality(&self, profile: &str, device: &str) -> Result<Quality, CalibrateError> {
        // With the places of their requests in the load, to be put in its order.
        let mut latencies = self.again.simulate(LOAD, profile, device, |record| {
            let latency = record.outcome.latency.unwrap_or_default();
            (record.request.start, record.request.sector.get(), latency)
        })?;
        latencies.sort_unstable();
        let mut simulated = vec![Distribution::default(); KINDS];
        for ((.., latency), &kind) in latencies.into_iter().zip(&self.kinds) {
            simulated[kind].push(latency);
        }
        let pairs = || {
            self.recorded
                .iter()
                .zip(&simulated)
                .filter(|(r, _)| r.count() > 0)
        };
        let squares = pairs().map(|(recorded, simulated)| {
            recorded.count() as f64 * squares_below(recorded, simulated)
        });
        let squares: f64 = squares.sum();
        let together = |parts: &[Distribution]| {
            let mut all = Distribution::default();
            parts.iter().for_each(|part| all.merge(part));
            all
        };
        let of_kinds = |kinds: Range<usize>| Compared {
            measured: together(&self.recorded[kinds.clone()]),
            simulated: together(&simulated[kinds]),
        };
        let (reads, writes) = (of_kinds(0..KINDS / 2), of_kinds(KINDS / 2..KINDS));
        let (recorded, simulated) = (together(&self.recorded), together(&simulated));
        let demerit_ms = demerit(&recorded.histogram, &simulated.histogram) / 1e6;
        Ok(Quality {
            demerit_ms,
            by_kind_ms: (squares / recorded.count() as f64).sqrt(),
            relative: demerit_ms / (recorded.moments.mean() / 1e6),
            ks: ks_distance(&recorded.histogram, &simulated.histogram),
            recorded,
            simulated,
            reads,
            writes,
        })
    }
}

/// The mean square of the distance of quantiles up to 99 %, in milliseconds.
fn squares_below(recorded: &Distribution, simulated: &Distribution) -> f64 {
    const PARTS: u32 = 1000;
    const MOST: usize = 990;
    let pairs = recorded
        .histogram
        .quantiles(PARTS)
        .zip(simulated.histogram.quantiles(PARTS));
    let squares = pairs
        .take(MOST)
        .map(|(r, s)| (r.as_millis_f64() - s.as_millis_f64()).powi(2));
    squares.sum::<f64>() / MOST as f64
}

/// Reads and writes, each with little, more, and much before it.
const KINDS: usize = 6;

/// The kinds of requests. How much has come within twice the mean latency is known from the load alone: what the
/// device made of it has no part in it.
fn kinds(observed: &Observed) -> Vec<usize> {
    let served = observed.served();
    let mean = served
        .iter()
        .map(|s| (s.done - s.came).get() as f64)
        .sum::<f64>()
        / served.len() as f64;
    let window = Nanos::new((2.0 * mean) as u64);
    let mut first = 0;
    let mut before = Vec::with_capacity(served.len());
    for (i, request) in served.iter().enumerate() {
        while served[first].came + window < request.came {
            first += 1;
        }
        before.push(i - first);
    }
    let mut sorted = before.clone();
    sorted.sort_unstable();
    let thirds = [sorted[sorted.len() / 3], sorted[sorted.len() * 2 / 3]];
    let third = |n: usize| thirds.iter().filter(|&&limit| n > limit).count();
    let kind = |(s, &n): (&Served, &usize)| third(n) + 3 * usize::from(s.op == Op::Write);
    served.iter().zip(&before).map(kind).collect()
}
