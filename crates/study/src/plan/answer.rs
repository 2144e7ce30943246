//! An answer: what is looked for in a scenario or a networked system, and what is around it.

use std::path::Path;

use iosonar_plot::{grouped, significant};
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::theory::Standing;
use iosonar_scenario::{LoadModel, Overrides, Prepared, ScenarioError};

use super::point::Bound;
use super::{
    ArraySubject, Found, GrowBy, GrowingLoad, LoadNotes, NetworkSubject, PlanError, Point, Subject,
    fewest, highest, most,
};
use crate::objective::by_theory;
use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_trace::Requests;

/// The most disks, users or copies that are tried by default.
pub const MOST: u32 = 64;

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sought {
    /// The highest rate that meets the objective.
    #[default]
    Rate,
    /// The largest growth of a recording that meets it.
    Growth,
    /// The most copies of a recording that meet it.
    Copies,
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
            Self::Copies => "copies",
            Self::Disks => "disks",
            Self::MostJobs | Self::FewestJobs => "jobs",
        }
    }

    /// A load with what it is counted in, for messages.
    pub fn load(self, load: f64) -> String {
        let unit = match self {
            Self::Copies if load == 1.0 => "copy",
            Self::Disks if load == 1.0 => "disk",
            Self::MostJobs | Self::FewestJobs if load == 1.0 => "job",
            _ => self.unit(),
        };
        format!("{} {unit}", load_text(load))
    }

    /// What is said of the best one, with this number of targets: that it is the best, or only the best one that was
    /// confirmed.
    pub fn name(self, targets: usize, is_only_confirmed: bool) -> String {
        let (what, meets) = match self {
            Self::Rate => ("highest rate", "meets"),
            Self::Growth => ("largest growth", "meets"),
            Self::Copies => ("most copies", "meet"),
            Self::Disks => ("fewest disks", "meet"),
            Self::MostJobs => ("most jobs", "meet"),
            Self::FewestJobs => ("fewest jobs", "reach"),
        };
        let targets = if targets == 1 { "it" } else { "all targets" };
        match is_only_confirmed {
            false => format!("{what} that {meets} {targets}"),
            true => format!(
                "{what} confirmed to {} {targets}",
                meets.trim_end_matches('s')
            ),
        }
    }

    fn jobs(targets: &[Objective]) -> Self {
        let is_throughput = |of: &Objective| of.statistic == Statistic::Throughput;
        match targets.iter().all(is_throughput) {
            true => Self::FewestJobs,
            false => Self::MostJobs,
        }
    }
}

/// Which quantity a plan looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// The rate of arrivals; of a recording its growth: how many times as fast it may be.
    Rate,
    /// The number of independent copies of a recording.
    Copies,
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
    /// The most disks, jobs or copies that are tried, if that is limited.
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
    /// Curves of theory, one for each target: load and value in the target's unit.
    pub theory: Vec<Vec<(f64, f64)>>,
    /// Loads that were simulated for the picture only.
    pub around: Vec<Point>,
    /// Where more load costs more than it brings.
    pub knee: Option<f64>,
    /// The rate below which it is stable.
    pub capacity: Option<f64>,
    /// The throughput of a closed loop that no number of users exceeds, by theory.
    pub most_per_s: Option<f64>,
    /// What happened to the load while it was read.
    pub notes: LoadNotes,
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
    targets: &[Objective],
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<(Prepared, Answer), PlanError> {
    let base = Prepared::from_toml(text, path, overrides)?;
    plan_prepared(base, (text, path), overrides, targets, spec, watch)
}

