//! Which load goes to which target, and whether they fit.

mod refusals;

use std::path::{Path, PathBuf};

use iosonar_guard::Host;
use iosonar_replay::advice;
use iosonar_replay::{
    Answer, EngineKind, FileSize, Load, Options, ReplaySpec, SimulatedDevice, Style, Target,
    ThreadPriority, Writes, create_file,
};
use iosonar_report::grouped;
use iosonar_trace::transform::Change;
use iosonar_trace::{Reading, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::{model, usage, warn};
use crate::exit::note;
use crate::render::progress::bar;
use crate::render::replay::notes::of_target;
use crate::{signals, target};
use refusals::{
    refuse_impossible, refuse_several_devices, refuse_shared_streams, refuse_stray_destroy,
    refuse_twice, speed_is_changed,
};

/// All that is known before the start.
pub(crate) struct ReplayPlan {
    pub(crate) loads: Vec<Load>,
    pub(crate) targets: Vec<Target>,
    pub(crate) options: Options,
    /// What a simulated replay asks.
    answer: Answer,
}

/// A load and the path of its target.
struct Pair {
    trace: PathBuf,
    reading: Reading,
    target: Option<PathBuf>,
}

impl ReplayPlan {
    /// Reads the loads, and examines and opens the targets; records go to `out`.
    pub(crate) fn of(
        spec: &ReplaySpec,
        out: Option<&Path>,
        host: &Host,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let options = spec.options.clone();
        if !options.engine.is_real() && options.verification.is_tagging() {
            return Err(usage(
                "--verify, --tag and --keep-tables need a target that really holds data: not with --engine dry \
                 or simulate",
            ));
        }
        refuse_impossible(spec)?;
        let pairs = pairs(spec, host)?;
        refuse_shared_streams(&pairs)?;
        for pair in &pairs {
            if let Some(target) = &pair.target {
                iosonar_trace::apart::refuse_same(&pair.trace, target)?;
            }
        }
        refuse_stray_destroy(spec, host, &pairs)?;
        let mut loads = Vec::new();
        for pair in &pairs {
            let load = Load::scanned_for(&pair.trace, &pair.reading, &options)?;
            refuse_several_devices(&load)?;
            loads.push(load);
        }
        let mut intent = spec.intent();
        let mut targets: Vec<Target> = Vec::new();
        for (pair, load) in pairs.iter().zip(&loads) {
            let Some(path) = &pair.target else {
                let end = if load.scan.is_known {
                    load.scan.end.get().max(1)
                } else {
                    u64::MAX / SECTOR_BYTES
                };
                let size = Bytes::new(end.saturating_mul(SECTOR_BYTES));
                targets.push(Target::imaginary(size, Bytes::new(SECTOR_BYTES)));
                continue;
            };
            if let Some(size) = spec.create.map(FileSize::bytes) {
                load.scan.fits_size(size, path, options.fit)?;
                create(path, size, quiet)?;
                // What we made ourselves may be written to.
                intent.destroy.push(path.clone());
            }
            let mut target = target::open(path, &intent, host, quiet)?;
            if let (Some(out), Some(number)) = (out, target.device_number())
                && host.holds(number, out)
            {
                return Err(usage(&format!(
                    "{} would be written to {} itself: take another place for it",
                    out.display(),
                    path.display()
                )));
            }
            load.scan.fits(&target, options.fit)?;
            target.plan_zones(load, &options)?;
            targets.push(target);
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
    pub(crate) fn again(
        spec: &ReplaySpec,
        host: &Host,
        path: &Path,
        reading: &Reading,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let options = &spec.options;
        let load = Load::scanned_for(path, reading, options)?;
        let Some(target) = spec.target.first() else {
            return Err(usage("--find-rate needs a --target"));
        };
        // What it holds by now, earlier tries wrote: before the first it was examined.
        let mut intent = spec.intent();
        intent.destroy.push(target.clone());
        let mut target = target::open(target, &intent, host, quiet)?;
        load.scan.fits(&target, options.fit)?;
        target.plan_zones(&load, options)?;
        options.suit(std::slice::from_ref(&target))?;
        Ok(Self {
            answer: spec.answer.clone(),
            ..Self::new(vec![load], vec![target], options.clone())
        })
    }

    /// The devices that a simulated replay asks.
    pub(crate) fn devices(&self) -> anyhow::Result<Vec<Box<dyn SimulatedDevice>>> {
        if self.options.engine != EngineKind::Simulate {
            return Ok(Vec::new());
        }
        let targets = 0..self.targets.len();
        targets
            .map(|number| model::device(&self.answer, number))
            .collect()
    }

    /// Says what is about to be done, and what to think of it.
    pub(crate) fn announce(&self) {
        for (load, target) in self.loads.iter().zip(&self.targets) {
            let scan = &load.scan;
            let writes = scan.requests - scan.harmless;
            let what = match (writes, self.options.writes == Writes::Do) {
                _ if !scan.is_known => "it is read as it comes".to_owned(),
                (0, _) => "it only reads".to_owned(),
                (n, true) => format!("{} of them WRITE to it", grouped(n)),
                (n, false) => format!("{} writes are left out", grouped(n)),
            };
            note(&format!(
                "replaying {} requests of {} on {} ({}, blocks of {}); {what}",
                if scan.is_known {
                    grouped(scan.requests)
                } else {
                    "the".to_owned()
                },
                load.path.display(),
                target.path().display(),
                target.size(),
                target.block(),
            ));
            for fake in target.fakes() {
                note(&format!("FAKE: {fake}"));
            }
            let notes = target.notes().iter().map(of_target);
            notes.for_each(|text| warn(&text));
            if self.options.engine.is_real() {
                advice(scan, target, &self.options, &Host::default())
                    .iter()
                    .for_each(|text| warn(text));
            }
            if speed_is_changed(&load.reading) {
                warn(
                    "--speed on a natural load: whoever made it would have reacted to the storage, which \
                     a faster or slower replay does not",
                );
            }
        }
        if self.options.pacing.priority == ThreadPriority::Fifo
            && self.options.pacing.style == Style::Spin
        {
            warn(
                "pure spinning with SCHED_FIFO meets the kernel's limit for real-time threads (950 ms of \
                 each second): expect a stall of 50 ms a second",
            );
        }
    }
}

/// Deals the loads to the targets.
fn pairs(spec: &ReplaySpec, host: &Host) -> anyhow::Result<Vec<Pair>> {
    let reading = spec.reading.clone();
    let pair = |trace: &PathBuf, reading: &Reading, target: Option<&Path>| Pair {
        trace: trace.clone(),
        reading: reading.clone(),
        target: target.map(Path::to_owned),
    };
    if !spec.map.is_empty() {
        let [trace] = &spec.load[..] else {
            return Err(usage(&format!(
                "--map splits one trace by its devices (got {} traces); 'iosonar convert --merge' makes one of several",
                spec.load.len()
            )));
        };
        let targets: Vec<PathBuf> = spec.map.iter().map(|(_, t)| t.clone()).collect();
        refuse_twice(&targets, host)?;
        tell_unmapped(spec, trace, &reading);
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
            return Err(usage(
                "--target DEV is missing: which block device or file shall it be? 'iosonar targets' lists \
                 them; --engine dry or simulate does without",
            ));
        }
        let all = spec.load.iter().map(|trace| pair(trace, &reading, None));
        return Ok(all.collect());
    }
    let used = spec
        .max_targets
        .map_or(targets.len(), |most| targets.len().min(most as usize));
    if spec.load.len() > used {
        return Err(usage(&format!(
            "{} traces for {used} targets: each target replays one at a time; 'iosonar convert --merge' \
             makes one of several",
            spec.load.len()
        )));
    }
    refuse_twice(&targets[..used], host)?;
    let delta = spec.delta;
    if used > spec.load.len() && delta.is_none_or(|delta| delta == Nanos::ZERO) {
        warn(
            "the targets replay the same load at the same time: their peaks coincide (common mode); \
             --delta TIME sets them apart",
        );
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

/// Requests to devices that nobody named are left out.
fn tell_unmapped(spec: &ReplaySpec, trace: &Path, reading: &Reading) {
    let Ok(reader) = input::open_with(trace, &reading.options) else {
        return;
    };
    let named = |name: &String| spec.map.iter().any(|(mapped, _)| mapped == name);
    let devices = &reader.metadata().devices;
    let others: Vec<&String> = devices.iter().filter(|name| !named(name)).collect();
    if !others.is_empty() && others.len() < devices.len() {
        warn(&format!(
            "requests to {} of the {} devices of the trace are left out: --map does not name them",
            others.len(),
            devices.len()
        ));
    }
}

/// The same part of the load, so much later in it.
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

/// Makes a target file, with a progress bar.
pub(crate) fn create(path: &Path, size: Bytes, quiet: bool) -> anyhow::Result<()> {
    let template = "filling the target {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}";
    let bar = bar(quiet, size.get(), template)?;
    signals::watch()?;
    let outcome = create_file(path, size, |written| {
        bar.set_position(written);
        signals::count() == 0
    });
    bar.finish_and_clear();
    Ok(outcome?)
}

impl ReplayPlan {
    /// A plan that others made, such as the demo.
    pub(crate) fn new(loads: Vec<Load>, targets: Vec<Target>, options: Options) -> Self {
        Self {
            loads,
            targets,
            options,
            answer: Answer::default(),
        }
    }
}
