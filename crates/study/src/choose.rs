//! Which of several systems to take for a load: does it meet the targets, and how much may the load grow.
//!
//! All candidates get the same requests. Each is simulated several times, with its random parts (angles of disks, times
//! of services) anew, and meets a target if the 95 % interval of the statistic lies on the right side of it.

mod charts;
mod conclusion;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iosonar_scenario::{
    LoadModel, NoSteadyState, Overrides, Prepared, ScenarioError, SimulationResult, System,
    built_in_profile, read_text, with_load_of,
};
use iosonar_stats::Estimate;
use iosonar_trace::Requests;
use iosonar_units::{Bytes, SECTOR_BYTES, Sectors};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::objective::refuse_delays;
use crate::plan::{self, Found, GrowBy, GrowingLoad, PlanError, Point, Subject};
use iosonar_analysis::objective::{Judgement, Objective};

pub use charts::chart;
pub use conclusion::Conclusion;

/// What is to be chosen, and for what.
#[derive(Clone, Debug)]
pub struct ChooseSpec {
    /// The load: a trace, or a scenario (`.toml`), of which the load is taken.
    pub load: PathBuf,
    /// The systems.
    pub candidates: Vec<System>,
    /// What all must keep to, at least one.
    pub targets: Vec<Objective>,
    /// How the largest growth is looked for; `None`: it is not looked for.
    pub growth: Option<GrowthSpec>,
    /// What the command line says of the load and of all systems.
    pub overrides: Overrides,
    /// What devices cost, by a profile's name or a part of it, and candidates of files by their own.
    pub prices: Vec<(String, f64)>,
}

/// How the largest growth is looked for.
#[derive(Clone, Copy, Debug)]
pub struct GrowthSpec {
    /// What grows.
    pub by: GrowBy,
    /// How near a speed is looked for, as a share of it.
    pub within: f64,
}

/// A candidate and its outcome.
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
    /// The result of the load as it is.
    pub result: Result<Box<SimulationResult>, NoSteadyState>,
    /// The load as it is against the targets.
    pub now: Point,
    /// How much the load may grow, where it was looked for and the load can.
    pub growth: Option<Growth>,
}

/// How much a load may grow.
#[derive(Clone, Debug)]
pub struct Growth {
    /// What grows.
    pub by: GrowBy,
    /// What was found.
    pub found: Found,
}

impl Growth {
    /// The largest growth that meets all targets; `None` if none was found.
    pub fn factor(&self) -> Option<f64> {
        Some(self.found.best.as_ref()?.load)
    }

    /// Whether it is not known how much more the load may grow: it is too short, more is too close to call, there is no room
    /// for more copies, or no more were tried.
    pub fn is_at_least(&self) -> bool {
        self.factor().is_some() && self.breaks_at().is_none()
    }

    /// Whether the nearest larger growth is too close to call.
    pub fn is_unclear(&self) -> bool {
        let next = self.found.next.as_ref();
        next.is_some_and(|next| next.verdict() == Judgement::Unclear)
    }

    /// Whether a load may meet the targets although none that was tried is known to.
    pub fn may_be_possible(&self) -> bool {
        self.factor().is_none() && !self.found.is_none_possible()
    }

    /// The nearest larger growth, where it certainly does not meet the targets.
    pub fn breaks_at(&self) -> Option<f64> {
        self.factor()?;
        let next = self.found.next.as_ref()?;
        next.is_ruled_out().then_some(next.load)
    }

    /// The number of the target that is missed first.
    pub fn missed_first(&self) -> Option<usize> {
        self.breaks_at()?;
        self.found.missed_first()
    }
}

impl Evaluation {
    /// Whether it meets all targets.
    pub fn verdict(&self) -> Judgement {
        self.now.verdict()
    }

    /// A quantile of the response times of some requests, in milliseconds; `None` without such requests, or without a result.
    pub fn quantile_ms(&self, requests: Requests, p: f64) -> Option<Estimate> {
        let result = self.result.as_ref().ok()?;
        (result.count_of(requests) > 0).then(|| result.quantile_of_ms(requests, p))
    }

    /// The device that is used most, by its number, and how much.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        self.simulation.busiest_device(self.result.as_ref().ok()?)
    }
}

