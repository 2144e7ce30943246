//! What was measured in Prometheus' text format, version 0.0.4.
//!
//! Counters and histograms are those of the run so far, so that a scraper computes rates and quantiles over windows of its
//! own. The names are part of the interface: `docs/src/live.md` lists them.

use std::fmt::Write as _;

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use crate::measure::{Measured, Quantity};
use crate::page::RunState;
use crate::targets::{Word, verdicts};

/// The media type.
pub const EXPOSITION_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper ends of the buckets in microseconds: 1, 2 and 5 of each decade from 1 us to 10 s.
fn bounds_us() -> impl Iterator<Item = u64> {
    let decades = (0..7).map(|decade| 10_u64.pow(decade));
    let bounds = decades.flat_map(|of| [of, 2 * of, 5 * of]);
    bounds.chain([10_000_000])
}

/// How many runs of a sweep are complete, have failed, and are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepRuns {
    /// Those with results.
    pub complete: u64,
    /// Those that ended without.
    pub failed: u64,
    /// Those that are still to be done.
    pub open: u64,
}

/// The metrics of a run, and of the sweep that it belongs to.
pub fn exposition(state: RunState, measured: &Measured, sweep: Option<SweepRuns>) -> String {
    let mut text = Text::default();
    text.head(
        "iosonar_run_info",
        "gauge",
        "The name and state of the run; the value is always 1.",
    );
    let labels = [("name", measured.name.as_str()), ("state", state.label())];
    text.line("iosonar_run_info", &labels, 1.0);
    if let Some(runs) = sweep {
        let name = "iosonar_sweep_runs";
        text.head(name, "gauge", "Runs of the sweep by state.");
        for (state, n) in [
            ("complete", runs.complete),
            ("failed", runs.failed),
            ("open", runs.open),
        ] {
            text.line(name, &[("state", state)], n as f64);
        }
    }
    text.head("iosonar_requests_total", "counter", "Requests by outcome.");
    let failed: u64 = measured.failures().values().sum();
    let done = measured.records() - failed;
    text.line(
        "iosonar_requests_total",
        &[("outcome", "done")],
        done as f64,
    );
    for (failure, n) in measured.failures() {
        let labels = [("outcome", failure.name())];
        text.line("iosonar_requests_total", &labels, *n as f64);
    }
    for (name, help, quantity) in [
        (
            "iosonar_latency_seconds",
            "Time from submission to completion.",
            Quantity::Latency,
        ),
        (
            "iosonar_start_delay_seconds",
            "Time from the intended start to submission.",
            Quantity::Delay,
        ),
    ] {
        text.head(name, "histogram", help);
        text.histogram(name, "read", measured.reads(quantity));
        text.histogram(name, "other", measured.writes(quantity));
    }
    text.levels(measured);
    let verdicts = verdicts(measured);
    if !verdicts.is_empty() {
        let help = "Whether a target is met: 1 if it is, 0 if not, NaN while undecided.";
        text.head("iosonar_target_met", "gauge", help);
        for verdict in verdicts {
            let met = match verdict.word {
                Word::Meets => 1.0,
                Word::Misses | Word::Failed => 0.0,
                Word::Unclear
                | Word::NoInterval
                | Word::TooShort
                | Word::Incomplete
                | Word::Fake
                | Word::Unknown => f64::NAN,
            };
            let target = verdict.target.to_string();
            text.line("iosonar_target_met", &[("target", &target)], met);
        }
    }
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0 += name;
        if !labels.is_empty() {
            let labels = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let labels: Vec<String> = labels.collect();
            let _ = write!(self.0, "{{{}}}", labels.join(","));
        }
        let _ = match value {
            value if value.is_nan() => writeln!(self.0, " NaN"),
            value => writeln!(self.0, " {value}"),
        };
    }

    fn histogram(&mut self, name: &str, op: &str, of: &Distribution) {
        let (n, bucket) = (of.count(), format!("{name}_bucket"));
        for bound in bounds_us() {
            let share = of.histogram.share_up_to(Nanos::from_micros(bound));
            let below = if n == 0 {
                0.0
            } else {
                (share * n as f64).round()
            };
            let le = format!("{}", bound as f64 / 1e6);
            self.line(&bucket, &[("op", op), ("le", &le)], below);
        }
        self.line(&bucket, &[("op", op), ("le", "+Inf")], n as f64);
        let sum_s = if n == 0 {
            0.0
        } else {
            of.moments.mean() * n as f64 / 1e9
        };
        self.line(&format!("{name}_sum"), &[("op", op)], sum_s);
        self.line(&format!("{name}_count"), &[("op", op)], n as f64);
    }

    /// Levels of the last window that is over, and whether requests start in time.
    fn levels(&mut self, measured: &Measured) {
        let points = measured.outcome().map(|of| of.timeline.points());
        let mut points: Vec<_> = points.into_iter().flatten().collect();
        // The last one is not over.
        points.pop();
        let last = points.pop().map(|(_, point)| point);
        let help = "Requests in flight, averaged over the last window; NaN before the end of the first window.";
        self.head("iosonar_in_flight", "gauge", help);
        let in_flight = last.as_ref().map_or(f64::NAN, |of| of.in_flight);
        self.line("iosonar_in_flight", &[], in_flight);
        let help = "Requests that are due but not yet submitted, averaged over the last window; NaN before the end of \
                    the first window.";
        self.head("iosonar_delayed", "gauge", help);
        self.line(
            "iosonar_delayed",
            &[],
            last.map_or(f64::NAN, |of| of.delayed),
        );
        let ([late, ..], of) = measured.lateness();
        let help =
            "Requests submitted more than 100 us late, although no other request held them back.";
        self.head("iosonar_late_requests_total", "counter", help);
        self.line("iosonar_late_requests_total", &[], late as f64);
        let help =
            "Whether the run keeps up with the load: 1 if it does, 0 if not, NaN while unknown.";
        self.head("iosonar_keeps_up", "gauge", help);
        let keeps_up = match of {
            0 => f64::NAN,
            _ => f64::from(u8::from(crate::page::keeps_up(measured))),
        };
        self.line("iosonar_keeps_up", &[], keeps_up);
    }
}

