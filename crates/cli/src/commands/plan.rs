//! `iosonar plan`: a target in, the highest load or the fewest devices out.

mod tables;
mod varied;

use iosonar_analysis::objective::Objective;
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::{Overrides, read_text};
use iosonar_stats::{Labels, Output};
use iosonar_study::plan::{
    Answer, PlanError, PlanSpec, Point, Sought, chart, load_text, plan_network, plan_scenario,
};
use iosonar_trace::{Quantity, apart};
use iosonar_units::Nanos;
use serde_json::json;

use super::model::{threads, with_threads};
use crate::exit::{Ending, Usage, note, print};
use crate::low::Plan;
use crate::render::picture;
use crate::render::sim::headline;
use iosonar_report::value_of;
use tables::{describe, simulated};

pub(crate) fn run(args: &Plan) -> anyhow::Result<Ending> {
    let objective = objective(&args.target)?;
    if let Some(path) = &args.curve {
        picture::kind_of(path)?;
        apart::refuse_same(&args.file, path)?;
        apart::refuse_without_folder(path)?;
    }
    if !args.vary.is_empty() {
        return varied::run(args, &objective);
    }
    let (headline, answer) = planned(args, &objective)?;
    if args.common.json {
        print(&as_json(&headline, &objective, &answer).text())?;
    } else {
        print(&describe(&headline, &objective, &answer))?;
    }
    if let Some(path) = &args.curve {
        let chart = chart(&headline, &objective, &answer);
        picture::draw(&chart, path)?;
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

/// The system in a line, and the answer.
fn planned(args: &Plan, objective: &Objective) -> anyhow::Result<(String, Answer)> {
    let text = read_text(&args.file)?;
    let overrides = overrides(args)?;
    let spec = spec(args);
    let mut watch = |sought: Sought, point: &Point| tried(args, objective, "", sought, point);
    if NetworkedRaid::is_meant(&text) {
        let system = NetworkedRaid::from_toml(&text, &args.file, &overrides)?;
        let headline = system.headline();
        let planned = with_threads(args.common.threads, || {
            plan_network(system, objective, &spec, &mut watch)
        })?;
        let answer = planned.map_err(|error| refused(args, objective, error))?;
        return Ok((headline, answer));
    }
    let source = (text.as_str(), args.file.as_path());
    let planned = plan_scenario(source, &overrides, objective, &spec, &mut watch);
    let (base, answer) = planned.map_err(|error| refused(args, objective, error))?;
    Ok((headline(&base), answer))
}

fn overrides(args: &Plan) -> anyhow::Result<Overrides> {
    Ok(Overrides {
        trace: args.trace.clone(),
        reading: args.reading.reading()?,
        beyond: args.beyond.beyond(),
        seed: args.common.seed,
        replications: args.replications,
        set: args.common.set.clone(),
        ..Overrides::default()
    })
}

fn spec(args: &Plan) -> PlanSpec {
    PlanSpec {
        find: args.find.map(Into::into),
        within: args.within,
        most: args.most,
        threads: threads(args.common.threads),
        around: args.curve.is_some(),
        curve: args.curve.is_some() || args.common.json,
    }
}

/// Prints a load that was simulated, of the system that `of` names.
fn tried(args: &Plan, objective: &Objective, of: &str, sought: Sought, point: &Point) {
    if !args.common.quiet && !args.common.json {
        let value = simulated(objective, point);
        note(&format!(
            "{of}{} {}: {value}, {}",
            load_text(point.load),
            sought.unit(),
            point.verdict.name()
        ));
    }
}

/// The objective of `--target`. Simulations answer for response times.
fn objective(text: &str) -> Result<Objective, Usage> {
    let wrong = |problem: String| Usage(format!("--target '{text}': {problem}"));
    if text.contains(',') {
        return Err(wrong(
            "plan looks for one target; 'iosonar choose --growth' takes several".to_owned(),
        ));
    }
    let objective: Objective = text.parse().map_err(|e| wrong(format!("{e}")))?;
    if objective.quantity != Quantity::ResponseTime {
        let meant = Objective {
            quantity: Quantity::ResponseTime,
            ..objective
        };
        return Err(wrong(format!(
            "plan answers for the response time, without latency and delay: write \"{meant}\""
        )));
    }
    Ok(objective)
}

fn refused(args: &Plan, objective: &Objective, error: PlanError) -> anyhow::Error {
    let file = args.file.display();
    let problem = match error {
        PlanError::Scenario(error) => return error.into(),
        PlanError::DoesNotFit(problem) => problem,
        error => format!("{file}: {}", why_never(objective, &error)),
    };
    Usage(problem).into()
}

/// Why nothing can meet a target.
fn why_never(objective: &Objective, error: &PlanError) -> String {
    match error {
        PlanError::AboveAlone { ms } => format!(
            "{objective} cannot be met at any rate: a request that waits for no other takes {} already",
            Nanos::from_millis_f64(*ms)
        ),
        PlanError::OutOfReach { best } => format!(
            "{objective} cannot be met by any number of jobs: the best possible is {}",
            value_of(objective, *best)
        ),
        error => error.to_string(),
    }
}

fn as_json(headline: &str, objective: &Objective, answer: &Answer) -> Output {
    let mut json = Output::new("plan");
    json.set("system", json!(headline));
    json.set("target", json!(objective.to_string()));
    json.set("load_unit", json!(answer.sought.unit()));
    let load = |point: &Option<Point>| point.as_ref().map(|p| p.load);
    json.set("best", json!(load(&answer.found.best)));
    json.set("next", json!(load(&answer.found.next)));
    let answers = [&answer.found.best, &answer.found.next];
    let not_cleaned = answers.into_iter().flatten().any(|p| p.not_cleaned);
    json.set("not_cleaned", json!(not_cleaned));
    json.set("by_theory", json!(answer.found.by_theory));
    json.set("knee", json!(answer.knee));
    json.set("capacity", json!(answer.capacity));
    let unit = objective.unit();
    for point in &answer.found.points {
        let labels = Labels::of("load", point.load).with("verdict", point.verdict.name());
        if let Some(of) = &point.simulated {
            json.estimate("simulated", &labels, unit.clone(), &of.estimate);
        }
    }
    for (load, value) in &answer.theory {
        json.figure("theory", &Labels::of("load", *load), unit.clone(), *value);
    }
    json
}
