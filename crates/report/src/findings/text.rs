//! The words of findings.

use std::fmt::{self, Display};

use iosonar_plot::{Unit, significant};
use iosonar_units::Nanos;

use super::{Finding, Of, SAME, Threshold};
use crate::page::conclusion::per_second;
use crate::words::times;

/// Shares of starts below the one before: at least this is random, at most that sequential.
const RANDOM: f64 = 0.4;
const SEQUENTIAL: f64 = 0.1;
/// The largest share of time that is a part of it rather than all of it.
const CONCENTRATED: f64 = 0.25;
/// Slow requests come in one stretch if four fifths of them start within this share of the time.
const ONE_STRETCH: f64 = 0.5;

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs {
                p,
                slow,
                fast,
                inputs,
            } => differs(f, *p, [slow, fast], *inputs),
            Self::Alike { p, inputs: [a, b] } => write!(
                f,
                "{} of {} ({}) and of {} ({}) do not differ significantly.",
                percentile(*p),
                a.name,
                a.value,
                b.name,
                b.value
            ),
            Self::Tail { median, p99 } => {
                let ratio = times(median.as_secs_f64(), p99.as_secs_f64());
                write!(
                    f,
                    "1 % of the requests took longer than {p99}, {ratio} the median of {median}."
                )
            }
            Self::Slow {
                above,
                threshold,
                busiest,
                stretch,
                ..
            } => slow_requests(f, (*above, *threshold), *busiest, *stretch),
            Self::Pace(text) | Self::Targets(text) => f.write_str(text),
            Self::Rates { high, low } => rates_of(f, high, low),
            Self::InFlight { most, fewest } => in_flight_of(f, most, fewest),
            Self::Size { bytes, share } => write!(
                f,
                "The most common size is {}: {} of the requests.",
                Unit::Bytes.text(*bytes),
                percent(*share)
            ),
            Self::Half(share) => write!(
                f,
                "Half of the requests start in {} of the accessed range.",
                percent(*share)
            ),
            Self::Hot { pages, accesses } => write!(
                f,
                "The hottest {} of the pages receive {} of the accesses.",
                percent(*pages),
                percent(*accesses)
            ),
            Self::NoRepetition => f.write_str(
                "No page is accessed twice: a cache for this load alone would have no hits.",
            ),
            Self::WorkingSet { all, most, within } => write!(
                f,
                "{} of distinct data are accessed in total, and at most {} in {within}.",
                Unit::Bytes.text(*all),
                Unit::Bytes.text(*most)
            ),
            Self::Turns(share) => order(f, *share),
            Self::Busy(share) => write!(
                f,
                "The device had a request in flight for {} of the time.",
                percent(*share)
            ),
            Self::Unequal { most, least } => shares_of_time(f, most, least),
        }
    }
}

fn differs(
    f: &mut fmt::Formatter<'_>,
    p: f64,
    [slow, fast]: [&Of<Nanos>; 2],
    inputs: usize,
) -> fmt::Result {
    let ratio = times(fast.value.as_secs_f64(), slow.value.as_secs_f64());
    let (p, a, b) = (percentile(p), slow.value, fast.value);
    let (slow, fast) = (&slow.name, &fast.name);
    match inputs {
        2 => write!(
            f,
            "{p} of {slow} is {ratio} that of {fast} ({a} against {b})."
        ),
        n => write!(
            f,
            "Of {n} inputs, {slow} has the highest {p} ({a}), {ratio} that of {fast}, which has the lowest ({b})."
        ),
    }
}

fn slow_requests(
    f: &mut fmt::Formatter<'_>,
    (above, threshold): (Nanos, Threshold),
    busiest: f64,
    stretch: Option<f64>,
) -> fmt::Result {
    let (when, share) = if let Some(stretch) = stretch.filter(|share| *share <= ONE_STRETCH) {
        ("come in one stretch", stretch)
    } else if busiest <= CONCENTRATED {
        ("come in bursts", busiest)
    } else {
        ("are spread over time", busiest)
    };
    let share = percent(share);
    let why = match threshold {
        Threshold::P99 => "the p99",
        Threshold::TenMedians => "10 times the median",
    };
    write!(
        f,
        "Slow requests {when}: 80 % of those above {above} ({why}) start in {share} of the time."
    )
}

fn rates_of(f: &mut fmt::Formatter<'_>, high: &Of<f64>, low: &Of<f64>) -> fmt::Result {
    let (a, b) = (per_second(high.value), per_second(low.value));
    let ratio = times(low.value, high.value);
    match high.value / low.value < SAME {
        true => write!(
            f,
            "All inputs completed the same number of requests per second within 1 % ({b} to {a})."
        ),
        false => write!(
            f,
            "{} completed {ratio} as many requests per second as {} ({a} against {b}).",
            high.name, low.name
        ),
    }
}

fn in_flight_of(f: &mut fmt::Formatter<'_>, most: &Of<f64>, fewest: &Of<f64>) -> fmt::Result {
    let ratio = times(fewest.value, most.value);
    let figure = |value| Unit::Number.text(value);
    write!(
        f,
        "On average {} had {ratio} as many requests in flight as {} ({} against {}).",
        most.name,
        fewest.name,
        figure(most.value),
        figure(fewest.value)
    )
}

fn order(f: &mut fmt::Formatter<'_>, turns: f64) -> fmt::Result {
    let kind = match turns {
        RANDOM.. => "nearly random",
        SEQUENTIAL.. => "partly sequential",
        _ => "nearly sequential",
    };
    let share = percent(turns);
    write!(
        f,
        "The order is {kind}: {share} of the requests start at a lower position than the previous one."
    )
}

fn shares_of_time(f: &mut fmt::Formatter<'_>, most: &Of<f64>, least: &Of<f64>) -> fmt::Result {
    let (a, b) = (percent(most.value), percent(least.value));
    match most.value / least.value < SAME {
        true => write!(f, "All devices are equally busy ({b} to {a} of the time)."),
        false => write!(
            f,
            "{} is the busiest device ({a} of the time), {} the least busy ({b}).",
            most.name, least.name
        ),
    }
}

/// `p99`, `p99.9`.
fn percentile(p: f64) -> String {
    format!("p{}", (p * 1e8).round() / 1e6)
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 2))
}
