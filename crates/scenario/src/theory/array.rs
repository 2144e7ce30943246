//! Arrays of sampled disks: what there is to answer, and on what it rests.

use std::collections::BTreeMap;

use iosonar_analytic::Table;
use iosonar_analytic::open::BatchLaw;
use iosonar_device::Access;
use iosonar_disk_model::Scheduler;
use iosonar_raid::MirrorRead;
use iosonar_sim_core::Seed;
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Workload};

use super::disk::DiskTheory;
use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{Class, Job, Pattern, Patterns, Visit};
use super::{
    Accuracy, Family, ResponseTheory, ServiceTheory, Standing, StationTheory, Theory, accuracy,
    closed, rpo,
};
use crate::resolve::{Load, Simulation};
use crate::{DiskSet, LevelOptions};

/// All classes, and what is known of them.
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    /// Whether arrivals are Poisson, at every disk.
    pub(super) is_poisson: bool,
    /// Whether all ways that requests may go were gone through.
    pub(super) is_exact: bool,
    /// Whether where they go depends on the state, which is not known.
    is_by_state: bool,
    /// Whether disks differ by chance only.
    is_symmetric: bool,
    /// What of these requests is approximated, where that was measured on arrays and loads like these.
    pub(super) family: Option<Family>,
}

impl Classes {
    /// Whether all disks get the same of the same, so that it does not matter which way a request went.
    pub(super) fn is_alike(&self) -> bool {
        self.is_symmetric && !self.is_by_state
    }
}

/// What theory says of the disks under all classes.
pub(super) fn answer(
    simulation: &Simulation,
    disks: &DiskSet,
    scheduler: Scheduler,
    theory: &mut Theory,
) {
    let array = &simulation.array;
    if !disks.others.is_empty() {
        theory.remark("no theory for arrays of unlike disks: simulate them");
        return;
    }
    let workloads: Vec<&Workload> = match &simulation.load {
        Load::Synthetic { classes, .. } => classes.iter().collect(),
        Load::Alone { workload, .. } | Load::Closed { workload, .. } => vec![workload],
        Load::Trace { .. } => return,
    };
    let Some(classes) = classes_of(simulation, &workloads, theory) else {
        return;
    };
    let disk = DiskTheory::new(&disks.profile);
    for (access, sectors) in jobs(&classes.all) {
        theory.services.push(ServiceTheory {
            writes: access != Access::Read,
            sectors,
            law: disk.service(access, sectors),
        });
    }
    let even = !classes.is_exact && classes.is_symmetric;
    let mut model = ArrayTheory::new(array, &disk, &classes.all, even);
    if matches!(simulation.load, Load::Alone { .. }) {
        alone(&mut model, &classes, scheduler, theory);
        return;
    }
    model.stations(&classes.all, theory);
    if let Load::Closed {
        outstanding, think, ..
    } = &simulation.load
    {
        let alone = alone(&mut model, &classes, scheduler, theory);
        let users = (*outstanding, *think);
        let loop_of = (array.controller.one_at_a_time, scheduler == Scheduler::Fcfs);
        closed::answer(&mut model, &classes.all[0], users, loop_of, alone, theory);
        return;
    }
    if theory.unstable.is_some() && scheduler == Scheduler::Fcfs {
        return;
    }
    let alone = alone(&mut model, &classes, scheduler, theory);
    if array.rebuild.is_some() {
        theory.remark("no theory under the load while a rebuild works, too");
        theory.capacity_per_s = None;
        return;
    }
    match (scheduler, alone) {
        (_, Some(alone)) if array.controller.one_at_a_time => {
            split_merge(&classes, &alone, theory);
        }
        (Scheduler::Rpo { count, most }, _) => {
            theory.stations.clear();
            (theory.unstable, theory.capacity_per_s) = (None, None);
            rpo::answer(&model, &classes, (count, most), theory);
        }
        (Scheduler::Fcfs, Some(_)) => under_load(&mut model, &classes, &disk, theory),
        (Scheduler::Fcfs, None) => {}
    }
}

/// The zero-load response time; `None` if there are too many kinds of requests.
fn alone(
    model: &mut ArrayTheory<'_>,
    classes: &Classes,
    scheduler: Scheduler,
    theory: &mut Theory,
) -> Option<Table> {
    if !model.can_be_computed() {
        theory.remark(
            "no theory for response times of so many kinds of long requests: only loads are told",
        );
        return None;
    }
    let alone = model.mixture(&classes.all, &|_, _| 0, &|model, pattern| {
        model.alone(pattern)
    });
    let patterns = || classes.all.iter().flat_map(|class| &class.patterns);
    let simple = |(_, p): &(f64, Pattern)| p.is_simple();
    let several = |(_, p): &(f64, Pattern)| p.direct.values().any(|v| v.len() > 1);
    // With RPO the accesses of a request to one disk help each other.
    let helped = scheduler != Scheduler::Fcfs && patterns().any(several);
    let exact = classes.is_exact && patterns().all(simple) && !helped;
    let standing = if exact {
        Standing::Exact
    } else {
        Standing::Approximation
    };
    let how = "the slowest part of a request that meets nobody";
    theory.alone = Some(ResponseTheory::of(standing, how, alone.clone()));
    Some(alone)
}

