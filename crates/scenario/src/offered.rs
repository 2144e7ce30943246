//! How much work the stations are offered, before anything is simulated.

use iosonar_device::{Access, Device, Job, RequestId, Service, Usage};
use iosonar_disk_model::{DiskLaws, Scheduler};
use iosonar_raid::{Plan, Planner, StageKind};
use iosonar_sim_core::Seed;
use iosonar_units::Nanos;
use iosonar_workload::SyntheticLoad;

use crate::DiskModel;
use crate::resolve::{Load, Simulation};

/// The offered load of a station: arriving work per time, 1 is all that it can do. A lower and an
/// upper one where the work depends on the state: the positioning of partial-stripe writes, RPO.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Its name.
    pub station: String,
    /// If everything goes well.
    pub lower: f64,
    /// If nothing does.
    pub upper: f64,
    /// The standard error of both: work is averaged over a sample of requests.
    pub stderr: f64,
}

/// How many requests are planned to see where they go.
const SAMPLE: u32 = 50_000;

/// Devices without jobs: plans that depend on queues see empty ones.
struct Idle;

impl Device for Idle {
    fn submit(&mut self, _: Job, _: Nanos) {}
    fn start_next(&mut self, _: Nanos) -> Option<Nanos> {
        None
    }
    fn complete(&mut self, _: Nanos) -> Service {
        unreachable!("nothing is ever started")
    }
    fn busy_with(&self) -> Option<RequestId> {
        None
    }
    fn last_served(&self) -> Option<RequestId> {
        None
    }
    fn queue_length(&self) -> usize {
        0
    }
    fn measure_from(&mut self, _: Nanos) {}
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// Mean positioning times in milliseconds, the best and the worst that the state allows.
struct Means {
    /// Of a new place, for a read and for a write.
    fresh: [(f64, f64); 2],
    rotation: f64,
    turn: f64,
    per_sector: f64,
}

impl Means {
    fn new(simulation: &Simulation) -> Self {
        let profile = &simulation.array.profile;
        let laws = DiskLaws::new(profile);
        let fresh = |access| {
            let alone = laws.mean_positioning_ms(access, 1);
            let best = match simulation.array.disk {
                DiskModel::Sampled(Scheduler::Fcfs) => alone,
                DiskModel::Sampled(Scheduler::Rpo { most, .. }) if most < 1 << 20 => {
                    laws.mean_positioning_ms(access, most as u32)
                }
                // Of ever more draws the best comes near the shortest seek, and no rotation; and where the
                // arm is real, what follows on the request before needs no positioning.
                DiskModel::Sampled(Scheduler::Rpo { .. }) | DiskModel::Positional(_) => 0.0,
            };
            (best, alone)
        };
        Self {
            fresh: [fresh(Access::Read), fresh(Access::Write)],
            rotation: laws.mean_rotation_ms(),
            turn: profile.revolution_ms,
            per_sector: laws.mean_transfer_ms_per_sector(),
        }
    }

    /// The best and the worst positioning of a sub-request.
    fn positioning(&self, kind: StageKind, preread: bool, preread_access: Access) -> (f64, f64) {
        let fresh = |access| match access {
            Access::Read => self.fresh[0],
            Access::Write => self.fresh[1],
        };
        match kind {
            StageKind::Direct(access) => fresh(access),
            StageKind::Copy if preread => fresh(Access::Read),
            StageKind::Copy => fresh(Access::Write),
            _ if preread => fresh(preread_access),
            StageKind::ReadModifyWrite => {
                let (best, worst) = fresh(Access::Write);
                (best.min(self.rotation), worst.max(self.turn))
            }
            StageKind::ReconstructWrite => (0.0, fresh(Access::Write).1.max(self.rotation)),
        }
    }
}

/// Work per request at one station.
#[derive(Clone, Copy, Default)]
struct Work {
    lower: f64,
    upper: f64,
    squares: f64,
}

impl Work {
    fn add(&mut self, lower: f64, upper: f64) {
        self.lower += lower;
        self.upper += upper;
        self.squares += upper * upper;
    }

