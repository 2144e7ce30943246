//! Which load goes to which target, and whether they fit.

use std::path::{Path, PathBuf};

use iosonar_guard::Host;
use iosonar_replay::advice;
use iosonar_replay::{
    Answer, EngineKind, FileSize, Load, Options, Priority, ReplayError, ReplaySpec,
    SimulatedDevice, Style, Target, TaskWork, Writes, create_file,
};
use iosonar_report::grouped;
use iosonar_trace::transform::Change;
use iosonar_trace::{Reading, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::{model, usage, warn};
use crate::exit::note;
use crate::files::{device_number, is_same};
use crate::progress::bar;
use crate::{signals, target};

/// All that is known before the start.
pub(crate) struct Plan {
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

impl Plan {
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
                crate::files::refuse_same(&pair.trace, target)?;
            }
        }
        refuse_stray_destroy(spec, host, &pairs)?;
        let mut loads = Vec::new();
        for pair in &pairs {
            let load = scanned(&pair.trace, &pair.reading, &options)?;
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
        let load = scanned(path, reading, options)?;
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
            target.notes().iter().for_each(|text| warn(text));
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
        if self.options.pacing.priority == Priority::Fifo
            && self.options.pacing.style == Style::Spin
        {
            warn(
                "pure spinning with SCHED_FIFO meets the kernel's limit for real-time threads (950 ms of \
                 each second): expect a stall of 50 ms a second",
            );
        }
    }
}

/// Reads the load once. Of one that is repeated, which may never end, only what can be started within the longest time
/// of the replay is read; the rest of any other is counted and recorded as missed.
pub(crate) fn scanned(
    path: &Path,
    reading: &Reading,
    options: &Options,
) -> Result<Load, ReplayError> {
    let repeats = |change: &Change| matches!(change, Change::Repeat(_));
    match options.max_runtime {
        Some(most) if reading.changes.iter().any(repeats) => {
            Load::scanned_within(path, reading, options.writes, most)
        }
        _ => Load::scanned(path, reading, options.writes),
    }
}

fn speed_is_changed(reading: &Reading) -> bool {
    let mut changes = reading.changes.iter();
    changes.any(|change| matches!(change, Change::Speed(ratio) if ratio.divide(1_000_000) != Some(1_000_000)))
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

/// What the system would refuse later, and with fewer words.
fn refuse_impossible(spec: &ReplaySpec) -> anyhow::Result<()> {
    const LONGEST: Nanos = Nanos::from_secs(3600);
    refuse_without_effect(spec)?;
    let options = &spec.options;
    if options.ring.submission_thread && options.ring.task_work == TaskWork::Deferred {
        return Err(usage(
            "--sqpoll does not go with --task-work defer: where a kernel thread submits, nothing is deferred",
        ));
    }
    if matches!(options.engine, EngineKind::Auto | EngineKind::IoUring) {
        options.ring.check()?;
    }
    if let Some(latency) = spec.answer.latency.filter(|latency| *latency > LONGEST) {
        return Err(usage(&format!(
            "--latency must be at most 1h (got {latency})"
        )));
    }
    let missing = |cpu: &&usize| {
        !Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}")).exists()
            && Path::new("/sys/devices/system/cpu").exists()
    };
    match options.pacing.cpus.0.iter().find(missing) {
        Some(cpu) => {
            let there =
                std::fs::read_to_string("/sys/devices/system/cpu/present").unwrap_or_default();
            Err(usage(&format!(
                "--cpu: there is no processor {cpu} here (there are {})",
                there.trim()
            )))
        }
        None => Ok(()),
    }
}