/// Why nothing can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// A price is of nothing that is there.
    #[error("--price '{name}': {problem}")]
    Price {
        /// As it was typed.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// The load cannot be read, or fits no candidate.
    #[error(transparent)]
    Load(#[from] ScenarioError),
    /// The same load would be of other requests.
    #[error(
        "the load specifies sizes in blocks, but the candidates have different block sizes: give the sizes in bytes, \
         such as size = \"8KiB\", or set load.block"
    )]
    Blocks,
    /// A candidate means nothing that can be simulated, or a search failed.
    #[error("candidate '{candidate}': {error}")]
    Candidate {
        /// As it was typed.
        candidate: String,
        /// Why.
        error: Box<PlanError>,
    },
    /// What was typed of a candidate has a value that will not do.
    #[error("candidate '{candidate}': {problem}")]
    Typed {
        /// As it was typed.
        candidate: String,
        /// What is wrong, with the key.
        problem: String,
    },
    /// A target is about requests that the load does not have, or the load cannot grow in this way.
    #[error(transparent)]
    Target(PlanError),
    /// No threads can be created.
    #[error("{0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl ChooseError {
    /// Whether what was asked for is at fault, rather than data or the machine.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Price { .. }
            | Self::Blocks
            | Self::Candidate { .. }
            | Self::Typed { .. }
            | Self::Target(_) => true,
            Self::Load(error) => !error.is_data(),
            Self::Threads(_) => false,
        }
    }
}

/// Considers all candidates, in their order, on this many threads. `watch` gets each as it is done.
///
/// # Errors
/// As [`Choice::of`] and [`Choice::consider`].
pub fn choose(
    spec: &ChooseSpec,
    threads: usize,
    watch: &(dyn Fn(&Considered) + Sync),
) -> Result<Vec<Considered>, ChooseError> {
    Choice::of(spec)?.consider(threads, watch)
}

/// What is to be chosen, read and checked.
pub struct Choice<'a> {
    spec: &'a ChooseSpec,
    /// Of each candidate, where it is known.
    prices: Vec<Option<f64>>,
    /// Each candidate with the load, which may not fit.
    systems: Vec<Result<Prepared, ScenarioError>>,
}

impl<'a> Choice<'a> {
    /// Reads the load and the candidates: mistakes are found before anything is simulated.
    ///
    /// # Errors
    /// If the load cannot be read, a price is of no candidate, or a candidate means nothing.
    pub fn of(spec: &'a ChooseSpec) -> Result<Self, ChooseError> {
        refuse_delays(&spec.targets).map_err(ChooseError::Target)?;
        let prices = prices(spec)?;
        let load = match spec.load.extension().is_some_and(|e| e == "toml") {
            true => Some(read_text(&spec.load)?),
            false => None,
        };
        let mut systems = Vec::new();
        for candidate in &spec.candidates {
            match prepare(spec, candidate, load.as_deref()) {
                Err(error) if !error.is_data() => {
                    let of_load = load.as_ref().and_then(|text| mistake_in_load(spec, text));
                    return Err(of_load.unwrap_or_else(|| of_candidate(candidate, error.into())));
                }
                prepared => systems.push(prepared),
            }
        }
        refuse_different_blocks(&systems)?;
        Ok(Self {
            spec,
            prices,
            systems,
        })
    }

    /// The files that it is read from.
    pub fn inputs(&self) -> Vec<&Path> {
        let files = self.spec.candidates.iter().filter_map(System::file);
        let systems = self.systems.iter().flatten().flat_map(Prepared::inputs);
        files.chain([&*self.spec.load]).chain(systems).collect()
    }

