//! What lies between the host and the disks: the tables `[controller]` and `[rebuild]`.

use iosonar_raid::{Controller, Rebuild, WriteBack};
use iosonar_units::{Bytes, Nanos, Sectors};
use toml::Spanned;

use super::check::Checker;
use crate::ScenarioError;
use crate::array_model::LevelOptions;
use crate::file::{
    ControllerDefaults, ControllerFile, ControllerLike, ModeName, RebuildFile, ScenarioFile,
};
use crate::words::Given;

/// The kind of controller that the scenario names.
pub(super) fn like(file: &ScenarioFile) -> Option<ControllerLike> {
    let like = file.controller.as_ref()?.like.as_ref()?;
    let Given(like) = like.get_ref();
    Some(*like)
}

pub(super) fn controller(
    check: &Checker<'_>,
    file: &ScenarioFile,
) -> Result<Controller, ScenarioError> {
    let none = ControllerFile::default();
    let given = file.controller.as_ref().unwrap_or(&none);
    let like = like(file);
    let cache = cache(check, given, like)?;
    let defaults = ControllerDefaults::of(like, cache.is_some());
    let within = |value: &Option<Spanned<f64>>, key, default, most: f64, unit| match value {
        None => Ok(default),
        Some(v) if (0.0..=most).contains(v.get_ref()) => Ok(*v.get_ref()),
        Some(v) => {
            let expected = format!("a time in {unit}, 0 to {most:e}");
            Err(check.wrong(v, key, v.get_ref(), expected))
        }
    };
    let ns_per_sector = |value: &Option<Spanned<f64>>, key, default: Option<f64>| match value {
        None => Ok(default.map_or(0.0, ns_per_sector)),
        Some(rate) if (1e-3..=1e9).contains(rate.get_ref()) => Ok(ns_per_sector(*rate.get_ref())),
        Some(rate) => {
            let expected = "a rate in millions of bytes per second, 0.001 to 1e9";
            Err(check.wrong(rate, key, rate.get_ref(), expected))
        }
    };
    let command_us = within(
        &given.command_us,
        "controller.command_us",
        defaults.command_us,
        1e9,
        "microseconds",
    )?;
    let xor = within(
        &given.xor_ns_per_byte,
        "controller.xor_ns_per_byte",
        0.0,
        1e6,
        "nanoseconds",
    )?;
    Ok(Controller {
        command: Nanos::nearest(command_us * 1e3),
        host_ns_per_sector: ns_per_sector(
            &given.host_mb_per_s,
            "controller.host_mb_per_s",
            defaults.host_mb_per_s,
        )?,
        xor_ns_per_sector: 512.0 * xor,
        bus_ns_per_sector: ns_per_sector(
            &given.bus_mb_per_s,
            "controller.bus_mb_per_s",
            defaults.bus_mb_per_s,
        )?,
        one_at_a_time: file.array.mode == Some(ModeName::SplitMerge),
        cache,
    })
}

/// The time of a sector at a rate.
pub(crate) fn ns_per_sector(mb_per_s: f64) -> f64 {
    512.0 * 1e3 / mb_per_s
}

fn cache(
    check: &Checker<'_>,
    given: &ControllerFile,
    like: Option<ControllerLike>,
) -> Result<Option<WriteBack>, ScenarioError> {
    let share = |value: &Option<Spanned<f64>>, key, default| match value {
        None => Ok(default),
        Some(v) if (0.0..=1.0).contains(v.get_ref()) => Ok(*v.get_ref()),
        Some(v) => Err(check.wrong(v, key, v.get_ref(), "a share of the cache, 0 to 1")),
    };
    let usual = like.and_then(|like| like.defaults().cache);
    let usual = usual.map(|size| Spanned::new(0..0, size.to_owned()));
    let size = given.cache.as_ref().or(usual.as_ref());
    let capacity = size.map_or(Ok(Sectors::new(0)), |size| {
        let bytes: Option<Bytes> = size.get_ref().parse().ok();
        let wrong = || {
            check.wrong(
                size,
                "controller.cache",
                format!("'{}'", size.get_ref()),
                "a size such as \"64MiB\", a whole number of sectors of 512 B, or \"0\" for no cache",
            )
        };
        bytes.and_then(Bytes::sectors).ok_or_else(wrong)
    })?;
    if capacity.get() == 0 {
        if given.destage_above.is_some() || given.destage_below.is_some() {
            return Err(check.incomplete(
                "'controller.destage_above' and 'destage_below' need a write-back cache: \
                 set its size with 'cache', or remove these keys",
            ));
        }
        return Ok(None);
    }
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
    level: &LevelOptions,
    failed: &[usize],
) -> Result<Option<Rebuild>, ScenarioError> {
    let Some(RebuildFile {
        stripes_per_s,
        stripes,
    }) = &file.rebuild
    else {
        return Ok(None);
    };
    if failed.is_empty() && file.event.iter().all(|event| event.fail.is_none()) {
        return Err(check.incomplete(
            "[rebuild] needs a failed disk: name it in 'array.failed', or in an [[event]] with 'fail'",
        ));
    }
    if matches!(
        level,
        LevelOptions::Striped | LevelOptions::Linear { .. } | LevelOptions::Registered(_)
    ) {
        return Err(
            check.incomplete("[rebuild] needs a level with redundancy: RAID 1, 10, 01, 5 or 6")
        );
    }
    if matches!(level, LevelOptions::Parity { groups: 2.., .. }) {
        return Err(check.incomplete(
            "[rebuild] does not support RAID 50 and 60: simulate only the group to rebuild, as RAID 5 or 6",
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