/// The classes with their patterns; `None` if theory does not know them.
fn classes_of(
    simulation: &Simulation,
    workloads: &[&Workload],
    theory: &mut Theory,
) -> Option<Classes> {
    let seed = Seed::new(simulation.seed).within("theory");
    let mut array = simulation.array.clone();
    let mut is_poisson = true;
    if let LevelOptions::Mirrored { read, .. } = &mut array.level {
        match read {
            MirrorRead::ShorterQueue | MirrorRead::NearerArm => {
                theory.remark("no theory for mirrors that are chosen by their state: they are taken as random");
                *read = MirrorRead::Random;
            }
            MirrorRead::Turns => is_poisson = false,
            _ => {}
        }
    }
    let mut all = Vec::new();
    let is_by_state = *read_of(&array.level) != *read_of(&simulation.array.level);
    let mut is_exact = !is_by_state;
    for workload in workloads {
        let Some(patterns) = Patterns::new(&array, workload, &seed) else {
            theory.remark("no theory for what becomes of these requests");
            return None;
        };
        if !patterns.is_exact {
            theory.remark(format!(
                "which disks requests go to was drawn {} times rather than gone through",
                patterns.drawn
            ));
        }
        is_exact &= patterns.is_exact;
        is_poisson &= matches!(workload.arrivals, ArrivalLaw::Poisson { .. });
        // What follows on the request before does not come to its disk at random.
        let follows = matches!(
            workload.addresses,
            Addresses::Sequential { .. } | Addresses::Mixed { .. }
        );
        if follows && patterns.all.len() > 1 {
            is_poisson = false;
        }
        all.push(Class {
            rate: workload.arrivals.per_s() / 1e3,
            batch: batch_law(&workload.batch),
            patterns: patterns.all,
        });
    }
    let is_symmetric = is_symmetric(simulation, workloads);
    let was_measured = !is_by_state && accuracy::was_measured(&simulation.array, workloads);
    Some(Classes {
        family: was_measured
            .then(|| accuracy::family(&simulation.array, workloads, &all, is_symmetric))
            .flatten(),
        all,
        is_poisson,
        is_exact,
        is_by_state,
        is_symmetric,
    })
}

/// How copies are chosen.
fn read_of(level: &LevelOptions) -> &MirrorRead {
    match level {
        LevelOptions::Mirrored { read, .. } => read,
        _ => &MirrorRead::Halves,
    }
}

/// Whether all disks get the same work, but for chance.
fn is_symmetric(simulation: &Simulation, workloads: &[&Workload]) -> bool {
    use iosonar_raid::{Placement, WriteStart};
    let array = &simulation.array;
    let level = match array.level {
        LevelOptions::Linear { .. } => false,
        LevelOptions::Parity { random, .. } => {
            array.placement == Placement::Addressed || random.write_start != WriteStart::ArrayFirst
        }
        LevelOptions::Striped | LevelOptions::Mirrored { .. } => true,
    };
    let uniform =
        |w: &&Workload| array.placement == Placement::Random || w.addresses == Addresses::Uniform;
    level && array.failed.is_empty() && workloads.iter().all(uniform)
}

