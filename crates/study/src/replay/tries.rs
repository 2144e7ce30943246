//! Tries of a load at other speeds, each repeated as often as is needed to fill its time, for
//! [`highest_rate`](crate::highest_rate).

use std::str::FromStr;

use iosonar_guard::Host;
use iosonar_replay::{EndedEarly, Load, ReplaySpec, Summary, Verdict, Writes, fitter};
use iosonar_stats::Distribution;
use iosonar_trace::transform::{Change, Ratio, Repeat, Rounds, beginning};
use iosonar_trace::{Batch, Reading, Request, input};
use iosonar_units::Nanos;

use super::{Preparer, ReplayPlan, ReplayPlanError, refused};
use crate::highest_rate::{FEWEST_REQUESTS, LEAST_REACHED, Limit, Try, TryOutcome};
use iosonar_trace::Requests;

/// How much longer than its time a try at a lower rate than the load's own may take.
const LONGEST_TRY: f64 = 10.0;

/// A limit of reads or writes alone is nothing without some of them.
const FEWEST_OF_A_KIND: u64 = 100;

/// What tries are made of.
#[derive(Debug)]
pub struct Tries<'a> {
    limit: Limit,
    host: &'a Host,
    base: Load,
    /// How much of the load, from its beginning, holds requests enough for a try.
    shortest: Nanos,
    spec: &'a ReplaySpec,
    /// How long each takes.
    time: Nanos,
}

impl<'a> Tries<'a> {
    /// Checks that a search with this plan is possible.
    ///
    /// # Errors
    /// If it is of several loads, of a stream, or of a limited length.
    pub fn check(plan: &ReplayPlan, spec: &ReplaySpec) -> Result<(), ReplayPlanError> {
        let [load] = &plan.loads[..] else {
            return Err(refused(&format!(
                "--find-rate needs one load and one target (got {}): search on each target separately",
                plan.targets.len()
            )));
        };
        if !load.scan.is_known {
            return Err(refused("--find-rate repeats the load: give it as a file"));
        }
        if spec.options.max_runtime.is_some() {
            return Err(refused(
                "--find-rate ends each trial after --find-time: remove --max-runtime",
            ));
        }
        Ok(())
    }

    /// Tries of the first load of a plan, each `time` long.
    ///
    /// # Errors
    /// If the load cannot be read, or none of its requests counts, or they all come at one time.
    pub fn new(
        plan: &ReplayPlan,
        spec: &'a ReplaySpec,
        limit: Limit,
        time: Nanos,
        host: &'a Host,
    ) -> Result<Self, ReplayPlanError> {
        let load = &plan.loads[0];
        let mut fitter = fitter(load, &plan.targets[0], &plan.options);
        let tries = Self {
            limit,
            host,
            shortest: shortest(load, |request| {
                let is_left_out = !request.op.is_harmless() && plan.options.writes == Writes::Skip;
                let is_done = !is_left_out && fitter.apply(&mut request.clone());
                [is_done, is_done && limit.is_about(request.op)]
            })?,
            base: load.clone(),
            spec,
            time,
        };
        if load.scan.requests < 2 || tries.rate() > 1e8 {
            return Err(refused(&format!(
                "--find-rate needs a load with a rate (got {} requests in {}): use, for example, 'iosonar generate \
                 constant --rate'",
                load.scan.requests, load.scan.last_start
            )));
        }
        Ok(tries)
    }

    /// How much faster than recorded the load is replayed at a factor of 1.
    pub fn own_speed(&self) -> f64 {
        speed(&self.base.reading.changes)
    }

    /// The rate of the load itself.
    fn rate(&self) -> f64 {
        let span = self.base.scan.last_start - beginning(&self.base.reading.changes);
        self.base.scan.requests as f64 / span.as_secs_f64().max(1e-9)
    }

    /// The slowest speed at which a try has requests enough without taking far longer than the user wants.
    pub fn slowest(&self) -> f64 {
        let longest = LONGEST_TRY * self.time.as_secs_f64();
        self.shortest.as_secs_f64() / longest.max(1e-9)
    }

