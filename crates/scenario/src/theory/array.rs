//! Arrays of sampled disks: the answers, and what they are based on.

use std::collections::BTreeMap;

use iosonar_analytic::open::BatchLaw;
use iosonar_analytic::{AnalyticError, Table};
use iosonar_device::Access;
use iosonar_disk_model::Scheduler;
use iosonar_raid::MirrorRead;
use iosonar_sim_core::Seed;
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Shape, Workload};

use super::disk::DiskTheory;
use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{Class, Job, Pattern, Patterns, Visit};
use super::{
    Accuracy, Answer, Family, How, ResponseTime, ServiceTheory, Standing, StationTheory, Theory,
    TheoryRemark, accuracy, closed, rpo,
};
use crate::{DiskSet, LevelOptions, LoadModel, Prepared};

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
pub(super) fn answer(simulation: &Prepared, disks: &DiskSet, scheduler: Scheduler) -> Theory {
    let array = &simulation.array;
    if !disks.others.is_empty() {
        return Theory::only(TheoryRemark::UnlikeDisks);
    }
    let (classes, mut remarks) = classes_of(simulation);
    let Some(classes) = classes else {
        return Theory {
            remarks,
            ..Theory::default()
        };
    };
    let disk = DiskTheory::new(&disks.profile);
    let service = |(access, sectors)| ServiceTheory {
        writes: access != Access::Read,
        sectors,
        law: disk.service(access, sectors),
    };
    let services = jobs(&classes.all).into_iter().map(service).collect();
    let even = !classes.is_exact && classes.is_symmetric;
    let mut model = ArrayTheory::new(array, &disk, &classes.all, even);
    let loads = model.loads(&classes.all);
    let one_at_a_time = array.controller.one_at_a_time;
    let overlap = matches!(simulation.load, LoadModel::Synthetic { .. }) && !one_at_a_time;
    if overlap && loads.unstable.is_some() && scheduler == Scheduler::Fcfs {
        return Theory {
            services,
            remarks,
            ..loads
        };
    }
    let alone = alone(&mut model, &classes, scheduler);
    if alone.is_none() {
        remarks.push(TheoryRemark::TooManyKinds);
    }
    let solved = match (&simulation.load, scheduler, &alone) {
        (LoadModel::Alone { .. }, ..) => Theory::default(),
        (LoadModel::Trace { .. }, ..) => Theory::only(TheoryRemark::Trace),
        (LoadModel::Closed { .. }, Scheduler::Rpo { .. }, _) => {
            Theory::only(TheoryRemark::ClosedRpo)
        }
        (
            LoadModel::Closed {
                outstanding, think, ..
            },
            Scheduler::Fcfs,
            alone,
        ) => closed::answer(
            &mut model,
            &classes.all[0],
            (*outstanding, think),
            alone.as_ref(),
        ),
        (LoadModel::Synthetic { .. }, ..) if array.rebuild.is_some() => Theory {
            capacity_per_s: None,
            ..loads.with(TheoryRemark::Rebuild)
        },
        (_, _, Some(alone)) if one_at_a_time => split_merge(&classes, alone),
        // The work of the disks is the same, but they wait for each other.
        (_, Scheduler::Fcfs, None) if one_at_a_time => Theory {
            capacity_per_s: None,
            ..loads
        },
        (_, Scheduler::Rpo { .. }, None) if one_at_a_time => Theory::default(),
        (_, Scheduler::Rpo { count, most }, _) => rpo::answer(&model, &classes, (count, most)),
        (_, Scheduler::Fcfs, Some(_)) => under_load(&mut model, &classes, &disk, loads),
        (_, Scheduler::Fcfs, None) => loads,
    };
    remarks.extend(solved.remarks);
    Theory {
        services,
        alone,
        remarks,
        ..solved
    }
}

