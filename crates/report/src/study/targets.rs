//! Which points of a study meet what is demanded of them.

use iosonar_analysis::objective::{Judgement, Objective, Objectives, Statistic};
use iosonar_trace::{Quantity, Requests};

use super::StudyTable;
use crate::plain_page::RowMark;
use crate::words::joined;

/// At most so many points are named in a sentence.
const MOST_NAMED: usize = 5;

/// The column of an objective: a metric's name as the tables of a study have it.
fn metric_of(objective: &Objective) -> String {
    let requests = match objective.requests {
        Requests::All => "",
        Requests::Reads => "read_",
        Requests::Writes => "write_",
    };
    let quantity = match objective.quantity {
        Quantity::Latency => "latency",
        Quantity::Delay => "delay",
        Quantity::ResponseTime => "response_time",
    };
    match objective.statistic {
        Statistic::Mean => format!("{requests}{quantity}_mean_ms"),
        Statistic::Quantile(p) => {
            let percent = ((p * 1e8).round() / 1e6).to_string().replace('.', "");
            format!("{requests}{quantity}_p{percent}_ms")
        }
        Statistic::Throughput => "throughput_per_s".to_owned(),
    }
}

/// What is known of each point: whether it meets all targets, by the 95 % intervals of its metrics. `None` where it has
/// no such metric.
pub(super) fn verdicts(table: &StudyTable) -> Vec<Option<Judgement>> {
    let of = |values: &[(f64, f64)]| {
        let mut all = Judgement::Meets;
        for target in &table.targets {
            let name = metric_of(target);
            let column = table.metrics.iter().position(|metric| *metric == name)?;
            let (mean, half) = values[column];
            if mean.is_nan() {
                return None;
            }
            let verdict = match half.is_finite() {
                true => Judgement::of_interval(target, (mean - half, mean + half)),
                false => Judgement::Unclear,
            };
            if verdict == Judgement::Misses || all == Judgement::Meets {
                all = verdict;
            }
        }
        Some(all)
    };
    table
        .rows
        .iter()
        .map(|(_, _, values, _)| of(values))
        .collect()
}

/// How a point is marked.
pub(super) fn mark(verdict: Option<Judgement>) -> RowMark {
    match verdict {
        Some(Judgement::Meets) => RowMark::Meets,
        Some(Judgement::Misses) => RowMark::Misses,
        _ => RowMark::Plain,
    }
}

/// How many points meet the targets, in a few sentences; `None` without targets.
pub(super) fn conclusion(table: &StudyTable, verdicts: &[Option<Judgement>]) -> Option<String> {
    if table.targets.is_empty() {
        return None;
    }
    let targets = Objectives(table.targets.clone()).to_string();
    let count = |wanted| verdicts.iter().filter(|of| **of == wanted).count();
    let met = table.rows.iter().zip(verdicts);
    let met = met.filter(|(_, of)| **of == Some(Judgement::Meets));
    let mut names: Vec<String> = met.map(|((values, ..), _)| point(table, values)).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(": {}", joined(&names)),
    };
    let mut text = format!(
        "With 95 % confidence, {} of {} points meet {targets}{names}. {} miss it; of {} it is unclear.",
        count(Some(Judgement::Meets)),
        verdicts.len(),
        count(Some(Judgement::Misses)),
        count(Some(Judgement::Unclear)),
    );
    let unknown = count(None);
    if unknown > 0 {
        let metrics: Vec<String> = table.targets.iter().map(metric_of).collect();
        text += &format!(" {unknown} have no {}.", joined(&metrics));
    }
    Some(text)
}

/// A point by its parameters.
fn point(table: &StudyTable, values: &[String]) -> String {
    let pairs = table.parameters.iter().zip(values);
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    pairs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(targets: &str) -> StudyTable {
        let row = |disks: &str, p999: (f64, f64), rate: (f64, f64)| {
            (vec![disks.to_owned()], 5, vec![p999, rate], Vec::new())
        };
        StudyTable {
            parameters: vec!["disks".to_owned()],
            metrics: vec![
                "read_response_time_p999_ms".to_owned(),
                "throughput_per_s".to_owned(),
            ],
            rows: vec![
                row("4", (30.0, 1.0), (99.0, 2.0)),
                row("5", (20.5, 1.0), (101.0, 0.5)),
                row("6", (10.0, 1.0), (101.0, 0.5)),
                row("7", (9.0, f64::NAN), (101.0, 0.5)),
                row("8", (f64::NAN, f64::NAN), (101.0, 0.5)),
            ],
            targets: targets.parse::<Objectives>().unwrap().0,
            ..StudyTable::default()
        }
    }

    #[test]
    fn a_point_meets_all_targets_or_misses_one_or_it_is_unclear() {
        let study = table("read p99.9 < 20ms, throughput > 100");
        let verdicts = verdicts(&study);
        let expected = [
            Some(Judgement::Misses),
            Some(Judgement::Unclear),
            Some(Judgement::Meets),
            Some(Judgement::Unclear),
            None,
        ];
        assert_eq!(verdicts, expected);
        assert_eq!(
            conclusion(&study, &verdicts).unwrap(),
            "With 95 % confidence, 1 of 5 points meet read p99.9 < 20 ms, throughput > 100/s: disks = 6. 1 miss it; of 2 \
             it is unclear. 1 have no read_response_time_p999_ms and throughput_per_s."
        );
        assert_eq!(mark(verdicts[0]), RowMark::Misses);
    }

    #[test]
    fn without_targets_nothing_is_met_and_a_metric_that_is_not_there_is_named() {
        let study = StudyTable {
            targets: Vec::new(),
            ..table("mean < 1s")
        };
        assert_eq!(conclusion(&study, &verdicts(&study)), None);
        let study = table("write mean < 1s");
        let verdicts = verdicts(&study);
        assert!(verdicts.iter().all(Option::is_none));
        let said = conclusion(&study, &verdicts).unwrap();
        assert!(
            said.contains("0 of 5 points meet")
                && said.contains("5 have no write_response_time_mean_ms"),
            "{said}"
        );
    }
}
