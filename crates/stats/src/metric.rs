//! A measured quantity with its name: what tables, JSON, sweeps and charts are made from.
//!
//! A [`Metric`] is made where a quantity is measured and keeps its type until it is printed. Its JSON has one of these
//! forms, by its [`Measure`]: `{"name", "labels", "unit", "value", "stderr"}`, or for times `{"name", "labels", "unit",
//! "n", "mean", "stderr", "sd", "min", "max", "quantiles", ...}`. What is not known is null.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iosonar_units::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Distribution, Estimate, Histogram};

/// The quantiles of every distribution, with their names in JSON.
pub const QUANTILES: [(&str, f64); 8] = [
    ("0.01", 0.01),
    ("0.1", 0.1),
    ("0.5", 0.5),
    ("0.9", 0.9),
    ("0.95", 0.95),
    ("0.99", 0.99),
    ("0.999", 0.999),
    ("0.9999", 0.9999),
];

/// A measured quantity with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What was measured, such as `response_time`.
    pub name: Cow<'static, str>,
    /// Which one, where there are several of the name.
    pub labels: Labels,
    /// The unit of all values.
    pub unit: MetricUnit,
    /// The values.
    #[serde(flatten)]
    pub measure: Measure,
}

/// Units of metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricUnit {
    /// A count, share or factor.
    #[serde(rename = "1")]
    One,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// A rate.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Millions of bytes per second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// Sectors of 512 bytes.
    #[serde(rename = "sector")]
    Sectors,
    /// What a benchmark counts.
    #[serde(untagged)]
    Other(Cow<'static, str>),
}

/// Names and values that say which of several metrics of a name this is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<Cow<'static, str>, Label>);

/// The value of a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// Yes or no.
    Flag(bool),
    /// A count.
    Whole(u64),
    /// Another number.
    Number(#[serde(with = "null_is_nan")] f64),
    /// A name.
    Text(String),
}

/// What was measured of a quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Measure {
    /// The distribution of many times.
    Times(Box<Times>),
    /// A distribution that follows from theory.
    Theory(Theory),
    /// The first three moments of a law.
    Law {
        /// The mean.
        #[serde(with = "null_is_nan")]
        mean: f64,
        /// The standard deviation.
        #[serde(with = "null_is_nan")]
        sd: f64,
        /// The third central moment.
        #[serde(with = "null_is_nan")]
        third_central_moment: f64,
    },
    /// Quantiles of differences, which may be negative.
    Differences {
        /// How many.
        n: usize,
        /// The quantiles, by the names of [`QUANTILES`].
        quantiles: Quantiles,
    },
    /// One number.
    Figure {
        /// The number; NaN, in JSON null, if it is not known.
        #[serde(with = "null_is_nan")]
        value: f64,
        /// Its standard error; NaN if it is not known.
        #[serde(with = "null_is_nan")]
        stderr: f64,
    },
}

/// Values of quantiles, by the names of [`QUANTILES`].
pub type Quantiles = BTreeMap<Cow<'static, str>, Option<f64>>;

/// The distribution of many times, in the unit of its metric; `None` is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub n: u64,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard error of the mean.
    pub stderr: Option<f64>,
    /// The standard deviation.
    pub sd: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// Quantiles.
    pub quantiles: Quantiles,
    /// The standard errors of those quantiles of which it is known.
    pub quantile_stderrs: BTreeMap<Cow<'static, str>, f64>,
    /// Names of quantiles that rest on too few samples.
    pub unsupported_quantiles: Vec<Cow<'static, str>>,
    /// What is known of the errors besides, of a simulation.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
}

/// On what the standard errors of a simulation's times rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// The standard error of the standard deviation.
    pub sd_stderr: Option<f64>,
    /// The 95 % interval of the mean, which is never below zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<(f64, f64)>,
    /// How many independent values the error of the mean rests on.
    pub stderr_values: usize,
    /// How many independent values the errors of quantiles rest on.
    pub quantile_stderr_values: usize,
    /// 95 % intervals of quantiles, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile_intervals_95: Option<BTreeMap<Cow<'static, str>, (f64, f64)>>,
}

/// A distribution that follows from theory, in the unit of its metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// The mean.
    #[serde(with = "null_is_nan")]
    pub mean: f64,
    /// The variance, if there is one.
    pub variance: Option<f64>,
    /// The standard deviation.
    pub sd: Option<f64>,
    /// The quantiles that can be computed.
    pub quantiles: Quantiles,
}

