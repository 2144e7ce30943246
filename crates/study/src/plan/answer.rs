//! An answer: what is looked for in a scenario or a networked system, and what is around it.

use std::path::Path;

use iosonar_plot::{grouped, significant};
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::theory::Standing;
use iosonar_scenario::{LoadModel, Overrides, Prepared, ScenarioError};

use super::{
    ArraySubject, Found, GrowingLoad, NetworkSubject, PlanError, Point, Subject, fewest, highest,
    most,
};
use crate::objective::by_theory;
use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_trace::Requests;

/// The most disks, or users, that are tried by default.
const MOST: u32 = 64;

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sought {
    /// The highest rate that meets the objective.
    #[default]
    Rate,
    /// The largest growth of a recording that meets it.
    Growth,
    /// The fewest disks that meet it.
    Disks,
    /// The most jobs that meet it.
    MostJobs,
    /// The fewest jobs that reach it.
    FewestJobs,
}

impl Sought {
    /// What its load is counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Growth => "times this load",
            Self::Disks => "disks",
            Self::MostJobs | Self::FewestJobs => "jobs",
        }
    }

    /// What is said of the best one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "highest rate that meets it",
            Self::Growth => "largest growth that meets it",
            Self::Disks => "fewest disks that meet it",
            Self::MostJobs => "most jobs that meet it",
            Self::FewestJobs => "fewest jobs that reach it",
        }
    }

    fn jobs(objective: &Objective) -> Self {
        match objective.statistic {
            Statistic::Throughput => Self::FewestJobs,
            Statistic::Mean | Statistic::Quantile(_) => Self::MostJobs,
        }
    }
}

/// Which quantity a plan looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// The rate of arrivals; of a recording its growth: how many times as fast it may be.
    Rate,
    /// The number of disks.
    Disks,
    /// The number of jobs.
    Jobs,
}

/// How it is planned.
#[derive(Clone, Copy, Debug)]
pub struct PlanSpec {
    /// What is looked for; `None`: the rate or the growth, of closed loops and networked systems the jobs.
    pub find: Option<Find>,
    /// How near the highest rate is looked for, as a share of it.
    pub within: f64,
    /// The most disks or jobs that are tried, if that is limited.
    pub most: Option<u32>,
    /// How many threads simulate.
    pub threads: usize,
    /// Whether loads around the answer are simulated, for a picture.
    pub around: bool,
    /// Whether theory is asked for a curve of a networked system.
    pub curve: bool,
}

/// What was planned.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What was looked for.
    pub sought: Sought,
    /// What was found.
    pub found: Found,
    /// Curves of theory: load and value in the objective's unit.
    pub theory: Vec<(f64, f64)>,
    /// Loads that were simulated for the picture only.
    pub around: Vec<Point>,
    /// Whether the best one is the most that was tried.
    pub is_most: bool,
    /// Where more load costs more than it brings.
    pub knee: Option<f64>,
    /// The rate below which it is stable.
    pub capacity: Option<f64>,
}

/// A load as text.
pub fn load_text(load: f64) -> String {
    if load.fract() == 0.0 {
        return grouped(load as u64);
    }
    significant(load, 4)
}

