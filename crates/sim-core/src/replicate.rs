//! Independent replications, until results are as precise as they have to be.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use iosonar_stats::Estimate;

use crate::Seed;
use crate::student::two_sided_quantile;

/// Runs a simulation several times, with an independent [replication](Seed::replication) of `seed` each.
///
/// ```
/// use iosonar_sim_core::prelude::*;
///
/// /// The mean response time of an M/M/1 queue in milliseconds.
/// fn mm1(seed: Seed) -> f64 {
///     let mut b = Builder::new(seed);
///     let source = b.source("source", Arrivals::every(Law::Exponential(Nanos::from_millis(10))));
///     let server = b.station("server", Queue::fcfs(1, Law::Exponential(Nanos::from_millis(5))));
///     let sink = b.sink("sink");
///     b.chain(&[source, server, sink]);
///     let mut network = b.build().expect("the nodes make a network");
///     network.run(Until::Departures(1_000));
///     network.measure_from_now();
///     network.run(Until::Departures(10_000));
///     network.response_time(sink).moments.mean() / 1e6
/// }
///
/// // Until the 95 % confidence interval is at most 2 % above and below the mean:
/// let [mean] = replicate(Seed::new(1)).until(0.02, 0.95, |seed| [mm1(seed)]);
/// println!("{mean}");
/// assert!(mean.reached && (mean.mean - 10.0).abs() < 4.0 * mean.stderr);
/// ```
///
/// The number of replications, and so the result, does not depend on the number of threads: replications are looked at
/// in the order of their numbers, and those that were computed in excess are dropped.
pub fn replicate(seed: Seed) -> Replications {
    Replications {
        seed,
        at_least: 20,
        at_most: 10_000,
        threads: None,
    }
}

/// How often and on how many threads a simulation is [replicated](replicate).
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Replications {
    seed: Seed,
    at_least: u64,
    at_most: u64,
    threads: Option<NonZeroUsize>,
}

impl Replications {
    /// No fewer replications than this number: 20 unless it is given, and 2 at the least. A standard error of few
    /// values is often too small by chance, and a rule that stops at the first small one returns intervals that are too
    /// narrow: in a test with an M/M/1 queue, those that begin with two replications contain the true mean in 86 % of all
    /// cases instead of 95 %.
    pub fn at_least(self, replications: u64) -> Self {
        let at_least = replications.max(2);
        Self {
            at_least,
            at_most: self.at_most.max(at_least),
            ..self
        }
    }

    /// No more replications than this number: 10 000 unless it is given, and 2 at the least.
    pub fn at_most(self, replications: u64) -> Self {
        let at_most = replications.max(2);
        Self {
            at_least: self.at_least.min(at_most),
            at_most,
            ..self
        }
    }

