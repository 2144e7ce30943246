//! An answer in words and as a table.

use std::fmt::Write;

use iosonar_analysis::objective::{Judgement, Objective, Statistic};
use iosonar_study::plan::{Answer, Point, Sought, load_text};

use crate::render::table::Table;
use iosonar_report::{interval_of, value_of};

/// What was simulated at a load.
pub(super) fn simulated(objective: &Objective, point: &Point) -> String {
    match point.simulated {
        Some(of) => value_of(objective, of.estimate.mean),
        None if point.is_given_up() => "over it, stopped early".to_owned(),
        None => "no steady state".to_owned(),
    }
}

/// What was tried, and what came out.
pub(super) fn table(objective: &Objective, unit: &str, points: &[Point]) -> String {
    let mut table = Table::new(&[unit, "theory", "simulated", "95 % interval", "verdict"]);
    for point in points {
        let interval = match point.simulated {
            Some(of) => interval_of(&of).unwrap_or_else(|| "too few requests".to_owned()),
            None => "-".to_owned(),
        };
        table.row(vec![
            load_text(point.load),
            point
                .theory
                .map_or("-".to_owned(), |v| value_of(objective, v)),
            simulated(objective, point),
            interval,
            point.verdict.name().to_owned(),
        ]);
    }
    table.text()
}

/// The load and the value that come nearest to the target.
pub(super) fn nearest(objective: &Objective, points: &[Point]) -> Option<(f64, f64)> {
    let simulated = points.iter();
    let simulated = simulated.filter_map(|p| Some((p.load, p.simulated?.estimate.mean)));
    simulated.min_by(|a, b| match objective.statistic {
        Statistic::Throughput => b.1.total_cmp(&a.1),
        Statistic::Mean | Statistic::Quantile(_) => a.1.total_cmp(&b.1),
    })
}

/// Why a point does not count as one that meets the target.
pub(super) fn why_not(sought: Sought, next: &Point) -> &'static str {
    let interval = next.simulated.and_then(|of| of.interval_95);
    match next.verdict {
        Judgement::Unclear if interval.is_none() => {
            "too few requests for a confidence interval: raise load.requests"
        }
        Judgement::Unclear => "the target lies within the interval: use more replications",
        Judgement::TooShort if sought == Sought::Growth => {
            "the recording is over before its queue is long: use a longer one"
        }
        Judgement::TooShort => "too short for a load so near to saturation: raise load.requests",
        Judgement::Unstable => "there is no steady state",
        Judgement::Misses | Judgement::Meets => "the target is missed",
    }
}

pub(super) fn describe(headline: &str, objective: &Objective, answer: &Answer) -> String {
    let (found, unit) = (&answer.found, answer.sought.unit());
    let mut text = format!("{headline}\n  target: {objective}\n");
    text += &table(objective, unit, &found.points);
    if let Some(best) = &found.best {
        let _ = writeln!(
            text,
            "  {}: {} {}",
            answer.sought.name(),
            load_text(best.load),
            unit
        );
    } else {
        let _ = writeln!(text, "  nothing that was tried meets it");
        if let Some((load, value)) = nearest(objective, &found.points) {
            let (value, load) = (value_of(objective, value), load_text(load));
            let _ = writeln!(text, "  nearest: {value} at {load} {unit}");
        }
    }
    if let Some(next) = &found.next {
        let why = why_not(answer.sought, next);
        let _ = writeln!(text, "  at {} {}: {why}", load_text(next.load), unit);
    }
    if answer.is_most && answer.sought == Sought::Growth {
        text += "  AT LEAST: the recording is too short to show more growth\n";
    } else if answer.is_most {
        text += "  that is the most that was tried: --most N goes further\n";
    }
    let answers = [&found.best, &found.next];
    if answers.into_iter().flatten().any(|p| p.not_cleaned) {
        text += "  NOT CLEANED: no block was erased yet, this is how a fresh drive writes: give the SSD a precondition\n";
    }
    if let Some(load) = found.by_theory {
        let _ = writeln!(text, "  by theory alone: {} {}", load_text(load), unit);
    }
    if let Some(knee) = answer.knee {
        let _ = writeln!(text, "  knee: {} {}", load_text(knee), unit);
    }
    if let Some(capacity) = answer.capacity {
        let _ = writeln!(text, "  stable below {} {}", load_text(capacity), unit);
    }
    text
}