/// Plans with a scenario, which is returned, too. `watch` sees what is looked for, and each load that was simulated.
///
/// # Errors
/// If what is looked for does not fit the scenario, cannot be met at all, or a simulation fails.
pub fn plan_scenario(
    (text, path): (&str, &Path),
    overrides: &Overrides,
    objective: &Objective,
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<(Prepared, Answer), PlanError> {
    let base = Prepared::from_toml(text, path, overrides)?;
    let (key, sought) = sought(spec.find, base.load(), objective)?;
    if sought == Sought::Growth {
        return plan_growth(base, objective, spec, watch);
    }
    let subject = ArraySubject::new(text, path, overrides, key, spec.threads)?;
    let mut watch = |point: &Point| watch(sought, point);
    let mut answer = Answer {
        sought,
        ..Answer::default()
    };
    let at_most = spec.most.unwrap_or(MOST);
    match sought {
        // It has a search of its own.
        Sought::Growth => unreachable!("growth is planned above"),
        Sought::Rate => {
            let now = subject.base().load().requests_per_s().unwrap_or(1.0);
            answer.capacity = subject.full_theory(now)?.capacity_per_s;
            if let Some(alone) = alone(&subject, now, objective)?
                && !objective.is_kept_by(alone)
            {
                return Err(PlanError::AboveAlone { ms: alone });
            }
            let range = (now, answer.capacity);
            answer.found = highest(&subject, objective, range, spec.within, &mut watch)?;
            curves(&subject, objective, &mut answer)?;
            if spec.around {
                answer.around = around(&subject, objective, &answer)?;
            }
        }
        Sought::Disks => {
            let fits = |n: &u32| subject.at(f64::from(*n)).is_ok();
            let candidates: Vec<u32> = (1..=at_most).filter(fits).collect();
            if candidates.is_empty() {
                // The error of the largest says what is wrong.
                subject.at(f64::from(at_most))?;
            }
            answer.found = fewest(&subject, objective, &candidates, &mut watch)?;
        }
        Sought::MostJobs | Sought::FewestJobs => {
            jobs(at_most, &subject, objective, &mut answer, &mut watch)?;
        }
    }
    Ok((subject.base().clone(), answer))
}

/// How many times as fast a recording may be.
fn plan_growth(
    base: Prepared,
    objective: &Objective,
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<(Prepared, Answer), PlanError> {
    let growing = GrowingLoad::new(base, spec.threads)?;
    let mut watch = |point: &Point| watch(Sought::Growth, point);
    let found = growing.largest(objective, spec.within, &mut watch)?;
    let answer = Answer {
        sought: Sought::Growth,
        is_most: found.best.is_some() && found.next.is_none(),
        found,
        ..Answer::default()
    };
    Ok((growing.base().clone(), answer))
}

/// What is looked for in a scenario, and the key that is varied for it.
fn sought(
    find: Option<Find>,
    load: &LoadModel,
    objective: &Objective,
) -> Result<(Option<&'static str>, Sought), PlanError> {
    let closed = matches!(load, LoadModel::Closed { .. });
    let default = if closed { Find::Jobs } else { Find::Rate };
    let does_not_fit = |problem: &str| Err(PlanError::DoesNotFit(problem.to_owned()));
    match find.unwrap_or(default) {
        Find::Rate if objective.statistic == Statistic::Throughput => does_not_fit(
            "--target: of open arrivals the throughput is the rate, as long as it is stable; a throughput is for closed loops \
             and networked systems",
        ),
        Find::Rate if matches!(load, LoadModel::Trace { .. }) => Ok((None, Sought::Growth)),
        Find::Rate => Ok((None, Sought::Rate)),
        Find::Disks => Ok((Some("array.disks"), Sought::Disks)),
        Find::Jobs if closed => Ok((Some("load.closed.outstanding"), Sought::jobs(objective))),
        Find::Jobs => {
            does_not_fit("--find jobs is for closed loops ('load.closed') and networked systems")
        }
    }
}

/// The key, or the table of keys, that is looked for in a load.
pub(super) fn sought_key(find: Option<Find>, load: &LoadModel) -> &'static str {
    match (find, load) {
        (Some(Find::Disks), _) => "array.disks",
        (Some(Find::Jobs), _) | (None, LoadModel::Closed { .. }) => "load.closed.outstanding",
        (_, LoadModel::Trace { .. }) => "load.speed",
        _ => "load.arrivals",
    }
}

/// The response of a request that waits for no other, in the target's metric.
fn alone(
    subject: &ArraySubject<'_>,
    load: f64,
    objective: &Objective,
) -> Result<Option<f64>, ScenarioError> {
    let alone = subject.full_theory(load)?.alone;
    let alone = alone.filter(|alone| alone.standing == Standing::Exact);
    Ok(alone.and_then(|alone| by_theory(objective, &alone)))
}

fn jobs(
    at_most: u32,
    subject: &impl Subject,
    objective: &Objective,
    answer: &mut Answer,
    watch: &mut dyn FnMut(&Point),
) -> Result<(), PlanError> {
    if answer.sought == Sought::FewestJobs {
        let candidates: Vec<u32> = (1..=at_most).collect();
        answer.found = fewest(subject, objective, &candidates, watch)?;
        return Ok(());
    }
    answer.found = most(subject, objective, at_most, watch)?;
    let best = answer.found.best.as_ref();
    answer.is_most = best.is_some_and(|best| best.load == f64::from(at_most));
    Ok(())
}

/// Plans with a networked system.
///
/// # Errors
/// As [`plan_scenario`].
pub fn plan_network(
    system: NetworkedRaid,
    objective: &Objective,
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<Answer, PlanError> {
    let does_not_fit = |problem: String| Err(PlanError::DoesNotFit(problem));
    if spec.find.is_some_and(|find| find != Find::Jobs) {
        let problem = "--find: of a networked system jobs can be looked for";
        return does_not_fit(problem.to_owned());
    }
    if objective.requests != Requests::All {
        let problem = "--target: a networked system has jobs, not reads and writes";
        return does_not_fit(problem.to_owned());
    }
    if matches!(objective.statistic, Statistic::Quantile(_)) {
        let problem =
            "--target: of a networked system the mean and the throughput are known, not quantiles";
        return does_not_fit(problem.to_owned());
    }
    let analysis = system
        .analyse()
        .map_err(|e| PlanError::DoesNotFit(e.to_string()))?;
    let possible = match objective.statistic {
        Statistic::Throughput => 1.0 / analysis.bottleneck.seconds,
        Statistic::Mean | Statistic::Quantile(_) => analysis.sum_s * 1e3,
    };
    if !objective.is_kept_by(possible) {
        return Err(PlanError::OutOfReach { best: possible });
    }
    let at_most = spec.most.unwrap_or(system.most_jobs());
    let subject = NetworkSubject::new(system, at_most.max(2))?;
    let mut answer = Answer {
        sought: Sought::jobs(objective),
        knee: Some(analysis.knee),
        ..Answer::default()
    };
    let sought = answer.sought;
    let mut watch = |point: &Point| watch(sought, point);
    jobs(at_most, &subject, objective, &mut answer, &mut watch)?;
    if spec.curve {
        let last = answer.found.points.last().map_or(1.0, |p| p.load);
        let most = ((1.3 * last).ceil() as u32).clamp(2, at_most.max(2));
        for n in 1..=most {
            let n = f64::from(n);
            if let Some(value) = subject.theory(n, objective)? {
                answer.theory.push((n, value));
            }
        }
    }
    Ok(answer)
}

/// Theory from little load to nearly all that is possible, and the load at which it is largest by its mean response
/// time (Kleinrock's power): beyond it waiting grows faster than throughput.
fn curves(
    subject: &ArraySubject<'_>,
    objective: &Objective,
    answer: &mut Answer,
) -> Result<(), PlanError> {
    const POINTS: u32 = 32;
    let Some(capacity) = answer.capacity else {
        return Ok(());
    };
    let mut most = 0.0;
    for i in 1..=POINTS {
        let load = 0.96 * capacity * f64::from(i) / f64::from(POINTS);
        let Some(response) = subject.full_theory(load)?.response else {
            continue;
        };
        let value = by_theory(objective, &response);
        if let Some(value) = value.filter(|value| value.is_finite()) {
            answer.theory.push((load, value));
        }
        let power = load / response.mean_ms();
        if power > most {
            most = power;
            answer.knee = Some(load);
        }
    }
    Ok(())
}

/// Simulations on both sides of the answer, for the picture.
fn around(
    subject: &ArraySubject<'_>,
    objective: &Objective,
    answer: &Answer,
) -> Result<Vec<Point>, PlanError> {
    let middle = answer.found.best.as_ref().or(answer.found.next.as_ref());
    let Some(middle) = middle.map(|point| point.load) else {
        return Ok(Vec::new());
    };
    let most = answer
        .capacity
        .map_or(f64::INFINITY, |capacity| 0.95 * capacity);
    let shares = [0.2, 0.4, 0.6, 0.8, 1.2, 1.4];
    let loads = shares
        .map(|share| share * middle)
        .into_iter()
        .filter(|load| *load < most);
    loads.map(|load| subject.point(load, objective)).collect()
}