    /// The load at `factor` times its speed, for the time of a try, or longer if it would have too few requests then.
    fn reading(&self, factor: f64) -> Result<Reading, String> {
        let mut reading = self.base.reading.clone();
        let zero = beginning(&reading.changes);
        let time = self.time.as_secs_f64() * factor;
        let time = Nanos::new((time * 1e9) as u64).max(self.shortest);
        let end = zero.saturating_add(time);
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

    /// Replays the load at `factor` times its speed; `carry_out` does it.
    ///
    /// # Errors
    /// If it cannot be prepared, or `carry_out` fails.
    pub fn attempt<E: From<ReplayPlanError>>(
        &self,
        factor: f64,
        preparer: &dyn Preparer,
        carry_out: impl FnOnce(&ReplayPlan) -> Result<Summary, E>,
    ) -> Result<Try, E> {
        let reading = self.reading(factor).map_err(|problem| {
            refused(&format!(
                "the load cannot be replayed {factor} times as fast: {problem}"
            ))
        })?;
        let plan = ReplayPlan::again(self.spec, self.host, &self.base.path, &reading, preparer)?;
        let summary = carry_out(&plan)?;
        let wanted =
            (summary.requests - summary.skipped) as f64 / summary.intended.as_secs_f64().max(1e-9);
        let reached = reached(&summary);
        let times = times(self.limit, &summary);
        let value = self.limit.value(&times);
        let is_within = self.limit.is_kept_by(value);
        Ok(Try {
            factor,
            wanted,
            reached,
            completed: summary.completed,
            value,
            outcome: match outcome(&summary, is_within, reached / wanted) {
                TryOutcome::Holds | TryOutcome::TooSlow if times.count() < FEWEST_OF_A_KIND => {
                    TryOutcome::TooFew
                }
                outcome => outcome,
            },
        })
    }
}

/// The times of a replay that a limit is about.
fn times(limit: Limit, summary: &Summary) -> Distribution {
    let times = match limit.requests() {
        Requests::All => &summary.times.all(),
        Requests::Reads => &summary.times.reads,
        Requests::Writes => &summary.times.writes,
    };
    times.of(limit.quantity()).clone()
}

/// How much of a load, from its beginning, holds a tenth more than the fewest requests of a try, and of those that the limit
/// is about: repeated as often as is needed, if it has fewer. `counts` says of a request whether it will be done, and
/// whether the limit is about it, too.
fn shortest(
    load: &Load,
    mut counts: impl FnMut(&Request) -> [bool; 2],
) -> Result<Nanos, ReplayPlanError> {
    let beginning = beginning(&load.reading.changes);
    let wanted = [FEWEST_REQUESTS, FEWEST_OF_A_KIND].map(|fewest| fewest + fewest / 10);
    let mut found = [0; 2];
    let mut reader = input::open_load(&load.path, &load.reading)?;
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        for row in 0..batch.len() {
            for (found, counts) in found.iter_mut().zip(counts(&batch.request(row))) {
                *found += u64::from(counts);
            }
            if found[0] >= wanted[0] && found[1] >= wanted[1] {
                // The window ends before its end.
                return Ok(batch.starts()[row].saturating_sub(beginning) + Nanos::new(1));
            }
        }
    }
    if found.contains(&0) {
        return Err(refused(&format!(
            "--find-rate: the limit applies to none of the {} requests that will be submitted; use a limit for a \
             different kind of request, or add --write if writes are skipped",
            load.scan.requests
        )));
    }
    let span = load.scan.last_start.saturating_sub(beginning);
    let rounds = wanted[0]
        .div_ceil(found[0])
        .max(wanted[1].div_ceil(found[1]));
    Ok(Nanos::new(span.get().saturating_mul(rounds)))
}

/// Completed requests per second. The last needs its latency after the load has ended, which is no lack of rate.
fn reached(summary: &Summary) -> f64 {
    let latency = summary.times.all().latency;
    let usual = latency.histogram.quantile(0.5).unwrap_or_default();
    let taken = summary.elapsed.saturating_sub(usual).max(summary.intended);
    summary.completed as f64 / taken.as_secs_f64().max(1e-9)
}

