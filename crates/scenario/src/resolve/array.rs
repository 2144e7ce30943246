//! What is simulated: the tables `[array]` and `[disk]`.

use iosonar_raid::rules::Rules;
use iosonar_raid::{Arrangement, GeometryError, MirrorRead, Placement, RandomLayout};
use iosonar_units::{Bytes, Sectors};
use toml::Spanned;

use super::check::Checker;
use crate::Registry;
use crate::ScenarioError;
use crate::array_model::LevelOptions;
use crate::file::{ArrayFile, DiskModelName, GivenLevel, LevelName, ScenarioFile};
use crate::words::{Given, value_or_default};

const DEFAULT_STRIPE_UNIT: Sectors = Sectors::new(256);

/// The RAID level with the options that belong to it; options of other levels are refused.
pub(super) fn level(
    check: &Checker<'_>,
    array: &ArrayFile,
    registry: &Registry,
) -> Result<LevelOptions, ScenarioError> {
    let disks = *array.disks.get_ref();
    let parity = |parities, groups| LevelOptions::Parity {
        parities,
        groups,
        layout: value_or_default(array.layout),
        random: RandomLayout {
            write_start: value_or_default(array.write_start),
            read: value_or_default(array.read_layout),
        },
    };
    let mirrored = |arrangement, copies, read| LevelOptions::Mirrored {
        arrangement,
        copies,
        read: array.mirror_read.map_or(read, |Given(read)| read),
    };
    let copies = array.copies.as_ref().map_or(2, |n| *n.get_ref());
    let groups = array.groups.as_ref().map_or(2, |n| *n.get_ref());
    let built_in = |level| match level {
        LevelName::Raid0 => LevelOptions::Striped,
        LevelName::Raid1 => mirrored(Arrangement::Neighbours, disks, MirrorRead::Random),
        LevelName::Raid10 => mirrored(Arrangement::Neighbours, copies, MirrorRead::Random),
        LevelName::Raid01 => mirrored(Arrangement::Sides, copies, MirrorRead::Halves),
        LevelName::Raid5 => parity(1, 1),
        LevelName::Raid6 => parity(2, 1),
        LevelName::Raid50 => parity(1, groups),
        LevelName::Raid60 => parity(2, groups),
        LevelName::Jbod => LevelOptions::Linear { bunch: true },
        LevelName::Concat => LevelOptions::Linear { bunch: false },
    };
    let level = match array.level.get_ref() {
        GivenLevel::BuiltIn(level) => built_in(*level),
        GivenLevel::Other(name) => super::device::level(check, array, name, registry)?,
    };
    if let Some(options) = &array.options
        && !matches!(level, LevelOptions::Registered(_))
    {
        let problem = "apply only to registered levels: remove the table";
        return Err(check.refused(options, "array.options", problem));
    }
    let has_parity = matches!(level, LevelOptions::Parity { .. });
    let has_mirrors = matches!(level, LevelOptions::Mirrored { .. });
    let stray = [
        ("layout", array.layout.is_some() && !has_parity),
        ("write_start", array.write_start.is_some() && !has_parity),
        ("read_layout", array.read_layout.is_some() && !has_parity),
        ("join", array.join.is_some() && !has_parity),
        ("preread_seek", array.preread_seek.is_some() && !has_parity),
        ("full_turn", array.full_turn.is_some() && !has_parity),
        (
            "transfer_memory",
            array.transfer_memory.is_some() && !has_parity,
        ),
    ];
    if let Some((key, _)) = stray.iter().find(|(_, stray)| *stray) {
        let problem = format!(
            "'array.{key}' needs a level with parity, such as RAID 5: remove the key or change the level"
        );
        return Err(check.incomplete(&problem));
    }
    if array.mirror_read.is_some() && !has_mirrors {
        return Err(check.incomplete(
            "'array.mirror_read' needs a mirrored level (RAID 1, 10 or 01): remove the key or change the level",
        ));
    }
    check_counts(check, array, groups)?;
    Ok(level)
}

