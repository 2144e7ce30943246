//! Values of what objectives are about.

use iosonar_analysis::objective::{Attained, Objective, Statistic};
use iosonar_units::Nanos;

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

/// A time, `-` where it is not known.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms.is_finite() {
        true => Nanos::from_millis_f64(ms).to_string(),
        false => "-".to_owned(),
    }
}
