//! What is simulated: the tables `[array]` and `[disk]`.

use std::fmt::Display;

use iosonar_disk_model::{RpoCount, Scheduler};
use iosonar_raid::rules::{FullTurn, JoinOrder, PrereadSeek, Rules};
use iosonar_raid::{
    GeometryError, MirrorRead, ParityLayout, Placement, RandomLayout, ReadLayout, WriteStart,
};
use iosonar_units::{Bytes, Sectors};
use toml::Spanned;

use super::check::Checker;
use crate::ScenarioError;
use crate::file::{
    ArrayFile, DiskFile, FullTurnName, JoinName, LayoutName, LevelName, MirrorReadName,
    PlacementName, PrereadSeekName, ReadLayoutName, RpoCountName, ScenarioFile, SchedulerName,
    WriteStartName,
};

const DEFAULT_STRIPE_UNIT: Sectors = Sectors::new(256);

/// A RAID level with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striping.
    Raid0,
    /// A mirror of stripes.
    Raid01(MirrorRead),
    /// Rotating parity.
    Raid5(ParityLayout, RandomLayout),
}

impl Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raid0 => "RAID 0",
            Self::Raid01(_) => "RAID 01",
            Self::Raid5(..) => "RAID 5",
        })
    }
}

/// The RAID level with the options that belong to it; options of other levels are refused.
pub(super) fn level(check: &Checker<'_>, array: &ArrayFile) -> Result<Level, ScenarioError> {
    let stray = |key, of| {
        let problem = format!("'array.{key}' is for {of}: leave it out");
        Err(check.incomplete(&problem))
    };
    let partial_writes =
        array.join.is_some() || array.preread_seek.is_some() || array.full_turn.is_some();
    if array.level != LevelName::Raid5
        && (array.layout.is_some() || array.read_layout.is_some() || partial_writes)
    {
        return Err(check.incomplete(
            "'layout', 'read_layout', 'join', 'preread_seek' and 'full_turn' of [array] are \
             for RAID 5: leave them out",
        ));
    }
    match (array.level, array.write_start, array.mirror_read) {
        (LevelName::Raid0 | LevelName::Raid01, Some(_), _) => {
            stray("write_start", "RAID 5, which has parity")
        }
        (LevelName::Raid0 | LevelName::Raid5, _, Some(_)) => {
            stray("mirror_read", "RAID 01, which has mirrors")
        }
        (LevelName::Raid0, None, None) => Ok(Level::Raid0),
        (LevelName::Raid01, None, read) => Ok(Level::Raid01(match read {
            None | Some(MirrorReadName::Halves) => MirrorRead::Halves,
            Some(MirrorReadName::RoundRobin) => MirrorRead::RoundRobin,
            Some(MirrorReadName::AlternatingRows) => MirrorRead::AlternatingRows,
            Some(MirrorReadName::RandomPerBlock) => MirrorRead::RandomPerBlock,
        })),
        (LevelName::Raid5, start, None) => Ok(Level::Raid5(
            parity_layout(array),
            RandomLayout {
                write_start: match start {
                    None | Some(WriteStartName::AfterParity) => WriteStart::AfterParity,
                    Some(WriteStartName::ArrayFirst) => WriteStart::ArrayFirst,
                    Some(WriteStartName::Random) => WriteStart::Random,
                },
                read: match array.read_layout {
                    None | Some(ReadLayoutName::Continue) => ReadLayout::Continue,
                    Some(ReadLayoutName::Restart) => ReadLayout::Restart,
                    Some(ReadLayoutName::Wrap) => ReadLayout::Wrap,
                },
            },
        )),
    }
}

fn parity_layout(array: &ArrayFile) -> ParityLayout {
    match array.layout {
        None | Some(LayoutName::LeftSymmetric) => ParityLayout::LeftSymmetric,
        Some(LayoutName::LeftAsymmetric) => ParityLayout::LeftAsymmetric,
        Some(LayoutName::RightSymmetric) => ParityLayout::RightSymmetric,
        Some(LayoutName::RightAsymmetric) => ParityLayout::RightAsymmetric,
    }
}

