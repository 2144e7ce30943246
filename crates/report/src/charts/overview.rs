//! Throughput and bandwidth, demanded and done.

use std::slice::from_ref;

use iosonar_analysis::TimelinePoint;
use iosonar_plot::{Axis, Chart, Colour, Unit};
use iosonar_units::SECTOR_BYTES;

use super::{Figure, demand_over_time, over_time};
use crate::measure::Measured;

fn per_second() -> Axis {
    Axis::from_zero("requests per second", Unit::Number)
}

fn bytes_per_second() -> Axis {
    Axis::from_zero("bandwidth", Unit::BytesPerSecond)
}

fn rate(requests: u64, window_s: f64) -> f64 {
    requests as f64 / window_s
}

fn bytes(sectors: u64, window_s: f64) -> f64 {
    sectors as f64 * SECTOR_BYTES as f64 / window_s
}

/// The demanded and the actual duration, and their ratio, belong to the axis of time.
fn with_durations(chart: Option<Chart>, inputs: &[Measured]) -> Option<Chart> {
    let mut chart = chart?;
    if let [input] = inputs
        && let Some(outcome) = input.outcome()
    {
        let (demanded, actual) = (outcome.demanded, outcome.actual);
        let ratio = 100.0 * actual.get() as f64 / demanded.get().max(1) as f64;
        chart.x.name = if demanded.get() == 0 {
            format!("time (actual duration {actual})")
        } else {
            format!("time (demanded duration {demanded}, actual {actual}: {ratio:.1} %)")
        };
    }
    Some(chart)
}

pub(crate) fn throughput(inputs: &[Measured]) -> Option<Chart> {
    let figures = [
        Figure {
            label: "actual",
            colour: Colour::Actual,
            of: |p, s| rate(p.all_completed().requests, s),
        },
        Figure {
            label: "demanded",
            colour: Colour::Demanded,
            of: |p, s| rate(p.all_demanded().requests, s),
        },
    ];
    let chart = over_time(inputs, "Throughput", per_second(), &figures);
    with_durations(chart, inputs)
}

pub(crate) fn bandwidth(inputs: &[Measured]) -> Option<Chart> {
    let figures = [
        Figure {
            label: "actual",
            colour: Colour::Actual,
            of: |p, s| bytes(p.all_completed().sectors, s),
        },
        Figure {
            label: "demanded",
            colour: Colour::Demanded,
            of: |p, s| bytes(p.all_demanded().sectors, s),
        },
    ];
    let chart = over_time(inputs, "Bandwidth", bytes_per_second(), &figures);
    with_durations(chart, inputs)
}

type Of = fn(&TimelinePoint, f64) -> f64;

/// The sum, the reads, the writes.
fn by_direction([sum, reads, writes]: [Of; 3]) -> [Figure; 3] {
    [
        Figure {
            label: "reads and writes",
            colour: Colour::Sum,
            of: sum,
        },
        Figure {
            label: "reads",
            colour: Colour::Read,
            of: reads,
        },
        Figure {
            label: "writes",
            colour: Colour::Write,
            of: writes,
        },
    ]
}

pub(crate) fn throughput_intended(input: &Measured) -> Option<Chart> {
    let figures = by_direction([
        |p, s| rate(p.all_demanded().requests, s),
        |p, s| rate(p.demanded[0].requests, s),
        |p, s| rate(p.demanded[1].requests, s),
    ]);
    demand_over_time(
        from_ref(input),
        "Throughput by intended start",
        per_second(),
        &figures,
    )
}

pub(crate) fn throughput_completed(input: &Measured) -> Option<Chart> {
    let figures = by_direction([
        |p, s| rate(p.all_completed().requests, s),
        |p, s| rate(p.completed[0].requests, s),
        |p, s| rate(p.completed[1].requests, s),
    ]);
    over_time(
        from_ref(input),
        "Throughput by completion",
        per_second(),
        &figures,
    )
}

pub(crate) fn bandwidth_intended(input: &Measured) -> Option<Chart> {
    let figures = by_direction([
        |p, s| bytes(p.all_demanded().sectors, s),
        |p, s| bytes(p.demanded[0].sectors, s),
        |p, s| bytes(p.demanded[1].sectors, s),
    ]);
    demand_over_time(
        from_ref(input),
        "Bandwidth by intended start",
        bytes_per_second(),
        &figures,
    )
}

pub(crate) fn bandwidth_completed(input: &Measured) -> Option<Chart> {
    let figures = by_direction([
        |p, s| bytes(p.all_completed().sectors, s),
        |p, s| bytes(p.completed[0].sectors, s),
        |p, s| bytes(p.completed[1].sectors, s),
    ]);
    over_time(
        from_ref(input),
        "Bandwidth by completion",
        bytes_per_second(),
        &figures,
    )
}
