//! Jobs that come in batches.

use num_complex::Complex64;

use crate::error::{positive, stable};
use crate::invert::quantile_of;
use crate::{AnalyticError, ServiceLaw, invert};

/// How many jobs come at an arrival.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchLaw {
    /// Always this many.
    Constant(u32),
    /// Geometric on 1, 2, ... with this mean.
    Geometric(f64),
    /// One of these numbers, each with its probability.
    Table(Vec<(f64, u32)>),
}

impl BatchLaw {
    /// The mean number.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(n) => f64::from(*n),
            Self::Geometric(mean) => *mean,
            Self::Table(table) => table.iter().map(|(p, n)| p * f64::from(*n)).sum(),
        }
    }

    /// Whether it is a distribution on 1, 2, ...
    fn check(&self) -> Result<(), AnalyticError> {
        let shares = match self {
            Self::Constant(_) | Self::Geometric(_) => 1.0,
            Self::Table(table) => table.iter().map(|(p, _)| p).sum(),
        };
        let is_one = (shares - 1.0_f64).abs() < 1e-9;
        if is_one && self.mean() >= 1.0 && self.mean().is_finite() {
            return Ok(());
        }
        Err(AnalyticError::Parameter {
            name: "the mean batch size",
            seen: self.mean(),
            expected: "at least 1, and probabilities that sum to 1",
        })
    }

    /// The mean of X (X - 1).
    fn factorial_moment(&self) -> f64 {
        let pairs = |n: u32| f64::from(n) * (f64::from(n) - 1.0);
        match self {
            Self::Constant(n) => pairs(*n),
            Self::Geometric(mean) => 2.0 * mean * (mean - 1.0),
            Self::Table(table) => table.iter().map(|(p, n)| p * pairs(*n)).sum(),
        }
    }

    /// The probability generating function: the mean of z^X.
    fn pgf(&self, z: Complex64) -> Complex64 {
        match self {
            Self::Constant(n) => z.powu(*n),
            Self::Geometric(mean) => z / (*mean - z * (*mean - 1.0)),
            Self::Table(table) => table.iter().map(|(p, n)| z.powu(*n) * p).sum(),
        }
    }

    /// The probabilities that a job has 0, 1, ... others of its batch before it, P(X > j) / E\[X\], as
    /// far as what is left exceeds one in a million, and at most a hundred thousand of them.
    pub fn before_a_job(&self) -> Vec<f64> {
        let mean = self.mean();
        match self {
            Self::Constant(n) => vec![1.0 / mean; *n as usize],
            Self::Geometric(mean) => {
                let (q, mut left, mut all) = (1.0 - 1.0 / mean, 1.0, Vec::new());
                while left > 1e-6 && all.len() < 100_000 {
                    all.push(left / mean);
                    left *= q;
                }
                all
            }
            Self::Table(table) => {
                let most = table.iter().map(|(_, n)| *n).max().unwrap_or(0);
                let beyond = |j: u32| -> f64 {
                    let rows = table.iter().filter(|(_, n)| *n > j);
                    rows.map(|(p, _)| p / mean).sum()
                };
                (0..most).map(beyond).collect()
            }
        }
    }
}

/// M^X/G/1: batches in a Poisson stream, one server, first come, first served.
///
/// Source: Burke, "Delays in single-server queues with batch input", Operations Research 23, 1975.
#[derive(Clone, Debug)]
pub struct BatchQueue {
    rate: f64,
    batch: BatchLaw,
    service: ServiceLaw,
    utilisation: f64,
}

impl BatchQueue {
    /// Batches at `rate`, their sizes, the service of one job.
    ///
    /// # Errors
    /// If a number is not above zero, or the queue only grows.
    pub fn new(rate: f64, batch: BatchLaw, service: ServiceLaw) -> Result<Self, AnalyticError> {
        positive("the rate of batches", rate)?;
        batch.check()?;
        positive("the mean service time", service.mean())?;
        Ok(Self {
            utilisation: stable(rate * batch.mean() * service.mean())?,
            rate,
            batch,
            service,
        })
    }

    /// The share of the time that the server works.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// The second moment of the work of a batch: E\[X\] Var S + E\[X^2\] E\[S\]^2.
    fn square_of_work(&self) -> f64 {
        let (x, s) = (self.batch.mean(), self.service.mean());
        x * self.service.variance() + (self.batch.factorial_moment() + x) * s * s
    }

    /// The mean wait of the first job of a batch: an M/G/1 queue of batches.
    pub fn mean_wait_of_first(&self) -> f64 {
        self.rate * self.square_of_work() / (2.0 * (1.0 - self.utilisation))
    }

