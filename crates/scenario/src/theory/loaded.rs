//! The load of each disk of an array, the waits there, and the response times of requests.

use std::collections::BTreeMap;

use iosonar_analytic::open::Mg1;
use iosonar_analytic::{ServiceLaw, Table};
use iosonar_device::Access;

use super::disk::{DiskGrid, DiskTheory};
use super::patterns::{self, Class, FirstVisit, HighJob, Job, Pattern, Places, Visit};
use super::{StationTheory, Theory, partial, writes};
use crate::ArrayModel;

/// What comes to a disk. Rates are per millisecond.
#[derive(Clone, Debug, Default, PartialEq)]
struct DiskLoad {
    /// What requests want at once, and the write of a partial stripe that they come back with.
    low: Vec<(f64, FirstVisit)>,
    /// Writes of partial stripes.
    high: Vec<(f64, HighJob)>,
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

/// How the disks of a request depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependence {
    /// Not at all.
    Independent,
    /// They share all arrivals, and differ by their services.
    Shared,
}

/// Means and variances that make up those of accesses.
struct AccessMoments {
    /// Positioning, of a read and of a write.
    positioning: [(f64, f64); 2],
    /// The time of a sector under the head.
    pace: (f64, f64),
}

impl AccessMoments {
    fn new(disk: &DiskTheory) -> Self {
        let of = |law: ServiceLaw| (law.mean(), law.variance());
        let positioning = |access| of(ServiceLaw::Sum(vec![disk.seek(access), disk.rotation()]));
        Self {
            positioning: [positioning(Access::Read), positioning(Access::Write)],
            pace: of(disk.transfer(1)),
        }
    }

    /// Mean and variance of all accesses of a visit.
    fn of(&self, visit: &Visit) -> (f64, f64) {
        let (mut mean, mut variance, mut squares) = (0.0, 0.0, 0.0);
        for ((access, sectors), count) in visit.jobs() {
            let (count, sectors) = (f64::from(count), f64::from(sectors));
            let (of_mean, of_variance) = self.positioning[usize::from(access != Access::Read)];
            mean += count * of_mean;
            variance += count * of_variance;
            squares += count * sectors * sectors;
        }
        let total = visit.sectors() as f64;
        if visit.places() == Places::One {
            squares = total * total;
        }
        (mean + total * self.pace.0, variance + squares * self.pace.1)
    }
}

/// An array in the middle of its computation.
pub(super) struct ArrayTheory<'a> {
    pub(super) array: &'a ArrayModel,
    pub(super) grid: DiskGrid,
    /// Whether the tables of all visits and waits stay within bounds.
    is_computable: bool,
    means: AccessMoments,
    loads: Vec<DiskLoad>,
    /// Which of `waits` a disk has: alike disks share them.
    wait_of: Vec<usize>,
    pub(super) waits: Vec<Waits>,
    visits: BTreeMap<Visit, Table>,
    responses: BTreeMap<(usize, Visit), Table>,
    /// The zero-load responses of requests with partial stripes.
    pub(super) partial_alone: BTreeMap<Pattern, Table>,
    /// The waits of each group of disks if requests came at equal distances: what they do not share.
    pub(super) own: Vec<Table>,
}

/// Steps of the grid in a revolution, from the finest to the coarsest that is still of use.
const PARTS: [u32; 6] = [256, 128, 64, 32, 16, 8];
/// The finest grid with at most this many products is taken: a few tenths of a second. With more on the coarsest
/// there is no answer.
const ENOUGH: f64 = 5e8;
const TOO_MANY: f64 = 4e9;
/// The most kinds of requests.
const MOST_KINDS: usize = 20_000;

impl<'a> ArrayTheory<'a> {
    /// The array with all that comes to its disks; `symmetric`: differences between disks are chance.
    pub(super) fn new(
        array: &'a ArrayModel,
        disk: &DiskTheory,
        classes: &[Class],
        symmetric: bool,
    ) -> Self {
        let mut theory = Self {
            array,
            grid: disk.grid(PARTS[PARTS.len() - 1]),
            is_computable: false,
            means: AccessMoments::new(disk),
            loads: Vec::new(),
            wait_of: Vec::new(),
            waits: Vec::new(),
            visits: BTreeMap::new(),
            responses: BTreeMap::new(),
            partial_alone: BTreeMap::new(),
            own: Vec::new(),
        };
        theory.load(classes, symmetric);
        let kinds: usize = classes.iter().map(|class| class.patterns.len()).sum();
        let patterns = || classes.iter().flat_map(|class| &class.patterns);
        let writes = patterns().flat_map(|(_, pattern)| &pattern.partial);
        let slowest_write = writes
            .map(|write| partial::cost(&theory.grid, array.rules.full_turn, write))
            .fold(0.0, f64::max);
        if kinds <= MOST_KINDS && slowest_write <= TOO_MANY {
            let maxima: usize = patterns().map(|(_, pattern)| pattern.disks().len()).sum();
            let cost = |parts: &u32| theory.cost(*parts, maxima as f64);
            let fine = PARTS.into_iter().find(|parts| cost(parts) <= ENOUGH);
            let coarsest = PARTS[PARTS.len() - 1];
            theory.is_computable = fine.is_some() || cost(&coarsest) <= TOO_MANY;
            theory.grid = disk.grid(fine.unwrap_or(coarsest));
        }
        theory
    }

