//! Requests in flight and delayed, what depends on them, and turns.

use iosonar_analysis::{OutcomeSummary, TimelinePoint};
use iosonar_plot::{Axis, Chart, Colour, Mark, Table, Unit};

use super::{Figure, chart_of, demand_over_time, has_values, over_time};
use crate::measure::{Measured, View};

/// Of a level, which bursts raise for less than a window.
fn average_and_maximum(
    colour: Colour,
    average: fn(&TimelinePoint, f64) -> f64,
    maximum: fn(&TimelinePoint, f64) -> f64,
) -> [Figure; 2] {
    [
        Figure {
            label: "average over the window",
            colour,
            of: average,
        },
        Figure {
            label: "maximum",
            colour: Colour::Muted,
            of: maximum,
        },
    ]
}

pub(crate) fn in_flight(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("requests in flight", Unit::Number);
    let mut chart = over_time(
        inputs,
        "Requests in flight",
        y,
        &average_and_maximum(
            Colour::Curve(0),
            |p, _| p.in_flight,
            |p, _| p.most_in_flight as f64,
        ),
    )?;
    let known = inputs
        .iter()
        .filter_map(|input| Some((input, input.outcome()?)));
    let known: Vec<_> = known.collect();
    if let [(_, outcome)] = &known[..] {
        chart.notes.push(format!(
            "mean {}, maximum {}",
            Unit::Number.text(outcome.in_flight),
            outcome.most_in_flight
        ));
    } else {
        let row = |(input, outcome): &(&Measured, &OutcomeSummary)| {
            vec![
                input.name.clone(),
                Unit::Number.text(outcome.in_flight),
                outcome.most_in_flight.to_string(),
            ]
        };
        chart.table = Some(Table {
            header: ["", "in flight on average", "maximum"]
                .map(str::to_owned)
                .to_vec(),
            rows: known.iter().map(row).collect(),
        });
    }
    Some(chart)
}

pub(crate) fn delayed(inputs: &[Measured]) -> Option<Chart> {
    let y = Axis::from_zero("requests due but not submitted", Unit::Number);
    let chart = over_time(
        inputs,
        "Delayed requests",
        y,
        &average_and_maximum(
            Colour::Curve(1),
            |p, _| p.delayed,
            |p, _| p.most_delayed as f64,
        ),
    )?;
    has_values(&chart).then_some(chart)
}

pub(crate) fn latency_by_load(input: &Measured) -> Option<Chart> {
    let x = Axis::from_zero("requests in flight at submission", Unit::Count);
    cloud(
        input,
        View::LatencyByLoad,
        "Latency by requests in flight",
        x,
        "latency",
    )
}

pub(crate) fn delay_by_load(input: &Measured) -> Option<Chart> {
    let x = Axis::from_zero("requests in flight at submission", Unit::Count);
    cloud(
        input,
        View::DelayByLoad,
        "Delay by requests in flight",
        x,
        "delay",
    )
}

pub(crate) fn latency_by_delay(input: &Measured) -> Option<Chart> {
    let x = Axis::log("delay", Unit::Seconds);
    cloud(
        input,
        View::LatencyByDelay,
        "Latency by delay",
        x,
        "latency",
    )
}

pub(crate) fn latency_by_size(input: &Measured) -> Option<Chart> {
    let x = Axis::log("size of the request", Unit::Bytes);
    cloud(input, View::LatencyBySize, "Latency by size", x, "latency")
}

/// A cloud whose delays are all zero has nothing to say of delays.
fn cloud(input: &Measured, view: View, kind: &str, x: Axis, y: &str) -> Option<Chart> {
    let cloud = input.cloud(view)?;
    let is_of_delays = matches!(view, View::DelayByLoad | View::LatencyByDelay);
    if is_of_delays && !input.has_delays() {
        return None;
    }
    let mut chart = chart_of(input, kind, x, Axis::log(y, Unit::Seconds));
    chart.marks.push(Mark::Cloud(cloud));
    Some(chart)
}

pub(crate) fn turns_intended(inputs: &[Measured]) -> Option<Chart> {
    let kind = "Turns in order of intended start";
    let figure = turns(|p, _| p.turns[0] as f64 / p.all_demanded().requests as f64);
    demand_over_time(inputs, kind, share_of_turns(), &[figure])
}

pub(crate) fn turns_completed(inputs: &[Measured]) -> Option<Chart> {
    let kind = "Turns in order of completion";
    let figure = turns(|p, _| p.turns[1] as f64 / p.all_completed().requests as f64);
    over_time(inputs, kind, share_of_turns(), &[figure])
}

fn share_of_turns() -> Axis {
    Axis::from_zero("requests that start below the previous one", Unit::Share)
}

fn turns(of: fn(&TimelinePoint, f64) -> f64) -> Figure {
    Figure {
        label: "share of the requests in the window",
        colour: Colour::Curve(0),
        of,
    }
}