    /// Considers all candidates, in their order, on this many threads. `watch` gets each as it is done.
    ///
    /// # Errors
    /// If a search fails, or the load fits no candidate. That it does not fit one is its own outcome.
    pub fn consider(
        self,
        threads: usize,
        watch: &(dyn Fn(&Considered) + Sync),
    ) -> Result<Vec<Considered>, ChooseError> {
        let Self {
            spec,
            prices,
            systems,
        } = self;
        let consider = |((candidate, price), simulation): ((&System, &Option<f64>), _)| {
            let simulation: Result<Prepared, ScenarioError> = simulation;
            let outcome = match simulation.map(|simulation| evaluate(spec, simulation)) {
                Ok(Ok(evaluation)) => Ok(Box::new(evaluation)),
                // Data that do not fit this system are an answer; a mistake in what was typed is an error.
                Ok(Err(PlanError::Scenario(error))) | Err(error) if error.is_data() => Err(error),
                Ok(Err(error)) => return Err(of_candidate(candidate, error)),
                Err(error) => return Err(of_candidate(candidate, error.into())),
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
        let all: Vec<_> = spec.candidates.iter().zip(&prices).zip(systems).collect();
        let all: Vec<_> = pool.install(|| all.into_par_iter().map(consider).collect());
        // The first error in the order of the candidates, whatever the number of threads.
        let all: Vec<_> = all.into_iter().collect::<Result<_, ChooseError>>()?;
        if all.iter().any(|of| of.outcome.is_ok()) {
            return Ok(all);
        }
        // An empty table answers nothing; if the load is at fault, all have the same error.
        match all.into_iter().find_map(|of| of.outcome.err()) {
            Some(error) => Err(error.into()),
            None => Ok(Vec::new()),
        }
    }
}

/// What each candidate costs, where that is known: its own price, or that of its devices.
fn prices(spec: &ChooseSpec) -> Result<Vec<Option<f64>>, ChooseError> {
    let mut prices = vec![None; spec.candidates.len()];
    let mut given = BTreeSet::new();
    for (name, price) in &spec.prices {
        let wrong = |problem: String| ChooseError::Price {
            name: name.clone(),
            problem,
        };
        if let Some(i) = spec.candidates.iter().position(|of| of.name == *name) {
            prices[i] = Some(*price);
            continue;
        }
        let (_, profile) = built_in_profile(name).map_err(|of| wrong(of.to_string()))?;
        if !given.insert(profile) {
            return Err(wrong(format!("the profile {profile} already has a price")));
        }
        let mut is_used = false;
        for (of, total) in spec.candidates.iter().zip(&mut prices) {
            if let Some((_, number)) = of.devices().filter(|(of, _)| *of == profile) {
                is_used = true;
                // A candidate's own price goes before.
                if !spec.prices.iter().any(|(name, _)| *name == of.name) {
                    *total = Some(price * f64::from(number));
                }
            }
        }
        if !is_used {
            return Err(wrong(format!("no candidate uses the profile {profile}")));
        }
    }
    Ok(prices)
}

fn of_candidate(candidate: &System, error: PlanError) -> ChooseError {
    if let PlanError::Scenario(of) = &error
        && let Some(problem) = candidate.problem_of(of)
    {
        return ChooseError::Typed {
            candidate: candidate.name.clone(),
            problem,
        };
    }
    match error {
        // So it is for every candidate.
        PlanError::NoSuchRequests { .. } | PlanError::CopiesOfNoTrace => ChooseError::Target(error),
        error => ChooseError::Candidate {
            candidate: candidate.name.clone(),
            error: Box::new(error),
        },
    }
}

/// What is wrong with the file of the load itself, which has its line there and not in what is made of a candidate.
fn mistake_in_load(spec: &ChooseSpec, text: &str) -> Option<ChooseError> {
    let overrides = Overrides {
        set: Vec::new(),
        ..spec.overrides.clone()
    };
    let mistake = |text: &str| Prepared::from_toml(text, &spec.load, &overrides).err();
    match mistake(text)? {
        // A load needs no system of its own.
        ScenarioError::Incomplete { .. } => {
            mistake(&format!("{text}\n[ssd]\nprofile = \"nvme-gen4-tlc\"\n"))
        }
        error => Some(error),
    }
    .filter(|error| !error.is_data())
    .map(ChooseError::Load)
}

/// The candidate with the load.
fn prepare(
    spec: &ChooseSpec,
    candidate: &System,
    load: Option<&str>,
) -> Result<Prepared, ScenarioError> {
    let mut overrides = spec.overrides.clone();
    // What no candidate has a place for is refused by each.
    overrides.set.retain(|(key, _)| {
        let has_place = |of: &System| of.has_place_for(key);
        has_place(candidate) || !spec.candidates.iter().any(has_place)
    });
    overrides.set.extend_from_slice(candidate.changes());
    let path = candidate.path();
    if load.is_none() {
        overrides.trace = Some(spec.load.clone());
    }
    let load = load.map(|text| (text, spec.load.as_path()));
    let text = with_load_of((candidate.text(), path), load)?;
    Prepared::from_toml(&text, path, &overrides)
}

/// Blocks that depend on the system would make other requests of the same load.
fn refuse_different_blocks(systems: &[Result<Prepared, ScenarioError>]) -> Result<(), ChooseError> {
    let block = |simulation: &Prepared| match simulation.load() {
        LoadModel::Synthetic { classes, .. } => Some(classes.first()?.shape.block),
        LoadModel::Alone { shape, .. } | LoadModel::Closed { shape, .. } => Some(shape.block),
        LoadModel::Trace { .. } => None,
    };
    let blocks = systems.iter().flatten().filter_map(block);
    let blocks: BTreeSet<_> = blocks.map(Sectors::get).collect();
    match blocks.len() {
        0 | 1 => Ok(()),
        _ => Err(ChooseError::Blocks),
    }
}

fn evaluate(spec: &ChooseSpec, simulation: Prepared) -> Result<Evaluation, PlanError> {
    let sectors = simulation.array().data_sectors();
    let capacity = Bytes::new(sectors.map_err(ScenarioError::from)? * SECTOR_BYTES);
    let by = spec.growth.map_or_else(GrowBy::default, |growth| growth.by);
    if spec.growth.is_some() {
        plan::refuse_passing(&simulation)?;
    }
    let growing = GrowingLoad::new(simulation, by, 1)?;
    growing.check(&spec.targets)?;
    let now = growing.point(1.0, &spec.targets)?;
    let growth = match spec.growth {
        Some(GrowthSpec { within, .. }) => {
            let found = growing.largest(&spec.targets, within, plan::MOST, &mut |_| ())?;
            Some(Growth { by, found })
        }
        None => None,
    };
    let (simulation, result) = growing.into_parts();
    let result = result.map(|result| Box::new(simulation.assessed(*result)));
    Ok(Evaluation {
        simulation,
        capacity,
        result,
        now,
        growth,
    })
}