/// The same with a scenario that is prepared already, from this source with these overrides.
///
/// # Errors
/// As [`plan_scenario`].
pub fn plan_prepared(
    base: Prepared,
    source: (&str, &Path),
    overrides: &Overrides,
    targets: &[Objective],
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<(Prepared, Answer), PlanError> {
    let (key, sought) = sought(spec.find, base.load(), targets)?;
    if sought != Sought::Disks {
        refuse_passing(&base)?;
    }
    if let Sought::Growth | Sought::Copies = sought {
        return plan_growth((base, sought), targets, spec, watch);
    }
    let subject = ArraySubject::new(base, source, overrides, key, spec.threads)?;
    let mut watch = |point: &Point| watch(sought, point);
    let mut answer = Answer {
        sought,
        ..Answer::default()
    };
    let own = match subject.base().load() {
        LoadModel::Closed { outstanding, .. } => Some(*outstanding),
        _ => None,
    };
    let is_jobs = matches!(sought, Sought::MostJobs | Sought::FewestJobs);
    let usual = own.filter(|_| is_jobs).map_or(MOST, |own| own.max(MOST));
    let at_most = spec.most.unwrap_or(usual);
    match sought {
        // They have a search of their own.
        Sought::Growth | Sought::Copies => unreachable!("growth is planned above"),
        Sought::Rate => {
            let now = subject.base().load().requests_per_s().unwrap_or(1.0);
            answer.capacity = subject.full_theory(now)?.capacity_per_s;
            for &target in targets {
                if let Some(ms) = alone(&subject, now, &target)?
                    && !target.is_kept_by(ms)
                {
                    return Err(PlanError::AboveAlone { target, ms });
                }
            }
            let range = (now, answer.capacity);
            answer.found = highest(&subject, targets, range, spec.within, &mut watch)?;
            curves(&subject, targets, &mut answer)?;
            if spec.around {
                answer.around = around(&subject, targets, &answer)?;
            }
        }
        Sought::Disks => {
            let (mut candidates, mut needs_memory) = (Vec::new(), false);
            for n in 1..=at_most {
                match subject.at(f64::from(n)) {
                    Ok(_) => candidates.push(n),
                    // More take even more.
                    Err(ScenarioError::NeedsMemory(_)) => {
                        needs_memory = true;
                        break;
                    }
                    Err(_) => {}
                }
            }
            if candidates.is_empty() {
                // The error of the largest says what is wrong.
                subject.at(f64::from(at_most))?;
            }
            answer.found = fewest(&subject, targets, &candidates, &mut watch)?;
            if needs_memory && answer.found.bound == Some(Bound::Number) {
                answer.found.bound = Some(Bound::Memory);
            }
        }
        Sought::MostJobs | Sought::FewestJobs => {
            answer.found = jobs(sought, (at_most, own), &subject, targets, &mut watch)?;
            answer.most_per_s = subject.full_theory(f64::from(at_most))?.capacity_per_s;
        }
    }
    answer.notes = subject.notes_at(answer.found.best.as_ref());
    Ok((subject.base().clone(), answer))
}

/// Refuses what happens once in a run, however long that is: the highest load would depend on its length.
pub(crate) fn refuse_passing(base: &Prepared) -> Result<(), PlanError> {
    let array = base.array();
    let problem = if !array.events.is_empty() {
        "[[event]] happens at a fixed time, so the highest load would depend on the length of the run: remove it, or name a \
         failed disk in 'array.failed'"
    } else if array.rebuild.is_some_and(|of| of.most < u64::MAX) {
        "a rebuild of 'rebuild.stripes' ends at some time, so the highest load would depend on the length of the run: remove \
         this key for a load during a rebuild, or [rebuild] for a load without one"
    } else {
        return Ok(());
    };
    Err(PlanError::DoesNotFit(problem.to_owned()))
}

/// How much a recording may grow: how many times as fast it may be, or how many copies of it there may be.
fn plan_growth(
    (base, sought): (Prepared, Sought),
    targets: &[Objective],
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<(Prepared, Answer), PlanError> {
    let by = match sought {
        Sought::Copies => GrowBy::Copies,
        _ => GrowBy::Speed,
    };
    let growing = GrowingLoad::new(base, by, spec.threads)?;
    let mut watch = |point: &Point| watch(sought, point);
    let most = spec.most.unwrap_or(MOST);
    let answer = Answer {
        sought,
        found: growing.largest(targets, spec.within, most, &mut watch)?,
        notes: growing
            .as_it_is()
            .map_or_else(|_| LoadNotes::default(), LoadNotes::of),
        ..Answer::default()
    };
    Ok((growing.base().clone(), answer))
}

/// What is looked for in a scenario, and the key that is varied for it.
fn sought(
    find: Option<Find>,
    load: &LoadModel,
    targets: &[Objective],
) -> Result<(Option<&'static str>, Sought), PlanError> {
    let closed = matches!(load, LoadModel::Closed { .. });
    let default = if closed { Find::Jobs } else { Find::Rate };
    let does_not_fit = |problem: &str| Err(PlanError::DoesNotFit(problem.to_owned()));
    let is_throughput = |of: &Objective| of.statistic == Statistic::Throughput;
    match find.unwrap_or(default) {
        Find::Copies if !matches!(load, LoadModel::Trace { .. }) => Err(PlanError::CopiesOfNoTrace),
        Find::Rate | Find::Copies if targets.iter().any(is_throughput) => does_not_fit(
            "--target: with open arrivals, the throughput is the arrival rate as long as the system is stable; limit a \
             response time, or use a closed loop or a networked system",
        ),
        Find::Rate if matches!(load, LoadModel::Trace { .. }) => Ok((None, Sought::Growth)),
        Find::Copies => Ok((None, Sought::Copies)),
        Find::Rate => Ok((None, Sought::Rate)),
        Find::Disks => Ok((Some("array.disks"), Sought::Disks)),
        Find::Jobs if closed => Ok((Some("load.closed.outstanding"), Sought::jobs(targets))),
        Find::Jobs => {
            does_not_fit("--find jobs needs a closed loop ('load.closed') or a networked system")
        }
    }
}

/// The key, or the table of keys, that is looked for in a load.
pub(super) fn sought_key(find: Option<Find>, load: &LoadModel) -> &'static str {
    match (find, load) {
        (Some(Find::Disks), _) => "array.disks",
        (Some(Find::Copies), _) => "load.copies",
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
    sought: Sought,
    (at_most, own): (u32, Option<u32>),
    subject: &impl Subject,
    targets: &[Objective],
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    if sought == Sought::FewestJobs {
        let candidates: Vec<u32> = (1..=at_most).collect();
        return fewest(subject, targets, &candidates, watch);
    }
    most(subject, targets, (at_most, own), watch)
}

/// Plans with a networked system.
///
/// # Errors
/// As [`plan_scenario`].
pub fn plan_network(
    system: NetworkedRaid,
    targets: &[Objective],
    spec: &PlanSpec,
    watch: &mut dyn FnMut(Sought, &Point),
) -> Result<Answer, PlanError> {
    let does_not_fit = |problem: &str| Err(PlanError::DoesNotFit(problem.to_owned()));
    if spec.find.is_some_and(|find| find != Find::Jobs) {
        return does_not_fit("--find must be jobs for a networked system");
    }
    if targets.iter().any(|of| of.requests != Requests::All) {
        return does_not_fit(
            "--target: a networked system has jobs, not reads and writes; leave out the kind of request",
        );
    }
    let is_quantile = |of: &Objective| matches!(of.statistic, Statistic::Quantile(_));
    if targets.iter().any(is_quantile) {
        return does_not_fit(
            "--target: quantiles are not available for networked systems; use mean or throughput",
        );
    }
    let analysis = system
        .analyse()
        .map_err(|e| PlanError::DoesNotFit(e.to_string()))?;
    for &target in targets {
        let best = match target.statistic {
            Statistic::Throughput => 1.0 / analysis.bottleneck.seconds,
            Statistic::Mean | Statistic::Quantile(_) => analysis.sum_s * 1e3,
        };
        if !target.is_kept_by(best) {
            return Err(PlanError::OutOfReach { target, best });
        }
    }
    let at_most = spec.most.unwrap_or(system.most_jobs());
    let subject = NetworkSubject::new(system, at_most.max(2))?;
    let sought = Sought::jobs(targets);
    let mut watch = |point: &Point| watch(sought, point);
    let mut answer = Answer {
        sought,
        found: jobs(sought, (at_most, None), &subject, targets, &mut watch)?,
        knee: Some(analysis.knee),
        ..Answer::default()
    };
    if spec.curve {
        let last = answer.found.points.last().map_or(1.0, |p| p.load);
        let most = ((1.3 * last).ceil() as u32).clamp(2, at_most.max(2));
        for target in targets {
            let mut curve = Vec::new();
            for n in (1..=most).map(f64::from) {
                curve.extend(subject.theory(n, target)?.map(|value| (n, value)));
            }
            answer.theory.push(curve);
        }
    }
    Ok(answer)
}

/// Theory from little load to nearly all that is possible, and the load at which it is largest by its mean response
/// time (Kleinrock's power): beyond it waiting grows faster than throughput.
fn curves(
    subject: &ArraySubject<'_>,
    targets: &[Objective],
    answer: &mut Answer,
) -> Result<(), PlanError> {
    const POINTS: u32 = 32;
    answer.theory = vec![Vec::new(); targets.len()];
    let Some(capacity) = answer.capacity else {
        return Ok(());
    };
    let mut most = 0.0;
    for i in 1..=POINTS {
        let load = 0.96 * capacity * f64::from(i) / f64::from(POINTS);
        let Some(response) = subject.full_theory(load)?.response else {
            continue;
        };
        for (target, curve) in targets.iter().zip(&mut answer.theory) {
            let value = by_theory(target, &response);
            curve.extend(value.filter(|v| v.is_finite()).map(|v| (load, v)));
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
    targets: &[Objective],
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
    loads.map(|load| subject.point(load, targets)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let of = |sought: Sought| [1.0, 2.0].map(|load| sought.load(load));
        assert_eq!(of(Sought::Disks), ["1 disk", "2 disks"]);
        assert_eq!(of(Sought::MostJobs), ["1 job", "2 jobs"]);
        assert_eq!(of(Sought::Copies), ["1 copy", "2 copies"]);
        assert_eq!(of(Sought::Rate), ["1 requests/s", "2 requests/s"]);
    }
}
