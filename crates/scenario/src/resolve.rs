//! From what is written to what is meant: every value checked, every default filled in.

mod check;
mod load;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use iosonar_disk_model::{DiskProfile, RpoCount, Scheduler};
use iosonar_raid::rules::{FullTurn, JoinOrder, PrereadSeek, Rules};
use iosonar_raid::{
    GeometryError, MirrorRead, ParityLayout, Placement, Raid0, Raid01, Raid5, RandomLayout,
    ReadLayout, WriteStart,
};
use iosonar_sim_core::Seed;
use iosonar_trace::Selection;
use iosonar_units::{Bytes, Sectors};
use toml::Spanned;

use crate::ScenarioError;
use crate::file::{
    ArrayFile, DiskFile, FullTurnName, JoinName, LayoutName, LevelName, MirrorReadName,
    PlacementName, PrereadSeekName, ReadLayoutName, RpoCountName, ScenarioFile, SchedulerName,
    WriteStartName,
};
use check::Checker;
pub use load::Load;

const DEFAULT_STRIPE_UNIT: Sectors = Sectors::new(256);

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A trace in place of the file's load.
    pub trace: Option<PathBuf>,
    /// Which part of the trace, and how fast.
    pub selection: Selection,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another number of replications.
    pub replications: Option<u32>,
}

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

/// A simulation that can be run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Where all randomness comes from.
    pub seed: u64,
    /// How many independent runs, at least 1.
    pub replications: u32,
    /// How many requests at the beginning of each run are not measured.
    pub warmup_requests: u64,
    /// What drives it.
    pub load: Load,
    /// The RAID level.
    pub level: Level,
    /// How many disks.
    pub disks: usize,
    /// The stripe unit.
    pub stripe_unit: Sectors,
    /// Where requests go.
    pub placement: Placement,
    /// How partial-stripe writes are carried out.
    pub rules: Rules,
    /// The drive.
    pub profile: DiskProfile,
    /// What each disk does with waiting jobs.
    pub scheduler: Scheduler,
}