/// The response time under the load, first come, first served.
fn under_load(
    model: &mut ArrayTheory<'_>,
    classes: &Classes,
    disk: &DiskTheory,
    theory: &mut Theory,
) {
    let all = &classes.all;
    if !classes.is_poisson {
        theory.remark(
            "no theory for waits unless arrivals are Poisson at every disk: only loads and the response \
             without waiting are told",
        );
        return;
    }
    let batches = all.iter().any(|class| !class.is_single());
    let partial = all.iter().any(Class::has_partial);
    if batches && partial {
        theory.remark("no theory for partial-stripe writes that come in batches");
        return;
    }
    let one_disk = all.iter().all(Class::goes_to_one_disk);
    let answered = if batches {
        model.batches(all, Dependence::Independent)
    } else {
        model.wait(theory).map(|()| {
            let group = |model: &ArrayTheory<'_>, disk: usize| model.group(disk);
            model.mixture(all, &group, &|model, pattern| {
                model.response(pattern, Dependence::Independent)
            })
        })
    };
    let response = match answered {
        Ok(response) => response,
        Err(iosonar_analytic::AnalyticError::Unstable { offered }) => {
            theory.unstable = Some(offered);
            return;
        }
        Err(other) => {
            theory.remark(other.to_string());
            return;
        }
    };
    if one_disk {
        let how = if batches { "M^X/G/1" } else { "M/G/1" };
        let queue = (!batches).then(|| model.single_queue(disk)).flatten();
        let alike = classes.is_alike() && queue.is_some();
        let standing = if classes.is_exact || alike {
            Standing::Exact
        } else {
            Standing::Approximation
        };
        let mut response = ResponseTheory::of(standing, how, response);
        response.inverted = queue;
        if let Some(queue) = &response.inverted {
            response.how = "M/G/1, by transform inversion";
            response.mean_ms = queue.mean_response();
        }
        theory.response = Some(response);
        return;
    }
    let estimate = match model.estimate(all, &response) {
        Ok(estimate) => Some(estimate),
        Err(other) => {
            theory.remark(format!("no estimate of what disks share: {other}"));
            None
        }
    };
    let utilisations = theory.stations.iter().map(|station| station.utilisation);
    let utilisation = utilisations.fold(0.0, f64::max);
    let family = classes.family.filter(|_| estimate.is_some());
    let accuracy = family.and_then(|family| Accuracy::of(family, utilisation));
    if partial {
        theory.remark(
            "partial-stripe writes: pre-reads and writes are taken as independent, and how the writes find \
             their disks is estimated from loads; factors from simulations make up for most of that",
        );
        let how = "priority queues: the slowest pre-read, then the slowest write";
        let table = estimate.unwrap_or(response);
        theory.response = Some(ResponseTheory {
            accuracy,
            ..ResponseTheory::of(Standing::Approximation, how, table)
        });
    } else {
        // Of the requests of a batch, those before can make one disk's work less where they make another's more.
        let standing = if batches {
            Standing::Approximation
        } else {
            Standing::UpperBound
        };
        let how = "the slowest of independent M/G/1 queues";
        let independent = ResponseTheory::of(standing, how, response);
        let how = "waits that all disks share, and waits of each disk's own";
        theory.response = Some(match estimate {
            Some(table) => ResponseTheory {
                accuracy,
                ..ResponseTheory::of(Standing::Approximation, how, table)
            },
            None => independent.clone(),
        });
        theory.independent = Some(independent);
    }
    model.bounds(all, theory);
}

fn batch_law(batch: &Batch) -> BatchLaw {
    match batch {
        Batch::One | Batch::Requests(1) => BatchLaw::Constant(1),
        Batch::Requests(n) => BatchLaw::Constant(*n),
        Batch::Geometric { mean } if *mean == 1.0 => BatchLaw::Constant(1),
        Batch::Geometric { mean } => BatchLaw::Geometric(*mean),
        Batch::Table(table) => BatchLaw::Table(table.to_vec()),
    }
}

/// All kinds of accesses.
fn jobs(classes: &[Class]) -> Vec<Job> {
    let mut all: BTreeMap<(bool, u32), Job> = BTreeMap::new();
    let mut add = |job: Job| all.insert((job.0 != Access::Read, job.1), job);
    for (_, pattern) in classes.iter().flat_map(|class| &class.patterns) {
        for (job, _) in pattern.direct.values().flat_map(Visit::jobs) {
            add(job);
        }
        for partial in &pattern.partial {
            for &(_, sectors) in &partial.reads {
                add((Access::Read, sectors));
            }
            for &(_, sectors) in &partial.writes {
                add((Access::Write, sectors));
            }
        }
    }
    all.into_values().collect()
}

/// One request at a time: M/G/1 with the service of the slowest part.
fn split_merge(classes: &Classes, alone: &Table, theory: &mut Theory) {
    let rate: f64 = classes.all.iter().map(Class::requests).sum();
    let (mean, utilisation) = (alone.mean(), rate * alone.mean());
    let poisson = classes.is_poisson && classes.all.iter().all(Class::is_single);
    theory.capacity_per_s = Some(1e3 / mean);
    theory.stations = vec![StationTheory {
        station: "array".to_owned(),
        visits_per_s: rate * 1e3,
        mean_service_ms: mean,
        scv: alone.variance() / (mean * mean),
        utilisation,
        busy: utilisation,
        mean_wait_ms: f64::NAN,
    }];
    if utilisation >= 1.0 {
        theory.unstable = Some(utilisation);
        return;
    }
    if !poisson {
        theory.remark("no theory for waits unless single requests come in a Poisson stream");
        return;
    }
    match Table::wait_mg1(rate, alone) {
        Ok(wait) => {
            theory.stations[0].mean_wait_ms = wait.mean();
            let how = "split-merge: M/G/1 with the service of the slowest part";
            let standing = theory
                .alone
                .as_ref()
                .map_or(Standing::Approximation, |alone| alone.standing);
            theory.response = Some(ResponseTheory::of(standing, how, wait.plus(alone)));
        }
        Err(other) => theory.remark(other.to_string()),
    }
}
