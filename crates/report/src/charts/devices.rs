//! The load of each device.

use std::collections::HashMap;

use iosonar_plot::{Axis, Bars, Chart, Colour, Mark, Table, Unit, counted, grouped};
use iosonar_units::SECTOR_BYTES;

use super::{Figure, chart_of_all, over_time};
use crate::measure::Measured;

/// Of more devices, the others are in no table and have no name below the chart.
const MOST_NAMED: usize = 16;

/// What is known of a device of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Share {
    requests: u64,
    reads: u64,
    sectors: u64,
    /// The share of time with a request in flight, and how many are in flight on average.
    activity: Option<(f64, f64)>,
}

/// The devices of an input by name, in the order of their numbers.
fn devices_of(input: &Measured) -> Vec<(String, Share)> {
    let amounts = input.load().map_or(&[][..], |load| &load.devices);
    let busy = input.outcome().map_or(&[][..], |outcome| &outcome.devices);
    let of = |&(device, [reads, others]): &(u16, [iosonar_analysis::Amount; 2])| {
        let activity = busy.binary_search_by_key(&device, |busy| busy.device);
        let share = Share {
            requests: reads.requests + others.requests,
            reads: reads.requests,
            sectors: reads.sectors + others.sectors,
            activity: activity.ok().map(|i| (busy[i].busy, busy[i].in_flight)),
        };
        let metadata = input.metadata();
        let name = match metadata.devices.is_empty() {
            true => format!("device {device}"),
            false => metadata.device_name(device),
        };
        (name, share)
    };
    amounts.iter().map(of).collect()
}

/// Of several devices how busy each is, or how many requests it has where that is not known; of one how busy it is over
/// time.
pub(crate) fn device_load(inputs: &[Measured]) -> Option<Chart> {
    let all: Vec<_> = inputs.iter().map(devices_of).collect();
    if all.iter().all(|devices| devices.len() < 2) {
        let mut y = Axis::from_zero("share of time with a request in flight", Unit::Share);
        y.range = Some((0.0, 1.02));
        let figures = [Figure {
            label: "busy",
            colour: Colour::Curve(0),
            of: |point, _| point.busy.min(1.0),
        }];
        return over_time(inputs, "Share of time the device is busy", y, &figures);
    }
    let mut names: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, _) in all.iter().flatten() {
        places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    let is_busy_known = all.iter().flatten().all(|(_, of)| of.activity.is_some());
    let y = if is_busy_known {
        Axis::from_zero("share of time with a request in flight", Unit::Share)
    } else {
        Axis::from_zero("requests", Unit::Count)
    };
    let x = Axis {
        range: Some((0.5, names.len() as f64 + 0.5)),
        ..Axis::linear("device", Unit::Count)
    };
    let mut chart = chart_of_all(inputs, "Load of each device", x, y);
    let width = 0.8 / inputs.len() as f64;
    for (i, (input, devices)) in inputs.iter().zip(&all).enumerate() {
        let bin = |(name, of): &(String, Share)| {
            let from = places[name.as_str()] as f64 + 0.6 + i as f64 * width;
            let value = match of.activity.filter(|_| is_busy_known) {
                Some((busy, _)) => busy,
                None => of.requests as f64,
            };
            (from, from + width, 0.0, value)
        };
        chart.marks.push(Mark::Bars(Bars {
            name: input.name.clone(),
            label: if inputs.len() > 1 {
                input.name.clone()
            } else {
                String::new()
            },
            colour: Colour::Curve(i),
            bins: devices.iter().map(bin).collect(),
        }));
    }
    let places = names.iter().take(MOST_NAMED).enumerate();
    let places: Vec<String> = places
        .map(|(i, name)| format!("{}: {name}", i + 1))
        .collect();
    chart.notes.push(places.join(", "));
    if names.len() > MOST_NAMED {
        chart.notes.push(counted(
            (names.len() - MOST_NAMED) as u64,
            ["more device", "more devices"],
        ));
    }
    chart.table = Some(table(inputs, &all));
    Some(chart)
}

fn table(inputs: &[Measured], all: &[Vec<(String, Share)>]) -> Table {
    let header = [
        "",
        "requests",
        "reads",
        "bytes",
        "busy",
        "in flight on average",
    ];
    let mut rows = Vec::new();
    for (input, devices) in inputs.iter().zip(all) {
        let whole: u64 = devices.iter().map(|(_, of)| of.requests).sum();
        for (name, of) in devices.iter().take(MOST_NAMED) {
            let share = |part: u64, whole: u64| {
                format!(
                    "{} ({:.1} %)",
                    grouped(part),
                    100.0 * part as f64 / whole.max(1) as f64
                )
            };
            let (busy, in_flight) = of.activity.map_or_else(Default::default, |(busy, flying)| {
                (format!("{:.1} %", 100.0 * busy), Unit::Number.text(flying))
            });
            rows.push(vec![
                match inputs {
                    [_] => name.clone(),
                    _ => format!("{}: {name}", input.name),
                },
                share(of.requests, whole),
                share(of.reads, of.requests),
                Unit::Bytes.text(of.sectors as f64 * SECTOR_BYTES as f64),
                busy,
                in_flight,
            ]);
        }
    }
    Table {
        header: header.map(str::to_owned).to_vec(),
        rows,
    }
}
