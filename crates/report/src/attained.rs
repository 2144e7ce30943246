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
        0.0 => "at the limit".to_owned(),
        1.0.. => format!("{} times the limit", significant(beyond + 1.0, 3)),
        0.0.. => format!("{:.1} % above the limit", 100.0 * beyond),
        _ => format!("{:.1} % below the limit", -100.0 * beyond),
    }
}

#[cfg(test)]
mod tests {
    use iosonar_stats::Estimate;

    use super::*;

    #[test]
    fn a_value_is_below_at_or_above_the_limit() {
        let of = |objective: &str, mean: f64| {
            let estimate = Estimate {
                mean,
                stderr: 0.0,
                values: 100,
            };
            let of = Attained::of_estimate(objective.parse().unwrap(), 100, estimate);
            (of.verdict.name(), distance_of(&of))
        };
        let expected = |verdict, distance: &str| (verdict, distance.to_owned());
        for objective in ["p99 < 10ms", "p99 <= 10ms"] {
            assert_eq!(of(objective, 10.0), expected("meets", "at the limit"));
            assert_eq!(
                of(objective, 10.5),
                expected("misses", "5.0 % above the limit")
            );
            assert_eq!(
                of(objective, 9.5),
                expected("meets", "5.0 % below the limit")
            );
        }
        for objective in ["throughput > 50", "throughput >= 50"] {
            assert_eq!(of(objective, 50.0), expected("meets", "at the limit"));
            assert_eq!(
                of(objective, 49.0),
                expected("misses", "2.0 % below the limit")
            );
        }
    }
}
