//! Closed networks: a fixed number of jobs goes round.
//!
//! Each job needs the *service demand* `D_i` of station i (its visits times its service time), and thinks
//! for Z before it comes back. R(N) is the response time of a job with N jobs in the network, without
//! its thinking; X(N) = N / (R(N) + Z) the throughput.
//!
//! - [`asymptotic_bounds`] and [`balanced_job_bounds`]: from a few sums of demands;
//! - [`exact_mva`]: the exact answer for networks of product form (FCFS stations with exponential service,
//!   processor sharing, infinite servers);
//! - [`schweitzer`]: about the same for any number of jobs at once;
//! - [`classes`]: several classes of jobs, exactly and approximately;
//! - [`fork_join_mva`]: stations of which some work in parallel for each job.
//!
//! Sources: Lazowska, Zahorjan, Graham, Sevcik, "Quantitative System Performance", 1984, chapters 5 to 7;
//! Zahorjan, Sevcik, Eager, Galler, "Balanced job bound analysis of queueing networks", CACM 25, 1982;
//! Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 27, 1980.

mod bounds;
pub mod classes;
mod mva;
mod parallel;

pub use bounds::{Bounds, asymptotic_bounds, balanced_job_bounds};
pub use mva::{MvaPoint, exact_mva, exact_mva_with_derivative, exact_queues, schweitzer};
pub use parallel::{Branch, fork_join_mva};

use crate::AnalyticError;
use crate::error::{not_negative, positive};

/// The demands of the queueing stations, and the think time.
#[derive(Clone, Debug, PartialEq)]
pub struct Demands {
    stations: Vec<f64>,
    think: f64,
}

impl Demands {
    /// Of these stations, with this think time.
    ///
    /// # Errors
    /// If there is no station, or a demand is not above zero (leave out unused stations), or
    /// the think time is below zero.
    pub fn new(stations: Vec<f64>, think: f64) -> Result<Self, AnalyticError> {
        positive("the number of stations", stations.len() as f64)?;
        for &demand in &stations {
            positive("a service demand", demand)?;
        }
        not_negative("the think time", think)?;
        Ok(Self { stations, think })
    }

    /// Each station's.
    pub fn stations(&self) -> &[f64] {
        &self.stations
    }

    /// The think time Z.
    pub fn think(&self) -> f64 {
        self.think
    }

    /// The sum of all demands D: the response time of a job that is alone.
    pub fn sum(&self) -> f64 {
        self.stations.iter().sum()
    }

    /// The largest demand: that of the bottleneck.
    pub fn largest(&self) -> f64 {
        self.stations.iter().copied().fold(0.0, f64::max)
    }

    /// The average demand.
    pub fn average(&self) -> f64 {
        self.sum() / self.stations.len() as f64
    }

    /// The number of jobs `N* = (D + Z) / D_max` from which on the bottleneck rules: where the two
    /// asymptotes of the throughput meet, the knee.
    pub fn knee(&self) -> f64 {
        (self.sum() + self.think) / self.largest()
    }
}

/// A number of jobs, at least 1.
fn some_jobs(jobs: u32) -> Result<(), AnalyticError> {
    if jobs == 0 {
        return Err(AnalyticError::Parameter {
            name: "the number of jobs",
            seen: 0.0,
            expected: "at least 1",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_are_none_are_refused() {
        assert!(Demands::new(vec![], 0.0).is_err());
        assert!(Demands::new(vec![1.0, 0.0], 0.0).is_err());
        assert!(Demands::new(vec![1.0], -1.0).is_err());
        let network = Demands::new(vec![1.0], 0.0).unwrap();
        assert!(exact_mva(&network, 0).is_err() && schweitzer(&network, 0).is_err());
        assert!(balanced_job_bounds(&network, 0).is_err());
    }
}