    fn offered(&self, station: String, per_ms: f64) -> Offered {
        let n = f64::from(SAMPLE);
        let mean = self.upper / n;
        let variance = (self.squares / n - mean * mean).max(0.0);
        Offered {
            station,
            lower: per_ms * self.lower / n,
            upper: per_ms * mean,
            stderr: per_ms * (variance / n).sqrt(),
        }
    }
}

impl Simulation {
    /// The offered load of every disk, and of the bus and of the array as a whole where requests wait
    /// for them. `None` if the arrivals are not given by laws: a trace, or a closed loop.
    ///
    /// What a write-back cache, a rebuild or a mirror that is chosen by its queue do is left out.
    pub fn offered(&self) -> Option<Vec<Offered>> {
        let Load::Synthetic { classes, .. } = &self.load else {
            return None;
        };
        let per_ms = self.load.requests_per_s()? / 1000.0;
        let seed = Seed::new(self.seed).within("offered load");
        let mut planner = self.array.planner(&seed).ok()?;
        let means = Means::new(self);
        let disks = self.array.disks + self.array.spares();
        let idle: Vec<Idle> = (0..disks).map(|_| Idle).collect();
        let preread = match self.array.rules.preread_seek {
            iosonar_raid::rules::PrereadSeek::Read => Access::Read,
            iosonar_raid::rules::PrereadSeek::Write => Access::Write,
        };
        let mut by_disk = vec![Work::default(); disks];
        let (mut bus, mut whole) = (Work::default(), Work::default());
        let bus_ms = self.array.controller.bus_ns_per_sector / 1e6;
        let mut plan = Plan::default();
        let mut of_request = vec![(0.0, 0.0); disks];
        for request in SyntheticLoad::new(classes.clone(), &seed).take(SAMPLE as usize) {
            plan.clear();
            planner.plan(&request, &idle, &mut plan);
            if self.array.rules.coalesce {
                plan.coalesce();
            }
            of_request.fill((0.0, 0.0));
            let mut sectors = 0.0;
            for stage in plan.stages() {
                let two_steps = !stage.then.is_empty();
                for sub in stage.first.clone().chain(stage.then.clone()) {
                    let first = two_steps && stage.first.contains(&sub);
                    let sub = &plan.sub_requests()[sub];
                    let (best, worst) = means.positioning(stage.kind, first, preread);
                    let size = f64::from(sub.sectors.get());
                    let transfer = means.per_sector * size;
                    of_request[sub.disk].0 += best + transfer;
                    of_request[sub.disk].1 += worst + transfer;
                    sectors += size;
                }
            }
            for (work, &(best, worst)) in by_disk.iter_mut().zip(&of_request) {
                work.add(best, worst);
            }
            bus.add(bus_ms * sectors, bus_ms * sectors);
            let longest = of_request.iter().map(|work| work.0).fold(0.0, f64::max);
            whole.add(longest, of_request.iter().map(|work| work.1).sum());
        }
        let mut all: Vec<Offered> = by_disk
            .iter()
            .enumerate()
            .map(|(disk, work)| work.offered(format!("disk/{disk}"), per_ms))
            .collect();
        if bus_ms > 0.0 {
            all.push(bus.offered("bus".to_owned(), per_ms));
        }
        if self.array.controller.one_at_a_time {
            all.push(whole.offered("array".to_owned(), per_ms));
        }
        Some(all)
    }

    /// The station whose lower offered load is at least 1 beyond doubt, if there is one.
    pub fn overloaded(&self) -> Option<Offered> {
        let beyond_doubt = |o: &Offered| o.lower - 3.0 * o.stderr >= 1.0;
        let stations = self.offered()?.into_iter().filter(beyond_doubt);
        stations.max_by(|a, b| a.lower.total_cmp(&b.lower))
    }
}
