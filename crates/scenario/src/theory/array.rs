//! Arrays of sampled disks.

use std::collections::BTreeMap;

use iosonar_analytic::open::{BatchLaw, Mg1};
use iosonar_analytic::{Law, Table};
use iosonar_device::Access;
use iosonar_disk_model::Scheduler;
use iosonar_sim_core::Seed;
use iosonar_workload::{ArrivalLaw, Batch, Workload};

use super::disk::{DiskGrid, DiskTheory};
use super::patterns::{Job, Pattern, Patterns, Visit};
use super::{ResponseTheory, ServiceTheory, Standing, StationTheory, Theory, closed, partial, rpo};
use crate::resolve::{Load, Simulation};
use crate::{ArrayModel, DiskSet};

/// A class of requests with its patterns. Rates are per millisecond.
pub(super) struct Class {
    /// Arrivals: of batches, where there are some.
    pub(super) rate: f64,
    pub(super) batch: BatchLaw,
    pub(super) patterns: Vec<(f64, Pattern)>,
}

impl Class {
    /// Its requests.
    pub(super) fn requests(&self) -> f64 {
        self.rate * self.batch.mean()
    }

    fn is_single(&self) -> bool {
        self.batch == BatchLaw::Constant(1)
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
        Load::Closed { workload, .. } => vec![workload],
        Load::Trace { .. } => return,
    };
    let Some(classes) = classes_of(simulation, &workloads, theory) else {
        return;
    };
    let disk = DiskTheory::new(&disks.profile);
    for (access, sectors) in jobs(&classes) {
        theory.services.push(ServiceTheory {
            writes: access != Access::Read,
            sectors,
            law: disk.service(access, sectors),
        });
    }
    if !array.controller.is_immediate() {
        theory.remark(
            "no theory for the controller's times, its bus and its cache: they are left out",
        );
    }
    let mut model = ArrayTheory::new(array, &disk, &classes);
    let alone = model.mixture(&classes, &|_, _| 0, &|model, pattern| model.alone(pattern));
    theory.alone = Some(ResponseTheory::of(
        Standing::Exact,
        "the slowest part of a request that meets nobody",
        alone.clone(),
    ));
    if let Load::Closed {
        outstanding, think, ..
    } = &simulation.load
    {
        closed::answer(&mut model, &classes[0], (*outstanding, *think), theory);
        return;
    }
    let poisson = |class: &&Workload| matches!(class.arrivals, ArrivalLaw::Poisson { .. });
    let is_poisson = workloads.iter().all(poisson);
    match scheduler {
        _ if array.controller.one_at_a_time => split_merge(&classes, &alone, is_poisson, theory),
        Scheduler::Rpo { count, most } => {
            rpo::answer(&model, &classes, (count, most), is_poisson, theory);
        }
        Scheduler::Fcfs => under_load(&mut model, &classes, &disk, is_poisson, theory),
    }
}

/// The classes with their patterns; `None` if theory does not know them.
fn classes_of(
    simulation: &Simulation,
    workloads: &[&Workload],
    theory: &mut Theory,
) -> Option<Vec<Class>> {
    let seed = Seed::new(simulation.seed).within("theory");
    let mut classes = Vec::new();
    for workload in workloads {
        let Some(patterns) = Patterns::new(&simulation.array, workload, &seed) else {
            theory.remark("no theory for what becomes of these requests");
            return None;
        };
        if !patterns.is_exact {
            theory.remark(
                "which disks requests go to was drawn 20 000 times rather than gone through: shares are known \
                 to about half a percent",
            );
        }
        classes.push(Class {
            rate: workload.arrivals.per_s() / 1e3,
            batch: batch_law(&workload.batch),
            patterns: patterns.all,
        });
    }
    Some(classes)
}

