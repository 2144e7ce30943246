//! Disks with rotational positioning optimisation.

use iosonar_analytic::Table;
use iosonar_analytic::open::{VaryingService, VaryingServiceQueue};
use iosonar_device::Access;
use iosonar_disk_model::RpoCount;

use super::array::Classes;
use super::disk::DiskGrid;
use super::loaded::ArrayTheory;
use super::patterns::{Class, Job, Visit};
use super::{
    Accuracy, Answer, Family, How, ResponseTime, Standing, StationTheory, Theory, TheoryRemark,
};

/// The service of one kind of access with the shortest of as many positionings as jobs are there.
pub(super) struct RpoService<'a> {
    grid: &'a DiskGrid,
    access: Access,
    sectors: u32,
    count: RpoCount,
    alike: usize,
}

/// The number of jobs beyond which another one makes no relevant difference.
const ALIKE: usize = 400;

impl<'a> RpoService<'a> {
    /// Of this access; at most `most` positionings are looked at.
    pub(super) fn new(
        grid: &'a DiskGrid,
        (access, sectors): (Access, u32),
        count: RpoCount,
        most: usize,
    ) -> Self {
        let more = match count {
            RpoCount::Including => 0,
            RpoCount::Excluding => 1,
        };
        Self {
            grid,
            access,
            sectors,
            count,
            alike: most.saturating_add(more).min(ALIKE),
        }
    }

    fn table(&self, present: usize) -> Table {
        let candidates = match self.count {
            RpoCount::Including => present,
            RpoCount::Excluding => present.saturating_sub(1).max(1),
        };
        self.grid
            .service(self.access, self.sectors, candidates as u32)
    }
}

impl RpoService<'_> {
    /// The service of a job in this queue, whatever it finds.
    fn of(&self, queue: &VaryingServiceQueue) -> Table {
        let numbered = queue.jobs().iter().enumerate();
        let parts: Vec<(f64, Table)> = numbered
            .filter(|(_, p)| **p > 1e-7)
            .map(|(left, p)| (*p, self.table(left.max(1).min(self.alike))))
            .collect();
        let parts: Vec<(f64, &Table)> = parts.iter().map(|(p, t)| (*p, t)).collect();
        Table::mixture(&parts)
    }
}

impl VaryingService for RpoService<'_> {
    fn mean(&self, present: usize) -> f64 {
        self.table(present.min(self.alike)).mean()
    }

    fn arrivals(&self, present: usize, rate: f64) -> Vec<f64> {
        let table = self.table(present.min(self.alike));
        let step = table.step();
        let values = table.values();
        let longest = values.len() as f64 * step * rate;
        // Poisson: far beyond the largest mean there is nothing.
        let most = (longest + 10.0 * longest.sqrt() + 20.0) as usize;
        let mut all = vec![0.0; most];
        for (i, pair) in values.windows(2).enumerate() {
            let mass = pair[1] - pair[0];
            let mean = (i as f64 + 0.5) * step * rate;
            let mut p = mass * libm::exp(-mean);
            for (k, sum) in all.iter_mut().enumerate() {
                *sum += p;
                p *= mean / (k + 1) as f64;
            }
        }
        all
    }

    fn alike_from(&self) -> usize {
        self.alike
    }
}

/// Each disk alone by its embedded chain, where all visits are one access of one kind.
pub(super) fn answer(
    model: &ArrayTheory<'_>,
    classes: &Classes,
    (count, most): (RpoCount, usize),
) -> Theory {
    let disks = model.array.disks + model.array.spares();
    let (mut rates, job) = only_access(&classes.all, disks);
    if classes.is_alike() {
        let all = model.array.disks;
        let mean = rates.iter().sum::<f64>() / all as f64;
        rates[..all].fill(mean);
    }
    let Some(job) = job else {
        return Theory::only(TheoryRemark::RpoSeveralAccesses);
    };
    if !classes.is_poisson {
        return Theory::only(TheoryRemark::RpoArrivals);
    }
    let service = RpoService::new(&model.grid, job, count, most);
    let fastest = service.mean(service.alike_from());
    let busiest = rates.iter().copied().fold(0.0, f64::max);
    let total: f64 = classes.all.iter().map(Class::requests).sum();
    let mut theory = Theory {
        capacity_per_s: Some(total * 1e3 / (busiest * fastest)),
        ..Theory::default()
    };
    let mut queues = Queues::default();
    for (disk, &rate) in rates.iter().enumerate() {
        let idle = StationTheory {
            station: model.array.station(disk),
            visits_per_s: 0.0,
            mean_service_ms: f64::NAN,
            scv: f64::NAN,
            utilisation: 0.0,
            busy: 0.0,
            mean_wait_ms: f64::NAN,
        };
        let queue = match queues.at(rate) {
            Some(queue) => Ok(queue),
            None if rate == 0.0 => {
                theory.stations.push(idle);
                continue;
            }
            None => VaryingServiceQueue::new(rate, &service).map(|queue| queues.add(rate, queue)),
        };
        let queue = match queue {
            Ok(queue) => queue,
            Err(error) => return theory.failed(error),
        };
        theory.stations.push(StationTheory {
            visits_per_s: rate * 1e3,
            mean_service_ms: queue.mean_service(),
            utilisation: queue.utilisation(),
            busy: queue.utilisation(),
            mean_wait_ms: queue.mean_response() - queue.mean_service(),
            ..idle
        });
    }
    let (response, lower_bound_ms) = join(classes, &rates, &queues, &service);
    Theory {
        response: Some(response),
        lower_bound_ms,
        ..theory.with(TheoryRemark::RpoMeanOnly)
    }
}

