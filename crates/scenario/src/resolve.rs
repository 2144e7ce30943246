//! From what is written to what is meant: every value checked, every default filled in.

mod array;
mod at_start;
pub(crate) mod check;
mod controller;
mod device;
mod disk;
mod events;
pub(crate) mod laws;
mod load;
mod md;
mod moved;
mod refusal;
pub(crate) mod set;
mod sizes;
mod ssd;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iosonar_raid::rules::PrereadSeek;
use iosonar_raid::rules::Rules;
use iosonar_raid::{MirrorRead, Placement};
use iosonar_trace::Reading;
use iosonar_trace::fit::Beyond;
use iosonar_units::Bytes;

use crate::file::{DeviceFile, DiskFile, ScenarioFile};
use crate::networked::NetworkedRaid;
use crate::prepared::{Method, Prepared, Warmup};
use crate::sensitivity::Alternative;
use crate::words::Given;
use crate::{ArrayModel, Devices, DiskSet, LoadModel, Registry, ScenarioError, System};
pub use at_start::DEFAULT_MEMORY;
use check::Checker;
pub(crate) use controller::ns_per_sector;
pub use load::REQUESTS_PER_USER;
pub(crate) use load::end_of;
pub use moved::moved;
pub use set::ProfileOf;
pub use set::apply as with_values;
pub use set::holds;
pub use set::with_load_of;

/// What the command line says instead of the file.
#[derive(Clone, Debug)]
pub struct Overrides {
    /// A trace in place of the file's load.
    pub trace: Option<PathBuf>,
    /// Which part of the trace, and how fast.
    pub reading: Reading,
    /// What happens to requests of the trace beyond the end of the array; [`Beyond::Refuse`]: what the file says.
    pub beyond: Beyond,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another number of replications.
    pub replications: Option<u32>,
    /// Other values, as (key, value in TOML), such as (`array.disks`, `8`).
    pub set: Vec<(String, String)>,
    /// How much memory a simulation may take before the first request, and those of several replications at once.
    pub memory: Bytes,
    /// A choice to make otherwise than the scenario with these values does.
    pub alternative: Option<Alternative>,
    /// Set, all runs of a study with this scenario end soon with [`ScenarioError::Interrupted`].
    pub stop: Arc<AtomicBool>,
    /// Whether the scenario may have several arrays, which are simulated one by one.
    pub several_arrays: bool,
    /// The devices and levels that the scenario may name beside the built-in ones; by default those
    /// [of the program](Registry::of_program).
    pub registry: Registry,
}

impl Default for Overrides {
    fn default() -> Self {
        Self {
            trace: None,
            reading: Reading::default(),
            beyond: Beyond::default(),
            seed: None,
            replications: None,
            set: Vec::new(),
            memory: DEFAULT_MEMORY,
            alternative: None,
            several_arrays: false,
            stop: Arc::default(),
            registry: Registry::of_program(),
        }
    }
}

