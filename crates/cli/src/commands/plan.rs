//! `iosonar plan`: a target in, the highest load or the fewest devices out.

mod charts;
mod tables;

use iosonar_plot::{Size, Theme};
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::theory::Standing;
use iosonar_scenario::{LoadModel, Overrides, Prepared, ScenarioError, read_text};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_study::objective::{Objective, Requests, Statistic};
use iosonar_study::plan::{
    ArraySubject, Found, NetworkSubject, PlanError, Point, Subject, fewest, highest, most,
};
use iosonar_trace::Quantity;
use iosonar_units::Nanos;
use serde_json::json;

use super::model::{threads, with_threads};
use crate::exit::{Ending, Usage, note, print};
use crate::low::{Find, Plan};
use crate::render::picture;
use crate::render::sim::headline;
use charts::chart;
use iosonar_stats::Output;
use iosonar_trace::apart;
use tables::{describe, short, value_of};

/// The most disks, or users, that are tried unless told otherwise.
const MOST: u32 = 64;

/// What was planned, for people.
#[derive(Default)]
struct Answer {
    /// The system.
    headline: String,
    found: Found,
    /// What the load is counted in.
    unit: &'static str,
    /// What is said of the best one.
    best: &'static str,
    /// Curves of theory: load and value in the target's unit.
    theory: Vec<(f64, f64)>,
    /// Loads that were simulated for the picture only.
    around: Vec<Point>,
    /// Whether the best one is the most that was tried.
    is_most: bool,
    /// Where more load costs more than it brings.
    knee: Option<f64>,
    capacity: Option<f64>,
}

pub(crate) fn run(args: &Plan) -> anyhow::Result<Ending> {
    let objective = objective(&args.slo)?;
    if let Some(path) = &args.curve {
        picture::kind_of(path)?;
        apart::refuse_same(&args.file, path)?;
        apart::refuse_without_folder(path)?;
    }
    let text = read_text(&args.file)?;
    let overrides = Overrides {
        seed: args.common.seed,
        replications: args.replications,
        set: args.common.set.clone(),
        ..Overrides::default()
    };
    let answer = if NetworkedRaid::is_meant(&text) {
        let system = NetworkedRaid::from_toml(&text, &args.file, &overrides)?;
        with_threads(args.common.threads, || networked(args, system, &objective))??
    } else {
        scenario(args, &text, &overrides, &objective)?
    };
    if args.common.json {
        print(&as_json(&objective, &answer).text())?;
    } else {
        print(&describe(&objective, &answer))?;
    }
    if let Some(path) = &args.curve {
        let chart = chart(&objective, &answer);
        picture::save(&[&chart], path, Size::default(), Theme::Light)?;
        if !args.common.quiet {
            note(&format!("the curves are in {}", path.display()));
        }
    }
    // Nothing that meets the target is an answer, but not the one that was hoped for.
    Ok(match answer.found.best {
        Some(_) => Ending::Done,
        None => Ending::Flagged,
    })
}

/// The objective of `--slo`. Simulations answer for the response times of all requests together.
fn objective(text: &str) -> Result<Objective, Usage> {
    let wrong = |problem: String| Usage(format!("--slo '{text}': {problem}"));
    let objective: Objective = text.parse().map_err(|e| wrong(format!("{e}")))?;
    if (objective.requests, objective.quantity) != (Requests::All, Quantity::ResponseTime) {
        let problem = "plan answers for the response time of all requests: leave out read, write, latency and delay";
        return Err(wrong(problem.to_owned()));
    }
    Ok(objective)
}

fn usage(error: PlanError) -> anyhow::Error {
    match error {
        PlanError::Scenario(error) => error.into(),
        PlanError::DoesNotFit(problem) => Usage(problem).into(),
    }
}

/// Tells of each simulation while the search goes on.
fn progress(quiet: bool, objective: &Objective, unit: &'static str) -> impl FnMut(&Point) + use<> {
    let objective = *objective;
    move |point: &Point| {
        if !quiet {
            let value = point.simulated.map_or("no steady state".to_owned(), |e| {
                value_of(&objective, e.mean)
            });
            note(&format!(
                "{} {unit}: {value}, {}",
                short(point.load),
                point.verdict.name()
            ));
        }
    }
}