/// The value of a label as the format has it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Growing, LookOptions};
    use iosonar_trace::{Outcome, Record, Status};

    #[test]
    fn counters_and_buckets_are_those_of_the_records() {
        let options = LookOptions {
            targets: vec![
                "p50 < 1ms".parse().unwrap(),
                "latency mean < 10us".parse().unwrap(),
            ],
            ..LookOptions::default()
        };
        let mut growing = Growing::new("a \"run\" \\ of\ntwo lines", &options);
        for i in 0..4000 {
            let mut outcome = Outcome::done(Nanos::from_micros(3), Nanos::from_micros(30 + i % 40));
            if i % 100 == 0 {
                outcome.status = Status::Error(5);
            }
            let mut record = Record {
                outcome,
                ..Record::default()
            };
            record.request.start = Nanos::from_millis(i);
            growing.add(&record);
        }
        let text = exposition(RunState::Running, &growing.measured(), None);
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name}: {text}"))
                .trim()
                .to_owned()
        };
        assert_eq!(
            value("iosonar_run_info{name=\"a \\\"run\\\" \\\\ of\\ntwo lines\",state=\"running\"}"),
            "1"
        );
        assert_eq!(value("iosonar_requests_total{outcome=\"done\"}"), "3960");
        assert_eq!(value("iosonar_requests_total{outcome=\"failed\"}"), "40");
        let bucket = |le: &str| {
            let name = format!("iosonar_latency_seconds_bucket{{op=\"read\",le=\"{le}\"}}");
            value(&name).parse::<f64>().unwrap()
        };
        assert_eq!(bucket("0.00002"), 0.0);
        // 30 to 50 us are 21 of 40; the histogram knows them to less than 1 %.
        assert!(
            (bucket("0.00005") - 3960.0 * 21.0 / 40.0).abs() < 120.0,
            "{text}"
        );
        assert_eq!(bucket("0.0001"), 3960.0);
        assert_eq!(bucket("+Inf"), 3960.0);
        let sum: f64 = value("iosonar_latency_seconds_sum{op=\"read\"}")
            .parse()
            .unwrap();
        assert!((sum / 3960.0 - 49.5e-6).abs() < 1e-6, "{sum}");
        // Some requests have no time.
        assert_eq!(value("iosonar_target_met{target=\"p50 < 1 ms\"}"), "NaN");
        assert_eq!(value("iosonar_keeps_up"), "1");
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let growing = Growing::new("a run", &LookOptions::default());
        let text = exposition(RunState::Waiting, &growing.measured(), None);
        for name in ["iosonar_in_flight", "iosonar_delayed", "iosonar_keeps_up"] {
            assert!(text.contains(&format!("\n{name} NaN\n")), "{name}: {text}");
        }
    }

    #[test]
    fn a_target_is_one_where_it_is_met_and_zero_where_it_is_missed() {
        let targets = ["p50 < 1ms", "latency p50 < 10us"];
        let options = LookOptions {
            targets: targets.map(|of| of.parse().unwrap()).to_vec(),
            ..LookOptions::default()
        };
        let mut growing = Growing::new("a run", &options);
        for i in 0..50_000 {
            let outcome = Outcome::done(Nanos::from_micros(3), Nanos::from_micros(30 + i * 7 % 40));
            let mut record = Record {
                outcome,
                ..Record::default()
            };
            record.request.start = Nanos::from_millis(i);
            growing.add(&record);
        }
        let text = exposition(RunState::Complete, &growing.measured(), None);
        let lines: Vec<&str> = text
            .lines()
            .filter(|of| of.starts_with("iosonar_target_met"))
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].ends_with(" 1") && lines[1].ends_with(" 0"),
            "{lines:?}"
        );
    }
}
