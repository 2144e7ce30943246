//! What curves show, by the names that objectives have: `p99`, `read p50`, `write mean`, `throughput`.

use std::str::FromStr;

use iosonar_analysis::objective::{Figure, ObjectiveError, Statistic};
use iosonar_plot::Unit;
use iosonar_stats::Estimate;
use iosonar_trace::{Quantity, Requests};

use super::found::Found;

/// What a curve shows of each simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// Bytes per second.
    Data,
    /// A figure that an objective may be about.
    Figure(Figure),
}

/// What a curve goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The first of the keys.
    Key,
    /// The requests per second that were served.
    Throughput,
}

/// What the curves of one picture show: figures of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The figures.
    pub shown: Vec<Shown>,
    /// What they go over.
    pub over: Over,
}

/// Why a text does not say what curves show.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurvesError {
    /// It is no name of a figure.
    #[error(
        "{}; expected throughput, data, latency, hockey-stick, mean, or a percentile such as p99, read p99 or write \
         p50 (separate several with commas)",
        .0.problem()
    )]
    Name(ObjectiveError),
    /// Simulations have no such time.
    #[error(
        "a simulated request starts as soon as it arrives, so it has no start delay; expected a response time, such \
         as p99 or read mean"
    )]
    Delay,
    /// They have different units.
    #[error(
        "'{0}' and '{1}' have different units, but all figures in a picture must have the same unit"
    )]
    Units(String, String),
    /// A figure twice.
    #[error("'{0}' is given twice")]
    Twice(String),
    /// The throughput over the throughput.
    #[error("'{0}' is not a response time: only response times can be drawn over the throughput")]
    OverItself(String),
}

impl From<ObjectiveError> for CurvesError {
    fn from(error: ObjectiveError) -> Self {
        Self::Name(error)
    }
}

impl FromStr for Curves {
    type Err = CurvesError;

    fn from_str(text: &str) -> Result<Self, CurvesError> {
        let (mut shown, mut over) = (Vec::new(), Over::Key);
        for name in text.split(',').map(str::trim) {
            let one = match name {
                "data" => Shown::Data,
                "latency" => Shown::MEAN,
                "hockey-stick" => {
                    over = Over::Throughput;
                    Shown::MEAN
                }
                name => Shown::Figure(name.parse()?),
            };
            if matches!(one, Shown::Figure(figure) if figure.quantity == Quantity::Delay) {
                return Err(CurvesError::Delay);
            }
            if shown.contains(&one) {
                return Err(CurvesError::Twice(one.name()));
            }
            shown.push(one);
        }
        let other = shown.iter().find(|one| one.unit() != shown[0].unit());
        if let Some(other) = other {
            return Err(CurvesError::Units(shown[0].name(), other.name()));
        }
        Self { shown, over }.checked()
    }
}

impl Curves {
    /// The same over something else.
    ///
    /// # Errors
    /// If they are no response times, and go over the throughput.
    pub fn over(self, over: Over) -> Result<Self, CurvesError> {
        Self { over, ..self }.checked()
    }

    fn checked(self) -> Result<Self, CurvesError> {
        let is_time = self.unit() == Unit::Seconds;
        match is_time || self.over == Over::Key {
            true => Ok(self),
            false => Err(CurvesError::OverItself(self.shown[0].name())),
        }
    }

    /// The unit of all of them.
    pub(super) fn unit(&self) -> Unit {
        self.shown[0].unit()
    }

    /// What they are in words, as an axis says it.
    pub(super) fn words(&self) -> String {
        match self.shown[..] {
            [one] => one.words(),
            _ => "response time".to_owned(),
        }
    }

    /// The quantiles among them.
    pub(super) fn quantiles(&self) -> impl Iterator<Item = f64> {
        self.shown.iter().filter_map(|shown| match shown {
            Shown::Figure(Figure {
                statistic: Statistic::Quantile(p),
                ..
            }) => Some(*p),
            _ => None,
        })
    }
}

impl Shown {
    /// The mean response time of all requests.
    const MEAN: Self = Self::Figure(Figure {
        requests: Requests::All,
        quantity: Quantity::ResponseTime,
        statistic: Statistic::Mean,
    });

