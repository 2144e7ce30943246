//! Values of what objectives are about.

use iosonar_analysis::objective::{Attained, Objective, Statistic};
use iosonar_stats::Labels;
use iosonar_units::Nanos;
use serde_json::{Value, json};

use super::table::significant;

/// A value in the unit of an objective.
pub(crate) fn value_of(objective: &Objective, value: f64) -> String {
    match objective.statistic {
        Statistic::Throughput => format!("{}/s", significant(value, 4)),
        Statistic::Mean | Statistic::Quantile(_) => milliseconds(value),
    }
}

/// The 95 % confidence interval of what an objective is about; `None` where it is not known.
pub(crate) fn interval_of(objective: &Objective, of: &Attained) -> Option<String> {
    let (low, high) = of.interval_95?;
    Some(match objective.statistic {
        Statistic::Throughput => {
            format!("{} to {}/s", significant(low, 4), significant(high, 4))
        }
        Statistic::Mean | Statistic::Quantile(_) => {
            format!("{} to {}", milliseconds(low), milliseconds(high))
        }
    })
}

/// What became of an objective, in a line.
pub(crate) fn line(of: &Attained) -> String {
    let objective = &of.objective;
    let interval = match interval_of(objective, of) {
        Some(interval) => format!("95 % interval {interval}"),
        None => "no 95 % interval: use --replications, or more requests".to_owned(),
    };
    let beyond = 100.0 * of.beyond();
    let side = if beyond < 0.0 { "below" } else { "above" };
    format!(
        "{objective}: {}, {} ({interval}), {:.1} % {side} the limit",
        of.verdict.name(),
        value_of(objective, of.estimate.mean),
        beyond.abs()
    )
}

/// For programs.
pub(crate) fn as_json(labels: &Labels, of: &Attained) -> Value {
    json!({
        "labels": labels,
        "target": of.objective.to_string(),
        "verdict": of.verdict.name(),
        "value": of.estimate.mean,
        "unit": of.objective.unit(),
        "interval_95": of.interval_95,
        "requests": of.requests,
        "beyond": of.beyond(),
    })
}

/// A time, `-` where it is not known.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms.is_finite() {
        true => Nanos::from_millis_f64(ms).to_string(),
        false => "-".to_owned(),
    }
}
