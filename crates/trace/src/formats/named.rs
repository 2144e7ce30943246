//! Records by the names of their fields: what CSV and JSON lines share.

mod csv_file;
mod json_lines;

pub(crate) use csv_file::Csv;
pub(crate) use json_lines::JsonLines;

use iosonar_units::Nanos;

use crate::fields::{flags_text, status_text};
use crate::{Batch, Record};

const LOSES: &str = "wall clock, notices and other metadata of the trace";

/// The values of row `row`, as texts in the order of [`WRITTEN`]; empty where there is nothing.
fn texts(batch: &Batch, row: usize, device: impl Fn(u16) -> String) -> [String; 13] {
    let Record { request, outcome } = batch.record(row);
    let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.get().to_string());
    let number = |n: u32| if n == 0 { String::new() } else { n.to_string() };
    [
        request.start.get().to_string(),
        request.sector.to_string(),
        request.sectors.to_string(),
        request.op.name().to_owned(),
        flags_text(request.flags),
        device(request.device),
        number(u32::from(request.class)),
        number(request.group),
        time(outcome.delay),
        time(outcome.latency),
        time(batch.think(row)),
        status_text(outcome.status),
        if outcome.pushed_back { "1" } else { "" }.to_owned(),
    ]
}

/// The names of the devices as they are written: none for the only one without a name, so that it stays
/// the only one.
fn device_text(devices: &[String], number: u16) -> String {
    match devices.get(usize::from(number)) {
        Some(name) => name.clone(),
        None if number == 0 && devices.is_empty() => String::new(),
        None => number.to_string(),
    }
}
