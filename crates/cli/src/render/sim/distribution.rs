//! Distributions of response times as numbers.

use std::fmt::Write;

use iosonar_scenario::SimulationResult;
use iosonar_units::csv_field;

/// The header of the table.
pub(crate) const HEADER: &str = "scenario,response_time_s,share,share_low_95,share_high_95\n";

/// A row for each time at which the distribution function is known: the share of requests that take at most this
/// long, and the ends of its 95 % confidence interval, empty where that is not known.
pub(crate) fn rows(name: &str, result: &SimulationResult) -> String {
    let mut text = String::new();
    for point in result.band() {
        let _ = write!(
            text,
            "{},{},{}",
            csv_field(name),
            point.value.as_secs_f64(),
            point.share
        );
        let _ = if point.half_width.is_finite() {
            let low = (point.share - point.half_width).max(0.0);
            let high = (point.share + point.half_width).min(1.0);
            writeln!(text, ",{low},{high}")
        } else {
            writeln!(text, ",,")
        };
    }
    text
}