impl Metric {
    /// A metric of these values.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        labels: &Labels,
        unit: MetricUnit,
        measure: Measure,
    ) -> Self {
        Self {
            name: name.into(),
            labels: labels.clone(),
            unit,
            measure,
        }
    }

    /// One number.
    pub fn figure(
        name: impl Into<Cow<'static, str>>,
        labels: &Labels,
        unit: MetricUnit,
        value: f64,
    ) -> Self {
        Self::new(
            name,
            labels,
            unit,
            Measure::Figure {
                value,
                stderr: f64::NAN,
            },
        )
    }

    /// An estimate with its standard error.
    pub fn estimate(
        name: impl Into<Cow<'static, str>>,
        labels: &Labels,
        unit: MetricUnit,
        of: &Estimate,
    ) -> Self {
        Self::figure(name, labels, unit, of.mean).with_stderr(of.stderr)
    }

    /// A distribution of times, in milliseconds.
    pub fn times(name: impl Into<Cow<'static, str>>, labels: &Labels, of: &Distribution) -> Self {
        Times::of(of).metric(name, labels)
    }

    /// With the standard error of its number, or of the mean of its times.
    #[must_use]
    pub fn with_stderr(mut self, of: f64) -> Self {
        match &mut self.measure {
            Measure::Figure { stderr, .. } => *stderr = of,
            Measure::Times(times) => times.stderr = finite(of),
            Measure::Theory(_) | Measure::Law { .. } | Measure::Differences { .. } => {}
        }
        self
    }
}

impl Times {
    /// Those of a distribution, in milliseconds.
    pub fn of(distribution: &Distribution) -> Self {
        let ms = |t: Option<Nanos>| t.map(Nanos::as_millis_f64);
        let Distribution { moments, histogram } = distribution;
        let is_known = distribution.count() > 0;
        Self {
            n: distribution.count(),
            mean: is_known.then(|| moments.mean() / 1e6),
            sd: is_known.then(|| moments.sd() / 1e6),
            min: ms(moments.min()),
            max: ms(moments.max()),
            ..Self::of_quantiles(histogram, Nanos::as_millis_f64)
        }
    }

    /// The quantiles of a histogram of values whose moments were not kept, in the unit that `value` makes of them.
    pub fn of_quantiles(histogram: &Histogram, value: impl Fn(Nanos) -> f64) -> Self {
        let quantile = |&(name, p): &(&'static str, f64)| {
            let at = histogram.quantile(p).map(&value);
            (Cow::from(name), at)
        };
        let weak = QUANTILES
            .iter()
            .filter(|(_, p)| !histogram.supports_quantile(*p));
        Self {
            n: histogram.count(),
            mean: None,
            stderr: None,
            sd: None,
            min: None,
            max: None,
            quantiles: QUANTILES.iter().map(quantile).collect(),
            quantile_stderrs: BTreeMap::new(),
            unsupported_quantiles: weak.map(|&(name, _)| name.into()).collect(),
            errors: None,
        }
    }

    /// With the standard error of each quantile, NaN where it is not known.
    #[must_use]
    pub fn with_quantile_stderrs(mut self, stderr: impl Fn(f64) -> f64) -> Self {
        let errors = QUANTILES
            .iter()
            .map(|&(name, p)| (Cow::from(name), stderr(p)));
        self.quantile_stderrs = errors.filter(|(_, stderr)| stderr.is_finite()).collect();
        self
    }

    /// As a metric in milliseconds.
    pub fn metric(self, name: impl Into<Cow<'static, str>>, labels: &Labels) -> Metric {
        Metric::new(
            name,
            labels,
            MetricUnit::Milliseconds,
            Measure::Times(Box::new(self)),
        )
    }
}

impl Labels {
    /// One label.
    pub fn of(key: impl Into<Cow<'static, str>>, value: impl Into<Label>) -> Self {
        Self::default().with(key, value)
    }

    /// These and one more.
    #[must_use]
    pub fn with(&self, key: impl Into<Cow<'static, str>>, value: impl Into<Label>) -> Self {
        let mut labels = self.clone();
        labels.0.insert(key.into(), value.into());
        labels
    }

    /// The text of a label; `None` if it is not there or a number.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts()
            .find_map(|(name, text)| (name == key).then_some(text))
    }

    /// All labels, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Label)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// The labels whose values are texts, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(key, value)| match value {
            Label::Text(text) => Some((key.as_ref(), text.as_str())),
            Label::Flag(_) | Label::Whole(_) | Label::Number(_) => None,
        })
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Label {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<bool> for Label {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Label {
    fn from(n: u64) -> Self {
        Self::Whole(n)
    }
}

impl From<u32> for Label {
    fn from(n: u32) -> Self {
        Self::Whole(n.into())
    }
}

impl From<usize> for Label {
    fn from(n: usize) -> Self {
        Self::Whole(n as u64)
    }
}

impl From<f64> for Label {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

/// `None` for what is not known.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// JSON has no NaN: null stands for it.
mod null_is_nan {
    use super::{Deserialize, Deserializer, Serialize, Serializer, finite};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature is serde's"
    )]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        finite(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}
