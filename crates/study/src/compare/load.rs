//! What the times of records depend on besides the device: the load, and how it was submitted.

use iosonar_plot::Unit;
use iosonar_report::{Submission, SubmissionFlaw, per_second};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Metric};
use iosonar_trace::{Metadata, Op, Record, Status};
use iosonar_units::{Nanos, SECTOR_BYTES};

/// The load of a sample.
#[derive(Clone, Debug, Default)]
pub struct SampleLoad {
    requests: u64,
    reads: u64,
    sectors: u64,
    span: Option<(Nanos, Nanos)>,
    submission: Submission,
}

/// Figures of two loads that differ by a larger factor differ much.
const SIMILAR: f64 = 1.25;
/// So do shares of reads that are farther apart.
const SIMILAR_SHARE: f64 = 0.1;

impl SampleLoad {
    pub(super) fn push(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        self.submission.push(outcome);
        if !outcome.status.was_submitted() && outcome.status != Status::Dropped {
            return;
        }
        self.requests += 1;
        self.reads += u64::from(request.op == Op::Read);
        self.sectors += u64::from(request.sectors.get());
        let (first, last) = self.span.unwrap_or((request.start, request.start));
        self.span = Some((first.min(request.start), last.max(request.start)));
    }

    pub(super) fn about(&mut self, metadata: &Metadata) {
        self.submission.about(metadata);
    }

    /// Why the times are not those of the whole load as it was demanded; empty where nothing speaks against it.
    pub fn flaws(&self) -> Vec<SubmissionFlaw> {
        self.submission.flaws()
    }

    /// How many requests failed, of how many that were submitted; `None` if none did.
    pub fn failed(&self) -> Option<(u64, u64)> {
        self.submission.failed()
    }

    /// Why the times are not those of storage; empty where the file does not say so.
    pub fn fakes(&self) -> &[String] {
        self.submission.fakes()
    }

    fn span(&self) -> Nanos {
        self.span
            .map_or(Nanos::ZERO, |(first, last)| last.saturating_sub(first))
    }

    fn rate(&self) -> f64 {
        self.requests as f64 / self.span().as_secs_f64()
    }

    fn read_share(&self) -> f64 {
        self.reads as f64 / self.requests.max(1) as f64
    }

    fn mean_bytes(&self) -> f64 {
        (self.sectors * SECTOR_BYTES) as f64 / self.requests.max(1) as f64
    }

    /// The figures by which loads are compared.
    pub(super) fn metrics(&self, input: &str) -> Vec<Metric> {
        let labels = Labels::of("input", input);
        let figures = [
            ("load_requests", MetricUnit::One, self.requests as f64),
            ("load_rate", MetricUnit::PerSecond, self.rate()),
            ("load_mean_size", MetricUnit::Bytes, self.mean_bytes()),
            ("load_read_share", MetricUnit::One, self.read_share()),
            (
                "load_duration",
                MetricUnit::Seconds,
                self.span().as_secs_f64(),
            ),
        ];
        let known = figures.into_iter().filter(|(.., value)| value.is_finite());
        known
            .map(|(name, unit, value)| Metric::figure(name, &labels, unit, value))
            .collect()
    }

    /// In what two loads differ much, with the figures of both; empty if they are alike.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut add = |name: &str, of: fn(&Self) -> f64, text: fn(f64) -> String| {
            let (a, b) = (of(self), of(other));
            let is_known = a.is_finite() && b.is_finite();
            if is_known && a.max(b) > SIMILAR * a.min(b) {
                found.push(format!("{name} ({} and {})", text(a), text(b)));
            }
        };
        add(
            "the number of requests",
            |load| load.requests as f64,
            |n| iosonar_plot::grouped(n as u64),
        );
        add("the rate", Self::rate, per_second);
        add("the mean size", Self::mean_bytes, |n| Unit::Bytes.text(n));
        add(
            "the duration",
            |load| load.span().as_secs_f64(),
            |seconds| Nanos::nearest(seconds * 1e9).to_string(),
        );
        let shares = [self.read_share(), other.read_share()];
        if (shares[0] - shares[1]).abs() > SIMILAR_SHARE {
            let [a, b] = shares.map(|share| 100.0 * share);
            found.push(format!("the share of reads ({a:.0} % and {b:.0} %)"));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Request};
    use iosonar_units::Sectors;

    use super::*;

    /// N requests, one every `interval_ms`, of which every `write`th is a write.
    fn load(n: u64, interval_ms: u64, sectors: u32, write: u64, outcome: Outcome) -> SampleLoad {
        let mut load = SampleLoad::default();
        for i in 0..n {
            load.push(&Record {
                request: Request {
                    start: Nanos::from_millis(i * interval_ms),
                    sectors: Sectors::new(sectors),
                    op: if i % write == 0 { Op::Write } else { Op::Read },
                    ..Request::default()
                },
                outcome,
            });
        }
        load.about(&Metadata {
            about: [("replayed".to_owned(), "x".to_owned())].into(),
            ..Metadata::default()
        });
        load
    }

    #[test]
    fn loads_differ_in_what_is_far_apart_and_in_nothing_else() {
        let done = Outcome::done(Nanos::ZERO, Nanos::from_micros(500));
        let usual = load(1000, 10, 8, 2, done);
        assert_eq!(
            usual.differences(&load(1100, 10, 8, 2, done)),
            Vec::<String>::new()
        );
        assert_eq!(
            usual.differences(&load(1000, 1, 8, 2, done)),
            [
                "the rate (100/s and 1 001/s)",
                "the duration (9.99 s and 999 ms)"
            ]
        );
        assert_eq!(
            usual.differences(&load(2000, 10, 16, 4, done)),
            [
                "the number of requests (1 000 and 2 000)",
                "the mean size (4 KiB and 8 KiB)",
                "the duration (9.99 s and 19.99 s)",
                "the share of reads (50 % and 75 %)"
            ]
        );
    }

    #[test]
    fn a_replay_that_did_not_submit_its_load_on_time_is_flawed() {
        let done = Outcome::done(Nanos::ZERO, Nanos::from_micros(500));
        let late = |by| Outcome {
            delay: Some(by),
            ..done
        };
        assert_eq!(load(100, 10, 8, 2, done).flaws(), []);
        let flaws = |outcome| load(100, 10, 8, 2, outcome).flaws();
        let missed = Outcome::untimed(Status::Missed);
        let never_submitted = SubmissionFlaw::NeverSubmitted { requests: 100 };
        assert_eq!(flaws(late(Nanos::from_millis(5))), [SubmissionFlaw::Late]);
        assert_eq!(
            flaws(late(Nanos::from_secs(5))),
            [SubmissionFlaw::Overloaded]
        );
        assert_eq!(flaws(missed), [never_submitted]);
        // A late one that ended early, and that another file follows which says nothing of a replay.
        let mut both = load(100, 10, 8, 2, late(Nanos::from_millis(5)));
        for _ in 0..100 {
            both.push(&Record {
                outcome: missed,
                ..Record::default()
            });
        }
        both.about(&Metadata::default());
        assert_eq!(both.flaws(), [SubmissionFlaw::Late, never_submitted]);
    }
}
