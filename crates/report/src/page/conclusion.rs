//! What a page begins with: what was measured, how long it took, and whether the load was kept up with.

use iosonar_plot::{counted, grouped};
use iosonar_units::Nanos;

use crate::measure::{Failure, Measured, Quantity};
use crate::words::{joined, quantile};

/// Whether the load was kept up with, from the records alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// There is no request.
    Empty,
    /// No request has a measured time.
    Unmeasured,
    /// The delays are known: the shares of requests that were submitted more than 100 us, 1 ms and 1 s late although no
    /// other held them back, and the longest delay.
    Delayed {
        /// Whether the file says that it is a replay; delays of kernel events are those of a scheduler.
        is_replay: bool,
        lateness: Lateness,
        shares: [f64; 3],
        longest: Nanos,
        /// Requests of the load that were never submitted, as it ended early.
        never_submitted: u64,
    },
    /// A simulation or a recording, whose requests start when they were submitted: how many were not complete when the
    /// last one was due, of how many, and the most that were in flight.
    Backlog {
        submitted: Submitted,
        most_in_flight: u64,
        unfinished: u64,
        of: u64,
        fell_behind: bool,
    },
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
            return Self::Unmeasured;
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
                    never_submitted: count(input, Failure::NeverStarted),
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
            fell_behind: has_fallen_behind(input, unfinished),
        }
    }

    /// Whether nothing speaks against what was measured.
    pub(super) fn is_good(self) -> bool {
        match self {
            Self::Empty | Self::Unmeasured => false,
            Self::Delayed {
                lateness,
                never_submitted,
                ..
            } => lateness == Lateness::InTime && never_submitted == 0,
            Self::Backlog { fell_behind, .. } => !fell_behind,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Empty => "The input has no requests.".to_owned(),
            Self::Unmeasured => {
                "No request has a latency: this is a load, or no request completed.".to_owned()
            }
            Self::Delayed {
                is_replay,
                lateness,
                shares,
                longest,
                never_submitted,
            } => {
                let [a, b, c] = shares.map(percent);
                let shares = format!(
                    "{a} of the requests were submitted more than 100 µs late, {b} more than 1 ms, {c} more than 1 s; \
                     the longest delay was {longest}"
                );
                match (lateness, is_replay) {
                    (Lateness::InTime, true) if never_submitted > 0 => format!(
                        "The replay kept up, but ended early: {} never submitted; of the others, \
                         {shares}.",
                        counted(never_submitted, ["request was", "requests were"])
                    ),
                    (Lateness::InTime, true) => format!("The replay kept up: {shares}."),
                    (Lateness::InTime, false) => {
                        format!("Requests were submitted on time: {shares}.")
                    }
                    (Lateness::Late, true) => format!(
                        "The replay was late: {shares}. Either the device or the machine running the replay did not \
                         keep up."
                    ),
                    (Lateness::Overloaded, true) => format!("The replay was overloaded: {shares}."),
                    (Lateness::Late | Lateness::Overloaded, false) => {
                        format!("Requests were submitted late: {shares}.")
                    }
                }
            }
            Self::Backlog {
                submitted,
                most_in_flight,
                unfinished,
                of,
                fell_behind,
            } => {
                let backlog = format!(
                    "at most {} in flight, and {} of {} ({}) were incomplete when the last request was due",
                    grouped(most_in_flight),
                    grouped(unfinished),
                    grouped(of),
                    percent(unfinished as f64 / of.max(1) as f64)
                );
                let delays = match submitted {
                    Submitted::Simulated => {
                        return match fell_behind {
                            false => format!("No backlog was left: {backlog}."),
                            true => format!(
                                "The simulated system did not keep up: {backlog}, so the latencies \
                                 depend on the length of the load."
                            ),
                        };
                    }
                    Submitted::NeverLate => "no request was submitted late",
                    Submitted::Unknown => "start delays were not recorded",
                };
                match fell_behind {
                    false => format!("No backlog was left: {backlog}; {delays}."),
                    true => format!("A backlog built up: {backlog}; {delays}."),
                }
            }
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
/// in equilibrium, or a closed loop, stays near it.
fn has_fallen_behind(input: &Measured, unfinished: u64) -> bool {
    const FEWEST: u64 = 10;
    if unfinished < FEWEST {
        return false;
    }
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

/// A share to the hundredth of a percent; what is less is not zero.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        ..0.01 => "less than 0.01 %".to_owned(),
        percent => format!("{percent:.2} %"),
    }
}

/// A rate, in a short form.
pub(crate) fn per_second(rate: f64) -> String {
    match rate {
        ..100.0 => format!("{rate:.1}/s"),
        _ => format!("{}/s", grouped(rate.round() as u64)),
    }
}

/// Whether the load was kept up with, in a sentence; `None` where nothing was measured.
pub(crate) fn pace(input: &Measured) -> Option<String> {
    match Pace::of(input) {
        Pace::Empty | Pace::Unmeasured => None,
        pace => Some(pace.text()),
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
    use iosonar_trace::{Metadata, Outcome, Record, Request, Status};
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
            never_submitted: 4000,
        };
        assert!(!pace.is_good());
        assert!(
            pace.text()
                .starts_with("The replay kept up, but ended early: 4 000 requests")
        );
    }

    #[test]
    fn a_queue_that_grows_is_a_backlog_and_one_that_is_deep_from_the_start_is_none() {
        let is_behind = |latency: fn(u64) -> u64| {
            let input = measured("simulated", (0..2000).map(|i| (Some(0), latency(i))));
            match Pace::of(&input) {
                Pace::Backlog { fell_behind, .. } => fell_behind,
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
                "No backlog was left: at most 1 in flight, and 1 of 2 000 (0.05 %) were incomplete \
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
        let said = sentences(&look.finish()).join(" ");
        assert!(
            said.starts_with("50 requests, including 2 failed, in 500 µs"),
            "{said}"
        );
        assert!(
            said.contains("p99 of ~500 µs (too few requests to be reliable)"),
            "{said}"
        );
    }
}
