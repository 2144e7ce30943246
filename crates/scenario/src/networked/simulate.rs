//! The networked system with events.

use iosonar_analytic::AnalyticError;
use iosonar_sim_core::network::{BuildError, Builder, Class, Discipline, NodeId, Queue, Until};
use iosonar_sim_core::{Law, Seed};
use iosonar_stats::Estimate;
use iosonar_units::Nanos;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::demands::Packets;
use super::{Job, NetworkedRaid};

/// The laws of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Services {
    /// Exponential, as mean value analysis has them.
    Exponential,
    /// Constant at processors, interfaces and network; at the disks as variable as the sum of that
    /// number of independent accesses with a uniform rotational latency.
    Realistic,
}

/// How a job goes through the storage servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// One after the other, as the paper's formulas sum them.
    Serial,
    /// At all at once; it goes on when the last has done its part.
    ForkJoin,
}

/// What a simulation found out.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSimulation {
    /// How many jobs there were.
    pub jobs: u32,
    /// The mean response time of each class in seconds, with its standard error over replications.
    pub response_s: Vec<Estimate>,
    /// Jobs per second of each class.
    pub throughput_per_s: Vec<Estimate>,
    /// Events simulated.
    pub events: u64,
}

impl NetworkedRaid {
    /// As many departures as make a simulation of this system precise to a percent or so, in a moment: of large
    /// systems fewer.
    pub fn usual_departures(&self) -> u64 {
        (200_000 / u64::from(3 + 3 * self.stations_of)).clamp(200, 5_000)
    }

    /// Simulates `jobs` jobs of the first class, or all classes with their numbers where there are
    /// several (then all stations share their time among all jobs, which is what makes mean value analysis
    /// exact for them): replications with `departures` jobs each, after a fifth as many that are not
    /// measured. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If there are no jobs, or if all times of a job round to 0 ns.
    pub fn simulate(
        &self,
        jobs: u32,
        services: Services,
        structure: Structure,
        departures: u64,
    ) -> Result<NetworkSimulation, AnalyticError> {
        if jobs == 0 {
            return Err(AnalyticError::Parameter {
                name: "the number of jobs",
                seen: 0.0,
                expected: "at least 1",
            });
        }
        let runs: Result<Vec<Observed>, AnalyticError> = (0..self.replications)
            .into_par_iter()
            .map(|number| self.replication(number, jobs, services, structure, departures))
            .collect();
        let runs = runs?;
        let estimate = |value: &dyn Fn(&Observed) -> f64| {
            Estimate::from_independent(&runs.iter().map(value).collect::<Vec<f64>>())
        };
        let classes = 0..self.classes.len();
        Ok(NetworkSimulation {
            jobs,
            response_s: classes
                .clone()
                .map(|c| estimate(&|run: &Observed| run.response_s[c]))
                .collect(),
            throughput_per_s: classes
                .map(|c| estimate(&|run: &Observed| run.throughput_per_s[c]))
                .collect(),
            events: runs.iter().map(|run| run.events).sum(),
        })
    }

