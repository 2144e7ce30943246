//! What the response time depends on.

use iosonar_analytic::AnalyticError;
use iosonar_analytic::closed::{Demands, balanced_job_bounds, exact_mva_with_derivative};

use super::demands::Packets;
use super::{Job, NetworkedRaid};

/// Something that could be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lever {
    /// The rate of the network and of all network interfaces.
    NetworkAndNics,
    /// The rate of the network alone.
    Network,
    /// The speed of the central server's processor.
    CentralCpu,
    /// The speed of the storage servers' processors.
    StorageCpu,
    /// The disks' transfer rate.
    DiskRate,
    /// The disks' seek time and rotational latency.
    DiskPositioning,
    /// The miss rate of the central server's cache.
    CentralMisses,
    /// The miss rate of the storage servers' caches (reads only).
    StorageMisses,
    /// The bytes of a job.
    JobSize,
}

impl Lever {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NetworkAndNics,
        Self::Network,
        Self::CentralCpu,
        Self::StorageCpu,
        Self::DiskRate,
        Self::DiskPositioning,
        Self::CentralMisses,
        Self::StorageMisses,
        Self::JobSize,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::NetworkAndNics => "network rate (network and NICs)",
            Self::Network => "network rate (network only)",
            Self::CentralCpu => "central CPU speed",
            Self::StorageCpu => "storage CPU speed",
            Self::DiskRate => "disk transfer rate",
            Self::DiskPositioning => "disk seek and latency",
            Self::CentralMisses => "central cache miss rate",
            Self::StorageMisses => "storage cache miss rate",
            Self::JobSize => "job size",
        }
    }
}

/// By how much percent the response time changes with one percent of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Of what.
    pub lever: Lever,
    /// d ln R / d ln p of the exact response time.
    pub of_response: f64,
    /// The same of the lower balanced job bound, as in the paper.
    pub of_lower_bound: f64,
    /// d R / d ln p in seconds.
    pub seconds: f64,
}

impl Elasticity {
    /// The change of the response time, in seconds, if the parameter grows by 1 %.
    pub fn seconds_per_percent(&self) -> f64 {
        self.seconds / 100.0
    }
}

impl NetworkedRaid {
    /// The system with one thing `factor` times as it was. Miss rates may come out above 1: the formulas
    /// do not mind, and slopes need it.
    fn scaled(&self, lever: Lever, factor: f64, job: &Job) -> (Self, Job) {
        let (mut system, mut job) = (self.clone(), job.clone());
        let miss = |hit: f64| 1.0 - (1.0 - hit) * factor;
        match lever {
            Lever::NetworkAndNics => {
                system.link.mbit_per_s *= factor;
                system.link.nic_mbit_per_s *= factor;
            }
            Lever::Network => system.link.mbit_per_s *= factor,
            Lever::CentralCpu => system.central.cpu_speed *= factor,
            Lever::StorageCpu => system.storage.cpu_speed *= factor,
            Lever::DiskRate => system.disk.mb_per_s *= factor,
            Lever::DiskPositioning => {
                system.disk.seek_ms *= factor;
                system.disk.latency_ms *= factor;
            }
            Lever::CentralMisses => system.central.cache_hit = miss(self.central.cache_hit),
            Lever::StorageMisses => system.storage.cache_hit = miss(self.storage.cache_hit),
            Lever::JobSize => job.bytes *= factor,
        }
        (system, job)
    }

    /// The demands of all stations, packets not rounded, in an order that does not depend on their
    /// values; some may be zero.
    fn smooth(&self, job: &Job) -> Vec<f64> {
        let s = self.seconds(job, Packets::Smooth);
        let mut all = vec![s.central_cpu, s.central_nic, s.network];
        for _ in 0..self.stations_of {
            all.extend([s.storage_cpu, s.storage_nic, s.disk]);
        }
        all
    }

    /// The elasticities of the response time of the first class with `jobs` jobs, the strongest first.
    ///
    /// # Errors
    /// If there are no jobs, or they need nothing.
    pub fn elasticities(&self, jobs: u32) -> Result<Vec<Elasticity>, AnalyticError> {
        const STEP: f64 = 1e-5;
        let job = &self.classes[0];
        let now = self.smooth(job);
        let needed: Vec<usize> = (0..now.len()).filter(|&i| now[i] > 0.0).collect();
        let network = |all: &[f64]| {
            let some = needed.iter().map(|&i| all[i]).collect();
            Demands::new(some, job.think_s)
        };
        let base = network(&now)?;
        let lower = balanced_job_bounds(&base, jobs)?.lower;
        let mut all = Vec::new();
        for lever in Lever::ALL {
            let at = |factor: f64| {
                let (system, job) = self.scaled(lever, factor, job);
                system.smooth(&job)
            };
            let (up, down) = (at(1.0 + STEP), at(1.0 - STEP));
            let log_step = libm::log((1.0 + STEP) / (1.0 - STEP));
            let direction = needed.iter().map(|&i| (up[i] - down[i]) / log_step);
            let direction: Vec<f64> = direction.collect();
            let (response, seconds) = exact_mva_with_derivative(&base, &direction, jobs)?;
            let bound = |all: &[f64]| Ok(balanced_job_bounds(&network(all)?, jobs)?.lower);
            let of_bound = (bound(&up)? - bound(&down)?) / log_step;
            all.push(Elasticity {
                lever,
                of_response: seconds / response,
                of_lower_bound: of_bound / lower,
                seconds,
            });
        }
        all.sort_by(|a, b| b.of_response.abs().total_cmp(&a.of_response.abs()));
        Ok(all)
    }
}
