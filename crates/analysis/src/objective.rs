//! Objectives: what a storage system must keep to, as it is written.
//!
//! ```text
//!   [read|write] [latency|delay|response_time] mean|pN < TIME
//!   throughput > N[/s]
//! ```
//!
//! Without `read` or `write` it is about all requests, without a quantity about the response time.

mod attained;
mod on_recording;

use std::fmt::Display;
use std::str::FromStr;

use iosonar_stats::metric::MetricUnit;
use iosonar_trace::{Quantity, Requests};
use iosonar_units::Nanos;

pub use attained::{Attained, Flaw, Judgement};
pub use on_recording::OnRecording;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The mean of the times, in milliseconds.
    Mean,
    /// A quantile of the times, in milliseconds.
    Quantile(f64),
    /// Requests per second.
    Throughput,
}

/// A statistic and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// Of which requests.
    pub requests: Requests,
    /// Of which of their times.
    pub quantity: Quantity,
    /// Of what.
    pub statistic: Statistic,
    /// At most this of a time (milliseconds), at least this of a throughput (1/s).
    pub limit: f64,
}

/// Why a text is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; expected a target such as \"p99 < 20ms\", \"mean < 5ms\" or \"throughput > 200\"")]
pub struct ObjectiveError(String);

impl ObjectiveError {
    /// What is wrong, without what an objective looks like.
    pub fn problem(&self) -> &str {
        &self.0
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let Some(at) = text.find(['<', '>']) else {
            return Err(ObjectiveError(match text.trim() {
                "" => "the target is empty".to_owned(),
                text => format!("'{text}' contains neither < nor >"),
            }));
        };
        let (names, rest) = text.split_at(at);
        let is_below = rest.starts_with('<');
        let limit = rest[1..].trim_start_matches('=').trim();
        let Figure {
            requests,
            quantity,
            statistic,
        } = names.parse()?;
        Ok(Self {
            requests,
            quantity,
            statistic,
            limit: value(statistic, is_below, limit)?,
        })
    }
}

/// What an objective is about, without its limit: `read p99`, `latency mean`, `throughput`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Of which requests.
    pub requests: Requests,
    /// Of which of their times.
    pub quantity: Quantity,
    /// Of what.
    pub statistic: Statistic,
}

impl FromStr for Figure {
    type Err = ObjectiveError;

    fn from_str(names: &str) -> Result<Self, ObjectiveError> {
        let mut names: Vec<&str> = names.split_whitespace().collect();
        let requests = first(
            &mut names,
            &[("read", Requests::Reads), ("write", Requests::Writes)],
        );
        let requests = requests.unwrap_or_default();
        let quantity = first(
            &mut names,
            &[
                ("latency", Quantity::Latency),
                ("delay", Quantity::Delay),
                ("response_time", Quantity::ResponseTime),
            ],
        );
        let statistic = statistic(&names.join(" "))?;
        if statistic == Statistic::Throughput && (requests != Requests::All || quantity.is_some()) {
            return Err(ObjectiveError(
                "throughput counts all requests: write it without 'read', 'write', 'delay' or 'latency'".to_owned(),
            ));
        }
        Ok(Self {
            requests,
            quantity: quantity.unwrap_or(Quantity::ResponseTime),
            statistic,
        })
    }
}

impl Figure {
    /// As it is written.
    pub fn name(&self) -> String {
        let requests = match self.requests {
            Requests::All => "",
            Requests::Reads => "read ",
            Requests::Writes => "write ",
        };
        let quantity = match self.quantity {
            Quantity::Latency => "latency ",
            Quantity::Delay => "delay ",
            Quantity::ResponseTime => "",
        };
        match self.statistic {
            Statistic::Mean => format!("{requests}{quantity}mean"),
            Statistic::Quantile(p) => {
                format!("{requests}{quantity}p{}", (p * 1e8).round() / 1e6)
            }
            Statistic::Throughput => "throughput".to_owned(),
        }
    }
}

