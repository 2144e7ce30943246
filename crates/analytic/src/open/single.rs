//! One server, Poisson arrivals.

use num_complex::Complex64;

use crate::error::{positive, stable};
use crate::invert::{distribution_function, quantile_of};
use crate::{AnalyticError, ServiceLaw};

/// M/G/1: Poisson arrivals, one server, any law of service, first come, first served unless said
/// otherwise.
///
/// Source: Kleinrock, "Queueing Systems I", 1975, chapter 5; Takacs 1962 for the moments of the wait.
#[derive(Clone, Debug)]
pub struct Mg1 {
    rate: f64,
    service: ServiceLaw,
    moments: [f64; 3],
    utilisation: f64,
}

impl Mg1 {
    /// Arrivals at `rate` to a server of this law.
    ///
    /// # Errors
    /// If the rate or the mean service time is not above zero, or the queue only grows.
    pub fn new(rate: f64, service: ServiceLaw) -> Result<Self, AnalyticError> {
        positive("the arrival rate", rate)?;
        let moments = service.moments();
        positive("the mean service time", moments[0])?;
        let utilisation = stable(rate * moments[0])?;
        Ok(Self {
            rate,
            service,
            moments,
            utilisation,
        })
    }

    /// The share of the time that the server works: rho = lambda E\[S\].
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// The law of service.
    pub fn service(&self) -> &ServiceLaw {
        &self.service
    }

    /// The mean wait (Pollaczek and Khinchine): W = lambda E\[S^2\] / (2 (1 - rho)).
    pub fn mean_wait(&self) -> f64 {
        self.rate * self.moments[1] / (2.0 * (1.0 - self.utilisation))
    }

    /// The variance of the wait (Takacs): W^2 + lambda E\[S^3\] / (3 (1 - rho)).
    pub fn variance_of_wait(&self) -> f64 {
        let mean = self.mean_wait();
        mean * mean + self.rate * self.moments[2] / (3.0 * (1.0 - self.utilisation))
    }

    /// The mean response time: wait and service.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.moments[0]
    }

    /// The variance of the response time: wait and service are independent.
    pub fn variance_of_response(&self) -> f64 {
        self.variance_of_wait() + self.service.variance()
    }

    /// The mean number of jobs, waiting and in service (Little).
    pub fn mean_jobs(&self) -> f64 {
        self.rate * self.mean_response()
    }

    /// The transform of the wait (Pollaczek and Khinchine):
    /// (1 - rho) s / (s - lambda + lambda B(s)), B the transform of the service.
    pub fn wait_lst(&self, s: Complex64) -> Complex64 {
        s * (1.0 - self.utilisation) / (s - self.rate + self.service.lst(s) * self.rate)
    }

    /// The transform of the response time: that of the wait times that of the service.
    pub fn response_lst(&self, s: Complex64) -> Complex64 {
        let service = self.service.lst(s);
        s * (1.0 - self.utilisation) / (s - self.rate + service * self.rate) * service
    }

    /// The probability that a response takes at most `t`, by transform inversion (see
    /// [`distribution_function`]).
    pub fn response_within(&self, t: f64) -> f64 {
        if t <= 0.0 {
            return 0.0;
        }
        distribution_function(|s| self.response_lst(s), t)
    }

    /// The probability that a wait takes at most `t`. The wait is 0 with the probability 1 - rho; only the
    /// rest is inverted.
    pub fn wait_within(&self, t: f64) -> f64 {
        let none = 1.0 - self.utilisation;
        if t <= 0.0 {
            return if t < 0.0 { 0.0 } else { none };
        }
        none + self.utilisation
            * distribution_function(|s| (self.wait_lst(s) - none) / self.utilisation, t)
    }

    /// The quantile of the response time for a probability 0 < p < 1.
    pub fn response_quantile(&self, p: f64) -> f64 {
        quantile_of(|t| self.response_within(t), p, self.mean_response())
    }

    /// The mean response time under processor sharing, and under last come, first served with preemption
    /// and resumption: E\[S\] / (1 - rho), whatever the law (Kleinrock 1976, 4.4; both are insensitive).
    pub fn mean_response_shared(&self) -> f64 {
        self.moments[0] / (1.0 - self.utilisation)
    }

    /// The variance of the wait last come, first served without preemption; its mean is that of first come,
    /// first served. E\[W^2\] is that of first come, first served over 1 - rho (Takacs 1963):
    /// lambda E\[S^3\] / (3 (1 - rho)^2) + (lambda E\[S^2\])^2 / (2 (1 - rho)^3).
    pub fn variance_of_wait_last_first(&self) -> f64 {
        let [_, square, cube] = self.moments;
        let left = 1.0 - self.utilisation;
        let work = self.rate * square;
        let second =
            self.rate * cube / (3.0 * left * left) + work * work / (2.0 * left * left * left);
        second - self.mean_wait() * self.mean_wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponential_server_is_m_m_1() {
        // Reference, part 1e: quantiles -ln(1 - p) / (mu - lambda); means 1 / (mu - lambda).
        for rate in [0.3, 0.5, 0.8, 0.9] {
            let queue = Mg1::new(rate, ServiceLaw::Exponential(1.0)).unwrap();
            let response = 1.0 / (1.0 - rate);
            assert!((queue.mean_response() / response - 1.0).abs() < 1e-12);
            assert!((queue.variance_of_response() / (response * response) - 1.0).abs() < 1e-12);
            assert!((queue.mean_jobs() / (rate * response) - 1.0).abs() < 1e-12);
            for p in [0.5, 0.9, 0.99] {
                let exact = -libm::log1p(-p) * response;
                assert!(
                    (queue.response_quantile(p) / exact - 1.0).abs() < 1e-6,
                    "{rate} {p}"
                );
            }
            let wait = 1.0 - rate * libm::exp(-2.0 / response);
            assert!((queue.wait_within(2.0) - wait).abs() < 1e-8);
            assert!((queue.wait_within(0.0) - (1.0 - rate)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_constant_server_is_m_d_1() {
        // Reference, part 1e: md1_response_mean, md1_wait_var.
        for (rate, response, variance) in [
            (0.3, 1.214_285_714_285_714_2, 0.188_775_510_204_081_68),
            (0.5, 1.5, 0.583_333_333_333_333_3),
            (0.8, 3.0, 5.333_333_333_333_336),
            (0.9, 5.5, 23.25),
        ] {
            let queue = Mg1::new(rate, ServiceLaw::Constant(1.0)).unwrap();
            assert!((queue.mean_response() / response - 1.0).abs() < 1e-12);
            assert!((queue.variance_of_wait() / variance - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn what_has_no_answer_says_so() {
        let at = |rate| Mg1::new(rate, ServiceLaw::Constant(2.0)).map(|_| ());
        assert_eq!(at(0.6), Err(AnalyticError::Unstable { offered: 1.2 }));
        assert_eq!(at(0.5), Err(AnalyticError::Unstable { offered: 1.0 }));
        assert!(matches!(at(0.0), Err(AnalyticError::Parameter { .. })));
        assert!(matches!(at(f64::NAN), Err(AnalyticError::Parameter { .. })));
        let none = Mg1::new(0.5, ServiceLaw::ZERO).map(|_| ());
        assert!(matches!(none, Err(AnalyticError::Parameter { .. })));
        let text = at(0.6).unwrap_err().to_string();
        assert!(
            text.contains("1.2000 times") && text.contains("0.8333"),
            "{text}"
        );
    }
}