    /// On this number of threads instead of as many as the machine can run at once. Results are the same.
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        Self {
            threads: Some(threads),
            ..self
        }
    }

    /// Replicates until half the width of the confidence interval of every figure is at most the share
    /// `relative_half_width` of its mean: 0.01 for 1 %. `run` simulates once and returns the figures.
    ///
    /// Stops early at a figure that is not a finite number, which no further replication would mend.
    ///
    /// # Panics
    /// If `confidence` does not lie between 0 and 1, and if `run` does.
    pub fn until<const N: usize>(
        self,
        relative_half_width: f64,
        confidence: f64,
        run: impl Fn(Seed) -> [f64; N] + Sync,
    ) -> [Interval; N] {
        let mut quantiles = Quantiles::new(confidence);
        let mut running = [Running::default(); N];
        let values = self.values(self.at_most, run, |values| {
            let last = &values[values.len() - 1];
            running.iter_mut().zip(last).for_each(|(r, &v)| r.push(v));
            if last.iter().any(|figure| !figure.is_finite()) {
                return true;
            }
            let n = values.len() as u64;
            if n < self.at_least {
                return false;
            }
            // All values are looked at again only where the running figures do not exclude that they suffice.
            let quantile = quantiles.at_least(n - 1);
            let may_suffice = |r: &Running| r.may_be_within(relative_half_width, quantile);
            running.iter().all(may_suffice)
                && intervals(values, &mut quantiles)
                    .iter()
                    .all(|interval| interval.relative_half_width() <= relative_half_width)
        });
        intervals(&values, &mut quantiles).map(|interval| Interval {
            reached: interval.replications >= self.at_least
                && interval.relative_half_width() <= relative_half_width,
            ..interval
        })
    }

    /// Replicates a fixed number of times.
    ///
    /// # Panics
    /// If there are fewer than 2 replications, if `confidence` does not lie between 0 and 1, and if `run` panics.
    pub fn times<const N: usize>(
        self,
        replications: u64,
        confidence: f64,
        run: impl Fn(Seed) -> [f64; N] + Sync,
    ) -> [Interval; N] {
        assert!(
            replications >= 2,
            "an interval needs at least 2 replications, not {replications}"
        );
        let values = self.values(replications, run, |_| false);
        intervals(&values, &mut Quantiles::new(confidence))
    }

    /// The figures of replications from 0 on, up to the first number that is enough.
    fn values<const N: usize>(
        &self,
        at_most: u64,
        run: impl Fn(Seed) -> [f64; N] + Sync,
        enough: impl FnMut(&[[f64; N]]) -> bool + Send,
    ) -> Vec<[f64; N]> {
        let next = AtomicU64::new(0);
        let progress = Mutex::new(Progress {
            in_order: Vec::new(),
            ahead: Vec::new(),
            enough,
            ended: false,
        });
        let work = || {
            // If `run` panics here, the others have nothing left to do.
            let _stop = StopOthers(&next, at_most);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= at_most {
                    return;
                }
                let figures = run(self.seed.replication(number));
                let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                if progress.add(number, figures) {
                    next.store(at_most, Ordering::Relaxed);
                    return;
                }
            }
        };
        let threads = self.threads.map_or_else(
            || thread::available_parallelism().map_or(1, NonZeroUsize::get),
            NonZeroUsize::get,
        );
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let progress = progress.into_inner();
        progress.unwrap_or_else(PoisonError::into_inner).in_order
    }
}

/// Leaves no replication to the other threads when this one panics.
struct StopOthers<'a>(&'a AtomicU64, u64);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(self.1, Ordering::Relaxed);
        }
    }
}

/// What has been computed.
struct Progress<const N: usize, F> {
    in_order: Vec<[f64; N]>,
    /// Replications for which one before them is still under way.
    ahead: Vec<(u64, [f64; N])>,
    enough: F,
    ended: bool,
}

impl<const N: usize, F: FnMut(&[[f64; N]]) -> bool> Progress<N, F> {
    /// Adds a replication; returns whether there are enough.
    fn add(&mut self, number: u64, figures: [f64; N]) -> bool {
        self.ahead.push((number, figures));
        while !self.ended {
            let wanted = self.in_order.len() as u64;
            let Some(place) = self.ahead.iter().position(|(number, _)| *number == wanted) else {
                break;
            };
            self.in_order.push(self.ahead.swap_remove(place).1);
            self.ended = (self.enough)(&self.in_order);
        }
        self.ended
    }
}

/// Quantiles of Student's t, the last of which is kept.
struct Quantiles {
    confidence: f64,
    last: (u64, f64),
    /// One of somewhat more degrees, and so a bound of those of fewer.
    bound: (u64, f64),
}

impl Quantiles {
    fn new(confidence: f64) -> Self {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "a confidence must lie between 0 and 1, not be {confidence}"
        );
        Self {
            confidence,
            last: (0, f64::NAN),
            bound: (0, f64::NAN),
        }
    }

    /// A lower bound, for degrees that do not decrease. A quantile takes a time in proportion to its degrees, and so do
    /// all these bounds together.
    fn at_least(&mut self, degrees: u64) -> f64 {
        if self.bound.0 < degrees {
            let beyond = degrees + degrees / 16;
            self.bound = (beyond, two_sided_quantile(self.confidence, beyond));
        }
        self.bound.1
    }

    fn of(&mut self, degrees: u64) -> f64 {
        if degrees > 0 && self.last.0 != degrees {
            self.last = (degrees, two_sided_quantile(self.confidence, degrees));
        }
        self.last.1
    }
}

