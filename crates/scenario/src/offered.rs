//! How much work the stations are offered, before anything is simulated.

use iosonar_device::{Access, Observable, Occupancy};
use iosonar_disk_model::{DiskLaws, DiskProfile, Geometry, Scheduler};
use iosonar_raid::rules::{FullTurn, PrereadSeek};
use iosonar_raid::{Level, MirrorRead, Planner, RequestPlan, StageKind};
use iosonar_sim_core::Seed;
use iosonar_trace::{Op, Request};
use iosonar_workload::{ArrivalLaw, SyntheticLoad, Workload};

use crate::theory::{Answer, Standing};
use crate::{Devices, DiskModel, LevelOptions, LoadModel, Prepared};

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

/// Whether a queue only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Not even the upper offered load reaches 1.
    Stable,
    /// The upper one does.
    Doubtful,
    /// The lower one does, beyond doubt.
    Unstable,
}

/// How many requests are planned to see where they go, and at most this number of sub-requests: a few huge requests
/// are as informative.
const SAMPLE: usize = 50_000;
const FEWEST_SAMPLED: usize = 2_000;
const MOST_SUB_REQUESTS: usize = 2_000_000;

/// How many requests are planned for each device: of fewer, a device's share of them would be an accident.
const SAMPLED_PER_DEVICE: usize = 400;

/// How many mirrors are looked at for the requests.
const MOST_MIRRORS: usize = 50_000_000;

/// The same requests without pauses and bursts, which change no work but that of a write-intent bitmap, and take long to
/// draw if they are long.
fn at_even_rate(class: &Workload) -> Workload {
    let arrivals = match &class.arrivals {
        simple @ (ArrivalLaw::Poisson { .. }
        | ArrivalLaw::Constant { .. }
        | ArrivalLaw::Renewal(_)) => simple.clone(),
        law => ArrivalLaw::Poisson { per_s: law.per_s() },
    };
    Workload {
        arrivals,
        ..class.clone()
    }
}

/// Devices without jobs: plans that depend on queues see empty ones.
pub(crate) struct Idle;

impl Observable for Idle {
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
}

/// Mean positioning times in milliseconds, the best and the worst that the state allows.
struct Means {
    /// Of a new place, for a read and for a write.
    fresh: [(f64, f64); 2],
    rotation: f64,
    turn: f64,
    /// The transfer of a sector, the best and the mean.
    per_sector: (f64, f64),
    less_transfer: bool,
}

impl Means {
    fn new(simulation: &Prepared, model: DiskModel, profile: &DiskProfile) -> Self {
        let laws = DiskLaws::new(profile);
        let fresh = |access| {
            let alone = laws.mean_positioning_ms(access, 1);
            let best = match model {
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
            per_sector: match model {
                DiskModel::Sampled(_) => {
                    let mean = laws.mean_transfer_ms_per_sector();
                    (mean, mean)
                }
                // Requests may all lie on the outermost tracks.
                DiskModel::Positional(_) => {
                    let geometry = Geometry::new(profile);
                    let densest = profile.revolution_ms / geometry.most_sectors_per_track();
                    (densest, laws.mean_transfer_ms_per_sector())
                }
            },
            less_transfer: simulation.array.rules.full_turn == FullTurn::LessTransfer,
        }
    }

    /// Every service takes the same on average.
    fn of_server(mean_ms: f64) -> Self {
        Self {
            fresh: [(mean_ms, mean_ms); 2],
            rotation: mean_ms,
            turn: mean_ms,
            per_sector: (0.0, 0.0),
            less_transfer: false,
        }
    }

    /// The best and the worst positioning of a sub-request.
    fn positioning(&self, kind: StageKind, preread: bool, preread_access: Access) -> (f64, f64) {
        let fresh = |access| match access {
            Access::Read => self.fresh[0],
            Access::Write | Access::Discard | Access::Flush => self.fresh[1],
        };
        match kind {
            StageKind::Direct(access) => fresh(access),
            StageKind::Copy if preread => fresh(Access::Read),
            StageKind::Copy | StageKind::Ahead => fresh(Access::Write),
            _ if preread => fresh(preread_access),
            StageKind::ReadModifyWrite => {
                let (best, worst) = fresh(Access::Write);
                let turn = if self.less_transfer { 0.0 } else { self.turn };
                (best.min(self.rotation).min(turn), worst.max(self.turn))
            }
            StageKind::ReconstructWrite => (0.0, fresh(Access::Write).1.max(self.rotation)),
        }
    }
}

/// Work at one station, in stations' time per time.
#[derive(Clone, Copy, Default)]
struct Work {
    lower: f64,
    upper: f64,
    variance: f64,
}

/// Work per request of a class at one station.
#[derive(Clone, Copy, Default)]
struct PerRequest {
    lower: f64,
    upper: f64,
    squares: f64,
}

impl PerRequest {
    fn add(&mut self, lower: f64, upper: f64) {
        self.lower += lower;
        self.upper += upper;
        self.squares += upper * upper;
    }
}

impl Work {
    /// Adds the work of a class with this rate of requests per millisecond, from a sample of `n`.
    fn add(&mut self, work: &PerRequest, per_ms: f64, n: f64) {
        let mean = work.upper / n;
        let variance = (work.squares / n - mean * mean).max(0.0);
        self.lower += per_ms * work.lower / n;
        self.upper += per_ms * mean;
        self.variance += per_ms * per_ms * variance / n;
    }

