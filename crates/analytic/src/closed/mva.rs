//! Mean value analysis of one class of jobs.

use super::{Demands, some_jobs};
use crate::AnalyticError;

/// What is known of a network with so many jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct MvaPoint {
    /// How many jobs.
    pub jobs: u32,
    /// The response time of a job.
    pub response: f64,
    /// Jobs that are complete per time.
    pub throughput: f64,
    /// The mean number of jobs at each station, waiting and in service.
    pub queues: Vec<f64>,
}

impl MvaPoint {
    /// The utilisation of a station with this demand: X D.
    pub fn utilisation(&self, demand: f64) -> f64 {
        self.throughput * demand
    }
}

/// Exact mean value analysis for 1 to `jobs` jobs: `R_k(n)` = `D_k` (1 + `Q_k(n` - 1)),
/// X(n) = n / (Z + sum `R_k`), `Q_k(n)` = X(n) `R_k(n)` (Reiser and Lavenberg 1980).
///
/// # Errors
/// If there are no jobs.
pub fn exact_mva(network: &Demands, jobs: u32) -> Result<Vec<MvaPoint>, AnalyticError> {
    some_jobs(jobs)?;
    let mut queues = vec![0.0; network.stations().len()];
    let mut all = Vec::with_capacity(jobs as usize);
    for n in 1..=jobs {
        let with_queues = |(demand, queue): (&f64, &f64)| demand * (1.0 + queue);
        let times = network.stations().iter().zip(&queues).map(with_queues);
        let times: Vec<f64> = times.collect();
        let response: f64 = times.iter().sum();
        let throughput = f64::from(n) / (network.think() + response);
        queues = times.iter().map(|time| throughput * time).collect();
        all.push(MvaPoint {
            jobs: n,
            response,
            throughput,
            queues: queues.clone(),
        });
    }
    Ok(all)
}

/// The exact response time with `jobs` jobs, and its slope in each demand: the recursion of
/// [`exact_mva`], differentiated. The elasticity in a demand is the slope times `D_k` / R.
///
/// # Errors
/// If there are no jobs.
pub fn exact_mva_with_slopes(
    network: &Demands,
    jobs: u32,
) -> Result<(f64, Vec<f64>), AnalyticError> {
    some_jobs(jobs)?;
    let d = network.stations();
    let k = d.len();
    let mut queues = vec![0.0; k];
    // Row i: the slopes of queue i in all demands.
    let mut queue_slopes = vec![vec![0.0; k]; k];
    let (mut response, mut slopes) = (0.0, vec![0.0; k]);
    for n in 1..=jobs {
        let times: Vec<f64> = d.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
        let time_slope = |i: usize, j: usize| {
            let own = if i == j { 1.0 + queues[i] } else { 0.0 };
            own + d[i] * queue_slopes[i][j]
        };
        let time_slopes: Vec<Vec<f64>> = (0..k)
            .map(|i| (0..k).map(|j| time_slope(i, j)).collect())
            .collect();
        response = times.iter().sum();
        slopes = (0..k)
            .map(|j| time_slopes.iter().map(|row| row[j]).sum())
            .collect();
        let cycle = network.think() + response;
        let throughput = f64::from(n) / cycle;
        for i in 0..k {
            queues[i] = throughput * times[i];
            for j in 0..k {
                let of_throughput = -throughput * slopes[j] / cycle;
                queue_slopes[i][j] = throughput * time_slopes[i][j] + of_throughput * times[i];
            }
        }
    }
    Ok((response, slopes))
}

/// Approximate mean value analysis of Schweitzer and Bard: a job that comes sees (N - 1) / N of the mean
/// queues with itself. The cost does not depend on the number of jobs; the error is some percent
/// at most for a few jobs, and vanishes for one and for many (Lazowska et al., 6.4.2).
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
        queues,
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
            let inside: f64 = last.queues.iter().sum();
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
        fn slopes_are_those_of_differences((network, jobs) in networks()) {
            let (response, slopes) = exact_mva_with_slopes(&network, jobs).unwrap();
            let exact = exact_mva(&network, jobs).unwrap().pop().unwrap().response;
            prop_assert!((response / exact - 1.0).abs() < 1e-12);
            for (i, slope) in slopes.iter().enumerate() {
                let moved = |by: f64| {
                    let mut d = network.stations().to_vec();
                    d[i] *= 1.0 + by;
                    let moved = Demands::new(d, network.think()).unwrap();
                    exact_mva(&moved, jobs).unwrap().pop().unwrap().response
                };
                let h = 1e-4;
                let difference = (moved(h) - moved(-h)) / (2.0 * h * network.stations()[i]);
                prop_assert!((slope - difference).abs() < 1e-4 * difference.abs() + 1e-6, "{slope} {difference}");
            }
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