    /// About how many products the tables take on a grid of `parts` steps a revolution, `maxima` of which are taken
    /// of one with another.
    fn cost(&self, parts: u32, maxima: f64) -> f64 {
        let step = self.grid.revolution() / f64::from(parts);
        let mut known: BTreeMap<&Visit, f64> = BTreeMap::new();
        let (mut products, mut longest) = (0.0, 0.0_f64);
        for group in 0..self.groups() {
            let load = &self.loads[self.disk_of(group)];
            let (mut rate, mut work, mut square) = (0.0, 0.0, 0.0);
            for (visits, (visit, _)) in &load.low {
                let (mean, variance) = self.means.of(visit);
                rate += visits;
                work += visits * mean;
                square += visits * (variance + mean * mean);
            }
            // Until nothing is left of an exponential tail; of a service some ten deviations.
            let wait = square / (2.0 * (1.0 - work.min(0.99))) / work.max(1e-9);
            let points = (18.0 * wait / step).min(131_072.0);
            for (_, (visit, _)) in &load.low {
                let (mean, variance) = self.means.of(visit);
                let own = (mean + 10.0 * variance.sqrt()) / step;
                products += points * own;
                longest = longest.max(points + own);
                known.insert(visit, own * own / 2.0);
            }
            if rate > 0.0 {
                // Regular arrivals: some tens of steps.
                products += 10.0 * points * work / rate / step;
            }
        }
        products + maxima * longest + known.values().sum::<f64>()
    }

    /// Whether response times can be computed in a moment.
    pub(super) fn can_be_computed(&self) -> bool {
        self.is_computable
    }

    /// The service of all accesses of a visit.
    pub(super) fn visit(&mut self, visit: &Visit) -> Table {
        if let Some(table) = self.visits.get(visit) {
            return table.clone();
        }
        let mut sum = Table::zero(self.grid.step());
        for ((access, sectors), count) in visit.jobs() {
            let each = match visit.places() {
                Places::Many => self.grid.service(access, sectors, 1),
                Places::One => self.grid.positioning(access).clone(),
            };
            sum = sum.plus(&each.times(count));
        }
        if visit.places() == Places::One && !visit.is_empty() {
            sum = self.grid.with_transfer(&sum, visit.sectors());
        }
        self.visits.insert(visit.clone(), sum.clone());
        sum
    }

    /// Patterns that go in the same way to disks of the same groups, as one, with their probabilities.
    pub(super) fn kinds<'p>(
        &self,
        patterns: impl Iterator<Item = (f64, &'p Pattern)>,
        group: &dyn Fn(&Self, usize) -> usize,
    ) -> Vec<(f64, &'p Pattern)> {
        let mut kinds: BTreeMap<_, (f64, &Pattern)> = BTreeMap::new();
        for (probability, pattern) in patterns {
            let key = pattern.key(|disk| group(self, disk));
            kinds.entry(key).or_insert((0.0, pattern)).0 += probability;
        }
        kinds.into_values().collect()
    }

    /// The distribution of something over all requests of all classes.
    pub(super) fn mixture(
        &mut self,
        classes: &[Class],
        group: &dyn Fn(&Self, usize) -> usize,
        of: &dyn Fn(&mut Self, &Pattern) -> Table,
    ) -> Table {
        let total: f64 = classes.iter().map(Class::requests).sum();
        let all = classes.iter().flat_map(|class| {
            let share = class.requests() / total;
            let patterns = class.patterns.iter();
            patterns.map(move |(probability, pattern)| (share * probability, pattern))
        });
        let kinds = self.kinds(all, group);
        let parts = kinds
            .into_iter()
            .map(|(share, pattern)| (share, of(self, pattern)));
        Table::mixture_of(parts)
    }

