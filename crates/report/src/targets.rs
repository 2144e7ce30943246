//! What a page and its charts say of targets: whether each is met, by how much, and how sure that is.

use iosonar_analysis::objective::{Attained, Judgement, Objective, Statistic};
use iosonar_plot::{Callout, Chart, Colour, Line, Mark, Named, counted};
use iosonar_trace::{Quantity, Requests};

use crate::attained::{distance_of, found_of, interval_of};
use crate::measure::Measured;
use crate::words::joined;

/// What is said of a target and an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment<'a> {
    /// What must hold.
    pub target: &'a Objective,
    /// `None` where it was not measured.
    pub attained: Option<&'a Attained>,
    /// What follows.
    pub word: Word,
}

/// A verdict in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The whole interval is within the limit, or the share of requests that must be.
    Meets,
    /// The whole interval is beyond it, or the share of requests within it is too small.
    Misses,
    /// The interval includes the limit.
    Unclear,
    /// No interval is known: of the throughput of a recording, or because requests are too few or depend on each other.
    NoInterval,
    /// The runs are too short for a queue to build up.
    TooShort,
    /// It would meet the target, but requests that failed or have no time are not in it.
    Incomplete,
    /// More requests failed than may be beyond the limit.
    Failed,
    /// The figures are not those of a device.
    Fake,
    /// Nothing was measured of it.
    Unknown,
}

impl Word {
    /// Of requests that all have a time.
    fn of(attained: &Attained) -> Self {
        match attained.verdict {
            Judgement::Meets => Self::Meets,
            Judgement::Misses | Judgement::Unstable => Self::Misses,
            Judgement::Unclear if attained.interval_95.is_none() => Self::NoInterval,
            Judgement::Unclear => Self::Unclear,
            Judgement::TooShort => Self::TooShort,
        }
    }

    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meets => "meets",
            Self::Misses => "misses",
            Self::Unclear => "unclear",
            Self::NoInterval => "unclear: no confidence interval",
            Self::TooShort => "unclear: the runs are too short",
            Self::Incomplete => "unclear: some requests have no latency",
            Self::Failed => "misses: too many requests failed",
            Self::Fake => "no verdict: the figures are FAKE",
            Self::Unknown => "not measured",
        }
    }

    /// For programs: one word, and why there is no verdict or none that is sure.
    pub fn token(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Meets | Self::Misses => (self.name(), None),
            Self::Unclear => (
                "unclear",
                Some("the confidence interval includes the limit"),
            ),
            Self::NoInterval => ("unclear", Some("no confidence interval is known")),
            Self::TooShort => ("unclear", Some("the runs are too short")),
            Self::Incomplete => ("unclear", Some("some requests have no latency")),
            Self::Failed => ("misses", Some("too many requests failed")),
            Self::Fake => ("none", Some("the figures are fake")),
            Self::Unknown => ("none", Some("it was not measured")),
        }
    }

    /// The class of its colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Meets => "good",
            Self::Misses | Self::Failed => "warning",
            _ => "muted",
        }
    }
}

/// The verdicts on an input, in the order of the targets.
pub fn verdicts(input: &Measured) -> Vec<Assessment<'_>> {
    let is_fake = input.fakes().next().is_some();
    let is_incomplete = !input.without_time(Quantity::Latency).is_empty();
    let word = |attained: &Option<Attained>| match attained {
        None => Word::Unknown,
        Some(_) if is_fake => Word::Fake,
        Some(of) if too_many_failed(input, &of.objective) => Word::Failed,
        Some(of) if of.verdict == Judgement::Meets && is_incomplete => Word::Incomplete,
        Some(of) => Word::of(of),
    };
    let all = input.options().targets.iter().zip(input.attained());
    all.map(|(target, attained)| Assessment {
        target,
        attained: attained.as_ref(),
        word: word(attained),
    })
    .collect()
}

