//! What came of a replay on several hosts, for people and for programs.

use iosonar_hosts::{Ending, HostOutcome, HostsOutcome, Running};
use iosonar_replay::TimesByKind;
use iosonar_report::{counted, grouped};
use iosonar_stats::{Labels, Output};
use iosonar_units::{Nanos, one_line};
use serde_json::{Value, json};

use super::messages::{self, Warning};
use super::style::Tone;
use super::table::Table;

/// The outcome as tables and some lines.
pub(crate) fn text(outcome: &HostsOutcome) -> String {
    let header = ["", "planned", "done", "failed", "left out", "not done"];
    let mut counts = Table::new(&header);
    let mut times = Table::of_times("");
    let mut is_timed = false;
    for HostOutcome { name, tally, .. } in &outcome.hosts {
        let numbers = [
            tally.planned,
            tally.done,
            tally.failed,
            tally.left_out,
            tally.not_done(),
        ];
        let cells = numbers.into_iter().map(grouped);
        counts.row(std::iter::once(name.clone()).chain(cells).collect());
        let all = tally.times.all();
        if all.latency.count() > 0 {
            is_timed = true;
            times.times(&format!("{name} latency"), &all.latency);
            times.times(&format!("{name} delay"), &all.delay);
        }
    }
    let mut text = counts.text();
    if is_timed {
        text += &times.text();
    }
    for host in &outcome.hosts {
        text += &line("clock", &format!("{}: {}", host.name, clock(host)));
    }
    for host in &outcome.hosts {
        let Some(report) = &host.report else {
            continue;
        };
        text += &line(
            "verdict",
            &format!("{}: {}", host.name, one_line(&report.verdict)),
        );
        for remark in &report.remarks {
            let of_host = format!("{}: {}", host.name, one_line(&remark.text));
            text += &format!("  {}\n", messages::headed(&remark.code, &of_host));
        }
        if let Some(early) = report.json["ended_early"].as_str() {
            text += &line(
                "ENDED EARLY",
                &format!("{}: {}", host.name, one_line(early)),
            );
        }
        for fake in report.json["fakes"].as_array().into_iter().flatten() {
            let fake = one_line(fake.as_str().unwrap_or_default());
            let tag = Warning::Fake.tag();
            text += &line("FAKE", &format!("{}: {fake}{tag}", host.name));
        }
    }
    for host in &outcome.hosts {
        if let Some(loss) = &host.loss {
            let tag = Warning::HostLost.tag();
            let loss = one_line(&loss.to_string());
            text += &line("LOST", &format!("{}: {loss}{tag}", host.name));
        }
    }
    if let Some(error) = &outcome.records_error {
        text += &line(
            "RECORDS LOST",
            &format!(
                "{error}; the records written so far are in the file whose name ends in .part"
            ),
        );
    }
    let any = |is: fn(&HostOutcome) -> bool| outcome.hosts.iter().any(is);
    let tone = match (any(is_wanting), any(is_flagged)) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Doubtful,
        (false, false) => Tone::Good,
    };
    text + &line("conclusion", &tone.of(&conclusion(outcome)))
}

fn line(name: &str, text: &str) -> String {
    format!("  {name:<13} {text}\n")
}

/// Whether a host did not do all of its load.
fn is_wanting(host: &HostOutcome) -> bool {
    host.loss.is_some() || host.tally.not_done() > 0 || host.tally.failed > 0
}

/// Whether something makes a host's results questionable.
fn is_flagged(host: &HostOutcome) -> bool {
    let report = host.report.as_ref();
    report.is_some_and(|report| report.ending != Ending::Done)
}

/// How well the clock of a host is known, and when its replay started.
fn clock(host: &HostOutcome) -> String {
    let Some(before) = &host.before else {
        return "not measured".to_owned();
    };
    let mut parts = Vec::new();
    if let Some(ahead) = host.ahead {
        let side = if ahead < 0 { "behind" } else { "ahead of" };
        let ahead = Nanos::new(ahead.unsigned_abs());
        parts.push(format!("{ahead} {side} this machine's"));
    }
    parts.push(format!("known to ± {}", Nanos::new(before.error)));
    if let Some(drift) = &host.drift {
        let (ppm, error) = (drift.ppm, drift.error_ppm);
        parts.push(format!("drift {ppm:.2} ± {error:.2} ppm"));
    }
    if let Some(lag) = host.start_lag {
        let side = if lag < 0 { "before" } else { "after" };
        parts.push(match lag.unsigned_abs() {
            lag if lag <= before.error => "started at the agreed time".to_owned(),
            lag => format!("started {} {side} the agreed time", Nanos::new(lag)),
        });
    }
    parts.join(", ")
}

