//! Several servers of one queue.

use crate::AnalyticError;
use crate::error::{positive, stable};

/// M/M/c: Poisson arrivals, `servers` exponential servers, one queue.
///
/// Source: Erlang 1917; Kleinrock, "Queueing Systems I", 3.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MMc {
    servers: u32,
    mean_service: f64,
    utilisation: f64,
}

impl MMc {
    /// Arrivals at `rate` to `servers` servers with this mean service time.
    ///
    /// # Errors
    /// If there is no server, a number is not above zero, or the queue only grows.
    pub fn new(rate: f64, mean_service: f64, servers: u32) -> Result<Self, AnalyticError> {
        positive("the arrival rate", rate)?;
        positive("the mean service time", mean_service)?;
        positive("the number of servers", f64::from(servers))?;
        Ok(Self {
            servers,
            mean_service,
            utilisation: stable(rate * mean_service / f64::from(servers))?,
        })
    }

    /// The share of the time that a server works.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// The probability that a job waits (Erlang C), by the recursion of Erlang B, which does not
    /// overflow.
    pub fn probability_of_wait(&self) -> f64 {
        let offered = self.utilisation * f64::from(self.servers);
        let mut blocked = 1.0;
        for k in 1..=self.servers {
            blocked = offered * blocked / (f64::from(k) + offered * blocked);
        }
        blocked / (1.0 - self.utilisation * (1.0 - blocked))
    }

    /// The mean wait: C / (c mu (1 - rho)).
    pub fn mean_wait(&self) -> f64 {
        let free = f64::from(self.servers) * (1.0 - self.utilisation);
        self.probability_of_wait() * self.mean_service / free
    }

    /// The mean response time.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.mean_service
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_come_out() {
        // Reference, part 1e: mmc_erlang_c and mmc_response_mean; mu = 1.
        for (servers, rho, c, response) in [
            (2, 0.5, 0.333_333_333_333_333_3, 1.333_333_333_333_333_3),
            (2, 0.8, 0.711_111_111_111_111_1, 2.777_777_777_777_778_6),
            (4, 0.7, 0.428_654_318_232_537_36, 1.357_211_931_860_447_9),
            (8, 0.9, 0.701_532_990_146_257_1, 1.876_916_237_682_821_7),
        ] {
            let queue = MMc::new(rho * f64::from(servers), 1.0, servers).unwrap();
            assert!((queue.probability_of_wait() / c - 1.0).abs() < 1e-12);
            assert!((queue.mean_response() / response - 1.0).abs() < 1e-12);
        }
        assert!(MMc::new(2.0, 1.0, 2).is_err() && MMc::new(1.0, 1.0, 0).is_err());
        let large = MMc::new(990.0, 1.0, 1000).unwrap();
        assert!((0.0..1.0).contains(&large.probability_of_wait()));
    }
}
