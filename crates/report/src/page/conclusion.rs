//! What a page begins with: what was measured, how long it took, and whether the load was kept up with.

use iosonar_plot::{counted, grouped};
use iosonar_trace::{Metadata, Notice, Outcome, Status};
use iosonar_units::Nanos;

use crate::measure::seen::Delays;
use crate::measure::{Failure, Measured, Quantity};
use crate::words::{joined, quantile};

/// Whether the load was kept up with, from the records alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// There is no request.
    Empty,
    /// No request has a measured time.
    Unmeasured,
    /// No request was completed: the number that failed, of those that were submitted.
    Failed { failed: u64, of: u64 },
    /// The delays are known: the shares of requests that were submitted more than 100 us, 1 ms and 1 s late although no
    /// other held them back, and the longest delay.
    Delayed {
        /// Whether the file says that it is a replay; delays of kernel events are those of a scheduler.
        is_replay: bool,
        lateness: Lateness,
        shares: [f64; 3],
        longest: Nanos,
        /// Requests of the load that are in none of the shares.
        absent: Absent,
    },
    /// A simulation or a recording, whose requests start when they were submitted: how many were not complete when the
    /// last one was due, of how many, and the most that were in flight.
    Backlog {
        submitted: Submitted,
        most_in_flight: u64,
        unfinished: u64,
        of: u64,
        backlog: Backlog,
    },
}

/// Requests of a load that were not submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Absent {
    /// The replay ended early.
    never_submitted: u64,
    /// Left out on purpose.
    left_out: u64,
}

/// Whether requests were waiting when the last one was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    /// Few of all, or as many as at any time, as in a closed loop.
    None,
    /// A large share, but of too few requests to follow anything from it.
    Unclear,
    /// A large share of all, and not as many as at any time, so that what was completed meanwhile was much less than what
    /// was demanded.
    Left,
    /// Many more than in the first half of the load.
    Grew,
}

/// Why nothing was submitted late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submitted {
    /// A simulation submits when requests are due.
    Simulated,
    /// All delays are zero, which no replay has: it is a simulation or a recording that says so of itself nowhere.
    NeverLate,
    /// It was not recorded when requests were due.
    Unknown,
}

/// How the requests of a file were submitted: whether it is a replay that did not do so on time.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    is_replay: bool,
    delays: Delays,
    never_submitted: u64,
    submitted: u64,
    failed: u64,
    fakes: Vec<String>,
}

impl Submission {
    /// Adds a request.
    pub fn push(&mut self, outcome: &Outcome) {
        self.never_submitted += u64::from(outcome.status == Status::Missed);
        self.submitted += u64::from(outcome.status.was_submitted());
        self.failed += u64::from(outcome.status.has_failed());
        if let Some(delay) = outcome.delay.filter(|_| outcome.status.is_timed()) {
            self.delays.push(delay, outcome.pushed_back);
        }
    }

    /// What a file says of itself; of several, one replay is enough.
    pub fn about(&mut self, metadata: &Metadata) {
        self.is_replay |=
            metadata.about.contains_key("replayed") && !metadata.about.contains_key("simulated");
        for why in Notice::fakes(&metadata.notices) {
            if !self.fakes.iter().any(|known| known == why) {
                self.fakes.push(why.to_owned());
            }
        }
    }

    /// How many requests failed, of how many that were submitted; `None` if none did. They have no times.
    pub fn failed(&self) -> Option<(u64, u64)> {
        (self.failed > 0).then_some((self.failed, self.submitted))
    }

    /// Why its times are not those of storage; empty where the file does not say so.
    pub fn fakes(&self) -> &[String] {
        &self.fakes
    }

    /// Why its times are not those of the whole load as it was demanded; empty where nothing speaks against it.
    pub fn flaws(&self) -> Vec<SubmissionFlaw> {
        if !self.is_replay {
            return Vec::new();
        }
        let lateness = match Lateness::of(self.delays.late, self.delays.count) {
            Lateness::InTime => None,
            Lateness::Late => Some(SubmissionFlaw::Late),
            Lateness::Overloaded => Some(SubmissionFlaw::Overloaded),
        };
        let requests = self.never_submitted;
        let early = (requests > 0).then_some(SubmissionFlaw::NeverSubmitted { requests });
        lateness.into_iter().chain(early).collect()
    }
}