    fn offered(&self, station: String) -> Offered {
        Offered {
            station,
            lower: self.lower,
            upper: self.upper,
            stderr: self.variance.sqrt(),
        }
    }
}

/// Work at all stations.
struct Stations<T> {
    disks: Vec<T>,
    bus: T,
    /// Of the link to the host: from it, to it.
    link: [T; 2],
    array: T,
}

impl<T: Default + Clone> Stations<T> {
    fn new(disks: usize) -> Self {
        Self {
            disks: vec![T::default(); disks],
            bus: T::default(),
            link: [T::default(), T::default()],
            array: T::default(),
        }
    }
}

impl Prepared {
    /// The offered load of every disk, and of the bus, of the link to the host and of the array as a whole where
    /// requests wait for them. `None` if the arrivals are not given by laws (a trace, or a closed loop), and of SSDs, whose work
    /// depends on what they hold.
    ///
    /// What a rebuild does is left out; a mirror that is chosen by its queue or its arm is taken for one that
    /// is chosen at random.
    pub fn offered(&self) -> Option<Vec<Offered>> {
        self.offered_by("offered load")
    }

    /// The same by the requests that this name stands for.
    fn offered_by(&self, stream: &str) -> Option<Vec<Offered>> {
        let LoadModel::Synthetic { classes, requests } = &self.load else {
            return None;
        };
        // A look ahead takes no longer than the run, unless there are many devices.
        let sample = (*requests).clamp(FEWEST_SAMPLED as u64, SAMPLE as u64) as usize;
        let mut sample = sample.max(SAMPLED_PER_DEVICE * self.array.disks);
        if self.array.md.is_some() {
            // A read looks at all mirrors.
            sample = sample.min(MOST_MIRRORS / self.array.disks);
        }
        let mut array = self.array.clone();
        if let LevelOptions::Mirrored { read, .. } = &mut array.level
            && matches!(read, MirrorRead::ShorterQueue | MirrorRead::NearerArm)
        {
            *read = MirrorRead::Random;
        }
        let seed = Seed::new(self.seed).within(stream);
        let mut planner = array.planner(&seed).ok()?;
        let disks = array.disks + array.spares();
        let (kinds, kind_of): (Vec<Means>, Vec<usize>) = match &self.array.devices {
            Devices::Disks(set) => {
                let means = |kind| Means::new(self, set.model, kind);
                let kinds = set.kinds().map(means).collect();
                (kinds, (0..disks).map(|disk| set.kind_of(disk)).collect())
            }
            Devices::Servers(servers) => {
                let mean = servers.service.mean().as_millis_f64();
                (vec![Means::of_server(mean)], vec![0; disks])
            }
            Devices::Ssds(_) | Devices::Registered(_) => return None,
        };
        let mut work: Stations<Work> = Stations::new(disks);
        for (number, class) in classes.iter().enumerate() {
            let seed = seed.within(&format!("class/{number}"));
            let load = SyntheticLoad::new(vec![at_even_rate(class)], &seed);
            let most = (sample / classes.len()).max(100);
            let requests = load.take(most);
            let (n, sample) = self.sample(&mut planner, requests, &kinds, &kind_of, classes.len());
            let (per_ms, n) = (class.requests_per_s() / 1000.0, f64::from(n));
            for (sum, disk) in work.disks.iter_mut().zip(&sample.disks) {
                sum.add(disk, per_ms, n);
            }
            work.bus.add(&sample.bus, per_ms, n);
            for (sum, link) in work.link.iter_mut().zip(&sample.link) {
                sum.add(link, per_ms, n);
            }
            work.array.add(&sample.array, per_ms, n);
        }
        let numbered = work.disks.iter().enumerate();
        let mut all: Vec<Offered> = numbered
            .map(|(disk, work)| work.offered(self.array.station(disk)))
            .collect();
        if self.array.controller.bus_ns_per_sector > 0.0 {
            all.push(work.bus.offered("bus".to_owned()));
        }
        if self.array.controller.host_ns_per_sector > 0.0 {
            let directions = work
                .link
                .iter()
                .zip(["link from the host", "link to the host"]);
            all.extend(directions.map(|(work, name)| work.offered(name.to_owned())));
        }
        if self.array.controller.one_at_a_time {
            let sampled = work.array.offered("array".to_owned());
            all.push(self.one_at_a_time_exactly().unwrap_or(sampled));
        }
        Some(all)
    }