impl Prepared {
    /// Reads and resolves the scenario file at `path`, or the [`System`] of this name.
    ///
    /// # Errors
    /// If the file cannot be read or means nothing that can be simulated.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, ScenarioError> {
        System::named(path)?.prepared(overrides)
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
        let mut set = overrides.set.clone();
        // A scenario refuses the tables of a networked system as unknown keys.
        let original = text;
        let refused = |error| match NetworkedRaid::is_meant(original) {
            true => ScenarioError::IsNetworked(path.to_owned()),
            false => error,
        };
        let (text, file) = match &overrides.alternative {
            None => set::read::<ScenarioFile>(text, path, &set).map_err(refused)?,
            Some(other) => {
                let text = set::without(&set::apply(text, path, &set)?, path, &other.without)?;
                set.extend_from_slice(&other.set);
                set::read(&text, path, &other.set)?
            }
        };
        let check = Checker {
            path,
            text: &text,
            set: &set,
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let trace = match (&overrides.trace, &file.load) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(load)) => load.trace.as_ref().map(|t| directory.join(t.get_ref())),
            (None, None) => None,
        };
        let warmup = warmup(&check, &file)?;
        if let (Warmup::Auto, Some(given), false) =
            (warmup, &file.warmup_requests, file.event.is_empty())
        {
            let expected = "a number: with [[event]], \"auto\" would discard the effect of the event as warm-up";
            return Err(check.wrong(given, "warmup_requests", "\"auto\"", expected));
        }
        let array = array_model(
            &check,
            &file,
            directory,
            trace.is_some(),
            &overrides.registry,
        )?;
        let data_sectors = array
            .data_sectors()
            .map_err(|e| array::wrong_geometry(&check, &file.array, &e))?;
        let around = load::Around {
            array: &array,
            data_sectors,
            warmup,
        };
        let load = load::load(&check, &file, overrides, trace, &around)?;
        let replications = replications(&check, &file, overrides)?;
        let is_of_trace = matches!(load, LoadModel::Trace { .. });
        let arrays = arrays(
            &check,
            &file,
            overrides,
            (replications, warmup, is_of_trace),
        )?;
        // Arrays that share a trace are simulated together, others one by one.
        let at_once = if is_of_trace { arrays } else { 1 };
        at_start::check(&check, &file, &array, at_once, overrides.memory)?;
        Ok(Self {
            seed: overrides.seed.or(file.seed).unwrap_or(1),
            replications,
            arrays,
            precision: None,
            warmup,
            load,
            array,
            profiles: profile_files(&file, directory),
            split: false,
            method: Method::default(),
            memory: overrides.memory,
            give_up: Vec::new(),
            stop: Arc::clone(&overrides.stop),
        })
    }
}

/// The files of the profiles that a scenario names.
fn profile_files(file: &ScenarioFile, directory: &Path) -> Vec<PathBuf> {
    let of_disks = file.disk.iter().flat_map(|disk| {
        let others = disk.other.iter().map(|other| &other.profile);
        disk.profile.iter().chain(others).map(String::as_str)
    });
    let of_ssds = file
        .ssd
        .iter()
        .filter_map(|ssd| ssd.get("profile")?.as_str());
    let files = of_disks.chain(of_ssds).map(|name| directory.join(name));
    files.filter(|file| file.is_file()).collect()
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

/// The most arrays, each of which may need a thread.
const MOST_ARRAYS: u32 = 4096;

/// How many arrays there are.
fn arrays(
    check: &Checker<'_>,
    file: &ScenarioFile,
    overrides: &Overrides,
    (replications, warmup, is_of_trace): (u32, Warmup, bool),
) -> Result<u32, ScenarioError> {
    let Some(given) = &file.array.count else {
        return Ok(1);
    };
    let arrays = *given.get_ref();
    let expected = if !(1..=MOST_ARRAYS).contains(&arrays) {
        "1 to 4096"
    } else if arrays > 1 && !overrides.several_arrays {
        "1: only 'iosonar sim' supports several arrays"
    } else if arrays > 1 && replications > 1 {
        "1: several arrays cannot be combined with replications"
    } else if arrays > 1 && is_of_trace && warmup == Warmup::Auto {
        "1: several arrays that replay a trace need a number in 'warmup_requests', not \"auto\""
    } else {
        return Ok(arrays);
    };
    Err(check.wrong(given, "array.count", arrays, expected))
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
            "a number of requests (0 or more), or \"auto\"",
        )),
    }
}