/// Takes the first of these words away if it is one of those that are known: what it means.
fn first<T: Copy>(words: &mut Vec<&str>, known: &[(&str, T)]) -> Option<T> {
    let word = *words.first()?;
    let (_, meaning) = known.iter().find(|(name, _)| *name == word)?;
    words.remove(0);
    Some(*meaning)
}

/// The statistic of this name.
fn statistic(name: &str) -> Result<Statistic, ObjectiveError> {
    match name {
        "mean" => return Ok(Statistic::Mean),
        "throughput" => return Ok(Statistic::Throughput),
        _ => {}
    }
    let percent = name.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
    match percent {
        Some(p) if (0.0001..=99.9999).contains(&p) => {
            Ok(Statistic::Quantile((p * 1e6).round() / 1e8))
        }
        Some(_) if name.len() > 3 && name.starts_with("p99") && !name.contains('.') => {
            let decimals = &name[3..];
            Err(ObjectiveError(format!(
                "'{name}' is not a percentile: write p99.{decimals}"
            )))
        }
        Some(p) if (0.0..=100.0).contains(&p) => Err(ObjectiveError(format!(
            "'{name}' is beyond the percentiles that can be measured: expected p0.0001 to p99.9999"
        ))),
        _ => Err(ObjectiveError(format!(
            "unknown figure '{name}': expected mean, p50, p99, p99.9 or throughput, optionally after 'read' or 'write'"
        ))),
    }
}

/// The limit of a statistic, in its unit.
fn value(statistic: Statistic, is_below: bool, text: &str) -> Result<f64, ObjectiveError> {
    let wrong = |problem: String| Err(ObjectiveError(problem));
    let limit = match statistic {
        Statistic::Throughput if is_below => {
            return wrong("a throughput target needs >, not <".to_owned());
        }
        Statistic::Throughput => match text.trim_end_matches("/s").trim().parse::<f64>() {
            Ok(limit) => limit,
            Err(_) => return wrong(format!("'{text}' is not a number of requests per second")),
        },
        _ if !is_below => return wrong("a time target needs <, not >".to_owned()),
        _ if text.parse::<f64>().is_ok() => return wrong(format!("'{text}' has no unit")),
        _ => match text.parse::<Nanos>() {
            Ok(time) => time.as_millis_f64(),
            Err(_) => {
                return wrong(format!(
                    "'{text}' is not a time: write a number with a unit, such as 20ms, 1.5s or 100us"
                ));
            }
        },
    };
    if limit > 0.0 && limit.is_finite() {
        Ok(limit)
    } else {
        wrong("the limit must be greater than 0, and a time at least 1ns".to_owned())
    }
}

impl Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.statistic {
            Statistic::Throughput => write!(f, "throughput > {}/s", self.limit),
            Statistic::Mean | Statistic::Quantile(_) => {
                write!(f, "{} < {}", self.name(), exact(self.limit))
            }
        }
    }
}

/// A time with all of its digits: what is rounded is another limit.
fn exact(limit_ms: f64) -> String {
    let ns = Nanos::from_millis_f64(limit_ms).get();
    let (scale, digits, unit) = match ns {
        0..1_000 => (1, 0, "ns"),
        1_000..1_000_000 => (1_000, 3, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    let (whole, rest) = (ns / scale, ns % scale);
    let text = format!("{whole}.{rest:0digits$}");
    format!(
        "{} {unit}",
        text.trim_end_matches('0').trim_end_matches('.')
    )
}

/// What must all hold, as it is written: objectives with commas between.
#[derive(Clone, Debug, PartialEq)]
pub struct Objectives(pub Vec<Objective>);

impl FromStr for Objectives {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let all = text.split(',').map(str::parse);
        Ok(Self(all.collect::<Result<_, _>>()?))
    }
}

impl Display for Objectives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<_> = self.0.iter().map(Objective::to_string).collect();
        f.write_str(&all.join(", "))
    }
}

