//! From what is written to what is meant: every value checked, every default filled in.

mod array;
pub(crate) mod check;
mod controller;
mod disk;
mod load;
mod moved;
pub(crate) mod set;
mod ssd;

use std::path::{Path, PathBuf};

use iosonar_raid::Placement;
use iosonar_raid::rules::Rules;
use iosonar_trace::Reading;
use iosonar_trace::fit::Beyond;

use crate::file::{MirrorReadName, ScenarioFile};
use crate::{ArrayModel, Devices, DiskModel, ScenarioError, read_text};
use check::Checker;
pub use load::{Load, REQUESTS_PER_USER};
pub use moved::moved;
pub use set::apply as with_values;

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// A trace in place of the file's load.
    pub trace: Option<PathBuf>,
    /// Which part of the trace, and how fast.
    pub reading: Reading,
    /// What happens to requests of the trace beyond the end of the array.
    pub beyond: Beyond,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another number of replications.
    pub replications: Option<u32>,
    /// Other values, as (key, value in TOML), such as (`array.disks`, `8`).
    pub set: Vec<(String, String)>,
}

/// How many requests at the beginning of each run are not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// So many.
    Requests(u64),
    /// As many as a run of its own says, by MSER-5.
    Auto,
}

/// A simulation that can be run.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Where all randomness comes from.
    pub seed: u64,
    /// How many independent runs, at least 1.
    pub replications: u32,
    /// If given, runs end as soon as the mean is known this precisely: half the width of its 95 %
    /// interval as a share of it.
    pub precision: Option<f64>,
    /// How many requests at the beginning of each run are not measured.
    pub warmup: Warmup,
    /// What drives it.
    pub load: Load,
    /// What is driven.
    pub array: ArrayModel,
    /// Whether it is told what response times are made of.
    pub split: bool,
    /// How it is computed.
    pub method: Method,
}

/// How a simulation is computed. The result is the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Without events where that is exact.
    #[default]
    Fastest,
    /// Event by event.
    Events,
}

impl Simulation {
    /// Reads and resolves the scenario file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read or means nothing that can be simulated.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        Self::from_toml(&read_text(path)?, path, overrides)
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
        let (text, file) = set::read::<ScenarioFile>(text, path, &overrides.set)?;
        let check = Checker {
            path,
            text: &text,
            set: &overrides.set,
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let trace = match (&overrides.trace, &file.load) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(load)) => load.trace.as_ref().map(|t| directory.join(t.get_ref())),
            (None, None) => None,
        };
        let warmup = warmup(&check, &file)?;
        let array = array_model(&check, &file, directory, trace.is_some())?;
        let data_sectors = array
            .data_sectors()
            .map_err(|e| array::wrong_geometry(&check, &file.array, &e))?;
        let load = load::load(
            &check,
            &file,
            overrides,
            trace,
            &array,
            data_sectors,
            warmup,
        )?;
        Ok(Self {
            seed: overrides.seed.or(file.seed).unwrap_or(1),
            replications: replications(&check, &file, overrides)?,
            precision: None,
            warmup,
            load,
            array,
            split: false,
            method: Method::default(),
        })
    }
}

/// Something that the scenario does not say and the results depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The positional model needs a geometry, and the profile of this name has none: all sectors of a cylinder are on
    /// one surface, there are no skews, and zones follow from the transfer times.
    Geometry {
        /// The profile.
        profile: String,
    },
}

impl Simulation {
    /// What is assumed where the scenario does not say it.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let Devices::Disks(disks) = &self.array.devices else {
            return Vec::new();
        };
        if !matches!(disks.model, DiskModel::Positional(_)) {
            return Vec::new();
        }
        let mut assumptions = Vec::new();
        for profile in disks.kinds().filter(|profile| profile.geometry.is_assumed) {
            let assumption = Assumption::Geometry {
                profile: profile.name.clone(),
            };
            if !assumptions.contains(&assumption) {
                assumptions.push(assumption);
            }
        }
        assumptions
    }

    /// The same with another arrival rate of all classes together, each with its share; a closed loop and a
    /// trace stay as they are.
    #[must_use]
    pub fn at_rate(&self, per_s: f64) -> Self {
        let mut simulation = self.clone();
        if let (Some(now), Load::Synthetic { classes, .. }) =
            (self.load.requests_per_s(), &mut simulation.load)
        {
            for class in classes {
                class.arrivals = class.arrivals.scaled(per_s / now);
            }
        }
        simulation
    }
}