/// The zero-load response time; `None` if there are too many kinds of requests.
fn alone(model: &mut ArrayTheory<'_>, classes: &Classes, scheduler: Scheduler) -> Option<Answer> {
    if !model.can_be_computed() {
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
    Some(Answer::of(
        Standing::exact_if(exact),
        How::SlowestPart,
        ResponseTime::Table(alone),
    ))
}

/// The classes with their patterns, `None` if theory does not know them; and what is taken otherwise than it is.
fn classes_of(simulation: &Prepared) -> (Option<Classes>, Vec<TheoryRemark>) {
    let parts: Vec<(&Shape, Option<&Workload>)> = match &simulation.load {
        LoadModel::Synthetic { classes, .. } => {
            classes.iter().map(|w| (&w.shape, Some(w))).collect()
        }
        LoadModel::Alone { shape, .. } | LoadModel::Closed { shape, .. } => vec![(shape, None)],
        LoadModel::Trace { .. } => return (None, vec![TheoryRemark::Trace]),
    };
    if simulation.array.md.is_some() {
        return (None, vec![TheoryRemark::UnknownSteps]);
    }
    let seed = Seed::new(simulation.seed).within("theory");
    let mut array = simulation.array.clone();
    let mut remarks = Vec::new();
    let (mut is_poisson, mut is_by_state) = (true, false);
    if let LevelOptions::Mirrored { read, .. } = &mut array.level {
        match read {
            MirrorRead::ShorterQueue | MirrorRead::NearerArm => {
                remarks.push(TheoryRemark::MirrorsByState);
                is_by_state = true;
                *read = MirrorRead::Random;
            }
            MirrorRead::Turns => is_poisson = false,
            _ => {}
        }
    }
    let mut all = Vec::new();
    let mut is_exact = !is_by_state;
    for (shape, workload) in &parts {
        let Some(patterns) = Patterns::new(&array, shape, &seed) else {
            remarks.push(TheoryRemark::UnknownSteps);
            return (None, remarks);
        };
        if !patterns.is_exact {
            remarks.push(TheoryRemark::Drawn(patterns.drawn));
        }
        is_exact &= patterns.is_exact;
        // What follows on the request before does not come to its disk at random.
        let follows = matches!(
            shape.addresses,
            Addresses::Sequential { .. } | Addresses::Mixed { .. }
        );
        if follows && patterns.all.len() > 1 {
            is_poisson = false;
        }
        // Without arrivals of its own the rate of a load does not matter: there is one class.
        let (mut rate, mut batch) = (1e-3, BatchLaw::Constant(1));
        if let Some(workload) = workload {
            is_poisson &= matches!(workload.arrivals, ArrivalLaw::Poisson { .. });
            rate = workload.arrivals.per_s() / 1e3;
            batch = batch_law(&workload.batch);
        }
        all.push(Class {
            rate,
            batch,
            patterns: patterns.all,
        });
    }
    let shapes: Vec<&Shape> = parts.into_iter().map(|(shape, _)| shape).collect();
    let is_symmetric = is_symmetric(simulation, &shapes);
    let was_measured = !is_by_state && accuracy::was_measured(&simulation.array, &all);
    let classes = Classes {
        family: was_measured
            .then(|| accuracy::family(&simulation.array, &shapes, &all, is_symmetric))
            .flatten(),
        all,
        is_poisson,
        is_exact,
        is_by_state,
        is_symmetric,
    };
    (Some(classes), remarks)
}

/// Whether all disks get the same work, but for chance.
fn is_symmetric(simulation: &Prepared, shapes: &[&Shape]) -> bool {
    use iosonar_raid::{Placement, WriteStart};
    let array = &simulation.array;
    let level = match array.level {
        LevelOptions::Linear { .. } | LevelOptions::Registered(_) => false,
        LevelOptions::Parity { random, .. } => {
            array.placement == Placement::Addressed || random.write_start != WriteStart::ArrayFirst
        }
        LevelOptions::Striped | LevelOptions::Mirrored { .. } => true,
    };
    let uniform =
        |s: &&Shape| array.placement == Placement::Random || s.addresses == Addresses::Uniform;
    level && array.failed.is_empty() && shapes.iter().all(uniform)
}

/// The response time under the load, first come, first served, of disks with these loads.
fn under_load(
    model: &mut ArrayTheory<'_>,
    classes: &Classes,
    disk: &DiskTheory,
    loads: Theory,
) -> Theory {
    let all = &classes.all;
    if !classes.is_poisson {
        return loads.with(TheoryRemark::DependentArrivals);
    }
    let batches = all.iter().any(|class| !class.is_single());
    if batches && all.iter().any(Class::has_partial) {
        return loads.with(TheoryRemark::BatchesOfStripeWrites);
    }
    let independent = match independent(model, all, batches) {
        Ok(table) => table,
        Err(error) => return loads.failed(error),
    };
    let mut theory = loads;
    if !batches {
        model.add_waits(&mut theory.stations);
    }
    if !all.iter().all(Class::goes_to_one_disk) {
        return joined(model, classes, independent, theory);
    }
    let queue = (!batches).then(|| model.single_queue(disk)).flatten();
    let alike = classes.is_alike() && queue.is_some();
    let standing = Standing::exact_if(classes.is_exact || alike);
    let (how, value) = match queue {
        Some(queue) => (
            How::Mg1Inverted,
            ResponseTime::Queue(Box::new(queue), independent),
        ),
        None if batches => (How::BatchMg1, ResponseTime::Table(independent)),
        None => (How::Mg1, ResponseTime::Table(independent)),
    };
    Theory {
        response: Some(Answer::of(standing, how, value)),
        ..theory
    }
}

/// The response time if the disks of a request are independent.
fn independent(
    model: &mut ArrayTheory<'_>,
    classes: &[Class],
    batches: bool,
) -> Result<Table, AnalyticError> {
    if batches {
        return model.batches(classes, Dependence::Independent);
    }
    model.wait()?;
    let group = |model: &ArrayTheory<'_>, disk: usize| model.group(disk);
    Ok(model.mixture(classes, &group, &|model, pattern| {
        model.response(pattern, Dependence::Independent)
    }))
}

/// The response time of requests that go to several disks: an estimate between two extremes, where there is one.
fn joined(
    model: &mut ArrayTheory<'_>,
    classes: &Classes,
    independent: Table,
    theory: Theory,
) -> Theory {
    let all = &classes.all;
    let (estimate, failure) = match model.estimate(all, &independent) {
        Ok(estimate) => (Some(estimate), None),
        Err(error) => (None, Some(TheoryRemark::NoEstimate(error))),
    };
    let utilisations = theory.stations.iter().map(|station| station.utilisation);
    let utilisation = utilisations.fold(0.0, f64::max);
    let family = classes.family.filter(|_| estimate.is_some());
    let accuracy = family.and_then(|family| Accuracy::of(family, utilisation));
    let approximate = |how, table| Answer {
        accuracy,
        ..Answer::of(Standing::Approximation, how, ResponseTime::Table(table))
    };
    let is_single = all.iter().all(Class::is_single);
    let is_partial = all.iter().any(Class::has_partial);
    let (response, independent) = if is_partial {
        let table = estimate.unwrap_or(independent);
        (approximate(How::PriorityQueues, table), None)
    } else {
        // Of the requests of a batch, those before can make one disk's work less where they make another's more.
        let standing = match is_single {
            true => Standing::UpperBound,
            false => Standing::Approximation,
        };
        let independent = ResponseTime::Table(independent);
        let independent = Answer::of(standing, How::IndependentMg1, independent);
        let response = match estimate {
            Some(table) => approximate(How::SharedWaits, table),
            None => independent.clone(),
        };
        (response, Some(independent))
    };
    let is_bound = |answer: &&Answer| answer.standing == Standing::UpperBound;
    let mut theory = Theory {
        upper_bound_ms: independent.as_ref().filter(is_bound).map(Answer::mean_ms),
        lower_bound_ms: is_single.then(|| model.lower_bound(all)).flatten(),
        response: Some(response),
        independent,
        ..theory
    };
    theory.remarks.extend(failure);
    if is_partial {
        return theory.with(TheoryRemark::StripeWrites);
    }
    theory
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
fn split_merge(classes: &Classes, alone: &Answer) -> Theory {
    let Some(service) = alone.table() else {
        return Theory::default();
    };
    let rate: f64 = classes.all.iter().map(Class::requests).sum();
    let (mean, utilisation) = (service.mean(), rate * service.mean());
    let mut station = StationTheory {
        station: "array".to_owned(),
        visits_per_s: rate * 1e3,
        mean_service_ms: mean,
        scv: service.variance() / (mean * mean),
        utilisation,
        busy: utilisation,
        mean_wait_ms: f64::NAN,
    };
    let poisson = classes.is_poisson && classes.all.iter().all(Class::is_single);
    let (mut response, mut unstable, mut remarks) = (None, None, Vec::new());
    if utilisation >= 1.0 {
        unstable = Some(utilisation);
    } else if !poisson {
        remarks.push(TheoryRemark::SplitMergeArrivals);
    } else {
        match Table::wait_mg1(rate, service) {
            Ok(wait) => {
                station.mean_wait_ms = wait.mean();
                let table = ResponseTime::Table(wait.plus(service));
                response = Some(Answer::of(alone.standing, How::SplitMerge, table));
            }
            Err(other) => remarks.push(TheoryRemark::Failed(other)),
        }
    }
    Theory {
        stations: vec![station],
        response,
        capacity_per_s: Some(1e3 / mean),
        unstable,
        remarks,
        ..Theory::default()
    }
}
