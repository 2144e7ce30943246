//! Which of several systems to take for a load: does it meet the targets, and how much may the load grow.
//!
//! All candidates get the same requests. Each is simulated several times, with its random parts (angles of disks, times
//! of services) anew, and meets a target if the 95 % interval of the statistic lies on the right side of it.

mod candidate;
mod charts;
mod conclusion;

use std::path::{Path, PathBuf};

use iosonar_scenario::{
    NoSteadyState, Overrides, Prepared, Requests, ScenarioError, SimulationResult, read_text,
    with_load_of,
};
use iosonar_stats::Estimate;
use iosonar_units::{Bytes, SECTOR_BYTES};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::objective::Objective;
use crate::plan::{Found, GrowingLoad, Judgement, PlanError, Point, Subject, highest};

pub use candidate::{Candidate, CandidateError};
pub use charts::chart;
pub use conclusion::Conclusion;

/// What is to be chosen, and for what.
#[derive(Clone, Debug)]
pub struct ChooseSpec {
    /// The load: a trace, or a scenario (`.toml`), of which the load is taken.
    pub load: PathBuf,
    /// The systems.
    pub candidates: Vec<Candidate>,
    /// What all must keep to, at least one.
    pub targets: Vec<Objective>,
    /// How near the largest growth is looked for, as a share of it; `None`: it is not looked for.
    pub growth_within: Option<f64>,
    /// What the command line says of the load and of all systems.
    pub overrides: Overrides,
    /// What devices cost, by a profile's name or a part of it, and candidates of files by their own.
    pub prices: Vec<(String, f64)>,
}

/// What became of a candidate.
#[derive(Debug)]
pub struct Considered {
    /// As it was typed.
    pub name: String,
    /// What all of it costs, where that is known.
    pub price: Option<f64>,
    /// How it does, or why that is not known.
    pub outcome: Result<Box<Evaluation>, ScenarioError>,
}

/// How a candidate does.
#[derive(Debug)]
pub struct Evaluation {
    /// The system with the load.
    pub simulation: Prepared,
    /// How much data it holds.
    pub capacity: Bytes,
    /// What became of the load as it is.
    pub result: Result<Box<SimulationResult>, NoSteadyState>,
    /// The load as it is against each of the targets, in their order.
    pub points: Vec<Point>,
    /// How much the load may grow, where it was looked for and the load can.
    pub growth: Option<Growth>,
}

/// How much a load may grow.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Of each target, in their order.
    pub by_target: Vec<Found>,
    /// The number of the target that is missed first.
    pub first: usize,
}

impl Growth {
    /// The largest growth that meets all targets; `None` if none was found.
    pub fn factor(&self) -> Option<f64> {
        let best = self.by_target[self.first].best.as_ref()?;
        Some(best.load)
    }

    /// The least growth that was seen to miss a target.
    pub fn breaks_at(&self) -> Option<f64> {
        let next = self.by_target[self.first].next.as_ref()?;
        Some(next.load)
    }
}

impl Evaluation {
    /// Whether it meets all targets.
    pub fn verdict(&self) -> Judgement {
        let of = |wanted| self.points.iter().any(|point| point.verdict == wanted);
        [
            Judgement::Unstable,
            Judgement::Fails,
            Judgement::TooShort,
            Judgement::Unsure,
        ]
        .into_iter()
        .find(|&worse| of(worse))
        .unwrap_or(Judgement::Meets)
    }

    /// A quantile of the response times of some requests, in milliseconds; `None` if there are none, or no result.
    pub fn quantile_ms(&self, requests: Requests, p: f64) -> Option<Estimate> {
        let result = self.result.as_ref().ok()?;
        (result.count_of(requests) > 0).then(|| result.quantile_of_ms(requests, p))
    }

    /// The device that is used most, by its number, and how much.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        let used = self.result.as_ref().ok()?.utilisation.iter();
        let used = used.enumerate().map(|(i, share)| (i, share.mean));
        // The first of those that are equally busy.
        used.rev().max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Why nothing can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// A price is of nothing that is there.
    #[error(
        "--price '{0}': no candidate has such devices; give a profile's name or a part of it, or the name of a candidate"
    )]
    Price(String),
    /// The load cannot be read, or fits no candidate.
    #[error(transparent)]
    Load(#[from] ScenarioError),
    /// A candidate means nothing that can be simulated, or a search failed.
    #[error("candidate '{candidate}': {error}")]
    Candidate {
        /// As it was typed.
        candidate: String,
        /// Why.
        error: Box<PlanError>,
    },
    /// A target is of requests that the load does not have.
    #[error("target '{target}': the load has no {}", match target.requests {
        Requests::Writes => "writes",
        Requests::Reads | Requests::All => "reads",
    })]
    NoSuchRequests {
        /// The target.
        target: Objective,
    },
    /// There are no threads to be had.
    #[error("{0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl ChooseError {
    /// Whether what was asked for is at fault, rather than data or the machine.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Price(_) | Self::Candidate { .. } | Self::NoSuchRequests { .. } => true,
            Self::Load(error) => !error.is_data(),
            Self::Threads(_) => false,
        }
    }
}

