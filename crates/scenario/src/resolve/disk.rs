//! How the disks work: the table `[disk]`.

use std::path::Path;

use iosonar_device::Provenance;
use iosonar_disk_model::{ArmScheduler, DiskProfile, Queueing, Scheduler};
use iosonar_raid::Placement;
use iosonar_units::Nanos;

use super::ProfileOf;
use super::check::Checker;
use crate::file::{DiskFile, DiskModelName, ScenarioFile, SchedulerName};
use crate::words::{Given, value_or_default};
use crate::{DiskModel, DiskSet, ScenarioError};

/// The table `[disk]`, and the disks of other kinds in it.
pub(super) fn disks(
    check: &Checker<'_>,
    file: &ScenarioFile,
    disk: &DiskFile,
    directory: &Path,
    placement: Placement,
) -> Result<DiskSet, ScenarioError> {
    let mut profile = profile(check, disk, directory)?;
    let model = model(check, disk, &profile, placement)?;
    let is_sampled = matches!(model, DiskModel::Sampled(_));
    if is_sampled && (disk.buffer.is_some() || disk.write_back.is_some()) {
        return Err(check.incomplete(
            "'disk.buffer' and 'disk.write_back' need model = \"positional\": remove these keys",
        ));
    }
    let mut others = others(check, file, disk, directory)?;
    for profile in std::iter::once(&mut profile).chain(others.iter_mut().map(|(_, of)| of)) {
        if let Some(Given(zoning)) = disk.zoning {
            profile.transfer.zoning = zoning;
        }
        if is_sampled && profile.shingled.is_some() {
            return Err(check.incomplete(
                "'disk.model' is \"sampled\" (which is the default for a load without addresses), but the drive is \
                 shingled, and its bands and media cache are at fixed positions: use model = \"positional\"",
            ));
        }
        buffer(check, disk, profile)?;
        // What was validated is the whole drive, with its arm and its own buffer.
        let is_changed = is_sampled
            || disk.zoning.is_some()
            || disk.buffer.is_some()
            || disk.write_back.is_some();
        if is_changed && matches!(profile.provenance, Some(Provenance::Validated { .. })) {
            profile.provenance = None;
        }
    }
    Ok(DiskSet {
        profile,
        others,
        model,
    })
}

/// The drive's buffer as the scenario wants it.
fn buffer(
    check: &Checker<'_>,
    disk: &DiskFile,
    profile: &mut DiskProfile,
) -> Result<(), ScenarioError> {
    let none = "false, as the drive has no buffer";
    if let Some(wanted) = &disk.buffer {
        match (*wanted.get_ref(), profile.cache.is_some()) {
            (true, false) => return Err(check.wrong(wanted, "disk.buffer", true, none)),
            (false, true) if profile.shingled.is_some() => {
                let needed = "true, as a shingled drive collects writes in its buffer";
                return Err(check.wrong(wanted, "disk.buffer", false, needed));
            }
            (false, true) => {
                (profile.cache, profile.overheads, profile.bus) = (None, None, None);
            }
            (true, true) | (false, false) => {}
        }
    }
    if let Some(wanted) = &disk.write_back {
        match &mut profile.cache {
            Some(cache) => cache.fast_writes = *wanted.get_ref(),
            None if *wanted.get_ref() => {
                return Err(check.wrong(wanted, "disk.write_back", true, none));
            }
            None => {}
        }
    }
    Ok(())
}

fn profile(
    check: &Checker<'_>,
    disk: &DiskFile,
    directory: &Path,
) -> Result<DiskProfile, ScenarioError> {
    match (&disk.profile, &disk.from_data_sheet) {
        (Some(name), None) if ProfileOf::named(name, directory) == Some(ProfileOf::Ssd) => Err(check.incomplete(&format!(
            "'disk.profile' is \"{name}\", which is the profile of an SSD: use [ssd] instead of [disk]"
        ))),
        (Some(name), None) => Ok(DiskProfile::load(name, directory)?),
        (None, Some(sheet)) => {
            let description = format!("{} GB, {} rpm", sheet.capacity_gb, sheet.rpm);
            let origin = check.path.display().to_string();
            Ok(DiskProfile::from_data_sheet(sheet, &description, &origin)?)
        }
        (Some(_), Some(_)) => Err(check.incomplete(
            "[disk] has both a 'profile' and a [disk.from_data_sheet] table: remove one of them",
        )),
        (None, None) => Err(check.incomplete(
            "[disk] has no 'profile' (such as \"seagate-exos-x18-18tb\"; 'iosonar profiles' lists them) and no \
             [disk.from_data_sheet] table",
        )),
    }
}

/// What is not said follows from the load and the profile: where requests have addresses an arm goes there, but for
/// profiles of papers, whose results are those of random places, and for those that do not say where sectors lie.
fn model(
    check: &Checker<'_>,
    disk: &DiskFile,
    profile: &DiskProfile,
    placement: Placement,
) -> Result<DiskModel, ScenarioError> {
    let is_of_a_paper = matches!(profile.provenance, Some(Provenance::Paper { .. }));
    let has_places = profile.layout.is_some() || !profile.geometry.is_assumed;
    let usual = match placement {
        Placement::Addressed if has_places && !is_of_a_paper => DiskModelName::Positional,
        Placement::Addressed | Placement::Random => DiskModelName::Sampled,
    };
    match disk.model.unwrap_or(usual) {
        DiskModelName::Sampled => sampled(check, disk).map(DiskModel::Sampled),
        DiskModelName::Positional => positional(check, disk, profile).map(DiskModel::Positional),
    }
}