fn replications(
    check: &Checker<'_>,
    file: &ScenarioFile,
    overrides: &Overrides,
) -> Result<u32, ScenarioError> {
    match (overrides.replications, &file.replications) {
        (Some(n), _) => Ok(n),
        (None, None) => Ok(1),
        (None, Some(n)) if *n.get_ref() == 0 => {
            Err(check.wrong(n, "replications", 0, "at least 1"))
        }
        (None, Some(n)) => Ok(*n.get_ref()),
    }
}

fn warmup(check: &Checker<'_>, file: &ScenarioFile) -> Result<Warmup, ScenarioError> {
    let Some(given) = &file.warmup_requests else {
        return Ok(Warmup::Requests(0));
    };
    let number = given.get_ref().as_integer().map(u64::try_from);
    match (number, given.get_ref().as_str()) {
        (Some(Ok(n)), _) => Ok(Warmup::Requests(n)),
        (_, Some("auto")) => Ok(Warmup::Auto),
        _ => Err(check.wrong(
            given,
            "warmup_requests",
            given.get_ref(),
            "a number of requests from 0 on, or \"auto\"",
        )),
    }
}

fn array_model(
    check: &Checker<'_>,
    file: &ScenarioFile,
    directory: &Path,
    trace: bool,
) -> Result<ArrayModel, ScenarioError> {
    let (disk_file, ssd_file) = match (&file.disk, &file.ssd) {
        (Some(_), Some(_)) => {
            return Err(
                check.incomplete("there is [disk] and [ssd]: an array is of one or the other")
            );
        }
        (None, None) => {
            return Err(check.incomplete(
                "there is neither [disk] nor [ssd]: say of what the array is, such as [disk] with \
                 profile = \"seagate-st3500630ns\"",
            ));
        }
        (disk, ssd) => (disk.as_ref(), ssd.as_ref()),
    };
    if disk_file.is_some() && !file.array.is_given() {
        return Err(check.incomplete("the table [array] is missing: its level, and how many disks"));
    }
    let placement = array::placement(check, file, trace)?;
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
    let devices = match (disk_file, ssd_file) {
        (Some(disk), _) => Devices::Disks(Box::new(disk::disks(check, file, disk, directory)?)),
        (None, Some(ssd)) => Devices::Ssds(ssd::ssds(check, file, ssd, directory)?),
        (None, None) => unreachable!("one of them is there"),
    };
    let positional = match &devices {
        Devices::Disks(disks) => matches!(disks.model, DiskModel::Positional(_)),
        Devices::Ssds(_) => true,
    };
    if positional && placement == Placement::Random {
        return Err(check.incomplete(
            "positional disks and SSDs need addresses: leave out 'array.placement', or say \"addressed\"",
        ));
    }
    if (!positional || devices.is_of_ssds())
        && file.array.mirror_read == Some(MirrorReadName::NearerArm)
    {
        return Err(check.incomplete(
            "'array.mirror_read' = \"nearer-arm\" looks at the arm, so it needs disk.model = \"positional\"",
        ));
    }
    if positional && (file.array.full_turn.is_some() || file.array.transfer_memory.is_some()) {
        return Err(check.incomplete(
            "'array.full_turn' and 'transfer_memory' are for sampled disks: a positional one is where it is, and an SSD does \
             not turn",
        ));
    }
    let level = array::level(check, &file.array)?;
    let failed = array::failed(check, &file.array)?;
    Ok(ArrayModel {
        level,
        disks: *file.array.disks.get_ref(),
        stripe_unit: array::stripe_unit(check, &file.array)?,
        placement,
        rules: Rules {
            // A head that is there goes on reading.
            coalesce: positional,
            ..array::rules(&file.array)
        },
        controller: controller::controller(check, file)?,
        rebuild: controller::rebuild(check, file, level, &failed)?,
        failed,
        devices,
    })
}