/// What the array is an array of.
enum GivenDevices<'a> {
    Disks(&'a DiskFile),
    Ssds(&'a toml::Table),
    Registered(&'a DeviceFile),
}

/// Keys of the array that these devices do not go with.
fn check_devices(
    check: &Checker<'_>,
    file: &ScenarioFile,
    devices: &Devices,
    placement: Placement,
) -> Result<(), ScenarioError> {
    let positional = devices.are_positional();
    if positional && placement == Placement::Random {
        return Err(check.incomplete(
            "positional disks, SSDs and the devices in [device] need addresses: remove 'array.placement', or set it to \
             \"addressed\"",
        ));
    }
    if !matches!(devices, Devices::Disks(_) if positional)
        && !matches!(devices, Devices::Registered(_))
        && file.array.mirror_read == Some(Given(MirrorRead::NearerArm))
    {
        return Err(check.incomplete(
            "'array.mirror_read' = \"nearer-arm\" uses the position of the arm, so it needs disk.model = \"positional\"",
        ));
    }
    if positional && (file.array.full_turn.is_some() || file.array.transfer_memory.is_some()) {
        return Err(check.incomplete(
            "'array.full_turn' and 'transfer_memory' need sampled disks: remove these keys",
        ));
    }
    let is_buffered = |disks: &DiskSet| disks.kinds().any(|profile| profile.cache.is_some());
    if positional
        && file.array.preread_seek == Some(Given(PrereadSeek::Write))
        && matches!(devices, Devices::Disks(disks) if is_buffered(disks))
    {
        return Err(check.incomplete(
            "'array.preread_seek' = \"write\" does not support drives with a cache, which would treat pre-reads as \
             writes: remove the key",
        ));
    }
    Ok(())
}

/// The table of the devices, of which there is one.
fn given_devices<'f>(
    check: &Checker<'_>,
    file: &'f ScenarioFile,
) -> Result<GivenDevices<'f>, ScenarioError> {
    let given = match (&file.disk, &file.ssd, &file.device) {
        (Some(_), Some(_), _) => {
            return Err(
                check.incomplete("the scenario has both [disk] and [ssd]: remove one of them")
            );
        }
        (Some(_), _, Some(_)) => {
            return Err(
                check.incomplete("the scenario has both [disk] and [device]: remove one of them")
            );
        }
        (_, Some(_), Some(_)) => {
            return Err(
                check.incomplete("the scenario has both [ssd] and [device]: remove one of them")
            );
        }
        (None, None, None) => {
            return Err(check.incomplete(
                "the scenario has neither [disk] nor [ssd]: add one, for example [disk] with profile = \
                 \"seagate-st3500630ns\"",
            ));
        }
        (Some(disk), None, None) => GivenDevices::Disks(disk),
        (None, Some(ssd), None) => GivenDevices::Ssds(ssd),
        (None, None, Some(device)) => GivenDevices::Registered(device),
    };
    if !matches!(given, GivenDevices::Ssds(_)) && !file.array.is_given() {
        return Err(
            check.incomplete("the [array] table is missing: add it with 'level' and 'disks'")
        );
    }
    Ok(given)
}

fn array_model(
    check: &Checker<'_>,
    file: &ScenarioFile,
    directory: &Path,
    trace: bool,
    registry: &Registry,
) -> Result<ArrayModel, ScenarioError> {
    let given = given_devices(check, file)?;
    let placement = array::placement(check, file, trace)?;
    let random = file.array.write_start.is_some() || file.array.read_layout.is_some();
    if placement == Placement::Random && file.array.layout.is_some() {
        return Err(check.incomplete(
            "'array.layout' needs placement = \"addressed\": random placement has no layout",
        ));
    }
    if placement == Placement::Addressed && random {
        return Err(check.incomplete(
            "'array.write_start' and 'array.read_layout' need random placement: with addressed placement, the address \
             of a request determines them",
        ));
    }
    let devices = match given {
        GivenDevices::Disks(disk) => Devices::Disks(Box::new(disk::disks(
            check, file, disk, directory, placement,
        )?)),
        GivenDevices::Ssds(ssd) => Devices::Ssds(ssd::ssds(check, file, ssd, directory)?),
        GivenDevices::Registered(device) => device::devices(check, device, registry)?,
    };
    check_devices(check, file, &devices, placement)?;
    let level = array::level(check, &file.array, registry)?;
    let stripe_unit = array::stripe_unit(check, &file.array)?;
    let rebuild = file.rebuild.as_ref();
    let md = md::options(
        check,
        &file.array,
        placement,
        stripe_unit,
        rebuild,
        &devices,
    )?;
    let failed = array::failed(check, &file.array)?;
    let events = events::events(check, file, &devices, &failed)?;
    let rebuild = controller::rebuild(check, file, &level, &failed)?;
    Ok(ArrayModel {
        level,
        disks: *file.array.disks.get_ref(),
        stripe_unit,
        placement,
        md,
        rules: Rules {
            // A head that is there goes on reading.
            coalesce: devices.are_positional(),
            ..array::rules(&file.array)
        },
        controller: controller::controller(check, file)?,
        controller_like: controller::like(file),
        rebuild,
        failed,
        events,
        devices,
    })
}