/// The disks of other kinds.
fn others(
    check: &Checker<'_>,
    file: &ScenarioFile,
    disk: &DiskFile,
    directory: &Path,
) -> Result<Vec<(Vec<usize>, DiskProfile)>, ScenarioError> {
    let mut all = *file.array.disks.get_ref();
    if file.rebuild.is_some() {
        let failed = file.array.failed.as_ref();
        let fail = file.event.iter().filter(|event| event.fail.is_some());
        all += failed.map_or(0, |failed| failed.get_ref().len()) + fail.count();
    }
    let mut seen: Vec<usize> = Vec::new();
    let mut others = Vec::new();
    for other in &disk.other {
        for &disk in other.disks.get_ref() {
            if disk >= all || seen.contains(&disk) {
                let expected = format!(
                    "disks from 0 to {}, each at most once",
                    all.saturating_sub(1)
                );
                return Err(check.wrong(&other.disks, "disk.other.disks", disk, expected));
            }
            seen.push(disk);
        }
        let profile = DiskProfile::load(&other.profile, directory)?;
        others.push((other.disks.get_ref().clone(), profile));
    }
    Ok(others)
}

fn sampled(check: &Checker<'_>, disk: &DiskFile) -> Result<Scheduler, ScenarioError> {
    if disk.queue_depth.is_some() || disk.most_wait_ms.is_some() {
        return Err(check.incomplete(
            "'disk.queue_depth' and 'disk.most_wait_ms' need model = \"positional\": remove these keys",
        ));
    }
    let most = match &disk.rpo_most {
        Some(most) if *most.get_ref() == 0 => {
            return Err(check.wrong(most, "disk.rpo_most", 0, "at least 1"));
        }
        Some(most) => *most.get_ref(),
        None => usize::MAX,
    };
    let scheduler = disk.scheduler.as_ref();
    match scheduler.map_or(SchedulerName::Fcfs, |name| *name.get_ref()) {
        SchedulerName::Fcfs => {
            if disk.rpo_count.is_some() || disk.rpo_most.is_some() {
                return Err(check.incomplete(
                    "'disk.rpo_count' and 'disk.rpo_most' need scheduler = \"rpo\": remove these keys",
                ));
            }
            Ok(Scheduler::Fcfs)
        }
        SchedulerName::Rpo => Ok(Scheduler::Rpo {
            count: value_or_default(disk.rpo_count),
            most,
        }),
        _ => Err(check.incomplete(
            "'disk.scheduler': \"sstf\", \"look\", \"c-look\" and \"sptf\" use the position of the arm, so they need model = \"positional\"; the sampled model has \"fcfs\" and \"rpo\"",
        )),
    }
}

fn positional(
    check: &Checker<'_>,
    disk: &DiskFile,
    profile: &DiskProfile,
) -> Result<Queueing, ScenarioError> {
    if disk.rpo_count.is_some() || disk.rpo_most.is_some() {
        return Err(check.incomplete(
            "'disk.rpo_count' and 'disk.rpo_most' need the sampled model: remove these keys",
        ));
    }
    let scheduler = match disk.scheduler.as_ref().map(|name| *name.get_ref()) {
        None => profile
            .queue
            .map_or(ArmScheduler::Fcfs, |queue| queue.scheduler),
        Some(SchedulerName::Fcfs) => ArmScheduler::Fcfs,
        Some(SchedulerName::Sstf) => ArmScheduler::Sstf,
        Some(SchedulerName::Look) => ArmScheduler::Look,
        Some(SchedulerName::CLook) => ArmScheduler::CLook,
        Some(SchedulerName::Sptf) => ArmScheduler::Sptf,
        Some(SchedulerName::Rpo) => {
            return Err(check.incomplete(
                "'disk.scheduler': \"rpo\" needs the sampled model; use \"sptf\" for a positional disk",
            ));
        }
    };
    let depth = match &disk.queue_depth {
        None => profile
            .queue
            .map_or(usize::MAX, |queue| queue.depth as usize),
        Some(depth) if *depth.get_ref() == 0 => {
            return Err(check.wrong(depth, "disk.queue_depth", 0, "at least 1"));
        }
        Some(depth) => *depth.get_ref(),
    };
    let most_wait = match &disk.most_wait_ms {
        None => scheduler.most_wait(),
        Some(ms) if (0.0..=1e9).contains(ms.get_ref()) => Nanos::from_millis_f64(*ms.get_ref()),
        Some(ms) => {
            let expected = "a time in milliseconds, 0 to 1e9";
            return Err(check.wrong(ms, "disk.most_wait_ms", ms.get_ref(), expected));
        }
    };
    Ok(Queueing {
        scheduler,
        depth,
        most_wait,
    })
}
