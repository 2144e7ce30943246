//! Objectives of simulations: what is found of them, what theory says of them, and when a run has certainly missed one.

use iosonar_analysis::objective::{Attained, Flaw, Objective, Statistic};
use iosonar_scenario::theory::Answer;
use iosonar_scenario::{GiveUp, LoadModel, NotSteady, Prepared, SimulationResult};
use iosonar_stats::Estimate;
use iosonar_trace::{Quantity, Requests};
use iosonar_units::Nanos;

use crate::plan::PlanError;

/// Refuses targets that mean nothing of a simulation, which submits requests when they are due.
///
/// # Errors
/// If one is about delays.
pub fn refuse_delays(targets: &[Objective]) -> Result<(), PlanError> {
    match targets.iter().find(|of| of.quantity == Quantity::Delay) {
        Some(target) => Err(PlanError::DoesNotFit(format!(
            "target '{target}': a simulation has no start delays, as it submits every request exactly when it is due; \
             limit the response time instead"
        ))),
        None => Ok(()),
    }
}

/// What a simulation found of an objective; `None` if there are no requests that it is about.
fn attained(
    objective: &Objective,
    simulation: &Prepared,
    result: &SimulationResult,
) -> Option<Attained> {
    let requests = result.count_of(objective.requests);
    let of_estimate = |estimate| Attained::of_estimate(*objective, requests, estimate);
    match objective.statistic {
        Statistic::Quantile(_) => {
            let (whole, parts) = result.times(objective.requests);
            Attained::of_times(*objective, whole, parts)
        }
        _ if requests == 0 => None,
        Statistic::Mean => {
            let mean = of_estimate(result.mean_of_ms(objective.requests));
            let (whole, _) = result.times(objective.requests);
            Some(mean.or_far_above(whole))
        }
        Statistic::Throughput => Some(of_estimate(throughput_per_s(simulation, result))),
    }
}

/// What a simulation says of objectives. Runs whose result depends on how long they are meet nothing and have no interval, nor
/// does a system meet anything that never served some of its requests, is offered more than it can do, or was spared an event
/// that was planned; one that lost data misses everything.
pub struct Judge<'a> {
    simulation: &'a Prepared,
    result: &'a SimulationResult,
    not_steady: Option<NotSteady>,
    flaw: Option<Flaw>,
}

impl<'a> Judge<'a> {
    /// Judges by this result. The offered load, which takes a look at many requests, is worked out once for all objectives.
    pub fn of(simulation: &'a Prepared, result: &'a SimulationResult) -> Self {
        let not_steady = simulation.not_steady(result);
        let is_offered_too_much = match not_steady {
            Some(NotSteady::Unstable { .. }) => true,
            // The offered load was not looked at.
            Some(NotSteady::QueueGrows { .. } | NotSteady::CacheFills { .. }) => {
                simulation.check_stability().is_err()
            }
            Some(
                NotSteady::NearSaturation { .. }
                | NotSteady::FirstOfUsers { .. }
                | NotSteady::CreditsFall { .. },
            )
            | None => false,
        };
        let flaw = if result.unserved.is_some() {
            Some(Flaw::Deadlock)
        } else if is_offered_too_much {
            Some(Flaw::Overload)
        } else {
            not_steady.is_some().then_some(Flaw::TooShort)
        };
        Self {
            simulation,
            result,
            not_steady,
            flaw,
        }
    }

    /// Why the result depends on how long the run was.
    pub fn not_steady(&self) -> Option<NotSteady> {
        self.not_steady
    }

    /// The outcome of an objective; `None` if there are no requests that it is about.
    pub fn judged(&self, objective: &Objective) -> Option<Attained> {
        let mut attained = attained(objective, self.simulation, self.result)?;
        if self.result.loses_data() {
            let counts = &self.result.device_events;
            attained = attained.with_data_loss(counts.failed, counts.lost_from_cache);
        }
        let events = &self.result.device_events;
        Some(match self.flaw {
            Some(flaw) => attained.of_unsteady_runs(flaw, self.falls_short_by_chance(objective)),
            None if events.missed() > 0 => {
                attained.with_missed_events(events.missed(), events.planned)
            }
            None => attained,
        })
    }

    /// Whether a longer run could attain what this one does not. Response times only grow with a queue or a cache that is not
    /// full yet, but the rate of a short run is that of few arrivals.
    fn falls_short_by_chance(&self, objective: &Objective) -> bool {
        let is_closed = matches!(self.simulation.load(), LoadModel::Closed { .. });
        objective.statistic == Statistic::Throughput && !is_closed
    }
}

/// By Little's law the throughput of a closed loop has the relative error of the response time. Of one run with open
/// arrivals it is not known how far another's would be from it.
fn throughput_per_s(simulation: &Prepared, result: &SimulationResult) -> Estimate {
    let throughput = result.throughput_per_s;
    let is_closed = matches!(simulation.load(), LoadModel::Closed { .. });
    if throughput.stderr.is_finite() || !is_closed {
        return throughput;
    }
    let relative = result.mean_ms.stderr / result.mean_ms.mean;
    Estimate {
        stderr: relative * throughput.mean,
        mean: throughput.mean,
        ..result.mean_ms
    }
}

/// What theory says of the statistic of an objective in milliseconds, NaN where it does not know; `None` of a throughput,
/// and of reads or writes alone.
pub fn by_theory(objective: &Objective, response: &Answer) -> Option<f64> {
    if objective.requests != Requests::All {
        return None;
    }
    match objective.statistic {
        Statistic::Mean => Some(response.mean_ms()),
        Statistic::Quantile(p) => Some(response.quantile_ms(p)),
        Statistic::Throughput => None,
    }
}

/// When a run with this number of requests that an objective is about is far from keeping it: twice as many took too long
/// as may, so one more run can hardly make up for it. `None` of means and throughputs, which are not known before the end,
/// and of quantiles that rest on too few requests.
pub fn give_up(objective: &Objective, requests: u64) -> Option<GiveUp> {
    const MARGIN: f64 = 2.0;
    /// Of requests that may take too long; the histograms call fewer unsupported.
    const FEWEST: f64 = 10.0;
    let Statistic::Quantile(p) = objective.statistic else {
        return None;
    };
    let allowed = (1.0 - p) * requests as f64;
    let most = (MARGIN * allowed).ceil();
    (allowed >= FEWEST && most < requests as f64).then(|| GiveUp {
        requests: objective.requests,
        above: Nanos::from_millis_f64(objective.limit),
        most: most as u64,
    })
}