/// The response time under the load, first come, first served.
fn under_load(
    model: &mut ArrayTheory<'_>,
    classes: &[Class],
    disk: &DiskTheory,
    is_poisson: bool,
    theory: &mut Theory,
) {
    model.load(classes);
    if !model.stations(classes, theory) {
        return;
    }
    if !is_poisson {
        theory.remark(
            "no theory for waits unless arrivals are Poisson: only loads and the response without waiting are told",
        );
        return;
    }
    let batches = classes.iter().any(|class| !class.is_single());
    let partial = |class: &Class| class.patterns.iter().any(|(_, p)| !p.partial.is_empty());
    if batches && classes.iter().any(partial) {
        theory.remark("no theory for partial-stripe writes that come in batches");
        return;
    }
    model.wait(theory);
    let response = if batches {
        model.batches(classes, Dependence::Independent)
    } else {
        let group = |model: &ArrayTheory<'_>, disk: usize| model.wait_of[disk];
        model.mixture(classes, &group, &|model, pattern| {
            model.response(pattern, Dependence::Independent)
        })
    };
    if classes.iter().any(partial) {
        theory.remark(
            "partial-stripe writes: pre-reads and writes are taken as independent, and how the writes find \
             their disks is estimated from loads",
        );
        let how = "priority queues: the slowest pre-read, then the slowest write";
        let estimate = model.estimate(classes, &response);
        theory.response = Some(ResponseTheory::of(Standing::Approximation, how, estimate));
    } else if classes.iter().all(Class::goes_to_one_disk) {
        let mut response = ResponseTheory::of(Standing::Exact, "M/G/1", response);
        response.inverted = model.single_queue(disk);
        if let Some(queue) = &response.inverted {
            response.how = "M/G/1, by transform inversion";
            response.mean_ms = queue.mean_response();
        }
        theory.response = Some(response);
    } else {
        let estimate = model.estimate(classes, &response);
        let how = "waits that all disks share, and waits of each disk's own";
        theory.response = Some(ResponseTheory::of(Standing::Approximation, how, estimate));
        let how = "the slowest of independent M/G/1 queues";
        theory.independent = Some(ResponseTheory::of(Standing::UpperBound, how, response));
    }
    model.bounds(classes, theory);
}

impl Class {
    fn goes_to_one_disk(&self) -> bool {
        let one = |(_, p): &(f64, Pattern)| p.direct.len() <= 1 && p.partial.is_empty();
        self.patterns.iter().all(one)
    }
}

fn batch_law(batch: &Batch) -> BatchLaw {
    match batch {
        Batch::One => BatchLaw::Constant(1),
        Batch::Requests(n) => BatchLaw::Constant(*n),
        Batch::Geometric { mean } => BatchLaw::Geometric(*mean),
        Batch::Table(table) => BatchLaw::Table(table.to_vec()),
    }
}

/// All kinds of accesses.
fn jobs(classes: &[Class]) -> Vec<Job> {
    let mut all = Visit::default();
    for (_, pattern) in classes.iter().flat_map(|class| &class.patterns) {
        for visit in pattern.direct.values() {
            all.take_kinds(visit);
        }
        for partial in &pattern.partial {
            for &(_, sectors) in &partial.reads {
                all.take_kind((Access::Read, sectors));
            }
            for &(_, sectors) in &partial.writes {
                all.take_kind((Access::Write, sectors));
            }
        }
    }
    all.jobs().map(|(job, _)| job).collect()
}

/// One request at a time: M/G/1 with the service of the slowest part.
fn split_merge(classes: &[Class], alone: &Table, is_poisson: bool, theory: &mut Theory) {
    let rate: f64 = classes.iter().map(Class::requests).sum();
    let (mean, utilisation) = (alone.mean(), rate * alone.mean());
    let single = classes.iter().all(Class::is_single);
    let wait = Table::wait_mg1(rate, alone);
    theory.capacity_per_s = Some(1e3 / mean);
    theory.stations.push(StationTheory {
        station: "array".to_owned(),
        visits_per_s: rate * 1e3,
        mean_service_ms: mean,
        scv: alone.variance() / (mean * mean),
        utilisation,
        mean_wait_ms: match &wait {
            Ok(wait) if is_poisson && single => wait.mean(),
            _ => f64::NAN,
        },
    });
    if utilisation >= 1.0 {
        theory.unstable = Some(utilisation);
    } else if !is_poisson || !single {
        theory.remark("no theory for waits unless single requests come in a Poisson stream");
    } else if let Ok(wait) = wait {
        let how = "split-merge: M/G/1 with the service of the slowest part";
        let response = ResponseTheory::of(Standing::Exact, how, wait.plus(alone));
        theory.response = Some(response);
    }
}

