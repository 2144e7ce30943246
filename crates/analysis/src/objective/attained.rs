//! The outcome of an objective.

use iosonar_stats::{Distribution, Estimate, mean_of, quantile_interval, quantile_of, share_of};
use iosonar_units::Nanos;

use super::{Objective, Statistic};

/// Whether an objective is kept, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The whole confidence interval is on the right side.
    Meets,
    /// The limit lies within the interval, or the interval is not known.
    Unclear,
    /// The whole interval is on the wrong side.
    Misses,
    /// The runs are too short for a load so near to saturation, or the recording is.
    TooShort,
    /// There is no steady state.
    Unstable,
}

impl Judgement {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meets => "meets",
            Self::Unclear => "unclear",
            Self::Misses => "misses",
            Self::TooShort => "runs too short",
            Self::Unstable => "unstable",
        }
    }

    /// The worst of several, which is what they say together: unstable, then misses, then too short, then unclear.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter()
            .max_by_key(|of| of.rank())
            .unwrap_or(Self::Meets)
    }

    /// The larger, the worse.
    pub fn rank(self) -> u8 {
        match self {
            Self::Meets => 0,
            Self::Unclear => 1,
            Self::TooShort => 2,
            Self::Misses => 3,
            Self::Unstable => 4,
        }
    }

    /// What the 95 % interval of an objective's statistic says, in the objective's unit.
    pub fn of_interval(objective: &Objective, (low, high): (f64, f64)) -> Self {
        Self::of_ends(objective.is_kept_by(low), objective.is_kept_by(high))
    }

    /// What an interval says, by which of its ends keep an objective.
    fn of_ends(low_keeps: bool, high_keeps: bool) -> Self {
        match (low_keeps, high_keeps) {
            (true, true) => Self::Meets,
            (false, false) => Self::Misses,
            _ => Self::Unclear,
        }
    }
}

/// What is wrong with the runs that a statistic comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Requests failed, or complete writes were lost, with devices that failed: the statistic is about the others only.
    DataLoss {
        /// The requests that failed.
        failed: u64,
        /// The writes that had been complete in a cache.
        lost: u64,
    },
    /// A longer run would find another figure, so this one has no interval.
    TooShort,
    /// More arrives than the system can do, so the figure depends on how long the runs are.
    Overload,
    /// Requests were never served.
    Deadlock,
    /// Failures or slow phases of devices that were planned did not happen before the runs ended: the statistic is not about
    /// them.
    EventsMissed {
        /// Those that did not happen.
        missed: u64,
        /// All that were planned.
        planned: u64,
    },
}

/// An objective, and what was found of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attained {
    /// What must hold.
    pub objective: Objective,
    /// How many requests it rests on.
    pub requests: u64,
    /// Its statistic, in its unit, with the standard error: NaN where that is not known.
    pub estimate: Estimate,
    /// The 95 % confidence interval of the statistic, in its unit; `None` where it is not known.
    pub interval_95: Option<(f64, f64)>,
    /// What follows.
    pub verdict: Judgement,
    /// What is wrong with the runs, where something is.
    pub flaw: Option<Flaw>,
}

impl Attained {
    /// Of a statistic that is known with its standard error, in the objective's unit.
    pub fn of_estimate(objective: Objective, requests: u64, estimate: Estimate) -> Self {
        let interval_95 = estimate.positive_interval_95();
        Self {
            objective,
            requests,
            estimate,
            interval_95,
            verdict: interval_95.map_or(Judgement::Unclear, |ends| {
                Judgement::of_interval(&objective, ends)
            }),
            flaw: None,
        }
    }

    /// The same of a system that lost data, which misses every objective.
    #[must_use]
    pub fn with_data_loss(self, failed: u64, lost: u64) -> Self {
        Self {
            verdict: Judgement::Misses,
            flaw: Some(Flaw::DataLoss { failed, lost }),
            ..self
        }
    }

