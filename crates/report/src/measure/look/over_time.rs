//! What happens at each moment: requests in flight, throughput, the order of completion.

use iosonar_analysis::{ActivityOptions, OutcomeMetrics, OutcomeSummary, Timeline};
use iosonar_trace::{Record, Status};

use super::LookOptions;
use crate::measure::clouds::Clouds;

/// What requests are together, in the order of their intended starts.
#[derive(Clone)]
pub(super) struct OverTime {
    metrics: Box<OutcomeMetrics>,
    clouds: Clouds,
    /// The demand over time, while the outcome is not known.
    demand: Option<Timeline>,
}

impl OverTime {
    /// Nothing seen yet. `clouds` are of the views that need the order.
    pub(super) fn new(options: &LookOptions, clouds: Clouds) -> Self {
        let activity = ActivityOptions {
            group: options.group,
            ..ActivityOptions::default()
        };
        let metrics = OutcomeMetrics::new(Timeline::adaptive(), activity);
        Self {
            metrics: Box::new(metrics.include_skipped(options.include_unsubmitted)),
            clouds,
            demand: Some(Timeline::adaptive()),
        }
    }

    /// Looks at one record.
    pub(super) fn push(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        // Quantities that were not measured cost nothing.
        let is_load = outcome.latency.is_none() && outcome.status == Status::Done;
        match &mut self.demand {
            Some(demand) if is_load => demand.push(request),
            _ => {
                self.demand = None;
                self.metrics.push_watched(record, &mut self.clouds);
            }
        }
    }

    /// The points so far.
    pub(super) fn clouds(&self) -> &Clouds {
        &self.clouds
    }

    /// What happened, the demand where nothing is known of the outcome, and the points.
    pub(super) fn finish(mut self) -> (Option<OutcomeSummary>, Option<Timeline>, Clouds) {
        let outcome = self.metrics.finish_watched(&mut self.clouds);
        self.clouds.settle();
        (outcome, self.demand, self.clouds)
    }
}
