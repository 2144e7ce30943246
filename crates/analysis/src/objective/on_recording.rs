//! Objectives of recordings, replays and records of simulations.

use iosonar_stats::{Estimate, Sections};
use iosonar_trace::{Batch, Outcome, Quantity, Record};
use iosonar_units::Nanos;

use super::{Attained, Objective, Statistic};

/// Judges objectives by what a recording holds, in one pass, in memory that does not grow with it. The statistic is a fact
/// about the recording; its interval, from sections of the recording, is about another one of the same system under the
/// same load.
#[derive(Clone, Debug)]
pub struct OnRecording {
    objectives: Vec<Objective>,
    times: Vec<Sections>,
    completed: u64,
    first_start: Option<Nanos>,
    last_completion: Nanos,
}

impl OnRecording {
    /// For these objectives.
    pub fn new(objectives: &[Objective]) -> Self {
        Self {
            objectives: objectives.to_vec(),
            times: objectives.iter().map(|_| Sections::of_a_run()).collect(),
            completed: 0,
            first_start: None,
            last_completion: Nanos::ZERO,
        }
    }

    /// Adds requests, in any order; of those that did not run, or whose times are not known, nothing is used.
    pub fn push(&mut self, batch: &Batch) {
        batch.records().for_each(|record| self.add(&record));
    }

    /// Adds a request.
    pub fn add(&mut self, Record { request, outcome }: &Record) {
        if outcome.status.was_submitted() {
            let first = self
                .first_start
                .map_or(request.start, |f| f.min(request.start));
            self.first_start = Some(first);
        }
        if !outcome.status.is_timed() {
            return;
        }
        for (objective, times) in self.objectives.iter().zip(&mut self.times) {
            if !objective.requests.include(request.op) {
                continue;
            }
            if let Some(time) = time_of(objective.quantity, outcome) {
                times.push(time);
            }
        }
        if let Some(latency) = outcome.latency {
            let submitted = request
                .start
                .saturating_add(outcome.delay.unwrap_or_default());
            let completion = submitted.saturating_add(latency);
            self.completed += 1;
            self.last_completion = self.last_completion.max(completion);
        }
    }

    /// The outcome of each objective, in their order; `None` where the recording has no times that it is about.
    pub fn finish(self) -> Vec<Option<Attained>> {
        let throughput = self.throughput_per_s();
        let all = self.objectives.iter().zip(&self.times);
        let attained = |(objective, times): (&Objective, &Sections)| match objective.statistic {
            Statistic::Throughput => {
                let of = |rate| Attained::of_estimate(*objective, self.completed, rate);
                throughput.map(of)
            }
            Statistic::Mean | Statistic::Quantile(_) => {
                Attained::of_times(*objective, &times.whole(), &times.independent())
            }
        };
        all.map(attained).collect()
    }

    /// Completions by the time from the first start to the last completion. How far another recording's would be from it
    /// is not known.
    fn throughput_per_s(&self) -> Option<Estimate> {
        let length = self.last_completion.saturating_sub(self.first_start?);
        (self.completed > 0 && length > Nanos::ZERO).then(|| Estimate {
            mean: self.completed as f64 / length.as_secs_f64(),
            stderr: f64::NAN,
            values: 1,
        })
    }
}

/// A time of an outcome. Without a delay, as in most recordings, a request was submitted when it was to start.
fn time_of(quantity: Quantity, outcome: &Outcome) -> Option<Nanos> {
    match quantity {
        Quantity::ResponseTime => outcome.response_time().or(outcome.latency),
        quantity => quantity.of(outcome),
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Op, Request, Status};
    use iosonar_units::{Sector, Sectors};

    use super::super::Judgement;
    use super::*;

    /// Reads of 1 ms and writes of 5 ms, 100 of each per second, every `slow`th of them of 50 ms.
    fn recording(requests: u64, slow: u64, delay: Option<Nanos>) -> Batch {
        let mut batch = Batch::default();
        for i in 0..requests {
            let (op, ms) = if i % 2 == 0 {
                (Op::Read, 1)
            } else {
                (Op::Write, 5)
            };
            let ms = if i / 2 % slow == slow - 1 { 50 } else { ms };
            batch.push(&Record {
                request: Request {
                    start: Nanos::from_millis(5 * i),
                    op,
                    sector: Sector::new(0),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                outcome: Outcome {
                    delay,
                    latency: Some(Nanos::from_millis(ms)),
                    ..Outcome::default()
                },
            });
        }
        batch
    }

    fn attained(texts: &[&str], batch: &Batch) -> Vec<Option<Attained>> {
        let objectives: Vec<Objective> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let mut judge = OnRecording::new(&objectives);
        judge.push(batch);
        judge.finish()
    }

    #[test]
    fn reads_and_writes_are_judged_apart() {
        let batch = recording(40_000, 1000, None);
        let found = attained(
            &[
                "read p99 < 2ms",
                "write p99 < 2ms",
                "mean < 4ms",
                "throughput > 150",
            ],
            &batch,
        );
        let found: Vec<_> = found.into_iter().map(Option::unwrap).collect();
        let verdicts: Vec<_> = found.iter().map(|of| of.verdict).collect();
        assert_eq!(
            verdicts,
            [
                Judgement::Meets,
                Judgement::Misses,
                Judgement::Meets,
                Judgement::Unclear
            ]
        );
        assert_eq!(found[0].requests, 20_000);
        assert!((found[1].estimate.mean / 5.0 - 1.0).abs() < 0.02);
        assert!(found[1].beyond() > 1.4 && !found[1].is_kept());
        // 40,000 in 200 s.
        assert!((found[3].estimate.mean - 200.0).abs() < 0.1 && found[3].is_kept());
    }

    #[test]
    fn a_short_recording_is_a_fact_and_not_sure() {
        let found = attained(&["p50 < 10ms"], &recording(100, 1000, None));
        let found = found[0].unwrap();
        assert!(found.is_kept());
        assert_eq!(found.verdict, Judgement::Unclear);
    }

    #[test]
    fn delays_count_in_response_times_alone() {
        let late = recording(20_000, 1000, Some(Nanos::from_millis(3)));
        let found = attained(
            &[
                "read p50 < 2ms",
                "read latency p50 < 2ms",
                "delay p50 < 2ms",
            ],
            &late,
        );
        let verdicts: Vec<_> = found.iter().map(|of| of.unwrap().verdict).collect();
        let expected = [Judgement::Misses, Judgement::Meets, Judgement::Misses];
        assert_eq!(verdicts, expected);
        assert!(attained(&["delay p50 < 2ms"], &recording(20_000, 1000, None))[0].is_none());
    }

    #[test]
    fn what_never_ran_is_in_no_figure() {
        let mut batch = recording(100, 1000, None);
        let mut record = batch.record(0);
        record.outcome = Outcome::untimed(Status::Skipped);
        for _ in 0..50 {
            batch.push(&record);
        }
        assert_eq!(attained(&["p50 < 1s"], &batch)[0].unwrap().requests, 100);
        let mut of_writes = Batch::default();
        of_writes.push(&batch.record(1));
        assert!(attained(&["read p50 < 1s"], &of_writes)[0].is_none());
    }
}
