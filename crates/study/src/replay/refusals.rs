//! What is refused before a target is opened or a load is read twice.

use std::path::{Path, PathBuf};

use iosonar_guard::Host;
use iosonar_replay::verify::Verification;
use iosonar_replay::{EngineKind, Load, ReplaySpec, TaskWork};
use iosonar_trace::transform::Change;
use iosonar_trace::{Reading, input};
use iosonar_units::Nanos;

use super::plan::Pair;
use super::{ReplayPlanError, refused};
use iosonar_trace::apart::{device_number, is_same};

/// Whether these changes make a load faster or slower.
pub fn speed_is_changed(reading: &Reading) -> bool {
    let mut changes = reading.changes.iter();
    changes.any(|change| matches!(change, Change::Speed(ratio) if ratio.divide(1_000_000) != Some(1_000_000)))
}

/// Options that are for one machine, in a replay on several hosts.
///
/// # Errors
/// If one of them is set.
pub fn refuse_on_hosts(spec: &ReplaySpec) -> Result<(), ReplayPlanError> {
    let (options, default) = (&spec.options.verification, Verification::default());
    let of_one_machine = [
        ("verify", options.level != default.level),
        ("tag", options.tag),
        ("keep_tables", options.keep_tables.is_some()),
        ("at", spec.options.begin_at.is_some()),
        ("self_check", spec.records.self_check),
    ];
    match of_one_machine.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(refused(&format!(
            "--hosts cannot be used with the replay option '{name}'"
        ))),
        None => Ok(()),
    }
}

/// What the system would refuse later, and with fewer words.
pub(super) fn refuse_impossible(spec: &ReplaySpec) -> Result<(), ReplayPlanError> {
    const LONGEST: Nanos = Nanos::from_secs(3600);
    refuse_without_effect(spec)?;
    let options = &spec.options;
    if options.ring.submission_thread && options.ring.task_work == TaskWork::Deferred {
        return Err(refused(
            "--sqpoll cannot be used with --engine-opt task-work=defer: a kernel thread submits the requests, so there \
             is no work to defer",
        ));
    }
    if matches!(options.engine, EngineKind::Auto | EngineKind::IoUring) {
        options.ring.check()?;
    }
    if let Some(latency) = spec.answer.latency.filter(|latency| *latency > LONGEST) {
        return Err(refused(&format!(
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
            Err(refused(&format!(
                "--cpu: this machine has no CPU {cpu} (it has {})",
                there.trim()
            )))
        }
        None => Ok(()),
    }
}

/// Options of an engine that is not the one that was chosen. What `auto` leaves unused is known later.
pub(super) fn refuse_without_effect(spec: &ReplaySpec) -> Result<(), ReplayPlanError> {
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
        (
            "--engine-opt task-work",
            ring.task_work != TaskWork::default(),
        ),
        ("--engine-opt buffers=plain", ring.plain_buffers),
    ]);
    if let Some(need) = of_ring.filter(|_| !matches!(kind, Auto | IoUring | Passthrough)) {
        return Err(refused(&format!(
            "{need} --engine io_uring, passthrough or auto (got {chosen}) to have an effect: remove one of the two"
        )));
    }
    if kind == Passthrough && ring.plain_buffers {
        return Err(refused(
            "--engine-opt buffers=plain needs --engine io_uring (got passthrough, which registers no buffers) to have \
             an effect: remove the option",
        ));
    }
    let of_model = given(&[
        ("--latency", answer.latency.is_some()),
        ("--model", answer.model.is_some()),
        ("--seed", answer.seed.is_some()),
    ]);
    if let Some(need) = of_model.filter(|_| kind != Simulate) {
        return Err(refused(&format!(
            "{need} --engine simulate (got {chosen}) to have an effect: choose this engine, or remove the option"
        )));
    }
    if ring.poll_completions && spec.no_direct {
        return Err(refused(
            "--iopoll cannot be used with --no-direct: the page cache does not support polling",
        ));
    }
    Ok(())
}

/// Only targets may be named; anything else is a typing error.
pub(super) fn refuse_stray_destroy(
    spec: &ReplaySpec,
    host: &Host,
    pairs: &[Pair],
) -> Result<(), ReplayPlanError> {
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
            return Err(refused(&format!(
                "--destroy {} does not name a target of this replay: use the path given to --target, or remove the \
                 option",
                named.display()
            )));
        }
    }
    Ok(())
}

/// Only one can read a stream.
pub(super) fn refuse_shared_streams(pairs: &[Pair]) -> Result<(), ReplayPlanError> {
    for (i, pair) in pairs.iter().enumerate() {
        let is_file = std::fs::metadata(&pair.trace).is_ok_and(|m| m.is_file() || m.is_dir());
        if !is_file && pairs[..i].iter().any(|other| other.trace == pair.trace) {
            return Err(refused(&format!(
                "{} can be read only once, but several targets need it: give the load as a file",
                pair.trace.display()
            )));
        }
    }
    Ok(())
}

/// Each target must be storage of its own. Asked before any is opened, which excludes even ourselves.
pub(super) fn refuse_twice(targets: &[PathBuf], host: &Host) -> Result<(), ReplayPlanError> {
    for (i, target) in targets.iter().enumerate() {
        let number = device_number(target);
        for other in &targets[..i] {
            let (one, another) = (other.display(), target.display());
            if other == target || is_same(other, target) {
                return Err(refused(&format!(
                    "{one} and {another} are the same target: remove one of them"
                )));
            }
            if let (Some(a), Some(b)) = (device_number(other), number)
                && host.overlap(a, b)
            {
                return Err(refused(&format!(
                    "{one} and {another} overlap on the same disk: \
                     choose partitions that do not overlap, or only the whole disk"
                )));
            }
        }
    }
    Ok(())
}

/// The requests of several devices on one target would overlap where they never did.
pub(super) fn refuse_several_devices(load: &Load) -> Result<(), ReplayPlanError> {
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
    Err(refused(&format!(
        "{} contains requests to {} devices ({}{}), which would overlap on a single target. Select one device with \
         --device NAME, give each its own target with --map NAME=DEV, or place them side by side with 'iosonar \
         convert --adjacent'",
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
