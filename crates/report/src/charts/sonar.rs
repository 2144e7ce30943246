//! Sonar diagrams: every request's time on a logarithmic axis.

use iosonar_plot::{Axis, Chart, Limit, Mark, Unit, grouped};
use iosonar_units::Nanos;

use super::chart_of;
use crate::measure::{Measured, Quantity, View};

/// A cloud with its axes, and what came of the limit.
fn sonar(input: &Measured, view: View, kind: &str, x: Axis, quantity: Quantity) -> Option<Chart> {
    let cloud = input.cloud(view)?;
    let y = Axis::log(quantity.name(), Unit::Seconds);
    let mut chart = chart_of(input, kind, x, y);
    chart.limit = limit(input, quantity);
    if cloud.without_value() > 0 {
        // The legend says it.
        chart.subtitle = input.left_out();
    }
    chart.marks.push(Mark::Cloud(cloud));
    Some(chart)
}

/// Whether latencies and delays stayed within what is bearable.
fn limit(input: &Measured, quantity: Quantity) -> Option<Limit> {
    let at = match quantity {
        Quantity::Latency => input.options().bad_latency,
        Quantity::Delay => input.options().bad_delay,
        Quantity::ResponseTime => return None,
    };
    let all = input.all(quantity);
    let max = all.moments.max()?;
    let beyond = input.beyond(quantity);
    let text = match beyond.first {
        None => format!("passed: none beyond {at} (max {max})"),
        Some(first) => format!(
            "failed: {} beyond {at}, first at {} s (max {max})",
            grouped(beyond.count),
            (first.as_secs_f64() * 1000.0).round() / 1000.0
        ),
    };
    Some(Limit {
        at: at.as_secs_f64(),
        text,
        is_kept: beyond.count == 0,
    })
}

fn titled(input: &Measured, suffix: &str) -> String {
    let quantity = input.options().quantity;
    let of = match quantity {
        Quantity::Latency => String::new(),
        other => format!(" of the {}", other.name()),
    };
    format!("Sonar diagram{of}{suffix}")
}

pub(crate) fn started(input: &Measured) -> Option<Chart> {
    let x = Axis::time("time at which the request was handed over");
    let quantity = input.options().quantity;
    sonar(input, View::Started, &titled(input, ""), x, quantity)
}

pub(crate) fn intended(input: &Measured) -> Option<Chart> {
    let x = Axis::time("intended start");
    let quantity = input.options().quantity;
    sonar(
        input,
        View::Intended,
        &titled(input, " by intended start"),
        x,
        quantity,
    )
}

pub(crate) fn completed(input: &Measured) -> Option<Chart> {
    let x = Axis::time("time of completion");
    let quantity = input.options().quantity;
    sonar(
        input,
        View::Completed,
        &titled(input, " by completion"),
        x,
        quantity,
    )
}

pub(crate) fn number(input: &Measured) -> Option<Chart> {
    let x = Axis::linear(
        "number of the request, in the order of completion",
        Unit::Number,
    );
    let quantity = input.options().quantity;
    sonar(
        input,
        View::Number,
        &titled(input, " by number"),
        x,
        quantity,
    )
}

/// Delays that are all zero are nothing to draw: whoever made the records did not hand over late, ever.
fn has_delays(input: &Measured) -> bool {
    let all = input.all(Quantity::Delay);
    all.moments.max().is_some_and(|max| max > Nanos::ZERO)
}

pub(crate) fn delay(input: &Measured) -> Option<Chart> {
    if !has_delays(input) {
        return None;
    }
    let x = Axis::time("intended start");
    sonar(
        input,
        View::Delay,
        "Delay by intended start",
        x,
        Quantity::Delay,
    )
}

pub(crate) fn delay_number(input: &Measured) -> Option<Chart> {
    if !has_delays(input) {
        return None;
    }
    let x = Axis::linear(
        "number of the request, in the order of completion",
        Unit::Number,
    );
    sonar(
        input,
        View::DelayNumber,
        "Delay by number",
        x,
        Quantity::Delay,
    )
}