fn scenario(
    args: &Plan,
    text: &str,
    overrides: &Overrides,
    objective: &Objective,
) -> anyhow::Result<Answer> {
    let base = Prepared::from_toml(text, &args.file, overrides)?;
    let closed = matches!(base.load(), LoadModel::Closed { .. });
    let find = args
        .find
        .unwrap_or(if closed { Find::Jobs } else { Find::Rate });
    let throughput = objective.statistic == Statistic::Throughput;
    let (key, unit) = match find {
        Find::Rate if throughput => {
            let problem = "--slo: of open arrivals the throughput is the rate, as long as it is stable; a throughput is \
                           for closed loops and networked systems";
            return Err(Usage(problem.to_owned()).into());
        }
        Find::Rate => (None, "requests/s"),
        Find::Disks => (Some("array.disks"), "disks"),
        Find::Jobs if closed => (Some("load.closed.outstanding"), "jobs"),
        Find::Jobs => {
            let problem = "--find jobs is for closed loops ('load.closed') and networked systems";
            return Err(Usage(problem.to_owned()).into());
        }
    };
    let threads = threads(args.common.threads);
    let subject = ArraySubject::new(text, &args.file, overrides, key, threads).map_err(usage)?;
    let mut watch = progress(args.common.quiet || args.common.json, objective, unit);
    let mut answer = Answer {
        headline: headline(subject.base()),
        unit,
        ..Answer::default()
    };
    match find {
        Find::Rate => {
            answer.best = "highest rate that meets it";
            let now = subject.base().load().requests_per_s().unwrap_or(1.0);
            answer.capacity = subject.full_theory(now)?.capacity_per_s;
            if let Some(alone) = alone(&subject, now, objective)?
                && !objective.is_kept_by(alone)
            {
                return Err(Usage(format!(
                    "{}: {objective} cannot be met at any rate: a request that meets nobody takes {} already",
                    args.file.display(),
                    Nanos::from_millis_f64(alone)
                ))
                .into());
            }
            let range = (now, answer.capacity);
            answer.found =
                highest(&subject, objective, range, args.within, &mut watch).map_err(usage)?;
            curves(&subject, objective, &mut answer)?;
            if args.curve.is_some() {
                answer.around = around(&subject, objective, &answer)?;
            }
        }
        Find::Disks => {
            answer.best = "fewest disks that meet it";
            let fits = |n: &u32| subject.at(f64::from(*n)).is_ok();
            let candidates: Vec<u32> = (1..=args.most.unwrap_or(MOST)).filter(fits).collect();
            if candidates.is_empty() {
                // The error of the largest says what is wrong.
                subject.at(f64::from(args.most.unwrap_or(MOST)))?;
            }
            answer.found = fewest(&subject, objective, &candidates, &mut watch).map_err(usage)?;
        }
        Find::Jobs => {
            let most = args.most.unwrap_or(MOST);
            jobs(most, &subject, objective, &mut answer, &mut watch)?;
        }
    }
    Ok(answer)
}

/// The response of a request that meets nobody, in the target's metric.
fn alone(
    subject: &ArraySubject<'_>,
    load: f64,
    objective: &Objective,
) -> Result<Option<f64>, ScenarioError> {
    let alone = subject.full_theory(load)?.alone;
    let alone = alone.filter(|alone| alone.standing == Standing::Exact);
    Ok(alone.and_then(|alone| objective.of_response(&alone)))
}

