//! Mean value analysis of one class of jobs.

use super::{Demands, some_jobs};
use crate::AnalyticError;

/// The solution of a network with this number of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct MvaPoint {
    /// How many jobs.
    pub jobs: u32,
    /// The response time of a job.
    pub response: f64,
    /// Jobs that are complete per time.
    pub throughput: f64,
}

/// Exact mean value analysis for 1 to `jobs` jobs: `R_k(n) = D_k (1 + Q_k(n - 1))`,
/// `X(n) = n / (Z + sum R_k)`, `Q_k(n) = X(n) R_k(n)` (Reiser and Lavenberg 1980).
///
/// # Errors
/// If there are no jobs.
pub fn exact_mva(network: &Demands, jobs: u32) -> Result<Vec<MvaPoint>, AnalyticError> {
    some_jobs(jobs)?;
    let mut all = Vec::with_capacity(jobs as usize);
    recursion(network, jobs, |point, _| all.push(point));
    Ok(all)
}

/// The mean number of jobs at each station, waiting and in service, with `jobs` jobs: exact.
///
/// # Errors
/// If there are no jobs.
pub fn exact_queues(network: &Demands, jobs: u32) -> Result<Vec<f64>, AnalyticError> {
    some_jobs(jobs)?;
    let mut last = Vec::new();
    recursion(network, jobs, |point, queues| {
        if point.jobs == jobs {
            queues.clone_into(&mut last);
        }
    });
    Ok(last)
}

/// Goes from one job to all; `tell` gets each point with its queues.
fn recursion(network: &Demands, jobs: u32, mut tell: impl FnMut(MvaPoint, &[f64])) {
    let mut queues = vec![0.0; network.stations().len()];
    for n in 1..=jobs {
        let mut response = 0.0;
        // First the times, then, with the throughput that follows from them, the queues.
        for (queue, demand) in queues.iter_mut().zip(network.stations()) {
            *queue = demand * (1.0 + *queue);
            response += *queue;
        }
        let throughput = f64::from(n) / (network.think() + response);
        queues.iter_mut().for_each(|time| *time *= throughput);
        let point = MvaPoint {
            jobs: n,
            response,
            throughput,
        };
        tell(point, &queues);
    }
}

/// The exact response time with `jobs` jobs, and its derivative if each demand `D_k` changes by
/// `direction[k]`: the recursion of [`exact_mva`], differentiated.
///
/// # Errors
/// If there are no jobs, or not as many directions as stations.
pub fn exact_mva_with_derivative(
    network: &Demands,
    direction: &[f64],
    jobs: u32,
) -> Result<(f64, f64), AnalyticError> {
    some_jobs(jobs)?;
    let demands = network.stations();
    if direction.len() != demands.len() {
        return Err(AnalyticError::Parameter {
            name: "the number of directions",
            seen: direction.len() as f64,
            expected: "one per station",
        });
    }
    // Each queue with its derivative.
    let mut queues = vec![(0.0, 0.0); demands.len()];
    let (mut response, mut derivative) = (0.0, 0.0);
    for n in 1..=jobs {
        (response, derivative) = (0.0, 0.0);
        for ((queue, demand), step) in queues.iter_mut().zip(demands).zip(direction) {
            let (number, change) = *queue;
            *queue = (
                demand * (1.0 + number),
                step * (1.0 + number) + demand * change,
            );
            response += queue.0;
            derivative += queue.1;
        }
        let cycle = network.think() + response;
        let throughput = f64::from(n) / cycle;
        let of_throughput = -throughput * derivative / cycle;
        for (time, change) in &mut queues {
            *change = throughput * *change + of_throughput * *time;
            *time *= throughput;
        }
    }
    Ok((response, derivative))
}

