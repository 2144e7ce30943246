//! Which points of a study meet what is demanded of them.

use iosonar_analysis::objective::{Judgement, Objective, Objectives, Statistic};
use iosonar_trace::{Quantity, Requests};

use super::{StudyRow, StudyTable};
use crate::plain_page::RowMark;
use crate::words::joined;

/// At most this many points are named in a sentence.
const MOST_NAMED: usize = 5;

/// The column of an objective: a metric's name as the tables of a study have it; `None` of a quantile that they have not.
fn metric_of(objective: &Objective) -> Option<String> {
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
    Some(match objective.statistic {
        Statistic::Mean => format!("{requests}{quantity}_mean_ms"),
        Statistic::Quantile(p) => {
            let known = [
                (0.5, "p50"),
                (0.9, "p90"),
                (0.95, "p95"),
                (0.99, "p99"),
                (0.999, "p999"),
                (0.9999, "p9999"),
            ];
            let (_, name) = known.into_iter().find(|(known, _)| *known == p)?;
            format!("{requests}{quantity}_{name}_ms")
        }
        Statistic::Throughput => "throughput_per_s".to_owned(),
    })
}

/// What a point says of a target, by the 95 % interval of its metric; `None` where it has no such metric. Runs that are not
/// steady meet nothing, and miss a time that is longer already.
fn verdict(
    table: &StudyTable,
    target: &Objective,
    (point, _, values, _): &StudyRow,
) -> Option<Judgement> {
    let name = metric_of(target)?;
    let column = table.metrics.iter().position(|metric| *metric == name)?;
    let (mean, half) = values[column];
    if mean.is_nan() {
        return None;
    }
    // Longer runs would have longer times, and a higher throughput perhaps.
    let is_steady = !table.not_steady.contains_key(point);
    let is_time = target.statistic != Statistic::Throughput;
    if !is_steady && is_time && !target.is_kept_by(mean) {
        return Some(Judgement::Misses);
    }
    Some(match half.is_finite() {
        true => match Judgement::of_interval(target, (mean - half, mean + half)) {
            Judgement::Meets if !is_steady => Judgement::Unclear,
            judgement => judgement,
        },
        false => Judgement::Unclear,
    })
}

/// What is known of each point: whether it meets all targets. `None` where it has no metric for one and misses none of the
/// others. A point of which a run failed meets nothing.
pub(super) fn verdicts(table: &StudyTable) -> Vec<Option<Judgement>> {
    let of = |row: &StudyRow| {
        let point = &row.0;
        let all = table.targets.iter();
        let all: Vec<_> = all.map(|target| verdict(table, target, row)).collect();
        if all.contains(&Some(Judgement::Misses)) {
            return Some(Judgement::Misses);
        }
        let is_met = all.iter().all(|of| *of == Some(Judgement::Meets));
        match all.contains(&None) {
            true => None,
            false if is_met && !table.failed_points.contains(point) => Some(Judgement::Meets),
            false => Some(Judgement::Unclear),
        }
    };
    table.rows.iter().map(of).collect()
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
    let met = count(Some(Judgement::Meets));
    let mut text = format!(
        "With 95 % confidence, {met} of {} points {} {targets}{names}. Missed: {}; unclear: {}",
        verdicts.len() + without_result(table),
        if met == 1 { "meets" } else { "meet" },
        count(Some(Judgement::Misses)),
        count(Some(Judgement::Unclear)),
    );
    let unknown = count(None);
    if unknown > 0 {
        let missing = table
            .targets
            .iter()
            .filter(|target| is_missing(table, target));
        let missing: Vec<String> = missing.map(Objective::name).collect();
        text += &format!("; without {}: {unknown}", joined(&missing));
    }
    let without = without_result(table);
    if without > 0 {
        text += &format!("; without a result: {without}");
    }
    Some(text + ".")
}

/// How many points have no run with a result.
fn without_result(table: &StudyTable) -> usize {
    let has_row = |point: &&Vec<String>| table.rows.iter().any(|row| row.0 == **point);
    let failed = table.failed_points.iter();
    failed.filter(|point| !has_row(point)).count()
}

/// Whether some point has no metric for a target.
fn is_missing(table: &StudyTable, target: &Objective) -> bool {
    let mut rows = table.rows.iter();
    rows.any(|row| verdict(table, target, row).is_none())
}

/// A point by its parameters.
pub(super) fn point(table: &StudyTable, values: &[String]) -> String {
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
            "With 95 % confidence, 1 of 5 points meets read p99.9 < 20 ms, throughput > 100/s: disks = 6. Missed: 1; \
             unclear: 2; without read p99.9: 1."
        );
        // A run of the point that met them failed, and another point has no result at all.
        let point = |disks: &str| vec![disks.to_owned()];
        let study = StudyTable {
            failed_points: [point("6"), point("9")].into(),
            ..study
        };
        let with_failures = super::verdicts(&study);
        assert_eq!(with_failures[2], Some(Judgement::Unclear));
        assert_eq!(
            conclusion(&study, &with_failures).unwrap(),
            "With 95 % confidence, 0 of 6 points meet read p99.9 < 20 ms, throughput > 100/s. Missed: 1; unclear: 3; \
             without read p99.9: 1; without a result: 1."
        );
        // Neither p9.99 nor p99.8 is p99.9.
        for other in ["read p9.99 < 20ms", "read p99.8 < 20ms"] {
            assert!(super::verdicts(&table(other)).iter().all(Option::is_none));
        }
        // What misses one target misses them all, whatever is known of the others.
        let one = table("read p99.8 < 20ms, throughput > 200");
        assert_eq!(super::verdicts(&one), [Some(Judgement::Misses); 5]);
        assert_eq!(mark(verdicts[0]), RowMark::Misses);
    }

    #[test]
    fn points_that_are_not_steady_meet_nothing_and_miss_times_that_are_longer() {
        let point = |disks: &str| (vec![disks.to_owned()], "unstable".to_owned());
        let verdicts_of = |targets: &str| {
            verdicts(&StudyTable {
                not_steady: [point("6"), point("7")].into(),
                ..table(targets)
            })
        };
        let times = verdicts_of("read p99.9 < 9500us");
        assert_eq!(
            times[2..4],
            [Some(Judgement::Misses), Some(Judgement::Unclear)]
        );
        assert_eq!(
            verdicts_of("read p99.9 < 20ms")[2],
            Some(Judgement::Unclear)
        );
        assert_eq!(verdicts_of("throughput > 100")[2], Some(Judgement::Unclear));
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
            said.contains("0 of 5 points meet") && said.contains("without write mean: 5"),
            "{said}"
        );
    }
}
