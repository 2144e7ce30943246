//! What the figures of a page rest on: where each input comes from, and what is not in it.

use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_plot::counted;

use crate::measure::{Failure, Measured, Quantity};
use crate::words::{joined, remark};

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind<'a> {
    /// Of this scenario.
    Simulation(&'a str),
    /// Of this load.
    Replay(&'a str),
    /// Of these devices.
    Recording(&'a str),
    /// Nothing of it was measured.
    Load,
    /// All of its requests failed, as many as this.
    Failed(u64),
    /// The file does not say.
    Unknown,
}

impl<'a> Kind<'a> {
    fn of(input: &'a Measured) -> Self {
        let about = &input.metadata().about;
        let says = |key: &str| about.get(key).map(String::as_str);
        // The records of a simulation or a replay also carry what their load said of itself.
        if let Some(scenario) = says("simulated") {
            Self::Simulation(scenario)
        } else if let Some(load) = says("replayed") {
            Self::Replay(load)
        } else if let Some(devices) = says("recorded") {
            Self::Recording(devices)
        } else if input.longest(Quantity::Latency).is_none() {
            match input.failed() {
                0 => Self::Load,
                failed => Self::Failed(failed),
            }
        } else {
            Self::Unknown
        }
    }
}

/// What is to be known of an input, a sentence each.
pub(super) fn sentences(input: &Measured) -> Vec<String> {
    let mut all = vec![what(input)];
    all.extend(files(input));
    all.extend(not_recorded(input));
    all.extend(left_out(input));
    all.extend(further(input));
    all
}

fn what(input: &Measured) -> String {
    let about = &input.metadata().about;
    let with = |key: &str, word: &str| {
        let value = about.get(key);
        value.map_or_else(String::new, |value| format!(", {word} {value}"))
    };
    match Kind::of(input) {
        Kind::Simulation(scenario) => {
            format!("A simulation: {scenario}{}.", with("seed", "seed"))
        }
        Kind::Replay(load) => format!(
            "A replay of {load}{}{}{}.",
            with("target", "on"),
            with("host", "host"),
            with("kernel", "kernel")
        ),
        Kind::Recording(devices) => format!("A recording of {devices}."),
        Kind::Load => "A load: none of its requests has a measured time.".to_owned(),
        Kind::Failed(n) => format!(
            "Records without a completed request: {} failed, and their times are left out.",
            counted(n, ["request", "requests"])
        ),
        Kind::Unknown => {
            "Records with measured times; the file does not show whether they come from \
                          a recording, a replay or a simulation."
                .to_owned()
        }
    }
}

fn files(input: &Measured) -> Option<String> {
    let origin = input.origin();
    let of = |(path, format): &(String, Option<&str>)| match format {
        Some(format) => format!("{path} (format {format})"),
        None => path.clone(),
    };
    let files: Vec<String> = origin.files.iter().map(of).collect();
    if files.is_empty() {
        return None;
    }
    let changes = match origin.changes.is_empty() {
        true => String::new(),
        false => format!(", changed by {}", origin.changes.join(" ")),
    };
    Some(format!("Read from {}{changes}.", joined(&files)))
}

fn not_recorded(input: &Measured) -> Option<String> {
    let mut missing = Vec::new();
    if input.timed() == 0 && input.failed() == 0 {
        missing.push("latencies");
    }
    if !matches!(Kind::of(input), Kind::Simulation(_)) && input.delays() == 0 {
        let is_judged = input.options().targets.iter().any(is_of_response_time);
        missing.push(match is_judged {
            true => "start delays (so response-time targets are judged by the latency)",
            false => "start delays",
        });
    }
    if input.metadata().origin_ns.is_none() {
        missing.push("the time of day");
    }
    (!missing.is_empty()).then(|| format!("Not recorded: {}.", missing.join("; ")))
}

fn is_of_response_time(target: &Objective) -> bool {
    target.quantity == Quantity::ResponseTime && target.statistic != Statistic::Throughput
}

/// Requests without a latency, and what the reader skipped or changed.
fn left_out(input: &Measured) -> Vec<String> {
    let mut all = Vec::new();
    let n = input.failures().get(&Failure::LeftOut);
    if let Some(n) = n {
        all.push(format!(
            "Left out on purpose: {}.",
            counted(*n, ["request", "requests"])
        ));
    }
    let quantity = input.options().quantity;
    let without = input.without_time(quantity);
    let is_measured = input.longest(quantity).is_some();
    if is_measured && !without.is_empty() {
        all.push(format!(
            "Left out of all {} figures: {without}.",
            quantity.name()
        ));
    }
    let remarks = &input.metadata().remarks;
    all.extend(
        remarks
            .iter()
            .map(|of| format!("Reported while reading: {}.", remark(of))),
    );
    all
}

/// What the file says of itself besides.
fn further(input: &Measured) -> Option<String> {
    const SAID: [&str; 8] = [
        "simulated",
        "seed",
        "replayed",
        "target",
        "host",
        "kernel",
        "recorded",
        "tool",
    ];
    let about = input.metadata().about.iter();
    let rest = about.filter(|(key, _)| !SAID.contains(&key.as_str()));
    let rest: Vec<String> = rest.map(|(key, value)| format!("{key}: {value}")).collect();
    (!rest.is_empty()).then(|| format!("From the header of the file: {}.", rest.join("; ")))
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Metadata, Outcome, Record, Status};
    use iosonar_units::Nanos;

    use super::*;
    use crate::measure::{Look, LookOptions, Origin};
    use crate::{CATALOGUE, needs_of};

    fn of(about: &[(&str, &str)], outcomes: &[Outcome]) -> String {
        let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
        for outcome in outcomes {
            look.add(&Record {
                outcome: *outcome,
                ..Record::default()
            });
        }
        let mut metadata = Metadata::default();
        for (key, value) in about {
            metadata
                .about
                .insert((*key).to_owned(), (*value).to_owned());
        }
        metadata.remark(
            iosonar_trace::RemarkKind::Skipped,
            ["row skipped", "rows skipped"],
            || "line 7".to_owned(),
        );
        look.about(&metadata);
        look.origin(Origin {
            files: vec![("a.ios".to_owned(), Some("ios"))],
            changes: vec!["--ops read".to_owned()],
        });
        sentences(&look.finish()).join(" ")
    }

    #[test]
    fn an_input_is_what_its_file_says_and_what_is_missing_is_named() {
        let done = Outcome::done(Nanos::ZERO, Nanos::SECOND);
        let late_unknown = Outcome {
            delay: None,
            ..done
        };
        let simulated = of(
            &[("recorded", "sda"), ("simulated", "disk"), ("seed", "7")],
            &[done],
        );
        assert!(simulated.starts_with(
            "A simulation: disk, seed 7. Read from a.ios (format ios), changed by --ops read."
        ));
        assert!(
            simulated.contains("Not recorded: the time of day."),
            "{simulated}"
        );
        assert!(
            simulated.contains("Reported while reading: 1 row skipped (the first: line 7)."),
            "{simulated}"
        );
        let replayed = of(&[("replayed", "x"), ("target", "/dev/sdz")], &[done]);
        assert!(
            replayed.starts_with("A replay of x, on /dev/sdz."),
            "{replayed}"
        );
        let recorded = of(&[("recorded", "sda")], &[late_unknown]);
        assert!(
            recorded.contains("Not recorded: start delays"),
            "{recorded}"
        );
        let load = of(&[], &[Outcome::default()]);
        assert!(load.starts_with("A load: none"), "{load}");
        assert!(load.contains("Not recorded: latencies"), "{load}");
        let failed = Outcome {
            status: Status::Error(5),
            ..done
        };
        let failed = of(&[], &[failed, failed]);
        assert!(
            failed.starts_with(
                "Records without a completed request: 2 requests failed, and their times are left out."
            ),
            "{failed}"
        );
        assert!(!failed.contains("latencies"), "{failed}");
        let unknown = of(
            &[],
            &[
                late_unknown,
                Outcome {
                    status: Status::Skipped,
                    ..Outcome::default()
                },
            ],
        );
        assert!(
            unknown.starts_with("Records with measured times"),
            "{unknown}"
        );
        assert!(
            unknown.contains("Left out on purpose: 1 request."),
            "{unknown}"
        );
    }
}
