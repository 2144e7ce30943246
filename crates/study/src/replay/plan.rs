//! Which load goes to which target, and whether they fit.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use iosonar_guard::Host;
use iosonar_replay::{
    Answer, EngineKind, FileSize, Intent, Load, Options, ReplayError, ReplaySpec, SimulatedDevice,
    Target, create_file,
};
use iosonar_trace::transform::Change;
use iosonar_trace::{Batch, Reading, apart, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES, counted};

use super::refusals::{
    refuse_impossible, refuse_several_devices, refuse_shared_streams, refuse_stray_destroy,
    refuse_twice,
};
use super::{ReplayPlanError, model, refused};

/// All that is known before the start.
pub struct ReplayPlan {
    /// What each target is given to do.
    pub loads: Vec<Load>,
    /// The targets, opened, in the order of the loads.
    pub targets: Vec<Target>,
    /// How it is replayed.
    pub options: Options,
    /// What a simulated replay asks.
    answer: Answer,
}

/// What happens while a replay is prepared.
#[derive(Clone, Copy, Debug)]
pub enum Preparing<'a> {
    /// Several targets replay the same load at the same time.
    CommonMode,
    /// Requests to some of the devices of the trace are left out, as no target is named for them.
    Unmapped {
        /// How many devices.
        devices: usize,
        /// Of how many.
        of: usize,
    },
    /// A target is opened exclusively by another process, and is waited for.
    Waiting {
        /// The target.
        target: &'a Path,
        /// How long.
        most: Duration,
    },
    /// A target is about to be filled.
    Fills(Bytes),
    /// This much of it is filled.
    Filled(u64),
    /// It is filled, or that has failed.
    FillEnds,
}

/// The caller that prepares a replay.
pub trait Preparer {
    /// Something has happened.
    fn see(&self, event: Preparing<'_>);

    /// Whether it is to end.
    fn is_stopped(&self) -> bool;
}

/// A load and the path of its target.
pub(super) struct Pair {
    pub(super) trace: PathBuf,
    pub(super) reading: Reading,
    pub(super) target: Option<PathBuf>,
}

impl ReplayPlan {
    /// Reads the loads, and examines and opens the targets; records go to `out`.
    ///
    /// # Errors
    /// If it is refused, or a load or a target cannot be read or opened.
    pub fn of(
        spec: &ReplaySpec,
        out: Option<&Path>,
        host: &Host,
        preparer: &dyn Preparer,
    ) -> Result<Self, ReplayPlanError> {
        let dealt = dealt(spec, host, preparer)?;
        Self::with(spec, dealt, out, host, preparer)
    }

    /// Examines and opens the targets of loads that have been read.
    ///
    /// # Errors
    /// If it is refused, or a target cannot be opened.
    pub fn with(
        spec: &ReplaySpec,
        dealt: Vec<Dealt>,
        out: Option<&Path>,
        host: &Host,
        preparer: &dyn Preparer,
    ) -> Result<Self, ReplayPlanError> {
        let options = spec.options.clone();
        let mut intent = spec.intent();
        let (mut loads, mut targets) = (Vec::new(), Vec::new());
        for Dealt {
            load,
            target,
            host_name,
        } in dealt
        {
            intent.target_name.host = host_name;
            targets.push(match &target {
                Some(path) => {
                    let place = Place { path, out, host };
                    place.opened(&load, spec, &mut intent, preparer)?
                }
                None => imaginary(&load),
            });
            loads.push(load);
        }
        options.suit(&targets)?;
        Ok(Self {
            loads,
            targets,
            options,
            answer: spec.answer.clone(),
        })
    }

    /// The same target with another part of the load, or another speed.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn again(
        spec: &ReplaySpec,
        host: &Host,
        path: &Path,
        reading: &Reading,
        preparer: &dyn Preparer,
    ) -> Result<Self, ReplayPlanError> {
        let options = &spec.options;
        let load = Load::scanned_for(path, reading, options)?;
        let Some(target) = spec.target.first() else {
            return Err(refused("--find-rate needs a --target"));
        };
        // What it holds by now, earlier tries wrote: before the first it was examined.
        let mut intent = spec.intent();
        intent.destroy.push(target.clone());
        let mut target = open(target, &intent, host, preparer)?;
        load.scan.fits(&target, options.fit)?;
        target.plan_zones(&load, options)?;
        options.suit(std::slice::from_ref(&target))?;
        Ok(Self {
            answer: spec.answer.clone(),
            ..Self::new(vec![load], vec![target], options.clone())
        })
    }

