//! From what is written to what is meant: every value checked, every default filled in.

mod array;
mod check;
mod load;

use std::path::{Path, PathBuf};

use iosonar_disk_model::{DiskProfile, Scheduler};
use iosonar_raid::rules::Rules;
use iosonar_raid::{
    GeometryError, MirrorRead, ParityLayout, Placement, Raid0, Raid01, Raid5, RandomLayout,
};
use iosonar_sim_core::Seed;
use iosonar_trace::Selection;
use iosonar_units::Sectors;

use crate::ScenarioError;
use crate::file::ScenarioFile;
pub use array::Level;
use check::Checker;
pub use load::Load;

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
        let stripe_unit = array::stripe_unit(&check, file.array.stripe_unit.as_ref())?;
        let profile = DiskProfile::load(&file.disk.profile, directory)?;
        let level = array::level(&check, &file.array)?;
        let trace = match (&overrides.trace, &file.load) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(load)) => load.trace.as_ref().map(|t| directory.join(t.get_ref())),
            (None, None) => None,
        };
        let placement = array::placement(&check, &file, trace.is_some())?;
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
            rules: array::rules(&file.array),
            scheduler: array::scheduler(&check, &file.disk)?,
        };
        let data_sectors = simulation
            .data_sectors()
            .map_err(|e| array::wrong_geometry(&check, &file.array, &e))?;
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