/// What came of it, in a sentence.
pub(crate) fn conclusion(outcome: &HostsOutcome) -> String {
    let hosts = outcome.hosts.len();
    let tallies = || outcome.hosts.iter().map(|host| &host.tally);
    let planned: u64 = tallies().map(|tally| tally.planned).sum();
    let not_done: u64 = tallies().map(|tally| tally.not_done() + tally.failed).sum();
    let lost = outcome.hosts.iter().filter(|host| host.loss.is_some());
    let requests = format!("{} of {} requests", grouped(not_done), grouped(planned));
    match (lost.count(), not_done) {
        (0, 0) => {
            let together = together(outcome).filter(|_| hosts > 1);
            let together = together.map_or_else(String::new, |time| {
                format!(", which started within {time} of each other")
            });
            let flagged = match outcome.hosts.iter().filter(|host| is_flagged(host)).count() {
                0 => String::new(),
                n => format!("; the results of {} are questionable", targets(n)),
            };
            let all = targets(hosts);
            format!("all requests were replayed on {all}{together}{flagged}")
        }
        (0, _) => format!("{requests} failed or were not done"),
        (lost, _) => format!(
            "{lost} of {} {} lost, {requests} failed or were not done",
            targets(hosts),
            if lost == 1 { "was" } else { "were" }
        ),
    }
}

fn targets(n: usize) -> String {
    match n {
        1 => "1 target".to_owned(),
        n => format!("{n} targets"),
    }
}

/// By how much the starts of any two hosts differ at most, as far as clocks are known.
fn together(outcome: &HostsOutcome) -> Option<Nanos> {
    let bounds = outcome.hosts.iter().filter_map(|host| {
        let error = host.before?.error as i64;
        let lag = host.start_lag?;
        Some((lag - error, lag + error))
    });
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for (from, until) in bounds {
        first = first.min(from);
        last = last.max(until);
    }
    (first <= last).then(|| Nanos::new(last.abs_diff(first)))
}

/// How far all hosts are, in a few words.
pub(crate) fn progress(hosts: &[Running]) -> String {
    let in_flight: u64 = hosts.iter().map(|host| host.in_flight).sum();
    let errors: u64 = hosts.iter().map(|host| host.errors).sum();
    let slowest = |of: fn(&Running) -> u64| {
        let most = hosts.iter().map(of).max().unwrap_or_default();
        Nanos::new(most)
    };
    format!(
        "{}, {} in flight, slowest p99 delay {}, latency {}, {} failed",
        counted(hosts.len() as u64, ["host", "hosts"]),
        grouped(in_flight),
        slowest(|host| host.delay[1]),
        slowest(|host| host.latency[1]),
        grouped(errors)
    )
}

/// The outcome for programs.
pub(crate) fn json(outcome: &HostsOutcome) -> Output {
    let mut json = Output::new("replay --hosts");
    let hosts = outcome.hosts.iter().map(host_json).collect();
    json.set("hosts", Value::Array(hosts));
    json.set("interrupted", json!(outcome.is_interrupted));
    json.set("records_error", json!(outcome.records_error));
    json.set("conclusion", json!(conclusion(outcome)));
    json.set(
        "together_us",
        json!(together(outcome).map(|time| micros(time.get() as f64))),
    );
    let mut all = TimesByKind::default();
    for host in &outcome.hosts {
        all.merge(&host.tally.times);
    }
    json.metrics(all.metrics(&Labels::default()));
    for host in &outcome.hosts {
        let labels = Labels::of("target", host.name.clone());
        json.metrics(host.tally.times.metrics(&labels));
    }
    json
}

fn micros(nanos: f64) -> f64 {
    nanos / 1e3
}

fn host_json(host: &HostOutcome) -> Value {
    let tally = &host.tally;
    let of = |sample: Option<iosonar_hosts::Sample>| {
        sample.map(|sample| {
            json!({
                "offset_us": micros(sample.offset as f64),
                "error_us": micros(sample.error as f64),
            })
        })
    };
    json!({
        "target": host.name,
        "planned": tally.planned,
        "done": tally.done,
        "failed": tally.failed,
        "left_out": tally.left_out,
        "not_done": tally.not_done(),
        "lost": host.loss.as_ref().map(ToString::to_string),
        "clock": {
            "before": of(host.before),
            "after": of(host.after),
            "ahead_us": host.ahead.map(|ahead| micros(ahead as f64)),
            "drift_ppm": host.drift.map(|drift| drift.ppm),
            "drift_error_ppm": host.drift.map(|drift| drift.error_ppm),
            "largest_error_us": host.largest_error.map(|error| micros(error as f64)),
        },
        "start_lag_us": host.start_lag.map(|lag| micros(lag as f64)),
        "began_at_ns": host.report.as_ref().and_then(|report| report.began_at),
        "report": host.report.as_ref().map(|report| &report.json),
    })
}