fn jobs(
    at_most: u32,
    subject: &impl Subject,
    objective: &Objective,
    answer: &mut Answer,
    watch: &mut dyn FnMut(&Point),
) -> anyhow::Result<()> {
    answer.found = if objective.statistic == Statistic::Throughput {
        answer.best = "fewest jobs that reach it";
        let candidates: Vec<u32> = (1..=at_most).collect();
        fewest(subject, objective, &candidates, watch).map_err(usage)?
    } else {
        answer.best = "most jobs that meet it";
        most(subject, objective, at_most, watch).map_err(usage)?
    };
    let is_most = |best: &Point| best.load == f64::from(at_most);
    answer.is_most = objective.statistic != Statistic::Throughput
        && answer.found.best.as_ref().is_some_and(is_most);
    Ok(())
}

fn networked(args: &Plan, system: NetworkedRaid, objective: &Objective) -> anyhow::Result<Answer> {
    if args.find.is_some_and(|find| find != Find::Jobs) {
        let problem = "--find: of a networked system jobs can be looked for";
        return Err(Usage(problem.to_owned()).into());
    }
    if matches!(objective.statistic, Statistic::Quantile(_)) {
        let problem =
            "--slo: of a networked system the mean and the throughput are known, not quantiles";
        return Err(Usage(problem.to_owned()).into());
    }
    let headline = system.headline();
    let analysis = system.analyse().map_err(|e| Usage(e.to_string()))?;
    let (knee, alone) = (analysis.knee, analysis.sum_s);
    let possible = match objective.statistic {
        Statistic::Throughput => 1.0 / analysis.bottleneck.seconds,
        Statistic::Mean | Statistic::Quantile(_) => alone * 1e3,
    };
    if !objective.is_kept_by(possible) {
        let best = value_of(objective, possible);
        return Err(Usage(format!(
            "{}: {objective} cannot be met by any number of jobs: the best possible is {best}",
            args.file.display()
        ))
        .into());
    }
    let at_most = args.most.unwrap_or(system.most_jobs());
    let subject = NetworkSubject::new(system, at_most.max(2)).map_err(usage)?;
    let unit = "jobs";
    let mut answer = Answer {
        headline,
        unit,
        knee: Some(knee),
        ..Answer::default()
    };
    let mut watch = progress(args.common.quiet || args.common.json, objective, unit);
    jobs(at_most, &subject, objective, &mut answer, &mut watch)?;
    if args.curve.is_some() || args.common.json {
        let last = answer.found.points.last().map_or(1.0, |p| p.load);
        let most = ((1.3 * last).ceil() as u32).clamp(2, at_most.max(2));
        for n in 1..=most {
            let n = f64::from(n);
            if let Some(value) = subject.theory(n, objective).map_err(usage)? {
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
) -> anyhow::Result<()> {
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
        let value = objective.of_response(&response);
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
) -> anyhow::Result<Vec<Point>> {
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
    loads
        .map(|load| subject.point(load, objective).map_err(usage))
        .collect()
}

fn as_json(objective: &Objective, answer: &Answer) -> Output {
    let mut json = Output::new("plan");
    json.set("system", json!(answer.headline));
    json.set("target", json!(objective.to_string()));
    json.set("load_unit", json!(answer.unit));
    let load = |point: &Option<Point>| point.as_ref().map(|p| p.load);
    json.set("best", json!(load(&answer.found.best)));
    json.set("next", json!(load(&answer.found.next)));
    let answers = [&answer.found.best, &answer.found.next];
    let not_cleaned = answers.into_iter().flatten().any(|p| p.not_cleaned);
    json.set("not_cleaned", json!(not_cleaned));
    json.set("by_theory", json!(answer.found.by_theory));
    json.set("knee", json!(answer.knee));
    json.set("capacity", json!(answer.capacity));
    let unit = match objective.statistic {
        Statistic::Throughput => MetricUnit::PerSecond,
        Statistic::Mean | Statistic::Quantile(_) => MetricUnit::Milliseconds,
    };
    for point in &answer.found.points {
        let labels = Labels::of("load", point.load).with("verdict", point.verdict.name());
        if let Some(simulated) = &point.simulated {
            json.estimate("simulated", &labels, unit.clone(), simulated);
        }
    }
    for (load, value) in &answer.theory {
        json.figure("theory", &Labels::of("load", *load), unit.clone(), *value);
    }
    json
}
