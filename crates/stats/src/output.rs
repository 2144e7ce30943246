//! Results for programs: one JSON object a command, with its [metrics](Metric) in a list.

use crate::metric::MetricUnit;
use crate::{Distribution, Estimate, Labels, Metric};
use serde_json::{Map, Value, json};

/// The object of a command, to which metrics are added.
#[derive(Clone, Debug)]
pub struct Output {
    object: Map<String, Value>,
    metrics: Vec<Metric>,
}

impl Output {
    /// The version of the schema of these objects, which is `docs/src/output.schema.json`. It changes when a key goes or
    /// changes its meaning.
    pub const SCHEMA: u32 = 1;

    /// That of `command`, with the version of this program.
    pub fn new(command: &str) -> Self {
        let mut object = Map::new();
        object.insert("schema".into(), json!(Self::SCHEMA));
        object.insert("iosonar".into(), json!(env!("CARGO_PKG_VERSION")));
        object.insert("command".into(), json!(command));
        Self {
            object,
            metrics: Vec::new(),
        }
    }

    /// Adds something that is not a metric.
    pub fn set(&mut self, key: &str, value: Value) {
        self.object.insert(key.into(), value);
    }

    /// Appends to a list that is not a metric.
    pub fn append(&mut self, key: &str, value: Value) {
        let list = self.object.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(value);
        }
    }

    /// Adds a metric.
    pub fn metric(&mut self, metric: Metric) {
        self.metrics.push(metric);
    }

    /// Adds metrics.
    pub fn metrics(&mut self, metrics: impl IntoIterator<Item = Metric>) {
        self.metrics.extend(metrics);
    }

    /// Adds a plain figure.
    pub fn figure(&mut self, name: &'static str, labels: &Labels, unit: MetricUnit, value: f64) {
        self.metric(Metric::figure(name, labels, unit, value));
    }

    /// Adds a plain figure with its standard error, NaN if it is not known.
    pub fn figure_with(
        &mut self,
        name: &'static str,
        labels: &Labels,
        unit: MetricUnit,
        value: f64,
        stderr: f64,
    ) {
        self.metric(Metric::figure(name, labels, unit, value).with_stderr(stderr));
    }

    /// Adds an estimate with its standard error.
    pub fn estimate(
        &mut self,
        name: &'static str,
        labels: &Labels,
        unit: MetricUnit,
        of: &Estimate,
    ) {
        self.metric(Metric::estimate(name, labels, unit, of));
    }

    /// Adds a distribution of times.
    pub fn times(&mut self, name: &'static str, labels: &Labels, of: &Distribution) {
        self.metric(Metric::times(name, labels, of));
    }

    /// The object.
    pub fn into_value(mut self) -> Value {
        self.object.insert("metrics".into(), json!(self.metrics));
        Value::Object(self.object)
    }

    /// The text of the object.
    pub fn text(self) -> String {
        let mut text = self.into_value().to_string();
        text.push('\n');
        text
    }
}
