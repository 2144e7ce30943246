//! What happened to devices during the runs.

use iosonar_raid::{DeviceEvent, DeviceEventKind};
use iosonar_report::grouped;
use iosonar_scenario::{Prepared, SimulationResult};
use iosonar_units::Nanos;

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
            "  {} of {} events did not happen: the runs ended before them\n",
            grouped(missed),
            grouped(planned)
        );
    }
    if counts.planned_again > 0 {
        let n = grouped(counts.planned_again);
        text += &format!("  {n} requests were issued again after a disk had failed\n");
    }
    if result.failed > 0 {
        let n = grouped(result.failed);
        text += &format!(
            "  DATA LOSS: {n} measured requests failed, as too many disks had failed; they are in no distribution\n"
        );
    }
    if counts.lost_from_cache > 0 {
        let n = grouped(counts.lost_from_cache);
        text += &format!(
            "  DATA LOSS: {n} writes that were complete in the cache were lost with the disks\n"
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
