//! What is planned: something with a load that can be analysed and simulated.

use std::cell::RefCell;
use std::path::Path;

use iosonar_scenario::networked::{NetworkPoint, NetworkedRaid, Services, Structure};
use iosonar_scenario::theory::{Standing, Theory};
use iosonar_scenario::{
    LoadModel, NotCleaned, OnCredit, Outputs, Overrides, Prepared, REQUESTS_PER_USER,
    ScenarioError, SimulationResult,
};
use iosonar_stats::Estimate;

use super::{PlanError, Point, TargetOutcome};
use crate::objective::{Judge, by_theory};
use iosonar_analysis::objective::{Attained, Objective, Statistic};

use iosonar_trace::fit::Fitted;
use iosonar_trace::{Remark, Requests, TraceError};

/// What was remarked on a load while it was read, and what was changed in it to fit the system.
#[derive(Clone, Debug, Default)]
pub struct LoadNotes {
    /// The remarks on its recording.
    pub remarks: Vec<Remark>,
    /// The changes.
    pub fitted: Fitted,
}

impl LoadNotes {
    /// Those of a result.
    pub fn of(result: &SimulationResult) -> Self {
        Self {
            remarks: result.remarks.clone(),
            fitted: result.fitted,
        }
    }
}

/// What simulations of a load found.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The outcome of each target, in their order.
    pub outcomes: Vec<TargetOutcome>,
    /// Why its flash was not cleaned as in a longer run.
    pub not_cleaned: Option<NotCleaned>,
    /// The credits that it lived on.
    pub on_credit: Option<OnCredit>,
}

impl Simulated {
    /// What a result says of targets.
    ///
    /// # Errors
    /// If there are no requests that a target is about.
    pub fn of(
        simulation: &Prepared,
        result: &SimulationResult,
        targets: &[Objective],
    ) -> Result<Self, PlanError> {
        let judge = Judge::of(simulation, result);
        let outcome = |target: &Objective| {
            let attained = judge.judged(target);
            let attained = attained.ok_or(PlanError::NoSuchRequests { target: *target })?;
            Ok(TargetOutcome::Known(attained))
        };
        Ok(Self {
            outcomes: targets
                .iter()
                .map(outcome)
                .collect::<Result<_, PlanError>>()?,
            not_cleaned: simulation.not_cleaned(result),
            on_credit: simulation.on_credit(result),
        })
    }

    /// The same outcome of all targets.
    pub(super) fn all(targets: &[Objective], outcome: TargetOutcome) -> Self {
        Self {
            outcomes: vec![outcome; targets.len()],
            not_cleaned: None,
            on_credit: None,
        }
    }

    /// Runs that were stopped early, as they are certain to miss the target of this number.
    pub(super) fn given_up(targets: &[Objective], over: usize) -> Self {
        let mut stopped = Self::all(targets, TargetOutcome::Stopped);
        stopped.outcomes[over] = TargetOutcome::Over;
        stopped
    }

    /// A figure that was simulated elsewhere, in the unit of the target, from this number of requests.
    pub(super) fn of_estimate(
        target: &Objective,
        requests: u64,
        estimate: Estimate,
    ) -> TargetOutcome {
        TargetOutcome::Known(Attained::of_estimate(*target, requests, estimate))
    }
}

/// Something with a load.
pub trait Subject {
    /// What theory says of the metric at a load; `None` where it does not know.
    ///
    /// # Errors
    /// If there is no such system.
    fn theory(&self, load: f64, objective: &Objective) -> Result<Option<f64>, PlanError>;

    /// The same simulated, for all targets at once.
    ///
    /// # Errors
    /// If there is no such system, or it cannot be simulated.
    fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError>;

    /// Whether theory leaves it open that this load is good enough although a larger one is worse.
    ///
    /// # Errors
    /// If there is no such system.
    fn may_meet(&self, _load: f64, _target: &Objective) -> Result<bool, PlanError> {
        Ok(false)
    }

    /// Everything about a load.
    ///
    /// # Errors
    /// As the others.
    fn point(&self, load: f64, targets: &[Objective]) -> Result<Point, PlanError> {
        self.point_of(load, targets, self.simulate(load, targets)?)
    }