/// Copies and groups, of levels that have them.
fn check_counts(
    check: &Checker<'_>,
    array: &ArrayFile,
    groups: usize,
) -> Result<(), ScenarioError> {
    if let Some(copies) = &array.copies
        && !matches!(
            array.built_in(),
            Some(LevelName::Raid10 | LevelName::Raid01)
        )
    {
        let expected =
            "no value, as 'copies' applies to RAID 10 and 01; RAID 1 has one copy per disk";
        return Err(check.wrong(copies, "array.copies", copies.get_ref(), expected));
    }
    if let Some(given) = &array.groups {
        let grouped = matches!(
            array.built_in(),
            Some(LevelName::Raid50 | LevelName::Raid60)
        );
        let expected = match grouped {
            false => {
                "no value, as 'groups' applies to RAID 50 and 60: remove the key or use one of these levels"
            }
            true => "at least 2: use RAID 5 or 6 for a single group",
        };
        if !grouped || groups < 2 {
            return Err(check.wrong(given, "array.groups", groups, expected));
        }
    }
    Ok(())
}

/// The failed disks, each once.
pub(super) fn failed(check: &Checker<'_>, array: &ArrayFile) -> Result<Vec<usize>, ScenarioError> {
    let Some(given) = &array.failed else {
        return Ok(Vec::new());
    };
    let mut failed = given.get_ref().clone();
    failed.sort_unstable();
    if failed.windows(2).any(|pair| pair[0] == pair[1]) {
        let seen = format!("{failed:?}");
        return Err(check.wrong(given, "array.failed", seen, "each disk at most once"));
    }
    Ok(failed)
}

/// The rules of partial-stripe writes.
pub(super) fn rules(array: &ArrayFile) -> Rules {
    Rules {
        join: value_or_default(array.join),
        preread_seek: value_or_default(array.preread_seek),
        full_turn: value_or_default(array.full_turn),
        transfer: value_or_default(array.transfer_memory),
        coalesce: false,
    }
}

pub(super) fn wrong_geometry(
    check: &Checker<'_>,
    array: &ArrayFile,
    error: &GeometryError,
) -> ScenarioError {
    match error {
        GeometryError::Disks { level, least, seen } if array.groups.is_some() => check.wrong(
            &array.disks,
            "array.disks",
            array.disks.get_ref(),
            format!("groups of {least} to 1024 disks for {level}, at most 1024 in total (this gives {seen})"),
        ),
        GeometryError::Disks { level, least, seen } => check.wrong(
            &array.disks,
            "array.disks",
            seen,
            format!("{least} to 1024 for {level}"),
        ),
        GeometryError::Copies { level, copies, .. } if *copies < 2 => match &array.copies {
            Some(given) => check.wrong(
                given,
                "array.copies",
                copies,
                format!("at least 2 for {level}"),
            ),
            None => check.wrong(&array.disks, "array.disks", copies, format!("at least 2 for {level}")),
        },
        GeometryError::Copies { copies, seen, .. } => check.wrong(
            &array.disks,
            "array.disks",
            seen,
            match array.like {
                Some(_) => format!("at least {copies}, the number of copies"),
                None => format!("a multiple of {copies}, the number of copies"),
            },
        ),
        GeometryError::UnequalGroups { groups, seen } => check.wrong(
            &array.disks,
            "array.disks",
            seen,
            format!("a multiple of the {groups} groups"),
        ),
        GeometryError::Lost { level, most, .. } => match &array.failed {
            Some(failed) => check.wrong(
                failed,
                "array.failed",
                format!("{:?}", failed.get_ref()),
                format!("no more failed disks than {level} tolerates (the loss of {most})"),
            ),
            None => check.incomplete(&error.to_string()),
        },
        GeometryError::NoSuchDisk { disks, .. } => match &array.failed {
            Some(failed) => check.wrong(
                failed,
                "array.failed",
                format!("{:?}", failed.get_ref()),
                format!("disks from 0 to {}", disks.saturating_sub(1)),
            ),
            None => check.incomplete(&error.to_string()),
        },
        GeometryError::StripeUnit { disk_sectors, .. } => {
            wrong_stripe_unit(check, array, *disk_sectors)
                .unwrap_or_else(|| check.incomplete(&error.to_string()))
        }
        GeometryError::Groups { .. } => check.incomplete(&error.to_string()),
        GeometryError::Registered { level, problem } => match &array.options {
            Some(options) => check.refused(options, "array.options", &format!("are invalid for the level \"{level}\": \
                {problem}")),
            None => check.refused(&array.level, "array.level", &format!("\"{level}\" cannot be created: {problem}")),
        },
    }
}