/// What comes to a disk. Rates are per millisecond.
#[derive(Clone, Debug, Default, PartialEq)]
struct DiskLoad {
    /// What requests want at once, and the write of a partial stripe that they come back with.
    low: Vec<(f64, FirstVisit)>,
    /// Writes of partial stripes: rate, sectors, whether they end a read-modify-write, and whether their
    /// request was at the disk before.
    high: Vec<(f64, HighJob)>,
}

/// What a request wants of a disk at once, and the write that it comes back with.
pub(super) type FirstVisit = (Visit, Option<HighJob>);

/// The write of a partial stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HighJob {
    pub(super) sectors: u32,
    pub(super) modifies: bool,
    /// Of how many writes it is one.
    pub(super) of: u32,
    /// Whether another access of its request came to the disk before, other than its own pre-read.
    pub(super) follows: bool,
}

/// A disk's waits.
pub(super) struct Waits {
    /// Of requests.
    pub(super) low: Table,
    /// Of writes of partial stripes, where there are some.
    pub(super) high: Option<Table>,
    pub(super) utilisation: f64,
    /// Visits of requests.
    pub(super) visits: f64,
    /// The service of a visit.
    pub(super) service: Table,
}

/// An array in the middle of its computation.
pub(super) struct ArrayTheory<'a> {
    pub(super) array: &'a ArrayModel,
    pub(super) grid: DiskGrid,
    loads: Vec<DiskLoad>,
    /// Which of `waits` a disk has: alike disks share them.
    wait_of: Vec<usize>,
    pub(super) waits: Vec<Waits>,
    visits: BTreeMap<Visit, Table>,
    responses: BTreeMap<(usize, Visit), Table>,
    /// The waits of each group of disks if requests came at equal distances: what they do not share.
    own: Vec<Table>,
}

/// How the disks of a request depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependence {
    /// Not at all.
    Independent,
    /// They share all arrivals, and differ by their services.
    Shared,
}

impl<'a> ArrayTheory<'a> {
    fn new(array: &'a ArrayModel, disk: &DiskTheory, classes: &[Class]) -> Self {
        let longest = classes
            .iter()
            .flat_map(|class| &class.patterns)
            .flat_map(|(_, pattern)| pattern.direct.values().map(Visit::len))
            .max()
            .unwrap_or(1);
        // Fine for short visits, coarser for long ones, so that tables stay small.
        let parts = (1024 / longest.max(4)).clamp(24, 256);
        Self {
            array,
            grid: disk.grid(parts),
            loads: Vec::new(),
            wait_of: Vec::new(),
            waits: Vec::new(),
            visits: BTreeMap::new(),
            responses: BTreeMap::new(),
            own: Vec::new(),
        }
    }

    /// The service of all accesses of a visit.
    pub(super) fn visit(&mut self, visit: &Visit) -> Table {
        if let Some(table) = self.visits.get(visit) {
            return table.clone();
        }
        let mut sum = Table::zero(self.grid.step());
        for ((access, sectors), count) in visit.jobs() {
            sum = sum.plus(&self.grid.service(access, sectors, 1).times(count));
        }
        self.visits.insert(visit.clone(), sum.clone());
        sum
    }