    /// The same of runs that ended before all events had happened, which meets nothing. A miss remains one.
    #[must_use]
    pub fn with_missed_events(self, missed: u64, planned: u64) -> Self {
        if self.verdict == Judgement::Misses {
            return self;
        }
        Self {
            verdict: Judgement::TooShort,
            flaw: Some(Flaw::EventsMissed { missed, planned }),
            ..self
        }
    }

    /// The same of runs whose figures depend on how long they are: nothing is known of how far this one is from that of a long
    /// run, so it meets nothing. A miss remains one, unless a run that was too short may have missed it by chance.
    #[must_use]
    pub fn of_unsteady_runs(self, flaw: Flaw, by_chance: bool) -> Self {
        let is_short = flaw == Flaw::TooShort;
        let verdict = match self.verdict {
            Judgement::Misses if !is_short || !by_chance || self.flaw.is_some() => {
                Judgement::Misses
            }
            _ if is_short => Judgement::TooShort,
            _ => Judgement::Unstable,
        };
        Self {
            estimate: Estimate {
                stderr: f64::NAN,
                ..self.estimate
            },
            interval_95: None,
            verdict,
            flaw: self.flaw.or(Some(flaw)),
            ..self
        }
    }

    /// The same of a mean of these times, which misses its limit also without an interval if it is far above.
    #[must_use]
    pub fn or_far_above(self, whole: &Distribution) -> Self {
        let is_far_above =
            self.interval_95.is_none() && least_mean_ms(whole) > self.objective.limit;
        let verdict = match is_far_above {
            true => Judgement::Misses,
            false => self.verdict,
        };
        Self { verdict, ..self }
    }

    /// Of times, and independent parts of them: replications, or sections of one run. `None` if there are no times, and
    /// of a throughput, which times do not determine.
    pub fn of_times(
        objective: Objective,
        whole: &Distribution,
        parts: &[Distribution],
    ) -> Option<Self> {
        if whole.count() == 0 {
            return None;
        }
        let requests = whole.count();
        match objective.statistic {
            Statistic::Throughput => None,
            Statistic::Mean => {
                let mean = in_ms(mean_of(whole, parts));
                Some(Self::of_estimate(objective, requests, mean).or_far_above(whole))
            }
            Statistic::Quantile(p) => {
                let interval_95 = quantile_interval(whole, parts, p)
                    .map(|(low, high)| (low.as_millis_f64(), high.as_millis_f64()));
                let verdict = match interval_95 {
                    Some(ends) => Judgement::of_interval(&objective, ends),
                    None => judge_share(&objective, p, whole, parts),
                };
                Some(Self {
                    objective,
                    requests,
                    estimate: in_ms(quantile_of(whole, parts, p)),
                    interval_95,
                    verdict,
                    flaw: None,
                })
            }
        }
    }

    /// Whether the statistic keeps to the limit, sure or not.
    pub fn is_kept(&self) -> bool {
        self.objective.is_kept_by(self.estimate.mean)
    }

    /// How many times as bad as the limit the statistic is: above 1 it is on the wrong side, of times and throughputs alike.
    pub fn strain(&self) -> f64 {
        match self.objective.statistic {
            Statistic::Throughput => self.objective.limit / self.estimate.mean,
            Statistic::Mean | Statistic::Quantile(_) => self.estimate.mean / self.objective.limit,
        }
    }

    /// How far the statistic is from the limit, as a share of the limit: negative below it.
    pub fn beyond(&self) -> f64 {
        self.estimate.mean / self.objective.limit - 1.0
    }
}

/// A p-quantile is within a limit if at least the share p of the times is. That share is known where the quantile itself
/// is not: of few requests, and when all of them, or none, are within. Its interval is the wider one of what the parts say,
/// which may happen to be alike, and of what as many independent times would say as the times are worth by the spread of
/// the means of the parts.
fn judge_share(
    objective: &Objective,
    p: f64,
    whole: &Distribution,
    parts: &[Distribution],
) -> Judgement {
    let limit = Nanos::from_millis_f64(objective.limit);
    let share = share_of(whole, parts, limit);
    let half = share.half_width_95();
    if !half.is_finite() {
        let (low, high) = wilson_95(share.mean, worth_of_one_run(whole));
        return Judgement::of_ends(low >= p, high >= p);
    }
    let (low, high) = wilson_95(share.mean, independent(whole, parts));
    let low = low.min(share.mean - half);
    let high = high.max(share.mean + half);
    Judgement::of_ends(low >= p, high >= p)
}

