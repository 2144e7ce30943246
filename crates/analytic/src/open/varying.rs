//! A server that works faster the more jobs wait.

use crate::AnalyticError;
use crate::error::positive;

/// The service of a job that begins with this number of jobs present.
pub trait VaryingService {
    /// The mean service time that begins with `present` jobs, the one that begins included; 1 or more.
    fn mean(&self, present: usize) -> f64;

    /// The probability that the number of Poisson arrivals at `rate` during that service is 0, 1, ...: as
    /// many as matter, at least to 1e-12 of the probability.
    fn arrivals(&self, present: usize, rate: f64) -> Vec<f64>;

    /// From this number on all services are practically equal: the chain is truncated there.
    fn alike_from(&self) -> usize;
}

/// M/G/1 whose service depends on the number of jobs at its beginning, as rotational positioning
/// optimisation makes it: Poisson arrivals, first come, first served.
///
/// The numbers left behind by departing jobs form a Markov chain; its stationary distribution, by going
/// through the states in order (it goes down one at a time at most, so each balance over a cut
/// between two states gives the next probability from the ones before; all terms are positive), is that
/// at arrivals, and the mean response time follows by Little's law. Source: Harris, "Queues with
/// state-dependent stochastic service rates", Operations Research 15, 1967.
#[derive(Clone, Debug)]
pub struct VaryingServiceQueue {
    rate: f64,
    /// Of 0, 1, ... jobs left behind.
    left: Vec<f64>,
    mean_service: f64,
}

/// The most states that are gone through.
const MOST: usize = 4000;

impl VaryingServiceQueue {
    /// The queue with arrivals at `rate`.
    ///
    /// # Errors
    /// If the rate is not above zero, or the queue only grows: the offered load is that of the fastest
    /// service.
    pub fn new(rate: f64, service: &impl VaryingService) -> Result<Self, AnalyticError> {
        positive("the arrival rate", rate)?;
        let offered = rate * service.mean(service.alike_from());
        crate::error::stable(offered)?;
        // Beyond the last state everything is as unlikely as rounding.
        let mut unnormalised: Vec<f64> = vec![1.0];
        // P(more than k arrivals) during a service that begins with n.
        let mut beyond: Vec<Vec<f64>> = Vec::new();
        let tail = |arrivals: Vec<f64>| -> Vec<f64> {
            let mut left = 0.0;
            let mut tails: Vec<f64> = arrivals
                .iter()
                .rev()
                .map(|p| {
                    let now = left;
                    left += p;
                    now
                })
                .collect();
            tails.reverse();
            tails
        };
        let none_of = |arrivals: &[f64]| arrivals.first().copied().unwrap_or(0.0);
        // A departing job leaves n = max(m, 1) - 1 + arrivals for the next to leave. Over the cut between
        // n and n + 1: P(n + 1) a_{n+1}(0) = sum over m <= n of P(m) P(more than n + 1 - max(m, 1) arrive).
        let alike = service.alike_from();
        let mut first: Vec<f64> = Vec::new();
        let begins = |n: usize, first: &mut Vec<f64>, beyond: &mut Vec<Vec<f64>>| {
            while beyond.len() < n {
                let present = beyond.len() + 1;
                if present > alike {
                    beyond.push(beyond[present - 2].clone());
                    first.push(first[present - 2]);
                } else {
                    let arrivals = service.arrivals(present, rate);
                    first.push(none_of(&arrivals));
                    beyond.push(tail(arrivals));
                }
            }
        };
        let mut total = 1.0;
        for n in 0..MOST {
            begins(n + 1, &mut first, &mut beyond);
            let mut up = 0.0;
            for (m, p) in unnormalised.iter().enumerate() {
                let present = m.max(1);
                // More than n + 1 - present arrivals bring it above n.
                let more_than = n + 1 - present;
                if let Some(t) = beyond[present - 1].get(more_than) {
                    up += p * t;
                }
            }
            let next = up / first[n];
            unnormalised.push(next);
            total += next;
            if n > alike && next < 1e-14 * total {
                break;
            }
            if n + 1 == MOST {
                return Err(AnalyticError::NearSaturation { load: offered });
            }
        }
        let left: Vec<f64> = unnormalised.iter().map(|p| p / total).collect();
        let mean_service = left
            .iter()
            .enumerate()
            .map(|(m, p)| p * service.mean(m.max(1).min(alike)))
            .sum();
        Ok(Self {
            rate,
            left,
            mean_service,
        })
    }

    /// The mean service time.
    pub fn mean_service(&self) -> f64 {
        self.mean_service
    }

    /// The share of the time that the server works.
    pub fn utilisation(&self) -> f64 {
        self.rate * self.mean_service
    }

    /// The mean number of jobs, waiting and in service.
    pub fn mean_jobs(&self) -> f64 {
        let numbered = self.left.iter().enumerate();
        numbered.map(|(n, p)| n as f64 * p).sum()
    }

    /// The mean response time (Little).
    pub fn mean_response(&self) -> f64 {
        self.mean_jobs() / self.rate
    }

    /// The probabilities of 0, 1, ... jobs.
    pub fn jobs(&self) -> &[f64] {
        &self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponential services whose rate grows with the number at their beginning.
    struct Exponential(Vec<f64>);

    impl VaryingService for Exponential {
        fn mean(&self, present: usize) -> f64 {
            self.0[present.min(self.0.len()) - 1]
        }

        fn arrivals(&self, present: usize, rate: f64) -> Vec<f64> {
            let load = rate * self.mean(present);
            let stay = load / (1.0 + load);
            (0..400).map(|k| stay.powi(k) / (1.0 + load)).collect()
        }

        fn alike_from(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn without_variation_it_is_m_m_1() {
        for rate in [0.3, 0.8] {
            let queue = VaryingServiceQueue::new(rate, &Exponential(vec![1.0])).unwrap();
            assert!((queue.utilisation() - rate).abs() < 1e-12);
            let response = 1.0 / (1.0 - rate);
            assert!(
                (queue.mean_response() / response - 1.0).abs() < 1e-9,
                "{rate}"
            );
        }
    }

    #[test]
    fn a_service_that_grows_faster_makes_more_stable() {
        let slow = Exponential(vec![1.0, 0.8, 0.5]);
        let queue = VaryingServiceQueue::new(1.5, &slow).unwrap();
        assert!(queue.utilisation() < 1.0 && queue.mean_service() > 0.5);
        assert!((queue.jobs().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((1.0 - queue.jobs()[0] - queue.utilisation()).abs() < 1e-9);
        let unstable = VaryingServiceQueue::new(2.1, &slow).map(|_| ());
        assert_eq!(unstable, Err(AnalyticError::Unstable { offered: 1.05 }));
    }
}