    /// The devices that a simulated replay asks.
    ///
    /// # Errors
    /// If there is no such model.
    pub fn devices(&self) -> Result<Vec<Box<dyn SimulatedDevice>>, ReplayPlanError> {
        if self.options.engine != EngineKind::Simulate {
            return Ok(Vec::new());
        }
        let targets = 0..self.targets.len();
        targets
            .map(|number| model::device(&self.answer, number))
            .collect()
    }

    /// A plan that others made.
    pub fn new(loads: Vec<Load>, targets: Vec<Target>, options: Options) -> Self {
        Self {
            loads,
            targets,
            options,
            answer: Answer::default(),
        }
    }
}

/// A load and the target that it is dealt to.
#[derive(Debug)]
pub struct Dealt {
    /// The load, which has been read once.
    pub load: Load,
    /// The path of the target; `None` if no target is accessed.
    pub target: Option<PathBuf>,
    /// The host that the user names before this path; `None` if the target is named by the path alone.
    pub host_name: Option<String>,
}

/// Deals the loads to the targets, and reads the loads. No target is opened.
///
/// # Errors
/// If it is refused, or a load cannot be read.
pub fn dealt(
    spec: &ReplaySpec,
    host: &Host,
    preparer: &dyn Preparer,
) -> Result<Vec<Dealt>, ReplayPlanError> {
    let options = &spec.options;
    if !options.engine.is_real() && options.verification.is_tagging() {
        return Err(refused(
            "--verify, --tag and --keep-tables need a target that stores data: use an engine other than dry or \
             simulate",
        ));
    }
    refuse_impossible(spec)?;
    let pairs = pairs(spec, host, preparer)?;
    refuse_shared_streams(&pairs)?;
    for pair in &pairs {
        if let Some(target) = &pair.target {
            apart::refuse_same(&pair.trace, target)?;
        }
    }
    refuse_stray_destroy(spec, host, &pairs)?;
    let mut dealt: Vec<Dealt> = Vec::new();
    for pair in pairs {
        let load = Load::scanned_for(&pair.trace, &pair.reading, options)?;
        refuse_several_devices(&load)?;
        dealt.push(Dealt {
            load,
            target: pair.target,
            host_name: None,
        });
    }
    Ok(dealt)
}

/// A target that is large enough for a load, and does not exist.
fn imaginary(load: &Load) -> Target {
    let end = match load.scan.is_known {
        true => load.scan.end.get().max(1),
        false => u64::MAX / SECTOR_BYTES,
    };
    let size = Bytes::new(end.saturating_mul(SECTOR_BYTES));
    Target::imaginary(size, Bytes::new(SECTOR_BYTES))
}

/// Where a target is, and what must not be on it.
struct Place<'a> {
    path: &'a Path,
    out: Option<&'a Path>,
    host: &'a Host,
}

impl Place<'_> {
    /// Opens the target for a load, and makes it before if it is to be made.
    fn opened(
        &self,
        load: &Load,
        spec: &ReplaySpec,
        intent: &mut Intent,
        preparer: &dyn Preparer,
    ) -> Result<Target, ReplayPlanError> {
        let Self { path, out, host } = *self;
        let fit = spec.options.fit;
        if let Some(size) = spec.create.map(FileSize::bytes) {
            load.scan.fits_size(size, path, fit)?;
            create(path, size, preparer)?;
            // What we made ourselves may be written to.
            intent.destroy.push(path.to_owned());
        }
        let mut target = open(path, intent, host, preparer)?;
        if let (Some(out), Some(number)) = (out, target.device_number())
            && host.holds(number, out)
        {
            return Err(refused(&format!(
                "{} would be written to the target {} itself: choose a different output",
                out.display(),
                path.display()
            )));
        }
        load.scan.fits(&target, fit)?;
        target.plan_zones(load, &spec.options)?;
        Ok(target)
    }
}

