//! Whether the replay itself was the bottleneck: from the records, and from its self-check beside them.

use iosonar_plot::{Axis, Chart, Colour, Line, Mark, Shape, Unit};

use super::{Figure, chart_of, has_values, over_time};
use crate::measure::Measured;
use crate::self_check::SelfCheckRow;

pub(crate) fn lateness(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::log("longest delay in the window", Unit::Seconds);
    let figure = Figure {
        label: "longest delay",
        colour: Colour::Curve(1),
        of: |p, _| match p.longest_delay.as_secs_f64() {
            0.0 => f64::NAN,
            longest => longest,
        },
    };
    let chart = over_time(inputs, "Lateness", y, &[figure])?;
    has_values(&chart).then_some(chart)
}

pub(crate) fn lateness_cumulated(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("cumulative start delay", Unit::Seconds);
    let figure = Figure {
        label: "sum of delays",
        colour: Colour::Curve(1),
        of: |p, _| p.delay_sum_s,
    };
    let mut chart = over_time(inputs, "Cumulative start delay", y, &[figure])?;
    for mark in &mut chart.marks {
        if let Mark::Line(line) = mark {
            // What happened within a window is known at its end, where the next one begins: the last point is
            // the end of the last window.
            let mut sum = 0.0;
            let mut next = 0.0;
            for (_, value) in &mut line.points {
                sum += std::mem::replace(&mut next, *value);
                *value = sum;
            }
            line.shape = Shape::Straight;
        }
    }
    has_values(&chart).then_some(chart)
}

pub(crate) fn submit_level(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("requests in flight", Unit::Count);
    let figure = Figure {
        label: "maximum in the window",
        colour: Colour::Curve(0),
        of: |p, _| p.most_in_flight as f64,
    };
    over_time(inputs, "Most requests in flight", y, &[figure])
}

pub(crate) fn pushback_level(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("requests held back", Unit::Number);
    let figure = Figure {
        label: "average over the window",
        colour: Colour::HeldWrite,
        of: |p, _| p.held,
    };
    let chart = over_time(inputs, "Requests held back by other requests", y, &[figure])?;
    has_values(&chart).then_some(chart)
}

/// A figure of each interval of the replay's own account, which begins where the one before ended.
fn account(
    input: &Measured,
    kind: &str,
    y: Axis,
    label: &str,
    of: impl FnMut(&SelfCheckRow) -> f64,
) -> Option<Chart> {
    let rows = input.self_check();
    let (first, second) = (rows.first()?, rows.get(1)?);
    let begins = std::iter::once((2.0 * first.end_s - second.end_s).max(0.0));
    let begins = begins.chain(rows.iter().map(|row| row.end_s));
    let values = rows.iter().map(of);
    let mut points: Vec<(f64, f64)> = begins.zip(values).collect();
    if let (Some(last), Some(&(_, value))) = (rows.last(), points.last()) {
        points.push((last.end_s, value));
    }
    let mut chart = chart_of(input, kind, Axis::time("time"), y);
    chart
        .marks
        .push(Mark::Line(Line::steps(label, Colour::Curve(0), points)));
    Some(chart)
}

pub(crate) fn submit_ahead(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("requests read ahead", Unit::Count);
    account(
        input,
        "Read ahead",
        y,
        "requests read ahead, not yet submitted",
        |row| row.ahead,
    )
}

pub(crate) fn input_wait(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("waiting for the load", Unit::Seconds);
    account(
        input,
        "Waiting for the load",
        y,
        "in each interval",
        |row| row.input_wait_s,
    )
}

pub(crate) fn input_wait_cumulated(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("cumulative wait for the load", Unit::Seconds);
    let mut sum = 0.0;
    account(input, "Cumulative wait for the load", y, "so far", |row| {
        sum += row.input_wait_s;
        sum
    })
}

pub(crate) fn answer_lag(input: &Measured) -> Option<Chart> {
    let y = Axis::log("time until a completion was noticed", Unit::Seconds);
    account(
        input,
        "Lag of completions",
        y,
        "maximum in each interval",
        |row| {
            // An interval without a round of work has none.
            if row.answer_lag_s > 0.0 {
                row.answer_lag_s
            } else {
                f64::NAN
            }
        },
    )
}

pub(crate) fn answer_wait_cumulated(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("cumulative time between polls", Unit::Seconds);
    let mut sum = 0.0;
    account(input, "Cumulative lag of completions", y, "so far", |row| {
        sum += row.answer_wait_s;
        sum
    })
}