/// What a try says that reached this share of its rate.
fn outcome(summary: &Summary, is_within: bool, share: f64) -> TryOutcome {
    if summary.early == Some(EndedEarly::Interrupted) {
        return TryOutcome::Interrupted;
    }
    if summary.missed + summary.errors + summary.cancelled + summary.short > 0 {
        return TryOutcome::Failed;
    }
    if summary.completed < FEWEST_REQUESTS {
        return TryOutcome::TooFew;
    }
    match summary.verdict {
        Verdict::ReplayerLimited { .. } => TryOutcome::ReplayerLimited,
        Verdict::DeviceLimited { .. } => TryOutcome::DeviceLimited,
        Verdict::ModelLimited { .. } => TryOutcome::ModelLimited,
        Verdict::InFlightLimited { .. } => TryOutcome::InFlightLimited,
        Verdict::KeptUp | Verdict::NotJudged if share < LEAST_REACHED => TryOutcome::DeviceLimited,
        Verdict::KeptUp | Verdict::NotJudged if is_within => TryOutcome::Holds,
        Verdict::KeptUp | Verdict::NotJudged => TryOutcome::TooSlow,
    }
}

/// How much faster than recorded these changes make a load.
fn speed(changes: &[Change]) -> f64 {
    let speeds = changes.iter().map(|change| match change {
        Change::Speed(ratio) => ratio.as_f64(),
        _ => 1.0,
    });
    speeds.product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_replay::Writes;

    #[test]
    fn reads_and_writes_have_limits_of_their_own() {
        let mut summary = Summary::default();
        summary.times.reads.latency.push(Nanos::from_millis(1));
        summary.times.writes.latency.push(Nanos::from_millis(3));
        for (limit, ms) in [("read", 1), ("write", 3), ("", 2)] {
            let limit: Limit = format!("{limit} latency mean < 9ms").parse().unwrap();
            assert_eq!(
                limit.value(&times(limit, &summary)),
                Nanos::from_millis(ms),
                "{limit}"
            );
        }
    }

    #[test]
    fn a_try_holds_requests_enough_however_late_they_come() {
        let shortest_of = |text: String, limit: &str, writes: Writes| {
            let file = tempfile::Builder::new().suffix(".load").tempfile().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let load = Load::scanned(file.path(), &Reading::default(), writes).unwrap();
            let limit: Limit = limit.parse().unwrap();
            shortest(&load, |request| {
                let is_done = request.op.is_harmless() || writes == Writes::Do;
                [is_done, is_done && limit.is_about(request.op)]
            })
        };
        let rows = |n: usize, from: f64, op: &dyn Fn(usize) -> char| {
            let mut text = format!("0 ; 0 ; 8 ; {}\n", op(0));
            for i in 1..n {
                text += &format!("{:.6} ; 8 ; 8 ; {}\n", from + i as f64 * 1e-4, op(i));
            }
            text
        };
        let (all, reads) = ("latency mean < 1s", |_| 'R');
        // The 1,100th request.
        let expected = Nanos::from_millis(60_000) + Nanos::from_micros(109_900) + Nanos::new(1);
        let of = |n, from| shortest_of(rows(n, from, &reads), all, Writes::Refuse).unwrap();
        assert_eq!(of(3000, 60.0), expected);
        // Of 100 requests in 9.9 ms, eleven rounds.
        assert_eq!(of(100, 0.0), Nanos::from_micros(11 * 9_900));
        // Where three of four are writes, which are left out, the 1,100th read.
        let mixed = |n| rows(n, 0.0, &|i| if i % 4 == 0 { 'R' } else { 'W' });
        let skipped = shortest_of(mixed(10_000), all, Writes::Skip).unwrap();
        assert_eq!(skipped, Nanos::from_micros(100 * 4 * 1099) + Nanos::new(1));
        let done = shortest_of(mixed(10_000), all, Writes::Do).unwrap();
        assert_eq!(done, Nanos::from_micros(100 * 1099) + Nanos::new(1));
        // The 110th read, if there are few.
        let few = rows(20_000, 0.0, &|i| if i % 100 == 0 { 'R' } else { 'W' });
        let reads = shortest_of(few, "read latency mean < 1s", Writes::Do).unwrap();
        assert_eq!(reads, Nanos::from_micros(100 * 100 * 109) + Nanos::new(1));
        let none = shortest_of(mixed(100), "write latency mean < 1s", Writes::Skip);
        assert!(none.unwrap_err().to_string().contains("writes are skipped"));
    }

    #[test]
    fn the_speed_of_the_load_is_that_of_all_its_changes() {
        let changes = [
            Change::Speed(Ratio::from_str("60").unwrap()),
            Change::ZeroFirst,
        ];
        assert_eq!([speed(&changes), speed(&[])], [60.0, 1.0]);
    }
}
