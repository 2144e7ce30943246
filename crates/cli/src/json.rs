//! Results for programs: one JSON object a command.
//!
//! A metric is `{"name", "labels", "unit", "n", "mean", "stderr", "sd", "min", "max",
//! "quantiles", "quantile_stderrs", "unsupported_quantiles"}` (those that rest on too few samples), a plain figure `{"name", "labels", "unit", "value", "stderr"}`. What is not known
//! is null. Of simulations `"stderr_values"` and `"quantile_stderr_values"` say on how many independent values the
//! errors rest.

use iosonar_stats::{Distribution, Estimate};
use iosonar_units::Nanos;
use serde_json::{Map, Value, json};

/// The quantiles of every distribution.
pub(crate) const QUANTILES: [(&str, f64); 8] = [
    ("0.01", 0.01),
    ("0.1", 0.1),
    ("0.5", 0.5),
    ("0.9", 0.9),
    ("0.95", 0.95),
    ("0.99", 0.99),
    ("0.999", 0.999),
    ("0.9999", 0.9999),
];

/// The object of a command, to which metrics are added.
pub(crate) struct Output {
    object: Map<String, Value>,
    metrics: Vec<Value>,
}

impl Output {
    pub(crate) fn new(command: &str) -> Self {
        let mut object = Map::new();
        object.insert("iosonar".into(), json!(env!("CARGO_PKG_VERSION")));
        object.insert("command".into(), json!(command));
        Self {
            object,
            metrics: Vec::new(),
        }
    }

    /// Adds something that is no metric.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.object.insert(key.into(), value);
    }

    /// Appends to a list that is no metric.
    pub(crate) fn append(&mut self, key: &str, value: Value) {
        let list = self.object.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(value);
        }
    }

    /// Adds a metric of a shape of its own.
    pub(crate) fn metric(&mut self, metric: Value) {
        self.metrics.push(metric);
    }

    /// Adds a plain figure.
    pub(crate) fn figure(&mut self, name: &str, labels: &Value, unit: &str, value: f64) {
        self.figure_with(name, labels, unit, value, f64::NAN);
    }

    /// Adds an estimate with its standard error.
    pub(crate) fn estimate(&mut self, name: &str, labels: &Value, unit: &str, of: &Estimate) {
        self.figure_with(name, labels, unit, of.mean, of.stderr);
    }

    /// Adds a plain figure with its standard error, NaN if it is not known.
    pub(crate) fn figure_with(
        &mut self,
        name: &str,
        labels: &Value,
        unit: &str,
        value: f64,
        stderr: f64,
    ) {
        let stderr = stderr.is_finite().then_some(stderr);
        self.metrics.push(json!({
            "name": name, "labels": labels, "unit": unit, "value": value, "stderr": stderr,
        }));
    }

    /// Adds a distribution of times, in milliseconds; `stderr` is that of the mean.
    pub(crate) fn times(
        &mut self,
        name: &str,
        labels: &Value,
        distribution: &Distribution,
        stderr_ms: Option<f64>,
    ) {
        self.times_with(name, labels, distribution, stderr_ms, |_| f64::NAN);
    }

    /// The same, with the standard error of each quantile, NaN where it is not known.
    pub(crate) fn times_with(
        &mut self,
        name: &str,
        labels: &Value,
        distribution: &Distribution,
        stderr_ms: Option<f64>,
        quantile_stderr_ms: impl Fn(f64) -> f64,
    ) {
        let ms = |t: Option<Nanos>| t.map(Nanos::as_millis_f64);
        let moments = &distribution.moments;
        let known = distribution.count() > 0;
        let quantiles: Map<String, Value> = QUANTILES
            .iter()
            .map(|&(name, p)| {
                let value = distribution.histogram.quantile(p);
                (name.to_owned(), json!(ms(value)))
            })
            .collect();
        let errors: Map<String, Value> = QUANTILES
            .iter()
            .map(|&(name, p)| (name.to_owned(), quantile_stderr_ms(p)))
            .filter(|(_, stderr)| stderr.is_finite())
            .map(|(name, stderr)| (name, json!(stderr)))
            .collect();
        let weak: Vec<&str> = QUANTILES
            .into_iter()
            .filter(|&(_, p)| !distribution.histogram.supports_quantile(p))
            .map(|(name, _)| name)
            .collect();
        self.metrics.push(json!({
            "name": name,
            "labels": labels,
            "unit": "ms",
            "n": distribution.count(),
            "mean": known.then(|| moments.mean() / 1e6),
            "stderr": stderr_ms.filter(|s| s.is_finite()),
            "sd": known.then(|| moments.sd() / 1e6),
            "min": ms(moments.min()),
            "max": ms(moments.max()),
            "quantiles": quantiles,
            "quantile_stderrs": errors,
            "unsupported_quantiles": weak,
        }));
    }

    /// Says more of the metric that was added last.
    pub(crate) fn add_to_last(&mut self, key: &str, value: Value) {
        if let Some(Value::Object(metric)) = self.metrics.last_mut() {
            metric.insert(key.into(), value);
        }
    }

    /// The text of the object.
    pub(crate) fn text(mut self) -> String {
        self.object
            .insert("metrics".into(), Value::Array(self.metrics));
        let mut text = Value::Object(self.object).to_string();
        text.push('\n');
        text
    }
}
