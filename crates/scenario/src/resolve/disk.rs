//! How the disks work: the table `[disk]`.

use iosonar_disk_model::{ArmScheduler, Queueing, RpoCount, Scheduler};
use iosonar_units::Nanos;

use super::check::Checker;
use crate::file::{DiskFile, DiskModelName, RpoCountName, SchedulerName};
use crate::{DiskModel, ScenarioError};

/// How long a job waits at most where the scheduler would let it starve.
const MOST_WAIT: Nanos = Nanos::from_secs(2);

pub(super) fn model(check: &Checker<'_>, disk: &DiskFile) -> Result<DiskModel, ScenarioError> {
    match disk.model {
        None | Some(DiskModelName::Sampled) => sampled(check, disk).map(DiskModel::Sampled),
        Some(DiskModelName::Positional) => positional(check, disk).map(DiskModel::Positional),
    }
}

fn sampled(check: &Checker<'_>, disk: &DiskFile) -> Result<Scheduler, ScenarioError> {
    if disk.queue_depth.is_some() || disk.most_wait_ms.is_some() {
        return Err(check.incomplete(
            "'disk.queue_depth' and 'disk.most_wait_ms' are for model = \"positional\": leave them out",
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
                    "'disk.rpo_count' and 'disk.rpo_most' are for scheduler = \"rpo\": leave them out",
                ));
            }
            Ok(Scheduler::Fcfs)
        }
        SchedulerName::Rpo => Ok(Scheduler::Rpo {
            count: match disk.rpo_count {
                None | Some(RpoCountName::Including) => RpoCount::Including,
                Some(RpoCountName::Excluding) => RpoCount::Excluding,
            },
            most,
        }),
        _ => Err(check.incomplete(
            "'disk.scheduler': \"sstf\", \"look\", \"c-look\" and \"sptf\" look at the arm, so they need \
             model = \"positional\"; the sampled model has \"fcfs\" and \"rpo\"",
        )),
    }
}

fn positional(check: &Checker<'_>, disk: &DiskFile) -> Result<Queueing, ScenarioError> {
    if disk.rpo_count.is_some() || disk.rpo_most.is_some() {
        return Err(check.incomplete(
            "'disk.rpo_count' and 'disk.rpo_most' are for the sampled model: leave them out",
        ));
    }
    let scheduler = disk.scheduler.as_ref();
    let scheduler = match scheduler.map_or(SchedulerName::Fcfs, |name| *name.get_ref()) {
        SchedulerName::Fcfs => ArmScheduler::Fcfs,
        SchedulerName::Sstf => ArmScheduler::Sstf,
        SchedulerName::Look => ArmScheduler::Look,
        SchedulerName::CLook => ArmScheduler::CLook,
        SchedulerName::Sptf => ArmScheduler::Sptf,
        SchedulerName::Rpo => {
            return Err(check.incomplete(
                "'disk.scheduler': \"rpo\" draws positionings, so it is for the sampled model; a \
                 positional disk has \"sptf\"",
            ));
        }
    };
    let depth = match &disk.queue_depth {
        None => usize::MAX,
        Some(depth) if *depth.get_ref() == 0 => {
            return Err(check.wrong(depth, "disk.queue_depth", 0, "at least 1"));
        }
        Some(depth) => *depth.get_ref(),
    };
    let most_wait = match &disk.most_wait_ms {
        // These two leave jobs at the edges waiting for as long as there are others.
        None if matches!(scheduler, ArmScheduler::Sstf | ArmScheduler::Sptf) => MOST_WAIT,
        None => Nanos::MAX,
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