    /// The mean response time of a job: the wait of the first, and what is before it in its batch,
    /// E\[S\] E\[X (X - 1)\] / (2 E\[X\]).
    pub fn mean_response(&self) -> f64 {
        let s = self.service.mean();
        let before = self.batch.factorial_moment() / (2.0 * self.batch.mean());
        self.mean_wait_of_first() + s * before + s
    }

    /// The mean time until a whole batch is done.
    pub fn mean_response_of_batch(&self) -> f64 {
        self.mean_wait_of_first() + self.batch.mean() * self.service.mean()
    }

    /// The transform of the response time of a job: wait of the first, work before it in the batch
    /// (1 - G(B)) / (E\[X\] (1 - B)), own service; G the generating function of batches, B the transform
    /// of the service.
    pub fn response_lst(&self, s: Complex64) -> Complex64 {
        let b = self.service.lst(s);
        let batch = self.batch.pgf(b);
        let wait = s * (1.0 - self.utilisation) / (s - self.rate + batch * self.rate);
        let one = Complex64::new(1.0, 0.0);
        wait * (one - batch) / (one - b) / self.batch.mean() * b
    }

    /// The quantile of a job's response time for 0 < p < 1, by transform inversion.
    pub fn response_quantile(&self, p: f64) -> f64 {
        let within = |t| invert::distribution_function(|s| self.response_lst(s), t);
        quantile_of(within, p, self.mean_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_come_out() {
        // Reference, part 1e: batch_mxg1_*.
        for (rate, batch, service, first, job, whole) in [
            (
                0.1,
                BatchLaw::Geometric(3.0),
                ServiceLaw::Exponential(1.0),
                1.285_714_285_714_285_8,
                4.285_714_285_714_286_5,
                4.285_714_285_714_286,
            ),
            (
                0.2,
                BatchLaw::Geometric(3.0),
                ServiceLaw::Constant(1.0),
                3.75,
                6.75,
                6.75,
            ),
            (
                0.15,
                BatchLaw::Constant(4),
                ServiceLaw::Exponential(1.0),
                3.75,
                6.25,
                7.75,
            ),
        ] {
            let queue = BatchQueue::new(rate, batch, service).unwrap();
            assert!((queue.mean_wait_of_first() / first - 1.0).abs() < 1e-12);
            assert!((queue.mean_response() / job - 1.0).abs() < 1e-12);
            assert!((queue.mean_response_of_batch() / whole - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn geometric_batches_of_exponential_jobs_have_an_exponential_response() {
        // A geometric number of exponential phases is exponential, so the whole is M/M/1 in batches.
        let queue =
            BatchQueue::new(0.1, BatchLaw::Geometric(3.0), ServiceLaw::Exponential(1.0)).unwrap();
        for p in [0.5, 0.9, 0.99] {
            let exact = -libm::log1p(-p) * queue.mean_response();
            assert!(
                (queue.response_quantile(p) / exact - 1.0).abs() < 1e-5,
                "{p}"
            );
        }
    }

    #[test]
    fn places_in_a_batch_have_all_the_probability() {
        for batch in [
            BatchLaw::Constant(4),
            BatchLaw::Geometric(3.0),
            BatchLaw::Table(vec![(0.7, 1), (0.3, 8)]),
        ] {
            let all: f64 = batch.before_a_job().iter().sum();
            assert!((all - 1.0).abs() < 1e-5, "{batch:?}: {all}");
        }
    }

    #[test]
    fn a_table_of_batches_is_the_law_that_it_lists() {
        let service = ServiceLaw::Uniform(0.5, 3.0);
        let geometric = (1..=200).map(|n| (0.4 * 0.6_f64.powi(n as i32 - 1), n));
        for (law, table) in [
            (BatchLaw::Constant(4), vec![(0.25, 4), (0.75, 4)]),
            (BatchLaw::Geometric(2.5), geometric.collect()),
        ] {
            let of = |law| BatchQueue::new(0.05, law, service.clone()).unwrap();
            let (law, table) = (of(law), of(BatchLaw::Table(table)));
            let same = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            assert!(same(table.mean_wait_of_first(), law.mean_wait_of_first()));
            assert!(same(table.mean_response(), law.mean_response()));
            assert!(same(
                table.mean_response_of_batch(),
                law.mean_response_of_batch()
            ));
            assert!(same(
                table.response_quantile(0.9),
                law.response_quantile(0.9)
            ));
        }
    }
}
