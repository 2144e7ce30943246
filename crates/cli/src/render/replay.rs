//! What a replay found out, for people and for programs.

pub(crate) mod notes;

use iosonar_replay::verify::Findings;
use iosonar_replay::{
    EndedEarly, Episode, LATENESS_LIMITS, Summary, TargetSummary, Times, Verdict,
};
use iosonar_report::{counted, grouped, remark as words_of};
use iosonar_units::{Nanos, SECTOR_BYTES};
use serde_json::{Value, json};

use crate::render::messages::{Warning, codes};
use crate::render::remarks;
use crate::render::style::Tone;
use crate::render::table::Table;
use iosonar_stats::Output;

/// The number of episodes of overload, or ranges of faults, printed individually.
const MOST_TOLD: usize = 10;

/// The summary as a table and some lines.
#[allow(clippy::too_many_lines)] // Line by line.
pub(crate) fn text(summary: &Summary) -> String {
    let mut table = Table::of_times("");
    for (name, times) in summary.times.kinds() {
        if times.latency.count() > 0 {
            let Times {
                delay,
                latency,
                response_time,
            } = times;
            let all = if name == "flush" {
                "flushes".to_owned()
            } else {
                format!("{name}s")
            };
            table.times(&format!("{all} latency"), latency);
            table.times(&format!("{all} delay"), delay);
            table.times(&format!("{all} response time"), response_time);
        }
    }
    table.times("replayer lag", &summary.own_lateness);
    let mut text = table.text();
    text += &line("requests", &counts(summary));
    text += &line("time", &time_and_rates(summary));
    text += &line("start delay", &start_delays(summary));
    let mut engine = summary.engine.to_owned();
    if summary.completed > 0 {
        let per_request = summary.processor_time.get() as f64 / 1e3 / summary.completed as f64;
        engine += &format!(", {per_request:.2} µs of CPU time per request, including busy-waiting");
    }
    text += &line("engine", &engine);
    text += &line("scheduling", &scheduling(summary));
    for note in &summary.notes {
        let warning = codes::of_note(note).headed(&notes::of_replay(note));
        text += &format!("  {warning}\n");
    }
    for target in &summary.targets {
        text += &of_target(target, summary);
    }
    for fake in &summary.fakes {
        text += &line("FAKE", &format!("{fake}{}", Warning::Fake.tag()));
    }
    if summary.is_verified {
        text += &line(
            "VERIFIED",
            &format!(
                "contents were tagged or checked, which takes time, so figures are not comparable with those of a \
                 plain replay{}",
                Warning::Verified.tag()
            ),
        );
    }
    if summary.record_stalls > 0 {
        text += &line(
            "SLOWED",
            &format!(
                "the replay waited for its records to be written ({} times), so latencies may be too high{}",
                grouped(summary.record_stalls),
                Warning::RecordsStalled.tag()
            ),
        );
    }
    if let Some(error) = &summary.records_error {
        text += &line(
            "RECORDS LOST",
            &format!(
                "{error}; the records written so far are in the file whose name ends in .part"
            ),
        );
    }
    if summary.has_dropped_too_many() {
        text += &line(
            "DROPPED",
            "more requests were dropped than --max-dropped allows",
        );
    }
    if let Some(early) = summary.early {
        text += &line("ENDED EARLY", why(early));
    }
    if summary.abandoned {
        text += &line(
            "ABANDONED",
            "requests were still in flight when the replay was aborted",
        );
    }
    text += &line("verdict", &verdict(summary));
    text
}

fn verdict(summary: &Summary) -> String {
    let tone = match summary.verdict {
        Verdict::KeptUp if summary.early.is_none() => Tone::Good,
        Verdict::KeptUp | Verdict::NotJudged => Tone::Doubtful,
        Verdict::DeviceLimited { .. }
        | Verdict::ModelLimited { .. }
        | Verdict::InFlightLimited { .. }
        | Verdict::ReplayerLimited { .. } => Tone::Bad,
    };
    tone.of(&summary_verdict(summary))
}

/// The verdict on a whole replay.
pub(crate) fn summary_verdict(summary: &Summary) -> String {
    verdict_in_words(
        &summary.verdict,
        summary.early,
        summary.pushed_back > 0,
        summary.skipped,
    )
}

