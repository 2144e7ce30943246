//! The outcome of objectives, in lines and for programs.

use iosonar_analysis::objective::{Attained, Flaw, Judgement, Statistic};
use iosonar_report::{Assessment, Word, counted, distance_of, found_of, grouped, interval_of};
use iosonar_stats::Labels;
use iosonar_units::Nanos;
use serde_json::{Value, json};

use super::style;

/// The outcome of an objective, in a line.
pub(crate) fn line(of: &Attained) -> String {
    let objective = &of.objective;
    let verdict = style::judgement(of.verdict);
    let interval = match interval_of(of) {
        Some(interval) => format!("95 % interval {interval}"),
        None => match of.flaw {
            Some(Flaw::Overload) => "no 95 % interval, as the queue only grows".to_owned(),
            Some(Flaw::Deadlock) => "no 95 % interval, as requests were never served".to_owned(),
            Some(Flaw::TooShort) => "the runs are too short for a 95 % interval".to_owned(),
            Some(Flaw::EventsMissed { .. }) => "no 95 % interval".to_owned(),
            Some(Flaw::DataLoss { .. }) | None => without_interval(of),
        },
    };
    let (found, distance) = (found_of(of), distance_of(of));
    if let Some(loss) = data_loss(of) {
        return format!("{objective}: {verdict}, {loss}; {found} of the others, {distance}");
    }
    let reason = match of.flaw {
        Some(Flaw::EventsMissed { missed, planned }) => format!(
            " as {} of {} events did not happen;",
            grouped(missed),
            grouped(planned)
        ),
        _ => String::new(),
    };
    format!("{objective}: {verdict},{reason} {found} ({interval}), {distance}")
}

/// How an objective was judged without an interval, or what is missing for one.
fn without_interval(of: &Attained) -> String {
    match (of.verdict, of.objective.statistic) {
        (Judgement::Unclear, Statistic::Quantile(_)) if of.estimate.values > 1 => {
            "no 95 % interval, as too few requests took longer or the replications differ too much"
                .to_owned()
        }
        (Judgement::Unclear, _) => {
            "no 95 % interval: use --replications, or more requests".to_owned()
        }
        (_, Statistic::Quantile(_)) => format!(
            "judged by the share of {} requests within the limit",
            grouped(of.requests)
        ),
        (_, Statistic::Mean | Statistic::Throughput) => {
            "no 95 % interval, but too far from the limit for chance".to_owned()
        }
    }
}

/// What was lost with devices, where that decides on an objective.
pub(crate) fn data_loss(of: &Attained) -> Option<String> {
    let Some(Flaw::DataLoss { failed, lost }) = of.flaw else {
        return None;
    };
    let failures = counted(failed, ["request failed", "requests failed"]);
    let losses = counted(lost, ["cached write was lost", "cached writes were lost"]);
    let all: Vec<String> = [(failed, failures), (lost, losses)]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, text)| text)
        .collect();
    Some(format!("{} (data loss)", all.join(" and ")))
}

/// What a recording says of an objective, in a line.
pub(crate) fn of_verdict(of: &Assessment<'_>) -> String {
    let (target, word) = (of.target, style::word(of.word));
    match of.attained {
        None => format!("{target}: {word}"),
        Some(_) if of.word == Word::NoInterval => {
            format!("{target}: {word}, {}, {}", of.value(), of.distance())
        }
        Some(_) => format!(
            "{target}: {word}, {} (95 % interval {}), {}",
            of.value(),
            of.interval(),
            of.distance()
        ),
    }
}

/// The same for programs.
pub(crate) fn of_recording(input: &str, of: &Assessment<'_>) -> Value {
    let labels = Labels::of("input", input);
    let mut json = match of.attained {
        Some(attained) => as_json(&labels, attained),
        None => json!({ "labels": labels, "target": of.target.to_string() }),
    };
    let (verdict, why) = of.word.token();
    json["verdict"] = json!(verdict);
    json["why"] = json!(why);
    json
}

/// For programs.
pub(crate) fn as_json(labels: &Labels, of: &Attained) -> Value {
    json!({
        "labels": labels,
        "target": of.objective.to_string(),
        "verdict": of.verdict.name(),
        "value": of.estimate.mean,
        "unit": of.objective.unit(),
        "interval_95": of.interval_95,
        "requests": of.requests,
        "beyond": of.beyond(),
        "why": why(of),
    })
}

/// The reason of a verdict that does not follow from the value, for programs.
pub(crate) fn why(of: &Attained) -> Option<&'static str> {
    match of.flaw {
        Some(Flaw::DataLoss { .. }) => Some("data loss"),
        Some(Flaw::TooShort) => Some("runs too short"),
        Some(Flaw::Overload) => Some("overload"),
        Some(Flaw::Deadlock) => Some("deadlock"),
        Some(Flaw::EventsMissed { .. }) => Some("events did not happen"),
        None if of.verdict == Judgement::Unclear && of.interval_95.is_none() => {
            Some("no confidence interval is known")
        }
        None => None,
    }
}

/// A time, `-` where it is not known.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms.is_finite() {
        true => Nanos::from_millis_f64(ms).to_string(),
        false => "-".to_owned(),
    }
}
