//! `iosonar replay --find-rate`: the highest rate that a target sustains within a limit.
//!
//! The load is sped up until it is too much, by doubling, then the factor is found by bisection; each
//! try repeats the load as often as is needed to fill its time.

use std::str::FromStr;

use iosonar_replay::safety::Host;
use iosonar_replay::{Load, Options, Summary, Verdict};
use iosonar_stats::Distribution;
use iosonar_trace::Reading;
use iosonar_trace::transform::{Change, Ratio, Repeat, Rounds, beginning};
use iosonar_units::Nanos;
use serde_json::{Value, json};

use super::{Plan, Results, carry_out, usage};
use crate::args::Replay;
use crate::exit::{Ending, note, print};
use crate::json::Output;
use crate::signals;
use crate::table::Table;

/// What must hold for a rate to be sustained, such as `latency p99 < 2ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    quantity: Quantity,
    quantile: f64,
    below: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Latency,
    Delay,
    ResponseTime,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "expected latency, delay or response_time, a quantile and a time, such as 'latency p99<2ms'"
                .to_owned()
        };
        let (what, below) = text.split_once('<').ok_or_else(expected)?;
        let mut words = what.split_whitespace();
        let quantity = match words.next() {
            Some("latency") => Quantity::Latency,
            Some("delay") => Quantity::Delay,
            Some("response_time") => Quantity::ResponseTime,
            _ => return Err(expected()),
        };
        let percent = words.next().and_then(|word| word.strip_prefix('p'));
        let quantile = percent
            .and_then(|p| p.parse::<f64>().ok())
            .filter(|p| (0.0..100.0).contains(p))
            .ok_or_else(expected)?;
        if words.next().is_some() {
            return Err(expected());
        }
        Ok(Self {
            quantity,
            quantile: quantile / 100.0,
            below: below.trim().parse().map_err(|_| expected())?,
        })
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quantity = match self.quantity {
            Quantity::Latency => "latency",
            Quantity::Delay => "delay",
            Quantity::ResponseTime => "response time",
        };
        write!(f, "{quantity} p{} < {}", self.quantile * 100.0, self.below)
    }
}

impl Limit {
    /// The quantile of all requests of a replay.
    fn value(&self, summary: &Summary) -> Nanos {
        let mut all = Distribution::default();
        for times in [
            &summary.reads,
            &summary.writes,
            &summary.flushes,
            &summary.others,
        ] {
            all.merge(match self.quantity {
                Quantity::Latency => &times.latency,
                Quantity::Delay => &times.delay,
                Quantity::ResponseTime => &times.response_time,
            });
        }
        all.histogram.quantile(self.quantile).unwrap_or_default()
    }
}

/// A try at a speed.
struct Try {
    factor: f64,
    wanted: f64,
    reached: f64,
    value: Nanos,
    verdict: Verdict,
    sustained: bool,
}

/// Rates are told to this share.
const PRECISION: f64 = 0.05;
/// The highest rate must hold so many times in a row.
const CONFIRMATIONS: u32 = 3;
/// No load is sped up or slowed down further.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-4..=1e5;

pub(super) fn run(args: &Replay, limit: Limit, host: &Host) -> anyhow::Result<Ending> {
    let plan = Plan::of(args, host)?;
    let [load] = &plan.loads[..] else {
        return Err(usage("--find-rate takes one load and one target"));
    };
    if !load.scan.is_known {
        return Err(usage("--find-rate repeats the load: give it as a file"));
    }
    if args.out.is_some() || plan.options.verification.is_tagging() {
        return Err(usage(
            "--find-rate keeps no records and verifies nothing: replay once more at the rate that it finds",
        ));
    }
    if !args.quiet {
        plan.announce();
        note(&format!("looking for the highest rate with {limit}"));
    }
    let mut search = Search {
        args,
        limit,
        host,
        base: load.clone(),
        options: plan.options.clone(),
        tries: Vec::new(),
    };
    // Put back however the search ends.
    let queues = super::queue::Settings::apply(&plan, &args.targets, host)?;
    drop(plan);
    let found = search.search()?;
    drop(queues);
    if args.json {
        print(&search.json(found).text())?;
    } else {
        print(&search.text(found))?;
    }
    Ok(match (found, signals::count()) {
        (_, 1..) => Ending::Interrupted {
            signal: signals::last(),
        },
        (Some(_), 0) => Ending::Done,
        (None, 0) => Ending::Flagged,
    })
}

struct Search<'a> {
    args: &'a Replay,
    limit: Limit,
    host: &'a Host,
    base: Load,
    options: Options,
    tries: Vec<Try>,
}

