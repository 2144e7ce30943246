//! A load that grows: how many times as much a system bears.

use iosonar_scenario::{
    LoadModel, NoSteadyState, NotSteady, Outputs, Prepared, ScenarioError, SimulationResult, Watch,
};

use super::subject::{is_long_enough, theory_of};
use super::{PlanError, Simulated, Subject};
use crate::objective::Objective;

/// A scenario whose load is the factor by which it has grown: a trace so many times as fast, or as many times the
/// arrivals. All growths see the same requests in the same order (common random numbers).
pub struct GrowingLoad {
    base: Prepared,
    /// The load as it is.
    result: Result<Box<SimulationResult>, NoSteadyState>,
    threads: usize,
}

/// A trace cannot be so much faster or more.
const FASTEST: f64 = 1e6;

impl GrowingLoad {
    /// Runs a scenario as it is.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub fn new(base: Prepared, threads: usize) -> Result<Self, ScenarioError> {
        let base = base.long_enough();
        let result = base
            .run_steady(threads, Outputs::default(), &Watch::default())?
            .map(Box::new);
        Ok(Self {
            base,
            result,
            threads,
        })
    }

    /// The scenario as it is.
    pub fn base(&self) -> &Prepared {
        &self.base
    }

    /// What becomes of the load as it is.
    ///
    /// # Errors
    /// If it has no steady state.
    pub fn as_it_is(&self) -> Result<&SimulationResult, &NoSteadyState> {
        self.result.as_ref().map(Box::as_ref)
    }

    /// Whether its load can grow: the users of a closed loop set the pace themselves.
    pub fn can_grow(&self) -> bool {
        match self.base.load() {
            LoadModel::Synthetic { .. } | LoadModel::Trace { .. } => true,
            LoadModel::Alone { .. } | LoadModel::Closed { .. } => false,
        }
    }

    /// As much growth cannot be simulated, or is more than the system can do, where that is known.
    pub fn most(&self) -> Option<f64> {
        match self.base.load() {
            LoadModel::Trace { .. } => Some(FASTEST),
            load => Some(self.base.theory().capacity_per_s? / load.requests_per_s()?),
        }
    }

    /// The scenario as it is, and what becomes of it.
    pub fn into_parts(self) -> (Prepared, Result<Box<SimulationResult>, NoSteadyState>) {
        (self.base, self.result)
    }

    /// The scenario with a load that has grown by this factor.
    ///
    /// # Errors
    /// If its load cannot grow, or not that far.
    pub fn at(&self, factor: f64) -> Result<Prepared, PlanError> {
        let base = self.base.clone();
        if factor == 1.0 {
            return Ok(base);
        }
        base.grown(factor).ok_or_else(|| {
            PlanError::DoesNotFit(match self.can_grow() {
                true => format!("a trace cannot be {factor} times as fast: 0.000001 to 1000000 times are possible"),
                false => "a closed loop sets its own pace: its load cannot grow; give it more users".to_owned(),
            })
        })
    }

    /// The requests of a run that an objective is about.
    fn requests_of(&self, objective: &Objective) -> Option<u64> {
        let result = self.as_it_is().ok()?;
        Some(result.count_of(objective.requests) / u64::from(result.replications))
    }
}

impl Subject for GrowingLoad {
    fn is_long_enough(&self, load: f64) -> Result<bool, PlanError> {
        Ok(is_long_enough(&self.at(load)?))
    }

    fn theory(&self, load: f64, objective: &Objective) -> Result<Option<f64>, PlanError> {
        Ok(theory_of(&self.at(load)?, objective))
    }

    fn simulate(&self, load: f64, objective: &Objective) -> Result<Simulated, PlanError> {
        if load == 1.0 {
            return Ok(match self.as_it_is() {
                Ok(result) => seen(&self.base, result, objective),
                Err(_) => Simulated::Unsteady,
            });
        }
        let give_up = self
            .requests_of(objective)
            .and_then(|n| objective.give_up(n));
        let simulation = self.at(load)?.with_give_up(give_up);
        match simulation.run_steady(self.threads, Outputs::default(), &Watch::default()) {
            Ok(Ok(result)) => Ok(seen(&simulation, &result, objective)),
            Ok(Err(_)) => Ok(Simulated::Unsteady),
            Err(ScenarioError::GivenUp) => Ok(Simulated::GivenUp),
            Err(error) => Err(error.into()),
        }
    }
}

/// A recording that is much faster is over before its queue is long: that it still meets a target then means nothing.
fn seen(simulation: &Prepared, result: &SimulationResult, objective: &Objective) -> Simulated {
    Simulated::Known {
        estimate: objective.of_result(result),
        not_cleaned: result.is_not_cleaned(),
        grows: matches!(
            simulation.not_steady(result),
            Some(NotSteady::QueueGrows { .. })
        ),
    }
}
