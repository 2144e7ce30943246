//! How far rebuilds came.

use iosonar_raid::RebuildProgress;
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Estimate, Labels, Metric};
use iosonar_units::Nanos;

use super::count;
use crate::SimulationResult;

/// The rebuilds of all runs, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rebuilt {
    /// Stripes that were rebuilt.
    pub stripes: u64,
    /// Stripes of the array.
    pub of: u64,
    /// Whether every run rebuilt all of them.
    pub is_complete: bool,
    /// How long they were rebuilt.
    pub elapsed: Nanos,
    /// How long all stripes take at this pace, in seconds; `None` if no stripe was rebuilt.
    pub whole_s: Option<f64>,
}

impl SimulationResult {
    /// How far rebuilds came; `None` without a rebuild.
    pub fn rebuilt(&self) -> Option<Rebuilt> {
        let runs = &self.rebuild;
        let of = runs.first()?.of;
        let elapsed = runs.iter().map(|run| run.elapsed.as_secs_f64());
        let whole = runs.iter().filter_map(RebuildProgress::time_to_rebuild);
        let whole: Vec<f64> = whole.map(Nanos::as_secs_f64).collect();
        Some(Rebuilt {
            stripes: runs.iter().map(|run| run.stripes).sum::<u64>() / runs.len() as u64,
            of,
            is_complete: runs.iter().all(|run| run.stripes == run.of),
            elapsed: Nanos::from_secs_f64(elapsed.sum::<f64>() / runs.len() as f64),
            whole_s: (!whole.is_empty()).then(|| Estimate::from_independent(&whole).mean),
        })
    }

    pub(super) fn add_rebuild(&self, metrics: &mut Vec<Metric>, scenario: &Labels) {
        let Some(rebuilt) = self.rebuilt() else {
            return;
        };
        let Some(whole_s) = rebuilt.whole_s else {
            return;
        };
        let seconds =
            |name: &'static str, value| Metric::figure(name, scenario, MetricUnit::Seconds, value);
        metrics.extend([
            seconds("time_to_rebuild", whole_s),
            seconds("rebuild_elapsed", rebuilt.elapsed.as_secs_f64()),
            count("rebuilt_stripes", scenario, rebuilt.stripes),
            count("stripes", scenario, rebuilt.of),
        ]);
    }
}
