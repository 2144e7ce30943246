//! Distributions of response times as pictures and numbers.

use std::fmt::Write;

use iosonar_analysis::objective::Attained;
use iosonar_plot::{Chart, Colour};
use iosonar_report::{Quantity, cdf_of, curve_with_band, mark_on_distribution, show_quantiles};
use iosonar_scenario::SimulationResult;
use iosonar_units::csv_field;

/// A simulation on a picture.
pub(crate) struct Drawn<'a> {
    name: &'a str,
    pub(crate) result: SimulationResult,
    /// The targets with their outcomes.
    targets: Vec<Attained>,
    colour: Colour,
}

impl<'a> Drawn<'a> {
    pub(crate) fn new(
        name: &'a str,
        result: SimulationResult,
        targets: Vec<Attained>,
        colour: Colour,
    ) -> Self {
        Self {
            name,
            result,
            targets,
            colour,
        }
    }
}

/// The distributions of simulations, with their medians and 99th percentiles, and the verdict of each on the targets.
pub(crate) fn chart(title: &str, drawn: &[Drawn<'_>]) -> Chart {
    let marks = drawn.iter().flat_map(|of| {
        curve_with_band(
            of.name,
            &of.result.response_time,
            &of.result.band(),
            of.colour,
        )
    });
    let mut chart = cdf_of(title, Quantity::ResponseTime, marks.collect());
    let curves = drawn
        .iter()
        .map(|of| (of.name, &of.result.response_time, of.colour));
    show_quantiles(&mut chart, &curves.collect::<Vec<_>>());
    let targets = drawn.iter().map(|of| (of.name, &of.targets[..]));
    mark_on_distribution(
        &mut chart,
        Quantity::ResponseTime,
        &targets.collect::<Vec<_>>(),
    );
    chart
}

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
