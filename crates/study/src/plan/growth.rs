//! A load that grows: how many times as much a system sustains.

use iosonar_scenario::{
    GiveUp, LoadModel, NoSteadyState, Outputs, Prepared, ScenarioError, SimulationResult,
};

use super::search::LEAST;
use super::subject::theory_of;
use super::{Bound, Found, PlanError, Point, Simulated, Subject, TargetOutcome, highest, most};
use crate::objective::give_up;
use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_trace::transform::Copies;

/// How a load grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrowBy {
    /// A trace by its speed, arrivals by their rate: the same data are accessed more often.
    #[default]
    Speed,
    /// A trace by independent copies of it, each on data of its own.
    Copies,
}

/// A scenario whose load is the factor by which it has grown: the speed, the rate of arrivals, or the number of copies. All
/// growths see the same requests in the same order (common random numbers).
pub struct GrowingLoad {
    base: Prepared,
    by: GrowBy,
    /// The load as it is.
    result: Result<Box<SimulationResult>, NoSteadyState>,
    threads: usize,
}

/// A trace cannot be faster.
const FASTEST: f64 = 1e6;

/// A run lasts at least this many times the limit of a time: what is queued then comes from load and not from its end.
const LIMITS_PER_RUN: f64 = 100.0;

/// With fewer requests a queue that grows cannot be seen.
const FEWEST: u64 = 100;

impl GrowingLoad {
    /// Runs a scenario as it is.
    ///
    /// # Errors
    /// If it cannot be simulated, or has no copies but is to grow by them.
    pub fn new(base: Prepared, by: GrowBy, threads: usize) -> Result<Self, PlanError> {
        if by == GrowBy::Copies && !matches!(base.load(), LoadModel::Trace { .. }) {
            return Err(PlanError::CopiesOfNoTrace);
        }
        let base = base.long_enough();
        let result = base
            .run_steady(threads, Outputs::default(), &base.watch())?
            .map(Box::new);
        Ok(Self {
            base,
            by,
            result,
            threads,
        })
    }

    /// The scenario as it is.
    pub fn base(&self) -> &Prepared {
        &self.base
    }

    /// The result of the load as it is.
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

    /// More growth says nothing of the targets: the recording would be over too soon; or it is more than the system can do,
    /// where that is known.
    fn most(&self, targets: &[Objective]) -> Option<f64> {
        if !matches!(self.base.load(), LoadModel::Trace { .. }) {
            let now = self.base.load().requests_per_s()?;
            return Some(self.base.theory().capacity_per_s? / now);
        }
        let shortest_s = |target: &Objective| match target.statistic {
            Statistic::Throughput => 0.0,
            Statistic::Mean | Statistic::Quantile(_) => LIMITS_PER_RUN * target.limit / 1e3,
        };
        let shortest_s = targets.iter().map(shortest_s).fold(0.0, f64::max);
        let windows = &self.as_it_is().ok()?.windows;
        let lengths = windows.iter().map(|w| w.length().as_secs_f64());
        let length_s = lengths.reduce(f64::min)?;
        let arrived = windows.iter().map(|w| w.arrived).min()?;
        match arrived < FEWEST {
            true => Some(1.0),
            false => Some((length_s / shortest_s).min(FASTEST)),
        }
    }

    /// The largest growth that meets all targets: of speeds to a share of `within`, of copies the largest number up to
    /// `most_copies`. Without a smallest one that does not (`next`) it is not known how much more is possible, for the reason
    /// that is given as the bound. `watch` sees each that is simulated.
    ///
    /// # Errors
    /// If its load cannot grow, a target is a throughput, or a simulation fails.
    pub fn largest(
        &self,
        targets: &[Objective],
        within: f64,
        most_copies: u32,
        watch: &mut dyn FnMut(&Point),
    ) -> Result<Found, PlanError> {
        self.check(targets)?;
        let now = self.point(1.0, targets)?;
        let most = self.most(targets);
        let is_recording = matches!(self.base.load(), LoadModel::Trace { .. });
        if now.meets() && is_recording && most.is_none_or(|most| most <= 1.0) {
            watch(&now);
            return Ok(Found {
                best: Some(now.clone()),
                points: vec![now],
                bound: Some(Bound::Recording),
                ..Found::default()
            });
        }
        if self.by == GrowBy::Copies {
            return self.most_copies(targets, most_copies, watch);
        }
        if !now.meets() {
            // To its end, so that it is known how near this comes.
            let least = self.run(LEAST, targets, Vec::new())?;
            let least = self.point_of(LEAST, targets, least)?;
            if !least.meets() {
                watch(&now);
                watch(&least);
                return Ok(Found {
                    next: Some(least.clone()),
                    points: vec![least, now],
                    ..Found::default()
                });
            }
        }
        let mut found = highest(self, targets, (1.0, most), within, watch)?;
        if found.best.is_some() && found.next.is_none() {
            found.bound = Some(Bound::Recording);
        }
        Ok(found)
    }