/// The mean and the squared distances from it of the values so far, updated by each (Welford, "Note on a method for
/// calculating corrected sums of squares and products", Technometrics 4, 1962). Its rounding differs from that of the
/// [`Estimate`] that results come from.
#[derive(Clone, Copy, Default)]
struct Running {
    n: f64,
    sum: f64,
    mean: f64,
    squares: f64,
}

impl Running {
    fn push(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.n;
        self.squares += from_mean * (value - self.mean);
    }

    /// Whether the half-width of the interval may be at most the share `relative` of the mean, with regard to how far
    /// rounding may have moved it.
    fn may_be_within(&self, relative: f64, quantile: f64) -> bool {
        let variance = self.squares / (self.n - 1.0);
        let half_width = quantile * (variance / self.n).sqrt();
        // Both ways of summing squares err by a few times n rounding errors, for values whose mean is large in comparison
        // with their standard deviation by as much more (Chan, Golub, LeVeque, "Algorithms for computing the sample
        // variance", The American Statistician 37, 1983).
        let condition = 1.0 + self.mean.abs() / variance.sqrt();
        let rounding = 8.0 * self.n * f64::EPSILON * condition;
        let margin = 1e-9 + rounding;
        // If no bound is known, as for values that are all equal, any comparison is false.
        let excluded =
            margin < 0.5 && half_width * (1.0 - margin) > relative * (self.sum / self.n).abs();
        !excluded
    }
}

fn intervals<const N: usize>(values: &[[f64; N]], quantiles: &mut Quantiles) -> [Interval; N] {
    std::array::from_fn(|i| {
        let figure: Vec<f64> = values.iter().map(|figures| figures[i]).collect();
        let estimate = Estimate::from_independent(&figure);
        let replications = values.len() as u64;
        Interval {
            mean: estimate.mean,
            stderr: estimate.stderr,
            half_width: quantiles.of(replications.saturating_sub(1)) * estimate.stderr,
            confidence: quantiles.confidence,
            replications,
            reached: true,
        }
    })
}

/// A mean with its confidence interval, from independent replications.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
    /// Half the width of the confidence interval (Student's t).
    pub half_width: f64,
    /// How often such an interval contains the true mean, 0 to 1.
    pub confidence: f64,
    /// How many replications it rests on.
    pub replications: u64,
    /// Whether it is as narrow as it has to be.
    pub reached: bool,
}

impl Interval {
    /// Half the width as a share of the mean; 0 if it has no width.
    pub fn relative_half_width(&self) -> f64 {
        if self.half_width == 0.0 {
            return 0.0;
        }
        self.half_width / self.mean.abs()
    }

    /// Whether the interval contains a value.
    pub fn contains(&self, value: f64) -> bool {
        (self.mean - value).abs() <= self.half_width
    }

    /// How many standard errors the estimate lies above a value: beyond 4 below or above a true value hardly ever.
    pub fn standard_errors_above(&self, value: f64) -> f64 {
        if self.mean == value {
            return 0.0;
        }
        (self.mean - value) / self.stderr
    }
}