    /// The distribution of something over all requests of all classes, of which those are alike that go in
    /// the same way to disks of the same groups.
    fn mixture(
        &mut self,
        classes: &[Class],
        group: &dyn Fn(&Self, usize) -> usize,
        of: &dyn Fn(&mut Self, &Pattern) -> Table,
    ) -> Table {
        let total: f64 = classes.iter().map(Class::requests).sum();
        let mut kinds: BTreeMap<_, (f64, &Pattern)> = BTreeMap::new();
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let share = class.requests() / total * probability;
                let key = pattern.key(|disk| group(self, disk));
                kinds.entry(key).or_insert((0.0, pattern)).0 += share;
            }
        }
        let parts: Vec<(f64, Table)> = kinds
            .into_values()
            .map(|(share, pattern)| (share, of(self, pattern)))
            .collect();
        let parts: Vec<(f64, &Table)> = parts.iter().map(|(p, t)| (*p, t)).collect();
        Table::mixture(&parts)
    }

    /// The response of a request that meets nobody.
    pub(super) fn alone(&mut self, pattern: &Pattern) -> Table {
        if pattern.partial.is_empty() {
            let mut slowest = Table::zero(self.grid.step());
            for visit in pattern.direct.values() {
                slowest = slowest.max(&self.visit(visit));
            }
            return slowest;
        }
        partial::alone(self, pattern)
    }

    /// Counts what comes to each disk.
    fn load(&mut self, classes: &[Class]) {
        let disks = self.array.disks + self.array.spares();
        let mut low: Vec<BTreeMap<FirstVisit, f64>> = vec![BTreeMap::new(); disks];
        let mut high: Vec<BTreeMap<HighJob, f64>> = vec![BTreeMap::new(); disks];
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let rate = class.requests() * probability;
                for disk in pattern.disks() {
                    let visit = partial::first_visit(self.array, pattern, disk);
                    if !visit.is_empty() {
                        let jobs = partial::high_jobs(pattern).into_iter();
                        let back = jobs.filter(|(d, _)| *d == disk).map(|(_, job)| job).next();
                        *low[disk].entry((visit, back)).or_insert(0.0) += rate;
                    }
                }
                for (disk, job) in partial::high_jobs(pattern) {
                    *high[disk].entry(job).or_insert(0.0) += rate;
                }
            }
        }
        let flat = |(low, high): (BTreeMap<FirstVisit, f64>, BTreeMap<HighJob, f64>)| DiskLoad {
            low: low.into_iter().map(|(visit, rate)| (rate, visit)).collect(),
            high: high.into_iter().map(|(job, rate)| (rate, job)).collect(),
        };
        self.loads = low.into_iter().zip(high).map(flat).collect();
        // Disks whose loads differ by rounding only are alike.
        let alike = |a: &DiskLoad, b: &DiskLoad| {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a + b);
            a.low.len() == b.low.len()
                && a.high.len() == b.high.len()
                && a.low
                    .iter()
                    .zip(&b.low)
                    .all(|(a, b)| near(a.0, b.0) && a.1 == b.1)
                && a.high
                    .iter()
                    .zip(&b.high)
                    .all(|(a, b)| near(a.0, b.0) && a.1 == b.1)
        };
        let mut first_of: Vec<usize> = Vec::new();
        self.wait_of = (0..disks)
            .map(|disk| {
                let known = first_of
                    .iter()
                    .position(|&first| alike(&self.loads[first], &self.loads[disk]));
                known.unwrap_or_else(|| {
                    first_of.push(disk);
                    first_of.len() - 1
                })
            })
            .collect();
    }

    /// The work that batches of a class bring to a disk with a single request: nothing with some
    /// probability.
    fn work(&mut self, class: &Class, disk: usize) -> Table {
        let mut parts = vec![(0.0, Table::zero(self.grid.step()))];
        for (probability, pattern) in &class.patterns {
            match pattern.direct.get(&disk) {
                Some(visit) => parts.push((*probability, self.visit(visit))),
                None => parts[0].0 += probability,
            }
        }
        let parts: Vec<(f64, &Table)> = parts.iter().map(|(p, t)| (*p, t)).collect();
        Table::mixture(&parts)
    }

    /// Tells the stations; false if one of them is offered too much.
    fn stations(&mut self, classes: &[Class], theory: &mut Theory) -> bool {
        let mut busiest = 0.0_f64;
        for disk in 0..self.loads.len() {
            let load = self.loads[disk].clone();
            let (mut visits, mut work, mut square) = (0.0, 0.0, 0.0);
            for (rate, (visit, _)) in &load.low {
                let table = self.visit(visit);
                let mean = table.mean();
                visits += rate;
                work += rate * mean;
                square += rate * (table.variance() + mean * mean);
            }
            // What writes of partial stripes take depends on what they find: first as if nobody was there.
            for (rate, job) in &load.high {
                let table = partial::high_service(self, *job, 0.0, 0.0);
                let mean = table.mean();
                visits += rate;
                work += rate * mean;
                square += rate * (table.variance() + mean * mean);
            }
            busiest = busiest.max(work);
            let mean = work / visits;
            theory.stations.push(StationTheory {
                station: format!("disk/{disk}"),
                visits_per_s: visits * 1e3,
                mean_service_ms: mean,
                scv: square / visits / (mean * mean) - 1.0,
                utilisation: work,
                mean_wait_ms: f64::NAN,
            });
        }
        let requests: f64 = classes.iter().map(Class::requests).sum();
        theory.capacity_per_s = Some(requests * 1e3 / busiest);
        if busiest >= 1.0 {
            theory.unstable = Some(busiest);
            return false;
        }
        true
    }

    /// The waits of all disks.
    fn wait(&mut self, theory: &mut Theory) {
        for group in 0..=self.wait_of.iter().copied().max().unwrap_or(0) {
            let disk = self.wait_of.iter().position(|&g| g == group).unwrap_or(0);
            let waits = partial::waits(self, disk);
            self.waits.push(waits);
        }
        for (disk, station) in theory.stations.iter_mut().enumerate() {
            let waits = &self.waits[self.wait_of[disk]];
            station.mean_wait_ms = waits.low.mean();
            station.utilisation = waits.utilisation;
        }
    }

    pub(super) fn low_load(&self, disk: usize) -> Vec<(f64, FirstVisit)> {
        self.loads[disk].low.clone()
    }

    pub(super) fn high_load(&self, disk: usize) -> Vec<(f64, HighJob)> {
        self.loads[disk].high.clone()
    }

    pub(super) fn waits_of(&self, disk: usize) -> &Waits {
        &self.waits[self.wait_of[disk]]
    }

    /// Wait and service of a visit to a disk.
    pub(super) fn visit_response(&mut self, disk: usize, visit: &Visit) -> Table {
        let key = (self.wait_of[disk], visit.clone());
        if let Some(table) = self.responses.get(&key) {
            return table.clone();
        }
        let service = self.visit(visit);
        let table = self.waits_of(disk).low.plus(&service);
        self.responses.insert(key, table.clone());
        table
    }

    /// The response of a request under the load; if disks share their arrivals, less what they share.
    fn response(&mut self, pattern: &Pattern, dependence: Dependence) -> Table {
        if !pattern.partial.is_empty() {
            return partial::response(self, pattern, dependence);
        }
        let mut slowest = Table::zero(self.grid.step());
        for (disk, visit) in &pattern.direct {
            slowest = slowest.max(&self.part(*disk, visit, dependence));
        }
        slowest
    }

    /// Wait and service of a part of a request, or what of it is not shared with others.
    pub(super) fn part(&mut self, disk: usize, visit: &Visit, dependence: Dependence) -> Table {
        match dependence {
            Dependence::Independent => self.visit_response(disk, visit),
            Dependence::Shared => {
                let service = self.visit(visit);
                self.own[self.wait_of[disk]].plus(&service)
            }
        }
    }

    /// The response of requests of which some come together: each waits for the work that is there, for
    /// the requests of its batch before it, and for itself.
    fn batches(&mut self, classes: &[Class], dependence: Dependence) -> Table {
        let groups = self
            .wait_of
            .iter()
            .copied()
            .max()
            .map_or(0, |most| most + 1);
        let step = self.grid.step();
        let one_of = |group: usize| self.wait_of.iter().position(|&g| g == group).unwrap_or(0);
        let disks: Vec<usize> = (0..groups).map(one_of).collect();
        let waits: Vec<Table> = disks
            .iter()
            .map(|&disk| {
                let mut rate = 0.0;
                let mut works = Vec::new();
                for class in classes {
                    works.push((
                        class.rate,
                        batch_work(&self.work(class, disk), &class.batch),
                    ));
                    rate += class.rate;
                }
                let parts: Vec<(f64, &Table)> = works.iter().map(|(r, t)| (r / rate, t)).collect();
                // The load was found to be below 1.
                Table::wait_mg1(rate, &Table::mixture(&parts)).unwrap_or_else(|_| Table::zero(step))
            })
            .collect();
        let total: f64 = classes.iter().map(Class::requests).sum();
        let mut sum: Vec<(f64, Table)> = Vec::new();
        for class in classes {
            let works: Vec<Table> = disks.iter().map(|&disk| self.work(class, disk)).collect();
            let mut kinds: BTreeMap<_, (f64, &Pattern)> = BTreeMap::new();
            for (probability, pattern) in &class.patterns {
                let key = pattern.key(|disk| self.wait_of[disk]);
                kinds.entry(key).or_insert((0.0, pattern)).0 += probability;
            }
            let mut before = match dependence {
                Dependence::Independent => waits.clone(),
                Dependence::Shared => self.own.clone(),
            };
            let mut left = 1.0;
            for place in class.batch.before_a_job() {
                // What is left of long batches counts as the next place.
                let is_last = left - place < 1e-4;
                let share = if is_last { left } else { place };
                let mut known: BTreeMap<(usize, Visit), Table> = BTreeMap::new();
                for (probability, pattern) in kinds.values() {
                    let mut slowest = Table::zero(step);
                    for (disk, visit) in &pattern.direct {
                        let group = self.wait_of[*disk];
                        let service = self.visit(visit);
                        let table = known
                            .entry((group, visit.clone()))
                            .or_insert_with(|| before[group].plus(&service));
                        slowest = slowest.max(table);
                    }
                    if dependence == Dependence::Shared {
                        let shared = self.shared(&waits, pattern);
                        slowest = shared.plus(&slowest);
                    }
                    sum.push((class.requests() / total * share * probability, slowest));
                }
                if is_last {
                    break;
                }
                left -= place;
                for (before, work) in before.iter_mut().zip(&works) {
                    *before = before.plus(work);
                }
            }
        }
        let parts: Vec<(f64, &Table)> = sum.iter().map(|(p, t)| (*p, t)).collect();
        Table::mixture(&parts)
    }

    /// What all disks of a request wait for together: the wait of the busiest of them, less what it would
    /// wait for if requests came at equal distances.
    fn shared(&self, waits: &[Table], pattern: &Pattern) -> Table {
        let groups = pattern.disks().into_iter().map(|disk| self.wait_of[disk]);
        let busiest = groups.max_by(|&a, &b| waits[a].mean().total_cmp(&waits[b].mean()));
        let group = busiest.unwrap_or(0);
        let (all, own) = (waits[group].mean(), self.own[group].mean());
        if all <= own {
            return Table::zero(self.grid.step());
        }
        waits[group].stretched((all - own) / all)
    }

    /// An estimate of the response time between two extremes: that disks are independent (the response
    /// given, which is too long), and that waits are the sum of one that all disks of a request share,
    /// because they get the same arrivals, and one of their own, of a queue with regular arrivals (which is too
    /// short, for the own part interacts with the shared one). The first has the weight 1 - phi / (1 + c):
    /// phi is the share of arrivals that two disks of a request have in common, c the coefficient of variation
    /// of the service. Ours; its errors are in the book's chapter on validation.
    fn estimate(&mut self, classes: &[Class], independent: &Table) -> Table {
        let groups = self.waits.len();
        let step = self.grid.step();
        self.own = (0..groups)
            .map(|group| {
                let waits = &self.waits[group];
                if waits.visits == 0.0 {
                    return Table::zero(step);
                }
                // The load was found to be below 1.
                Table::wait_dg1(1.0 / waits.visits, &waits.service)
                    .unwrap_or_else(|_| Table::zero(step))
            })
            .collect();
        let shared = if classes.iter().any(|class| !class.is_single()) {
            self.batches(classes, Dependence::Shared)
        } else {
            let waits: Vec<Table> = self.waits.iter().map(|w| w.low.clone()).collect();
            let group = |model: &ArrayTheory<'_>, disk: usize| model.wait_of[disk];
            self.mixture(classes, &group, &|model, pattern| {
                let own = model.response(pattern, Dependence::Shared);
                model.shared(&waits, pattern).plus(&own)
            })
        };
        // Of the requests that visit a disk: how many of the others' requests they bring, on average.
        let (mut pairs, mut visits, mut variation) = (0.0, 0.0, 0.0);
        let disks = self.array.disks as f64;
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let rate = class.requests() * probability;
                let its_disks = pattern.disks();
                let n = its_disks.len() as f64;
                visits += rate * n;
                pairs += rate * n * (n - 1.0) / (disks - 1.0).max(1.0);
                for disk in its_disks {
                    // Of a visit as it is: that some are longer is shared by the disks of a request.
                    let mut visit = partial::first_visit(self.array, pattern, disk);
                    if visit.is_empty() {
                        let jobs = partial::high_jobs(pattern).into_iter();
                        jobs.filter(|(d, _)| *d == disk)
                            .for_each(|(_, job)| visit.add((Access::Write, job.sectors)));
                    }
                    let service = self.visit(&visit);
                    variation += rate * service.variance().sqrt() / service.mean();
                }
            }
        }
        let (phi, c) = (pairs / visits, variation / visits);
        let weight = 1.0 - phi / (1.0 + c);
        Table::mixture(&[(weight, independent), (1.0 - weight, &shared)])
    }

    /// The queue of a disk, if all disks that are used have the same load of single requests without batches.
    fn single_queue(&self, disk: &DiskTheory) -> Option<Mg1> {
        let mut used = self.loads.iter().filter(|load| !load.low.is_empty());
        let (first, [(rate, (visit, None))]) =
            used.next().map(|load| (load, load.low.as_slice()))?
        else {
            return None;
        };
        let near = |load: &DiskLoad| {
            let same = |(a, b): (&(f64, FirstVisit), &(f64, FirstVisit))| {
                a.1 == b.1 && (a.0 - b.0).abs() <= 1e-9 * b.0
            };
            load.low.len() == first.low.len() && load.low.iter().zip(&first.low).all(same)
        };
        if !used.all(near) {
            return None;
        }
        let parts = visit.jobs().map(|((access, sectors), count)| match count {
            1 => disk.service(access, sectors),
            count => Law::Times(count, Box::new(disk.service(access, sectors))),
        });
        Mg1::new(*rate, Law::Sum(parts.collect())).ok()
    }

    /// Bounds of the mean response time.
    fn bounds(&mut self, classes: &[Class], theory: &mut Theory) {
        let is_exact = |r: &ResponseTheory| r.standing == Standing::Exact;
        if theory.response.as_ref().is_none_or(is_exact) {
            return;
        }
        theory.upper_bound_ms = theory.independent.as_ref().map(|r| r.mean_ms);
        if classes.iter().any(|class| !class.is_single()) {
            return;
        }
        // A maximum has at least the mean of each of its parts.
        let total: f64 = classes.iter().map(Class::requests).sum();
        let mut lower = 0.0;
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let slowest = pattern
                    .direct
                    .iter()
                    .map(|(disk, visit)| self.visit_response(*disk, visit).mean())
                    .fold(0.0, f64::max);
                let alone = self.alone(pattern).mean();
                lower += class.requests() / total * probability * slowest.max(alone);
            }
        }
        // Where all requests ask the same of all disks: as if they came at equal distances.
        if let [class] = classes
            && let [(_, pattern)] = class.patterns.as_slice()
            && pattern.partial.is_empty()
        {
            let mut slowest = Table::zero(self.grid.step());
            for (disk, visit) in &pattern.direct {
                let own = self.own[self.wait_of[*disk]].clone();
                slowest = slowest.max(&own.plus(&self.visit(visit)));
            }
            lower = lower.max(slowest.mean());
        }
        theory.lower_bound_ms = Some(lower);
    }
}

/// The work of a whole batch.
fn batch_work(one: &Table, batch: &BatchLaw) -> Table {
    match batch {
        BatchLaw::Constant(n) => one.times(*n),
        BatchLaw::Table(table) => {
            let parts: Vec<(f64, Table)> = table.iter().map(|(p, n)| (*p, one.times(*n))).collect();
            let parts: Vec<(f64, &Table)> = parts.iter().map(|(p, t)| (*p, t)).collect();
            Table::mixture(&parts)
        }
        BatchLaw::Geometric(mean) => {
            let (q, mut left) = (1.0 - 1.0 / mean, 1.0);
            let (mut sum, mut parts) = (one.clone(), Vec::new());
            while left > 1e-7 {
                parts.push((left / mean, sum.clone()));
                left *= q;
                sum = sum.plus(one);
            }
            // What is left of the probability goes to the longest.
            if let Some(last) = parts.last_mut() {
                last.0 += left;
            }
            let parts: Vec<(f64, &Table)> = parts.iter().map(|(p, t)| (*p, t)).collect();
            Table::mixture(&parts)
        }
    }
}