impl Simulation {
    /// Reads and resolves the scenario file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read or means nothing that can be simulated.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::from_toml(&text, path, overrides)
    }

    /// Resolves the text of a scenario; `path` is for messages, and relative paths in the text are
    /// relative to its directory.
    ///
    /// # Errors
    /// If the text means nothing that can be simulated.
    pub fn from_toml(
        text: &str,
        path: &Path,
        overrides: &Overrides,
    ) -> Result<Self, ScenarioError> {
        let file: ScenarioFile = toml::from_str(text).map_err(|e| ScenarioError::Syntax {
            path: path.to_owned(),
            message: e.to_string(),
        })?;
        let check = Checker { path, text };
        let directory = path.parent().unwrap_or(Path::new("."));

        let replications = overrides.replications.map_or_else(
            || match &file.replications {
                Some(n) if *n.get_ref() == 0 => {
                    Err(check.wrong(n, "replications", 0, "at least 1"))
                }
                given => Ok(given.as_ref().map_or(1, |n| *n.get_ref())),
            },
            Ok,
        )?;
        let stripe_unit = stripe_unit(&check, file.array.stripe_unit.as_ref())?;
        let profile = DiskProfile::load(&file.disk.profile, directory)?;
        let level = level(&check, &file.array)?;
        let trace = match (&overrides.trace, &file.load) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(load)) => load.trace.as_ref().map(|t| directory.join(t.get_ref())),
            (None, None) => None,
        };
        let placement = placement(&check, &file, trace.is_some())?;
        let random = file.array.write_start.is_some() || file.array.read_layout.is_some();
        if placement == Placement::Random && file.array.layout.is_some() {
            return Err(check.incomplete(
                "'array.layout' is for placement = \"addressed\": random placement has no layout",
            ));
        }
        if placement == Placement::Addressed && random {
            return Err(check.incomplete(
                "'array.write_start' and 'array.read_layout' are for random placement: with addresses \
                 a request lies where it says",
            ));
        }
        let disks = *file.array.disks.get_ref();
        let mut simulation = Self {
            seed: overrides.seed.or(file.seed).unwrap_or(1),
            replications,
            warmup_requests: file.warmup_requests.as_ref().map_or(0, |n| *n.get_ref()),
            // Replaced below: the synthetic load's address space is the array's.
            load: Load::Trace {
                path: PathBuf::new(),
                selection: Selection::default(),
            },
            level,
            disks,
            stripe_unit,
            placement,
            profile,
            rules: rules(&file.array),
            scheduler: scheduler(&check, &file.disk)?,
        };
        let data_sectors = simulation
            .data_sectors()
            .map_err(|e| wrong_geometry(&check, &file.array, &e))?;
        simulation.load = match (trace, &file.load) {
            (Some(path), load) => {
                if overrides.trace.is_none()
                    && let Some(load) = load
                    && (load.requests.is_some()
                        || load.arrivals.is_some()
                        || load.size.is_some()
                        || load.batch.is_some()
                        || load.read_share.is_some())
                {
                    return Err(check.incomplete(
                        "[load] has a 'trace' and the laws of a synthetic load: leave one out",
                    ));
                }
                Load::Trace {
                    path,
                    selection: overrides.selection,
                }
            }
            (None, Some(_)) if overrides.selection != Selection::default() => {
                return Err(check.incomplete(
                    "--from, --until, --duration, --speed and --ops are for traces, and the load is \
                     synthetic: leave them out, or give a --trace",
                ));
            }
            (None, Some(load)) => load::synthetic(
                &check,
                load,
                stripe_unit,
                data_sectors,
                simulation.warmup_requests,
            )?,
            (None, None) => {
                return Err(check.incomplete(
                    "there is no load: give one with --trace FILE, or write a table [load] with \
                     'trace', or with 'requests', 'arrivals' and 'size'",
                ));
            }
        };
        Ok(simulation)
    }

    /// How many sectors of data the array holds.
    fn data_sectors(&self) -> Result<u64, GeometryError> {
        use iosonar_raid::Planner;
        let seed = Seed::new(self.seed);
        Ok(match self.level {
            Level::Raid0 => self.raid0(&seed)?.data_sectors(),
            Level::Raid01(read) => self.raid01(read, &seed)?.data_sectors(),
            Level::Raid5(layout, random) => self.raid5(layout, random, &seed)?.data_sectors(),
        })
    }

    pub(crate) fn raid0(&self, seed: &Seed) -> Result<Raid0, GeometryError> {
        Raid0::new(
            self.disks,
            self.stripe_unit,
            self.profile.capacity_sectors,
            self.placement,
            seed,
        )
    }

    pub(crate) fn raid01(&self, read: MirrorRead, seed: &Seed) -> Result<Raid01, GeometryError> {
        Raid01::new(
            self.disks,
            self.stripe_unit,
            self.profile.capacity_sectors,
            self.placement,
            read,
            seed,
        )
    }

    pub(crate) fn raid5(
        &self,
        layout: ParityLayout,
        random: RandomLayout,
        seed: &Seed,
    ) -> Result<Raid5, GeometryError> {
        Raid5::new(
            self.disks,
            self.stripe_unit,
            self.profile.capacity_sectors,
            self.placement,
            layout,
            random,
            seed,
        )
    }
}

/// The RAID level with the options that belong to it; options of other levels are refused.
fn level(check: &Checker<'_>, array: &ArrayFile) -> Result<Level, ScenarioError> {
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
fn rules(array: &ArrayFile) -> Rules {
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

fn scheduler(check: &Checker<'_>, disk: &DiskFile) -> Result<Scheduler, ScenarioError> {
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

fn wrong_geometry(check: &Checker<'_>, array: &ArrayFile, error: &GeometryError) -> ScenarioError {
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

fn stripe_unit(
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

fn placement(
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