    /// Everything about a load of which this was simulated.
    ///
    /// # Errors
    /// As the others.
    fn point_of(
        &self,
        load: f64,
        targets: &[Objective],
        simulated: Simulated,
    ) -> Result<Point, PlanError> {
        let theory = targets.iter().map(|target| self.theory(load, target));
        Ok(Point {
            load,
            theory: theory.collect::<Result<_, _>>()?,
            outcomes: simulated.outcomes,
            not_cleaned: simulated.not_cleaned,
            on_credit: simulated.on_credit,
        })
    }
}

/// The key of the number of disks.
const DISKS: &str = "array.disks";
/// The key of the number of users.
const JOBS: &str = "load.closed.outstanding";

/// A scenario of `sim` whose load is the arrival rate, or a key.
pub struct ArraySubject<'a> {
    base: Prepared,
    /// The key that is set, and how to resolve the scenario with it; `None`: the arrival rate is varied.
    key: Option<&'static str>,
    text: &'a str,
    path: &'a Path,
    overrides: &'a Overrides,
    threads: usize,
    /// Those of each load that was simulated.
    notes: RefCell<Vec<(f64, LoadNotes)>>,
}

impl<'a> ArraySubject<'a> {
    /// A scenario with its text; with a `key` its value is the load, else the arrival rate.
    ///
    /// # Errors
    /// If the scenario has no arrival rate.
    pub fn new(
        base: Prepared,
        (text, path): (&'a str, &'a Path),
        overrides: &'a Overrides,
        key: Option<&'static str>,
        threads: usize,
    ) -> Result<Self, PlanError> {
        if key.is_none() && base.load().requests_per_s().is_none() {
            return Err(PlanError::DoesNotFit(format!(
                "{}: a closed loop has no arrival rate; use --find jobs or --find disks",
                path.display()
            )));
        }
        Ok(Self {
            base: base.long_enough(),
            key,
            text,
            path,
            overrides,
            threads,
            notes: RefCell::default(),
        })
    }

    /// The notes on the load at a point that was simulated, or else at the last one.
    pub(super) fn notes_at(&self, point: Option<&Point>) -> LoadNotes {
        let all = self.notes.borrow();
        let at_point = point.and_then(|point| all.iter().find(|(load, _)| *load == point.load));
        let found = at_point.or(all.last());
        found.map_or_else(LoadNotes::default, |(_, notes)| notes.clone())
    }

    /// The scenario as it is.
    pub fn base(&self) -> &Prepared {
        &self.base
    }

    /// The scenario with this load.
    ///
    /// # Errors
    /// If there is no such system.
    pub fn at(&self, load: f64) -> Result<Prepared, ScenarioError> {
        let Some(key) = self.key else {
            return Ok(self.base.clone().at_rate(load));
        };
        let mut overrides = self.overrides.clone();
        overrides.set.push((key.to_owned(), format!("{load}")));
        if let (JOBS, LoadModel::Closed { requests, .. }) = (key, self.base.load()) {
            let enough = REQUESTS_PER_USER * load as u64;
            let requests = (*requests).max(enough).to_string();
            overrides.set.push(("load.requests".to_owned(), requests));
        }
        Ok(Prepared::from_toml(self.text, self.path, &overrides)?.long_enough())
    }

    /// All that theory says at a load.
    ///
    /// # Errors
    /// If there is no such system.
    pub fn full_theory(&self, load: f64) -> Result<Theory, ScenarioError> {
        Ok(self.at(load)?.theory())
    }
}

