//! Bounds from sums of demands.

use super::{Demands, some_jobs};
use crate::AnalyticError;

/// Between these lies the response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Not less than this.
    pub lower: f64,
    /// Not more than this.
    pub upper: f64,
}

/// `max(D, N D_max - Z) <= R(N) <= N D`. They hold for any network, whatever its laws of service
/// (Lazowska et al., 5.2).
///
/// # Errors
/// If there are no jobs.
pub fn asymptotic_bounds(network: &Demands, jobs: u32) -> Result<Bounds, AnalyticError> {
    some_jobs(jobs)?;
    let n = f64::from(jobs);
    Ok(Bounds {
        lower: network.sum().max(n * network.largest() - network.think()),
        upper: n * network.sum(),
    })
}

/// `max(N D_max - Z, D + (N - 1) D_avg / (1 + Z / D)) <= R(N) <= D + (N - 1) D_max / (1 + Z / (N D))`. They
/// hold for networks of product form (Zahorjan et al. 1982; Lazowska et al., 5.4), and lie within the
/// asymptotic ones.
///
/// # Errors
/// If there are no jobs.
pub fn balanced_job_bounds(network: &Demands, jobs: u32) -> Result<Bounds, AnalyticError> {
    some_jobs(jobs)?;
    let (n, d, z) = (f64::from(jobs), network.sum(), network.think());
    let balanced = d + (n - 1.0) * network.average() / (1.0 + z / d);
    Ok(Bounds {
        lower: balanced.max(n * network.largest() - z),
        upper: d + (n - 1.0) * network.largest() / (1.0 + z / (n * d)),
    })
}
