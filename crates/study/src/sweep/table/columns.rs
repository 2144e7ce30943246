//! The columns of a result: its metrics as values with names.

use std::collections::BTreeMap;

use iosonar_stats::metric::{Label, Measure, MetricUnit, Quantiles, Times};
use iosonar_stats::{Estimate, Metric};

/// A column of the tables: of a run, one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, which ends in the unit.
    pub name: String,
    /// The run's value.
    pub value: f64,
    /// Half the width of its 95 % interval within the run; NaN where it is not known.
    pub half_width: f64,
}

/// The columns of a result: of times the mean, quantiles and extremes, of repeated ones (stations) the
/// mean and the largest.
pub fn columns_of(metrics: &[Metric]) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut several: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for metric in metrics {
        let name = name_of(metric);
        match &metric.measure {
            Measure::Times(times) => add_times(&mut columns, times, &name),
            Measure::Theory(theory) => {
                columns.push(Column::bare(format!("{name}_mean_ms"), theory.mean));
                let quantiles = &theory.quantiles;
                columns.extend(
                    quantiles_of(quantiles, &name).map(|(name, v, _)| Column::bare(name, v)),
                );
            }
            Measure::Law { .. } => {}
            Measure::Differences { quantiles, .. } => {
                columns.extend(
                    quantiles_of(quantiles, &name).map(|(name, v, _)| Column::bare(name, v)),
                );
            }
            Measure::Figure { value, .. } if value.is_nan() => {}
            Measure::Figure { value, .. } if metric.labels.text("station").is_some() => {
                several.entry(name).or_default().push(*value);
            }
            Measure::Figure { value, .. } => {
                let name = name + suffix(metric);
                columns.push(Column::bare(name, *value));
            }
        }
    }
    for (name, values) in several {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        columns.push(Column::bare(format!("{name}_mean"), mean));
        columns.push(Column::bare(format!("{name}_max"), most));
    }
    columns
}

/// Whether a column is a rate, or the share of the time that something is busy.
pub(super) fn is_rate(name: &str) -> bool {
    const RATES: [&str; 2] = ["throughput_per_s", "megabytes_per_second"];
    const SHARES: [&str; 3] = ["mean_utilisation", "utilisation_", "busy_"];
    RATES.contains(&name) || SHARES.iter().any(|share| name.starts_with(share))
}

/// What a name ends in for the unit, if it does not say it itself.
fn suffix(metric: &Metric) -> &'static str {
    match metric.unit {
        MetricUnit::PerSecond if !metric.name.contains("per_s") => "_per_s",
        MetricUnit::Milliseconds => "_ms",
        MetricUnit::Microseconds => "_us",
        MetricUnit::Seconds => "_s",
        MetricUnit::Bytes => "_b",
        MetricUnit::BytesPerSecond => "_b_s",
        MetricUnit::Sectors => "_sector",
        MetricUnit::One
        | MetricUnit::PerSecond
        | MetricUnit::MegabytesPerSecond
        | MetricUnit::Other(_) => "",
    }
}

/// What the labels of a metric make of its name: `read_latency`, `stage_flash`, `blocks_descriptors_4`. Numbers do not
/// say what they are, so their labels do.
fn name_of(metric: &Metric) -> String {
    let mut name = match metric.labels.text("op") {
        Some(op) => format!("{op}_{}", metric.name),
        None => metric.name.to_string(),
    };
    for (key, value) in metric.labels.iter() {
        name += &match value {
            Label::Text(_) if ["scenario", "op", "station"].contains(&key) => continue,
            Label::Text(text) => format!("_{}", plain(text)),
            Label::Flag(flag) => format!("_{key}_{flag}"),
            Label::Whole(n) => format!("_{key}_{n}"),
            Label::Number(x) => format!("_{key}_{}", plain(&x.to_string())),
        };
    }
    name
}

/// The mean, the quantiles and the largest of times, with the intervals that are known.
fn add_times(columns: &mut Vec<Column>, times: &Times, name: &str) {
    let (of_mean, of_quantiles) = match &times.errors {
        Some(errors) => (errors.stderr_values, errors.quantile_stderr_values),
        None => (0, 0),
    };
    let mut add = |name: String, value: Option<f64>, half_width: f64| {
        columns.extend(value.map(|value| Column {
            name,
            value,
            half_width,
        }));
    };
    let mean = half_width(times.stderr, of_mean);
    add(format!("{name}_mean_ms"), times.mean, mean);
    for (name, value, key) in quantiles_of(&times.quantiles, name) {
        let stderr = times.quantile_stderrs.get(key).copied();
        add(name, Some(value), half_width(stderr, of_quantiles));
    }
    add(format!("{name}_max_ms"), times.max, f64::NAN);
}

/// The columns of those quantiles that tables have, with their values and keys.
fn quantiles_of<'a>(
    quantiles: &'a Quantiles,
    name: &'a str,
) -> impl Iterator<Item = (String, f64, &'static str)> + 'a {
    let columns = [
        ("0.5", "p50"),
        ("0.9", "p90"),
        ("0.95", "p95"),
        ("0.99", "p99"),
        ("0.999", "p999"),
    ];
    columns.into_iter().filter_map(move |(key, part)| {
        let value = (*quantiles.get(key)?)?;
        Some((format!("{name}_{part}_ms"), value, key))
    })
}

/// Half the width of a 95 % interval, from a standard error based on this number of values.
fn half_width(stderr: Option<f64>, values: usize) -> f64 {
    let stderr = stderr.unwrap_or(f64::NAN);
    Estimate {
        mean: 0.0,
        stderr,
        values,
    }
    .half_width_95()
}

fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    lower
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect()
}

impl Column {
    /// A value without an interval.
    pub(super) fn bare(name: String, value: f64) -> Self {
        Self {
            name,
            value,
            half_width: f64::NAN,
        }
    }
}