/// How many independent times a run is worth at least whose own variation is not known: requests that follow each other wait in
/// the same queue. A run that is called long enough for its load lasts a hundred times as long as a queue remembers.
fn worth_of_one_run(whole: &Distribution) -> f64 {
    const MOST: f64 = 8.0;
    const EACH: f64 = 100.0;
    MOST.min(whole.count() as f64 / EACH)
}

/// A lower bound of the mean in milliseconds, where it has no interval: by Markov's inequality, from the lower end of the share
/// of the times that are at least as long as some quantile.
fn least_mean_ms(whole: &Distribution) -> f64 {
    let bound = |p: f64| {
        let (low, _) = wilson_95(1.0 - p, worth_of_one_run(whole));
        let time = whole.histogram.quantile(p).unwrap_or_default();
        low * time.as_millis_f64()
    };
    [0.0, 0.1, 0.25, 0.5]
        .map(bound)
        .into_iter()
        .fold(0.0, f64::max)
}

/// How many independent times have a mean that is known as well: at most as many as there are.
fn independent(whole: &Distribution, parts: &[Distribution]) -> f64 {
    let n = whole.count() as f64;
    let worth = (whole.moments.sd() / mean_of(whole, parts).stderr).powi(2);
    if worth.is_finite() { n.min(worth) } else { n }
}

/// The 95 % interval of a share of `n` independent trials (Wilson, "Probable inference, the law of succession, and
/// statistical inference", 1927).
fn wilson_95(share: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + (Z / (2.0 * n)).powi(2)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((centre - half) / scale, (centre + half) / scale)
}

