//! Bounds and mean value analysis of a networked system.

use iosonar_analytic::AnalyticError;
use iosonar_analytic::closed::{
    Bounds, Branch, Demands, asymptotic_bounds, balanced_job_bounds, classes, exact_mva,
    fork_join_mva, schweitzer,
};

use super::demands::{Packets, Seconds};
use super::{Job, NetworkedRaid, StationDemand};

/// What is known for a number of jobs, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPoint {
    /// How many jobs.
    pub jobs: u32,
    /// Bounds that hold whatever the laws of service.
    pub asymptotic: Bounds,
    /// Balanced job bounds.
    pub balanced: Bounds,
    /// The response time by exact mean value analysis.
    pub response_s: f64,
    /// Jobs per second.
    pub throughput_per_s: f64,
    /// The response time by the approximation of Schweitzer.
    pub schweitzer_s: f64,
    /// The response time if the storage servers work in parallel for each job, by the approximation of
    /// Varki.
    pub fork_join_s: f64,
}

/// What theory says about a system with one class of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkAnalysis {
    /// The stations with their demands.
    pub stations: Vec<StationDemand>,
    /// The sum of the demands: the response time of a single job.
    pub sum_s: f64,
    /// The station with the largest demand, the first of several.
    pub bottleneck: StationDemand,
    /// The number of jobs from which on the bottleneck rules.
    pub knee: f64,
    /// For 1 to the most jobs.
    pub points: Vec<NetworkPoint>,
}

impl NetworkAnalysis {
    /// The share of a station in the demands of a job.
    pub fn demand_share(&self, station: &StationDemand) -> f64 {
        station.seconds / self.sum_s
    }

    /// The share of time that a station is busy with as many jobs as the point has.
    pub fn utilisation(station: &StationDemand, point: &NetworkPoint) -> f64 {
        station.seconds * point.throughput_per_s
    }
}

/// What theory says about one of several classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassAnalysis {
    /// Its name.
    pub name: String,
    /// How many jobs it has.
    pub jobs: u32,
    /// Its demands.
    pub stations: Vec<StationDemand>,
    /// Its response time by exact mean value analysis, or by Schweitzer's approximation where there are too
    /// many jobs for that.
    pub response_s: f64,
    /// Its jobs per second.
    pub throughput_per_s: f64,
    /// Whether the analysis is exact.
    pub is_exact: bool,
    /// Its response time by Schweitzer's approximation.
    pub schweitzer_s: f64,
}

impl NetworkedRaid {
    /// The demands of a job as the analysis wants them.
    ///
    /// # Errors
    /// If a job needs nothing.
    pub(super) fn network(&self, job: &Job) -> Result<Demands, AnalyticError> {
        let demands = self.demands(job);
        Demands::new(demands.iter().map(|d| d.seconds).collect(), job.think_s)
    }

    /// Bounds and mean values for 1 to the most jobs of the first class.
    ///
    /// # Errors
    /// If a job needs nothing.
    pub fn analyse(&self) -> Result<NetworkAnalysis, AnalyticError> {
        let job = &self.classes[0];
        let stations = self.demands(job);
        let network = self.network(job)?;
        let exact = exact_mva(&network, job.jobs)?;
        let parallel = self.parallel(job)?;
        let points = exact
            .iter()
            .enumerate()
            .map(|(i, point)| {
                let jobs = point.jobs;
                Ok(NetworkPoint {
                    jobs,
                    asymptotic: asymptotic_bounds(&network, jobs)?,
                    balanced: balanced_job_bounds(&network, jobs)?,
                    response_s: point.response,
                    throughput_per_s: point.throughput,
                    schweitzer_s: schweitzer(&network, jobs)?.response,
                    fork_join_s: parallel[i],
                })
            })
            .collect::<Result<_, AnalyticError>>()?;
        let largest = network.largest();
        let bottleneck = stations.iter().find(|s| s.seconds >= largest);
        Ok(NetworkAnalysis {
            bottleneck: bottleneck.unwrap_or(&stations[0]).clone(),
            sum_s: network.sum(),
            knee: network.knee(),
            stations,
            points,
        })
    }

    /// The response times for 1 to the most jobs if the storage servers work in parallel.
    fn parallel(&self, job: &Job) -> Result<Vec<f64>, AnalyticError> {
        let seconds = self.seconds(job, Packets::Whole);
        let (serial, chain) = split(&seconds);
        if chain.is_empty() || serial.is_empty() {
            let points = exact_mva(&self.network(job)?, job.jobs)?;
            return Ok(points.iter().map(|p| p.response).collect());
        }
        let branch = Branch {
            demands: chain,
            width: self.stations_of,
        };
        let points = fork_join_mva(&Demands::new(serial, job.think_s)?, &branch, job.jobs)?;
        Ok(points.iter().map(|p| p.response).collect())
    }

    /// Mean values of all classes together.
    ///
    /// # Errors
    /// If a job needs nothing.
    pub fn analyse_classes(&self) -> Result<Vec<ClassAnalysis>, AnalyticError> {
        let of_class: Vec<Vec<StationDemand>> =
            self.classes.iter().map(|job| self.demands(job)).collect();
        let mut names: Vec<&str> = Vec::new();
        for demand in of_class.iter().flatten() {
            if !names.contains(&demand.station.as_str()) {
                names.push(&demand.station);
            }
        }
        let seconds = |stations: &[StationDemand], name: &str| {
            let found = stations.iter().find(|d| d.station == name);
            found.map_or(0.0, |d| d.seconds)
        };
        let jobs: Vec<classes::JobClass> = self
            .classes
            .iter()
            .zip(&of_class)
            .map(|(job, stations)| classes::JobClass {
                jobs: job.jobs,
                think: job.think_s,
                demands: names.iter().map(|name| seconds(stations, name)).collect(),
            })
            .collect();
        let near = classes::schweitzer(&jobs)?;
        let exact = match classes::exact(&jobs) {
            Ok(points) => Some(points),
            Err(AnalyticError::TooLarge { .. }) => None,
            Err(other) => return Err(other),
        };
        let points = exact.as_ref().unwrap_or(&near);
        let parts = self.classes.iter().zip(of_class).zip(points).zip(&near);
        Ok(parts
            .map(|(((job, stations), point), near)| ClassAnalysis {
                name: job.name.clone(),
                jobs: job.jobs,
                stations,
                response_s: point.response,
                throughput_per_s: point.throughput,
                is_exact: exact.is_some(),
                schweitzer_s: near.response,
            })
            .collect())
    }
}

/// The demands that a job passes one after the other, and those of one storage server; above zero.
pub(super) fn split(seconds: &Seconds) -> (Vec<f64>, Vec<f64>) {
    let some = |all: [f64; 3]| all.into_iter().filter(|s| *s > 0.0).collect();
    (
        some([seconds.central_cpu, seconds.central_nic, seconds.network]),
        some([seconds.storage_cpu, seconds.storage_nic, seconds.disk]),
    )
}