impl Subject for ArraySubject<'_> {
    /// More users are never better, but more disks may be: a request that fills a stripe of few disks is a partial
    /// write on many. Only an approximation whose error is known rules a number of disks out.
    fn may_meet(&self, load: f64, objective: &Objective) -> Result<bool, PlanError> {
        if self.key != Some(DISKS) {
            return Ok(false);
        }
        let theory = self.full_theory(load)?;
        if theory.unstable.is_some() {
            return Ok(false);
        }
        let Some(response) = theory.response else {
            return Ok(true);
        };
        let error = match (response.standing, response.accuracy, objective.statistic) {
            (Standing::Exact, ..) => Some(0.0),
            (_, Some(of), Statistic::Mean) => Some(of.mean),
            (_, Some(of), Statistic::Quantile(0.99)) => of.p99,
            _ => None,
        };
        let (Some(error), Some(value)) = (error, by_theory(objective, &response)) else {
            return Ok(true);
        };
        // What was simulated is `value / (1 + error)` at least, and known to its own error.
        Ok(value.is_nan() || objective.is_kept_by(value / (1.0 + error) * 0.95))
    }

    fn theory(&self, load: f64, objective: &Objective) -> Result<Option<f64>, PlanError> {
        Ok(theory_of(&self.at(load)?, objective))
    }

    fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
        let simulation = self.at(load)?;
        let (outputs, watch) = (Outputs::default(), simulation.watch());
        match simulation.run_steady(self.threads, outputs, &watch) {
            Ok(Ok(result)) => {
                self.notes.borrow_mut().push((load, LoadNotes::of(&result)));
                Simulated::of(&simulation, &result, targets)
            }
            Ok(Err(_)) => Ok(Simulated::all(targets, TargetOutcome::Unsteady)),
            // With the number of disks that the scenario has itself, this is what is wrong with the load.
            Err(ScenarioError::Trace(TraceError::Request { .. }))
                if self.key == Some(DISKS)
                    && load as usize != self.base.array().disks
                    && simulation.copies_within()? == Some(0) =>
            {
                Ok(Simulated::all(targets, TargetOutcome::TooSmall))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What theory says of the statistic of a target; `None` where it does not know.
pub(super) fn theory_of(simulation: &Prepared, objective: &Objective) -> Option<f64> {
    if objective.requests != Requests::All {
        return None;
    }
    let theory = simulation.theory();
    if theory.unstable.is_some() {
        return match objective.statistic {
            Statistic::Throughput => theory.capacity_per_s,
            Statistic::Mean | Statistic::Quantile(_) => Some(f64::INFINITY),
        };
    }
    let value = match objective.statistic {
        Statistic::Mean | Statistic::Quantile(_) => {
            theory.response.and_then(|r| by_theory(objective, &r))
        }
        Statistic::Throughput => match simulation.load() {
            LoadModel::Closed {
                outstanding, think, ..
            } => theory.response.map(|r| {
                f64::from(*outstanding) / (r.mean_ms() + think.mean().as_millis_f64()) * 1e3
            }),
            load => load.requests_per_s(),
        },
    };
    value.filter(|value| !value.is_nan())
}

/// A networked system whose load is its number of jobs.
pub struct NetworkSubject {
    system: NetworkedRaid,
    /// For 1 to the most jobs.
    points: Vec<NetworkPoint>,
}

impl NetworkSubject {
    /// Of this system, with at most `most` jobs.
    ///
    /// # Errors
    /// If it does not have exactly one class of jobs.
    pub fn new(mut system: NetworkedRaid, most: u32) -> Result<Self, PlanError> {
        let [job] = system.classes.as_mut_slice() else {
            return Err(PlanError::DoesNotFit(
                "plan supports only networked systems with a single class of jobs".to_owned(),
            ));
        };
        job.jobs = most;
        let analysis = system
            .analyse()
            .map_err(|e| PlanError::DoesNotFit(e.to_string()))?;
        Ok(Self {
            system,
            points: analysis.points,
        })
    }
}

impl Subject for NetworkSubject {
    fn theory(&self, load: f64, objective: &Objective) -> Result<Option<f64>, PlanError> {
        let point = &self.points[(load as usize).clamp(1, self.points.len()) - 1];
        Ok(match objective.statistic {
            Statistic::Mean => Some(point.response_s * 1e3),
            Statistic::Throughput => Some(point.throughput_per_s),
            Statistic::Quantile(_) => None,
        })
    }

    fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
        let (services, structure) = (Services::Exponential, Structure::Serial);
        let departures = self.system.usual_departures();
        let result = self
            .system
            .simulate(load as u32, services, structure, departures)
            .map_err(|e| PlanError::DoesNotFit(e.to_string()))?;
        let outcome = |target: &Objective| {
            let estimate = match target.statistic {
                Statistic::Mean => {
                    let e = result.response_s[0];
                    Estimate {
                        mean: e.mean * 1e3,
                        stderr: e.stderr * 1e3,
                        ..e
                    }
                }
                Statistic::Throughput => result.throughput_per_s[0],
                Statistic::Quantile(_) => {
                    return Err(PlanError::DoesNotFit(
                        "quantiles are not available for networked systems: use mean or throughput"
                            .to_owned(),
                    ));
                }
            };
            Ok(Simulated::of_estimate(target, departures, estimate))
        };
        Ok(Simulated {
            outcomes: targets.iter().map(outcome).collect::<Result<_, _>>()?,
            not_cleaned: None,
            on_credit: None,
        })
    }
}