impl Assessment<'_> {
    /// The value that was found.
    pub fn value(&self) -> String {
        self.attained.map_or("-".to_owned(), found_of)
    }

    /// The 95 % interval of the value.
    pub fn interval(&self) -> String {
        self.attained.map_or("-".to_owned(), |of| {
            let unknown = || match of.objective.statistic {
                Statistic::Throughput => "not known".to_owned(),
                Statistic::Mean | Statistic::Quantile(_) => format!(
                    "not known from {}",
                    counted(of.requests, ["request", "requests"])
                ),
            };
            interval_of(of).unwrap_or_else(unknown)
        })
    }

    /// How far the value is from the limit.
    pub fn distance(&self) -> String {
        self.attained.map_or("-".to_owned(), distance_of)
    }
}

/// Whether more requests failed, beyond chance, than may take longer than a quantile of all.
fn too_many_failed(input: &Measured, objective: &Objective) -> bool {
    let (Requests::All, Statistic::Quantile(p)) = (objective.requests, objective.statistic) else {
        return false;
    };
    let failed = input.failed() as f64;
    let timed = input.timed() as f64;
    let most = (1.0 - p) * (failed + timed);
    failed > most + 3.0 * most.sqrt()
}

/// The verdicts on an input in a sentence; `None` without targets.
pub(crate) fn sentence(input: &Measured) -> Option<String> {
    let verdicts = verdicts(input);
    let (mut sure, mut rest) = (Vec::new(), Vec::new());
    for (words, is_sure, of) in [
        ("misses", true, &[Word::Misses, Word::Failed][..]),
        ("meets", true, &[Word::Meets]),
        (
            "It is unclear whether it meets",
            false,
            &[
                Word::Unclear,
                Word::NoInterval,
                Word::TooShort,
                Word::Incomplete,
            ],
        ),
        (
            "There is no verdict on",
            false,
            &[Word::Fake, Word::Unknown],
        ),
    ] {
        let of = verdicts.iter().filter(|verdict| of.contains(&verdict.word));
        let of: Vec<String> = of
            .map(|of| match of.attained {
                Some(_) if of.word == Word::NoInterval => format!(
                    "{} ({}, {}; no confidence interval)",
                    of.target,
                    of.value(),
                    of.distance()
                ),
                Some(_) => format!("{} ({}, {})", of.target, of.value(), of.distance()),
                None => of.target.to_string(),
            })
            .collect();
        if of.is_empty() {
            continue;
        }
        match is_sure {
            true => sure.push(format!("{words} {}", joined(&of))),
            false => rest.push(format!("{words} {}.", joined(&of))),
        }
    }
    if !sure.is_empty() {
        let sure = joined(&sure);
        rest.insert(0, format!("With 95 % confidence, {} {sure}.", input.name));
    }
    (!rest.is_empty()).then(|| rest.join(" "))
}

/// The words and the colour of a target by its verdicts on inputs, each with its name.
fn verdict_of(target: &Objective, words: &[(&str, Word)]) -> (String, Colour) {
    let of = |word: Word| words.iter().filter(|(_, of)| *of == word).count();
    let (met, missed) = (of(Word::Meets), of(Word::Misses));
    let colour = match words.len() {
        0 => Colour::Muted,
        n if met == n => Colour::Met,
        _ if missed > 0 => Colour::Missed,
        _ => Colour::Muted,
    };
    let text = match words {
        [] => String::new(),
        [(_, word)] => word.name().to_owned(),
        [_, _] | [_, _, _] => {
            let each = words
                .iter()
                .map(|(name, word)| format!("{name} {}", word.name()));
            each.collect::<Vec<_>>().join(", ")
        }
        all => {
            let n = all.len();
            let rest = n - met - missed;
            let mut parts = vec![format!("{met} of {n} meet it"), format!("{missed} miss it")];
            if rest > 0 {
                parts.push(format!("{rest} unclear"));
            }
            parts.join(", ")
        }
    };
    (format!("target {target}: {text}"), colour)
}

