//! What happened to devices during the runs.

use iosonar_raid::{DeviceEvent, DeviceEventKind};
use iosonar_report::{counted, grouped};
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
    let (missed, planned) = (counts.missed(), counts.planned);
    if missed > 0 {
        text += &format!(
            "  {} of {} events did not happen, because the run ended first: use a longer load, or an earlier 'at'\n",
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
    if counts.reissued > 0 {
        let reissued = counted(counts.reissued, ["request was", "requests were"]);
        text += &format!("  {reissued} reissued after a disk failed\n");
    }
    if result.loses_data() {
        text += &format!("  DATA LOSS     {}\n", lost(result));
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
            format!("disk {disk} fails at {at}; the array notices {noticed} later")
        }
        DeviceEventKind::Slowness { factor, lasts } => {
            format!("at {at}, disk {disk} becomes {factor} times slower for {lasts}")
        }
    }
}
