//! Sonar diagrams: every request's time on a logarithmic axis.

use iosonar_plot::{Axis, Chart, Limit, Mark, Unit, grouped};

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

/// Whether latencies and delays stayed within what is demanded of them; `None` where nothing is. There is no
/// pass for figures that are not those of a device, nor while requests failed, never ran or have no measured
/// time: how long these would have taken is unknown.
fn limit(input: &Measured, quantity: Quantity) -> Option<Limit> {
    let at = match quantity {
        Quantity::Latency => input.options().bad_latency?,
        Quantity::Delay => input.options().bad_delay?,
        Quantity::ResponseTime => return None,
    };
    let max = input.longest(quantity)?;
    let beyond = input.beyond(quantity);
    let is_fake = input.fakes().next().is_some();
    let unknown = input.without_time(quantity);
    let none = if unknown.is_empty() {
        format!("none above {at} (max {max})")
    } else {
        format!("{unknown}; none of the others above {at} (max {max})")
    };
    let text = match beyond.first {
        None if is_fake => format!("no verdict, as the figures are FAKE: {none}"),
        None if unknown.is_empty() => format!("passed: {none}"),
        None => format!("not passed: {none}"),
        Some(first) => {
            let first = (first.as_secs_f64() * 1000.0).round() / 1000.0;
            let count = grouped(beyond.count);
            let failed = format!("failed: {count} above {at}, first at {first} s (max {max})");
            if unknown.is_empty() {
                failed
            } else {
                format!("{failed}; also {unknown}")
            }
        }
    };
    Some(Limit {
        at: at.as_secs_f64(),
        text,
        is_kept: beyond.count == 0 && unknown.is_empty() && !is_fake,
    })
}

/// A sonar diagram of the quantity that is looked at.
fn of_quantity(input: &Measured, view: View, suffix: &str, x: Axis) -> Option<Chart> {
    let quantity = input.options().quantity;
    let of = match quantity {
        Quantity::Latency => String::new(),
        other => format!(" of the {}", other.name()),
    };
    sonar(
        input,
        view,
        &format!("Sonar diagram{of}{suffix}"),
        x,
        quantity,
    )
}

/// Delays, if there are any.
fn of_delay(input: &Measured, view: View, kind: &str, x: Axis) -> Option<Chart> {
    if !input.has_delays() {
        return None;
    }
    sonar(input, view, kind, x, Quantity::Delay)
}

fn completion_number() -> Axis {
    let name = "request number, in order of completion";
    Axis::linear(name, Unit::Count)
}

pub(crate) fn started(input: &Measured) -> Option<Chart> {
    let x = Axis::time("submission time");
    of_quantity(input, View::Started, "", x)
}

pub(crate) fn intended(input: &Measured) -> Option<Chart> {
    let x = Axis::time("intended start");
    of_quantity(input, View::Intended, " by intended start", x)
}

pub(crate) fn completed(input: &Measured) -> Option<Chart> {
    let x = Axis::time("time of completion");
    of_quantity(input, View::Completed, " by completion", x)
}

pub(crate) fn number(input: &Measured) -> Option<Chart> {
    of_quantity(input, View::Number, " by number", completion_number())
}

pub(crate) fn delay(input: &Measured) -> Option<Chart> {
    let x = Axis::time("intended start");
    of_delay(input, View::Delay, "Delay by intended start", x)
}

pub(crate) fn delay_number(input: &Measured) -> Option<Chart> {
    of_delay(
        input,
        View::DelayNumber,
        "Delay by number",
        completion_number(),
    )
}