/// Draws targets as lines on distribution functions. The legend has the verdicts on the inputs; the lines have names that find
/// their entries in it.
fn mark_limits(chart: &mut Chart, targets: &[(&Objective, Vec<(&str, Word)>)]) {
    for (target, words) in targets {
        let seconds = target.limit * 1e-3;
        let (label, colour) = verdict_of(target, words);
        let line = Line::new(&label, colour, vec![(seconds, 0.0), (seconds, 1.0)]);
        chart.marks.push(Mark::Line(line.dashed()));
        chart.callouts.push(Callout {
            at: (seconds, 0.0),
            text: match targets {
                [_] => "target".to_owned(),
                _ => target.to_string(),
            },
            colour,
            named: Named::Line,
        });
    }
}

/// Whether a limit is near enough to the end of the data to be drawn with them.
fn is_near(seconds: f64, until: f64) -> bool {
    seconds <= until * 10.0
}

/// Draws targets on a chart of distribution functions of a quantity, by the outcome of each on each of the curves, in the order
/// of the targets.
pub fn mark_on_distribution(chart: &mut Chart, shown: Quantity, curves: &[(&str, &[Attained])]) {
    let Some((_, until)) = ends(chart) else {
        return;
    };
    let targets = curves.first().map_or(&[][..], |(_, attained)| attained);
    let mut limits = Vec::new();
    for (i, target) in targets.iter().map(|of| &of.objective).enumerate() {
        let is_shown = target.statistic != Statistic::Throughput
            && (target.quantity == shown
                || shown != Quantity::Delay && target.quantity != Quantity::Delay);
        if !is_shown || !is_near(target.limit * 1e-3, until) {
            continue;
        }
        let words = curves
            .iter()
            .filter_map(|(name, attained)| Some((*name, Word::of(attained.get(i)?))));
        limits.push((target, words.collect()));
    }
    mark_limits(chart, &limits);
}

/// Draws the targets that a chart is about.
pub(crate) fn mark(chart: &mut Chart, inputs: &[Measured]) {
    let Some(first) = inputs.first() else {
        return;
    };
    let shown = first.options().quantity;
    // Where no request is late, the response time is the latency.
    let no_delays = inputs.iter().all(|input| !input.has_delays());
    let is_shown = |target: &Objective| {
        target.statistic != Statistic::Throughput
            && (target.quantity == shown
                || no_delays && target.quantity != Quantity::Delay && shown != Quantity::Delay)
    };
    let Some((from, until)) = ends(chart) else {
        return;
    };
    let mut limits = Vec::new();
    for target in &first.options().targets {
        let seconds = target.limit * 1e-3;
        let words: Vec<(&str, Word)> = inputs
            .iter()
            .filter_map(|input| {
                let verdict = verdicts(input).into_iter().find(|of| of.target == target)?;
                Some((input.name.as_str(), verdict.word))
            })
            .collect();
        let points = match chart.name.as_str() {
            "cdf" if is_shown(target) && is_near(seconds, until) => {
                limits.push((target, words));
                continue;
            }
            "sonar" | "quantiles" if is_shown(target) => vec![(from, seconds), (until, seconds)],
            "throughput" | "throughput-completed" if target.statistic == Statistic::Throughput => {
                vec![(from, target.limit), (until, target.limit)]
            }
            _ => continue,
        };
        let (label, colour) = verdict_of(target, &words);
        let line = Line::new(&label, colour, points).dashed();
        chart.marks.push(Mark::Line(line));
    }
    mark_limits(chart, &limits);
}

