//! What a result rests on, in a line: the model of the drives, their queue and buffer, the controller.

use std::collections::BTreeSet;

use iosonar_device::Provenance;
use iosonar_disk_model::{ArmScheduler, DiskProfile, Queueing, Scheduler};
use iosonar_scenario::{ArrayModel, ControllerLike, Devices, DiskModel, DiskSet, Prepared, SsdSet};
use iosonar_ssd_model::LimitProfile;
use iosonar_units::{Bytes, counted};

/// What the results of this simulation rest on.
pub(crate) fn line(simulation: &Prepared) -> String {
    let drives = match &simulation.array().devices {
        Devices::Disks(disks) => of_disks(disks),
        Devices::Ssds(ssds) => of_ssds(ssds),
        Devices::Servers(_) => "service times from one distribution, FCFS".to_owned(),
        Devices::Registered(devices) => {
            format!("device model \"{}\" of this program", devices.name)
        }
    };
    format!("{drives}; {}", controller(simulation.array()))
}

fn controller(array: &ArrayModel) -> String {
    let kind = array
        .controller_like
        .filter(|kind| *kind != ControllerLike::Nothing);
    let name = kind.map_or(String::new(), |kind| format!(" {}", kind.name()));
    match &array.controller.cache {
        Some(cache) => format!(
            "controller{name} with {} write-back cache",
            cache.capacity.bytes()
        ),
        None => format!("controller{name} without cache"),
    }
}

fn of_disks(disks: &DiskSet) -> String {
    let profile = &disks.profile;
    let mut parts = vec![match &disks.others[..] {
        [] if profile.data_sheet.is_some() => "drives from a data sheet".to_owned(),
        [] => standing(profile.provenance.as_ref()),
        _ => "drives of several kinds".to_owned(),
    }];
    match disks.model {
        DiskModel::Sampled(scheduler) => {
            parts.push("sampled".to_owned());
            parts.push(match scheduler {
                Scheduler::Fcfs => "FCFS".to_owned(),
                Scheduler::Rpo { .. } => "RPO".to_owned(),
            });
            // The model of the papers has none, whatever the profile says.
            parts.push("no drive cache".to_owned());
        }
        DiskModel::Positional(queueing) => {
            parts.push("positional".to_owned());
            parts.push(queue(queueing));
            parts.push(
                match disks.kinds().map(buffer).collect::<BTreeSet<_>>().len() {
                    1 => buffer(profile),
                    _ => "caches of several kinds".to_owned(),
                },
            );
            if let Some(shingled) = &profile.shingled {
                let size = shingled.media_cache_gb;
                parts.push(format!("shingled with a media cache of {size} GB"));
            }
        }
    }
    parts.join(", ")
}

fn of_ssds(ssds: &SsdSet) -> String {
    let mut parts = vec![match &ssds.profile.data_sheet {
        Some(_) => "drives from a data sheet".to_owned(),
        None => standing(ssds.profile.provenance.as_ref()),
    }];
    let cache = ssds.profile.flash.as_ref().and(ssds.profile.cache.as_ref());
    let size = cache.and_then(|cache| cache.size.parse::<Bytes>().ok());
    parts.push(match (cache, size) {
        (Some(cache), Some(size)) if size.get() > 0 => {
            let kind = if cache.volatile {
                "volatile"
            } else {
                "protected"
            };
            format!("{size} {kind} write cache")
        }
        _ => "no write cache".to_owned(),
    });
    if let Some(limits) = &ssds.profile.limits {
        parts.extend(limit("IOPS", limits.iops));
        parts.extend(limit("MB/s", limits.mb_per_s));
        parts.extend(limit("MB/s written", limits.write_mb_per_s));
    }
    parts.join(", ")
}

/// What is let through to a drive.
fn limit(unit: &str, limit: Option<LimitProfile>) -> Option<String> {
    let LimitProfile {
        baseline, burst, ..
    } = limit?;
    let bursts = burst.map_or(String::new(), |burst| format!(" (bursts of {burst})"));
    Some(format!("limited to {baseline} {unit}{bursts}"))
}

fn standing(provenance: Option<&Provenance>) -> String {
    match provenance {
        Some(Provenance::Validated { .. }) => "validated drives".to_owned(),
        Some(Provenance::DataSheet { .. }) => "drives from a data sheet".to_owned(),
        Some(Provenance::Paper { .. }) => "drives from a paper".to_owned(),
        Some(Provenance::Calibrated { .. }) => "calibrated drives".to_owned(),
        None => "drives from a profile".to_owned(),
    }
}

fn queue(queueing: Queueing) -> String {
    let scheduler = match queueing.scheduler {
        ArmScheduler::Fcfs => return "FCFS".to_owned(),
        ArmScheduler::Sstf => "SSTF",
        ArmScheduler::Look => "LOOK",
        ArmScheduler::CLook => "C-LOOK",
        ArmScheduler::Sptf => "SPTF",
    };
    match queueing.depth {
        usize::MAX => format!("{scheduler} (unlimited queue depth)"),
        depth => format!("{scheduler} (queue depth {depth})"),
    }
}

fn buffer(profile: &DiskProfile) -> String {
    let Some(cache) = &profile.cache else {
        return "no drive cache".to_owned();
    };
    let size = Bytes::new(u64::from(cache.segments) * cache.segment_sectors * 512);
    match cache.fast_writes {
        true => format!(
            "{size} write-back cache for {}",
            counted(cache.write_segments.into(), ["write", "writes"])
        ),
        false => format!("{size} write-through cache"),
    }
}