    /// Counts what comes to each disk.
    fn load(&mut self, classes: &[Class], symmetric: bool) {
        let disks = self.array.disks + self.array.spares();
        let mut low: Vec<BTreeMap<FirstVisit, f64>> = vec![BTreeMap::new(); disks];
        let mut high: Vec<BTreeMap<HighJob, f64>> = vec![BTreeMap::new(); disks];
        let even = if symmetric {
            self.array.disks as f64
        } else {
            1.0
        };
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let rate = class.requests() * probability / even;
                for disk in pattern.disks() {
                    let visit = patterns::first_visit(self.array, pattern, disk);
                    if !visit.is_empty() {
                        let mut jobs = patterns::high_jobs(pattern).into_iter();
                        let back = jobs.find(|(d, _)| *d == disk).map(|(_, job)| job);
                        let at = if symmetric { 0 } else { disk };
                        *low[at].entry((visit, back)).or_insert(0.0) += rate;
                    }
                }
                for (disk, job) in patterns::high_jobs(pattern) {
                    let at = if symmetric { 0 } else { disk };
                    *high[at].entry(job).or_insert(0.0) += rate;
                }
            }
        }
        let flat = |(low, high): (BTreeMap<FirstVisit, f64>, BTreeMap<HighJob, f64>)| DiskLoad {
            low: low.into_iter().map(|(visit, rate)| (rate, visit)).collect(),
            high: high.into_iter().map(|(job, rate)| (rate, job)).collect(),
        };
        self.loads = low.into_iter().zip(high).map(flat).collect();
        if symmetric {
            for disk in 1..self.array.disks {
                self.loads[disk] = self.loads[0].clone();
            }
        }
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

    /// The group of a disk.
    pub(super) fn group(&self, disk: usize) -> usize {
        self.wait_of[disk]
    }

    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.wait_of
            .iter()
            .copied()
            .max()
            .map_or(0, |most| most + 1)
    }

    /// One of the disks of a group.
    pub(super) fn disk_of(&self, group: usize) -> usize {
        self.wait_of.iter().position(|&g| g == group).unwrap_or(0)
    }

    /// The stations, the capacity, and whether a station is offered too much.
    pub(super) fn loads(&self, classes: &[Class]) -> Theory {
        let mut saturated = 0.0_f64;
        let mut stations = Vec::with_capacity(self.loads.len());
        for disk in 0..self.loads.len() {
            let load = &self.loads[disk];
            let (mut visits, mut work, mut square) = (0.0, 0.0, 0.0);
            let mut add = |rate: f64, mean: f64, variance: f64| {
                visits += rate;
                work += rate * mean;
                square += rate * (variance + mean * mean);
            };
            let mut low = (0.0, 0.0);
            for (rate, (visit, _)) in &load.low {
                let (mean, variance) = self.means.of(visit);
                low = (low.0 + rate, low.1 + rate * mean);
                add(*rate, mean, variance);
            }
            let (low_rate, low_work) = low;
            let service = |job: HighJob, utilisation: f64| {
                let rules = self.array.rules;
                writes::high_service(&self.grid, rules, job, utilisation, low_rate)
            };
            // The time of partial-stripe writes is linear in the utilisation of the disk that they find, which is that of the
            // time they take.
            let all_work = |utilisation: f64| {
                let high = load.high.iter();
                let high = high.map(|(rate, job)| rate * service(*job, utilisation).mean());
                low_work + high.sum::<f64>()
            };
            let (idle, crowded) = (all_work(0.0), all_work(1.0));
            let utilisation = match crowded < 1.0 {
                true => idle / (1.0 - (crowded - idle)),
                false => 1.0,
            };
            for (rate, job) in &load.high {
                let table = service(*job, utilisation);
                add(*rate, table.mean(), table.variance());
            }
            saturated = saturated.max(crowded);
            let mean = work / visits;
            stations.push(StationTheory {
                station: self.array.station(disk),
                visits_per_s: visits * 1e3,
                mean_service_ms: mean,
                scv: square / visits / (mean * mean) - 1.0,
                utilisation: work,
                busy: work,
                mean_wait_ms: f64::NAN,
            });
        }
        let requests: f64 = classes.iter().map(Class::requests).sum();
        Theory {
            stations,
            capacity_per_s: Some(requests * 1e3 / saturated),
            unstable: (saturated >= 1.0).then_some(saturated),
            ..Theory::default()
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

    /// The queue of a disk, if all disks that are used have the same load of one kind of visit.
    pub(super) fn single_queue(&self, disk: &DiskTheory) -> Option<Mg1> {
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
        let law = |(access, sectors): Job| match visit.places() {
            Places::Many => disk.service(access, sectors),
            Places::One => ServiceLaw::Sum(vec![disk.seek(access), disk.rotation()]),
        };
        let parts = visit.jobs().map(|(job, count)| match count {
            1 => law(job),
            count => ServiceLaw::Times(count, Box::new(law(job))),
        });
        let mut parts: Vec<ServiceLaw> = parts.collect();
        if visit.places() == Places::One {
            parts.push(disk.transfer(visit.sectors()));
        }
        Mg1::new(*rate, ServiceLaw::Sum(parts)).ok()
    }
}
