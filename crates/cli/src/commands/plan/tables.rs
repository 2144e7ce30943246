//! An answer in words and as a table.

use std::fmt::Write;

use iosonar_analysis::objective::{Attained, Flaw, Judgement, Objective, Objectives, Statistic};
use iosonar_study::plan::{Answer, Bound, Found, Point, Sought, TargetOutcome, load_text};

use crate::render::caveat;
use crate::render::table::Table;
use iosonar_report::{found_of, interval_of, joined, value_of};

/// What was simulated of a target.
fn simulated(target: &Objective, outcome: &TargetOutcome) -> String {
    match outcome {
        TargetOutcome::Known(of) => found_of(of),
        TargetOutcome::Over => format!("over {}", value_of(target, target.limit)),
        TargetOutcome::Stopped => "-".to_owned(),
        TargetOutcome::Unsteady => "no steady state".to_owned(),
        TargetOutcome::TooSmall => "too small for the load".to_owned(),
    }
}

/// The verdict on a target.
fn verdict(outcome: &TargetOutcome) -> String {
    let stopped = match outcome {
        TargetOutcome::Known(_) | TargetOutcome::Unsteady | TargetOutcome::TooSmall => "",
        TargetOutcome::Over => ", stopped early",
        TargetOutcome::Stopped => "stopped early",
    };
    format!("{}{stopped}", outcome.verdict().map_or("", Judgement::name))
}

/// What was simulated of all targets, in a line.
pub(super) fn outcomes(targets: &Objectives, point: &Point) -> String {
    let name = |target: &Objective| match targets.0.len() {
        1 => String::new(),
        _ => format!("{} ", target.name()),
    };
    let of = targets.0.iter().zip(&point.outcomes);
    let of = of.map(|(target, outcome)| {
        let (name, value) = (name(target), simulated(target, outcome));
        format!("{name}{value}, {}", verdict(outcome))
    });
    of.collect::<Vec<_>>().join("; ")
}

/// The values of all targets, in a line.
pub(super) fn values(targets: &Objectives, point: &Point) -> String {
    let several = targets.0.len() > 1;
    let of = targets.0.iter().zip(&point.outcomes);
    let of = of.map(|(target, outcome)| {
        let value = simulated(target, outcome);
        match several {
            true => format!("{} {value}", target.name()),
            false => value,
        }
    });
    of.collect::<Vec<_>>().join(", ")
}

/// What was tried, and what came out: a row for each load and target.
fn table(targets: &Objectives, unit: &str, points: &[Point]) -> String {
    let several = targets.0.len() > 1;
    let mut header = vec![unit];
    header.extend(several.then_some("target"));
    header.extend(["theory", "simulated", "95 % interval", "verdict"]);
    let mut table = Table::new(&header);
    for point in points {
        for (i, (target, outcome)) in targets.0.iter().zip(&point.outcomes).enumerate() {
            let interval = match outcome {
                TargetOutcome::Known(of) => {
                    interval_of(of).unwrap_or_else(|| no_interval(of).to_owned())
                }
                TargetOutcome::Over
                | TargetOutcome::Stopped
                | TargetOutcome::Unsteady
                | TargetOutcome::TooSmall => "-".to_owned(),
            };
            let mut row = vec![load_text(point.load)];
            row.extend(several.then(|| target.to_string()));
            row.extend([
                point.theory[i].map_or("-".to_owned(), |v| value_of(target, v)),
                simulated(target, outcome),
                interval,
                verdict(outcome),
            ]);
            table.row(row);
        }
    }
    table.text()
}

/// Why nothing is known of how far a value is from that of a long run.
fn no_interval(of: &Attained) -> &'static str {
    match of.flaw {
        Some(Flaw::TooShort) => "runs too short",
        Some(Flaw::Overload) => "queue grows",
        Some(Flaw::Deadlock) => "deadlock",
        Some(Flaw::EventsMissed { .. }) => "not known",
        Some(Flaw::DataLoss { .. }) | None => "too few requests",
    }
}

/// Why a point does not count as one that meets the targets.
pub(super) fn why_not(targets: &Objectives, sought: Sought, next: &Point) -> String {
    if next.is_too_small() {
        return "the load reaches beyond the end of the array".to_owned();
    }
    let Some(worst) = next.worst_target() else {
        return String::new();
    };
    let attained = next.outcomes[worst].attained();
    let interval = attained.and_then(|of| of.interval_95);
    let is_recording = matches!(sought, Sought::Growth | Sought::Copies);
    let why = match next.verdict() {
        Judgement::Unclear if interval.is_none() && is_recording => {
            "too few requests for a confidence interval: use a longer recording, or raise --replications"
        }
        Judgement::Unclear if interval.is_none() => {
            "too few requests for a confidence interval: raise load.requests"
        }
        Judgement::Unclear => "the target lies within the interval: raise --replications",
        Judgement::TooShort
            if attained.is_some_and(|of| matches!(of.flaw, Some(Flaw::EventsMissed { .. }))) =>
        {
            "the simulation ends before every event has happened: raise load.requests, or use an earlier 'at'"
        }
        Judgement::TooShort if next.on_credit.is_some() => {
            "the load uses credits faster than it earns them, so it is slower once they are used up: simulate until then \
             (load.requests)"
        }
        Judgement::TooShort if is_recording => {
            "the recording is too short for a queue to build up, or for a cache to fill: use a longer recording"
        }
        Judgement::TooShort => {
            "the simulation is too short for a load this close to saturation, for a cache to fill, or for credits to be used \
             up: raise load.requests"
        }
        Judgement::Unstable => return "there is no steady state".to_owned(),
        Judgement::Misses | Judgement::Meets if targets.0.len() > 1 => {
            return format!("{} is missed", targets.0[worst]);
        }
        Judgement::Misses | Judgement::Meets => "the target is missed",
    };
    match targets.0.len() {
        1 => why.to_owned(),
        _ => format!("{}: {why}", targets.0[worst]),
    }
}