/// Why the times of a replay are not those of the whole load as it was demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionFlaw {
    /// More requests than chance explains were submitted late.
    Late,
    /// A request was submitted more than a second late.
    Overloaded,
    /// It ended before these requests were submitted.
    NeverSubmitted {
        /// How many.
        requests: u64,
    },
}

/// How late requests were submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lateness {
    InTime,
    Late,
    Overloaded,
}

impl Pace {
    pub(super) fn of(input: &Measured) -> Self {
        if input.records() == 0 {
            return Self::Empty;
        }
        if input.longest(Quantity::Latency).is_none() {
            return match input.failed() {
                0 => Self::Unmeasured,
                failed => Self::Failed {
                    failed,
                    of: input.records() - not_submitted(input),
                },
            };
        }
        let is_simulated = input.metadata().about.contains_key("simulated");
        let (late, of) = input.lateness();
        let never_late = input
            .longest(Quantity::Delay)
            .is_none_or(|d| d == Nanos::ZERO);
        let submitted = match (is_simulated, of > 0) {
            (true, _) => Submitted::Simulated,
            (false, true) if never_late => Submitted::NeverLate,
            (false, true) => {
                return Self::Delayed {
                    is_replay: input.metadata().about.contains_key("replayed"),
                    lateness: Lateness::of(late, of),
                    shares: late.map(|n| n as f64 / of as f64),
                    longest: input.longest(Quantity::Delay).unwrap_or_default(),
                    absent: Absent {
                        never_submitted: count(input, Failure::NeverStarted),
                        left_out: count(input, Failure::LeftOut),
                    },
                };
            }
            (false, false) => Submitted::Unknown,
        };
        let outcome = input.outcome();
        let unfinished = outcome.map_or(0, |outcome| outcome.unfinished);
        let of = input.records() - not_submitted(input);
        Self::Backlog {
            submitted,
            most_in_flight: outcome.map_or(0, |outcome| outcome.most_in_flight),
            unfinished,
            of,
            backlog: Backlog::of(input, unfinished, of),
        }
    }

    /// Whether nothing speaks against what was measured.
    pub(super) fn is_good(self) -> bool {
        match self {
            Self::Empty | Self::Unmeasured | Self::Failed { .. } => false,
            Self::Delayed {
                lateness, absent, ..
            } => lateness == Lateness::InTime && absent.never_submitted == 0,
            Self::Backlog { backlog, .. } => backlog == Backlog::None,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Empty => "The input has no requests.".to_owned(),
            Self::Unmeasured => {
                "No request has a latency: this is a load, or no request completed.".to_owned()
            }
            Self::Failed { failed, of } if failed == of => {
                let all = match of {
                    1 => "The only request".to_owned(),
                    n => format!("All {} requests", grouped(n)),
                };
                format!("{all} failed; the times of failed requests are left out of all figures.")
            }
            Self::Failed { failed, of } => format!(
                "No request was completed: {} of {} failed.",
                grouped(failed),
                grouped(of)
            ),
            Self::Delayed {
                is_replay,
                lateness,
                shares,
                longest,
                absent,
            } => delayed((is_replay, lateness), shares, longest, absent),
            Self::Backlog {
                submitted,
                most_in_flight,
                unfinished,
                of,
                backlog,
            } => {
                let counts = format!(
                    "at most {} in flight, and {} of {} ({}) {} incomplete when the last request was due",
                    grouped(most_in_flight),
                    grouped(unfinished),
                    grouped(of),
                    percent(unfinished as f64 / of.max(1) as f64),
                    if unfinished == 1 { "was" } else { "were" }
                );
                backlog.text(submitted, &counts)
            }
        }
    }
}