/// `39.9 ± 0.4 (95 %, 23 replications)`; both numbers take the precision of the formatter.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two digits of the half-width are worth printing.
        let digits = f.precision().unwrap_or_else(|| {
            let magnitude = libm::floor(libm::log10(self.half_width));
            match magnitude.is_finite() {
                true => (1.0 - magnitude).clamp(0.0, 12.0) as usize,
                false => 3,
            }
        });
        write!(
            f,
            "{:.digits$} ± {:.digits$} ({} %, {} replications)",
            self.mean,
            self.half_width,
            (1e6 * self.confidence).round() / 1e4,
            self.replications
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    /// A figure near 1, after a time that differs between replications.
    fn noisy(seed: Seed) -> [f64; 2] {
        let mut stream = seed.stream("test", "figure");
        thread::sleep(Duration::from_micros(stream.below(300)));
        [1.0 + 0.2 * stream.standard_normal(), 5.0]
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let with = |n| {
            let runs = replicate(Seed::new(4)).threads(threads(n));
            runs.until(0.05, 0.9, noisy)
        };
        let one = with(1);
        assert!(one[0].reached && one[0].replications > 25, "{}", one[0]);
        for n in [2, 3, 16] {
            assert_eq!(with(n), one, "{n} threads");
        }
        // What does not vary has no width.
        assert_eq!((one[1].mean, one[1].half_width), (5.0, 0.0));
    }

    #[test]
    fn the_first_number_that_is_precise_enough_is_taken() {
        let runs = replicate(Seed::new(4)).at_least(5);
        let [until, _] = runs.until(0.05, 0.9, noisy);
        let [same, _] = runs.times(until.replications, 0.9, noisy);
        assert_eq!(until, same);
        let [before, _] = runs.times(until.replications - 1, 0.9, noisy);
        assert!(until.relative_half_width() <= 0.05 && before.relative_half_width() > 0.05);
    }

    /// Stops where a rule that looks at all values each time stops.
    #[test]
    fn running_figures_do_not_change_where_it_stops() {
        let mut stopped = 0;
        for seed in 0..60 {
            // Means from 1 to 10^9 standard deviations, and some that are near 0.
            let offset = [1.0, 1e3, 1e6, 1e9, 0.01][seed as usize % 5];
            let run = |seed: Seed| {
                let mut stream = seed.stream("test", "figure");
                [
                    offset + stream.standard_normal(),
                    2.0 * offset + stream.uniform(),
                ]
            };
            let enough = 0.2 / offset;
            let runs = replicate(Seed::new(seed)).at_least(3).at_most(300);
            let until = runs.until(enough, 0.9, run);
            let by_all = (3..=300).find(|&n| {
                let intervals = runs.times(n, 0.9, run);
                intervals.iter().all(|i| i.relative_half_width() <= enough)
            });
            assert_eq!(until[0].replications, by_all.unwrap_or(300), "{offset}");
            assert_eq!(until[0].reached && until[1].reached, by_all.is_some());
            stopped += u32::from(by_all.is_some());
        }
        assert!(stopped > 40, "{stopped}");
    }

    #[test]
    fn the_time_of_many_replications_grows_with_their_number() {
        // Looking at all values, or computing a quantile, after each replication takes minutes here.
        let begin = std::time::Instant::now();
        let run = |seed: Seed| [seed.stream("test", "figure").uniform()];
        let runs = replicate(Seed::new(1)).at_most(200_000);
        let [interval] = runs.until(1e-9, 0.95, run);
        assert_eq!((interval.replications, interval.reached), (200_000, false));
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?}");
    }

    #[test]
    fn bounds_on_the_number_are_kept() {
        let runs = replicate(Seed::new(1));
        let [few] = runs.until(1.0, 0.95, |_| [1.0]);
        assert_eq!((few.replications, few.reached), (20, true));
        let [many] = runs.at_most(25).until(1e-6, 0.95, |seed| [noisy(seed)[0]]);
        assert_eq!((many.replications, many.reached), (25, false));
        let [broken] = runs.until(0.1, 0.95, |_| [f64::NAN]);
        assert_eq!((broken.replications, broken.reached), (1, false));
    }

    #[test]
    fn a_panic_ends_all_replications() {
        let computed = AtomicU64::new(0);
        let run = |_| {
            assert!(computed.fetch_add(1, Ordering::Relaxed) != 3, "the third");
            [f64::from(computed.load(Ordering::Relaxed) as u32)]
        };
        let runs = replicate(Seed::new(1))
            .at_most(1_000_000)
            .threads(threads(2));
        let outcome = catch_unwind(AssertUnwindSafe(|| runs.until(1e-9, 0.95, run)));
        assert!(outcome.is_err());
        assert!(computed.into_inner() < 100_000);
    }

    #[test]
    fn an_interval_is_printed_to_two_digits_of_its_width() {
        let interval = Interval {
            mean: 39.876_54,
            stderr: 0.2,
            half_width: 0.418,
            confidence: 0.95,
            replications: 23,
            reached: true,
        };
        assert_eq!(interval.to_string(), "39.88 ± 0.42 (95 %, 23 replications)");
        assert_eq!(
            format!("{interval:.1}"),
            "39.9 ± 0.4 (95 %, 23 replications)"
        );
        let exact = Interval {
            half_width: 0.0,
            ..interval
        };
        assert!(exact.to_string().starts_with("39.877 ± 0.000 (95 %"));
        assert!(interval.contains(40.0) && !interval.contains(40.4));
        assert!((interval.standard_errors_above(40.0) + 0.617).abs() < 1e-3);
    }
}