/// A verdict. What was never submitted, or was pushed back, has not been judged.
fn verdict_in_words(
    verdict: &Verdict,
    early: Option<EndedEarly>,
    some_pushed_back: bool,
    skipped: u64,
) -> String {
    if *verdict != Verdict::KeptUp {
        return verdict.to_string();
    }
    let until = match early {
        Some(_) => " until the replay ended early",
        None => "",
    };
    let except = match some_pushed_back {
        true => ", except for requests that waited for others which they overlap",
        false => "",
    };
    let without = match skipped {
        0 => String::new(),
        n => format!(
            " ({} left out)",
            counted(n, ["request was", "requests were"])
        ),
    };
    format!("{verdict}{until}{except}{without}")
}

/// How the pacing threads were scheduled, and what other threads of the machine cost them.
fn scheduling(summary: &Summary) -> String {
    let interference = &summary.interference;
    let preempted = match interference.preemptions {
        0 => None,
        1 => Some("preempted once".to_owned()),
        n => Some(format!("preempted {} times", grouped(n))),
    };
    let waited = match interference.contended() {
        Nanos::ZERO => None,
        waited => Some(format!("waited {waited} for a CPU")),
    };
    let priority = format!("priority {}", summary.priority.name());
    let parts = std::iter::once(priority).chain(preempted).chain(waited);
    parts.collect::<Vec<_>>().join(", ")
}

/// The shares of the measured requests that were submitted within each of the limits.
fn start_delays(summary: &Summary) -> String {
    let measured = summary.measured();
    if measured == 0 {
        return "not measured: no request was completed after the warm-up".to_owned();
    }
    let share = |n: u64| 100.0 * n as f64 / measured as f64;
    let within = LATENESS_LIMITS.iter().zip(summary.on_time);
    let within = within.map(|(limit, n)| format!("{:.2} % within {limit}", share(n)));
    within.collect::<Vec<_>>().join(", ")
}

fn line(name: &str, text: &str) -> String {
    format!("  {name:<13} {text}\n")
}

/// How long it took, and the rates.
fn time_and_rates(summary: &Summary) -> String {
    format!(
        "{} for {} of load: {}, at most {} in flight",
        summary.elapsed,
        summary.intended,
        rates(summary),
        grouped(summary.most_in_flight() as u64),
    )
}

/// Rates of the time that was measured.
fn rates(summary: &Summary) -> String {
    if summary.measured() == 0 {
        return "no rates were measured".to_owned();
    }
    let seconds = summary.measured_for().as_secs_f64().max(1e-9);
    let mb = (summary.sectors * SECTOR_BYTES) as f64 / 1e6;
    let demanded = summary
        .demanded_rate()
        .map_or_else(|| "all at once".to_owned(), |rate| format!("{rate:.1}"));
    let when = match summary.warmup {
        Nanos::ZERO => "",
        _ => " after the warm-up",
    };
    format!(
        "{:.1} requests/s (demanded: {demanded}), {:.2} MB/s{when}",
        summary.throughput(),
        mb / seconds,
    )
}

fn why(early: EndedEarly) -> &'static str {
    match early {
        EndedEarly::Interrupted => "interrupted",
        EndedEarly::Errors => "more requests failed than --max-errors allows",
        EndedEarly::DeviceGone => "the device has disappeared",
        EndedEarly::Runtime => "--max-runtime was reached",
    }
}

fn of_target(target: &TargetSummary, summary: &Summary) -> String {
    let mut text = String::new();
    if summary.targets.len() > 1 {
        text += &line(
            "target",
            &format!(
                "{}: {}, {} done, {} failed, at most {} in flight",
                target.path.display(),
                verdict_in_words(
                    &target.verdict,
                    summary.early,
                    target.most_pushed_back > 0,
                    target.skipped,
                ),
                grouped(target.done),
                grouped(target.failed),
                grouped(target.most_in_flight as u64)
            ),
        );
    }
    for remark in &target.remarks {
        text += &line("load", &words_of(remark));
    }
    let fitted = remarks::of_fitted(&target.fitted);
    if !fitted.is_empty() {
        text += &line("fitted", &fitted);
    }
    for episode in target.episodes.iter().take(MOST_TOLD) {
        text += &line("overload", &episode_text(episode));
    }
    if target.episodes.len() > MOST_TOLD {
        text += &line(
            "",
            &format!("and {} more", target.episodes.len() - MOST_TOLD),
        );
    }
    if let Some(rate) = target.overload_rate {
        text += &line(
            "overload rate",
            &format!(
                "{rate:.1} requests/s, measured while requests were submitted more than a second late"
            ),
        );
    }
    text += &findings_text(&target.findings);
    text
}