/// How late requests were, of those that were submitted.
fn delayed(
    (is_replay, lateness): (bool, Lateness),
    shares: [f64; 3],
    longest: Nanos,
    absent: Absent,
) -> String {
    let all = absent == Absent::default();
    let [a, b, c] = shares.map(percent);
    let whose = match all {
        true => " of the requests",
        false => "",
    };
    let shares = format!(
        "{a}{whose} were submitted more than 100 µs late, {b} more than 1 ms, {c} more than 1 s; \
         the longest delay was {longest}"
    );
    let ended = absent.never_submitted > 0;
    let head = match (lateness, is_replay) {
        (Lateness::InTime, true) if ended => "The replay kept up, but ended early",
        (Lateness::InTime, true) if absent.left_out > 0 => {
            "The replay kept up with the requests that it submitted"
        }
        (Lateness::InTime, true) => "The replay kept up",
        (Lateness::Late, true) if ended => "The replay was late, and ended early",
        (Lateness::Late, true) => "The replay was late",
        (Lateness::Overloaded, true) if ended => "The replay was overloaded, and ended early",
        (Lateness::Overloaded, true) => "The replay was overloaded",
        (Lateness::InTime, false) => "Requests were submitted on time",
        (Lateness::Late | Lateness::Overloaded, false) => "Requests were submitted late",
    };
    let why = match (lateness, is_replay) {
        (Lateness::Late, true) => {
            " Either the device or the machine running the replay did not keep up."
        }
        _ => "",
    };
    if all {
        return format!("{head}: {shares}.{why}");
    }
    let absent = [
        (absent.never_submitted, "never submitted"),
        (absent.left_out, "left out on purpose"),
    ];
    let absent = absent.iter().filter(|(n, _)| *n > 0);
    let absent: Vec<String> = absent
        .map(|(n, what)| format!("{} {what}", counted(*n, ["request was", "requests were"])))
        .collect();
    format!("{head}: {}; of the others, {shares}.{why}", joined(&absent))
}

impl Backlog {
    fn of(input: &Measured, unfinished: u64, of: u64) -> Self {
        const FEWEST: u64 = 10;
        /// What is completed of the demand while it comes, at the least, by a system that keeps up.
        const LEAST_COMPLETED: f64 = 0.9;
        /// How many times as many must have been completed before a constant number in flight shows a closed loop: a
        /// burst that is followed by a few requests has one, too.
        const FEWEST_TURNS: u64 = 2;
        // The last request is never complete when it is due.
        let is_large =
            (unfinished > 1 || of == 1) && unfinished as f64 > (1.0 - LEAST_COMPLETED) * of as f64;
        match unfinished >= FEWEST {
            true if has_grown(input, unfinished) => Self::Grew,
            true if is_large && is_steady(input, unfinished) => {
                match of.saturating_sub(unfinished) >= FEWEST_TURNS * unfinished {
                    true => Self::None,
                    false => Self::Unclear,
                }
            }
            true if is_large => Self::Left,
            false if is_large => Self::Unclear,
            _ => Self::None,
        }
    }

    /// The verdict on a backlog with these counts.
    fn text(self, submitted: Submitted, counts: &str) -> String {
        let delays = match submitted {
            Submitted::Simulated => "",
            Submitted::NeverLate => "; no request was submitted late",
            Submitted::Unknown => "; start delays were not recorded",
        };
        match (self, submitted) {
            (Self::None, _) => format!("No backlog was left: {counts}{delays}."),
            (Self::Unclear, _) => {
                format!("There are too few requests to judge the backlog: {counts}{delays}.")
            }
            (Self::Left, _) => format!(
                "A backlog was left: {counts}, so the latencies may depend on the length of the load{delays}."
            ),
            (Self::Grew, Submitted::Simulated) => format!(
                "The simulated system did not keep up: {counts}, so the latencies depend on the length of the load."
            ),
            (Self::Grew, _) => format!("A backlog built up: {counts}{delays}."),
        }
    }
}

impl Lateness {
    /// Late is beyond what chance explains of 1 % of the requests more than 100 us late, or of 0.1 % more than 1 ms, by
    /// three standard deviations of the count, as a replay judges itself.
    fn of(late: [u64; 3], of: u64) -> Self {
        let exceeds = |n: u64, limit: f64| {
            let expected = limit * of as f64;
            n as f64 > expected + 3.0 * expected.sqrt()
        };
        if late[2] > 0 {
            Self::Overloaded
        } else if exceeds(late[0], 0.01) || exceeds(late[1], 0.001) {
            Self::Late
        } else {
            Self::InTime
        }
    }
}

