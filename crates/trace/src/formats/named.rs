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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Op, Outcome, Request, Status};
    use iosonar_units::{Sector, Sectors};

    #[test]
    fn values_that_say_nothing_are_empty() {
        let mut batch = Batch::default();
        batch.push(&Record::default());
        batch.push(&Record {
            request: Request {
                start: Nanos::new(1),
                sector: Sector::new(2),
                sectors: Sectors::new(3),
                op: Op::Write,
                flags: Flags::SYNC,
                device: 4,
                class: 5,
                group: 6,
            },
            outcome: Outcome {
                delay: Some(Nanos::ZERO),
                latency: Some(Nanos::new(7)),
                status: Status::Error(5),
                pushed_back: true,
            },
        });
        batch.set_think(1, Some(Nanos::new(8)));
        let of = |row| texts(&batch, row, |number| format!("d{number}"));
        let zero = [
            "0", "0", "0", "read", "", "d0", "", "", "", "", "", "done", "",
        ];
        assert_eq!(of(0), zero);
        let all = [
            "1", "2", "3", "write", "sync", "d4", "5", "6", "0", "7", "8", "error:5", "1",
        ];
        assert_eq!(of(1), all);
        // A single device without a name stays the only one.
        let names = ["sda".to_owned()];
        for (devices, number, text) in [
            (&names[..0], 0, ""),
            (&names[..0], 1, "1"),
            (&names, 0, "sda"),
            (&names, 1, "1"),
        ] {
            assert_eq!(device_text(devices, number), text, "{devices:?} {number}");
        }
    }
}