impl Search<'_> {
    /// The rate of the load itself.
    fn rate(&self) -> f64 {
        let span = self.base.scan.last_start - beginning(&self.base.reading.changes);
        self.base.scan.requests as f64 / span.as_secs_f64().max(1e-9)
    }

    /// What was wanted of the target at this factor: a try replays a part of the load, which may be
    /// busier than the whole.
    fn rate_at(&self, factor: f64) -> f64 {
        let tries = self.tries.iter().rev();
        { tries }
            .find(|t| t.sustained && t.factor == factor)
            .map_or(f64::NAN, |t| t.wanted)
    }

    /// The load, so many times as fast, for the time of a try.
    fn reading(&self, factor: f64) -> Result<Reading, String> {
        let mut reading = self.base.reading.clone();
        let zero = beginning(&reading.changes);
        let time = self.args.find.find_time.as_secs_f64();
        let end = zero.saturating_add(Nanos::new((time * factor * 1e9) as u64));
        if self.base.scan.last_start < end {
            reading.changes.push(Change::Repeat(Repeat {
                rounds: Rounds::Until(end),
                offset: 0,
            }));
        }
        reading.changes.push(Change::Select {
            from: zero,
            until: end,
        });
        reading
            .changes
            .push(Change::Speed(Ratio::from_str(&format!("{factor:.6}"))?));
        Ok(reading)
    }

    fn attempt(&mut self, factor: f64) -> anyhow::Result<bool> {
        let reading = self.reading(factor).map_err(|problem| {
            usage(&format!(
                "the load cannot be replayed {factor} times as fast: {problem}"
            ))
        })?;
        let plan = Plan::again(
            self.args,
            self.host,
            &self.base.path,
            &reading,
            &self.options,
        )?;
        let results = Results {
            out: None,
            out_from: None,
            quiet: true,
            watch: false,
        };
        let summary = carry_out(&plan, &results)?;
        let value = self.limit.value(&summary);
        let seconds = summary.intended.as_secs_f64().max(1e-9);
        let sustained = value < self.limit.below
            && !matches!(summary.verdict, Verdict::DeviceLimited { .. })
            && summary.missed == 0
            && summary.errors == 0;
        let attempt = Try {
            factor,
            wanted: (summary.requests - summary.skipped) as f64 / seconds,
            reached: summary.throughput(),
            value,
            verdict: summary.verdict,
            sustained,
        };
        if !self.args.quiet {
            note(&format!(
                "  {:.1} requests/s: {} {}",
                attempt.wanted,
                value,
                if sustained { "holds" } else { "too much" }
            ));
        }
        self.tries.push(attempt);
        Ok(sustained)
    }

    fn is_over() -> bool {
        signals::count() > 0
    }

    /// The highest factor that is sustained.
    fn search(&mut self) -> anyhow::Result<Option<f64>> {
        if self.base.scan.requests < 2 || self.rate() > 1e8 {
            return Err(usage(
                "--find-rate needs a load whose requests come at different times",
            ));
        }
        let (mut low, mut high) = (None, None);
        let mut factor = 1.0;
        // Doubling up, or halving down, until one holds and one does not.
        while low.is_none() || high.is_none() {
            if !FACTORS.contains(&factor) || Self::is_over() {
                return Ok(low);
            }
            if self.attempt(factor)? {
                low = Some(factor);
                factor *= 2.0;
            } else {
                high = Some(factor);
                factor /= 2.0;
            }
        }
        let (Some(mut low), Some(mut high)) = (low, high) else {
            return Ok(None);
        };
        loop {
            while high / low > 1.0 + PRECISION && !Self::is_over() {
                let middle = (low * high).sqrt();
                if self.attempt(middle)? {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            // A rate counts when it holds again and again.
            let mut held = true;
            for _ in 1..CONFIRMATIONS {
                if Self::is_over() {
                    return Ok(Some(low));
                }
                held = held && self.attempt(low)?;
            }
            if held {
                return Ok(Some(low));
            }
            high = low;
            low /= 1.0 + 2.0 * PRECISION;
            while !self.attempt(low)? {
                high = low;
                low /= 1.5;
                if low < *FACTORS.start() || Self::is_over() {
                    return Ok(None);
                }
            }
        }
    }

    fn text(&self, found: Option<f64>) -> String {
        let mut table = Table::new(&["speed", "requests/s wanted", "reached", "value", ""]);
        for t in &self.tries {
            table.row(vec![
                format!("{:.3}", t.factor),
                format!("{:.1}", t.wanted),
                format!("{:.1}", t.reached),
                t.value.to_string(),
                match (t.sustained, t.verdict) {
                    (true, Verdict::ReplayerLimited { .. }) => {
                        "holds (replayer-limited)".to_owned()
                    }
                    (true, _) => "holds".to_owned(),
                    (false, Verdict::DeviceLimited { .. }) => "device-limited".to_owned(),
                    (false, _) => "too much".to_owned(),
                },
            ]);
        }
        let mut text = table.text();
        text += &match found {
            Some(factor) => format!(
                "  highest rate  {:.1} requests/s with {} (the load {factor:.3} times as fast, within {:.0} %)\n",
                self.rate_at(factor),
                self.limit,
                100.0 * PRECISION
            ),
            None => format!("  no rate was found that holds {}\n", self.limit),
        };
        text
    }

    fn json(&self, found: Option<f64>) -> Output {
        let mut json = Output::new("replay --find-rate");
        json.set("limit", json!(self.limit.to_string()));
        json.set("speed", json!(found));
        let tries: Vec<Value> = self
            .tries
            .iter()
            .map(|t| {
                json!({
                    "speed": t.factor,
                    "wanted_per_s": t.wanted,
                    "reached_per_s": t.reached,
                    "value_s": t.value.as_secs_f64(),
                    "verdict": t.verdict.name(),
                    "sustained": t.sustained,
                })
            })
            .collect();
        json.set("tries", Value::Array(tries));
        let rate = found.map_or(f64::NAN, |factor| self.rate_at(factor));
        json.figure("highest_rate", &json!({}), "1/s", rate);
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_as_people_write_them() {
        let limit: Limit = "latency p99<2ms".parse().unwrap();
        assert_eq!(limit.quantile, 0.99);
        assert_eq!(limit.below, Nanos::from_millis(2));
        assert_eq!(limit.to_string(), "latency p99 < 2 ms");
        for wrong in [
            "",
            "latency",
            "latency p99",
            "speed p99<1ms",
            "latency p100<1ms",
            "delay p9 9<1s",
        ] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
