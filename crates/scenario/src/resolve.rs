//! From what is written to what is meant: every value checked, every default filled in.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use iosonar_disk_model::{DiskProfile, Scheduler};
use iosonar_raid::{Placement, Raid0, Raid5, WriteStart};
use iosonar_sim_core::Seed;
use iosonar_trace::Selection;
use iosonar_units::{Bytes, Sectors};
use iosonar_workload::{Arrivals, Size, Workload};
use toml::Spanned;

use crate::ScenarioError;
use crate::file::{
    ArrivalsFile, LevelName, LoadFile, PlacementName, ScenarioFile, SchedulerName, SizeFile,
    WriteStartName,
};

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
    /// Rotating parity.
    Raid5(WriteStart),
}

impl Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raid0 => "RAID 0",
            Self::Raid5(_) => "RAID 5",
        })
    }
}

/// What drives a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Laws.
    Synthetic {
        /// The laws.
        workload: Workload,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// A recording.
    Trace {
        /// The file.
        path: PathBuf,
        /// Which part of it, and how fast.
        selection: Selection,
    },
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
    /// The drive.
    pub profile: DiskProfile,
    /// What each disk does with waiting jobs.
    pub scheduler: Scheduler,
}

/// Names places in the scenario file.
struct Checker<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Checker<'_> {
    fn wrong<T>(
        &self,
        value: &Spanned<T>,
        key: &'static str,
        seen: impl Display,
        expected: impl Into<String>,
    ) -> ScenarioError {
        let line = 1 + self.text[..value.span().start].matches('\n').count();
        ScenarioError::Value {
            path: self.path.to_owned(),
            line,
            key,
            seen: seen.to_string(),
            expected: expected.into(),
        }
    }

    fn incomplete(&self, problem: &str) -> ScenarioError {
        ScenarioError::Incomplete {
            path: self.path.to_owned(),
            problem: problem.to_owned(),
        }
    }
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
        let level = match (file.array.level, file.array.write_start) {
            (LevelName::Raid0, None) => Level::Raid0,
            (LevelName::Raid0, Some(_)) => {
                return Err(check.incomplete(
                    "'array.write_start' is for RAID 5: RAID 0 has no parity to start behind",
                ));
            }
            (LevelName::Raid5, None | Some(WriteStartName::AfterParity)) => {
                Level::Raid5(WriteStart::AfterParity)
            }
            (LevelName::Raid5, Some(WriteStartName::ArrayFirst)) => {
                Level::Raid5(WriteStart::ArrayFirst)
            }
            (LevelName::Raid5, Some(WriteStartName::Random)) => Level::Raid5(WriteStart::Random),
        };
        let trace = match (&overrides.trace, &file.load) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(load)) => load.trace.as_ref().map(|t| directory.join(t.get_ref())),
            (None, None) => None,
        };
        let placement = placement(&check, &file, trace.is_some())?;
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
            scheduler: match file.disk.scheduler {
                None | Some(SchedulerName::Fcfs) => Scheduler::Fcfs,
                Some(SchedulerName::Rpo) => Scheduler::Rpo,
            },
        };
        let data_sectors = simulation
            .data_sectors()
            .map_err(|e| check.wrong(&file.array.disks, "array", disks, e.to_string()))?;
        simulation.load = match (trace, &file.load) {
            (Some(path), load) => {
                if overrides.trace.is_none()
                    && let Some(load) = load
                    && load.requests.is_some() | load.arrivals.is_some() | load.size.is_some()
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
            (None, Some(load)) => synthetic(&check, load, stripe_unit, data_sectors)?,
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
    fn data_sectors(&self) -> Result<u64, iosonar_raid::GeometryError> {
        use iosonar_raid::Planner;
        let seed = Seed::new(self.seed);
        Ok(match self.level {
            Level::Raid0 => self.raid0(&seed)?.data_sectors(),
            Level::Raid5(start) => self.raid5(start, &seed)?.data_sectors(),
        })
    }

    pub(crate) fn raid0(&self, seed: &Seed) -> Result<Raid0, iosonar_raid::GeometryError> {
        Raid0::new(
            self.disks,
            self.stripe_unit,
            self.profile.capacity_sectors,
            self.placement,
            seed,
        )
    }

    pub(crate) fn raid5(
        &self,
        start: WriteStart,
        seed: &Seed,
    ) -> Result<Raid5, iosonar_raid::GeometryError> {
        Raid5::new(
            self.disks,
            self.stripe_unit,
            self.profile.capacity_sectors,
            self.placement,
            start,
            seed,
        )
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

fn synthetic(
    check: &Checker<'_>,
    load: &LoadFile,
    block: Sectors,
    data_sectors: u64,
) -> Result<Load, ScenarioError> {
    let missing = |key| {
        check.incomplete(&format!(
            "'load.{key}' is missing; a synthetic load has 'requests', 'arrivals' and 'size' \
             (or give a trace: 'load.trace', or --trace FILE)"
        ))
    };
    let requests = load.requests.as_ref().ok_or_else(|| missing("requests"))?;
    if *requests.get_ref() == 0 {
        return Err(check.wrong(requests, "load.requests", 0, "at least 1"));
    }
    let arrivals = load.arrivals.as_ref().ok_or_else(|| missing("arrivals"))?;
    let rate = |per_s: f64| {
        if (1e-9..=1e9).contains(&per_s) {
            Ok(per_s)
        } else {
            Err(check.wrong(
                arrivals,
                "load.arrivals",
                per_s,
                "a rate above zero, in requests per second (at most 1e9)",
            ))
        }
    };
    let arrivals = match *arrivals.get_ref() {
        ArrivalsFile {
            poisson_per_s: Some(per_s),
            constant_per_s: None,
        } => Arrivals::Poisson {
            per_s: rate(per_s)?,
        },
        ArrivalsFile {
            poisson_per_s: None,
            constant_per_s: Some(per_s),
        } => Arrivals::Constant {
            per_s: rate(per_s)?,
        },
        _ => {
            return Err(check.wrong(
                arrivals,
                "load.arrivals",
                "not one law",
                "one of { poisson_per_s = 10.0 } and { constant_per_s = 10.0 }",
            ));
        }
    };
    let size = load.size.as_ref().ok_or_else(|| missing("size"))?;
    let most = data_sectors / u64::from(block.get());
    let fits = |blocks: f64| blocks >= 1.0 && blocks <= most as f64 && blocks <= 1e6;
    let size = match *size.get_ref() {
        SizeFile {
            blocks: Some(blocks),
            geometric_mean_blocks: None,
        } if fits(f64::from(blocks)) => Size::Blocks(blocks),
        SizeFile {
            blocks: None,
            geometric_mean_blocks: Some(mean),
        } if fits(mean) => Size::GeometricBlocks { mean },
        SizeFile {
            blocks,
            geometric_mean_blocks: mean,
        } => {
            let seen = match (blocks, mean) {
                (Some(blocks), None) => blocks.to_string(),
                (None, Some(mean)) => mean.to_string(),
                _ => "not one law".to_owned(),
            };
            return Err(check.wrong(
                size,
                "load.size",
                seen,
                "one of { blocks = 4 } and { geometric_mean_blocks = 4.0 }, at least 1 block, at \
                 most a million and what the array holds",
            ));
        }
    };
    let read_share = load.read_share.as_ref().map_or(Ok(1.0), |share| {
        if (0.0..=1.0).contains(share.get_ref()) {
            Ok(*share.get_ref())
        } else {
            Err(check.wrong(share, "load.read_share", share.get_ref(), "0 to 1"))
        }
    })?;
    Ok(Load::Synthetic {
        workload: Workload {
            arrivals,
            size,
            block,
            read_share,
            address_space: data_sectors,
        },
        requests: *requests.get_ref(),
    })
}