fn episode_text(episode: &Episode) -> String {
    let until = match (episode.until, episode.drain_time()) {
        (Some(until), None | Some(Nanos::ZERO)) => format!("until {until}"),
        (Some(until), Some(drain)) => format!("until {until}, {drain} after the longest delay"),
        (None, _) => "to the end".to_owned(),
    };
    let delay = match episode.cut_short {
        true => "of at least",
        false => "up to",
    };
    format!(
        "from {} {until}: delay {delay} {}, at least {} behind",
        episode.from,
        episode.longest_delay,
        counted(episode.largest_backlog, ["request", "requests"])
    )
}

/// What a verification found, line by line.
pub(crate) fn findings_text(findings: &Findings) -> String {
    let mut text = String::new();
    if findings.checked > 0 {
        let faults = match findings.faults() {
            0 => "passed".to_owned(),
            n => format!("{} WRONG", grouped(n)),
        };
        text += &line(
            "contents",
            &format!(
                "{} checked, {faults}",
                counted(findings.checked, ["sector", "sectors"])
            ),
        );
    }
    for (kind, count) in &findings.counts {
        let sectors = counted(*count, ["sector", "sectors"]);
        text += &line("", &format!("{sectors}: {}", kind.name()));
    }
    for finding in findings.ranges().take(MOST_TOLD) {
        text += &line("", &finding.to_string());
    }
    let more = findings.ranges().count().saturating_sub(MOST_TOLD);
    if more > 0 {
        text += &line(
            "",
            &format!(
                "and {} (--json)",
                counted(more as u64, ["more range", "more ranges"])
            ),
        );
    }
    text
}

fn counts(summary: &Summary) -> String {
    let mut parts = vec![
        format!("{} in the load", grouped(summary.requests)),
        format!("{} completed", grouped(summary.completed)),
    ];
    for (n, what) in [
        (summary.warming_up, "of them during warm-up"),
        (summary.skipped, "left out"),
        (summary.dropped, "dropped because of conflicts"),
        (summary.pushed_back, "pushed back because of conflicts"),
        (
            summary.ordered_waits,
            "times a conflict held back all requests",
        ),
        (summary.short, "transferred too few bytes"),
        (summary.cancelled, "cancelled"),
        (summary.missed, "never submitted"),
        (summary.verify_failed, "with wrong contents"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    }
    if summary.errors > 0 {
        let reason = std::io::Error::from_raw_os_error(summary.first_errno.unwrap_or(0).into());
        let target = summary
            .first_error_on
            .and_then(|number| summary.targets.get(number));
        let place = target.map_or_else(String::new, |t| format!(" on {}", t.path.display()));
        parts.push(format!(
            "{} failed (first{place}: {reason})",
            grouped(summary.errors)
        ));
    }
    parts.join(", ")
}

/// In a line, why a replay did not end with all done as asked.
pub(crate) fn why_not_done(summary: &Summary) -> String {
    let mut reasons = vec![counts(summary)];
    reasons.extend(summary.early.map(|early| why(early).to_owned()));
    reasons.extend(summary.records_error.clone());
    if summary.faults() > 0 {
        reasons.push(counted(
            summary.faults(),
            ["sector is wrong", "sectors are wrong"],
        ));
    }
    if summary.setting_lost {
        reasons.push("a queue setting was changed during the replay".to_owned());
    }
    reasons.push(format!("verdict: {}", summary_verdict(summary)));
    reasons.join("; ")
}

/// A verdict in a word, for programs.
fn verdict_name(verdict: &Verdict, early: Option<EndedEarly>) -> &'static str {
    match (verdict, early) {
        (Verdict::KeptUp, Some(_)) => "ended early",
        _ => verdict.name(),
    }
}

/// The summary for programs.
pub(crate) fn json(summary: &Summary) -> Output {
    let mut json = Output::new("replay");
    let targets = summary.targets.iter();
    let targets = targets.map(|target| target_json(target, summary.early));
    let targets = targets.collect();
    json.set("targets", Value::Array(targets));
    if let Some(target) = summary.targets.first() {
        json.set("target", json!(target.path.display().to_string()));
    }
    json.set("engine", json!(summary.engine));
    json.set("priority", json!(summary.priority.name()));
    let said: Vec<String> = summary.notes.iter().map(notes::of_replay).collect();
    json.set("notes", json!(said));
    json.set(
        "fakes",
        json!(
            summary
                .fakes
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        ),
    );
    json.set("verified", json!(summary.is_verified));
    json.set("verdict", json!(summary_verdict(summary)));
    json.set(
        "limited",
        json!(verdict_name(&summary.verdict, summary.early)),
    );
    json.set(
        "interrupted",
        json!(summary.early == Some(EndedEarly::Interrupted)),
    );
    json.set("ended_early", json!(summary.early.map(why)));
    json.set("records_error", json!(summary.records_error));
    json.metrics(summary.metrics());
    json
}