/// Approximate mean value analysis of Schweitzer and Bard: a job that comes sees (N - 1) / N of the mean
/// queues with itself. The cost does not depend on the number of jobs; the error vanishes for one job and for
/// many, and is mostly a few percent between (Lazowska et al., 6.4.2; never more than 25 % in the random networks
/// of the tests).
///
/// # Errors
/// If there are no jobs.
pub fn schweitzer(network: &Demands, jobs: u32) -> Result<MvaPoint, AnalyticError> {
    some_jobs(jobs)?;
    let n = f64::from(jobs);
    let d = network.stations();
    let mut queues = vec![n / d.len() as f64; d.len()];
    let mut point = None;
    for _ in 0..1_000_000 {
        let seen = queues
            .iter()
            .zip(d)
            .map(|(q, d)| d * (1.0 + (n - 1.0) / n * q));
        let times: Vec<f64> = seen.collect();
        let response: f64 = times.iter().sum();
        let throughput = n / (network.think() + response);
        let mut change = 0.0_f64;
        for (queue, time) in queues.iter_mut().zip(&times) {
            let next = throughput * time;
            change = change.max((next - *queue).abs());
            *queue = next;
        }
        point = Some((response, throughput));
        if change < 1e-12 * n {
            break;
        }
    }
    let (response, throughput) = point.unwrap_or((0.0, 0.0));
    Ok(MvaPoint {
        jobs,
        response,
        throughput,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed::{asymptotic_bounds, balanced_job_bounds};
    use proptest::prelude::*;

    fn networks() -> impl Strategy<Value = (Demands, u32)> {
        let stations = prop::collection::vec(1e-3..10.0_f64, 1..12);
        let think = prop_oneof![Just(0.0), 0.0..100.0_f64];
        (stations, think, 1..120_u32)
            .prop_map(|(stations, think, jobs)| (Demands::new(stations, think).unwrap(), jobs))
    }

    proptest! {
        #[test]
        fn mva_lies_within_the_bounds_and_these_within_the_asymptotes((network, jobs) in networks()) {
            let slack = 1.0 + 1e-9;
            let exact = exact_mva(&network, jobs).unwrap();
            for point in &exact {
                let wide = asymptotic_bounds(&network, point.jobs).unwrap();
                let narrow = balanced_job_bounds(&network, point.jobs).unwrap();
                prop_assert!(wide.lower <= narrow.lower * slack);
                prop_assert!(narrow.lower <= point.response * slack, "{narrow:?} {point:?}");
                prop_assert!(point.response <= narrow.upper * slack, "{narrow:?} {point:?}");
                prop_assert!(narrow.upper <= wide.upper * slack);
            }
            let alone = balanced_job_bounds(&network, 1).unwrap();
            prop_assert!((alone.lower / exact[0].response - 1.0).abs() < 1e-12);
            prop_assert!((alone.upper / exact[0].response - 1.0).abs() < 1e-12);
            // Little's law, and no station works more than all the time.
            let last = &exact[exact.len() - 1];
            let inside: f64 = exact_queues(&network, jobs).unwrap().iter().sum();
            let thinking = last.throughput * network.think();
            prop_assert!(((inside + thinking) / f64::from(jobs) - 1.0).abs() < 1e-9);
            prop_assert!(last.throughput * network.largest() <= slack);
        }

        #[test]
        fn a_balanced_network_meets_its_bounds(demand in 1e-3..10.0_f64, k in 1..10_usize, jobs in 1..100_u32) {
            let network = Demands::new(vec![demand; k], 0.0).unwrap();
            let exact = exact_mva(&network, jobs).unwrap().pop().unwrap().response;
            let bounds = balanced_job_bounds(&network, jobs).unwrap();
            prop_assert!((bounds.lower / exact - 1.0).abs() < 1e-9);
            prop_assert!((bounds.upper / exact - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_derivative_is_that_of_differences((network, jobs) in networks(), seed in 0..1000_u32) {
            let some = |i: usize| f64::from((seed * 7 + 13 * i as u32) % 11) / 11.0;
            let direction: Vec<f64> = (0..network.stations().len()).map(some).collect();
            let (response, derivative) = exact_mva_with_derivative(&network, &direction, jobs).unwrap();
            let exact = exact_mva(&network, jobs).unwrap().pop().unwrap().response;
            prop_assert!((response / exact - 1.0).abs() < 1e-12);
            let h = 1e-5 * network.stations().iter().copied().fold(f64::INFINITY, f64::min);
            let moved = |by: f64| {
                let moved = network.stations().iter().zip(&direction).map(|(d, step)| d + by * step);
                let moved = Demands::new(moved.collect(), network.think()).unwrap();
                exact_mva(&moved, jobs).unwrap().pop().unwrap().response
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            let scale = difference.abs() + response / network.sum();
            prop_assert!((derivative - difference).abs() < 1e-4 * scale, "{derivative} {difference}");
        }

        #[test]
        fn the_approximation_is_near((network, jobs) in networks()) {
            let exact = exact_mva(&network, jobs).unwrap().pop().unwrap().response;
            let near = schweitzer(&network, jobs).unwrap();
            // It is never far off for one class; exact for one job.
            prop_assert!((near.response / exact - 1.0).abs() < 0.25, "{} {exact}", near.response);
            if jobs == 1 {
                prop_assert!((near.response / exact - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn many_jobs_at_once_are_as_good_as_exact() {
        let network = Demands::new(vec![0.5, 0.3, 0.2], 10.0).unwrap();
        let exact = exact_mva(&network, 2000).unwrap().pop().unwrap().response;
        let near = schweitzer(&network, 2000).unwrap().response;
        assert!((near / exact - 1.0).abs() < 1e-3, "{near} {exact}");
    }
}
