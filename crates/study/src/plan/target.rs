//! Targets, as they are written.

use std::fmt::Display;
use std::str::FromStr;

use iosonar_scenario::theory::ResponseTheory;
use iosonar_stats::Estimate;
use iosonar_units::Nanos;

use super::{PlanError, Verdict};

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The mean response time, in milliseconds.
    Mean,
    /// A quantile of the response time, in milliseconds.
    Quantile(f64),
    /// Requests per second.
    Throughput,
}

/// A metric and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Of what.
    pub metric: Metric,
    /// At most this of a response time (milliseconds), at least this of a throughput (1/s).
    pub limit: f64,
}

impl FromStr for Target {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let wrong = |problem: String| PlanError::Target {
            seen: text.to_owned(),
            problem,
        };
        let Some(at) = text.find(['<', '>']) else {
            return Err(wrong("there is neither < nor >".to_owned()));
        };
        let (name, rest) = text.split_at(at);
        let (below, limit) = (
            rest.starts_with('<'),
            rest[1..].trim_start_matches('=').trim(),
        );
        let name = name.trim();
        let metric = match name {
            "mean" => Metric::Mean,
            "throughput" => Metric::Throughput,
            _ => {
                let percent = name.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
                match percent {
                    Some(p) if (0.0001..=99.9999).contains(&p) => {
                        Metric::Quantile((p * 1e6).round() / 1e8)
                    }
                    _ => {
                        return Err(wrong(format!(
                            "'{name}' is no metric: mean, p50, p99, p99.9, throughput are"
                        )));
                    }
                }
            }
        };
        let limit = match metric {
            Metric::Throughput if below => {
                return Err(wrong("a throughput is to be above its limit".to_owned()));
            }
            Metric::Throughput => limit
                .trim_end_matches("/s")
                .trim()
                .parse::<f64>()
                .map_err(|_| wrong(format!("'{limit}' is no number of requests per second")))?,
            _ if !below => {
                return Err(wrong("a response time is to be below its limit".to_owned()));
            }
            _ => {
                if limit.parse::<f64>().is_ok() {
                    return Err(wrong(format!("'{limit}' has no unit")));
                }
                let time: Nanos = limit.parse().map_err(|_| {
                    wrong(format!(
                        "'{limit}' is no time; with a unit: 20ms, 1.5s, 100us"
                    ))
                })?;
                time.as_millis_f64()
            }
        };
        if !(limit > 0.0 && limit.is_finite()) {
            return Err(wrong("the limit must be above 0".to_owned()));
        }
        Ok(Self { metric, limit })
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = Nanos::from_millis_f64(self.limit);
        match self.metric {
            Metric::Mean => write!(f, "mean < {time}"),
            Metric::Quantile(p) => write!(f, "p{} < {time}", (p * 1e8).round() / 1e6),
            Metric::Throughput => write!(f, "throughput > {}/s", self.limit),
        }
    }
}

impl Target {
    /// What theory says of its metric in milliseconds, NaN where it does not know; `None` of a throughput.
    pub fn of_response(&self, response: &ResponseTheory) -> Option<f64> {
        match self.metric {
            Metric::Mean => Some(response.mean_ms),
            Metric::Quantile(p) => Some(response.quantile_ms(p)),
            Metric::Throughput => None,
        }
    }

    /// Whether a value keeps it.
    pub fn is_kept_by(&self, value: f64) -> bool {
        match self.metric {
            Metric::Throughput => value >= self.limit,
            Metric::Mean | Metric::Quantile(_) => value <= self.limit,
        }
    }

    /// What an estimate says, by its 95 % confidence interval. Without one nothing is sure.
    pub fn verdict(&self, estimate: &Estimate) -> Verdict {
        let half = estimate.half_width_95();
        if !half.is_finite() {
            return Verdict::Unsure;
        }
        let (low, high) = (estimate.mean - half, estimate.mean + half);
        match (self.is_kept_by(low), self.is_kept_by(high)) {
            (true, true) => Verdict::Meets,
            (false, false) => Verdict::Fails,
            _ => Verdict::Unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn targets_are_read_and_written() {
        assert_eq!(target("p99 < 20ms").limit, 20.0);
        assert_eq!(target("p99.9<=1.5s").metric, Metric::Quantile(0.999));
        assert_eq!(target("mean < 100us").limit, 0.1);
        assert_eq!(target("throughput > 200/s").limit, 200.0);
        assert_eq!(target("p99.9 < 20ms").to_string(), "p99.9 < 20 ms");
        for wrong in [
            "p99",
            "p99 20ms",
            "p100 < 1ms",
            "p0 < 1ms",
            "median < 1ms",
            "p99 < -1ms",
            "p99 < 0ms",
            "p99 < 80",
            "p99 > 20ms",
            "throughput < 5",
            "throughput > x",
            "p99 < much",
            "",
        ] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let at = |mean, stderr| Estimate {
            mean,
            stderr,
            values: 10,
        };
        let below = target("mean < 10ms");
        assert_eq!(below.verdict(&at(9.0, 0.1)), Verdict::Meets);
        assert_eq!(below.verdict(&at(9.9, 0.1)), Verdict::Unsure);
        assert_eq!(below.verdict(&at(11.0, 0.1)), Verdict::Fails);
        assert_eq!(below.verdict(&at(9.0, f64::NAN)), Verdict::Unsure);
        let above = target("throughput > 10");
        assert_eq!(above.verdict(&at(11.0, 0.1)), Verdict::Meets);
        assert_eq!(above.verdict(&at(9.0, 0.1)), Verdict::Fails);
    }
}
