//! Values of objectives in words, wherever they are shown.

use iosonar_analysis::objective::{Attained, Objective, Statistic};
use iosonar_plot::significant;
use iosonar_units::Nanos;

/// A value in the unit of an objective, `-` where it is not known.
pub fn value_of(objective: &Objective, value: f64) -> String {
    match objective.statistic {
        Statistic::Throughput => format!("{}/s", significant(value, 4)),
        Statistic::Mean | Statistic::Quantile(_) if value.is_finite() => {
            Nanos::from_millis_f64(value).to_string()
        }
        Statistic::Mean | Statistic::Quantile(_) => "-".to_owned(),
    }
}

/// The value that was found of an objective.
pub fn found_of(of: &Attained) -> String {
    value_of(&of.objective, of.estimate.mean)
}

/// Its 95 % confidence interval; `None` where it is not known.
pub fn interval_of(of: &Attained) -> Option<String> {
    let (low, high) = of.interval_95?;
    let end = |value| value_of(&of.objective, value);
    Some(format!("{} to {}", end(low), end(high)))
}

/// How far it is from the limit.
pub fn distance_of(of: &Attained) -> String {
    let beyond = of.beyond();
    match beyond {
        1.0.. => format!("{} times the limit", significant(beyond + 1.0, 3)),
        0.0.. => format!("{:.1} % above the limit", 100.0 * beyond),
        _ => format!("{:.1} % below the limit", -100.0 * beyond),
    }
}