/// That no number of jobs is known to reach a throughput, where theory says so and none was confirmed to.
fn beyond_capacity(targets: &Objectives, answer: &Answer) -> Option<String> {
    let most = answer.most_per_s?;
    let is_beyond = |of: &&Objective| of.statistic == Statistic::Throughput && of.limit > most;
    let target = targets
        .0
        .iter()
        .find(is_beyond)
        .filter(|_| answer.found.best.is_none())?;
    Some(format!(
        "{target} is beyond the capacity of this system, which is {} by theory, so no number of jobs reaches it: use more \
         disks (--find disks) or faster ones, or lower the target",
        value_of(target, most)
    ))
}

/// Which loads come nearest to the targets, and which meet some of them, where none meets all.
fn why_none(targets: &Objectives, sought: Sought, found: &Found) -> String {
    let meets = match found.is_none_possible() {
        true => "meets",
        false => "is known to meet",
    };
    let what = match targets.0.len() {
        1 => "the target",
        _ => "all targets",
    };
    let mut text = format!("  none of the tested loads {meets} {what}\n");
    if let Some(point) = found.nearest() {
        let (values, load) = (values(targets, point), sought.load(point.load));
        let verdict = match point.is_ruled_out() {
            true => String::new(),
            false => format!(" ({})", point.verdict().name()),
        };
        let _ = writeln!(text, "  nearest: {values}{verdict} at {load}");
    }
    if targets.0.len() == 1 {
        return text;
    }
    let (mut alone, mut never) = (Vec::new(), Vec::new());
    for (i, target) in targets.0.iter().enumerate() {
        match found.range_of(i) {
            None => never.push(target.to_string()),
            Some((low, high)) if low == high => {
                alone.push(format!("{target} at {}", sought.load(low)));
            }
            Some((low, high)) => {
                let (low, high) = (load_text(low), sought.load(high));
                alone.push(format!("{target} at {low} to {high}"));
            }
        }
    }
    if !alone.is_empty() {
        let each = match never.is_empty() {
            true => "each is met on its own",
            false => "met on its own",
        };
        let _ = writeln!(text, "  {each}: {}", joined(&alone));
    }
    if !never.is_empty() {
        let _ = writeln!(text, "  not met at all: {}", joined(&never));
    }
    text
}

/// That a better load than the best one that was confirmed is not ruled out.
fn open(sought: Sought) -> &'static str {
    match sought {
        Sought::Rate | Sought::Growth => "a higher one may, too",
        Sought::Copies | Sought::MostJobs => "more may, too",
        Sought::Disks | Sought::FewestJobs => "fewer may, too",
    }
}

/// Why more may meet the targets.
fn beyond(bound: Bound) -> &'static str {
    match bound {
        Bound::Recording => "  AT LEAST: the recording is too short to test more growth\n",
        Bound::Space => {
            "  AT LEAST: more copies would reach beyond the end of the array; --fit or --wrap makes them fit\n"
        }
        Bound::Memory => "  a higher number needs more memory: --memory SIZE allows more\n",
        Bound::Number => "  no higher number was tried: --most N raises the limit\n",
    }
}

pub(super) fn describe(headline: &str, targets: &Objectives, answer: &Answer) -> String {
    let (found, sought) = (&answer.found, answer.sought);
    let mut text = format!("{headline}\n  target: {targets}\n");
    text += &table(targets, sought.unit(), &found.points);
    let never = beyond_capacity(targets, answer);
    let bound = found.bound.filter(|_| never.is_none());
    if let Some(next) = &found.next {
        let why = never.unwrap_or_else(|| why_not(targets, sought, next));
        let _ = writeln!(text, "  at {}: {why}", sought.load(next.load));
    }
    text += bound.map_or("", beyond);
    for of in found.caveats() {
        let _ = writeln!(text, "  {}: {}", caveat::label(of), caveat::why(of));
    }
    if let Some(load) = found.by_theory {
        let _ = writeln!(text, "  by theory alone: {}", sought.load(load));
    }
    if let Some(knee) = answer.knee {
        let _ = writeln!(text, "  knee: {}", sought.load(knee));
    }
    if let Some(capacity) = answer.capacity {
        let _ = writeln!(text, "  stable below {}", sought.load(capacity));
    }
    // The answer comes last, where it is read first.
    match &found.best {
        Some(best) => {
            let is_only_confirmed = found.is_only_confirmed();
            let name = sought.name(targets.0.len(), is_only_confirmed);
            let more = match (is_only_confirmed, found.ruled_out()) {
                (false, _) => String::new(),
                (true, None) => format!("; {}", open(sought)),
                (true, Some(load)) => {
                    format!("; {}, but not {}", open(sought), load_text(load))
                }
            };
            let most = if bound.is_some() { ">= " } else { "" };
            let _ = writeln!(text, "  {name}: {most}{}{more}", sought.load(best.load));
        }
        None => text += &why_none(targets, sought, found),
    }
    text
}
