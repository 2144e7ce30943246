//! What happens to devices during a run: the tables `[[event]]`.

use iosonar_raid::{DeviceEvent, DeviceEventKind};
use iosonar_units::Nanos;
use toml::Spanned;

use super::check::Checker;
use crate::file::{EventFile, ScenarioFile, SlowFile};
use crate::{Devices, DiskModel, ScenarioError};

/// The most times as long.
const MOST_SLOWNESS: f64 = 1e6;

/// The events in the order of the file, each of a device that is there then.
pub(super) fn events(
    check: &Checker<'_>,
    file: &ScenarioFile,
    devices: &Devices,
    failed: &[usize],
) -> Result<Vec<DeviceEvent>, ScenarioError> {
    let mut events: Vec<DeviceEvent> = Vec::new();
    for given in &file.event {
        let at = time(check, "event.at", &given.at)?;
        let (event, disk, key) = match (&given.fail, &given.slow) {
            (Some(disk), None) => {
                let event = failure(check, file, given, at, disk)?;
                (event, disk, "event.fail")
            }
            (None, Some(slow)) => {
                if let Some(after) = &given.noticed_after {
                    let (seen, expected) = (
                        after.get_ref(),
                        "no value, as the key applies only to 'fail'",
                    );
                    return Err(check.wrong(after, "event.noticed_after", seen, expected));
                }
                let event = slowness(check, file, devices, at, slow)?;
                (event, &slow.disk, "event.slow.disk")
            }
            _ => return Err(check.incomplete("each [[event]] needs either 'fail' or 'slow'")),
        };
        if failed.contains(&event.device) {
            let expected = "a disk that is not listed in 'array.failed'";
            return Err(check.wrong(disk, key, event.device, expected));
        }
        if events.iter().any(|other| collide(other, &event)) {
            let expected = match event.kind {
                DeviceEventKind::Failure { .. } => {
                    "a disk that no other [[event]] fails, and that none slows down after this failure"
                }
                DeviceEventKind::Slowness { .. } => {
                    "a disk that no other [[event]] slows down at the same time, and that has not failed by then"
                }
            };
            return Err(check.wrong(disk, key, event.device, expected));
        }
        events.push(event);
    }
    Ok(events)
}

/// Whether two events cannot both happen to one device: it fails once, is slow once at a time, and not after its failure.
fn collide(a: &DeviceEvent, b: &DeviceEvent) -> bool {
    a.device == b.device
        && match (a.kind, b.kind) {
            (DeviceEventKind::Failure { .. }, DeviceEventKind::Failure { .. }) => true,
            (
                DeviceEventKind::Slowness { lasts: of_a, .. },
                DeviceEventKind::Slowness { lasts: of_b, .. },
            ) => a.at < b.at.saturating_add(of_b) && b.at < a.at.saturating_add(of_a),
            (DeviceEventKind::Failure { .. }, DeviceEventKind::Slowness { .. }) => a.at <= b.at,
            (DeviceEventKind::Slowness { .. }, DeviceEventKind::Failure { .. }) => b.at <= a.at,
        }
}

fn failure(
    check: &Checker<'_>,
    file: &ScenarioFile,
    given: &EventFile,
    at: Nanos,
    disk: &Spanned<usize>,
) -> Result<DeviceEvent, ScenarioError> {
    let noticed = match &given.noticed_after {
        Some(text) => time(check, "event.noticed_after", text)?,
        None => Nanos::ZERO,
    };
    Ok(DeviceEvent {
        at,
        device: device(check, file, "event.fail", disk)?,
        kind: DeviceEventKind::Failure { noticed },
    })
}

fn slowness(
    check: &Checker<'_>,
    file: &ScenarioFile,
    devices: &Devices,
    at: Nanos,
    slow: &SlowFile,
) -> Result<DeviceEvent, ScenarioError> {
    if !matches!(devices, Devices::Disks(_) | Devices::Servers(_)) {
        return Err(check.incomplete(
            "[[event]] with 'slow' supports only [disk] and [device] with 'service': remove it, or use 'fail'",
        ));
    }
    if works_behind_its_host(devices) {
        return Err(check.incomplete(
            "[[event]] with 'slow' does not support drives with a buffer or shingled tracks, which do \
             background work between requests: add disk.buffer = false, or use disk.model = \"sampled\"",
        ));
    }
    let factor = *slow.factor.get_ref();
    if !(factor > 1.0 && factor <= MOST_SLOWNESS) {
        let expected = "a factor above 1, at most 1000000";
        return Err(check.wrong(&slow.factor, "event.slow.factor", factor, expected));
    }
    let lasts = time(check, "event.slow.for", &slow.lasts)?;
    if lasts == Nanos::ZERO {
        let (given, expected) = (slow.lasts.get_ref(), "more than 0 s");
        return Err(check.wrong(&slow.lasts, "event.slow.for", given, expected));
    }
    Ok(DeviceEvent {
        at,
        device: device(check, file, "event.slow.disk", &slow.disk)?,
        kind: DeviceEventKind::Slowness { factor, lasts },
    })
}

/// Whether drives write or read ahead when no request is in service.
fn works_behind_its_host(devices: &Devices) -> bool {
    let Devices::Disks(disks) = devices else {
        return false;
    };
    matches!(disks.model, DiskModel::Positional(_))
        && disks
            .kinds()
            .any(|profile| profile.cache.is_some() || profile.shingled.is_some())
}

/// The number of a disk of the array.
fn device(
    check: &Checker<'_>,
    file: &ScenarioFile,
    key: &'static str,
    given: &Spanned<usize>,
) -> Result<usize, ScenarioError> {
    let disks = *file.array.disks.get_ref();
    let disk = *given.get_ref();
    if disk >= disks {
        let last = disks.saturating_sub(1);
        let expected = format!("a disk from 0 to {last}, as 'array.disks' is {disks}");
        return Err(check.wrong(given, key, disk, expected));
    }
    Ok(disk)
}

fn time(
    check: &Checker<'_>,
    key: &'static str,
    given: &Spanned<String>,
) -> Result<Nanos, ScenarioError> {
    let text = given.get_ref();
    text.parse().map_err(|_| {
        check.wrong(
            given,
            key,
            format!("'{text}'"),
            "a time such as 30s, 1.5ms or 2h",
        )
    })
}