/// Requests that the device never saw.
fn not_submitted(input: &Measured) -> u64 {
    let of = [Failure::LeftOut, Failure::NeverStarted, Failure::Dropped];
    of.map(|failure| count(input, failure)).iter().sum()
}

fn count(input: &Measured, failure: Failure) -> u64 {
    input.failures().get(&failure).copied().unwrap_or_default()
}

/// Whether requests piled up: when the last one was due, at least twice as many were not complete as were in flight or
/// late on average in the first half of the load. A queue that grows evenly reaches four times that average; one that is
/// in equilibrium, or a closed loop, stays near it. One that is overloaded from the start does so too, and shows in
/// the share that is not complete.
fn has_grown(input: &Measured, unfinished: u64) -> bool {
    let Some(outcome) = input.outcome() else {
        return false;
    };
    let (first, last, _) = input.span();
    let middle = Nanos::new(first.get().midpoint(last.get()));
    let (mut sum, mut windows) = (0.0, 0.0);
    for (begin, point) in outcome.timeline.points() {
        if begin < middle {
            sum += point.in_flight + point.delayed;
            windows += 1.0;
        }
    }
    windows > 0.0 && unfinished as f64 >= 2.0 * sum / windows
}

/// Whether about as many requests were in flight, or late, in the first tenth of the load as when the last one was due,
/// and never many more: the number of a closed loop, which is no backlog.
fn is_steady(input: &Measured, unfinished: u64) -> bool {
    const ABOUT: f64 = 0.8;
    let Some(outcome) = input.outcome() else {
        return false;
    };
    let (first, last, _) = input.span();
    let span = last.saturating_sub(first);
    let tenth = first.saturating_add(Nanos::new(span.get() / 10));
    let beginning = outcome.timeline.points();
    let beginning = beginning.take_while(|(begin, _)| *begin < tenth);
    let at_first = beginning.map(|(_, point)| point.most_in_flight + point.most_delayed);
    let is_about = |less: u64, more: u64| less as f64 >= ABOUT * more as f64;
    is_about(at_first.max().unwrap_or(0), unfinished)
        && is_about(unfinished, outcome.most_in_flight)
}

/// A share to the hundredth of a percent; what is less is not zero.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        ..0.01 => "less than 0.01 %".to_owned(),
        percent => format!("{percent:.2} %"),
    }
}

/// A rate, in a short form.
pub fn per_second(rate: f64) -> String {
    match rate {
        ..100.0 => format!("{rate:.1}/s"),
        _ => format!("{}/s", grouped(rate.round() as u64)),
    }
}

/// Whether the load was kept up with, in a sentence, after one about requests that failed; `None` where nothing was measured.
pub(crate) fn pace(input: &Measured) -> Option<String> {
    let text = match Pace::of(input) {
        Pace::Empty | Pace::Unmeasured | Pace::Failed { .. } => return None,
        pace => pace.text(),
    };
    match input.failed() {
        0 => Some(text),
        failed => Some(format!(
            "{} of {} failed. {text}",
            grouped(failed),
            counted(
                input.records() - not_submitted(input),
                ["request", "requests"]
            )
        )),
    }
}

/// An input in one to three sentences.
pub(super) fn sentences(input: &Measured) -> Vec<String> {
    let pace = Pace::of(input);
    let mut sentences = Vec::new();
    if pace != Pace::Empty {
        sentences.push(amount(input));
    }
    sentences.extend(times(input));
    sentences.push(pace.text());
    sentences
}

/// How many requests in which time, and what share of them are reads.
fn amount(input: &Measured) -> String {
    let mut text = counted(input.records(), ["request", "requests"]);
    let failures = input.failures().iter();
    let failures: Vec<String> = failures
        .map(|(failure, n)| format!("{} {}", grouped(*n), failure.name()))
        .collect();
    if !failures.is_empty() {
        text += &format!(", including {},", joined(&failures));
    }
    let (first, last, _) = input.span();
    match (input.throughput(), input.outcome()) {
        (Some(rate), Some(outcome)) => {
            text += &format!(" in {} ({})", outcome.actual, per_second(rate));
        }
        _ => text += &format!(" due within {}", last.saturating_sub(first)),
    }
    let Some(load) = input.load() else {
        return text + ".";
    };
    let of = [
        (load.reads.requests, "reads"),
        (load.writes.requests, "writes"),
        (load.other.requests, "discards, flushes and others"),
    ];
    let all: u64 = of.iter().map(|(n, _)| n).sum();
    let parts = of.iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts
        .map(|(n, name)| format!("{:.1} % {name}", 100.0 * *n as f64 / all.max(1) as f64))
        .collect();
    format!("{text}: {}.", joined(&parts))
}

