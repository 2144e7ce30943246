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
/// The chains' response is taken as the time of the slowest of the empty chains, plus what waits in one
/// of them: `R_fj(n)` = E\[max of `width` sums of exponentials of mean `D_i`\] + sum `D_i` `Q_i(n` - 1). This is the
/// approximation of Varki ("Response time analysis of parallel computer and storage systems", IEEE
/// TPDS 12, 2001), R(n) = 1/mu (`H_K` + A(n - 1)), for chains instead of single stations. Exact for one job
/// of exponential services; in the queues of the [`MvaPoint`] those of one chain stand behind those of the
/// network.
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
        let times: Vec<f64> = all
            .iter()
            .zip(&queues)
            .map(|(d, q)| d * (1.0 + q))
            .collect();
        let waits: f64 = (serial..all.len()).map(|i| all[i] * queues[i]).sum();
        let response = times[..serial].iter().sum::<f64>() + slowest + waits;
        let throughput = f64::from(n) / (network.think() + response);
        queues = times.iter().map(|time| throughput * time).collect();
        points.push(MvaPoint {
            jobs: n,
            response,
            throughput,
            queues: queues.clone(),
        });
    }
    Ok(points)
}

/// The mean of the largest of so many sums of exponentials.
fn slowest_of_empty(branch: &Branch) -> f64 {
    let mean: f64 = branch.demands.iter().sum();
    // A grid of 2 000 steps a mean, out to where nothing is left.
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
