//! A server that takes several jobs at once.

use crate::AnalyticError;
use crate::error::{positive, stable};

/// M/M^\[a,b\]/1: Poisson arrivals; the server takes what waits, up to `most` jobs, as soon as `least`
/// wait; the service of a batch is exponential whatever its size. With `least` = 1 the dynamic block
/// queue of an SSD driver, with `least` = `most` the static one.
///
/// Source: Bailey 1954; Neuts 1967. While the server works and n jobs wait, the balance equations have
/// the solution P(n) = P(0) r^n with the root r in (0, 1) of mu r^(b+1) - (lambda + mu) r + lambda = 0; the
/// idle states follow by going through them one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkService {
    rate: f64,
    mean_service: f64,
    mean_waiting: f64,
    serving: f64,
    empty: f64,
    load: f64,
}

impl BulkService {
    /// Arrivals at `rate` to a server with this mean service time that takes `least` to `most` jobs.
    ///
    /// # Errors
    /// If a number is not above zero, `least` is above `most`, or the queue only grows.
    pub fn new(rate: f64, mean_service: f64, least: u32, most: u32) -> Result<Self, AnalyticError> {
        positive("the arrival rate", rate)?;
        positive("the mean service time", mean_service)?;
        if least == 0 || least > most {
            return Err(AnalyticError::Parameter {
                name: "the smallest batch",
                seen: f64::from(least),
                expected: "a number from 1 to the size of the largest batch",
            });
        }
        let load = stable(rate * mean_service / f64::from(most))?;
        let (lambda, mu, b) = (rate, 1.0 / mean_service, f64::from(most));
        // In x = 1 - r: f(x) = mu ((1 - x)^(b+1) - 1) + (lambda + mu) x has its root where the service keeps
        // up with what comes; it is negative up to there, and positive beyond.
        let f = |x: f64| mu * libm::expm1((b + 1.0) * libm::log1p(-x)) + (lambda + mu) * x;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if f(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        let x = f64::midpoint(low, high);
        let r = 1.0 - x;
        // Idle with k < a waiting: lambda P(idle, k) = lambda P(idle, k - 1) + mu P(busy, k).
        let (mut idle, mut idle_sum, mut idle_jobs, mut power) = (0.0, 0.0, 0.0, 1.0);
        for k in 0..least {
            idle += mu / lambda * power;
            idle_sum += idle;
            idle_jobs += f64::from(k) * idle;
            power *= r;
        }
        let (busy_sum, busy_jobs) = (1.0 / x, r / (x * x));
        let all = idle_sum + busy_sum;
        Ok(Self {
            rate,
            mean_service,
            mean_waiting: (idle_jobs + busy_jobs) / all,
            serving: busy_sum / all,
            empty: mu / lambda / all,
            load,
        })
    }

    /// The share of the largest throughput that is asked for: rate / (`most` mu).
    pub fn offered_load(&self) -> f64 {
        self.load
    }

    /// The share of the time that the server works.
    pub fn utilisation(&self) -> f64 {
        self.serving
    }

    /// The share of the time that a job is there, waiting or in service.
    pub fn busy(&self) -> f64 {
        1.0 - self.empty
    }

    /// The mean number of jobs that wait.
    pub fn mean_waiting(&self) -> f64 {
        self.mean_waiting
    }

    /// The mean wait (Little).
    pub fn mean_wait(&self) -> f64 {
        self.mean_waiting / self.rate
    }

    /// The mean response time.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.mean_service
    }

    /// The mean number of jobs that are served together: what comes by what is served.
    pub fn mean_batch(&self) -> f64 {
        self.rate * self.mean_service / self.serving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_come_out() {
        // Reference, part 5: (a, b, rho, mean waiting, mean response, busy), mu = 1.
        for (a, b, rho, waiting, response, busy) in [
            (
                1,
                1,
                0.3,
                0.128_571_428_571_428,
                1.428_571_428_571_428_6,
                0.3,
            ),
            (1, 1, 0.95, 18.05, 20.0, 0.95),
            (1, 2, 0.5, 1.170_820, 2.170_820, 0.723_607),
            (1, 4, 0.8, 10.177_981, 4.180_619, 0.973_445),
            (1, 8, 0.95, 86.514_617, 12.383_502, 0.998_501),
            (1, 16, 0.3, 4.919_909, 2.024_981, 0.966_913),
            (1, 16, 0.95, 163.889_337, 11.782_193, 0.999_601),
            (2, 2, 0.3, 0.629_967, 2.049_946, 0.3),
            (4, 4, 0.8, 8.755_628, 3.736_134, 0.8),
            (8, 8, 0.95, 82.544_500, 11.861_118, 0.95),
            (16, 16, 0.3, 7.788_262, 2.622_555, 0.3),
            (16, 16, 0.95, 156.254_702, 11.279_915, 0.95),
        ] {
            let queue = BulkService::new(rho * f64::from(b), 1.0, a, b).unwrap();
            let near = |seen: f64, told: f64| (seen - told).abs() <= 5.1e-7 + 1e-9 * told;
            assert!(
                near(queue.mean_waiting(), waiting),
                "{a} {b} {rho} {queue:?}"
            );
            assert!(
                near(queue.mean_response(), response),
                "{a} {b} {rho} {queue:?}"
            );
            assert!(near(queue.utilisation(), busy), "{a} {b} {rho} {queue:?}");
            assert!(queue.mean_batch() >= f64::from(a) - 1e-9);
            assert!(queue.mean_batch() <= f64::from(b) + 1e-9);
        }
    }

    #[test]
    fn batches_that_are_none_are_refused() {
        assert!(BulkService::new(1.0, 1.0, 0, 4).is_err());
        assert!(BulkService::new(1.0, 1.0, 5, 4).is_err());
        let unstable = BulkService::new(4.0, 1.0, 1, 4);
        assert_eq!(unstable, Err(AnalyticError::Unstable { offered: 1.0 }));
    }
}