/// The rules of partial-stripe writes.
pub(super) fn rules(array: &ArrayFile) -> Rules {
    Rules {
        join: match array.join {
            None | Some(JoinName::WritesFirst) => JoinOrder::WritesFirst,
            Some(JoinName::DiskFirst) => JoinOrder::DiskFirst,
        },
        preread_seek: match array.preread_seek {
            None | Some(PrereadSeekName::Read) => PrereadSeek::Read,
            Some(PrereadSeekName::Write) => PrereadSeek::Write,
        },
        full_turn: match array.full_turn {
            None | Some(FullTurnName::Revolution) => FullTurn::Revolution,
            Some(FullTurnName::LessTransfer) => FullTurn::LessTransfer,
        },
    }
}

pub(super) fn scheduler(check: &Checker<'_>, disk: &DiskFile) -> Result<Scheduler, ScenarioError> {
    let most = match &disk.rpo_most {
        Some(most) if *most.get_ref() == 0 => {
            return Err(check.wrong(most, "disk.rpo_most", 0, "at least 1"));
        }
        Some(most) => *most.get_ref(),
        None => usize::MAX,
    };
    match disk.scheduler {
        None | Some(SchedulerName::Fcfs) => {
            if disk.rpo_count.is_some() || disk.rpo_most.is_some() {
                return Err(check.incomplete(
                    "'disk.rpo_count' and 'disk.rpo_most' are for scheduler = \"rpo\": leave them out",
                ));
            }
            Ok(Scheduler::Fcfs)
        }
        Some(SchedulerName::Rpo) => Ok(Scheduler::Rpo {
            count: match disk.rpo_count {
                None | Some(RpoCountName::Including) => RpoCount::Including,
                Some(RpoCountName::Excluding) => RpoCount::Excluding,
            },
            most,
        }),
    }
}

pub(super) fn wrong_geometry(
    check: &Checker<'_>,
    array: &ArrayFile,
    error: &GeometryError,
) -> ScenarioError {
    match *error {
        GeometryError::Disks { level, least, seen } => check.wrong(
            &array.disks,
            "array.disks",
            seen,
            format!("{least} to 1024 for {level}"),
        ),
        GeometryError::OddDisks { level, seen } => check.wrong(
            &array.disks,
            "array.disks",
            seen,
            format!("an even number for {level}"),
        ),
        GeometryError::StripeUnit { .. } => match &array.stripe_unit {
            Some(unit) => check.wrong(
                unit,
                "array.stripe_unit",
                format!("'{}'", unit.get_ref()),
                "at least one sector, at most a disk",
            ),
            None => check.incomplete(&error.to_string()),
        },
    }
}

pub(super) fn stripe_unit(
    check: &Checker<'_>,
    given: Option<&Spanned<String>>,
) -> Result<Sectors, ScenarioError> {
    let Some(text) = given else {
        return Ok(DEFAULT_STRIPE_UNIT);
    };
    let wrong = |expected: String| {
        check.wrong(
            text,
            "array.stripe_unit",
            format!("'{}'", text.get_ref()),
            expected,
        )
    };
    let bytes: Bytes = text
        .get_ref()
        .parse()
        .map_err(|_| wrong("a size such as \"128KiB\"".to_owned()))?;
    match bytes.sectors() {
        Some(sectors) if sectors.get() > 0 => Ok(sectors),
        _ => Err(wrong(
            "a whole number of sectors of 512 B, at least one".to_owned(),
        )),
    }
}

pub(super) fn placement(
    check: &Checker<'_>,
    file: &ScenarioFile,
    trace: bool,
) -> Result<Placement, ScenarioError> {
    match (&file.array.placement, trace) {
        (None, true) => Ok(Placement::Addressed),
        (None, false) => Ok(Placement::Random),
        (Some(name), trace) => match (name.get_ref(), trace) {
            (PlacementName::Addressed, _) => Ok(Placement::Addressed),
            (PlacementName::Random, false) => Ok(Placement::Random),
            (PlacementName::Random, true) => Err(check.wrong(
                name,
                "array.placement",
                "\"random\"",
                "\"addressed\" with a trace: its requests have addresses and any length",
            )),
        },
    }
}