    fn most_copies(
        &self,
        targets: &[Objective],
        at_most: u32,
        watch: &mut dyn FnMut(&Point),
    ) -> Result<Found, PlanError> {
        let at_most = at_most.min(Copies::MOST);
        // The trace itself lies within, or it would not have been simulated.
        let within = self.base.copies_within()?.unwrap_or(Copies::MOST).max(1);
        let mut found = most(self, targets, (at_most.min(within), None), watch)?;
        if found.bound.is_some() && within < at_most {
            found.bound = Some(Bound::Space);
        }
        Ok(found)
    }

    /// Refuses targets that say nothing of a system with this load.
    ///
    /// # Errors
    /// Of open arrivals the throughput is their rate, as long as the system keeps up.
    pub fn check(&self, targets: &[Objective]) -> Result<(), PlanError> {
        let is_throughput = |of: &&Objective| of.statistic == Statistic::Throughput;
        match targets.iter().find(is_throughput) {
            Some(target) if self.can_grow() => Err(PlanError::DoesNotFit(format!(
                "'{target}': with recordings and open arrivals, the throughput is the arrival rate; limit a response \
                 time instead, such as 'p99 < 20ms', or use a closed loop"
            ))),
            _ => Ok(()),
        }
    }

    /// The scenario as it is, and its result.
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
        let does_not_fit = |problem: String| PlanError::DoesNotFit(problem);
        match self.by {
            GrowBy::Speed => base.grown(factor).ok_or_else(|| {
                does_not_fit(match self.can_grow() {
                    true => {
                        format!("a trace can be simulated at 0.000001 to 1000000 times its speed (got {factor})")
                    }
                    false => {
                        "a closed loop sets its own pace, so its load cannot be scaled; change the number of users \
                         instead (load.closed.outstanding)"
                            .to_owned()
                    }
                })
            }),
            GrowBy::Copies => Copies::new(factor as u64)
                .and_then(|copies| base.copied(copies))
                .ok_or_else(|| {
                    let most = Copies::MOST;
                    does_not_fit(format!(
                        "a trace can be copied 1 to {most} times (got {factor})"
                    ))
                }),
        }
    }

    /// The requests of a run that a target is about.
    fn requests_of(&self, target: &Objective) -> Option<u64> {
        let result = self.as_it_is().ok()?;
        Some(result.count_of(target.requests) / u64::from(result.replications))
    }

    /// Runs a growth, unless it is stopped early: with each of these limits is the number of the target that is missed then.
    fn run(
        &self,
        load: f64,
        targets: &[Objective],
        limits: Vec<(usize, GiveUp)>,
    ) -> Result<Simulated, PlanError> {
        let (of, limits): (Vec<usize>, Vec<GiveUp>) = limits.into_iter().unzip();
        let simulation = self.at(load)?.with_give_up(limits);
        let (outputs, watch) = (Outputs::default(), simulation.watch());
        match simulation.run_steady(self.threads, outputs, &watch) {
            Ok(Ok(result)) => Simulated::of(&simulation, &result, targets),
            Ok(Err(_)) => Ok(Simulated::all(targets, TargetOutcome::Unsteady)),
            Err(ScenarioError::GivenUp { limit }) => Ok(Simulated::given_up(targets, of[limit])),
            Err(error) => Err(error.into()),
        }
    }
}

impl Subject for GrowingLoad {
    fn theory(&self, load: f64, target: &Objective) -> Result<Option<f64>, PlanError> {
        Ok(theory_of(&self.at(load)?, target))
    }

    fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
        if load == 1.0 {
            return match self.as_it_is() {
                Ok(result) => Simulated::of(&self.base, result, targets),
                Err(_) => Ok(Simulated::all(targets, TargetOutcome::Unsteady)),
            };
        }
        let copies = match self.by {
            GrowBy::Speed => 1,
            GrowBy::Copies => load as u64,
        };
        let limits = targets.iter().enumerate().filter_map(|(i, target)| {
            let requests = self.requests_of(target)?.saturating_mul(copies);
            Some((i, give_up(target, requests)?))
        });
        self.run(load, targets, limits.collect())
    }
}