/// The queues of disks, by how often these are visited.
#[derive(Default)]
struct Queues(Vec<(f64, VaryingServiceQueue)>);

impl Queues {
    fn at(&self, rate: f64) -> Option<&VaryingServiceQueue> {
        let near = |(known, _): &&(f64, _)| (known - rate).abs() <= 1e-9 * rate;
        self.0.iter().find(near).map(|(_, queue)| queue)
    }

    fn add(&mut self, rate: f64, queue: VaryingServiceQueue) -> &VaryingServiceQueue {
        self.0.push((rate, queue));
        &self.0[self.0.len() - 1].1
    }
}

/// From disks to requests: of one disk exactly; of several the wait of the busiest, shared by all, and the slowest
/// of as many services, with a lower bound.
fn join(
    classes: &Classes,
    rates: &[f64],
    queues: &Queues,
    service: &RpoService<'_>,
) -> (Answer, Option<f64>) {
    let queue_of = |disk: usize| queues.at(rates[disk]);
    let response = |disk: usize| queue_of(disk).map_or(0.0, VaryingServiceQueue::mean_response);
    let total: f64 = classes.all.iter().map(Class::requests).sum();
    let (mut single, mut least, mut estimate) = (true, 0.0, 0.0);
    for class in &classes.all {
        for (probability, pattern) in &class.patterns {
            let share = class.requests() / total * probability;
            let disks = || pattern.direct.keys().copied();
            single &= pattern.direct.len() == 1;
            least += share * disks().map(response).fold(0.0, f64::max);
            let busiest = disks().max_by(|&a, &b| rates[a].total_cmp(&rates[b]));
            if let Some(queue) = busiest.and_then(queue_of) {
                let wait = queue.mean_response() - queue.mean_service();
                let parts = pattern.direct.len() as u32;
                estimate += share * (wait + service.of(queue).max_of(parts).mean());
            }
        }
    }
    if single {
        let standing = Standing::exact_if(classes.is_exact || classes.is_alike());
        let mean = ResponseTime::Mean(least);
        return (Answer::of(standing, How::RpoChain, mean), None);
    }
    let busiest = queues.0.iter().map(|(_, queue)| queue.utilisation());
    let busiest = busiest.fold(0.0, f64::max);
    let mean = ResponseTime::Mean(estimate);
    let answer = Answer {
        accuracy: classes
            .family
            .and_then(|_| Accuracy::of(Family::RpoJoin, busiest)),
        ..Answer::of(Standing::Approximation, How::RpoJoin, mean)
    };
    (answer, Some(least))
}

/// How often each disk is visited, per millisecond, and its only access; `None` where visits are
/// of several accesses, or of several kinds.
fn only_access(classes: &[Class], disks: usize) -> (Vec<f64>, Option<Job>) {
    let mut rates = vec![0.0; disks];
    let mut kind: Option<&Visit> = None;
    let mut alike = classes.iter().all(|class| class.batch.mean() == 1.0);
    for class in classes {
        for (probability, pattern) in &class.patterns {
            alike &= pattern.partial.is_empty();
            for (disk, visit) in &pattern.direct {
                rates[*disk] += class.requests() * probability;
                alike &= visit.len() == 1 && *kind.get_or_insert(visit) == visit;
            }
        }
    }
    let job = kind.and_then(|visit| visit.jobs().next()).filter(|_| alike);
    (rates, job.map(|(job, _)| job))
}
