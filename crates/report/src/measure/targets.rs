//! What is demanded of records, and whether they keep to it.

use iosonar_analysis::objective::{Attained, Objective, Statistic};
use iosonar_stats::Sections;
use iosonar_trace::{Op, Outcome, Quantity, Requests};

use super::Measured;

/// Times that objectives are about.
struct Times {
    requests: Requests,
    quantity: Quantity,
    sections: Sections,
}

/// Keeps what objectives are about.
pub(super) struct Targets {
    times: Vec<Times>,
}

impl Targets {
    pub(super) fn new(objectives: &[Objective]) -> Self {
        let mut times: Vec<Times> = Vec::new();
        for objective in objectives {
            let is_same =
                |of: &Times| (of.requests, of.quantity) == (objective.requests, objective.quantity);
            if objective.statistic != Statistic::Throughput && !times.iter().any(is_same) {
                times.push(Times {
                    requests: objective.requests,
                    quantity: objective.quantity,
                    sections: Sections::of_a_run(),
                });
            }
        }
        Self { times }
    }

    /// Takes the times of a request that ended well.
    #[inline]
    pub(super) fn push(&mut self, op: Op, outcome: &Outcome) {
        for times in &mut self.times {
            if times.requests.include(op)
                && let Some(time) = time_of(times.quantity, outcome)
            {
                times.sections.push(time);
            }
        }
    }

    /// What the objectives have become, in their order; `None` where nothing was measured of them.
    pub(super) fn attained(&self, of: &Measured) -> Vec<Option<Attained>> {
        let attained = |&objective: &Objective| {
            if objective.statistic == Statistic::Throughput {
                let estimate = of.throughput()?;
                let requests = of.timed();
                return Some(Attained::of_estimate(objective, requests, estimate));
            }
            let times = self.times.iter().find(|times| {
                (times.requests, times.quantity) == (objective.requests, objective.quantity)
            })?;
            let (whole, parts) = (times.sections.whole(), times.sections.independent());
            Attained::of_times(objective, &whole, &parts)
        };
        of.options().targets.iter().map(attained).collect()
    }
}

/// A time of a request. Where it is not recorded how late requests were submitted, the response time is the latency.
fn time_of(quantity: Quantity, outcome: &Outcome) -> Option<iosonar_units::Nanos> {
    match quantity {
        Quantity::ResponseTime if outcome.delay.is_none() => outcome.latency,
        _ => quantity.of(outcome),
    }
}