/// From where to where a chart's marks go.
fn ends(chart: &Chart) -> Option<(f64, f64)> {
    let ranges = chart.marks.iter().filter_map(|mark| match mark {
        Mark::Cloud(cloud) => cloud.x_range(),
        Mark::Line(line) => Some((line.points.first()?.0, line.points.last()?.0)),
        _ => None,
    });
    ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Metadata, Outcome, Record, Request, Status};
    use iosonar_units::Nanos;

    use super::*;
    use crate::measure::{Look, LookOptions};
    use crate::{CATALOGUE, find, needs_of};

    /// 20 000 requests, one each millisecond, with latencies spread evenly and without order from 1 to 2 ms.
    fn measured(targets: &str, notices: &[&str], failed: u64) -> Measured {
        let options = LookOptions {
            targets: targets
                .parse::<iosonar_analysis::objective::Objectives>()
                .unwrap()
                .0,
            ..LookOptions::default()
        };
        let mut look = Look::new("a", needs_of(CATALOGUE), &options);
        for i in 0..20_000_u64 {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
            let done = Outcome::done(Nanos::ZERO, Nanos::new(1_000_000 + mixed));
            look.add(&Record {
                request: Request {
                    start: Nanos::from_millis(i),
                    ..Request::default()
                },
                outcome: Outcome {
                    status: if i < failed {
                        Status::Error(5)
                    } else {
                        Status::Done
                    },
                    ..done
                },
            });
        }
        look.about(&Metadata {
            notices: notices.iter().map(|&of| of.to_owned()).collect(),
            ..Metadata::default()
        });
        look.finish()
    }

    fn words(input: &Measured) -> Vec<Word> {
        verdicts(input).iter().map(|of| of.word).collect()
    }

    #[test]
    fn a_target_is_met_missed_or_unclear_by_its_interval() {
        // The median is 1.52 ms with a standard error of 0.5 / sqrt(20 000) * 1.05 ms = 3.7 us; the p99 is 2.04 ms.
        let input = measured(
            "p50 < 1.6ms, p50 < 1.4ms, p50 < 1.525ms, write p50 < 1s, throughput > 500",
            &[],
            0,
        );
        assert_eq!(
            words(&input),
            [
                Word::Meets,
                Word::Misses,
                Word::Unclear,
                Word::Unknown,
                Word::NoInterval
            ]
        );
        let few = measured("mean < 1.525ms", &[], 19_990);
        assert_eq!(words(&few), [Word::NoInterval]);
        // It is shown in parentheses, so it has none itself.
        let interval = verdicts(&few)[0].interval();
        assert_eq!(interval, "not known from 10 requests");
        // The share within a limit can be known where the quantile is not.
        let by_share = Attained {
            verdict: Judgement::Meets,
            ..*few.attained()[0].as_ref().unwrap()
        };
        assert_eq!(by_share.interval_95, None);
        assert_eq!(Word::of(&by_share), Word::Meets);
        let said = sentence(&input).unwrap();
        assert!(
            said.starts_with("With 95 % confidence, a misses p50 < 1.4 ms (1.52"),
            "{said}"
        );
        assert!(said.contains("and meets p50 < 1.6 ms (1.52"), "{said}");
        assert!(said.contains("% above the limit)"), "{said}");
        assert!(
            said.contains(". It is unclear whether it meets p50 < 1.525 ms"),
            "{said}"
        );
        assert!(
            said.contains("% above the limit; no confidence interval). There is"),
            "{said}"
        );
        assert!(
            said.ends_with(". There is no verdict on write p50 < 1 s."),
            "{said}"
        );
    }

    #[test]
    fn more_failures_than_may_be_beyond_a_quantile_miss_it() {
        // 200 of 20 000 may take longer than the p99, beyond chance 242.
        for (failed, word) in [
            (0, Word::Meets),
            (242, Word::Incomplete),
            (243, Word::Failed),
        ] {
            let input = measured("p99 < 1s, mean < 1s, read p99 < 1s", &[], failed);
            let all = words(&input);
            assert_eq!(all[0], word, "{failed}");
            assert!(!all[1..].contains(&Word::Failed));
        }
        let said = sentence(&measured("p99 < 1s", &[], 243)).unwrap();
        assert!(said.contains(" misses p99 < 1 s"), "{said}");
        assert_eq!(Word::Failed.token().0, "misses");
    }

    #[test]
    fn programs_get_a_verdict_and_the_reason_for_one_that_is_not_sure() {
        let input = measured("p50 < 1.6ms, p50 < 1.525ms, throughput > 5", &[], 0);
        let tokens: Vec<_> = words(&input).into_iter().map(Word::token).collect();
        assert_eq!(
            tokens,
            [
                ("meets", None),
                (
                    "unclear",
                    Some("the confidence interval includes the limit")
                ),
                ("unclear", Some("no confidence interval is known")),
            ]
        );
        let short = Attained {
            verdict: Judgement::TooShort,
            ..*verdicts(&input)[0].attained.unwrap()
        };
        let why = Some("the runs are too short");
        assert_eq!(Word::of(&short).token(), ("unclear", why));
        let intervals: Vec<String> = verdicts(&input).iter().map(Assessment::interval).collect();
        assert!(intervals[0].contains(" to "), "{intervals:?}");
        assert_eq!(intervals[2], "not known");
    }

    #[test]
    fn what_failed_or_is_fake_meets_nothing_and_without_a_target_nothing_is_said() {
        assert_eq!(
            words(&measured("p50 < 1.6ms, p50 < 1ms", &[], 1)),
            [Word::Incomplete, Word::Misses]
        );
        assert_eq!(
            words(&measured(
                "p50 < 1.6ms",
                &["# FAKE: no target was accessed"],
                0
            )),
            [Word::Fake]
        );
        let options = LookOptions::default();
        assert!(options.targets.is_empty());
        let nothing = Look::new("a", needs_of(CATALOGUE), &options).finish();
        assert_eq!(sentence(&nothing), None);
    }

    #[test]
    fn a_target_is_a_line_in_the_charts_that_are_about_it() {
        let input = [measured(
            "p50 < 1.6ms, throughput > 500, delay p99 < 1ms",
            &[],
            0,
        )];
        let lines = |name: &str| {
            let charts = find(name).unwrap().charts(&input, crate::Arrange::Panels);
            let legend = charts.iter().flat_map(Chart::legend);
            let texts = legend
                .map(|entry| entry.text)
                .filter(|text| text.starts_with("target "));
            texts.collect::<Vec<_>>()
        };
        assert_eq!(lines("cdf"), ["target p50 < 1.6 ms: meets"]);
        assert_eq!(lines("sonar"), ["target p50 < 1.6 ms: meets"]);
        assert_eq!(
            lines("throughput"),
            ["target throughput > 500/s: unclear: no confidence interval"]
        );
        assert!(lines("in-flight").is_empty());
    }

    #[test]
    fn a_target_stands_once_on_a_distribution_with_the_verdict_on_each_input() {
        let chart = |targets: &str, inputs: usize| {
            let inputs: Vec<Measured> = (0..inputs)
                .map(|i| measured(targets, &[], (i == 1).into()))
                .collect();
            let charts = find("cdf").unwrap().charts(&inputs, crate::Arrange::Panels);
            let chart = charts.into_iter().next().unwrap();
            let legend: Vec<String> = chart.entries().into_iter().map(|of| of.text).collect();
            let lines = chart.callouts.iter().filter(|of| of.named == Named::Line);
            let lines: Vec<String> = lines.map(|of| of.text.clone()).collect();
            (legend, lines)
        };
        // The second input has a request without a time: it cannot meet a target.
        let (legend, lines) = chart("p50 < 1.6ms", 2);
        let verdict = "target p50 < 1.6 ms: a meets, a unclear: some requests have no latency";
        assert_eq!(
            legend.iter().filter(|text| *text == verdict).count(),
            1,
            "{legend:?}"
        );
        assert_eq!(lines, ["target"]);
        let (legend, lines) = chart("p50 < 1.6ms, p50 < 1.4ms", 1);
        assert!(
            legend
                .iter()
                .any(|text| text == "target p50 < 1.4 ms: misses"),
            "{legend:?}"
        );
        assert_eq!(lines, ["p50 < 1.6 ms", "p50 < 1.4 ms"]);
        let (legend, _) = chart("p50 < 1.4ms", 5);
        assert!(
            legend
                .iter()
                .any(|text| text == "target p50 < 1.4 ms: 0 of 5 meet it, 5 miss it"),
            "{legend:?}"
        );
    }
}
