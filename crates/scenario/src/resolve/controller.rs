//! What lies between the host and the disks: the tables `[controller]` and `[rebuild]`.

use iosonar_raid::{Controller, Rebuild, WriteBack};
use iosonar_units::{Bytes, Nanos, Sectors};
use toml::Spanned;

use super::check::Checker;
use crate::ScenarioError;
use crate::array_model::LevelOptions;
use crate::file::{ControllerFile, ModeName, RebuildFile, ScenarioFile};

pub(super) fn controller(
    check: &Checker<'_>,
    file: &ScenarioFile,
) -> Result<Controller, ScenarioError> {
    let one_at_a_time = file.array.mode == Some(ModeName::SplitMerge);
    let Some(given) = &file.controller else {
        return Ok(Controller {
            one_at_a_time,
            ..Controller::default()
        });
    };
    let within = |value: &Option<Spanned<f64>>, key, most: f64, expected: &str| match value {
        None => Ok(0.0),
        Some(v) if (0.0..=most).contains(v.get_ref()) => Ok(*v.get_ref()),
        Some(v) => Err(check.wrong(v, key, v.get_ref(), expected)),
    };
    let command_us = within(
        &given.command_us,
        "controller.command_us",
        1e9,
        "a time in microseconds, 0 to 1e9",
    )?;
    let xor = within(
        &given.xor_ns_per_byte,
        "controller.xor_ns_per_byte",
        1e6,
        "a time in nanoseconds, 0 to 1e6",
    )?;
    let bus_ns_per_sector = match &given.bus_mb_per_s {
        None => 0.0,
        Some(rate) if (1e-3..=1e9).contains(rate.get_ref()) => 512.0 * 1e3 / rate.get_ref(),
        Some(rate) => {
            let expected = "a rate in millions of bytes per second, 0.001 to 1e9";
            return Err(check.wrong(rate, "controller.bus_mb_per_s", rate.get_ref(), expected));
        }
    };
    Ok(Controller {
        command: Nanos::nearest(command_us * 1e3),
        xor_ns_per_sector: 512.0 * xor,
        bus_ns_per_sector,
        one_at_a_time,
        cache: cache(check, given)?,
    })
}

fn cache(check: &Checker<'_>, given: &ControllerFile) -> Result<Option<WriteBack>, ScenarioError> {
    let share = |value: &Option<Spanned<f64>>, key, default| match value {
        None => Ok(default),
        Some(v) if (0.0..=1.0).contains(v.get_ref()) => Ok(*v.get_ref()),
        Some(v) => Err(check.wrong(v, key, v.get_ref(), "a share of the cache, 0 to 1")),
    };
    let Some(size) = &given.cache else {
        if given.destage_above.is_some() || given.destage_below.is_some() {
            return Err(check.incomplete(
                "'controller.destage_above' and 'destage_below' are for a write-back cache: give its \
                 size with 'cache', or leave them out",
            ));
        }
        return Ok(None);
    };
    let bytes: Option<Bytes> = size.get_ref().parse().ok();
    let capacity = bytes
        .and_then(Bytes::sectors)
        .filter(|sectors| sectors.get() > 0)
        .ok_or_else(|| {
            check.wrong(
                size,
                "controller.cache",
                format!("'{}'", size.get_ref()),
                "a size such as \"64MiB\", a whole number of sectors of 512 B",
            )
        })?;
    let above = share(&given.destage_above, "controller.destage_above", 0.0)?;
    let below = share(&given.destage_below, "controller.destage_below", 0.0)?;
    if let Some(v) = &given.destage_below
        && below > above
    {
        return Err(check.wrong(
            v,
            "controller.destage_below",
            below,
            format!("at most 'destage_above', which is {above}"),
        ));
    }
    let part = |share: f64| Sectors::new((share * f64::from(capacity.get())).round() as u32);
    Ok(Some(WriteBack {
        capacity,
        high: part(above),
        low: part(below),
    }))
}

pub(super) fn rebuild(
    check: &Checker<'_>,
    file: &ScenarioFile,
    level: LevelOptions,
    failed: &[usize],
) -> Result<Option<Rebuild>, ScenarioError> {
    let Some(RebuildFile {
        stripes_per_s,
        stripes,
    }) = &file.rebuild
    else {
        return Ok(None);
    };
    if failed.is_empty() {
        return Err(check.incomplete(
            "[rebuild] rebuilds what has failed, and nothing has: say what with 'array.failed'",
        ));
    }
    if matches!(level, LevelOptions::Parity { groups: 2.., .. }) {
        return Err(check.incomplete(
            "[rebuild] is for one group: simulate the group that rebuilds as RAID 5 or 6",
        ));
    }
    let distance = match stripes_per_s {
        None => Nanos::ZERO,
        Some(rate) if (1e-6..=1e9).contains(rate.get_ref()) => {
            Nanos::from_secs_f64(1.0 / rate.get_ref())
        }
        Some(rate) => {
            let expected = "a rate in stripes per second, 1e-6 to 1e9";
            return Err(check.wrong(rate, "rebuild.stripes_per_s", rate.get_ref(), expected));
        }
    };
    let most = match stripes {
        None => u64::MAX,
        Some(n) if *n.get_ref() == 0 => {
            return Err(check.wrong(n, "rebuild.stripes", 0, "at least 1"));
        }
        Some(n) => *n.get_ref(),
    };
    Ok(Some(Rebuild { distance, most }))
}
