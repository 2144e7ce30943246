//! Whether a simulation is ready for its first request in time, and within its memory.

use iosonar_ssd_model::MOST_WORK_AT_START;
use iosonar_ssd_model::ftl::Filling;
use iosonar_units::Bytes;

use super::check::Checker;
use crate::file::ScenarioFile;
use crate::{ArrayModel, Devices, ScenarioError, SsdSet};

/// How much memory a simulation may take before the first request, unless
/// [`Overrides::memory`](crate::Overrides::memory) says otherwise: with all that the program takes besides, less than 1 GB.
pub const DEFAULT_MEMORY: Bytes = Bytes::new(900 << 20);

/// Refuses `arrays` arrays at a time if they take more memory than `most`, or their SSDs too long.
pub(super) fn check(
    check: &Checker<'_>,
    file: &ScenarioFile,
    array: &ArrayModel,
    arrays: u32,
    most: Bytes,
) -> Result<(), ScenarioError> {
    let devices = (array.disks + array.spares()).saturating_mul(arrays as usize);
    if let Devices::Ssds(ssds) = &array.devices {
        check_time(check, ssds, devices)?;
    }
    let all = array.bytes_together(arrays);
    if all <= most.get() {
        return Ok(());
    }
    let needs = format!(
        "which needs up to {} of memory before the first request",
        Bytes::new(all)
    );
    // With something for the requests.
    let enough = (all / 2).saturating_mul(3).div_ceil(1 << 30);
    let more = format!("--memory {enough}GiB");
    let fitting = most.get() / array.bytes_together(2).div_ceil(2);
    let refusal = match &file.array.count {
        Some(count) if arrays > 1 && fitting > 0 => {
            let expected = format!("at most {fitting}, or {more}");
            check.wrong(count, "array.count", format!("{arrays}, {needs}"), expected)
        }
        _ => {
            let largest = Largest::of(array, file, devices as u64);
            let expected = format!("{}, for at most {most}, or {more}", largest.less);
            let seen = format!("{}, {needs}", largest.seen);
            wrong_at(check, largest.key, &seen, &expected)
        }
    };
    Err(ScenarioError::NeedsMemory(Box::new(refusal)))
}

/// Refuses SSDs on which too much is written before the first request.
fn check_time(check: &Checker<'_>, ssds: &SsdSet, devices: usize) -> Result<(), ScenarioError> {
    let Some(flash) = ssds.parameters.flash() else {
        return Ok(());
    };
    if flash.work_at_start() * devices as f64 <= MOST_WORK_AT_START {
        return Ok(());
    }
    let (key, seen, expected) = flash.too_much_at_start(devices);
    Err(wrong_at(
        check,
        &format!("ssd.flash.{key}"),
        &seen,
        &expected,
    ))
}

/// The key to which a scenario owes most of the memory that it takes.
struct Largest {
    key: &'static str,
    /// Its value.
    seen: String,
    /// What takes less.
    less: &'static str,
}

impl Largest {
    /// Of `devices` devices in all.
    fn of(array: &ArrayModel, file: &ScenarioFile, devices: u64) -> Self {
        let each = array.device_bytes();
        let bitmap = array.bitmap_bytes() / devices.max(1);
        let disks = file.array.disks.get_ref().to_string();
        let (mut largest, mut found) = (
            each.other - array.segment_bytes(),
            Self {
                key: "array.disks",
                seen: disks,
                less: "fewer disks",
            },
        );
        let mut try_out = |bytes: u64, key, seen: String, less| {
            if bytes > largest {
                (largest, found) = (bytes, Self { key, seen, less });
            }
        };
        if let Some(chunk) = array.md.as_ref().and_then(|md| md.bitmap) {
            let seen = format!("\"{}\"", chunk.bytes());
            try_out(bitmap, "array.md.bitmap", seen, "larger chunks");
        }
        if let Devices::Disks(disks) = &array.devices {
            let named = format!("\"{}\"", disks.profile.name);
            let less = "a buffer of fewer segments, or fewer disks";
            try_out(array.segment_bytes(), "disk.profile", named, less);
        }
        let Devices::Ssds(ssds) = &array.devices else {
            return found;
        };
        let profile = &ssds.profile;
        let ring = profile.block_queue.ring.to_string();
        try_out(
            each.ring,
            "ssd.block_queue.ring",
            ring,
            "a smaller ring or fewer SSDs",
        );
        let queues = profile.nvme.queues.to_string();
        try_out(
            each.queues,
            "ssd.nvme.queues",
            queues,
            "fewer queues or SSDs",
        );
        if let Some(dram) = &profile.dram {
            let channels = dram.channels.to_string();
            try_out(
                each.channels,
                "ssd.dram.channels",
                channels,
                "fewer channels or SSDs",
            );
        }
        if let (Some(flash), Some(checked)) = (&profile.flash, ssds.parameters.flash()) {
            let unit = flash.mapping_unit.as_ref();
            let unit = unit.map_or("missing".to_owned(), |unit| format!("\"{unit}\""));
            let less = "a larger unit, or a smaller SSD or fewer of them";
            try_out(each.tables, "ssd.flash.mapping_unit", unit, less);
            let less = match checked.filling {
                Filling::SteadyState => "fewer overwrites",
                _ => "fewer overwrites or precondition = \"steady-state\"",
            };
            let times = checked.overwrites.to_string();
            try_out(each.overwrites, "ssd.flash.overwrites", times, less);
        }
        found
    }
}

/// An error about a value that the scenario may have from a profile.
fn wrong_at(check: &Checker<'_>, key: &str, seen: &str, expected: &str) -> ScenarioError {
    check
        .wrong_at(key, seen, expected)
        .unwrap_or_else(|| check.incomplete(&format!("'{key}' is {seen}, expected {expected}")))
}
