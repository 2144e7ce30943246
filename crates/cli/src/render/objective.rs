//! Values of what objectives are about.

use iosonar_study::objective::{Objective, Statistic};
use iosonar_units::Nanos;

use super::table::significant;

/// A value in the unit of an objective.
pub(crate) fn value_of(objective: &Objective, value: f64) -> String {
    match objective.statistic {
        Statistic::Throughput => format!("{}/s", significant(value, 4)),
        Statistic::Mean | Statistic::Quantile(_) => milliseconds(value),
    }
}

/// A time, `-` where it is not known.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms.is_finite() {
        true => Nanos::from_millis_f64(ms).to_string(),
        false => "-".to_owned(),
    }
}