    /// What the array is offered where it takes one request at a time, if theory knows that exactly.
    fn one_at_a_time_exactly(&self) -> Option<Offered> {
        let theory = self.theory();
        let exact = |alone: &Answer| alone.standing == Standing::Exact;
        theory.alone.as_ref().filter(|alone| exact(alone))?;
        let station = theory.stations.into_iter().find(|s| s.station == "array")?;
        Some(Offered {
            station: station.station,
            lower: station.utilisation,
            upper: station.utilisation,
            stderr: 0.0,
        })
    }

    /// The work of some requests, and how many they were.
    fn sample(
        &self,
        planner: &mut Level,
        requests: impl Iterator<Item = Request>,
        kinds: &[Means],
        kind_of: &[usize],
        classes: usize,
    ) -> (u32, Stations<PerRequest>) {
        let disks = kind_of.len();
        let idle: Vec<Idle> = (0..disks).map(|_| Idle).collect();
        let preread = match self.array.rules.preread_seek {
            PrereadSeek::Read => Access::Read,
            PrereadSeek::Write => Access::Write,
        };
        let bus_ms = self.array.controller.bus_ns_per_sector / 1e6;
        let command_ms = self.array.controller.command.as_millis_f64();
        let mut all: Stations<PerRequest> = Stations::new(disks);
        let (mut count, mut planned) = (0, 0);
        let mut plan = RequestPlan::default();
        let mut of_request = vec![(0.0, 0.0); disks];
        // Most requests go to few of many disks.
        let mut touched = Vec::new();
        for request in requests {
            plan.clear();
            planner.plan(&request, &idle, &mut plan);
            if self.array.rules.coalesce {
                plan.coalesce();
            }
            let mut sectors = 0.0;
            for stage in plan.stages() {
                let two_steps = !stage.then.is_empty();
                for sub in stage.first.clone().chain(stage.then.clone()) {
                    let first = two_steps && stage.first.contains(&sub);
                    let sub = &plan.sub_requests()[sub];
                    let means = &kinds[kind_of[sub.disk]];
                    let (best, worst) = means.positioning(stage.kind, first, preread);
                    let size = f64::from(sub.sectors.get());
                    touched.push(sub.disk);
                    of_request[sub.disk].0 += best + means.per_sector.0 * size;
                    of_request[sub.disk].1 += worst + means.per_sector.1 * size;
                    sectors += size;
                }
            }
            touched.sort_unstable();
            touched.dedup();
            let (mut longest, mut together) = (0.0_f64, 0.0);
            for disk in touched.drain(..) {
                let (best, worst) = std::mem::take(&mut of_request[disk]);
                all.disks[disk].add(best, worst);
                longest = longest.max(best);
                together += worst;
            }
            let bus = bus_ms * sectors;
            all.bus.add(bus, bus);
            let host = self.array.controller.host(&request).as_millis_f64();
            let reads = request.op == Op::Read;
            for (link, crosses) in all.link.iter_mut().zip([!reads, reads]) {
                let host = if crosses { host } else { 0.0 };
                link.add(host, host);
            }
            all.array
                .add(command_ms + longest, command_ms + together + bus + host);
            count += 1;
            planned += plan.len();
            if planned * classes > MOST_SUB_REQUESTS {
                break;
            }
        }
        (count, all)
    }

    /// The station with the highest upper offered load, and whether its queue only grows.
    ///
    /// The largest of many figures with errors is too large. So the station is looked for with some requests, and its load is
    /// that of others. If it is not known to be overloaded, the one with the highest lower load may be.
    pub fn busiest(&self) -> Option<(Offered, Stability)> {
        let measured = self.offered()?;
        let seen = match measured.len() {
            1 => None,
            _ => Some(self.offered_by("busiest station")?),
        };
        let highest = |of: fn(&Offered) -> f64| {
            let stations = seen.as_ref().unwrap_or(&measured).iter().enumerate();
            stations.max_by(|a, b| of(a.1).total_cmp(&of(b.1)))
        };
        let [by_upper, by_lower] = [highest(|of| of.upper)?.0, highest(|of| of.lower)?.0];
        let is_unstable = |of: &Offered| of.lower - 3.0 * of.stderr >= 1.0;
        let busiest = match is_unstable(&measured[by_lower]) && !is_unstable(&measured[by_upper]) {
            true => &measured[by_lower],
            false => &measured[by_upper],
        };
        let stability = if is_unstable(busiest) {
            Stability::Unstable
        } else if busiest.upper >= 1.0 {
            Stability::Doubtful
        } else {
            Stability::Stable
        };
        Some((busiest.clone(), stability))
    }
}