/// Deals the loads to the targets.
fn pairs(
    spec: &ReplaySpec,
    host: &Host,
    preparer: &dyn Preparer,
) -> Result<Vec<Pair>, ReplayPlanError> {
    let reading = spec.reading.clone();
    let pair = |trace: &PathBuf, reading: &Reading, target: Option<&Path>| Pair {
        trace: trace.clone(),
        reading: reading.clone(),
        target: target.map(Path::to_owned),
    };
    if !spec.map.is_empty() {
        let [trace] = &spec.load[..] else {
            return Err(refused(&format!(
                "--map splits a single trace by its devices (got {} traces); merge them with 'iosonar convert'",
                spec.load.len()
            )));
        };
        let targets: Vec<PathBuf> = spec.map.iter().map(|(_, t)| t.clone()).collect();
        refuse_twice(&targets, host)?;
        see_unmapped(spec, trace, &reading, preparer);
        return Ok(spec
            .map
            .iter()
            .map(|(name, target)| {
                let mut of_device = reading.clone();
                of_device.options.devices = vec![name.clone()];
                pair(trace, &of_device, Some(target))
            })
            .collect());
    }
    let targets = &spec.target;
    if targets.is_empty() {
        if spec.options.engine.is_real() {
            return Err(refused(
                "--target DEV is missing: give a block device or a file ('iosonar targets' \
                 lists them); only --engine dry and simulate need none",
            ));
        }
        let all = spec.load.iter().map(|trace| pair(trace, &reading, None));
        return Ok(all.collect());
    }
    let used = spec
        .max_targets
        .map_or(targets.len(), |most| targets.len().min(most as usize));
    if spec.load.len() > used {
        return Err(refused(&format!(
            "{} traces for {}: each target replays a single trace; merge the traces \
             with 'iosonar convert'",
            spec.load.len(),
            counted(used as u64, ["target", "targets"])
        )));
    }
    refuse_twice(&targets[..used], host)?;
    let delta = spec.delta;
    if used > spec.load.len() && delta.is_none_or(|delta| delta == Nanos::ZERO) {
        preparer.see(Preparing::CommonMode);
    }
    Ok(targets[..used]
        .iter()
        .enumerate()
        .map(|(i, target)| {
            let trace = &spec.load[i % spec.load.len()];
            let later = Nanos::new(delta.unwrap_or_default().get().saturating_mul(i as u64));
            pair(trace, &set_apart(&reading, later), Some(target))
        })
        .collect())
}

/// Requests to devices that are not named are left out.
fn see_unmapped(spec: &ReplaySpec, trace: &Path, reading: &Reading, preparer: &dyn Preparer) {
    let Ok(mut reader) = input::open_with(trace, &reading.options) else {
        return;
    };
    // Many formats name a device where it first occurs. What cannot be read is said when the load is.
    let mut batch = Batch::default();
    while trace.is_file() && reader.next_batch(&mut batch).is_ok_and(|rows| rows > 0) {}
    let named = |name: &String| spec.map.iter().any(|(mapped, _)| mapped == name);
    let devices = &reader.metadata().devices;
    let others: Vec<&String> = devices.iter().filter(|name| !named(name)).collect();
    if !others.is_empty() && others.len() < devices.len() {
        preparer.see(Preparing::Unmapped {
            devices: others.len(),
            of: devices.len(),
        });
    }
}

/// The same part of the load, shifted by this time.
fn set_apart(reading: &Reading, later: Nanos) -> Reading {
    let mut reading = reading.clone();
    if later == Nanos::ZERO {
        return reading;
    }
    let windows = reading
        .changes
        .iter_mut()
        .filter_map(|change| match change {
            Change::Select { from, until } => Some((from, until)),
            _ => None,
        });
    let mut moved = false;
    for (from, until) in windows {
        *from = from.saturating_add(later);
        *until = until.saturating_add(later);
        moved = true;
    }
    if !moved {
        let until = Nanos::MAX;
        reading
            .changes
            .insert(0, Change::Select { from: later, until });
    }
    reading
}

/// Creates a target file, and fills it.
///
/// # Errors
/// If it cannot be written, or `preparer` stops it.
pub fn create(path: &Path, size: Bytes, preparer: &dyn Preparer) -> Result<(), ReplayError> {
    preparer.see(Preparing::Fills(size));
    let outcome = create_file(path, size, |written| {
        preparer.see(Preparing::Filled(written));
        !preparer.is_stopped()
    });
    preparer.see(Preparing::FillEnds);
    outcome
}

/// Opens a target as [`Target::open`] does. A device that is opened exclusively by another process is waited for some
/// seconds: the kernel closes the files of a killed process's ring some time after its end.
///
/// # Errors
/// As [`Target::open`].
pub fn open(
    path: &Path,
    intent: &Intent,
    host: &Host,
    preparer: &dyn Preparer,
) -> Result<Target, ReplayError> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const INTERVAL: Duration = Duration::from_millis(50);
    let began = Instant::now();
    let mut waits = false;
    loop {
        match Target::open(path, intent, host) {
            Err(ReplayError::Busy { .. }) if began.elapsed() < PATIENCE => {}
            outcome => return outcome,
        }
        if !waits {
            preparer.see(Preparing::Waiting {
                target: path,
                most: PATIENCE,
            });
        }
        waits = true;
        thread::sleep(INTERVAL);
    }
}
