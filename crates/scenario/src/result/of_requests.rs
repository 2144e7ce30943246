//! Figures of some of the requests.

use iosonar_stats::{Distribution, Estimate, mean_of, quantile_interval, quantile_of};
use iosonar_trace::Requests;

use super::SimulationResult;

impl SimulationResult {
    /// The response times of some requests, and independent parts of them: replications, or sections of the only run.
    pub fn times(&self, requests: Requests) -> (&Distribution, &[Distribution]) {
        match requests {
            Requests::All => (&self.response_time, &self.sections),
            Requests::Reads => (&self.reads, &self.read_sections),
            Requests::Writes => (&self.writes, &self.write_sections),
        }
    }

    /// How many of them were measured, in all replications.
    pub fn count_of(&self, requests: Requests) -> u64 {
        self.times(requests).0.count()
    }

    /// Their mean response time in milliseconds with its standard error, NaN where that is not known.
    pub fn mean_of_ms(&self, requests: Requests) -> Estimate {
        let (whole, parts) = self.times(requests);
        match requests {
            Requests::All => self.mean_ms,
            Requests::Reads | Requests::Writes => in_ms(mean_of(whole, parts)),
        }
    }

    /// A quantile of their response times in milliseconds with its standard error; NaN where there are too few samples
    /// for one.
    pub fn quantile_of_ms(&self, requests: Requests, p: f64) -> Estimate {
        let (whole, parts) = self.times(requests);
        in_ms(quantile_of(whole, parts, p))
    }

    /// The 95 % interval of a quantile of their response times in milliseconds, between two order statistics; `None`
    /// where there are too few samples for one.
    pub fn quantile_interval_of_ms(&self, requests: Requests, p: f64) -> Option<(f64, f64)> {
        let (whole, parts) = self.times(requests);
        let (lower, upper) = quantile_interval(whole, parts, p)?;
        Some((lower.as_millis_f64(), upper.as_millis_f64()))
    }
}

fn in_ms(ns: Estimate) -> Estimate {
    Estimate {
        mean: ns.mean / 1e6,
        stderr: ns.stderr / 1e6,
        ..ns
    }
}