/// How long they took.
fn times(input: &Measured) -> Option<String> {
    let quantity = input.options().quantity;
    let all = input.all(quantity);
    let max = all.moments.max()?;
    let with_interval = |p: f64| {
        let value = quantile(&all, p);
        match input.quantile_interval(p) {
            Some((low, high)) => format!("{value} (95 % interval {low} to {high})"),
            None if all.histogram.supports_quantile(p) => value,
            None => format!("{value} (too few requests to be reliable)"),
        }
    };
    Some(format!(
        "The {} has a median of {} and a p99 of {}; the longest is {max}.",
        quantity.name(),
        with_interval(0.5),
        with_interval(0.99),
    ))
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Record, Request};
    use iosonar_units::Sectors;

    use super::*;
    use crate::measure::{Look, LookOptions};
    use crate::{CATALOGUE, needs_of};

    /// Requests every millisecond, with their delays and latencies in microseconds.
    fn measured(origin: &str, outcomes: impl Iterator<Item = (Option<u64>, u64)>) -> Measured {
        let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
        for (i, (delay, latency)) in (0..).zip(outcomes) {
            let done = Outcome::done(Nanos::ZERO, Nanos::from_micros(latency));
            look.add(&Record {
                request: Request {
                    start: Nanos::from_millis(i),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                outcome: Outcome {
                    delay: delay.map(Nanos::from_micros),
                    ..done
                },
            });
        }
        let about = [(origin.to_owned(), "x".to_owned())].into();
        look.about(&Metadata {
            about,
            ..Metadata::default()
        });
        look.finish()
    }

    #[test]
    fn one_request_has_no_rate() {
        let words = |n| sentences(&measured("x", (0..n).map(|_| (None, 500)))).join(" ");
        assert!(words(2).contains("/s)"), "{}", words(2));
        assert!(!words(1).contains("/s)"), "{}", words(1));
    }

    fn lateness(delays: impl Iterator<Item = u64>) -> Lateness {
        match Pace::of(&measured("replayed", delays.map(|d| (Some(d), 500)))) {
            Pace::Delayed { lateness, .. } => lateness,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_replay_is_late_beyond_one_percent_and_what_chance_adds() {
        // Of 2000, 20 are allowed, and 3 * sqrt(20) = 13.4 more are chance.
        assert_eq!(
            lateness((0..2000).map(|i| if i < 33 { 200 } else { 0 })),
            Lateness::InTime
        );
        assert_eq!(
            lateness((0..2000).map(|i| if i < 34 { 200 } else { 0 })),
            Lateness::Late
        );
        assert_eq!(
            lateness((0..2000).map(|i| if i == 7 { 1_000_001 } else { 0 })),
            Lateness::Overloaded
        );
    }

    #[test]
    fn only_what_says_that_it_is_a_replay_is_called_one() {
        let said = |origin: &str, late: u64| {
            let delays = (0..2000).map(|i| (Some(if i < 100 { late } else { 10 }), 500));
            Pace::of(&measured(origin, delays)).text()
        };
        assert!(said("replayed", 20).starts_with("The replay kept up: "));
        assert!(said("replayed", 2_000).starts_with("The replay was late: "));
        assert!(said("start event", 20).starts_with("Requests were submitted on time: "));
        assert!(said("start event", 2_000).starts_with("Requests were submitted late: "));
        let none_late = said("anything", 0);
        assert!(!none_late.contains("The replay"), "{none_late}");
    }

    #[test]
    fn a_replay_that_ended_early_did_not_keep_up_with_all() {
        let pace = Pace::Delayed {
            is_replay: true,
            lateness: Lateness::InTime,
            shares: [0.0; 3],
            longest: Nanos::ZERO,
            absent: Absent {
                never_submitted: 4000,
                left_out: 0,
            },
        };
        assert!(!pace.is_good());
        assert!(
            pace.text()
                .starts_with("The replay kept up, but ended early: 4 000 requests")
        );
    }

    #[test]
    fn shares_of_late_requests_are_of_those_that_were_submitted() {
        let text = |lateness, is_replay, never_submitted, left_out| {
            let absent = Absent {
                never_submitted,
                left_out,
            };
            delayed((is_replay, lateness), [0.5; 3], Nanos::SECOND, absent)
        };
        let shares = "50.00 % were submitted more than 100 µs late, 50.00 % more than 1 ms, 50.00 % more than 1 s; \
                      the longest delay was 1 s.";
        let others = format!("2 requests were never submitted; of the others, {shares}");
        for (lateness, is_replay, head) in [
            (
                Lateness::InTime,
                true,
                "The replay kept up, but ended early",
            ),
            (Lateness::Late, true, "The replay was late, and ended early"),
            (
                Lateness::Overloaded,
                true,
                "The replay was overloaded, and ended early",
            ),
            (Lateness::Late, false, "Requests were submitted late"),
        ] {
            let early = text(lateness, is_replay, 2, 0);
            assert!(early.starts_with(&format!("{head}: {others}")), "{early}");
            let whole = text(lateness, is_replay, 0, 0);
            assert!(whole.contains("50.00 % of the requests were"), "{whole}");
        }
        assert_eq!(
            text(Lateness::InTime, true, 0, 1),
            format!(
                "The replay kept up with the requests that it submitted: 1 request was left out on purpose; \
                 of the others, {shares}"
            )
        );
    }

    #[test]
    fn of_an_overload_from_the_start_a_backlog_is_left() {
        let said = |interval: Nanos, n: u64, latency: fn(u64) -> u64| {
            let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
            for i in 0..n {
                look.add(&Record {
                    request: Request {
                        start: Nanos::new(i * interval.get()),
                        sectors: Sectors::new(8),
                        ..Request::default()
                    },
                    outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(latency(i))),
                });
            }
            look.about(&Metadata {
                about: [("simulated".to_owned(), "x".to_owned())].into(),
                ..Metadata::default()
            });
            let pace = Pace::of(&look.finish());
            (pace.text(), pace.is_good())
        };
        // All at one instant, served one after the other.
        let (text, is_good) = said(Nanos::ZERO, 2000, |i| 1000 * (i + 1));
        assert!(
            text.starts_with(
                "A backlog was left: at most 2 000 in flight, and 2 000 of 2 000 (100.00 %)"
            ),
            "{text}"
        );
        assert!(!is_good);
        // A fifth are in flight from the first ones on: it is not known whether these are all.
        let (text, is_good) = said(Nanos::from_millis(1), 2000, |_| 400_000);
        assert!(text.starts_with("A backlog was left: "), "{text}");
        assert!(!is_good);
        let (text, is_good) = said(Nanos::from_millis(1), 2000, |_| 100_000);
        assert!(text.starts_with("No backlog was left: "), "{text}");
        assert!(is_good);
        let (text, _) = said(Nanos::ZERO, 5, |i| 1000 * (i + 1));
        assert!(
            text.starts_with("There are too few requests to judge the backlog: "),
            "{text}"
        );
    }

    /// Whether a backlog is found of a simulation of requests at these times, in microseconds, with these latencies.
    fn backlog(requests: impl Iterator<Item = (u64, u64)>) -> Backlog {
        let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
        for (start, latency) in requests {
            look.add(&Record {
                request: Request {
                    start: Nanos::from_micros(start),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(latency)),
            });
        }
        look.about(&Metadata {
            about: [("simulated".to_owned(), "x".to_owned())].into(),
            ..Metadata::default()
        });
        match Pace::of(&look.finish()) {
            Pace::Backlog { backlog, .. } => backlog,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_closed_loop_leaves_no_backlog_and_an_overload_does() {
        // One request after the other takes 1 ms of a device; the next one follows as one of 64 completes.
        let closed =
            |n: u64| (0..n).map(|i| ((i + 1).saturating_sub(64) * 1000, 1000 * (i + 1).min(64)));
        assert_eq!(backlog(closed(500)), Backlog::None);
        assert_eq!(backlog(closed(5000)), Backlog::None);
        assert_eq!(backlog(closed(150)), Backlog::Unclear);
        // Demanded twice as fast as served: for the whole load, and for its first quarter.
        assert_eq!(
            backlog((0..2000).map(|i| (500 * i, 1000 + 500 * i))),
            Backlog::Grew
        );
        let then_kept_up = (0..1750).map(|i| match i {
            ..500 => (500 * i, 1000 + 500 * i),
            _ => (1000 * i - 250_000, 251_000),
        });
        assert_eq!(backlog(then_kept_up), Backlog::Left);
        // A burst that is worked off slowly.
        let burst = (0..1500).map(|i| match i {
            ..1000 => (0, 1000 * (i + 1)),
            _ => (2000 * (i - 999), 1000 * (i + 1) - 2000 * (i - 999)),
        });
        assert_eq!(backlog(burst), Backlog::Left);
    }

    #[test]
    fn requests_that_all_failed_are_no_load() {
        let said = |statuses: &[Status]| {
            let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
            for &status in statuses {
                look.add(&Record {
                    outcome: Outcome {
                        status,
                        ..Outcome::done(Nanos::ZERO, Nanos::from_micros(500))
                    },
                    ..Record::default()
                });
            }
            sentences(&look.finish()).join(" ")
        };
        let all = said(&[Status::Error(5); 2]);
        assert!(
            all.ends_with(
                "All 2 requests failed; the times of failed requests are left out of all figures."
            ),
            "{all}"
        );
        assert!(said(&[Status::Error(5), Status::Done]).contains("has a median"));
    }

    #[test]
    fn a_queue_that_grows_is_a_backlog_and_one_that_is_deep_from_the_start_is_none() {
        let is_behind = |latency: fn(u64) -> u64| {
            let input = measured("simulated", (0..2000).map(|i| (Some(0), latency(i))));
            match Pace::of(&input) {
                Pace::Backlog { backlog, .. } => backlog == Backlog::Grew,
                other => panic!("{other:?}"),
            }
        };
        // Served at 10/11 of the rate at which requests come: 9 % are waiting at the end.
        assert!(is_behind(|i| 1000 + i * 100));
        // 5 % are in flight at the end, as at any time.
        assert!(!is_behind(|_| 100_000));
        assert!(!is_behind(|_| 500));
    }

    #[test]
    fn what_is_said_of_a_load_a_recording_and_nothing_at_all() {
        let empty = measured("recorded", std::iter::empty());
        assert_eq!(sentences(&empty), ["The input has no requests."]);
        let recorded = sentences(&measured("recorded", (0..2000).map(|_| (None, 500))));
        assert_eq!(
            recorded,
            [
                "2 000 requests in 2 s (1 000/s): 100.0 % reads.",
                "The latency has a median of 500 µs and a p99 of 500 µs; the longest is 500 µs.",
                "No backlog was left: at most 1 in flight, and 1 of 2 000 (0.05 %) was incomplete \
                 when the last request was due; start delays were not recorded."
            ]
        );
        let mut load = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
        load.add(&Record::default());
        assert!(!Pace::of(&load.finish()).is_good());
    }

    #[test]
    fn failures_are_named_and_too_few_requests_for_a_p99_too() {
        let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
        for i in 0..50 {
            let done = Outcome::done(Nanos::ZERO, Nanos::from_micros(500));
            look.add(&Record {
                outcome: Outcome {
                    status: if i < 2 {
                        Status::Error(5)
                    } else {
                        Status::Done
                    },
                    ..done
                },
                ..Record::default()
            });
        }
        let input = look.finish();
        let said = sentences(&input).join(" ");
        assert!(
            said.starts_with("50 requests, including 2 failed, in 500 µs"),
            "{said}"
        );
        // A chart that shows the pace alone says so first.
        let pace = pace(&input).unwrap();
        assert!(
            pace.starts_with("2 of 50 requests failed. A backlog was left: "),
            "{pace}"
        );
        assert!(
            said.contains("p99 of ~500 µs (too few requests to be reliable)"),
            "{said}"
        );
    }
}