impl Objective {
    /// What it is about.
    pub fn figure(&self) -> Figure {
        Figure {
            requests: self.requests,
            quantity: self.quantity,
            statistic: self.statistic,
        }
    }

    /// What it is about, such as `read p99`.
    pub fn name(&self) -> String {
        self.figure().name()
    }

    /// The unit of its limit.
    pub fn unit(&self) -> MetricUnit {
        match self.statistic {
            Statistic::Throughput => MetricUnit::PerSecond,
            Statistic::Mean | Statistic::Quantile(_) => MetricUnit::Milliseconds,
        }
    }

    /// Whether a value keeps it.
    pub fn is_kept_by(&self, value: f64) -> bool {
        match self.statistic {
            Statistic::Throughput => value >= self.limit,
            Statistic::Mean | Statistic::Quantile(_) => value <= self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(text: &str) -> Objective {
        text.parse().unwrap()
    }

    #[test]
    fn objectives_are_read_and_written() {
        assert_eq!(objective("p99 < 20ms").limit, 20.0);
        assert_eq!(
            objective("p99.9<=1.5s").statistic,
            Statistic::Quantile(0.999)
        );
        assert_eq!(objective("mean < 100us").limit, 0.1);
        assert_eq!(objective("throughput > 200/s").limit, 200.0);
        assert_eq!(objective("p99.9 < 20ms").to_string(), "p99.9 < 20 ms");
        let reads = objective("read latency p99<2ms");
        assert_eq!(
            (reads.requests, reads.quantity),
            (Requests::Reads, Quantity::Latency)
        );
        for text in [
            "read latency p99 < 2 ms",
            "write p50 < 1 s",
            "delay mean < 3 ms",
            "throughput > 5/s",
        ] {
            assert_eq!(objective(text).to_string(), text);
        }
        assert_eq!(objective("response_time p99<2ms"), objective("p99 < 2ms"));
        for text in [
            "p99 < 1.2345678 s",
            "p99 < 20.00001 ms",
            "p99 < 1 ns",
            "p99 < 1.5 µs",
        ] {
            assert_eq!(objective(text).to_string(), text);
            assert_eq!(objective(&objective(text).to_string()), objective(text));
        }
        let both: Objectives = "read p99<20ms, throughput > 5".parse().unwrap();
        assert_eq!(both.to_string(), "read p99 < 20 ms, throughput > 5/s");
        assert!("p99 < 1ms,".parse::<Objectives>().is_err());
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
            "read throughput > 5",
            "latency throughput > 5",
            "speed p99 < 1ms",
            "delay p9 9 < 1s",
            "latency read p99 < 1ms",
            "",
        ] {
            assert!(wrong.parse::<Objective>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn percentiles_beyond_those_that_are_measured_are_refused() {
        for text in [
            "p100",
            "p0",
            "p99.99999",
            "p99.99999999999999999999",
            "p0.00001",
        ] {
            let error = format!("{text} < 1s").parse::<Objective>().unwrap_err();
            let words = format!("'{text}' is beyond the percentiles");
            assert!(error.to_string().contains(&words), "{error}");
        }
        for text in ["p0.0001", "p99.9999"] {
            format!("{text} < 1s").parse::<Objective>().unwrap();
        }
    }

    #[test]
    fn percentiles_without_their_point_are_named() {
        for (text, written) in [("p999 < 20ms", "p99.9"), ("p9999 < 1s", "p99.99")] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(&format!("write {written}")), "{error}");
        }
    }

    #[test]
    fn a_problem_is_told_without_what_an_objective_looks_like() {
        let error = |text: &str| text.parse::<Objective>().unwrap_err();
        for (text, problem) in [
            ("  ", "the target is empty"),
            ("p99 20ms", "'p99 20ms' contains neither < nor >"),
        ] {
            let error = error(text);
            assert_eq!(error.problem(), problem);
            let whole = error.to_string();
            assert!(
                whole.starts_with(problem) && whole.contains("expected a target"),
                "{whole}"
            );
        }
    }
}
