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

#[cfg(test)]
mod tests {
    use iosonar_units::Nanos;

    use super::*;
    use crate::metric::Measure;

    #[test]
    fn an_object_has_what_was_added_and_all_metrics_in_their_order() {
        let mut times = Distribution::default();
        for ms in 1..=1000 {
            times.push(Nanos::from_millis(ms));
        }
        let labels = Labels::of("of", "reads").with("disk", 3_u32);
        let estimate = Estimate {
            mean: 5.0,
            stderr: 0.25,
            values: 10,
        };
        let mut output = Output::new("sim");
        output.set("file", json!("a.ios"));
        output.append("warnings", json!("first"));
        output.append("warnings", json!("second"));
        output.figure("rate", &labels, MetricUnit::PerSecond, 2.0);
        output.figure_with("share", &labels, MetricUnit::One, f64::NAN, 0.5);
        output.estimate("length", &labels, MetricUnit::Sectors, &estimate);
        output.times("latency", &labels, &times);
        output.metrics([Metric::figure(
            "size",
            &Labels::default(),
            MetricUnit::Bytes,
            7.0,
        )]);
        let value = output.clone().into_value();
        assert_eq!(output.text(), format!("{value}\n"));
        assert_eq!(value["schema"], json!(Output::SCHEMA));
        assert_eq!(
            [&value["command"], &value["file"], &value["warnings"]],
            [&json!("sim"), &json!("a.ios"), &json!(["first", "second"])]
        );
        let figures: Vec<_> = value["metrics"].as_array().unwrap().iter().collect();
        let of = json!({"of": "reads", "disk": 3});
        let figure = |name, unit, value, stderr| json!({"name": name, "labels": of, "unit": unit, "value": value, "stderr": stderr});
        assert_eq!(figures.len(), 5);
        assert_eq!(*figures[0], figure("rate", "1/s", json!(2.0), json!(null)));
        assert_eq!(*figures[1], figure("share", "1", json!(null), json!(0.5)));
        assert_eq!(
            *figures[2],
            figure("length", "sector", json!(5.0), json!(0.25))
        );
        assert_eq!(
            [&figures[3]["name"], &figures[3]["unit"]],
            ["latency", "ms"]
        );
        assert_eq!(figures[4]["name"], "size");

        // 1 to 1000 ms: the variance of n whole numbers is n (n + 1) / 12.
        let metrics: Vec<Metric> = serde_json::from_value(value["metrics"].clone()).unwrap();
        let Measure::Times(of_times) = &metrics[3].measure else {
            panic!("{:?}", metrics[3]);
        };
        assert_eq!((of_times.n, of_times.mean), (1000, Some(500.5)));
        let sd = (1000.0 * 1001.0 / 12.0_f64).sqrt();
        assert!((of_times.sd.unwrap() - sd).abs() < 1e-9, "{of_times:?}");
        assert_eq!((of_times.min, of_times.max), (Some(1.0), Some(1000.0)));
        assert_eq!(of_times.unsupported_quantiles, ["0.999", "0.9999"]);
        // Null is a number that is not known, and comes back as one.
        let Measure::Figure { value, stderr } = metrics[1].measure else {
            panic!("{:?}", metrics[1]);
        };
        assert!(value.is_nan() && stderr == 0.5);
    }

    #[test]
    fn times_that_do_not_exist_have_no_mean() {
        let Metric {
            measure: Measure::Times(none),
            ..
        } = Metric::times("latency", &Labels::default(), &Distribution::default())
        else {
            panic!("times are times");
        };
        assert_eq!(
            (none.n, none.mean, none.sd, none.min),
            (0, None, None, None)
        );
    }

    #[test]
    fn a_label_is_found_by_its_name_if_it_is_a_text() {
        let labels = Labels::of("disk", 3_u32)
            .with("of", "reads")
            .with("to", "b");
        assert_eq!(labels.text("of"), Some("reads"));
        assert_eq!((labels.text("disk"), labels.text("none")), (None, None));
    }
}