    /// As it is written.
    pub fn name(&self) -> String {
        match self {
            Self::Data => "data".to_owned(),
            Self::Figure(figure) => figure.name(),
        }
    }

    fn unit(&self) -> Unit {
        match self {
            Self::Data => Unit::BytesPerSecond,
            Self::Figure(figure) => match figure.statistic {
                Statistic::Throughput => Unit::Number,
                Statistic::Mean | Statistic::Quantile(_) => Unit::Seconds,
            },
        }
    }

    /// In words, as an axis says it.
    fn words(&self) -> String {
        let Self::Figure(figure) = self else {
            return "data rate".to_owned();
        };
        let requests = match figure.requests {
            Requests::All => "",
            Requests::Reads => " of reads",
            Requests::Writes => " of writes",
        };
        match figure.statistic {
            Statistic::Throughput => "requests per second".to_owned(),
            Statistic::Mean => format!("mean response time{requests}"),
            Statistic::Quantile(p) => {
                format!(
                    "p{} of the response time{requests}",
                    (p * 1e8).round() / 1e6
                )
            }
        }
    }

    /// What was found of it, with the ends of its 95 % interval, in the unit of its axis, and the number of requests that
    /// it rests on; `None` without such requests.
    pub(super) fn of(&self, found: &Found) -> Option<(f64, (f64, f64), u64)> {
        let requests = found.all.requests;
        let rate = |estimate: &Estimate, factor: f64| {
            let (low, high) = ends(estimate);
            (
                estimate.mean * factor,
                (low * factor, high * factor),
                requests,
            )
        };
        let Self::Figure(figure) = self else {
            return Some(rate(&found.megabytes_per_s, 1e6));
        };
        let times = match figure.requests {
            Requests::All => &found.all,
            Requests::Reads => &found.reads,
            Requests::Writes => &found.writes,
        };
        if times.requests == 0 {
            return None;
        }
        let (value, (low, high)) = match figure.statistic {
            Statistic::Throughput => return Some(rate(&found.throughput_per_s, 1.0)),
            Statistic::Mean => (times.mean_ms.mean, ends(&times.mean_ms)),
            Statistic::Quantile(p) => {
                let known = times.quantiles.iter().find(|known| known.p == p)?;
                (known.ms, known.ms_95)
            }
        };
        Some((value * 1e-3, (low * 1e-3, high * 1e-3), times.requests))
    }
}

/// The ends of a 95 % interval, NaN where it is not known.
pub(super) fn ends(estimate: &Estimate) -> (f64, f64) {
    estimate
        .positive_interval_95()
        .unwrap_or((f64::NAN, f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_the_names_of_objectives_and_the_old_words() {
        let names = |text: &str| -> Result<String, String> {
            let curves: Curves = text
                .parse()
                .map_err(|error: CurvesError| error.to_string())?;
            let names: Vec<String> = curves.shown.iter().map(Shown::name).collect();
            Ok(format!("{} {:?}", names.join(","), curves.over))
        };
        for (text, expected) in [
            ("throughput", "throughput Key"),
            ("data", "data Key"),
            ("latency", "mean Key"),
            ("hockey-stick", "mean Throughput"),
            ("hockey-stick, p99", "mean,p99 Throughput"),
            (
                "p50, read p99.9,write mean",
                "p50,read p99.9,write mean Key",
            ),
        ] {
            assert_eq!(names(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, complaint) in [
            ("", "unknown figure ''"),
            ("p999", "write p99.9"),
            ("median", "expected throughput, data, latency"),
            (
                "p99,throughput",
                "'p99' and 'throughput' have different units",
            ),
            ("p99,p99.0", "'p99' is given twice"),
            ("delay p99", "no start delay"),
            ("read throughput", "all requests"),
        ] {
            let error = names(text).unwrap_err();
            assert!(error.contains(complaint), "{text}: {error}");
        }
        let over: Curves = "throughput".parse().unwrap();
        assert!(over.over(Over::Throughput).is_err());
    }
}