fn target_json(target: &TargetSummary, early: Option<EndedEarly>) -> Value {
    let episodes: Vec<Value> = target
        .episodes
        .iter()
        .map(|e| {
            json!({
                "from_s": e.from.as_secs_f64(),
                "until_s": e.until.map(Nanos::as_secs_f64),
                "longest_delay_s": e.longest_delay.as_secs_f64(),
                "drain_s": e.drain_time().map(Nanos::as_secs_f64),
                "largest_backlog": e.largest_backlog,
                "cut_short": e.cut_short,
            })
        })
        .collect();
    let limited_from = match target.verdict {
        Verdict::DeviceLimited { from }
        | Verdict::ModelLimited { from }
        | Verdict::InFlightLimited { from, .. } => Some(from.as_secs_f64()),
        _ => None,
    };
    json!({
        "target": target.path.display().to_string(),
        "verdict": verdict_name(&target.verdict, early),
        "done": target.done,
        "failed": target.failed,
        "skipped": target.skipped,
        "limited_from_s": limited_from,
        "most_in_flight": target.most_in_flight,
        "most_pushed_back": target.most_pushed_back,
        "overload": episodes,
        "overload_rate": target.overload_rate,
        "remarks": target.remarks.iter().map(words_of).collect::<Vec<_>>(),
        "fitted": {
            "wrapped": target.fitted.wrapped,
            "moved_back": target.fitted.moved_back,
            "clipped": target.fitted.clipped,
            "left_out": target.fitted.left_out,
            "scaled": target.fitted.scaled,
            "aligned": target.fitted.aligned,
        },
        "contents": findings_json(&target.findings),
    })
}

/// What a verification found, for programs.
pub(crate) fn findings_json(findings: &Findings) -> Value {
    let ranges: Vec<Value> = findings
        .ranges()
        .map(|finding| {
            json!({
                "sector": finding.sector,
                "sectors": finding.sectors,
                "kind": finding.kind.name(),
                "expected_write": finding.expected,
                "found_write": finding.found,
            })
        })
        .collect();
    json!({
        "checked": findings.checked,
        "unknown": findings.unknown,
        "wrong": findings.faults(),
        "ranges": ranges,
        "not_kept": findings.not_kept,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_that_kept_up_says_what_is_not_judged() {
        let words = |early, pushed_back| verdict_in_words(&Verdict::KeptUp, early, pushed_back, 0);
        let early = Some(EndedEarly::Runtime);
        assert_eq!(words(None, false), "kept up");
        assert_eq!(words(early, false), "kept up until the replay ended early");
        let except = ", except for requests that waited for others which they overlap";
        assert_eq!(words(None, true), format!("kept up{except}"));
        assert_eq!(
            words(early, true),
            format!("kept up until the replay ended early{except}")
        );
        // What did not keep up needs no exception.
        let limited = Verdict::DeviceLimited { from: Nanos::ZERO };
        assert_eq!(
            verdict_in_words(&limited, None, true, 0),
            limited.to_string()
        );
    }

    #[test]
    fn a_replay_that_left_requests_out_kept_up_without_them() {
        let of = |verdict, skipped| {
            summary_verdict(&Summary {
                verdict,
                skipped,
                ..Summary::default()
            })
        };
        assert_eq!(of(Verdict::KeptUp, 0), "kept up");
        assert_eq!(
            of(Verdict::KeptUp, 212),
            "kept up (212 requests were left out)"
        );
        let limited = Verdict::DeviceLimited { from: Nanos::ZERO };
        assert_eq!(of(limited, 212), limited.to_string());
    }

    #[test]
    fn the_verdict_on_a_target_says_what_it_left_out() {
        let of = |skipped| verdict_in_words(&Verdict::KeptUp, None, false, skipped);
        assert_eq!(of(0), "kept up");
        assert_eq!(of(1), "kept up (1 request was left out)");
    }

    #[test]
    fn the_throughput_is_in_megabytes_as_in_charts() {
        let summary = Summary {
            completed: 1000,
            sectors: 8000,
            elapsed: Nanos::from_secs(2),
            intended: Nanos::from_secs(2),
            ..Summary::default()
        };
        assert!(
            rates(&summary).ends_with(", 2.05 MB/s"),
            "{}",
            rates(&summary)
        );
    }
}