/// Considers all candidates, in their order, on this many threads. `watch` gets each as it is done.
///
/// # Errors
/// If the load cannot be read, a price is of no candidate, a candidate means nothing, or a search fails. That the load does
/// not fit a candidate is its own outcome.
pub fn choose(
    spec: &ChooseSpec,
    threads: usize,
    watch: &(dyn Fn(&Considered) + Sync),
) -> Result<Vec<Considered>, ChooseError> {
    let prices = spec
        .candidates
        .iter()
        .map(|candidate| price(candidate, &spec.prices))
        .collect::<Vec<_>>();
    for (name, _) in &spec.prices {
        if !spec.candidates.iter().any(|of| is_priced(of, name)) {
            return Err(ChooseError::Price(name.clone()));
        }
    }
    let load = match spec.load.extension().is_some_and(|e| e == "toml") {
        true => Some(read_text(&spec.load)?),
        false => None,
    };
    let consider = |(candidate, price): (&Candidate, &Option<f64>)| {
        let outcome = evaluate(spec, candidate, load.as_deref());
        let outcome = match outcome {
            Ok(evaluation) => Ok(Box::new(evaluation)),
            // Data that do not fit this system are an answer, a mistake in what was typed is none.
            Err(PlanError::Scenario(error)) if error.is_data() => Err(error),
            Err(error) => {
                let (candidate, error) = (candidate.name.clone(), Box::new(error));
                return Err(ChooseError::Candidate { candidate, error });
            }
        };
        let considered = Considered {
            name: candidate.name.clone(),
            price: *price,
            outcome,
        };
        watch(&considered);
        Ok(considered)
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let all: Vec<_> = spec.candidates.iter().zip(&prices).collect();
    let all: Vec<_> = pool.install(|| {
        let all = all.par_iter().map(|&one| consider(one));
        all.collect::<Result<_, ChooseError>>()
    })?;
    refuse_targets_of_nothing(&spec.targets, &all)?;
    if all.iter().any(|of| of.outcome.is_ok()) {
        return Ok(all);
    }
    // Nothing is no answer; and where the load is at fault, all have the same error.
    match all.into_iter().find_map(|of| of.outcome.err()) {
        Some(error) => Err(error.into()),
        None => Ok(Vec::new()),
    }
}

/// A target of reads is met by no load of writes alone.
fn refuse_targets_of_nothing(targets: &[Objective], all: &[Considered]) -> Result<(), ChooseError> {
    let results = all.iter().filter_map(|of| of.outcome.as_ref().ok());
    let mut results = results.filter_map(|of| of.result.as_ref().ok());
    // All see the same requests.
    let Some(result) = results.next() else {
        return Ok(());
    };
    match targets.iter().find(|of| result.count_of(of.requests) == 0) {
        Some(&target) => Err(ChooseError::NoSuchRequests { target }),
        None => Ok(()),
    }
}

fn is_priced(candidate: &Candidate, name: &str) -> bool {
    candidate.name == name
        || candidate
            .devices
            .is_some_and(|(profile, _)| profile.contains(name))
}

/// What a candidate costs: its own price, or that of its devices.
fn price(candidate: &Candidate, prices: &[(String, f64)]) -> Option<f64> {
    if let Some((_, whole)) = prices.iter().find(|(name, _)| *name == candidate.name) {
        return Some(*whole);
    }
    let (profile, number) = candidate.devices?;
    let (_, each) = prices.iter().find(|(name, _)| profile.contains(name))?;
    Some(each * f64::from(number))
}

/// The candidate with the load.
fn prepare(
    spec: &ChooseSpec,
    candidate: &Candidate,
    load: Option<&str>,
) -> Result<Prepared, ScenarioError> {
    let mut overrides = spec.overrides.clone();
    overrides.set.extend_from_slice(&candidate.set);
    let path: &Path = &candidate.path;
    if let Some(load) = load {
        let text = with_load_of((&candidate.text, path), (load, &spec.load))?;
        return Prepared::from_toml(&text, path, &overrides);
    }
    overrides.trace = Some(spec.load.clone());
    Prepared::from_toml(&candidate.text, path, &overrides)
}

fn evaluate(
    spec: &ChooseSpec,
    candidate: &Candidate,
    load: Option<&str>,
) -> Result<Evaluation, PlanError> {
    let simulation = prepare(spec, candidate, load)?;
    let sectors = simulation.array().data_sectors();
    let capacity = Bytes::new(sectors.map_err(ScenarioError::from)? * SECTOR_BYTES);
    let growing = GrowingLoad::new(simulation, 1)?;
    let points = spec
        .targets
        .iter()
        .map(|target| growing.point(1.0, target))
        .collect::<Result<_, _>>()?;
    let growth = match spec.growth_within {
        Some(within) if growing.can_grow() => Some(growth(&growing, &spec.targets, within)?),
        _ => None,
    };
    let (simulation, result) = growing.into_parts();
    Ok(Evaluation {
        simulation,
        capacity,
        result,
        points,
        growth,
    })
}

fn growth(growing: &GrowingLoad, targets: &[Objective], within: f64) -> Result<Growth, PlanError> {
    let by_target = targets
        .iter()
        .map(|target| growth_to(growing, target, within))
        .collect::<Result<Vec<_>, _>>()?;
    let best = |found: &Found| found.best.as_ref().map_or(0.0, |point| point.load);
    let first = (0..by_target.len())
        .min_by(|&a, &b| best(&by_target[a]).total_cmp(&best(&by_target[b])))
        .unwrap_or(0);
    Ok(Growth { by_target, first })
}

/// The largest growth that meets a target.
fn growth_to(growing: &GrowingLoad, target: &Objective, within: f64) -> Result<Found, PlanError> {
    /// What cannot bear this share of a load is not for it.
    const LEAST: f64 = 0.001;
    let now = growing.point(1.0, target)?;
    if now.verdict != Judgement::Meets {
        let least = growing.point(LEAST, target)?;
        if least.verdict != Judgement::Meets {
            return Ok(Found {
                next: Some(least.clone()),
                points: vec![least, now],
                ..Found::default()
            });
        }
    }
    highest(growing, target, (1.0, growing.most()), within, &mut |_| ())
}
