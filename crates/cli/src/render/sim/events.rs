//! What happened to devices during the runs.

use iosonar_raid::{DeviceEvent, DeviceEventKind};
use iosonar_report::grouped;
use iosonar_scenario::{Prepared, SimulationResult};
use iosonar_units::Nanos;

use super::conclusion::lost;

pub(super) fn describe(simulation: &Prepared, result: &SimulationResult) -> String {
    let events = &simulation.array().events;
    let mut text = String::new();
    for event in events {
        text += &format!("  event         {}\n", of(event));
    }
    if events.is_empty() {
        return text;
    }
    let counts = &result.device_events;
    let planned = events.len() as u64 * u64::from(result.replications);
    let missed = planned - counts.happened;
    if missed > 0 {
        text += &format!(
            "  {} of {} events did not happen, because the run ended first\n",
            grouped(missed),
            grouped(planned)
        );
    }
    if counts.before_window > 0 {
        text += &format!(
            "  {} of {} events happened before the first measured request\n",
            grouped(counts.before_window),
            grouped(planned)
        );
    }
    if counts.planned_again > 0 {
        let (n, were) = match counts.planned_again {
            1 => ("1 request".to_owned(), "was"),
            n => (format!("{} requests", grouped(n)), "were"),
        };
        text += &format!("  {n} {were} issued again after a disk had failed\n");
    }
    if result.loses_data() {
        text += &format!(
            "  DATA LOSS     {}; they are left out of all times\n",
            lost(result)
        );
    }
    text
}

fn of(event: &DeviceEvent) -> String {
    let (at, disk) = (event.at, event.device);
    match event.kind {
        DeviceEventKind::Failure {
            noticed: Nanos::ZERO,
        } => format!("disk {disk} fails at {at}"),
        DeviceEventKind::Failure { noticed } => {
            format!("disk {disk} fails at {at}, which the array notices after {noticed}")
        }
        DeviceEventKind::Slowness { factor, lasts } => {
            format!("disk {disk} is {factor} times as slow from {at} on, for {lasts}")
        }
    }
}