fn in_ms(ns: Estimate) -> Estimate {
    Estimate {
        mean: ns.mean / 1e6,
        stderr: ns.stderr / 1e6,
        ..ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(text: &str) -> Objective {
        text.parse().unwrap()
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let verdict = |text, mean, stderr| {
            let estimate = Estimate {
                mean,
                stderr,
                values: 10,
            };
            Attained::of_estimate(objective(text), 1000, estimate).verdict
        };
        let below = "mean < 10ms";
        assert_eq!(verdict(below, 9.0, 0.1), Judgement::Meets);
        assert_eq!(verdict(below, 9.9, 0.1), Judgement::Unclear);
        assert_eq!(verdict(below, 11.0, 0.1), Judgement::Misses);
        assert_eq!(verdict(below, 9.0, f64::NAN), Judgement::Unclear);
        let above = "throughput > 10";
        assert_eq!(verdict(above, 11.0, 0.1), Judgement::Meets);
        assert_eq!(verdict(above, 9.0, 0.1), Judgement::Misses);
    }

    #[test]
    fn the_worst_verdict_counts_and_strain_compares_times_with_throughputs() {
        use Judgement::{Meets, Misses, TooShort, Unclear, Unstable};
        let by_rank = [Meets, Unclear, TooShort, Misses, Unstable];
        for (i, &worse) in by_rank.iter().enumerate() {
            for &better in &by_rank[..i] {
                assert_eq!(Judgement::worst([better, worse, better]), worse);
            }
        }
        assert_eq!(Judgement::worst([]), Meets);
        let strain = |text, mean| {
            let estimate = Estimate {
                mean,
                stderr: 0.1,
                values: 10,
            };
            Attained::of_estimate(objective(text), 1000, estimate).strain()
        };
        assert_eq!(strain("mean < 10ms", 20.0), 2.0);
        assert_eq!(strain("throughput > 10", 5.0), 2.0);
        assert_eq!(strain("throughput > 10", 40.0), 0.25);
    }

    /// Five runs of `each` requests of which `slow` take 100 ms and the others 1 ms.
    fn runs(each: u64, slow: [u64; 5]) -> (Distribution, Vec<Distribution>) {
        let run = |slow: u64| {
            let mut times = Distribution::default();
            (0..each).for_each(|i| times.push(Nanos::from_millis(if i < slow { 100 } else { 1 })));
            times
        };
        let parts: Vec<_> = slow.into_iter().map(run).collect();
        let mut whole = Distribution::default();
        parts.iter().for_each(|part| whole.merge(part));
        (whole, parts)
    }

    #[test]
    fn one_run_without_an_interval_misses_only_what_is_far_away() {
        let verdict = |text: &str, slow| {
            let (whole, _) = runs(400, slow);
            Attained::of_times(objective(text), &whole, &[])
                .unwrap()
                .verdict
        };
        // Of 2000 requests that are worth eight, all took 100 ms: at least 0.676 of them do, says Wilson.
        let all = [400; 5];
        assert_eq!(verdict("mean < 67ms", all), Judgement::Misses);
        assert_eq!(verdict("mean < 68ms", all), Judgement::Unclear);
        assert_eq!(verdict("p50 < 99ms", all), Judgement::Misses);
        assert_eq!(verdict("p50 < 101ms", all), Judgement::Meets);
        assert_eq!(verdict("p99 < 101ms", all), Judgement::Unclear);
        // The median is 100 ms, and at least 0.215 take that long.
        let half = [240; 5];
        assert_eq!(verdict("mean < 21ms", half), Judgement::Misses);
        assert_eq!(verdict("mean < 22ms", half), Judgement::Unclear);
        assert_eq!(verdict("p50 < 20ms", half), Judgement::Unclear);
        assert_eq!(verdict("p99 < 20ms", half), Judgement::Misses);
    }

    #[test]
    fn quantiles_of_few_requests_a_run_are_judged_by_the_share_within_the_limit() {
        let verdict = |text, each, slow| {
            let (whole, parts) = runs(each, slow);
            let attained = Attained::of_times(objective(text), &whole, &parts).unwrap();
            assert_eq!(attained.requests, 5 * each);
            attained.verdict
        };
        // A run of 500 requests has too few for a p99 of its own.
        assert_eq!(verdict("p99 < 20ms", 500, [0; 5]), Judgement::Meets);
        assert_eq!(verdict("p99 < 20ms", 500, [1; 5]), Judgement::Meets);
        assert_eq!(verdict("p99 < 20ms", 500, [50; 5]), Judgement::Misses);
        assert_eq!(
            verdict("p99 < 20ms", 500, [4, 6, 5, 7, 3]),
            Judgement::Unclear
        );
        // None is slow, but 100 requests do not show that less than 1 % is.
        assert_eq!(verdict("p99 < 20ms", 20, [0; 5]), Judgement::Unclear);
        assert_eq!(verdict("p50 < 20ms", 20, [0; 5]), Judgement::Meets);
        // The runs are not alike: most have none, one has many.
        let apart = verdict("p99 < 20ms", 5000, [0, 0, 0, 0, 200]);
        assert_eq!(apart, Judgement::Unclear);
    }

    #[test]
    fn runs_that_differ_are_worth_few_independent_times() {
        // All times are far below the limit; those of a run are alike, or each run has them all.
        let verdict = |time_us: fn(u64, u64) -> u64| {
            let parts = [0, 1, 2, 3, 4].map(|run| {
                let mut times = Distribution::default();
                (0..300).for_each(|i| times.push(Nanos::from_micros(time_us(run, i))));
                times
            });
            let mut whole = Distribution::default();
            parts.iter().for_each(|part| whole.merge(part));
            let attained = Attained::of_times(objective("p99 < 20ms"), &whole, &parts).unwrap();
            (attained.interval_95, attained.verdict)
        };
        assert_eq!(verdict(|run, i| 1000 * run + i), (None, Judgement::Unclear));
        assert_eq!(verdict(|_, i| 5 * i).1, Judgement::Meets);
    }

    #[test]
    fn short_runs_meet_nothing_and_data_loss_misses_everything() {
        use Judgement::{Meets, Misses, TooShort, Unstable};
        let (whole, parts) = runs(5000, [0; 5]);
        let of = |text| Attained::of_times(objective(text), &whole, &parts).unwrap();
        let (met, missed) = (of("p99 < 20ms"), of("p99 < 100us"));
        assert_eq!((met.verdict, missed.verdict), (Meets, Misses));
        assert_eq!((met.flaw, missed.flaw), (None, None));
        for (flaw, by_chance, verdicts) in [
            (Flaw::TooShort, false, [TooShort, Misses]),
            (Flaw::TooShort, true, [TooShort, TooShort]),
            (Flaw::Overload, true, [Unstable, Misses]),
            (Flaw::Deadlock, false, [Unstable, Misses]),
        ] {
            let unsteady = [met, missed].map(|of| of.of_unsteady_runs(flaw, by_chance));
            assert_eq!(unsteady.map(|of| of.verdict), verdicts, "{flaw:?}");
            for of in unsteady {
                assert_eq!((of.interval_95, of.flaw), (None, Some(flaw)));
            }
        }
        let (failed, lost) = (3, 0);
        let lossy = met.with_data_loss(failed, lost);
        let lossy = lossy.of_unsteady_runs(Flaw::TooShort, true);
        let flaw = Some(Flaw::DataLoss { failed, lost });
        assert_eq!((lossy.verdict, lossy.flaw), (Misses, flaw));
    }

    #[test]
    fn one_run_without_parts_is_never_sure() {
        let (whole, _) = runs(5000, [0; 5]);
        let attained = Attained::of_times(objective("p99 < 20ms"), &whole, &[]).unwrap();
        assert_eq!(attained.verdict, Judgement::Unclear);
        assert!(attained.is_kept() && attained.beyond() < -0.9);
        let no_times = Attained::of_times(objective("mean < 1s"), &Distribution::default(), &[]);
        assert!(no_times.is_none());
    }

    #[test]
    fn the_interval_of_a_share_is_the_one_of_wilsons_formula() {
        // 9 of 10: (0.9 + z^2 / 20 -+ z sqrt(0.009 + z^2 / 400)) / (1 + z^2 / 10), as in tables of statistics.
        let (low, high) = wilson_95(0.9, 10.0);
        assert!(
            (low - 0.595_850).abs() < 1e-6 && (high - 0.982_124).abs() < 1e-6,
            "{low} {high}"
        );
        let (low, high) = wilson_95(0.0, 20.0);
        assert!(
            low.abs() < 1e-12 && (high - 0.161_125).abs() < 1e-6,
            "{low} {high}"
        );
    }

    #[test]
    fn judgements_have_names_that_say_what_they_are() {
        use Judgement::{Meets, Misses, TooShort, Unclear, Unstable};
        for (judgement, name) in [
            (Meets, "meets"),
            (Unclear, "unclear"),
            (Misses, "misses"),
            (TooShort, "runs too short"),
            (Unstable, "unstable"),
        ] {
            assert_eq!(judgement.name(), name);
        }
    }

    #[test]
    fn a_statistic_is_beyond_its_limit_by_a_share_of_it() {
        for (text, mean, beyond, is_kept) in [
            ("mean < 10ms", 15.0, 0.5, false),
            ("mean < 10ms", 10.0, 0.0, true),
            ("mean < 10ms", 5.0, -0.5, true),
            ("throughput > 10", 5.0, -0.5, false),
            ("throughput > 10", 10.0, 0.0, true),
        ] {
            let estimate = Estimate {
                mean,
                stderr: 0.1,
                values: 10,
            };
            let of = Attained::of_estimate(objective(text), 7, estimate);
            assert_eq!(
                (of.beyond(), of.is_kept(), of.requests),
                (beyond, is_kept, 7)
            );
        }
    }
}
