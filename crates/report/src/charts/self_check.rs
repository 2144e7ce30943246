//! Whether the replay itself was the bottleneck, as far as records tell.

use iosonar_plot::{Axis, Chart, Colour, Mark, Shape, Unit};

use super::{Figure, has_values, over_time};
use crate::measure::Measured;

pub(crate) fn lateness(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::log("longest delay of the window", Unit::Seconds);
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
    let y = Axis::from_zero("delays of all requests so far", Unit::Seconds);
    let figure = Figure {
        label: "sum of delays",
        colour: Colour::Curve(1),
        of: |p, _| p.delay_sum_s,
    };
    let mut chart = over_time(inputs, "Lateness, cumulated", y, &[figure])?;
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
        label: "at most, in the window",
        colour: Colour::Curve(0),
        of: |p, _| p.most_in_flight as f64,
    };
    over_time(inputs, "Most requests in flight", y, &[figure])
}

pub(crate) fn pushback_level(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("requests held back", Unit::Number);
    let figure = Figure {
        label: "in the mean over the window",
        colour: Colour::HeldWrite,
        of: |p, _| p.held,
    };
    let chart = over_time(inputs, "Requests held back by others", y, &[figure])?;
    has_values(&chart).then_some(chart)
}