/// Options of an engine that is not the one that was chosen. What `auto` leaves unused is known later.
fn refuse_without_effect(spec: &ReplaySpec) -> anyhow::Result<()> {
    use EngineKind::{Auto, IoUring, Passthrough, Simulate};
    let (kind, ring, answer) = (spec.options.engine, &spec.options.ring, &spec.answer);
    let given = |options: &[(&'static str, bool)]| {
        let given = options.iter().filter(|(_, is_given)| *is_given);
        let names: Vec<&str> = given.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| {
            format!(
                "{} need{}",
                names.join(", "),
                if names.len() == 1 { "s" } else { "" }
            )
        })
    };
    let chosen = kind.name();
    let of_ring = given(&[
        ("--sqpoll", ring.submission_thread),
        ("--iopoll", ring.poll_completions),
        ("--task-work", ring.task_work != TaskWork::default()),
        ("--plain-buffers", ring.plain_buffers),
    ]);
    if let Some(need) = of_ring.filter(|_| !matches!(kind, Auto | IoUring | Passthrough)) {
        return Err(usage(&format!(
            "{need} --engine io_uring, passthrough or auto (got {chosen}), and would have no effect: leave out one or the \
             other"
        )));
    }
    if kind == Passthrough && ring.plain_buffers {
        return Err(usage(
            "--plain-buffers needs --engine io_uring (got passthrough, which registers no buffers), and would have no \
             effect: leave it out",
        ));
    }
    let of_model = given(&[
        ("--latency", answer.latency.is_some()),
        ("--model", answer.model.is_some()),
        ("--seed", answer.seed.is_some()),
    ]);
    if let Some(need) = of_model.filter(|_| kind != Simulate) {
        return Err(usage(&format!(
            "{need} --engine simulate (got {chosen}), and would have no effect: leave out one or the other"
        )));
    }
    if ring.poll_completions && spec.no_direct {
        return Err(usage(
            "--iopoll does not go with --no-direct: completions are polled for only past the page cache",
        ));
    }
    Ok(())
}

/// Whoever may lose its content is a target; anything else is a slip of the hand.
fn refuse_stray_destroy(spec: &ReplaySpec, host: &Host, pairs: &[Pair]) -> anyhow::Result<()> {
    for named in &spec.destroy {
        let is_target = pairs
            .iter()
            .filter_map(|pair| pair.target.as_ref())
            .any(|target| {
                let namespace = host.namespace_of(target);
                target == named
                    || is_same(named, target)
                    || namespace.is_some_and(|block| is_same(named, &block))
            });
        if !is_target {
            return Err(usage(&format!(
                "--destroy {} names no target of this replay: give the path of a --target, or leave it out",
                named.display()
            )));
        }
    }
    Ok(())
}

/// Only one can read a stream.
fn refuse_shared_streams(pairs: &[Pair]) -> anyhow::Result<()> {
    for (i, pair) in pairs.iter().enumerate() {
        let is_file = std::fs::metadata(&pair.trace).is_ok_and(|m| m.is_file() || m.is_dir());
        if !is_file && pairs[..i].iter().any(|other| other.trace == pair.trace) {
            return Err(usage(&format!(
                "{} can be read only once, and several targets need it: give it as a file",
                pair.trace.display()
            )));
        }
    }
    Ok(())
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

/// Each target must be storage of its own. Asked before any is opened, which excludes even ourselves.
fn refuse_twice(targets: &[PathBuf], host: &Host) -> anyhow::Result<()> {
    for (i, target) in targets.iter().enumerate() {
        let number = device_number(target);
        for other in &targets[..i] {
            let (one, another) = (other.display(), target.display());
            if other == target || is_same(other, target) {
                return Err(usage(&format!(
                    "{one} and {another} are the same target, and a replay needs targets of its own: leave one out"
                )));
            }
            if let (Some(a), Some(b)) = (device_number(other), number)
                && host.overlap(a, b)
            {
                return Err(usage(&format!(
                    "{one} and {another} overlap: they have sectors of one disk in common, and a replay needs \
                     targets of its own; choose partitions that do not overlap, or the disk alone"
                )));
            }
        }
    }
    Ok(())
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

/// The requests of several devices on one target would overlap where they never did.
fn refuse_several_devices(load: &Load) -> anyhow::Result<()> {
    if load.scan.devices.len() < 2 {
        return Ok(());
    }
    let metadata = input::open_with(&load.path, &load.reading.options)?
        .metadata()
        .clone();
    let names: Vec<String> = load
        .scan
        .devices
        .iter()
        .take(8)
        .map(|number| metadata.device_name(*number))
        .collect();
    Err(usage(&format!(
        "{} holds requests to {} devices ({}{}), which would overlap on one target: --device NAME takes \
         one, --map NAME=DEV gives each a target, 'iosonar convert --adjacent' lays them side by side",
        load.path.display(),
        load.scan.devices.len(),
        names.join(", "),
        if load.scan.devices.len() > 8 {
            ", ..."
        } else {
            ""
        }
    )))
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

impl Plan {
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