/// A stripe unit is larger than a disk: what is named is the one that the scenario gives.
fn wrong_stripe_unit(
    check: &Checker<'_>,
    array: &ArrayFile,
    disk_sectors: u64,
) -> Option<ScenarioError> {
    let disk = Bytes::new(disk_sectors * 512);
    let Some(unit) = &array.stripe_unit else {
        let expected = format!("at least the stripe unit, {}", DEFAULT_STRIPE_UNIT.bytes());
        return check.wrong_at("device.capacity", &disk.to_string(), &expected);
    };
    let seen = format!("'{}'", unit.get_ref());
    let expected = format!("at most the size of a disk, {disk_sectors} sectors of 512 B ({disk})");
    Some(check.wrong(unit, "array.stripe_unit", seen, expected))
}

pub(super) fn stripe_unit(
    check: &Checker<'_>,
    array: &ArrayFile,
) -> Result<Sectors, ScenarioError> {
    match &array.stripe_unit {
        Some(text) => sectors(check, "array.stripe_unit", text),
        None if array.like.is_some() => Ok(super::md::DEFAULT_CHUNK),
        None if array.is_given() => Ok(DEFAULT_STRIPE_UNIT),
        None => Ok(super::ssd::BLOCK),
    }
}

/// A size that is a whole number of sectors.
pub(super) fn sectors(
    check: &Checker<'_>,
    key: &'static str,
    text: &Spanned<String>,
) -> Result<Sectors, ScenarioError> {
    whole_sectors(text.get_ref())
        .map_err(|expected| check.wrong(text, key, format!("'{}'", text.get_ref()), expected))
}

/// A size that is a whole number of sectors, or what is expected instead.
pub(super) fn whole_sectors(text: &str) -> Result<Sectors, String> {
    let bytes: Bytes = text
        .parse()
        .map_err(|_| "a size such as \"128KiB\"".to_owned())?;
    match bytes.sectors() {
        Some(sectors) if is_decimal(text) => {
            let binary = text.trim().to_ascii_lowercase();
            let (number, unit) = binary.split_at(binary.len() - 2);
            let meant = format!("{}{}iB", number.trim(), unit[..1].to_ascii_uppercase());
            Err(format!(
                "a binary unit (this is {} bytes): write \"{meant}\" for powers of 1024, or \"{}s\" for the same number of sectors of 512 B",
                bytes.get(),
                sectors.get()
            ))
        }
        Some(sectors) if sectors.get() > 0 => Ok(sectors),
        None if bytes.get().is_multiple_of(512) => Err(format!(
            "less than {}, 2^32 sectors of 512 B",
            Bytes::new(512 << 32)
        )),
        _ => Err("a whole number of sectors of 512 B, at least one".to_owned()),
    }
}

/// Whether a size has a decimal unit: `64KB` are 64,000 bytes, and stripe units and blocks are powers of two.
fn is_decimal(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let units = ["kb", "mb", "gb", "tb"];
    units.iter().any(|unit| text.ends_with(unit))
}

pub(super) fn placement(
    check: &Checker<'_>,
    file: &ScenarioFile,
    trace: bool,
) -> Result<Placement, ScenarioError> {
    match (&file.array.placement, trace) {
        (None, true) => Ok(Placement::Addressed),
        (None, false)
            if file.ssd.is_some()
                || file.device.is_some()
                || file.array.built_in().is_none()
                || file
                    .disk
                    .as_ref()
                    .is_some_and(|disk| disk.model == Some(DiskModelName::Positional))
                || has_addresses(file)
                || file.load.as_ref().is_some_and(super::sizes::are_in_bytes) =>
        {
            Ok(Placement::Addressed)
        }
        (Some(name), false) if name.get_ref().0 == Placement::Random && has_addresses(file) => {
            let expected =
                "\"addressed\", as the load has 'addresses', which random placement ignores";
            Err(check.wrong(name, "array.placement", "\"random\"", expected))
        }
        (None, false) => Ok(Placement::Random),
        (Some(name), true) if name.get_ref().0 == Placement::Random => Err(check.wrong(
            name,
            "array.placement",
            "\"random\"",
            "\"addressed\", as the requests of a trace have addresses and arbitrary lengths",
        )),
        (Some(name), _) => Ok(name.get_ref().0),
    }
}

/// Whether the load says where its requests lie.
fn has_addresses(file: &ScenarioFile) -> bool {
    file.load.as_ref().is_some_and(|load| {
        let classes = load.class.iter().flatten();
        load.addresses.is_some() || classes.into_iter().any(|class| class.addresses.is_some())
    })
}