    fn replication(
        &self,
        number: u32,
        jobs: u32,
        services: Services,
        structure: Structure,
        departures: u64,
    ) -> Result<Observed, AnalyticError> {
        let seed = Seed::new(self.seed).replication(u64::from(number));
        let mut b = Builder::new(seed);
        let several = self.classes.len() > 1;
        let laws: Vec<[Law; 6]> = self
            .classes
            .iter()
            .map(|job| self.laws(job, services))
            .collect();
        let station = |b: &mut Builder, name: &str, kind: usize| {
            let mut queue = Queue::fcfs(1, laws[0][kind].clone());
            if several {
                queue = queue.with(Discipline::ProcessorSharing);
                for (class, laws) in laws.iter().enumerate() {
                    queue = queue.service_of(Class(class as u8), laws[kind].clone());
                }
            }
            b.station(name, queue)
        };
        let central = [("central/cpu", 0), ("central/nic", 1), ("network", 2)];
        let mut path: Vec<NodeId> = central
            .iter()
            .map(|&(name, kind)| station(&mut b, name, kind))
            .collect();
        let servers: Vec<Vec<NodeId>> = (0..self.stations_of)
            .map(|server| {
                let parts = [("cpu", 3), ("nic", 4), ("disk", 5)];
                let part = |&(name, kind): &(&str, usize)| {
                    station(&mut b, &format!("storage/{server}/{name}"), kind)
                };
                parts.iter().map(part).collect()
            })
            .collect();
        let think = self.think(&mut b, jobs);
        let begin = b.think("begin", Law::Constant(Nanos::ZERO));
        let lap = b.lap("response");
        path.splice(0..0, [think, begin]);
        connect(&mut b, path, &servers, (lap, think), structure);
        if several {
            for (class, job) in self.classes.iter().enumerate() {
                b.population_of(think, Class(class as u8), job.jobs);
            }
        } else {
            b.population(think, jobs);
        }
        let no_time = |error: BuildError| match error {
            BuildError::Loop { .. } => AnalyticError::Parameter {
                name: "the time of a job in nanoseconds",
                seen: 0.0,
                expected: "at least 1",
            },
            error => unreachable!("the stations are connected: {error}"),
        };
        let mut network = b.build().map_err(no_time)?;
        network.run(Until::Departures(departures / 5));
        network.measure_from_now();
        let from = network.now();
        network.run(Until::Departures(departures));
        let span = (network.now() - from).as_secs_f64();
        let of = |class: usize| network.response_time_of(lap, Class(class as u8));
        Ok(Observed {
            response_s: (0..self.classes.len())
                .map(|c| of(c).map_or(f64::NAN, |d| d.moments.mean() / 1e9))
                .collect(),
            throughput_per_s: (0..self.classes.len())
                .map(|c| of(c).map_or(0.0, |d| d.count() as f64 / span))
                .collect(),
            events: network.events(),
        })
    }

    /// Thinking is a station with a server for each job, so that classes have their own times; behind it a delay of
    /// nothing marks where the response time begins.
    fn think(&self, b: &mut Builder, jobs: u32) -> NodeId {
        let law = |job: &Job| match (&job.think, job.think_s) {
            (Some(think), _) => think.law(),
            (None, 0.0) => Law::Constant(Nanos::ZERO),
            (None, think_s) => Law::Exponential(Nanos::from_secs_f64(think_s)),
        };
        let everybody = jobs.max(self.most_jobs());
        let mut thinking = Queue::fcfs(everybody, law(&self.classes[0]));
        for (class, job) in self.classes.iter().enumerate().skip(1) {
            thinking = thinking.service_of(Class(class as u8), law(job));
        }
        b.station("think", thinking)
    }

    /// The laws of the six kinds of stations for a class.
    fn laws(&self, job: &Job, services: Services) -> [Law; 6] {
        let s = self.seconds(job, Packets::Whole);
        let demands = [
            s.central_cpu,
            s.central_nic,
            s.network,
            s.storage_cpu,
            s.storage_nic,
            s.disk,
        ];
        let nanos = Nanos::from_secs_f64;
        let mut laws = demands.map(|seconds| match services {
            _ if seconds == 0.0 => Law::Constant(Nanos::ZERO),
            Services::Exponential => Law::Exponential(nanos(seconds)),
            Services::Realistic => Law::Constant(nanos(seconds)),
        });
        if services == Services::Realistic && s.disk > 0.0 {
            // A rotational latency is uniform on twice its mean, with a variance of mean^2 / 3; the sum
            // of n has n times that, and here the shape of a uniform distribution.
            let half = (s.disk_accesses.max(1.0) * self.disk.latency_ms * self.disk.latency_ms)
                .sqrt()
                / 1e3;
            let half = half.min(s.disk);
            laws[5] = Law::Uniform(nanos(s.disk - half), nanos(s.disk + half));
        }
        laws
    }
}

/// Connects the stations on the way of a job, from thinking back to it.
fn connect(
    b: &mut Builder,
    mut path: Vec<NodeId>,
    servers: &[Vec<NodeId>],
    (lap, think): (NodeId, NodeId),
    structure: Structure,
) {
    match structure {
        Structure::Serial => {
            path.extend(servers.iter().flatten());
            path.extend([lap, think]);
            b.chain(&path);
        }
        Structure::ForkJoin => {
            let (fork, join) = (b.fork("fork"), b.join("join"));
            path.push(fork);
            b.chain(&path);
            for server in servers {
                let mut branch = vec![fork];
                branch.extend(server);
                branch.push(join);
                b.chain(&branch);
            }
            b.chain(&[join, lap, think]);
        }
    }
}

/// One replication.
struct Observed {
    response_s: Vec<f64>,
    throughput_per_s: Vec<f64>,
    events: u64,
}
